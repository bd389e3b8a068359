//! From netlink messages to objects. Pure; what does not concern weft is `None`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::address::{AddressAttribute, AddressMessage};
use rtnetlink::packet_route::link::{
    InfoData, InfoVxlan, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use rtnetlink::packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use rtnetlink::packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteMetric,
    RouteNextHopFlags, RouteProtocol, RouteType, RouteVia,
};
use vxlan::MacAddr;

use crate::object::{
    Entries, FdbEntry, ForeignRoute, Hop, HostRoute, Link, Neighbour, SeenRoute, VxlanLink,
};
use crate::{ROUTE_METRIC, ROUTE_PROTOCOL};

pub(super) fn address(message: &AddressMessage) -> Option<(u32, IpNet)> {
    // On a point-to-point link, `Address` is the other end's.
    let mut remote = None;
    let mut local = None;
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Local(address) => local = Some(*address),
            AddressAttribute::Address(address) => remote = Some(*address),
            _ => {}
        }
    }
    let address = IpNet::new(local.or(remote)?, message.header.prefix_len).ok()?;
    Some((message.header.index, address))
}

pub(super) fn link(message: &LinkMessage) -> Option<Link> {
    let mut link = Link {
        ifindex: message.header.index,
        name: String::new(),
        mtu: 0,
        up: message.header.flags.contains(LinkFlags::Up),
        alias: None,
        mac: None,
        vxlan: None,
        addresses: Vec::new(),
    };
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name.clone_from(name),
            LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
            LinkAttribute::IfAlias(alias) => link.alias = Some(alias.clone()),
            LinkAttribute::Address(bytes) => link.mac = mac(bytes),
            LinkAttribute::LinkInfo(infos) => link.vxlan = vxlan(infos),
            _ => {}
        }
    }
    (!link.name.is_empty()).then_some(link)
}

fn vxlan(infos: &[LinkInfo]) -> Option<VxlanLink> {
    let attributes = infos.iter().find_map(|info| match info {
        LinkInfo::Data(InfoData::Vxlan(attributes)) => Some(attributes),
        _ => None,
    })?;
    let mut found = VxlanLink {
        vni: 0,
        port: 0,
        local: None,
        parent: 0,
        learning: false,
    };
    for attribute in attributes {
        match attribute {
            InfoVxlan::Id(vni) => found.vni = *vni,
            InfoVxlan::Port(port) => found.port = *port,
            InfoVxlan::Local(address) => found.local = Some(IpAddr::V4(*address)),
            InfoVxlan::Local6(address) => found.local = Some(IpAddr::V6(*address)),
            InfoVxlan::Link(parent) => found.parent = *parent,
            InfoVxlan::Learning(learning) => found.learning = *learning,
            _ => {}
        }
    }
    Some(found)
}

/// Adds a permanent neighbour or FDB entry of the device.
pub(super) fn entry(message: &NeighbourMessage, ifindex: u32, entries: &mut Entries) {
    if message.header.ifindex != ifindex || message.header.state != NeighbourState::Permanent {
        return;
    }
    let mut destination = None;
    let mut lladdr = None;
    let mut protocol = None;
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::Destination(address) => destination = ip(address),
            NeighbourAttribute::LinkLayerAddress(bytes) => lladdr = mac(bytes),
            NeighbourAttribute::Protocol(number) => protocol = Some(u8::from(*number)),
            _ => {}
        }
    }
    let (Some(destination), Some(mac)) = (destination, lladdr) else {
        return;
    };
    if message.header.family == AddressFamily::Bridge {
        entries.fdb.push(FdbEntry {
            mac,
            underlay: destination,
            own: message.header.flags.contains(NeighbourFlags::ExtLearned),
        });
    } else {
        entries.neighbours.push(Neighbour {
            address: destination,
            mac,
            own: protocol == Some(ROUTE_PROTOCOL),
        });
    }
}

