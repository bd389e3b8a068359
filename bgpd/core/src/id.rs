//! Small identifiers that cross the boundary between the core and its driver.

use std::fmt;

/// A configured neighbour, for as long as it is configured.
///
/// The driver allocates it and never gives one to two neighbours that exist at the same time.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct PeerId(pub u32);

/// One life of a session: the count of times that the peer reached Established.
///
/// Every event that carries routes names it, so that nothing from an earlier life touches the present one.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct Epoch(pub u32);

/// One TCP connection of a peer. The driver allocates it; it is never used again.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct ConnectionId(pub u64);

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "peer{}", self.0)
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection{}", self.0)
    }
}
