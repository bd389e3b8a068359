//! The NOTIFICATIONs that a session sends, and what those that it receives mean.
//!
//! RFC 4271 sections 4.5 and 6, RFC 4486 (Cease), RFC 5492 section 5, RFC 6608 (FSM errors), RFC 8538 (Hard Reset),
//! RFC 9003 (texts), RFC 9687 (send hold timer).

use bgp_wire::{Family, NotificationMessage};
use bytes::{BufMut, Bytes, BytesMut};

pub(super) fn bad_peer_as() -> NotificationMessage {
    plain(OPEN, BAD_PEER_AS)
}

pub(super) fn bad_identifier() -> NotificationMessage {
    plain(OPEN, BAD_IDENTIFIER)
}

pub(super) fn unacceptable_hold_time() -> NotificationMessage {
    plain(OPEN, UNACCEPTABLE_HOLD_TIME)
}

/// No family in common. The data lists the capabilities that would help (RFC 5492 section 5).
pub(super) fn no_common_family(needed: &[Family]) -> NotificationMessage {
    let mut data = BytesMut::new();
    for family in needed {
        data.put_slice(&[MULTIPROTOCOL, 4]);
        data.put_u16(family.afi);
        data.put_slice(&[0, family.safi]);
    }
    NotificationMessage {
        code: OPEN,
        subcode: UNSUPPORTED_CAPABILITY,
        data: data.freeze(),
    }
}

pub(super) fn hold_timer_expired() -> NotificationMessage {
    plain(HOLD_TIMER, 0)
}

pub(super) fn send_hold_timer_expired() -> NotificationMessage {
    plain(SEND_HOLD_TIMER, 0)
}

pub(super) fn unexpected_in_open_sent() -> NotificationMessage {
    plain(FSM, 1)
}

pub(super) fn unexpected_in_open_confirm() -> NotificationMessage {
    plain(FSM, 2)
}

pub(super) fn unexpected_in_established() -> NotificationMessage {
    plain(FSM, 3)
}

/// RFC 4486 section 4: the data is the family and the limit.
pub(super) fn prefix_limit(family: Family, limit: u32) -> NotificationMessage {
    let mut data = BytesMut::new();
    data.put_u16(family.afi);
    data.put_u8(family.safi);
    data.put_u32(limit);
    NotificationMessage {
        code: CEASE,
        subcode: PREFIX_LIMIT,
        data: data.freeze(),
    }
}

pub(super) fn admin_shutdown(text: &str) -> NotificationMessage {
    with_text(ADMIN_SHUTDOWN, text)
}

pub(super) fn deconfigured() -> NotificationMessage {
    plain(CEASE, DECONFIGURED)
}

pub(super) fn admin_reset(text: &str) -> NotificationMessage {
    with_text(ADMIN_RESET, text)
}

pub(super) fn configuration_changed() -> NotificationMessage {
    plain(CEASE, CONFIGURATION_CHANGED)
}

pub(super) fn collision() -> NotificationMessage {
    plain(CEASE, COLLISION)
}

/// Wraps `reason`, so that a peer that keeps routes over a NOTIFICATION does not keep them over this one
/// (RFC 8538 section 3).
pub(super) fn hard_reset(reason: &NotificationMessage) -> NotificationMessage {
    let mut data = BytesMut::with_capacity(2 + reason.data.len());
    data.put_slice(&[reason.code, reason.subcode]);
    data.put_slice(&reason.data);
    NotificationMessage {
        code: CEASE,
        subcode: HARD_RESET,
        data: data.freeze(),
    }
}

pub(super) const fn is_hard_reset(message: &NotificationMessage) -> bool {
    message.code == CEASE && message.subcode == HARD_RESET
}

/// True for 2/4: the peer knows no optional parameter of type Capabilities.
pub(super) const fn is_unsupported_parameter(message: &NotificationMessage) -> bool {
    message.code == OPEN && message.subcode == UNSUPPORTED_PARAMETER
}

