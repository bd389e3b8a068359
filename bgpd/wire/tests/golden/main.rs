//! Messages that other implementations sent, decoded to what they mean and encoded again.
//!
//! Each file of `tests/vectors` is one message, as BIRD, FRR, GoBGP, OpenBGPD or ExaBGP put it on the wire when
//! `tests/vectors/capture/capture.py` made it talk. What a message means follows from what the scripted peers are and
//! what the `source` among them announced; [`expected`] says so in types, independently of the bytes.
//!
//! Encoded again, a message has the same bytes. Where an implementation makes another choice that RFCs leave open,
//! [`liberties`] names it, and the parts of both messages are compared by [`parts`], which is no part of the codec.

mod expected;
mod liberties;
mod parts;
mod vector;

use bgp_wire::{
    Message, UpdateMessage, decode, encode_attributes, encode_end_of_rib, encode_keepalive,
    encode_notification, encode_open, encode_route_refresh, pack_reach, pack_unreach,
};

use liberties::Liberty;
use vector::Vector;

#[test]
fn every_message_means_what_was_meant() {
    for_all(|vector| {
        let decoded = decode(&vector.octets, &vector.decode_context());
        let expected = Ok(expected::message(vector));
        if decoded == expected {
            Ok(())
        } else {
            Err(format!("decoded  {decoded:?}\nexpected {expected:?}"))
        }
    });
}

#[test]
fn every_message_is_written_as_others_write_it() {
    for_all(|vector| {
        let message =
            decode(&vector.octets, &vector.decode_context()).map_err(|it| it.to_string())?;
        let encoded = encode(&message, vector);
        let same = encoded == vector.octets;
        let holds = match liberties::taken(vector) {
            None => same,
            // One that is not taken has no place in the list.
            Some(Liberty::Arrangement(_)) => {
                !same && parts::of(&encoded) == parts::of(&vector.octets)
            }
            Some(Liberty::Form(_)) => {
                let again = decode(&encoded, &vector.decode_context());
                !same && again == Ok(without_faults(message))
            }
        };
        if holds {
            Ok(())
        } else {
            let liberty = liberties::taken(vector);
            Err(format!(
                "{liberty:?}\nours   {}\ntheirs {}",
                hex(&encoded),
                hex(&vector.octets)
            ))
        }
    });
}

/// What is discarded is not sent again.
fn without_faults(message: Message) -> Message {
    match message {
        Message::Update(update) => Message::Update(UpdateMessage {
            faults: Vec::new(),
            ..update
        }),
        other => other,
    }
}

/// Reports all vectors that do not pass, not only the first.
fn for_all(check: impl Fn(&Vector) -> Result<(), String>) {
    let failures: Vec<String> = vector::all()
        .iter()
        .filter_map(|vector| {
            check(vector)
                .err()
                .map(|error| format!("{vector}\n{error}\n"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Everything that weft sends has been seen from at least one other implementation.
#[test]
fn every_kind_of_message_has_a_vector() {
    let vectors = vector::all();
    for (daemon, least) in [
        ("bird", 25),
        ("frr", 25),
        ("gobgp", 25),
        ("openbgpd", 20),
        ("exabgp", 8),
    ] {
        let count = vectors
            .iter()
            .filter(|vector| vector.daemon == daemon)
            .count();
        assert!(count >= least, "{count} vectors of {daemon}");
    }
    for title in [
        "open",
        "keepalive",
        "announce-originated",
        "announce-v6-originated",
        "announce-all-attributes",
        "announce-set-and-reflected",
        "announce-many-communities",
        "announce-rare-attributes",
        "announce-only-to-customer",
        "withdraw-all-attributes",
        "withdraw-v6",
        "end-of-rib",
        "end-of-rib-afi-2",
        "refresh-afi-1",
        "begin-of-refresh-afi-1",
        "end-of-refresh-afi-1",
        "notification-6-2",
        "notification-6-4",
    ] {
        assert!(
            vectors.iter().any(|vector| vector.title == title),
            "{title}"
        );
    }
}

fn encode(message: &Message, vector: &Vector) -> Vec<u8> {
    match message {
        Message::Open(open) => encode_open(open).into(),
        Message::Update(update) => encode_update(update, vector),
        Message::Notification(notification) => encode_notification(notification).into(),
        Message::Keepalive => encode_keepalive().into(),
        Message::RouteRefresh(refresh) => encode_route_refresh(refresh).into(),
    }
}

fn encode_update(update: &UpdateMessage, vector: &Vector) -> Vec<u8> {
    let context = vector.encode_context();
    let mut out = Vec::new();
    let mut append = |octets: bytes::Bytes| out.extend_from_slice(&octets);
    for unreach in &update.unreach {
        pack_unreach(unreach.family, &unreach.nlri, &context, &mut append).expect("a known family");
    }
    for reach in &update.reach {
        let attributes = update.attributes.as_ref().expect("there are routes");
        let block = encode_attributes(attributes, &context);
        pack_reach(
            reach.family,
            &reach.next_hop,
            &block,
            &reach.nlri,
            &context,
            &mut append,
        )
        .expect("what fits into one message");
    }
    if let Some(family) = update.end_of_rib {
        append(encode_end_of_rib(family));
    }
    out
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
