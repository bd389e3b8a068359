//! The threads that hold the RIB: each drives one [`Shard`] and nobody else ever touches it.
//!
//! ```text
//!   peers ──updates (bounded; full: the peer task stops reading its socket)──▶ ┌───────┐ ──frames──▶ connections
//!   peers, writers, API ──commands (small and few)───────────────────────────▶ │ shard │ ──FIB────▶ fib task
//!                                                                              └───────┘ ──marks──▶ watchers
//! ```
//!
//! A shard never waits: what it sends is bounded by credit, what it tells the FIB and the watchers is coalesced by
//! prefix.

use std::collections::HashMap;
use std::sync::Arc;

use bgp_core::rib::{FibChange, RibAction, RibEvent, Shard, ShardSettings};
use bgp_core::{Epoch, Outbox, PeerId};
use bgp_wire::Family;
use ipnet::IpNet;
use tokio::sync::{mpsc, oneshot};

use super::connection::{Lender, RouteFrame, RoutesLane};
use super::peer::PeerCommand;
use crate::clock::Clock;

/// Where a shard's results go.
pub(crate) trait ShardSink: Send + Sync + 'static {
    /// Best routes changed in a way that the kernel must follow.
    fn fib(&self, changes: Vec<FibChange>);
    /// These prefixes look different now.
    fn best_changed(&self, prefixes: Vec<IpNet>);
}

/// What can be asked of a shard beside routes.
enum Command {
    Event(RibEvent),
    /// A peer is up: its routes go to `lane`, its news to `peer`.
    Attach {
        event: RibEvent,
        peer: PeerId,
        attachment: Attachment,
    },
    Query(Box<dyn FnOnce(&Shard) + Send>),
}

struct Attachment {
    epoch: Epoch,
    lane: RoutesLane,
    news: mpsc::UnboundedSender<PeerCommand>,
}

/// All shards, as seen by everybody else. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Shards {
    senders: Arc<[ShardSender]>,
}

struct ShardSender {
    /// From peers: at most [`UPDATES_IN_FLIGHT`]; a sender waits when it is full.
    updates: mpsc::Sender<Command>,
    /// Credit, queries, changes of configuration: few, and never behind a table.
    commands: mpsc::UnboundedSender<Command>,
}

impl Shards {
    /// Starts `count` threads (at least one).
    ///
    /// # Errors
    /// When the system has no thread left.
    pub(crate) fn start(
        count: u8,
        settings: &ShardSettings,
        deferring: bool,
        clock: Clock,
        sink: &Arc<impl ShardSink>,
    ) -> std::io::Result<Self> {
        let senders = (0..count.max(1))
            .map(|index| {
                let (updates, update_queue) = mpsc::channel(UPDATES_IN_FLIGHT);
                let (commands, command_queue) = mpsc::unbounded_channel();
                let worker = Worker {
                    index,
                    clock,
                    shard: Shard::new(settings.clone(), deferring),
                    sink: Arc::clone(sink),
                    attached: HashMap::new(),
                    outbox: Outbox::new(),
                };
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_time()
                    .build()?;
                std::thread::Builder::new()
                    .name(format!("rib-{index}"))
                    .spawn(move || runtime.block_on(worker.run(update_queue, command_queue)))?;
                Ok(ShardSender { updates, commands })
            })
            .collect::<std::io::Result<Vec<_>>>()?;
        Ok(Self {
            senders: senders.into(),
        })
    }

    /// Number of shards.
    pub(crate) fn count(&self) -> usize {
        self.senders.len()
    }

    /// The shard that holds a prefix.
    pub(crate) fn index_of(&self, prefix: &IpNet) -> usize {
        shard_of(prefix, self.senders.len())
    }

    /// Waits for room in one shard's queue of updates. Dropping the future loses nothing.
    ///
    /// `None` when the daemon is ending.
    pub(crate) async fn reserve(&self, shard: usize) -> Option<UpdatePermit<'_>> {
        let permit = self.senders.get(shard)?.updates.reserve().await.ok()?;
        Some(UpdatePermit { permit })
    }

    /// Hands an event to one shard ahead of waiting routes; never waits.
    pub(crate) fn command(&self, shard: usize, event: RibEvent) {
        if let Some(sender) = self.senders.get(shard) {
            let _ = sender.commands.send(Command::Event(event));
        }
    }

    /// Hands the same event to all shards.
    pub(crate) fn command_all(&self, event: impl Fn() -> RibEvent) {
        for shard in 0..self.senders.len() {
            self.command(shard, event());
        }
    }

    /// Runs a bounded question on one shard and brings back the answer; `None` when the daemon is ending.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        shard: usize,
        question: impl FnOnce(&Shard) -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, result) = oneshot::channel();
        let query = Command::Query(Box::new(move |shard| {
            // Whoever asked may have gone.
            let _ = answer.send(question(shard));
        }));
        self.senders.get(shard)?.commands.send(query).ok()?;
        result.await.ok()
    }

    /// Asks every shard the same question, one after the other.
    pub(crate) async fn ask_all<T: Send + 'static>(
        &self,
        question: impl Fn(&Shard) -> T + Clone + Send + 'static,
    ) -> Vec<T> {
        let mut answers = Vec::with_capacity(self.senders.len());
        for shard in 0..self.senders.len() {
            answers.extend(self.ask(shard, question.clone()).await);
        }
        answers
    }
}

/// Room for one event in a shard's queue of updates.
pub(crate) struct UpdatePermit<'a> {
    permit: mpsc::Permit<'a, Command>,
}

