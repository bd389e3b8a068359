//! The plan: what one node does, computed from all objects.
//!
//! ```text
//!   Snapshot ─┬─ sessions    mesh, explicit and reverse peerings            facts: BGPPeer, BGPConfiguration, Node
//!             ├─ originate   own blocks, borrowed addresses, blackholes            IPAMBlock, BlockAffinity
//!             ├─ export      ordered rules, communities                            IPPool, prefixAdvertisements
//!             ├─ kernel      learned prefixes that are not installed               IPPool, service ranges
//!             └─ vxlan       devices, end points, routes                           IPPool, Node, IPAMBlock
//! ```
//!
//! A plan is a plain value: the daemon computes a new one whenever an object changes, and acts on the difference to
//! the running one ([`Plan::diff`]). The cost of a plan grows with the number of nodes and blocks.

mod diff;
mod export;
mod idle;
mod kernel;
mod originate;
mod session;
mod vxlan;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use routeagg::Platform;

use crate::model::{BindMode, Kind, Node, ObjectKey};
use crate::snapshot::PoolIndex;
use crate::{Asn, Finding, RouterIdSource, Snapshot, hashed_router_id};

pub use diff::{Action, Cost, PlanChange, Subject};
pub use export::{AcceptReason, CommunityRule, ExportPlan, ExportRule, Verdict};
pub use kernel::{KernelPlan, KernelReject, NotInstalled};
pub use originate::{OriginationKind, OriginationPlan};
pub use session::{Family, SessionKey, SessionKind, SessionPlan};
pub use vxlan::{VxlanNode, VxlanPlan, VxlanPool, VxlanRoute, VxlanSettings};

/// What the daemon knows about itself; everything else comes from the objects.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Local {
    /// The name of the own node.
    pub node: String,
    /// What the daemon runs on.
    pub platform: Platform,
    /// Where the router ID comes from.
    pub router_id: RouterIdSource,
    /// Settings of the overlay, which no object has.
    pub vxlan: VxlanSettings,
}

/// What one node does.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The node.
    pub node: String,
    /// Its AS.
    pub asn: Asn,
    /// Its router ID; `None` when nothing gives one, and then there are no sessions.
    pub router_id: Option<Ipv4Addr>,
    /// The TCP port that it listens on.
    pub listen_port: u16,
    /// The addresses that it listens on.
    pub bind: Bind,
    /// The route reflector cluster that it serves (RFC 4456).
    pub cluster_id: Option<Ipv4Addr>,
    /// Its own addresses.
    pub node_addresses: NodeAddresses,
    /// Kernel metric and LOCAL_PREF of normal routes.
    pub priorities: RoutePriorities,
    /// Its BGP sessions.
    pub sessions: BTreeMap<SessionKey, SessionPlan>,
    /// The prefixes that it announces of itself.
    pub originations: BTreeMap<IpNet, OriginationPlan>,
    /// What leaves towards peers.
    pub export: ExportPlan,
    /// What of the learned routes goes into the kernel.
    pub kernel: KernelPlan,
    /// The overlay.
    pub vxlan: VxlanPlan,
}

/// A plan, and what a person should know about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// What the objects ask for and does not work, or is probably not meant; sorted.
    pub findings: Vec<Finding>,
}

/// Why there is no plan.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// The own node is not among the objects.
    #[error(
        "there is no Node {node:?} among the objects: nothing is known about this node; add it, or start the daemon \
         with the name of an existing node"
    )]
    UnknownNode {
        /// The name that was looked for.
        node: String,
    },
}

/// The addresses that the daemon listens on.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub enum Bind {
    /// All.
    #[default]
    Any,
    /// The node's own ones only.
    NodeAddresses,
}

/// A node's own addresses, each with the length of its subnet.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct NodeAddresses {
    /// IPv4.
    pub ipv4: Option<Ipv4Net>,
    /// IPv6.
    pub ipv6: Option<Ipv6Net>,
}

/// Kernel metric of normal routes, and the LOCAL_PREF that stands for it among Calico's speakers.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct RoutePriorities {
    /// Metric of IPv4 routes.
    pub ipv4: u32,
    /// Metric of IPv6 routes.
    pub ipv6: u32,
}

