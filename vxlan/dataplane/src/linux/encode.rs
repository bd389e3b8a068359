//! From operations to netlink messages. Pure.

use std::net::IpAddr;

use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use rtnetlink::packet_route::address::{
    AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope,
};
use rtnetlink::packet_route::link::{
    InfoData, InfoKind, InfoVxlan, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use rtnetlink::packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use rtnetlink::packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteMetric, RouteNextHop,
    RouteNextHopFlags, RouteProtocol, RouteScope, RouteType, RouteVia,
};
use rtnetlink::packet_route::{AddressFamily, RouteNetlinkMessage};
use vxlan::MacAddr;

use crate::object::{DeviceSpec, Hop, HostRoute, Operation};
use crate::{DEVICE_ALIAS, ROUTE_METRIC, ROUTE_PROTOCOL};

/// The message for an operation, and its flags beside `NLM_F_REQUEST`.
pub(super) fn operation(operation: &Operation) -> (RouteNetlinkMessage, u16) {
    match operation {
        Operation::CreateDevice(device) => (
            RouteNetlinkMessage::NewLink(new_device(device)),
            NLM_F_CREATE | NLM_F_EXCL,
        ),
        Operation::ConfigureDevice { ifindex, mac, mtu } => (
            RouteNetlinkMessage::SetLink(configured(*ifindex, *mac, *mtu)),
            0,
        ),
        Operation::RemoveDevice { ifindex } => {
            let mut message = LinkMessage::default();
            message.header.index = *ifindex;
            (RouteNetlinkMessage::DelLink(message), 0)
        }
        Operation::AddAddress { ifindex, address } => (
            RouteNetlinkMessage::NewAddress(address_message(*ifindex, address)),
            NLM_F_CREATE | NLM_F_EXCL,
        ),
        Operation::RemoveAddress { ifindex, address } => (
            RouteNetlinkMessage::DelAddress(address_message(*ifindex, address)),
            0,
        ),
        Operation::PutNeighbour {
            ifindex,
            address,
            mac,
        } => (
            RouteNetlinkMessage::NewNeighbour(neighbour(*ifindex, *address, Some(*mac))),
            NLM_F_CREATE | NLM_F_REPLACE,
        ),
        Operation::RemoveNeighbour { ifindex, address } => (
            RouteNetlinkMessage::DelNeighbour(neighbour(*ifindex, *address, None)),
            0,
        ),
        Operation::PutFdb {
            ifindex,
            mac,
            underlay,
        } => (
            RouteNetlinkMessage::NewNeighbour(fdb_entry(*ifindex, *mac, *underlay)),
            NLM_F_CREATE | NLM_F_REPLACE,
        ),
        Operation::RemoveFdb {
            ifindex,
            mac,
            underlay,
        } => (
            RouteNetlinkMessage::DelNeighbour(fdb_entry(*ifindex, *mac, *underlay)),
            0,
        ),
        Operation::PutRoute { prefix, route } => (
            RouteNetlinkMessage::NewRoute(route_message(prefix, route)),
            NLM_F_CREATE | NLM_F_REPLACE,
        ),
        Operation::RemoveRoute { prefix } => {
            let mut message = place(prefix);
            // Whatever its kind and scope, as long as it is weft's.
            message.header.kind = RouteType::Unspec;
            message.header.scope = RouteScope::NoWhere;
            (RouteNetlinkMessage::DelRoute(message), 0)
        }
    }
}

/// Asks for all routes of table main.
pub(super) fn all_routes(family: AddressFamily) -> RouteNetlinkMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    RouteNetlinkMessage::GetRoute(message)
}

/// Asks for neighbours and FDB entries of a device.
pub(super) fn all_entries(ifindex: u32) -> [RouteNetlinkMessage; 2] {
    let mut neighbours = NeighbourMessage::default();
    neighbours
        .attributes
        .push(NeighbourAttribute::IfIndex(ifindex));
    let mut fdb = NeighbourMessage::default();
    fdb.header.family = AddressFamily::Bridge;
    fdb.header.ifindex = ifindex;
    [
        RouteNetlinkMessage::GetNeighbour(neighbours),
        RouteNetlinkMessage::GetNeighbour(fdb),
    ]
}

fn new_device(device: &DeviceSpec) -> LinkMessage {
    let DeviceSpec {
        name,
        vni,
        port,
        local,
        parent,
        mac,
        mtu,
    } = device;
    let mut vxlan = vec![
        InfoVxlan::Id(*vni),
        InfoVxlan::Link(*parent),
        // Forwarding entries come from weft only.
        InfoVxlan::Learning(false),
        InfoVxlan::Port(*port),
    ];
    match local {
        IpAddr::V4(local) => vxlan.push(InfoVxlan::Local(*local)),
        IpAddr::V6(local) => vxlan.extend([
            InfoVxlan::Local6(*local),
            // RFC 6935: no UDP checksum outside; the inner packet has its own. Both ends must agree.
            InfoVxlan::UDPZeroCsumTX(true),
            InfoVxlan::UDPZeroCsumRX(true),
        ]),
    }
    let mut message = LinkMessage::default();
    message.attributes = vec![
        LinkAttribute::IfName(name.clone()),
        LinkAttribute::Mtu(*mtu),
        LinkAttribute::Address(mac.0.to_vec()),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Vxlan),
            LinkInfo::Data(InfoData::Vxlan(vxlan)),
        ]),
    ];
    message
}

