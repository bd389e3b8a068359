//! What is announced, exported, kept out of the kernel, and sent through the overlay.

use ipnet::IpNet;
use routeagg::RouteKind;

use super::{object, plan_of, planned, snapshot, texts};
use crate::Snapshot;
use crate::model::Encapsulation;
use crate::plan::{Local, NotInstalled, OriginationKind, Verdict, plan};

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

const CLUSTER: &str = "
    Node a {bgp: {ipv4Address: 10.0.0.1/24}}
    Node b {bgp: {ipv4Address: 10.0.0.2/24}}
    IPPool plain {cidr: 10.1.0.0/16}
    IPPool hidden {cidr: 10.2.0.0/16, disableBGPExport: true}
    IPPool six {cidr: 'fd01::/64'}
    IPPool tiny {cidr: 10.3.0.0/24, blockSize: 32}
    BlockAffinity a1 {cidr: 10.1.0.0/26, node: a, state: confirmed}
    BlockAffinity a2 {cidr: 10.2.0.0/26, node: a, state: confirmed}
    BlockAffinity a3 {cidr: 'fd01::/122', node: a, state: confirmed}
    BlockAffinity a4 {cidr: 10.3.0.7/32, node: a, state: confirmed}
    BlockAffinity a5 {cidr: 10.9.0.0/26, node: a, state: confirmed}
    BlockAffinity a6 {cidr: 10.1.9.0/26, node: a, state: pending}
    BlockAffinity b1 {cidr: 10.1.0.64/26, node: b, state: confirmed}
    IPAMBlock b1 {cidr: 10.1.0.64/26, affinity: 'host:b', allocations: [0, 1], attributes: [{secondary: {node: b}}, {secondary: {node: a}}]}";

#[test]
fn own_blocks_and_borrowed_addresses_are_originated() {
    let planned = planned(&snapshot(CLUSTER), "a");
    let shown: Vec<String> = planned
        .plan
        .originations
        .iter()
        .map(|(prefix, origination)| {
            format!(
                "{prefix} {:?} blackhole={} exported={} pool={:?}",
                origination.kind, origination.blackhole, origination.exported, origination.pool
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "10.1.0.0/26 Block blackhole=true exported=true pool=Some(\"plain\")",
            "10.1.0.65/32 Borrowed blackhole=false exported=true pool=Some(\"plain\")",
            "10.2.0.0/26 Block blackhole=true exported=false pool=Some(\"hidden\")",
            "10.3.0.7/32 Block blackhole=false exported=true pool=Some(\"tiny\")",
            "10.9.0.0/26 Block blackhole=true exported=false pool=None",
            "fd01::/122 Block blackhole=true exported=true pool=Some(\"six\")",
        ]
    );
    assert!(texts(&planned.findings)[0].contains("10.9.0.0/26 of this node is in no IPPool"));
    assert_eq!(
        planned.plan.originations[&net("10.1.0.65/32")].kind,
        OriginationKind::Borrowed
    );
}

#[test]
fn only_blocks_and_pools_leave() {
    let export = plan_of(CLUSTER, "a").export;
    let elevated = Some(2_147_483_647 - 512);
    let normal = Some(2_147_483_647 - 1024);
    for (prefix, local_pref, expected) in [
        ("10.1.0.0/26", None, Verdict::Accept),
        ("10.1.0.5/32", None, Verdict::Reject),
        ("10.1.0.5/32", normal, Verdict::Reject),
        ("10.1.0.5/32", Some(100), Verdict::Reject),
        // A live migration's address leaves although it is inside the own block.
        ("10.1.0.5/32", elevated, Verdict::Accept),
        ("10.1.0.64/26", None, Verdict::Accept),
        ("10.1.0.65/32", None, Verdict::Accept),
        ("10.2.0.0/26", None, Verdict::Reject),
        ("10.2.0.0/26", elevated, Verdict::Reject),
        ("10.0.0.0/24", None, Verdict::Reject),
        ("0.0.0.0/0", None, Verdict::Reject),
        ("10.0.0.0/8", None, Verdict::Reject),
        ("fd01::/122", None, Verdict::Accept),
        ("fd01::1/128", None, Verdict::Reject),
        ("fd01::40/122", None, Verdict::Accept),
        ("::/0", None, Verdict::Reject),
    ] {
        assert_eq!(
            export.verdict(&net(prefix), local_pref),
            expected,
            "{prefix} {local_pref:?}"
        );
    }
}

#[test]
fn a_reflector_passes_service_addresses_on() {
    let objects = "
        BGPConfiguration default {serviceLoadBalancerIPs: [{cidr: 80.0.0.0/24}], serviceExternalIPs: [{cidr: 81.0.0.1/32}], serviceClusterIPs: [{cidr: 10.96.0.0/12}]}
        Node a {bgp: {ipv4Address: 10.0.0.1/24}}
        Node rr {bgp: {ipv4Address: 10.0.0.2/24, routeReflectorClusterID: 244.0.0.1}}";
    for (node, expected) in [("a", Verdict::Reject), ("rr", Verdict::Accept)] {
        let plan = plan_of(objects, node);
        assert_eq!(
            plan.export.verdict(&net("80.0.0.7/32"), None),
            expected,
            "{node}"
        );
        assert_eq!(
            plan.export.verdict(&net("81.0.0.1/32"), None),
            expected,
            "{node}"
        );
        assert_eq!(
            plan.export.verdict(&net("10.96.0.1/32"), None),
            Verdict::Reject
        );
        for service in ["80.0.0.7/32", "81.0.0.1/32", "10.96.0.0/12"] {
            let reason = plan.kernel.not_installed(&net(service));
            assert_eq!(reason, Some(&NotInstalled::ServiceRange), "{service}");
        }
    }
}

#[test]
fn communities_of_the_node_replace_the_clusters() {
    let mut objects = snapshot(
        "Node a {bgp: {ipv4Address: 10.0.0.1/24}}
         BGPConfiguration default {communities: [{name: x, value: '1:2'}], prefixAdvertisements: [{cidr: 10.0.0.0/8, communities: [x, '3:4:5']}, {cidr: 10.1.0.0/16, communities: ['6:7']}]}",
    );
    let of = |objects: &Snapshot, prefix: &str| {
        let communities = planned(objects, "a")
            .plan
            .export
            .communities_of(&net(prefix));
        communities
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&objects, "10.1.0.0/26"), ["1:2", "6:7", "3:4:5"]);
    assert_eq!(of(&objects, "10.2.0.0/26"), ["1:2", "3:4:5"]);
    assert_eq!(of(&objects, "11.0.0.0/26"), Vec::<String>::new());
    objects.insert(object("BGPConfiguration node.a {prefixAdvertisements: [{cidr: 10.2.0.0/16, communities: ['9:9']}]}"));
    assert_eq!(of(&objects, "10.1.0.0/26"), Vec::<String>::new());
    assert_eq!(of(&objects, "10.2.0.0/26"), ["9:9"]);
}

