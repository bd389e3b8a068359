//! The task: commands, what the kernel tells, and batches of writes in turn, on one thread.
//!
//! Writes and dumps block that thread for some milliseconds; callers only ever wait for the queue of commands.

use std::io;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tracing::{debug, warn};

use crate::handle::Command;
use crate::linux::LinuxHost;
use crate::linux::monitor::{Monitor, Notice};
use crate::object::Host;
use crate::reconcile::{Needs, Reconciler};
use crate::{DataplaneEvent, Error, ResyncReason, Settings};

/// Starts the thread. Sockets belong to the network namespace of the caller's.
pub(crate) fn spawn(
    settings: Settings,
    commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<DataplaneEvent>,
) -> Result<(), Error> {
    let host = LinuxHost::open().map_err(Error::Socket)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::Thread)?;
    let monitor = {
        let _context = runtime.enter();
        Monitor::open(host.port()).map_err(Error::Socket)?
    };
    let task = Task {
        reconciler: Reconciler::new(&settings),
        settings,
        host,
        monitor,
        commands,
        events,
        look_again: None,
        next_full_check: Instant::now(),
    };
    std::thread::Builder::new()
        .name("dataplane".to_owned())
        .spawn(move || runtime.block_on(task.run()))
        .map_err(Error::Thread)?;
    Ok(())
}

struct Task {
    settings: Settings,
    reconciler: Reconciler,
    host: LinuxHost,
    monitor: Monitor,
    commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<DataplaneEvent>,
    /// When what changed is looked at: a little later, so that a burst is one look.
    look_again: Option<Instant>,
    next_full_check: Instant,
}

/// What woke the task.
enum Wake {
    Command(Option<Command>),
    Notices(io::Result<Vec<Notice>>),
    /// The receiver has room for an event.
    Told,
    /// Something is due.
    Due,
}

impl Task {
    async fn run(mut self) {
        self.look();
        loop {
            match self.wait().await {
                Wake::Command(None) => return,
                Wake::Command(Some(Command::Shutdown(done))) => {
                    self.finish();
                    let _ = done.send(());
                    return;
                }
                Wake::Command(Some(command)) => self.carry_out(command),
                Wake::Notices(Ok(notices)) => self.hear(notices),
                Wake::Notices(Err(error)) => {
                    warn!(%error, "the kernel's notifications can't be read; checking instead");
                    self.reconciler.note_overrun();
                    self.look_soon();
                }
                Wake::Told | Wake::Due => {}
            }
            let now = Instant::now();
            if now >= self.next_full_check {
                self.reconciler.resync(ResyncReason::Periodic);
                self.look();
            } else if self.look_again.is_some_and(|at| now >= at) {
                self.look();
            }
        }
    }

    /// Waits for the next thing to do. One batch is written per turn while there is something to write.
    async fn wait(&mut self) -> Wake {
        let now = Instant::now();
        if self.reconciler.next_deadline().is_some_and(|at| at <= now) || self.reconciler.has_work()
        {
            self.write_batch();
        }
        let busy = self.reconciler.has_work();
        let deadline = [
            Some(self.next_full_check),
            self.look_again,
            self.reconciler.next_deadline(),
        ]
        .into_iter()
        .flatten()
        .min();
        let pending = !self.reconciler.outbox.is_empty();
        tokio::select! {
            biased;
            Ok(permit) = self.events.reserve(), if pending => {
                if let Some(event) = self.reconciler.outbox.pop() {
                    permit.send(event);
                }
                Wake::Told
            }
            command = self.commands.recv() => Wake::Command(command),
            notices = self.monitor.next() => Wake::Notices(notices),
            () = sleep_until(deadline), if !busy => Wake::Due,
            () = std::future::ready(()), if busy => Wake::Due,
        }
    }

    fn carry_out(&mut self, command: Command) {
        match command {
            Command::UpdateRoutes(changes) => self.reconciler.update_routes(changes),
            Command::SetOverlay(overlay) => {
                self.reconciler.set_overlay(*overlay);
                self.look();
            }
            Command::Complete => self.reconciler.complete(),
            Command::Snapshot(answer) => drop(answer.send(self.reconciler.snapshot())),
            Command::Summary(answer) => drop(answer.send(self.reconciler.summary())),
            Command::Routes(prefixes, answer) => {
                drop(answer.send(self.reconciler.statuses(&prefixes)));
            }
            Command::Shutdown(done) => drop(done.send(())),
        }
    }

    fn hear(&mut self, notices: Vec<Notice>) {
        for notice in notices {
            self.reconciler.note_notification();
            match notice {
                Notice::Link => {
                    self.reconciler.links_changed();
                    self.look_soon();
                }
                Notice::Entry(ifindex) => {
                    self.reconciler.entries_changed(ifindex);
                    self.look_soon();
                }
                Notice::RouteAppeared(prefix, route) => {
                    self.reconciler.route_appeared(prefix, route);
                }
                Notice::RouteVanished(prefix, route) => {
                    self.reconciler.route_vanished(prefix, &route);
                }
                Notice::Overrun => {
                    self.reconciler.note_overrun();
                    self.look_soon();
                }
            }
        }
    }

    fn look_soon(&mut self) {
        self.look_again
            .get_or_insert_with(|| Instant::now() + GATHER);
    }

    /// Looks at everything that needs to be looked at.
    fn look(&mut self) {
        self.look_again = None;
        // Looking at links may show that routes or entries have to be looked at; that ends after a few rounds.
        for _ in 0..4 {
            let needs = self.reconciler.take_needs();
            if needs == Needs::default() {
                return;
            }
            if let Err(error) = self.look_at(needs) {
                debug!(%error, "the kernel changed while it was looked at");
                self.reconciler.resync(ResyncReason::Incomplete);
                self.look_again = Some(Instant::now() + GATHER);
                return;
            }
        }
    }

    fn look_at(&mut self, needs: Needs) -> io::Result<()> {
        let Needs {
            links,
            routes,
            entries,
        } = needs;
        if links {
            self.reconciler.observe_links(self.host.links()?);
        }
        for ifindex in entries {
            let entries = self.host.entries(ifindex)?;
            self.reconciler.observe_entries(ifindex, entries);
        }
        if let Some(reason) = routes {
            let start = Instant::now();
            self.reconciler.observe_routes(self.host.routes()?, reason);
            let pause = self
                .settings
                .full_check
                .max(start.elapsed().saturating_mul(CHECK_SHARE));
            self.next_full_check = Instant::now() + pause;
        }
        Ok(())
    }

    fn write_batch(&mut self) {
        let now = Instant::now();
        let operations = self.reconciler.plan(now, BATCH);
        if !operations.is_empty() {
            let results = self.host.execute(&operations);
            self.reconciler.written(now, &operations, &results);
        }
        self.look_now_if_needed();
    }

    /// What weft's own writes changed is looked at before the next ones.
    fn look_now_if_needed(&mut self) {
        if self.reconciler.needs_look() {
            self.look();
        }
    }

    /// Writes what is to be written, without waiting for what is to be tried again later.
    fn finish(&mut self) {
        for _ in 0..FINISH_BATCHES {
            if !self.reconciler.has_work() {
                return;
            }
            self.write_batch();
        }
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// Routes per batch: some milliseconds of the kernel's time.
const BATCH: usize = 1024;

/// How long changes are gathered before they are looked at.
const GATHER: Duration = Duration::from_millis(20);

/// A full check takes at most one part in so many of the time.
const CHECK_SHARE: u32 = 50;

/// Bounds what a shutdown writes: ten million routes.
const FINISH_BATCHES: usize = 10_000;
