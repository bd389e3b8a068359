//! Whatever happens, in whatever order: no panic, and what must always hold does.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Event(u8),
    Dialed,
    Accepted,
    /// A frame, or the end, on one of the connections there were.
    On(u8, Happening),
    Wait(u64),
    Deadline,
}

#[derive(Clone, Debug)]
enum Happening {
    Open(u8),
    Keepalive,
    EndOfRib,
    Withdraw,
    Notification(u8, u8),
    Refresh,
    Noise(Vec<u8>),
    Malformed,
    Closed,
    Pending,
    Progress,
}

fn happenings() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (0..6_u8).prop_map(Happening::Open),
        4 => Just(Happening::Keepalive),
        1 => Just(Happening::EndOfRib),
        1 => Just(Happening::Withdraw),
        1 => (0..9_u8, 0..10_u8).prop_map(|(code, subcode)| Happening::Notification(code, subcode)),
        1 => Just(Happening::Refresh),
        1 => prop::collection::vec(any::<u8>(), 0..60).prop_map(Happening::Noise),
        1 => Just(Happening::Malformed),
        2 => Just(Happening::Closed),
        1 => Just(Happening::Pending),
        1 => Just(Happening::Progress),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..14_u8).prop_map(Step::Event),
        3 => Just(Step::Dialed),
        3 => Just(Step::Accepted),
        12 => (0..3_u8, happenings()).prop_map(|(connection, what)| Step::On(connection, what)),
        1 => (0..200_000_u64).prop_map(Step::Wait),
        3 => Just(Step::Deadline),
    ];
    prop::collection::vec(step, 1..120)
}

fn open_variant(variant: u8) -> OpenMessage {
    let families = [(Family::IPV4_UNICAST, true), (Family::IPV6_UNICAST, false)];
    match variant {
        0 => peer_open(),
        1 => graceful_open(120, false, &families),
        2 => graceful_open(30, true, &families[..1]),
        3 => OpenMessage {
            hold_time: 3,
            ..graceful_open(1, true, &families)
        },
        4 => OpenMessage {
            hold_time: 1,
            ..peer_open()
        },
        _ => open_with(Vec::new()),
    }
}

fn plain_event(number: u8) -> PeerEvent {
    let family = Family::IPV4_UNICAST;
    let text = "text".to_owned();
    match number {
        0..=3 => PeerEvent::Start,
        4 => PeerEvent::Stop(StopReason::AdminShutdown { text }),
        5 => PeerEvent::Stop(StopReason::Restart),
        6 => PeerEvent::Reset { text },
        7 => PeerEvent::RestartCompleted,
        8 => PeerEvent::DialFailed { error: text },
        9 => PeerEvent::InitialRoutesSent {
            epoch: Epoch(1),
            family,
        },
        10 => PeerEvent::RequestRefresh { family },
        11 => PeerEvent::PrefixLimitExceeded {
            epoch: Epoch(1),
            family,
            limit: 5,
        },
        12 => PeerEvent::Configure(PeerSettings {
            hold_time: HoldTime::DISABLED,
            ..graceful_settings()
        }),
        _ => PeerEvent::Configure(graceful_settings()),
    }
}

/// Checks every action against what went before.
#[derive(Default)]
struct Auditor {
    up: Option<Epoch>,
    last_epoch: Epoch,
    open: Vec<ConnectionId>,
    dialing: bool,
}

impl Auditor {
    fn check(&mut self, actions: &[PeerAction]) {
        for action in actions {
            match action {
                PeerAction::Up {
                    epoch, connection, ..
                } => {
                    assert_eq!(self.up, None, "two sessions");
                    assert!(*epoch > self.last_epoch, "epochs only grow");
                    assert!(self.open.contains(connection));
                    (self.up, self.last_epoch) = (Some(*epoch), *epoch);
                }
                PeerAction::Down { epoch, .. } => {
                    assert_eq!(self.up.take(), Some(*epoch), "Down without its Up");
                }
                PeerAction::Update { epoch, .. }
                | PeerAction::EndOfRib { epoch, .. }
                | PeerAction::Refresh { epoch, .. } => assert_eq!(self.up, Some(*epoch)),
                PeerAction::Send {
                    connection,
                    bytes,
                    lane,
                } => {
                    assert!(
                        self.open.contains(connection),
                        "sent on a closed connection"
                    );
                    assert!(
                        bytes[18] != 4 || *lane == Lane::Control,
                        "KEEPALIVE behind routes"
                    );
                }
                PeerAction::Close { connection } => {
                    assert!(self.open.contains(connection), "closed twice");
                    self.open.retain(|open| open != connection);
                }
                PeerAction::AllowExtended { connection } => {
                    assert!(self.open.contains(connection));
                }
                PeerAction::Dial => assert!(!std::mem::replace(&mut self.dialing, true)),
                PeerAction::CancelDial => assert!(std::mem::replace(&mut self.dialing, false)),
                PeerAction::StateChanged { from, to } => assert_ne!(from, to),
                PeerAction::FlushStale { families } => assert!(!families.is_empty()),
            }
        }
    }
}

