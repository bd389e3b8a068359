//! From the command line to a running daemon, and back to an orderly end.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use arc_swap::ArcSwap;
use bgp_core::rib::FibChange;
use bgp_wire::RouterId;
use cluster::Snapshot;
use dataplane::{Backend, Dataplane, DataplaneEvent};
use ipnet::IpNet;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};
use weft_proto::v1;

use crate::api::{self, Api};
use crate::bgp::shard::{ShardSink, Shards};
use crate::clock::Clock;
use crate::config::manifest_files::{self, ManifestWatch};
use crate::config::scopes::{FILE_SCOPE, Scopes};
use crate::config::state_dir::StateDir;
use crate::control::apply::{self, Examined, Outcome};
use crate::control::{Control, ControlHandle, Parts, View, carry_out};
use crate::fib::{self, FibInbox};
use crate::flags::Flags;
use crate::metrics;
use crate::queries::Queries;
use crate::watch::{Key, WatchHub};

/// Runs the daemon until SIGTERM or SIGINT.
///
/// # Errors
/// Whatever keeps it from starting, with what to do about it. Once it runs nothing but a signal ends it.
pub fn run(flags: Flags) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("threads")?;
    runtime.block_on(start_and_serve(flags))
}

async fn start_and_serve(flags: Flags) -> anyhow::Result<()> {
    // First of all: until then a SIGHUP would be the end.
    let signals = Signals::catch()?;
    let node = flags.node_name().map_err(anyhow::Error::msg)?;
    info!(node, version = env!("CARGO_PKG_VERSION"), "weftd starts");
    let state_dir = StateDir::open(&flags.state_dir).with_context(|| {
        let directory = flags.state_dir.display();
        format!("--state-dir {directory}: can't be used; name a directory that weftd may write to")
    })?;
    let restarting = state_dir.ran_before();
    let fallback_router_id = fallback_router_id(&node);
    let local = apply::local(&node, fallback_router_id, flags.router_id);
    let scopes = first_scopes(&flags, &state_dir, &local)?;
    let outcome = first_outcome(&scopes, &local);

    let clock = Clock::start();
    let hub = Arc::new(WatchHub::default());
    let inbox = Arc::new(FibInbox::default());
    let (dataplane, kernel_events) = start_dataplane(&flags, &inbox)?;
    let router_id = carry_out::router_id(&outcome.plan, fallback_router_id);
    let shard_settings = carry_out::shard_settings(&outcome.plan, router_id);
    let sink = Arc::new(Sink {
        fib: Arc::clone(&inbox),
        programs: !flags.no_kernel,
        hub: Arc::clone(&hub),
    });
    let shards = Shards::start(flags.rib_shards, &shard_settings, restarting, clock, &sink)
        .context("RIB threads")?;
    let view = Arc::new(ArcSwap::from_pointee(View::empty(&local, router_id)));
    let queries = Arc::new(Queries::new(
        clock,
        Arc::clone(&view),
        shards.clone(),
        dataplane.clone(),
    ));

    let stop = CancellationToken::new();
    let (mut control, handle) = Control::new(Parts {
        flags: flags.clone(),
        node,
        fallback_router_id,
        clock,
        state_dir: state_dir.clone(),
        scopes,
        shards,
        shard_settings,
        dataplane: dataplane.clone(),
        fib: inbox,
        hub: Arc::clone(&hub),
        view,
        restarting,
    });
    control.begin(outcome).await?;
    let served = api::start(
        &flags.api.0,
        Api {
            control: handle.clone(),
            queries: Arc::clone(&queries),
            hub,
        },
        stop.clone(),
    )?;
    let api_task = tokio::spawn(served);
    if let Some(address) = flags.metrics {
        let listener = metrics::listen(address).await?;
        tokio::spawn(
            stop.clone()
                .run_until_cancelled_owned(metrics::serve(listener, queries)),
        );
    }
    if let Err(error) = state_dir.mark_running() {
        warn!(%error, "can't mark this start: the next one will not know that it is a restart");
    }
    let manifests = flags.manifests.as_deref().and_then(watch_manifests);
    let control_task = tokio::spawn(control.run(kernel_events, manifests, stop.clone()));
    info!(api = %flags.api.0.display(), restarting, "weftd runs");
    signals.wait_for_end(handle).await;

    info!("weftd ends; the kernel keeps its routes, neighbours with graceful restart keep ours");
    stop.cancel();
    control_task.await.context("control loop")?;
    if let Some(dataplane) = dataplane {
        dataplane.shutdown().await;
    }
    // Calls that run have been cut off; a client that does not read its answer can't hold up the end.
    match tokio::time::timeout(API_END, api_task).await {
        Ok(ended) => ended.context("API server")?,
        Err(_) => Ok(()),
    }
}

