//! Questions about the host, each with a socket of its own. See [`crate::host`].

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use super::LinuxHost;
use crate::host::Link;
use crate::object::{Host, SeenRoute};

pub(crate) fn default_route_address() -> Option<Ipv4Addr> {
    let mut host = LinuxHost::open().ok()?;
    let default: IpNet = IpNet::new(Ipv4Addr::UNSPECIFIED.into(), 0).ok()?;
    let best = host
        .routes()
        .ok()?
        .into_iter()
        .filter_map(|(prefix, route)| match route {
            SeenRoute::Foreign(route) if prefix == default => Some(route),
            _ => None,
        })
        .filter(|route| !route.hops.is_empty())
        .min_by_key(|route| route.metric)?;
    if let Some(IpAddr::V4(source)) = best.source {
        return Some(source);
    }
    let ifindex = best.hops.first()?.ifindex;
    let links = host.links().ok()?;
    let link = links.iter().find(|link| link.ifindex == ifindex)?;
    // With several, that in the gateway's subnet.
    let gateway = best.hops.first()?.gateway;
    let addresses = || link.addresses.iter().filter_map(v4);
    addresses()
        .find(|net| gateway.is_some_and(|gateway| IpNet::V4(*net).contains(&gateway)))
        .or_else(|| addresses().next())
        .map(|net| net.addr())
}

fn v4(address: &IpNet) -> Option<ipnet::Ipv4Net> {
    match address {
        IpNet::V4(net) => Some(*net),
        IpNet::V6(_) => None,
    }
}

pub(crate) fn address_owner(address: IpAddr) -> Option<Link> {
    let links = LinuxHost::open().ok()?.links().ok()?;
    links
        .into_iter()
        .find(|link| link.addresses.iter().any(|net| net.addr() == address))
        .map(|link| Link {
            ifindex: link.ifindex,
            name: link.name,
            mtu: link.mtu,
            up: link.up,
        })
}

pub(crate) fn interface_name(ifindex: u32) -> Option<String> {
    let name = nix::net::if_::if_indextoname(ifindex).ok()?;
    name.into_string().ok()
}
