//! A fake weftd: the API's service on a Unix socket, with answers that a test chose.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio_stream::wrappers::UnixListenerStream;
use tokio_stream::{Stream, StreamExt};
use tonic::transport::Server;
use tonic::{Request, Response, Status};
use weft_proto::v1::weft_server::{Weft, WeftServer};
use weft_proto::v1::*;

use crate::fixtures;

/// What the daemon answers.
#[derive(Debug, Clone)]
pub(crate) struct Answers {
    pub(crate) routes: Vec<Route>,
    pub(crate) apply: ApplyResponse,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            routes: fixtures::routes(),
            apply: fixtures::plan(),
        }
    }
}

/// A running fake daemon. Dropped, it is gone at once, connections and all.
#[derive(Debug)]
pub(crate) struct Weftd {
    directory: tempfile::TempDir,
    asked: Arc<Mutex<Asked>>,
    runtime: Option<Runtime>,
}

#[derive(Debug, Default)]
struct Asked {
    routes: Vec<ListRoutesRequest>,
    apply: Vec<ApplyRequest>,
}

impl Weftd {
    pub(crate) fn start(answers: Answers) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let asked = Arc::new(Mutex::new(Asked::default()));
        let service = Service {
            answers,
            asked: Arc::clone(&asked),
        };
        let runtime = Runtime::new().unwrap();
        let socket = directory.path().join(SOCKET);
        runtime.block_on(async {
            // Listens before the thread goes on, so that no client comes too early.
            let listener = UnixListener::bind(socket).unwrap();
            let server = Server::builder()
                .add_service(WeftServer::new(service))
                .serve_with_incoming(UnixListenerStream::new(listener));
            tokio::spawn(server);
        });
        Self {
            directory,
            asked,
            runtime: Some(runtime),
        }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory().join(SOCKET)
    }

    pub(crate) fn api(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    pub(crate) fn asked_routes(&self) -> Vec<ListRoutesRequest> {
        self.asked.lock().unwrap().routes.clone()
    }

    pub(crate) fn asked_apply(&self) -> Vec<ApplyRequest> {
        self.asked.lock().unwrap().apply.clone()
    }
}

impl Drop for Weftd {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[derive(Debug)]
struct Service {
    answers: Answers,
    asked: Arc<Mutex<Asked>>,
}

type Messages<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Weft for Service {
    type WatchStream = Messages<WatchResponse>;
    type ListRoutesStream = Messages<ListRoutesResponse>;

    async fn apply(
        &self,
        request: Request<ApplyRequest>,
    ) -> Result<Response<ApplyResponse>, Status> {
        self.asked.lock().unwrap().apply.push(request.into_inner());
        Ok(Response::new(self.answers.apply.clone()))
    }

    async fn watch(&self, _: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let events = fixtures::events(SystemTime::now()).into_iter().map(Ok);
        let silence = tokio_stream::pending();
        Ok(Response::new(Box::pin(
            tokio_stream::iter(events).chain(silence),
        )))
    }

    async fn get_status(
        &self,
        _: Request<GetStatusRequest>,
    ) -> Result<Response<GetStatusResponse>, Status> {
        Ok(Response::new(fixtures::status(SystemTime::now())))
    }

    async fn list_peers(
        &self,
        request: Request<ListPeersRequest>,
    ) -> Result<Response<ListPeersResponse>, Status> {
        let address = request.into_inner().address;
        let mut peers = fixtures::peers(SystemTime::now());
        peers.retain(|peer| address.is_empty() || peer.address == address);
        Ok(Response::new(ListPeersResponse { peers }))
    }

    async fn list_routes(
        &self,
        request: Request<ListRoutesRequest>,
    ) -> Result<Response<Self::ListRoutesStream>, Status> {
        self.asked.lock().unwrap().routes.push(request.into_inner());
        let batches: Vec<_> = self
            .answers
            .routes
            .chunks(500)
            .map(|routes| {
                Ok(ListRoutesResponse {
                    routes: routes.to_vec(),
                })
            })
            .collect();
        Ok(Response::new(Box::pin(tokio_stream::iter(batches))))
    }

    async fn list_vteps(
        &self,
        _: Request<ListVtepsRequest>,
    ) -> Result<Response<ListVtepsResponse>, Status> {
        Ok(Response::new(ListVtepsResponse {
            tunnels: vec![fixtures::tunnel()],
            vteps: fixtures::vteps(),
        }))
    }

    async fn list_blocks(
        &self,
        request: Request<ListBlocksRequest>,
    ) -> Result<Response<ListBlocksResponse>, Status> {
        let all_nodes = request.into_inner().all_nodes;
        let mut blocks = fixtures::blocks();
        blocks.retain(|block| all_nodes || block.own);
        Ok(Response::new(ListBlocksResponse { blocks }))
    }

    async fn explain(
        &self,
        request: Request<ExplainRequest>,
    ) -> Result<Response<ExplainResponse>, Status> {
        match request.into_inner().prefix.as_str() {
            "10.244.2.17" => Ok(Response::new(fixtures::explanation())),
            _ => Err(Status::unavailable(
                "the RIB is being built; ask again in a moment",
            )),
        }
    }
}

const SOCKET: &str = "weft.sock";
