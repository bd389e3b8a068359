//! OPEN (RFC 4271 sections 4.2 and 6.2), its optional parameters in both lengths (RFC 9072), and capabilities.

mod capability;

use bytes::{BufMut, Bytes, BytesMut};

use crate::asn::Asn;
use crate::header::{HEADER_LENGTH, Header, MAX_LENGTH, MessageType};
use crate::notification::NotificationMessage;
use crate::reader::Reader;
use crate::router_id::RouterId;

pub use capability::{AddPathMode, Capability, ExtendedNextHop, GracefulFamily, LongLivedFamily};

/// The first message of a session.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+
/// |    Version    |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     My Autonomous System      |          Hold Time            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                         BGP Identifier                        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Opt Parm Len  |   Optional Parameters (variable)              |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub struct OpenMessage {
    /// 4, or the message is refused.
    pub version: u8,
    /// The sender's AS: that of the four-octet capability if it is there, else that of the two-octet field.
    ///
    /// When sent, the field holds it or AS_TRANS; the capability has to be listed for the number to arrive.
    pub asn: Asn,
    /// In seconds, as it is on the wire. 1 and 2 are for the session to refuse.
    pub hold_time: u16,
    /// Never zero in a received message.
    pub router_id: RouterId,
    /// In the order of the message, unknown ones included.
    pub capabilities: Vec<Capability>,
}

/// The whole message: each capability in a parameter of its own, which every implementation reads.
///
/// Parameters of more than 255 octets in all take the extended form (RFC 9072). Capabilities beyond 4096 octets of
/// message are left out from the end.
#[must_use]
pub fn encode_open(message: &OpenMessage) -> Bytes {
    let OpenMessage {
        version,
        asn,
        hold_time,
        router_id,
        capabilities,
    } = message;
    let mut encoded: Vec<Vec<u8>> = Vec::with_capacity(capabilities.len());
    let mut room = MAX_LENGTH - HEADER_LENGTH - FIXED_LENGTH - EXTENDED_PREFIX_LENGTH;
    for capability in capabilities {
        let mut octets = Vec::new();
        capability.encode(&mut octets);
        let Some(rest) = room.checked_sub(EXTENDED_PARAMETER_HEADER + octets.len()) else {
            break;
        };
        room = rest;
        encoded.push(octets);
    }

    let plain: usize = encoded
        .iter()
        .map(|octets| PARAMETER_HEADER + octets.len())
        .sum();
    let extended = plain > usize::from(u8::MAX);
    let parameters = if extended {
        let octets = encoded
            .iter()
            .map(|octets| EXTENDED_PARAMETER_HEADER + octets.len());
        EXTENDED_PREFIX_LENGTH + octets.sum::<usize>()
    } else {
        plain
    };
    let length = HEADER_LENGTH + FIXED_LENGTH + parameters;

    let mut out = BytesMut::with_capacity(length);
    Header::write(MessageType::Open, length, &mut out);
    out.put_u8(*version);
    out.put_u16(asn.to_two_octets());
    out.put_u16(*hold_time);
    out.put_slice(&router_id.octets());
    if extended {
        out.put_slice(&[EXTENDED_MARK, EXTENDED_MARK]);
        out.put_u16((parameters - EXTENDED_PREFIX_LENGTH) as u16); // within MAX_LENGTH
    } else {
        out.put_u8(plain as u8); // at most 255
    }
    for octets in &encoded {
        out.put_u8(PARAMETER_CAPABILITIES);
        if extended {
            out.put_u16(octets.len() as u16); // within MAX_LENGTH
        } else {
            out.put_u8(octets.len() as u8); // at most 255
        }
        out.put_slice(octets);
    }
    out.freeze()
}

/// Reads the body.
pub(crate) fn decode(body: &[u8]) -> Result<OpenMessage, NotificationMessage> {
    let mut reader = Reader::new(body);
    let (version, fixed) = (reader.u8(), read_fixed(&mut reader));
    if version.is_some_and(|version| version != VERSION) {
        return Err(NotificationMessage::unsupported_version());
    }
    let (Some(version), Some((asn, hold_time, router_id, parameters_length))) = (version, fixed)
    else {
        return Err(NotificationMessage::malformed_open());
    };

    let capabilities = decode_parameters(parameters_length, reader)?;
    let four_octets = capabilities
        .iter()
        .rev()
        .find_map(|capability| match capability {
            Capability::FourOctetAsn(asn) => Some(*asn),
            _ => None,
        });
    let asn = four_octets.unwrap_or_else(|| Asn(asn.into()));
    // RFC 7607 section 2: AS 0 in either place.
    if asn.is_zero() {
        return Err(NotificationMessage::bad_peer_as());
    }
    // RFC 6286 section 2.2: anything else is an identifier, also what no host could have as its address.
    if router_id.is_zero() {
        return Err(NotificationMessage::bad_bgp_identifier());
    }
    Ok(OpenMessage {
        version,
        asn,
        hold_time,
        router_id,
        capabilities,
    })
}

