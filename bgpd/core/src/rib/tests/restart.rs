//! Graceful restart, on either side, and route refresh.

use bgp_wire::RefreshSubtype;

use super::*;

#[test]
fn a_deferring_node_programs_routes_but_says_nothing_before_the_end() {
    for family in FAMILIES {
        let mut bench = Bench::with(shard_settings(), true);
        let [own, foreign] = [prefix(family, 1), prefix(family, 2)];
        bench.originate(own, Attributes::default());
        let one = bench.up(ebgp(1));
        let two = bench.up(ebgp(2));
        bench.announce(one, foreign, path(&[65001]));
        let epoch = bench.epoch(two);
        bench.handle(RibEvent::Refresh {
            peer: two,
            epoch,
            family,
            subtype: RefreshSubtype::Normal,
        });
        bench.settle();
        assert!(bench.kernel.contains_key(&foreign));
        assert_eq!(bench.take_log(), []);
        assert_eq!(bench.complete, []);
        let result = &bench.shard.explain(own).advertisements[0].result;
        assert_eq!(*result, Err(NotAdvertised::Deferring));

        bench.handle(RibEvent::EndDeferral);
        bench.settle();
        assert_eq!(bench.learned[&one].keys().collect::<Vec<_>>(), [&own]);
        assert_eq!(bench.learned[&two].len(), 2);
        assert_eq!(bench.complete.len(), 2 * FAMILIES.len());
    }
}

#[test]
fn stale_routes_stay_in_use_until_end_of_rib() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let [first, second] = [prefix(family, 1), prefix(family, 2)];
        let one = bench.up(ebgp(1));
        let two = bench.up(ebgp(2));
        bench.announce(one, first, path(&[65001]));
        bench.announce(one, second, path(&[65001]));
        bench.settle();
        bench.take_log();

        bench.down(one, &FAMILIES);
        bench.settle();
        assert_eq!(bench.kernel.len(), 2);
        assert!(bench.shard.explain(first).paths[0].stale);
        bench.up(ebgp(1));
        bench.announce(one, first, path(&[65001]));
        bench.settle();
        assert!(!bench.shard.explain(first).paths[0].stale);
        assert!(bench.shard.explain(second).paths[0].stale);
        assert_eq!(bench.take_log(), [], "nobody else notices");

        let epoch = bench.epoch(one);
        bench.handle(RibEvent::EndOfRib {
            peer: one,
            epoch,
            family,
        });
        bench.settle();
        assert_eq!(bench.kernel.keys().collect::<Vec<_>>(), [&first]);
        assert_eq!(bench.learned[&two].keys().collect::<Vec<_>>(), [&first]);
    }
}

#[test]
fn stale_routes_go_when_the_timer_runs_out() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let one = bench.up(ebgp(1));
        bench.announce(one, prefix(family, 1), path(&[65001]));
        bench.settle();
        bench.down(one, &FAMILIES);
        bench.settle();
        assert_eq!(bench.kernel.len(), 1);
        bench.handle(RibEvent::FlushStale {
            peer: one,
            families: FAMILIES.to_vec(),
        });
        bench.settle();
        assert!(bench.kernel.is_empty());
    }
}

#[test]
fn only_the_families_that_are_kept_stay() {
    for kept in FAMILIES {
        let mut bench = Bench::new();
        let one = bench.up(ebgp(1));
        for family in FAMILIES {
            bench.announce(one, prefix(family, 1), path(&[65001]));
        }
        bench.settle();
        bench.down(one, &[kept]);
        bench.settle();
        assert_eq!(bench.kernel.keys().collect::<Vec<_>>(), [&prefix(kept, 1)]);
    }
}

#[test]
fn a_second_restart_takes_away_what_was_stale() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let [first, second] = [prefix(family, 1), prefix(family, 2)];
        let one = bench.up(ebgp(1));
        bench.announce(one, first, path(&[65001]));
        bench.announce(one, second, path(&[65001]));
        bench.down(one, &FAMILIES);
        bench.up(ebgp(1));
        bench.announce(one, first, path(&[65001]));
        bench.down(one, &FAMILIES);
        bench.settle();
        assert_eq!(bench.kernel.keys().collect::<Vec<_>>(), [&first]);
    }
}

