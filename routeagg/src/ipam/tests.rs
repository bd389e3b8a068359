//! Claims about ownership, borrowing and Windows.

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::Ipam;
use crate::{
    Affinity, AffinityState, Allocation, Block, Delta, Finding, Owner, Platform, Route, RouteKind,
    Usage,
};

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

fn host(node: &str) -> Owner {
    Owner::Host(node.into())
}

fn block(cidr: &str, owner: Owner) -> Block {
    Block {
        cidr: net(cidr),
        owner,
        deleted: false,
        allocations: BTreeMap::new(),
    }
}

fn using(mut block: Block, ordinal: u32, node: &str) -> Block {
    let allocation = Allocation {
        node: Some(node.into()),
        usage: Usage::Workload,
    };
    block.allocations.insert(ordinal, allocation);
    block
}

fn affinity(cidr: &str, node: &str, state: AffinityState) -> Affinity {
    Affinity {
        cidr: net(cidr),
        node: node.into(),
        state,
        deleted: false,
    }
}

fn confirmed(cidr: &str, node: &str) -> Affinity {
    affinity(cidr, node, AffinityState::Confirmed)
}

fn ipam(
    blocks: impl IntoIterator<Item = Block>,
    affinities: impl IntoIterator<Item = Affinity>,
) -> Ipam {
    let mut ipam = Ipam::new();
    for block in blocks {
        let _ = ipam.upsert_block(block);
    }
    for affinity in affinities {
        let _ = ipam.upsert_affinity(affinity);
    }
    ipam
}

