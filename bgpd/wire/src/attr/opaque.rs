//! Attributes that are passed on as they came, once their structure has been checked; and AIGP, which has one too.
//!
//! A peer that forwards what it does not understand can be made to carry a malformed attribute far. Checking what is
//! understood here stops it (RFC 7606 section 1).

use crate::reader::Reader;

use super::fault::FaultReason;

/// AIGP (RFC 7311 section 3): exactly one TLV, the accumulated metric.
///
/// ```text
/// +---------------+-------------------------------+------------------------+
/// | Type (1)      | Length (2): 11 with the head  | Metric (8)             |
/// +---------------+-------------------------------+------------------------+
/// ```
pub(super) fn decode_aigp(value: &[u8]) -> Result<u64, FaultReason> {
    let mut reader = Reader::new(value);
    let kind = reader.u8().ok_or(FaultReason::Length(0))?;
    if kind != AIGP_METRIC {
        return Err(FaultReason::UnknownTlv(kind));
    }
    let length = reader.u16().ok_or(FaultReason::Structure("TLV"))?;
    if length != AIGP_METRIC_LENGTH {
        return Err(FaultReason::Value("TLV length"));
    }
    let metric = reader
        .array()
        .map(u64::from_be_bytes)
        .ok_or(FaultReason::Structure("TLV"))?;
    match reader.rest().first() {
        None => Ok(metric),
        Some(&AIGP_METRIC) => Err(FaultReason::Value("second metric")),
        Some(&kind) => Err(FaultReason::UnknownTlv(kind)),
    }
}

/// The head of an AIGP metric.
pub(super) const AIGP_HEAD: [u8; 3] = [AIGP_METRIC, 0, AIGP_METRIC_LENGTH as u8];

/// PMSI_TUNNEL (RFC 6514 section 5).
///
/// ```text
/// +---------------------------------+
/// |  Flags (1 octet)                |
/// +---------------------------------+
/// |  Tunnel Type (1 octet)          |
/// +---------------------------------+
/// |  MPLS Label (3 octets)          |
/// +---------------------------------+
/// |  Tunnel Identifier (variable)   |
/// +---------------------------------+
/// ```
pub(super) fn check_pmsi_tunnel(value: &[u8]) -> Result<(), FaultReason> {
    let length = FaultReason::Length(value.len() as u16); // comes from 16 bits
    let [_flags, kind, _, _, _, identifier @ ..] = value else {
        return Err(length);
    };
    match (*kind, identifier.len()) {
        // The identifier is the address of the tunnel's end; IPv6 makes it 16 octets.
        (PMSI_INGRESS_REPLICATION, 4 | 16) => Ok(()),
        (PMSI_INGRESS_REPLICATION, _) => Err(length),
        (0..=PMSI_LAST_TYPE, _) => Ok(()),
        _ => Err(FaultReason::Value("tunnel type")),
    }
}

/// TUNNEL_ENCAPSULATION (RFC 9012 section 2): TLVs of sub-TLVs.
///
/// ```text
/// +-----------------------------------------------------------+
/// |  Tunnel Type (2)            |  Length (2)                 |
/// +-----------------------------------------------------------+
/// |  Sub-TLVs: type (1), length (1, or 2 from type 128), value |
/// +-----------------------------------------------------------+
/// ```
pub(super) fn check_tunnel_encapsulation(value: &[u8]) -> Result<(), FaultReason> {
    let mut tunnels = Reader::new(value);
    if tunnels.is_empty() {
        return Err(FaultReason::Length(0));
    }
    while !tunnels.is_empty() {
        let tunnel = tunnels.u16().and_then(|_kind| tunnels.prefixed_u16());
        let mut sub_tlvs = Reader::new(tunnel.ok_or(FaultReason::Structure("tunnel TLV"))?);
        while let Some(kind) = sub_tlvs.u8() {
            let value = if kind < 128 {
                sub_tlvs.prefixed_u8()
            } else {
                sub_tlvs.prefixed_u16()
            };
            value.ok_or(FaultReason::Structure("sub-TLV"))?;
        }
    }
    Ok(())
}

/// PREFIX_SID (RFC 8669 section 3, RFC 9252 section 2).
///
/// ```text
/// +---------------+---------------------+-------------------+
/// | Type (1)      | Length (2)          | Value             | ...
/// +---------------+---------------------+-------------------+
/// ```
pub(super) fn check_prefix_sid(value: &[u8]) -> Result<(), FaultReason> {
    let mut reader = Reader::new(value);
    if reader.is_empty() {
        return Err(FaultReason::Length(0));
    }
    while let Some(kind) = reader.u8() {
        let value = reader.prefixed_u16().ok_or(FaultReason::Structure("TLV"))?;
        match (kind, value.len()) {
            (LABEL_INDEX, LABEL_INDEX_LENGTH) => {}
            (LABEL_INDEX, _) => return Err(FaultReason::Structure("label index")),
            (ORIGINATOR_SRGB, length) if length >= 8 && (length - 2).is_multiple_of(6) => {}
            (ORIGINATOR_SRGB, _) => return Err(FaultReason::Structure("originator SRGB")),
            (SRV6_L3_SERVICE | SRV6_L2_SERVICE, _) => check_srv6_service(value)?,
            _ => {} // RFC 8669 section 3: unknown TLVs are passed on
        }
    }
    Ok(())
}

