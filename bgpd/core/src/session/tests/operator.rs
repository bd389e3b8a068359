//! Start, stop, reset and configure.

use super::*;

#[test]
fn stopped_peer_refuses_connections_without_a_word() {
    let mut bench = Bench::new(settings());
    let connection = bench.connection();
    let actions = bench.handle(PeerEvent::Accepted {
        connection,
        local_address: LOCAL_ADDRESS,
    });
    assert_eq!(show(&actions), [format!("{connection} close")]);
    assert_eq!(bench.peer.next_deadline(), None);
}

#[test]
fn shutdown_text_travels_and_is_understood() {
    let text = "Umbau im Rechenzentrum, zurück um 6 Uhr";
    let mut near = Bench::passive(settings());
    let connection = near.establish(&peer_open());
    let reason = StopReason::AdminShutdown {
        text: text.to_owned(),
    };
    let actions = near.handle(PeerEvent::Stop(reason));
    let [
        PeerAction::Send {
            bytes,
            lane: Lane::Control,
            ..
        },
        ..,
    ] = actions.as_slice()
    else {
        panic!("{:?}", show(&actions));
    };

    let mut far = Bench::passive(settings());
    let session = far.establish(&peer_open());
    far.receive(session, bytes.clone());
    let last_down = far.peer.status().last_down.unwrap();
    assert_eq!(last_down.by, DownBy::Remote);
    assert_eq!((last_down.code, last_down.subcode), (Some(6), Some(2)));
    assert!(last_down.text.contains(text), "{}", last_down.text);
    assert_eq!(show(&near.close(connection)), [""; 0]);
}

#[test]
fn long_text_is_cut_between_characters() {
    let mut bench = Bench::passive(settings());
    bench.establish(&peer_open());
    let reason = StopReason::AdminShutdown {
        text: "ü".repeat(200),
    };
    let sent = notified(&bench.handle(PeerEvent::Stop(reason))).remove(0);
    // RFC 9003 section 2: at most 255 octets.
    assert_eq!((sent.data[0], sent.data.len()), (254, 255));
    assert!(std::str::from_utf8(&sent.data[1..]).is_ok());
}

#[test]
fn reset_comes_back_at_once() {
    let mut bench = Bench::new(settings());
    bench.handle(PeerEvent::Start);
    let connection = bench.dial();
    bench.receive(connection, message::open(&peer_open()));
    bench.receive(connection, message::keepalive());
    let actions = bench.handle(PeerEvent::Reset {
        text: "new optics".to_owned(),
    });
    assert_eq!(notified(&actions)[0].subcode, 4);
    assert!(bench.patience() <= Duration::from_millis(100));
}

#[test]
fn the_same_settings_change_nothing() {
    let mut bench = Bench::passive(graceful_settings());
    bench.establish(&peer_open());
    let mut same = bench.peer.settings().clone();
    same.families.reverse();
    assert_eq!(show(&bench.handle(PeerEvent::Configure(same))), [""; 0]);
}

#[test]
fn what_stands_in_the_open_costs_a_reset() {
    type Change = fn(&mut PeerSettings);
    let changes: [(&str, Change, ChangeCost); 12] = [
        (
            "local_asn",
            |s| s.local_asn = Asn(1),
            ChangeCost::SessionReset,
        ),
        (
            "remote_asn",
            |s| s.remote_asn = Asn(1),
            ChangeCost::SessionReset,
        ),
        (
            "router_id",
            |s| s.router_id = router_id(9),
            ChangeCost::SessionReset,
        ),
        (
            "hold_time",
            |s| s.hold_time = HoldTime::DISABLED,
            ChangeCost::SessionReset,
        ),
        (
            "families",
            |s| s.families.truncate(1),
            ChangeCost::SessionReset,
        ),
        (
            "add_path",
            |s| s.add_path.push((Family::IPV4_UNICAST, AddPathMode::Both)),
            ChangeCost::SessionReset,
        ),
        (
            "graceful_restart",
            |s| s.graceful_restart = None,
            ChangeCost::SessionReset,
        ),
        (
            "extended_messages",
            |s| s.extended_messages = false,
            ChangeCost::SessionReset,
        ),
        (
            "restart_time",
            |s| s.graceful_restart.as_mut().unwrap().restart_time = 200,
            ChangeCost::None,
        ),
        (
            "keepalive",
            |s| s.keepalive = Some(Duration::from_secs(9)),
            ChangeCost::None,
        ),
        (
            "connect_retry",
            |s| s.connect_retry = Duration::from_secs(9),
            ChangeCost::None,
        ),
        (
            "connect",
            |s| s.connect = ConnectMode::Passive,
            ChangeCost::None,
        ),
    ];
    for (name, change, cost) in changes {
        let old = graceful_settings();
        let mut new = old.clone();
        change(&mut new);
        assert_eq!(old.change_cost(&new), cost, "{name}");

        let mut bench = Bench::new(old);
        bench.handle(PeerEvent::Start);
        bench.establish(&peer_open());
        let actions = bench.handle(PeerEvent::Configure(new));
        let reset = notified(&actions)
            .first()
            .map(|message| (message.code, message.subcode));
        let expected = (cost == ChangeCost::SessionReset).then_some((6, 6));
        assert_eq!(reset, expected, "{name}: {:?}", show(&actions));
    }
}

#[test]
fn mode_decides_about_dialling_at_once() {
    let mut bench = Bench::passive(settings());
    let active = PeerSettings {
        connect: ConnectMode::Active,
        ..settings()
    };
    bench.handle(PeerEvent::Configure(active.clone()));
    assert!(bench.peer.status().next_dial.is_some());
    bench.advance(bench.patience());
    let passive = PeerSettings {
        connect: ConnectMode::Passive,
        ..active
    };
    let actions = bench.handle(PeerEvent::Configure(passive));
    assert_eq!(show(&actions), ["cancel dial", "Connect -> Active"]);
}

#[test]
fn prefix_limit_ends_the_session_with_the_limit_as_data() {
    let mut bench = Bench::passive(settings());
    bench.establish(&peer_open());
    let family = Family::IPV6_UNICAST;
    let actions = bench.handle(PeerEvent::PrefixLimitExceeded {
        epoch: Epoch(1),
        family,
        limit: 1000,
    });
    let sent = notified(&actions).remove(0);
    // RFC 4486 section 4: AFI, SAFI, upper bound.
    assert_eq!((sent.code, sent.subcode), (6, 1));
    assert_eq!(&sent.data[..], [0, 2, 1, 0, 0, 0x03, 0xe8]);
}
