//! What goes out and how it looks, in each family.

use bgp_wire::Community;

use super::*;
use crate::policy::{Condition, Edit, SourceMatch, Term, Verdict};

const OTHER: Community = Community::new(65001, 7);

fn communities(of: &[Community]) -> Attributes {
    Attributes {
        communities: of.iter().copied().collect(),
        ..path(&[65001])
    }
}

fn one_term(conditions: Vec<Condition>, edits: Vec<Edit>, verdict: Verdict) -> Policy {
    let term = Term {
        name: "the term".to_owned(),
        conditions,
        edits,
        verdict,
    };
    Policy::new(vec![term], Verdict::Accept)
}

#[test]
fn ebgp_gets_own_as_own_next_hop_and_nothing_internal() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ibgp(1));
        let two = bench.up(ebgp(2));
        let attributes = Attributes {
            med: Some(5),
            originator_id: Some(RouterId::from(9)),
            cluster_list: [RouterId::from(8)].into_iter().collect(),
            ..internal(200, &[65007])
        };
        bench.announce(one, prefix, attributes);
        bench.settle();
        let learned = bench.learned(two, prefix).expect("announced");
        assert_eq!(learned.attributes, path(&[LOCAL_ASN.0, 65007]));
        assert_eq!(learned.next_hop, own_hop(prefix));
    }
}

#[test]
fn ibgp_gets_an_external_route_unchanged_but_for_local_pref() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ebgp(1));
        let two = bench.up(ibgp(2));
        let attributes = Attributes {
            med: Some(5),
            ..path(&[65001, 65007])
        };
        bench.announce(one, prefix, attributes.clone());
        bench.settle();
        let learned = bench.learned(two, prefix).expect("announced");
        assert_eq!(
            learned.attributes,
            Attributes {
                local_pref: Some(100),
                ..attributes
            }
        );
        assert_eq!(learned.next_hop, hop(prefix, 1));
    }
}

#[test]
fn own_routes_go_out_with_the_sessions_own_end_as_next_hop() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let internal_peer = bench.up(ibgp(1));
        let external_peer = bench.up(ebgp(2));
        bench.originate(
            prefix,
            Attributes {
                med: Some(3),
                ..Attributes::default()
            },
        );
        bench.settle();
        let to_ibgp = bench.learned(internal_peer, prefix).expect("announced");
        assert_eq!(
            to_ibgp.attributes,
            Attributes {
                med: Some(3),
                ..internal(100, &[])
            }
        );
        assert_eq!(to_ibgp.next_hop, own_hop(prefix));
        let to_ebgp = bench.learned(external_peer, prefix).expect("announced");
        assert_eq!(
            to_ebgp.attributes,
            Attributes {
                med: Some(3),
                ..path(&[LOCAL_ASN.0])
            }
        );
        assert_eq!(to_ebgp.next_hop, own_hop(prefix));
    }
}

#[test]
fn an_own_route_can_name_another_next_hop_for_ibgp() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ibgp(1));
        let address = attributes::gateway(hop(prefix, 77));
        bench.handle(RibEvent::Originate(vec![Origination {
            prefix,
            attributes: Attributes::default(),
            next_hop: Some(address),
        }]));
        bench.settle();
        assert_eq!(
            bench.learned(one, prefix).expect("announced").next_hop,
            hop(prefix, 77)
        );
    }
}

#[test]
fn the_next_hop_mode_decides() {
    for family in FAMILIES {
        let prefix = prefix(family, 1);
        let via = hop(prefix, 1);
        let own = own_hop(prefix);
        for (mode, session, expected) in [
            (NextHopMode::Auto, ebgp(2), own),
            (NextHopMode::Auto, ibgp(2), via),
            (NextHopMode::ToSelf, ebgp(2), own),
            (NextHopMode::ToSelf, ibgp(2), own),
            (NextHopMode::Keep, ebgp(2), via),
            (NextHopMode::Keep, ibgp(2), via),
        ] {
            let mut bench = Bench::new();
            let one = bench.up(ebgp(1));
            let two = bench.up(RibPeer {
                next_hop: mode,
                ..session
            });
            bench.announce(one, prefix, path(&[65001]));
            bench.settle();
            assert_eq!(
                bench.learned(two, prefix).expect("announced").next_hop,
                expected
            );
        }
    }
}

