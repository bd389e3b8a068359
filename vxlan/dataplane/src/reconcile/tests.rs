//! The reconciler against a host in memory.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use proptest::prelude::*;
use vxlan::{Family, MacAddr, Mtu, Overlay, Tunnel, TunnelRoute, Vtep};

use super::Reconciler;
use crate::fake::{FakeHost, connected};
use crate::object::{Host, HostRoute, SeenRoute};
use crate::{
    DataplaneEvent, ResyncReason, RouteChange, RouteClass, RouteNextHop, RouteSpec, RouteState,
    Settings,
};

/// A reconciler on a host, with a clock.
struct Bench {
    reconciler: Reconciler,
    host: FakeHost,
    now: Instant,
}

impl Bench {
    fn new(host: FakeHost) -> Self {
        let mut bench = Self {
            reconciler: Reconciler::new(&Settings::default()),
            host,
            now: Instant::now(),
        };
        bench.settle();
        bench
    }

    /// Looks and writes until nothing is left to do; returns what was written.
    fn settle(&mut self) -> Vec<String> {
        self.host.log.clear();
        for _ in 0..50 {
            let needs = self.reconciler.take_needs();
            if needs.links {
                let links = self.host.links().unwrap();
                self.reconciler.observe_links(links);
            }
            for ifindex in needs.entries {
                let entries = self.host.entries(ifindex).unwrap();
                self.reconciler.observe_entries(ifindex, entries);
            }
            if let Some(reason) = needs.routes {
                let routes = self.host.routes().unwrap();
                self.reconciler.observe_routes(routes, reason);
            }
            if self.reconciler.needs_look() {
                continue;
            }
            let due = self
                .reconciler
                .next_deadline()
                .is_some_and(|at| at <= self.now);
            if !due && !self.reconciler.has_work() {
                return std::mem::take(&mut self.host.log);
            }
            let operations = self.reconciler.plan(self.now, 64);
            let results = self.host.execute(&operations);
            self.reconciler.written(self.now, &operations, &results);
        }
        panic!("it never settles: {:?}", self.host.log);
    }

    fn want(&mut self, prefix: &str, class: RouteClass, route: Option<RouteSpec>) {
        self.reconciler.update_routes(vec![RouteChange {
            prefix: net(prefix),
            class,
            route,
        }]);
    }

    fn events(&mut self) -> Vec<DataplaneEvent> {
        std::iter::from_fn(|| self.reconciler.outbox.pop()).collect()
    }

    fn state(&self, prefix: &str) -> Vec<RouteState> {
        let statuses = self.reconciler.statuses(&[net(prefix)]);
        statuses.into_iter().map(|status| status.state).collect()
    }
}

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn via(gateway: &str) -> Option<RouteSpec> {
    Some(RouteSpec::unicast(RouteNextHop::via(ip(gateway))))
}

fn eth0() -> FakeHost {
    FakeHost::with_eth0("172.31.0.1/24")
}

fn tunnel(vteps: &[(u8, &str)]) -> Overlay {
    let mut tunnel = Tunnel {
        device: "vxlan.weft".to_owned(),
        family: Family::V4,
        vni: 4096,
        port: 4789,
        local: ip("172.31.0.1"),
        tunnel_address: ip("10.245.0.1"),
        mac: MacAddr([0x66, 0, 0, 0, 0, 1]),
        mtu: Mtu::Auto,
        vteps: BTreeMap::new(),
        routes: BTreeMap::new(),
    };
    for (number, block) in vteps {
        let address = ip(&format!("10.245.0.{number}"));
        let vtep = Vtep {
            node: format!("node{number}"),
            mac: MacAddr([0x66, 0, 0, 0, 0, *number]),
            underlay: ip(&format!("172.31.0.{number}")),
        };
        tunnel.vteps.insert(address, vtep);
        tunnel.routes.insert(net(block), TunnelRoute::Via(address));
    }
    Overlay {
        tunnels: vec![tunnel],
        findings: Vec::new(),
    }
}

