//! Bytes of any kind, and messages with something wrong in them.

use bgp_wire::{
    DecodeContext, EncodeContext, Family, FamilySet, Framer, Message, SessionType, UpdateMessage,
    decode, encode_attributes, encode_end_of_rib, encode_notification, encode_route_refresh,
    pack_reach, pack_unreach,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::generate;

proptest! {
    #![proptest_config(many())]

    #[test]
    fn any_bytes_decode_or_are_refused(octets in vec(any::<u8>(), 0..300), context in context()) {
        check(&octets, &context)?;
    }

    #[test]
    fn any_body_decodes_or_is_refused(
        kind in 0u8..7,
        body in vec(any::<u8>(), 0..300),
        context in context(),
    ) {
        check(&frame(kind, &body), &context)?;
    }

    /// Attributes with true heads and any value: deeper than random bytes ever get.
    #[test]
    fn any_attributes_decode_or_are_refused(
        attributes in vec((select(FLAGS), 0u8..45, vec(any::<u8>(), 0..40)), 0..6),
        routes in vec(any::<u8>(), 0..12),
        context in context(),
    ) {
        let mut list = Vec::new();
        for (flags, code, value) in attributes {
            list.extend([flags, code, value.len() as u8]);
            list.extend(value);
        }
        let body = [&[0, 0][..], &(list.len() as u16).to_be_bytes(), &list, &routes].concat();
        check(&frame(2, &body), &context)?;
    }

    #[test]
    fn a_damaged_message_decodes_or_is_refused(
        original in message(),
        damage in vec(damage(), 1..5),
        context in context(),
    ) {
        let mut octets = original;
        for each in damage {
            each.apply(&mut octets);
        }
        check(&octets, &context)?;
        // With a length that is right again, the damage gets past the header.
        if octets.len() >= 19 && octets.len() <= 4096 {
            octets[..16].fill(0xff);
            let length = (octets.len() as u16).to_be_bytes();
            octets[16..18].copy_from_slice(&length);
            check(&octets, &context)?;
        }
    }

    /// However a stream is cut, the same messages come out, and nothing that was not put in.
    #[test]
    fn a_stream_is_framed_alike_however_it_is_cut(
        messages in vec(message(), 0..5),
        rest in vec(any::<u8>(), 0..30),
        cuts in vec(1usize..100, 1..50),
    ) {
        let stream = [messages.concat(), rest].concat();
        let (mut framer, mut frames, mut refusal) = (Framer::new(), Vec::new(), None);
        let (mut at, mut cuts) = (0, cuts.into_iter().cycle());
        while at < stream.len() {
            let end = stream.len().min(at + cuts.next().expect("it never ends"));
            framer.push(&stream[at..end]);
            at = end;
            loop {
                match framer.next_frame() {
                    Ok(Some(frame)) => frames.push(frame.to_vec()),
                    Ok(None) => break,
                    Err(error) => {
                        refusal = Some(error);
                        break;
                    }
                }
            }
        }
        prop_assert!(frames.len() >= messages.len());
        prop_assert_eq!(&frames[..messages.len()], &messages[..]);
        prop_assert!(stream.starts_with(&frames.concat()));
        let mut whole = Framer::new();
        whole.push(&stream);
        for frame in &frames {
            let next = whole.next_frame();
            prop_assert_eq!(next.as_ref().map(|it| it.as_deref()), Ok(Some(&frame[..])));
        }
        prop_assert_eq!(whole.next_frame().err(), refusal);
    }
}

/// Some thousands of cases; more with `PROPTEST_CASES`.
fn many() -> ProptestConfig {
    ProptestConfig::with_cases(ProptestConfig::default().cases.max(2000))
}

/// Decodes without a panic, keeps what an `UpdateMessage` promises, and understands its own writing of the result.
fn check(octets: &[u8], context: &DecodeContext) -> Result<(), TestCaseError> {
    let Ok(message) = decode(octets, context) else {
        return Ok(());
    };
    let again = match &message {
        Message::Open(open) => {
            // Names and lists are shown somewhere.
            let shown: String = open.capabilities.iter().map(ToString::to_string).collect();
            prop_assert_eq!(shown.is_empty(), open.capabilities.is_empty());
            return Ok(());
        }
        Message::Keepalive => return Ok(()),
        Message::Update(update) => return check_update(update, context),
        Message::Notification(notification) => {
            prop_assert!(!notification.to_string().is_empty());
            encode_notification(notification)
        }
        Message::RouteRefresh(refresh) => encode_route_refresh(refresh),
    };
    if again.len() < 4096 {
        prop_assert_eq!(decode(&again, context), Ok(message));
    }
    Ok(())
}

fn check_update(update: &UpdateMessage, context: &DecodeContext) -> Result<(), TestCaseError> {
    prop_assert_eq!(update.attributes.is_some(), !update.reach.is_empty());
    prop_assert!(update.reach.iter().all(|reach| !reach.nlri.is_empty()));
    prop_assert!(
        update
            .unreach
            .iter()
            .all(|unreach| !unreach.nlri.is_empty())
    );
    if let Some(family) = update.end_of_rib {
        prop_assert!(update.reach.is_empty() && update.unreach.is_empty());
        prop_assert_eq!(&decode_update(&encode_end_of_rib(family), context)?, update);
    }
    let encode = EncodeContext {
        four_octet_asn: context.four_octet_asn,
        extended_messages: context.extended_messages,
        add_path_send: context.add_path_receive.clone(),
        extended_next_hop: context.extended_next_hop.clone(),
    };
    for unreach in &update.unreach {
        let mut frames = Vec::new();
        pack_unreach(unreach.family, &unreach.nlri, &encode, &mut |frame| {
            frames.push(frame)
        })
        .expect("what was decoded can be written");
        prop_assert_eq!(frames.len(), 1);
        prop_assert_eq!(&decode_update(&frames[0], context)?.unreach[0], unreach);
    }
    for reach in &update.reach {
        let attributes = update.attributes.as_ref().expect("there are routes");
        let block = encode_attributes(attributes, &encode);
        let mut frames = Vec::new();
        pack_reach(
            reach.family,
            &reach.next_hop,
            &block,
            &reach.nlri,
            &encode,
            &mut |frame| frames.push(frame),
        )
        .expect("what was decoded can be written");
        for frame in frames {
            let again = decode_update(&frame, context)?;
            prop_assert_eq!(again.faults, vec![]);
            prop_assert_eq!(again.attributes.as_ref(), Some(attributes));
            prop_assert_eq!(again.reach[0].next_hop, reach.next_hop);
        }
    }
    Ok(())
}

fn decode_update(frame: &[u8], context: &DecodeContext) -> Result<UpdateMessage, TestCaseError> {
    match decode(frame, context) {
        Ok(Message::Update(update)) => Ok(update),
        other => Err(TestCaseError::fail(format!("{other:?}"))),
    }
}

/// A message that is right.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let update = (generate::attributes(), generate::routes()).prop_map(
        |(attributes, (family, next_hop, nlri))| {
            let encode = EncodeContext {
                four_octet_asn: true,
                extended_next_hop: FamilySet::from([Family::IPV4_UNICAST]),
                ..EncodeContext::default()
            };
            let block = encode_attributes(&attributes, &encode);
            let mut first = None;
            pack_reach(family, &next_hop, &block, &nlri, &encode, &mut |frame| {
                first.get_or_insert(frame);
            })
            .expect("there is room for a route");
            first.expect("at least one route").to_vec()
        },
    );
    prop_oneof![
        generate::open().prop_map(|open| bgp_wire::encode_open(&open).to_vec()),
        update,
        generate::notification().prop_map(|it| encode_notification(&it).to_vec()),
        generate::refresh().prop_map(|it| encode_route_refresh(&it).to_vec()),
    ]
}

