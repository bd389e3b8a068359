//! Which sessions there are, with which settings, and which object wins.

use super::{object, plan_of, planned, snapshot, texts};
use crate::model::{NextHopMode, SecretKeyRef};
use crate::plan::{Plan, SessionKey, SessionKind, SessionPlan};

/// Sessions as `PEER kind LOCAL-AS/REMOTE-AS flags`.
fn sessions(plan: &Plan) -> Vec<String> {
    let show = |(key, session): (&SessionKey, &SessionPlan)| {
        let mut text = format!(
            "{key} {} {}/{}",
            session.name, session.local_asn, session.remote_asn
        );
        for (flag, set) in [
            ("passive", session.passive),
            ("client", session.reflector_client),
        ] {
            if set {
                text += " ";
                text += flag;
            }
        }
        text
    };
    plan.sessions.iter().map(show).collect()
}

#[test]
fn a_mesh_peer_without_an_as_has_the_clusters_not_ours() {
    let objects = "
        BGPConfiguration default {asNumber: 65000}
        Node a {bgp: {ipv4Address: 10.0.0.1/24, asNumber: 65001}}
        Node b {bgp: {ipv4Address: 10.0.0.2/24}}
        Node c {bgp: {ipv4Address: 10.0.0.3/24, asNumber: 65003}}";
    assert_eq!(
        sessions(&plan_of(objects, "a")),
        [
            "10.0.0.2:179 mesh/b 65001/65000 passive",
            "10.0.0.3:179 mesh/c 65001/65003 passive"
        ]
    );
    assert_eq!(
        sessions(&plan_of(objects, "b")),
        [
            "10.0.0.1:179 mesh/a 65000/65001",
            "10.0.0.3:179 mesh/c 65000/65003 passive"
        ]
    );
}

#[test]
fn mesh_addresses_are_compared_as_text() {
    let objects = "
        Node nine {bgp: {ipv4Address: 10.0.0.9/24, ipv6Address: 'fd00::9/64'}}
        Node ten {bgp: {ipv4Address: 10.0.0.10/24, ipv6Address: 'fd00::10/64'}}";
    // "10.0.0.9" > "10.0.0.10" and "fd00::9" > "fd00::10".
    let ten = plan_of(objects, "ten");
    assert!(ten.sessions.values().all(|session| session.passive));
    let nine = plan_of(objects, "nine");
    assert_eq!(nine.sessions.len(), 2);
    assert!(!nine.sessions.values().any(|session| session.passive));
}

#[test]
fn a_reflector_leaves_the_mesh_in_both_directions() {
    let objects = "
        Node a {bgp: {ipv4Address: 10.0.0.1/24}}
        Node b {bgp: {ipv4Address: 10.0.0.2/24}}
        Node rr {bgp: {ipv4Address: 10.0.0.3/24, routeReflectorClusterID: 244.0.0.1}}";
    assert_eq!(
        sessions(&plan_of(objects, "a")),
        ["10.0.0.2:179 mesh/b 64512/64512 passive"]
    );
    let reflector = planned(&snapshot(objects), "rr");
    assert!(reflector.plan.sessions.is_empty());
    assert!(texts(&reflector.findings)[0].contains("takes no part in the mesh"));
}

#[test]
fn reflector_clients_are_internal_peers_outside_of_the_own_cluster() {
    let objects = "
        BGPConfiguration default {nodeToNodeMeshEnabled: false}
        Node a {bgp: {ipv4Address: 10.0.0.1/24}}
        Node rr1 {rr: x} {bgp: {ipv4Address: 10.0.0.11/24, routeReflectorClusterID: 244.0.0.1}}
        Node rr2 {rr: x} {bgp: {ipv4Address: 10.0.0.12/24, routeReflectorClusterID: 244.0.0.1}}
        Node rr3 {rr: x} {bgp: {ipv4Address: 10.0.0.13/24, routeReflectorClusterID: 244.0.0.2}}
        BGPPeer all-to-rr {nodeSelector: all(), peerSelector: has(rr)}
        BGPPeer tor {node: rr1, peerIP: 10.0.0.254, asNumber: 65001}
        BGPPeer same-as {node: rr1, peerIP: 10.0.0.253, asNumber: 64512}";
    assert_eq!(
        sessions(&plan_of(objects, "rr1")),
        [
            "10.0.0.1:179 reverse/all-to-rr/a 64512/64512 client",
            "10.0.0.12:179 peer/all-to-rr/rr2 64512/64512",
            "10.0.0.13:179 peer/all-to-rr/rr3 64512/64512 client",
            "10.0.0.253:179 peer/same-as 64512/64512 client",
            "10.0.0.254:179 peer/tor 64512/65001",
        ]
    );
    assert!(
        !plan_of(objects, "a")
            .sessions
            .values()
            .any(|session| session.reflector_client)
    );
}

