//! Rules between objects.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::IpAddr;

use ipnet::IpNet;
use routeagg::{Finding as IpamFinding, Platform, RouteKind};

use super::{PoolIndex, Snapshot};
use crate::model::{IpPool, Kind, Node, ObjectKey};
use crate::{Finding, Selector};

impl Snapshot {
    /// What contradicts itself between objects that are valid each by itself, sorted.
    ///
    /// Nothing here keeps a plan from being made: each text says what weft does about it. Cost grows with the number
    /// of objects.
    #[must_use]
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        self.check_pools(&mut findings);
        self.check_blocks(&mut findings);
        self.check_nodes(&mut findings);
        self.check_vxlan(&mut findings);
        self.check_references(&mut findings);
        findings.sort();
        findings
    }

    fn check_pools(&self, findings: &mut Vec<Finding>) {
        let mut by_range: Vec<&IpPool> = self.ip_pools.values().collect();
        by_range.sort_by_key(|pool| (pool.cidr.trunc(), pool.metadata.name.as_str()));
        let mut enclosing: Vec<&IpPool> = Vec::new();
        for pool in by_range {
            while enclosing
                .last()
                .is_some_and(|outer| !outer.cidr.contains(&pool.cidr))
            {
                enclosing.pop();
            }
            if let Some(outer) = enclosing.last() {
                let problem = format!(
                    "{} overlaps {} of pool {:?}: the smaller pool decides for its addresses",
                    pool.cidr, outer.cidr, outer.metadata.name
                );
                let objects = vec![pool_key(pool), pool_key(outer)];
                let remedy = "shrink or remove one of the two";
                findings.push(Finding::error(objects, "spec.cidr", problem, remedy));
            }
            enclosing.push(pool);
        }
    }

    fn check_blocks(&self, findings: &mut Vec<Finding>) {
        let pools = PoolIndex::new(self);
        for (name, block) in self.ipam_blocks.iter().filter(|(_, block)| !block.deleted) {
            if pools.containing(&block.cidr).is_none() {
                let problem = format!("{} is in no IPPool: not announced", block.cidr);
                let objects = vec![ObjectKey::new(Kind::IpamBlock, name)];
                let remedy = "add the IPPool, or release the block";
                findings.push(Finding::warning(objects, "spec.cidr", problem, remedy));
            }
        }
        let ipam = self.ipam();
        let names: BTreeMap<IpNet, &String> = self
            .ipam_blocks
            .iter()
            .map(|(name, block)| (block.cidr.trunc(), name))
            .collect();
        findings.extend(
            ipam.findings()
                .into_iter()
                .map(|finding| translate(&finding, &names)),
        );

        let mut unknown: BTreeMap<&str, Vec<IpNet>> = BTreeMap::new();
        let mut of_windows: BTreeMap<&str, Vec<IpNet>> = BTreeMap::new();
        for route in ipam.routes().filter(|route| route.kind == RouteKind::Block) {
            if !self.nodes.contains_key(&route.node) {
                unknown.entry(&route.node).or_default().push(route.prefix);
            }
            if ipam.platform(&route.node) == Platform::Windows {
                of_windows
                    .entry(&route.node)
                    .or_default()
                    .push(route.prefix);
            }
        }
        for (node, blocks) in unknown {
            let problem = format!("owns {} but is not among the objects", some(&blocks));
            let objects = vec![ObjectKey::new(Kind::Node, node)];
            let remedy = "add the Node, or release its blocks";
            findings.push(Finding::warning(objects, "", problem, remedy));
        }
        for (node, blocks) in of_windows
            .into_iter()
            .filter(|(_, blocks)| blocks.len() > 1)
        {
            let problem = format!(
                "this Windows node owns {} blocks: {}",
                blocks.len(),
                some(&blocks)
            );
            let objects = vec![ObjectKey::new(Kind::Node, node)];
            let remedy = "release all but one, unless its HNS networks are made for several";
            findings.push(Finding::warning(objects, "", problem, remedy));
        }
    }

    fn check_nodes(&self, findings: &mut Vec<Finding>) {
        let session = |node: &Node| node.session_addresses().collect();
        self.check_unique(
            findings,
            "spec.bgp",
            "node address",
            session,
            |node: &&str| format!("sessions with the address are those of {node}"),
        );
        let tunnel = |node: &Node| {
            let ipv4 = node.ipv4_vxlan_tunnel_addr.map(IpAddr::V4);
            ipv4.into_iter()
                .chain(node.ipv6_vxlan_tunnel_addr.map(IpAddr::V6))
                .collect()
        };
        let consequence = |_: &&str| "VXLAN packets for one of them reach the other".to_owned();
        self.check_unique(findings, "spec", "tunnel address", tunnel, consequence);
        let mac = |node: &Node| node.vxlan_tunnel_mac_addr.into_iter().collect();
        self.check_unique(
            findings,
            "spec.vxlanTunnelMACAddr",
            "MAC address",
            mac,
            consequence,
        );
        let mac = |node: &Node| node.vxlan_tunnel_mac_addr_v6.into_iter().collect();
        self.check_unique(
            findings,
            "spec.vxlanTunnelMACAddrV6",
            "MAC address",
            mac,
            consequence,
        );
    }

    fn check_unique<T: Ord + Copy + Display>(
        &self,
        findings: &mut Vec<Finding>,
        field: &str,
        what: &str,
        values: impl Fn(&Node) -> Vec<T>,
        consequence: impl Fn(&&str) -> String,
    ) {
        let mut first: BTreeMap<T, &str> = BTreeMap::new();
        for (name, node) in &self.nodes {
            for value in values(node) {
                let owner = first.entry(value).or_insert(name);
                if owner != name {
                    let consequence = consequence(owner);
                    let problem = format!("{what} {value} is also {owner}'s: {consequence}");
                    let objects = vec![
                        ObjectKey::new(Kind::Node, name),
                        ObjectKey::new(Kind::Node, owner),
                    ];
                    let remedy = "give each node an address of its own";
                    findings.push(Finding::error(objects, field, problem, remedy));
                }
            }
        }
    }

    fn check_vxlan(&self, findings: &mut Vec<Finding>) {
        let uses = |ipv4: bool| {
            let mut pools = self.ip_pools.values().filter(move |pool| pool.uses_vxlan());
            pools.any(|pool| matches!(pool.cidr, IpNet::V4(_)) == ipv4)
        };
        let lacking = |ipv4: bool| -> Vec<&String> {
            let lacks = |node: &Node| match ipv4 {
                true => node.ipv4().is_some() && node.ipv4_vxlan_tunnel_addr.is_none(),
                false => node.ipv6().is_some() && node.ipv6_vxlan_tunnel_addr.is_none(),
            };
            self.nodes
                .iter()
                .filter(|(_, node)| lacks(node))
                .map(|(name, _)| name)
                .collect()
        };
        for (ipv4, field) in [
            (true, "spec.ipv4VXLANTunnelAddr"),
            (false, "spec.ipv6VXLANTunnelAddr"),
        ] {
            let nodes = if uses(ipv4) {
                lacking(ipv4)
            } else {
                Vec::new()
            };
            if !nodes.is_empty() {
                let problem = format!("is missing on {}: no VXLAN routes to them", some(&nodes));
                let objects = nodes
                    .iter()
                    .map(|name| ObjectKey::new(Kind::Node, name))
                    .collect();
                let remedy = "wait for the allocation of tunnel addresses, or check its log";
                findings.push(Finding::warning(objects, field, problem, remedy));
            }
        }
    }

    fn check_references(&self, findings: &mut Vec<Finding>) {
        for (name, configuration) in &self.bgp_configurations {
            if let Some(node) = configuration
                .node()
                .filter(|node| !self.nodes.contains_key(*node))
            {
                let objects = vec![ObjectKey::new(Kind::BgpConfiguration, name)];
                let problem = format!("there is no node {node:?}: has no effect");
                let remedy = "correct the name, or remove the object";
                findings.push(Finding::warning(objects, "metadata.name", problem, remedy));
            }
        }
        for (name, peer) in &self.bgp_peers {
            let mut warn = |field: &str, problem: String| {
                let objects = vec![ObjectKey::new(Kind::BgpPeer, name)];
                let remedy = "correct it, or remove the object";
                findings.push(Finding::warning(objects, field, problem, remedy));
            };
            if let Some(node) = peer
                .node
                .as_ref()
                .filter(|node| !self.nodes.contains_key(*node))
            {
                warn(
                    "spec.node",
                    format!("there is no node {node:?}: no session"),
                );
            }
            let matches_none = |selector: &&Selector| {
                !self
                    .nodes
                    .values()
                    .any(|node| selector.matches(&node.metadata.labels))
            };
            if let Some(selector) = peer.node_selector.as_ref().filter(matches_none) {
                warn(
                    "spec.nodeSelector",
                    format!("{selector} matches no node: no session"),
                );
            }
            if let Some(selector) = peer.peer_selector.as_ref().filter(matches_none) {
                warn(
                    "spec.peerSelector",
                    format!("{selector} matches no node: no session"),
                );
            }
        }
    }
}

