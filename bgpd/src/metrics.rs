//! Prometheus metrics over HTTP: read from the same queries that answer the CLI, at the moment of the scrape.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use tokio::net::TcpListener;
use weft_proto::v1;

use crate::queries::Queries;

/// Opens the socket.
///
/// # Errors
/// When the address can't be listened on.
pub(crate) async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!(
            "--metrics {address}: can't listen there; name an address of this host and a free port"
        )
    })
}

/// Serves `/metrics` until the task is dropped.
pub(crate) async fn serve(listener: TcpListener, queries: Arc<Queries>) {
    let scrape = axum::routing::get(move || {
        let queries = Arc::clone(&queries);
        async move { scrape(&queries).await }
    });
    if let Err(error) = axum::serve(listener, axum::Router::new().route("/metrics", scrape)).await {
        tracing::error!(%error, "metrics are not served any more");
    }
}

async fn scrape(queries: &Queries) -> ([(&'static str, &'static str); 1], String) {
    let text = render(&queries.status().await, &queries.peers().await).unwrap_or_default();
    (
        [(
            "content-type",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        )],
        text,
    )
}

#[derive(Clone, Debug, Eq, PartialEq, Hash, EncodeLabelSet)]
struct PeerLabels {
    peer: String,
    name: String,
}

#[derive(Clone, Debug, Eq, PartialEq, Hash, EncodeLabelSet)]
struct FamilyLabels {
    peer: String,
    family: String,
}

#[derive(Clone, Debug, Eq, PartialEq, Hash, EncodeLabelSet)]
struct BuildLabels {
    version: String,
    node: String,
}

/// The metrics page. Labels are bounded: peers and families, never prefixes.
fn render(status: &v1::GetStatusResponse, peers: &[v1::Peer]) -> Result<String, std::fmt::Error> {
    let mut registry = Registry::with_prefix("weft");
    let build = Family::<BuildLabels, Gauge>::default();
    build
        .get_or_create(&BuildLabels {
            version: status.version.clone(),
            node: status.node.clone(),
        })
        .set(1);
    registry.register("build_info", "The running version", build);
    gauge(
        &mut registry,
        "ready",
        "1 when the initial state is in and restart is over",
        u64::from(status.ready),
    );

    let routes = status.routes.unwrap_or_default();
    gauge(
        &mut registry,
        "rib_prefixes",
        "Prefixes with at least one path",
        routes.prefixes,
    );
    gauge(
        &mut registry,
        "rib_paths",
        "Paths of all peers and own announcements",
        routes.paths,
    );
    gauge(
        &mut registry,
        "rib_attribute_sets",
        "Distinct attribute sets",
        routes.attribute_sets,
    );
    gauge(
        &mut registry,
        "rib_originated",
        "Own announcements",
        routes.originated,
    );
    let kernel = status.kernel.clone().unwrap_or_default();
    gauge(
        &mut registry,
        "kernel_routes_wanted",
        "Routes that should be in the kernel",
        kernel.routes_wanted,
    );
    gauge(
        &mut registry,
        "kernel_routes_installed",
        "Of those, installed",
        kernel.routes_installed,
    );
    gauge(
        &mut registry,
        "kernel_routes_failed",
        "Of those, refused by the kernel",
        kernel.routes_failed,
    );
    let drift: Counter = Counter::default();
    drift.inc_by(kernel.drift_repaired);
    registry.register(
        "kernel_drift_repaired",
        "Foreign changes undone since the start",
        drift,
    );
    sessions(&mut registry, peers);

    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

fn sessions(registry: &mut Registry, peers: &[v1::Peer]) {
    let established = Family::<PeerLabels, Gauge>::default();
    let uptime = Family::<PeerLabels, Gauge>::default();
    let flaps = Family::<PeerLabels, Counter>::default();
    let updates_received = Family::<PeerLabels, Counter>::default();
    let updates_sent = Family::<PeerLabels, Counter>::default();
    let received = Family::<FamilyLabels, Gauge>::default();
    let accepted = Family::<FamilyLabels, Gauge>::default();
    let advertised = Family::<FamilyLabels, Gauge>::default();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |now| now.as_secs());
    for peer in peers {
        let labels = PeerLabels {
            peer: peer.address.clone(),
            name: peer.name.clone(),
        };
        let is_up = peer.state() == v1::peer::State::Established;
        established.get_or_create(&labels).set(i64::from(is_up));
        let since = peer
            .since
            .and_then(|since| u64::try_from(since.seconds).ok());
        let seconds = since
            .filter(|_| is_up)
            .map_or(0, |since| now.saturating_sub(since));
        uptime.get_or_create(&labels).set(seconds.cast_signed());
        flaps.get_or_create(&labels).inc_by(peer.flaps);
        let updates = |counters: Option<v1::MessageCounters>| counters.unwrap_or_default().update;
        updates_received
            .get_or_create(&labels)
            .inc_by(updates(peer.received));
        updates_sent
            .get_or_create(&labels)
            .inc_by(updates(peer.sent));
        for family in &peer.families {
            let labels = FamilyLabels {
                peer: peer.address.clone(),
                family: family.family.clone(),
            };
            received
                .get_or_create(&labels)
                .set(family.received.cast_signed());
            accepted
                .get_or_create(&labels)
                .set(family.accepted.cast_signed());
            advertised
                .get_or_create(&labels)
                .set(family.advertised.cast_signed());
        }
    }
    registry.register(
        "session_established",
        "1 while the session is up",
        established,
    );
    registry.register_with_unit(
        "session_uptime",
        "How long the session is up",
        Unit::Seconds,
        uptime,
    );
    registry.register("session_flaps", "How often the session was lost", flaps);
    registry.register(
        "session_updates_received",
        "UPDATE messages received",
        updates_received,
    );
    registry.register("session_updates_sent", "UPDATE messages sent", updates_sent);
    registry.register("peer_prefixes_received", "Paths received", received);
    registry.register(
        "peer_prefixes_accepted",
        "Paths that passed the import rules",
        accepted,
    );
    registry.register("peer_prefixes_advertised", "Paths sent", advertised);
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let gauge: Gauge = Gauge::default();
    gauge.set(value.cast_signed());
    registry.register(name, help, gauge);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_shows_with_its_families() {
        let family = v1::PeerFamily {
            family: "ipv4-unicast".to_owned(),
            received: 7,
            ..v1::PeerFamily::default()
        };
        let peer = v1::Peer {
            address: "10.0.0.2".to_owned(),
            name: "mesh/node-2".to_owned(),
            state: v1::peer::State::Established.into(),
            families: vec![family],
            ..v1::Peer::default()
        };
        let text = render(&v1::GetStatusResponse::default(), &[peer]).unwrap();
        assert!(
            text.contains(r#"weft_session_established{peer="10.0.0.2",name="mesh/node-2"} 1"#),
            "{text}"
        );
        assert!(
            text.contains(
                r#"weft_peer_prefixes_received{peer="10.0.0.2",family="ipv4-unicast"} 7"#
            ),
            "{text}"
        );
    }
}
