//! The harness tested without weft: other daemons among themselves, and that nothing stays behind.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use interop_tests::daemon::{
    Announcement, Bird, Frr, Implementation, Neighbor, Route, Speaker, SpeakerConfig,
};
use interop_tests::ping::{self, Probe};
use interop_tests::{Capture, Family, Netns, Sandbox, Switch, connect, timeouts, wait_until};

/// Two namespaces on a switch, 10.0.0.1 / fd00::1 and 10.0.0.2 / fd00::2.
struct Pair {
    // Dropped in this order: daemons are the tests' own and go before.
    switch: Switch,
    left: Netns,
    right: Netns,
    sandbox: Sandbox,
}

impl Pair {
    fn new() -> Result<Self> {
        let sandbox = Sandbox::new()?;
        let switch = Switch::new(&sandbox, "switch")?;
        let (left, right) = (sandbox.netns("left")?, sandbox.netns("right")?);
        switch.attach(&left, "eth0", &["10.0.0.1/24", "fd00::1/64"])?;
        switch.attach(&right, "eth0", &["10.0.0.2/24", "fd00::2/64"])?;
        Ok(Self {
            switch,
            left,
            right,
            sandbox,
        })
    }
}

/// Two sessions, one per family, between two makes of daemon; a route each way in each family, changed and withdrawn.
fn exchange(left_kind: Implementation, right_kind: Implementation) -> Result<()> {
    let pair = Pair::new()?;
    let neighbors = |asn: u32, v4: &str, v6: &str| [Neighbor::new(v4, asn), Neighbor::new(v6, asn)];
    let [v4, v6] = neighbors(65002, "10.0.0.2", "fd00::2");
    let config = SpeakerConfig::new(65001, [10, 0, 0, 1])
        .neighbor(v4)
        .neighbor(v6);
    let mut left = left_kind.start(&pair.left, config)?;
    let [v4, v6] = neighbors(65001, "10.0.0.1", "fd00::1");
    let config = SpeakerConfig::new(65002, [10, 0, 0, 2])
        .neighbor(v4)
        .neighbor(v6)
        .announce(Announcement::new("198.51.100.0/24"));
    let mut right = right_kind.start(&pair.right, config)?;

    left.wait_established("10.0.0.2", timeouts::SESSION)?;
    right.wait_established("fd00::1", timeouts::SESSION)?;
    let configured = left.wait_route("198.51.100.0/24", timeouts::ROUTE)?;
    assert_eq!(configured.next_hop, Some("10.0.0.2".parse()?));

    announce_change_withdraw(&mut *left, &*right, 65001, "10.0.0.1", "fd00::1")?;
    announce_change_withdraw(&mut *right, &*left, 65002, "10.0.0.2", "fd00::2")
}

fn announce_change_withdraw(
    from: &mut dyn Speaker,
    to: &dyn Speaker,
    asn: u32,
    hop4: &str,
    hop6: &str,
) -> Result<()> {
    let (v4, v6) = ("192.0.2.1/32", "2001:db8:7::/48");
    from.announce(
        &Announcement::new(v4)
            .med(7)
            .community("65001:9")
            .large_community("65001:1:2"),
    )?;
    from.announce(&Announcement::new(v6))?;
    let route = to.wait_route(v4, timeouts::ROUTE)?;
    let expected = Route {
        next_hop: Some(hop4.parse()?),
        as_path: vec![asn],
        communities: vec!["65001:9".to_owned()],
        large_communities: vec!["65001:1:2".to_owned()],
        med: Some(7),
        ..route.clone()
    };
    assert_eq!(route, expected);
    let route = to.wait_route(v6, timeouts::ROUTE)?;
    assert_eq!(route.next_hop, Some(hop6.parse()?));

    from.announce(&Announcement::new(v4).community("65001:10"))?;
    to.wait_route_where(v4, timeouts::ROUTE, &|r| r.communities == ["65001:10"])?;
    from.withdraw(v4)?;
    from.withdraw(v6)?;
    to.wait_gone(v4, timeouts::ROUTE)?;
    to.wait_gone(v6, timeouts::ROUTE)?;
    // The sessions have survived all of it.
    assert!(to.session(hop4)?.established && to.session(hop6)?.established);
    Ok(())
}

