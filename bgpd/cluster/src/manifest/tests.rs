//! What is read, what is refused, and the words for it.

use std::time::Duration;

use routeagg::{AffinityState, Owner, Platform};

use super::{Diagnostic, duplicates, read_json, read_manifest};
use crate::Asn;
use crate::model::{
    Encapsulation, MacAddr, NextHopMode, Object, ProgramClusterRoutes, SecretKeyRef,
};

/// Reads a manifest that has to be right.
fn objects(text: &str) -> Vec<Object> {
    let manifest = read_manifest("test.yaml", text);
    assert_eq!(texts(&manifest.errors), Vec::<String>::new());
    assert_eq!(texts(&manifest.warnings), Vec::<String>::new());
    manifest
        .objects
        .into_iter()
        .map(|object| object.value)
        .collect()
}

fn texts(diagnostics: &[Diagnostic]) -> Vec<String> {
    diagnostics.iter().map(ToString::to_string).collect()
}

/// All messages about a manifest, one a line.
fn messages(text: &str) -> String {
    let manifest = read_manifest("peers.yaml", text);
    let errors = texts(&manifest.errors)
        .into_iter()
        .map(|text| format!("error: {text}\n"));
    let warnings = texts(&manifest.warnings)
        .into_iter()
        .map(|text| format!("warning: {text}\n"));
    let read = manifest
        .objects
        .iter()
        .map(|object| format!("read: {}\n", object.value.key()));
    errors.chain(warnings).chain(read).collect()
}

#[test]
fn a_node_is_read_with_all_its_fields() {
    let text = r#"
apiVersion: projectcalico.org/v3
kind: Node
metadata:
  name: node-1
  uid: 7c1e
  labels:
    kubernetes.io/os: windows
    rack: "1.10"
    zone: 7
spec:
  addresses:
  - address: 10.0.0.1/24
    type: CalicoNodeIP
  - address: 192.0.2.1
    type: InternalIP
  bgp:
    asNumber: 65001
    ipv4Address: 10.0.0.1/24
    ipv4IPIPTunnelAddr: 10.244.0.1
  ipv4VXLANTunnelAddr: 10.244.0.2
  vxlanTunnelMACAddr: 66-a8-6f-cf-1c-56
  ipv6VXLANTunnelAddr: fd00::2
  vxlanTunnelMACAddrV6: 66:59:df:53:8a:d3
  orchRefs:
  - nodeName: node-1
    orchestrator: k8s
  wireguard:
    interfaceIPv4Address: 10.244.0.3
    interfaceIPv6Address: fd00::3
  interfaces:
  - name: eth0
    addresses: [10.0.0.1]
status:
  wireguardPublicKey: abc=
  wireguardPublicKeyV6: def=
  podCIDRs: [10.244.0.0/24]
"#;
    let objects = objects(text);
    let [Object::Node(node)] = objects.as_slice() else {
        panic!("{objects:?}")
    };
    assert_eq!(node.platform(), Platform::Windows);
    assert_eq!(node.metadata.labels["rack"], "1.10");
    assert_eq!(node.metadata.labels["zone"], "7");
    let bgp = node.bgp.as_ref().unwrap();
    assert_eq!(bgp.as_number, Some(Asn(65001)));
    assert_eq!(
        bgp.ipv4_address,
        Some("10.0.0.1/24".parse().unwrap()),
        "the host bits stay"
    );
    assert_eq!(
        bgp.ipv4_ipip_tunnel_addr,
        Some("10.244.0.1".parse().unwrap())
    );
    assert_eq!(
        node.ipv4_vxlan_tunnel_addr,
        Some("10.244.0.2".parse().unwrap())
    );
    assert_eq!(
        node.vxlan_tunnel_mac_addr,
        Some(MacAddr([0x66, 0xa8, 0x6f, 0xcf, 0x1c, 0x56]))
    );
    assert_eq!(
        node.ipv6_vxlan_tunnel_addr,
        Some("fd00::2".parse().unwrap())
    );
    assert_eq!(node.addresses[1].address, "192.0.2.1/32".parse().unwrap());
    assert_eq!(node.orch_refs[0].orchestrator, "k8s");
    let wireguard = node.wireguard.as_ref().unwrap();
    assert_eq!(
        wireguard.interface_ipv6_address,
        Some("fd00::3".parse().unwrap())
    );
    assert_eq!(node.interfaces[0].addresses.len(), 1);
    assert_eq!(node.pod_cidrs, ["10.244.0.0/24".parse().unwrap()]);
    assert_eq!(node.wireguard_public_key_v6.as_deref(), Some("def="));
}

