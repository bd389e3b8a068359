//! One slow peer costs the others nothing, and gets everything in the end.

use super::*;

const WINDOW: usize = 20_000;

fn bench() -> Bench {
    Bench::with(
        ShardSettings {
            send_window: WINDOW,
            ..shard_settings()
        },
        false,
    )
}

/// Announces so much, each with attributes of its own, that no window takes it.
fn flood(bench: &mut Bench, source: PeerId, family: Family, round: u32) {
    for number in 0..2000 {
        bench.announce(
            source,
            prefix(family, number),
            path(&[65001, 100_000 + round, 200_000 + number]),
        );
    }
}

#[test]
fn a_peer_that_takes_nothing_does_not_hold_the_others() {
    for family in FAMILIES {
        let mut bench = bench();
        let source = bench.up(ebgp(1));
        let slow = bench.up(ebgp(2));
        let fast = bench.up(ebgp(3));
        bench.settle();
        bench.stalled.insert(slow);
        for round in 0..10 {
            flood(&mut bench, source, family, round);
            let before = bench.now;
            bench.settle();
            assert_eq!(bench.learned[&fast].len(), 2000);
            assert!(bench.now - before <= std::time::Duration::from_millis(10));
        }
        // What waits for it is bounded: its window, and one batch on top.
        assert!(bench.outstanding[&slow] >= WINDOW);
        assert!(bench.outstanding[&slow] < 20 * WINDOW);
        let group = bench
            .shard
            .groups()
            .into_iter()
            .find(|group| group.key.family == family);
        assert_eq!(group.expect("a group").lagging, [slow]);
        assert!(
            bench
                .shard
                .peer_counts(slow)
                .families
                .iter()
                .any(|(_, counts)| counts.pending > 0)
        );

        bench.retract(source, prefix(family, 3));
        bench.settle();
        bench.stalled.clear();
        bench.settle();
        assert_eq!(bench.learned[&slow], bench.learned[&fast]);
        assert_eq!(bench.learned[&slow].len(), 1999);
        assert!(
            bench
                .shard
                .groups()
                .iter()
                .all(|group| group.lagging.is_empty())
        );
    }
}

#[test]
fn a_peer_that_stalls_during_its_initial_dump_gets_the_rest_later_and_only_then_the_end() {
    for family in FAMILIES {
        let mut bench = bench();
        let source = bench.up(ebgp(1));
        let fast = bench.up(ebgp(2));
        flood(&mut bench, source, family, 0);
        bench.settle();
        let slow = PeerId(3);
        bench.stalled.insert(slow);
        bench.up(ebgp(3));
        bench.settle();
        assert!(bench.learned[&slow].len() < 2000 || bench.outstanding[&slow] >= WINDOW);
        // Two more join and are not held up by it.
        let late = bench.up(ebgp(4));
        bench.settle();
        assert_eq!(bench.learned[&late], bench.learned[&fast]);
        assert!(bench.complete.contains(&(late, family)));

        flood(&mut bench, source, family, 1);
        bench.settle();
        bench.stalled.clear();
        bench.settle();
        assert_eq!(bench.learned[&slow], bench.learned[&fast]);
        assert!(bench.complete.contains(&(slow, family)));
    }
}

#[test]
fn when_all_wait_changes_coalesce() {
    for family in FAMILIES {
        let mut bench = bench();
        let source = bench.up(ebgp(1));
        let only = bench.up(ibgp(2));
        bench.settle();
        bench.stalled.insert(only);
        for round in 0..20 {
            flood(&mut bench, source, family, round);
            bench.settle();
        }
        let held = bench.outstanding[&only];
        assert!(held < 20 * WINDOW, "{held} octets wait");
        bench.stalled.clear();
        bench.settle();
        assert_eq!(bench.learned[&only].len(), 2000);
        let learned = bench.learned(only, prefix(family, 5)).expect("announced");
        assert_eq!(
            learned.attributes,
            internal(100, &[65001, 100_019, 200_005])
        );
    }
}

#[test]
fn late_credit_of_an_old_session_does_not_widen_the_window_of_the_new_one() {
    for family in FAMILIES {
        let mut bench = bench();
        let source = bench.up(ebgp(1));
        let slow = bench.up(ebgp(2));
        bench.stalled.insert(slow);
        bench.settle();
        let old = bench.epoch(slow);
        bench.up(ebgp(2));
        flood(&mut bench, source, family, 0);
        bench.settle();
        let outstanding = bench.outstanding[&slow];
        assert!(outstanding >= WINDOW);

        bench.handle(RibEvent::Sent {
            peer: slow,
            epoch: old,
            bytes: outstanding,
        });
        bench.settle();
        assert_eq!(bench.outstanding[&slow], outstanding);
        assert_eq!(bench.shard.peer_counts(slow).outstanding, outstanding);
    }
}

#[test]
fn a_prefix_that_went_while_a_peer_lagged_is_withdrawn_though_its_slot_is_wanted_again() {
    for family in FAMILIES {
        let mut bench = bench();
        let source = bench.up(ebgp(1));
        let slow = bench.up(ebgp(2));
        let fast = bench.up(ebgp(3));
        bench.announce(source, prefix(family, 9999), path(&[65001]));
        bench.settle();
        bench.stalled.insert(slow);
        flood(&mut bench, source, family, 0);
        bench.settle();
        bench.retract(source, prefix(family, 9999));
        bench.settle();
        for number in 5000..5100 {
            bench.announce(source, prefix(family, number), path(&[65001]));
        }
        bench.settle();
        bench.stalled.clear();
        bench.settle();
        assert!(bench.learned(slow, prefix(family, 9999)).is_none());
        assert_eq!(bench.learned[&slow], bench.learned[&fast]);
    }
}

#[test]
fn a_lagging_peer_that_changes_policy_ends_up_right() {
    for family in FAMILIES {
        let mut bench = bench();
        let source = bench.up(ebgp(1));
        let slow = bench.up(ebgp(2));
        let fast = bench.up(ebgp(3));
        bench.settle();
        bench.stalled.insert(slow);
        flood(&mut bench, source, family, 0);
        bench.settle();
        bench.policies(slow, Policy::accept_all(), Policy::reject_all());
        bench.settle();
        flood(&mut bench, source, family, 1);
        bench.settle();
        bench.stalled.clear();
        bench.settle();
        assert!(bench.learned[&slow].is_empty());
        bench.policies(slow, Policy::accept_all(), Policy::accept_all());
        bench.settle();
        assert_eq!(bench.learned[&slow], bench.learned[&fast]);
        assert_eq!(bench.shard.totals().groups, FAMILIES.len() as u64);
    }
}
