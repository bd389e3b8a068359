//! IPPool: a range of addresses for workloads, and how packets to it travel between nodes.

use ipnet::IpNet;

use super::Metadata;
use crate::Selector;

/// A range of addresses for workloads.
#[derive(Clone, Debug, PartialEq)]
pub struct IpPool {
    /// Name.
    pub metadata: Metadata,
    /// `cidr`: the range.
    pub cidr: IpNet,
    /// `vxlanMode`.
    pub vxlan_mode: Encapsulation,
    /// `ipipMode`.
    pub ipip_mode: Encapsulation,
    /// `natOutgoing`: packets that leave the pools are masqueraded.
    pub nat_outgoing: bool,
    /// `disabled`: no new addresses; the ones in use keep their routes.
    pub disabled: bool,
    /// `disableBGPExport`: nothing inside is announced.
    pub disable_bgp_export: bool,
    /// `blockSize`: prefix length of a block, 26 or 122 when absent.
    pub block_size: Option<u8>,
    /// `nodeSelector`: the nodes that take addresses from the pool.
    pub node_selector: Option<Selector>,
    /// `namespaceSelector`: the namespaces that take addresses from the pool.
    pub namespace_selector: Option<Selector>,
    /// `allowedUses`: workloads and tunnels when empty.
    pub allowed_uses: Vec<AllowedUse>,
    /// `assignmentMode`.
    pub assignment_mode: AssignmentMode,
}

/// When packets between nodes are encapsulated.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Encapsulation {
    /// Never.
    #[default]
    Never,
    /// Always.
    Always,
    /// Only between nodes of different subnets.
    CrossSubnet,
}

/// What addresses of a pool are used for.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum AllowedUse {
    /// Workloads.
    Workload,
    /// Tunnel end points.
    Tunnel,
    /// Services of type LoadBalancer.
    LoadBalancer,
}

/// How addresses are taken from a pool.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub enum AssignmentMode {
    /// By themselves.
    #[default]
    Automatic,
    /// Only on request.
    Manual,
}

impl IpPool {
    /// A pool without encapsulation and with all defaults.
    #[must_use]
    pub fn new(name: &str, cidr: IpNet) -> Self {
        Self {
            metadata: Metadata::named(name),
            cidr,
            vxlan_mode: Encapsulation::Never,
            ipip_mode: Encapsulation::Never,
            nat_outgoing: false,
            disabled: false,
            disable_bgp_export: false,
            block_size: None,
            node_selector: None,
            namespace_selector: None,
            allowed_uses: Vec::new(),
            assignment_mode: AssignmentMode::Automatic,
        }
    }

    /// The prefix length of the pool's blocks.
    #[must_use]
    pub fn block_size(&self) -> u8 {
        self.block_size.unwrap_or(match self.cidr {
            IpNet::V4(_) => 26,
            IpNet::V6(_) => 122,
        })
    }

    /// True for a pool of service addresses, which no node has routes for.
    #[must_use]
    pub fn is_load_balancer(&self) -> bool {
        self.allowed_uses.contains(&AllowedUse::LoadBalancer)
    }

    /// True when packets to the pool use VXLAN, always or across subnets.
    #[must_use]
    pub fn uses_vxlan(&self) -> bool {
        self.vxlan_mode != Encapsulation::Never
    }

    /// True when packets to the pool use IP-in-IP, always or across subnets.
    #[must_use]
    pub fn uses_ipip(&self) -> bool {
        self.ipip_mode != Encapsulation::Never
    }
}