/// True when someone did something wrong; false when someone merely wanted an end.
pub(super) fn is_error(message: &NotificationMessage) -> bool {
    match inner(message) {
        Some(inner) => is_error(&inner),
        None => message.code != CEASE || matches!(message.subcode, PREFIX_LIMIT | OUT_OF_RESOURCES),
    }
}

/// The reason in words: `Cease/Administrative Shutdown: "text of the other operator"`.
pub(super) fn describe(message: &NotificationMessage) -> String {
    if let Some(inner) = inner(message) {
        return format!("Cease/Hard Reset ({})", describe(&inner));
    }
    let NotificationMessage { code, subcode, .. } = message;
    let mut text = match names(*code, *subcode) {
        (Some(code), Some(subcode)) => format!("{code}/{subcode}"),
        (Some(name), None) if *subcode == 0 => name.to_owned(),
        (Some(name), None) => format!("{name}, subcode {subcode}"),
        (None, _) => format!("error {code}, subcode {subcode}"),
    };
    if let Some(communication) = communication(message) {
        text.push_str(&format!(": {communication:?}"));
    }
    text
}

/// The text of RFC 9003 section 2, when there is one and it is UTF-8.
fn communication(message: &NotificationMessage) -> Option<&str> {
    if message.code != CEASE || !matches!(message.subcode, ADMIN_SHUTDOWN | ADMIN_RESET) {
        return None;
    }
    let (&length, rest) = message.data.split_first()?;
    let text = std::str::from_utf8(rest.get(..usize::from(length))?).ok()?;
    (!text.is_empty()).then_some(text)
}

/// The NOTIFICATION inside a Hard Reset. Never one that is a Hard Reset itself.
fn inner(message: &NotificationMessage) -> Option<NotificationMessage> {
    if !is_hard_reset(message) {
        return None;
    }
    let [code, subcode, ..] = message.data[..] else {
        return None;
    };
    let inner = NotificationMessage {
        code,
        subcode,
        data: message.data.slice(2..),
    };
    (!is_hard_reset(&inner)).then_some(inner)
}

fn plain(code: u8, subcode: u8) -> NotificationMessage {
    NotificationMessage {
        code,
        subcode,
        data: Bytes::new(),
    }
}

fn with_text(subcode: u8, text: &str) -> NotificationMessage {
    let text = &text[..text.floor_char_boundary(MAX_TEXT)];
    let mut data = BytesMut::new();
    if !text.is_empty() {
        data.put_u8(text.len() as u8); // at most MAX_TEXT
        data.put_slice(text.as_bytes());
    }
    NotificationMessage {
        code: CEASE,
        subcode,
        data: data.freeze(),
    }
}

