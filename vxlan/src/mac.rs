//! MAC addresses of tunnel end points.

use std::fmt;
use std::str::FromStr;

use sha1::{Digest, Sha1};

use crate::Family;

/// An Ethernet address.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct MacAddr(pub [u8; 6]);

/// The text is not a MAC address.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is not a MAC address: six bytes in hexadecimal with colons or dashes are expected")]
pub struct ParseMacError(String);

impl MacAddr {
    /// The address that every node, of Calico or of weft, derives for a node that has none of its own: 0x66 (locally
    /// administered, unicast) and the first five bytes of the SHA-1 of the name, for IPv6 with `-v6` appended.
    #[must_use]
    pub fn of_node(name: &str, family: Family) -> Self {
        let mut hash = Sha1::new_with_prefix(name);
        if family == Family::V6 {
            hash.update("-v6");
        }
        let digest = hash.finalize();
        let mut bytes = [0x66; 6];
        bytes[1..].copy_from_slice(&digest[..5]);
        Self(bytes)
    }

    /// True when the address can belong to one device: neither a group address nor all zeros.
    #[must_use]
    pub fn is_unicast(self) -> bool {
        self.0[0] & 1 == 0 && self.0 != [0; 6]
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for MacAddr {
    type Err = ParseMacError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseMacError(text.to_owned());
        let mut bytes = [0; 6];
        let mut parts = text.split([':', '-']);
        // `from_str_radix` takes a sign, too.
        let is_byte = |part: &&str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
        for byte in &mut bytes {
            let part = parts.next().filter(is_byte).ok_or_else(error)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| error())?;
        }
        match parts.next() {
            None => Ok(Self(bytes)),
            Some(_) => Err(error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Calico's own tests (`remotehostname*`) and from its golden node resource (`kube-node-1`).
    #[test]
    fn derived_addresses_are_those_of_calico() {
        for (name, v4, v6) in [
            ("kube-node-1", "66:a8:6f:cf:1c:56", "66:59:df:53:8a:d3"),
            ("remotehostname", "66:3e:ca:a4:db:65", "66:a0:68:c9:4c:79"),
            ("remotehostname2", "66:40:18:59:1f:16", "66:74:ea:ba:7e:f7"),
            ("localhostname", "66:48:f6:56:dc:f1", "66:e7:df:bb:1a:68"),
        ] {
            assert_eq!(MacAddr::of_node(name, Family::V4).to_string(), v4);
            assert_eq!(MacAddr::of_node(name, Family::V6).to_string(), v6);
            assert!(MacAddr::of_node(name, Family::V4).is_unicast());
        }
    }

    #[test]
    fn colons_and_dashes_are_read_and_nothing_else() {
        let mac = MacAddr([0x66, 0xa8, 0x6f, 0xcf, 0x1c, 0x56]);
        assert_eq!("66:a8:6f:cf:1c:56".parse(), Ok(mac));
        assert_eq!("66-A8-6F-CF-1C-56".parse(), Ok(mac));
        for wrong in [
            "",
            "66:a8:6f:cf:1c",
            "66:a8:6f:cf:1c:56:00",
            "6:a8:6f:cf:1c:56",
            "g6:a8:6f:cf:1c:56",
            "+6:a8:6f:cf:1c:56",
        ] {
            assert!(wrong.parse::<MacAddr>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn group_addresses_and_zero_are_not_unicast() {
        assert!(!MacAddr([1, 0, 0x5e, 0, 0, 1]).is_unicast());
        assert!(!MacAddr([0; 6]).is_unicast());
        assert!(MacAddr([2, 0, 0, 0, 0, 1]).is_unicast());
    }
}
