//! The incremental result against one from scratch, over random changes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use proptest::prelude::*;

use super::Ipam;
use crate::{
    Affinity, AffinityState, Allocation, Block, Delta, Owner, Platform, Route, RouteKind, Usage,
};

/// One change, over few blocks (some inside others) and nodes so that they meet.
#[derive(Clone, Debug)]
enum Change {
    Block(Block),
    NoBlock(IpNet),
    Affinity(Affinity),
    NoAffinity(String, IpNet),
    Platform(String, Platform),
}

fn cidrs() -> impl Strategy<Value = IpNet> {
    let cidrs = [
        "10.0.0.0/29",
        "10.0.0.0/30",
        "10.0.0.4/30",
        "10.0.0.1/32",
        "10.0.0.8/29",
    ];
    let all: Vec<IpNet> = cidrs
        .into_iter()
        .chain(["fd00::/125", "fd00::1/128"])
        .map(|cidr| cidr.parse().unwrap())
        .collect();
    prop::sample::select(all)
}

fn nodes() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()])
}

fn blocks() -> impl Strategy<Value = Block> {
    let owner = prop_oneof![
        4 => nodes().prop_map(Owner::Host),
        1 => Just(Owner::Nobody),
        1 => Just(Owner::Virtual("lb".into())),
    ];
    let usage = prop::sample::select(vec![
        Usage::Workload,
        Usage::Workload,
        Usage::Tunnel,
        Usage::WindowsReserved,
        Usage::Released,
    ]);
    let allocation =
        (prop::option::of(nodes()), usage).prop_map(|(node, usage)| Allocation { node, usage });
    let allocations = prop::collection::btree_map(0_u32..9, allocation, 0..5);
    (cidrs(), owner, prop::bool::weighted(0.1), allocations).prop_map(
        |(cidr, owner, deleted, allocations)| Block {
            cidr,
            owner,
            deleted,
            allocations,
        },
    )
}

fn changes() -> impl Strategy<Value = Change> {
    let state = prop::sample::select(vec![
        AffinityState::Confirmed,
        AffinityState::Legacy,
        AffinityState::Pending,
        AffinityState::PendingDeletion,
    ]);
    let affinity = (cidrs(), nodes(), state, prop::bool::weighted(0.1)).prop_map(
        |(cidr, node, state, deleted)| Affinity {
            cidr,
            node,
            state,
            deleted,
        },
    );
    let platform = prop::sample::select(vec![Platform::Linux, Platform::Windows]);
    prop_oneof![
        4 => blocks().prop_map(Change::Block),
        1 => cidrs().prop_map(Change::NoBlock),
        4 => affinity.prop_map(Change::Affinity),
        1 => (nodes(), cidrs()).prop_map(|(node, cidr)| Change::NoAffinity(node, cidr)),
        2 => (nodes(), platform).prop_map(|(node, platform)| Change::Platform(node, platform)),
    ]
}

fn apply(ipam: &mut Ipam, change: Change) -> Delta {
    match change {
        Change::Block(block) => ipam.upsert_block(block),
        Change::NoBlock(cidr) => ipam.remove_block(&cidr),
        Change::Affinity(affinity) => ipam.upsert_affinity(affinity),
        Change::NoAffinity(node, cidr) => ipam.remove_affinity(&node, &cidr),
        Change::Platform(node, platform) => ipam.set_platform(&node, platform),
    }
}

/// What is left after a list of changes.
#[derive(Default)]
struct Final {
    blocks: BTreeMap<IpNet, Block>,
    affinities: BTreeMap<(IpNet, String), Affinity>,
    windows: BTreeSet<String>,
}

impl Final {
    fn apply(&mut self, change: Change) {
        match change {
            Change::Block(block) => drop(self.blocks.insert(block.cidr, block)),
            Change::NoBlock(cidr) => drop(self.blocks.remove(&cidr)),
            Change::Affinity(affinity) => {
                self.affinities
                    .insert((affinity.cidr, affinity.node.clone()), affinity);
            }
            Change::NoAffinity(node, cidr) => drop(self.affinities.remove(&(cidr, node))),
            Change::Platform(node, Platform::Windows) => drop(self.windows.insert(node)),
            Change::Platform(node, Platform::Linux) => drop(self.windows.remove(&node)),
        }
    }

    /// The same objects in another order.
    fn rebuild_backwards(&self) -> Ipam {
        let mut ipam = Ipam::new();
        for affinity in self.affinities.values().rev() {
            let _ = ipam.upsert_affinity(affinity.clone());
        }
        for block in self.blocks.values().rev() {
            let _ = ipam.upsert_block(block.clone());
        }
        for node in self.windows.iter().rev() {
            let _ = ipam.set_platform(node, Platform::Windows);
        }
        ipam
    }

