//! One neighbour's task: drives its [`Peer`], owns its connections, feeds its routes to the shards.
//!
//! Order of attention: commands and timers first, then routes that wait for a shard, then what the neighbour sends.
//! While routes wait for a shard nothing more is read from the neighbour, but keepalives still go out in time.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use bgp_core::rib::RibEvent;
use bgp_core::session::{
    Lane, Negotiated, Peer, PeerAction, PeerEvent, PeerStatus, SessionState, StopReason,
};
use bgp_core::{ConnectionId, Epoch, Outbox, PeerId};
use bgp_wire::{Capability, Family, RefreshSubtype, UpdateMessage};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tracing::{debug, info, warn};

use super::connection::{Connection, Inbound, Lender, SendObserver};
use super::peer_config::{PeerConfig, rib_peer};
use super::shard::{Shards, Update};
use super::socket;
use crate::clock::Clock;
use crate::control::EndOfRib;

/// What a peer task is asked to do.
///
/// The queue is unbounded in type: commands come from the control loop, the listener and (once per session, family and
/// shard) from the shards.
pub(crate) enum PeerCommand {
    /// Anything for the state machine that needs nothing of the task itself.
    Session(PeerEvent),
    /// New settings; the state machine decides what they cost.
    Configure(Box<PeerConfig>),
    /// The neighbour dialled.
    Accepted(TcpStream),
    /// Our own dialling ended.
    Dialled {
        attempt: u64,
        result: io::Result<TcpStream>,
    },
    /// A shard handed out all initial routes of a family.
    InitialRoutesSent { epoch: Epoch, family: Family },
    /// Messages with routes are in the socket's buffer.
    Sent {
        connection: ConnectionId,
        messages: u64,
    },
    /// Say how things stand.
    Report(oneshot::Sender<PeerReport>),
    /// Stop for the given reason; the task ends when everything is told to the shards.
    End(StopReason),
}

/// How a peer stands.
#[derive(Clone, Debug)]
pub(crate) struct PeerReport {
    pub(crate) status: PeerStatus,
    pub(crate) local_address: Option<IpAddr>,
    /// Families whose initial routes are all in, and all out, in the present session.
    pub(crate) end_of_rib_received: Vec<Family>,
    pub(crate) end_of_rib_sent: Vec<Family>,
}

/// What the control loop hears from peers.
#[derive(Clone, Debug)]
pub(crate) enum PeerNews {
    /// The session's state changed.
    State { peer: PeerId },
    /// Established.
    Up {
        peer: PeerId,
        families: Vec<Family>,
        marker: EndOfRib,
    },
    /// The neighbour sent all it had.
    EndOfRib { peer: PeerId, family: Family },
    /// No longer Established.
    Down { peer: PeerId },
}

/// The control loop's end of a peer task.
#[derive(Clone, Debug)]
pub(crate) struct PeerHandle {
    commands: mpsc::UnboundedSender<PeerCommand>,
}

impl PeerHandle {
    /// Starts a peer's task. It dials or listens once it is told to start.
    pub(crate) fn spawn(context: PeerContext, config: PeerConfig, restarting: bool) -> Self {
        let (commands, command_queue) = mpsc::unbounded_channel();
        let (inbound, inbound_queue) = mpsc::channel(INBOUND_BATCHES);
        let seed = context.seed;
        let task = PeerTask {
            session: Peer::new(config.session.clone(), seed, restarting),
            config,
            outbox: Outbox::new(),
            connections: HashMap::new(),
            next_connection: 0,
            inbound,
            commands: commands.clone(),
            dialling: None,
            attempts: 0,
            backlog: VecDeque::new(),
            initial: HashMap::new(),
            local_address: None,
            end_of_rib_received: Vec::new(),
            end_of_rib_sent: Vec::new(),
            established: None,
            ending: false,
            context,
        };
        tokio::spawn(task.run(command_queue, inbound_queue));
        Self { commands }
    }

    /// Hands a command over; a task that has ended swallows it.
    pub(crate) fn send(&self, command: PeerCommand) {
        let _ = self.commands.send(command);
    }

    /// Waits until the task has ended.
    pub(crate) async fn ended(&self) {
        self.commands.closed().await;
    }

    /// How the peer stands; `None` when its task has ended.
    pub(crate) async fn report(&self) -> Option<PeerReport> {
        let (answer, result) = oneshot::channel();
        self.send(PeerCommand::Report(answer));
        result.await.ok()
    }
}

/// What all peer tasks share, and who this one is.
#[derive(Clone)]
pub(crate) struct PeerContext {
    pub(crate) id: PeerId,
    pub(crate) name: Arc<str>,
    pub(crate) clock: Clock,
    pub(crate) shards: Shards,
    /// Unbounded in type: a few messages per session and state.
    pub(crate) news: mpsc::UnboundedSender<PeerNews>,
    /// For jitter.
    pub(crate) seed: u64,
}

