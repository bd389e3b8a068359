//! What two nodes plan for each other fits together, in random clusters.

use std::net::IpAddr;

use proptest::prelude::*;

use super::{planned, snapshot};
use crate::Snapshot;
use crate::plan::{Plan, SessionKey};

/// A node as a line: every attribute that sessions depend on.
fn nodes() -> impl Strategy<Value = Vec<String>> {
    let asn = prop::option::weighted(0.3, 65001_u32..65003);
    let cluster = prop::option::weighted(0.3, 1_u8..3);
    let attributes = (asn, cluster, any::<bool>(), any::<bool>(), any::<bool>());
    prop::collection::vec(attributes, 2..6).prop_map(|nodes| {
        let line = |(index, attributes): (usize, _)| {
            let (asn, cluster, ipv6, rack, spine): (Option<u32>, Option<u8>, bool, bool, bool) =
                attributes;
            // 9, 10, 11 ...: so that order as text and as number differ.
            let host = 9 + index;
            let mut bgp = vec![format!("ipv4Address: 10.0.0.{host}/24")];
            bgp.extend(asn.map(|asn| format!("asNumber: {asn}")));
            bgp.extend(cluster.map(|id| format!("routeReflectorClusterID: 244.0.0.{id}")));
            bgp.extend(ipv6.then(|| format!("ipv6Address: 'fd00::{host}/64'")));
            let mut labels = vec!["all: x"];
            labels.extend(rack.then_some("rack: a"));
            labels.extend(spine.then_some("spine: x"));
            format!(
                "Node n{host} {{{}}} {{bgp: {{{}}}}}",
                labels.join(", "),
                bgp.join(", ")
            )
        };
        nodes.into_iter().enumerate().map(line).collect()
    })
}

fn selectors() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["all()", "has(rack)", "has(spine)", "!has(spine)"])
}

/// Who peers with whom; what the session is like is left to the caller.
fn peers() -> impl Strategy<Value = String> {
    let from = prop::option::of(selectors()).prop_map(|selector| match selector {
        Some(selector) => format!("nodeSelector: '{selector}', "),
        None => String::new(),
    });
    let to = prop_oneof![
        selectors().prop_map(|selector| format!("peerSelector: '{selector}'")),
        (9_u8..14).prop_map(|host| format!("peerIP: 10.0.0.{host}, asNumber: 64512")),
        (9_u8..14).prop_map(|host| format!("peerIP: 'fd00::{host}', asNumber: 64512")),
    ];
    (from, to).prop_map(|(from, to)| from + &to)
}

fn configurations() -> impl Strategy<Value = String> {
    (any::<bool>(), prop::option::of(170_u16..175)).prop_map(|(mesh, port)| {
        let port = port.map(|port| format!("\nBGPConfiguration node.n10 {{listenPort: {port}}}"));
        format!(
            "BGPConfiguration default {{nodeToNodeMeshEnabled: {mesh}}}{}",
            port.unwrap_or_default()
        )
    })
}

/// Every session of every node, looked at from the other end.
fn check(objects: &Snapshot) -> Result<(), TestCaseError> {
    let plans: Vec<Plan> = objects
        .nodes
        .keys()
        .map(|name| planned(objects, name).plan)
        .collect();
    let owner = |address: IpAddr| {
        let owns = |plan: &&Plan| {
            plan.node_addresses.ipv4_address().map(IpAddr::V4) == Some(address)
                || plan.node_addresses.ipv6_address().map(IpAddr::V6) == Some(address)
        };
        plans.iter().find(owns)
    };
    for plan in &plans {
        for (key, session) in &plan.sessions {
            let Some(own) = session.source_address else {
                continue;
            };
            let Some(other) = owner(key.address) else {
                continue;
            };
            if session.remote_asn != other.asn && session.name.matches('/').count() == 1 {
                // By address, with an AS number that the node does not have: reported, not answered.
                continue;
            }
            prop_assert_ne!(&plan.node, &other.node, "a session with itself");
            prop_assert_eq!(key.port, other.listen_port);
            let back = other.sessions.get(&SessionKey {
                address: own,
                port: plan.listen_port,
            });
            let Some(back) = back else {
                return Err(TestCaseError::fail(format!(
                    "{} has {} but {} does not answer",
                    plan.node, session.name, other.node
                )));
            };
            prop_assert_eq!(
                session.remote_asn,
                back.local_asn,
                "{} {}",
                plan.node,
                session.name
            );
            prop_assert!(
                !(session.passive && back.passive),
                "both wait: {} {}",
                session.name,
                back.name
            );
            prop_assert_eq!(&session.families, &back.families);
            prop_assert_eq!(session.ttl_security, back.ttl_security);
            let both_clients = session.reflector_client && back.reflector_client;
            prop_assert!(!both_clients || plan.cluster_id != other.cluster_id);
            if plan.cluster_id.is_none() {
                prop_assert!(!session.reflector_client);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn both_ends_of_every_session_agree(
        nodes in nodes(),
        peers in prop::collection::vec(peers(), 0..4),
        configuration in configurations(),
    ) {
        let peers = peers.iter().enumerate().map(|(i, spec)| format!("BGPPeer p{i} {{{spec}}}"));
        let lines: Vec<String> = nodes.into_iter().chain(peers).chain([configuration]).collect();
        check(&snapshot(&lines.join("\n")))?;
    }

    /// Settings that both ends see, from one object, so that the ends cannot follow different ones.
    #[test]
    fn both_ends_agree_about_local_as_ttl_and_who_waits(
        nodes in nodes(),
        peer in peers(),
        local_asn in prop::option::of(65010_u32..65012),
        passive in prop::option::of(any::<bool>()),
    ) {
        let local_asn = local_asn.map(|asn| format!(", localASNumber: {asn}")).unwrap_or_default();
        let passive = passive.map(|passive| format!(", passive: {passive}")).unwrap_or_default();
        let peer = format!("BGPPeer p {{{peer}, ttlSecurity: 2{local_asn}{passive}}}");
        let off = "BGPConfiguration default {nodeToNodeMeshEnabled: false}".to_owned();
        let lines: Vec<String> = nodes.into_iter().chain([peer, off]).collect();
        check(&snapshot(&lines.join("\n")))?;
    }
}
