//! `weft vteps`: this node's tunnels, and the tunnel ends of the other nodes.

use weft_proto::v1::{ListVtepsResponse, Tunnel, Vtep};

use crate::commands::Context;
use crate::error::Error;
use crate::output::cell::{Cell, Tone};
use crate::output::page::Page;
use crate::output::table::{Column, Table};
use crate::output::text::or_dash;
use crate::output::{Screen, conditions};

pub(super) async fn run(context: &mut Context<'_>) -> Result<(), Error> {
    let vteps = context.connect().await?.vteps().await?;
    context.tell(&vteps, render)
}

fn render(screen: &Screen, response: &ListVtepsResponse) -> String {
    if response.tunnels.is_empty() && response.vteps.is_empty() {
        return NO_TUNNEL.to_owned();
    }
    let mut page = Page::new(screen);
    page.table(tunnels(&response.tunnels));
    for tunnel in &response.tunnels {
        page.table(conditions::table(screen, &tunnel.conditions));
    }
    page.table(vteps(&response.vteps));
    page.finish()
}

/// One row a tunnel device.
pub(super) fn tunnels(tunnels: &[Tunnel]) -> Table {
    let mut table = Table::new(&[
        Column::Text("TUNNEL"),
        Column::Text("STATE"),
        Column::Number("VNI"),
        Column::Number("PORT"),
        Column::Text("ADDRESS"),
        Column::Text("MAC"),
        Column::Number("MTU"),
        Column::Text("UNDERLAY"),
        Column::Number("VTEPS"),
        Column::Number("ROUTES"),
        Column::Number("REPAIRED"),
    ]);
    for tunnel in tunnels {
        table.row([
            tunnel.device.as_str().into(),
            if tunnel.up {
                Cell::new("up", Tone::Good)
            } else {
                Cell::new("down", Tone::Bad)
            },
            tunnel.vni.into(),
            tunnel.port.into(),
            or_dash(&tunnel.tunnel_address).into(),
            or_dash(&tunnel.mac).into(),
            tunnel.mtu.into(),
            underlay(tunnel).into(),
            tunnel.vteps.into(),
            tunnel.routes.into(),
            tunnel.drift_repaired.into(),
        ]);
    }
    table
}

fn underlay(tunnel: &Tunnel) -> String {
    match (tunnel.local_address.as_str(), tunnel.parent.as_str()) {
        (address, "") => or_dash(address).to_owned(),
        ("", parent) => parent.to_owned(),
        (address, parent) => format!("{address}%{parent}"),
    }
}

fn vteps(vteps: &[Vtep]) -> Table {
    let mut table = Table::new(&[
        Column::Text("NODE"),
        Column::Text("VTEP"),
        Column::Text("MAC"),
        Column::Text("UNDERLAY"),
        Column::Text("NEIGH"),
        Column::Text("FDB"),
        Column::Number("ROUTES"),
        Column::Prose("BEHIND IT"),
    ]);
    for vtep in vteps {
        table.row([
            or_dash(&vtep.node).into(),
            or_dash(&vtep.tunnel_address).into(),
            or_dash(&vtep.mac).into(),
            or_dash(&vtep.underlay_address).into(),
            installed(vtep.neighbour_installed),
            installed(vtep.fdb_installed),
            vtep.routes.into(),
            behind(vtep),
        ]);
    }
    table
}

fn installed(installed: bool) -> Cell {
    if installed {
        Cell::new("ok", Tone::Good)
    } else {
        Cell::new("missing", Tone::Bad)
    }
}

/// The blocks, or the error that keeps packets from reaching them.
fn behind(vtep: &Vtep) -> Cell {
    match vtep.error.as_str() {
        "" => vtep.prefixes.join(" ").into(),
        error => Cell::new(format!("error: {error}"), Tone::Bad),
    }
}

/// One line for a watcher or an explanation.
pub(super) fn summary(vtep: &Vtep) -> String {
    let mut text = format!(
        "{} of node {}, MAC {}, underlay {}",
        or_dash(&vtep.tunnel_address),
        or_dash(&vtep.node),
        or_dash(&vtep.mac),
        or_dash(&vtep.underlay_address),
    );
    if !vtep.device.is_empty() {
        text += &format!(", dev {}", vtep.device);
    }
    text += match (vtep.neighbour_installed, vtep.fdb_installed) {
        (true, true) => ", neighbour and FDB entry in place",
        (true, false) => ", FDB entry missing",
        (false, true) => ", neighbour entry missing",
        (false, false) => ", neighbour and FDB entry missing",
    };
    if !vtep.error.is_empty() {
        text += &format!("; error: {}", vtep.error);
    }
    text
}

const NO_TUNNEL: &str = "\
no tunnel on this node: there is one when a pool uses VXLAN, the node has a tunnel address, and weftd programs the kernel
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{documentation, fixtures};

    #[test]
    fn tunnels_and_vteps() {
        let response = ListVtepsResponse {
            tunnels: vec![fixtures::tunnel()],
            vteps: fixtures::vteps(),
        };
        let text = render(&Screen::of_test(), &response);
        insta::assert_snapshot!(text);
        documentation::assert_shows(&text);
    }

    #[test]
    fn a_cluster_without_overlay() {
        let text = render(&Screen::of_test(), &ListVtepsResponse::default());
        assert_eq!(text, NO_TUNNEL);
    }
}
