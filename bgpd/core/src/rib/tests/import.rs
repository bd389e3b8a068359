//! Loop checks and import policy, in each family.

use super::*;
use crate::policy::{Condition, Edit, PrefixRule, PrefixSet, Term, Verdict};

/// Announces one route and tells what became of it.
fn verdict(mut bench: Bench, peer: RibPeer, family: Family, attributes: Attributes) -> PathState {
    let prefix = prefix(family, 1);
    let peer = bench.up(peer);
    bench.announce(peer, prefix, attributes);
    bench.settle();
    let state = bench.shard.explain(prefix).paths[0].state.clone();
    assert_eq!(bench.kernel.contains_key(&prefix), state == PathState::Best);
    state
}

#[test]
fn an_own_as_in_the_path_is_a_loop_unless_allowed() {
    for family in FAMILIES {
        for peer in [ebgp(1), ibgp(1)] {
            let looped = path(&[65001, LOCAL_ASN.0, 65002]);
            let state = verdict(Bench::new(), peer.clone(), family, looped.clone());
            assert_eq!(state, PathState::Unusable(Unusable::OwnAsLoop));
            let tolerant = RibPeer {
                allow_own_asn: 1,
                ..peer
            };
            assert_eq!(
                verdict(Bench::new(), tolerant.clone(), family, looped),
                PathState::Best
            );
            let twice = path(&[65001, LOCAL_ASN.0, LOCAL_ASN.0]);
            let state = verdict(Bench::new(), tolerant, family, twice);
            assert_eq!(state, PathState::Unusable(Unusable::OwnAsLoop));
        }
    }
}

#[test]
fn a_reflected_own_route_is_not_used() {
    for family in FAMILIES {
        let attributes = Attributes {
            originator_id: Some(OWN_ID),
            ..internal(100, &[])
        };
        let state = verdict(Bench::new(), ibgp(1), family, attributes);
        assert_eq!(state, PathState::Unusable(Unusable::OwnOriginator));
    }
}

#[test]
fn a_route_that_went_through_this_cluster_is_not_used() {
    for family in FAMILIES {
        let attributes = Attributes {
            originator_id: Some(RouterId::from(7)),
            cluster_list: [RouterId::from(8), CLUSTER].into_iter().collect(),
            ..internal(100, &[])
        };
        let state = verdict(Bench::reflector(), client(1), family, attributes.clone());
        assert_eq!(state, PathState::Unusable(Unusable::OwnCluster));
        // Who reflects nothing has no cluster.
        assert_eq!(
            verdict(Bench::new(), ibgp(1), family, attributes),
            PathState::Best
        );
    }
}

#[test]
fn what_only_ibgp_may_send_is_ignored_from_ebgp() {
    for family in FAMILIES {
        let mut bench = Bench::reflector();
        let prefix = prefix(family, 1);
        let one = bench.up(ebgp(1));
        let attributes = Attributes {
            originator_id: Some(OWN_ID),
            cluster_list: [CLUSTER].into_iter().collect(),
            ..internal(7, &[65001])
        };
        bench.announce(one, prefix, attributes);
        bench.settle();
        assert_eq!(bench.kernel[&prefix].local_pref, None);
    }
}

#[test]
fn the_first_as_is_checked_on_demand_only() {
    for family in FAMILIES {
        let strange = path(&[65099, 65001]);
        assert_eq!(
            verdict(Bench::new(), ebgp(1), family, strange.clone()),
            PathState::Best
        );
        let strict = RibPeer {
            enforce_first_asn: true,
            ..ebgp(1)
        };
        let state = verdict(Bench::new(), strict.clone(), family, strange);
        assert_eq!(state, PathState::Unusable(Unusable::FirstAsMismatch));
        assert_eq!(
            verdict(Bench::new(), strict, family, path(&[65001])),
            PathState::Best
        );
    }
}

#[test]
fn a_change_of_import_policy_needs_nothing_from_the_peer() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let [first, second] = [prefix(family, 1), prefix(family, 2)];
        let one = bench.up(ibgp(1));
        let two = bench.up(ebgp(2));
        bench.announce(one, first, internal(100, &[]));
        bench.announce(one, second, internal(100, &[]));
        bench.settle();

        let rejecting = Policy::new(
            vec![Term {
                name: "not the first".to_owned(),
                conditions: vec![Condition::PrefixIn(Arc::new(PrefixSet::new([
                    PrefixRule::exact(first),
                ])))],
                edits: vec![],
                verdict: Verdict::Reject,
            }],
            Verdict::Accept,
        );
        bench.policies(one, rejecting, Policy::accept_all());
        bench.settle();
        assert_eq!(bench.kernel.keys().collect::<Vec<_>>(), [&second]);
        assert!(bench.learned(two, first).is_none());
        let why = &bench.shard.explain(first).paths[0].state;
        let expected = Unusable::DeniedByPolicy("not the first".to_owned());
        assert_eq!(*why, PathState::Unusable(expected));

        bench.policies(one, Policy::accept_all(), Policy::accept_all());
        bench.settle();
        assert_eq!(bench.kernel.len(), 2);
        assert!(bench.learned(two, first).is_some());
    }
}

#[test]
fn import_edits_count_in_the_decision_and_are_undone_with_the_policy() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ibgp(1));
        let two = bench.up(ibgp(2));
        bench.announce(one, prefix, internal(100, &[]));
        bench.announce(two, prefix, internal(150, &[]));
        let prefer = Policy::new(
            vec![Term {
                name: "prefer".to_owned(),
                conditions: vec![],
                edits: vec![Edit::SetLocalPref(200)],
                verdict: Verdict::Accept,
            }],
            Verdict::Reject,
        );
        bench.policies(one, prefer, Policy::accept_all());
        bench.settle();
        assert_eq!(bench.kernel[&prefix].local_pref, Some(200));
        bench.policies(one, Policy::accept_all(), Policy::accept_all());
        bench.settle();
        assert_eq!(bench.kernel[&prefix].local_pref, Some(150));
    }
}

#[test]
fn what_comes_from_an_earlier_life_of_the_session_is_dropped() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ebgp(1));
        let old = bench.epoch(one);
        bench.down(one, &[]);
        bench.up(ebgp(1));
        let reach = Reach {
            family,
            next_hop: hop(prefix, 1),
            nlri: vec![nlri(prefix, 0)],
        };
        let update = UpdateMessage {
            attributes: Some(path(&[65001])),
            reach: vec![reach],
            ..Default::default()
        };
        bench.handle(RibEvent::Update {
            peer: one,
            epoch: old,
            update,
        });
        bench.settle();
        assert!(bench.kernel.is_empty());
    }
}
