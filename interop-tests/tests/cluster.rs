//! The lab's cluster under test: what is on the wire for each pool, and that a daemon can be killed without a gap.
//!
//! Needs root, BIRD, tcpdump and tshark; `.ci/setup` installs them.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Result, bail};
use interop_tests::daemon::{Announcement, Speaker, Weft, WeftConfig};
use interop_tests::lab::checks::{ping_everything, wait_for_routes};
use interop_tests::lab::network::Network;
use interop_tests::lab::options::TorKind;
use interop_tests::lab::plan::Plan;
use interop_tests::lab::{manifests, tor};
use interop_tests::ping::{Probe, expect_all};
use interop_tests::{Capture, Family, Sandbox, timeouts, wait_until};

/// Three nodes and a ToR that runs BIRD, all routes in place.
struct Cluster {
    plan: Plan,
    wefts: Vec<Weft>,
    tor: Box<dyn Speaker>,
    network: Network,
    _sandbox: Sandbox,
}

impl Cluster {
    fn start() -> Result<Self> {
        let plan = Plan::new(3)?;
        let sandbox = Sandbox::new()?;
        let network = Network::build(&sandbox, &plan)?;
        let directory = sandbox.dir().join("manifests");
        std::fs::create_dir_all(&directory)?;
        for (file_name, yaml) in manifests::cluster(&plan) {
            std::fs::write(directory.join(file_name), yaml)?;
        }
        let tor = tor::start(TorKind::Bird, &network.tor, &plan)?;
        let mut wefts = Vec::new();
        for node in &plan.nodes {
            let config = WeftConfig::new(&node.name).manifests_dir(&directory);
            wefts.push(Weft::launch(network.netns(&node.name)?, config)?);
        }
        for weft in &wefts {
            weft.wait_ready()?;
        }
        let cluster = Self {
            plan,
            wefts,
            tor,
            network,
            _sandbox: sandbox,
        };
        cluster.wait_for_routes()?;
        for weft in &cluster.wefts {
            wait_until(timeouts::SESSION, "a daemon that is ready", || {
                Ok(weft.status()?.ready.then_some(()))
            })?;
        }
        Ok(cluster)
    }

    fn wait_for_routes(&self) -> Result<()> {
        wait_for_routes(&self.network, &self.plan, TorKind::Bird, timeouts::SESSION).map(drop)
    }
}

#[test]
fn pods_reach_each_other_and_only_one_pool_is_encapsulated() -> Result<()> {
    let cluster = Cluster::start()?;
    let (first, second) = (&cluster.plan.nodes[0], &cluster.plan.nodes[1]);
    let netns = cluster.network.netns(&first.name)?;
    let capture = Capture::start(netns, "eth0", "udp port 4789 or icmp or icmp6")?;
    let report = ping_everything(&cluster.network, &cluster.plan)?;
    assert!(report.is_clean(), "{report}");
    let recording = capture.stop()?;

    let vxlan_pod = second.vxlan_pod.addresses[0].to_string();
    let inside = recording.rows(
        &format!("vxlan && icmp.type == 8 && ip.dst == {vxlan_pod}"),
        &["vxlan.vni", "ip.src", "ip.dst"],
    )?;
    let (from, to) = (
        format!("{},{}", first.ipv4, first.vxlan_pod.addresses[0]),
        format!("{},{vxlan_pod}", second.ipv4),
    );
    let expected = vec!["4096".to_owned(), from, to];
    assert!(inside.contains(&expected), "{inside:?}");

    let bgp_pod = second.bgp_pod.addresses[0].to_string();
    let own = first.bgp_pod.addresses[0].to_string();
    let plain = format!("icmp.type == 8 && ip.src == {own} && ip.dst == {bgp_pod}");
    let (bare, encapsulated) = (
        recording.rows(&format!("!vxlan && {plain}"), &["ip.dst"])?,
        recording.rows(&format!("vxlan && {plain}"), &["ip.dst"])?,
    );
    assert!(
        !bare.is_empty(),
        "no ping over the pool without encapsulation"
    );
    assert_eq!(encapsulated, Vec::<Vec<String>>::new());
    Ok(())
}

#[test]
fn killed_daemon_comes_back_without_losing_a_packet_and_drops_what_went_meanwhile() -> Result<()> {
    let mut cluster = Cluster::start()?;
    let temporary = "198.51.100.0/24";
    cluster.tor.announce(&Announcement::new(temporary))?;
    let netns = cluster.network.netns("node1")?.clone();
    wait_until(timeouts::ROUTE, "the ToR's route on node1", || {
        Ok((!netns.kernel_route(temporary)?.is_empty()).then_some(()))
    })?;

    // From the pods of node1 and to them, over both pools and both families.
    let (first, second) = (&cluster.plan.nodes[0], &cluster.plan.nodes[1]);
    let mut probes = Vec::new();
    for (from, to) in [(first, second), (second, first)] {
        for (source, target) in [
            (&from.bgp_pod, &to.bgp_pod),
            (&from.vxlan_pod, &to.vxlan_pod),
        ] {
            let source = cluster.network.netns(&source.name)?;
            expect_all(source, &target.addresses, timeouts::ROUTE)?;
            let interval = Duration::from_millis(10);
            probes.push(Probe::start(source, &target.addresses, interval));
        }
    }

    let before = kernel_state(&cluster, "node1")?;
    cluster.wefts[0].process().kill();
    cluster.tor.withdraw(temporary)?;
    wait_until(timeouts::ROUTE, "node2 without the ToR's route", || {
        let route = cluster.network.netns("node2")?.kernel_route(temporary)?;
        Ok(route.is_empty().then_some(()))
    })?;
    assert!(
        !netns.kernel_route(temporary)?.is_empty(),
        "nobody removed it"
    );
    assert_eq!(
        kernel_state(&cluster, "node1")?,
        before,
        "a kill changes nothing"
    );

    cluster.wefts[0].restart()?;
    wait_until(timeouts::SESSION, "node1 without the ToR's route", || {
        Ok(netns.kernel_route(temporary)?.is_empty().then_some(()))
    })?;
    wait_until(timeouts::SESSION, "node1 ready", || {
        Ok(cluster.wefts[0].status()?.ready.then_some(()))
    })?;
    cluster.wait_for_routes()?;
    for probe in probes {
        for (target, loss) in probe.stop()? {
            assert!(loss.sent > 20, "{target}: {loss:?}");
            assert_eq!(loss.lost(), 0, "{target}: {loss:?}");
        }
    }

    // Nothing is orphaned: all as before, less what was withdrawn.
    let mut expected = before;
    expected.retain(|line| !line.contains(temporary));
    assert_eq!(kernel_state(&cluster, "node1")?, expected);
    Ok(())
}