#[test]
fn a_peer_is_read_with_wefts_additions() {
    let text = r#"
apiVersion: crd.projectcalico.org/v1
kind: BGPPeer
metadata: { name: tor-a }
spec:
  nodeSelector: rack == 'a'
  peerIP: "[fd00::1]:1790"
  asNumber: "1.10"
  localASNumber: 65001
  nextHopMode: Self
  sourceAddress: None
  maxRestartTime: 5m
  keepaliveTime: 3s
  numAllowedLocalASNumbers: 1
  ttlSecurity: 1
  reversePeering: Manual
  holdTime: 9s
  connectRetryTime: 1s
  passive: true
  description: rack a, upper
"#;
    let objects = objects(text);
    let [Object::BgpPeer(peer)] = objects.as_slice() else {
        panic!("{objects:?}")
    };
    assert_eq!(peer.as_number, Some(Asn(65546)));
    assert_eq!(peer.peer_ip.unwrap().to_string(), "[fd00::1]:1790");
    assert_eq!(peer.next_hop_mode, Some(NextHopMode::OwnAddress));
    assert_eq!(peer.max_restart_time, Some(Duration::from_secs(300)));
    assert_eq!(peer.hold_time, Some(Duration::from_secs(9)));
    assert_eq!(peer.passive, Some(true));
    assert_eq!(peer.description.as_deref(), Some("rack a, upper"));
}

#[test]
fn a_plain_dotted_as_number_is_not_a_fraction() {
    let text = "{kind: Node, apiVersion: projectcalico.org/v3, metadata: {name: a}, spec: {bgp: {asNumber: 1.10}}}";
    let objects = objects(text);
    let [Object::Node(node)] = objects.as_slice() else {
        panic!("{objects:?}")
    };
    assert_eq!(node.as_number(), Some(Asn(65546)));
}

#[test]
fn blocks_and_affinities_of_both_api_groups_are_read() {
    let text = r#"
apiVersion: crd.projectcalico.org/v1
kind: BlockAffinity
metadata: { name: node-a-10-244-1-64-26 }
spec: { cidr: 10.244.1.64/26, deleted: "false", node: node-a, state: confirmed, type: host }
---
apiVersion: projectcalico.org/v3
kind: BlockAffinity
metadata: { name: node-b-10-244-2-64-26 }
spec: { cidr: 10.244.2.64/26, deleted: true, node: node-b, state: "" }
---
apiVersion: crd.projectcalico.org/v1
kind: IPAMBlock
metadata: { name: 10-244-1-64-30 }
spec:
  cidr: 10.244.1.64/30
  affinity: host:node-a
  strictAffinity: false
  allocations: [0, 1, null, null]
  unallocated: [2, 3]
  attributes:
  - handle_id: k8s-pod-network.aaa
    secondary: { node: node-a, pod: p1, namespace: default }
  - handle_id: k8s-pod-network.bbb
    secondary: { node: node-b, pod: p2, namespace: default }
  sequenceNumber: 1766000000000000003
  sequenceNumberForAllocation: { "0": 1766000000000000001, "1": 1766000000000000002 }
  deleted: false
"#;
    let objects = objects(text);
    let [
        Object::BlockAffinity(first),
        Object::BlockAffinity(second),
        Object::IpamBlock(block),
    ] = objects.as_slice()
    else {
        panic!("{objects:?}")
    };
    assert_eq!(
        (first.state, first.deleted),
        (AffinityState::Confirmed, false)
    );
    assert_eq!(
        (second.state, second.deleted),
        (AffinityState::Legacy, true)
    );
    assert_eq!(block.affinity, Owner::Host("node-a".into()));
    assert_eq!(block.allocations, [Some(0), Some(1), None, None]);
    assert_eq!(block.sequence_number, Some(1_766_000_000_000_000_003));
    assert_eq!(
        block.sequence_number_for_allocation["1"],
        1_766_000_000_000_000_002
    );
    let allocations = block.to_block().allocations;
    assert_eq!(allocations[&1].node.as_deref(), Some("node-b"));
    assert_eq!(allocations.len(), 2);
}

