//! From a route as it was asked for to one that the kernel takes: gateways without an interface are looked up.

use std::net::IpAddr;

use super::host_model::HostModel;
use crate::object::{Hop, HostRoute};
use crate::{KernelError, RouteNextHop, RouteSpec};

/// What a route becomes on this host, at this moment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Resolution {
    /// `None`: no next hop can be used.
    pub(super) route: Option<HostRoute>,
    /// Why next hops are left out. Not empty when `route` is `None`.
    pub(super) errors: Vec<KernelError>,
}

pub(super) fn resolve(spec: &RouteSpec, host: &HostModel) -> Resolution {
    let (next_hops, mtu) = match spec {
        RouteSpec::Blackhole => {
            return Resolution {
                route: Some(HostRoute::Blackhole),
                errors: Vec::new(),
            };
        }
        RouteSpec::Unicast { next_hops, mtu } => (next_hops, *mtu),
    };
    let mut hops = Vec::with_capacity(next_hops.len());
    let mut errors = Vec::new();
    for next_hop in next_hops {
        match ways_out(next_hop, host) {
            Ok(ways) => hops.extend(ways),
            Err(error) => errors.push(error),
        }
    }
    if hops.is_empty() {
        if errors.is_empty() {
            errors.push(KernelError::new(libc::EINVAL, Some("no next hop")));
        }
        return Resolution {
            route: None,
            errors,
        };
    }
    Resolution {
        route: Some(HostRoute::unicast(hops, mtu)),
        errors,
    }
}

fn ways_out(next_hop: &RouteNextHop, host: &HostModel) -> Result<Vec<Hop>, KernelError> {
    let RouteNextHop {
        gateway,
        interface,
        onlink,
        weight,
    } = next_hop;
    let weight = (*weight).clamp(1, 256);
    if let Some(name) = interface {
        let link = host.link_named(name).ok_or_else(|| {
            KernelError::new(libc::ENODEV, Some(&format!("there is no interface {name}")))
        })?;
        if !link.up {
            return Err(KernelError::new(
                libc::ENETDOWN,
                Some(&format!("interface {name} is down")),
            ));
        }
        return Ok(vec![Hop {
            gateway: *gateway,
            ifindex: link.ifindex,
            onlink: *onlink,
            weight,
        }]);
    }
    let Some(gateway) = gateway else {
        return Err(KernelError::new(
            libc::EINVAL,
            Some("a next hop has neither gateway nor interface"),
        ));
    };
    look_up(*gateway, host).map(|ways| ways.into_iter().map(|hop| Hop { weight, ..hop }).collect())
}

fn look_up(gateway: IpAddr, host: &HostModel) -> Result<Vec<Hop>, KernelError> {
    let refuse = |errno, why: &str| {
        Err(KernelError::new(
            errno,
            Some(&format!("next hop {gateway}: {why}")),
        ))
    };
    if let Some(link) = host.owner(gateway) {
        return refuse(
            libc::EINVAL,
            &format!("it is this host's own address, on {}", link.name),
        );
    }
    if is_link_local(gateway) {
        return refuse(libc::EINVAL, "a link-local address needs an interface");
    }
    let ways = host.ways_to(gateway);
    if ways.is_empty() {
        return refuse(
            libc::EHOSTUNREACH,
            "no connected network and no route of others leads there",
        );
    }
    Ok(ways
        .into_iter()
        .map(|way| Hop {
            // On a connected network it is itself the gateway; else the router on the way is.
            gateway: way.gateway.or(Some(gateway)),
            ..way
        })
        .collect())
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}
