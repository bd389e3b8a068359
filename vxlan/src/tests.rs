use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use proptest::prelude::*;

use super::*;

/// A cluster seen from node `a` (192.0.2.1/24, tunnel 10.0.1.0), which holds 10.0.1.0/26; `b` is its neighbour in the
/// subnet with 10.0.2.0/26, `c` is elsewhere with 10.0.3.0/26.
fn cluster(mode: Mode) -> Inputs {
    let v4 = |address: &str, tunnel: &str| NodeInfo {
        v4: Some(address.parse().unwrap()),
        tunnel_v4: Some(tunnel.parse().unwrap()),
        ..NodeInfo::default()
    };
    Inputs {
        node: "a".to_owned(),
        settings: Settings::default(),
        pools: vec![Pool {
            cidr: net("10.0.0.0/16"),
            mode,
        }],
        nodes: BTreeMap::from([
            ("a".to_owned(), v4("192.0.2.1/24", "10.0.1.0")),
            ("b".to_owned(), v4("192.0.2.2/24", "10.0.2.0")),
            ("c".to_owned(), v4("198.51.100.3/24", "10.0.3.0")),
        ]),
        routes: [
            ("10.0.1.0/26", "a"),
            ("10.0.2.0/26", "b"),
            ("10.0.3.0/26", "c"),
        ]
        .map(|(prefix, node)| (net(prefix), node.to_owned()))
        .into(),
    }
}

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn routes(inputs: Inputs) -> BTreeMap<IpNet, TunnelRoute> {
    let controller = Controller::new(inputs);
    let [tunnel] = controller.desired().tunnels.as_slice() else {
        panic!("one tunnel")
    };
    tunnel.routes.clone()
}

