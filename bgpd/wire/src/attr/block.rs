//! Attributes in their wire form, written once and put into as many messages as it takes.
//!
//! RFC 4271 section 4.3, RFC 6793 section 4.2.2 (peers with two-octet AS numbers).

use std::slice;

use bytes::{BufMut, Bytes};

use crate::context::EncodeContext;

use super::as_path::AsnWidth;
use super::opaque::AIGP_HEAD;
use super::registry::{flag, lookup};
use super::{Attributes, PartialSet, UnknownAttribute, code};

/// All attributes of a route but those that hold its next hop and NLRI, in ascending order of their codes.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub struct AttributeBlock {
    octets: Bytes,
    /// Where NEXT_HOP goes.
    next_hop_at: usize,
}

impl AttributeBlock {
    /// Length in octets.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.octets.len()
    }

    /// True for a block without attributes. One of a route always has ORIGIN and AS_PATH.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// The parts before and behind NEXT_HOP.
    pub(crate) fn around_next_hop(&self) -> (&[u8], &[u8]) {
        self.octets.split_at(self.next_hop_at)
    }

    pub(crate) fn octets(&self) -> &[u8] {
        &self.octets
    }
}

/// Writes everything that the attributes hold. What a peer of this kind must not see has to be taken away before.
#[must_use]
pub fn encode_attributes(attributes: &Attributes, context: &EncodeContext) -> AttributeBlock {
    // Destructured, so that an attribute added is an attribute written.
    let Attributes {
        origin,
        as_path,
        med,
        local_pref,
        atomic_aggregate,
        aggregator,
        communities,
        extended_communities,
        ipv6_extended_communities,
        large_communities,
        originator_id,
        cluster_list,
        aigp,
        otc,
        pmsi_tunnel,
        tunnel_encapsulation,
        prefix_sid,
        unknown,
        partial,
    } = attributes;
    let width = AsnWidth::new(context.four_octet_asn);
    let mut writer = Writer {
        out: Vec::with_capacity(128),
        partial: *partial,
        unknown: unknown.iter(),
    };

    writer.put(code::ORIGIN, |out| out.put_u8(*origin as u8));
    writer.put(code::AS_PATH, |out| as_path.encode(width, out));
    let next_hop_at = writer.out.len();
    writer.put_number(code::MED, *med);
    writer.put_number(code::LOCAL_PREF, *local_pref);
    if *atomic_aggregate {
        writer.put(code::ATOMIC_AGGREGATE, |_| {});
    }
    if let Some(aggregator) = aggregator {
        writer.put(code::AGGREGATOR, |out| {
            width.write(aggregator.asn, out);
            out.put_slice(&aggregator.address.octets());
        });
    }
    writer.put_list(code::COMMUNITIES, communities, |community, out| {
        out.put_u32(community.0)
    });
    if let Some(originator_id) = originator_id {
        writer.put(code::ORIGINATOR_ID, |out| {
            out.put_slice(&originator_id.octets())
        });
    }
    writer.put_list(code::CLUSTER_LIST, cluster_list, |cluster, out| {
        out.put_slice(&cluster.octets())
    });
    writer.put_list(
        code::EXTENDED_COMMUNITIES,
        extended_communities,
        |community, out| {
            out.put_slice(&community.0);
        },
    );
    if width == AsnWidth::Two && as_path.needs_four_octets() {
        writer.put(code::AS4_PATH, |out| as_path.encode_as4(out));
    }
    if let Some(aggregator) =
        aggregator.filter(|it| width == AsnWidth::Two && !it.asn.is_two_octet())
    {
        writer.put(code::AS4_AGGREGATOR, |out| {
            out.put_u32(aggregator.asn.0);
            out.put_slice(&aggregator.address.octets());
        });
    }
    writer.put_opaque(code::PMSI_TUNNEL, pmsi_tunnel.as_deref());
    writer.put_opaque(code::TUNNEL_ENCAPSULATION, tunnel_encapsulation.as_deref());
    writer.put_list(
        code::IPV6_EXTENDED_COMMUNITIES,
        ipv6_extended_communities,
        |community, out| {
            out.put_slice(&community.0);
        },
    );
    if let Some(metric) = aigp {
        writer.put(code::AIGP, |out| {
            out.put_slice(&AIGP_HEAD);
            out.put_u64(*metric);
        });
    }
    writer.put_list(
        code::LARGE_COMMUNITIES,
        large_communities,
        |community, out| {
            out.put_u32(community.global);
            out.put_u32(community.local1);
            out.put_u32(community.local2);
        },
    );
    writer.put_number(code::OTC, otc.map(|asn| asn.0));
    writer.put_opaque(code::PREFIX_SID, prefix_sid.as_deref());
    writer.put_all_unknown();
    AttributeBlock {
        octets: writer.out.into(),
        next_hop_at,
    }
}

/// Writes attributes in the order in which it is called, and the unknown ones at their places between them.
struct Writer<'a> {
    out: Vec<u8>,
    partial: PartialSet,
    unknown: slice::Iter<'a, UnknownAttribute>,
}

impl Writer<'_> {
    /// Writes a known attribute, with the flags of its class.
    fn put(&mut self, code: u8, value: impl FnOnce(&mut Vec<u8>)) {
        self.put_unknown_below(code);
        let partial = if self.partial.contains(code) {
            flag::PARTIAL
        } else {
            0
        };
        let flags = lookup(code).map_or(0, |rule| rule.class.flags() | partial);
        put_attribute(&mut self.out, flags, code, value);
    }

    fn put_number(&mut self, code: u8, number: Option<u32>) {
        if let Some(number) = number {
            self.put(code, |out| out.put_u32(number));
        }
    }

    fn put_opaque(&mut self, code: u8, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.put(code, |out| out.put_slice(value));
        }
    }

    /// Writes nothing for an empty list.
    fn put_list<T>(&mut self, code: u8, list: &[T], write: impl Fn(&T, &mut Vec<u8>)) {
        if !list.is_empty() {
            self.put(code, |out| {
                list.iter().for_each(|member| write(member, out))
            });
        }
    }

    fn put_unknown_below(&mut self, code: u8) {
        while let Some(attribute) = self
            .unknown
            .as_slice()
            .first()
            .filter(|next| next.code < code)
        {
            self.put_next_unknown(attribute);
        }
    }

    fn put_all_unknown(&mut self) {
        while let Some(attribute) = self.unknown.as_slice().first() {
            self.put_next_unknown(attribute);
        }
    }

    fn put_next_unknown(&mut self, attribute: &UnknownAttribute) {
        let UnknownAttribute { flags, code, value } = attribute;
        put_attribute(&mut self.out, *flags, *code, |out| out.put_slice(value));
        self.unknown.next();
    }
}

/// Writes one attribute, with a length of two octets only where one is not enough.
///
/// ```text
///  0                   1
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |O T P E 0 0 0 0| Type code     | Length (1 or 2) | Value   |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
fn put_attribute(out: &mut Vec<u8>, flags: u8, code: u8, value: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[flags & !flag::EXTENDED_LENGTH, code, 0]);
    let value_start = out.len();
    value(out);
    let length = out.len() - value_start;
    if let Ok(length) = u8::try_from(length) {
        out[value_start - 1] = length;
    } else {
        // What is longer than 65535 makes the block longer than any message, and is never sent.
        let [high, low] = u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes();
        out[start] |= flag::EXTENDED_LENGTH;
        out[value_start - 1] = high;
        out.insert(value_start, low);
    }
}
