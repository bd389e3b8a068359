//! The path attributes field of an UPDATE (RFC 4271 section 4.3, RFC 7606 sections 3 and 4).
//!
//! Goes through all attributes whatever is wrong with one of them, as long as their ends can be told. MP_REACH_NLRI and
//! MP_UNREACH_NLRI are found here and read by `update`.

use std::net::Ipv4Addr;

use crate::asn::Asn;
use crate::context::{DecodeContext, SessionType};
use crate::notification::NotificationMessage;
use crate::notification::code::update as subcode;
use crate::reader::Reader;
use crate::router_id::RouterId;

use super::as_path::AsnWidth;
use super::registry::{Class, FromExternal, action, flag, lookup};
use super::{
    Aggregator, AsPath, AttributeFault, Attributes, ClusterList, Community, CommunitySet,
    ExtendedCommunity, FaultAction, FaultReason, Ipv6ExtendedCommunity, LargeCommunity, Origin,
    UnknownAttribute, code, opaque,
};

/// What the field holds.
#[derive(Debug, Default)]
pub(crate) struct Decoded<'a> {
    pub(crate) attributes: Attributes,
    /// NEXT_HOP as it came: whether it is a host address matters only to routes that use it.
    pub(crate) next_hop: Option<Ipv4Addr>,
    pub(crate) mp_reach: Option<&'a [u8]>,
    pub(crate) mp_unreach: Option<&'a [u8]>,
    /// Attributes that are there, in whatever shape.
    pub(crate) present: CodeSet,
    pub(crate) faults: Vec<AttributeFault>,
    /// The first fault that withdraws: subcode and data for when the session ends over it.
    withdraw: Option<(u8, &'a [u8])>,
    as4_path: Option<AsPath>,
    as4_aggregator: Option<Aggregator>,
}

/// Reads the field.
///
/// # Errors
/// The NOTIFICATION, where neither discarding nor withdrawing helps.
pub(crate) fn decode<'a>(
    field: &'a [u8],
    context: &DecodeContext,
) -> Result<Decoded<'a>, NotificationMessage> {
    let mut decoded = Decoded::default();
    let mut reader = Reader::new(field);
    while !reader.is_empty() {
        let start = reader.rest();
        let Some((flags, code, length)) = read_head(&mut reader) else {
            decoded.fault(0, FaultReason::Truncated, start);
            break;
        };
        let Some(value) = reader.take(length) else {
            // Routes that can't be found can't be withdrawn either.
            if matches!(code, code::MP_REACH_NLRI | code::MP_UNREACH_NLRI) {
                return Err(malformed_list());
            }
            decoded.fault(code, FaultReason::Truncated, start);
            break;
        };
        let octets = &start[..start.len() - reader.len()];
        decoded.attribute(
            Raw {
                flags,
                code,
                value,
                octets,
            },
            context,
        )?;
    }
    decoded.merge_four_octets();
    decoded
        .attributes
        .unknown
        .sort_unstable_by_key(|attribute| attribute.code);
    Ok(decoded)
}

/// One attribute as it came.
#[derive(Copy, Clone)]
struct Raw<'a> {
    flags: u8,
    code: u8,
    value: &'a [u8],
    /// All of it, for the data of a NOTIFICATION.
    octets: &'a [u8],
}

impl<'a> Decoded<'a> {
    /// Notes a fault in the attribute `code`, whose octets are these.
    pub(crate) fn fault(&mut self, code: u8, reason: FaultReason, octets: &'a [u8]) {
        let action = action(code, &reason);
        self.faults.push(AttributeFault {
            code,
            action,
            reason,
        });
        if action == FaultAction::TreatAsWithdraw && self.withdraw.is_none() {
            self.withdraw = Some((reason.subcode(code), octets));
        }
    }

    /// Records that something which must be there is not. A fault that withdraws explains why, or makes it moot.
    pub(crate) fn missing(&mut self, code: u8, reason: FaultReason) {
        if !self.withdraws() {
            self.fault(code, reason, &[]);
        }
    }

    /// True when the routes are to be treated as withdrawn.
    pub(crate) const fn withdraws(&self) -> bool {
        self.withdraw.is_some()
    }

