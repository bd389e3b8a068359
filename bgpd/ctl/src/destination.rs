//! A destination as a person writes it: a prefix or an address.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

/// A prefix without host bits, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Host bits are cleared: whoever copies an interface's address with its length means the subnet.
    Prefix(IpNet),
    /// Written without a length.
    Address(IpAddr),
}

impl Destination {
    /// The prefix; an address is its own host prefix.
    pub(crate) fn prefix(self) -> IpNet {
        match self {
            Self::Prefix(prefix) => prefix,
            Self::Address(address) => address.into(),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix(prefix) => prefix.fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl FromStr for Destination {
    type Err = NoDestination;

    fn from_str(text: &str) -> Result<Self, NoDestination> {
        text.parse::<IpNet>()
            .map(|prefix| Self::Prefix(prefix.trunc()))
            .or_else(|_| text.parse().map(Self::Address))
            .map_err(|_| NoDestination)
    }
}

/// The text is neither a prefix nor an address.
#[derive(Debug, thiserror::Error)]
#[error(
    "neither a prefix nor an address; write for example 10.244.1.0/26, 10.244.1.5 or 2001:db8::/64"
)]
pub(crate) struct NoDestination;

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        text.parse::<Destination>().unwrap().to_string()
    }

    #[test]
    fn host_bits_of_a_prefix_are_cleared() {
        assert_eq!(shown("10.244.1.5/26"), "10.244.1.0/26");
        assert_eq!(shown("2001:db8::1/64"), "2001:db8::/64");
    }

    #[test]
    fn an_address_stays_an_address_and_is_a_host_prefix() {
        assert_eq!(shown("10.244.1.5"), "10.244.1.5");
        let address: Destination = "2001:db8::1".parse().unwrap();
        assert_eq!(address.prefix().to_string(), "2001:db8::1/128");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "node-2", "10.244.1.0/33", "10.244.1", "10.0.0.0/"] {
            assert!(text.parse::<Destination>().is_err(), "{text}");
        }
    }
}
