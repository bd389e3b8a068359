//! What is written for the kernel reads back as what was meant.

use std::sync::Arc;

use ipnet::IpNet;
use netlink_packet_core::NetlinkMessage;
use rtnetlink::packet_route::RouteNetlinkMessage;
use vxlan::MacAddr;

use super::{decode, encode, is_gone_already, socket};
use crate::object::{
    DeviceSpec, Entries, FdbEntry, Hop, HostRoute, Neighbour, Operation, SeenRoute, VxlanLink,
};

/// Through bytes and back, as the kernel would see it.
fn through_bytes(operation: &Operation) -> RouteNetlinkMessage {
    let (message, _) = encode::operation(operation);
    let mut message = NetlinkMessage::from(message);
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    let mut read: Vec<_> = socket::messages(&bytes).collect();
    assert_eq!(read.len(), 1);
    let (_, payload) = read.remove(0).into_parts();
    match payload {
        netlink_packet_core::NetlinkPayload::InnerMessage(inner) => inner,
        other => panic!("{other:?}"),
    }
}

fn hop(gateway: Option<&str>, ifindex: u32) -> Hop {
    Hop {
        gateway: gateway.map(|gateway| gateway.parse().unwrap()),
        ifindex,
        onlink: false,
        weight: 1,
    }
}

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

const MAC: MacAddr = MacAddr([0x66, 1, 2, 3, 4, 5]);

#[test]
fn routes_read_back_as_they_were_written() {
    let heavy = Hop {
        weight: 256,
        ..hop(Some("10.0.0.3"), 3)
    };
    let onlink = Hop {
        onlink: true,
        ..hop(Some("10.245.0.2"), 7)
    };
    let v6 = [hop(Some("fd00::2"), 2), hop(Some("fe80::3"), 3)];
    for (prefix, route) in [
        ("10.1.0.0/26", HostRoute::Blackhole),
        ("fd01::/122", HostRoute::Blackhole),
        (
            "0.0.0.0/0",
            HostRoute::unicast(vec![hop(Some("10.0.0.2"), 2)], None),
        ),
        (
            "10.1.0.0/26",
            HostRoute::unicast(vec![hop(None, 7)], Some(1400)),
        ),
        ("10.1.0.0/26", HostRoute::unicast(vec![onlink], None)),
        (
            "10.1.0.0/26",
            HostRoute::unicast(vec![hop(Some("10.0.0.2"), 2), heavy], None),
        ),
        (
            "10.1.0.0/26",
            HostRoute::unicast(vec![hop(Some("fd00::2"), 2)], None),
        ),
        ("fd01::/122", HostRoute::unicast(v6.to_vec(), Some(9000))),
    ] {
        let operation = Operation::PutRoute {
            prefix: net(prefix),
            route: Arc::new(route.clone()),
        };
        let RouteNetlinkMessage::NewRoute(message) = through_bytes(&operation) else {
            panic!("{operation} is no new route");
        };
        let expected = (net(prefix), SeenRoute::Own(route));
        assert_eq!(decode::route(&message), Some(expected));
    }
}

#[test]
fn routes_of_others_are_told_apart_by_protocol_and_metric() {
    let operation = Operation::PutRoute {
        prefix: net("10.1.0.0/26"),
        route: Arc::new(HostRoute::Blackhole),
    };
    let RouteNetlinkMessage::NewRoute(mut message) = through_bytes(&operation) else {
        panic!("no new route");
    };
    message.header.protocol = 12.into();
    let Some((_, SeenRoute::Foreign(route))) = decode::route(&message) else {
        panic!("a route of protocol 12 is foreign");
    };
    assert_eq!(
        (route.protocol, route.metric, route.hops.len()),
        (12, 1024, 0)
    );
    // Not in table main: none of weft's business.
    message.header.table = 100;
    assert_eq!(decode::route(&message), None);
}

#[test]
fn entries_read_back_as_they_were_written() {
    let (address, underlay) = ("10.245.0.2".parse().unwrap(), "fd00::2".parse().unwrap());
    let mut entries = Entries::default();
    for operation in [
        Operation::PutNeighbour {
            ifindex: 7,
            address,
            mac: MAC,
        },
        Operation::PutFdb {
            ifindex: 7,
            mac: MAC,
            underlay,
        },
    ] {
        let RouteNetlinkMessage::NewNeighbour(message) = through_bytes(&operation) else {
            panic!("{operation} is no neighbour");
        };
        decode::entry(&message, 7, &mut entries);
        decode::entry(&message, 8, &mut entries);
    }
    let expected = Entries {
        neighbours: vec![Neighbour {
            address,
            mac: MAC,
            own: true,
        }],
        fdb: vec![FdbEntry {
            mac: MAC,
            underlay,
            own: true,
        }],
    };
    assert_eq!(entries, expected);
}

#[test]
fn devices_read_back_as_they_were_written() {
    for local in ["172.31.0.1", "fd31::1"] {
        let local = local.parse().unwrap();
        let operation = Operation::CreateDevice(DeviceSpec {
            name: "vxlan.weft".to_owned(),
            vni: 4096,
            port: 4789,
            local,
            parent: 2,
            mac: MAC,
            mtu: 1450,
        });
        let RouteNetlinkMessage::NewLink(message) = through_bytes(&operation) else {
            panic!("no new link");
        };
        let link = decode::link(&message).unwrap();
        assert_eq!(
            (link.name.as_str(), link.mtu, link.mac),
            ("vxlan.weft", 1450, Some(MAC))
        );
        let expected = VxlanLink {
            vni: 4096,
            port: 4789,
            local: Some(local),
            parent: 2,
            learning: false,
        };
        assert_eq!(link.vxlan, Some(expected));
    }
}

#[test]
fn removing_what_is_gone_is_no_error_but_writing_to_it_is() {
    let remove = Operation::RemoveRoute {
        prefix: net("10.1.0.0/26"),
    };
    assert!(is_gone_already(&remove, libc::ESRCH));
    let put = Operation::PutRoute {
        prefix: net("10.1.0.0/26"),
        route: Arc::new(HostRoute::Blackhole),
    };
    assert!(!is_gone_already(&put, libc::ESRCH));
}

#[test]
fn truncated_messages_end_the_reading_without_a_panic() {
    let operation = Operation::PutFdb {
        ifindex: 7,
        mac: MAC,
        underlay: "10.0.0.2".parse().unwrap(),
    };
    let (message, _) = encode::operation(&operation);
    let mut message = NetlinkMessage::from(message);
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    for length in 0..bytes.len() {
        assert_eq!(socket::messages(&bytes[..length]).count(), 0);
    }
}
