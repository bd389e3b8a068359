//! NOTIFICATIONs: what the scripted peers did last, or what the operator of the daemon wanted.

use bgp_wire::NotificationMessage;

use crate::vector::Vector;

pub(super) fn notification(vector: &Vector) -> NotificationMessage {
    let code = vector.title.trim_start_matches("notification-");
    if vector.daemon == "exabgp" {
        return in_words(code);
    }
    match (code, vector.daemon.as_str()) {
        ("1-1", _) => NotificationMessage::connection_not_synchronized(),
        // A KEEPALIVE of 20 octets, and a message of type 9.
        ("1-2", _) => NotificationMessage::bad_message_length(20),
        ("1-3", _) => NotificationMessage::bad_message_type(9),
        // The two of them add the AS that was not expected, 65099.
        ("2-2", "bird" | "frr") => NotificationMessage::with_data(2, 2, &[0xfe, 0x4b]),
        ("2-2", _) => NotificationMessage::bad_peer_as(),
        // FRR takes the unknown well-known attribute for a malformed list.
        ("3-1", "frr") => NotificationMessage::update_error(1, &[]),
        ("3-2", _) => NotificationMessage::update_error(2, &[0x40, 77, 1, 1]),
        ("4-0", _) => NotificationMessage::hold_timer_expired(),
        // RFC 6608 asks for the type of the message, which nobody sends.
        ("5-3", _) => NotificationMessage::new(5, 3),
        ("6-2", "bird" | "frr" | "openbgpd" | "gobgp") => shutdown(vector),
        ("6-3", _) => NotificationMessage::peer_deconfigured(),
        ("6-4", "frr") => NotificationMessage::administrative_reset(""),
        ("6-4", _) => NotificationMessage::administrative_reset("new policy"),
        (code, daemon) => panic!("{daemon}: {code}"),
    }
}

/// ExaBGP explains itself in the data.
fn in_words(code: &str) -> NotificationMessage {
    let (code, subcode, text) = match code {
        "1-1" => (1, 1, "The packet received does not contain a BGP marker"),
        "1-2" => (1, 2, "KEEPALIVE has an invalid message length of 20"),
        "2-2" => (
            2,
            2,
            "ASN in OPEN (65099) did not match ASN expected (65006)",
        ),
        "4-0" => return NotificationMessage::hold_timer_expired(),
        code => panic!("ExaBGP: {code}"),
    };
    NotificationMessage::with_data(code, subcode, text.as_bytes())
}

/// RFC 9003.
fn shutdown(vector: &Vector) -> NotificationMessage {
    use crate::vector::Peer::{AddPath, Client};
    NotificationMessage::administrative_shutdown(match (vector.peer, vector.daemon.as_str()) {
        (Client, _) => "maintenance, back at 3",
        // BIRD was asked to restart this one, and calls that a shutdown too.
        (AddPath, "bird") => "new policy",
        (_, "openbgpd") => "bgpd shutting down",
        _ => "",
    })
}