#[test]
fn a_session_without_an_own_address_of_the_family_gets_no_route_that_needs_one() {
    let mut bench = Bench::new();
    let prefix = prefix(Family::IPV6_UNICAST, 1);
    let one = bench.up(RibPeer {
        local_next_hops: LocalNextHops::default(),
        ..ebgp(1)
    });
    bench.originate(prefix, Attributes::default());
    bench.settle();
    assert!(bench.learned(one, prefix).is_none());
    let explanation = bench.shard.explain(prefix);
    assert_eq!(
        explanation.advertisements[0].result,
        Err(NotAdvertised::NoOwnNextHop)
    );
}

#[test]
fn a_route_never_goes_back_to_where_it_came_from() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ebgp(1));
        let two = bench.up(ebgp(2));
        let three = bench.up(ebgp(3));
        assert_eq!(bench.shard.groups().len(), 2, "one group for each family");
        bench.announce(one, prefix, path(&[65001, 65010]));
        bench.settle();
        assert_eq!(receivers(&bench, prefix), [two, three]);
        // The best path moves: two must lose what it had, one must get it.
        bench.announce(two, prefix, path(&[65002]));
        bench.settle();
        assert_eq!(receivers(&bench, prefix), [one, three]);
        bench.retract(two, prefix);
        bench.settle();
        assert_eq!(receivers(&bench, prefix), [two, three]);
    }
}

#[test]
fn a_route_that_only_changes_its_source_moves_between_the_two_peers_alone() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let [one, two, three] = [1, 2, 3].map(|number| bench.up(ebgp(number)));
        bench.announce_via(one, prefix, path(&[65001]), hop(prefix, 9));
        bench.announce_via(two, prefix, path(&[65001]), hop(prefix, 9));
        bench.settle();
        assert_eq!(receivers(&bench, prefix), [two, three]);
        bench.take_log();
        bench.retract(one, prefix);
        bench.settle();
        assert_eq!(receivers(&bench, prefix), [one, three]);
        assert!(bench.take_log().iter().all(|(peer, _)| *peer != three));
    }
}

#[test]
fn ibgp_routes_do_not_go_to_ibgp_without_reflection() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ibgp(1));
        // The flag means nothing on a node that is no reflector.
        let two = bench.up(client(2));
        bench.announce(one, prefix, internal(100, &[]));
        bench.settle();
        assert!(bench.learned(two, prefix).is_none());
        let result = &bench.shard.explain(prefix).advertisements[1].result;
        assert_eq!(*result, Err(NotAdvertised::NotReflected));
    }
}

#[test]
fn a_reflector_passes_on_between_clients_and_others_as_rfc_4456_says() {
    for family in FAMILIES {
        let prefix = prefix(family, 1);
        // Source, and who gets it: two clients, two others, one eBGP peer.
        for (source, expected) in [
            (
                PeerId(1),
                [PeerId(2), PeerId(3), PeerId(4), PeerId(5)].as_slice(),
            ),
            (PeerId(3), [PeerId(1), PeerId(2), PeerId(5)].as_slice()),
            (
                PeerId(5),
                [PeerId(1), PeerId(2), PeerId(3), PeerId(4)].as_slice(),
            ),
        ] {
            let mut bench = Bench::reflector();
            for peer in [client(1), client(2), ibgp(3), ibgp(4), ebgp(5)] {
                bench.up(peer);
            }
            bench.announce(source, prefix, path(&[65005]));
            bench.settle();
            assert_eq!(receivers(&bench, prefix), expected);
            bench.retract(source, prefix);
            bench.settle();
            assert!(receivers(&bench, prefix).is_empty());
        }
    }
}

