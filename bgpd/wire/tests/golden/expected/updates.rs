//! UPDATEs: which routes, with which next hop.

use bgp_wire::{
    AttributeFault, Family, FaultAction, FaultReason, NextHop, Nlri, PathId, Reach, Unreach,
    UpdateMessage, attribute_code as code,
};

use crate::vector::{Peer, Vector};

use super::attributes::attributes;

pub(super) fn update(vector: &Vector) -> UpdateMessage {
    let title = vector.title.trim_end_matches("-2");
    let (verb, subject) = title.split_once('-').expect("what is done, and with what");
    let mut update = UpdateMessage::default();
    match verb {
        "announce" => {
            let nlri = routes(subject, vector, announced(subject, vector));
            let family = Family::of(&nlri[0].prefix);
            update.attributes = Some(attributes(subject, vector));
            update.reach.push(Reach {
                family,
                next_hop: next_hop(subject, vector, family),
                nlri,
            });
        }
        "withdraw" => {
            let nlri = routes(subject, vector, withdrawn(subject, vector));
            update.unreach.push(Unreach {
                family: Family::of(&nlri[0].prefix),
                nlri,
            });
        }
        verb => panic!("{vector}: {verb}"),
    }
    // GoBGP gives AIGP to peers in other ASes too, which no one may believe (RFC 7311 section 3.4).
    if vector.daemon == "gobgp"
        && title == "announce-rare-attributes"
        && vector.peer != Peer::Client
    {
        update.faults.push(AttributeFault {
            code: code::AIGP,
            action: FaultAction::Discard,
            reason: FaultReason::FromExternalPeer,
        });
    }
    update
}

/// Prefixes that are announced with the same attributes, in the order of their announcement.
fn announced(subject: &str, vector: &Vector) -> Vec<&'static str> {
    let alone = vector.daemon == "gobgp"; // which packs nothing when it has time
    match subject {
        "originated" => vec!["172.16.0.0/16"],
        "v6-originated" => vec!["2001:db8:16::/48"],
        "all-attributes" if alone && vector.title.ends_with("-2") => vec!["203.0.113.128/25"],
        "all-attributes" if alone => vec!["198.51.100.0/24"],
        "all-attributes" => vec!["198.51.100.0/24", "203.0.113.128/25"],
        "incomplete" if alone => vec!["10.1.0.0/16"],
        "incomplete" => vec!["10.1.0.0/16", "0.0.0.0/0"],
        "set-and-reflected" => vec!["10.2.0.0/16"],
        "many-communities" => vec!["10.3.0.1/32"],
        "rare-attributes" => vec!["10.4.0.0/16"],
        "only-to-customer" => vec!["10.5.0.0/16"],
        "v6" if alone => vec!["2001:db8:100::/48"],
        "v6" => vec!["2001:db8:100::/48", "::/0"],
        subject => panic!("{subject} is nothing that the source announces"),
    }
}

/// The source withdraws all IPv4 routes at once.
fn withdrawn(subject: &str, vector: &Vector) -> Vec<&'static str> {
    if vector.daemon == "gobgp" || subject == "v6" {
        return announced(subject, vector);
    }
    assert_eq!(subject, "all-attributes", "the first of them");
    vec![
        "198.51.100.0/24",
        "203.0.113.128/25",
        "10.1.0.0/16",
        "0.0.0.0/0",
        "10.2.0.0/16",
        "10.3.0.1/32",
        "10.4.0.0/16",
        "10.5.0.0/16",
    ]
}

fn routes(subject: &str, vector: &Vector, prefixes: Vec<&str>) -> Vec<Nlri> {
    let identify = |(position, prefix): (usize, &str)| Nlri {
        path_id: path_id(subject, vector, position),
        prefix: prefix.parse().expect("a prefix"),
    };
    let mut routes: Vec<Nlri> = prefixes.into_iter().enumerate().map(identify).collect();
    if vector.daemon == "openbgpd" {
        routes.sort_by_key(|route| route.prefix);
    }
    routes
}

/// Whatever each implementation takes for its path identifiers.
fn path_id(subject: &str, vector: &Vector, position: usize) -> PathId {
    if vector.peer != Peer::AddPath {
        return 0;
    }
    let own = subject.ends_with("originated");
    let nth = position as PathId;
    match vector.daemon.as_str() {
        // The number of the protocol that the route is from.
        "bird" if own => 3,
        "bird" => 10,
        // A running number for each family.
        "frr" if own => 2,
        "frr" => 3 + nth,
        "gobgp" => 1,
        // Random, by peer.
        "openbgpd" if own => 0xec98_2968,
        "openbgpd" => 0x2339_c468,
        daemon => panic!("path identifiers of {daemon}"),
    }
}

fn next_hop(subject: &str, vector: &Vector, family: Family) -> NextHop {
    let own = subject.ends_with("originated");
    let on_link = |last: u16| std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last);
    let v6 = |last, link_local: Option<&str>| NextHop::V6 {
        global: on_link(last),
        link_local: link_local.map(|address| address.parse().expect("an address")),
    };
    const LINK_LOCAL: Option<&str> = Some("fe80::ff:fe00:1");
    match (family, vector.daemon.as_str(), vector.peer) {
        // IPv6 next hops of IPv4 routes.
        (Family::IPV4_UNICAST, "frr", Peer::V6Session) => v6(1, LINK_LOCAL),
        (Family::IPV4_UNICAST, "gobgp", Peer::V6Session) => v6(1, None),
        (Family::IPV4_UNICAST, "bird", Peer::V6Session) if own => v6(1, LINK_LOCAL),
        // The source is on the same link, so that its address is kept (RFC 4271 section 5.1.3). GoBGP does not.
        (Family::IPV4_UNICAST, "gobgp", peer) if peer != Peer::Client => {
            NextHop::V4([192, 0, 2, 1].into())
        }
        (Family::IPV4_UNICAST, ..) => NextHop::V4([192, 0, 2, if own { 1 } else { 15 }].into()),
        (_, "gobgp", peer) if own || peer != Peer::Client => v6(1, None),
        // To a peer on the link go both addresses (RFC 2545 section 3).
        (_, "bird", Peer::Client) if own => v6(1, None),
        (_, "bird" | "frr", _) if own => v6(1, LINK_LOCAL),
        (_, "frr", Peer::V6Session) => v6(0x15, LINK_LOCAL),
        (_, "frr", peer) if peer != Peer::Client => v6(1, LINK_LOCAL),
        _ => v6(0x15, None),
    }
}
