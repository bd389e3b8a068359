//! Who is in the lab's cluster and which addresses they have. Pure: the same options give the same plan.
//!
//! ```text
//!              203.0.113.1, 2001:db8:cafe::1 ("the internet")
//!                        ToR, AS 64513
//!                172.31.255.254  fd31::ffff
//!    ────────────────────┬──────────────────── underlay, one switch
//!         172.31.0.1  fd31::1          172.31.0.2  fd31::2     AS 64512, full mesh
//!               node1                        node2
//!              /     \                      /     \
//!        node1-bgp  node1-vxlan       node2-bgp  node2-vxlan   pods
//!      10.244.0.66  10.245.0.66           ...
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anyhow::{Result, bail};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::manifest::Allocation;

/// The cluster.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Its nodes, `node1` first.
    pub nodes: Vec<Node>,
}

/// A node and its pods.
#[derive(Debug, Clone)]
pub struct Node {
    /// `node1` and so on; also its namespace's name.
    pub name: String,
    /// Its address on the underlay.
    pub ipv4: Ipv4Addr,
    /// Its IPv6 address on the underlay.
    pub ipv6: Ipv6Addr,
    /// Block of the pool without encapsulation.
    pub block_v4: Ipv4Net,
    /// Block of the IPv6 pool without encapsulation.
    pub block_v6: Ipv6Net,
    /// Block of the VXLAN pool.
    pub block_vxlan: Ipv4Net,
    /// Address of its VTEP, out of [`Node::block_vxlan`].
    pub vtep: Ipv4Addr,
    /// MAC of its VTEP.
    pub vtep_mac: String,
    /// A pod with addresses from the pools without encapsulation.
    pub bgp_pod: Pod,
    /// A pod with an address from the VXLAN pool.
    pub vxlan_pod: Pod,
}

/// A pod.
#[derive(Debug, Clone)]
pub struct Pod {
    /// Its namespace's name, for example `node1-bgp`.
    pub name: String,
    /// Its interface on the node, `cali...` as Calico's CNI names them.
    pub interface: String,
    /// MTU of its interface.
    pub mtu: u16,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
}

impl Plan {
    /// A cluster of so many nodes.
    ///
    /// # Errors
    /// For no node, or more than the address ranges hold.
    pub fn new(nodes: u16) -> Result<Self> {
        if !(1..=MOST_NODES).contains(&nodes) {
            bail!("{nodes} nodes: the lab can have 1 to {MOST_NODES}");
        }
        Ok(Self {
            nodes: (1..=nodes).map(Node::new).collect(),
        })
    }

    /// All pods.
    pub fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.nodes
            .iter()
            .flat_map(|node| [&node.bgp_pod, &node.vxlan_pod])
    }
}

impl Node {
    fn new(number: u16) -> Self {
        let name = format!("node{number}");
        let [high, low] = number.to_be_bytes();
        // Block 0 of each pool stays free, so that a node's number is its block's.
        let block_v4 = v4_block(POOL_V4, number);
        let block_vxlan = v4_block(POOL_VXLAN, number);
        let block_v6 = v6_block(number);
        Self {
            ipv4: Ipv4Addr::new(172, 31, high, low),
            ipv6: Ipv6Addr::new(0xfd31, 0, 0, 0, 0, 0, 0, number),
            vtep: v4_address(block_vxlan, VTEP_ORDINAL),
            vtep_mac: format!("66:31:00:00:{high:02x}:{low:02x}"),
            bgp_pod: Pod {
                name: format!("{name}-bgp"),
                interface: "cali-bgp".to_owned(),
                mtu: 1500,
                addresses: vec![
                    v4_address(block_v4, POD_ORDINAL).into(),
                    v6_address(block_v6, POD_ORDINAL).into(),
                ],
            },
            vxlan_pod: Pod {
                name: format!("{name}-vxlan"),
                interface: "cali-vxlan".to_owned(),
                // 50 octets of outer headers (RFC 7348 section 5).
                mtu: 1450,
                addresses: vec![v4_address(block_vxlan, POD_ORDINAL).into()],
            },
            name,
            block_v4,
            block_v6,
            block_vxlan,
        }
    }

