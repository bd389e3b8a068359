//! weft among other daemons: sessions both ways round, routes both ways, next hops, withdrawals, session loss.
//!
//! Needs root and the foreign daemons; `.ci/setup` installs them.

use anyhow::Result;
use interop_tests::daemon::{
    Announcement, Implementation, Neighbor, Speaker, SpeakerConfig, Weft, WeftConfig,
};
use interop_tests::kernel::KernelRoute;
use interop_tests::manifest::{block, join, node, resource};
use interop_tests::{Family, Netns, Sandbox, Switch, timeouts, wait_until};

/// weft's number among the kernel's route protocols.
const PROTOCOL: u8 = 87;

/// Which side opens the connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Dials {
    Weft,
    Peer,
}

/// weft as node1 (AS 64512, 10.0.0.1 and fd00::1) and a peer (10.0.0.2 and fd00::2) on one switch.
struct Pair {
    weft: Weft,
    peer: Box<dyn Speaker>,
    _switch: Switch,
    _sandbox: Sandbox,
}

fn pools() -> [String; 2] {
    [
        resource("IPPool", "pods", "cidr: 10.244.0.0/16\nvxlanMode: Never"),
        resource(
            "IPPool",
            "pods-v6",
            "cidr: \"fd00:10:244::/48\"\nvxlanMode: Never",
        ),
    ]
}

fn pair(kind: Implementation, asn: u32, dials: Dials) -> Result<Pair> {
    let sandbox = Sandbox::new()?;
    let switch = Switch::new(&sandbox, "switch")?;
    let (left, right) = (sandbox.netns("node1")?, sandbox.netns("peer")?);
    switch.attach(&left, "eth0", &["10.0.0.1/24", "fd00::1/64"])?;
    switch.attach(&right, "eth0", &["10.0.0.2/24", "fd00::2/64"])?;

    let passive = if dials == Dials::Peer {
        "\npassive: true"
    } else {
        ""
    };
    let mut objects = pools().to_vec();
    objects.push(node("node1", Some("10.0.0.1/24"), Some("fd00::1/64"), ""));
    objects.push(block("node1", "10.244.1.0/26".parse()?, &[]));
    objects.push(block("node1", "fd00:10:244:1::/122".parse()?, &[]));
    for (name, address) in [("peer-v4", "10.0.0.2"), ("peer-v6", "fd00::2")] {
        let spec = format!("peerIP: \"{address}\"\nasNumber: {asn}\nnodeSelector: all(){passive}");
        objects.push(resource("BGPPeer", name, &spec));
    }
    let weft = Weft::start(
        &left,
        WeftConfig::new("node1").manifest("cluster.yaml", &join(&objects)),
    )?;

    let neighbor = |address| {
        let neighbor = Neighbor::new(address, 64512);
        if dials == Dials::Weft {
            neighbor.passive()
        } else {
            neighbor
        }
    };
    let config = SpeakerConfig::new(asn, [10, 0, 0, 2])
        .neighbor(neighbor("10.0.0.1"))
        .neighbor(neighbor("fd00::1"));
    let peer = kind.start(&right, config)?;
    for address in ["10.0.0.2", "fd00::2"] {
        weft.wait_established(address, timeouts::SESSION)?;
    }
    Ok(Pair {
        weft,
        peer,
        _switch: switch,
        _sandbox: sandbox,
    })
}

fn wait_kernel(netns: &Netns, prefix: &str, gateway: Option<&str>) -> Result<KernelRoute> {
    let gateway = gateway.map(str::parse::<std::net::IpAddr>).transpose()?;
    wait_until(
        timeouts::ROUTE,
        &format!("{prefix} via {gateway:?} in {}", netns.name()),
        || {
            let routes = netns.kernel_route(prefix)?;
            let fits = |route: &&KernelRoute| {
                route.protocol == PROTOCOL
                    && route.hops.first().and_then(|hop| hop.gateway) == gateway
            };
            match routes.iter().find(fits) {
                Some(route) => Ok(Some(route.clone())),
                None => anyhow::bail!("{routes:?}"),
            }
        },
    )
}

fn wait_kernel_gone(netns: &Netns, prefix: &str) -> Result<()> {
    wait_until(
        timeouts::ROUTE,
        &format!("{prefix} to leave the kernel of {}", netns.name()),
        || {
            let routes = netns.kernel_route(prefix)?;
            if routes.is_empty() {
                Ok(Some(()))
            } else {
                anyhow::bail!("{routes:?}")
            }
        },
    )
}

