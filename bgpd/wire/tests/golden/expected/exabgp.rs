//! UPDATEs of ExaBGP, which forwards nothing and has routes of its own: `ExaBgp` in `capture/daemons.py`.

use bgp_wire::{
    Aggregator, AsPath, Asn, AttributeFault, Attributes, Community, ExtendedCommunity, Family,
    FaultAction, FaultReason, LargeCommunity, NextHop, Nlri, Origin, Reach, RouterId, SessionType,
    UnknownAttribute, Unreach, UpdateMessage, attribute_code as code,
};

use crate::vector::{Peer, Vector};

pub(super) fn update(vector: &Vector) -> UpdateMessage {
    let (verb, subject) = vector
        .title
        .split_once('-')
        .expect("what is done, and with what");
    let prefix = match subject {
        "originated" => "172.16.0.0/16",
        "incomplete" => "10.1.0.0/16",
        "set-and-reflected" => "10.2.0.0/16",
        "many-communities" => "10.3.0.0/16",
        "v6-originated" => "2001:db8:16::/48",
        subject => panic!("{subject} is nothing that ExaBGP announces"),
    };
    let nlri = vec![Nlri {
        path_id: if vector.peer == Peer::AddPath { 7 } else { 0 },
        prefix: prefix.parse().expect("a prefix"),
    }];
    let family = Family::of(&nlri[0].prefix);
    if verb == "withdraw" {
        // That of IPv6 comes with attributes, which mean nothing there.
        return UpdateMessage {
            unreach: vec![Unreach { family, nlri }],
            ..UpdateMessage::default()
        };
    }
    let next_hop = match family {
        Family::IPV4_UNICAST => NextHop::V4([192, 0, 2, 1].into()),
        _ => NextHop::from(
            "2001:db8::1"
                .parse::<std::net::IpAddr>()
                .expect("an address"),
        ),
    };
    UpdateMessage {
        attributes: Some(attributes(subject, vector.session())),
        reach: vec![Reach {
            family,
            next_hop,
            nlri,
        }],
        faults: faults(subject, vector.session()),
        ..UpdateMessage::default()
    }
}

fn attributes(subject: &str, session: SessionType) -> Attributes {
    let mut attributes = Attributes::default();
    if session == SessionType::External {
        attributes.as_path.prepend(Asn(65001), 1);
    } else {
        attributes.local_pref = Some(100);
    }
    let community = |number| Community::new(65001, number);
    match subject {
        "incomplete" => {
            attributes.origin = Origin::Incomplete;
            attributes.as_path = AsPath::sequence([Asn(65010), Asn(4_200_000_001)]); // as it was told
            attributes.med = Some(50);
            attributes.atomic_aggregate = true;
            attributes.aggregator = Some(Aggregator {
                asn: Asn(4_200_000_001),
                address: [198, 51, 100, 1].into(),
            });
            attributes.communities = [1, 2].map(community).into_iter().collect();
            attributes.extended_communities = [
                ExtendedCommunity::route_target(Asn(65001), 100),
                ExtendedCommunity([0, 3, 0xfd, 0xe9, 0, 0, 0, 7]),
            ]
            .into_iter()
            .collect();
            attributes.large_communities = [LargeCommunity::new(65001, 1, 2)].into_iter().collect();
        }
        "set-and-reflected" => {
            if session == SessionType::Internal {
                attributes.originator_id = Some(RouterId::from([10, 9, 9, 9]));
                attributes.cluster_list = [[10, 9, 9, 8], [10, 9, 9, 7]]
                    .map(RouterId::from)
                    .into_iter()
                    .collect();
                attributes.aigp = Some(1000);
            }
            attributes.unknown.push(UnknownAttribute {
                flags: 0xe0,
                code: 200,
                value: [1, 2].into(),
            });
        }
        "many-communities" => attributes.communities = (1..=70).map(community).collect(),
        "v6-originated" => {
            attributes.origin = Origin::Egp;
            attributes.communities = [community(1)].into_iter().collect();
        }
        _ => {}
    }
    attributes
}

/// It sends what it was told to, also to a peer in another AS, where RFC 7606 (7.9, 7.10) has it discarded.
fn faults(subject: &str, session: SessionType) -> Vec<AttributeFault> {
    if subject != "set-and-reflected" || session == SessionType::Internal {
        return Vec::new();
    }
    [code::ORIGINATOR_ID, code::CLUSTER_LIST]
        .map(|code| AttributeFault {
            code,
            action: FaultAction::Discard,
            reason: FaultReason::FromExternalPeer,
        })
        .into()
}
