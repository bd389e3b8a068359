//! Two speakers back to back, over a network with random delays.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet};

use super::super::random::SplitMix64;
use super::*;

/// Two peers and what is under way between them.
struct Network {
    now: Instant,
    random: SplitMix64,
    peers: [Peer; 2],
    queue: BinaryHeap<Reverse<(Instant, u64)>>,
    events: BTreeMap<u64, (usize, Arrival)>,
    next: u64,
    /// When the last thing on a connection arrives at a side: TCP keeps the order.
    arrives: BTreeMap<(ConnectionId, usize), Instant>,
    /// Ends that were closed.
    closed: HashSet<(ConnectionId, usize)>,
    /// The connection that a side's dial will become.
    dials: [Option<ConnectionId>; 2],
    log: [Vec<PeerAction>; 2],
}

enum Arrival {
    Event(PeerEvent),
    Dialed(ConnectionId),
}

impl Network {
    fn new(seed: u64, settings: [PeerSettings; 2]) -> Self {
        let [left, right] = settings;
        Self {
            now: Instant::ZERO,
            random: SplitMix64::new(seed),
            peers: [
                Peer::new(left, seed, false),
                Peer::new(right, seed + 1_000_000, false),
            ],
            queue: BinaryHeap::new(),
            events: BTreeMap::new(),
            next: 0,
            arrives: BTreeMap::new(),
            closed: HashSet::new(),
            dials: [None, None],
            log: [Vec::new(), Vec::new()],
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn delay(&mut self) -> Duration {
        Duration::from_micros(50) + self.random.up_to(Duration::from_millis(20))
    }

    fn schedule(&mut self, at: Instant, side: usize, arrival: Arrival) {
        let number = self.number();
        self.queue.push(Reverse((at, number)));
        self.events.insert(number, (side, arrival));
    }

    fn deliver(&mut self, connection: ConnectionId, side: usize, event: PeerEvent) {
        let at = self.now + self.delay();
        let at = at.max(self.arrives.get(&(connection, side)).copied().unwrap_or(at));
        self.arrives.insert((connection, side), at);
        self.schedule(at, side, Arrival::Event(event));
    }

    fn handle(&mut self, side: usize, event: PeerEvent) {
        let mut out = Outbox::new();
        self.peers[side].handle(self.now, event, &mut out);
        self.act(side, out);
    }

    fn act(&mut self, side: usize, mut out: Outbox<PeerAction>) {
        let actions: Vec<_> = out.drain().collect();
        for action in &actions {
            self.carry_out(side, action);
        }
        self.log[side].extend(actions);
    }

    fn carry_out(&mut self, side: usize, action: &PeerAction) {
        let other = 1 - side;
        match action {
            PeerAction::Dial => {
                let connection = ConnectionId(self.number());
                assert_eq!(self.dials[side].replace(connection), None, "two dials");
                let accepted = self.now + self.delay();
                let dialed = accepted + self.delay();
                self.arrives.insert((connection, other), accepted);
                self.arrives.insert((connection, side), dialed);
                let event = PeerEvent::Accepted {
                    connection,
                    local_address: LOCAL_ADDRESS,
                };
                self.schedule(accepted, other, Arrival::Event(event));
                self.schedule(dialed, side, Arrival::Dialed(connection));
            }
            PeerAction::CancelDial => {
                let connection = self.dials[side].take().expect("a dial runs");
                // Half of the time the cancellation comes too late.
                if self.random.up_to(Duration::from_nanos(1)).is_zero() {
                    self.close(side, connection);
                }
            }
            PeerAction::Send {
                connection, bytes, ..
            } => {
                let frame = bytes.clone();
                let connection = *connection;
                assert!(
                    !self.closed.contains(&(connection, side)),
                    "sent after close"
                );
                self.deliver(connection, other, PeerEvent::Frame { connection, frame });
            }
            PeerAction::Close { connection } => self.close(side, *connection),
            _ => {}
        }
    }

    fn close(&mut self, side: usize, connection: ConnectionId) {
        if self.closed.insert((connection, side)) {
            self.deliver(
                connection,
                1 - side,
                PeerEvent::Closed {
                    connection,
                    error: None,
                },
            );
        }
    }

    fn run_until(&mut self, end: Instant) {
        loop {
            let arrival = self.queue.peek().map(|Reverse((at, _))| *at);
            let deadlines = self.peers.iter().filter_map(Peer::next_deadline);
            let Some(next) = deadlines.chain(arrival).min().filter(|&next| next <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            if arrival.is_some_and(|arrival| arrival <= self.now) {
                let Reverse((_, number)) = self.queue.pop().expect("peeked");
                let (side, arrival) = self.events.remove(&number).expect("queued");
                self.arrive(side, arrival);
            } else {
                for side in [0, 1] {
                    let mut out = Outbox::new();
                    self.peers[side].handle_timeout(self.now, &mut out);
                    self.act(side, out);
                }
            }
        }
    }

    fn arrive(&mut self, side: usize, arrival: Arrival) {
        match arrival {
            Arrival::Dialed(connection) => {
                if self.closed.contains(&(connection, side)) {
                    return;
                }
                if self.dials[side] == Some(connection) {
                    self.dials[side] = None;
                }
                let event = PeerEvent::Dialed {
                    connection,
                    local_address: LOCAL_ADDRESS,
                };
                self.handle(side, event);
            }
            Arrival::Event(event) => {
                if let PeerEvent::Closed { connection, .. } = &event {
                    self.closed.insert((*connection, side));
                }
                self.handle(side, event);
            }
        }
    }

    fn sessions(&self) -> [Option<ConnectionId>; 2] {
        [0, 1].map(|side| {
            let established = self.peers[side].status().state == SessionState::Established;
            self.log[side].iter().rev().find_map(|action| match action {
                PeerAction::Up { connection, .. } if established => Some(*connection),
                _ => None,
            })
        })
    }
}

fn two(graceful: bool) -> [PeerSettings; 2] {
    let left = if graceful {
        graceful_settings()
    } else {
        settings()
    };
    let right = PeerSettings {
        local_asn: left.remote_asn,
        remote_asn: left.local_asn,
        router_id: router_id(2),
        ..left.clone()
    };
    [left, right]
}

#[test]
fn simultaneous_start_always_ends_in_one_session_and_loses_none() {
    for seed in 0..500 {
        let mut network = Network::new(seed, two(seed % 2 == 0));
        network.handle(0, PeerEvent::Start);
        if seed % 3 == 0 {
            // Within the spread of a deployment rather than in the same instant.
            let wait = network.random.up_to(Duration::from_millis(200));
            network.run_until(Instant::ZERO + wait);
        }
        network.handle(1, PeerEvent::Start);
        network.run_until(Instant::ZERO + seconds(3));
        let [left, right] = network.sessions();
        assert!(
            left.is_some() && left == right,
            "seed {seed}: {left:?} and {right:?}"
        );
        network.run_until(Instant::ZERO + seconds(300));
        for side in [0, 1] {
            let status = network.peers[side].status();
            assert_eq!(
                status.flaps,
                0,
                "seed {seed} side {side}: {:#?}",
                show(&network.log[side])
            );
        }
    }
}

#[test]
fn simultaneous_reset_comes_back() {
    for seed in 0..100 {
        let mut network = Network::new(seed, two(seed % 2 == 0));
        for side in [0, 1] {
            network.handle(side, PeerEvent::Start);
        }
        network.run_until(Instant::ZERO + seconds(3));
        for side in [0, 1] {
            network.handle(
                side,
                PeerEvent::Reset {
                    text: "both at once".to_owned(),
                },
            );
        }
        network.run_until(Instant::ZERO + seconds(6));
        let [left, right] = network.sessions();
        assert!(
            left.is_some() && left == right,
            "seed {seed}: {left:?} and {right:?}"
        );
        for side in [0, 1] {
            assert_eq!(network.peers[side].status().flaps, 1, "seed {seed}");
        }
    }
}

#[test]
fn both_hold_timers_at_once_are_one_loss() {
    // Case 41: nothing gets through for a while, so both give up in the same moment.
    let mut network = Network::new(7, two(false));
    for side in [0, 1] {
        network.handle(side, PeerEvent::Start);
    }
    network.run_until(Instant::ZERO + seconds(3));
    let resume = network.now + seconds(100);
    for side in [0, 1] {
        let mut out = Outbox::new();
        network.peers[side].handle_timeout(resume, &mut out);
        network.now = resume;
        network.act(side, out);
    }
    network.run_until(resume + seconds(15));
    let [left, right] = network.sessions();
    assert!(left.is_some() && left == right);
    for side in [0, 1] {
        assert_eq!(network.peers[side].status().flaps, 1);
    }
}