impl UpdatePermit<'_> {
    /// Fills the room.
    pub(crate) fn send(self, update: Update) {
        self.permit.send(match update {
            Update::Event(event) => Command::Event(event),
            Update::Attach {
                event,
                peer,
                epoch,
                lane,
                news,
            } => Command::Attach {
                event,
                peer,
                attachment: Attachment { epoch, lane, news },
            },
        });
    }
}

/// What a peer hands to a shard, in order.
pub(crate) enum Update {
    /// Routes, or the end of a session.
    Event(RibEvent),
    /// The event that brings a peer up: its routes go to `lane`, its news to `news`.
    Attach {
        event: RibEvent,
        peer: PeerId,
        epoch: Epoch,
        lane: RoutesLane,
        news: mpsc::UnboundedSender<PeerCommand>,
    },
}

/// The prefix's home: a fixed hash, so that a prefix never moves.
fn shard_of(prefix: &IpNet, count: usize) -> usize {
    if count <= 1 {
        return 0;
    }
    let bits = match prefix {
        IpNet::V4(prefix) => u64::from(prefix.network().to_bits()),
        IpNet::V6(prefix) => {
            let bits = prefix.network().to_bits();
            (bits >> 64) as u64 ^ bits as u64
        }
    };
    // Fibonacci hashing: the high half of the product depends on every bit.
    let hash = (bits ^ u64::from(prefix.prefix_len())).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (hash as usize) % count
}

struct Worker<S> {
    index: u8,
    clock: Clock,
    shard: Shard,
    sink: Arc<S>,
    attached: HashMap<PeerId, Attachment>,
    outbox: Outbox<RibAction>,
}

impl<S: ShardSink> Worker<S> {
    async fn run(
        mut self,
        mut updates: mpsc::Receiver<Command>,
        mut commands: mpsc::UnboundedReceiver<Command>,
    ) {
        let mut batch = Vec::with_capacity(BATCH);
        let mut update_batch = Vec::with_capacity(BATCH);
        loop {
            let deadline = self.shard.next_deadline();
            let timer = async {
                match deadline {
                    Some(deadline) if deadline > self.clock.now() => {
                        tokio::time::sleep_until(self.clock.deadline(deadline)).await;
                    }
                    // Work waits: look at the queues once, then go on with it.
                    Some(_) => tokio::task::yield_now().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                count = commands.recv_many(&mut batch, BATCH) => if count == 0 { return },
                count = updates.recv_many(&mut update_batch, BATCH) => if count == 0 { return },
                () = timer => {}
            }
            for command in batch.drain(..).chain(update_batch.drain(..)) {
                self.execute(command);
            }
            let now = self.clock.now();
            if self
                .shard
                .next_deadline()
                .is_some_and(|deadline| deadline <= now)
            {
                self.shard.handle_timeout(now, &mut self.outbox);
                self.act();
            }
        }
    }

    fn execute(&mut self, command: Command) {
        let event = match command {
            Command::Event(event) => event,
            Command::Attach {
                event,
                peer,
                attachment,
            } => {
                self.attached.insert(peer, attachment);
                event
            }
            Command::Query(question) => return question(&self.shard),
        };
        if let RibEvent::PeerDown { peer, .. } | RibEvent::RemovePeer { peer } = &event {
            self.attached.remove(peer);
        }
        self.shard.handle(self.clock.now(), event, &mut self.outbox);
        self.act();
    }

    fn act(&mut self) {
        let Self {
            index,
            outbox,
            attached,
            sink,
            ..
        } = self;
        for action in outbox.drain() {
            match action {
                RibAction::Send {
                    peers,
                    frame,
                    messages,
                } => {
                    for peer in peers.iter() {
                        if let Some(attachment) = attached.get(&peer) {
                            let lender = Lender {
                                shard: *index,
                                epoch: attachment.epoch,
                            };
                            attachment.lane.send(RouteFrame {
                                lender: Some(lender),
                                bytes: frame.clone(),
                                messages,
                            });
                        }
                    }
                }
                RibAction::InitialRoutesSent {
                    peer,
                    epoch,
                    family,
                } => {
                    tell(attached, peer, epoch, family);
                }
                RibAction::Fib(changes) => sink.fib(changes),
                RibAction::BestChanged(prefixes) => sink.best_changed(prefixes),
            }
        }
    }
}

fn tell(attached: &HashMap<PeerId, Attachment>, peer: PeerId, epoch: Epoch, family: Family) {
    if let Some(attachment) = attached.get(&peer) {
        // The peer task may have ended meanwhile.
        let _ = attachment
            .news
            .send(PeerCommand::InitialRoutesSent { epoch, family });
    }
}

/// Updates of all peers that may wait for one shard: enough to keep it busy, little enough to stay in the cache.
const UPDATES_IN_FLIGHT: usize = 256;

/// Commands taken from a queue before the shard looks at its deadlines again.
const BATCH: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shard_gets_its_share() {
        let mut counts = [0_usize; 4];
        for block in 0_u32..4096 {
            let network = std::net::Ipv4Addr::from_bits(0x0af4_0000 + (block << 6));
            let prefix = IpNet::V4(ipnet::Ipv4Net::new(network, 26).unwrap());
            counts[shard_of(&prefix, 4)] += 1;
        }
        assert!(
            counts.iter().all(|count| (900..1200).contains(count)),
            "{counts:?}"
        );
    }
}
