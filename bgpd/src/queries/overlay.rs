//! The overlay and the kernel's routes, as the dataplane sees them.

use dataplane::{EntryState, RouteSpec, RouteState, RouteStatus, TunnelStatus, VtepStatus};
use ipnet::IpNet;
use weft_proto::v1;

use super::Queries;
use super::peers::condition;

impl Queries {
    /// All tunnels and the VTEPs behind them.
    pub(crate) async fn vteps(&self) -> v1::ListVtepsResponse {
        let Some(dataplane) = &self.dataplane else {
            return v1::ListVtepsResponse::default();
        };
        let snapshot = dataplane.summary().await;
        let vteps = snapshot
            .tunnels
            .iter()
            .flat_map(|tunnel| {
                tunnel
                    .vteps
                    .iter()
                    .map(move |(address, vtep)| (tunnel, address, vtep))
            })
            .map(|(tunnel, address, vtep)| render_vtep(&tunnel.device, *address, vtep))
            .collect();
        v1::ListVtepsResponse {
            tunnels: snapshot.tunnels.iter().map(render_tunnel).collect(),
            vteps,
        }
    }

    /// How much of what is wanted is in the kernel; `None` without a kernel.
    pub(super) async fn kernel_totals(&self) -> Option<v1::KernelTotals> {
        let counters = self.dataplane.as_ref()?.summary().await.counters;
        Some(v1::KernelTotals {
            routes_wanted: counters.routes_wanted,
            routes_installed: counters.routes_installed,
            routes_failed: counters.routes_failed,
            drift_repaired: counters.drift_repaired,
            last_error: counters.last_error.unwrap_or_default(),
        })
    }

    /// The kernel's side of each prefix, in the order asked for; `None` where weft wants no route.
    pub(super) async fn kernel_routes(&self, prefixes: Vec<IpNet>) -> Vec<Option<v1::KernelRoute>> {
        let Some(dataplane) = &self.dataplane else {
            return vec![None; prefixes.len()];
        };
        let mut found: std::collections::HashMap<IpNet, RouteStatus> =
            std::collections::HashMap::new();
        for status in dataplane.routes(prefixes.clone()).await {
            // Several classes may want one prefix; the one that is in force tells.
            match found.get(&status.prefix) {
                Some(known) if !matches!(known.state, RouteState::Shadowed(_)) => {}
                _ => drop(found.insert(status.prefix, status)),
            }
        }
        prefixes
            .iter()
            .map(|prefix| found.get(prefix).map(render_route))
            .collect()
    }
}

pub(super) fn render_route(status: &RouteStatus) -> v1::KernelRoute {
    let shown = status.kernel.as_ref().unwrap_or(&status.wanted);
    let (next_hops, device) = match shown {
        RouteSpec::Blackhole => (vec!["blackhole".to_owned()], String::new()),
        RouteSpec::Unicast { next_hops, mtu: _ } => (
            next_hops.iter().map(ToString::to_string).collect(),
            next_hops
                .first()
                .and_then(|next_hop| next_hop.interface.clone())
                .unwrap_or_default(),
        ),
    };
    let (installed, error) = match &status.state {
        RouteState::Installed => (true, String::new()),
        RouteState::Pending => (false, "being installed".to_owned()),
        RouteState::Partial(errors) => {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            (true, format!("not all next hops: {}", errors.join(", ")))
        }
        RouteState::Failed(error) => (false, error.to_string()),
        RouteState::Shadowed(by) => (false, format!("a {by} route to the same prefix goes first")),
    };
    v1::KernelRoute {
        class: status.class.to_string(),
        installed,
        error,
        next_hops,
        device,
        protocol: dataplane::ROUTE_PROTOCOL.into(),
    }
}

fn render_tunnel(tunnel: &TunnelStatus) -> v1::Tunnel {
    let mut conditions = Vec::new();
    if let Some(problem) = &tunnel.problem {
        conditions.push(condition("DeviceProblem", "Kernel", problem));
    }
    for foreign in &tunnel.foreign {
        conditions.push(condition("ForeignEntry", "KeptAsItIs", foreign));
    }
    v1::Tunnel {
        device: tunnel.device.clone(),
        vni: tunnel.vni,
        port: tunnel.port.into(),
        local_address: tunnel.local.to_string(),
        tunnel_address: tunnel.tunnel_address.to_string(),
        mac: tunnel.mac.to_string(),
        mtu: tunnel.state.as_ref().map_or(0, |device| device.mtu),
        parent: tunnel.parent.clone().unwrap_or_default(),
        up: tunnel.state.as_ref().is_some_and(|device| device.up),
        vteps: u32::try_from(tunnel.vteps.len()).unwrap_or(u32::MAX),
        routes: u32::try_from(tunnel.routes).unwrap_or(u32::MAX),
        drift_repaired: tunnel.drift_repaired,
        conditions,
    }
}

fn render_vtep(device: &str, address: std::net::IpAddr, vtep: &VtepStatus) -> v1::Vtep {
    let error = [("neighbour", &vtep.neighbour), ("FDB entry", &vtep.fdb)]
        .into_iter()
        .filter_map(|(what, state)| match state {
            EntryState::Failed(error) => Some(format!("{what}: {error}")),
            EntryState::Pending | EntryState::Installed => None,
        })
        .collect::<Vec<String>>()
        .join(", ");
    v1::Vtep {
        node: vtep.node.clone(),
        device: device.to_owned(),
        tunnel_address: address.to_string(),
        mac: vtep.mac.to_string(),
        underlay_address: vtep.underlay.to_string(),
        routes: u32::try_from(vtep.prefixes.len()).unwrap_or(u32::MAX),
        neighbour_installed: vtep.neighbour == EntryState::Installed,
        fdb_installed: vtep.fdb == EntryState::Installed,
        error,
        prefixes: vtep.prefixes.iter().map(ToString::to_string).collect(),
    }
}