/// Everything that a session is for, in both families.
fn exchange(kind: Implementation, asn: u32, dials: Dials) -> Result<()> {
    let mut pair = pair(kind, asn, dials)?;
    let netns = pair.weft.netns().clone();
    let is_external = asn != 64512;
    let theirs = [
        ("198.51.100.0/24", "10.0.0.2"),
        ("2001:db8:51::/48", "fd00::2"),
    ];
    let ours = [
        ("10.244.1.0/26", "10.0.0.1"),
        ("fd00:10:244:1::/122", "fd00::1"),
    ];

    // weft's blocks: behind their blackholes here, with the right next hop there.
    for (prefix, next_hop) in ours {
        let route = wait_kernel(&netns, prefix, None)?;
        assert_eq!(route.kind, "blackhole");
        let route = pair.peer.wait_route(prefix, timeouts::ROUTE)?;
        assert_eq!(
            route.next_hop,
            Some(next_hop.parse()?),
            "{prefix} at {}",
            pair.peer.kind()
        );
        assert_eq!(
            route.as_path,
            if is_external { vec![64512] } else { vec![] }
        );
    }
    // The peer's routes: in the Loc-RIB and in the kernel, with the right next hop.
    for (prefix, next_hop) in theirs {
        pair.peer
            .announce(&Announcement::new(prefix).next_hop(next_hop))?;
        let route = pair.weft.wait_route(prefix, timeouts::ROUTE)?;
        assert_eq!(route.next_hop, Some(next_hop.parse()?));
        assert_eq!(route.as_path, if is_external { vec![asn] } else { vec![] });
        wait_kernel(&netns, prefix, Some(next_hop))?;
    }
    // A withdrawal takes one away and leaves the other.
    pair.peer.withdraw(theirs[0].0)?;
    pair.weft.wait_gone(theirs[0].0, timeouts::ROUTE)?;
    wait_kernel_gone(&netns, theirs[0].0)?;
    wait_kernel(&netns, theirs[1].0, Some(theirs[1].1))?;
    // So does weft's own.
    let path = "cluster.yaml";
    let kept = std::fs::read_to_string(pair.weft.manifests_dir().join(path))?;
    let without = kept.replace("state: confirmed", "state: pendingDeletion");
    pair.weft.write_manifest(path, &without)?;
    for (prefix, _) in ours {
        pair.peer.wait_gone(prefix, timeouts::ROUTE)?;
        wait_kernel_gone(&netns, prefix)?;
    }
    // The session was not touched by any of this, and its loss takes the rest.
    assert!(pair.weft.session("10.0.0.2")?.established);
    assert!(
        pair.weft.peers()?.iter().all(|peer| peer.flaps == 0),
        "{:?}",
        pair.weft.peers()?
    );
    pair.peer.process().stop(timeouts::STOP)?;
    for (prefix, _) in theirs {
        pair.weft.wait_gone(prefix, timeouts::ROUTE)?;
        wait_kernel_gone(&netns, prefix)?;
    }
    Ok(())
}

#[test]
fn bird_dialled_by_weft() -> Result<()> {
    exchange(Implementation::Bird, 64513, Dials::Weft)
}

#[test]
fn bird_dials_weft() -> Result<()> {
    exchange(Implementation::Bird, 64512, Dials::Peer)
}

#[test]
fn frr_dialled_by_weft() -> Result<()> {
    exchange(Implementation::Frr, 64512, Dials::Weft)
}

#[test]
fn frr_dials_weft() -> Result<()> {
    exchange(Implementation::Frr, 64513, Dials::Peer)
}

#[test]
fn gobgp_dialled_by_weft() -> Result<()> {
    exchange(Implementation::GoBgp, 64513, Dials::Weft)
}

#[test]
fn gobgp_dials_weft() -> Result<()> {
    exchange(Implementation::GoBgp, 64512, Dials::Peer)
}

#[test]
fn openbgpd_dials_weft() -> Result<()> {
    exchange(Implementation::OpenBgpd, 64513, Dials::Peer)
}

#[test]
fn exabgp_dials_weft() -> Result<()> {
    exchange(Implementation::ExaBgp, 64513, Dials::Peer)
}

