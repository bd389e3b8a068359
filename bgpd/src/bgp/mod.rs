//! The driver of the BGP core: sockets, tasks and threads around [`bgp_core`].
//!
//! ```text
//!   listener ─┐                                   ┌─▶ fib ──▶ dataplane
//!             ▼                                   │
//!   socket ◀▶ connection ◀▶ peer task ──▶ shard ──┼─▶ watchers
//!                 ▲                         │     │
//!                 └────── encoded once ─────┘─────┘
//! ```
//!
//! Blocking sends go socket → peer → shard only; whatever flows back is bounded by credit or coalesced.

mod connection;
pub(crate) mod listener;
pub(crate) mod peer;
pub(crate) mod peer_config;
pub(crate) mod shard;
mod socket;
mod split;
