//! The objects that a host's network is made of, as [`crate::reconcile`] compares them and a backend writes them.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use vxlan::MacAddr;

use crate::KernelError;

/// A network interface with its addresses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Link {
    pub(crate) ifindex: u32,
    pub(crate) name: String,
    pub(crate) mtu: u32,
    pub(crate) up: bool,
    pub(crate) alias: Option<String>,
    pub(crate) mac: Option<MacAddr>,
    /// Present when it is a VXLAN device.
    pub(crate) vxlan: Option<VxlanLink>,
    pub(crate) addresses: Vec<IpNet>,
}

/// What only a VXLAN device has.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct VxlanLink {
    pub(crate) vni: u32,
    pub(crate) port: u16,
    pub(crate) local: Option<IpAddr>,
    /// Interface index of the underlay device; 0: none.
    pub(crate) parent: u32,
    pub(crate) learning: bool,
}

/// A VXLAN device to create.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct DeviceSpec {
    pub(crate) name: String,
    pub(crate) vni: u32,
    pub(crate) port: u16,
    pub(crate) local: IpAddr,
    pub(crate) parent: u32,
    pub(crate) mac: MacAddr,
    pub(crate) mtu: u32,
}

/// A route of weft's as the kernel has it: next hops resolved and sorted.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub(crate) enum HostRoute {
    Blackhole,
    Unicast { hops: Vec<Hop>, mtu: Option<u32> },
}

/// One way out, resolved.
#[derive(Clone, Debug, Eq, PartialEq, Hash, Ord, PartialOrd)]
pub(crate) struct Hop {
    pub(crate) gateway: Option<IpAddr>,
    pub(crate) ifindex: u32,
    pub(crate) onlink: bool,
    /// 1 to 256.
    pub(crate) weight: u16,
}

/// A route of somebody else in table main.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ForeignRoute {
    pub(crate) protocol: u8,
    pub(crate) metric: u32,
    /// Preferred source address.
    pub(crate) source: Option<IpAddr>,
    /// Empty when it does not lead anywhere (blackhole, unreachable, prohibit).
    pub(crate) hops: Vec<Hop>,
}

/// A route as it is found in table main.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum SeenRoute {
    Own(HostRoute),
    Foreign(ForeignRoute),
}

/// Neighbours and FDB entries of one device.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Entries {
    pub(crate) neighbours: Vec<Neighbour>,
    pub(crate) fdb: Vec<FdbEntry>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Neighbour {
    pub(crate) address: IpAddr,
    pub(crate) mac: MacAddr,
    pub(crate) own: bool,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct FdbEntry {
    pub(crate) mac: MacAddr,
    pub(crate) underlay: IpAddr,
    pub(crate) own: bool,
}

/// One write. Puts create or replace in one step; removing what is not there is no error.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Operation {
    CreateDevice(DeviceSpec),
    /// Brings the device up, under weft's alias.
    ConfigureDevice {
        ifindex: u32,
        mac: MacAddr,
        mtu: u32,
    },
    RemoveDevice {
        ifindex: u32,
    },
    AddAddress {
        ifindex: u32,
        address: IpNet,
    },
    RemoveAddress {
        ifindex: u32,
        address: IpNet,
    },
    PutNeighbour {
        ifindex: u32,
        address: IpAddr,
        mac: MacAddr,
    },
    RemoveNeighbour {
        ifindex: u32,
        address: IpAddr,
    },
    PutFdb {
        ifindex: u32,
        mac: MacAddr,
        underlay: IpAddr,
    },
    RemoveFdb {
        ifindex: u32,
        mac: MacAddr,
        underlay: IpAddr,
    },
    PutRoute {
        prefix: IpNet,
        route: Arc<HostRoute>,
    },
    RemoveRoute {
        prefix: IpNet,
    },
}

/// Why an operation has no effect that can be relied on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Refusal {
    Kernel(KernelError),
    /// The answer was lost: whether it took effect has to be looked up.
    Unknown,
}

/// A host's network: what it has, and how to change it.
pub(crate) trait Host {
    /// Carries the operations out in order, without stopping at one that fails. One result each.
    fn execute(&mut self, operations: &[Operation]) -> Vec<Result<(), Refusal>>;

    /// All interfaces with their addresses.
    fn links(&mut self) -> std::io::Result<Vec<Link>>;

    /// All routes of table main.
    fn routes(&mut self) -> std::io::Result<Vec<(IpNet, SeenRoute)>>;

    /// Neighbours and FDB entries of a device that are permanent.
    fn entries(&mut self, ifindex: u32) -> std::io::Result<Entries>;
}

impl HostRoute {
    /// A route over these ways out; their order does not matter.
    pub(crate) fn unicast(mut hops: Vec<Hop>, mtu: Option<u32>) -> Self {
        hops.sort_unstable();
        hops.dedup();
        if let [only] = hops.as_mut_slice() {
            // The kernel keeps no weight for a single one.
            only.weight = 1;
        }
        Self::Unicast { hops, mtu }
    }

    pub(crate) fn hops(&self) -> &[Hop] {
        match self {
            Self::Blackhole => &[],
            Self::Unicast { hops, .. } => hops,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreateDevice(device) => write!(f, "create {}", device.name),
            Self::ConfigureDevice { ifindex, .. } => write!(f, "configure interface {ifindex}"),
            Self::RemoveDevice { ifindex } => write!(f, "remove interface {ifindex}"),
            Self::AddAddress { address, .. } => write!(f, "add address {address}"),
            Self::RemoveAddress { address, .. } => write!(f, "remove address {address}"),
            Self::PutNeighbour { address, mac, .. } => write!(f, "neighbour {address} at {mac}"),
            Self::RemoveNeighbour { address, .. } => write!(f, "remove neighbour {address}"),
            Self::PutFdb { mac, underlay, .. } => write!(f, "FDB entry {mac} to {underlay}"),
            Self::RemoveFdb { mac, .. } => write!(f, "remove FDB entry {mac}"),
            Self::PutRoute { prefix, .. } => write!(f, "route {prefix}"),
            Self::RemoveRoute { prefix } => write!(f, "remove route {prefix}"),
        }
    }
}
