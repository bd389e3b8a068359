//! Capabilities (RFC 5492), each in its own terms. Whether both sides have one is for the session to see.
//!
//! ```text
//! +------------------------------+
//! | Capability Code (1 octet)    |
//! +------------------------------+
//! | Capability Length (1 octet)  |
//! +------------------------------+
//! | Capability Value (variable)  |
//! +------------------------------+
//! ```

use std::fmt;

use bytes::{BufMut, Bytes};

use crate::asn::Asn;
use crate::family::Family;
use crate::reader::Reader;

/// What a speaker says that it is able to do.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub enum Capability {
    /// Routes of a family (code 1, RFC 4760 section 8).
    MultiProtocol(Family),
    /// ROUTE-REFRESH (code 2, RFC 2918).
    RouteRefresh,
    /// Next hops of another address family than the routes (code 5, RFC 8950 section 4).
    ExtendedNextHop(Vec<ExtendedNextHop>),
    /// Messages of up to 65535 octets (code 6, RFC 8654).
    ExtendedMessage,
    /// The sender's role in the relation of both ASes (code 9, RFC 9234 section 4.1).
    Role(u8),
    /// Graceful restart (code 64, RFC 4724 section 3).
    GracefulRestart {
        /// R: the sender has just restarted.
        restarting: bool,
        /// N: routes outlive a NOTIFICATION (RFC 8538).
        notification: bool,
        /// How soon it promises to be back, in seconds; at most 4095.
        restart_time: u16,
        /// Families that it is able to keep.
        families: Vec<GracefulFamily>,
    },
    /// AS numbers of four octets, and the sender's (code 65, RFC 6793).
    FourOctetAsn(Asn),
    /// Several paths per prefix, by family, seen from the sender (code 69, RFC 7911 section 4).
    AddPath(Vec<(Family, AddPathMode)>),
    /// BoRR and EoRR (code 70, RFC 7313).
    EnhancedRouteRefresh,
    /// Long-lived graceful restart (code 71, RFC 9494 section 3).
    LongLivedGracefulRestart(Vec<LongLivedFamily>),
    /// The sender's name (code 73, draft-walton-bgp-hostname-capability).
    Fqdn {
        /// Name of the host.
        hostname: String,
        /// Domain of the host; may be empty.
        domain: String,
    },
    /// The sender's software (code 75, draft-ietf-idr-bgp-softwareversion).
    SoftwareVersion(String),
    /// Any other: not understood, and no reason to refuse the peer (RFC 5492 section 3).
    Unknown {
        /// The code.
        code: u8,
        /// At most 255 octets.
        value: Bytes,
    },
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MultiProtocol(family) => write!(f, "multiprotocol {family}"),
            Self::RouteRefresh => f.write_str("route refresh"),
            Self::ExtendedNextHop(hops) => {
                f.write_str("extended next hop")?;
                hops.iter()
                    .try_for_each(|hop| write!(f, " {} by AFI {}", hop.family, hop.next_hop_afi))
            }
            Self::ExtendedMessage => f.write_str("extended messages"),
            Self::Role(role) => write!(f, "role {role}"),
            Self::GracefulRestart {
                restarting,
                notification,
                restart_time,
                families,
            } => {
                write!(f, "graceful restart {restart_time} s")?;
                for (set, name) in [(*restarting, "restarting"), (*notification, "notification")] {
                    if set {
                        write!(f, ", {name}")?;
                    }
                }
                families.iter().try_for_each(|listed| {
                    let kept = if listed.forwarding_preserved {
                        " (forwarding preserved)"
                    } else {
                        ""
                    };
                    write!(f, ", {}{kept}", listed.family)
                })
            }
            Self::FourOctetAsn(asn) => write!(f, "four-octet AS {asn}"),
            Self::AddPath(modes) => {
                f.write_str("add-path")?;
                modes.iter().try_for_each(|(family, mode)| {
                    let way = match mode {
                        AddPathMode::Receive => "receive",
                        AddPathMode::Send => "send",
                        AddPathMode::Both => "both ways",
                    };
                    write!(f, " {family} {way}")
                })
            }
            Self::EnhancedRouteRefresh => f.write_str("enhanced route refresh"),
            Self::LongLivedGracefulRestart(families) => {
                f.write_str("long-lived graceful restart")?;
                families
                    .iter()
                    .try_for_each(|listed| write!(f, " {} {} s", listed.family, listed.stale_time))
            }
            Self::Fqdn { hostname, domain } if domain.is_empty() => write!(f, "name {hostname:?}"),
            Self::Fqdn { hostname, domain } => {
                write!(f, "name {:?}", format!("{hostname}.{domain}"))
            }
            Self::SoftwareVersion(version) => write!(f, "software {version:?}"),
            Self::Unknown { code, value: _ } => write!(f, "unknown capability {code}"),
        }
    }
}

