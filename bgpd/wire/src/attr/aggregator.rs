//! AGGREGATOR and AS4_AGGREGATOR (RFC 4271 section 5.1.7, RFC 6793).

use std::fmt;
use std::net::Ipv4Addr;

use crate::asn::Asn;
use crate::reader::Reader;

use super::as_path::AsnWidth;
use super::fault::FaultReason;

/// Who aggregated a route.
///
/// ```text
/// +-----------------------------+
/// | AS number (2 or 4 octets)   |
/// +-----------------------------+
/// | IPv4 address (4 octets)     |
/// +-----------------------------+
/// ```
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub struct Aggregator {
    /// Its AS.
    pub asn: Asn,
    /// Its BGP identifier.
    pub address: Ipv4Addr,
}

impl Aggregator {
    pub(super) fn decode(value: &[u8], width: AsnWidth) -> Result<Self, FaultReason> {
        let mut reader = Reader::new(value);
        let (Some(asn), Some(address), true) = (
            width.read(&mut reader),
            reader.array::<4>(),
            reader.is_empty(),
        ) else {
            return Err(FaultReason::Length(value.len() as u16)); // comes from 16 bits
        };
        // RFC 7607 section 2.
        if asn.is_zero() {
            return Err(FaultReason::AsZero);
        }
        Ok(Self {
            asn,
            address: address.into(),
        })
    }
}

impl fmt::Display for Aggregator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AS{} {}", self.asn, self.address)
    }
}
