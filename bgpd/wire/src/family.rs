//! Address families: AFI and SAFI (RFC 4760), and sets of them.

use std::fmt;
use std::str::FromStr;

use ipnet::IpNet;
use smallvec::SmallVec;

use crate::asn::decimal;

/// An address family and what kind of routes of it.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct Family {
    /// Address family identifier.
    pub afi: u16,
    /// Subsequent address family identifier.
    pub safi: u8,
}

impl Family {
    /// IPv4 unicast, the family of RFC 4271.
    pub const IPV4_UNICAST: Self = Self {
        afi: AFI_IPV4,
        safi: SAFI_UNICAST,
    };

    /// IPv6 unicast (RFC 2545).
    pub const IPV6_UNICAST: Self = Self {
        afi: AFI_IPV6,
        safi: SAFI_UNICAST,
    };

    /// EVPN (RFC 7432). Known by name only; its routes are not decoded.
    pub const L2VPN_EVPN: Self = Self { afi: 25, safi: 70 };

    /// The unicast family of a prefix.
    #[must_use]
    pub const fn of(prefix: &IpNet) -> Self {
        match prefix {
            IpNet::V4(_) => Self::IPV4_UNICAST,
            IpNet::V6(_) => Self::IPV6_UNICAST,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::IPV4_UNICAST => f.pad(IPV4_UNICAST_NAME),
            Self::IPV6_UNICAST => f.pad(IPV6_UNICAST_NAME),
            Self { afi, safi } => write!(f, "{afi}/{safi}"),
        }
    }
}

/// A text that names no family.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is not a family: expected ipv4-unicast, ipv6-unicast, or AFI/SAFI in numbers")]
pub struct ParseFamilyError(String);

impl FromStr for Family {
    type Err = ParseFamilyError;

    fn from_str(text: &str) -> Result<Self, ParseFamilyError> {
        match text {
            IPV4_UNICAST_NAME => return Ok(Self::IPV4_UNICAST),
            IPV6_UNICAST_NAME => return Ok(Self::IPV6_UNICAST),
            _ => {}
        }
        text.split_once('/')
            .and_then(|(afi, safi)| {
                Some(Self {
                    afi: decimal(afi)?,
                    safi: decimal(safi)?,
                })
            })
            .ok_or_else(|| ParseFamilyError(text.to_owned()))
    }
}

/// A small set of families. Equality and hash do not depend on the order of insertion.
#[derive(Clone, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct FamilySet(SmallVec<[Family; 2]>);

impl FamilySet {
    /// The empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// True when `family` is a member.
    #[must_use]
    pub fn contains(&self, family: Family) -> bool {
        // A handful of members at most: a scan beats a search.
        self.0.contains(&family)
    }

    /// Adds a family; returns false when it was there.
    pub fn insert(&mut self, family: Family) -> bool {
        match self.0.binary_search(&family) {
            Ok(_) => false,
            Err(position) => {
                self.0.insert(position, family);
                true
            }
        }
    }

    /// The members in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Family> + '_ {
        self.0.iter().copied()
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True without members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Family> for FamilySet {
    fn from_iter<I: IntoIterator<Item = Family>>(families: I) -> Self {
        let mut set = Self::new();
        for family in families {
            set.insert(family);
        }
        set
    }
}

impl<const N: usize> From<[Family; N]> for FamilySet {
    fn from(families: [Family; N]) -> Self {
        families.into_iter().collect()
    }
}

/// AFI of IPv4.
pub const AFI_IPV4: u16 = 1;

/// AFI of IPv6.
pub const AFI_IPV6: u16 = 2;

/// SAFI of unicast forwarding.
pub const SAFI_UNICAST: u8 = 1;

const IPV4_UNICAST_NAME: &str = "ipv4-unicast";
const IPV6_UNICAST_NAME: &str = "ipv6-unicast";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for family in [
            Family::IPV4_UNICAST,
            Family::IPV6_UNICAST,
            Family::L2VPN_EVPN,
        ] {
            assert_eq!(family.to_string().parse(), Ok(family));
        }
        assert_eq!(Family::L2VPN_EVPN.to_string(), "25/70");
        for text in ["", "ipv4", "1/", "/1", "1/256", "65536/1", "1/1/1", "-1/1"] {
            assert!(text.parse::<Family>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn sets_are_equal_whatever_the_order() {
        let one = FamilySet::from([
            Family::IPV4_UNICAST,
            Family::L2VPN_EVPN,
            Family::IPV4_UNICAST,
        ]);
        let other = FamilySet::from([Family::L2VPN_EVPN, Family::IPV4_UNICAST]);
        assert_eq!(one, other);
        assert_eq!(one.len(), 2);
        assert!(!one.contains(Family::IPV6_UNICAST));
    }
}
