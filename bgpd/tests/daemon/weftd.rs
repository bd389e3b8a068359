//! Starts daemons and talks to them.

use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tonic::transport::{Channel, Endpoint};
use weft_proto::v1;
use weft_proto::v1::weft_client::WeftClient;

/// A daemon that runs; killed when it is dropped.
pub(crate) struct Weftd {
    child: Child,
    log: Receiver<String>,
    home: Home,
}

/// What outlives a daemon: its directories, its address, its name.
pub(crate) struct Home {
    directory: TempDir,
    pub(crate) address: Ipv4Addr,
    node: String,
}

impl Home {
    /// A place for a daemon of this name.
    pub(crate) fn new(node: &str) -> Self {
        // Tests run at the same time, in threads and in processes: the address is made of both.
        static NEXT: AtomicU8 = AtomicU8::new(1);
        let [.., high, low] = std::process::id().to_be_bytes();
        let address = Ipv4Addr::new(127, high | 1, low, NEXT.fetch_add(1, Ordering::Relaxed));
        let home = Self {
            directory: tempfile::tempdir().unwrap(),
            address,
            node: node.to_owned(),
        };
        std::fs::create_dir(home.manifests()).unwrap();
        home
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("run/weft.sock")
    }

    /// An empty directory, for those who start with `--manifests`.
    pub(crate) fn manifests(&self) -> PathBuf {
        self.directory.path().join("manifests")
    }

    /// Writes a manifest at once as a whole, so that no daemon reads half of it.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let fresh = self.directory.path().join("fresh");
        let path = self.manifests().join(name);
        std::fs::write(&fresh, text).unwrap();
        std::fs::rename(&fresh, &path).unwrap();
        path
    }

    /// `weftd` with all that keeps it away from the host and from other tests.
    pub(crate) fn command(&self, flags: &[&str]) -> Command {
        let mut command = self.command_anywhere(flags);
        command.arg("--bgp-address").arg(self.address.to_string());
        command
    }

    /// As [`Home::command`]; BGP listens where the manifests say.
    pub(crate) fn command_anywhere(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weftd"));
        command
            .env_clear()
            .args(["--no-kernel", "--node-name", &self.node])
            .arg("--api")
            .arg(self.socket())
            .arg("--state-dir")
            .arg(self.directory.path().join("state"))
            .args(["--bgp-port", PORT])
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    /// Starts the daemon and waits until it runs.
    pub(crate) fn start(self, flags: &[&str]) -> Weftd {
        let command = self.command(flags);
        self.start_command(command)
    }

    pub(crate) fn start_command(self, mut command: Command) -> Weftd {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, log) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // Read to the end even if nobody listens: a full pipe would stop the daemon.
                let _ = sender.send(line);
            }
        });
        let daemon = Weftd {
            child,
            log,
            home: self,
        };
        daemon.wait_for_log("weftd runs");
        daemon
    }
}

impl Weftd {
    pub(crate) const fn home(&self) -> &Home {
        &self.home
    }

