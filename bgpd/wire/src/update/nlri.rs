//! NLRI: the one place that knows the bytes of each family's routes.
//!
//! RFC 4271 section 4.3 (prefixes), RFC 7911 section 3 (path identifiers). A family is added with a [`Format`].

use std::net::{Ipv4Addr, Ipv6Addr};

use bytes::BufMut;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::family::Family;
use crate::reader::Reader;

/// Tells several paths of one prefix apart (RFC 7911). 0 where there is but one.
pub type PathId = u32;

/// One route, but for its attributes.
///
/// ```text
/// +--------------------------------+
/// | Path identifier (4 octets)     |  with ADD-PATH only
/// +--------------------------------+
/// | Length in bits (1 octet)       |
/// +--------------------------------+
/// | Prefix (0 to 4 or 16 octets)   |
/// +--------------------------------+
/// ```
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct Nlri {
    /// 0 unless ADD-PATH is in force.
    pub path_id: PathId,
    /// Where it leads. Host bits are zero in what was received.
    pub prefix: IpNet,
}

impl From<IpNet> for Nlri {
    /// A route without a path identifier.
    fn from(prefix: IpNet) -> Self {
        Self { path_id: 0, prefix }
    }
}

/// How the routes of a family are written.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct Format {
    kind: Kind,
    add_path: bool,
}

#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Kind {
    Ipv4Prefix,
    Ipv6Prefix,
}

/// Why NLRI can't be read (RFC 7606 section 5.3).
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum NlriError {
    /// A prefix longer than its family has bits.
    TooLong,
    /// The last one is cut off.
    Overrun,
}

impl Format {
    /// `None` for families whose routes are not known here.
    pub(super) const fn new(family: Family, add_path: bool) -> Option<Self> {
        let kind = match family {
            Family::IPV4_UNICAST => Kind::Ipv4Prefix,
            Family::IPV6_UNICAST => Kind::Ipv6Prefix,
            _ => return None,
        };
        Some(Self { kind, add_path })
    }

    /// Octets that the longest route takes.
    pub(super) const fn max_length(self) -> usize {
        self.path_id_length() + 1 + self.max_bits() as usize / 8
    }

    /// True when `route` can be written in this format.
    pub(super) const fn accepts(self, route: &Nlri) -> bool {
        matches!(
            (self.kind, route.prefix),
            (Kind::Ipv4Prefix, IpNet::V4(_)) | (Kind::Ipv6Prefix, IpNet::V6(_))
        )
    }

    /// How many routes from the front fit into `room` octets, and how many octets they take.
    pub(super) fn fit(self, routes: &[Nlri], room: usize) -> (usize, usize) {
        let mut octets = 0;
        for (count, route) in routes.iter().enumerate() {
            let with_this = octets + self.length(route);
            if with_this > room {
                return (count, octets);
            }
            octets = with_this;
        }
        (routes.len(), octets)
    }

    /// Writes one route.
    pub(super) fn encode(self, route: &Nlri, out: &mut impl BufMut) {
        if self.add_path {
            out.put_u32(route.path_id);
        }
        let length = route.prefix.prefix_len();
        out.put_u8(length);
        match route.prefix {
            IpNet::V4(prefix) => out.put_slice(&prefix.network().octets()[..octets_of(length)]),
            IpNet::V6(prefix) => out.put_slice(&prefix.network().octets()[..octets_of(length)]),
        }
    }

    /// Reads a whole field. One allocation, of the size that is needed.
    pub(super) fn decode(self, field: &[u8]) -> Result<Vec<Nlri>, NlriError> {
        let mut routes = Vec::with_capacity(self.count(field)?);
        let mut reader = Reader::new(field);
        while !reader.is_empty() {
            routes.push(self.decode_one(&mut reader)?);
        }
        Ok(routes)
    }

    fn decode_one(self, reader: &mut Reader<'_>) -> Result<Nlri, NlriError> {
        let path_id = if self.add_path {
            u32::from_be_bytes(reader.array().ok_or(NlriError::Overrun)?)
        } else {
            0
        };
        let length = reader.u8().ok_or(NlriError::Overrun)?;
        if length > self.max_bits() {
            return Err(NlriError::TooLong);
        }
        let octets = reader.take(octets_of(length)).ok_or(NlriError::Overrun)?;
        let prefix = match self.kind {
            Kind::Ipv4Prefix => {
                let mut address = [0; 4];
                address[..octets.len()].copy_from_slice(octets);
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                let address = Ipv4Addr::from(u32::from_be_bytes(address) & mask);
                Ipv4Net::new(address, length).map(IpNet::V4)
            }
            Kind::Ipv6Prefix => {
                let mut address = [0; 16];
                address[..octets.len()].copy_from_slice(octets);
                let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                let address = Ipv6Addr::from(u128::from_be_bytes(address) & mask);
                Ipv6Net::new(address, length).map(IpNet::V6)
            }
        };
        prefix
            .map(|prefix| Nlri { path_id, prefix })
            .map_err(|_| NlriError::TooLong)
    }

