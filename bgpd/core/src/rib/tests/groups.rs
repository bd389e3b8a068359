//! Who shares a group, who must not, and how a peer moves from one to another.

use super::*;
use crate::policy::{Condition, Edit, PrefixRule, PrefixSet, Term, Verdict};
use crate::rib::shard::Slices;

fn groups_of_one_family(bench: &Bench) -> Vec<Vec<PeerId>> {
    bench
        .shard
        .groups()
        .into_iter()
        .filter(|group| group.key.family == Family::IPV4_UNICAST)
        .map(|group| group.members)
        .collect()
}

#[test]
fn a_thousand_equal_peers_make_one_group_for_each_family() {
    let mut bench = Bench::new();
    for number in 1..=200 {
        bench.up(ebgp(number));
    }
    assert_eq!(bench.shard.totals().groups, FAMILIES.len() as u64);
}

#[test]
fn each_setting_that_changes_what_goes_out_splits_the_group() {
    let base = || RibPeer {
        remote_asn: LOCAL_ASN,
        ..client(2)
    };
    let policy = |med| {
        let edits = vec![Edit::SetMed(Some(med))];
        let term = Term {
            name: String::new(),
            conditions: vec![],
            edits,
            verdict: Verdict::Accept,
        };
        Arc::new(Policy::new(vec![term], Verdict::Reject))
    };
    let encode = base().encode;
    let knobs = [
        RibPeer {
            session_type: SessionType::External,
            ..base()
        },
        RibPeer {
            reflector_client: false,
            ..base()
        },
        RibPeer {
            next_hop: NextHopMode::ToSelf,
            ..base()
        },
        RibPeer {
            next_hop: NextHopMode::Keep,
            ..base()
        },
        RibPeer {
            local_address: Ipv4Addr::new(192, 0, 2, 253).into(),
            ..base()
        },
        RibPeer {
            export: policy(1),
            ..base()
        },
        RibPeer {
            export: policy(2),
            ..base()
        },
        RibPeer {
            encode: EncodeContext {
                four_octet_asn: false,
                ..encode.clone()
            },
            ..base()
        },
        RibPeer {
            encode: EncodeContext {
                extended_messages: true,
                ..encode
            },
            ..base()
        },
    ];
    let mut keys = vec![key(&client(1))];
    for knob in knobs {
        keys.push(key(&knob));
    }
    for (position, one) in keys.iter().enumerate() {
        for other in &keys[..position] {
            assert_ne!(one, other);
        }
    }
}

#[test]
fn what_does_not_change_the_bytes_does_not_split_the_group() {
    let base = || RibPeer {
        reflector_client: false,
        ..ebgp(1)
    };
    for same in [
        RibPeer {
            remote_asn: Asn(65055),
            ..base()
        },
        RibPeer {
            remote_router_id: RouterId::from(5),
            ..base()
        },
        RibPeer {
            reflector_client: true,
            ..base()
        },
        RibPeer {
            allow_own_asn: 3,
            ..base()
        },
        RibPeer {
            enforce_first_asn: true,
            ..base()
        },
        RibPeer {
            import: Arc::new(Policy::reject_all()),
            ..base()
        },
        RibPeer {
            export: Arc::new(Policy::accept_all()),
            ..base()
        },
        RibPeer {
            enhanced_refresh: true,
            ..base()
        },
        RibPeer {
            address: Ipv4Addr::new(192, 0, 2, 99).into(),
            ..base()
        },
    ] {
        assert_eq!(key(&same), key(&base()));
    }
}

fn key(peer: &RibPeer) -> GroupKey {
    let shard = ShardSettings {
        cluster_id: Some(CLUSTER),
        ..shard_settings()
    };
    GroupKey::of(&shard, peer, Family::IPV4_UNICAST)
}

