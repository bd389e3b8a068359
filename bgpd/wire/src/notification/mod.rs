//! NOTIFICATION: the last message of a session (RFC 4271 section 4.5), with a constructor for each that is sent.
//!
//! RFC 9003 (texts of an operator), RFC 8538 (Hard Reset), and those that [`code`] lists.

pub mod codes;

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};

use crate::family::Family;
use crate::header::{HEADER_LENGTH, Header, MAX_LENGTH, MessageType};
use crate::open::Capability;

pub use codes as code;

/// Why a session ends.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Error code    | Error subcode |   Data (variable)             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub struct NotificationMessage {
    /// What kind of error; see [`code`].
    pub code: u8,
    /// Which error of this kind; 0 for no particular one.
    pub subcode: u8,
    /// Depends on code and subcode.
    pub data: Bytes,
}

impl NotificationMessage {
    /// One without data.
    #[must_use]
    pub const fn new(code: u8, subcode: u8) -> Self {
        Self {
            code,
            subcode,
            data: Bytes::new(),
        }
    }

    /// One with data, which is copied.
    #[must_use]
    pub fn with_data(code: u8, subcode: u8, data: &[u8]) -> Self {
        Self {
            code,
            subcode,
            data: Bytes::copy_from_slice(data),
        }
    }

    /// 1/1: the marker is not all ones.
    #[must_use]
    pub const fn connection_not_synchronized() -> Self {
        Self::new(
            code::MESSAGE_HEADER,
            code::header::CONNECTION_NOT_SYNCHRONIZED,
        )
    }

    /// 1/2, with the length that is wrong.
    #[must_use]
    pub fn bad_message_length(length: u16) -> Self {
        Self::with_data(
            code::MESSAGE_HEADER,
            code::header::BAD_MESSAGE_LENGTH,
            &length.to_be_bytes(),
        )
    }

    /// 1/3, with the type that is not known.
    #[must_use]
    pub fn bad_message_type(kind: u8) -> Self {
        Self::with_data(
            code::MESSAGE_HEADER,
            code::header::BAD_MESSAGE_TYPE,
            &[kind],
        )
    }

    /// 2/0: the OPEN can't be read.
    #[must_use]
    pub const fn malformed_open() -> Self {
        Self::new(code::OPEN_MESSAGE, code::UNSPECIFIC)
    }

    /// 2/1, with the version that is spoken here.
    #[must_use]
    pub fn unsupported_version() -> Self {
        Self::with_data(code::OPEN_MESSAGE, code::open::UNSUPPORTED_VERSION, &[0, 4])
    }

    /// 2/2.
    #[must_use]
    pub const fn bad_peer_as() -> Self {
        Self::new(code::OPEN_MESSAGE, code::open::BAD_PEER_AS)
    }

    /// 2/3.
    #[must_use]
    pub const fn bad_bgp_identifier() -> Self {
        Self::new(code::OPEN_MESSAGE, code::open::BAD_BGP_IDENTIFIER)
    }

    /// 2/4.
    #[must_use]
    pub const fn unsupported_optional_parameter() -> Self {
        Self::new(
            code::OPEN_MESSAGE,
            code::open::UNSUPPORTED_OPTIONAL_PARAMETER,
        )
    }

    /// 2/6.
    #[must_use]
    pub const fn unacceptable_hold_time() -> Self {
        Self::new(code::OPEN_MESSAGE, code::open::UNACCEPTABLE_HOLD_TIME)
    }

    /// 2/7, with the capabilities that are missed (RFC 5492 section 5).
    #[must_use]
    pub fn unsupported_capability(missed: &[Capability]) -> Self {
        let mut data = Vec::new();
        for capability in missed {
            capability.encode(&mut data);
        }
        Self {
            code: code::OPEN_MESSAGE,
            subcode: code::open::UNSUPPORTED_CAPABILITY,
            data: data.into(),
        }
    }

    /// 2/11 (RFC 9234 section 4.2).
    #[must_use]
    pub const fn role_mismatch() -> Self {
        Self::new(code::OPEN_MESSAGE, code::open::ROLE_MISMATCH)
    }

    /// 3/x, with the attribute that is wrong; see [`code::update`].
    #[must_use]
    pub fn update_error(subcode: u8, data: &[u8]) -> Self {
        Self::with_data(code::UPDATE_MESSAGE, subcode, data)
    }

    /// 4/0.
    #[must_use]
    pub const fn hold_timer_expired() -> Self {
        Self::new(code::HOLD_TIMER_EXPIRED, code::UNSPECIFIC)
    }

    /// 5/1, with the type of the message.
    #[must_use]
    pub fn unexpected_in_open_sent(kind: u8) -> Self {
        Self::with_data(code::FSM, code::fsm::UNEXPECTED_IN_OPEN_SENT, &[kind])
    }

