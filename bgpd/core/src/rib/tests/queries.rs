//! Listings, explanations and counts.

use super::*;

fn query(table: RouteTable) -> RouteQuery {
    RouteQuery {
        table,
        family: None,
        prefix: PrefixFilter::All,
    }
}

#[test]
fn listings_go_through_all_families_in_pages() {
    let mut bench = Bench::new();
    let one = bench.up(ebgp(1));
    let two = bench.up(ebgp(2));
    let mut expected = Vec::new();
    for family in FAMILIES {
        for number in (0..25).rev() {
            bench.announce(one, prefix(family, number), path(&[65001]));
            expected.push(prefix(family, number));
        }
    }
    expected.sort();
    bench.settle();
    for table in [
        RouteTable::LocRib,
        RouteTable::AdjIn(one),
        RouteTable::AdjOut(two),
    ] {
        for limit in [1, 7, 1000] {
            let mut listed = Vec::new();
            let mut after = None;
            loop {
                let page = bench.shard.routes(&query(table), after, limit);
                assert!(page.len() <= limit);
                let Some(last) = page.last() else { break };
                after = Some(last.prefix);
                listed.extend(page.iter().map(|route| route.prefix));
            }
            assert_eq!(listed, expected);
        }
    }
    for empty in [
        RouteTable::AdjIn(two),
        RouteTable::AdjOut(one),
        RouteTable::AdjIn(PeerId(9)),
    ] {
        assert_eq!(bench.shard.routes(&query(empty), None, 10), []);
    }
    for family in FAMILIES {
        let only = RouteQuery {
            family: Some(family),
            ..query(RouteTable::LocRib)
        };
        assert_eq!(bench.shard.routes(&only, None, 1000).len(), 25);
    }
}

#[test]
fn prefix_filters_find_what_they_say() {
    for (texts, inner) in [
        (
            ["10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "11.0.0.0/8"],
            "10.1.2.0/25",
        ),
        (
            [
                "2001:db8::/32",
                "2001:db8:1::/48",
                "2001:db8:1:2::/64",
                "2001:db9::/32",
            ],
            "2001:db8:1:2::/80",
        ),
    ] {
        let [wide, middle, narrow, other] =
            texts.map(|text| text.parse::<IpNet>().expect("a prefix"));
        let inner: IpNet = inner.parse().expect("a prefix");
        let mut bench = Bench::new();
        for prefix in [wide, middle, narrow, other] {
            bench.originate(prefix, Attributes::default());
        }
        bench.settle();
        let find = |filter| {
            let query = RouteQuery {
                prefix: filter,
                ..query(RouteTable::LocRib)
            };
            let routes = bench.shard.routes(&query, None, 10);
            routes
                .into_iter()
                .map(|route| route.prefix)
                .collect::<Vec<_>>()
        };
        assert_eq!(find(PrefixFilter::Exact(middle)), [middle]);
        assert_eq!(find(PrefixFilter::Exact(inner)), []);
        assert_eq!(find(PrefixFilter::Within(middle)), [middle, narrow]);
        assert_eq!(find(PrefixFilter::Covering(inner)), [wide, middle, narrow]);
        assert_eq!(find(PrefixFilter::Covering(middle)), [wide, middle]);
        assert_eq!(bench.shard.longest_match(inner), Some(narrow));
        assert_eq!(bench.shard.longest_match(other), Some(other));
    }
}

#[test]
fn adj_rib_in_shows_what_came_and_adj_rib_out_what_went() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(RibPeer {
            import: Arc::new(Policy::reject_all()),
            ..ebgp(1)
        });
        let two = bench.up(ebgp(2));
        let three = bench.up(ebgp(3));
        bench.announce(one, prefix, path(&[65001]));
        bench.announce(two, prefix, path(&[65002]));
        bench.settle();
        let routes = bench.shard.routes(&query(RouteTable::AdjIn(one)), None, 10);
        assert_eq!(routes[0].paths[0].attributes, path(&[65001]));
        assert_eq!(
            routes[0].paths[0].state,
            PathState::Unusable(Unusable::DeniedByPolicy("default".to_owned())),
        );
        let routes = bench
            .shard
            .routes(&query(RouteTable::AdjOut(three)), None, 10);
        assert_eq!(routes[0].paths[0].attributes, path(&[LOCAL_ASN.0, 65002]));
        assert_eq!(routes[0].paths[0].next_hop, Some(own_hop(prefix)));
        assert_eq!(routes[0].paths[0].peer, Some(two));
    }
}

