//! Every state and every event, as one table to hold beside RFC 4271 section 8.2.2.

use std::fmt::Write;

use super::*;

/// The states, with how to get there. In Established, OpenConfirm and OpenSent the connection is number 1.
fn states() -> Vec<(&'static str, Bench)> {
    let rendezvous = || {
        let mut bench = Bench::new(settings());
        bench.handle(PeerEvent::Start);
        bench
    };
    let dialing = || {
        let mut bench = rendezvous();
        bench.advance(bench.patience());
        assert_eq!(bench.state(), SessionState::Connect);
        bench
    };
    let dialed = || {
        let mut bench = rendezvous();
        bench.dial();
        bench
    };
    vec![
        ("Idle", Bench::new(settings())),
        ("Connect", dialing()),
        ("Active", rendezvous()),
        ("OpenSent", dialed()),
        (
            "OpenConfirm, KEEPALIVE withheld: the other connection would win a collision",
            {
                // The peer has the higher identifier: what it dialled would win.
                let mut bench = dialed();
                bench.accept();
                bench.receive(ConnectionId(1), message::open(&peer_open()));
                bench
            },
        ),
        ("OpenConfirm", {
            let mut bench = dialed();
            bench.receive(ConnectionId(1), message::open(&peer_open()));
            bench
        }),
        ("Established", {
            let mut bench = dialed();
            bench.receive(ConnectionId(1), message::open(&peer_open()));
            bench.receive(ConnectionId(1), message::keepalive());
            bench
        }),
        ("Established, with graceful restart", {
            let mut bench = Bench::new(graceful_settings());
            bench.handle(PeerEvent::Start);
            bench.dial();
            let open = graceful_open(120, true, &[(Family::IPV4_UNICAST, true)]);
            bench.receive(ConnectionId(1), message::open(&open));
            bench.receive(ConnectionId(1), message::keepalive());
            bench
        }),
    ]
}

/// The events, and their names in RFC 4271 section 8.1.
/// Makes an event happen; gives what comes of it.
type Act = Box<dyn Fn(&mut Bench) -> Vec<PeerAction>>;