    /// 5/2, with the type of the message.
    #[must_use]
    pub fn unexpected_in_open_confirm(kind: u8) -> Self {
        Self::with_data(code::FSM, code::fsm::UNEXPECTED_IN_OPEN_CONFIRM, &[kind])
    }

    /// 5/3, with the type of the message.
    #[must_use]
    pub fn unexpected_in_established(kind: u8) -> Self {
        Self::with_data(code::FSM, code::fsm::UNEXPECTED_IN_ESTABLISHED, &[kind])
    }

    /// 6/1, with the family and the limit (RFC 4486 section 4).
    #[must_use]
    pub fn maximum_prefixes(family: Family, limit: u32) -> Self {
        let mut data = BytesMut::with_capacity(7);
        data.put_u16(family.afi);
        data.put_u8(family.safi);
        data.put_u32(limit);
        Self {
            code: code::CEASE,
            subcode: code::cease::MAXIMUM_PREFIXES,
            data: data.freeze(),
        }
    }

    /// 6/2, with a text for the peer's operator.
    #[must_use]
    pub fn administrative_shutdown(text: &str) -> Self {
        Self::with_text(code::cease::ADMINISTRATIVE_SHUTDOWN, text)
    }

    /// 6/3.
    #[must_use]
    pub const fn peer_deconfigured() -> Self {
        Self::new(code::CEASE, code::cease::PEER_DECONFIGURED)
    }

    /// 6/4, with a text for the peer's operator.
    #[must_use]
    pub fn administrative_reset(text: &str) -> Self {
        Self::with_text(code::cease::ADMINISTRATIVE_RESET, text)
    }

    /// 6/5.
    #[must_use]
    pub const fn connection_rejected() -> Self {
        Self::new(code::CEASE, code::cease::CONNECTION_REJECTED)
    }

    /// 6/6.
    #[must_use]
    pub const fn other_configuration_change() -> Self {
        Self::new(code::CEASE, code::cease::OTHER_CONFIGURATION_CHANGE)
    }

    /// 6/7.
    #[must_use]
    pub const fn connection_collision() -> Self {
        Self::new(code::CEASE, code::cease::CONNECTION_COLLISION)
    }

    /// 6/8.
    #[must_use]
    pub const fn out_of_resources() -> Self {
        Self::new(code::CEASE, code::cease::OUT_OF_RESOURCES)
    }

    /// 6/9, around the reason: a peer that keeps routes over a NOTIFICATION does not over this one (RFC 8538 section 3).
    #[must_use]
    pub fn hard_reset(reason: &Self) -> Self {
        let mut data = BytesMut::with_capacity(2 + reason.data.len());
        data.put_slice(&[reason.code, reason.subcode]);
        data.put_slice(&reason.data);
        Self {
            code: code::CEASE,
            subcode: code::cease::HARD_RESET,
            data: data.freeze(),
        }
    }

    /// 6/10 (RFC 9384).
    #[must_use]
    pub const fn bfd_down() -> Self {
        Self::new(code::CEASE, code::cease::BFD_DOWN)
    }

    /// 7/1, with the whole message (RFC 7313 section 5).
    #[must_use]
    pub fn invalid_refresh_length(message: &[u8]) -> Self {
        Self::with_data(
            code::ROUTE_REFRESH_MESSAGE,
            code::route_refresh::INVALID_MESSAGE_LENGTH,
            message,
        )
    }

    /// 8/0 (RFC 9687).
    #[must_use]
    pub const fn send_hold_timer_expired() -> Self {
        Self::new(code::SEND_HOLD_TIMER_EXPIRED, code::UNSPECIFIC)
    }

    /// True for 6/9.
    #[must_use]
    pub const fn is_hard_reset(&self) -> bool {
        self.code == code::CEASE && self.subcode == code::cease::HARD_RESET
    }

    /// What a Hard Reset wraps. Never a Hard Reset itself.
    #[must_use]
    pub fn inner(&self) -> Option<Self> {
        if !self.is_hard_reset() {
            return None;
        }
        let [code, subcode, ..] = self.data[..] else {
            return None;
        };
        let inner = Self {
            code,
            subcode,
            data: self.data.slice(2..),
        };
        (!inner.is_hard_reset()).then_some(inner)
    }

    /// The text that the peer's operator sent with 6/2 or 6/4, when there is one and it is UTF-8 (RFC 9003 section 2).
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        let has_text = matches!(
            self.subcode,
            code::cease::ADMINISTRATIVE_SHUTDOWN | code::cease::ADMINISTRATIVE_RESET
        );
        if self.code != code::CEASE || !has_text {
            return None;
        }
        let (&length, rest) = self.data.split_first()?;
        let text = std::str::from_utf8(rest.get(..usize::from(length))?).ok()?;
        (!text.is_empty()).then_some(text)
    }

    /// A text longer than fits loses its end.
    fn with_text(subcode: u8, text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(MAX_TEXT_LENGTH)];
        let mut data = BytesMut::with_capacity(1 + text.len());
        if !text.is_empty() {
            data.put_u8(text.len() as u8); // at most MAX_TEXT_LENGTH
            data.put_slice(text.as_bytes());
        }
        Self {
            code: code::CEASE,
            subcode,
            data: data.freeze(),
        }
    }
}

