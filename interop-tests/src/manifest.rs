//! Calico resources in YAML, as `weftd --manifests` and `weft apply -f` read them.
//!
//! ```
//! use interop_tests::manifest::{block, join, resource};
//!
//! let peer = resource("BGPPeer", "tor", "peerIP: 10.0.0.9\nasNumber: 64513");
//! assert_eq!(
//!     peer,
//!     "apiVersion: projectcalico.org/v3\n\
//!      kind: BGPPeer\n\
//!      metadata:\n  name: tor\n\
//!      spec:\n  peerIP: 10.0.0.9\n  asNumber: 64513\n"
//! );
//! let file = join(&[peer, block("node1", "10.244.0.64/26".parse()?, &[])]);
//! # Ok::<(), ipnet::AddrParseError>(())
//! ```

use std::net::IpAddr;

use ipnet::IpNet;

/// One resource; `spec` is YAML, not indented.
pub fn resource(kind: &str, name: &str, spec: &str) -> String {
    // IPAM's resources exist only in the lower-level group.
    let api_version = match kind {
        "IPAMBlock" | "BlockAffinity" => "crd.projectcalico.org/v1",
        _ => "projectcalico.org/v3",
    };
    format!(
        "apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: {name}\nspec:\n{}",
        indented(spec)
    )
}

/// Many resources as one file.
pub fn join<S: AsRef<str>>(resources: &[S]) -> String {
    resources
        .iter()
        .map(AsRef::as_ref)
        .collect::<Vec<_>>()
        .join("---\n")
}

/// A node; `ipv4` and `ipv6` with the subnet's length, `more` is further YAML for its spec.
pub fn node(name: &str, ipv4: Option<&str>, ipv6: Option<&str>, more: &str) -> String {
    let line = |key: &str, value: Option<&str>| {
        value.map_or_else(String::new, |value| format!("  {key}: \"{value}\"\n"))
    };
    let bgp = line("ipv4Address", ipv4) + &line("ipv6Address", ipv6);
    resource("Node", name, &format!("bgp:\n{bgp}{more}"))
}

/// A block that `node` holds, and its affinity: the two that Calico's IPAM writes when a node claims a block.
pub fn block(node: &str, block: IpNet, allocations: &[Allocation]) -> String {
    let affinity = format!(
        "cidr: \"{block}\"\nnode: {node}\nstate: confirmed\ntype: host\ndeleted: \"false\"\n"
    );
    join(&[
        ipam_block(Some(node), block, allocations),
        resource(
            "BlockAffinity",
            &format!("{node}-{}", block_name(block)),
            &affinity,
        ),
    ])
}

/// A block alone; without a holder its addresses are all reached one by one.
pub fn ipam_block(holder: Option<&str>, block: IpNet, allocations: &[Allocation]) -> String {
    let size = 1u32 << (block.max_prefix_len() - block.prefix_len());
    let owner = |ordinal: u32| allocations.iter().position(|a| a.ordinal == ordinal);
    let slots: Vec<String> = (0..size)
        .map(|ordinal| owner(ordinal).map_or_else(|| "null".to_owned(), |i| i.to_string()))
        .collect();
    let free: Vec<String> = (0..size)
        .filter(|ordinal| owner(*ordinal).is_none())
        .map(|ordinal| ordinal.to_string())
        .collect();
    let affinity = holder.map_or_else(|| "null".to_owned(), |node| format!("host:{node}"));
    let attributes: String = allocations.iter().map(Allocation::yaml).collect();
    let attributes = if attributes.is_empty() {
        " []\n".to_owned()
    } else {
        format!("\n{attributes}")
    };
    let spec = format!(
        "cidr: \"{block}\"\naffinity: {affinity}\nstrictAffinity: false\nallocations: [{}]\n\
         unallocated: [{}]\nattributes:{attributes}",
        slots.join(", "),
        free.join(", "),
    );
    resource("IPAMBlock", &block_name(block), &spec)
}

/// An address of a block that somebody holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// Which address of the block, from 0.
    pub ordinal: u32,
    /// Its handle.
    pub handle: String,
    /// Its attributes: `node`, `pod`, `namespace`, or `type` for a tunnel.
    pub attributes: Vec<(&'static str, String)>,
}

impl Allocation {
    /// A pod's address. A node that is not the block's holder has borrowed it.
    pub fn pod(ordinal: u32, node: &str, pod: &str) -> Self {
        Self {
            ordinal,
            handle: format!("k8s-pod-network.{pod}"),
            attributes: vec![
                ("namespace", "default".to_owned()),
                ("node", node.to_owned()),
                ("pod", pod.to_owned()),
            ],
        }
    }

    /// The address of a node's IPv4 VTEP.
    pub fn vtep(ordinal: u32, node: &str) -> Self {
        Self {
            ordinal,
            handle: format!("vxlan-tunnel-addr-{node}"),
            attributes: vec![
                ("node", node.to_owned()),
                ("type", "vxlanTunnelAddress".to_owned()),
            ],
        }
    }

    fn yaml(&self) -> String {
        let pairs: String = self
            .attributes
            .iter()
            .map(|(key, value)| format!("    {key}: {value}\n"))
            .collect();
        format!("- handle_id: {}\n  secondary:\n{pairs}", self.handle)
    }
}

/// An address as YAML: bare, a leading or doubled colon would be syntax.
pub fn quoted(address: IpAddr) -> String {
    format!("\"{address}\"")
}

/// A block's name as Calico makes it: dashes instead of punctuation.
pub fn block_name(block: IpNet) -> String {
    let name = block.to_string().replace(['.', ':', '/'], "-");
    name.trim_matches('-').to_owned()
}

fn indented(text: &str) -> String {
    text.lines()
        .filter(|line| !line.is_empty())
        .map(|line| format!("  {line}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocks_allocations_point_at_their_attributes() {
        let block: IpNet = "10.0.0.0/30".parse().unwrap();
        let text = ipam_block(
            Some("a"),
            block,
            &[Allocation::pod(2, "b", "p"), Allocation::vtep(0, "a")],
        );
        assert!(
            text.contains("  allocations: [1, null, 0, null]\n"),
            "{text}"
        );
        assert!(text.contains("  unallocated: [1, 3]\n"), "{text}");
        let first = "  attributes:\n  - handle_id: k8s-pod-network.p\n    secondary:\n      namespace: default\n      node: b\n";
        assert!(text.contains(first), "{text}");
        assert!(ipam_block(None, block, &[]).contains("  affinity: null\n"));
    }
}