#[test]
fn route_is_written_once_and_told_once() {
    let mut bench = Bench::new(eth0());
    bench.events();
    bench.want("10.1.0.0/26", RouteClass::Bgp, via("172.31.0.2"));
    assert_eq!(bench.settle(), ["route 10.1.0.0/26"]);
    assert_eq!(
        bench.events(),
        [DataplaneEvent::Route {
            prefix: net("10.1.0.0/26"),
            class: RouteClass::Bgp,
            result: Ok(()),
        }]
    );
    bench.want("10.1.0.0/26", RouteClass::Bgp, via("172.31.0.2"));
    bench.reconciler.resync(ResyncReason::Periodic);
    assert_eq!(bench.settle(), [""; 0]);
    let Some(HostRoute::Unicast { hops, .. }) = bench.host.own.get(&net("10.1.0.0/26")) else {
        panic!("no unicast route");
    };
    assert_eq!(
        (hops[0].gateway, hops[0].ifindex),
        (Some(ip("172.31.0.2")), 2)
    );
}

#[test]
fn gateway_behind_a_router_is_reached_through_it() {
    let mut host = eth0();
    let mut default = connected(2);
    default.hops[0].gateway = Some(ip("172.31.0.254"));
    host.foreign.insert(net("0.0.0.0/0"), default);
    let mut bench = Bench::new(host);
    bench.want("10.1.0.0/26", RouteClass::Bgp, via("192.0.2.7"));
    bench.settle();
    let hops = bench.host.own[&net("10.1.0.0/26")].hops();
    assert_eq!(hops[0].gateway, Some(ip("172.31.0.254")));
}

#[test]
fn lowest_class_wins_and_the_next_takes_over_in_one_step() {
    let mut bench = Bench::new(eth0());
    bench.want(
        "10.1.0.0/26",
        RouteClass::OwnBlock,
        Some(RouteSpec::Blackhole),
    );
    bench.settle();
    bench.want("10.1.0.0/26", RouteClass::Bgp, via("172.31.0.2"));
    assert_eq!(bench.settle(), ["route 10.1.0.0/26"]);
    assert_eq!(
        bench.state("10.1.0.0/26"),
        [RouteState::Installed, RouteState::Shadowed(RouteClass::Bgp)]
    );
    bench.want("10.1.0.0/26", RouteClass::Bgp, None);
    assert_eq!(bench.settle(), ["route 10.1.0.0/26"]);
    assert_eq!(bench.host.own[&net("10.1.0.0/26")], HostRoute::Blackhole);
}

#[test]
fn what_an_earlier_life_left_stays_until_complete() {
    let mut host = eth0();
    for prefix in ["10.1.0.0/26", "10.2.0.0/26"] {
        host.own.insert(net(prefix), HostRoute::Blackhole);
    }
    let mut bench = Bench::new(host);
    bench.want(
        "10.1.0.0/26",
        RouteClass::OwnBlock,
        Some(RouteSpec::Blackhole),
    );
    assert_eq!(bench.settle(), [""; 0]);
    assert_eq!(bench.reconciler.summary().counters.routes_adopted, 1);
    bench.reconciler.complete();
    assert_eq!(bench.settle(), ["remove route 10.2.0.0/26"]);
}

#[test]
fn route_of_this_life_goes_before_complete() {
    let mut bench = Bench::new(eth0());
    bench.want("10.1.0.0/26", RouteClass::Bgp, via("172.31.0.2"));
    bench.settle();
    bench.want("10.1.0.0/26", RouteClass::Bgp, None);
    assert_eq!(bench.settle(), ["remove route 10.1.0.0/26"]);
}

#[test]
fn refusal_is_told_and_tried_again_after_a_doubling_pause() {
    let mut host = eth0();
    host.refuses.push(net("10.1.0.0/26"));
    let mut bench = Bench::new(host);
    bench.events();
    bench.want("10.1.0.0/26", RouteClass::Bgp, via("172.31.0.2"));
    assert_eq!(bench.settle(), ["route 10.1.0.0/26"]);
    assert!(matches!(
        bench.events().as_slice(),
        [DataplaneEvent::Route { result: Err(_), .. }]
    ));
    assert_eq!(bench.settle(), [""; 0]);
    bench.now += Duration::from_secs(1);
    assert_eq!(bench.settle(), ["route 10.1.0.0/26"]);
    bench.now += Duration::from_secs(1);
    assert_eq!(bench.settle(), [""; 0]);
    bench.now += Duration::from_secs(1);
    bench.host.refuses.clear();
    assert_eq!(bench.settle(), ["route 10.1.0.0/26"]);
    assert_eq!(bench.state("10.1.0.0/26"), [RouteState::Installed]);
}