#[test]
fn reflection_marks_the_route_and_leaves_its_next_hop() {
    for family in FAMILIES {
        let mut bench = Bench::reflector();
        let prefix = prefix(family, 1);
        let one = bench.up(client(1));
        let two = bench.up(RibPeer {
            next_hop: NextHopMode::ToSelf,
            ..client(2)
        });
        bench.announce(one, prefix, internal(100, &[]));
        bench.settle();
        let learned = bench.learned(two, prefix).expect("reflected");
        let expected = Attributes {
            originator_id: Some(ibgp(1).remote_router_id),
            cluster_list: [CLUSTER].into_iter().collect(),
            ..internal(100, &[])
        };
        assert_eq!(learned.attributes, expected);
        assert_eq!(learned.next_hop, hop(prefix, 1));

        // A route that was reflected before keeps its originator.
        let reflected = Attributes {
            originator_id: Some(RouterId::from(9)),
            cluster_list: [RouterId::from(8)].into_iter().collect(),
            ..internal(100, &[])
        };
        bench.announce(one, prefix, reflected.clone());
        bench.settle();
        let learned = bench.learned(two, prefix).expect("reflected");
        let expected = Attributes {
            cluster_list: [CLUSTER, RouterId::from(8)].into_iter().collect(),
            ..reflected
        };
        assert_eq!(learned.attributes, expected);
    }
}

#[test]
fn a_route_is_not_reflected_to_where_it_started() {
    for family in FAMILIES {
        let mut bench = Bench::reflector();
        let prefix = prefix(family, 1);
        let origin = bench.up(client(1));
        let other_reflector = bench.up(client(2));
        let third = bench.up(client(3));
        let attributes = Attributes {
            originator_id: Some(client(1).remote_router_id),
            cluster_list: [RouterId::from(8)].into_iter().collect(),
            ..internal(100, &[])
        };
        bench.announce(other_reflector, prefix, attributes);
        bench.settle();
        assert_eq!(receivers(&bench, prefix), [third]);
        let result = &bench.shard.explain(prefix).advertisements[0].result;
        assert_eq!(*result, Err(NotAdvertised::Originator));
        // The route comes directly too, and this path is preferred: shorter CLUSTER_LIST, same router id.
        bench.announce(origin, prefix, internal(100, &[]));
        bench.settle();
        assert_eq!(receivers(&bench, prefix), [other_reflector, third]);
    }
}

#[test]
fn well_known_communities_are_honoured() {
    for family in FAMILIES {
        let prefix = prefix(family, 1);
        for (community, expected) in [
            (Community::NO_ADVERTISE, [].as_slice()),
            (Community::NO_EXPORT, [PeerId(2)].as_slice()),
            (Community::NO_EXPORT_SUBCONFED, [PeerId(2)].as_slice()),
            (OTHER, [PeerId(2), PeerId(3)].as_slice()),
        ] {
            let mut bench = Bench::new();
            let one = bench.up(ebgp(1));
            bench.up(ibgp(2));
            bench.up(ebgp(3));
            // Announced without first: the community has to take the route back.
            bench.announce(one, prefix, path(&[65001]));
            bench.settle();
            bench.announce(one, prefix, communities(&[community]));
            bench.settle();
            assert_eq!(receivers(&bench, prefix), expected);
            assert!(bench.kernel.contains_key(&prefix));
        }
    }
}

#[test]
fn a_change_that_export_filters_out_sends_nothing() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ebgp(1));
        let strip = one_term(vec![], vec![Edit::SetCommunities(vec![])], Verdict::Accept);
        let two = bench.up(RibPeer {
            export: Arc::new(strip),
            ..ebgp(2)
        });
        bench.announce(one, prefix, communities(&[OTHER]));
        bench.settle();
        assert!(bench.learned(two, prefix).is_some());
        bench.take_log();
        bench.announce(one, prefix, communities(&[]));
        bench.settle();
        assert_eq!(bench.take_log(), []);
    }
}

#[test]
fn a_next_hop_change_alone_is_announced() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ebgp(1));
        let two = bench.up(ibgp(2));
        bench.announce_via(one, prefix, path(&[65001]), hop(prefix, 1));
        bench.settle();
        bench.announce_via(one, prefix, path(&[65001]), hop(prefix, 2));
        bench.settle();
        assert_eq!(
            bench.learned(two, prefix).expect("announced").next_hop,
            hop(prefix, 2)
        );
    }
}

#[test]
fn a_prefix_that_flips_back_within_a_flush_sends_nothing() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ebgp(1));
        bench.up(ebgp(2));
        bench.announce(one, prefix, path(&[65001]));
        bench.settle();
        bench.take_log();
        bench.retract(one, prefix);
        bench.announce(one, prefix, path(&[65001, 65009]));
        bench.announce(one, prefix, path(&[65001]));
        bench.settle();
        assert_eq!(bench.take_log(), []);
    }
}

