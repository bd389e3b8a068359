//! The incremental view: cells (one per block CIDR) are evaluated alone, their claims meet in one table of routes.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;

use crate::block::windows_reserved_ordinals;
use crate::{
    Affinity, Announcements, Block, Delta, Finding, Owner, Platform, Route, RouteKind, Usage,
};

/// Everything that is known about IPAM, and the routes that follow from it.
///
/// Each change returns what it did to the routes. The result equals a computation from scratch, whatever the order
/// of the changes.
#[derive(Clone, Debug, Default)]
pub struct Ipam {
    cells: BTreeMap<IpNet, Cell>,
    /// Nodes that are not Linux.
    windows: BTreeSet<String>,
    /// What the cells say about a prefix. Almost always one claim; more only where blocks overlap.
    claims: BTreeMap<IpNet, Vec<Claim>>,
    by_node: BTreeMap<String, BTreeSet<IpNet>>,
}

/// What is known about one block CIDR.
#[derive(Clone, Debug, Default)]
struct Cell {
    block: Option<Block>,
    affinities: BTreeMap<String, Affinity>,
    /// The prefixes for which the cell has a claim at present.
    claimed: BTreeSet<IpNet>,
    findings: Vec<Finding>,
}

#[derive(Clone, Debug)]
struct Claim {
    cell: IpNet,
    route: Route,
}

impl Ipam {
    /// Knows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a new or changed block. Cost grows with the block's allocations.
    pub fn upsert_block(&mut self, mut block: Block) -> Delta {
        let cidr = block.cidr.trunc();
        block.cidr = cidr;
        self.cells.entry(cidr).or_default().block = Some(block);
        self.settle(cidr)
    }

    /// Forgets a block. The affinities for its CIDR stay and now count alone.
    pub fn remove_block(&mut self, cidr: &IpNet) -> Delta {
        let cidr = cidr.trunc();
        if let Some(cell) = self.cells.get_mut(&cidr) {
            cell.block = None;
        }
        self.settle(cidr)
    }

    /// Takes a new or changed affinity. There is one per node and CIDR.
    pub fn upsert_affinity(&mut self, mut affinity: Affinity) -> Delta {
        let cidr = affinity.cidr.trunc();
        affinity.cidr = cidr;
        let cell = self.cells.entry(cidr).or_default();
        cell.affinities.insert(affinity.node.clone(), affinity);
        self.settle(cidr)
    }

    /// Forgets the affinity of a node for a CIDR.
    pub fn remove_affinity(&mut self, node: &str, cidr: &IpNet) -> Delta {
        let cidr = cidr.trunc();
        if let Some(cell) = self.cells.get_mut(&cidr) {
            cell.affinities.remove(node);
        }
        self.settle(cidr)
    }

    /// Says what a node runs on. Nodes are Linux until told otherwise.
    ///
    /// A change looks at every block: it is rare, and an index for it would cost more than it saves.
    pub fn set_platform(&mut self, node: &str, platform: Platform) -> Delta {
        let changed = match platform {
            Platform::Windows => self.windows.insert(node.to_owned()),
            Platform::Linux => self.windows.remove(node),
        };
        if !changed {
            return Delta::default();
        }
        let concerned: Vec<IpNet> = self
            .cells
            .iter()
            .filter(|(_, cell)| cell.mentions(node))
            .map(|(cidr, _)| *cidr)
            .collect();
        // Where blocks overlap, one prefix may change with each of them: only first and last state count.
        let mut net: BTreeMap<IpNet, (Option<Route>, Option<Route>)> = BTreeMap::new();
        for cidr in concerned {
            let Delta { withdrawn, added } = self.settle(cidr);
            for route in withdrawn {
                net.entry(route.prefix)
                    .and_modify(|(_, last)| *last = None)
                    .or_insert_with(|| (Some(route), None));
            }
            for route in added {
                let (_, last) = net.entry(route.prefix).or_default();
                *last = Some(route);
            }
        }
        let mut delta = Delta::default();
        for (first, last) in net.into_values().filter(|(first, last)| first != last) {
            delta.withdrawn.extend(first);
            delta.added.extend(last);
        }
        delta
    }

    /// What a node runs on.
    #[must_use]
    pub fn platform(&self, node: &str) -> Platform {
        if self.windows.contains(node) {
            Platform::Windows
        } else {
            Platform::Linux
        }
    }

    /// The node that owns a block, by exactly this CIDR.
    #[must_use]
    pub fn owner_of(&self, block: &IpNet) -> Option<&str> {
        let cell = self.cells.get(&block.trunc())?;
        cell.owner().map(|(owner, _)| owner)
    }