#[test]
fn a_peer_that_comes_back_with_another_identifier_is_judged_by_it() {
    for family in FAMILIES {
        let mut bench = Bench::reflector();
        let prefix = prefix(family, 1);
        let one = bench.up(client(1));
        let two = bench.up(client(2));
        bench.announce(one, prefix, internal(100, &[]));
        bench.settle();
        bench.down(one, &FAMILIES);
        let other = RouterId::from(77);
        bench.up(RibPeer {
            remote_router_id: other,
            ..client(1)
        });
        bench.settle();
        let learned = bench.learned(two, prefix).expect("still reflected");
        assert_eq!(learned.attributes.originator_id, Some(other));
    }
}

#[test]
fn a_removed_peer_leaves_nothing_not_even_stale_routes() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let one = bench.up(ebgp(1));
        bench.announce(one, prefix(family, 1), path(&[65001]));
        bench.settle();
        bench.down(one, &FAMILIES);
        bench.handle(RibEvent::RemovePeer { peer: one });
        bench.settle();
        assert!(bench.kernel.is_empty());
        assert_eq!(bench.shard.totals().attribute_sets, 0);
    }
}

#[test]
fn a_refresh_request_is_answered_with_everything() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let one = bench.up(ebgp(1));
        let two = bench.up(ebgp(2));
        let three = bench.up(RibPeer {
            enhanced_refresh: true,
            ..ebgp(3)
        });
        for number in 0..100 {
            bench.announce(one, prefix(family, number), path(&[65001]));
        }
        bench.settle();
        for peer in [two, three] {
            bench.take_log();
            bench.refresh_marks.clear();
            let before = std::mem::take(bench.learned.get_mut(&peer).expect("up"));
            let epoch = bench.epoch(peer);
            let subtype = RefreshSubtype::Normal;
            bench.handle(RibEvent::Refresh {
                peer,
                epoch,
                family,
                subtype,
            });
            bench.settle();
            assert_eq!(bench.learned[&peer], before);
            let log_length = bench.log.len();
            assert!(
                bench
                    .take_log()
                    .iter()
                    .all(|(receiver, _)| *receiver == peer)
            );
            let marks = std::mem::take(&mut bench.refresh_marks);
            if peer == three {
                // RFC 7313: the marks stand around the answer.
                let expected = [
                    (peer, RefreshSubtype::Begin, 0),
                    (peer, RefreshSubtype::End, log_length),
                ];
                assert_eq!(marks, expected);
            } else {
                assert_eq!(marks, []);
            }
        }
    }
}

#[test]
fn what_a_refresh_leaves_out_is_withdrawn() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let [first, second] = [prefix(family, 1), prefix(family, 2)];
        let one = bench.up(ebgp(1));
        let two = bench.up(ebgp(2));
        bench.announce(one, first, path(&[65001]));
        let epoch = bench.epoch(one);
        let mark = |subtype| RibEvent::Refresh {
            peer: one,
            epoch,
            family,
            subtype,
        };
        bench.handle(mark(RefreshSubtype::Begin));
        bench.announce(one, second, path(&[65001]));
        bench.settle();
        assert_eq!(bench.learned[&two].len(), 2);
        bench.handle(mark(RefreshSubtype::End));
        bench.settle();
        assert_eq!(bench.learned[&two].keys().collect::<Vec<_>>(), [&second]);
        assert_eq!(bench.kernel.keys().collect::<Vec<_>>(), [&second]);
    }
}

#[test]
fn a_refresh_during_a_restart_keeps_stale_routes_until_end_of_rib() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let [first, second] = [prefix(family, 1), prefix(family, 2)];
        let one = bench.up(ebgp(1));
        bench.announce(one, first, path(&[65001]));
        bench.down(one, &FAMILIES);
        bench.up(ebgp(1));
        let epoch = bench.epoch(one);
        for subtype in [RefreshSubtype::Begin, RefreshSubtype::End] {
            bench.handle(RibEvent::Refresh {
                peer: one,
                epoch,
                family,
                subtype,
            });
        }
        bench.announce(one, second, path(&[65001]));
        bench.settle();
        assert_eq!(bench.kernel.len(), 2);
        bench.handle(RibEvent::EndOfRib {
            peer: one,
            epoch,
            family,
        });
        bench.settle();
        assert_eq!(bench.kernel.keys().collect::<Vec<_>>(), [&second]);
    }
}
