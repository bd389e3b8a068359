//! Events of an earlier life touch nothing.

use super::*;

#[test]
fn events_of_a_closed_connection_are_dropped() {
    let mut bench = Bench::passive(settings());
    let old = bench.establish(&peer_open());
    bench.close(old);
    bench.establish(&peer_open());
    let notification = NotificationMessage {
        code: 1,
        subcode: 1,
        data: Bytes::new(),
    };
    for event in [
        PeerEvent::Frame {
            connection: old,
            frame: message::open(&peer_open()),
        },
        PeerEvent::Frame {
            connection: old,
            frame: super::notification(6, 2),
        },
        PeerEvent::Malformed {
            connection: old,
            notification,
        },
        PeerEvent::Closed {
            connection: old,
            error: None,
        },
        PeerEvent::SendPending { connection: old },
        PeerEvent::SendProgress { connection: old },
    ] {
        let shown = format!("{event:?}");
        assert_eq!(show(&bench.handle(event)), [""; 0], "{shown}");
    }
    assert_eq!(bench.state(), SessionState::Established);
}

#[test]
fn events_of_an_earlier_epoch_are_dropped() {
    let mut bench = Bench::passive(settings());
    let old = bench.establish(&peer_open());
    bench.close(old);
    let family = Family::IPV4_UNICAST;
    for event in [
        PeerEvent::InitialRoutesSent {
            epoch: Epoch(1),
            family,
        },
        PeerEvent::PrefixLimitExceeded {
            epoch: Epoch(1),
            family,
            limit: 1,
        },
        PeerEvent::UpdatesSent {
            epoch: Epoch(1),
            messages: 9,
        },
    ] {
        assert_eq!(
            show(&bench.handle(event.clone())),
            [""; 0],
            "without a session: {event:?}"
        );
    }
    let new = bench.establish(&peer_open());
    for event in [
        PeerEvent::InitialRoutesSent {
            epoch: Epoch(1),
            family,
        },
        PeerEvent::PrefixLimitExceeded {
            epoch: Epoch(1),
            family,
            limit: 1,
        },
        PeerEvent::UpdatesSent {
            epoch: Epoch(1),
            messages: 9,
        },
    ] {
        assert_eq!(show(&bench.handle(event.clone())), [""; 0], "{event:?}");
    }
    assert_eq!(bench.peer.status().sent.update, 0);
    let actions = bench.handle(PeerEvent::InitialRoutesSent {
        epoch: Epoch(2),
        family,
    });
    assert_eq!(show(&actions), [format!("{new} UPDATE behind the routes")]);
}

#[test]
fn nothing_of_a_dial_is_left_after_stop() {
    let mut bench = Bench::new(settings());
    bench.handle(PeerEvent::Start);
    bench.advance(bench.patience());
    let actions = bench.handle(PeerEvent::Stop(StopReason::Deconfigured));
    assert_eq!(show(&actions), ["cancel dial", "Connect -> Idle"]);
    assert_eq!(
        show(&bench.handle(PeerEvent::DialFailed {
            error: String::new()
        })),
        [""; 0]
    );
    let connection = bench.connection();
    let actions = bench.handle(PeerEvent::Dialed {
        connection,
        local_address: LOCAL_ADDRESS,
    });
    assert_eq!(show(&actions), [format!("{connection} close")]);
    assert_eq!(bench.peer.next_deadline(), None);
}