    /// The log up to the first line that holds `text`, that line included.
    pub(crate) fn wait_for_log(&self, text: &str) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            match self.log.recv_timeout(PATIENCE) {
                Ok(line) => seen.push(line),
                Err(error) => panic!("{error}: no {text:?} in the log: {seen:#?}"),
            }
            if seen.last().is_some_and(|line| line.contains(text)) {
                return seen;
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// Ends the daemon; its exit status, and its home for the next one.
    pub(crate) fn end(mut self) -> (ExitStatus, Home) {
        self.signal(Signal::SIGTERM);
        let status = self.child.wait().unwrap();
        let home = Home {
            directory: std::mem::replace(&mut self.home.directory, tempfile::tempdir().unwrap()),
            address: self.home.address,
            node: self.home.node.clone(),
        };
        (status, home)
    }

    pub(crate) async fn client(&self) -> WeftClient<Channel> {
        WeftClient::new(connect(&self.home.socket()).await)
    }

    pub(crate) async fn status(&self) -> v1::GetStatusResponse {
        let mut client = self.client().await;
        let response = client.get_status(v1::GetStatusRequest {}).await;
        response.unwrap().into_inner()
    }

    pub(crate) async fn peers(&self) -> Vec<v1::Peer> {
        let mut client = self.client().await;
        let response = client.list_peers(v1::ListPeersRequest::default()).await;
        response.unwrap().into_inner().peers
    }

    /// Sends a manifest for the scope "test"; the answer may be a refusal.
    pub(crate) async fn send(
        &self,
        mode: v1::apply_request::Mode,
        text: &str,
    ) -> v1::ApplyResponse {
        let response = self.client().await.apply(request(mode, text)).await;
        response.unwrap().into_inner()
    }

    /// Applies a manifest that has to be right.
    pub(crate) async fn apply(&self, text: &str) -> v1::ApplyResponse {
        let response = self.send(v1::apply_request::Mode::Apply, text).await;
        assert!(response.accepted, "{response:#?}");
        response
    }

    /// Begins to watch.
    pub(crate) async fn watch(&self, kinds: &[v1::WatchKind]) -> Watch {
        let kinds = kinds.iter().map(|kind| (*kind).into()).collect();
        let response = self.client().await.watch(v1::WatchRequest { kinds }).await;
        Watch(response.unwrap().into_inner())
    }
}

impl Drop for Weftd {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A stream of changes.
pub(crate) struct Watch(tonic::Streaming<v1::WatchResponse>);

impl Watch {
    pub(crate) async fn next(&mut self) -> v1::watch_response::Event {
        let message = tokio::time::timeout(PATIENCE, self.0.message());
        let response = message.await.expect("a change in time").unwrap();
        response.expect("the watch goes on").event.unwrap()
    }

    /// The first event that is what `wanted` takes.
    pub(crate) async fn find<T>(
        &mut self,
        wanted: impl Fn(&v1::watch_response::Event) -> Option<T>,
    ) -> T {
        let search = async {
            loop {
                if let Some(found) = wanted(&self.next().await) {
                    return found;
                }
            }
        };
        // Bookmarks go on for ever.
        let found = tokio::time::timeout(PATIENCE, search).await;
        found.expect("the event in time")
    }

    /// Waits until a peer is in this state.
    pub(crate) async fn peer_is(&mut self, state: v1::peer::State) -> v1::Peer {
        self.find(|event| match entry(event)? {
            v1::entry::Entry::Peer(peer) if peer.state() == state => Some(peer.clone()),
            _ => None,
        })
        .await
    }
}

/// What is new or changed.
pub(crate) const fn entry(event: &v1::watch_response::Event) -> Option<&v1::entry::Entry> {
    match event {
        v1::watch_response::Event::Upsert(upsert) => upsert.entry.as_ref(),
        _ => None,
    }
}

pub(crate) async fn connect(socket: &Path) -> Channel {
    let address = format!("unix://{}", socket.display());
    Endpoint::try_from(address)
        .unwrap()
        .connect()
        .await
        .unwrap()
}

pub(crate) fn request(mode: v1::apply_request::Mode, text: &str) -> v1::ApplyRequest {
    v1::ApplyRequest {
        scope: "test".to_owned(),
        mode: mode.into(),
        manifests: vec![v1::Manifest {
            file_name: "test.yaml".to_owned(),
            text: text.to_owned(),
        }],
        ..v1::ApplyRequest::default()
    }
}

/// A node of the cluster, with a confirmed block inside the pool of [`POOL`].
pub(crate) fn node(name: &str, address: Ipv4Addr, block: &str) -> String {
    format!(
        "---
apiVersion: projectcalico.org/v3
kind: Node
metadata: {{ name: {name} }}
spec: {{ bgp: {{ ipv4Address: {address}/8 }} }}
---
apiVersion: projectcalico.org/v3
kind: BlockAffinity
metadata: {{ name: {name}-block }}
spec: {{ cidr: {block}, node: {name}, state: confirmed }}
"
    )
}

/// The range of all blocks here.
pub(crate) const POOL: &str = "---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: { name: pods }
spec: { cidr: 10.244.0.0/16 }
";

/// Where the daemons of tests speak BGP; each has an address of its own.
pub(crate) const PORT: &str = "11790";

/// Far longer than anything takes: only a fault waits for its end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