/// Which ways several paths may go, seen from who says so.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum AddPathMode {
    /// Able to receive several paths.
    Receive = 1,
    /// Would like to send several paths.
    Send = 2,
    /// Both.
    Both = 3,
}

impl AddPathMode {
    /// True when several paths may come.
    #[must_use]
    pub const fn receives(self) -> bool {
        matches!(self, Self::Receive | Self::Both)
    }

    /// True when several paths may go.
    #[must_use]
    pub const fn sends(self) -> bool {
        matches!(self, Self::Send | Self::Both)
    }
}

/// A family in [`Capability::GracefulRestart`].
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub struct GracefulFamily {
    /// Which.
    pub family: Family,
    /// F: the sender kept forwarding for it while it restarted.
    pub forwarding_preserved: bool,
}

/// A family in [`Capability::LongLivedGracefulRestart`].
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub struct LongLivedFamily {
    /// Which.
    pub family: Family,
    /// F: the sender kept forwarding for it while it restarted.
    pub forwarding_preserved: bool,
    /// How long its routes may be kept as stale, in seconds; at most 16777215.
    pub stale_time: u32,
}

/// A combination in [`Capability::ExtendedNextHop`].
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub struct ExtendedNextHop {
    /// The routes.
    pub family: Family,
    /// AFI of their next hops.
    pub next_hop_afi: u16,
}