#[test]
fn lists_json_and_empty_documents_are_read() {
    let text = r#"
# nothing here
---
{ "apiVersion": "v1", "kind": "List", "items": [
  { "apiVersion": "projectcalico.org/v3", "kind": "IPPool", "metadata": { "name": "p" },
    "spec": { "cidr": "10.0.0.0/16", "vxlanMode": "CrossSubnet" } },
  { "apiVersion": "projectcalico.org/v3", "kind": "Node", "metadata": { "name": "n" } } ] }
---
---
apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata:
  name: default
spec:
"#;
    let objects = objects(text);
    let [
        Object::IpPool(pool),
        Object::Node(node),
        Object::BgpConfiguration(_),
    ] = objects.as_slice()
    else {
        panic!("{objects:?}")
    };
    assert_eq!(pool.vxlan_mode, Encapsulation::CrossSubnet);
    assert_eq!(node.bgp, None);
}

#[test]
fn json_values_get_the_same_checks_without_lines() {
    let peer = serde_json::json!({
        "kind": "BGPPeer", "apiVersion": "projectcalico.org/v3", "metadata": { "name": "tor-a" },
        "spec": { "peerIP": "10.0.0", "asNumber": 65001 },
    });
    let read = read_json(&peer);
    assert_eq!(read.object, None);
    assert_eq!(
        read.errors[0].to_string(),
        "spec.peerIP: \"10.0.0\" is not an IP address; write for example 192.0.2.1 or [fd00::1]:179"
    );
    assert_eq!(read.errors.len(), 1, "what follows from it is not repeated");
}

#[test]
fn the_example_of_the_brief_reads_as_it_should() {
    let text = "apiVersion: projectcalico.org/v3\nkind: BGPPeer\nmetadata:\n  name: tor-a\nspec:\n  peerIP: 10.0.0\n  asNumber: 65001\n";
    insta::assert_snapshot!(messages(text), @"error: peers.yaml:6: BGPPeer \"tor-a\": spec.peerIP: \"10.0.0\" is not an IP address; write for example 192.0.2.1 or [fd00::1]:179");
}

#[test]
fn wrong_values_are_all_reported_with_line_and_remedy() {
    insta::assert_snapshot!(messages(
        r#"apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata:
  name: tor-a
spec:
  node: node-1
  nodeSelector: rack = 'a'
  peerIP: 10.0.0.1:99999
  asNumber: -5
  localASNumber: 0
  nextHopMode: self
  maxRestartTime: 90
  keepaliveTime: soon
  numAllowedLocalASNumbers: "1"
  ttlSecurity: 256
  passive: "yes"
  reachableBy: gateway
  filters: accept
  sourceAddress: [UseNodeIP]
---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata:
  name: pool
spec:
  cidr: 10.244.0.1/16
  blockSize: 33
  ipipMode: Always
  vxlanMode: Always
  allowedUses: [Workload, Tunnels]
---
apiVersion: projectcalico.org/v3
kind: Node
metadata:
  labels: {kubernetes.io/os: windows}
spec:
  bgp:
    ipv4Address: fd00::1/64
    ipv6Address: fd00::1/64
    routeReflectorClusterID: 10.0.0
  vxlanTunnelMACAddr: 01:00:00:00:00:01
---
apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata:
  name: global
spec:
  listenPort: 0
  logSeverityScreen: loud
  nodeToNodeMeshEnabled: "false"
  communities:
  - {name: a, value: 1:2:3:4}
  prefixAdvertisements:
  - cidr: 10.0.0.0/33
  serviceClusterIPs: 10.96.0.0/12
"#
    ));
}