    /// Its blocks with the pods' or the VTEP's addresses in them.
    pub fn blocks(&self) -> [(IpNet, Vec<Allocation>); 3] {
        let pod = |pod: &Pod| Allocation::pod(POD_ORDINAL, &self.name, &pod.name);
        let vtep = Allocation::vtep(VTEP_ORDINAL, &self.name);
        [
            (self.block_v4.into(), vec![pod(&self.bgp_pod)]),
            (self.block_v6.into(), vec![pod(&self.bgp_pod)]),
            (self.block_vxlan.into(), vec![vtep, pod(&self.vxlan_pod)]),
        ]
    }
}

fn v4_block(pool: Ipv4Addr, number: u16) -> Ipv4Net {
    let start = u32::from(pool) + u32::from(number) * ADDRESSES_PER_BLOCK;
    Ipv4Net::new_assert(start.into(), 26)
}

fn v6_block(number: u16) -> Ipv6Net {
    let start = u128::from(POOL_V6) + u128::from(number) * u128::from(ADDRESSES_PER_BLOCK);
    Ipv6Net::new_assert(start.into(), 122)
}

fn v4_address(block: Ipv4Net, ordinal: u32) -> Ipv4Addr {
    (u32::from(block.network()) + ordinal).into()
}

fn v6_address(block: Ipv6Net, ordinal: u32) -> Ipv6Addr {
    (u128::from(block.network()) + u128::from(ordinal)).into()
}

/// AS of the nodes.
pub const NODE_ASN: u32 = 64512;
/// AS of the ToR.
pub const TOR_ASN: u32 = 64513;
/// The ToR on the underlay.
pub const TOR_V4: Ipv4Addr = Ipv4Addr::new(172, 31, 255, 254);
/// The ToR on the underlay.
pub const TOR_V6: Ipv6Addr = Ipv6Addr::new(0xfd31, 0, 0, 0, 0, 0, 0, 0xffff);
/// A host behind the ToR.
pub const INTERNET_V4: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
/// A host behind the ToR.
pub const INTERNET_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xcafe, 0, 0, 0, 0, 1);
/// 10.244.0.0/16.
pub const POOL_V4: Ipv4Addr = Ipv4Addr::new(10, 244, 0, 0);
/// 10.245.0.0/16.
pub const POOL_VXLAN: Ipv4Addr = Ipv4Addr::new(10, 245, 0, 0);
/// fd00:10:244::/48.
pub const POOL_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x10, 0x244, 0, 0, 0, 0, 0);
/// Addresses in a block.
const ADDRESSES_PER_BLOCK: u32 = 64;

const VTEP_ORDINAL: u32 = 0;
const POD_ORDINAL: u32 = 2;
/// 1024 blocks a pool, of which block 0 stays free.
const MOST_NODES: u16 = 1000;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn addresses_are_unique_and_lie_in_their_blocks() {
        let plan = Plan::new(MOST_NODES).unwrap();
        let mut seen = BTreeSet::new();
        for node in &plan.nodes {
            let blocks: Vec<IpNet> = node.blocks().into_iter().map(|(block, _)| block).collect();
            let addresses = [IpAddr::from(node.ipv4), node.ipv6.into(), node.vtep.into()];
            let pods = node
                .bgp_pod
                .addresses
                .iter()
                .chain(&node.vxlan_pod.addresses);
            for address in addresses.iter().chain(pods.clone()) {
                assert!(seen.insert(*address), "{address} twice");
            }
            for address in pods.chain([&IpAddr::from(node.vtep)]) {
                assert!(
                    blocks.iter().any(|block| block.contains(address)),
                    "{address}"
                );
            }
        }
        assert!(Plan::new(0).is_err() && Plan::new(MOST_NODES + 1).is_err());
    }

    #[test]
    fn the_first_node_has_the_documented_addresses() {
        let plan = Plan::new(1).unwrap();
        let node = &plan.nodes[0];
        assert_eq!(node.ipv4.to_string(), "172.31.0.1");
        assert_eq!(node.ipv6.to_string(), "fd31::1");
        assert_eq!(node.bgp_pod.addresses[0].to_string(), "10.244.0.66");
        assert_eq!(node.bgp_pod.addresses[1].to_string(), "fd00:10:244::42");
        assert_eq!(node.block_v6.to_string(), "fd00:10:244::40/122");
        assert_eq!(node.vtep.to_string(), "10.245.0.64");
    }
}
