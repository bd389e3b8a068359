//! All objects of the cluster at one moment.

mod check;

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use routeagg::Ipam;

use crate::Asn;
use crate::model::{
    BgpConfiguration, BgpPeer, BlockAffinity, IpPool, IpamBlock, Kind, Node, Object, ObjectKey,
};

/// All objects of the cluster at one moment, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Nodes.
    pub nodes: BTreeMap<String, Node>,
    /// Settings of BGP.
    pub bgp_configurations: BTreeMap<String, BgpConfiguration>,
    /// Sessions.
    pub bgp_peers: BTreeMap<String, BgpPeer>,
    /// Pools.
    pub ip_pools: BTreeMap<String, IpPool>,
    /// Blocks.
    pub ipam_blocks: BTreeMap<String, IpamBlock>,
    /// Claims to blocks.
    pub block_affinities: BTreeMap<String, BlockAffinity>,
}

impl Snapshot {
    /// Adds an object, or replaces the one with the same kind and name.
    pub fn insert(&mut self, object: Object) {
        let name = object.metadata().name.clone();
        match object {
            Object::Node(node) => drop(self.nodes.insert(name, *node)),
            Object::BgpConfiguration(configuration) => {
                drop(self.bgp_configurations.insert(name, *configuration));
            }
            Object::BgpPeer(peer) => drop(self.bgp_peers.insert(name, *peer)),
            Object::IpPool(pool) => drop(self.ip_pools.insert(name, *pool)),
            Object::IpamBlock(block) => drop(self.ipam_blocks.insert(name, *block)),
            Object::BlockAffinity(affinity) => {
                drop(self.block_affinities.insert(name, *affinity));
            }
        }
    }

    /// Removes an object; true when it was there.
    pub fn remove(&mut self, key: &ObjectKey) -> bool {
        let ObjectKey { kind, name } = key;
        match kind {
            Kind::Node => self.nodes.remove(name).is_some(),
            Kind::BgpConfiguration => self.bgp_configurations.remove(name).is_some(),
            Kind::BgpPeer => self.bgp_peers.remove(name).is_some(),
            Kind::IpPool => self.ip_pools.remove(name).is_some(),
            Kind::IpamBlock => self.ipam_blocks.remove(name).is_some(),
            Kind::BlockAffinity => self.block_affinities.remove(name).is_some(),
        }
    }

    /// The number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        let Self {
            nodes,
            bgp_configurations,
            bgp_peers,
            ip_pools,
            ipam_blocks,
            block_affinities,
        } = self;
        nodes.len()
            + bgp_configurations.len()
            + bgp_peers.len()
            + ip_pools.len()
            + ipam_blocks.len()
            + block_affinities.len()
    }

    /// True when there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The IPAM view of all blocks, affinities and nodes. Cost grows with their number.
    #[must_use]
    pub fn ipam(&self) -> Ipam {
        let mut ipam = Ipam::new();
        // Platforms first: each block is then looked at once.
        for (name, node) in &self.nodes {
            let _nothing_yet = ipam.set_platform(name, node.platform());
        }
        for affinity in self
            .block_affinities
            .values()
            .filter_map(BlockAffinity::to_affinity)
        {
            let _from_scratch = ipam.upsert_affinity(affinity);
        }
        for block in self.ipam_blocks.values() {
            let _from_scratch = ipam.upsert_block(block.to_block());
        }
        ipam
    }

    /// The settings of the whole cluster.
    pub(crate) fn defaults(&self) -> Option<&BgpConfiguration> {
        self.bgp_configurations.get("default")
    }

    /// The settings of one node.
    pub(crate) fn configuration_of(&self, node: &str) -> Option<&BgpConfiguration> {
        self.bgp_configurations.get(&format!("node.{node}"))
    }

    pub(crate) fn global_asn(&self) -> Asn {
        self.defaults()
            .and_then(|defaults| defaults.as_number)
            .unwrap_or(Asn::DEFAULT)
    }

    /// The AS of a node: its own, else the cluster's.
    ///
    /// Calico takes the *own node's* AS for a mesh peer without one, which is wrong where the own node overrides it.
    pub(crate) fn asn_of(&self, node: &Node) -> Asn {
        node.as_number().unwrap_or_else(|| self.global_asn())
    }

    pub(crate) fn listen_port(&self, node: &str) -> u16 {
        let own = self.configuration_of(node).and_then(|own| own.listen_port);
        let cluster = || self.defaults().and_then(|defaults| defaults.listen_port);
        own.or_else(cluster).unwrap_or(BGP_PORT)
    }

    pub(crate) fn mesh_enabled(&self) -> bool {
        self.defaults()
            .and_then(|defaults| defaults.node_to_node_mesh_enabled)
            .unwrap_or(true)
    }

    /// The node that has an address; the smallest name if several claim it.
    pub(crate) fn node_with_address(&self, address: IpAddr) -> Option<(&str, &Node)> {
        let owns = |node: &Node| node.session_addresses().any(|own| own == address);
        let found = self.nodes.iter().find(|(_, node)| owns(node));
        found.map(|(name, node)| (name.as_str(), node))
    }
}

impl FromIterator<Object> for Snapshot {
    fn from_iter<T: IntoIterator<Item = Object>>(objects: T) -> Self {
        let mut snapshot = Self::default();
        snapshot.extend(objects);
        snapshot
    }
}

impl Extend<Object> for Snapshot {
    fn extend<T: IntoIterator<Item = Object>>(&mut self, objects: T) {
        for object in objects {
            self.insert(object);
        }
    }
}

/// Pools by range, for longest-match look-ups.
pub(crate) struct PoolIndex<'a> {
    pools: BTreeMap<IpNet, &'a IpPool>,
}

impl<'a> PoolIndex<'a> {
    /// Of several pools with one range the smallest name counts.
    pub(crate) fn new(snapshot: &'a Snapshot) -> Self {
        let pools = snapshot.ip_pools.values().rev();
        Self {
            pools: pools.map(|pool| (pool.cidr.trunc(), pool)).collect(),
        }
    }

    /// The smallest pool around a prefix. Cost: one look-up per shorter prefix length.
    pub(crate) fn containing(&self, prefix: &IpNet) -> Option<&'a IpPool> {
        let mut candidate = Some(prefix.trunc());
        while let Some(net) = candidate {
            if let Some(pool) = self.pools.get(&net) {
                return Some(pool);
            }
            candidate = net.supernet();
        }
        None
    }

    /// All pools, sorted by range.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&IpNet, &'a IpPool)> {
        self.pools.iter().map(|(cidr, pool)| (cidr, *pool))
    }
}

/// TCP port of BGP (RFC 4271 section 8.2.1).
const BGP_PORT: u16 = 179;