    /// The definition, prefix by prefix, without any structure to keep right.
    fn routes(&self) -> BTreeSet<Route> {
        let mut candidates: Vec<(IpNet, Route)> = Vec::new();
        let holds = |node: &str, cidr: IpNet| {
            self.affinities
                .get(&(cidr, node.to_owned()))
                .is_some_and(Affinity::is_confirmed)
        };
        let cells = self
            .blocks
            .keys()
            .copied()
            .chain(self.affinities.keys().map(|key| key.0));
        for cidr in cells.collect::<BTreeSet<IpNet>>() {
            let owner = match self.blocks.get(&cidr) {
                None => ["a", "b", "c"].into_iter().find(|node| holds(node, cidr)),
                Some(Block {
                    deleted: false,
                    owner: Owner::Host(node),
                    ..
                }) => Some(node.as_str()),
                Some(_) => None,
            };
            let borrowed = self.borrowed(cidr, owner);
            if let Some(owner) =
                owner.filter(|_| !borrowed.iter().any(|(prefix, _)| *prefix == cidr))
            {
                let (kind, announced) = (RouteKind::Block, holds(owner, cidr));
                candidates.push((
                    cidr,
                    Route {
                        prefix: cidr,
                        node: owner.into(),
                        kind,
                        announced,
                    },
                ));
            }
            candidates.extend(borrowed.into_iter().map(|(prefix, node)| {
                (
                    cidr,
                    Route {
                        prefix,
                        node,
                        kind: RouteKind::Borrowed,
                        announced: true,
                    },
                )
            }));
        }
        let best = |route: &Route| {
            let rivals = candidates
                .iter()
                .filter(|(_, rival)| rival.prefix == route.prefix);
            rivals
                .max_by_key(|(cell, _)| cell.prefix_len())
                .map(|(_, best)| best.clone())
        };
        candidates
            .iter()
            .filter_map(|(_, route)| best(route))
            .collect()
    }

    fn borrowed(&self, cidr: IpNet, owner: Option<&str>) -> Vec<(IpNet, String)> {
        let Some(block) = self.blocks.get(&cidr).filter(|block| !block.deleted) else {
            return Vec::new();
        };
        if owner.is_some_and(|owner| self.windows.contains(owner)) {
            return Vec::new();
        }
        let hosts: Vec<_> = match cidr {
            // `hosts` would leave out network and broadcast.
            IpNet::V4(cidr) => (u32::from(cidr.network())..=u32::from(cidr.broadcast()))
                .map(|bits| Ipv4Addr::from(bits).into())
                .collect(),
            IpNet::V6(cidr) => cidr.hosts().map(Into::into).collect(),
        };
        let used = hosts
            .into_iter()
            .zip(0_u32..)
            .filter_map(|(address, ordinal): (IpAddr, _)| {
                let allocation = block.allocations.get(&ordinal)?;
                let node = allocation.node.as_deref()?;
                let lent = Some(node) != owner && !self.windows.contains(node);
                let live = matches!(allocation.usage, Usage::Workload | Usage::Tunnel);
                (lent && live).then(|| (IpNet::from(address), node.to_owned()))
            });
        used.collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn incremental_equals_from_scratch(changes in prop::collection::vec(changes(), 1..40)) {
        let mut ipam = Ipam::new();
        let mut tracked: BTreeSet<Route> = BTreeSet::new();
        let mut left = Final::default();
        for change in changes {
            left.apply(change.clone());
            let Delta { withdrawn, added } = apply(&mut ipam, change);
            for route in &withdrawn {
                prop_assert!(tracked.remove(route), "withdrawn but never added: {route:?}");
            }
            for route in added {
                prop_assert!(tracked.insert(route.clone()), "added twice: {route:?}");
                prop_assert!(!withdrawn.contains(&route), "withdrawn and added unchanged: {route:?}");
            }
        }
        let expected = left.routes();
        prop_assert_eq!(&tracked, &expected);
        let routes: Vec<&Route> = ipam.routes().collect();
        prop_assert_eq!(routes, expected.iter().collect::<Vec<_>>());
        for node in ["a", "b", "c"] {
            let of_node: Vec<&Route> = ipam.routes_of(node).collect();
            prop_assert_eq!(of_node, expected.iter().filter(|route| route.node == node).collect::<Vec<_>>());
        }
        let other = left.rebuild_backwards();
        prop_assert_eq!(other.routes().cloned().collect::<BTreeSet<_>>(), expected);
        prop_assert_eq!(other.findings(), ipam.findings());
    }
}