#[test]
fn routes_with_the_same_attributes_share_messages_and_so_do_withdrawals() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let one = bench.up(ebgp(1));
        let two = bench.up(ebgp(2));
        for number in 0..2000 {
            bench.announce_via(
                one,
                prefix(family, number),
                path(&[65001]),
                hop(prefix(family, 0), 1),
            );
        }
        bench.settle();
        // 2000 IPv4 /24 take 8,000 octets, IPv6 /64 18,000.
        let most = if family == Family::IPV4_UNICAST { 2 } else { 5 };
        assert_eq!(bench.learned[&two].len(), 2000);
        assert_eq!(bench.take_log().len(), most);
        bench.down(one, &[]);
        bench.settle();
        assert!(bench.learned[&two].is_empty());
        assert_eq!(bench.take_log().len(), most);
    }
}

#[test]
fn a_route_that_no_longer_fits_into_a_message_is_withdrawn_and_counted() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ebgp(1));
        let two = bench.up(ebgp(2));
        bench.announce(one, prefix, path(&[65001]));
        bench.settle();
        assert!(bench.learned(two, prefix).is_some());
        let many: Vec<_> = (0..1100).map(|low| Community::new(65001, low)).collect();
        bench.announce(one, prefix, communities(&many));
        bench.settle();
        assert!(bench.learned(two, prefix).is_none());
        assert!(bench.shard.totals().too_large > 0);
        let result = &bench.shard.explain(prefix).advertisements[1].result;
        assert_eq!(*result, Err(NotAdvertised::TooLarge));
        bench.announce(one, prefix, communities(&[OTHER]));
        bench.settle();
        assert!(bench.learned(two, prefix).is_some());
    }
}

#[test]
fn export_policy_edits_come_before_what_the_session_type_asks_for() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ebgp(1));
        let edits = vec![
            Edit::SetMed(Some(42)),
            Edit::PrependAsPath(vec![Asn(65100), Asn(65101)]),
            Edit::AddCommunity(OTHER),
        ];
        let export = Arc::new(one_term(vec![], edits, Verdict::Accept));
        let two = bench.up(RibPeer { export, ..ebgp(2) });
        bench.announce(
            one,
            prefix,
            Attributes {
                med: Some(1),
                ..path(&[65001])
            },
        );
        bench.settle();
        let expected = Attributes {
            med: Some(42),
            communities: [OTHER].into_iter().collect(),
            ..path(&[LOCAL_ASN.0, 65100, 65101, 65001])
        };
        assert_eq!(
            bench.learned(two, prefix).expect("announced").attributes,
            expected
        );
    }
}

#[test]
fn a_tighter_export_policy_withdraws_and_a_looser_one_announces() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let [own, foreign] = [prefix(family, 1), prefix(family, 2)];
        let one = bench.up(ebgp(1));
        let two = bench.up(ebgp(2));
        bench.originate(own, Attributes::default());
        bench.announce(one, foreign, path(&[65001]));
        bench.settle();
        let local_only = || {
            one_term(
                vec![Condition::Source(SourceMatch::Peers)],
                vec![],
                Verdict::Reject,
            )
        };
        bench.policies(two, Policy::accept_all(), local_only());
        bench.settle();
        assert_eq!(bench.learned[&two].keys().collect::<Vec<_>>(), [&own]);
        let result = &bench.shard.explain(foreign).advertisements[1].result;
        assert_eq!(
            *result,
            Err(NotAdvertised::DeniedByPolicy("the term".to_owned()))
        );
        bench.policies(two, Policy::accept_all(), Policy::accept_all());
        bench.settle();
        assert_eq!(bench.learned[&two].len(), 2);
        // Saying the same again says nothing.
        bench.take_log();
        bench.policies(two, Policy::accept_all(), Policy::accept_all());
        bench.settle();
        assert_eq!(bench.take_log(), []);
    }
}

/// Who has the prefix from us.
pub(super) fn receivers(bench: &Bench, prefix: IpNet) -> Vec<PeerId> {
    bench
        .learned
        .iter()
        .filter(|(_, routes)| routes.contains_key(&prefix))
        .map(|(peer, _)| *peer)
        .collect()
}