fn run(steps: Vec<Step>) {
    let mut bench = Bench::new(graceful_settings());
    let mut auditor = Auditor::default();
    let mut known = Vec::new();
    bench.handle(PeerEvent::Start);
    for step in steps {
        let actions = match step {
            Step::Event(number) => {
                let event = plain_event(number);
                if matches!(event, PeerEvent::DialFailed { .. }) {
                    auditor.dialing = false;
                }
                bench.handle(event)
            }
            Step::Dialed | Step::Accepted => {
                let connection = bench.connection();
                let local_address = LOCAL_ADDRESS;
                known.push(connection);
                auditor.open.push(connection);
                if matches!(step, Step::Dialed) {
                    auditor.dialing = false;
                    bench.handle(PeerEvent::Dialed {
                        connection,
                        local_address,
                    })
                } else {
                    bench.handle(PeerEvent::Accepted {
                        connection,
                        local_address,
                    })
                }
            }
            Step::On(back, what) => {
                let Some(&connection) = known.iter().rev().nth(usize::from(back)) else {
                    continue;
                };
                if matches!(what, Happening::Closed) {
                    auditor.open.retain(|&open| open != connection);
                }
                bench.handle(happening(connection, what))
            }
            Step::Wait(milliseconds) => bench.advance(Duration::from_millis(milliseconds)),
            Step::Deadline => match bench.peer.next_deadline() {
                Some(deadline) => bench.advance(deadline - bench.now),
                None => continue,
            },
        };
        auditor.check(&actions);
        let established = bench.state() == SessionState::Established;
        assert_eq!(auditor.up.is_some(), established);
        let _ = bench.peer.status();
    }
    auditor.check(&bench.handle(PeerEvent::Stop(StopReason::Deconfigured)));
    assert_eq!(auditor.up, None, "Up without its Down");
    assert_eq!(auditor.open, [], "connections left open");
    assert_eq!(bench.peer.next_deadline(), None);
}

fn happening(connection: ConnectionId, what: Happening) -> PeerEvent {
    let family = Family::IPV4_UNICAST;
    let frame = match what {
        Happening::Open(variant) => message::open(&open_variant(variant)),
        Happening::Keepalive => message::keepalive(),
        Happening::EndOfRib => message::end_of_rib(family),
        Happening::Withdraw => {
            let header = [0xff; 16];
            Bytes::from([&header[..], &[0, 25, 2, 0, 2, 8, 10, 0, 0]].concat())
        }
        Happening::Notification(code, subcode) => notification(code, subcode),
        Happening::Refresh => message::route_refresh(family, RefreshSubtype::Normal),
        Happening::Noise(body) => {
            let length = u8::try_from(19 + body.len()).unwrap();
            let header = [0xff; 16];
            let kind = 1 + body.first().copied().unwrap_or(0) % 6;
            Bytes::from([&header[..], &[0, length, kind], &body].concat())
        }
        Happening::Malformed => {
            let notification = NotificationMessage {
                code: 1,
                subcode: 1,
                data: Bytes::new(),
            };
            return PeerEvent::Malformed {
                connection,
                notification,
            };
        }
        Happening::Closed => {
            return PeerEvent::Closed {
                connection,
                error: None,
            };
        }
        Happening::Pending => return PeerEvent::SendPending { connection },
        Happening::Progress => return PeerEvent::SendProgress { connection },
    };
    PeerEvent::Frame { connection, frame }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn random_events_keep_the_invariants(steps in steps()) {
        run(steps);
    }
}