#[test]
fn bird_and_frr_exchange_routes() -> Result<()> {
    exchange(Implementation::Bird, Implementation::Frr)
}

#[test]
fn gobgp_and_openbgpd_exchange_routes() -> Result<()> {
    exchange(Implementation::GoBgp, Implementation::OpenBgpd)
}

#[test]
fn exabgp_and_bird_exchange_routes() -> Result<()> {
    exchange(Implementation::ExaBgp, Implementation::Bird)
}

/// Every daemon that reflects sets ORIGINATOR_ID and CLUSTER_LIST, and every daemon that receives them shows them.
#[test]
fn reflected_attributes_are_read_from_every_daemon() -> Result<()> {
    let reflectors = [
        Implementation::Bird,
        Implementation::Frr,
        Implementation::GoBgp,
        Implementation::OpenBgpd,
    ];
    let sandbox = Sandbox::new()?;
    let switch = Switch::new(&sandbox, "switch")?;
    let netns = |name: &str, address: &str| -> Result<Netns> {
        let netns = sandbox.netns(name)?;
        switch.attach(&netns, "eth0", &[address])?;
        Ok(netns)
    };
    // One source, four reflectors, and a client of each other make behind every reflector.
    let mut config = SpeakerConfig::new(65000, [10, 0, 0, 1]);
    for index in 0..reflectors.len() {
        config = config.neighbor(Neighbor::new(&format!("10.0.0.{}", 10 + index), 65000));
    }
    let mut source = Bird::start(&netns("source", "10.0.0.1/24")?, config)?;
    let mut speakers: Vec<Box<dyn Speaker>> = Vec::new();
    let mut clients = Vec::new();
    for (index, reflector) in reflectors.into_iter().enumerate() {
        let host = u8::try_from(10 + index)?;
        let address = format!("10.0.0.{host}");
        let client_address = format!("10.0.0.{}", 20 + index);
        let mut config = SpeakerConfig::new(65000, [10, 0, 0, host])
            .neighbor(Neighbor::new("10.0.0.1", 65000).reflector_client())
            .neighbor(Neighbor::new(&client_address, 65000).reflector_client());
        config.cluster_id = Some([10, 9, 9, host].into());
        let name = format!("rr{index}");
        speakers.push(reflector.start(&netns(&name, &format!("{address}/24"))?, config)?);
        let client = Implementation::ALL[(index + 1) % Implementation::ALL.len()];
        let config = SpeakerConfig::new(65000, [10, 0, 0, host + 10])
            .neighbor(Neighbor::new(&address, 65000));
        let ns = netns(&format!("client{index}"), &format!("{client_address}/24"))?;
        clients.push((client.start(&ns, config)?, host));
    }
    source.announce(&Announcement::new("192.0.2.0/24").local_pref(120))?;
    for (client, host) in &clients {
        let route = client.wait_route("192.0.2.0/24", timeouts::ROUTE)?;
        let who = client.netns().name();
        assert_eq!(
            route.originator_id,
            Some([10, 0, 0, 1].into()),
            "{who}: {route:?}"
        );
        assert_eq!(
            route.cluster_list,
            [std::net::Ipv4Addr::from([10, 9, 9, *host])],
            "{who}"
        );
        assert_eq!(route.next_hop, Some([10, 0, 0, 1].into()), "{who}");
        assert_eq!(route.local_pref, Some(120), "{who}");
    }
    Ok(())
}