fn configured(ifindex: u32, mac: MacAddr, mtu: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = ifindex;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    message.attributes = vec![
        LinkAttribute::Mtu(mtu),
        LinkAttribute::Address(mac.0.to_vec()),
        LinkAttribute::IfAlias(DEVICE_ALIAS.to_owned()),
    ];
    message
}

fn address_message(ifindex: u32, address: &IpNet) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = family_of(address.addr());
    message.header.prefix_len = address.prefix_len();
    message.header.scope = AddressScope::Universe;
    message.header.index = ifindex;
    // No duplicate address detection on a link without multicast.
    if matches!(address, IpNet::V6(_)) {
        message.header.flags = AddressHeaderFlags::Nodad;
    }
    message.attributes = vec![
        AddressAttribute::Local(address.addr()),
        AddressAttribute::Address(address.addr()),
    ];
    message
}

fn neighbour(ifindex: u32, address: IpAddr, mac: Option<MacAddr>) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = family_of(address);
    message.header.ifindex = ifindex;
    message.header.state = NeighbourState::Permanent;
    message.attributes = vec![NeighbourAttribute::Destination(address.into())];
    if let Some(mac) = mac {
        message.attributes.extend([
            NeighbourAttribute::LinkLayerAddress(mac.0.to_vec()),
            NeighbourAttribute::Protocol(RouteProtocol::from(ROUTE_PROTOCOL)),
        ]);
    }
    message
}

fn fdb_entry(ifindex: u32, mac: MacAddr, underlay: IpAddr) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = AddressFamily::Bridge;
    message.header.ifindex = ifindex;
    message.header.state = NeighbourState::Permanent;
    message.header.flags = NeighbourFlags::Own | NeighbourFlags::ExtLearned;
    message.attributes = vec![
        NeighbourAttribute::LinkLayerAddress(mac.0.to_vec()),
        NeighbourAttribute::Destination(match underlay {
            IpAddr::V4(address) => NeighbourAddress::Inet(address),
            IpAddr::V6(address) => NeighbourAddress::Inet6(address),
        }),
    ];
    message
}

/// Where a route of weft's is: prefix, table, metric, protocol.
fn place(prefix: &IpNet) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family_of(prefix.addr());
    message.header.destination_prefix_length = prefix.prefix_len();
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::from(ROUTE_PROTOCOL);
    message.attributes = vec![
        RouteAttribute::Destination(route_address(prefix.addr())),
        RouteAttribute::Priority(ROUTE_METRIC),
    ];
    message
}

fn route_message(prefix: &IpNet, route: &HostRoute) -> RouteMessage {
    let mut message = place(prefix);
    let HostRoute::Unicast { hops, mtu } = route else {
        message.header.kind = RouteType::BlackHole;
        message.header.scope = RouteScope::Universe;
        return message;
    };
    message.header.kind = RouteType::Unicast;
    message.header.scope = if hops.iter().all(|hop| hop.gateway.is_none()) {
        RouteScope::Link
    } else {
        RouteScope::Universe
    };
    if let Some(mtu) = mtu {
        message
            .attributes
            .push(RouteAttribute::Metrics(vec![RouteMetric::Mtu(*mtu)]));
    }
    if let [hop] = hops.as_slice() {
        if hop.onlink {
            message.header.flags |= RouteFlags::Onlink;
        }
        message.attributes.extend(gateway(prefix, hop));
        message.attributes.push(RouteAttribute::Oif(hop.ifindex));
        return message;
    }
    let hops = hops.iter().map(|hop| {
        let mut next_hop = RouteNextHop::default();
        next_hop.interface_index = hop.ifindex;
        // The kernel counts from 0.
        next_hop.hops = u8::try_from(hop.weight.saturating_sub(1)).unwrap_or(u8::MAX);
        if hop.onlink {
            next_hop.flags |= RouteNextHopFlags::Onlink;
        }
        next_hop.attributes.extend(gateway(prefix, hop));
        next_hop
    });
    message
        .attributes
        .push(RouteAttribute::MultiPath(hops.collect()));
    message
}

/// A gateway of the other family goes into an attribute of its own (RFC 8950).
fn gateway(prefix: &IpNet, hop: &Hop) -> Option<RouteAttribute> {
    let gateway = hop.gateway?;
    let same_family = gateway.is_ipv4() == matches!(prefix, IpNet::V4(_));
    Some(match gateway {
        _ if same_family => RouteAttribute::Gateway(route_address(gateway)),
        IpAddr::V4(gateway) => RouteAttribute::Via(RouteVia::Inet(gateway)),
        IpAddr::V6(gateway) => RouteAttribute::Via(RouteVia::Inet6(gateway)),
    })
}

fn route_address(address: IpAddr) -> RouteAddress {
    match address {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    }
}

fn family_of(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}