#[test]
fn pools_of_other_agents_stay_out_of_the_kernel() {
    let reasons = |program: &str| {
        let objects = format!(
            "Node a {{bgp: {{ipv4Address: 10.0.0.1/24}}}}
             BGPConfiguration default {{programClusterRoutes: {program}}}
             IPPool plain {{cidr: 10.1.0.0/16}}
             IPPool vxlan {{cidr: 10.2.0.0/16, vxlanMode: CrossSubnet}}
             IPPool ipip {{cidr: 10.3.0.0/16, ipipMode: Always}}"
        );
        let kernel = plan_of(&objects, "a").kernel;
        ["10.1.0.0/26", "10.2.0.0/26", "10.3.0.0/26", "10.4.0.0/26"]
            .map(|prefix| kernel.not_installed(&net(prefix)).cloned())
    };
    let vxlan = || {
        Some(NotInstalled::Vxlan {
            pool: "vxlan".into(),
        })
    };
    let ipip = || {
        Some(NotInstalled::Ipip {
            pool: "ipip".into(),
        })
    };
    let other = || {
        Some(NotInstalled::OtherAgent {
            pool: "plain".into(),
        })
    };
    assert_eq!(reasons("EnabledNoEncapOnly"), [None, vxlan(), ipip(), None]);
    assert_eq!(reasons("Enabled"), [None, vxlan(), ipip(), None]);
    assert_eq!(reasons("Disabled"), [other(), vxlan(), ipip(), None]);
    assert_eq!(reasons("EnabledIPIPOnly"), [other(), vxlan(), ipip(), None]);
}

