//! What happens to a session: the input alphabet of the state machine.

use std::net::IpAddr;

use bgp_wire::{Family, NotificationMessage};
use bytes::Bytes;

use super::settings::PeerSettings;
use crate::{ConnectionId, Epoch};

/// Everything that can happen to a [`super::Peer`].
///
/// An event that names a connection or an epoch which is no longer current is dropped.
#[derive(Clone, Debug)]
pub enum PeerEvent {
    /// The operator wants the session.
    Start,
    /// The operator no longer wants the session.
    Stop(StopReason),
    /// Close the session and let it come back at once. A hard reset: routes are not kept (RFC 8538 section 3).
    Reset {
        /// Shown to the peer's operator (RFC 9003); cut to what fits.
        text: String,
    },
    /// New settings. Those that equal the old ones in every respect that the peer can see change nothing on the wire.
    Configure(PeerSettings),
    /// Routing has converged after our restart: OPENs no longer carry the Restart State bit.
    RestartCompleted,

    /// The dial that was asked for by [`super::PeerAction::Dial`] succeeded.
    Dialed {
        /// Identifies the new connection.
        connection: ConnectionId,
        /// Our end of it.
        local_address: IpAddr,
    },
    /// The dial did not succeed.
    DialFailed {
        /// Why, for the operator.
        error: String,
    },
    /// The peer connected to us.
    Accepted {
        /// Identifies the new connection.
        connection: ConnectionId,
        /// Our end of it.
        local_address: IpAddr,
    },
    /// One whole message, as the framer cut it.
    Frame {
        /// Where it came from.
        connection: ConnectionId,
        /// The message with its header.
        frame: Bytes,
    },
    /// The framer could not go on (RFC 4271 section 6.1).
    Malformed {
        /// Where it happened.
        connection: ConnectionId,
        /// What to tell the peer.
        notification: NotificationMessage,
    },
    /// TCP is gone.
    Closed {
        /// Which connection.
        connection: ConnectionId,
        /// Why; `None` for an orderly end of the stream.
        error: Option<String>,
    },

    /// The socket took nothing or not all, and bytes wait for it. Starts the send hold timer (RFC 9687) unless it
    /// runs. Report it after each write that leaves bytes behind; repeats are harmless.
    SendPending {
        /// Which connection.
        connection: ConnectionId,
    },
    /// The socket took bytes. Stops the send hold timer; when bytes still wait, report
    /// [`PeerEvent::SendPending`] right after.
    SendProgress {
        /// Which connection.
        connection: ConnectionId,
    },

    /// The RIB handed over the last route of the initial dump: End-of-RIB follows it on the routes lane.
    InitialRoutesSent {
        /// The session that the dump was for.
        epoch: Epoch,
        /// Which family.
        family: Family,
    },
    /// UPDATE messages went out that the session did not see; for the counters of [`super::PeerStatus`].
    UpdatesSent {
        /// The session that carried them.
        epoch: Epoch,
        /// How many.
        messages: u64,
    },
    /// Ask the peer for all routes of a family again (RFC 2918).
    RequestRefresh {
        /// Which family.
        family: Family,
    },
    /// The peer sent more prefixes than allowed: the session ends with 6/1 (RFC 4486).
    PrefixLimitExceeded {
        /// The session that brought them.
        epoch: Epoch,
        /// Which family.
        family: Family,
        /// The configured limit, told to the peer.
        limit: u32,
    },
}

/// Why the operator stops a session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StopReason {
    /// The neighbour is disabled: Cease/Administrative Shutdown, routes are not kept.
    AdminShutdown {
        /// Shown to the peer's operator (RFC 9003); cut to what fits.
        text: String,
    },
    /// The neighbour was removed from the configuration: Cease/Peer De-configured, routes are not kept.
    Deconfigured,
    /// This daemon restarts: where graceful restart was negotiated the connection closes without NOTIFICATION, so
    /// that the peer keeps our routes (RFC 4724 section 4.2).
    Restart,
}