    /// The route for exactly this prefix.
    #[must_use]
    pub fn route(&self, prefix: &IpNet) -> Option<&Route> {
        winner(self.claims.get(prefix)?)
    }

    /// All routes, sorted by prefix: each block and the node that owns it, each borrowed address and its user.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        self.claims.values().filter_map(|claims| winner(claims))
    }

    /// The routes that lead to a node, sorted by prefix.
    pub fn routes_of(&self, node: &str) -> impl Iterator<Item = &Route> {
        let prefixes = self.by_node.get(node).into_iter().flatten();
        prefixes.filter_map(|prefix| self.route(prefix))
    }

    /// What a node announces by BGP: its confirmed blocks, and the addresses it borrows.
    #[must_use]
    pub fn announcements(&self, node: &str) -> Announcements {
        let mut announcements = Announcements::default();
        for route in self.routes_of(node).filter(|route| route.announced) {
            match route.kind {
                RouteKind::Block => announcements.blocks.insert(route.prefix),
                RouteKind::Borrowed => announcements.borrowed.insert(route.prefix),
            };
        }
        announcements
    }

    /// What contradicts itself, sorted by block. Cost grows with the number of blocks.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut enclosing: Vec<IpNet> = Vec::new();
        // Sorted by address, then length: what encloses a block comes before it.
        for (cidr, cell) in &self.cells {
            findings.extend(cell.findings.iter().cloned());
            if cell.claimed.is_empty() {
                continue;
            }
            while enclosing.last().is_some_and(|outer| !outer.contains(cidr)) {
                enclosing.pop();
            }
            if let Some(outer) = enclosing.last() {
                findings.push(Finding::OverlappingBlocks {
                    outer: *outer,
                    inner: *cidr,
                });
            }
            enclosing.push(*cidr);
        }
        findings
    }

    /// Evaluates one cell again and moves its claims.
    fn settle(&mut self, cidr: IpNet) -> Delta {
        let Some(cell) = self.cells.get_mut(&cidr) else {
            return Delta::default();
        };
        let (routes, findings) = cell.evaluate(cidr, &self.windows);
        let new: BTreeSet<IpNet> = routes.iter().map(|route| route.prefix).collect();
        let touched: BTreeSet<IpNet> = cell.claimed.union(&new).copied().collect();
        cell.claimed = new;
        cell.findings = findings;
        if cell.block.is_none() && cell.affinities.is_empty() {
            self.cells.remove(&cidr);
        }

        let mut routes: BTreeMap<IpNet, Route> = routes
            .into_iter()
            .map(|route| (route.prefix, route))
            .collect();
        let mut delta = Delta::default();
        for prefix in touched {
            let before = self.route(&prefix).cloned();
            self.claim(prefix, cidr, routes.remove(&prefix));
            let after = self.route(&prefix).cloned();
            if before == after {
                continue;
            }
            if let Some(route) = before {
                self.unindex(&route);
                delta.withdrawn.push(route);
            }
            if let Some(route) = after {
                self.by_node
                    .entry(route.node.clone())
                    .or_default()
                    .insert(prefix);
                delta.added.push(route);
            }
        }
        delta
    }

    /// Replaces what a cell says about a prefix.
    fn claim(&mut self, prefix: IpNet, cell: IpNet, route: Option<Route>) {
        let mut claims = self.claims.remove(&prefix).unwrap_or_default();
        claims.retain(|claim| claim.cell != cell);
        claims.extend(route.map(|route| Claim { cell, route }));
        if !claims.is_empty() {
            self.claims.insert(prefix, claims);
        }
    }

    fn unindex(&mut self, route: &Route) {
        if let Some(prefixes) = self.by_node.get_mut(&route.node) {
            prefixes.remove(&route.prefix);
            if prefixes.is_empty() {
                self.by_node.remove(&route.node);
            }
        }
    }
}

impl Cell {
    /// The owner, and whether it may announce the block.
    fn owner(&self) -> Option<(&str, bool)> {
        match &self.block {
            Some(block) => block.host().map(|host| (host, self.is_confirmed(host))),
            // The map is sorted: the first confirmed affinity is that of the smallest node name.
            None => self.confirmed().next().map(|node| (node, true)),
        }
    }

    fn confirmed(&self) -> impl Iterator<Item = &str> {
        self.affinities
            .values()
            .filter(|affinity| affinity.is_confirmed())
            .map(|a| a.node.as_str())
    }

    fn is_confirmed(&self, node: &str) -> bool {
        self.affinities
            .get(node)
            .is_some_and(Affinity::is_confirmed)
    }

