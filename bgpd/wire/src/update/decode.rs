//! Reading an UPDATE, and the verdict on its faults (RFC 7606).
//!
//! ```text
//! +-----------------------------------------------------+
//! |   Withdrawn Routes Length (2 octets)                |
//! +-----------------------------------------------------+
//! |   Withdrawn Routes (variable)                       |
//! +-----------------------------------------------------+
//! |   Total Path Attribute Length (2 octets)            |
//! +-----------------------------------------------------+
//! |   Path Attributes (variable)                        |
//! +-----------------------------------------------------+
//! |   Network Layer Reachability Information (variable) |
//! +-----------------------------------------------------+
//! ```
//!
//! A reset is an `Err`. Everything else goes on to the end of the message, so that no route in it is missed, and the
//! strongest verdict then holds for all of its routes.

use crate::attr;
use crate::attr::decode::{Decoded, malformed_list};
use crate::attr::{FaultReason, code};
use crate::context::{DecodeContext, SessionType};
use crate::family::Family;
use crate::notification::NotificationMessage;
use crate::notification::code::update as subcode;
use crate::reader::Reader;

use super::next_hop::NextHop;
use super::nlri::{Format, Nlri, NlriError};
use super::{Reach, Unreach, UpdateMessage};

/// Reads the body.
///
/// # Errors
/// The NOTIFICATION, where the session can't go on.
pub(crate) fn decode(
    body: &[u8],
    context: &DecodeContext,
) -> Result<UpdateMessage, NotificationMessage> {
    let mut reader = Reader::new(body);
    // RFC 7606 section 3, items b and j: where the fields can't be told apart, nothing in them can be trusted.
    let withdrawn = reader.prefixed_u16().ok_or_else(malformed_list)?;
    let field = reader.prefixed_u16().ok_or_else(malformed_list)?;
    let announced = reader.rest();

    let mut decoded = attr::decode::decode(field, context)?;
    let mut routes = Routes::default();
    routes.withdrawn(withdrawn, &mut decoded, context)?;
    routes.mp_unreach(&mut decoded, context)?;
    routes.announced(announced, &mut decoded, context)?;
    routes.mp_reach(&mut decoded, context)?;
    if routes.announces {
        check_mandatory(&mut decoded, !announced.is_empty(), context);
    }

    if decoded.withdraws() {
        // Section 5.2: with no route in sight that could be withdrawn, the fault may have hidden some. Not so where there
        // is MP_UNREACH_NLRI and nothing else: its routes go anyway.
        if !routes.announces && !decoded.is_only_mp_unreach() {
            return Err(decoded.notification().unwrap_or_else(malformed_list));
        }
        routes.withdraw_all();
    }
    let end_of_rib = end_of_rib(body, &decoded, context);
    let Routes {
        reach,
        unreach,
        announces: _,
    } = routes;
    let attributes = (!reach.is_empty()).then_some(decoded.attributes);
    Ok(UpdateMessage {
        attributes,
        reach,
        unreach,
        end_of_rib,
        faults: decoded.faults,
    })
}

/// The routes of a message.
#[derive(Default)]
struct Routes {
    reach: Vec<Reach>,
    unreach: Vec<Unreach>,
    /// There are announced routes, in whatever family.
    announces: bool,
}

impl Routes {
    fn withdrawn(
        &mut self,
        field: &[u8],
        decoded: &mut Decoded<'_>,
        context: &DecodeContext,
    ) -> Result<(), NotificationMessage> {
        if field.is_empty() {
            return Ok(());
        }
        let family = Family::IPV4_UNICAST;
        let Some(format) = format(family, context) else {
            decoded.fault(0, FaultReason::FamilyNotNegotiated(family), &[]);
            return Ok(());
        };
        let nlri = format.decode(field).map_err(|_| invalid_network())?;
        self.unreach.push(Unreach { family, nlri });
        Ok(())
    }

    fn announced(
        &mut self,
        field: &[u8],
        decoded: &mut Decoded<'_>,
        context: &DecodeContext,
    ) -> Result<(), NotificationMessage> {
        if field.is_empty() {
            return Ok(());
        }
        self.announces = true;
        let family = Family::IPV4_UNICAST;
        let Some(format) = format(family, context) else {
            decoded.fault(0, FaultReason::FamilyNotNegotiated(family), &[]);
            return Ok(());
        };
        let nlri = format.decode(field).map_err(|_| invalid_network())?;
        // One that is missing is a fault of its own, and these routes are withdrawn whatever is said here.
        let next_hop = NextHop::V4(decoded.next_hop.unwrap_or(std::net::Ipv4Addr::UNSPECIFIED));
        if decoded.next_hop.is_some() && !next_hop.is_valid() {
            decoded.fault(code::NEXT_HOP, FaultReason::Value("next hop"), &[]);
        }
        self.reach.push(Reach {
            family,
            next_hop,
            nlri,
        });
        Ok(())
    }

