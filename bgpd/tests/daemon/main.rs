//! The daemon as a process: started with flags, driven over its socket, by its manifests and by signals.
//!
//! No kernel is programmed and no privilege is needed: every daemon has a loopback address and directories of its own.

#![expect(
    clippy::unwrap_used,
    reason = "what can't be unwrapped here is a failed test"
)]

mod api;
mod apply;
mod lifecycle;
mod manifests;
mod pair;
mod weftd;