fn findings(inputs: Inputs) -> Vec<String> {
    Controller::new(inputs)
        .desired()
        .findings
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn with(change: impl FnOnce(&mut Inputs)) -> Inputs {
    let mut inputs = cluster(Mode::Always);
    change(&mut inputs);
    inputs
}

#[test]
fn blocks_of_other_nodes_lead_to_their_tunnel_addresses_and_own_ones_nowhere() {
    let controller = Controller::new(cluster(Mode::Always));
    let overlay = controller.desired();
    assert_eq!(overlay.findings, []);
    let [tunnel] = overlay.tunnels.as_slice() else {
        panic!("{overlay:?}")
    };
    assert_eq!(tunnel.device, "vxlan.weft");
    assert_eq!(
        (tunnel.vni, tunnel.port, tunnel.mtu),
        (4096, 4789, Mtu::Auto)
    );
    assert_eq!(
        (tunnel.local, tunnel.tunnel_address),
        (ip("192.0.2.1"), ip("10.0.1.0"))
    );
    assert_eq!(tunnel.mac, MacAddr::of_node("a", Family::V4));
    let vtep = |node: &str, underlay| Vtep {
        node: node.to_owned(),
        mac: MacAddr::of_node(node, Family::V4),
        underlay: ip(underlay),
    };
    assert_eq!(
        tunnel.vteps,
        BTreeMap::from([
            (ip("10.0.2.0"), vtep("b", "192.0.2.2")),
            (ip("10.0.3.0"), vtep("c", "198.51.100.3")),
        ])
    );
    assert_eq!(
        tunnel.routes,
        BTreeMap::from([
            (net("10.0.2.0/26"), TunnelRoute::Via(ip("10.0.2.0"))),
            (net("10.0.3.0/26"), TunnelRoute::Via(ip("10.0.3.0"))),
        ])
    );
    assert_eq!(
        tunnel.prefixes_behind(ip("10.0.3.0")).collect::<Vec<_>>(),
        [&net("10.0.3.0/26")]
    );
}

#[test]
fn cross_subnet_goes_straight_to_nodes_of_the_own_subnet() {
    assert_eq!(
        routes(cluster(Mode::CrossSubnet)),
        BTreeMap::from([
            (net("10.0.2.0/26"), TunnelRoute::SameSubnet(ip("192.0.2.2"))),
            (net("10.0.3.0/26"), TunnelRoute::Via(ip("10.0.3.0"))),
        ])
    );
}

#[test]
fn cross_subnet_needs_no_tunnel_address_of_a_node_in_the_own_subnet() {
    let mut inputs = cluster(Mode::CrossSubnet);
    inputs.nodes.get_mut("b").unwrap().tunnel_v4 = None;
    assert_eq!(
        routes(inputs.clone())[&net("10.0.2.0/26")],
        TunnelRoute::SameSubnet(ip("192.0.2.2"))
    );
    assert_eq!(findings(inputs), [""; 0]);
}

/// felix#2953: a node that moves to another subnet must not keep its direct route.
#[test]
fn a_node_that_leaves_the_subnet_is_reached_through_the_tunnel() {
    let mut controller = Controller::new(cluster(Mode::CrossSubnet));
    let mut b = controller.inputs().nodes["b"];
    b.v4 = Some("203.0.113.2/24".parse().unwrap());
    controller.update([Change::Node("b".to_owned(), Some(b))]);
    let tunnel = &controller.desired().tunnels[0];
    assert_eq!(
        tunnel.routes[&net("10.0.2.0/26")],
        TunnelRoute::Via(ip("10.0.2.0"))
    );
    assert_eq!(tunnel.vteps[&ip("10.0.2.0")].underlay, ip("203.0.113.2"));
}

#[test]
fn the_smallest_pool_decides() {
    let inputs = with(|inputs| {
        inputs.pools.push(Pool {
            cidr: net("10.0.2.0/24"),
            mode: Mode::CrossSubnet,
        });
    });
    assert_eq!(
        routes(inputs)[&net("10.0.2.0/26")],
        TunnelRoute::SameSubnet(ip("192.0.2.2"))
    );
}

#[test]
fn a_borrowed_address_leads_to_the_borrower() {
    let inputs = with(|inputs| {
        inputs.routes.insert(net("10.0.1.7/32"), "c".to_owned());
        inputs.routes.insert(net("10.0.2.7/32"), "a".to_owned());
        inputs.routes.insert(net("0.0.0.0/32"), "c".to_owned());
    });
    let routes = routes(inputs);
    assert_eq!(
        routes[&net("10.0.1.7/32")],
        TunnelRoute::Via(ip("10.0.3.0"))
    );
    assert!(
        !routes.contains_key(&net("10.0.2.7/32")),
        "borrowed by this node"
    );
    assert!(!routes.contains_key(&net("0.0.0.0/32")));
}

#[test]
fn a_tunnel_address_as_a_block_of_its_own_has_no_gateway() {
    let inputs = with(|inputs| {
        inputs.nodes.get_mut("c").unwrap().tunnel_v4 = Some("10.0.9.1".parse().unwrap());
        inputs.routes.insert(net("10.0.9.1/32"), "c".to_owned());
    });
    let routes = routes(inputs);
    assert_eq!(routes[&net("10.0.9.1/32")], TunnelRoute::Vtep);
    assert_eq!(
        routes[&net("10.0.3.0/26")],
        TunnelRoute::Via(ip("10.0.9.1"))
    );
}

/// calico#5595: answers to a tunnel address went to the node whose block is around it.
#[test]
fn a_tunnel_address_inside_another_nodes_block_gets_its_own_route() {
    for (address, around) in [
        ("10.0.2.9", "another node's"),
        ("10.0.1.9", "this node's"),
        ("10.0.77.9", "no"),
    ] {
        let inputs = with(|inputs| {
            inputs.nodes.get_mut("c").unwrap().tunnel_v4 = Some(address.parse().unwrap());
        });
        let routes = routes(inputs);
        assert_eq!(
            routes[&IpNet::from(ip(address))],
            TunnelRoute::Vtep,
            "in {around} block"
        );
        assert_eq!(routes[&net("10.0.3.0/26")], TunnelRoute::Via(ip(address)));
        assert_eq!(routes.len(), 3);
    }
}

#[test]
fn ipv6_has_its_own_device_address_and_mac() {
    let inputs = with(|inputs| {
        inputs.pools.push(Pool {
            cidr: net("fd00::/48"),
            mode: Mode::Always,
        });
        for (name, last) in [("a", 1), ("b", 2)] {
            let node = inputs.nodes.get_mut(name).unwrap();
            node.v6 = Some(format!("2001:db8::{last}/64").parse().unwrap());
            node.tunnel_v6 = Some(format!("fd00::{last}:0").parse().unwrap());
        }
        inputs.routes.insert(net("fd00::2:0/122"), "b".to_owned());
    });
    let controller = Controller::new(inputs);
    let [v4, v6] = controller.desired().tunnels.as_slice() else {
        panic!("two tunnels")
    };
    assert_eq!((v4.family, v6.family), (Family::V4, Family::V6));
    assert_eq!(
        (v6.device.as_str(), v6.mac),
        ("vxlan-v6.weft", MacAddr::of_node("a", Family::V6))
    );
    assert_eq!((v6.vni, v6.port), (v4.vni, v4.port));
    assert_eq!(
        v6.routes,
        BTreeMap::from([(net("fd00::2:0/122"), TunnelRoute::Via(ip("fd00::2:0")))])
    );
    assert!(
        v4.routes
            .keys()
            .all(|prefix| Family::of(prefix) == Family::V4)
    );
}

#[test]
fn the_first_by_name_keeps_a_mac_address_that_two_nodes_have() {
    let inputs = with(|inputs| {
        for name in ["b", "c"] {
            inputs.nodes.get_mut(name).unwrap().mac_v4 = Some(MacAddr([2, 0, 0, 0, 0, 9]));
        }
    });
    assert_eq!(
        routes(inputs.clone()).keys().collect::<Vec<_>>(),
        [&net("10.0.2.0/26")]
    );
    assert_eq!(
        findings(inputs),
        [
            "c holds 10.0.3.0/26, but has a tunnel end point that can't be used: no tunnel leads there; see the other \
             finding about it",
            "c and b both have the MAC address 02:00:00:00:00:09 in the overlay: no tunnel leads to c; give one of them \
             another vxlanTunnelMACAddr",
        ]
    );
}

#[test]
fn this_node_keeps_what_another_claims_too() {
    let mac = with(|inputs| {
        inputs.nodes.get_mut("b").unwrap().mac_v4 = Some(MacAddr::of_node("a", Family::V4))
    });
    let tunnel = with(|inputs| {
        inputs.nodes.get_mut("b").unwrap().tunnel_v4 = Some("10.0.1.0".parse().unwrap())
    });
    let address = with(|inputs| {
        inputs.nodes.get_mut("b").unwrap().v4 = Some("192.0.2.1/24".parse().unwrap())
    });
    let group = with(|inputs| {
        inputs.nodes.get_mut("b").unwrap().mac_v4 = Some(MacAddr([1, 0, 0, 0, 0, 1]))
    });
    for (inputs, words) in [
        (mac, "b and a both have the MAC address"),
        (tunnel, "b and a both have the tunnel address 10.0.1.0"),
        (address, "b has this node's own address 192.0.2.1"),
        (group, "b has 01:00:00:00:00:01 as its MAC address"),
    ] {
        let found = findings(inputs.clone());
        assert!(
            found.iter().any(|text| text.starts_with(words)),
            "{found:?}"
        );
        assert_eq!(
            routes(inputs).keys().collect::<Vec<_>>(),
            [&net("10.0.3.0/26")]
        );
    }
}

#[test]
fn a_node_without_an_end_is_named_once_with_the_count_of_its_prefixes() {
    let inputs = with(|inputs| {
        inputs.nodes.get_mut("c").unwrap().tunnel_v4 = None;
        inputs.routes.insert(net("10.0.3.64/26"), "c".to_owned());
        inputs.routes.insert(net("10.0.4.0/26"), "gone".to_owned());
        inputs.routes.insert(net("172.16.0.0/26"), "b".to_owned());
    });
    assert_eq!(
        findings(inputs),
        [
            "c holds 10.0.3.0/26 and 1 more, but has no tunnel address: no tunnel leads there; set \
             spec.ipv4VXLANTunnelAddr or ipv6VXLANTunnelAddr of its Node",
            "gone holds 10.0.4.0/26, but is not known as a node: no tunnel leads there; add its Node",
            "172.16.0.0/26 of b is in no pool that uses VXLAN: the overlay has no route for it; add the pool, or release \
             the block",
        ]
    );
}

#[test]
fn without_an_own_end_there_is_no_tunnel_and_a_finding_says_why() {
    for (change, words) in [
        (
            (|node| node.tunnel_v4 = None) as fn(&mut NodeInfo),
            "has no tunnel address",
        ),
        (|node| node.v4 = None, "has no node address"),
    ] {
        let inputs = with(|inputs| change(inputs.nodes.get_mut("a").unwrap()));
        let controller = Controller::new(inputs);
        assert_eq!(controller.desired().tunnels, []);
        assert!(controller.desired().findings[0].to_string().contains(words));
    }
    let unknown = with(|inputs| inputs.node = "z".to_owned());
    assert!(findings(unknown)[0].contains("is not known as a node"));
}

#[test]
fn settings_that_no_kernel_takes_are_refused_all_at_once() {
    let inputs = with(|inputs| {
        inputs.settings.vni = 1 << 24;
        inputs.settings.port = 0;
        inputs.settings.device_v4 = "sixteen-letters-".to_owned();
    });
    let controller = Controller::new(inputs);
    assert_eq!(controller.desired().tunnels, []);
    assert_eq!(
        controller.desired().findings.len(),
        3,
        "{:?}",
        controller.desired().findings
    );
}

#[test]
fn without_pools_there_is_nothing() {
    assert_eq!(
        *Controller::new(with(|inputs| inputs.pools.clear())).desired(),
        Overlay::default()
    );
    assert_eq!(*Controller::default().desired(), Overlay::default());
}

fn some_inputs() -> impl Strategy<Value = Inputs> {
    let node = (0..3u8, 0..6u8, 0..6u8, 0..4u8).prop_map(|(subnet, host, tunnel, mac)| NodeInfo {
        v4: (host > 0).then(|| format!("192.0.{subnet}.{host}/24").parse().unwrap()),
        tunnel_v4: (tunnel > 0).then(|| format!("10.0.{tunnel}.0").parse().unwrap()),
        mac_v4: (mac == 0).then_some(MacAddr([2, 0, 0, 0, 0, tunnel])),
        ..NodeInfo::default()
    });
    let name = prop::sample::select(vec!["a", "b", "c", "d", "e"]).prop_map(str::to_owned);
    let prefix = (0..7u8, prop::sample::select(vec![26, 32u8]))
        .prop_map(|(third, length)| net(&format!("10.0.{third}.0/{length}")));
    let modes = prop::bool::ANY.prop_map(|cross| {
        if cross {
            Mode::CrossSubnet
        } else {
            Mode::Always
        }
    });
    (
        prop::collection::btree_map(name.clone(), node, 0..6),
        prop::collection::btree_map(prefix, name, 0..10),
        modes,
    )
        .prop_map(|(nodes, routes, mode)| Inputs {
            node: "a".to_owned(),
            settings: Settings::default(),
            pools: vec![Pool {
                cidr: net("10.0.0.0/16"),
                mode,
            }],
            nodes,
            routes,
        })
}

proptest! {
    #[test]
    fn every_overlay_is_consistent(inputs in some_inputs()) {
        let controller = Controller::new(inputs.clone());
        for tunnel in &controller.desired().tunnels {
            let mut macs: Vec<_> = tunnel.vteps.values().map(|vtep| vtep.mac).chain([tunnel.mac]).collect();
            macs.sort();
            macs.dedup();
            prop_assert_eq!(macs.len(), tunnel.vteps.len() + 1, "MAC addresses are distinct");
            prop_assert!(!tunnel.vteps.contains_key(&tunnel.tunnel_address));
            for (prefix, route) in &tunnel.routes {
                match route {
                    TunnelRoute::Via(via) => {
                        prop_assert_eq!(&tunnel.vteps[via].node, &inputs.routes[prefix]);
                    }
                    TunnelRoute::Vtep => prop_assert!(tunnel.vteps.contains_key(&prefix.addr())),
                    TunnelRoute::SameSubnet(address) => prop_assert_ne!(*address, tunnel.local),
                }
            }
            // Whatever is sent to a tunnel address arrives at the node that has it.
            for (address, vtep) in &tunnel.vteps {
                let longest = tunnel.routes.iter().filter(|(prefix, _)| prefix.contains(address));
                let (_, route) = longest.max_by_key(|(prefix, _)| prefix.prefix_len()).unwrap();
                match route {
                    TunnelRoute::Via(via) => prop_assert_eq!(via, address),
                    TunnelRoute::Vtep => {}
                    TunnelRoute::SameSubnet(node) => prop_assert_eq!(*node, vtep.underlay),
                }
            }
        }
    }

    #[test]
    fn what_came_before_does_not_matter(before in some_inputs(), after in some_inputs()) {
        let mut controller = Controller::new(before.clone());
        let gone = before.nodes.keys().map(|name| Change::Node(name.clone(), None));
        let gone_routes = before.routes.keys().map(|prefix| Change::Route(*prefix, None));
        let nodes = after.nodes.iter().map(|(name, node)| Change::Node(name.clone(), Some(*node)));
        let routes = after.routes.iter().map(|(prefix, node)| Change::Route(*prefix, Some(node.clone())));
        let rest = [Change::Pools(after.pools.clone()), Change::Settings(after.settings.clone())];
        controller.update(gone.chain(gone_routes).chain(rest).chain(nodes).chain(routes));
        prop_assert_eq!(controller.inputs(), &after);
        let fresh = Controller::new(after);
        prop_assert_eq!(controller.desired(), fresh.desired());
    }
}
