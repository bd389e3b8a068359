//! BGP identifiers (RFC 4271 section 4.2, RFC 6286).

use std::fmt;
use std::net::{AddrParseError, Ipv4Addr};
use std::str::FromStr;

/// A BGP identifier: four octets, written like an IPv4 address, unique within an AS. Any value but zero is valid
/// (RFC 6286). Cluster identifiers have the same form (RFC 4456 section 7).
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct RouterId(pub Ipv4Addr);

impl RouterId {
    /// True for 0.0.0.0, which is no identifier (RFC 6286 section 2.1).
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0.is_unspecified()
    }

    /// The four octets in network order.
    #[must_use]
    pub const fn octets(self) -> [u8; 4] {
        self.0.octets()
    }
}

impl From<Ipv4Addr> for RouterId {
    fn from(address: Ipv4Addr) -> Self {
        Self(address)
    }
}

impl From<[u8; 4]> for RouterId {
    fn from(octets: [u8; 4]) -> Self {
        Self(octets.into())
    }
}

impl From<u32> for RouterId {
    fn from(number: u32) -> Self {
        Self(number.into())
    }
}

impl From<RouterId> for u32 {
    fn from(id: RouterId) -> Self {
        id.0.into()
    }
}

impl fmt::Display for RouterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RouterId {
    type Err = AddrParseError;

    fn from_str(text: &str) -> Result<Self, AddrParseError> {
        text.parse().map(Self)
    }
}