#[test]
fn rules_within_one_object_are_checked() {
    insta::assert_snapshot!(messages(
        r#"apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: {name: both}
spec:
  node: a
  nodeSelector: all()
  peerIP: 10.0.0.1
  peerSelector: all()
  keepOriginalNextHop: true
  nextHopMode: Keep
  reachableBy: fd00::1
---
apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: {name: neither}
spec: {asNumber: 65001, holdTime: 2s}
---
apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: {name: timers}
spec: {peerSelector: all(), asNumber: 65001, holdTime: 9s, keepaliveTime: 4s, maxRestartTime: 2h, connectRetryTime: 0s}
---
apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {name: default}
spec:
  nodeToNodeMeshEnabled: false
  nodeMeshMaxRestartTime: 60s
  communities: [{name: a, value: '1:2'}, {name: a, value: '1:3'}]
  prefixAdvertisements: [{cidr: 10.0.0.0/8, communities: [a, b, '70000:1']}]
---
apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {name: node.a}
spec: {communities: [{name: a, value: '1:2'}], asNumber: 65001}
---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: services}
spec: {cidr: 10.0.0.0/24, allowedUses: [LoadBalancer, Workload], vxlanMode: Always, disableBGPExport: true}
---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: v6}
spec: {cidr: 'fe80::/123', ipipMode: Always, allowedUses: [Tunnel], namespaceSelector: all()}
---
apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: win}
spec: {platform: windows, bgp: {ipv4Address: 0.0.0.0, ipv6Address: fd00::1/64, routeReflectorClusterID: 0.0.0.0, asNumber: 23456}}
---
apiVersion: crd.projectcalico.org/v1
kind: IPAMBlock
metadata: {name: b}
spec: {cidr: 10.0.0.1/31, affinity: node-a, allocations: [0, 1, null], attributes: [{}]}
---
apiVersion: crd.projectcalico.org/v1
kind: BlockAffinity
metadata: {name: a}
spec: {cidr: 10.0.0.0/26, state: Confirmed, deleted: maybe}
"#
    ));
}

#[test]
fn what_would_be_weakened_by_ignoring_it_is_refused() {
    insta::assert_snapshot!(messages(
        r#"apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: {name: tor}
spec:
  peerIP: 10.0.0.1
  asNumber: 65001
  password: {secretKeyRef: {name: bgp, key: tor}}
  filters: [only-default]
---
apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: {name: workloads}
spec:
  localWorkloadSelector: app == 'bird'
  asNumber: 65001
---
apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {name: default}
spec:
  nodeMeshPassword: {secretKeyRef: {name: bgp, key: mesh}}
---
apiVersion: projectcalico.org/v3
kind: BGPFilter
metadata: {name: only-default}
spec: {exportV4: [{action: Reject}]}
"#
    ));
}

