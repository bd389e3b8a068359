//! Many speakers on a virtual network with a virtual clock, for tests.

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
pub use oracle::{Chosen, LocRibs, expected};
pub use random::Random;
pub use scenario::{Failure, Scenario, Shape, Step, take};
pub use simulation::{Crash, Simulation};
pub use speaker::Settings;
pub use topology::{Clusters, Link, SpeakerConfig, SpeakerId, Topology, prefix};
