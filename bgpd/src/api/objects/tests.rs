//! Every field of the API's objects has a name that the manifest reader knows.

use cluster::manifest::read_json;
use cluster::model::ObjectKey;

use super::*;

fn metadata(name: &str) -> Option<v1::Metadata> {
    Some(v1::Metadata {
        name: name.to_owned(),
        labels: [("rack".to_owned(), "a".to_owned())].into(),
        annotations: [("note".to_owned(), "b".to_owned())].into(),
    })
}

/// What the reader says about an object: its key, and the problems by field.
fn read(kind: v1::object::Kind) -> (Option<ObjectKey>, Vec<(String, String)>) {
    let manifest = to_manifest(v1::Object { kind: Some(kind) }).unwrap();
    let read = read_json(&manifest);
    let problems = read.errors.into_iter().chain(read.warnings);
    (
        read.object.map(|object| object.key()),
        problems.map(|error| (error.field, error.problem)).collect(),
    )
}

fn is_unknown(problems: &[(String, String)]) -> bool {
    let mut texts = problems.iter().map(|(_, problem)| problem);
    texts.any(|problem| problem.contains("does not know"))
}

#[test]
fn every_field_of_a_node_is_one_that_the_reader_knows() {
    let (key, problems) = read(v1::object::Kind::Node(v1::Node {
        metadata: metadata("a"),
        bgp: Some(v1::NodeBgp {
            as_number: Some(65_001),
            ipv4_address: "192.0.2.1/24".to_owned(),
            ipv6_address: "fd00::1/64".to_owned(),
            route_reflector_cluster_id: "244.0.0.1".to_owned(),
            ipv4_ipip_tunnel_addr: "10.244.0.1".to_owned(),
        }),
        ipv4_vxlan_tunnel_addr: "10.244.0.2".to_owned(),
        vxlan_tunnel_mac_addr: "66:a8:6f:cf:1c:56".to_owned(),
        ipv6_vxlan_tunnel_addr: "fd00:1::2".to_owned(),
        vxlan_tunnel_mac_addr_v6: "66:a8:6f:cf:1c:57".to_owned(),
        addresses: vec![v1::NodeAddress {
            address: "192.0.2.1".to_owned(),
            r#type: "InternalIP".to_owned(),
        }],
    }));
    assert_eq!(key.unwrap().to_string(), "Node \"a\"");
    assert_eq!(problems, []);
}

#[test]
fn every_field_of_a_configuration_is_one_that_the_reader_knows() {
    let (key, problems) = read(v1::object::Kind::BgpConfiguration(v1::BgpConfiguration {
        metadata: metadata("default"),
        log_severity_screen: "Info".to_owned(),
        node_to_node_mesh_enabled: Some(true),
        as_number: Some(64_512),
        service_load_balancer_ips: vec!["10.1.0.0/16".to_owned()],
        service_external_ips: vec!["10.2.0.0/16".to_owned()],
        service_cluster_ips: vec!["10.3.0.0/16".to_owned()],
        service_load_balancer_aggregation: "Enabled".to_owned(),
        communities: vec![v1::NamedCommunity {
            name: "pods".to_owned(),
            value: "64512:100".to_owned(),
        }],
        prefix_advertisements: vec![v1::PrefixAdvertisement {
            cidr: "10.244.0.0/16".to_owned(),
            communities: vec!["pods".to_owned()],
        }],
        listen_port: Some(179),
        node_mesh_password: Some(v1::SecretKeyRef {
            name: "bgp".to_owned(),
            key: "mesh".to_owned(),
        }),
        node_mesh_max_restart_time: Some(120),
        bind_mode: "NodeIP".to_owned(),
        ignored_interfaces: vec!["eth9".to_owned()],
        local_workload_peering_ip_v4: "192.0.2.9".to_owned(),
        local_workload_peering_ip_v6: "fd00::9".to_owned(),
        program_cluster_routes: "Enabled".to_owned(),
        ipv4_normal_route_priority: Some(1024),
        ipv6_normal_route_priority: Some(1024),
    }));
    assert!(!is_unknown(&problems), "{problems:?}");
    // Sessions without the password that was asked for would be worse than none.
    assert_eq!(key, None);
    assert!(
        problems
            .iter()
            .any(|(field, _)| field == "spec.nodeMeshPassword")
    );
}

