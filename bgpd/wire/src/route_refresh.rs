//! ROUTE-REFRESH (RFC 2918) and its marks for beginning and end (RFC 7313).

use bytes::{BufMut, Bytes, BytesMut};

use crate::family::Family;
use crate::header::{HEADER_LENGTH, Header, MessageType};
use crate::notification::NotificationMessage;

/// A ROUTE-REFRESH message.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |              AFI              |    Subtype    |      SAFI     |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub struct RouteRefreshMessage {
    /// What is asked for, or marked.
    pub family: Family,
    /// What it says about the family.
    pub subtype: RefreshSubtype,
}

/// What a ROUTE-REFRESH says.
///
/// Only [`RefreshSubtype::Normal`] means anything without the Enhanced Route Refresh capability: the octet is reserved
/// then, and to be ignored.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum RefreshSubtype {
    /// Send everything again.
    Normal,
    /// BoRR: from here on everything is sent again.
    Begin,
    /// EoRR: everything has been sent again.
    End,
    /// To be ignored (RFC 7313 section 5).
    Unknown(u8),
}

/// The whole message.
#[must_use]
pub fn encode_route_refresh(message: &RouteRefreshMessage) -> Bytes {
    let mut out = BytesMut::with_capacity(LENGTH);
    Header::write(MessageType::RouteRefresh, LENGTH, &mut out);
    out.put_u16(message.family.afi);
    out.put_u8(match message.subtype {
        RefreshSubtype::Normal => 0,
        RefreshSubtype::Begin => 1,
        RefreshSubtype::End => 2,
        RefreshSubtype::Unknown(octet) => octet,
    });
    out.put_u8(message.family.safi);
    out.freeze()
}

/// Reads the message; `frame` has a checked header.
pub(crate) fn decode(frame: &[u8]) -> Result<RouteRefreshMessage, NotificationMessage> {
    let body = &frame[HEADER_LENGTH..];
    let [afi_high, afi_low, subtype, safi, rest @ ..] = body else {
        return Err(NotificationMessage::bad_message_length(frame.len() as u16));
    };
    let family = Family {
        afi: u16::from_be_bytes([*afi_high, *afi_low]),
        safi: *safi,
    };
    let subtype = match subtype {
        0 => RefreshSubtype::Normal,
        1 => RefreshSubtype::Begin,
        2 => RefreshSubtype::End,
        octet => RefreshSubtype::Unknown(*octet),
    };
    // A request may go on with outbound route filters (RFC 5291), which were never agreed on; they are not looked at.
    if !rest.is_empty() && matches!(subtype, RefreshSubtype::Begin | RefreshSubtype::End) {
        return Err(NotificationMessage::invalid_refresh_length(frame));
    }
    Ok(RouteRefreshMessage { family, subtype })
}

const LENGTH: usize = HEADER_LENGTH + 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subtype_comes_back() {
        for octet in 0..=u8::MAX {
            let mut frame = encode_route_refresh(&RouteRefreshMessage {
                family: Family::IPV6_UNICAST,
                subtype: RefreshSubtype::Unknown(octet),
            })
            .to_vec();
            let message = decode(&frame).unwrap();
            assert_eq!(encode_route_refresh(&message)[..], frame);
            // Longer: an error for BoRR and EoRR only (RFC 7313 section 5), with the message as data.
            frame.push(0);
            match decode(&frame) {
                Ok(_) => assert!(octet == 0 || octet > 2),
                Err(error) => {
                    assert!(octet == 1 || octet == 2);
                    assert_eq!((error.code, error.subcode), (7, 1));
                    assert_eq!(error.data[..], frame);
                }
            }
        }
    }
}