#[test]
fn a_late_member_gets_everything_and_the_others_nothing_again() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let one = bench.up(ebgp(1));
        let two = bench.up(ebgp(2));
        for number in 0..5000 {
            bench.announce(one, prefix(family, number), path(&[65001]));
        }
        bench.settle();
        bench.take_log();
        bench.complete.clear();
        let three = bench.up(ebgp(3));
        bench.settle();
        assert_eq!(bench.learned[&three], bench.learned[&two]);
        assert!(bench.take_log().iter().all(|(peer, _)| *peer == three));
        assert_eq!(bench.complete.len(), FAMILIES.len());
    }
}

#[test]
fn changes_during_a_dump_reach_the_newcomer_too() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let one = bench.up(ebgp(1));
        let two = bench.up(ebgp(2));
        for number in 0..60_000 {
            bench.announce_via(
                one,
                prefix(family, number),
                path(&[65001]),
                hop(prefix(family, 0), 1),
            );
        }
        bench.settle();
        let three = bench.up(ebgp(3));
        bench.step();
        let got = bench.learned[&three].len();
        assert!(
            got > 0 && got < 60_000,
            "the dump takes more than one slice"
        );
        for number in (0..60_000).step_by(1000) {
            bench.retract(one, prefix(family, number));
            bench.announce(one, prefix(family, number + 1), path(&[65001, 65009]));
        }
        bench.settle();
        assert_eq!(bench.learned[&three], bench.learned[&two]);
        assert_eq!(bench.learned[&two].len(), 60_000 - 60);
    }
}

#[test]
fn a_member_that_came_in_mid_round_gets_off_though_a_batch_jumps_over_that_place() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let source = bench.up(ebgp(1));
        bench.up(ebgp(2));
        for number in 0..3 {
            bench.announce(source, prefix(family, number), path(&[65001]));
        }
        bench.settle();
        bench.up(ebgp(3));
        bench.shard.set_slices(Slices {
            send: 1,
            ..Slices::default()
        });
        bench.step();
        let late = bench.up(ebgp(4));
        bench.shard.set_slices(Slices::default());
        bench.take_log();
        bench.settle();
        assert_eq!(bench.learned[&late].len(), 3);
        assert!(bench.complete.contains(&(late, family)));
        // The batch that jumps brings what the member has already once more, and then it is over.
        let log = bench.take_log();
        let to_late = log.iter().filter(|(peer, _)| *peer == late);
        let routes = to_late.flat_map(|(_, update)| &update.reach);
        assert!(routes.map(|reach| reach.nlri.len()).sum::<usize>() <= 2 * 3);
    }
}

#[test]
fn a_sweep_that_began_mid_round_ends_though_a_slice_jumps_over_that_place() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let [one, two] = [1, 2].map(|number| bench.up(ebgp(number)));
        for number in 0..3 {
            bench.announce(one, prefix(family, number), path(&[65001]));
            bench.announce(two, prefix(family, number), path(&[65002]));
        }
        bench.settle();
        bench.down(one, &[]);
        bench.shard.set_slices(Slices {
            walk: 1,
            ..Slices::default()
        });
        bench.step();
        bench.down(two, &[]);
        bench.shard.set_slices(Slices::default());
        bench.settle();
        assert_eq!(bench.shard.totals().paths, 0);
        assert_eq!(bench.shard.totals().prefixes, 0);
    }
}

#[test]
fn initial_routes_are_complete_only_after_the_last_of_them() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        for number in 0..60_000 {
            bench.originate(prefix(family, number), Attributes::default());
        }
        let one = bench.up(ebgp(1));
        while !bench.complete.contains(&(one, family)) {
            bench.step();
        }
        assert_eq!(bench.learned[&one].len(), 60_000);
    }
}

