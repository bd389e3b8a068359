//! Everything about one peer.

use weft_proto::v1::peer::State;
use weft_proto::v1::{ListPeersResponse, MessageCounters, Peer, PeerFamily};

use super::{state, state_name};
use crate::output::cell::{Cell, Tone};
use crate::output::notification::down_reason;
use crate::output::page::Page;
use crate::output::table::{Column, Table};
use crate::output::text::{age, endpoint, yes_no};
use crate::output::{Screen, conditions};

pub(super) fn render(screen: &Screen, response: &ListPeersResponse) -> String {
    let pages: Vec<String> = response
        .peers
        .iter()
        .map(|peer| page(screen, peer))
        .collect();
    pages.join("\n")
}

fn page(screen: &Screen, peer: &Peer) -> String {
    let mut page = Page::new(screen);
    page.line(title(peer));
    page.field("state", state_since(screen, peer))
        .field("description", &peer.description)
        .field("kind", kind(peer))
        .field("remote", remote(peer))
        .field("local", local(peer))
        .field("timers", timers(peer))
        .field("flaps", peer.flaps)
        .field("last down", last_down(screen, peer));
    page.table(capabilities(peer));
    page.table(families(&peer.families));
    page.table(messages(peer));
    page.table(conditions::table(screen, &peer.conditions));
    page.finish()
}

fn title(peer: &Peer) -> String {
    format!("peer {} {}", peer.name, endpoint(&peer.address, peer.port))
}

fn state_since(screen: &Screen, peer: &Peer) -> Cell {
    let name = state_name(peer.state());
    match age(screen.now, peer.since.as_ref()) {
        Some(age) => state(peer).with_text(format!("{name} for {age}")),
        None => state(peer),
    }
}

fn kind(peer: &Peer) -> String {
    let mut words = vec![peer.kind.as_str()];
    if peer.passive {
        words.push("passive");
    }
    if peer.reflector_client {
        words.push("route reflector client");
    }
    words.retain(|word| !word.is_empty());
    words.join(", ")
}

fn remote(peer: &Peer) -> String {
    match peer.remote_router_id.as_str() {
        "" => format!("AS {}", peer.remote_asn),
        id => format!("AS {}, router ID {id}", peer.remote_asn),
    }
}

fn local(peer: &Peer) -> String {
    match peer.local_address.as_str() {
        "" => format!("AS {}", peer.local_asn),
        address => format!("AS {}, address {address}", peer.local_asn),
    }
}

/// In seconds, as they are configured everywhere.
fn timers(peer: &Peer) -> String {
    let shown = |duration: Option<&prost_types::Duration>| {
        duration.map(|duration| format!("{}s", duration.seconds))
    };
    let named = [
        ("hold", shown(peer.hold_time.as_ref())),
        ("keepalive", shown(peer.keepalive_time.as_ref())),
    ];
    let timers: Vec<String> = named
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| format!("{name} {value}")))
        .collect();
    timers.join(", ")
}

fn last_down(screen: &Screen, peer: &Peer) -> Cell {
    let Some(down) = &peer.last_down else {
        return "never".into();
    };
    let words = match age(screen.now, down.at.as_ref()) {
        Some(age) => format!("{}, {age} ago", down_reason(down)),
        None => down_reason(down),
    };
    let tone = match peer.state() {
        State::Established => Tone::Plain,
        _ => Tone::Bad,
    };
    Cell::new(words, tone)
}

/// What either side announced. Nothing is known of the other side before its OPEN.
fn capabilities(peer: &Peer) -> Table {
    let mut table = Table::new(&[
        Column::Text("CAPABILITY"),
        Column::Text("LOCAL"),
        Column::Text("REMOTE"),
    ]);
    let only_remote = peer
        .remote_capabilities
        .iter()
        .filter(|capability| !peer.local_capabilities.contains(capability));
    for capability in peer.local_capabilities.iter().chain(only_remote) {
        let remote = match peer.remote_capabilities.as_slice() {
            [] => "-",
            announced => yes_no(announced.contains(capability)),
        };
        table.row([
            capability.into(),
            yes_no(peer.local_capabilities.contains(capability)).into(),
            remote.into(),
        ]);
    }
    table
}

fn families(families: &[PeerFamily]) -> Table {
    let mut table = Table::new(&[
        Column::Text("FAMILY"),
        Column::Number("RECEIVED"),
        Column::Number("ACCEPTED"),
        Column::Number("BEST"),
        Column::Number("ADVERTISED"),
        Column::Text("END-OF-RIB"),
        Column::Text("STALE"),
    ]);
    for family in families {
        table.row([
            family.family.as_str().into(),
            family.received.into(),
            family.accepted.into(),
            family.best.into(),
            family.advertised.into(),
            end_of_rib(family).into(),
            if family.stale {
                Cell::new("yes", Tone::Notice)
            } else {
                "no".into()
            },
        ]);
    }
    table
}

fn end_of_rib(family: &PeerFamily) -> &'static str {
    match (family.end_of_rib_received, family.end_of_rib_sent) {
        (true, true) => "received, sent",
        (true, false) => "received",
        (false, true) => "sent",
        (false, false) => "none",
    }
}

fn messages(peer: &Peer) -> Table {
    let mut table = Table::new(&[
        Column::Text("MESSAGES"),
        Column::Number("OPEN"),
        Column::Number("UPDATE"),
        Column::Number("KEEPALIVE"),
        Column::Number("NOTIFICATION"),
        Column::Number("ROUTE-REFRESH"),
    ]);
    let directions = [("received", peer.received), ("sent", peer.sent)];
    for (direction, counters) in directions {
        let MessageCounters {
            open,
            update,
            keepalive,
            notification,
            route_refresh,
        } = counters.unwrap_or_default();
        table.row([
            direction.into(),
            open.into(),
            update.into(),
            keepalive.into(),
            notification.into(),
            route_refresh.into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{documentation, fixtures};

    fn rendered(name: &str) -> String {
        let peers = fixtures::peers(fixtures::present())
            .into_iter()
            .filter(|peer| peer.name == name)
            .collect();
        render(&Screen::of_test(), &ListPeersResponse { peers })
    }

    #[test]
    fn an_established_peer() {
        let text = rendered("mesh/node-2");
        insta::assert_snapshot!(text);
        documentation::assert_shows(&text);
    }

    #[test]
    fn a_peer_that_shut_down() {
        insta::assert_snapshot!(rendered("peer/tor-a"));
    }
}