    /// MP_REACH_NLRI (RFC 4760 section 3).
    ///
    /// ```text
    /// +---------------------------------------------------------+
    /// | Address Family Identifier (2 octets)                    |
    /// +---------------------------------------------------------+
    /// | Subsequent Address Family Identifier (1 octet)          |
    /// +---------------------------------------------------------+
    /// | Length of Next Hop Network Address (1 octet)            |
    /// +---------------------------------------------------------+
    /// | Network Address of Next Hop (variable)                  |
    /// +---------------------------------------------------------+
    /// | Reserved (1 octet)                                      |
    /// +---------------------------------------------------------+
    /// | Network Layer Reachability Information (variable)       |
    /// +---------------------------------------------------------+
    /// ```
    fn mp_reach(
        &mut self,
        decoded: &mut Decoded<'_>,
        context: &DecodeContext,
    ) -> Result<(), NotificationMessage> {
        let Some(value) = decoded.mp_reach else {
            return Ok(());
        };
        let mut reader = Reader::new(value);
        let family = read_family(&mut reader).ok_or_else(malformed_list)?;
        let Some(format) = format(family, context) else {
            self.announces = true;
            decoded.fault(
                code::MP_REACH_NLRI,
                FaultReason::FamilyNotNegotiated(family),
                &[],
            );
            return Ok(());
        };
        // RFC 7606 section 7.11: behind a next hop of an impossible length the routes can't be found.
        let octets = reader.prefixed_u8().ok_or_else(malformed_list)?;
        let next_hop = NextHop::decode(family, octets, context).ok_or_else(malformed_list)?;
        let _reserved = reader.u8().ok_or_else(malformed_list)?;
        let nlri = mp_nlri(format, reader, value)?;
        if nlri.is_empty() {
            return Ok(());
        }
        self.announces = true;
        let next_hop = next_hop.unwrap_or_else(|reason| {
            decoded.fault(code::MP_REACH_NLRI, reason, value);
            NextHop::V4(std::net::Ipv4Addr::UNSPECIFIED) // these routes are withdrawn
        });
        self.reach.push(Reach {
            family,
            next_hop,
            nlri,
        });
        Ok(())
    }

    /// MP_UNREACH_NLRI (RFC 4760 section 4).
    ///
    /// ```text
    /// +---------------------------------------------------------+
    /// | Address Family Identifier (2 octets)                    |
    /// +---------------------------------------------------------+
    /// | Subsequent Address Family Identifier (1 octet)          |
    /// +---------------------------------------------------------+
    /// | Withdrawn Routes (variable)                             |
    /// +---------------------------------------------------------+
    /// ```
    fn mp_unreach(
        &mut self,
        decoded: &mut Decoded<'_>,
        context: &DecodeContext,
    ) -> Result<(), NotificationMessage> {
        let Some(value) = decoded.mp_unreach else {
            return Ok(());
        };
        let mut reader = Reader::new(value);
        let family = read_family(&mut reader).ok_or_else(|| optional_attribute(value))?;
        let Some(format) = format(family, context) else {
            decoded.fault(
                code::MP_UNREACH_NLRI,
                FaultReason::FamilyNotNegotiated(family),
                &[],
            );
            return Ok(());
        };
        let nlri = mp_nlri(format, reader, value)?;
        if !nlri.is_empty() {
            self.unreach.push(Unreach { family, nlri });
        }
        Ok(())
    }

    fn withdraw_all(&mut self) {
        let announced = self.reach.drain(..);
        self.unreach
            .extend(announced.map(|Reach { family, nlri, .. }| Unreach { family, nlri }));
    }
}

/// What must be there when routes are (RFC 4271 section 5, RFC 7606 section 3, item d).
///
/// LOCAL_PREF from an iBGP peer is not asked for: without it the route has the default.
fn check_mandatory(decoded: &mut Decoded<'_>, needs_next_hop: bool, context: &DecodeContext) {
    let present = decoded.present;
    for (code, needed) in [
        (code::ORIGIN, true),
        (code::AS_PATH, true),
        (code::NEXT_HOP, needs_next_hop),
    ] {
        if needed && !present.contains(code) {
            decoded.missing(code, FaultReason::Missing);
        }
    }
    // RFC 4271 section 5.1.2: a peer in another AS has put its own in.
    if context.session == SessionType::External && decoded.attributes.as_path.is_empty() {
        decoded.missing(
            code::AS_PATH,
            FaultReason::Value("empty path from an eBGP peer"),
        );
    }
}

/// RFC 4724 section 2: nothing at all for IPv4 unicast, else an empty MP_UNREACH_NLRI and nothing else.
fn end_of_rib(body: &[u8], decoded: &Decoded<'_>, context: &DecodeContext) -> Option<Family> {
    let family = match decoded.mp_unreach {
        None if body.iter().all(|&octet| octet == 0) && body.len() == 4 => Family::IPV4_UNICAST,
        Some(value @ [_, _, _]) => {
            // Two lengths, and an attribute with a head of 3 or 4 octets.
            let alone = decoded.is_only_mp_unreach() && body.len() <= 4 + 4 + 3;
            read_family(&mut Reader::new(value)).filter(|_| alone)?
        }
        _ => return None,
    };
    format(family, context).map(|_| family)
}

/// How routes of `family` are written; `None` when they are not to be read.
fn format(family: Family, context: &DecodeContext) -> Option<Format> {
    if !context.families.contains(family) {
        return None;
    }
    Format::new(family, context.add_path_receive.contains(family))
}

fn read_family(reader: &mut Reader<'_>) -> Option<Family> {
    Some(Family {
        afi: reader.u16()?,
        safi: reader.u8()?,
    })
}

/// RFC 7606 section 5.3: what follows a route that can't be read can't be read either.
fn mp_nlri(
    format: Format,
    reader: Reader<'_>,
    value: &[u8],
) -> Result<Vec<Nlri>, NotificationMessage> {
    format.decode(reader.rest()).map_err(|error| match error {
        NlriError::TooLong => invalid_network(),
        NlriError::Overrun => optional_attribute(value),
    })
}

fn invalid_network() -> NotificationMessage {
    NotificationMessage::update_error(subcode::INVALID_NETWORK_FIELD, &[])
}

fn optional_attribute(value: &[u8]) -> NotificationMessage {
    NotificationMessage::update_error(subcode::OPTIONAL_ATTRIBUTE, value)
}