/// Two ToRs with the same prefix: one kernel route with both next hops, and one is left when the other goes.
#[test]
fn two_tors_share_the_load() -> Result<()> {
    let sandbox = Sandbox::new()?;
    let switch = Switch::new(&sandbox, "switch")?;
    let node1 = sandbox.netns("node1")?;
    switch.attach(&node1, "eth0", &["10.0.0.1/24", "fd00::1/64"])?;
    let mut objects = vec![node("node1", Some("10.0.0.1/24"), Some("fd00::1/64"), "")];
    let mut tors = Vec::new();
    for (index, kind) in [(2_u8, Implementation::Bird), (3, Implementation::Frr)] {
        let (v4, v6) = (format!("10.0.0.{index}"), format!("fd00::{index}"));
        let tor = sandbox.netns(&format!("tor{index}"))?;
        switch.attach(&tor, "eth0", &[&format!("{v4}/24"), &format!("{v6}/64")])?;
        let config = SpeakerConfig::new(64513, [10, 0, 0, index])
            .neighbor(Neighbor::new("10.0.0.1", 64512))
            .neighbor(Neighbor::new("fd00::1", 64512));
        let mut tor = kind.start(&tor, config)?;
        tor.announce(&Announcement::new("198.51.100.0/24"))?;
        tor.announce(&Announcement::new("2001:db8:51::/48"))?;
        tors.push(tor);
        for address in [v4, v6] {
            let name = format!("tor{}", address.replace(['.', ':'], "-"));
            objects.push(resource(
                "BGPPeer",
                &name,
                &format!("peerIP: \"{address}\"\nasNumber: 64513"),
            ));
        }
    }
    let weft = Weft::start(
        &node1,
        WeftConfig::new("node1").manifest("node.yaml", &join(&objects)),
    )?;
    let gateways = |prefix: &str| -> Result<Vec<String>> {
        let routes = node1.kernel_route(prefix)?;
        let mut gateways: Vec<String> = routes
            .iter()
            .filter(|route| route.protocol == PROTOCOL)
            .flat_map(|route| &route.hops)
            .filter_map(|hop| hop.gateway.map(|gateway| gateway.to_string()))
            .collect();
        gateways.sort();
        Ok(gateways)
    };
    let wait_gateways = |prefix: &str, expected: &[&str]| {
        wait_until(
            timeouts::ROUTE,
            &format!("{prefix} via {expected:?}"),
            || {
                let found = gateways(prefix)?;
                if found == expected {
                    Ok(Some(()))
                } else {
                    anyhow::bail!("{found:?}")
                }
            },
        )
    };
    wait_gateways("198.51.100.0/24", &["10.0.0.2", "10.0.0.3"])?;
    wait_gateways("2001:db8:51::/48", &["fd00::2", "fd00::3"])?;
    let shared = weft.paths("198.51.100.0/24")?;
    assert_eq!(
        shared.iter().filter(|path| path.best).count(),
        1,
        "{shared:?}"
    );
    tors[0].process().stop(timeouts::STOP)?;
    wait_gateways("198.51.100.0/24", &["10.0.0.3"])?;
    wait_gateways("2001:db8:51::/48", &["fd00::3"])?;
    Ok(())
}

/// weft as route reflector between two FRR clients (RFC 4456), in both families.
#[test]
fn weft_reflects_between_two_frr_clients() -> Result<()> {
    let sandbox = Sandbox::new()?;
    let switch = Switch::new(&sandbox, "switch")?;
    let reflector = sandbox.netns("reflector")?;
    switch.attach(&reflector, "eth0", &["10.0.0.1/24", "fd00::1/64"])?;
    let cluster = "  routeReflectorClusterID: 10.9.9.9\n";
    let mut objects = pools().to_vec();
    objects.push(node("rr", Some("10.0.0.1/24"), Some("fd00::1/64"), cluster));
    let mut clients = Vec::new();
    for index in [2_u8, 3] {
        let (v4, v6) = (format!("10.0.0.{index}"), format!("fd00::{index}"));
        let netns = sandbox.netns(&format!("client{index}"))?;
        switch.attach(&netns, "eth0", &[&format!("{v4}/24"), &format!("{v6}/64")])?;
        let config = SpeakerConfig::new(64512, [10, 0, 0, index])
            .neighbor(Neighbor::new("10.0.0.1", 64512))
            .neighbor(Neighbor::new("fd00::1", 64512));
        clients.push(Implementation::Frr.start(&netns, config)?);
        for address in [v4, v6] {
            let name = format!("client{}", address.replace(['.', ':'], "-"));
            objects.push(resource(
                "BGPPeer",
                &name,
                &format!("peerIP: \"{address}\"\nasNumber: 64512"),
            ));
        }
    }
    // A reflector outside of the forwarding path programs no kernel.
    let config = WeftConfig::new("rr")
        .manifest("rr.yaml", &join(&objects))
        .args(&["--no-kernel"]);
    let weft = Weft::start(&reflector, config)?;
    let (source, target) = clients.split_at_mut(1);
    let (source, target) = (&mut source[0], &target[0]);
    for (prefix, next_hop) in [
        ("10.244.9.0/26", "10.0.0.2"),
        ("fd00:10:244:9::/122", "fd00::2"),
    ] {
        source.announce(&Announcement::new(prefix))?;
        let route = target.wait_route(prefix, timeouts::ROUTE)?;
        assert_eq!(route.originator_id, Some([10, 0, 0, 2].into()), "{route:?}");
        assert_eq!(
            route.cluster_list,
            [std::net::Ipv4Addr::new(10, 9, 9, 9)],
            "{route:?}"
        );
        assert_eq!(
            route.next_hop,
            Some(next_hop.parse()?),
            "unchanged by reflection: {route:?}"
        );
        assert!(reflector.kernel_route(prefix)?.is_empty(), "--no-kernel");
        // Not back to where it came from.
        assert!(
            source
                .paths(prefix)?
                .iter()
                .all(|path| path.originator_id.is_none())
        );
        source.withdraw(prefix)?;
        target.wait_gone(prefix, timeouts::ROUTE)?;
        weft.wait_gone(prefix, timeouts::ROUTE)?;
    }
    // The loss of a client's session takes its routes from the other.
    source.announce(&Announcement::new("10.244.9.0/26"))?;
    target.wait_route("10.244.9.0/26", timeouts::ROUTE)?;
    source.process().stop(timeouts::STOP)?;
    target.wait_gone("10.244.9.0/26", timeouts::ROUTE)?;
    assert!(weft.routes(Family::V4)?.is_empty());
    Ok(())
}