fn announced(ipam: &Ipam, node: &str) -> Vec<String> {
    ipam.announcements(node)
        .prefixes()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_confirmed_block_is_announced_whole_and_its_own_addresses_are_not() {
    let own = using(using(block("10.0.0.64/26", host("a")), 1, "a"), 2, "a");
    let ipam = ipam([own], [confirmed("10.0.0.64/26", "a")]);
    assert_eq!(announced(&ipam, "a"), ["10.0.0.64/26"]);
    assert!(ipam.announcements("a").suppresses(&net("10.0.0.65/32")));
    assert!(!ipam.announcements("a").suppresses(&net("10.0.0.64/26")));
    assert!(!ipam.announcements("a").suppresses(&net("10.0.0.1/32")));
    assert_eq!(ipam.findings(), []);
}

#[test]
fn only_confirmed_and_legacy_claims_are_announced() {
    for (state, expected) in [
        (AffinityState::Confirmed, 1),
        (AffinityState::Legacy, 1),
        (AffinityState::Pending, 0),
        (AffinityState::PendingDeletion, 0),
    ] {
        let with_block = ipam(
            [block("10.0.0.64/26", host("a"))],
            [affinity("10.0.0.64/26", "a", state)],
        );
        assert_eq!(
            announced(&with_block, "a").len(),
            expected,
            "{state:?} with block"
        );
        // The owner is the owner all the same: VXLAN routes follow the block.
        assert_eq!(with_block.owner_of(&net("10.0.0.64/26")), Some("a"));
        let alone = ipam([], [affinity("10.0.0.64/26", "a", state)]);
        assert_eq!(announced(&alone, "a").len(), expected, "{state:?} alone");
    }
    let deleted = Affinity {
        deleted: true,
        ..confirmed("10.0.0.64/26", "a")
    };
    assert!(announced(&ipam([], [deleted]), "a").is_empty());
}

#[test]
fn the_block_decides_between_two_claims() {
    let claims = [
        confirmed("10.0.0.64/26", "a"),
        confirmed("10.0.0.64/26", "b"),
    ];
    let ipam = ipam([block("10.0.0.64/26", host("b"))], claims);
    assert_eq!(announced(&ipam, "b"), ["10.0.0.64/26"]);
    assert!(announced(&ipam, "a").is_empty());
    let stale = Finding::OwnerMismatch {
        block: net("10.0.0.64/26"),
        node: "a".into(),
        owner: host("b"),
    };
    assert_eq!(ipam.findings(), [stale]);
}

#[test]
fn without_a_block_the_smallest_name_gets_it() {
    let claims = [
        confirmed("10.0.0.64/26", "b"),
        confirmed("10.0.0.64/26", "a"),
    ];
    let ipam = ipam([], claims);
    assert_eq!(ipam.owner_of(&net("10.0.0.64/26")), Some("a"));
    assert!(announced(&ipam, "b").is_empty());
    let duplicate = Finding::DuplicateAffinity {
        block: net("10.0.0.64/26"),
        nodes: vec!["a".into(), "b".into()],
        chosen: "a".into(),
    };
    assert_eq!(ipam.findings(), [duplicate]);
}

#[test]
fn a_block_without_confirmed_claim_has_a_route_and_no_announcement() {
    let ipam = ipam([block("10.0.0.64/26", host("a"))], []);
    let route = Route {
        prefix: net("10.0.0.64/26"),
        node: "a".into(),
        kind: RouteKind::Block,
        announced: false,
    };
    assert_eq!(ipam.routes().collect::<Vec<_>>(), [&route]);
    assert!(announced(&ipam, "a").is_empty());
    let missing = Finding::AffinityNotConfirmed {
        block: net("10.0.0.64/26"),
        node: "a".into(),
    };
    assert_eq!(ipam.findings(), [missing]);
}

#[test]
fn a_deleted_block_belongs_to_nobody() {
    let gone = Block {
        deleted: true,
        ..using(block("10.0.0.64/26", host("a")), 1, "b")
    };
    let ipam = ipam([gone], [confirmed("10.0.0.64/26", "a")]);
    assert_eq!(ipam.routes().count(), 0);
    assert_eq!(ipam.owner_of(&net("10.0.0.64/26")), None);
    assert!(matches!(
        ipam.findings()[..],
        [Finding::OwnerMismatch {
            owner: Owner::Nobody,
            ..
        }]
    ));
}

#[test]
fn a_virtual_owner_has_no_routes() {
    let services = block("10.0.0.64/26", Owner::Virtual("load-balancer".into()));
    let ipam = ipam([services], []);
    assert_eq!(ipam.routes().count(), 0);
    assert_eq!(ipam.findings(), []);
}

#[test]
fn a_borrowed_address_is_announced_by_its_user_while_it_is_used() {
    // The sample of Calico's documentation: ordinal 0 is node-a's own, ordinal 1 borrowed by node-b.
    let lent = || using(block("10.244.1.64/30", host("node-a")), 0, "node-a");
    let mut ipam = ipam([lent()], [confirmed("10.244.1.64/30", "node-a")]);
    let delta = ipam.upsert_block(using(lent(), 1, "node-b"));
    let borrowed = Route {
        prefix: net("10.244.1.65/32"),
        node: "node-b".into(),
        kind: RouteKind::Borrowed,
        announced: true,
    };
    assert_eq!(
        delta,
        Delta {
            withdrawn: vec![],
            added: vec![borrowed.clone()]
        }
    );
    assert_eq!(announced(&ipam, "node-b"), ["10.244.1.65/32"]);
    assert_eq!(announced(&ipam, "node-a"), ["10.244.1.64/30"]);

    let delta = ipam.upsert_block(lent());
    assert_eq!(
        delta,
        Delta {
            withdrawn: vec![borrowed],
            added: vec![]
        }
    );
    assert!(announced(&ipam, "node-b").is_empty());
}

#[test]
fn released_reserved_and_unattributed_addresses_have_no_route() {
    let mut lent = block("10.0.0.64/26", host("a"));
    let mut insert = |ordinal, node: Option<&str>, usage| {
        lent.allocations.insert(
            ordinal,
            Allocation {
                node: node.map(Into::into),
                usage,
            },
        );
    };
    insert(4, Some("b"), Usage::Released);
    insert(5, None, Usage::Workload);
    insert(6, Some("b"), Usage::WindowsReserved);
    insert(7, Some("b"), Usage::Tunnel);
    let ipam = ipam([lent], [confirmed("10.0.0.64/26", "a")]);
    assert_eq!(announced(&ipam, "b"), ["10.0.0.71/32"]);
}

#[test]
fn addresses_of_a_block_without_owner_lead_to_their_users() {
    let orphan = using(using(block("fd00::40/122", Owner::Nobody), 1, "a"), 2, "b");
    let ipam = ipam([orphan], []);
    assert_eq!(announced(&ipam, "a"), ["fd00::41/128"]);
    assert_eq!(announced(&ipam, "b"), ["fd00::42/128"]);
}

#[test]
fn a_single_address_block_leads_to_whoever_uses_it() {
    let own = using(block("10.0.0.1/32", host("a")), 0, "a");
    let claims = || [confirmed("10.0.0.1/32", "a")];
    assert_eq!(announced(&ipam([own], claims()), "a"), ["10.0.0.1/32"]);
    let lent = using(block("10.0.0.1/32", host("a")), 0, "b");
    let ipam = ipam([lent], claims());
    assert!(announced(&ipam, "a").is_empty());
    assert_eq!(announced(&ipam, "b"), ["10.0.0.1/32"]);
}

#[test]
fn windows_blocks_are_never_lent() {
    let mut ipam = ipam(
        [using(block("10.0.0.64/26", host("win")), 9, "linux")],
        [confirmed("10.0.0.64/26", "win")],
    );
    assert_eq!(announced(&ipam, "linux"), ["10.0.0.73/32"]);
    let delta = ipam.set_platform("win", Platform::Windows);
    assert_eq!(delta.withdrawn.len(), 1);
    assert!(delta.added.is_empty());
    assert!(announced(&ipam, "linux").is_empty());
    assert_eq!(announced(&ipam, "win"), ["10.0.0.64/26"]);
    let lent = Finding::WindowsBlockLent {
        block: net("10.0.0.64/26"),
        owner: "win".into(),
        address: "10.0.0.73".parse().unwrap(),
        borrower: "linux".into(),
    };
    assert_eq!(ipam.findings(), [lent]);
}

#[test]
fn a_platform_change_across_overlapping_blocks_is_one_net_change() {
    let outer = using(block("10.0.0.0/29", host("win")), 1, "c");
    let inner = using(block("10.0.0.0/30", host("win")), 1, "b");
    let mut ipam = Ipam::new();
    let _ = ipam.set_platform("win", Platform::Windows);
    let _ = ipam.upsert_block(outer);
    let _ = ipam.upsert_block(inner);
    let delta = ipam.set_platform("win", Platform::Linux);
    assert_eq!(delta.withdrawn, []);
    let added: Vec<&str> = delta
        .added
        .iter()
        .map(|route| route.node.as_str())
        .collect();
    assert_eq!(added, ["b"], "c's claim to the address never counted");
}

#[test]
fn windows_nodes_never_borrow() {
    for owner in [host("linux"), Owner::Nobody] {
        let mut ipam = ipam([using(block("10.0.0.64/26", owner.clone()), 9, "win")], []);
        let _ = ipam.set_platform("win", Platform::Windows);
        assert_eq!(ipam.routes_of("win").count(), 0);
        let findings = ipam.findings();
        let borrower = |finding: &Finding| matches!(finding, Finding::WindowsBorrower { .. });
        assert!(findings.iter().any(borrower), "{owner}: {findings:?}");
    }
}

#[test]
fn the_four_reserved_addresses_of_windows_carry_no_workload() {
    let mut own = block("10.0.0.64/26", host("win"));
    for ordinal in [0, 1, 2, 3, 62, 63] {
        own = using(own, ordinal, "win");
    }
    let mut ipam = ipam([own], [confirmed("10.0.0.64/26", "win")]);
    let _ = ipam.set_platform("win", Platform::Windows);
    let reserved: Vec<String> = ipam
        .findings()
        .into_iter()
        .filter_map(|finding| match finding {
            Finding::WindowsReservedInUse { address, .. } => Some(address.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(
        reserved,
        ["10.0.0.64", "10.0.0.65", "10.0.0.66", "10.0.0.127"]
    );
}

#[test]
fn a_windows_block_needs_more_than_the_reserved_addresses() {
    let mut ipam = ipam(
        [block("10.0.0.0/30", host("win"))],
        [confirmed("10.0.0.0/30", "win")],
    );
    let _ = ipam.set_platform("win", Platform::Windows);
    let small = Finding::WindowsBlockTooSmall {
        block: net("10.0.0.0/30"),
        owner: "win".into(),
    };
    assert_eq!(ipam.findings(), [small]);
}

#[test]
fn the_more_specific_of_two_overlapping_blocks_decides() {
    let outer = using(block("10.0.0.0/26", host("a")), 1, "b");
    let inner = using(block("10.0.0.0/28", host("a")), 1, "c");
    let ipam = ipam([outer, inner], []);
    assert_eq!(
        ipam.route(&net("10.0.0.1/32"))
            .map(|route| route.node.as_str()),
        Some("c")
    );
    let overlap = Finding::OverlappingBlocks {
        outer: net("10.0.0.0/26"),
        inner: net("10.0.0.0/28"),
    };
    assert!(ipam.findings().contains(&overlap));
}

#[test]
fn ordinals_outside_the_block_are_reported_and_ignored() {
    let ipam = ipam([using(block("10.0.0.0/30", Owner::Nobody), 4, "a")], []);
    assert_eq!(ipam.routes().count(), 0);
    let outside = Finding::OrdinalOutside {
        block: net("10.0.0.0/30"),
        ordinal: 4,
    };
    assert_eq!(ipam.findings(), [outside]);
}

#[test]
fn applying_the_same_object_again_changes_nothing() {
    let lent = using(block("10.0.0.64/26", host("a")), 3, "b");
    let mut ipam = ipam([lent.clone()], [confirmed("10.0.0.64/26", "a")]);
    assert!(ipam.upsert_block(lent).is_empty());
    assert!(
        ipam.upsert_affinity(confirmed("10.0.0.64/26", "a"))
            .is_empty()
    );
    assert!(ipam.set_platform("a", Platform::Linux).is_empty());
    assert!(ipam.remove_affinity("z", &net("10.0.0.64/26")).is_empty());
    assert!(ipam.remove_block(&net("192.0.2.0/26")).is_empty());
}

#[test]
fn everything_removed_leaves_nothing() {
    let lent = using(block("10.0.0.64/26", host("a")), 3, "b");
    let mut ipam = ipam([lent], [confirmed("10.0.0.64/26", "a")]);
    let _ = ipam.remove_affinity("a", &net("10.0.0.64/26"));
    let _ = ipam.remove_block(&net("10.0.0.64/26"));
    let Ipam {
        cells,
        windows,
        claims,
        by_node,
    } = ipam;
    assert!(cells.is_empty() && windows.is_empty() && claims.is_empty() && by_node.is_empty());
}