impl Capability {
    /// The code of the IANA registry "Capability Codes".
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::MultiProtocol(_) => MULTI_PROTOCOL,
            Self::RouteRefresh => ROUTE_REFRESH,
            Self::ExtendedNextHop(_) => EXTENDED_NEXT_HOP,
            Self::ExtendedMessage => EXTENDED_MESSAGE,
            Self::Role(_) => ROLE,
            Self::GracefulRestart { .. } => GRACEFUL_RESTART,
            Self::FourOctetAsn(_) => FOUR_OCTET_ASN,
            Self::AddPath(_) => ADD_PATH,
            Self::EnhancedRouteRefresh => ENHANCED_ROUTE_REFRESH,
            Self::LongLivedGracefulRestart(_) => LONG_LIVED_GRACEFUL_RESTART,
            Self::Fqdn { .. } => FQDN,
            Self::SoftwareVersion(_) => SOFTWARE_VERSION,
            Self::Unknown { code, .. } => *code,
        }
    }

    /// Writes code, length and value. What does not fit into 255 octets of value is left out.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[self.code(), 0]);
        match self {
            Self::MultiProtocol(family) => {
                out.put_u16(family.afi);
                out.put_slice(&[0, family.safi]);
            }
            Self::RouteRefresh | Self::ExtendedMessage | Self::EnhancedRouteRefresh => {}
            Self::ExtendedNextHop(combinations) => {
                for ExtendedNextHop {
                    family,
                    next_hop_afi,
                } in combinations.iter().take(255 / 6)
                {
                    out.put_u16(family.afi);
                    out.put_u16(family.safi.into());
                    out.put_u16(*next_hop_afi);
                }
            }
            Self::Role(role) => out.put_u8(*role),
            Self::GracefulRestart {
                restarting,
                notification,
                restart_time,
                families,
            } => {
                let mut flags_and_time = (*restart_time).min(MAX_RESTART_TIME);
                flags_and_time |= if *restarting { RESTARTING } else { 0 };
                flags_and_time |= if *notification { NOTIFICATION } else { 0 };
                out.put_u16(flags_and_time);
                for GracefulFamily {
                    family,
                    forwarding_preserved,
                } in families.iter().take(253 / 4)
                {
                    put_family(*family, out);
                    out.put_u8(forwarding_flag(*forwarding_preserved));
                }
            }
            Self::FourOctetAsn(asn) => out.put_u32(asn.0),
            Self::AddPath(families) => {
                for (family, mode) in families.iter().take(255 / 4) {
                    put_family(*family, out);
                    out.put_u8(*mode as u8);
                }
            }
            Self::LongLivedGracefulRestart(families) => {
                for listed in families.iter().take(255 / 7) {
                    let LongLivedFamily {
                        family,
                        forwarding_preserved,
                        stale_time,
                    } = listed;
                    put_family(*family, out);
                    out.put_u8(forwarding_flag(*forwarding_preserved));
                    out.put_uint((*stale_time).min(MAX_STALE_TIME).into(), 3);
                }
            }
            Self::Fqdn { hostname, domain } => {
                put_text(hostname, MAX_FQDN_PART, out);
                put_text(domain, MAX_FQDN_PART, out);
            }
            Self::SoftwareVersion(version) => put_text(version, MAX_VERSION, out),
            Self::Unknown { value, .. } => out.put_slice(&value[..value.len().min(255)]),
        }
        let length = out.len() - start - 2;
        debug_assert!(length <= 255, "{self:?}");
        out[start + 1] = length as u8; // every arm above keeps below 256
    }

    /// Takes one capability. `None` when it overruns, or is a known one that can't be read (RFC 4271 section 6.2).
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Option<Self> {
        let code = reader.u8()?;
        let value = reader.prefixed_u8()?;
        let unknown = || Self::Unknown {
            code,
            value: Bytes::copy_from_slice(value),
        };
        let mut value = Reader::new(value);
        let capability = match code {
            MULTI_PROTOCOL => {
                let (afi, _reserved, safi) = (value.u16()?, value.u8()?, value.u8()?);
                Self::MultiProtocol(Family { afi, safi })
            }
            ROUTE_REFRESH => Self::RouteRefresh,
            EXTENDED_NEXT_HOP => {
                let combinations = list(&mut value, extended_next_hop)?;
                Self::ExtendedNextHop(combinations.into_iter().flatten().collect())
            }
            EXTENDED_MESSAGE => Self::ExtendedMessage,
            ROLE => Self::Role(value.u8()?),
            GRACEFUL_RESTART => {
                let flags_and_time = value.u16()?;
                Self::GracefulRestart {
                    restarting: flags_and_time & RESTARTING != 0,
                    notification: flags_and_time & NOTIFICATION != 0,
                    restart_time: flags_and_time & MAX_RESTART_TIME,
                    families: list(&mut value, graceful_family)?,
                }
            }
            FOUR_OCTET_ASN => Self::FourOctetAsn(Asn(value.array().map(u32::from_be_bytes)?)),
            ADD_PATH => match list(&mut value, add_path)?.into_iter().collect() {
                Some(families) => Self::AddPath(families),
                // RFC 7911 section 4: a mode that does not exist makes the capability one that is not understood.
                None => return Some(unknown()),
            },
            ENHANCED_ROUTE_REFRESH => Self::EnhancedRouteRefresh,
            LONG_LIVED_GRACEFUL_RESTART => {
                Self::LongLivedGracefulRestart(list(&mut value, long_lived_family)?)
            }
            // For display only: no reason to refuse a peer.
            FQDN => return Some(fqdn(value).unwrap_or_else(unknown)),
            SOFTWARE_VERSION => return Some(software_version(value).unwrap_or_else(unknown)),
            _ => return Some(unknown()),
        };
        value.is_empty().then_some(capability)
    }
}

/// Entries until the end; `None` when the last one is cut off.
fn list<'a, T>(
    value: &mut Reader<'a>,
    entry: impl Fn(&mut Reader<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    let mut entries = Vec::new();
    while !value.is_empty() {
        entries.push(entry(value)?);
    }
    Some(entries)
}

fn family(value: &mut Reader<'_>) -> Option<Family> {
    Some(Family {
        afi: value.u16()?,
        safi: value.u8()?,
    })
}

/// The inner `None` is a SAFI of more than one octet, which does not exist: a combination to be ignored (RFC 8950 section 4).
fn extended_next_hop(value: &mut Reader<'_>) -> Option<Option<ExtendedNextHop>> {
    let (afi, safi, next_hop_afi) = (value.u16()?, value.u16()?, value.u16()?);
    Some(u8::try_from(safi).ok().map(|safi| ExtendedNextHop {
        family: Family { afi, safi },
        next_hop_afi,
    }))
}

