//! The cluster as Calico resources: what the lab's weftds read.

use std::net::IpAddr;

use ipnet::IpNet;

use super::plan::{
    INTERNET_V4, INTERNET_V6, NODE_ASN, Node, POOL_V4, POOL_V6, POOL_VXLAN, Plan, TOR_ASN, TOR_V4,
    TOR_V6,
};
use crate::manifest::{block, join, node, quoted, resource};

/// The files that all nodes read: (name, YAML).
pub fn cluster(plan: &Plan) -> Vec<(String, String)> {
    let bgp = [
        bgp_configuration(NODE_ASN, true),
        bgp_peer("tor", TOR_V4.into(), TOR_ASN, "the ToR"),
        bgp_peer("tor-v6", TOR_V6.into(), TOR_ASN, "the ToR over IPv6"),
    ];
    let pools = [
        ip_pool("plain", &format!("{POOL_V4}/16"), 26, "vxlanMode: Never"),
        ip_pool(
            "plain-v6",
            &format!("{POOL_V6}/48"),
            122,
            "vxlanMode: Never",
        ),
        // Nobody outside can reach an overlay's addresses, so they are not announced; Felix would hide them by NAT.
        ip_pool(
            "overlay",
            &format!("{POOL_VXLAN}/16"),
            26,
            "vxlanMode: Always\ndisableBGPExport: true",
        ),
    ];
    let nodes: Vec<String> = plan.nodes.iter().map(cluster_node).collect();
    let blocks: Vec<String> = plan
        .nodes
        .iter()
        .flat_map(|node| {
            node.blocks()
                .map(|(cidr, allocations)| block(&node.name, cidr, &allocations))
        })
        .collect();
    vec![
        ("bgp.yaml".to_owned(), join(&bgp)),
        ("pools.yaml".to_owned(), join(&pools)),
        ("nodes.yaml".to_owned(), join(&nodes)),
        ("blocks.yaml".to_owned(), join(&blocks)),
    ]
}

/// The files of a ToR that is a weft itself.
pub fn tor(plan: &Plan) -> Vec<(String, String)> {
    let (v4, v6) = (format!("{TOR_V4}/16"), format!("{TOR_V6}/64"));
    let mut resources = vec![
        bgp_configuration(TOR_ASN, false),
        node("tor", Some(&v4), Some(&v6), ""),
    ];
    for (name, address, size) in [
        ("internet", IpAddr::from(INTERNET_V4), 26),
        ("internet-v6", INTERNET_V6.into(), 122),
    ] {
        let cidr = IpNet::new_assert(address, size).trunc();
        resources.push(ip_pool(name, &cidr.to_string(), size, "vxlanMode: Never"));
        resources.push(block("tor", cidr, &[]));
    }
    for node in &plan.nodes {
        resources.push(bgp_peer(&node.name, node.ipv4.into(), NODE_ASN, &node.name));
        let name = format!("{}-v6", node.name);
        resources.push(bgp_peer(&name, node.ipv6.into(), NODE_ASN, &node.name));
    }
    vec![("tor.yaml".to_owned(), join(&resources))]
}

fn bgp_configuration(asn: u32, mesh: bool) -> String {
    let spec = format!("asNumber: {asn}\nnodeToNodeMeshEnabled: {mesh}");
    resource("BGPConfiguration", "default", &spec)
}

fn bgp_peer(name: &str, address: IpAddr, asn: u32, description: &str) -> String {
    let peer = quoted(address);
    let spec = format!("peerIP: {peer}\nasNumber: {asn}\ndescription: {description}");
    resource("BGPPeer", name, &spec)
}

fn ip_pool(name: &str, cidr: &str, block_size: u8, more: &str) -> String {
    let spec = format!(
        "cidr: \"{cidr}\"\nblockSize: {block_size}\nipipMode: Never\n{more}\nnodeSelector: all()"
    );
    resource("IPPool", name, &spec)
}

fn cluster_node(of: &Node) -> String {
    let tunnel = format!(
        "ipv4VXLANTunnelAddr: {}\nvxlanTunnelMACAddr: \"{}\"\n",
        of.vtep, of.vtep_mac
    );
    let (v4, v6) = (format!("{}/16", of.ipv4), format!("{}/64", of.ipv6));
    node(&of.name, Some(&v4), Some(&v6), &tunnel)
}