#[test]
fn the_overlay_has_nodes_and_routes_of_its_pools_only() {
    let objects = "
        Node a {bgp: {ipv4Address: 10.0.0.1/24}, ipv4VXLANTunnelAddr: 10.2.0.1}
        Node b {bgp: {ipv4Address: 10.0.0.2/24}, ipv4VXLANTunnelAddr: 10.2.0.65, vxlanTunnelMACAddr: '66:00:00:00:00:01'}
        Node c {}
        IPPool plain {cidr: 10.1.0.0/16}
        IPPool overlay {cidr: 10.2.0.0/16, vxlanMode: CrossSubnet}
        BlockAffinity a1 {cidr: 10.1.0.0/26, node: a, state: confirmed}
        BlockAffinity a2 {cidr: 10.2.0.0/26, node: a, state: confirmed}
        IPAMBlock b2 {cidr: 10.2.0.64/26, affinity: 'host:b', allocations: [0], attributes: [{secondary: {node: a}}]}";
    let vxlan = plan_of(objects, "a").vxlan;
    assert!(vxlan.ipv4 && !vxlan.ipv6);
    assert_eq!(vxlan.nodes.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(
        vxlan.nodes["b"].mac_ipv4.unwrap().to_string(),
        "66:00:00:00:00:01"
    );
    assert_eq!(vxlan.nodes["a"].ipv4.unwrap().to_string(), "10.0.0.1/24");
    assert_eq!(
        vxlan.pools[&net("10.2.0.0/16")].mode,
        Encapsulation::CrossSubnet
    );
    let routes: Vec<String> = vxlan
        .routes
        .iter()
        .map(|(prefix, route)| format!("{prefix} {} {}", route.node, route.kind))
        .collect();
    // b's block has a route although its affinity is not confirmed: the block says whose it is.
    assert_eq!(
        routes,
        [
            "10.2.0.0/26 a block",
            "10.2.0.64/26 b block",
            "10.2.0.64/32 a borrowed"
        ]
    );
    assert_eq!(vxlan.routes[&net("10.2.0.64/32")].kind, RouteKind::Borrowed);
    assert_eq!((vxlan.settings.vni, vxlan.settings.port), (4096, 4789));
}

#[test]
fn the_smallest_pool_around_a_block_decides() {
    let objects = "
        Node a {bgp: {ipv4Address: 10.0.0.1/24}}
        IPPool outer {cidr: 10.0.0.0/8, vxlanMode: Always}
        IPPool inner {cidr: 10.1.0.0/16}
        BlockAffinity a1 {cidr: 10.1.0.0/26, node: a, state: confirmed}
        BlockAffinity a2 {cidr: 10.2.0.0/26, node: a, state: confirmed}";
    let plan = plan_of(objects, "a");
    assert_eq!(
        plan.vxlan.routes.keys().collect::<Vec<_>>(),
        [&net("10.2.0.0/26")]
    );
    assert_eq!(
        plan.originations[&net("10.1.0.0/26")].pool.as_deref(),
        Some("inner")
    );
}

#[test]
fn settings_that_windows_cannot_have_are_reported() {
    let objects = snapshot(
        "Node a {bgp: {ipv4Address: 10.0.0.1/24}}
         IPPool overlay {cidr: 10.2.0.0/16, vxlanMode: Always}",
    );
    let mut local = Local {
        platform: crate::Platform::Windows,
        ..Local::new("a")
    };
    let count = |local: &Local| {
        let findings = plan(&objects, local).unwrap().findings;
        texts(&findings)
            .iter()
            .filter(|text| text.starts_with("error"))
            .count()
    };
    assert_eq!(count(&local), 0);
    (local.vxlan.vni, local.vxlan.port, local.vxlan.mtu_ipv4) = (1, 8472, Some(1400));
    assert_eq!(count(&local), 3);
}

#[test]
fn contradictions_between_objects_are_found() {
    let objects = snapshot(
        "Node a {bgp: {ipv4Address: 10.0.0.1/24}}
         Node b {bgp: {ipv4Address: 10.0.0.1/24}, ipv4VXLANTunnelAddr: 10.2.0.1, vxlanTunnelMACAddr: '66:00:00:00:00:01'}
         Node c {bgp: {ipv4Address: 10.0.0.3/24}, ipv4VXLANTunnelAddr: 10.2.0.1, vxlanTunnelMACAddr: '66:00:00:00:00:01'}
         Node win {platform: windows}
         IPPool outer {cidr: 10.0.0.0/8, vxlanMode: Always}
         IPPool inner {cidr: 10.1.0.0/16}
         IPAMBlock lost {cidr: 192.168.0.0/26, affinity: 'host:gone'}
         IPAMBlock win1 {cidr: 10.1.1.0/26, affinity: 'host:win', allocations: [null, null, null, 0], attributes: [{secondary: {node: a}}]}
         IPAMBlock win2 {cidr: 10.1.2.0/26, affinity: 'host:win'}
         BlockAffinity win1 {cidr: 10.1.1.0/26, node: win, state: confirmed}
         BlockAffinity stale {cidr: 10.1.1.0/26, node: a, state: confirmed}
         BGPConfiguration node.gone {listenPort: 180}
         BGPPeer p {node: gone, peerIP: 10.0.0.9, asNumber: 65001}
         BGPPeer q {nodeSelector: has(x), peerSelector: has(y)}",
    );
    insta::assert_snapshot!(texts(&objects.check()).join("\n"));
}