    /// How many routes a field holds. Reads their lengths only.
    fn count(self, field: &[u8]) -> Result<usize, NlriError> {
        let mut reader = Reader::new(field);
        let mut count = 0;
        while !reader.is_empty() {
            reader
                .take(self.path_id_length())
                .ok_or(NlriError::Overrun)?;
            let length = reader.u8().ok_or(NlriError::Overrun)?;
            if length > self.max_bits() {
                return Err(NlriError::TooLong);
            }
            reader.take(octets_of(length)).ok_or(NlriError::Overrun)?;
            count += 1;
        }
        Ok(count)
    }

    fn length(self, route: &Nlri) -> usize {
        self.path_id_length() + 1 + octets_of(route.prefix.prefix_len())
    }

    const fn path_id_length(self) -> usize {
        if self.add_path {
            size_of::<PathId>()
        } else {
            0
        }
    }

    const fn max_bits(self) -> u8 {
        match self.kind {
            Kind::Ipv4Prefix => 32,
            Kind::Ipv6Prefix => 128,
        }
    }
}

/// Octets that a prefix of `bits` takes.
const fn octets_of(bits: u8) -> usize {
    (bits as usize).div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(family: Family, add_path: bool) -> Format {
        Format::new(family, add_path).unwrap()
    }

    fn texts(routes: &[Nlri]) -> Vec<String> {
        routes
            .iter()
            .map(|route| format!("{} {}", route.path_id, route.prefix))
            .collect()
    }

    #[test]
    fn host_bits_are_dropped() {
        let v4 = format(Family::IPV4_UNICAST, false);
        let routes = v4.decode(&[0, 9, 10, 0xff, 32, 1, 2, 3, 4]).unwrap();
        assert_eq!(
            texts(&routes),
            ["0 0.0.0.0/0", "0 10.128.0.0/9", "0 1.2.3.4/32"]
        );
        let v6 = format(Family::IPV6_UNICAST, false);
        let routes = v6.decode(&[0, 33, 0x20, 1, 0x0d, 0xb8, 0xff]).unwrap();
        assert_eq!(texts(&routes), ["0 ::/0", "0 2001:db8:8000::/33"]);
    }

    #[test]
    fn path_identifiers_come_first() {
        let routes = format(Family::IPV4_UNICAST, true)
            .decode(&[0, 0, 0, 7, 8, 10])
            .unwrap();
        assert_eq!(texts(&routes), ["7 10.0.0.0/8"]);
    }

    #[test]
    fn every_length_is_checked() {
        let v4 = format(Family::IPV4_UNICAST, false);
        assert_eq!(v4.decode(&[33, 1, 2, 3, 4, 5]), Err(NlriError::TooLong));
        assert_eq!(v4.decode(&[8, 10, 24, 1, 2]), Err(NlriError::Overrun));
        let v6 = format(Family::IPV6_UNICAST, false);
        assert_eq!(v6.decode(&[129]), Err(NlriError::TooLong));
        assert_eq!(v6.decode(&[128, 1]), Err(NlriError::Overrun));
        let add_path = format(Family::IPV4_UNICAST, true);
        assert_eq!(add_path.decode(&[0, 0, 0]), Err(NlriError::Overrun));
        assert_eq!(add_path.decode(&[0, 0, 0, 1]), Err(NlriError::Overrun));
    }

    #[test]
    fn routes_come_back_from_every_length() {
        for (family, longest) in [(Family::IPV4_UNICAST, 32), (Family::IPV6_UNICAST, 128)] {
            for (length, add_path) in
                (0..=longest).flat_map(|length| [(length, false), (length, true)])
            {
                let address = if longest == 32 {
                    "255.255.255.255"
                } else {
                    "ff:ff:ff:ff:ff:ff:ff:ff"
                };
                let prefix: IpNet = format!("{address}/{length}").parse().unwrap();
                let route = Nlri {
                    path_id: u32::from(add_path),
                    prefix: prefix.trunc(),
                };
                let format = format(family, add_path);
                let mut octets = Vec::new();
                format.encode(&route, &mut octets);
                assert_eq!(format.decode(&octets), Ok(vec![route]));
                assert_eq!(format.fit(&[route], octets.len()), (1, octets.len()));
                assert_eq!(format.fit(&[route], octets.len() - 1), (0, 0));
                assert!(octets.len() <= format.max_length());
            }
        }
    }
}