fn graceful_family(value: &mut Reader<'_>) -> Option<GracefulFamily> {
    let family = family(value)?;
    Some(GracefulFamily {
        family,
        forwarding_preserved: value.u8()? & FORWARDING != 0,
    })
}

/// The inner `None` is a mode that does not exist.
fn add_path(value: &mut Reader<'_>) -> Option<Option<(Family, AddPathMode)>> {
    let family = family(value)?;
    let mode = match value.u8()? {
        1 => AddPathMode::Receive,
        2 => AddPathMode::Send,
        3 => AddPathMode::Both,
        _ => return Some(None),
    };
    Some(Some((family, mode)))
}

fn long_lived_family(value: &mut Reader<'_>) -> Option<LongLivedFamily> {
    let family = family(value)?;
    let forwarding_preserved = value.u8()? & FORWARDING != 0;
    let [high, middle, low] = value.array()?;
    let stale_time = u32::from_be_bytes([0, high, middle, low]);
    Some(LongLivedFamily {
        family,
        forwarding_preserved,
        stale_time,
    })
}

fn fqdn(mut value: Reader<'_>) -> Option<Capability> {
    let hostname = text(value.prefixed_u8()?, MAX_FQDN_PART)?;
    let domain = text(value.prefixed_u8()?, MAX_FQDN_PART)?;
    value
        .is_empty()
        .then_some(Capability::Fqdn { hostname, domain })
}

fn software_version(mut value: Reader<'_>) -> Option<Capability> {
    let version = text(value.prefixed_u8()?, MAX_VERSION)?;
    value
        .is_empty()
        .then_some(Capability::SoftwareVersion(version))
}

fn text(octets: &[u8], most: usize) -> Option<String> {
    (octets.len() <= most)
        .then(|| std::str::from_utf8(octets).ok().map(str::to_owned))
        .flatten()
}

fn put_family(family: Family, out: &mut Vec<u8>) {
    out.put_u16(family.afi);
    out.put_u8(family.safi);
}

/// One octet of length and the text, cut to `most` octets.
fn put_text(text: &str, most: usize, out: &mut Vec<u8>) {
    let text = &text[..text.floor_char_boundary(most)];
    out.put_u8(text.len() as u8); // `most` is below 256
    out.put_slice(text.as_bytes());
}

const fn forwarding_flag(forwarding_preserved: bool) -> u8 {
    if forwarding_preserved { FORWARDING } else { 0 }
}

const MULTI_PROTOCOL: u8 = 1;
const ROUTE_REFRESH: u8 = 2;
const EXTENDED_NEXT_HOP: u8 = 5;
const EXTENDED_MESSAGE: u8 = 6;
const ROLE: u8 = 9;
const GRACEFUL_RESTART: u8 = 64;
const FOUR_OCTET_ASN: u8 = 65;
const ADD_PATH: u8 = 69;
const ENHANCED_ROUTE_REFRESH: u8 = 70;
const LONG_LIVED_GRACEFUL_RESTART: u8 = 71;
const FQDN: u8 = 73;
const SOFTWARE_VERSION: u8 = 75;

const RESTARTING: u16 = 0x8000;
const NOTIFICATION: u16 = 0x4000;
const MAX_RESTART_TIME: u16 = 0x0fff;
const MAX_STALE_TIME: u32 = 0x00ff_ffff;
const FORWARDING: u8 = 0x80;

/// Both parts and their lengths in 255 octets; 64 is the longest host name of Linux, 253 the longest name of all.
const MAX_FQDN_PART: usize = 126;
const MAX_VERSION: usize = 254;

#[cfg(test)]
mod tests {
    use super::*;

    fn again(capability: &Capability) -> Option<Capability> {
        let mut octets = Vec::new();
        capability.encode(&mut octets);
        let mut reader = Reader::new(&octets);
        let decoded = Capability::decode(&mut reader);
        assert!(reader.is_empty());
        decoded
    }