struct PeerTask {
    context: PeerContext,
    config: PeerConfig,
    session: Peer,
    outbox: Outbox<PeerAction>,
    connections: HashMap<ConnectionId, Connection>,
    next_connection: u64,
    inbound: mpsc::Sender<Inbound>,
    commands: mpsc::UnboundedSender<PeerCommand>,
    dialling: Option<AbortHandle>,
    attempts: u64,
    /// Routes that wait for room in a shard, in order. Bounded: nothing is read while it is not empty.
    backlog: VecDeque<(usize, Update)>,
    /// Shards that still hand out initial routes, per family of the present epoch.
    initial: HashMap<(Epoch, Family), usize>,
    local_address: Option<IpAddr>,
    end_of_rib_received: Vec<Family>,
    end_of_rib_sent: Vec<Family>,
    /// The connection that carries the present session.
    established: Option<(ConnectionId, Epoch)>,
    ending: bool,
}

impl PeerTask {
    async fn run(
        mut self,
        mut commands: mpsc::UnboundedReceiver<PeerCommand>,
        mut inbound: mpsc::Receiver<Inbound>,
    ) {
        let shards = self.context.shards.clone();
        while !(self.ending && self.backlog.is_empty()) {
            let deadline = self
                .session
                .next_deadline()
                .map(|at| self.context.clock.deadline(at));
            let waiting = self.backlog.front().map(|(shard, _)| *shard);
            tokio::select! {
                biased;
                Some(command) = commands.recv(), if !self.ending => self.command(command),
                () = sleep_until(deadline), if deadline.is_some() => {
                    self.session.handle_timeout(self.context.clock.now(), &mut self.outbox);
                    self.act();
                }
                permit = shards.reserve(waiting.unwrap_or(0)), if waiting.is_some() => {
                    if let (Some(permit), Some((_, update))) = (permit, self.backlog.pop_front()) {
                        permit.send(update);
                    }
                }
                Some(message) = inbound.recv(), if waiting.is_none() => self.receive(message),
            }
        }
    }

    fn command(&mut self, command: PeerCommand) {
        match command {
            PeerCommand::Session(event) => self.drive(event),
            PeerCommand::Configure(config) => self.configure(*config),
            PeerCommand::Accepted(stream) => {
                match socket::prepare(&stream).and_then(|()| self.connect(stream)) {
                    Ok((connection, local_address)) => {
                        self.drive(PeerEvent::Accepted {
                            connection,
                            local_address,
                        });
                    }
                    Err(error) => {
                        debug!(peer = %self.context.name, %error, "incoming connection is gone already")
                    }
                }
            }
            PeerCommand::Dialled { attempt, result }
                if attempt == self.attempts && self.dialling.is_some() =>
            {
                self.dialling = None;
                match result.and_then(|stream| self.connect(stream)) {
                    Ok((connection, local_address)) => {
                        self.drive(PeerEvent::Dialed {
                            connection,
                            local_address,
                        });
                    }
                    Err(error) => self.drive(PeerEvent::DialFailed {
                        error: error.to_string(),
                    }),
                }
            }
            // Cancelled meanwhile: the stream closes as it is dropped.
            PeerCommand::Dialled { .. } => {}
            PeerCommand::InitialRoutesSent { epoch, family } => {
                self.initial_routes_sent(epoch, family)
            }
            PeerCommand::Sent {
                connection,
                messages,
            } => {
                if let Some((current, epoch)) = self.established
                    && current == connection
                {
                    self.drive(PeerEvent::UpdatesSent { epoch, messages });
                }
            }
            PeerCommand::Report(answer) => {
                // Whoever asked may have gone.
                let _ = answer.send(PeerReport {
                    status: self.session.status(),
                    local_address: self.local_address,
                    end_of_rib_received: self.end_of_rib_received.clone(),
                    end_of_rib_sent: self.end_of_rib_sent.clone(),
                });
            }
            PeerCommand::End(reason) => {
                self.drive(PeerEvent::Stop(reason));
                self.push_all(|peer| RibEvent::RemovePeer { peer });
                self.ending = true;
            }
        }
    }

