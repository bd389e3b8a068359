//! Writing UPDATEs: full messages, each written once (RFC 4271 section 4.3, RFC 4760, RFC 4724).
//!
//! IPv4 unicast with an IPv4 next hop goes into the message's own fields. Everything else goes into MP_REACH_NLRI and
//! MP_UNREACH_NLRI, which come first among the attributes (RFC 7606 section 5.1). One allocation for each message.

use bytes::{BufMut, Bytes, BytesMut};

use crate::attr::AttributeBlock;
use crate::attr::code;
use crate::attr::registry::flag;
use crate::context::EncodeContext;
use crate::family::Family;
use crate::header::{HEADER_LENGTH, Header, MessageType};

use super::next_hop::NextHop;
use super::nlri::{Format, Nlri};

/// Why routes can't be written. No message was made.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum EncodeError {
    /// The attributes leave no room for a route.
    #[error("{length} octets of attributes leave no room for a prefix in a message of {limit}")]
    TooLarge {
        /// Length of the attributes.
        length: usize,
        /// Longest message to this peer.
        limit: usize,
    },
    /// A family whose routes are not known here.
    #[error("routes of {0} can't be written")]
    UnknownFamily(Family),
    /// A route of another family.
    #[error("{0} is no {1} prefix")]
    OtherFamily(ipnet::IpNet, Family),
    /// The family, or this peer, can't have such a next hop.
    #[error("{0} can't have the next hop {1}")]
    NextHop(Family, NextHop),
}

/// Announces routes with the same attributes, in as few messages as possible.
///
/// # Errors
/// Before the first message is made; never after.
pub fn pack_reach(
    family: Family,
    next_hop: &NextHop,
    attributes: &AttributeBlock,
    nlri: &[Nlri],
    context: &EncodeContext,
    out: &mut impl FnMut(Bytes),
) -> Result<(), EncodeError> {
    let layout = ReachLayout::new(family, next_hop, attributes, context)?;
    check_family(family, layout.format, nlri)?;
    let mut rest = nlri;
    while !rest.is_empty() {
        let (count, octets) = layout.format.fit(rest, layout.room);
        let (routes, behind) = rest.split_at(count); // at least one: `room` is enough for any
        out(layout.message(routes, octets));
        rest = behind;
    }
    Ok(())
}

/// Withdraws routes, in as few messages as possible.
///
/// # Errors
/// Before the first message is made; never after.
pub fn pack_unreach(
    family: Family,
    nlri: &[Nlri],
    context: &EncodeContext,
    out: &mut impl FnMut(Bytes),
) -> Result<(), EncodeError> {
    let format = format(family, context)?;
    check_family(family, format, nlri)?;
    let overhead = if family == Family::IPV4_UNICAST {
        0
    } else {
        MP_HEAD + FAMILY_LENGTH
    };
    let room = context.max_message_length() - FIXED_LENGTH - overhead;
    let mut rest = nlri;
    while !rest.is_empty() {
        let (count, octets) = format.fit(rest, room);
        let (routes, behind) = rest.split_at(count); // at least one: `room` is enough for any
        out(unreach_message(family, octets, |message| {
            routes
                .iter()
                .for_each(|route| format.encode(route, message));
        }));
        rest = behind;
    }
    Ok(())
}

/// The message that ends the initial routes of a family (RFC 4724 section 2).
#[must_use]
pub fn encode_end_of_rib(family: Family) -> Bytes {
    unreach_message(family, 0, |_| {})
}

impl AttributeBlock {
    /// Checks that routes with these attributes can be sent, whatever their prefixes are.
    ///
    /// # Errors
    /// What [`pack_reach`] would say.
    pub fn check(
        &self,
        family: Family,
        next_hop: &NextHop,
        context: &EncodeContext,
    ) -> Result<(), EncodeError> {
        ReachLayout::new(family, next_hop, self, context).map(|_| ())
    }
}

/// What the messages of one [`pack_reach`] have in common.
struct ReachLayout<'a> {
    family: Family,
    next_hop: &'a NextHop,
    attributes: &'a AttributeBlock,
    format: Format,
    /// Octets for routes; enough for the longest one.
    room: usize,
}

