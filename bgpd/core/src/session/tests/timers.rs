//! Hold, keepalive, send hold and connect-retry timers (RFC 4271 section 10, RFC 9687).

use super::*;

fn hold(seconds: u16) -> OpenMessage {
    OpenMessage {
        hold_time: seconds,
        ..peer_open()
    }
}

#[test]
fn hold_time_is_the_smaller_of_both() {
    for (ours, theirs, agreed) in [(90, 30, 30), (9, 30, 9), (90, 0, 0), (0, 90, 0)] {
        let hold_time = HoldTime::new(ours).unwrap();
        let mut bench = Bench::passive(PeerSettings {
            hold_time,
            ..settings()
        });
        bench.establish(&hold(theirs));
        assert_eq!(bench.negotiated().hold_time.seconds(), agreed);
    }
}

#[test]
fn silence_for_the_hold_time_ends_the_session() {
    let mut bench = Bench::passive(settings());
    let connection = bench.establish(&hold(9));
    bench.advance(Duration::from_millis(8_999));
    bench.receive(connection, message::keepalive());
    let actions = bench.advance(Duration::from_millis(8_999));
    assert_eq!(down(&actions), None);
    let actions = bench.advance(Duration::from_millis(1));
    let (reason, keep) = down(&actions).expect("hold time is over");
    assert!(
        matches!(reason, DownReason::Sent(ref message) if message.code == 4),
        "{reason}"
    );
    assert_eq!(keep, []);
    let last_down = bench.peer.status().last_down.unwrap();
    assert_eq!(
        (last_down.by, last_down.code, last_down.subcode),
        (DownBy::Local, Some(4), Some(0))
    );
}

#[test]
fn every_message_restarts_the_hold_timer() {
    let mut bench = Bench::passive(settings());
    let connection = bench.establish(&hold(9));
    for frame in [
        message::end_of_rib(Family::IPV4_UNICAST),
        message::route_refresh(Family::IPV4_UNICAST, RefreshSubtype::Normal),
        message::keepalive(),
    ] {
        bench.advance(seconds(8));
        bench.receive(connection, frame);
    }
    bench.advance(seconds(8));
    assert_eq!(bench.state(), SessionState::Established);
}

#[test]
fn keepalives_leave_at_three_quarters_to_all_of_a_third() {
    let mut bench = Bench::passive(settings());
    let connection = bench.establish(&hold(9));
    let mut gaps = Vec::new();
    let mut last = bench.now;
    for _ in 0..200 {
        bench.receive(connection, message::keepalive());
        let actions = bench.advance(bench.patience());
        assert_eq!(show(&actions), [format!("{connection} KEEPALIVE")]);
        gaps.push(bench.now - last);
        last = bench.now;
    }
    let (least, most) = (*gaps.iter().min().unwrap(), *gaps.iter().max().unwrap());
    assert!(
        least >= Duration::from_millis(2250) && most <= seconds(3),
        "{least:?} {most:?}"
    );
    assert!(
        most - least > Duration::from_millis(500),
        "no jitter: {least:?} {most:?}"
    );
}

#[test]
fn configured_keepalive_never_exceeds_a_third_of_the_hold_time() {
    let mut bench = Bench::passive(PeerSettings {
        keepalive: Some(seconds(80)),
        ..settings()
    });
    bench.establish(&hold(30));
    assert_eq!(bench.negotiated().keepalive, Some(seconds(10)));
}

#[test]
fn new_keepalive_applies_to_the_session_that_is_up() {
    let mut bench = Bench::passive(settings());
    bench.establish(&hold(90));
    let faster = PeerSettings {
        keepalive: Some(seconds(5)),
        ..bench.peer.settings().clone()
    };
    assert_eq!(show(&bench.handle(PeerEvent::Configure(faster))), [""; 0]);
    assert!(bench.patience() <= seconds(5));
    assert_eq!(bench.negotiated().keepalive, Some(seconds(5)));
}

#[test]
fn hold_time_of_zero_runs_no_timer() {
    let mut bench = Bench::passive(settings());
    let connection = bench.establish(&hold(0));
    bench.handle(PeerEvent::SendPending { connection });
    assert_eq!(bench.peer.next_deadline(), None);
    assert_eq!(show(&bench.advance(seconds(86_400))), [""; 0]);
    assert_eq!(bench.state(), SessionState::Established);
}

#[test]
fn peer_that_sends_no_open_has_four_minutes() {
    let mut bench = Bench::passive(settings());
    let connection = bench.accept();
    assert_eq!(show(&bench.advance(seconds(239))), [""; 0]);
    let actions = show(&bench.advance(seconds(1)));
    assert_eq!(actions[0], format!("{connection} NOTIFICATION 4/0"));
}

