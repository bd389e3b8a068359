//! Takes connections from neighbours and hands each to its peer's task.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::peer::{PeerCommand, PeerHandle};
use super::socket;

/// Who may connect: replaced as a whole when the peers change.
pub(crate) type Neighbours = Arc<ArcSwap<HashMap<IpAddr, PeerHandle>>>;

/// A listening socket and the task that accepts from it. Dropping it closes both.
#[derive(Debug)]
pub(crate) struct Listener {
    address: SocketAddr,
    _stop: tokio_util::sync::DropGuard,
}

impl Listener {
    /// Opens the socket.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn open(address: SocketAddr, neighbours: Neighbours) -> io::Result<Self> {
        let listener = socket::listen(address)?;
        let stop = CancellationToken::new();
        tokio::spawn(
            stop.clone()
                .run_until_cancelled_owned(accept(listener, neighbours)),
        );
        Ok(Self {
            address,
            _stop: stop.drop_guard(),
        })
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn accept(listener: TcpListener, neighbours: Neighbours) {
    loop {
        match listener.accept().await {
            Ok((stream, remote)) => {
                let address = remote.ip().to_canonical();
                match neighbours.load().get(&address) {
                    Some(peer) => peer.send(PeerCommand::Accepted(stream)),
                    // Closed as it is dropped. A node that the configuration here does not know yet tries again.
                    None => debug!(%address, "connection from an address that is no peer"),
                }
            }
            Err(error) => {
                // Out of file descriptors, most likely. Accepting again at once would only burn CPU.
                warn!(%error, "can't accept a BGP connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

const ACCEPT_PAUSE: std::time::Duration = std::time::Duration::from_millis(100);