/// The names in the IANA registries "BGP Error (Notification) Codes" and their subcodes.
fn names(code: u8, subcode: u8) -> (Option<&'static str>, Option<&'static str>) {
    let (code, subcodes): (_, &[&'static str]) = match code {
        1 => (
            "Message Header Error",
            &[
                "Connection Not Synchronized",
                "Bad Message Length",
                "Bad Message Type",
            ],
        ),
        OPEN => (
            "OPEN Message Error",
            &[
                "Unsupported Version Number",
                "Bad Peer AS",
                "Bad BGP Identifier",
                "Unsupported Optional Parameter",
                "Authentication Failure",
                "Unacceptable Hold Time",
                "Unsupported Capability",
                "Deprecated",
                "Deprecated",
                "Deprecated",
                "Role Mismatch",
            ],
        ),
        3 => (
            "UPDATE Message Error",
            &[
                "Malformed Attribute List",
                "Unrecognized Well-known Attribute",
                "Missing Well-known Attribute",
                "Attribute Flags Error",
                "Attribute Length Error",
                "Invalid ORIGIN Attribute",
                "AS Routing Loop",
                "Invalid NEXT_HOP Attribute",
                "Optional Attribute Error",
                "Invalid Network Field",
                "Malformed AS_PATH",
            ],
        ),
        HOLD_TIMER => ("Hold Timer Expired", &[]),
        FSM => (
            "Finite State Machine Error",
            &[
                "Unexpected Message in OpenSent",
                "Unexpected Message in OpenConfirm",
                "Unexpected Message in Established",
            ],
        ),
        CEASE => (
            "Cease",
            &[
                "Maximum Number of Prefixes Reached",
                "Administrative Shutdown",
                "Peer De-configured",
                "Administrative Reset",
                "Connection Rejected",
                "Other Configuration Change",
                "Connection Collision Resolution",
                "Out of Resources",
                "Hard Reset",
                "BFD Down",
            ],
        ),
        7 => ("ROUTE-REFRESH Message Error", &["Invalid Message Length"]),
        SEND_HOLD_TIMER => ("Send Hold Timer Expired", &[]),
        _ => return (None, None),
    };
    let subcode = usize::from(subcode)
        .checked_sub(1)
        .and_then(|index| subcodes.get(index));
    (Some(code), subcode.copied())
}

const OPEN: u8 = 2;
const HOLD_TIMER: u8 = 4;
const FSM: u8 = 5;
const CEASE: u8 = 6;
const SEND_HOLD_TIMER: u8 = 8;

const BAD_PEER_AS: u8 = 2;
const BAD_IDENTIFIER: u8 = 3;
const UNSUPPORTED_PARAMETER: u8 = 4;
const UNACCEPTABLE_HOLD_TIME: u8 = 6;
const UNSUPPORTED_CAPABILITY: u8 = 7;

const PREFIX_LIMIT: u8 = 1;
const ADMIN_SHUTDOWN: u8 = 2;
const DECONFIGURED: u8 = 3;
const ADMIN_RESET: u8 = 4;
const CONFIGURATION_CHANGED: u8 = 6;
const COLLISION: u8 = 7;
const OUT_OF_RESOURCES: u8 = 8;
const HARD_RESET: u8 = 9;

/// Capability code of RFC 4760.
const MULTIPROTOCOL: u8 = 1;
/// RFC 9003 section 2: the length has one octet.
const MAX_TEXT: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_code_subcode_and_text() {
        assert_eq!(describe(&hold_timer_expired()), "Hold Timer Expired");
        assert_eq!(describe(&bad_peer_as()), "OPEN Message Error/Bad Peer AS");
        assert_eq!(
            describe(&admin_shutdown("upgrade")),
            "Cease/Administrative Shutdown: \"upgrade\""
        );
        assert_eq!(
            describe(&hard_reset(&admin_reset("x"))),
            "Cease/Hard Reset (Cease/Administrative Reset: \"x\")"
        );
        assert_eq!(describe(&plain(77, 3)), "error 77, subcode 3");
        assert_eq!(describe(&plain(2, 99)), "OPEN Message Error, subcode 99");
    }

    #[test]
    fn texts_of_a_hostile_peer_are_harmless() {
        for data in [
            &[][..],
            &[0],
            &[9, b'x'],
            &[2, 0xff, 0xfe],
            &[3, b'a', 0x1b, b'b'],
        ] {
            let data = Bytes::copy_from_slice(data);
            let message = NotificationMessage {
                code: CEASE,
                subcode: ADMIN_SHUTDOWN,
                data,
            };
            let text = describe(&message);
            assert!(text.starts_with("Cease/Administrative Shutdown"));
            assert!(!text.chars().any(char::is_control), "{text:?}");
        }
        let nested = hard_reset(&hard_reset(&deconfigured()));
        assert_eq!(describe(&nested), "Cease/Hard Reset");
        assert_eq!(describe(&plain(CEASE, HARD_RESET)), "Cease/Hard Reset");
    }
}