fn read_fixed(reader: &mut Reader<'_>) -> Option<(u16, u16, RouterId, u8)> {
    Some((
        reader.u16()?,
        reader.u16()?,
        RouterId::from(reader.array::<4>()?),
        reader.u8()?,
    ))
}

/// The parameters, in the form of RFC 4271 or that of RFC 9072:
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Non-Ext OP Len| Non-Ext OP Typ|  Extended Opt. Parm. Length   |
/// |  (not 0)      |    (255)      |                               |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Parm. Type    |        Parameter Length       | Value ...     |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
fn decode_parameters(
    length: u8,
    mut reader: Reader<'_>,
) -> Result<Vec<Capability>, NotificationMessage> {
    let extended = length != 0 && reader.rest().first() == Some(&EXTENDED_MARK);
    let length = if extended {
        reader.u8();
        reader.u16().map(usize::from)
    } else {
        Some(usize::from(length))
    };
    if length != Some(reader.len()) {
        return Err(NotificationMessage::malformed_open());
    }

    let mut capabilities = Vec::new();
    while let Some(kind) = reader.u8() {
        let value = if extended {
            reader.prefixed_u16()
        } else {
            reader.prefixed_u8()
        };
        let Some(value) = value else {
            return Err(NotificationMessage::malformed_open());
        };
        if kind != PARAMETER_CAPABILITIES {
            return Err(NotificationMessage::unsupported_optional_parameter());
        }
        // One parameter may hold many capabilities, and there may be many parameters (RFC 5492 section 4).
        let mut value = Reader::new(value);
        while !value.is_empty() {
            let capability = Capability::decode(&mut value);
            capabilities.push(capability.ok_or_else(NotificationMessage::malformed_open)?);
        }
    }
    Ok(capabilities)
}

