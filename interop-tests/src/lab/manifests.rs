//! The cluster as Calico resources in YAML: what `weftd --manifests` reads.

use std::fmt::Write as _;
use std::net::IpAddr;

use ipnet::IpNet;

use super::plan::{
    ADDRESSES_PER_BLOCK, Allocation, INTERNET_V4, INTERNET_V6, NODE_ASN, Node, POOL_V4, POOL_V6,
    POOL_VXLAN, Plan, TOR_ASN, TOR_V4, TOR_V6,
};

/// The files that all nodes read: (name, YAML).
pub fn cluster(plan: &Plan) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    for node in &plan.nodes {
        for (block, allocations) in node.blocks() {
            blocks.push(ipam_block(&node.name, block, &allocations));
            blocks.push(block_affinity(&node.name, block));
        }
    }
    let bgp = [
        bgp_configuration(NODE_ASN, Mesh::Full),
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
            "vxlanMode: Always\n  disableBGPExport: true",
        ),
    ];
    vec![
        ("bgp.yaml".to_owned(), bgp.join("---\n")),
        ("pools.yaml".to_owned(), pools.join("---\n")),
        (
            "nodes.yaml".to_owned(),
            plan.nodes
                .iter()
                .map(node)
                .collect::<Vec<_>>()
                .join("---\n"),
        ),
        ("blocks.yaml".to_owned(), blocks.join("---\n")),
    ]
}

/// The files of a ToR that is a weft itself.
pub fn tor(plan: &Plan) -> Vec<(String, String)> {
    let mut resources = vec![
        bgp_configuration(TOR_ASN, Mesh::Off),
        format!(
            "apiVersion: projectcalico.org/v3\nkind: Node\nmetadata:\n  name: tor\nspec:\n  bgp:\n    \
             asNumber: {TOR_ASN}\n    ipv4Address: {TOR_V4}/16\n    ipv6Address: {TOR_V6}/64\n"
        ),
    ];
    for (name, address, size) in [
        ("internet", IpAddr::from(INTERNET_V4), 26),
        ("internet-v6", INTERNET_V6.into(), 122),
    ] {
        let block = IpNet::new_assert(address, size).trunc();
        resources.push(ip_pool(name, &block.to_string(), size, "vxlanMode: Never"));
        resources.push(ipam_block("tor", block, &[]));
        resources.push(block_affinity("tor", block));
    }
    for node in &plan.nodes {
        resources.push(bgp_peer(&node.name, node.ipv4.into(), NODE_ASN, &node.name));
        let name = format!("{}-v6", node.name);
        resources.push(bgp_peer(&name, node.ipv6.into(), NODE_ASN, &node.name));
    }
    vec![("tor.yaml".to_owned(), resources.join("---\n"))]
}

enum Mesh {
    Full,
    Off,
}

fn bgp_configuration(asn: u32, mesh: Mesh) -> String {
    format!(
        "apiVersion: projectcalico.org/v3\nkind: BGPConfiguration\nmetadata:\n  name: default\nspec:\n  \
         asNumber: {asn}\n  nodeToNodeMeshEnabled: {}\n",
        matches!(mesh, Mesh::Full)
    )
}

fn bgp_peer(name: &str, address: IpAddr, asn: u32, description: &str) -> String {
    format!(
        "apiVersion: projectcalico.org/v3\nkind: BGPPeer\nmetadata:\n  name: {name}\nspec:\n  \
         peerIP: {}\n  asNumber: {asn}\n  description: {description}\n",
        quoted(address)
    )
}

fn ip_pool(name: &str, cidr: &str, block_size: u8, more: &str) -> String {
    format!(
        "apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata:\n  name: {name}\nspec:\n  \
         cidr: \"{cidr}\"\n  blockSize: {block_size}\n  ipipMode: Never\n  {more}\n  nodeSelector: all()\n"
    )
}

fn node(node: &Node) -> String {
    format!(
        "apiVersion: projectcalico.org/v3\nkind: Node\nmetadata:\n  name: {0}\n  labels:\n    \
         kubernetes.io/hostname: {0}\nspec:\n  bgp:\n    ipv4Address: {1}/16\n    \
         ipv6Address: \"{2}/64\"\n  ipv4VXLANTunnelAddr: {3}\n  vxlanTunnelMACAddr: \"{4}\"\n",
        node.name, node.ipv4, node.ipv6, node.vtep, node.vtep_mac
    )
}

fn ipam_block(node: &str, block: IpNet, allocations: &[Allocation]) -> String {
    let holder = |ordinal: u32| {
        allocations
            .iter()
            .position(|a| u32::from(a.ordinal) == ordinal)
    };
    let slots: Vec<String> = (0..ADDRESSES_PER_BLOCK)
        .map(|ordinal| holder(ordinal).map_or_else(|| "null".to_owned(), |i| i.to_string()))
        .collect();
    let free: Vec<String> = (0..ADDRESSES_PER_BLOCK)
        .filter(|ordinal| holder(*ordinal).is_none())
        .map(|ordinal| ordinal.to_string())
        .collect();
    let mut out = format!(
        "apiVersion: crd.projectcalico.org/v1\nkind: IPAMBlock\nmetadata:\n  name: {}\nspec:\n  \
         cidr: \"{block}\"\n  affinity: host:{node}\n  strictAffinity: false\n  \
         allocations: [{}]\n  unallocated: [{}]\n",
        resource_name(block),
        slots.join(", "),
        free.join(", "),
    );
    out.push_str(if allocations.is_empty() {
        "  attributes: []\n"
    } else {
        "  attributes:\n"
    });
    for Allocation {
        handle, secondary, ..
    } in allocations
    {
        let _ = writeln!(out, "    - handle_id: {handle}\n      secondary:");
        for (key, value) in secondary {
            let _ = writeln!(out, "        {key}: {value}");
        }
    }
    out
}

fn block_affinity(node: &str, block: IpNet) -> String {
    format!(
        "apiVersion: crd.projectcalico.org/v1\nkind: BlockAffinity\nmetadata:\n  name: {node}-{}\nspec:\n  \
         cidr: \"{block}\"\n  node: {node}\n  state: confirmed\n  type: host\n  deleted: \"false\"\n",
        resource_name(block)
    )
}

/// As Calico names them: the prefix with dashes.
fn resource_name(block: IpNet) -> String {
    // A name must not begin with a dash, nor end with one.
    block
        .to_string()
        .replace(['.', ':', '/'], "-")
        .trim_matches('-')
        .to_owned()
}

fn quoted(address: IpAddr) -> String {
    format!("\"{address}\"")
}