#[test]
fn one_refusal_does_not_hold_up_the_others() {
    let mut host = eth0();
    host.refuses.push(net("10.1.0.0/26"));
    let mut bench = Bench::new(host);
    for prefix in ["10.1.0.0/26", "10.2.0.0/26"] {
        bench.want(prefix, RouteClass::Bgp, via("172.31.0.2"));
    }
    bench.settle();
    assert!(bench.host.own.contains_key(&net("10.2.0.0/26")));
}

#[test]
fn route_waits_for_its_next_hop_and_comes_with_it() {
    let mut bench = Bench::new(eth0());
    bench.want("10.1.0.0/26", RouteClass::Bgp, via("172.30.0.2"));
    assert_eq!(bench.settle(), [""; 0]);
    assert!(matches!(
        bench.state("10.1.0.0/26")[..],
        [RouteState::Failed(_)]
    ));
    bench.host.add_link("eth1", 3, &[net("172.30.0.1/24")]);
    bench
        .host
        .foreign
        .insert(net("172.30.0.0/24"), connected(3));
    bench.reconciler.links_changed();
    let route = SeenRoute::Foreign(connected(3));
    bench.reconciler.route_appeared(net("172.30.0.0/24"), route);
    assert_eq!(bench.settle(), ["route 10.1.0.0/26"]);
}

#[test]
fn multipath_keeps_the_next_hops_that_work() {
    let mut host = eth0();
    host.add_link("eth1", 3, &[net("172.30.0.1/24")]);
    host.foreign.insert(net("172.30.0.0/24"), connected(3));
    let mut bench = Bench::new(host);
    let both = ["172.31.0.2", "172.30.0.2"].map(|gateway| RouteNextHop::via(ip(gateway)));
    bench.want(
        "10.1.0.0/26",
        RouteClass::Bgp,
        Some(RouteSpec::multipath(both)),
    );
    bench.settle();
    assert_eq!(bench.host.own[&net("10.1.0.0/26")].hops().len(), 2);
    bench.host.take_down(3);
    bench.reconciler.links_changed();
    bench.settle();
    assert_eq!(bench.host.own[&net("10.1.0.0/26")].hops().len(), 1);
    assert!(matches!(
        bench.state("10.1.0.0/26")[..],
        [RouteState::Partial(_)]
    ));
}

#[test]
fn what_something_else_removes_or_changes_is_put_back() {
    let mut bench = Bench::new(eth0());
    bench.want("10.1.0.0/26", RouteClass::Bgp, via("172.31.0.2"));
    bench.settle();
    let route = bench.host.own.remove(&net("10.1.0.0/26")).unwrap();
    bench
        .reconciler
        .route_vanished(net("10.1.0.0/26"), &SeenRoute::Own(route));
    assert_eq!(bench.settle(), ["route 10.1.0.0/26"]);
    let drifted = HostRoute::Blackhole;
    bench.host.own.insert(net("10.1.0.0/26"), drifted);
    bench.reconciler.resync(ResyncReason::Periodic);
    assert_eq!(bench.settle(), ["route 10.1.0.0/26"]);
    assert_eq!(bench.reconciler.summary().counters.drift_repaired, 2);
}

#[test]
fn a_fight_over_a_route_is_given_a_pause() {
    let mut bench = Bench::new(eth0());
    bench.want("10.1.0.0/26", RouteClass::Bgp, via("172.31.0.2"));
    bench.settle();
    let mut writes = 0;
    for _ in 0..20 {
        let Some(route) = bench.host.own.remove(&net("10.1.0.0/26")) else {
            break;
        };
        bench
            .reconciler
            .route_vanished(net("10.1.0.0/26"), &SeenRoute::Own(route));
        writes += bench.settle().len();
    }
    assert_eq!(writes, 5);
    assert!(matches!(
        bench.state("10.1.0.0/26")[..],
        [RouteState::Failed(_)]
    ));
}

