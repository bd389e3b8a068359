//! NOTIFICATION codes in words, and why a session went down.
//!
//! RFC 4271 section 4.5, RFC 4486 (Cease), RFC 5492, RFC 6608 (FSM), RFC 7313, RFC 8538, RFC 9003 (shutdown text),
//! RFC 9234, RFC 9384, RFC 9687.

use weft_proto::v1::LastDown;

/// Who ended the session and why, for example `remote: Cease/Administrative Shutdown "back at 4"`.
pub(crate) fn down_reason(down: &LastDown) -> String {
    let by = match down.by.as_str() {
        "" => String::new(),
        by => format!("{by}: "),
    };
    match (down.code, down.text.as_str()) {
        (0, "") => format!("{by}no reason given"),
        (0, text) => format!("{by}{text}"),
        (code, "") => format!("{by}{}", words(code, down.subcode)),
        // The text says the code itself.
        (code, text) if code_words(code).is_some_and(|error| text.starts_with(error)) => {
            format!("{by}{text}")
        }
        (code, text) => format!("{by}{} \"{text}\"", words(code, down.subcode)),
    }
}

/// The NOTIFICATION in words; numbers where there are none.
fn words(code: u32, subcode: u32) -> String {
    let Some(error) = code_words(code) else {
        return format!("NOTIFICATION {code}/{subcode}");
    };
    match (subcode, subcode_words(code, subcode)) {
        (_, Some(detail)) => format!("{error}/{detail}"),
        (0, None) => error.to_owned(),
        (_, None) => format!("{error}/{subcode}"),
    }
}

fn code_words(code: u32) -> Option<&'static str> {
    Some(match code {
        1 => "Message Header Error",
        2 => "OPEN Message Error",
        3 => "UPDATE Message Error",
        4 => "Hold Timer Expired",
        5 => "Finite State Machine Error",
        6 => "Cease",
        7 => "ROUTE-REFRESH Message Error",
        8 => "Send Hold Timer Expired",
        _ => return None,
    })
}

fn subcode_words(code: u32, subcode: u32) -> Option<&'static str> {
    Some(match (code, subcode) {
        (1, 1) => "Connection Not Synchronized",
        (1, 2) => "Bad Message Length",
        (1, 3) => "Bad Message Type",
        (2, 1) => "Unsupported Version Number",
        (2, 2) => "Bad Peer AS",
        (2, 3) => "Bad BGP Identifier",
        (2, 4) => "Unsupported Optional Parameter",
        (2, 6) => "Unacceptable Hold Time",
        (2, 7) => "Unsupported Capability",
        (2, 11) => "Role Mismatch",
        (3, 1) => "Malformed Attribute List",
        (3, 2) => "Unrecognized Well-known Attribute",
        (3, 3) => "Missing Well-known Attribute",
        (3, 4) => "Attribute Flags Error",
        (3, 5) => "Attribute Length Error",
        (3, 6) => "Invalid ORIGIN Attribute",
        (3, 8) => "Invalid NEXT_HOP Attribute",
        (3, 9) => "Optional Attribute Error",
        (3, 10) => "Invalid Network Field",
        (3, 11) => "Malformed AS_PATH",
        (5, 1) => "Unexpected Message in OpenSent",
        (5, 2) => "Unexpected Message in OpenConfirm",
        (5, 3) => "Unexpected Message in Established",
        (6, 1) => "Maximum Number of Prefixes Reached",
        (6, 2) => "Administrative Shutdown",
        (6, 3) => "Peer De-configured",
        (6, 4) => "Administrative Reset",
        (6, 5) => "Connection Rejected",
        (6, 6) => "Other Configuration Change",
        (6, 7) => "Connection Collision Resolution",
        (6, 8) => "Out of Resources",
        (6, 9) => "Hard Reset",
        (6, 10) => "BFD Down",
        (7, 1) => "Invalid Message Length",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(by: &str, code: u32, subcode: u32, text: &str) -> String {
        down_reason(&LastDown {
            by: by.into(),
            code,
            subcode,
            text: text.into(),
            at: None,
        })
    }

    #[test]
    fn a_reason_says_who_what_and_their_text() {
        assert_eq!(
            reason("remote", 6, 2, "back at 4"),
            "remote: Cease/Administrative Shutdown \"back at 4\""
        );
        assert_eq!(reason("local", 4, 0, ""), "local: Hold Timer Expired");
        assert_eq!(
            reason("transport", 0, 0, "connection refused"),
            "transport: connection refused"
        );
        assert_eq!(reason("transport", 0, 0, ""), "transport: no reason given");
    }

    #[test]
    fn unknown_codes_are_shown_as_numbers() {
        assert_eq!(reason("remote", 6, 99, ""), "remote: Cease/99");
        assert_eq!(reason("remote", 42, 7, ""), "remote: NOTIFICATION 42/7");
    }
}
