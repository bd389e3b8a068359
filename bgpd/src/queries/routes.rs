//! Routes: the Loc-RIB and the Adj-RIBs, in batches.

use std::net::IpAddr;

use bgp_core::rib::{PathState, PathView, PrefixFilter, RouteQuery, RouteTable, RouteView};
use bgp_wire::{Family, NextHop, Origin};
use ipnet::IpNet;
use tokio::sync::mpsc;
use tonic::Status;
use weft_proto::v1;
use weft_proto::v1::list_routes_request::{Match, Table};

use super::{PeerNames, Queries};

/// A checked request.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    query: RouteQuery,
    limit: usize,
}

type Batches = mpsc::Sender<Result<v1::ListRoutesResponse, Status>>;

impl Queries {
    /// Checks what a caller wants to see.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` or `NOT_FOUND`, with what to write instead.
    pub(crate) async fn listing(&self, request: &v1::ListRoutesRequest) -> Result<Listing, Status> {
        let table = match request.table() {
            Table::Unspecified | Table::LocRib => RouteTable::LocRib,
            Table::AdjRibIn => RouteTable::AdjIn(self.peer(&request.peer)?),
            Table::AdjRibOut => RouteTable::AdjOut(self.peer(&request.peer)?),
        };
        let family = match request.family.as_str() {
            "" => None,
            "ipv4-unicast" | "ipv4" => Some(Family::IPV4_UNICAST),
            "ipv6-unicast" | "ipv6" => Some(Family::IPV6_UNICAST),
            other => {
                return Err(Status::invalid_argument(format!(
                    "family: {other:?} is not one of ipv4-unicast and ipv6-unicast"
                )));
            }
        };
        let prefix = if request.prefix.is_empty() {
            PrefixFilter::All
        } else {
            let prefix = parse_prefix(&request.prefix)?;
            match request.r#match() {
                Match::Unspecified | Match::Exact => PrefixFilter::Exact(prefix),
                Match::Within => PrefixFilter::Within(prefix),
                Match::Covering => PrefixFilter::Covering(prefix),
            }
        };
        let limit = match request.limit {
            0 => usize::MAX,
            limit => limit as usize,
        };
        Ok(Listing {
            query: RouteQuery {
                table,
                family,
                prefix,
            },
            limit,
        })
    }

    /// Sends what a listing finds, shard by shard, until the reader has it all or goes.
    pub(crate) async fn list_routes(&self, listing: Listing, sender: Batches) {
        let Listing { query, mut limit } = listing;
        for shard in 0..self.shards.count() {
            let mut after = None;
            while limit > 0 {
                let (query, size) = (query.clone(), BATCH.min(limit));
                let found = self
                    .shards
                    .ask(shard, move |shard| shard.routes(&query, after, size))
                    .await;
                let Some(views) = found.filter(|views| !views.is_empty()) else {
                    break;
                };
                limit -= views.len();
                after = views.last().map(|view| view.prefix);
                let routes = self.render(views).await;
                if sender
                    .send(Ok(v1::ListRoutesResponse { routes }))
                    .await
                    .is_err()
                {
                    return;
                }
            }
        }
    }

    /// As [`Queries::list_routes`], for all of the Loc-RIB.
    pub(crate) async fn list_loc_rib(&self, sender: Batches) {
        let query = RouteQuery {
            table: RouteTable::LocRib,
            family: None,
            prefix: PrefixFilter::All,
        };
        self.list_routes(
            Listing {
                query,
                limit: usize::MAX,
            },
            sender,
        )
        .await;
    }

    /// One prefix of the Loc-RIB; `None` when nobody announces it.
    pub(crate) async fn route(&self, prefix: IpNet) -> Option<v1::Route> {
        let query = RouteQuery {
            table: RouteTable::LocRib,
            family: None,
            prefix: PrefixFilter::Exact(prefix),
        };
        let shard = self.shards.index_of(&prefix);
        let views = self
            .shards
            .ask(shard, move |shard| shard.routes(&query, None, 1))
            .await?;
        self.render(views).await.pop()
    }

    async fn render(&self, views: Vec<RouteView>) -> Vec<v1::Route> {
        let names = PeerNames::of(&self.view.load());
        let kernel = self
            .kernel_routes(views.iter().map(|view| view.prefix).collect())
            .await;
        views
            .into_iter()
            .zip(kernel)
            .map(|(RouteView { prefix, paths }, kernel)| v1::Route {
                prefix: prefix.to_string(),
                paths: paths
                    .into_iter()
                    .map(|path| render_path(path, &names))
                    .collect(),
                kernel,
            })
            .collect()
    }

    fn peer(&self, address: &str) -> Result<bgp_core::PeerId, Status> {
        let wanted: IpAddr = address.parse().map_err(|_| {
            Status::invalid_argument(format!(
                "peer: {address:?} is not an address; name the peer by its address"
            ))
        })?;
        let view = self.view.load();
        let found = view.peers.iter().find(|peer| peer.key.address == wanted);
        found
            .map(|peer| peer.id)
            .ok_or_else(|| Status::not_found(format!("no peer has the address {wanted}")))
    }
}