/// BIRD and FRR as routers: their kernels forward packets by the routes that BGP brought.
#[test]
fn bird_and_frr_forward_by_what_they_learned() -> Result<()> {
    let pair = Pair::new()?;
    let host = pair.sandbox.netns("host")?;
    connect(
        (&pair.left, "host0", &["172.16.1.1/24"]),
        (&host, "eth0", &["172.16.1.9/24"]),
    )?;
    host.ip(["route add default via 172.16.1.1"])?;
    for router in [&pair.left, &pair.right] {
        router.enable_forwarding()?;
    }
    pair.right.ip(["address add 203.0.113.1/32 dev lo"])?;

    let config =
        SpeakerConfig::new(65001, [10, 0, 0, 1]).neighbor(Neighbor::new("10.0.0.2", 65002));
    let bird = Bird::start(
        &pair.left,
        config.announce(Announcement::new("172.16.1.0/24")).kernel(),
    )?;
    let config =
        SpeakerConfig::new(65002, [10, 0, 0, 2]).neighbor(Neighbor::new("10.0.0.1", 65001));
    let frr = Frr::start(
        &pair.right,
        config
            .announce(Announcement::new("203.0.113.1/32"))
            .kernel(),
    )?;
    bird.wait_route("203.0.113.1/32", timeouts::ROUTE)?;
    frr.wait_route("172.16.1.0/24", timeouts::ROUTE)?;
    for (netns, prefix, gateway, protocol) in [
        (&pair.left, "203.0.113.1/32", "10.0.0.2", 12),
        // RTPROT_BGP, which zebra uses for bgpd's routes.
        (&pair.right, "172.16.1.0/24", "10.0.0.1", 186),
    ] {
        let routes = wait_until(
            timeouts::ROUTE,
            &format!("kernel route to {prefix}"),
            || {
                let routes = netns.kernel_route(prefix)?;
                Ok((!routes.is_empty()).then_some(routes))
            },
        )?;
        let [route] = &routes[..] else {
            panic!("{routes:?}")
        };
        assert_eq!(route.protocol, protocol);
        assert_eq!(route.hops[0].gateway, Some(gateway.parse::<IpAddr>()?));
        assert_eq!(route.hops[0].device, "eth0");
    }
    ping::expect_all(&host, &["203.0.113.1".parse()?], Duration::from_secs(5))
}

#[test]
fn a_cut_cable_is_seen_by_the_probe_and_the_capture_sees_the_packets() -> Result<()> {
    let pair = Pair::new()?;
    let target: IpAddr = "10.0.0.2".parse()?;
    let target6: IpAddr = "fd00::2".parse()?;
    ping::expect_all(&pair.left, &[target, target6], Duration::from_secs(5))?;
    let capture = Capture::start(&pair.right, "eth0", "icmp")?;
    let probe = Probe::start(&pair.left, &[target, target6], Duration::from_millis(10));
    wait_until(timeouts::START, "echo request", || {
        // Both directions flow before the cut.
        Ok(
            ping::ping_all(&pair.left, &[target], Duration::from_secs(1))?[&target]
                .is_reply()
                .then_some(()),
        )
    })?;
    pair.switch.cut(&pair.right, "eth0")?;
    let lost = ping::ping_all(&pair.left, &[target], Duration::from_millis(300))?;
    assert!(!lost[&target].is_reply(), "{lost:?}");
    pair.switch.mend(&pair.right, "eth0")?;
    ping::expect_all(&pair.left, &[target, target6], Duration::from_secs(10))?;
    let report = probe.stop()?;
    for loss in report.values() {
        assert!(
            loss.longest_outage >= Duration::from_millis(250),
            "{report:?}"
        );
        assert!(loss.answered > 0, "{report:?}");
    }
    let rows = capture
        .stop()?
        .rows("icmp.type == 8", &["ip.src", "ip.dst"])?;
    assert!(
        rows.iter().all(|row| row == &["10.0.0.1", "10.0.0.2"]),
        "{rows:?}"
    );
    assert!(!rows.is_empty());
    Ok(())
}

#[test]
fn nothing_stays_behind() -> Result<()> {
    let pair = Pair::new()?;
    let id = pair.sandbox.id().to_owned();
    let dir = pair.sandbox.dir().to_owned();
    let mut speakers = Vec::new();
    for (index, implementation) in Implementation::ALL.into_iter().enumerate() {
        let netns = pair.sandbox.netns(&format!("speaker{index}"))?;
        pair.switch
            .attach(&netns, "eth0", &[&format!("10.0.0.{}/24", index + 10)])?;
        let config =
            SpeakerConfig::new(65001, [10, 0, 0, 1]).neighbor(Neighbor::new("10.0.0.2", 65002));
        speakers.push(implementation.start(&netns, config)?);
    }
    assert_eq!(left_behind(&id)?.len(), 8, "{:?}", left_behind(&id)?);
    assert!(processes_of(&id)? >= 5);
    drop(speakers);
    drop(pair);
    assert_eq!(left_behind(&id)?, Vec::<String>::new());
    assert_eq!(processes_of(&id)?, 0);
    assert!(!dir.exists());
    Ok(())
}