#[test]
fn overlay_is_built_in_an_order_without_holes() {
    let mut bench = Bench::new(eth0());
    bench
        .reconciler
        .set_overlay(tunnel(&[(2, "10.244.2.0/26")]));
    assert_eq!(
        bench.settle(),
        [
            "create vxlan.weft",
            "configure interface 11",
            "add address 10.245.0.1/32",
            "FDB entry 66:00:00:00:00:02 to 172.31.0.2",
            "neighbour 10.245.0.2 at 66:00:00:00:00:02",
            "route 10.244.2.0/26",
        ]
    );
    let link = &bench.host.links[&11];
    assert_eq!((link.mtu, link.up), (1450, true));
    let events = bench.events();
    assert!(events.contains(&DataplaneEvent::Tunnel {
        device: "vxlan.weft".to_owned(),
        problem: None
    }));
    bench
        .reconciler
        .set_overlay(tunnel(&[(2, "10.244.2.0/26")]));
    bench.reconciler.resync(ResyncReason::Periodic);
    assert_eq!(bench.settle(), [""; 0]);
}

#[test]
fn vtep_that_goes_takes_its_entries_after_its_route() {
    let mut bench = Bench::new(eth0());
    bench.reconciler.complete();
    bench
        .reconciler
        .set_overlay(tunnel(&[(2, "10.244.2.0/26"), (3, "10.244.3.0/26")]));
    bench.settle();
    bench
        .reconciler
        .set_overlay(tunnel(&[(2, "10.244.2.0/26")]));
    assert_eq!(
        bench.settle(),
        [
            "remove route 10.244.3.0/26",
            "remove neighbour 10.245.0.3",
            "remove FDB entry 66:00:00:00:00:03",
        ]
    );
    bench.reconciler.set_overlay(Overlay::default());
    assert_eq!(
        bench.settle(),
        ["remove route 10.244.2.0/26", "remove interface 11"]
    );
    assert_eq!(bench.host.links.len(), 1);
}

#[test]
fn device_of_an_earlier_life_is_adopted_whole() {
    let mut bench = Bench::new(eth0());
    bench
        .reconciler
        .set_overlay(tunnel(&[(2, "10.244.2.0/26")]));
    bench.settle();
    let mut next = Bench::new(std::mem::take(&mut bench.host));
    next.reconciler.set_overlay(tunnel(&[(2, "10.244.2.0/26")]));
    next.reconciler.complete();
    assert_eq!(next.settle(), [""; 0]);
}

#[test]
fn device_with_another_vni_is_made_anew_with_all_that_is_on_it() {
    let mut bench = Bench::new(eth0());
    bench
        .reconciler
        .set_overlay(tunnel(&[(2, "10.244.2.0/26")]));
    bench.settle();
    let mut other = tunnel(&[(2, "10.244.2.0/26")]);
    other.tunnels[0].vni = 5000;
    bench.reconciler.set_overlay(other);
    let written = bench.settle();
    assert_eq!(written[..2], ["remove interface 11", "create vxlan.weft"]);
    assert!(
        written.contains(&"route 10.244.2.0/26".to_owned()),
        "{written:?}"
    );
    assert_eq!(bench.host.fdb.len(), 1);
}

#[test]
fn device_that_something_else_deletes_comes_back() {
    let mut bench = Bench::new(eth0());
    bench
        .reconciler
        .set_overlay(tunnel(&[(2, "10.244.2.0/26")]));
    bench.settle();
    bench
        .host
        .execute(&[crate::object::Operation::RemoveDevice { ifindex: 11 }]);
    bench.reconciler.links_changed();
    let written = bench.settle();
    assert_eq!(written.len(), 6, "{written:?}");
    assert_eq!(bench.reconciler.summary().tunnels[0].drift_repaired, 1);
}

#[test]
fn device_of_another_kind_is_left_alone_and_reported() {
    let mut host = eth0();
    host.add_link("vxlan.weft", 5, &[]);
    let mut bench = Bench::new(host);
    bench
        .reconciler
        .set_overlay(tunnel(&[(2, "10.244.2.0/26")]));
    bench.settle();
    let problem = bench.reconciler.summary().tunnels[0]
        .problem
        .clone()
        .unwrap();
    assert!(problem.contains("not a VXLAN device"), "{problem}");
    assert!(bench.host.links.contains_key(&5));
}

