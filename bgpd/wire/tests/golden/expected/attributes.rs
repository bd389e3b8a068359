//! Attributes: what the source announces, and what becomes of it on the way.

use bgp_wire::{
    Aggregator, AsPath, Asn, Attributes, Community, ExtendedCommunity, Ipv6ExtendedCommunity,
    LargeCommunity, Origin, RouterId, SegmentKind, SessionType, UnknownAttribute,
    attribute_code as code,
};

use crate::vector::{Peer, Vector};

pub(super) fn attributes(subject: &str, vector: &Vector) -> Attributes {
    let mut attributes = match subject {
        "originated" | "v6-originated" => originated(vector),
        _ => announced_by_source(subject),
    };
    match vector.session() {
        SessionType::External => to_external(&mut attributes),
        SessionType::Internal => reflect(&mut attributes, subject, vector),
    }
    apply_habits(&mut attributes, subject, vector);
    attributes
}

fn originated(vector: &Vector) -> Attributes {
    Attributes {
        origin: if vector.daemon == "gobgp" {
            Origin::Incomplete
        } else {
            Origin::Igp
        },
        local_pref: Some(100),
        ..Attributes::default()
    }
}

/// `routes` of `capture/capture.py`.
fn announced_by_source(subject: &str) -> Attributes {
    let path = AsPath::sequence([Asn(65010), Asn(4_200_000_001)]);
    let two = [Community::new(65001, 1), Community::new(65001, 2)];
    let mut attributes = Attributes {
        as_path: path,
        local_pref: Some(200),
        ..Attributes::default()
    };
    match subject {
        "all-attributes" => {
            attributes.med = Some(50);
            attributes.atomic_aggregate = true;
            attributes.aggregator = Some(Aggregator {
                asn: Asn(4_200_000_001),
                address: [198, 51, 100, 1].into(),
            });
            attributes.communities = two.into_iter().collect();
            attributes.extended_communities = [
                ExtendedCommunity::route_target(Asn(65001), 100),
                ExtendedCommunity([0, 3, 0xfd, 0xe9, 0, 0, 0, 7]),
            ]
            .into_iter()
            .collect();
            attributes.large_communities = [LargeCommunity::new(65001, 1, 2)].into_iter().collect();
        }
        "incomplete" => {
            attributes.origin = Origin::Incomplete;
            attributes.as_path = AsPath::new();
        }
        "set-and-reflected" => {
            attributes.origin = Origin::Egp;
            attributes.as_path = AsPath::sequence([Asn(65010)]);
            attributes
                .as_path
                .push_segment(SegmentKind::Set, &[Asn(65020), Asn(65021)]);
            attributes.originator_id = Some(RouterId::from([10, 9, 9, 9]));
            attributes.cluster_list = [[10, 9, 9, 8], [10, 9, 9, 7]]
                .map(RouterId::from)
                .into_iter()
                .collect();
        }
        "many-communities" => {
            attributes.communities = (1..=70)
                .map(|number| Community::new(65001, number))
                .collect();
        }
        "rare-attributes" => {
            let mut octets = [0; 20];
            octets[..6].copy_from_slice(&[0, 2, 0x20, 0x01, 0x0d, 0xb8]);
            octets[17..].copy_from_slice(&[1, 0, 100]);
            attributes.ipv6_extended_communities =
                [Ipv6ExtendedCommunity(octets)].into_iter().collect();
            attributes.aigp = Some(1000);
            attributes.unknown.push(UnknownAttribute {
                flags: 0xe0, // unknown to us, too
                code: 200,
                value: [1, 2].into(),
            });
        }
        "only-to-customer" => attributes.otc = Some(Asn(65010)),
        "v6" => {
            attributes.origin = Origin::Egp;
            attributes.communities = two.into_iter().collect();
        }
        subject => panic!("{subject} is nothing that the source announces"),
    }
    attributes
}

/// RFC 4271 section 5.1.
fn to_external(attributes: &mut Attributes) {
    attributes.as_path.prepend(Asn(65001), 1);
    attributes.med = None;
    attributes.local_pref = None;
    attributes.originator_id = None;
    attributes.cluster_list.clear();
    attributes.aigp = None;
}

/// RFC 4456 section 8.
fn reflect(attributes: &mut Attributes, subject: &str, vector: &Vector) {
    if subject.ends_with("originated") && vector.daemon != "gobgp" {
        return; // GoBGP reflects its own routes as well
    }
    let originator = match subject {
        "originated" | "v6-originated" => [192, 0, 2, 1],
        _ => [10, 255, 0, 15],
    };
    attributes
        .originator_id
        .get_or_insert_with(|| originator.into());
    attributes
        .cluster_list
        .prepend(RouterId::from([192, 0, 2, 1]));
}

/// What implementations do by themselves.
fn apply_habits(attributes: &mut Attributes, subject: &str, vector: &Vector) {
    let own = subject.ends_with("originated");
    match vector.daemon.as_str() {
        "frr" => {
            // A metric of 0 where there is none; to other ASes for its own routes only.
            if own || vector.peer == Peer::Client && subject != "set-and-reflected" {
                attributes.med.get_or_insert(0);
            }
            // A provider marks what it sends to a customer (RFC 9234 section 5).
            if vector.peer == Peer::External {
                attributes.otc.get_or_insert(Asn(65001));
            }
            // Does not know them, and drops them.
            attributes.ipv6_extended_communities.clear();
            attributes.aigp = None;
        }
        "openbgpd" => {
            // Knows neither, but passes on what is transitive.
            attributes.aigp = None;
            mark_partial(attributes);
        }
        "bird" => mark_partial(attributes),
        _ => {}
    }
}

/// It went through an implementation that does not know IPV6_EXTENDED_COMMUNITIES.
fn mark_partial(attributes: &mut Attributes) {
    if !attributes.ipv6_extended_communities.is_empty() {
        attributes.partial = [code::IPV6_EXTENDED_COMMUNITIES].into_iter().collect();
    }
}
