//! The connection to weftd: one Unix socket, typed calls, errors in our own terms.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tonic::transport::{Channel, Endpoint};
use tonic::{Response, Status, Streaming};
use weft_proto::v1;
use weft_proto::v1::weft_client::WeftClient;

use crate::error::Error;

/// Where weftd answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiAddress(PathBuf);

impl fmt::Display for ApiAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unix://{}", self.0.display())
    }
}

impl FromStr for ApiAddress {
    type Err = UnusableAddress;

    fn from_str(text: &str) -> Result<Self, UnusableAddress> {
        let path = match text.split_once(':') {
            Some(("unix", rest)) => rest.strip_prefix("//").unwrap_or(rest),
            None if text.starts_with('/') => text,
            _ => return Err(UnusableAddress::NotUnix),
        };
        if !path.starts_with('/') {
            return Err(UnusableAddress::RelativePath);
        }
        Ok(Self(path.into()))
    }
}

/// Why a text is no address of weftd.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnusableAddress {
    #[error(
        "only Unix sockets are spoken, for example unix:///run/weft/weft.sock; TCP needs mutual TLS, which this \
         version does not have. From another host: ssh -L /tmp/weft.sock:/run/weft/weft.sock NODE, then \
         --api unix:///tmp/weft.sock"
    )]
    NotUnix,
    #[error("the socket's path must be absolute, for example unix:///run/weft/weft.sock")]
    RelativePath,
}

/// A connection to weftd. Each call waits for its answer no longer than the patience.
#[derive(Debug)]
pub(crate) struct Client {
    api: ApiAddress,
    patience: Duration,
    rpc: WeftClient<Channel>,
}

impl Client {
    /// Opens the socket.
    pub(crate) async fn connect(api: &ApiAddress, patience: Duration) -> Result<Self, Error> {
        let socket = open(&api.0)
            .await
            .map_err(|source| cannot_open(api, source))?;
        // The socket is open already, so that its error is at hand as it is. It is used once: a client that lives for
        // one command must not reconnect behind the person's back.
        let mut socket = Some(TokioIo::new(socket));
        let connector = tower::service_fn(move |_| {
            let socket = socket.take();
            async move { socket.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected)) }
        });
        let channel = Endpoint::from_static("http://weftd")
            .connect_with_connector(connector)
            .await
            .map_err(|error| Error::NotWeftd {
                api: api.clone(),
                reason: innermost(&error),
            })?;
        // A cluster of thousands of nodes has answers beyond tonic's 4 MiB.
        let rpc = WeftClient::new(channel).max_decoding_message_size(LARGEST_ANSWER);
        Ok(Self {
            api: api.clone(),
            patience,
            rpc,
        })
    }

    pub(crate) async fn status(&self) -> Result<v1::GetStatusResponse, Error> {
        let mut rpc = self.rpc.clone();
        self.answer(rpc.get_status(v1::GetStatusRequest {})).await
    }

    /// One peer by address, or all when it is empty.
    pub(crate) async fn peers(&self, address: &str) -> Result<v1::ListPeersResponse, Error> {
        let mut rpc = self.rpc.clone();
        let address = address.to_owned();
        self.answer(rpc.list_peers(v1::ListPeersRequest { address }))
            .await
    }

    pub(crate) async fn routes(
        &self,
        request: v1::ListRoutesRequest,
    ) -> Result<Streaming<v1::ListRoutesResponse>, Error> {
        let mut rpc = self.rpc.clone();
        self.answer(rpc.list_routes(request)).await
    }

    pub(crate) async fn vteps(&self) -> Result<v1::ListVtepsResponse, Error> {
        let mut rpc = self.rpc.clone();
        self.answer(rpc.list_vteps(v1::ListVtepsRequest {})).await
    }

    pub(crate) async fn blocks(
        &self,
        request: v1::ListBlocksRequest,
    ) -> Result<v1::ListBlocksResponse, Error> {
        let mut rpc = self.rpc.clone();
        self.answer(rpc.list_blocks(request)).await
    }

    pub(crate) async fn explain(&self, prefix: String) -> Result<v1::ExplainResponse, Error> {
        let mut rpc = self.rpc.clone();
        self.answer(rpc.explain(v1::ExplainRequest { prefix }))
            .await
    }

    pub(crate) async fn apply(
        &self,
        request: v1::ApplyRequest,
    ) -> Result<v1::ApplyResponse, Error> {
        let mut rpc = self.rpc.clone();
        self.answer(rpc.apply(request)).await
    }

    pub(crate) async fn watch(
        &self,
        request: v1::WatchRequest,
    ) -> Result<Streaming<v1::WatchResponse>, Error> {
        let mut rpc = self.rpc.clone();
        self.answer(rpc.watch(request)).await
    }

    /// The next message of a stream, or `None` at its end. Waits as long as it takes.
    pub(crate) async fn next<T>(&self, stream: &mut Streaming<T>) -> Result<Option<T>, Error> {
        stream.message().await.map_err(|status| self.failed(status))
    }

    async fn answer<T>(
        &self,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Error> {
        match tokio::time::timeout(self.patience, call).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(self.failed(status)),
            Err(_) => Err(Error::NoAnswer {
                api: self.api.clone(),
                patience: self.patience,
            }),
        }
    }

    fn failed(&self, status: Status) -> Error {
        // A status that weftd sent has no source; one that the transport made up for a broken connection has.
        match std::error::Error::source(&status) {
            Some(cause) => Error::Lost {
                api: self.api.clone(),
                reason: innermost(cause),
            },
            None => Error::Refused(Box::new(status)),
        }
    }
}

fn cannot_open(api: &ApiAddress, source: io::Error) -> Error {
    let api = api.clone();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            Error::NoDaemon { api, source }
        }
        io::ErrorKind::PermissionDenied => Error::NotPermitted { api, source },
        _ => Error::NoSocket { api, source },
    }
}

/// The cause behind the causes: the only one that says something.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

#[cfg(unix)]
async fn open(path: &Path) -> io::Result<tokio::net::UnixStream> {
    tokio::net::UnixStream::connect(path).await
}

/// tokio has no Unix sockets here; the type parameter only has to be some stream.
#[cfg(not(unix))]
async fn open(_: &Path) -> io::Result<tokio::net::TcpStream> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "Unix sockets are not available on this platform",
    ))
}

const LARGEST_ANSWER: usize = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_written_as_a_uri_or_as_a_path() {
        for text in [
            "unix:///run/weft/weft.sock",
            "unix:/run/weft/weft.sock",
            "/run/weft/weft.sock",
        ] {
            let api: ApiAddress = text.parse().unwrap();
            assert_eq!(api.to_string(), "unix:///run/weft/weft.sock");
        }
    }

    #[test]
    fn other_transports_are_refused() {
        for text in [
            "tcp://10.0.0.5:9090",
            "http://weftd",
            "10.0.0.5:9090",
            "weft.sock",
        ] {
            let error = text.parse::<ApiAddress>().unwrap_err();
            assert!(matches!(error, UnusableAddress::NotUnix), "{text}");
        }
        let relative = "unix://weft.sock".parse::<ApiAddress>().unwrap_err();
        assert!(matches!(relative, UnusableAddress::RelativePath));
    }
}