    fn configure(&mut self, config: PeerConfig) {
        let old = std::mem::replace(&mut self.config, config);
        self.drive(PeerEvent::Configure(self.config.session.clone()));
        let moved = old.remote != self.config.remote || old.source != self.config.source;
        if moved {
            // A socket keeps its ends for life: only another one has the new ones.
            let text = "address of the session changed".to_owned();
            if self.dialling.is_some() {
                self.cancel_dialling();
                self.drive(PeerEvent::DialFailed {
                    error: text.clone(),
                });
            }
            self.drive(PeerEvent::Reset { text });
        }
        let status = self.session.status();
        if let (Some(negotiated), Some(local_address), SessionState::Established) =
            (&status.negotiated, self.local_address, status.state)
        {
            let settings = Arc::new(rib_peer(&self.config, local_address, negotiated));
            self.push_all(|peer| RibEvent::PeerSettings {
                peer,
                settings: Arc::clone(&settings),
            });
        }
    }

    fn receive(&mut self, message: Inbound) {
        match message {
            Inbound::Frames { connection, frames } => {
                for frame in frames {
                    self.drive(PeerEvent::Frame { connection, frame });
                }
            }
            Inbound::Malformed {
                connection,
                notification,
            } => {
                self.drive(PeerEvent::Malformed {
                    connection,
                    notification,
                });
            }
            Inbound::Closed { connection, error } => {
                self.connections.remove(&connection);
                self.drive(PeerEvent::Closed { connection, error });
            }
        }
    }

    fn drive(&mut self, event: PeerEvent) {
        self.session
            .handle(self.context.clock.now(), event, &mut self.outbox);
        self.act();
    }

    /// Carries out what the state machine wants. Nothing here calls back into it.
    fn act(&mut self) {
        let mut actions = std::mem::take(&mut self.outbox);
        for action in actions.drain() {
            self.carry_out(action);
        }
        self.outbox = actions;
    }

    fn carry_out(&mut self, action: PeerAction) {
        let id = self.context.id;
        match action {
            PeerAction::Dial => self.dial(),
            PeerAction::CancelDial => self.cancel_dialling(),
            PeerAction::Send {
                connection,
                bytes,
                lane,
            } => {
                if let Some(connection) = self.connections.get(&connection) {
                    match lane {
                        Lane::Control => connection.send_control(bytes),
                        Lane::Routes => connection.send_behind_routes(bytes),
                    }
                }
            }
            PeerAction::Close { connection } => {
                if let Some(connection) = self.connections.remove(&connection) {
                    connection.close();
                }
            }
            PeerAction::AllowExtended { connection } => {
                if let Some(connection) = self.connections.get(&connection) {
                    connection.allow_extended();
                }
            }
            PeerAction::Up {
                epoch,
                connection,
                local_address,
                negotiated,
            } => {
                self.up(epoch, connection, local_address, &negotiated);
            }
            PeerAction::Update { epoch, update } => self.update(epoch, update),
            PeerAction::EndOfRib { epoch, family } => {
                self.push_all(|peer| RibEvent::EndOfRib {
                    peer,
                    epoch,
                    family,
                });
                self.end_of_rib_received.push(family);
                self.tell(PeerNews::EndOfRib { peer: id, family });
            }
            PeerAction::Refresh {
                epoch,
                family,
                subtype,
            } => self.refresh(epoch, family, subtype),
            PeerAction::Down {
                epoch,
                reason,
                keep,
            } => {
                warn!(peer = %self.context.name, %reason, "session down");
                self.local_address = None;
                self.established = None;
                self.end_of_rib_received.clear();
                self.end_of_rib_sent.clear();
                self.initial.clear();
                self.push_all(|peer| RibEvent::PeerDown {
                    peer,
                    epoch,
                    keep: keep.clone(),
                });
                self.tell(PeerNews::Down { peer: id });
            }
            PeerAction::FlushStale { families } => {
                self.push_all(|peer| RibEvent::FlushStale {
                    peer,
                    families: families.clone(),
                });
            }
            PeerAction::StateChanged { from, to } => {
                debug!(peer = %self.context.name, %from, %to, "session state");
                self.tell(PeerNews::State { peer: id });
            }
        }
    }

    fn up(
        &mut self,
        epoch: Epoch,
        connection: ConnectionId,
        local_address: IpAddr,
        negotiated: &Negotiated,
    ) {
        let Some(lane) = self
            .connections
            .get(&connection)
            .map(Connection::routes_lane)
        else {
            // Its end waits in our queue already and will take the session down.
            return;
        };
        info!(
            peer = %self.context.name,
            address = %self.config.remote.ip(),
            asn = %self.config.session.remote_asn,
            router_id = %negotiated.remote_router_id,
            "session up"
        );
        self.local_address = Some(local_address);
        self.established = Some((connection, epoch));
        let settings = Arc::new(rib_peer(&self.config, local_address, negotiated));
        let shards = self.context.shards.count();
        self.initial = negotiated
            .families
            .iter()
            .map(|family| ((epoch, *family), shards))
            .collect();
        let peer = self.context.id;
        for shard in 0..shards {
            let event = RibEvent::PeerUp {
                peer,
                epoch,
                settings: Arc::clone(&settings),
            };
            let (lane, news) = (lane.clone(), self.commands.clone());
            self.backlog.push_back((
                shard,
                Update::Attach {
                    event,
                    peer,
                    epoch,
                    lane,
                    news,
                },
            ));
        }
        let takes_part = negotiated
            .remote_capabilities
            .iter()
            .any(|capability| matches!(capability, Capability::GracefulRestart { .. }));
        let marker = match &negotiated.graceful_restart {
            Some(restart) if restart.restarting => EndOfRib::AfterOurs,
            _ if takes_part => EndOfRib::Promised,
            _ => EndOfRib::NotPromised,
        };
        self.tell(PeerNews::Up {
            peer,
            families: negotiated.families.clone(),
            marker,
        });
    }

