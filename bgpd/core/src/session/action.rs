//! What a session wants done: the output alphabet of the state machine.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use bgp_wire::{Family, NotificationMessage, RefreshSubtype, UpdateMessage};
use bytes::Bytes;

use super::negotiation::Negotiated;
use super::notification;
use super::status::SessionState;
use crate::{ConnectionId, Epoch};

/// What the driver does for a [`super::Peer`], in the order given.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are updates, and a box for each would cost more than the room"
)]
pub enum PeerAction {
    /// Open a TCP connection to the peer; answer with `Dialed` or `DialFailed`. At most one dial runs.
    Dial,
    /// Abandon the dial that runs; no answer is needed.
    CancelDial,
    /// Queue bytes on a connection.
    Send {
        /// Which connection.
        connection: ConnectionId,
        /// One or more whole messages.
        bytes: Bytes,
        /// Which queue.
        lane: Lane,
    },
    /// Flush the control lane, drop the routes lane, close the connection.
    ///
    /// The flush needs a bound of a few seconds: the peer may have stopped reading. Whatever the connection reports
    /// from now on is ignored.
    Close {
        /// Which connection.
        connection: ConnectionId,
    },
    /// From the next message on, the framer accepts messages of up to 65535 octets (RFC 8654).
    AllowExtended {
        /// Which connection.
        connection: ConnectionId,
    },

    /// The session is Established. Followed by exactly one `Down` of the same epoch, some day.
    Up {
        /// Names this life of the session.
        epoch: Epoch,
        /// The connection that carries it.
        connection: ConnectionId,
        /// Our end of the connection.
        local_address: IpAddr,
        /// What both sides agreed on.
        negotiated: Arc<Negotiated>,
    },
    /// Routes from the peer.
    Update {
        /// The session that brought them.
        epoch: Epoch,
        /// The decoded message.
        update: UpdateMessage,
    },
    /// The peer sent all its initial routes of a family: routes that are still stale go now.
    EndOfRib {
        /// The session that brought it.
        epoch: Epoch,
        /// Which family.
        family: Family,
    },
    /// The peer asks for our routes again (RFC 2918), or marks the ends of its answer (RFC 7313).
    Refresh {
        /// The session that brought it.
        epoch: Epoch,
        /// Which family.
        family: Family,
        /// Request, begin or end.
        subtype: RefreshSubtype,
    },
    /// The session is over.
    ///
    /// The routes of families in `keep` become stale, except those that are stale already: they go (RFC 4724
    /// section 4.2, consecutive restarts). The routes of all other families go.
    Down {
        /// The session that ended.
        epoch: Epoch,
        /// Why.
        reason: DownReason,
        /// Families whose routes stay, marked stale.
        keep: Vec<Family>,
    },
    /// The routes of these families that are still stale go.
    FlushStale {
        /// Which families.
        families: Vec<Family>,
    },
    /// The state of the furthest connection changed; for logs and watchers.
    StateChanged {
        /// Before.
        from: SessionState,
        /// After.
        to: SessionState,
    },
}

/// The queue that bytes wait in.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum Lane {
    /// OPEN, KEEPALIVE, NOTIFICATION, ROUTE-REFRESH: never waits behind routes.
    Control,
    /// UPDATEs and what must keep its place among them.
    Routes,
}

/// Why a session, or an attempt to get one, ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DownReason {
    /// We closed it and told the peer why.
    Sent(NotificationMessage),
    /// The peer closed it and told us why.
    Received(NotificationMessage),
    /// TCP ended and nobody told why.
    Lost {
        /// The system's error; `None` for an orderly end of the stream.
        error: Option<String>,
    },
    /// The peer restarted and sent OPEN on a new connection while this one seemed alive (RFC 4724 section 4.2).
    PeerRestarted,
    /// We restart and close in silence (RFC 4724 section 4.1).
    PlannedRestart,
}

impl fmt::Display for DownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sent(message) => write!(f, "sent {}", notification::describe(message)),
            Self::Received(message) => write!(f, "received {}", notification::describe(message)),
            Self::Lost { error: Some(error) } => write!(f, "connection lost: {error}"),
            Self::Lost { error: None } => {
                f.write_str("connection closed by the peer without a reason")
            }
            Self::PeerRestarted => f.write_str("the peer restarted and opened a new connection"),
            Self::PlannedRestart => f.write_str("planned restart of this daemon"),
        }
    }
}
