//! One neighbour: RFC 4271 section 8, collisions, negotiation and graceful restart.
//!
//! ```text
//!   operator ──Start, Stop, Reset, Configure──▶ ┌────────────────────────────┐ ──Up, Down, FlushStale──▶ RIB
//!   RIB ──InitialRoutesSent, RequestRefresh───▶ │ Peer                       │ ──Update, EndOfRib, Refresh──▶ RIB
//!                                               │  dialer, collision, stale  │
//!   sockets ──Dialed, Accepted, Frame, Closed─▶ │  Connection   Connection   │ ──Dial, Send, Close──▶ sockets
//!                                               └────────────────────────────┘
//! ```
//!
//! - A [`Peer`] owns up to two connections: RFC 4271 gives each its own state machine (`connection`), and
//!   `peer::collision` decides which of them goes on.
//! - [`PeerEvent`] is all that can happen, [`PeerAction`] all that can follow. An event of a connection or an epoch that
//!   is over is dropped.
//! - Time is an argument. The driver calls [`Peer::handle_timeout`] when [`Peer::next_deadline`] has come, after it has
//!   delivered the frames that it already holds: a hold timer must not expire over a full inbox.
//!
//! `snapshots/states_and_events.snap` is the whole machine as one table, to hold beside RFC 4271 section 8.2.2.

mod action;
mod connection;
mod event;
mod message;
mod negotiation;
mod notification;
mod peer;
mod random;
mod settings;
mod status;
#[cfg(test)]
mod tests;

pub use action::{DownReason, Lane, PeerAction};
pub use event::{PeerEvent, StopReason};
pub use negotiation::{Negotiated, PeerGracefulRestart};
pub use peer::Peer;
pub use settings::{
    AddPathMode, ChangeCost, ConnectMode, GracefulRestartSettings, HoldTime, HoldTimeTooShort,
    PeerSettings,
};
pub use status::{
    DownBy, LastDown, MessageCounters, PeerStatus, SessionState, StaleAwaiting, StaleStatus,
};
