//! The message header (RFC 4271 sections 4.1 and 6.1, RFC 8654).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                      Marker: 16 octets of ones                |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |          Length               |      Type     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use bytes::BufMut;

use crate::notification::NotificationMessage;

/// The type octet.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum MessageType {
    Open = 1,
    Update = 2,
    Notification = 3,
    Keepalive = 4,
    RouteRefresh = 5,
}

impl MessageType {
    const fn from_octet(octet: u8) -> Option<Self> {
        Some(match octet {
            1 => Self::Open,
            2 => Self::Update,
            3 => Self::Notification,
            4 => Self::Keepalive,
            5 => Self::RouteRefresh,
            _ => return None,
        })
    }

    /// Smallest and largest length that a message of this type can have.
    const fn length_bounds(self, extended: bool) -> (usize, usize) {
        let largest = if extended {
            MAX_EXTENDED_LENGTH
        } else {
            MAX_LENGTH
        };
        match self {
            // RFC 8654 section 4: OPEN and KEEPALIVE never grow, also when the peer may send more.
            Self::Open => (HEADER_LENGTH + 10, MAX_LENGTH),
            Self::Keepalive => (HEADER_LENGTH, HEADER_LENGTH),
            Self::Update => (HEADER_LENGTH + 4, largest),
            Self::Notification => (HEADER_LENGTH + 2, largest),
            Self::RouteRefresh => (HEADER_LENGTH + 4, largest),
        }
    }
}

/// A checked header.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Header {
    pub(crate) kind: MessageType,
    /// Of the whole message.
    pub(crate) length: usize,
}

impl Header {
    /// Checks marker, length and type, in this order (RFC 4271 section 6.1).
    pub(crate) fn parse(
        octets: &[u8; HEADER_LENGTH],
        extended: bool,
    ) -> Result<Self, NotificationMessage> {
        let [marker @ .., high, low, kind] = octets;
        if marker.iter().any(|&octet| octet != 0xff) {
            return Err(NotificationMessage::connection_not_synchronized());
        }
        let length = u16::from_be_bytes([*high, *low]);
        let (known, least, most) = match MessageType::from_octet(*kind) {
            Some(known) => {
                let (least, most) = known.length_bounds(extended);
                (Some(known), least, most)
            }
            None => {
                let most = if extended {
                    MAX_EXTENDED_LENGTH
                } else {
                    MAX_LENGTH
                };
                (None, HEADER_LENGTH, most)
            }
        };
        if !(least..=most).contains(&usize::from(length)) {
            return Err(NotificationMessage::bad_message_length(length));
        }
        let kind = known.ok_or_else(|| NotificationMessage::bad_message_type(*kind))?;
        Ok(Self {
            kind,
            length: usize::from(length),
        })
    }

    /// Writes a header. `length` is that of the whole message, and within the bounds of its type.
    pub(crate) fn write(kind: MessageType, length: usize, out: &mut impl BufMut) {
        debug_assert!((HEADER_LENGTH..=MAX_EXTENDED_LENGTH).contains(&length));
        out.put_slice(&[0xff; MARKER_LENGTH]);
        out.put_u16(length as u16); // checked by every encoder: at most 65535
        out.put_u8(kind as u8);
    }
}

/// Length of the header, in octets.
pub const HEADER_LENGTH: usize = 19;

/// Longest message without extended messages, and longest OPEN and KEEPALIVE ever (RFC 4271 section 4.1).
pub const MAX_LENGTH: usize = 4096;

/// Longest message with extended messages (RFC 8654).
pub const MAX_EXTENDED_LENGTH: usize = 65_535;

const MARKER_LENGTH: usize = 16;