    /// True when there is MP_UNREACH_NLRI and no other attribute, not even a part of one.
    pub(crate) fn is_only_mp_unreach(&self) -> bool {
        let about_it = |fault: &AttributeFault| fault.code == code::MP_UNREACH_NLRI;
        self.present.is_only(code::MP_UNREACH_NLRI) && self.faults.iter().all(about_it)
    }

    /// What ends the session when there are no routes that could be treated as withdrawn (RFC 7606 section 5.2).
    pub(crate) fn notification(&self) -> Option<NotificationMessage> {
        self.withdraw
            .map(|(subcode, octets)| NotificationMessage::update_error(subcode, octets))
    }

    fn attribute(
        &mut self,
        raw: Raw<'a>,
        context: &DecodeContext,
    ) -> Result<(), NotificationMessage> {
        let Raw {
            flags,
            code,
            value,
            octets,
        } = raw;
        if !self.present.insert(code) {
            // RFC 7606 section 3, item g.
            if matches!(code, code::MP_REACH_NLRI | code::MP_UNREACH_NLRI) {
                return Err(malformed_list());
            }
            self.fault(code, FaultReason::Duplicate, octets);
            return Ok(());
        }
        let Some(rule) = lookup(code) else {
            return self.unknown(raw);
        };
        if rule.external == FromExternal::Discarded && context.session == SessionType::External {
            self.fault(code, FaultReason::FromExternalPeer, octets);
            return Ok(());
        }
        if matches!(code, code::AS4_PATH | code::AS4_AGGREGATOR) && context.four_octet_asn {
            self.fault(code, FaultReason::FromFourOctetPeer, octets);
            return Ok(());
        }
        if !rule.accepts_flags(flags) {
            self.fault(code, FaultReason::Flags(flags), octets);
            // The routes are still needed, to be withdrawn.
            if !matches!(code, code::MP_REACH_NLRI | code::MP_UNREACH_NLRI) {
                return Ok(());
            }
        }
        match self.value(code, value, context) {
            // Both dissolve in AS_PATH and AGGREGATOR, and are made anew for peers that need them.
            Ok(()) if matches!(code, code::AS4_PATH | code::AS4_AGGREGATOR) => {}
            Ok(()) if rule.class == Class::OptionalTransitive && flags & flag::PARTIAL != 0 => {
                self.attributes.partial.insert(code);
            }
            Ok(()) => {}
            Err(reason) => self.fault(code, reason, octets),
        }
        Ok(())
    }

    /// RFC 4271 section 5: unknown attributes go on if they are transitive, and the peer errs if they are well-known.
    fn unknown(&mut self, raw: Raw<'a>) -> Result<(), NotificationMessage> {
        let Raw {
            flags,
            code,
            value,
            octets,
        } = raw;
        if flags & flag::OPTIONAL == 0 {
            return Err(NotificationMessage::update_error(
                subcode::UNRECOGNIZED_WELL_KNOWN_ATTRIBUTE,
                octets,
            ));
        }
        if flags & flag::TRANSITIVE != 0 {
            let flags = flag::OPTIONAL | flag::TRANSITIVE | flag::PARTIAL;
            let attribute = UnknownAttribute {
                flags,
                code,
                value: value.into(),
            };
            self.attributes.unknown.push(attribute);
        }
        Ok(())
    }

