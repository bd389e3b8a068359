//! The way to the dataplane's task.

use ipnet::IpNet;
use tokio::sync::{mpsc, oneshot};

use crate::{Backend, DataplaneEvent, Error, RouteChange, RouteStatus, Settings, Snapshot};

/// The way to the dataplane. Cheap to clone; when the last clone is dropped the task ends, like after
/// [`Self::shutdown`].
///
/// Calls wait while 64 others are queued, which is the back-pressure on whoever brings routes faster than the
/// kernel takes them. They never wait for the receiver of events.
#[derive(Clone, Debug)]
pub struct Dataplane {
    commands: mpsc::Sender<Command>,
}

/// What is asked of the task.
#[derive(Debug)]
pub(crate) enum Command {
    UpdateRoutes(Vec<RouteChange>),
    SetOverlay(Box<vxlan::Overlay>),
    Complete,
    Snapshot(oneshot::Sender<Snapshot>),
    Summary(oneshot::Sender<Snapshot>),
    Routes(Vec<IpNet>, oneshot::Sender<Vec<RouteStatus>>),
    Shutdown(oneshot::Sender<()>),
}

impl Dataplane {
    /// Changes the routes that are wanted. Returns when the change is queued, not when the kernel has it: that is told
    /// by [`DataplaneEvent::Route`].
    ///
    /// Classes that belong to the overlay are refused with a line in the log.
    pub async fn update_routes(&self, changes: Vec<RouteChange>) {
        self.send(Command::UpdateRoutes(changes)).await;
    }

    /// Replaces the wanted overlay. What is equal to the kernel's is not written again.
    pub async fn set_overlay(&self, overlay: vxlan::Overlay) {
        self.send(Command::SetOverlay(Box::new(overlay))).await;
    }

    /// Everything that is wanted has been said: what an earlier life left and nothing wants is removed from now on.
    pub async fn complete(&self) {
        self.send(Command::Complete).await;
    }

    /// The state of everything. Cost grows with the number of routes; [`Self::summary`] and [`Self::routes`] are cheaper.
    pub async fn snapshot(&self) -> Snapshot {
        self.ask(Command::Snapshot).await.unwrap_or_default()
    }

    /// A snapshot without the routes. Cost grows with the number of VTEPs.
    pub async fn summary(&self) -> Snapshot {
        self.ask(Command::Summary).await.unwrap_or_default()
    }

    /// What is wanted for these prefixes, by class; nothing for one that nothing is wanted for.
    pub async fn routes(&self, prefixes: Vec<IpNet>) -> Vec<RouteStatus> {
        self.ask(|answer| Command::Routes(prefixes, answer))
            .await
            .unwrap_or_default()
    }

    /// Ends the task and leaves the kernel as it is. What is queued before is carried out first.
    pub async fn shutdown(self) {
        self.ask(Command::Shutdown).await;
    }

    async fn send(&self, command: Command) {
        // The task has ended, nothing is programmed any more.
        let _ = self.commands.send(command).await;
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Option<T> {
        let (answer, result) = oneshot::channel();
        self.send(command(answer)).await;
        result.await.ok()
    }
}

/// Starts the task, which owns every kernel object that weft makes, on a thread of its own. The receiver gets what
/// happens; at most 1024 events wait there, later ones about the same object replace earlier ones.
///
/// # Errors
/// When sockets or the thread can't be had, or when the platform has no backend.
pub fn spawn(
    backend: Backend,
    settings: Settings,
) -> Result<(Dataplane, mpsc::Receiver<DataplaneEvent>), Error> {
    let (commands, queue) = mpsc::channel(COMMANDS);
    let (events, receiver) = mpsc::channel(EVENTS);
    match backend {
        #[cfg(target_os = "linux")]
        Backend::Host => crate::task::spawn(settings, queue, events)?,
        #[cfg(not(target_os = "linux"))]
        Backend::Host => {
            drop((settings, queue, events));
            return Err(Error::Unsupported {
                platform: std::env::consts::OS,
            });
        }
    }
    Ok((Dataplane { commands }, receiver))
}

/// Commands that may wait for the task.
pub(crate) const COMMANDS: usize = 64;

/// Events that may wait for the receiver.
pub(crate) const EVENTS: usize = 1024;
