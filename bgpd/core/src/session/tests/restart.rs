//! Graceful restart, as helper and as the one that restarts (RFC 4724, RFC 8538).

use super::*;

const V4: Family = Family::IPV4_UNICAST;
const V6: Family = Family::IPV6_UNICAST;

fn helper() -> Bench {
    Bench::passive(graceful_settings())
}

/// Both families preserved, 120 s, no N bit.
fn graceful() -> OpenMessage {
    graceful_open(120, false, &[(V4, true), (V6, true)])
}

fn graceful_with_notification() -> OpenMessage {
    graceful_open(120, true, &[(V4, true), (V6, true)])
}

/// What our OPEN says about graceful restart.
fn offered(peer: Peer) -> Option<(bool, u16, Vec<GracefulFamily>)> {
    let mut bench = Bench::with(peer);
    bench.handle(PeerEvent::Start);
    let connection = bench.accept();
    bench.receive(connection, message::open(&peer_open()));
    let negotiated = bench.negotiated();
    negotiated
        .local_capabilities
        .iter()
        .find_map(|capability| match capability {
            Capability::GracefulRestart {
                restarting,
                restart_time,
                families,
                ..
            } => Some((*restarting, *restart_time, families.clone())),
            _ => None,
        })
}

fn is_preserved(families: &[GracefulFamily]) -> bool {
    families.iter().all(|listed| listed.forwarding_preserved)
}

#[test]
fn loss_of_tcp_keeps_the_families_that_the_peer_listed() {
    let mut bench = helper();
    let connection = bench.establish(&graceful_open(120, false, &[(V4, false)]));
    let (_, keep) = down(&bench.close(connection)).unwrap();
    assert_eq!(keep, [V4]);
}

#[test]
fn nothing_is_kept_unless_both_sides_offer_it() {
    let mut bench = Bench::passive(settings());
    let connection = bench.establish(&graceful());
    assert_eq!(down(&bench.close(connection)).unwrap().1, []);

    let mut bench = helper();
    let connection = bench.establish(&peer_open());
    assert_eq!(down(&bench.close(connection)).unwrap().1, []);
}

#[test]
fn families_that_were_not_negotiated_are_not_kept() {
    // Case 87: the graceful restart list is longer than what both sides speak.
    let mut bench = Bench::passive(PeerSettings {
        families: vec![V4],
        ..graceful_settings()
    });
    let connection = bench.establish(&graceful());
    let restart = bench.negotiated().graceful_restart.clone().unwrap();
    assert_eq!(restart.families.len(), 1);
    assert_eq!(down(&bench.close(connection)).unwrap().1, [V4]);
}

#[test]
fn restart_time_over_means_flush() {
    let mut bench = helper();
    let connection = bench.establish(&graceful());
    bench.close(connection);
    assert_eq!(flushed(&bench.advance(Duration::from_millis(119_999))), []);
    let stale = bench.peer.status().stale.unwrap();
    assert_eq!(
        (stale.families.len(), stale.awaiting),
        (2, StaleAwaiting::Peer)
    );
    assert_eq!(flushed(&bench.advance(Duration::from_millis(1))), [V4, V6]);
    assert_eq!(bench.peer.status().stale, None);
    // The timer of that life does not come back.
    assert_eq!(flushed(&bench.advance(seconds(1000))), []);
}

#[test]
fn restart_time_of_zero_keeps_nothing() {
    let mut bench = helper();
    let connection = bench.establish(&graceful_open(0, false, &[(V4, true)]));
    assert_eq!(down(&bench.close(connection)).unwrap().1, []);
}

#[test]
fn family_without_the_f_bit_goes_when_the_peer_is_back() {
    let mut bench = helper();
    let connection = bench.establish(&graceful());
    bench.close(connection);
    let connection = bench.confirm(&graceful_open(120, false, &[(V4, true), (V6, false)]));
    let actions = bench.receive(connection, message::keepalive());
    assert_eq!(flushed(&actions), [V6]);
    // Old routes go before new ones can come.
    let shown = show(&actions);
    let flush = shown
        .iter()
        .position(|action| action.starts_with("flush"))
        .unwrap();
    let up = shown
        .iter()
        .position(|action| action.contains(" up, "))
        .unwrap();
    assert!(flush < up, "{shown:?}");
}

#[test]
fn family_that_is_no_longer_listed_goes_when_the_peer_is_back() {
    for open in [peer_open(), graceful_open(120, false, &[(V4, true)])] {
        let mut bench = helper();
        let connection = bench.establish(&graceful());
        bench.close(connection);
        let connection = bench.confirm(&open);
        let actions = bench.receive(connection, message::keepalive());
        assert!(flushed(&actions).contains(&V6), "{:?}", show(&actions));
    }
}

