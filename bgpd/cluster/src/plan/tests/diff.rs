//! What a change costs.

use std::collections::BTreeSet;

use super::{object, planned, snapshot};
use crate::Snapshot;
use crate::model::{NextHopMode, ObjectKey};
use crate::plan::{Action, Cost, Family, Plan, PlanChange, SessionKind, SessionPlan, Subject};

const CLUSTER: &str = "
    Node a {bgp: {ipv4Address: 10.0.0.1/24}, ipv4VXLANTunnelAddr: 10.2.0.1}
    Node b {bgp: {ipv4Address: 10.0.0.2/24}, ipv4VXLANTunnelAddr: 10.2.0.65}
    IPPool plain {cidr: 10.1.0.0/16}
    IPPool overlay {cidr: 10.2.0.0/16, vxlanMode: CrossSubnet}
    BlockAffinity a1 {cidr: 10.1.0.0/26, node: a, state: confirmed}
    BlockAffinity b1 {cidr: 10.2.0.64/26, node: b, state: confirmed}
    BGPPeer tor {peerIP: 10.0.0.254, asNumber: 65001}";

/// The changes to node a's plan when objects are changed.
fn changes(edit: impl FnOnce(&mut Snapshot)) -> Vec<String> {
    let mut objects = snapshot(CLUSTER);
    let old = planned(&objects, "a").plan;
    edit(&mut objects);
    let new = planned(&objects, "a").plan;
    old.diff(&new).iter().map(ToString::to_string).collect()
}

fn insert(line: &str) -> impl FnOnce(&mut Snapshot) {
    let object = object(line);
    move |objects: &mut Snapshot| objects.insert(object)
}

#[test]
fn nothing_changed_is_no_change() {
    assert_eq!(changes(|_| {}), Vec::<String>::new());
    assert_eq!(
        changes(insert("BGPPeer tor {peerIP: 10.0.0.254, asNumber: 65001}")),
        Vec::<String>::new()
    );
}

#[test]
fn a_new_node_costs_nothing_to_the_others() {
    assert_eq!(
        changes(insert(
            "Node c {bgp: {ipv4Address: 10.0.0.3/24}, ipv4VXLANTunnelAddr: 10.2.0.129}"
        )),
        [
            "create session 10.0.0.3:179 (cost: none)",
            "create vxlan node c (cost: dataplane)",
        ]
    );
}

#[test]
fn each_edit_changes_what_it_concerns_and_nothing_else() {
    let peer = |spec: &str| {
        changes(insert(&format!(
            "BGPPeer tor {{peerIP: 10.0.0.254, {spec}}}"
        )))
    };
    assert_eq!(
        peer("asNumber: 65001, description: upper"),
        ["update session 10.0.0.254:179 (cost: none): description"]
    );
    assert_eq!(
        peer("asNumber: 65002"),
        ["update session 10.0.0.254:179 (cost: session reset): remote AS 65001 -> 65002"]
    );
    assert_eq!(
        peer("asNumber: 65001, holdTime: 30s, nextHopMode: Self"),
        [
            "update session 10.0.0.254:179 (cost: session reset): hold time 90 -> 30, keepalive 30 -> 10, \
          next hop mode Auto -> OwnAddress"
        ]
    );
    assert_eq!(
        changes(insert(
            "IPPool plain {cidr: 10.1.0.0/16, disableBGPExport: true}"
        )),
        [
            "update origination 10.1.0.0/26 (cost: soft out): exported true -> false",
            "update export (cost: soft out): rules",
        ]
    );
    assert_eq!(
        changes(insert(
            "BlockAffinity b1 {cidr: 10.2.0.64/26, node: a, state: confirmed}"
        )),
        [
            "create origination 10.2.0.64/26 (cost: dataplane)",
            "update export (cost: soft out): rules",
            "update vxlan route 10.2.0.64/26 (cost: dataplane): node b -> a",
        ]
    );
    assert_eq!(
        changes(insert(
            "IPPool overlay {cidr: 10.2.0.0/16, vxlanMode: Always}"
        )),
        ["update vxlan pool 10.2.0.0/16 (cost: dataplane): mode CrossSubnet -> Always"]
    );
    assert_eq!(
        changes(insert(
            "BGPConfiguration default {listenPort: 180, bindMode: NodeIP}"
        )),
        [
            "update listener (cost: none): port 179 -> 180, bind Any -> NodeAddresses",
            "delete session 10.0.0.2:179 (cost: session reset)",
            "create session 10.0.0.2:180 (cost: none)",
        ]
    );
    assert_eq!(
        changes(|objects| objects.nodes.retain(|name, _| name == "a")),
        [
            "delete session 10.0.0.2:179 (cost: session reset)",
            "delete vxlan node b (cost: dataplane)",
        ]
    );
}