/// The manifests, and what the API's owners applied before. Manifests with faults end the start, unless there is a last
/// good state: a node must not lose its routes over a typo that somebody made while its daemon was down.
fn first_scopes(
    flags: &Flags,
    state_dir: &StateDir,
    local: &cluster::Local,
) -> anyhow::Result<Scopes> {
    let mut scopes = Scopes::default();
    let (kept, complaints) = state_dir.load();
    for complaint in complaints {
        error!("{complaint}");
    }
    let mut last_good = None;
    for request in kept {
        if request.scope == FILE_SCOPE {
            last_good = Some(request);
        } else {
            take_kept(&mut scopes, &request);
        }
    }
    let Some(path) = &flags.manifests else {
        return Ok(scopes);
    };
    match read_manifests(path, &scopes, local) {
        Ok((request, examined)) => {
            apply::log_problems(&examined.problems);
            scopes.commit(examined.candidate);
            if let Err(error) = state_dir.save(&request) {
                warn!(%error, "can't keep the manifests' state");
            }
        }
        Err(problems) => {
            apply::log_problems(&problems);
            let Some(last_good) = last_good else {
                bail!(
                    "--manifests {}: can't be used; what is wrong and what to write is said above",
                    path.display()
                );
            };
            warn!("the manifests have problems; the state that was last applied is used instead");
            take_kept(&mut scopes, &last_good);
            scopes.refuse(FILE_SCOPE, problems);
        }
    }
    Ok(scopes)
}

fn read_manifests(
    path: &Path,
    scopes: &Scopes,
    local: &cluster::Local,
) -> Result<(v1::ApplyRequest, Examined), Vec<v1::Problem>> {
    let unreadable = |error: manifest_files::ReadError| {
        vec![v1::Problem {
            severity: v1::problem::Severity::Error.into(),
            message: format!(
                "{error}; --manifests names a file, or a directory of *.yaml, *.yml and *.json"
            ),
            ..v1::Problem::default()
        }]
    };
    let request = apply::file_request(manifest_files::read(path).map_err(unreadable)?);
    let examined = apply::examine(scopes, &request, local)?;
    Ok((request, examined))
}

fn take_kept(scopes: &mut Scopes, request: &v1::ApplyRequest) {
    match scopes.read(request) {
        Ok(candidate) => scopes.commit(candidate),
        Err(problems) => {
            error!(
                scope = request.scope,
                "the state kept from the last run can't be used; waiting for its owner"
            );
            apply::log_problems(&problems);
        }
    }
}

fn first_outcome(scopes: &Scopes, local: &cluster::Local) -> Outcome {
    let mut snapshot = Snapshot::default();
    for object in scopes.objects() {
        snapshot.insert(object.clone());
    }
    apply::outcome(snapshot, local)
}

/// The address of the default route; a host without one gets an ID made from its name.
fn fallback_router_id(node: &str) -> RouterId {
    let address = dataplane::host::default_route_address();
    RouterId(address.unwrap_or_else(|| cluster::hashed_router_id(node)))
}

type KernelEvents = mpsc::Receiver<DataplaneEvent>;

fn start_dataplane(
    flags: &Flags,
    inbox: &Arc<FibInbox>,
) -> anyhow::Result<(Option<Dataplane>, KernelEvents)> {
    if flags.no_kernel {
        // Nothing is ever sent; the receiver just waits.
        let (sender, events) = mpsc::channel(1);
        std::mem::forget(sender);
        return Ok((None, events));
    }
    let (dataplane, events) = dataplane::spawn(Backend::Host, dataplane::Settings::default())
        .context(
            "the kernel's routes (needs root or CAP_NET_ADMIN; --no-kernel runs without them)",
        )?;
    tokio::spawn(fib::run(Arc::clone(inbox), dataplane.clone()));
    Ok((Some(dataplane), events))
}

fn watch_manifests(path: &Path) -> Option<ManifestWatch> {
    ManifestWatch::start(path)
        .inspect_err(|error| {
            warn!(path = %path.display(), %error, "can't watch the manifests; SIGHUP reads them again");
        })
        .ok()
}

/// The signals that a person or a supervisor sends. From the moment they are caught none is lost.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn catch() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).context("SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("SIGINT")?,
            hangup: signal(SignalKind::hangup()).context("SIGHUP")?,
        })
    }

    /// Waits for the signal that ends the daemon; SIGHUP reads the manifests again.
    async fn wait_for_end(mut self, control: ControlHandle) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                Some(()) = self.hangup.recv() => {
                    info!("SIGHUP: reading the manifests again");
                    control.read_manifests().await;
                }
            }
        }
    }
}

/// Where the shards' results go.
struct Sink {
    fib: Arc<FibInbox>,
    /// Without a kernel nobody empties the inbox.
    programs: bool,
    hub: Arc<WatchHub>,
}

impl ShardSink for Sink {
    fn fib(&self, changes: Vec<FibChange>) {
        if self.programs {
            self.fib.put(changes);
        }
    }

    fn best_changed(&self, prefixes: Vec<IpNet>) {
        self.hub.mark(prefixes.into_iter().map(Key::Route));
    }
}

const API_END: std::time::Duration = std::time::Duration::from_secs(1);