fn pool_key(pool: &IpPool) -> ObjectKey {
    ObjectKey::new(Kind::IpPool, &pool.metadata.name)
}

fn translate(finding: &IpamFinding, names: &BTreeMap<IpNet, &String>) -> Finding {
    let (block, severe) = match finding {
        IpamFinding::WindowsBlockLent { block, .. }
        | IpamFinding::WindowsBorrower { block, .. }
        | IpamFinding::WindowsReservedInUse { block, .. }
        | IpamFinding::WindowsBlockTooSmall { block, .. } => (block, true),
        IpamFinding::OwnerMismatch { block, .. }
        | IpamFinding::DuplicateAffinity { block, .. }
        | IpamFinding::AffinityNotConfirmed { block, .. }
        | IpamFinding::OverlappingBlocks { inner: block, .. }
        | IpamFinding::OrdinalOutside { block, .. } => (block, false),
    };
    let objects = names
        .get(block)
        .map(|name| ObjectKey::new(Kind::IpamBlock, name));
    let objects = objects.into_iter().collect();
    // What to do comes after the last semicolon.
    let text = finding.to_string();
    let (problem, remedy) = text
        .rsplit_once("; ")
        .unwrap_or((&text, "check the IPAM data"));
    if severe {
        Finding::error(objects, "", problem.to_owned(), remedy)
    } else {
        Finding::warning(objects, "", problem.to_owned(), remedy)
    }
}

/// A few of many: `a, b, c and 7 more`.
fn some<T: Display>(all: &[T]) -> String {
    let shown: Vec<String> = all.iter().take(3).map(T::to_string).collect();
    match all.len().saturating_sub(3) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
