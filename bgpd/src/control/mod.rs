//! The control loop: owns the configuration, computes this node's plan, and carries it out.
//!
//! ```text
//!   Apply, manifests ─▶ scopes ─▶ plan ─▶ peers (tasks), originations, kernel rules, overlay
//!   peers, dataplane ─▶ news ──▶ restart, announcements, watchers
//! ```
//!
//! One task; nothing here waits for a neighbour or for the kernel.

pub(crate) mod apply;
pub(crate) mod carry_out;
mod originations;
mod overlay;
mod peers;
mod policy;
mod restart;
mod view;

use std::sync::Arc;

use arc_swap::ArcSwap;
use bgp_core::rib::ShardSettings;
use bgp_wire::RouterId;
use cluster::plan::Plan;
use dataplane::{Dataplane, DataplaneEvent};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tracing::info;
use weft_proto::v1;

pub(crate) use originations::Progress;
pub(crate) use restart::EndOfRib;
pub(crate) use view::{PeerEntry, View};

use crate::bgp::listener::{Listener, Neighbours};
use crate::bgp::peer::PeerNews;
use crate::bgp::shard::Shards;
use crate::clock::Clock;
use crate::config::manifest_files::{ManifestFile, ManifestWatch};
use crate::config::scopes::Scopes;
use crate::config::state_dir::StateDir;
use crate::fib::FibInbox;
use crate::flags::Flags;
use crate::watch::{Key, WatchHub};
use apply::Reread;
use originations::{Kernel, Originations};
use peers::Peers;
use restart::Restart;

/// What others ask of the control loop.
enum Command {
    Apply(
        Box<v1::ApplyRequest>,
        oneshot::Sender<Result<v1::ApplyResponse, Status>>,
    ),
    ReadManifests,
}

/// The way to the control loop. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ControlHandle {
    /// At most [`COMMANDS`] wait; then the callers do.
    commands: mpsc::Sender<Command>,
}

impl ControlHandle {
    /// Hands a request over and waits for what became of it. The request is carried out even if nobody waits.
    pub(crate) async fn apply(
        &self,
        request: v1::ApplyRequest,
    ) -> Result<v1::ApplyResponse, Status> {
        let (answer, result) = oneshot::channel();
        let command = Command::Apply(Box::new(request), answer);
        self.commands.send(command).await.map_err(|_| ending())?;
        result.await.map_err(|_| ending())?
    }

    /// Reads the manifests again, as SIGHUP asks.
    pub(crate) async fn read_manifests(&self) {
        // The daemon is ending: nothing to read any more.
        let _ = self.commands.send(Command::ReadManifests).await;
    }
}

fn ending() -> Status {
    Status::unavailable("the daemon is ending")
}

/// What the daemon gives to its control loop.
pub(crate) struct Parts {
    pub(crate) flags: Flags,
    pub(crate) node: String,
    pub(crate) fallback_router_id: RouterId,
    pub(crate) clock: Clock,
    pub(crate) state_dir: StateDir,
    pub(crate) scopes: Scopes,
    pub(crate) shards: Shards,
    pub(crate) shard_settings: ShardSettings,
    pub(crate) dataplane: Option<Dataplane>,
    pub(crate) fib: Arc<FibInbox>,
    pub(crate) hub: Arc<WatchHub>,
    pub(crate) view: Arc<ArcSwap<View>>,
    pub(crate) restarting: bool,
}

pub(crate) struct Control {
    parts: Parts,
    plan: Plan,
    peers: Peers,
    originations: Originations,
    overlay: vxlan::Controller,
    listeners: Vec<Listener>,
    neighbours: Neighbours,
    restart: Restart,
    snapshot: Arc<cluster::Snapshot>,
    router_id: RouterId,
    findings: Vec<cluster::Finding>,
    /// What of the plan could not be carried out.
    trouble: Vec<v1::Condition>,
    /// What the manifests said when they were last read, or why they could not be.
    manifests: Option<Result<Vec<ManifestFile>, String>>,
    commands: mpsc::Receiver<Command>,
    news: mpsc::UnboundedReceiver<PeerNews>,
}

impl Control {
    /// The control loop and the way to it.
    pub(crate) fn new(parts: Parts) -> (Self, ControlHandle) {
        let (commands, command_queue) = mpsc::channel(COMMANDS);
        let (news, news_queue) = mpsc::unbounded_channel();
        let local = apply::local(&parts.node, parts.fallback_router_id, parts.flags.router_id);
        let kernel = if parts.dataplane.is_some() {
            Kernel::On
        } else {
            Kernel::Off
        };
        let control = Self {
            plan: Plan::idle(&local),
            peers: Peers::new(parts.clock, parts.shards.clone(), news, parts.restarting),
            originations: Originations::new(kernel),
            overlay: vxlan::Controller::default(),
            listeners: Vec::new(),
            neighbours: Neighbours::default(),
            restart: Restart::new(),
            snapshot: Arc::default(),
            router_id: parts.fallback_router_id,
            findings: Vec::new(),
            trouble: Vec::new(),
            manifests: None,
            commands: command_queue,
            news: news_queue,
            parts,
        };
        (control, ControlHandle { commands })
    }