#[test]
fn a_reflector_named_by_address_keeps_its_cluster() {
    let objects = "
        Node rr1 {bgp: {ipv4Address: 10.0.0.11/24, routeReflectorClusterID: 244.0.0.1}}
        Node rr2 {bgp: {ipv4Address: 10.0.0.12/24, routeReflectorClusterID: 244.0.0.1}}
        BGPPeer rr {node: rr1, peerIP: 10.0.0.12, asNumber: 64512}";
    assert_eq!(
        sessions(&plan_of(objects, "rr1")),
        ["10.0.0.12:179 peer/rr 64512/64512"]
    );
    assert_eq!(
        sessions(&plan_of(objects, "rr2")),
        ["10.0.0.11:179 reverse/rr/rr1 64512/64512"]
    );
}

#[test]
fn a_local_as_is_expected_by_the_other_end() {
    let objects = "
        BGPConfiguration default {nodeToNodeMeshEnabled: false}
        Node a {r: a} {bgp: {ipv4Address: 10.0.0.1/24}}
        Node b {r: b} {bgp: {ipv4Address: 10.0.0.2/24}}
        BGPPeer p {nodeSelector: r == 'a', peerSelector: r == 'b', localASNumber: 65001}";
    assert_eq!(
        sessions(&plan_of(objects, "a")),
        ["10.0.0.2:179 peer/p/b 65001/64512"]
    );
    assert_eq!(
        sessions(&plan_of(objects, "b")),
        ["10.0.0.1:179 reverse/p/a 64512/65001"]
    );
    let mutual = objects.replace(
        "nodeSelector: r == 'a', peerSelector: r == 'b'",
        "peerSelector: has(r)",
    );
    assert_eq!(
        sessions(&plan_of(&mutual, "a")),
        ["10.0.0.2:179 peer/p/b 65001/65001"]
    );
    assert_eq!(
        sessions(&plan_of(&mutual, "b")),
        ["10.0.0.1:179 peer/p/a 65001/65001"]
    );
}

#[test]
fn not_both_ends_wait_when_a_peer_is_passive() {
    let objects = "
        BGPConfiguration default {nodeToNodeMeshEnabled: false}
        Node a {bgp: {ipv4Address: 10.0.0.1/24}}
        Node b {bgp: {ipv4Address: 10.0.0.2/24}}
        BGPPeer p {peerSelector: all(), passive: true}";
    assert_eq!(
        sessions(&plan_of(objects, "a")),
        ["10.0.0.2:179 peer/p/b 64512/64512 passive"]
    );
    assert_eq!(
        sessions(&plan_of(objects, "b")),
        ["10.0.0.1:179 peer/p/a 64512/64512"]
    );
}

#[test]
fn manual_peerings_are_not_answered() {
    let objects = "
        BGPConfiguration default {nodeToNodeMeshEnabled: false}
        Node a {bgp: {ipv4Address: 10.0.0.1/24}}
        Node b {bgp: {ipv4Address: 10.0.0.2/24}}
        BGPPeer p {node: a, peerIP: 10.0.0.2, asNumber: 64512, reversePeering: Manual}";
    assert_eq!(plan_of(objects, "a").sessions.len(), 1);
    assert!(plan_of(objects, "b").sessions.is_empty());
}

#[test]
fn only_a_peer_with_our_as_and_port_means_us() {
    let answers = |spec: &str| {
        let objects = format!(
            "BGPConfiguration default {{nodeToNodeMeshEnabled: false}}
             BGPConfiguration node.b {{listenPort: 180}}
             Node a {{bgp: {{ipv4Address: 10.0.0.1/24}}}}
             Node b {{bgp: {{ipv4Address: 10.0.0.2/24}}}}
             BGPPeer p {{node: a, {spec}}}"
        );
        !plan_of(&objects, "b").sessions.is_empty()
    };
    assert!(answers("peerIP: 10.0.0.2, asNumber: 64512"));
    assert!(answers("peerIP: '10.0.0.2:180', asNumber: 64512"));
    assert!(answers("peerIP: 10.0.0.2"));
    assert!(!answers("peerIP: '10.0.0.2:179', asNumber: 64512"));
    assert!(!answers("peerIP: 10.0.0.2, asNumber: 65001"));
    assert!(!answers("peerIP: 10.0.0.3, asNumber: 64512"));
}

