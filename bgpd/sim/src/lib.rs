//! Many speakers on a virtual network with a virtual clock, for tests.
//!
//! ```text
//!   seed ─▶ Scenario ─▶ Simulation (sessions and a RIB shard for each speaker, network, clock) ─▶ problems
//!                                                                         oracle ──────────────────▲
//! ```
//!
//! - [`Topology`]: who talks to whom. [`Simulation`]: lets them, and lets links and speakers fail.
//! - [`expected`]: what Loc-RIBs and sessions must hold, worked out without messages or time; [`problems`] compares.
//! - [`Scenario`]: a random history. The same seed gives the same bytes at the same virtual times.
//!
//! A failing seed of the tests is printed; `BGP_SIM_SEED=123 cargo test -p bgp-sim` replays it.
//!
//! Not simulated: add-path, policies, cost of the way to a next hop, more than one shard for each speaker. Events pass
//! between a session and its shard at once, so an event of an earlier epoch that comes late is no subject here.

mod check;
mod network;
mod oracle;
mod random;
mod scenario;
mod simulation;
mod speaker;
mod topology;
mod trace;

pub use check::{Problem, leftovers, problems};
pub use oracle::{Chosen, Expected, LocRibs, Sent, expected};
pub use random::Random;
pub use scenario::{Failure, Scenario, Shape, Step, take};
pub use simulation::{Crash, Simulation};
pub use speaker::Settings;
pub use topology::{Clusters, Link, SpeakerConfig, SpeakerId, Topology, prefix};