/// Computes what one node does.
///
/// The objects are taken to be valid ([`crate::validate`]); sessions that would need something weft does not support
/// are left out all the same.
///
/// # Errors
/// When the own node is not among the objects.
pub fn plan(snapshot: &Snapshot, local: &Local) -> Result<Planned, PlanError> {
    let unknown = || PlanError::UnknownNode {
        node: local.node.clone(),
    };
    let node = snapshot.nodes.get(&local.node).ok_or_else(unknown)?;
    let mut findings = Vec::new();
    let context = Context {
        snapshot,
        local,
        node,
        pools: PoolIndex::new(snapshot),
    };

    let ipam = snapshot.ipam();
    let announcements = ipam.announcements(&local.node);
    let router_id = context.router_id(&mut findings);
    let priorities = context.priorities();
    let export = export::plan(&context, &announcements, priorities);
    let plan = Plan {
        node: local.node.clone(),
        asn: context.asn(),
        router_id,
        listen_port: snapshot.listen_port(&local.node),
        bind: match snapshot.defaults().and_then(|defaults| defaults.bind_mode) {
            Some(BindMode::NodeIp) => Bind::NodeAddresses,
            Some(BindMode::None) | None => Bind::Any,
        },
        cluster_id: context.cluster_id(),
        node_addresses: context.addresses(),
        priorities,
        sessions: match router_id {
            Some(_) => session::plan(&context, &mut findings),
            None => BTreeMap::new(),
        },
        originations: originate::plan(&context, &announcements, &export, &mut findings),
        export,
        kernel: kernel::plan(&context),
        vxlan: vxlan::plan(&context, &ipam, &mut findings),
    };
    findings.sort();
    findings.dedup();
    Ok(Planned { plan, findings })
}

/// What every part of the plan looks at.
struct Context<'a> {
    snapshot: &'a Snapshot,
    local: &'a Local,
    node: &'a Node,
    pools: PoolIndex<'a>,
}

impl Context<'_> {
    fn asn(&self) -> Asn {
        self.snapshot.asn_of(self.node)
    }

    fn is_windows(&self) -> bool {
        self.local.platform == Platform::Windows
    }

    /// No route reflector role on Windows: validation refuses it, and what gets past has no effect.
    fn cluster_id(&self) -> Option<Ipv4Addr> {
        self.node.cluster_id().filter(|_| !self.is_windows())
    }

    fn addresses(&self) -> NodeAddresses {
        let ipv6 = self.node.ipv6().filter(|_| !self.is_windows());
        NodeAddresses {
            ipv4: self.node.ipv4(),
            ipv6,
        }
    }

    fn key(&self) -> ObjectKey {
        ObjectKey::new(Kind::Node, &self.local.node)
    }

    fn router_id(&self, findings: &mut Vec<Finding>) -> Option<Ipv4Addr> {
        let id = match self.local.router_id {
            RouterIdSource::NodeAddress => self.node.ipv4().map(|net| net.addr()),
            RouterIdSource::NodeAddressOr(other) => {
                Some(self.node.ipv4().map_or(other, |net| net.addr()))
            }
            RouterIdSource::Hash => Some(hashed_router_id(&self.local.node)),
            RouterIdSource::Given(id) => Some(id),
        };
        let id = id.filter(|id| !id.is_unspecified());
        if id.is_none() {
            let problem = "there is no router ID, so there are no BGP sessions".to_owned();
            let remedy = "set ipv4Address, or start weftd with a router ID or its hash mode";
            let objects = vec![self.key()];
            findings.push(Finding::error(
                objects,
                "spec.bgp.ipv4Address",
                problem,
                remedy,
            ));
        }
        id
    }

    fn priorities(&self) -> RoutePriorities {
        let defaults = self.snapshot.defaults();
        let ipv4 = defaults.and_then(|defaults| defaults.ipv4_normal_route_priority);
        let ipv6 = defaults.and_then(|defaults| defaults.ipv6_normal_route_priority);
        RoutePriorities {
            ipv4: ipv4.unwrap_or(RoutePriorities::NORMAL),
            ipv6: ipv6.unwrap_or(RoutePriorities::NORMAL),
        }
    }
}

impl Local {
    /// A Linux node with all defaults.
    #[must_use]
    pub fn new(node: &str) -> Self {
        Self {
            node: node.to_owned(),
            platform: Platform::Linux,
            router_id: RouterIdSource::default(),
            vxlan: VxlanSettings::default(),
        }
    }
}

impl NodeAddresses {
    /// The IPv4 address.
    #[must_use]
    pub fn ipv4_address(&self) -> Option<Ipv4Addr> {
        self.ipv4.map(|net| net.addr())
    }

    /// The IPv6 address.
    #[must_use]
    pub fn ipv6_address(&self) -> Option<Ipv6Addr> {
        self.ipv6.map(|net| net.addr())
    }
}

impl RoutePriorities {
    /// The metric of a normal route where nothing else is configured.
    pub const NORMAL: u32 = 1024;

    /// The metric of a normal route to a prefix.
    #[must_use]
    pub fn metric(&self, prefix: &IpNet) -> u32 {
        match prefix {
            IpNet::V4(_) => self.ipv4,
            IpNet::V6(_) => self.ipv6,
        }
    }

    /// The LOCAL_PREF with which a normal route to a prefix leaves on iBGP.
    #[must_use]
    pub fn local_pref(&self, prefix: &IpNet) -> u32 {
        metric_from_local_pref(self.metric(prefix))
    }
}

/// The kernel metric that a received LOCAL_PREF stands for, and the other way round: 2^31 - 1 minus the value.
///
/// A value above 2^31 - 1 gives 0.
#[must_use]
pub fn metric_from_local_pref(local_pref: u32) -> u32 {
    const MAX: u32 = i32::MAX.unsigned_abs();
    MAX.saturating_sub(local_pref)
}

#[cfg(test)]
mod tests;