#[test]
fn the_port_of_a_node_is_the_one_it_listens_on() {
    let objects = "
        BGPConfiguration default {listenPort: 177}
        BGPConfiguration node.b {listenPort: 180}
        Node a {bgp: {ipv4Address: 10.0.0.1/24}}
        Node b {bgp: {ipv4Address: 10.0.0.2/24}}
        Node c {bgp: {ipv4Address: 10.0.0.3/24}}
        BGPPeer tor {peerIP: 10.0.0.254, asNumber: 65001}
        BGPPeer b {peerIP: 10.0.0.2, asNumber: 64512, nodeSelector: all()}";
    let plan = plan_of(objects, "a");
    let keys: Vec<String> = plan.sessions.keys().map(ToString::to_string).collect();
    assert_eq!(keys, ["10.0.0.2:180", "10.0.0.3:177", "10.0.0.254:179"]);
}

#[test]
fn global_comes_before_node_before_reverse_before_mesh() {
    let mut objects = snapshot(
        "Node a {bgp: {ipv4Address: 10.0.0.1/24}}
         Node b {bgp: {ipv4Address: 10.0.0.2/24}}",
    );
    let kind = |objects: &crate::Snapshot| {
        let plan = planned(objects, "a").plan;
        plan.sessions
            .values()
            .map(|session| session.kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(kind(&objects), [SessionKind::Mesh]);
    objects.insert(object(
        "BGPPeer reverse {node: b, peerIP: 10.0.0.1, asNumber: 64512}",
    ));
    assert_eq!(kind(&objects), [SessionKind::Reverse]);
    objects.insert(object(
        "BGPPeer node {node: a, peerIP: 10.0.0.2, asNumber: 64512}",
    ));
    assert_eq!(kind(&objects), [SessionKind::Node]);
    objects.insert(object("BGPPeer global {peerIP: 10.0.0.2, asNumber: 64512}"));
    assert_eq!(kind(&objects), [SessionKind::Global]);
    assert_eq!(
        planned(&objects, "a").findings,
        [],
        "they agree about the session"
    );
}

#[test]
fn a_disagreement_about_a_session_is_reported_and_the_first_name_wins() {
    let objects = snapshot(
        "Node a {bgp: {ipv4Address: 10.0.0.1/24}}
         BGPPeer beta {peerIP: 10.0.0.254, asNumber: 65002}
         BGPPeer alpha {peerIP: 10.0.0.254, asNumber: 65001}",
    );
    let planned = planned(&objects, "a");
    assert_eq!(
        sessions(&planned.plan),
        ["10.0.0.254:179 peer/alpha 64512/65001"]
    );
    assert_eq!(
        texts(&planned.findings),
        [
            "warning: BGPPeer \"beta\": asks for the session with 10.0.0.254:179 that peer/alpha defines with other \
          settings: the latter counts; remove one of the two, or make their settings equal"
        ]
    );
}

#[test]
fn a_peer_without_as_number_has_no_session_unless_it_is_a_node() {
    let objects = snapshot(
        "BGPConfiguration default {nodeToNodeMeshEnabled: false, asNumber: 65000}
         Node a {bgp: {ipv4Address: 10.0.0.1/24}}
         Node b {bgp: {ipv4Address: 10.0.0.2/24}}
         BGPPeer b {node: a, peerIP: 10.0.0.2}
         BGPPeer tor {node: a, peerIP: 10.0.0.254}",
    );
    let planned = planned(&objects, "a");
    assert_eq!(sessions(&planned.plan), ["10.0.0.2:179 peer/b 65000/65000"]);
    assert!(texts(&planned.findings)[0].starts_with(
        "error: BGPPeer \"tor\": spec.asNumber: is missing: the AS of 10.0.0.254 is not known"
    ));
}

#[test]
fn what_is_not_supported_makes_no_session() {
    let secret = || {
        Some(SecretKeyRef {
            name: "s".into(),
            key: "k".into(),
        })
    };
    let mut objects = snapshot(
        "Node a {bgp: {ipv4Address: 10.0.0.1/24}}
         Node b {bgp: {ipv4Address: 10.0.0.2/24}}
         BGPPeer tor {peerIP: 10.0.0.254, asNumber: 65001}
         BGPConfiguration default",
    );
    assert_eq!(planned(&objects, "a").plan.sessions.len(), 2);
    // Past validation, as a caller that forgot it would.
    objects.bgp_peers.get_mut("tor").unwrap().password = secret();
    objects
        .bgp_configurations
        .get_mut("default")
        .unwrap()
        .node_mesh_password = secret();
    let closed = planned(&objects, "a");
    assert!(closed.plan.sessions.is_empty());
    let texts = texts(&closed.findings);
    assert!(
        texts
            .iter()
            .any(|text| text.contains("spec.password: is not supported")),
        "{texts:?}"
    );
    assert!(
        texts
            .iter()
            .any(|text| text.contains("spec.nodeMeshPassword")),
        "{texts:?}"
    );
}

#[test]
fn next_hops_timers_and_options_are_taken_over() {
    let one = |spec: &str| {
        let peer = format!("BGPPeer p {{peerIP: 10.0.0.254, {spec}}}");
        let objects = format!("Node a {{bgp: {{ipv4Address: 10.0.0.1/24}}}}\n{peer}");
        plan_of(&objects, "a")
            .sessions
            .into_values()
            .next()
            .unwrap()
    };
    let default = one("asNumber: 65001");
    assert_eq!((default.hold_time, default.keepalive), (90, 30));
    assert_eq!((default.connect_retry, default.restart_time), (5, 120));
    assert_eq!(default.next_hop_mode, NextHopMode::Auto);
    assert_eq!(default.source_address, Some("10.0.0.1".parse().unwrap()));

    assert_eq!(
        one("asNumber: 65001, keepOriginalNextHop: true").next_hop_mode,
        NextHopMode::Keep
    );
    let internal = one("asNumber: 64512, keepOriginalNextHop: true");
    assert_eq!(internal.next_hop_mode, NextHopMode::Auto, "for eBGP only");
    assert_eq!(
        one("asNumber: 64512, nextHopMode: Keep").next_hop_mode,
        NextHopMode::Keep
    );

    let slow = one("asNumber: 65001, keepaliveTime: 60s");
    assert_eq!(
        (slow.hold_time, slow.keepalive),
        (180, 60),
        "the hold time grows with it"
    );
    let fast = one("asNumber: 65001, holdTime: 9s");
    assert_eq!((fast.hold_time, fast.keepalive), (9, 3));
    let never = one("asNumber: 65001, holdTime: 0s, keepaliveTime: 10s");
    assert_eq!((never.hold_time, never.keepalive), (0, 0));

    let rest = one(
        "asNumber: 65001, sourceAddress: None, maxRestartTime: 5m, numAllowedLocalASNumbers: 2, ttlSecurity: 0, \
         connectRetryTime: 1s, description: upper",
    );
    assert_eq!((rest.source_address, rest.ttl_security), (None, None));
    assert_eq!(
        (rest.restart_time, rest.allow_own_asn, rest.connect_retry),
        (300, 2, 1)
    );
    assert_eq!(rest.description.as_deref(), Some("upper"));
}

#[test]
fn each_address_family_has_sessions_of_its_own() {
    let objects = snapshot(
        "Node a {bgp: {ipv4Address: 10.0.0.1/24}}
         Node b {bgp: {ipv4Address: 10.0.0.2/24, ipv6Address: 'fd00::2/64'}}
         BGPPeer six {peerIP: 'fd00::fe', asNumber: 65001}",
    );
    let four = planned(&objects, "a");
    assert_eq!(
        sessions(&four.plan),
        ["10.0.0.2:179 mesh/b 64512/64512 passive"]
    );
    assert!(texts(&four.findings)[0].contains("a has no IPv6 address: no session with fd00::fe"));
    let both = planned(&objects, "b").plan;
    let families: Vec<String> = both
        .sessions
        .iter()
        .map(|(key, session)| format!("{key} {:?}", session.families))
        .collect();
    assert_eq!(families, ["10.0.0.1:179 {Ipv4}", "[fd00::fe]:179 {Ipv6}"]);
}

#[test]
fn an_as_number_that_is_not_the_nodes_is_reported() {
    let objects = snapshot(
        "Node a {bgp: {ipv4Address: 10.0.0.1/24}}
         Node b {bgp: {ipv4Address: 10.0.0.2/24, asNumber: 65002}}
         BGPPeer b {node: a, peerIP: 10.0.0.2, asNumber: 65001}",
    );
    let texts = texts(&planned(&objects, "a").findings);
    assert!(
        texts[0].contains("expects AS 65001 of node b, whose AS is 65002"),
        "{texts:?}"
    );
}
