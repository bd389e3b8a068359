//! The service's calls, each handed to who knows.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use weft_proto::v1;
use weft_proto::v1::weft_server::Weft;

use super::Api;
use crate::control::ControlHandle;
use crate::queries::Queries;
use crate::watch::WatchHub;

/// One for the daemon.
pub(super) struct Service {
    control: ControlHandle,
    queries: Arc<Queries>,
    hub: Arc<WatchHub>,
    stop: CancellationToken,
}

impl Service {
    pub(super) fn new(api: Api, stop: CancellationToken) -> Self {
        let Api {
            control,
            queries,
            hub,
        } = api;
        Self {
            control,
            queries,
            hub,
            stop,
        }
    }
}

type Streamed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Weft for Service {
    async fn apply(
        &self,
        request: Request<v1::ApplyRequest>,
    ) -> Result<Response<v1::ApplyResponse>, Status> {
        // The control loop carries it out whether or not the caller stays to hear the answer.
        self.control
            .apply(request.into_inner())
            .await
            .map(Response::new)
    }

    type WatchStream = Streamed<v1::WatchResponse>;

    async fn watch(
        &self,
        request: Request<v1::WatchRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let watcher = super::watch::Watch::begin(&request.into_inner(), &self.hub, &self.queries)?;
        // Bound: a few entries; a slow reader makes the watch wait, and its marks coalesce meanwhile.
        let (sender, receiver) = tokio::sync::mpsc::channel(WATCH_BUFFER);
        let stop = self.stop.clone();
        tokio::spawn(stop.run_until_cancelled_owned(watcher.run(sender)));
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn get_status(
        &self,
        _: Request<v1::GetStatusRequest>,
    ) -> Result<Response<v1::GetStatusResponse>, Status> {
        Ok(Response::new(self.queries.status().await))
    }

    async fn list_peers(
        &self,
        request: Request<v1::ListPeersRequest>,
    ) -> Result<Response<v1::ListPeersResponse>, Status> {
        let address = request.into_inner().address;
        let mut peers = self.queries.peers().await;
        if !address.is_empty() {
            let wanted: IpAddr = address.parse().map_err(|_| {
                Status::invalid_argument(format!(
                    "address: {address:?} is not an IP address; write for example 192.0.2.7, or nothing for all peers"
                ))
            })?;
            peers.retain(|peer| peer.address.parse() == Ok(wanted));
            if peers.is_empty() {
                return Err(Status::not_found(format!(
                    "no peer has the address {address}"
                )));
            }
        }
        Ok(Response::new(v1::ListPeersResponse { peers }))
    }

    type ListRoutesStream = Streamed<v1::ListRoutesResponse>;

    async fn list_routes(
        &self,
        request: Request<v1::ListRoutesRequest>,
    ) -> Result<Response<Self::ListRoutesStream>, Status> {
        let request = request.into_inner();
        let listing = self.queries.listing(&request).await?;
        let (sender, receiver) = tokio::sync::mpsc::channel(ROUTE_BATCHES);
        let queries = Arc::clone(&self.queries);
        tokio::spawn(async move { queries.list_routes(listing, sender).await });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn list_vteps(
        &self,
        _: Request<v1::ListVtepsRequest>,
    ) -> Result<Response<v1::ListVtepsResponse>, Status> {
        Ok(Response::new(self.queries.vteps().await))
    }

    async fn list_blocks(
        &self,
        request: Request<v1::ListBlocksRequest>,
    ) -> Result<Response<v1::ListBlocksResponse>, Status> {
        let all_nodes = request.into_inner().all_nodes;
        let blocks = self
            .queries
            .blocks()
            .await
            .into_iter()
            .filter(|block| all_nodes || block.own)
            .collect();
        Ok(Response::new(v1::ListBlocksResponse { blocks }))
    }

    async fn explain(
        &self,
        request: Request<v1::ExplainRequest>,
    ) -> Result<Response<v1::ExplainResponse>, Status> {
        self.queries
            .explain(&request.into_inner().prefix)
            .await
            .map(Response::new)
    }
}

/// Watch entries that wait for a reader.
const WATCH_BUFFER: usize = 64;

/// Batches of routes that wait for a reader.
const ROUTE_BATCHES: usize = 4;