#[test]
fn peers_that_change_policy_one_after_the_other_end_in_one_group() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let source = bench.up(ibgp(1));
        let peers: Vec<_> = (2..=20).map(|number| bench.up(ebgp(number))).collect();
        for number in 0..500 {
            bench.announce(source, prefix(family, number), internal(100, &[]));
        }
        bench.settle();
        assert_eq!(groups_of_one_family(&bench).len(), 2);
        bench.take_log();

        let reject = |number| {
            let rule = PrefixRule::exact(prefix(family, number));
            let term = Term {
                name: "no".to_owned(),
                conditions: vec![Condition::PrefixIn(Arc::new(PrefixSet::new([rule])))],
                edits: vec![],
                verdict: Verdict::Reject,
            };
            Policy::new(vec![term], Verdict::Accept)
        };
        for (position, peer) in peers.iter().enumerate() {
            bench.policies(*peer, Policy::accept_all(), reject(7));
            // Some together, some with work in between.
            if position % 4 == 0 {
                bench.step();
            }
        }
        bench.settle();
        let groups = groups_of_one_family(&bench);
        assert_eq!(groups.len(), 2);
        assert!(groups.contains(&peers));
        for peer in &peers {
            assert_eq!(bench.learned[peer].len(), 499);
            assert!(bench.learned(*peer, prefix(family, 7)).is_none());
        }
        // One withdrawal for each peer, and nothing else.
        let log = bench.take_log();
        assert_eq!(log.len(), peers.len());
        assert!(log.iter().all(|(_, update)| update.reach.is_empty()));
    }
}

#[test]
fn a_peer_that_becomes_a_client_gets_what_clients_get() {
    for family in FAMILIES {
        let mut bench = Bench::reflector();
        let source = bench.up(ibgp(1));
        let two = bench.up(ibgp(2));
        let three = bench.up(ibgp(3));
        bench.announce(source, prefix(family, 1), internal(100, &[]));
        bench.settle();
        assert!(bench.learned[&two].is_empty());
        bench.reconfigure(client(2));
        bench.settle();
        assert_eq!(bench.learned[&two].len(), 1);
        assert!(bench.learned[&three].is_empty());
        // And what a client sends goes to all.
        bench.reconfigure(client(1));
        bench.settle();
        assert_eq!(bench.learned[&three].len(), 1);
        bench.reconfigure(ibgp(1));
        bench.settle();
        assert!(bench.learned[&three].is_empty());
    }
}

#[test]
fn the_cluster_id_can_change_at_run_time() {
    for family in FAMILIES {
        let mut bench = Bench::new();
        let prefix = prefix(family, 1);
        let one = bench.up(client(1));
        let two = bench.up(client(2));
        bench.announce(one, prefix, internal(100, &[]));
        bench.settle();
        assert!(bench.learned(two, prefix).is_none());
        let settings = ShardSettings {
            cluster_id: Some(CLUSTER),
            ..shard_settings()
        };
        bench.handle(RibEvent::Configure(settings));
        bench.settle();
        let learned = bench.learned(two, prefix).expect("reflected now");
        assert_eq!(
            learned.attributes.cluster_list,
            [CLUSTER].into_iter().collect()
        );
        bench.handle(RibEvent::Configure(shard_settings()));
        bench.settle();
        assert!(bench.learned(two, prefix).is_none());
    }
}

#[test]
fn nothing_is_left_of_peers_that_come_and_go() {
    let mut bench = Bench::new();
    let stays = bench.up(ibgp(250));
    for round in 0..300_u32 {
        let number = u8::try_from(round % 200 + 1).expect("below 201");
        let peer = bench.up(ebgp(number));
        for family in FAMILIES {
            bench.announce(
                peer,
                prefix(family, round),
                path(&[65000 + u32::from(number)]),
            );
        }
        bench.settle();
        bench.down(peer, &[]);
        bench.handle(RibEvent::RemovePeer { peer });
        bench.settle();
    }
    assert!(bench.learned[&stays].is_empty());
    let totals = bench.shard.totals();
    assert_eq!(
        (totals.prefixes, totals.paths, totals.attribute_sets),
        (0, 0, 0)
    );
    assert_eq!(totals.groups, FAMILIES.len() as u64);
    assert!(
        bench.shard.shared.peers.indexes() < 5,
        "indexes are used again"
    );
    assert!(
        bench
            .shard
            .tables
            .iter()
            .all(|table| table.prefixes.end() < 5),
        "slots too"
    );
}
