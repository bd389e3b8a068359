//! The plan of one node in clusters written as manifests.

mod dataplane;
mod diff;
mod sessions;
mod symmetry;

use super::{Local, Plan, PlanError, Planned, plan};
use crate::model::Object;
use crate::{Finding, Platform, RouterIdSource, Snapshot, read_manifest};

/// Reads objects in short form: documents that begin with `KIND NAME` and have the fields of `spec`.
fn snapshot(text: &str) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        snapshot.insert(object(line));
    }
    snapshot
}

/// One object from a line such as `Node a {rack: x} {bgp: {...}}`: kind, name, labels, spec.
fn object(line: &str) -> Object {
    let mut words = line.splitn(3, ' ');
    let (kind, name) = (words.next().unwrap(), words.next().unwrap());
    let rest = words.next().unwrap_or("{}");
    let (labels, spec) = match rest.split_once("} {") {
        Some((labels, spec)) => (format!("{labels}}}"), format!("{{{spec}")),
        None => ("{}".to_owned(), rest.to_owned()),
    };
    let text = format!(
        "{{kind: {kind}, apiVersion: projectcalico.org/v3, metadata: {{name: {name}, labels: {labels}}}, spec: {spec}}}"
    );
    let manifest = read_manifest(line, &text);
    assert_eq!(manifest.errors, []);
    manifest.objects.into_iter().next().unwrap().value
}

fn planned(snapshot: &Snapshot, node: &str) -> Planned {
    plan(snapshot, &Local::new(node)).unwrap()
}

fn plan_of(text: &str, node: &str) -> Plan {
    planned(&snapshot(text), node).plan
}

