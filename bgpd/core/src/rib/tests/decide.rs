//! Loc-RIB and the kernel, in each family.

use super::*;

#[test]
fn the_best_path_goes_to_the_kernel_and_a_better_one_replaces_it() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ebgp(1));
        let two = bench.up(ebgp(2));
        bench.announce(one, prefix, path(&[65001, 65010, 65011]));
        bench.settle();
        assert_eq!(gateways(&bench, prefix), [address(hop(prefix, 1))]);
        bench.announce(two, prefix, path(&[65002, 65011]));
        bench.settle();
        assert_eq!(gateways(&bench, prefix), [address(hop(prefix, 2))]);
        bench.retract(two, prefix);
        bench.settle();
        assert_eq!(gateways(&bench, prefix), [address(hop(prefix, 1))]);
        bench.retract(one, prefix);
        bench.settle();
        assert!(bench.kernel.is_empty());
    }
}

#[test]
fn a_lost_session_takes_its_routes_along_everywhere() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let one = bench.up(ebgp(1));
        let two = bench.up(ebgp(2));
        for number in 0..100 {
            bench.announce(one, prefix(family, number), path(&[65001]));
        }
        bench.settle();
        assert_eq!(bench.learned[&two].len(), 100);
        assert_eq!(bench.kernel.len(), 100);
        bench.down(one, &[]);
        bench.settle();
        assert!(bench.learned[&two].is_empty());
        assert!(bench.kernel.is_empty());
        assert_eq!(bench.shard.totals().prefixes, 0);
        assert_eq!(bench.shard.totals().attribute_sets, 0);
    }
}

#[test]
fn equal_paths_share_the_load_up_to_the_limit() {
    for family in FAMILIES {
        let settings = ShardSettings {
            multipath: 2,
            ..shard_settings()
        };
        let mut bench = Bench::with(settings, false);
        let prefix = prefix(family, 1);
        for number in [3, 1, 2] {
            let peer = bench.up(ebgp(number));
            bench.announce(peer, prefix, path(&[65000 + u32::from(number), 65020]));
        }
        bench.settle();
        let expected = [address(hop(prefix, 1)), address(hop(prefix, 2))];
        assert_eq!(gateways(&bench, prefix), expected);
        assert_eq!(bench.kernel[&prefix].source, SessionType::External);
    }
}

#[test]
fn ibgp_and_ebgp_paths_do_not_share() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let internal_peer = bench.up(ibgp(1));
        let external_peer = bench.up(ebgp(2));
        bench.announce(internal_peer, prefix, internal(100, &[65002]));
        bench.announce(external_peer, prefix, path(&[65002]));
        bench.settle();
        assert_eq!(gateways(&bench, prefix), [address(hop(prefix, 2))]);
    }
}

#[test]
fn the_same_gateway_from_two_reflectors_counts_once() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        for number in [1, 2] {
            let peer = bench.up(ibgp(number));
            bench.announce_via(peer, prefix, internal(100, &[]), hop(prefix, 9));
        }
        bench.settle();
        assert_eq!(gateways(&bench, prefix), [address(hop(prefix, 9))]);
        assert_eq!(bench.kernel[&prefix].local_pref, Some(100));
    }
}

#[test]
fn an_own_route_wins_and_is_never_sent_to_the_kernel() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ibgp(1));
        bench.announce(one, prefix, internal(100, &[]));
        bench.settle();
        assert!(bench.kernel.contains_key(&prefix));
        bench.originate(prefix, Attributes::default());
        bench.settle();
        assert!(!bench.kernel.contains_key(&prefix));
        assert!(bench.learned(one, prefix).is_some());
        bench.handle(RibEvent::Withdraw(vec![prefix]));
        bench.settle();
        assert!(bench.kernel.contains_key(&prefix));
        assert!(bench.learned(one, prefix).is_none());
    }
}

#[test]
fn an_unreachable_next_hop_takes_the_route_away_everywhere() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ebgp(1));
        let two = bench.up(ebgp(2));
        bench.announce(one, prefix, path(&[65001]));
        bench.settle();
        let address = address(hop(prefix, 1));
        bench.handle(RibEvent::NextHopChanged {
            address,
            state: NextHopState::Unreachable,
        });
        bench.settle();
        assert!(bench.kernel.is_empty());
        assert!(bench.learned(two, prefix).is_none());
        let state = NextHopState::Reachable { cost: 3 };
        bench.handle(RibEvent::NextHopChanged { address, state });
        bench.settle();
        assert!(bench.kernel.contains_key(&prefix));
        assert!(bench.learned(two, prefix).is_some());
    }
}

#[test]
fn the_nearer_next_hop_wins() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        for number in [1, 2] {
            let peer = bench.up(ibgp(number));
            bench.announce(peer, prefix, internal(100, &[]));
        }
        let state = NextHopState::Reachable { cost: 10 };
        bench.handle(RibEvent::NextHopChanged {
            address: address(hop(prefix, 1)),
            state,
        });
        bench.settle();
        assert_eq!(gateways(&bench, prefix), [address(hop(prefix, 2))]);
    }
}

#[test]
fn a_route_through_this_node_itself_is_not_used() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ibgp(1));
        bench.announce_via(one, prefix, internal(100, &[]), own_hop(prefix));
        bench.settle();
        assert!(bench.kernel.is_empty());
    }
}

#[test]
fn watchers_hear_of_each_change_of_the_best_path_and_of_nothing_else() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ebgp(1));
        let two = bench.up(ebgp(2));
        bench.announce(one, prefix, path(&[65001]));
        bench.settle();
        assert!(bench.best_changed.remove(&prefix));
        bench.announce(two, prefix, path(&[65002, 65003]));
        bench.announce(one, prefix, path(&[65001]));
        bench.settle();
        assert!(bench.best_changed.is_empty());
        bench.retract(one, prefix);
        bench.settle();
        assert!(bench.best_changed.remove(&prefix));
    }
}

#[test]
fn each_path_identifier_is_a_path_of_its_own() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(ibgp(1));
        bench.announce_path(one, prefix, 1, internal(100, &[]), hop(prefix, 1));
        bench.announce_path(one, prefix, 2, internal(200, &[]), hop(prefix, 2));
        bench.settle();
        assert_eq!(gateways(&bench, prefix), [address(hop(prefix, 2))]);
        bench.retract_path(one, prefix, 2);
        bench.settle();
        assert_eq!(gateways(&bench, prefix), [address(hop(prefix, 1))]);
    }
}

fn gateways(bench: &Bench, prefix: IpNet) -> Vec<IpAddr> {
    bench.kernel[&prefix]
        .next_hops
        .iter()
        .map(|next_hop| next_hop.address)
        .collect()
}

fn address(next_hop: NextHop) -> IpAddr {
    attributes::gateway(next_hop)
}
