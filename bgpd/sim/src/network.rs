//! Links and the TCP connections over them: ordered, delayed, and breakable.
//!
//! What is sent arrives in order or not at all. A link that is down holds back what would arrive, as TCP's
//! retransmission does, until it is up again or the connection is given up.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bgp_core::{ConnectionId, Epoch, Instant};
use bgp_wire::Framer;
use bytes::Bytes;

use crate::random::Random;
use crate::topology::SpeakerId;

/// What arrives at one end of a connection.
#[derive(Debug)]
pub(crate) enum Item {
    /// SYN, at the side that was dialled.
    Syn,
    /// The answer to it.
    Connected,
    /// Nobody listens.
    Refused,
    Data {
        bytes: Bytes,
        /// The life of the sender's session whose window the bytes count against.
        credit: Option<Epoch>,
    },
    /// The other end is gone.
    Closed { error: Option<&'static str> },
}

/// Which end of a connection: the dialler's is 0.
pub(crate) type Side = usize;

#[derive(Debug)]
pub(crate) struct End {
    pub(crate) speaker: SpeakerId,
    /// The speaker holds it, and may send.
    pub(crate) open: bool,
    pub(crate) framer: Framer,
    inbox: VecDeque<Item>,
    /// Nothing may arrive before this.
    arrives: Instant,
    /// Arrivals that the link held back.
    held: usize,
    /// The sender was told that the link takes nothing.
    pub(crate) stuck: bool,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) link: usize,
    pub(crate) ends: [End; 2],
}

#[derive(Copy, Clone, Debug)]
struct LinkState {
    up: bool,
    latency: Duration,
}

/// All links and connections.
#[derive(Debug)]
pub(crate) struct Network {
    links: Vec<LinkState>,
    connections: BTreeMap<ConnectionId, Connection>,
    last: u64,
    random: Random,
}

/// When something arrives, and at which end of which connection.
pub(crate) type Arrival = (Instant, ConnectionId, Side);

impl Network {
    /// Links that are up, each with a latency of its own between 0.1 and 40 ms.
    pub(crate) fn new(links: usize, mut random: Random) -> Self {
        let mut latency = || Duration::from_micros(100) + random.up_to(Duration::from_millis(40));
        let links = (0..links)
            .map(|_| LinkState {
                up: true,
                latency: latency(),
            })
            .collect();
        Self {
            links,
            connections: BTreeMap::new(),
            last: 0,
            random,
        }
    }

    pub(crate) fn is_up(&self, link: usize) -> bool {
        self.links[link].up
    }

    pub(crate) fn cut(&mut self, link: usize) {
        self.links[link].up = false;
    }

    /// Lets a link carry again. Returns what arrives now and when, and the ends whose senders were stuck.
    pub(crate) fn heal(
        &mut self,
        now: Instant,
        link: usize,
    ) -> (Vec<Arrival>, Vec<(ConnectionId, Side)>) {
        let state = &mut self.links[link];
        state.up = true;
        let at = now + state.latency;
        let (mut arrivals, mut freed) = (Vec::new(), Vec::new());
        for (id, connection) in &mut self.connections {
            if connection.link != link {
                continue;
            }
            for (side, end) in connection.ends.iter_mut().enumerate() {
                arrivals.extend((0..std::mem::take(&mut end.held)).map(|_| (at, *id, side)));
                if std::mem::take(&mut end.stuck) {
                    freed.push((*id, side));
                }
            }
        }
        (arrivals, freed)
    }

    /// A connection that `from` dials; only its own end is open yet.
    pub(crate) fn dial(&mut self, link: usize, from: SpeakerId, to: SpeakerId) -> ConnectionId {
        self.last += 1;
        let id = ConnectionId(self.last);
        let end = |speaker, open| End {
            speaker,
            open,
            framer: Framer::new(),
            inbox: VecDeque::new(),
            arrives: Instant::ZERO,
            held: 0,
            stuck: false,
        };
        let ends = [end(from, true), end(to, false)];
        self.connections.insert(id, Connection { link, ends });
        id
    }

    pub(crate) fn connection(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections.get_mut(&id)
    }

    /// The connections with an open end at `speaker`, with that end's side.
    pub(crate) fn open_at(&self, speaker: SpeakerId) -> Vec<(ConnectionId, Side)> {
        self.open_ends(|connection, side| connection.ends[side].speaker == speaker)
    }

    /// The open ends on a link.
    pub(crate) fn open_on(&self, link: usize) -> Vec<(ConnectionId, Side)> {
        self.open_ends(|connection, _| connection.link == link)
    }

    fn open_ends(&self, wanted: impl Fn(&Connection, Side) -> bool) -> Vec<(ConnectionId, Side)> {
        self.connections
            .iter()
            .flat_map(|(id, connection)| [0, 1].map(|side| (*id, connection, side)))
            .filter(|(_, connection, side)| {
                connection.ends[*side].open && wanted(connection, *side)
            })
            .map(|(id, _, side)| (id, side))
            .collect()
    }

    /// Sends to `side`; returns when it arrives, if nothing comes between.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        id: ConnectionId,
        side: Side,
        item: Item,
    ) -> Option<Instant> {
        let connection = self.connections.get_mut(&id)?;
        let latency = self.links[connection.link].latency;
        let jitter = self.random.up_to(latency / 4);
        let end = &mut connection.ends[side];
        end.arrives = end.arrives.max(now + latency + jitter);
        end.inbox.push_back(item);
        Some(end.arrives)
    }

    /// Takes out what arrives at a side; `None` while the link holds it back.
    pub(crate) fn receive(&mut self, id: ConnectionId, side: Side) -> Option<Item> {
        let connection = self.connections.get_mut(&id)?;
        let end = &mut connection.ends[side];
        if self.links[connection.link].up {
            end.inbox.pop_front()
        } else {
            end.held += 1;
            None
        }
    }

    /// Forgets a connection that both ends have let go, with nothing on its way.
    pub(crate) fn forget_if_over(&mut self, id: ConnectionId) {
        if self.connections.get(&id).is_some_and(|connection| {
            connection
                .ends
                .iter()
                .all(|end| !end.open && end.inbox.is_empty())
        }) {
            self.connections.remove(&id);
        }
    }

    /// True when nothing but KEEPALIVEs is on its way over usable links.
    pub(crate) fn is_quiet(&self, usable: impl Fn(usize) -> bool) -> bool {
        let mut connections = self.connections.values();
        connections.all(|connection| {
            let mut items = connection.ends.iter().flat_map(|end| &end.inbox);
            !usable(connection.link)
                || items.all(|item| matches!(item, Item::Data { bytes, .. } if is_keepalive(bytes)))
        })
    }
}

/// RFC 4271 section 4.4: the type octet follows marker and length.
fn is_keepalive(bytes: &[u8]) -> bool {
    bytes.len() == 19 && bytes[18] == 4
}
