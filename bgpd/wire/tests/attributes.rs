//! Attributes that meet each other: two- and four-octet forms of the same thing, and the order in which all are written.

use bgp_wire::{
    AsPath, Asn, Attributes, DecodeContext, EncodeContext, Family, Message, NextHop, RouterId,
    SegmentKind, SessionType, UnknownAttribute, attribute_code as code, decode, encode_attributes,
    pack_reach,
};

/// RFC 6793 section 4.2.3: whoever made the AGGREGATOR anew did not know of the other two.
#[test]
fn four_octet_attributes_behind_a_newer_aggregator_are_stale() {
    let as4 = [
        &[0xc0, 17, 6, 2, 1, 0, 1, 0x11, 0x70][..],
        &[0xc0, 18, 8, 0, 1, 0x11, 0x70, 192, 0, 2, 9],
    ]
    .concat();
    let with_aggregator = |asn: u16| {
        let [high, low] = asn.to_be_bytes();
        received(&[&[0xc0, 7, 6, high, low, 192, 0, 2, 1][..], &as4].concat())
    };
    let trans = with_aggregator(23456);
    assert_eq!(trans.as_path, AsPath::sequence([Asn(65002), Asn(70_000)]));
    assert_eq!(trans.aggregator.map(|it| it.asn), Some(Asn(70_000)));
    let newer = with_aggregator(65009);
    assert_eq!(newer.as_path, AsPath::sequence([Asn(65002), Asn(23456)]));
    assert_eq!(newer.aggregator.map(|it| it.asn), Some(Asn(65009)));
}

/// They dissolve, and nothing of them stays that would make equal routes unequal.
#[test]
fn the_partial_bit_of_as4_path_and_as4_aggregator_is_gone_with_them() {
    let with_flags = |flags| {
        received(&[
            0xc0, 7, 6, 0x5b, 0xa0, 192, 0, 2, 1, flags, 17, 6, 2, 1, 0, 1, 0x11, 0x70, flags, 18,
            8, 0, 1, 0x11, 0x70, 192, 0, 2, 9,
        ])
    };
    assert_eq!(with_flags(0xe0), with_flags(0xc0));
    let communities = received(&[0xe0, 8, 4, 0xfd, 0xea, 0, 1]);
    assert!(communities.partial.contains(code::COMMUNITIES));
}

#[test]
fn unknown_attributes_are_sorted_whatever_their_order() {
    let one = received(&[0xc0, 201, 1, 7, 0xc0, 11, 0, 0xc0, 200, 1, 9]);
    let other = received(&[0xc0, 11, 0, 0xc0, 200, 1, 9, 0xc0, 201, 1, 7]);
    assert_eq!(one, other);
}

/// RFC 4271 section 5: in ascending order of the type code, the unknown ones included.
#[test]
fn attributes_are_written_by_ascending_code() {
    let unknown = [11, 19, 24, 30, 39, 255].map(|code| UnknownAttribute {
        flags: 0xe0,
        code,
        value: [code].into(),
    });
    let attributes = Attributes {
        as_path: AsPath::sequence([Asn(70_000)]),
        med: Some(1),
        local_pref: Some(100),
        atomic_aggregate: true,
        originator_id: Some(RouterId::from(1)),
        cluster_list: [RouterId::from(2)].into_iter().collect(),
        aigp: Some(3),
        otc: Some(Asn(4)),
        unknown: unknown.into(),
        ..Attributes::default()
    };
    let expected = [1, 2, 3, 4, 5, 6, 9, 10, 11, 17, 19, 24, 26, 30, 35, 39, 255];
    assert_eq!(
        written(&attributes)
            .iter()
            .map(|it| it.0)
            .collect::<Vec<_>>(),
        expected
    );
}

/// RFC 6793 section 3.
#[test]
fn as4_path_is_written_without_confederation_segments() {
    let mut as_path = AsPath::new();
    as_path.push_segment(SegmentKind::ConfedSequence, &[Asn(65100)]);
    as_path.push_segment(SegmentKind::Sequence, &[Asn(70_000)]);
    let written = written(&Attributes {
        as_path,
        ..Attributes::default()
    });
    let value = |code| {
        &written
            .iter()
            .find(|it| it.0 == code)
            .expect("it is written")
            .1[..]
    };
    assert_eq!(value(code::AS_PATH), [3, 1, 0xfe, 0x4c, 2, 1, 0x5b, 0xa0]);
    assert_eq!(value(code::AS4_PATH), [2, 1, 0, 1, 0x11, 0x70]);
}

/// What a peer with two-octet AS numbers sends: ORIGIN, an AS_PATH of 65002 and AS_TRANS, NEXT_HOP, then these.
fn received(attributes: &[u8]) -> Attributes {
    let common = [
        0x40, 1, 1, 0, 0x40, 2, 6, 2, 2, 0xfd, 0xea, 0x5b, 0xa0, 0x40, 3, 4, 192, 0, 2, 1,
    ];
    let list = [&common[..], attributes].concat();
    let length = (19 + 4 + list.len() + 1) as u16;
    let frame = [
        &[0xff; 16][..],
        &length.to_be_bytes(),
        &[2, 0, 0],
        &(list.len() as u16).to_be_bytes(),
        &list,
        &[0],
    ]
    .concat();
    let context = DecodeContext {
        session: SessionType::External,
        families: [Family::IPV4_UNICAST].into(),
        ..DecodeContext::default()
    };
    match decode(&frame, &context) {
        Ok(Message::Update(update)) => update.attributes.expect("there is a route"),
        other => panic!("{other:?}"),
    }
}

/// What a peer with two-octet AS numbers is sent: code and value of each attribute, none of which is long.
fn written(attributes: &Attributes) -> Vec<(u8, Vec<u8>)> {
    let context = EncodeContext::default();
    let block = encode_attributes(attributes, &context);
    let next_hop = NextHop::V4([192, 0, 2, 1].into());
    let route = "0.0.0.0/0"
        .parse::<ipnet::IpNet>()
        .expect("a prefix")
        .into();
    let mut frames = Vec::new();
    pack_reach(
        Family::IPV4_UNICAST,
        &next_hop,
        &block,
        &[route],
        &context,
        &mut |frame| frames.push(frame),
    )
    .expect("it fits");
    let mut list = &frames[0][23..frames[0].len() - 1];
    let mut written = Vec::new();
    while let [_flags, code, length, rest @ ..] = list {
        let (value, behind) = rest.split_at(usize::from(*length));
        written.push((*code, value.to_vec()));
        list = behind;
    }
    written
}