    fn update(&mut self, epoch: Epoch, update: UpdateMessage) {
        for fault in &update.faults {
            warn!(peer = %self.context.name, %fault, "malformed attribute");
        }
        let peer = self.context.id;
        let shards = self.context.shards.clone();
        for (shard, update) in
            super::split::by_shard(update, shards.count(), |prefix| shards.index_of(prefix))
        {
            self.backlog.push_back((
                shard,
                Update::Event(RibEvent::Update {
                    peer,
                    epoch,
                    update,
                }),
            ));
        }
    }

    fn refresh(&mut self, epoch: Epoch, family: Family, subtype: RefreshSubtype) {
        self.push_all(|peer| RibEvent::Refresh {
            peer,
            epoch,
            family,
            subtype,
        });
    }

    fn initial_routes_sent(&mut self, epoch: Epoch, family: Family) {
        let Some(left) = self.initial.get_mut(&(epoch, family)) else {
            // Of an earlier life of the session.
            return;
        };
        *left -= 1;
        if *left == 0 {
            self.initial.remove(&(epoch, family));
            self.end_of_rib_sent.push(family);
            self.drive(PeerEvent::InitialRoutesSent { epoch, family });
        }
    }

    fn dial(&mut self) {
        self.cancel_dialling();
        self.attempts += 1;
        let (attempt, remote, source) = (self.attempts, self.config.remote, self.config.source);
        let commands = self.commands.clone();
        let task = tokio::spawn(async move {
            let result = socket::dial(remote, source).await;
            let _ = commands.send(PeerCommand::Dialled { attempt, result });
        });
        self.dialling = Some(task.abort_handle());
    }

    fn cancel_dialling(&mut self) {
        if let Some(task) = self.dialling.take() {
            task.abort();
        }
    }

    fn connect(&mut self, stream: TcpStream) -> io::Result<(ConnectionId, IpAddr)> {
        let local_address = stream.local_addr()?.ip();
        self.next_connection += 1;
        let id = ConnectionId(self.next_connection);
        let observer = Observer {
            shards: self.context.shards.clone(),
            peer: self.context.id,
            commands: self.commands.clone(),
        };
        self.connections.insert(
            id,
            Connection::start(id, stream, self.inbound.clone(), observer),
        );
        Ok((id, local_address))
    }

    /// Queues one event for every shard.
    fn push_all(&mut self, event: impl Fn(PeerId) -> RibEvent) {
        for shard in 0..self.context.shards.count() {
            self.backlog
                .push_back((shard, Update::Event(event(self.context.id))));
        }
    }

    fn tell(&self, news: PeerNews) {
        // The control loop ends last; if it has, nobody wants to know.
        let _ = self.context.news.send(news);
    }
}

impl Drop for PeerTask {
    fn drop(&mut self) {
        self.cancel_dialling();
    }
}

/// Carries what a writer sees to those who wait for it.
struct Observer {
    shards: Shards,
    peer: PeerId,
    commands: mpsc::UnboundedSender<PeerCommand>,
}

impl SendObserver for Observer {
    fn credit(&self, lender: Lender, bytes: usize) {
        self.shards.command(
            usize::from(lender.shard),
            RibEvent::Sent {
                peer: self.peer,
                epoch: lender.epoch,
                bytes,
            },
        );
    }

    fn sent(&self, connection: ConnectionId, messages: u64) {
        let _ = self.commands.send(PeerCommand::Sent {
            connection,
            messages,
        });
    }

    fn stalled(&self, connection: ConnectionId) {
        let _ = self
            .commands
            .send(PeerCommand::Session(PeerEvent::SendPending { connection }));
    }

    fn resumed(&self, connection: ConnectionId) {
        let _ = self
            .commands
            .send(PeerCommand::Session(PeerEvent::SendProgress { connection }));
    }
}

async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Reads that may wait for the peer task: 16 of up to 64 KiB.
const INBOUND_BATCHES: usize = 16;