#[test]
fn the_highest_cost_of_a_diff_is_its_maximum() {
    let cost = |cost| PlanChange {
        subject: Subject::Export,
        action: Action::Update,
        cost,
        text: String::new(),
    };
    let all = [
        Cost::SoftOut,
        Cost::SessionReset,
        Cost::None,
        Cost::SoftIn,
        Cost::Dataplane,
    ]
    .map(cost);
    let ordered: BTreeSet<Cost> = all.iter().map(|change| change.cost).collect();
    let ordered: Vec<String> = ordered.iter().map(ToString::to_string).collect();
    assert_eq!(
        ordered,
        ["none", "dataplane", "soft out", "soft in", "session reset"]
    );
}

/// One edit per field of a session.
#[test]
fn every_field_of_a_session_has_its_cost() {
    type Edit = fn(&mut SessionPlan);
    let edits: [(&str, Edit); 17] = [
        ("name", |s| s.name.push('x')),
        ("kind", |s| s.kind = SessionKind::Reverse),
        ("remote_asn", |s| s.remote_asn.0 += 1),
        ("local_asn", |s| s.local_asn.0 += 1),
        ("passive", |s| s.passive = !s.passive),
        ("reflector_client", |s| {
            s.reflector_client = !s.reflector_client
        }),
        ("source_address", |s| s.source_address = None),
        ("families", |s| s.families.extend([Family::Ipv6])),
        ("hold_time", |s| s.hold_time += 1),
        ("keepalive", |s| s.keepalive += 1),
        ("connect_retry", |s| s.connect_retry += 1),
        ("restart_time", |s| s.restart_time += 1),
        ("next_hop_mode", |s| s.next_hop_mode = NextHopMode::Keep),
        ("allow_own_asn", |s| s.allow_own_asn += 1),
        ("ttl_security", |s| s.ttl_security = Some(1)),
        ("description", |s| s.description = Some("x".into())),
        ("from", |s| {
            s.from.push(ObjectKey::new(crate::Kind::Node, "x"))
        }),
    ];
    let old = planned(&snapshot(CLUSTER), "a").plan;
    let mut table = String::new();
    for (field, edit) in edits {
        let mut new = old.clone();
        edit(new.sessions.values_mut().next().unwrap());
        let changes = old.diff(&new);
        assert_eq!(changes.len(), 1, "{field}: {changes:?}");
        table += &format!("{field:<17} {}\n", changes[0].cost);
    }
    insta::assert_snapshot!(table, @r"
    name              none
    kind              none
    remote_asn        session reset
    local_asn         session reset
    passive           none
    reflector_client  soft out
    source_address    session reset
    families          session reset
    hold_time         session reset
    keepalive         none
    connect_retry     none
    restart_time      session reset
    next_hop_mode     soft out
    allow_own_asn     soft in
    ttl_security      session reset
    description       none
    from              none
    ");
}

#[test]
fn the_speakers_own_fields_have_their_cost() {
    let old = planned(&snapshot(CLUSTER), "a").plan;
    let mut new = old.clone();
    new.asn.0 += 1;
    new.router_id = None;
    new.cluster_id = Some([244, 0, 0, 1].into());
    new.priorities.ipv4 = 1;
    new.node_addresses.ipv4 = None;
    let texts: Vec<String> = old.diff(&new).iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "update speaker (cost: session reset): AS 64512 -> 64513, router ID 10.0.0.1 -> none, \
          cluster ID none -> 244.0.0.1, IPv4 address 10.0.0.1/24 -> none, \
          IPv4 route priority 1024 -> 1"
        ]
    );

    let without_sessions = |mut plan: Plan| {
        plan.sessions.clear();
        plan
    };
    let (old, new) = (without_sessions(old), without_sessions(new));
    assert_eq!(
        old.diff(&new)[0].cost,
        Cost::SoftIn,
        "no session is there to be reset"
    );
}