#[derive(Clone, Debug)]
enum Damage {
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Truncate(Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    // Values that lengths and types like to have.
    let octet = prop_oneof![
        any::<u8>(),
        select(vec![0u8, 1, 2, 4, 14, 15, 32, 64, 128, 129, 192, 255])
    ];
    prop_oneof![
        4 => (any::<Index>(), octet).prop_map(|(at, octet)| Damage::Set(at, octet)),
        1 => (any::<Index>(), vec(any::<u8>(), 1..8)).prop_map(|(at, octets)| Damage::Insert(at, octets)),
        1 => (any::<Index>(), 1usize..8).prop_map(|(at, count)| Damage::Remove(at, count)),
        1 => any::<Index>().prop_map(Damage::Truncate),
    ]
}

impl Damage {
    fn apply(self, octets: &mut Vec<u8>) {
        if octets.is_empty() {
            return;
        }
        let length = octets.len();
        match self {
            Self::Set(at, octet) => octets[at.index(length)] = octet,
            Self::Insert(at, inserted) => {
                let at = at.index(length);
                octets.splice(at..at, inserted);
            }
            Self::Remove(at, count) => {
                let at = at.index(length);
                octets.drain(at..length.min(at + count));
            }
            Self::Truncate(at) => octets.truncate(at.index(length)),
        }
    }
}

fn context() -> impl Strategy<Value = DecodeContext> {
    let both = FamilySet::from([Family::IPV4_UNICAST, Family::IPV6_UNICAST]);
    let set = || {
        let both = both.clone();
        any::<bool>().prop_map(move |on| if on { both.clone() } else { FamilySet::new() })
    };
    (
        generate::session(),
        any::<bool>(),
        any::<bool>(),
        set(),
        set(),
        set(),
    )
        .prop_map(
            |(
                session,
                four_octet_asn,
                extended_messages,
                families,
                add_path_receive,
                extended_next_hop,
            )| {
                DecodeContext {
                    // Confederation segments, which iBGP may carry, do not survive AS4_PATH (RFC 6793 section 3).
                    session: if four_octet_asn {
                        session
                    } else {
                        SessionType::External
                    },
                    four_octet_asn,
                    extended_messages,
                    families,
                    add_path_receive,
                    extended_next_hop,
                }
            },
        )
}

fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (19 + body.len()) as u16;
    [&[0xff; 16][..], &length.to_be_bytes(), &[kind], body].concat()
}

const FLAGS: &[u8] = &[0x40, 0x80, 0xc0, 0xe0, 0x00, 0x50];