#[test]
fn end_of_rib_ends_the_wait_per_family() {
    let mut bench = helper();
    let connection = bench.establish(&graceful());
    bench.close(connection);
    let connection = bench.establish(&graceful());
    assert_eq!(
        bench.peer.status().stale.unwrap().awaiting,
        StaleAwaiting::EndOfRib
    );
    let actions = bench.receive(connection, message::end_of_rib(V4));
    assert_eq!(show(&actions), ["end of ipv4-unicast"]);
    assert_eq!(bench.peer.status().stale.unwrap().families, [V6]);
    bench.receive(connection, message::end_of_rib(V6));
    assert_eq!(bench.peer.status().stale, None);
}

#[test]
fn peer_that_never_sends_end_of_rib_is_capped() {
    let mut bench = helper();
    let connection = bench.establish(&graceful());
    bench.close(connection);
    let connection = bench.establish(&graceful());
    bench.receive(connection, message::end_of_rib(V4));
    let mut gone = Vec::new();
    for _ in 0..36 {
        bench.receive(connection, message::keepalive());
        gone.extend(flushed(&bench.advance(seconds(10))));
    }
    assert_eq!(gone, [V6]);
    assert_eq!(bench.state(), SessionState::Established);
}

#[test]
fn second_loss_starts_the_restart_time_anew() {
    let mut bench = helper();
    for _ in 0..3 {
        let connection = bench.establish(&graceful());
        assert_eq!(down(&bench.close(connection)).unwrap().1, [V4, V6]);
        assert_eq!(flushed(&bench.advance(seconds(100))), []);
    }
}

#[test]
fn timer_runs_when_the_peer_comes_back_through_the_other_socket() {
    // Case 48: dialled before the loss, accepted afterwards.
    let mut bench = Bench::new(graceful_settings());
    bench.handle(PeerEvent::Start);
    let dialed = bench.dial();
    bench.receive(dialed, message::open(&graceful()));
    bench.receive(dialed, message::keepalive());
    bench.close(dialed);
    let accepted = bench.accept();
    bench.receive(accepted, message::open(&graceful()));
    bench.receive(accepted, message::keepalive());
    let mut gone = Vec::new();
    for _ in 0..36 {
        bench.receive(accepted, message::keepalive());
        gone.extend(flushed(&bench.advance(seconds(10))));
    }
    assert_eq!(gone, [V4, V6]);
}

#[test]
fn attempts_that_fail_do_not_shorten_the_wait() {
    let mut bench = helper();
    let connection = bench.establish(&graceful());
    bench.close(connection);
    for _ in 0..3 {
        let connection = bench.confirm(&graceful());
        let actions = bench.receive(connection, notification(6, 7));
        assert_eq!(flushed(&actions), []);
    }
    assert_eq!(flushed(&bench.advance(seconds(120))), [V4, V6]);
}

#[test]
fn notification_flushes_unless_both_sides_set_the_n_bit() {
    for (open, kept) in [(graceful(), 0), (graceful_with_notification(), 2)] {
        let mut bench = helper();
        let connection = bench.establish(&open);
        let (_, keep) = down(&bench.receive(connection, notification(6, 4))).unwrap();
        assert_eq!(keep.len(), kept);

        let mut bench = helper();
        bench.establish(&open);
        let (reason, keep) = down(&bench.advance(seconds(90))).unwrap();
        assert!(reason.to_string().contains("Hold Timer"), "{reason}");
        assert_eq!(keep.len(), kept);
    }
}

#[test]
fn hard_reset_flushes_whatever_was_negotiated() {
    // Case 89, RFC 8538 section 3.
    let mut bench = helper();
    let connection = bench.establish(&graceful_with_notification());
    let (_, keep) = down(&bench.receive(connection, notification(6, 9))).unwrap();
    assert_eq!(keep, []);

    for event in [
        PeerEvent::Stop(StopReason::AdminShutdown {
            text: "bye".to_owned(),
        }),
        PeerEvent::Stop(StopReason::Deconfigured),
        PeerEvent::Reset {
            text: "bye".to_owned(),
        },
    ] {
        let mut bench = helper();
        bench.establish(&graceful_with_notification());
        let actions = bench.handle(event.clone());
        assert_eq!(down(&actions).unwrap().1, [], "{event:?}");
        let sent = notified(&actions).remove(0);
        assert_eq!((sent.code, sent.subcode), (6, 9), "{event:?}");
        // The inner NOTIFICATION says why.
        assert_eq!(sent.data[0], 6);
        let status = bench.peer.status().last_down.unwrap();
        let text_sent = !matches!(event, PeerEvent::Stop(StopReason::Deconfigured));
        assert_eq!(status.text.contains("bye"), text_sent, "{}", status.text);
    }
}

#[test]
fn stop_flushes_what_waits_for_the_peer() {
    let mut bench = helper();
    let connection = bench.establish(&graceful());
    bench.close(connection);
    let actions = bench.handle(PeerEvent::Stop(StopReason::Deconfigured));
    assert_eq!(flushed(&actions), [V4, V6]);
    assert_eq!(bench.peer.next_deadline(), None);
}

