//! One Watch call: a snapshot, then every change, then bookmarks while nothing changes.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::mpsc;
use tonic::Status;
use weft_proto::v1;
use weft_proto::v1::entry::Entry as Value;
use weft_proto::v1::watch_response::Event;

use crate::queries::Queries;
use crate::watch::{Changed, Key, Kind, WatchHub, Watcher};

type Sender = mpsc::Sender<Result<v1::WatchResponse, Status>>;

/// A watch that is armed: nothing that changes from now on is missed.
pub(super) struct Watch {
    hub: Arc<WatchHub>,
    queries: Arc<Queries>,
    watcher: Arc<Watcher>,
    /// What the reader has, except for routes, which are many: a mark that changed nothing to see is not told.
    told: HashMap<Key, Value>,
}

/// The reader has gone.
struct Gone;

impl Watch {
    /// # Errors
    /// `INVALID_ARGUMENT` for a kind that this daemon doesn't know.
    pub(super) fn begin(
        request: &v1::WatchRequest,
        hub: &Arc<WatchHub>,
        queries: &Arc<Queries>,
    ) -> Result<Self, Status> {
        let mut kinds = BTreeSet::new();
        for kind in &request.kinds {
            kinds.insert(match v1::WatchKind::try_from(*kind) {
                Ok(v1::WatchKind::Peer) => Kind::Peer,
                Ok(v1::WatchKind::Route) => Kind::Route,
                Ok(v1::WatchKind::Vtep) => Kind::Vtep,
                Ok(v1::WatchKind::Block) => Kind::Block,
                Ok(v1::WatchKind::Status) => Kind::Status,
                Ok(v1::WatchKind::Unspecified) | Err(_) => {
                    return Err(Status::invalid_argument(format!(
                        "kinds: {kind} is not a kind that this version knows (peer, route, vtep, block, status)"
                    )));
                }
            });
        }
        if kinds.is_empty() {
            kinds = [
                Kind::Status,
                Kind::Peer,
                Kind::Vtep,
                Kind::Block,
                Kind::Route,
            ]
            .into();
        }
        Ok(Self {
            watcher: hub.watch(kinds),
            hub: Arc::clone(hub),
            queries: Arc::clone(queries),
            told: HashMap::new(),
        })
    }

    /// Runs until the reader goes.
    pub(super) async fn run(mut self, sender: Sender) {
        // The one way out is that the reader has gone; there is nobody to tell.
        let _: Result<(), Gone> = self.follow(&sender).await;
    }

    async fn follow(&mut self, sender: &Sender) -> Result<(), Gone> {
        self.snapshot(sender, false).await?;
        loop {
            match tokio::time::timeout(BOOKMARK_EVERY, self.watcher.changed()).await {
                Ok(Changed::Keys(keys)) => self.changes(sender, keys).await?,
                Ok(Changed::Lagged) => self.snapshot(sender, true).await?,
                Err(_) => self.send(sender, Event::Bookmark(v1::Bookmark {})).await?,
            }
        }
    }

    async fn snapshot(&mut self, sender: &Sender, lagged: bool) -> Result<(), Gone> {
        self.send(sender, Event::SnapshotBegin(v1::SnapshotBegin { lagged }))
            .await?;
        self.told.clear();
        let mut values = Vec::new();
        if self.watcher.wants(Kind::Status) {
            values.push(Value::Status(self.queries.status().await));
        }
        if self.watcher.wants(Kind::Peer) {
            values.extend(self.queries.peers().await.into_iter().map(Value::Peer));
        }
        if self.watcher.wants(Kind::Vtep) {
            values.extend(
                self.queries
                    .vteps()
                    .await
                    .vteps
                    .into_iter()
                    .map(Value::Vtep),
            );
        }
        if self.watcher.wants(Kind::Block) {
            values.extend(self.queries.blocks().await.into_iter().map(Value::Block));
        }
        for value in values {
            self.told
                .extend(key(&value).map(|key| (key, value.clone())));
            self.upsert(sender, value).await?;
        }
        if self.watcher.wants(Kind::Route) {
            let (routes, mut batches) = mpsc::channel(1);
            let queries = Arc::clone(&self.queries);
            tokio::spawn(async move { queries.list_loc_rib(routes).await });
            while let Some(Ok(batch)) = batches.recv().await {
                for route in batch.routes {
                    self.upsert(sender, Value::Route(route)).await?;
                }
            }
        }
        self.send(sender, Event::SnapshotEnd(v1::SnapshotEnd {}))
            .await
    }