#[test]
fn ended_daemon_leaves_forwarding_as_it_is() -> Result<()> {
    let mut cluster = Cluster::start()?;
    let before = kernel_state(&cluster, "node1")?;
    cluster.wefts[0].process().stop(timeouts::STOP)?;
    assert_eq!(kernel_state(&cluster, "node1")?, before);
    Ok(())
}

#[test]
fn what_somebody_else_removes_comes_back() -> Result<()> {
    let cluster = Cluster::start()?;
    let netns = cluster.network.netns("node1")?;
    let before = kernel_state(&cluster, "node1")?;
    let far = &cluster.plan.nodes[1];
    for line in [
        format!("route del {}", far.block_v4),
        format!("route del {}", far.block_v6),
        format!("neigh del {} dev vxlan.weft", far.vtep),
        "link set vxlan.weft mtu 1400".to_owned(),
        "link set vxlan.weft down".to_owned(),
        "link del vxlan.weft".to_owned(),
    ] {
        netns.ip([line.clone()])?;
        wait_until(timeouts::ROUTE, &format!("repair after: {line}"), || {
            Ok((kernel_state(&cluster, "node1")? == before).then_some(()))
        })?;
    }
    netns
        .command("bridge")
        .args(["fdb", "del", &far.vtep_mac, "dev", "vxlan.weft"])
        .run()?;
    wait_until(timeouts::ROUTE, "the FDB entry", || {
        Ok((kernel_state(&cluster, "node1")? == before).then_some(()))
    })?;
    let vteps = cluster.wefts[0].vteps()?;
    let repaired: u64 = vteps
        .tunnels
        .iter()
        .map(|tunnel| tunnel.drift_repaired)
        .sum();
    assert!(repaired >= 2, "{vteps:?}");
    Ok(())
}

/// All that weft owns in a node's kernel, a line each.
fn kernel_state(cluster: &Cluster, node: &str) -> Result<BTreeSet<String>> {
    let netns = cluster.network.netns(node)?;
    let mut state = BTreeSet::new();
    for family in [Family::V4, Family::V6] {
        for route in netns.kernel_routes(family)? {
            if route.protocol == 87 {
                state.insert(format!("{route:?}"));
            }
        }
    }
    let device = netns.link("vxlan.weft")?;
    if let Some(device) = device {
        let up = device.flags.iter().any(|flag| flag == "UP");
        state.insert(format!(
            "vxlan.weft {:?} {} up {up}",
            device.mac, device.mtu
        ));
        for neighbour in netns.neighbours(Family::V4, "vxlan.weft")? {
            state.insert(format!("{neighbour:?}"));
        }
        for entry in netns.fdb("vxlan.weft")? {
            state.insert(format!("{entry:?}"));
        }
    }
    Ok(state)
}

/// The namespaces that a harness with this process ID has.
fn namespaces_of(harness: u32) -> Result<Vec<String>> {
    let prefix = format!("weft-{}-", interop_tests::sandbox::id_of(harness));
    let all = interop_tests::Cmd::new("ip")
        .args(["netns", "list"])
        .run()?;
    Ok(all
        .lines()
        .filter(|name| name.starts_with(&prefix))
        .map(str::to_owned)
        .collect())
}

/// The binary itself, as a user runs it.
#[test]
fn lab_passes_leaves_nothing_behind_and_can_be_interrupted() -> Result<()> {
    let run = |arguments: &[&str], interrupt: bool| -> Result<(Option<i32>, String)> {
        let child = std::process::Command::new(env!("CARGO_BIN_EXE_lab"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let id = child.id();
        if interrupt {
            // Some namespace of its own is there: it is in the middle of it.
            wait_until(timeouts::START, "the lab's namespaces", || {
                Ok(namespaces_of(id)?.first().map(drop))
            })?;
            let pid = nix::unistd::Pid::from_raw(i32::try_from(id)?);
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT)?;
        }
        let output = child.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let left = namespaces_of(id)?;
        if !left.is_empty() {
            bail!("left behind: {left:?}");
        }
        Ok((output.status.code(), text))
    };
    let (code, text) = run(&["--nodes", "3", "--once"], false)?;
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("routes in all kernels"), "{text}");
    let (code, text) = run(&["--nodes", "3"], true)?;
    assert_eq!(code, Some(130), "{text}");
    Ok(())
}