fn events() -> Vec<(&'static str, Act)> {
    fn event(event: PeerEvent) -> Act {
        Box::new(move |bench| bench.handle(event.clone()))
    }
    fn frame(frame: Bytes) -> Act {
        event(PeerEvent::Frame {
            connection: ConnectionId(1),
            frame,
        })
    }
    let connection = ConnectionId(1);
    let other = ConnectionId(9);
    let epoch = Epoch(1);
    let family = Family::IPV4_UNICAST;
    let bad_asn = OpenMessage {
        asn: Asn(65009),
        ..open_with(vec![Capability::FourOctetAsn(Asn(65009))])
    };
    vec![
        ("1 ManualStart", event(PeerEvent::Start)),
        (
            "2 ManualStop",
            event(PeerEvent::Stop(StopReason::AdminShutdown {
                text: String::new(),
            })),
        ),
        (
            "  stop: neighbour removed",
            event(PeerEvent::Stop(StopReason::Deconfigured)),
        ),
        (
            "  stop: daemon restarts",
            event(PeerEvent::Stop(StopReason::Restart)),
        ),
        (
            "  reset",
            event(PeerEvent::Reset {
                text: String::new(),
            }),
        ),
        (
            "  configure: the same",
            Box::new(|bench| {
                let same = bench.peer.settings().clone();
                bench.handle(PeerEvent::Configure(same))
            }),
        ),
        (
            "  configure: other hold time",
            Box::new(|bench| {
                let hold_time = HoldTime::new(30).unwrap();
                let changed = PeerSettings {
                    hold_time,
                    ..bench.peer.settings().clone()
                };
                bench.handle(PeerEvent::Configure(changed))
            }),
        ),
        (
            "9 ConnectRetryTimer_Expires",
            Box::new(|bench| {
                let deadline = bench
                    .peer
                    .status()
                    .next_dial
                    .unwrap_or_else(|| bench.now + seconds(5));
                if bench.state() > SessionState::Connect {
                    return Vec::new();
                }
                bench.advance(deadline - bench.now)
            }),
        ),
        (
            "10 HoldTimer_Expires",
            Box::new(|bench| bench.advance(seconds(240))),
        ),
        (
            "11 KeepaliveTimer_Expires",
            Box::new(|bench| bench.advance(seconds(30))),
        ),
        (
            "16 Tcp_CR_Acked",
            event(PeerEvent::Dialed {
                connection: other,
                local_address: LOCAL_ADDRESS,
            }),
        ),
        (
            "17 TcpConnectionConfirmed",
            event(PeerEvent::Accepted {
                connection: other,
                local_address: LOCAL_ADDRESS,
            }),
        ),
        (
            "18 TcpConnectionFails: dial",
            event(PeerEvent::DialFailed {
                error: "refused".to_owned(),
            }),
        ),
        (
            "18 TcpConnectionFails: connection",
            event(PeerEvent::Closed {
                connection,
                error: None,
            }),
        ),
        ("19 BGPOpen", frame(message::open(&peer_open()))),
        (
            "21 BGPHeaderErr",
            event(PeerEvent::Malformed {
                connection,
                notification: NotificationMessage {
                    code: 1,
                    subcode: 1,
                    data: Bytes::new(),
                },
            }),
        ),
        (
            "22 BGPOpenMsgErr: bad peer AS",
            frame(message::open(&bad_asn)),
        ),
        ("24 NotifMsgVerErr", frame(notification(2, 1))),
        ("25 NotifMsg: cease", frame(notification(6, 2))),
        ("25 NotifMsg: hard reset", frame(notification(6, 9))),
        ("26 KeepAliveMsg", frame(message::keepalive())),
        ("27 UpdateMsg: a withdraw", frame(withdraw())),
        (
            "27 UpdateMsg: End-of-RIB",
            frame(message::end_of_rib(family)),
        ),
        (
            "   RouteRefreshMsg",
            frame(message::route_refresh(family, RefreshSubtype::Normal)),
        ),
        (
            "   frame of a connection that is gone",
            event(PeerEvent::Frame {
                connection: ConnectionId(77),
                frame: message::keepalive(),
            }),
        ),
        (
            "   initial routes sent",
            event(PeerEvent::InitialRoutesSent { epoch, family }),
        ),
        (
            "   refresh wanted",
            event(PeerEvent::RequestRefresh { family }),
        ),
        (
            "   prefix limit exceeded",
            event(PeerEvent::PrefixLimitExceeded {
                epoch,
                family,
                limit: 9,
            }),
        ),
        (
            "29 SendHoldTimer_Expires",
            Box::new(|bench| {
                bench.handle(PeerEvent::SendPending {
                    connection: ConnectionId(1),
                });
                let mut actions = Vec::new();
                for _ in 0..16 {
                    bench.now = bench.now + seconds(30);
                    actions.extend(bench.receive(ConnectionId(1), message::keepalive()));
                    actions.extend(bench.advance(Duration::ZERO));
                }
                actions.retain(|action| !show_one(action).contains("KEEPALIVE"));
                actions
            }),
        ),
    ]
}

/// UPDATE that withdraws 10.0.0.0/8.
fn withdraw() -> Bytes {
    let mut bytes = vec![0xff; 16];
    bytes.extend([0, 25, 2, 0, 2, 8, 10, 0, 0]);
    Bytes::from(bytes)
}

/// Names what repeats once, with how often.
fn shortened(actions: &[String]) -> Vec<String> {
    let mut result = Vec::new();
    let mut rest = actions;
    while let Some(first) = rest.first() {
        let repeats = |length: usize| {
            let pattern = &rest[..length];
            rest.chunks(length)
                .take_while(|chunk| *chunk == pattern)
                .count()
        };
        let (length, count) = [2, 1]
            .into_iter()
            .filter(|length| *length <= rest.len())
            .map(|length| (length, repeats(length)))
            .find(|(_, count)| *count > 1)
            .unwrap_or((1, 1));
        if count > 1 {
            result.push(format!("{count} x ({})", rest[..length].join("; ")));
        } else {
            result.push(first.clone());
        }
        rest = &rest[length * count..];
    }
    result
}

#[test]
fn table_of_states_and_events() {
    let mut table = String::new();
    for (index, (state, _)) in states().iter().enumerate() {
        writeln!(table, "{state}").unwrap();
        for (name, act) in events() {
            let (_, mut bench) = states().swap_remove(index);
            let actions = show(&act(&mut bench));
            let actions = if actions.is_empty() {
                "-".to_owned()
            } else {
                shortened(&actions).join("; ")
            };
            writeln!(table, "    {name:<42} {actions}").unwrap();
        }
        writeln!(table).unwrap();
    }
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("states_and_events", table);
    });
}
