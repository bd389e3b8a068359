//! Explain: one prefix or address, from the paths that BGP has to the entry that the kernel uses.

use bgp_core::rib::{AdvertisementView, Explanation, PathState, PathView};
use ipnet::IpNet;
use tonic::Status;
use weft_proto::v1;

use super::routes::{parse_prefix, render_next_hop, render_path};
use super::{PeerNames, Queries};

impl Queries {
    /// Tells all there is about a prefix; for an address, about its longest match.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a text that is neither.
    pub(crate) async fn explain(&self, asked: &str) -> Result<v1::ExplainResponse, Status> {
        let wanted = parse_prefix(asked)?;
        let vteps = self.vteps().await.vteps;
        let mut response = v1::ExplainResponse {
            asked: asked.to_owned(),
            ..v1::ExplainResponse::default()
        };
        let Some(prefix) = self.best_match(wanted, &vteps).await else {
            response.summary.push(format!(
                "weft knows no route to {wanted}: no neighbour announces one, and no block or \
                                           VTEP of the cluster has it"
            ));
            return Ok(response);
        };
        response.prefix = prefix.to_string();
        let view = self.view.load_full();
        let names = PeerNames::of(&view);
        let shard = self.shards.index_of(&prefix);
        if let Some(explanation) = self
            .shards
            .ask(shard, move |shard| shard.explain(prefix))
            .await
        {
            let Explanation {
                prefix: _,
                paths,
                fib: _,
                advertisements,
            } = explanation;
            let is_usable = |path: &&PathView| !matches!(path.state, PathState::Unusable(_));
            let usable = paths.iter().filter(is_usable).count();
            let is_own = paths.iter().any(|path| path.peer.is_none());
            response.summary.push(match (paths.len(), usable) {
                (0, _) => format!("no neighbour announces {prefix}"),
                (1, 1) if is_own => "this node announces it, nobody else does".to_owned(),
                (1, 1) => "one path, and it is usable".to_owned(),
                (1, _) => "one path, which can't be used".to_owned(),
                (all, 0) => format!("{all} paths, none of them usable"),
                (all, usable) => format!("{all} paths, {usable} of them usable"),
            });
            response.paths = paths
                .into_iter()
                .map(|path| render_path(path, &names))
                .collect();
            for best in response.paths.iter_mut().filter(|path| path.best) {
                best.reason = match usable {
                    1 => "the only usable path".to_owned(),
                    _ => "the others say at which step they lost".to_owned(),
                };
            }
            response.advertised = advertisements
                .into_iter()
                .map(|told| render_told(told, &names))
                .collect();
        }
        response.kernel = self.kernel_routes(vec![prefix]).await.pop().flatten();
        let reject = view.plan.kernel.not_installed(&prefix);
        response.summary.push(match (&response.kernel, reject) {
            (Some(kernel), _) if kernel.installed => {
                format!(
                    "the kernel has the {} route: {}",
                    kernel.class,
                    kernel.next_hops.join(", ")
                )
            }
            (Some(kernel), _) => format!("the kernel does not have it: {}", kernel.error),
            (None, _) if self.dataplane.is_none() => "this daemon programs no kernel".to_owned(),
            (None, Some(reason)) => format!("BGP does not program it: {}", not_installed(reason)),
            (None, None) => "nothing of weft's is to be in the kernel for it".to_owned(),
        });
        response.block = self
            .blocks()
            .await
            .into_iter()
            .find(|block| block.cidr == response.prefix);
        if let Some(block) = &response.block {
            response.summary.push(format!(
                "it is a block of {}, pool {}",
                block.node, block.pool
            ));
        }
        response.vtep = vteps
            .into_iter()
            .find(|vtep| vtep.prefixes.contains(&response.prefix));
        if let Some(vtep) = &response.vtep {
            let state = if vtep.neighbour_installed && vtep.fdb_installed {
                "in place"
            } else {
                "NOT in place"
            };
            response.summary.push(format!(
                "packets go through {} to {} at {} (neighbour and FDB entry {state})",
                vtep.device, vtep.node, vtep.underlay_address
            ));
        }
        Ok(response)
    }

    /// The most specific prefix around `wanted` that the RIB, the overlay or the cluster's blocks have.
    async fn best_match(&self, wanted: IpNet, vteps: &[v1::Vtep]) -> Option<IpNet> {
        let in_rib = self
            .shards
            .ask_all(move |shard| shard.longest_match(wanted))
            .await;
        let in_overlay = vteps
            .iter()
            .flat_map(|vtep| &vtep.prefixes)
            .filter_map(|prefix| prefix.parse().ok());
        let view = self.view.load_full();
        let own = view.plan.originations.keys().copied();
        let ipam = view.snapshot.ipam();
        let of_cluster = ipam.routes().map(|route| route.prefix);
        let around = |prefix: &IpNet| prefix.contains(&wanted);
        in_rib
            .into_iter()
            .flatten()
            .chain(in_overlay)
            .chain(own)
            .chain(of_cluster)
            .filter(around)
            .max_by_key(IpNet::prefix_len)
    }
}

fn render_told(told: AdvertisementView, names: &PeerNames) -> v1::Advertisement {
    let (peer, peer_name) = names.get(told.peer);
    match told.result {
        Ok(sent) => v1::Advertisement {
            peer,
            peer_name,
            advertised: true,
            reason: String::new(),
            next_hop: sent
                .next_hop
                .map(render_next_hop)
                .and_then(|hops| hops.into_iter().next())
                .unwrap_or_default(),
        },
        Err(reason) => v1::Advertisement {
            peer,
            peer_name,
            advertised: false,
            reason: reason.to_string(),
            next_hop: String::new(),
        },
    }
}

fn not_installed(reason: &cluster::plan::NotInstalled) -> String {
    use cluster::plan::NotInstalled;
    match reason {
        NotInstalled::ServiceRange => {
            "service addresses are handled on each node by itself".to_owned()
        }
        NotInstalled::Vxlan { pool } => format!("pool {pool} is reached through VXLAN"),
        NotInstalled::Ipip { pool } => {
            format!("pool {pool} is reached through IP-in-IP, which weft does not do")
        }
        NotInstalled::OtherAgent { pool } => {
            format!("programClusterRoutes leaves pool {pool} to another agent")
        }
    }
}
