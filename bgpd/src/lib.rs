//! weft's node daemon: sockets, threads, kernel and API around the pure packages that decide.
//!
//! - [`flags`]: the command line.
//! - `control`: the configuration, the plan, and carrying it out.
//! - `bgp`: connections, peers, shards.
//! - `fib`, `dataplane`: from the Loc-RIB to the kernel.
//! - `api`, `queries`, `watch`, `metrics`: what others see and ask.

mod api;
mod bgp;
mod clock;
mod config;
mod control;
pub mod daemon;
mod fib;
pub mod flags;
pub mod log;
mod metrics;
mod queries;
mod watch;