impl<'a> ReachLayout<'a> {
    fn new(
        family: Family,
        next_hop: &'a NextHop,
        attributes: &'a AttributeBlock,
        context: &EncodeContext,
    ) -> Result<Self, EncodeError> {
        let format = format(family, context)?;
        let overhead = match next_hop {
            NextHop::V4(_) if family == Family::IPV4_UNICAST => NEXT_HOP_LENGTH,
            NextHop::V6 { .. } if context.allows_v6_next_hop(family) => {
                MP_HEAD + mp_reach_overhead(next_hop)
            }
            _ => return Err(EncodeError::NextHop(family, *next_hop)),
        };
        let limit = context.max_message_length();
        let length = attributes.len();
        let room = limit
            .checked_sub(FIXED_LENGTH + overhead + length)
            .filter(|&room| room >= format.max_length())
            .ok_or(EncodeError::TooLarge { length, limit })?;
        Ok(Self {
            family,
            next_hop,
            attributes,
            format,
            room,
        })
    }

    /// One message with these routes, which take so many octets.
    fn message(&self, routes: &[Nlri], octets: usize) -> Bytes {
        match self.next_hop {
            NextHop::V4(next_hop) => {
                let attributes = self.attributes.len() + NEXT_HOP_LENGTH;
                let mut message = begin(0, attributes + octets);
                message.put_u16(0);
                message.put_u16(attributes as u16); // less than the message
                let (before, behind) = self.attributes.around_next_hop();
                message.put_slice(before);
                message.put_slice(&[flag::TRANSITIVE, code::NEXT_HOP, 4]);
                message.put_slice(&next_hop.octets());
                message.put_slice(behind);
                self.put_routes(routes, &mut message);
                message.freeze()
            }
            NextHop::V6 { .. } => {
                let value = mp_reach_overhead(self.next_hop) + octets;
                let attributes = mp_head_length(value) + value + self.attributes.len();
                let mut message = begin(0, attributes);
                message.put_u16(0);
                message.put_u16(attributes as u16); // less than the message
                put_mp_head(code::MP_REACH_NLRI, value, &mut message);
                put_family(self.family, &mut message);
                message.put_u8(self.next_hop.encoded_length() as u8); // 16 or 32
                self.next_hop.encode(&mut message);
                message.put_u8(0); // reserved
                self.put_routes(routes, &mut message);
                message.put_slice(self.attributes.octets());
                message.freeze()
            }
        }
    }

    fn put_routes(&self, routes: &[Nlri], message: &mut BytesMut) {
        routes
            .iter()
            .for_each(|route| self.format.encode(route, message));
    }
}

/// A message that only withdraws. `octets` is how many `put_routes` writes.
fn unreach_message(family: Family, octets: usize, put_routes: impl FnOnce(&mut BytesMut)) -> Bytes {
    if family == Family::IPV4_UNICAST {
        let mut message = begin(octets, 0);
        message.put_u16(octets as u16); // less than the message
        put_routes(&mut message);
        message.put_u16(0);
        return message.freeze();
    }
    let value = FAMILY_LENGTH + octets;
    let attributes = mp_head_length(value) + value;
    let mut message = begin(0, attributes);
    message.put_u16(0);
    message.put_u16(attributes as u16); // less than the message
    put_mp_head(code::MP_UNREACH_NLRI, value, &mut message);
    put_family(family, &mut message);
    put_routes(&mut message);
    message.freeze()
}

/// A buffer of the whole size, with the header in it. `withdrawn` and `rest` are what comes behind the two length fields.
fn begin(withdrawn: usize, rest: usize) -> BytesMut {
    let length = FIXED_LENGTH + withdrawn + rest;
    let mut message = BytesMut::with_capacity(length);
    Header::write(MessageType::Update, length, &mut message);
    message
}

fn format(family: Family, context: &EncodeContext) -> Result<Format, EncodeError> {
    let add_path = context.add_path_send.contains(family);
    Format::new(family, add_path).ok_or(EncodeError::UnknownFamily(family))
}

fn check_family(family: Family, format: Format, nlri: &[Nlri]) -> Result<(), EncodeError> {
    match nlri.iter().find(|route| !format.accepts(route)) {
        Some(route) => Err(EncodeError::OtherFamily(route.prefix, family)),
        None => Ok(()),
    }
}

/// Octets of MP_REACH_NLRI besides its head and the routes: family, next hop and its length, reserved.
const fn mp_reach_overhead(next_hop: &NextHop) -> usize {
    FAMILY_LENGTH + 1 + next_hop.encoded_length() + 1
}

const fn mp_head_length(value: usize) -> usize {
    if value > u8::MAX as usize {
        MP_HEAD
    } else {
        MP_HEAD - 1
    }
}

fn put_mp_head(code: u8, value: usize, message: &mut BytesMut) {
    if let Ok(value) = u8::try_from(value) {
        message.put_slice(&[flag::OPTIONAL, code, value]);
    } else {
        message.put_slice(&[flag::OPTIONAL | flag::EXTENDED_LENGTH, code]);
        message.put_u16(value as u16); // less than the message
    }
}