#[test]
fn every_field_of_a_peer_is_one_that_the_reader_knows() {
    let (_, problems) = read(v1::object::Kind::BgpPeer(v1::BgpPeer {
        metadata: metadata("tor"),
        node: "a".to_owned(),
        node_selector: "all()".to_owned(),
        peer_ip: "192.0.2.2".to_owned(),
        as_number: Some(65_001),
        local_as_number: Some(65_002),
        peer_selector: "all()".to_owned(),
        local_workload_selector: "all()".to_owned(),
        keep_original_next_hop: Some(true),
        next_hop_mode: "Keep".to_owned(),
        password: Some(v1::SecretKeyRef {
            name: "bgp".to_owned(),
            key: "tor".to_owned(),
        }),
        source_address: "None".to_owned(),
        max_restart_time: Some(120),
        keepalive_time: Some(30),
        num_allowed_local_as_numbers: Some(1),
        ttl_security: Some(1),
        reachable_by: "192.0.2.3".to_owned(),
        filters: vec!["none".to_owned()],
        reverse_peering: "Manual".to_owned(),
        hold_time: Some(90),
        connect_retry_time: Some(5),
        passive: Some(true),
        description: "rack a".to_owned(),
    }));
    // Some exclude each other; none is misspelt.
    assert!(!is_unknown(&problems), "{problems:?}");
    assert!(problems.iter().any(|(field, _)| field == "spec.password"));
}

#[test]
fn pools_blocks_and_affinities_are_read_as_they_were_meant() {
    let (key, problems) = read(v1::object::Kind::IpPool(v1::IpPool {
        metadata: metadata("pods"),
        cidr: "10.244.0.0/16".to_owned(),
        vxlan_mode: "Always".to_owned(),
        ipip_mode: "Never".to_owned(),
        nat_outgoing: Some(true),
        disabled: Some(false),
        disable_bgp_export: Some(false),
        block_size: Some(26),
        node_selector: "all()".to_owned(),
        namespace_selector: "all()".to_owned(),
        allowed_uses: vec!["Workload".to_owned()],
        assignment_mode: "Automatic".to_owned(),
    }));
    assert_eq!(problems, []);
    assert_eq!(key.unwrap().name, "pods");

    let (key, problems) = read(v1::object::Kind::IpamBlock(v1::IpamBlock {
        metadata: metadata("10-244-1-0-30"),
        cidr: "10.244.1.0/30".to_owned(),
        affinity: "host:a".to_owned(),
        allocations: vec![0, -1, -1, -1],
        attributes: vec![v1::AllocationAttribute {
            handle_id: "pod-1".to_owned(),
            secondary: [("node".to_owned(), "a".to_owned())].into(),
        }],
        deleted: false,
        affinity_claim_time: Some(std::time::SystemTime::UNIX_EPOCH.into()),
    }));
    assert_eq!(problems, []);
    assert_eq!(key.unwrap().name, "10-244-1-0-30");

    let (key, problems) = read(v1::object::Kind::BlockAffinity(v1::BlockAffinity {
        metadata: metadata("a-10-244-1-0-30"),
        cidr: "10.244.1.0/30".to_owned(),
        node: "a".to_owned(),
        state: "confirmed".to_owned(),
        r#type: "host".to_owned(),
        deleted: false,
    }));
    assert_eq!(problems, []);
    assert_eq!(key.unwrap().name, "a-10-244-1-0-30");
}

#[test]
fn an_object_of_a_newer_client_has_no_kind() {
    assert_eq!(to_manifest(v1::Object { kind: None }), None);
}
