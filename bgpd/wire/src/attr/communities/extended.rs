//! Extended communities: 8 octets (RFC 4360) and 20 octets with an IPv6 address (RFC 5701).

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::asn::{Asn, decimal};

use super::ParseCommunityError;

/// An extended community (RFC 4360), as it is on the wire.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Type high    |  Type low     |                               |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+          Value                |
/// |                                                               |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct ExtendedCommunity(pub [u8; 8]);

impl ExtendedCommunity {
    /// A route target; with `value` cut to 16 bits when the AS takes four octets (RFC 4360 section 4, RFC 5668).
    #[must_use]
    pub fn route_target(asn: Asn, value: u32) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (asn.0.to_be_bytes(), value.to_be_bytes());
        if asn.is_two_octet() {
            Self([TWO_OCTET_AS, ROUTE_TARGET, c, d, e, f, g, h])
        } else {
            Self([FOUR_OCTET_AS, ROUTE_TARGET, a, b, c, d, g, h])
        }
    }

    /// True when it goes on to other ASes (RFC 4360 section 2).
    #[must_use]
    pub const fn is_transitive(self) -> bool {
        self.0[0] & NON_TRANSITIVE == 0
    }
}

impl fmt::Display for ExtendedCommunity {
    /// `rt:65001:100` and `ro:192.0.2.1:100` for targets and origins, else `0x` and sixteen digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [kind, subtype, a, b, c, d, e, g] = self.0;
        let name = match subtype {
            ROUTE_TARGET => "rt",
            ROUTE_ORIGIN => "ro",
            _ => "",
        };
        let (two, four) = (u16::from_be_bytes([a, b]), u32::from_be_bytes([c, d, e, g]));
        let last = u16::from_be_bytes([e, g]);
        match (kind, name) {
            (TWO_OCTET_AS, "rt" | "ro") => write!(f, "{name}:{two}:{four}"),
            (IPV4_ADDRESS, "rt" | "ro") => write!(f, "{name}:{}:{last}", Ipv4Addr::new(a, b, c, d)),
            (FOUR_OCTET_AS, "rt" | "ro") => {
                // With the L the two sizes of AS numbers stay apart where the number alone would not tell.
                let asn = u32::from_be_bytes([a, b, c, d]);
                let mark = if Asn(asn).is_two_octet() { "L" } else { "" };
                write!(f, "{name}:{asn}{mark}:{last}")
            }
            _ => write!(f, "0x{:016x}", u64::from_be_bytes(self.0)),
        }
    }
}

impl FromStr for ExtendedCommunity {
    type Err = ParseCommunityError;

    /// Reads what `Display` writes.
    fn from_str(text: &str) -> Result<Self, ParseCommunityError> {
        parse(text).ok_or_else(|| {
            ParseCommunityError::new(text, "rt:x:y, ro:x:y, or 0x and sixteen hexadecimal digits")
        })
    }
}

fn parse(text: &str) -> Option<ExtendedCommunity> {
    if let Some(digits) = text.strip_prefix("0x") {
        let whole = digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = whole
            .then(|| u64::from_str_radix(digits, 16).ok())
            .flatten()?;
        return Some(ExtendedCommunity(number.to_be_bytes()));
    }
    let (name, rest) = text.split_once(':')?;
    let (administrator, value) = rest.rsplit_once(':')?;
    let subtype = match name {
        "rt" => ROUTE_TARGET,
        "ro" => ROUTE_ORIGIN,
        _ => return None,
    };
    let four_octets = |octets: [u8; 4], kind| {
        let ([a, b, c, d], [e, g]) = (octets, decimal::<u16>(value)?.to_be_bytes());
        Some(ExtendedCommunity([kind, subtype, a, b, c, d, e, g]))
    };
    if let Ok(address) = administrator.parse::<Ipv4Addr>() {
        return four_octets(address.octets(), IPV4_ADDRESS);
    }
    if let Some(asn) = administrator.strip_suffix('L') {
        return four_octets(decimal::<u32>(asn)?.to_be_bytes(), FOUR_OCTET_AS);
    }
    let asn: u32 = decimal(administrator)?;
    let Ok(short) = u16::try_from(asn) else {
        return four_octets(asn.to_be_bytes(), FOUR_OCTET_AS);
    };
    let ([a, b], [c, d, e, g]) = (short.to_be_bytes(), decimal::<u32>(value)?.to_be_bytes());
    Some(ExtendedCommunity([TWO_OCTET_AS, subtype, a, b, c, d, e, g]))
}