    async fn changes(&mut self, sender: &Sender, keys: BTreeSet<Key>) -> Result<(), Gone> {
        // Peers, VTEPs and blocks are few; they are read once however many of them changed.
        let kinds: BTreeSet<Kind> = keys.iter().map(|key| key.kind()).collect();
        let peers = if kinds.contains(&Kind::Peer) {
            self.queries.peers().await
        } else {
            Vec::new()
        };
        let vteps = if kinds.contains(&Kind::Vtep) {
            self.queries.vteps().await.vteps
        } else {
            Vec::new()
        };
        let blocks = if kinds.contains(&Kind::Block) {
            self.queries.blocks().await
        } else {
            Vec::new()
        };
        for key in keys {
            let (name, value) = match key {
                Key::Status => (
                    String::new(),
                    Some(Value::Status(self.queries.status().await)),
                ),
                Key::Peer(address) => {
                    let is_it = |peer: &&v1::Peer| {
                        peer.address == address.ip().to_string()
                            && peer.port == u32::from(address.port())
                    };
                    (
                        address.to_string(),
                        peers.iter().find(is_it).cloned().map(Value::Peer),
                    )
                }
                Key::Vtep(address) => {
                    let name = address.to_string();
                    let found = vteps
                        .iter()
                        .find(|vtep| vtep.tunnel_address == name)
                        .cloned();
                    (name, found.map(Value::Vtep))
                }
                Key::Block(cidr) => {
                    let name = cidr.to_string();
                    let found = blocks.iter().find(|block| block.cidr == name).cloned();
                    (name, found.map(Value::Block))
                }
                Key::Route(prefix) => (
                    prefix.to_string(),
                    self.queries.route(prefix).await.map(Value::Route),
                ),
            };
            match value {
                Some(value) if self.told.get(&key) == Some(&value) => {}
                Some(value) => {
                    if key.kind() != Kind::Route {
                        self.told.insert(key, value.clone());
                    }
                    self.upsert(sender, value).await?;
                }
                None if key.kind() != Kind::Route && self.told.remove(&key).is_none() => {}
                None => {
                    let kind = match key.kind() {
                        Kind::Status => v1::WatchKind::Status,
                        Kind::Peer => v1::WatchKind::Peer,
                        Kind::Vtep => v1::WatchKind::Vtep,
                        Kind::Block => v1::WatchKind::Block,
                        Kind::Route => v1::WatchKind::Route,
                    };
                    let key = v1::EntryKey {
                        kind: kind.into(),
                        key: name,
                    };
                    self.send(sender, Event::Delete(key)).await?;
                }
            }
        }
        Ok(())
    }

    async fn upsert(&self, sender: &Sender, value: Value) -> Result<(), Gone> {
        self.send(sender, Event::Upsert(v1::Entry { entry: Some(value) }))
            .await
    }

    async fn send(&self, sender: &Sender, event: Event) -> Result<(), Gone> {
        let response = v1::WatchResponse {
            revision: self.hub.revision(),
            event: Some(event),
        };
        sender.send(Ok(response)).await.map_err(|_| Gone)
    }
}

/// Under which key this is watched; `None` for a text that is no address.
fn key(value: &Value) -> Option<Key> {
    Some(match value {
        Value::Status(_) => Key::Status,
        Value::Peer(peer) => {
            let port = u16::try_from(peer.port).ok()?;
            Key::Peer(SocketAddr::new(peer.address.parse().ok()?, port))
        }
        Value::Vtep(vtep) => Key::Vtep(vtep.tunnel_address.parse().ok()?),
        Value::Block(block) => Key::Block(block.cidr.parse().ok()?),
        Value::Route(route) => Key::Route(route.prefix.parse().ok()?),
    })
}

/// So that a reader knows that the daemon is alive, and how far it is.
const BOOKMARK_EVERY: std::time::Duration = std::time::Duration::from_secs(10);