impl fmt::Display for NotificationMessage {
    /// `OPEN Message Error/Bad Peer AS`, `Cease/Administrative Shutdown: "text"`, `Cease/Hard Reset (Hold Timer Expired)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            subcode,
            data: _,
        } = self;
        match (code::name(*code), code::subcode_name(*code, *subcode)) {
            (Some(name), Some(subcode)) => write!(f, "{name}/{subcode}")?,
            (Some(name), None) if *subcode == code::UNSPECIFIC => f.write_str(name)?,
            (Some(name), None) => write!(f, "{name}/subcode {subcode}")?,
            (None, _) => write!(f, "error {code}/subcode {subcode}")?,
        }
        if let Some(inner) = self.inner() {
            write!(f, " ({inner})")?;
        }
        // The other operator's text goes to logs and terminals: control characters are escaped.
        if let Some(text) = self.text() {
            write!(f, ": {text:?}")?;
        }
        Ok(())
    }
}

impl std::error::Error for NotificationMessage {}

/// The whole message. Data beyond 4096 octets of message is cut off.
#[must_use]
pub fn encode_notification(message: &NotificationMessage) -> Bytes {
    let room = MAX_LENGTH - HEADER_LENGTH - 2;
    let data = &message.data[..message.data.len().min(room)];
    let length = HEADER_LENGTH + 2 + data.len();
    let mut out = BytesMut::with_capacity(length);
    Header::write(MessageType::Notification, length, &mut out);
    out.put_slice(&[message.code, message.subcode]);
    out.put_slice(data);
    out.freeze()
}

/// Reads the body; the header's check has made sure of two octets.
pub(crate) fn decode(body: &[u8]) -> NotificationMessage {
    let (code, rest) = body.split_first().unwrap_or((&0, &[]));
    let (subcode, data) = rest.split_first().unwrap_or((&0, &[]));
    NotificationMessage::with_data(*code, *subcode, data)
}

/// RFC 9003 section 2: one octet of length.
const MAX_TEXT_LENGTH: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(message: &NotificationMessage) -> NotificationMessage {
        decode(&encode_notification(message)[HEADER_LENGTH..])
    }

    #[test]
    fn names_are_the_registered_ones() {
        let text = |message: NotificationMessage| message.to_string();
        assert_eq!(
            text(NotificationMessage::bad_peer_as()),
            "OPEN Message Error/Bad Peer AS"
        );
        assert_eq!(
            text(NotificationMessage::hold_timer_expired()),
            "Hold Timer Expired"
        );
        assert_eq!(text(NotificationMessage::new(6, 77)), "Cease/subcode 77");
        assert_eq!(text(NotificationMessage::new(99, 1)), "error 99/subcode 1");
        assert_eq!(
            text(NotificationMessage::hard_reset(
                &NotificationMessage::administrative_reset("bye\n")
            )),
            r#"Cease/Hard Reset (Cease/Administrative Reset: "bye\n")"#
        );
    }

    #[test]
    fn an_operators_text_arrives() {
        let message = NotificationMessage::administrative_shutdown("maintenance, back at 3 – NOC");
        assert_eq!(
            decoded(&message).text(),
            Some("maintenance, back at 3 – NOC")
        );
        assert_eq!(
            NotificationMessage::administrative_shutdown("").data.len(),
            0
        );
        // 254 octets and a character of two: it does not fit, and is not torn.
        let long = format!("{}é", "x".repeat(254));
        assert_eq!(
            NotificationMessage::administrative_reset(&long).text(),
            Some(&long[..254])
        );
    }

    #[test]
    fn a_text_that_overruns_or_is_no_utf8_is_none() {
        for data in [&[5, b'a'][..], &[1, 0xff], &[0], &[]] {
            assert_eq!(
                NotificationMessage::with_data(6, 2, data).text(),
                None,
                "{data:?}"
            );
        }
        let elsewhere = NotificationMessage::with_data(6, 3, &[1, b'a']);
        assert_eq!(elsewhere.text(), None);
    }

    #[test]
    fn a_hard_reset_gives_its_reason_back_once() {
        let reason = NotificationMessage::maximum_prefixes(Family::IPV4_UNICAST, 10);
        let reset = NotificationMessage::hard_reset(&reason);
        assert_eq!(decoded(&reset).inner(), Some(reason));
        assert_eq!(NotificationMessage::hard_reset(&reset).inner(), None);
        assert_eq!(NotificationMessage::new(6, 9).inner(), None);
    }

    #[test]
    fn data_that_fits_no_message_is_cut() {
        let message = NotificationMessage::with_data(7, 1, &[1; 5000]);
        assert_eq!(encode_notification(&message).len(), MAX_LENGTH);
    }
}
