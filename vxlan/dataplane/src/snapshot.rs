//! What the dataplane wants and has, for people to look at.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use vxlan::{Family, MacAddr};

use crate::{KernelError, RouteClass, RouteSpec};

/// The state of everything at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// All wanted routes, by prefix, then class. Empty in a [`crate::Dataplane::summary`].
    pub routes: Vec<RouteStatus>,
    /// The tunnels that are wanted, IPv4 first.
    pub tunnels: Vec<TunnelStatus>,
    /// Routes, neighbours, FDB entries and devices of somebody else that are in the way of weft's. Each a sentence.
    pub conflicts: Vec<String>,
    /// [`crate::Dataplane::complete`] was called.
    pub complete: bool,
    /// Numbers.
    pub counters: Counters,
}

/// One wanted route.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RouteStatus {
    /// Where to.
    pub prefix: IpNet,
    /// What for.
    pub class: RouteClass,
    /// How it was asked for.
    pub wanted: Arc<RouteSpec>,
    /// What became of it.
    pub state: RouteState,
    /// What the kernel has for the prefix, next hops resolved; `None` when it has nothing of weft's.
    pub kernel: Option<RouteSpec>,
}

/// What became of a wanted route.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RouteState {
    /// It is going to be written.
    Pending,
    /// The kernel has it.
    Installed,
    /// The kernel has it, but without these next hops, which can't be used.
    Partial(Vec<KernelError>),
    /// It was refused, or its next hops can't be used. It is tried again.
    Failed(KernelError),
    /// A route of this class takes precedence.
    Shadowed(RouteClass),
}

/// One wanted tunnel.
#[derive(Clone, Debug)]
pub struct TunnelStatus {
    /// Name of the device.
    pub device: String,
    /// Of the tunnel.
    pub family: Family,
    /// VXLAN network identifier.
    pub vni: u32,
    /// UDP port.
    pub port: u16,
    /// This node's address.
    pub local: IpAddr,
    /// This node's address in the overlay.
    pub tunnel_address: IpAddr,
    /// Wanted MAC address.
    pub mac: MacAddr,
    /// The device as it is; `None` when there is none.
    pub state: Option<DeviceStatus>,
    /// The underlay device, which carries `local`.
    pub parent: Option<String>,
    /// What is wrong with the device; `None`: it is as it should be.
    pub problem: Option<String>,
    /// The other ends, by their addresses in the overlay.
    pub vteps: BTreeMap<IpAddr, VtepStatus>,
    /// How many routes the overlay has for this tunnel, those in the same subnet included.
    pub routes: usize,
    /// Changes by others to the device and to what is on it, that were put right.
    pub drift_repaired: u64,
    /// Permanent neighbours and FDB entries on the device that somebody else made.
    pub foreign: Vec<String>,
}

/// A tunnel device as the kernel has it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DeviceStatus {
    /// Interface index.
    pub ifindex: u32,
    /// Bytes.
    pub mtu: u32,
    /// Administratively up.
    pub up: bool,
}

/// One other end of a tunnel.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VtepStatus {
    /// The node.
    pub node: String,
    /// Its MAC address in the overlay.
    pub mac: MacAddr,
    /// Its node address, where packets are sent.
    pub underlay: IpAddr,
    /// Neighbour entry: tunnel address to MAC address.
    pub neighbour: EntryState,
    /// Forwarding entry: MAC address to node address.
    pub fdb: EntryState,
    /// Prefixes that are routed to it through the tunnel.
    pub prefixes: Vec<IpNet>,
}

/// What became of a wanted neighbour or FDB entry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum EntryState {
    /// It is going to be written.
    Pending,
    /// The kernel has it.
    Installed,
    /// It was refused. It is tried again.
    Failed(KernelError),
}

/// Numbers since the start, and of the present.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Prefixes that a route is wanted for.
    pub routes_wanted: u64,
    /// Of these, in the kernel.
    pub routes_installed: u64,
    /// Of these, refused, or with no next hop that can be used.
    pub routes_failed: u64,
    /// Routes of an earlier life that nothing wants yet; removed after [`crate::Dataplane::complete`].
    pub routes_adopted: u64,
    /// Operations written to the kernel.
    pub writes: u64,
    /// Of these, refused.
    pub writes_failed: u64,
    /// Messages that the kernel sent unasked.
    pub notifications: u64,
    /// Objects that something else changed or removed, and that were put right.
    pub drift_repaired: u64,
    /// Comparisons of everything with the kernel.
    pub full_checks: u64,
    /// Times that the kernel told more than was read.
    pub overruns: u64,
    /// What the kernel said when it refused something last.
    pub last_error: Option<String>,
}
