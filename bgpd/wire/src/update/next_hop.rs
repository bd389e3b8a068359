//! Next hops: NEXT_HOP (RFC 4271 section 5.1.3), and those in MP_REACH_NLRI (RFC 4760, RFC 2545, RFC 8950).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bytes::BufMut;

use crate::attr::FaultReason;
use crate::context::DecodeContext;
use crate::family::{AFI_IPV4, AFI_IPV6, Family};

/// Where packets of a route go.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum NextHop {
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address, and the link-local one of the same router where both ends are on one link (RFC 2545 section 3).
    V6 {
        /// Usually global; link-local where a router has no other, unspecified where only `link_local` is meant.
        global: Ipv6Addr,
        /// Set only to a link-local address.
        link_local: Option<Ipv6Addr>,
    },
}

impl NextHop {
    /// Reads the next hop field of MP_REACH_NLRI. `None` when the family can't have one of that length.
    pub(super) fn decode(
        family: Family,
        octets: &[u8],
        context: &DecodeContext,
    ) -> Option<Result<Self, FaultReason>> {
        let allows_v6 = match family.afi {
            AFI_IPV6 => true,
            AFI_IPV4 => context.extended_next_hop.contains(family),
            _ => false,
        };
        let next_hop = if let (AFI_IPV4, Ok(address)) = (family.afi, <[u8; 4]>::try_from(octets)) {
            Self::V4(address.into())
        } else if allows_v6 {
            Self::decode_v6(octets)?
        } else {
            return None;
        };
        Some(if next_hop.is_valid() {
            Ok(next_hop)
        } else {
            Err(FaultReason::Value("next hop"))
        })
    }

    fn decode_v6(octets: &[u8]) -> Option<Self> {
        let (global, rest) = octets.split_first_chunk::<16>()?;
        let link_local = match rest {
            [] => None,
            // Some speakers fill the field with zeros or with the global address again.
            rest => Some(Ipv6Addr::from(<[u8; 16]>::try_from(rest).ok()?))
                .filter(Ipv6Addr::is_unicast_link_local),
        };
        Some(Self::V6 {
            global: Ipv6Addr::from(*global),
            link_local,
        })
    }

    /// True for what can be the address of a host (RFC 4271 section 6.3).
    pub(super) const fn is_valid(&self) -> bool {
        match self {
            Self::V4(address) => {
                address.octets()[0] != 0
                    && !address.is_loopback()
                    && !address.is_multicast()
                    && !address.is_broadcast()
            }
            Self::V6 { global, link_local } => {
                let named = !global.is_unspecified() || link_local.is_some();
                named && !global.is_loopback() && !global.is_multicast()
            }
        }
    }

    /// Octets of the next hop field of MP_REACH_NLRI.
    pub(super) const fn encoded_length(&self) -> usize {
        match self {
            Self::V4(_) => 4,
            Self::V6 {
                link_local: None, ..
            } => 16,
            Self::V6 {
                link_local: Some(_),
                ..
            } => 32,
        }
    }

    /// Writes the next hop field of MP_REACH_NLRI.
    pub(super) fn encode(&self, out: &mut impl BufMut) {
        match self {
            Self::V4(address) => out.put_slice(&address.octets()),
            Self::V6 { global, link_local } => {
                out.put_slice(&global.octets());
                if let Some(link_local) = link_local {
                    out.put_slice(&link_local.octets());
                }
            }
        }
    }
}

impl From<IpAddr> for NextHop {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::V4(address),
            IpAddr::V6(global) => Self::V6 {
                global,
                link_local: None,
            },
        }
    }
}

impl fmt::Display for NextHop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(address) => address.fmt(f),
            Self::V6 {
                global,
                link_local: None,
            } => global.fmt(f),
            Self::V6 {
                global,
                link_local: Some(link_local),
            } => write!(f, "{global} {link_local}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(octets: [&str; 2]) -> Option<Result<NextHop, FaultReason>> {
        let address = |text: &str| text.parse::<Ipv6Addr>().unwrap().octets();
        let octets = octets.map(address).concat();
        NextHop::decode(Family::IPV6_UNICAST, &octets, &DecodeContext::default())
    }

    #[test]
    fn only_a_link_local_address_is_one() {
        let global = "2001:db8::1".parse().unwrap();
        for (second, link_local) in [
            ("fe80::1", Some("fe80::1".parse().unwrap())),
            ("::", None),
            ("2001:db8::1", None),
        ] {
            let expected = NextHop::V6 { global, link_local };
            assert_eq!(decoded(["2001:db8::1", second]), Some(Ok(expected)));
        }
    }

    #[test]
    fn a_next_hop_needs_an_address() {
        let expected = NextHop::V6 {
            global: Ipv6Addr::UNSPECIFIED,
            link_local: Some("fe80::1".parse().unwrap()),
        };
        assert_eq!(decoded(["::", "fe80::1"]), Some(Ok(expected)));
        let invalid = Some(Err(FaultReason::Value("next hop")));
        for first in ["::", "::1", "ff02::1"] {
            assert_eq!(decoded([first, "::"]), invalid);
        }
    }
}