/// What a random life is made of.
#[derive(Clone, Debug)]
enum Step {
    Want(u8, RouteClass, Option<u8>),
    Vteps(Vec<u8>),
    Lose(u8),
    Flap,
    Resync,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let class = prop_oneof![Just(RouteClass::Bgp), Just(RouteClass::OwnBlock)];
    prop_oneof![
        4 => (0u8..6, class, proptest::option::of(2u8..5)).prop_map(|(p, c, r)| Step::Want(p, c, r)),
        2 => proptest::collection::vec(2u8..6, 0..4).prop_map(Step::Vteps),
        2 => (0u8..6).prop_map(Step::Lose),
        1 => Just(Step::Flap),
        1 => Just(Step::Resync),
        1 => Just(Step::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever happens, the host ends up with exactly what is wanted, and then nothing more is written.
    #[test]
    fn the_host_ends_up_with_what_is_wanted(steps in proptest::collection::vec(step(), 1..40)) {
        let mut bench = Bench::new(eth0());
        let mut wanted: BTreeMap<(IpNet, RouteClass), Option<RouteSpec>> = BTreeMap::new();
        let mut overlay = Overlay::default();
        for step in steps {
            match step {
                Step::Want(number, class, gateway) => {
                    let prefix = format!("10.1.{number}.0/24");
                    let route = gateway.and_then(|host| via(&format!("172.31.0.{host}")));
                    wanted.insert((net(&prefix), class), route.clone());
                    bench.want(&prefix, class, route);
                }
                Step::Vteps(numbers) => {
                    let blocks: Vec<(u8, String)> =
                        numbers.iter().map(|n| (*n, format!("10.1.{n}.0/24"))).collect();
                    let vteps: Vec<(u8, &str)> =
                        blocks.iter().map(|(n, block)| (*n, block.as_str())).collect();
                    overlay = if vteps.is_empty() { Overlay::default() } else { tunnel(&vteps) };
                    bench.reconciler.set_overlay(overlay.clone());
                }
                Step::Lose(number) => {
                    bench.settle();
                    let prefix = net(&format!("10.1.{number}.0/24"));
                    if let Some(route) = bench.host.own.remove(&prefix) {
                        bench.reconciler.route_vanished(prefix, &SeenRoute::Own(route));
                    }
                }
                Step::Flap => {
                    bench.settle();
                    bench.host.take_down(2);
                    bench.reconciler.links_changed();
                    bench.settle();
                    bench.host.links.get_mut(&2).unwrap().up = true;
                    bench.host.foreign.insert(net("172.31.0.0/24"), connected(2));
                    bench.reconciler.resync(ResyncReason::LinkChange);
                }
                Step::Resync => bench.reconciler.resync(ResyncReason::Periodic),
                Step::Restart => {
                    bench = Bench::new(std::mem::take(&mut bench.host));
                    for ((prefix, class), route) in &wanted {
                        bench.want(&prefix.to_string(), *class, route.clone());
                    }
                    bench.reconciler.set_overlay(overlay.clone());
                    bench.reconciler.complete();
                }
            }
        }
        bench.reconciler.complete();
        bench.settle();
        // Routes refused while the link was down are due again by now.
        bench.now += Duration::from_secs(120);
        bench.settle();

        let mut expected: BTreeMap<IpNet, Option<IpAddr>> = BTreeMap::new();
        for ((prefix, _), route) in wanted.iter().rev() {
            if let Some(RouteSpec::Unicast { next_hops, .. }) = route {
                // Bgp sorts before OwnBlock, so it comes last here and stays.
                expected.insert(*prefix, next_hops[0].gateway);
            }
        }
        for tunnel in &overlay.tunnels {
            for (prefix, route) in &tunnel.routes {
                let TunnelRoute::Via(vtep) = route else { continue };
                expected.insert(*prefix, Some(*vtep));
            }
            prop_assert_eq!(bench.host.fdb.len(), tunnel.vteps.len());
            prop_assert_eq!(bench.host.neighbours.len(), tunnel.vteps.len());
        }
        let actual: BTreeMap<IpNet, Option<IpAddr>> = bench
            .host
            .own
            .iter()
            .map(|(prefix, route)| (*prefix, route.hops().first().and_then(|hop| hop.gateway)))
            .collect();
        prop_assert_eq!(actual, expected);
        prop_assert_eq!(bench.host.links.len(), 1 + overlay.tunnels.len());
        bench.reconciler.resync(ResyncReason::Periodic);
        prop_assert!(bench.settle().is_empty());
    }
}