#[test]
fn peer_that_does_not_read_is_given_up_after_the_send_hold_time() {
    // RFC 9687: the greater of 8 minutes and twice the hold time, whatever the peer sends meanwhile.
    for (hold_time, limit) in [(90, 480), (300, 600)] {
        let mut bench = Bench::passive(PeerSettings {
            hold_time: HoldTime::new(hold_time).unwrap(),
            ..settings()
        });
        let connection = bench.establish(&hold(hold_time));
        bench.handle(PeerEvent::SendPending { connection });
        let mut waited = 0;
        while bench.state() == SessionState::Established {
            assert!(waited < limit, "still up after {waited} s");
            bench.receive(connection, message::keepalive());
            // Repeats do not prolong it.
            bench.handle(PeerEvent::SendPending { connection });
            bench.advance(seconds(10));
            waited += 10;
        }
        assert_eq!(waited, limit);
        assert_eq!(bench.peer.status().last_down.unwrap().code, Some(8));
    }
}

#[test]
fn progress_restarts_the_send_hold_timer() {
    let mut bench = Bench::passive(settings());
    let connection = bench.establish(&hold(90));
    for _ in 0..100 {
        bench.handle(PeerEvent::SendPending { connection });
        bench.receive(connection, message::keepalive());
        bench.advance(seconds(60));
        bench.handle(PeerEvent::SendProgress { connection });
    }
    assert_eq!(bench.state(), SessionState::Established);
}

#[test]
fn first_dial_is_at_once_and_the_second_soon() {
    let mut bench = Bench::new(settings());
    bench.handle(PeerEvent::Start);
    assert!(bench.patience() <= Duration::from_millis(100));
    let mut waits = Vec::new();
    for _ in 0..4 {
        assert!(show(&bench.advance(bench.patience())).contains(&"dial".to_owned()));
        bench.handle(PeerEvent::DialFailed {
            error: "refused".to_owned(),
        });
        waits.push(bench.patience());
    }
    assert!(waits[0] <= seconds(1), "{waits:?}");
    for wait in &waits[1..] {
        assert!(
            (Duration::from_millis(3750)..=seconds(5)).contains(wait),
            "{waits:?}"
        );
    }
    let failure = bench.peer.status().last_failure.unwrap();
    assert_eq!(failure.text, "cannot connect: refused");
}

#[test]
fn dial_without_an_answer_is_begun_again() {
    let mut bench = Bench::new(settings());
    bench.handle(PeerEvent::Start);
    bench.advance(bench.patience());
    let actions = bench.advance(seconds(5));
    assert_eq!(show(&actions), ["cancel dial", "dial"]);
}

#[test]
fn errors_in_a_row_double_the_wait_up_to_two_minutes() {
    let mut bench = Bench::new(settings());
    bench.handle(PeerEvent::Start);
    let mut expected = 5;
    for _ in 0..8 {
        let connection = bench.dial();
        bench.receive(connection, notification(2, 2));
        let wait = bench.patience();
        assert!(
            wait >= seconds(expected) * 3 / 4 && wait <= seconds(expected),
            "{wait:?}"
        );
        expected = (expected * 2).min(120);
    }
    assert_eq!(bench.state(), SessionState::Active);
    assert!(bench.peer.status().next_dial.is_some());
}

#[test]
fn session_that_lived_a_minute_clears_the_record() {
    let mut bench = Bench::new(settings());
    bench.handle(PeerEvent::Start);
    for (lives, longest) in [(0, 5), (0, 10), (0, 20), (61, 5)] {
        let connection = bench.dial();
        bench.receive(connection, message::open(&peer_open()));
        bench.receive(connection, message::keepalive());
        bench.advance(seconds(lives));
        bench.receive(connection, notification(3, 1));
        assert!(
            bench.patience() >= seconds(longest) * 3 / 4,
            "{:?}",
            bench.patience()
        );
        assert!(
            bench.patience() <= seconds(longest),
            "{:?}",
            bench.patience()
        );
    }
    assert_eq!(bench.peer.status().flaps, 4);
}

#[test]
fn passive_peer_never_dials_and_is_ready_at_once() {
    let mut bench = Bench::passive(settings());
    assert_eq!(bench.peer.next_deadline(), None);
    assert_eq!(bench.state(), SessionState::Active);
    bench.establish(&peer_open());
}

#[test]
fn damped_peer_may_come_in_meanwhile() {
    let mut bench = Bench::new(settings());
    bench.handle(PeerEvent::Start);
    for _ in 0..6 {
        let connection = bench.dial();
        bench.receive(connection, notification(2, 2));
    }
    bench.establish(&peer_open());
    assert_eq!(bench.peer.status().next_dial, None);
}