/// The SRv6 Service TLVs (RFC 9252 section 2): a reserved octet, then sub-TLVs.
fn check_srv6_service(value: &[u8]) -> Result<(), FaultReason> {
    let mut reader = Reader::new(value);
    reader.u8().ok_or(FaultReason::Structure("SRv6 service"))?;
    while let Some(kind) = reader.u8() {
        // Section 7: what is wrong inside makes the route unusable, where the attribute as such is fine.
        let value = reader
            .prefixed_u16()
            .ok_or(FaultReason::Value("SRv6 service sub-TLV"))?;
        if kind == SRV6_SID_INFORMATION && value.len() < SRV6_SID_INFORMATION_LENGTH {
            return Err(FaultReason::Value("SRv6 SID information"));
        }
    }
    Ok(())
}

/// BGP-LS (RFC 9552 section 5.3): TLVs with type and length of two octets each.
pub(super) fn check_link_state(value: &[u8]) -> Result<(), FaultReason> {
    let mut reader = Reader::new(value);
    while !reader.is_empty() {
        reader
            .u16()
            .and_then(|_kind| reader.prefixed_u16())
            .ok_or(FaultReason::Structure("TLV"))?;
    }
    Ok(())
}

const AIGP_METRIC: u8 = 1;
const AIGP_METRIC_LENGTH: u16 = 11;

const PMSI_INGRESS_REPLICATION: u8 = 6;
/// mLDP MP2MP LSP.
const PMSI_LAST_TYPE: u8 = 7;

const LABEL_INDEX: u8 = 1;
const LABEL_INDEX_LENGTH: usize = 7;
const ORIGINATOR_SRGB: u8 = 3;
const SRV6_L3_SERVICE: u8 = 5;
const SRV6_L2_SERVICE: u8 = 6;
const SRV6_SID_INFORMATION: u8 = 1;
/// Reserved, SID, flags, behaviour, reserved.
const SRV6_SID_INFORMATION_LENGTH: usize = 21;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aigp_is_one_metric_of_eleven_octets() {
        assert_eq!(decode_aigp(&[1, 0, 11, 0, 0, 0, 0, 0, 0, 1, 0]), Ok(256));
        for value in [
            &[][..],
            &[1],
            &[1, 0, 11],
            &[1, 0, 10, 0, 0, 0, 0, 0, 0, 1],
            &[1, 0, 12, 0, 0, 0, 0, 0, 0, 1, 0, 0],
            &[2, 0, 11, 0, 0, 0, 0, 0, 0, 1, 0],
            &[1, 0, 11, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 3],
            &[1, 0, 11, 0, 0, 0, 0, 0, 0, 1, 0, 1],
        ] {
            assert!(decode_aigp(value).is_err(), "{value:?}");
        }
    }

    #[test]
    fn an_ingress_replication_tunnel_ends_at_an_address() {
        let with = |length: usize, kind| {
            let mut value = vec![0; length];
            value.get_mut(1).into_iter().for_each(|octet| *octet = kind);
            check_pmsi_tunnel(&value)
        };
        assert!(
            with(9, 6).is_ok() && with(21, 6).is_ok() && with(5, 0).is_ok() && with(22, 2).is_ok()
        );
        assert_eq!(with(4, 6), Err(FaultReason::Length(4)));
        assert_eq!(with(8, 6), Err(FaultReason::Length(8)));
        assert_eq!(with(9, 8), Err(FaultReason::Value("tunnel type")));
        assert_eq!(with(9, 255), Err(FaultReason::Value("tunnel type")));
    }

    #[test]
    fn tunnels_and_their_sub_tlvs_fill_the_value_exactly() {
        assert!(check_tunnel_encapsulation(&[0, 8, 0, 0]).is_ok());
        assert!(check_tunnel_encapsulation(&[0, 8, 0, 7, 4, 1, 9, 128, 0, 1, 9]).is_ok());
        for value in [
            &[][..],
            &[0, 8, 0],
            &[0, 8, 0, 1],             // beyond the attribute
            &[0, 8, 0, 0, 1],          // half a TLV behind the last
            &[0, 8, 0, 1, 4],          // a sub-TLV without its length
            &[0, 8, 0, 3, 4, 2, 9],    // a sub-TLV beyond its tunnel
            &[0, 8, 0, 3, 128, 0, 1],  // the same with a long length
            &[0, 8, 0, 2, 4, 2, 9, 9], // a sub-TLV into the next tunnel
        ] {
            assert!(check_tunnel_encapsulation(value).is_err(), "{value:?}");
        }
    }

    #[test]
    fn an_attribute_of_zeros_is_no_prefix_sid() {
        // Twelve empty TLVs of type 0, and one octet more (frr#22651).
        assert_eq!(
            check_prefix_sid(&[0; 37]),
            Err(FaultReason::Structure("TLV"))
        );
    }

    #[test]
    fn prefix_sid_tlvs_have_their_lengths() {
        assert!(check_prefix_sid(&[1, 0, 7, 0, 0, 0, 0, 0, 0, 1]).is_ok());
        assert!(check_prefix_sid(&[3, 0, 8, 0, 0, 0, 0, 1, 0, 0, 1]).is_ok());
        let structure =
            |value: &[u8]| matches!(check_prefix_sid(value), Err(FaultReason::Structure(_)));
        assert!(structure(&[1, 0, 6, 0, 0, 0, 0, 0, 0]));
        assert!(structure(&[1, 0]));
        assert!(structure(&[9, 0, 2, 0]));
        assert!(structure(&[3, 0, 2, 0, 0]));
        assert!(structure(&[5, 0, 0]));
        let value = |value: &[u8]| matches!(check_prefix_sid(value), Err(FaultReason::Value(_)));
        assert!(value(&[5, 0, 2, 0, 1]));
        assert!(value(&[5, 0, 5, 0, 1, 0, 1, 0]));
        assert!(value(&[5, 0, 5, 0, 1, 0, 2, 0]));
    }
}