/// A prefix, or an address as the prefix of its full length.
///
/// # Errors
/// `INVALID_ARGUMENT` with what to write instead.
pub(super) fn parse_prefix(text: &str) -> Result<IpNet, Status> {
    let prefix = text
        .parse::<IpNet>()
        .or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    prefix.map(|prefix| prefix.trunc()).map_err(|_| {
        Status::invalid_argument(format!(
            "prefix: {text:?} is neither a prefix nor an address; write for example 10.244.1.0/26 or fd00::1"
        ))
    })
}

pub(super) fn render_path(path: PathView, names: &PeerNames) -> v1::Path {
    let PathView {
        peer,
        path_id,
        attributes,
        next_hop,
        stale,
        state,
    } = path;
    let (peer, peer_name) = match peer {
        Some(peer) => names.get(peer),
        None => (String::new(), "this node".to_owned()),
    };
    v1::Path {
        peer,
        peer_name,
        path_id,
        next_hops: next_hop.map(render_next_hop).unwrap_or_default(),
        origin: match attributes.origin {
            Origin::Igp => "IGP",
            Origin::Egp => "EGP",
            Origin::Incomplete => "incomplete",
        }
        .to_owned(),
        as_path: attributes.as_path.to_string(),
        med: attributes.med,
        local_pref: attributes.local_pref,
        communities: texts(attributes.communities.iter()),
        large_communities: texts(attributes.large_communities.iter()),
        extended_communities: texts(attributes.extended_communities.iter()),
        originator_id: attributes
            .originator_id
            .map(|id| id.to_string())
            .unwrap_or_default(),
        cluster_list: texts(attributes.cluster_list.iter()),
        atomic_aggregate: attributes.atomic_aggregate,
        aggregator: attributes
            .aggregator
            .map(|aggregator| aggregator.to_string())
            .unwrap_or_default(),
        best: state == PathState::Best,
        multipath: matches!(state, PathState::Multipath(_)),
        stale,
        // The others say what they lack.
        reason: match state {
            PathState::Best => String::new(),
            _ => state.to_string(),
        },
        usable: !matches!(state, PathState::Unusable(_)),
    }
}

pub(super) fn render_next_hop(next_hop: NextHop) -> Vec<String> {
    match next_hop {
        NextHop::V4(address) => vec![address.to_string()],
        NextHop::V6 { global, link_local } => std::iter::once(global)
            .chain(link_local)
            .map(|address| address.to_string())
            .collect(),
    }
}

fn texts<T: ToString>(items: impl Iterator<Item = T>) -> Vec<String> {
    items.map(|item| item.to_string()).collect()
}

/// Prefixes that a shard looks at in one go: a fraction of a millisecond.
const BATCH: usize = 256;