#[test]
fn unknown_and_ineffective_fields_are_named() {
    insta::assert_snapshot!(messages(
        r#"kind: BGPPeer
metadata: {name: tor, finalizers: [x]}
spec:
  peerIp: 10.0.0.2
  peerIP: 10.0.0.1
  asNumber: 65001
  reachableBy: 10.0.0.254
  bfd: {enabled: true}
extra: 1
---
apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {name: default}
spec:
  logSeverityScreen: info
  serviceClusterIPs: [{cidr: 10.96.0.0/12}, {}]
  ignoredInterfaces: [docker*]
---
apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {name: node.a}
spec: {asNumber: 65001, nodeToNodeMeshEnabled: true, listenPort: 180}
---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: pool}
spec: {cidr: 10.0.0.0/16, ipipMode: CrossSubnet}
---
apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: n, labels: {rr: yes, spine: true}}
---
apiVersion: crd.projectcalico.org/v1
kind: IPAMBlock
metadata: {name: b}
spec: {cidr: 10.0.0.0/31, allocations: [0, 1], attributes: [{handle_id: x}]}
"#
    ));
}

#[test]
fn a_broken_document_does_not_hide_the_others() {
    insta::assert_snapshot!(messages(
        r#"apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: first}
---
kind: [
---
apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: second}
spec:
  bgp:
    asNumber: 65001
    asNumber: 65002
---
just text
---
- a
- list
---
apiVersion: v1
kind: Node
metadata: {name: third}
---
apiVersion: projectcalico.org/v3
metadata: {name: no-kind}
---
apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: first}
---
apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: last}
"#
    ));
}

#[test]
fn of_two_equal_names_on_one_line_only_the_second_is_dropped() {
    let item = |name| {
        format!("{{kind: Node, apiVersion: projectcalico.org/v3, metadata: {{name: {name}}}}}")
    };
    let text = format!(
        "{{kind: NodeList, items: [{}, {}, {}]}}",
        item("a"),
        item("a"),
        item("b")
    );
    let manifest = read_manifest("one.yaml", &text);
    let names: Vec<_> = manifest
        .objects
        .iter()
        .map(|object| object.value.key().name)
        .collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(manifest.errors.len(), 1);
}

#[test]
fn names_that_look_like_truth_values_stay_names() {
    let text = "{kind: Node, apiVersion: projectcalico.org/v3, metadata: {name: n}}";
    assert_eq!(objects(text)[0].metadata().name, "n");
}

#[test]
fn duplicates_are_found_across_files() {
    let text = "{kind: Node, apiVersion: projectcalico.org/v3, metadata: {name: a}}";
    let mut objects = read_manifest("one.yaml", text).objects;
    objects.extend(read_manifest("two.yaml", text).objects);
    assert_eq!(
        texts(&duplicates(&objects)),
        [
            "two.yaml:1: Node \"a\": metadata.name: is already defined at one.yaml:1; rename or remove one of the two"
        ]
    );
}

#[test]
fn secrets_and_choices_keep_their_values_in_json() {
    let configuration = serde_json::json!({
        "kind": "BGPConfiguration", "metadata": { "name": "default" },
        "spec": {
            "programClusterRoutes": "EnabledIPIPOnly",
            "nodeMeshPassword": { "secretKeyRef": { "name": "bgp", "key": "mesh" } },
        },
    });
    let tree = super::Tree::from(&configuration);
    let object = super::kinds::read(&tree, &super::Sink::default());
    let Some(Object::BgpConfiguration(read)) = object else {
        panic!("{object:?}")
    };
    assert_eq!(
        read.program_cluster_routes,
        Some(ProgramClusterRoutes::EnabledIpipOnly)
    );
    let secret = SecretKeyRef {
        name: "bgp".into(),
        key: "mesh".into(),
    };
    assert_eq!(read.node_mesh_password, Some(secret));
}

#[test]
fn hostile_yaml_is_refused_and_does_not_hang() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n\
                c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n\
                e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n\
                g: [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\n";
    let deep = format!("a: {}", "[".repeat(10_000));
    for text in [
        bomb,
        deep.as_str(),
        "\0",
        "a: !!binary x",
        "? {a: b}\n: c",
        "%YAML 9.9\n---\na",
    ] {
        let manifest = read_manifest("hostile.yaml", text);
        assert!(
            manifest.objects.is_empty() && !manifest.errors.is_empty(),
            "{text:.40}"
        );
    }
}