    fn all() -> Vec<Capability> {
        let (v4, v6) = (Family::IPV4_UNICAST, Family::IPV6_UNICAST);
        vec![
            Capability::MultiProtocol(v6),
            Capability::RouteRefresh,
            Capability::ExtendedNextHop(vec![ExtendedNextHop {
                family: v4,
                next_hop_afi: 2,
            }]),
            Capability::ExtendedMessage,
            Capability::Role(3),
            Capability::GracefulRestart {
                restarting: true,
                notification: false,
                restart_time: 4095,
                families: vec![
                    GracefulFamily {
                        family: v4,
                        forwarding_preserved: true,
                    },
                    GracefulFamily {
                        family: v6,
                        forwarding_preserved: false,
                    },
                ],
            },
            Capability::FourOctetAsn(Asn(u32::MAX)),
            Capability::AddPath(vec![(v4, AddPathMode::Both), (v6, AddPathMode::Send)]),
            Capability::EnhancedRouteRefresh,
            Capability::LongLivedGracefulRestart(vec![LongLivedFamily {
                family: v4,
                forwarding_preserved: true,
                stale_time: 0x00ff_fffe,
            }]),
            Capability::Fqdn {
                hostname: "node-1".into(),
                domain: "example.net".into(),
            },
            Capability::SoftwareVersion("weft/0.1.0".into()),
            Capability::Unknown {
                code: 239,
                value: Bytes::from_static(&[1, 2, 3]),
            },
        ]
    }

    #[test]
    fn every_capability_comes_back() {
        for capability in all() {
            assert_eq!(again(&capability), Some(capability));
        }
    }

    #[test]
    fn a_known_capability_of_a_wrong_length_is_malformed() {
        for capability in all() {
            if matches!(
                capability,
                Capability::Unknown { .. }
                    | Capability::Fqdn { .. }
                    | Capability::SoftwareVersion(_)
            ) {
                continue;
            }
            let mut longer = Vec::new();
            capability.encode(&mut longer);
            longer[1] += 1;
            longer.push(0);
            assert_eq!(
                Capability::decode(&mut Reader::new(&longer)),
                None,
                "{capability:?}"
            );
            if longer[1] > 1 {
                let mut shorter = longer[..longer.len() - 2].to_vec();
                shorter[1] -= 2;
                assert_eq!(
                    Capability::decode(&mut Reader::new(&shorter)),
                    None,
                    "{capability:?}"
                );
            }
        }
    }

    #[test]
    fn a_name_that_can_not_be_read_is_no_reason_to_refuse() {
        for octets in [
            &[73, 2, 5, b'a'][..],
            &[73, 0],
            &[73, 3, 1, 0xff, 0],
            &[75, 2, 9, b'a'],
        ] {
            let decoded = Capability::decode(&mut Reader::new(octets));
            assert!(
                matches!(decoded, Some(Capability::Unknown { .. })),
                "{octets:?}"
            );
        }
    }

    #[test]
    fn a_mode_of_add_path_that_does_not_exist_makes_it_unknown() {
        for mode in [0, 4, 255] {
            let octets = [69, 8, 0, 1, 1, 3, 0, 2, 1, mode];
            let decoded = Capability::decode(&mut Reader::new(&octets));
            assert!(
                matches!(decoded, Some(Capability::Unknown { code: 69, .. })),
                "{mode}"
            );
        }
    }

    #[test]
    fn a_family_of_next_hops_that_can_not_be_is_left_out() {
        let octets = [5, 12, 0, 1, 1, 1, 0, 2, 0, 1, 0, 1, 0, 2];
        assert_eq!(
            Capability::decode(&mut Reader::new(&octets)),
            Some(Capability::ExtendedNextHop(vec![ExtendedNextHop {
                family: Family::IPV4_UNICAST,
                next_hop_afi: 2,
            }]))
        );
    }

    #[test]
    fn lists_that_do_not_fit_are_cut_between_entries() {
        let many = vec![(Family::IPV4_UNICAST, AddPathMode::Both); 100];
        let Some(Capability::AddPath(kept)) = again(&Capability::AddPath(many)) else {
            panic!("not an AddPath")
        };
        assert_eq!(kept.len(), 63);
        let long = "x".repeat(300);
        let name = Capability::Fqdn {
            hostname: long.clone(),
            domain: long.clone(),
        };
        assert!(
            matches!(again(&name), Some(Capability::Fqdn { hostname, .. }) if hostname.len() == 126)
        );
        let version = Capability::SoftwareVersion(long);
        assert!(
            matches!(again(&version), Some(Capability::SoftwareVersion(kept)) if kept.len() == 254)
        );
    }
}
