//! The gRPC API: Apply and Watch for the node agent, queries for people, health and reflection for tools.
//!
//! Protobuf types live here and in [`crate::queries`], nowhere deeper.

mod objects;
mod service;
mod socket;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use tokio_util::sync::CancellationToken;
use weft_proto::v1::weft_server::WeftServer;

pub(crate) use objects::to_manifest;
use service::Service;

use crate::control::ControlHandle;
use crate::queries::Queries;
use crate::watch::WatchHub;

/// What the API needs of the daemon.
pub(crate) struct Api {
    pub(crate) control: ControlHandle,
    pub(crate) queries: Arc<Queries>,
    pub(crate) hub: Arc<WatchHub>,
}

/// Opens the socket and serves until told to stop; running calls are cut off then.
///
/// # Errors
/// When the socket can't be opened, with what to do about it.
pub(crate) fn start(
    path: &Path,
    api: Api,
    stop: CancellationToken,
) -> anyhow::Result<impl Future<Output = anyhow::Result<()>> + use<>> {
    let listener = socket::listen(path)?;
    let leftover = Leftover(path.to_owned());
    Ok(async move {
        let _leftover = leftover;
        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_serving::<WeftServer<Service>>().await;
        let reflection = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(weft_proto::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .build_v1()
            .context("reflection")?;
        let service = WeftServer::new(Service::new(api, stop.clone()))
            .max_decoding_message_size(LARGEST_REQUEST)
            .max_encoding_message_size(LARGEST_REQUEST);
        tonic::transport::Server::builder()
            .add_service(health_service)
            .add_service(reflection)
            .add_service(service)
            .serve_with_incoming_shutdown(
                tokio_stream::wrappers::UnixListenerStream::new(listener),
                stop.cancelled_owned(),
            )
            .await
            .context("API server")
    })
}

/// The socket's file, removed with its server. The next start would do that too; but nobody should find a dead socket
/// meanwhile.
struct Leftover(PathBuf);

impl Drop for Leftover {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The state of a 5,000-node cluster in one Apply is about 10 MB.
const LARGEST_REQUEST: usize = 256 * 1024 * 1024;
