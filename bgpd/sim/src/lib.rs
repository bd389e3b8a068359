//! Many speakers on a virtual network with a virtual clock, for tests.

mod network;
mod random;
mod simulation;
mod speaker;
mod topology;
mod trace;

pub use random::Random;
pub use simulation::{Crash, Simulation};
pub use speaker::Settings;
pub use topology::{Clusters, Link, SpeakerConfig, SpeakerId, Topology, prefix};