fn put_family(family: Family, message: &mut BytesMut) {
    message.put_u16(family.afi);
    message.put_u8(family.safi);
}

/// Header and both length fields.
const FIXED_LENGTH: usize = HEADER_LENGTH + 4;
/// NEXT_HOP with its head.
const NEXT_HOP_LENGTH: usize = 7;
/// Head of an attribute with a length of two octets.
const MP_HEAD: usize = 4;
/// AFI and SAFI.
const FAMILY_LENGTH: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attr::{Attributes, UnknownAttribute, encode_attributes};

    /// ORIGIN, an empty AS_PATH, and so many octets in all.
    fn block(length: usize) -> AttributeBlock {
        let value = vec![0; length - 4 - 3 - 4].into_boxed_slice();
        let attributes = Attributes {
            unknown: vec![UnknownAttribute {
                flags: 0xe0,
                code: 200,
                value,
            }],
            ..Attributes::default()
        };
        let block = encode_attributes(&attributes, &EncodeContext::default());
        assert_eq!(block.len(), length);
        block
    }

    /// Whether an announcement fits does not depend on which prefix it is.
    #[test]
    fn attributes_leave_room_for_the_longest_prefix_or_are_too_large() {
        let context = EncodeContext::default();
        let v4 = NextHop::V4([192, 0, 2, 1].into());
        let v6 = NextHop::from("2001:db8::1".parse::<std::net::IpAddr>().unwrap());
        // Header, two lengths, NEXT_HOP, a /32; or the head of MP_REACH_NLRI with its fields, and a /128.
        let most_v4 = 4096 - 19 - 4 - 7 - 5;
        let most_v6 = 4096 - 19 - 4 - (4 + 3 + 1 + 16 + 1) - 17;
        for (family, next_hop, most, prefixes) in [
            (
                Family::IPV4_UNICAST,
                v4,
                most_v4,
                ["10.0.0.0/8", "10.0.0.1/32"],
            ),
            (
                Family::IPV6_UNICAST,
                v6,
                most_v6,
                ["2001:db8::/32", "2001:db8::1/128"],
            ),
        ] {
            for prefix in prefixes {
                let route = Nlri::from(prefix.parse::<ipnet::IpNet>().unwrap());
                let pack = |length| {
                    let mut longest = 0;
                    let mut measure = |frame: Bytes| longest = longest.max(frame.len());
                    pack_reach(
                        family,
                        &next_hop,
                        &block(length),
                        &[route],
                        &context,
                        &mut measure,
                    )
                    .map(|()| longest)
                };
                assert!(pack(most).unwrap() <= 4096, "{prefix}");
                let (length, limit) = (most + 1, 4096);
                assert_eq!(
                    pack(length),
                    Err(EncodeError::TooLarge { length, limit }),
                    "{prefix}"
                );
                assert!(block(length).check(family, &next_hop, &context).is_err());
            }
        }
    }

    #[test]
    fn what_can_not_be_written_is_refused_before_anything_is() {
        let context = EncodeContext::default();
        let (v4, v6) = (Family::IPV4_UNICAST, Family::IPV6_UNICAST);
        let hop = NextHop::V4([192, 0, 2, 1].into());
        let hop_v6 = NextHop::from("2001:db8::1".parse::<std::net::IpAddr>().unwrap());
        let routes = ["10.0.0.0/8", "2001:db8::/32"]
            .map(|it| Nlri::from(it.parse::<ipnet::IpNet>().unwrap()));
        let reach = |family, next_hop| {
            pack_reach(
                family,
                next_hop,
                &block(1000),
                &routes,
                &context,
                &mut |_| panic!("a message"),
            )
        };
        assert_eq!(
            reach(v4, &hop),
            Err(EncodeError::OtherFamily(routes[1].prefix, v4))
        );
        assert_eq!(
            reach(v6, &hop_v6),
            Err(EncodeError::OtherFamily(routes[0].prefix, v6))
        );
        assert_eq!(reach(v6, &hop), Err(EncodeError::NextHop(v6, hop)));
        // Not without the capability of RFC 8950.
        assert_eq!(reach(v4, &hop_v6), Err(EncodeError::NextHop(v4, hop_v6)));
        let evpn = Family::L2VPN_EVPN;
        assert_eq!(reach(evpn, &hop), Err(EncodeError::UnknownFamily(evpn)));
        let unreach = pack_unreach(v4, &routes, &context, &mut |_| panic!("a message"));
        assert_eq!(unreach, Err(EncodeError::OtherFamily(routes[1].prefix, v4)));
    }
}