    fn mentions(&self, node: &str) -> bool {
        let uses = |block: &Block| {
            block.host() == Some(node)
                || block
                    .allocations
                    .values()
                    .any(|address| address.node.as_deref() == Some(node))
        };
        self.affinities.contains_key(node) || self.block.as_ref().is_some_and(uses)
    }

    fn evaluate(&self, cidr: IpNet, windows: &BTreeSet<String>) -> (Vec<Route>, Vec<Finding>) {
        let mut findings = self.contradictions(cidr);
        let mut routes = self.borrowed(windows, &mut findings);
        if let Some((owner, announced)) = self.owner() {
            if windows.contains(owner) && windows_reserved_ordinals(&cidr).is_none() {
                findings.push(Finding::WindowsBlockTooSmall {
                    block: cidr,
                    owner: owner.into(),
                });
            }
            // A /32 block whose one address is used elsewhere leads there.
            if routes.iter().all(|route| route.prefix != cidr) {
                let kind = RouteKind::Block;
                routes.push(Route {
                    prefix: cidr,
                    node: owner.into(),
                    kind,
                    announced,
                });
            }
        }
        (routes, findings)
    }

    /// Where the affinities disagree with the block or with each other.
    fn contradictions(&self, block: IpNet) -> Vec<Finding> {
        let confirmed: Vec<String> = self.confirmed().map(str::to_owned).collect();
        let Some(known) = &self.block else {
            return match confirmed.as_slice() {
                [chosen, _, ..] => {
                    let chosen = chosen.clone();
                    vec![Finding::DuplicateAffinity {
                        block,
                        nodes: confirmed,
                        chosen,
                    }]
                }
                _ => Vec::new(),
            };
        };
        let host = known.host();
        let owner = if known.deleted {
            Owner::Nobody
        } else {
            known.owner.clone()
        };
        let mismatch = |node: String| Finding::OwnerMismatch {
            block,
            node,
            owner: owner.clone(),
        };
        let mut findings: Vec<Finding> = confirmed
            .into_iter()
            .filter(|node| host != Some(node))
            .map(mismatch)
            .collect();
        if let Some(node) = host.filter(|node| !self.is_confirmed(node)) {
            findings.push(Finding::AffinityNotConfirmed {
                block,
                node: node.into(),
            });
        }
        findings
    }

    /// A route for each address that is used by another node than the owner.
    fn borrowed(&self, windows: &BTreeSet<String>, findings: &mut Vec<Finding>) -> Vec<Route> {
        let Some(block) = self.block.as_ref().filter(|block| !block.deleted) else {
            return Vec::new();
        };
        let cidr = block.cidr;
        let windows_owner = block.host().filter(|host| windows.contains(*host));
        let reserved = windows_owner.and_then(|_| windows_reserved_ordinals(&cidr));
        let mut routes = Vec::new();
        for (&ordinal, allocation) in &block.allocations {
            let Some(address) = block.address(ordinal) else {
                findings.push(Finding::OrdinalOutside {
                    block: cidr,
                    ordinal,
                });
                continue;
            };
            let in_use = match allocation.usage {
                Usage::Workload | Usage::Tunnel => true,
                Usage::WindowsReserved | Usage::Released => false,
            };
            let Some(node) = allocation.node.as_deref().filter(|_| in_use) else {
                continue;
            };
            if let Some(owner) = windows_owner
                && allocation.usage == Usage::Workload
                && reserved.is_some_and(|ordinals| ordinals.contains(&ordinal))
            {
                let owner = owner.to_owned();
                findings.push(Finding::WindowsReservedInUse {
                    block: cidr,
                    owner,
                    address,
                });
            }
            if block.host() == Some(node) {
                continue;
            }
            if let Some(owner) = windows_owner {
                let (owner, borrower) = (owner.to_owned(), node.to_owned());
                findings.push(Finding::WindowsBlockLent {
                    block: cidr,
                    owner,
                    address,
                    borrower,
                });
            } else if windows.contains(node) {
                let (owner, node) = (block.owner.clone(), node.to_owned());
                findings.push(Finding::WindowsBorrower {
                    block: cidr,
                    owner,
                    address,
                    node,
                });
            } else {
                let (prefix, kind) = (IpNet::from(address), RouteKind::Borrowed);
                routes.push(Route {
                    prefix,
                    node: node.into(),
                    kind,
                    announced: true,
                });
            }
        }
        routes
    }
}

/// The claim that counts: the one of the most specific block.
fn winner(claims: &[Claim]) -> Option<&Route> {
    claims
        .iter()
        .max_by_key(|claim| claim.cell.prefix_len())
        .map(|claim| &claim.route)
}

#[cfg(test)]
mod proptests;
#[cfg(test)]
mod tests;
