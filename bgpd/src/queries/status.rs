//! The daemon as a whole.

use bgp_core::rib::Totals;
use weft_proto::v1;
use weft_proto::v1::peer::State;

use super::Queries;

impl Queries {
    /// One page that says whether all is well.
    pub(crate) async fn status(&self) -> v1::GetStatusResponse {
        let view = self.view.load_full();
        let peers = self.peers().await;
        let established = peers
            .iter()
            .filter(|peer| peer.state() == State::Established)
            .count();
        let totals = self.shards.ask_all(|shard| shard.totals()).await;
        let vteps = self.vteps().await;
        v1::GetStatusResponse {
            node: view.plan.node.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: Some(self.clock.wall(bgp_core::Instant::ZERO).into()),
            asn: view.plan.asn.0,
            router_id: view.router_id.to_string(),
            cluster_id: view
                .plan
                .cluster_id
                .map(|id| id.to_string())
                .unwrap_or_default(),
            listening: view.listening.clone(),
            platform: std::env::consts::OS.to_owned(),
            programs_kernel: self.dataplane.is_some(),
            peers: Some(v1::PeerTotals {
                configured: count(peers.len()),
                established: count(established),
            }),
            routes: Some(sum(&totals)),
            scopes: view.scopes.clone(),
            tunnels: vteps.tunnels,
            conditions: view.conditions.clone(),
            ready: view.ready,
            kernel: self.kernel_totals().await,
        }
    }
}

fn sum(totals: &[Totals]) -> v1::RouteTotals {
    let sum = |of: fn(&Totals) -> u64| totals.iter().map(of).sum();
    v1::RouteTotals {
        prefixes: sum(|totals| totals.prefixes),
        paths: sum(|totals| totals.paths),
        // Shards intern on their own: a set that two of them hold counts twice, and takes memory twice.
        attribute_sets: sum(|totals| totals.attribute_sets),
        originated: sum(|totals| totals.originated),
    }
}

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
