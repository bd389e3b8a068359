//! The BGP speaker without I/O: sessions, RIBs, decision, policy and export.
//!
//! Nothing here opens a socket, reads a clock or starts a thread. Every state machine is driven the same way:
//!
//! ```text
//!            handle(now, event, out)          out: Outbox<Action>
//!  driver ─────────────────────────▶ machine ────────────────────▶ driver
//!     ▲    handle_timeout(now, out)     │
//!     └──────── next_deadline() ◀───────┘
//! ```
//!
//! - [`session`]: one [`session::Peer`] per neighbour: the finite state machine of RFC 4271 section 8, collision
//!   resolution, negotiation, graceful restart. It turns frames into routes and timers into messages.
//! - [`rib`]: one [`rib::Shard`] per slice of the prefix space: Adj-RIB-In, decision, Loc-RIB, update groups.
//! - [`policy`]: compiled import and export rules.
//!
//! The driver (the daemon, or the simulator) carries events between the two and owns every socket.

mod id;
mod outbox;
pub mod policy;
pub mod rib;
pub mod session;
mod time;

pub use id::{ConnectionId, Epoch, PeerId};
pub use outbox::Outbox;
pub use time::Instant;