#[test]
fn an_explanation_ranks_all_paths_and_names_every_peer() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let peers = [1, 2, 3, 4, 5].map(|number| bench.up(ebgp(number)));
        let lonely = bench.up(RibPeer {
            families: vec![],
            ..ebgp(9)
        });
        bench.announce(peers[0], prefix, path(&[65001, LOCAL_ASN.0]));
        bench.announce(peers[1], prefix, path(&[65002, 65010, 65011]));
        bench.announce(peers[2], prefix, path(&[65003, 65010]));
        bench.announce(peers[3], prefix, path(&[65004, 65010]));
        bench.settle();
        let explanation = bench.shard.explain(prefix);
        let story: Vec<_> = explanation
            .paths
            .iter()
            .map(|path| (path.peer, path.state.clone()))
            .collect();
        assert_eq!(
            story,
            [
                (Some(peers[2]), PathState::Best),
                (Some(peers[3]), PathState::Multipath(Step::RouterId)),
                (Some(peers[1]), PathState::Lost(Step::AsPathLength)),
                (Some(peers[0]), PathState::Unusable(Unusable::OwnAsLoop)),
            ],
        );
        assert_eq!(explanation.fib.as_ref(), bench.kernel.get(&prefix));
        let told: Vec<_> = explanation
            .advertisements
            .iter()
            .map(|told| (told.peer, told.result.as_ref().err().cloned()))
            .collect();
        assert_eq!(
            told,
            [
                (peers[0], None),
                (peers[1], None),
                (peers[2], Some(NotAdvertised::SplitHorizon)),
                (peers[3], None),
                (peers[4], None),
                (lonely, Some(NotAdvertised::FamilyNotNegotiated)),
            ],
        );
        let unknown = bench.shard.explain(super::prefix(family, 2));
        assert_eq!(unknown.paths, []);
        assert_eq!(
            unknown.advertisements[0].result,
            Err(NotAdvertised::NoBestPath)
        );
    }
}

#[test]
fn counts_follow_the_routes() {
    for (number, family) in FAMILIES.into_iter().enumerate() {
        let mut bench = Bench::new();
        let one = bench.up(ebgp(1));
        let two = bench.up(ebgp(2));
        for number in 0..10 {
            bench.announce(one, prefix(family, number), path(&[65001]));
        }
        bench.announce(one, prefix(family, 10), path(&[65001, LOCAL_ASN.0]));
        bench.announce(two, prefix(family, 0), path(&[65002, 65003]));
        bench.settle();
        let counts = |bench: &Bench, peer| bench.shard.peer_counts(peer).families[number].1;
        let of_one = FamilyCounts {
            received: 11,
            accepted: 10,
            best: 10,
            ..Default::default()
        };
        assert_eq!(counts(&bench, one), of_one);
        let of_two = FamilyCounts {
            received: 1,
            accepted: 1,
            advertised: 10,
            ..Default::default()
        };
        assert_eq!(counts(&bench, two), of_two);
        assert_eq!(bench.shard.totals().paths, 12);

        bench.down(one, &FAMILIES);
        bench.settle();
        assert_eq!(
            counts(&bench, one),
            FamilyCounts {
                stale: 11,
                ..of_one
            }
        );
        bench.up(ebgp(1));
        bench.announce(one, prefix(family, 0), path(&[65001]));
        bench.settle();
        assert_eq!(
            counts(&bench, one),
            FamilyCounts {
                stale: 10,
                ..of_one
            }
        );
        bench.down(one, &[]);
        bench.settle();
        assert_eq!(counts(&bench, one), FamilyCounts::default());
        assert_eq!(
            counts(&bench, two),
            FamilyCounts {
                best: 1,
                advertised: 0,
                ..of_two
            }
        );
        assert_eq!(bench.shard.peer_counts(PeerId(99)), PeerCounts::default());
    }
}
