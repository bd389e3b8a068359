//! Questions about this host's network, answered at once and without a [`crate::Dataplane`].
//!
//! They block for some system calls, and are about the network namespace of the calling thread.

use std::net::{IpAddr, Ipv4Addr};

/// A network interface.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Link {
    /// Interface index.
    pub ifindex: u32,
    /// Name.
    pub name: String,
    /// Bytes.
    pub mtu: u32,
    /// Administratively up.
    pub up: bool,
}

/// The address that this host uses towards the Internet: the source address of its default route, or an address of the
/// interface that the route goes out of. `None` when there is no default route, or on platforms without a backend.
#[must_use]
pub fn default_route_address() -> Option<Ipv4Addr> {
    backend::default_route_address()
}

/// The interface that carries an address. `None` when there is none, or on platforms without a backend.
#[must_use]
pub fn address_owner(address: IpAddr) -> Option<Link> {
    backend::address_owner(address)
}

/// The name of an interface. `None` when there is none, or on platforms without a backend.
#[must_use]
pub fn interface_name(ifindex: u32) -> Option<String> {
    backend::interface_name(ifindex)
}

#[cfg(target_os = "linux")]
use crate::linux::questions as backend;

#[cfg(not(target_os = "linux"))]
mod backend {
    use super::{IpAddr, Ipv4Addr, Link};

    pub(super) const fn default_route_address() -> Option<Ipv4Addr> {
        None
    }

    pub(super) const fn address_owner(_address: IpAddr) -> Option<Link> {
        None
    }

    pub(super) const fn interface_name(_ifindex: u32) -> Option<String> {
        None
    }
}