#[test]
fn switching_graceful_restart_off_flushes_what_waits() {
    let mut bench = helper();
    let connection = bench.establish(&graceful());
    bench.close(connection);
    let off = PeerSettings {
        graceful_restart: None,
        ..bench.peer.settings().clone()
    };
    assert_eq!(flushed(&bench.handle(PeerEvent::Configure(off))), [V4, V6]);
}

#[test]
fn new_connection_of_a_restarted_peer_replaces_the_one_that_seemed_alive() {
    let mut bench = helper();
    let old = bench.establish(&graceful());
    let new = bench.accept();
    assert_eq!(
        bench.state(),
        SessionState::Established,
        "tracked until it sends OPEN"
    );
    let actions = bench.receive(new, message::open(&graceful()));
    assert_eq!(
        down(&actions),
        Some((DownReason::PeerRestarted, vec![V4, V6]))
    );
    assert_eq!(notified(&actions), []);
    assert!(show(&actions).contains(&format!("{old} close")));
    let actions = bench.receive(new, message::keepalive());
    assert_eq!(up(&actions), Some(Epoch(2)));
    assert_eq!(flushed(&actions), []);
}

#[test]
fn new_connection_with_a_bad_open_leaves_the_session_alone() {
    let mut bench = helper();
    bench.establish(&graceful());
    let new = bench.accept();
    let actions = bench.receive(
        new,
        message::open(&OpenMessage {
            hold_time: 1,
            ..graceful()
        }),
    );
    assert_eq!(down(&actions), None);
    assert_eq!(bench.state(), SessionState::Established);
}

#[test]
fn planned_restart_is_silent_where_it_helps() {
    // Case 86.
    let mut bench = helper();
    let connection = bench.establish(&graceful());
    let actions = bench.handle(PeerEvent::Stop(StopReason::Restart));
    assert_eq!(notified(&actions), []);
    assert!(show(&actions).contains(&format!("{connection} close")));
    assert_eq!(
        down(&actions),
        Some((DownReason::PlannedRestart, vec![V4, V6]))
    );

    let mut bench = helper();
    bench.establish(&peer_open());
    let actions = bench.handle(PeerEvent::Stop(StopReason::Restart));
    assert_eq!(notified(&actions)[0].code, 6);
}

#[test]
fn restarting_speaker_sets_r_and_f_until_it_has_converged() {
    let (restarting, restart_time, families) =
        offered(Peer::new(graceful_settings(), 1, true)).unwrap();
    assert!(restarting);
    // Case 88.
    assert!(restart_time >= 120);
    assert_eq!(families.len(), 2);
    assert!(is_preserved(&families));

    let mut peer = Peer::new(graceful_settings(), 1, true);
    peer.handle(
        Instant::ZERO,
        PeerEvent::RestartCompleted,
        &mut Outbox::new(),
    );
    let (restarting, _, families) = offered(peer).unwrap();
    assert!(!restarting);
    assert!(!is_preserved(&families));
}

#[test]
fn cold_start_claims_nothing() {
    let (restarting, _, families) = offered(Peer::new(graceful_settings(), 1, false)).unwrap();
    assert!(!restarting);
    assert!(!is_preserved(&families));
}

#[test]
fn forwarding_survives_the_loss_of_a_session() {
    // RFC 8538 section 4: nobody restarted, so both set the F bit when they meet again.
    let mut bench = helper();
    let connection = bench.establish(&graceful());
    bench.close(connection);
    bench.establish(&graceful());
    let negotiated = bench.negotiated();
    let families = negotiated
        .local_capabilities
        .iter()
        .find_map(|capability| match capability {
            Capability::GracefulRestart {
                restarting: false,
                families,
                ..
            } => Some(families),
            _ => None,
        });
    assert!(is_preserved(families.expect("R bit is clear")));
}

#[test]
fn restart_bit_of_the_peer_is_told() {
    // Case 84: who waits for End-of-RIB must not wait for a peer that waits itself.
    let mut open = graceful();
    if let Some(Capability::GracefulRestart { restarting, .. }) = open.capabilities.last_mut() {
        *restarting = true;
    }
    let mut bench = helper();
    bench.establish(&open);
    assert!(
        bench
            .negotiated()
            .graceful_restart
            .as_ref()
            .unwrap()
            .restarting
    );
}

#[test]
fn end_of_rib_follows_the_routes_for_every_family() {
    let mut bench = helper();
    let connection = bench.establish(&peer_open());
    for family in [V4, V6] {
        let actions = bench.handle(PeerEvent::InitialRoutesSent {
            epoch: Epoch(1),
            family,
        });
        assert_eq!(
            show(&actions),
            [format!("{connection} UPDATE behind the routes")]
        );
    }
    assert_eq!(bench.peer.status().sent.update, 2);
}
