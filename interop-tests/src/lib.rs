//! weft among BIRD, FRR, GoBGP and others, in network namespaces on the real kernel.
//!
//! This crate is a harness; nothing of it is shipped. Tests (`tests/`), the lab (`cargo lab`) and the benchmarks
//! build their networks from the same parts:
//!
//! ```text
//! Sandbox          owns everything of one run and takes it down: namespaces, processes, files
//!   ├─ Netns       a network namespace: run commands in it, batch `ip`, read its routes, neighbours, FDB
//!   │    └─ Process   a daemon in it, dies with the harness, its log kept while the sandbox lives
//!   └─ Switch      a bridge in a namespace of its own: the underlay; cables can be cut and mended
//! daemon::*        BIRD, FRR, GoBGP, OpenBGPD, ExaBGP and weft behind one trait, `Speaker`
//! manifest         Calico resources as YAML
//! wait_until       the only way to wait: for a condition, with the last state seen in the failure's text
//! ping             many targets from one namespace at once; a background probe that counts what was lost
//! ```
//!
//! A two-node network with a session, in full:
//!
//! ```no_run
//! use interop_tests::daemon::{Bird, Frr, Announcement, Neighbor, Speaker, SpeakerConfig};
//! use interop_tests::{Sandbox, Switch, timeouts};
//!
//! # fn main() -> anyhow::Result<()> {
//! let sandbox = Sandbox::new()?;
//! let underlay = Switch::new(&sandbox, "underlay")?;
//! let (left, right) = (sandbox.netns("left")?, sandbox.netns("right")?);
//! underlay.attach(&left, "eth0", &["10.0.0.1/24"])?;
//! underlay.attach(&right, "eth0", &["10.0.0.2/24"])?;
//!
//! let mut bird = Bird::start(&left, SpeakerConfig::new(65001, [10, 0, 0, 1])
//!     .neighbor(Neighbor::new("10.0.0.2", 65002)))?;
//! let frr = Frr::start(&right, SpeakerConfig::new(65002, [10, 0, 0, 2])
//!     .neighbor(Neighbor::new("10.0.0.1", 65001)))?;
//!
//! bird.announce(&Announcement::new("192.0.2.0/24").community("65001:7"))?;
//! let route = frr.wait_route("192.0.2.0/24", timeouts::ROUTE)?;
//! assert_eq!(route.communities, ["65001:7"]);
//! # Ok(()) }
//! ```
//!
//! Everything here needs root, and the packages that `.ci/setup` installs.

pub mod binaries;
pub mod capture;
pub mod daemon;
pub mod interrupt;
pub mod kernel;
pub mod lab;
pub mod manifest;
pub mod netns;
pub mod ping;
pub mod process;
pub mod sandbox;
pub mod switch;
pub mod wait;

pub use capture::Capture;
pub use kernel::Family;
pub use netns::Netns;
pub use process::{Cmd, Process};
pub use sandbox::Sandbox;
pub use switch::{Switch, connect};
pub use wait::{Fatal, wait_until};

/// How long to wait for what, on a slow machine with two busy cores.
///
/// A test that passes never waits so long: these bound failures only.
pub mod timeouts {
    use std::time::Duration;

    /// A daemon answers on its control socket.
    pub const START: Duration = Duration::from_secs(15);
    /// A daemon ends after SIGTERM.
    pub const STOP: Duration = Duration::from_secs(10);
    /// A session gets established, including a peer's first idle and connect-retry times.
    pub const SESSION: Duration = Duration::from_secs(40);
    /// A route appears or goes.
    pub const ROUTE: Duration = Duration::from_secs(40);
}
