//! What people and programs ask: gathered from the control loop's view, the peers, the shards and the dataplane, and
//! put into the API's words. Nothing here changes anything, and nothing here makes a session wait.

mod blocks;
mod explain;
mod overlay;
mod peers;
mod routes;
mod status;

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bgp_core::PeerId;
use dataplane::Dataplane;

use crate::bgp::shard::Shards;
use crate::clock::Clock;
use crate::control::View;

/// The way to all answers. One for the daemon.
pub(crate) struct Queries {
    clock: Clock,
    view: Arc<ArcSwap<View>>,
    shards: Shards,
    dataplane: Option<Dataplane>,
}

impl Queries {
    pub(crate) const fn new(
        clock: Clock,
        view: Arc<ArcSwap<View>>,
        shards: Shards,
        dataplane: Option<Dataplane>,
    ) -> Self {
        Self {
            clock,
            view,
            shards,
            dataplane,
        }
    }
}

/// Names of peers by their ids, for showing where a path came from.
struct PeerNames(HashMap<PeerId, (String, String)>);

impl PeerNames {
    fn of(view: &View) -> Self {
        let name = |peer: &crate::control::PeerEntry| {
            (
                peer.id,
                (peer.key.address.to_string(), peer.plan.name.clone()),
            )
        };
        Self(view.peers.iter().map(name).collect())
    }

    /// Address and name. A peer that was removed while its last routes still go has neither.
    fn get(&self, peer: PeerId) -> (String, String) {
        self.0
            .get(&peer)
            .cloned()
            .unwrap_or_else(|| (String::new(), "removed peer".to_owned()))
    }
}