#[test]
fn nothing_stays_behind_after_a_panic() -> Result<()> {
    let (send, receive) = std::sync::mpsc::channel();
    let outcome = std::thread::spawn(move || {
        let pair = Pair::new().expect("a network");
        let config = SpeakerConfig::new(65001, [10, 0, 0, 1]);
        let _bird = Bird::start(&pair.left, config).expect("a BIRD");
        send.send(pair.sandbox.id().to_owned()).expect("a receiver");
        panic!("as a failing assertion does");
    })
    .join();
    assert!(outcome.is_err());
    let id = receive.recv()?;
    assert_eq!(left_behind(&id)?, Vec::<String>::new());
    assert_eq!(processes_of(&id)?, 0);
    Ok(())
}

/// A harness that gets SIGKILL can't clean up: its daemons die by themselves, the next run removes the rest.
#[test]
fn a_killed_run_is_cleaned_by_the_next() -> Result<()> {
    if let Ok(path) = std::env::var("WEFT_TEST_VICTIM") {
        let pair = Pair::new()?;
        let config = SpeakerConfig::new(65001, [10, 0, 0, 1]);
        let _frr = Frr::start(&pair.left, config)?;
        std::fs::write(format!("{path}.new"), pair.sandbox.id())?;
        std::fs::rename(format!("{path}.new"), &path)?;
        std::thread::sleep(Duration::from_secs(60));
        return Ok(());
    }
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("id");
    let mut victim = std::process::Command::new(std::env::current_exe()?)
        .args(["--exact", "a_killed_run_is_cleaned_by_the_next"])
        .env("WEFT_TEST_VICTIM", &path)
        .spawn()?;
    let id = wait_until(timeouts::START, "id of the victim", || {
        Ok(std::fs::read_to_string(&path).ok())
    })?;
    // A run that lives is left alone.
    let _sandbox = Sandbox::new()?;
    assert_eq!(left_behind(&id)?.len(), 3);
    victim.kill()?;
    victim.wait()?;
    wait_until(timeouts::START, "death of the daemons", || {
        Ok((processes_of(&id)? == 0).then_some(()))
    })?;
    // Another test's run may be the one that removes it.
    interop_tests::sandbox::clean_leftovers(interop_tests::sandbox::Kept::Spare)?;
    wait_until(timeouts::START, "removal of the namespaces", || {
        Ok(left_behind(&id)?.is_empty().then_some(()))
    })
}

#[test]
fn a_daemon_that_ends_explains_itself() -> Result<()> {
    let pair = Pair::new()?;
    let config = SpeakerConfig::new(65001, [10, 0, 0, 1]).extra("no such words;");
    let error = format!("{:#}", Bird::start(&pair.left, config).unwrap_err());
    assert!(
        error.contains("bird") && error.contains("syntax error"),
        "{error}"
    );
    Ok(())
}

/// What BGP says about a family that is not configured never shows up.
#[test]
fn tables_of_the_families_are_apart() -> Result<()> {
    let pair = Pair::new()?;
    let config = SpeakerConfig::new(65001, [10, 0, 0, 1])
        .announce(Announcement::new("192.0.2.0/24"))
        .announce(Announcement::new("2001:db8::/32"));
    let bird = Bird::start(&pair.left, config)?;
    let prefixes = |family| -> Result<Vec<String>> {
        Ok(bird
            .routes(family)?
            .iter()
            .map(|route| route.prefix.to_string())
            .collect())
    };
    assert_eq!(prefixes(Family::V4)?, ["192.0.2.0/24"]);
    assert_eq!(prefixes(Family::V6)?, ["2001:db8::/32"]);
    Ok(())
}

fn left_behind(id: &str) -> Result<Vec<String>> {
    let prefix = format!("weft-{id}-");
    let entries = std::fs::read_dir("/run/netns").context("/run/netns")?;
    Ok(entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| name.starts_with(&prefix))
        .collect())
}

fn processes_of(id: &str) -> Result<usize> {
    let mark = format!("WEFT_SANDBOX={id}");
    let mut count = 0;
    for entry in std::fs::read_dir("/proc")? {
        let environment = std::fs::read(entry?.path().join("environ")).unwrap_or_default();
        count += usize::from(
            environment
                .split(|byte| *byte == 0)
                .any(|v| v == mark.as_bytes()),
        );
    }
    Ok(count)
}