    /// Carries out what the daemon found at its start, before anybody can ask for more.
    ///
    /// # Errors
    /// When BGP can't listen: at a start that is better said at once. An address of the node that the host does not have
    /// yet is waited for.
    pub(crate) async fn begin(&mut self, outcome: apply::Outcome) -> anyhow::Result<()> {
        self.carry_out(outcome, peers::Resets::Allowed).await;
        let is_given = self.parts.flags.bgp_address.is_some();
        let lasts =
            |trouble: &&v1::Condition| is_given || trouble.reason != carry_out::NO_SUCH_ADDRESS;
        match self.trouble.iter().find(lasts) {
            Some(trouble) => anyhow::bail!("{}", trouble.message),
            None => Ok(()),
        }
    }

    /// Runs until told to stop; then lets go of the neighbours so that they keep our routes.
    pub(crate) async fn run(
        mut self,
        mut kernel_events: mpsc::Receiver<DataplaneEvent>,
        mut manifests: Option<ManifestWatch>,
        stop: CancellationToken,
    ) {
        let mut listen_at = None;
        loop {
            self.check_restart().await;
            let now = self.parts.clock.now();
            let deadline = self
                .restart
                .next_deadline(now)
                .map(|at| self.parts.clock.deadline(at));
            if self.trouble.is_empty() {
                listen_at = None;
            } else {
                // Kept from turn to turn: a busy loop must not put it off.
                listen_at.get_or_insert_with(|| tokio::time::Instant::now() + LISTEN_AGAIN);
            }
            tokio::select! {
                () = stop.cancelled() => break,
                Some(command) = self.commands.recv() => self.command(command).await,
                Some(news) = self.news.recv() => self.hear(news),
                Some(event) = kernel_events.recv() => self.kernel(event).await,
                () = changed(manifests.as_mut()) => self.read_manifests(Reread::IfChanged).await,
                () = sleep_until(deadline) => {}
                () = sleep_until(listen_at) => {
                    listen_at = None;
                    self.listen_again();
                }
            }
        }
        self.parts.fib.close();
        self.peers.let_go().await;
    }

    async fn command(&mut self, command: Command) {
        match command {
            Command::Apply(request, answer) => {
                let result = match apply::check(&request, &self.parts.scopes) {
                    Ok(()) => Ok(self.apply(*request).await),
                    Err(status) => Err(status),
                };
                // Whoever asked may have gone; it is done all the same.
                let _ = answer.send(result);
            }
            Command::ReadManifests => self.read_manifests(Reread::Always).await,
        }
    }

    fn hear(&mut self, news: PeerNews) {
        let peer = match &news {
            PeerNews::State { peer }
            | PeerNews::Up { peer, .. }
            | PeerNews::EndOfRib { peer, .. }
            | PeerNews::Down { peer } => *peer,
        };
        match news {
            PeerNews::State { .. } => {}
            PeerNews::Up {
                peer,
                families,
                marker,
            } => {
                let now = self.parts.clock.now();
                self.restart.up(now, peer, &families, marker);
            }
            PeerNews::EndOfRib { peer, family } => self.restart.end_of_rib(peer, family),
            PeerNews::Down { peer } => self.restart.down(peer),
        }
        if let Some(address) = self.peers.address_of(peer) {
            self.parts.hub.mark([Key::Peer(address), Key::Status]);
        }
    }

    async fn kernel(&mut self, event: DataplaneEvent) {
        match event {
            DataplaneEvent::Route {
                prefix,
                class: dataplane::RouteClass::OwnBlock,
                result,
            } => {
                let steps = self
                    .originations
                    .kernel_answered(&prefix, result.map_err(|error| error.to_string()));
                self.announce(steps).await;
                self.publish();
                self.parts.hub.mark([Key::Block(prefix), Key::Status]);
            }
            DataplaneEvent::Route { prefix, .. } => self.parts.hub.mark([Key::Route(prefix)]),
            DataplaneEvent::Vtep { address, .. } => self.parts.hub.mark([Key::Vtep(address)]),
            _ => self.parts.hub.mark([Key::Status]),
        }
    }

    /// Ends the first moments of this daemon's life when the picture is complete.
    async fn check_restart(&mut self) {
        if !self.restart.completes(self.parts.clock.now()) {
            return;
        }
        info!(
            restarting = self.parts.restarting,
            "initial state is complete"
        );
        self.parts
            .shards
            .command_all(|| bgp_core::rib::RibEvent::EndDeferral);
        self.peers.restart_completed();
        if let Some(dataplane) = &self.parts.dataplane {
            dataplane.complete().await;
        }
        self.publish();
        self.parts.hub.mark([Key::Status]);
    }
}

async fn changed(watch: Option<&mut ManifestWatch>) {
    match watch {
        Some(watch) => watch.changed().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// An address that BGP could not listen on may come: the interface is set up, the other daemon ends.
const LISTEN_AGAIN: std::time::Duration = std::time::Duration::from_secs(5);

/// Requests that may wait for the control loop.
const COMMANDS: usize = 16;