    fn value(
        &mut self,
        code: u8,
        value: &'a [u8],
        context: &DecodeContext,
    ) -> Result<(), FaultReason> {
        let width = AsnWidth::new(context.four_octet_asn);
        let attributes = &mut self.attributes;
        match code {
            code::ORIGIN => attributes.origin = Origin::decode(value)?,
            code::AS_PATH => attributes.as_path = AsPath::decode(value, width, context.session)?,
            code::NEXT_HOP => self.next_hop = Some(exactly::<4>(value)?.into()),
            code::MED => attributes.med = Some(number(value)?),
            code::LOCAL_PREF => attributes.local_pref = Some(number(value)?),
            code::ATOMIC_AGGREGATE => {
                exactly::<0>(value)?;
                attributes.atomic_aggregate = true;
            }
            code::AGGREGATOR => attributes.aggregator = Some(Aggregator::decode(value, width)?),
            code::COMMUNITIES => {
                let read = |octets| Community(u32::from_be_bytes(octets));
                attributes.communities = CommunitySet::decode(value, read)?;
            }
            code::ORIGINATOR_ID => {
                attributes.originator_id = Some(RouterId::from(exactly::<4>(value)?));
            }
            code::CLUSTER_LIST => attributes.cluster_list = ClusterList::decode(value)?,
            code::MP_REACH_NLRI => self.mp_reach = Some(value),
            code::MP_UNREACH_NLRI => self.mp_unreach = Some(value),
            code::EXTENDED_COMMUNITIES => {
                attributes.extended_communities = CommunitySet::decode(value, ExtendedCommunity)?;
            }
            code::AS4_PATH => {
                if value.is_empty() {
                    return Err(FaultReason::Length(0));
                }
                let path = AsPath::decode(value, AsnWidth::Four, SessionType::Internal)?;
                self.as4_path = Some(path.without_confederations());
            }
            code::AS4_AGGREGATOR => {
                self.as4_aggregator = Some(Aggregator::decode(value, AsnWidth::Four)?);
            }
            code::PMSI_TUNNEL => {
                opaque::check_pmsi_tunnel(value)?;
                attributes.pmsi_tunnel = Some(value.into());
            }
            code::TUNNEL_ENCAPSULATION => {
                opaque::check_tunnel_encapsulation(value)?;
                attributes.tunnel_encapsulation = Some(value.into());
            }
            code::IPV6_EXTENDED_COMMUNITIES => {
                attributes.ipv6_extended_communities =
                    CommunitySet::decode(value, Ipv6ExtendedCommunity)?;
            }
            code::AIGP => attributes.aigp = Some(opaque::decode_aigp(value)?),
            // Only checked: it describes links, and there is no route here that it could belong to.
            code::LINK_STATE => opaque::check_link_state(value)?,
            code::LARGE_COMMUNITIES => {
                attributes.large_communities =
                    CommunitySet::decode(value, LargeCommunity::from_octets)?;
            }
            code::OTC => match number(value)? {
                0 => return Err(FaultReason::AsZero),
                asn => attributes.otc = Some(Asn(asn)),
            },
            code::PREFIX_SID => {
                opaque::check_prefix_sid(value)?;
                attributes.prefix_sid = Some(value.into());
            }
            _ => {} // every code in the registry has its arm above; see `every_known_attribute_is_read`
        }
        Ok(())
    }

    /// RFC 6793 section 4.2.3.
    fn merge_four_octets(&mut self) {
        let Self {
            attributes,
            as4_path,
            as4_aggregator,
            ..
        } = self;
        if let (Some(aggregator), Some(as4_aggregator)) =
            (attributes.aggregator, as4_aggregator.take())
        {
            if aggregator.asn != Asn::TRANS {
                return; // someone on the way aggregated anew and did not know of the four-octet attributes
            }
            attributes.aggregator = Some(as4_aggregator);
        }
        if let Some(as4_path) = as4_path.take() {
            attributes.as_path = std::mem::take(&mut attributes.as_path).merge(as4_path);
        }
    }
}

/// Flags, code and length.
fn read_head(reader: &mut Reader<'_>) -> Option<(u8, u8, usize)> {
    let (flags, code) = (reader.u8()?, reader.u8()?);
    let length = if flags & flag::EXTENDED_LENGTH == 0 {
        reader.u8()?.into()
    } else {
        reader.u16()?.into()
    };
    Some((flags, code, length))
}

fn exactly<const N: usize>(value: &[u8]) -> Result<[u8; N], FaultReason> {
    value
        .try_into()
        .map_err(|_| FaultReason::Length(value.len() as u16)) // comes from 16 bits
}

fn number(value: &[u8]) -> Result<u32, FaultReason> {
    exactly(value).map(u32::from_be_bytes)
}

pub(crate) fn malformed_list() -> NotificationMessage {
    NotificationMessage::update_error(subcode::MALFORMED_ATTRIBUTE_LIST, &[])
}

/// A set of attribute codes.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct CodeSet([u64; 4]);

impl CodeSet {
    pub(crate) const fn contains(self, code: u8) -> bool {
        self.0[code as usize / 64] & (1 << (code % 64)) != 0
    }

    /// Returns false when it was there.
    fn insert(&mut self, code: u8) -> bool {
        let new = !self.contains(code);
        self.0[usize::from(code) / 64] |= 1 << (code % 64);
        new
    }

    /// True when there is this one and no other.
    fn is_only(self, code: u8) -> bool {
        let mut only = Self::default();
        only.insert(code);
        self == only
    }
}