fn texts(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_node_that_is_not_among_the_objects_has_no_plan() {
    let error = plan(&Snapshot::default(), &Local::new("a")).unwrap_err();
    assert_eq!(error, PlanError::UnknownNode { node: "a".into() });
    assert!(error.to_string().contains("add it"));
}

#[test]
fn the_router_id_is_the_ipv4_address_unless_told() {
    let objects = snapshot("Node kube-master {bgp: {ipv4Address: 10.0.0.1/24}}");
    let id = |router_id| {
        let local = Local {
            router_id,
            ..Local::new("kube-master")
        };
        plan(&objects, &local)
            .unwrap()
            .plan
            .router_id
            .map(|id| id.to_string())
    };
    assert_eq!(id(RouterIdSource::NodeAddress).as_deref(), Some("10.0.0.1"));
    assert_eq!(id(RouterIdSource::Hash).as_deref(), Some("25.79.212.8"));
    let given = RouterIdSource::Given("192.0.2.1".parse().unwrap());
    assert_eq!(id(given).as_deref(), Some("192.0.2.1"));
}

#[test]
fn without_a_router_id_there_are_no_sessions_and_a_finding() {
    let objects = snapshot(
        "Node a {bgp: {ipv6Address: fd00::1/64}}
         Node b {bgp: {ipv6Address: fd00::2/64}}",
    );
    let without = planned(&objects, "a");
    assert!(without.plan.sessions.is_empty());
    assert!(texts(&without.findings)[0].contains("there is no router ID"));
    let local = Local {
        router_id: RouterIdSource::Hash,
        ..Local::new("a")
    };
    assert_eq!(plan(&objects, &local).unwrap().plan.sessions.len(), 1);
}

#[test]
fn settings_of_the_node_come_before_those_of_the_cluster() {
    let objects = "
        Node a {bgp: {asNumber: 65001, ipv4Address: 10.0.0.1/24}}
        Node b {bgp: {ipv4Address: 10.0.0.2/24}}
        BGPConfiguration default {asNumber: 65000, listenPort: 177, bindMode: NodeIP, ipv4NormalRoutePriority: 2000}
        BGPConfiguration node.a {listenPort: 180}";
    let (a, b) = (plan_of(objects, "a"), plan_of(objects, "b"));
    assert_eq!((a.asn.0, a.listen_port), (65001, 180));
    assert_eq!((b.asn.0, b.listen_port), (65000, 177));
    assert_eq!(a.bind, super::Bind::NodeAddresses);
    assert_eq!((a.priorities.ipv4, a.priorities.ipv6), (2000, 1024));
    assert_eq!(
        a.priorities.local_pref(&"10.0.0.0/8".parse().unwrap()),
        2_147_483_647 - 2000
    );
}

#[test]
fn local_pref_and_metric_stand_for_each_other_as_in_calico() {
    for (metric, local_pref) in [(1024, 2_147_482_623), (512, 2_147_483_135)] {
        assert_eq!(super::metric_from_local_pref(local_pref), metric);
        assert_eq!(super::metric_from_local_pref(metric), local_pref);
    }
    assert_eq!(super::metric_from_local_pref(100), 2_147_483_547);
    assert_eq!(super::metric_from_local_pref(u32::MAX), 0);
}

#[test]
fn the_same_objects_in_another_order_give_the_same_plan() {
    let lines = "
        Node a {r: x} {bgp: {ipv4Address: 10.0.0.1/24}}
        Node b {r: x} {bgp: {ipv4Address: 10.0.0.2/24}}
        BGPPeer p {peerIP: 10.0.0.2, asNumber: 64512, ttlSecurity: 1}
        BGPPeer q {nodeSelector: all(), peerSelector: r == 'x'}
        BGPPeer r {peerIP: 10.0.0.2, asNumber: 64512, ttlSecurity: 2}
        IPPool p {cidr: 10.1.0.0/16, vxlanMode: Always}
        BlockAffinity b1 {cidr: 10.1.0.0/26, node: a, state: confirmed}";
    let backwards: Vec<&str> = lines.lines().rev().collect();
    let (one, other) = (snapshot(lines), snapshot(&backwards.join("\n")));
    assert_eq!(planned(&one, "a"), planned(&other, "a"));
}

#[test]
fn windows_plans_have_no_ipv6_no_reflector_and_no_blackholes() {
    let mut objects = snapshot(
        "Node win {bgp: {ipv4Address: 10.0.0.1/24, routeReflectorClusterID: 10.0.0.1, ipv6Address: fd00::1/64}}
         Node lin {bgp: {ipv4Address: 10.0.0.2/24, ipv6Address: fd00::2/64}}
         IPPool four {cidr: 10.1.0.0/16}
         IPPool six {cidr: 'fd01::/64', vxlanMode: Always}
         BlockAffinity four {cidr: 10.1.0.0/26, node: win, state: confirmed}
         BlockAffinity six {cidr: 'fd01::/122', node: win, state: confirmed}",
    );
    let local = Local {
        platform: Platform::Windows,
        ..Local::new("win")
    };
    let windows = plan(&objects, &local).unwrap().plan;
    assert_eq!(windows.cluster_id, None);
    assert_eq!(windows.node_addresses.ipv6, None);
    let peers: Vec<_> = windows.sessions.keys().map(ToString::to_string).collect();
    assert_eq!(peers, ["10.0.0.2:179"]);
    let originations: Vec<_> = windows
        .originations
        .iter()
        .map(|(prefix, o)| (prefix.to_string(), o.blackhole))
        .collect();
    assert_eq!(originations, [("10.1.0.0/26".to_owned(), false)]);
    assert!(!windows.vxlan.ipv6);

    objects.insert(object(
        "IPPool overlay {cidr: 10.2.0.0/16, vxlanMode: CrossSubnet}",
    ));
    let with_overlay = plan(&objects, &local).unwrap();
    assert!(
        with_overlay.plan.sessions.is_empty(),
        "VXLAN excludes BGP on Windows"
    );
    assert!(
        texts(&with_overlay.findings)
            .iter()
            .any(|text| text.contains("excludes BGP on Windows"))
    );
    let mode = with_overlay.plan.vxlan.pools.values().next().unwrap().mode;
    assert_eq!(
        mode,
        crate::model::Encapsulation::Always,
        "there is no CrossSubnet on Windows"
    );
}
