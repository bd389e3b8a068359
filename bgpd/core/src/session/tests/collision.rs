//! RFC 4271 section 6.8, in every order in which things can happen.

use super::*;

/// We dialled and accepted; both OPENs are out. Returns (dialled, accepted).
fn both(local: u8) -> (Bench, ConnectionId, ConnectionId) {
    let mut bench = started(local);
    let dialed = bench.dial();
    let accepted = bench.accept();
    (bench, dialed, accepted)
}

/// The peer's identifier ends in 2, ours in `local`.
fn started(local: u8) -> Bench {
    let mut bench = Bench::new(PeerSettings {
        router_id: router_id(local),
        ..settings()
    });
    bench.handle(PeerEvent::Start);
    bench
}

fn closed_by_collision(actions: &[PeerAction], loser: ConnectionId) -> bool {
    let shown = show(actions);
    let notification = format!("{loser} NOTIFICATION 6/7");
    let position = shown.iter().position(|action| *action == notification);
    position.is_some_and(|position| shown.get(position + 1) == Some(&format!("{loser} close")))
}

#[test]
fn higher_identifier_keeps_what_it_dialed() {
    for (local, dialed_wins) in [(3, true), (1, false)] {
        for winner_first in [true, false] {
            let (mut bench, dialed, accepted) = both(local);
            let (winner, loser) = if dialed_wins {
                (dialed, accepted)
            } else {
                (accepted, dialed)
            };
            let order = if winner_first {
                [winner, loser]
            } else {
                [loser, winner]
            };
            let mut actions = Vec::new();
            for connection in order {
                actions.extend(bench.receive(connection, message::open(&peer_open())));
            }
            let case = format!(
                "local {local}, winner first {winner_first}: {:?}",
                show(&actions)
            );
            assert!(closed_by_collision(&actions, loser), "{case}");
            assert_eq!(notified(&actions).len(), 1, "{case}");
            assert!(
                !show(&actions).contains(&format!("{loser} KEEPALIVE")),
                "{case}"
            );
            let actions = bench.receive(winner, message::keepalive());
            assert_eq!(up(&actions), Some(Epoch(1)), "{case}");
            assert_eq!(bench.peer.status().last_failure, None, "{case}");
        }
    }
}

#[test]
fn equal_identifiers_are_decided_by_the_as_number() {
    // RFC 6286 section 2.3. The peer's AS number is the larger one.
    let (mut bench, dialed, accepted) = both(2);
    let actions = bench.receive(accepted, message::open(&peer_open()));
    assert!(
        closed_by_collision(&actions, dialed),
        "{:?}",
        show(&actions)
    );
}

#[test]
fn likely_loser_withholds_its_keepalive_until_the_rival_is_gone() {
    let (mut bench, dialed, accepted) = both(1);
    let actions = bench.receive(dialed, message::open(&peer_open()));
    assert_eq!(show(&actions), ["OpenSent -> OpenConfirm"]);
    let actions = bench.close(accepted);
    assert_eq!(
        show(&actions),
        ["connection1 allow extended", "connection1 KEEPALIVE"]
    );
    assert_eq!(
        up(&bench.receive(dialed, message::keepalive())),
        Some(Epoch(1))
    );
}

#[test]
fn keepalive_that_comes_while_ours_is_withheld_counts() {
    let (mut bench, dialed, accepted) = both(1);
    bench.receive(dialed, message::open(&peer_open()));
    assert_eq!(show(&bench.receive(dialed, message::keepalive())), [""; 0]);
    assert_eq!(up(&bench.close(accepted)), Some(Epoch(1)));
}

#[test]
fn silent_rival_delays_the_session_by_two_seconds_at_most() {
    let (mut bench, dialed, accepted) = both(1);
    bench.receive(dialed, message::open(&peer_open()));
    bench.receive(dialed, message::keepalive());
    let actions = bench.advance(seconds(2));
    assert_eq!(up(&actions), Some(Epoch(1)));
    assert!(
        closed_by_collision(&actions, accepted),
        "{:?}",
        show(&actions)
    );
}

#[test]
fn dial_ends_when_an_accepted_connection_is_answered() {
    let mut bench = started(3);
    bench.advance(bench.patience());
    let accepted = bench.accept();
    let actions = bench.receive(accepted, message::open(&peer_open()));
    assert!(
        show(&actions).contains(&"cancel dial".to_owned()),
        "{:?}",
        show(&actions)
    );

    // The dial that succeeds all the same never sends OPEN: the peer may be Established on the other one.
    let late = bench.connection();
    let actions = bench.handle(PeerEvent::Dialed {
        connection: late,
        local_address: LOCAL_ADDRESS,
    });
    assert_eq!(show(&actions), [format!("{late} close")]);
    assert_eq!(
        up(&bench.receive(accepted, message::keepalive())),
        Some(Epoch(1))
    );
}

#[test]
fn rival_accepted_while_we_wait_for_the_keepalive_is_judged_by_its_open() {
    for (local, new_wins) in [(3, false), (1, true)] {
        let mut bench = started(local);
        let dialed = bench.dial();
        bench.receive(dialed, message::open(&peer_open()));
        let accepted = bench.accept();
        let actions = bench.receive(accepted, message::open(&peer_open()));
        let loser = if new_wins { dialed } else { accepted };
        assert!(closed_by_collision(&actions, loser), "{:?}", show(&actions));
        assert_eq!(bench.state(), SessionState::OpenConfirm);
    }
}

#[test]
fn established_session_outlives_a_new_connection() {
    for local in [1, 3] {
        let mut bench = started(local);
        let session = bench.establish(&peer_open());
        let challenger = bench.accept();
        let actions = bench.receive(challenger, message::open(&peer_open()));
        assert!(
            closed_by_collision(&actions, challenger),
            "{:?}",
            show(&actions)
        );
        assert_eq!(down(&actions), None);
        assert_eq!(bench.state(), SessionState::Established);
        assert_eq!(show(&bench.receive(session, message::keepalive())), [""; 0]);
    }
}

#[test]
fn becoming_established_ends_the_contest() {
    let mut bench = started(1);
    let dialed = bench.dial();
    bench.receive(dialed, message::open(&peer_open()));
    let accepted = bench.accept();
    let actions = bench.receive(dialed, message::keepalive());
    assert!(
        closed_by_collision(&actions, accepted),
        "{:?}",
        show(&actions)
    );
    assert_eq!(up(&actions), Some(Epoch(1)));
}

#[test]
fn second_connection_from_the_peer_supersedes_its_first() {
    let mut bench = started(1);
    for open_first in [false, true] {
        let first = bench.accept();
        if open_first {
            bench.receive(first, message::open(&peer_open()));
        }
        let second = bench.connection();
        let actions = bench.handle(PeerEvent::Accepted {
            connection: second,
            local_address: LOCAL_ADDRESS,
        });
        assert!(closed_by_collision(&actions, first), "{:?}", show(&actions));
        assert!(show(&actions).contains(&format!("{second} OPEN")));
    }
}