const VERSION: u8 = 4;
const FIXED_LENGTH: usize = 10;
const PARAMETER_CAPABILITIES: u8 = 2;
const PARAMETER_HEADER: usize = 2;
const EXTENDED_MARK: u8 = 255;
const EXTENDED_PREFIX_LENGTH: usize = 3;
const EXTENDED_PARAMETER_HEADER: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Family;

    fn open(capabilities: Vec<Capability>) -> OpenMessage {
        OpenMessage {
            version: 4,
            asn: Asn(65001),
            hold_time: 90,
            router_id: RouterId::from([10, 0, 0, 1]),
            capabilities,
        }
    }

    fn again(message: &OpenMessage) -> OpenMessage {
        decode(&encode_open(message)[HEADER_LENGTH..]).expect("what we wrote")
    }

    /// Version 4, AS 65001, hold time 90, identifier 10.0.0.1, then `parameters` with their length.
    fn body(parameters: &[u8]) -> Vec<u8> {
        let mut body = vec![4, 0xfd, 0xe9, 0, 90, 10, 0, 0, 1];
        body.extend_from_slice(parameters);
        body
    }

    fn refusal(body: &[u8]) -> (u8, u8, Vec<u8>) {
        let NotificationMessage {
            code,
            subcode,
            data,
        } = decode(body).unwrap_err();
        (code, subcode, data.to_vec())
    }

    #[test]
    fn a_large_as_number_needs_and_uses_the_capability() {
        let message = OpenMessage {
            asn: Asn(4_200_000_001),
            ..open(vec![Capability::FourOctetAsn(Asn(4_200_000_001))])
        };
        assert_eq!(encode_open(&message)[20..22], 23456u16.to_be_bytes());
        assert_eq!(again(&message), message);
    }

    #[test]
    fn one_parameter_or_many_is_the_same() {
        let (multi, refresh) = ([1, 4, 0, 1, 0, 1], [2, 0]);
        let one = [&[10, 2, 8][..], &multi, &refresh].concat();
        let many = [&[12, 2, 6][..], &multi, &[2, 2], &refresh].concat();
        let expected = [
            Capability::MultiProtocol(Family::IPV4_UNICAST),
            Capability::RouteRefresh,
        ];
        assert_eq!(decode(&body(&one)).unwrap().capabilities, expected);
        assert_eq!(decode(&body(&many)).unwrap().capabilities, expected);
    }

    #[test]
    fn the_extended_form_is_read_also_when_it_would_not_be_needed() {
        // RFC 9072 section 2: the octet before the mark is to be ignored unless it is zero.
        for length in [1, 255] {
            let parameters = [length, 255, 0, 5, 2, 0, 2, 2, 0];
            let message = decode(&body(&parameters)).unwrap();
            assert_eq!(message.capabilities, [Capability::RouteRefresh]);
        }
    }

    #[test]
    fn many_capabilities_take_the_extended_form() {
        let unknown = |code| Capability::Unknown {
            code,
            value: Bytes::from(vec![code; 30]),
        };
        let message = open((200..=220).map(unknown).collect());
        assert_eq!(encode_open(&message)[28..30], [255, 255]);
        assert_eq!(again(&message), message);
    }

    #[test]
    fn the_extended_form_begins_where_one_octet_of_length_ends() {
        let unknown = |length| Capability::Unknown {
            code: 200,
            value: Bytes::from(vec![0; length]),
        };
        // Each value has four octets of heads before it.
        let plain = open(vec![unknown(100), unknown(147)]);
        assert_eq!(encode_open(&plain)[28..30], [255, PARAMETER_CAPABILITIES]);
        assert_eq!(again(&plain), plain);
        let extended = open(vec![unknown(100), unknown(148)]);
        assert_eq!(encode_open(&extended)[28..32], [255, 255, 1, 2]);
        assert_eq!(again(&extended), extended);
    }

    #[test]
    fn of_several_four_octet_numbers_the_last_one_counts() {
        let two = [Asn(70_000), Asn(70_001)].map(Capability::FourOctetAsn);
        assert_eq!(again(&open(two.into())).asn, Asn(70_001));
    }

    #[test]
    fn an_open_never_exceeds_4096_octets() {
        let unknown = |code| Capability::Unknown {
            code,
            value: Bytes::from(vec![0; 255]),
        };
        let message = open((200..=255).map(unknown).collect());
        let frame = encode_open(&message);
        assert!(frame.len() <= MAX_LENGTH);
        assert_eq!(again(&message).capabilities[..], message.capabilities[..15]);
    }

    #[test]
    fn every_length_field_is_checked() {
        let malformed = (2, 0, vec![]);
        for parameters in [
            &[][..],                    // no length at all
            &[1],                       // length beyond the message
            &[0, 2],                    // message beyond the length
            &[1, 2],                    // a parameter without its length
            &[2, 2, 1],                 // a parameter beyond the message
            &[3, 2, 1, 2],              // a capability without its length
            &[4, 2, 2, 2, 1],           // a capability beyond its parameter
            &[255, 255],                // extended: no length
            &[255, 255, 0, 1],          // extended: length beyond the message
            &[255, 255, 0, 2, 2, 0],    // extended: half a parameter length
            &[255, 255, 0, 3, 2, 0, 1], // extended: a parameter beyond the message
        ] {
            assert_eq!(refusal(&body(parameters)), malformed, "{parameters:?}");
        }
        assert_eq!(refusal(&[4, 0, 1]), malformed);
    }

    #[test]
    fn what_can_not_be_is_refused_with_its_subcode() {
        let mut other = body(&[0]);
        other[0] = 3;
        assert_eq!(refusal(&other), (2, 1, vec![0, 4]));
        assert_eq!(refusal(&[5]), (2, 1, vec![0, 4]));
        let mut other = body(&[0]);
        other[1..3].fill(0);
        assert_eq!(refusal(&other), (2, 2, vec![]));
        assert_eq!(
            refusal(&body(&[8, 2, 6, 65, 4, 0, 0, 0, 0])),
            (2, 2, vec![])
        );
        let mut other = body(&[0]);
        other[5..9].fill(0);
        assert_eq!(refusal(&other), (2, 3, vec![]));
        assert_eq!(refusal(&body(&[2, 1, 0])), (2, 4, vec![]));
    }

    #[test]
    fn identifiers_that_look_like_no_host_address_are_fine() {
        for first in [224, 240, 255, 127] {
            let message = OpenMessage {
                router_id: RouterId::from([first, 1, 1, 1]),
                ..open(vec![])
            };
            assert_eq!(again(&message), message);
        }
    }
}