/// An IPv6 address specific extended community (RFC 5701), as it is on the wire: type, 16 octets of address, 2 of value.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct Ipv6ExtendedCommunity(pub [u8; 20]);

impl fmt::Display for Ipv6ExtendedCommunity {
    /// `rt:[2001:db8::1]:100` for targets, `ro:` for origins, else `0x` and the type in front.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [kind, subtype, rest @ ..] = self.0;
        let [address @ .., high, low] = rest;
        match (kind, subtype) {
            (0, ROUTE_TARGET) => f.write_str("rt")?,
            (0, ROUTE_ORIGIN) => f.write_str("ro")?,
            _ => write!(f, "0x{kind:02x}{subtype:02x}")?,
        }
        write!(
            f,
            ":[{}]:{}",
            Ipv6Addr::from(address),
            u16::from_be_bytes([high, low])
        )
    }
}

const TWO_OCTET_AS: u8 = 0;
const IPV4_ADDRESS: u8 = 1;
const FOUR_OCTET_AS: u8 = 2;
const ROUTE_TARGET: u8 = 2;
const ROUTE_ORIGIN: u8 = 3;
const NON_TRANSITIVE: u8 = 0x40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_written_and_read_back() {
        for (octets, text) in [
            ([0, 2, 0xfd, 0xe9, 0, 0, 0, 100], "rt:65001:100"),
            ([1, 3, 192, 0, 2, 1, 0, 7], "ro:192.0.2.1:7"),
            ([2, 2, 0, 1, 0, 0, 0, 1], "rt:65536:1"),
            ([2, 2, 0, 0, 0, 1, 0, 1], "rt:1L:1"),
            ([3, 0x0c, 0, 0, 0, 0, 0, 8], "0x030c000000000008"),
            ([0x40, 2, 0, 1, 0, 0, 0, 1], "0x4002000100000001"),
        ] {
            assert_eq!(ExtendedCommunity(octets).to_string(), text);
            assert_eq!(text.parse(), Ok(ExtendedCommunity(octets)));
        }
        for text in [
            "",
            "rt",
            "rt:1",
            "rt:1:4294967296",
            "rt:65536:65536",
            "0x12",
            "xx:1:1",
            "0x+23456789abcdef0",
        ] {
            assert!(text.parse::<ExtendedCommunity>().is_err(), "{text:?}");
        }
        assert_eq!(
            ExtendedCommunity::route_target(Asn(65536), 1).to_string(),
            "rt:65536:1"
        );
        assert_eq!(
            ExtendedCommunity::route_target(Asn(1), 100_000).to_string(),
            "rt:1:100000"
        );
    }

    #[test]
    fn an_ipv6_target_shows_its_address() {
        let mut octets = [0; 20];
        octets[1] = 2;
        octets[2..6].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        octets[19] = 100;
        assert_eq!(
            Ipv6ExtendedCommunity(octets).to_string(),
            "rt:[2001:db8::]:100"
        );
    }

    #[test]
    fn the_transitive_bit_is_the_second() {
        assert!(ExtendedCommunity([0x03, 0x0c, 0, 0, 0, 0, 0, 8]).is_transitive());
        assert!(!ExtendedCommunity([0x43, 0, 0, 0, 0, 0, 0, 0]).is_transitive());
    }
}