fn ip(address: &NeighbourAddress) -> Option<IpAddr> {
    match address {
        NeighbourAddress::Inet(address) => Some((*address).into()),
        NeighbourAddress::Inet6(address) => Some((*address).into()),
        // An FDB entry does not say of which family it is.
        NeighbourAddress::Other(bytes) => match bytes.len() {
            4 => Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes.as_slice()).ok()?).into()),
            16 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes.as_slice()).ok()?).into()),
            _ => None,
        },
        _ => None,
    }
}

fn mac(bytes: &[u8]) -> Option<MacAddr> {
    <[u8; 6]>::try_from(bytes).ok().map(MacAddr)
}

/// A route of table main that can matter: weft's own, or one that leads somewhere or forbids to.
pub(super) fn route(message: &RouteMessage) -> Option<(IpNet, SeenRoute)> {
    let header = &message.header;
    let default: IpAddr = match header.address_family {
        AddressFamily::Inet => Ipv4Addr::UNSPECIFIED.into(),
        AddressFamily::Inet6 => Ipv6Addr::UNSPECIFIED.into(),
        _ => return None,
    };
    if header.flags.contains(RouteFlags::Cloned) || header.tos != 0 {
        return None;
    }
    let mut destination = default;
    let mut table = u32::from(header.table);
    let mut metric = 0;
    let mut mtu = None;
    let mut source = None;
    let mut only = Hop {
        gateway: None,
        ifindex: 0,
        onlink: header.flags.contains(RouteFlags::Onlink),
        weight: 1,
    };
    let mut hops = Vec::new();
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(address) => destination = route_ip(address)?,
            RouteAttribute::Table(number) => table = *number,
            RouteAttribute::Priority(number) => metric = *number,
            RouteAttribute::PrefSource(address) => source = route_ip(address),
            RouteAttribute::Oif(ifindex) => only.ifindex = *ifindex,
            RouteAttribute::Gateway(_) | RouteAttribute::Via(_) => {
                only.gateway = gateway(attribute);
            }
            RouteAttribute::Metrics(metrics) => {
                mtu = metrics.iter().find_map(|metric| match metric {
                    RouteMetric::Mtu(mtu) => Some(*mtu),
                    _ => None,
                });
            }
            RouteAttribute::MultiPath(next_hops) => {
                hops = next_hops
                    .iter()
                    .map(|next_hop| Hop {
                        gateway: next_hop.attributes.iter().find_map(gateway),
                        ifindex: next_hop.interface_index,
                        onlink: next_hop.flags.contains(RouteNextHopFlags::Onlink),
                        weight: u16::from(next_hop.hops) + 1,
                    })
                    .collect();
            }
            _ => {}
        }
    }
    if table != u32::from(RouteHeader::RT_TABLE_MAIN) {
        return None;
    }
    let prefix = IpNet::new(destination, header.destination_prefix_length).ok()?;
    let unicast = header.kind == RouteType::Unicast;
    if !unicast {
        hops.clear();
    } else if hops.is_empty() {
        hops.push(only);
    }
    let protocol = u8::from(header.protocol);
    let own = header.protocol == RouteProtocol::from(ROUTE_PROTOCOL) && metric == ROUTE_METRIC;
    let route = match header.kind {
        RouteType::Unicast if own => SeenRoute::Own(HostRoute::unicast(hops, mtu)),
        RouteType::BlackHole if own => SeenRoute::Own(HostRoute::Blackhole),
        RouteType::Unicast
        | RouteType::BlackHole
        | RouteType::Unreachable
        | RouteType::Prohibit
            if protocol != ROUTE_PROTOCOL =>
        {
            SeenRoute::Foreign(ForeignRoute {
                protocol,
                metric,
                source,
                hops,
            })
        }
        _ => return None,
    };
    Some((prefix, route))
}

fn gateway(attribute: &RouteAttribute) -> Option<IpAddr> {
    match attribute {
        RouteAttribute::Gateway(address) => route_ip(address),
        RouteAttribute::Via(RouteVia::Inet(address)) => Some((*address).into()),
        RouteAttribute::Via(RouteVia::Inet6(address)) => Some((*address).into()),
        _ => None,
    }
}

fn route_ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some((*address).into()),
        RouteAddress::Inet6(address) => Some((*address).into()),
        _ => None,
    }
}
