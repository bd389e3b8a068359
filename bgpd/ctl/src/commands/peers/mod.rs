//! `weft peers`: the neighbours in a table, or one of them in full.

mod detail;

use std::net::IpAddr;

use weft_proto::v1::peer::State;
use weft_proto::v1::{Condition, ListPeersResponse, Peer, condition};

use crate::client::Client;
use crate::commands::Context;
use crate::error::Error;
use crate::output::Screen;
use crate::output::cell::{Cell, Tone};
use crate::output::notification::down_reason;
use crate::output::table::{Column, Table};
use crate::output::text::{age, age_or_dash, endpoint, or_dash};

pub(super) async fn run(context: &mut Context<'_>, peer: Option<String>) -> Result<(), Error> {
    let client = context.connect().await?;
    match peer {
        Some(peer) => {
            let peers = find(&client, &peer).await?;
            context.tell(&peers, detail::render)
        }
        None => {
            let peers = client.peers("").await?;
            context.tell(&peers, render)
        }
    }
}

/// The peers with this address or name; at least one.
async fn find(client: &Client, peer: &str) -> Result<ListPeersResponse, Error> {
    if let Ok(address) = peer.parse::<IpAddr>() {
        let found = client.peers(&address.to_string()).await?;
        if found.peers.is_empty() {
            return Err(Error::NoPeerAt(peer.to_owned()));
        }
        return Ok(found);
    }
    let mut found = client.peers("").await?;
    found.peers.retain(|candidate| is_called(candidate, peer));
    if found.peers.is_empty() {
        return Err(Error::NoSuchPeer(peer.to_owned()));
    }
    Ok(found)
}

/// The address of a peer that is given by address or name.
pub(super) async fn address_of(client: &Client, peer: &str) -> Result<String, Error> {
    if let Ok(address) = peer.parse::<IpAddr>() {
        return Ok(address.to_string());
    }
    let mut addresses: Vec<String> = find(client, peer)
        .await?
        .peers
        .into_iter()
        .map(|peer| peer.address)
        .collect();
    match addresses.len() {
        1 => Ok(addresses.remove(0)),
        _ => Err(Error::AmbiguousPeer {
            name: peer.to_owned(),
            addresses,
        }),
    }
}

/// By its whole name, or by the part behind the slash.
fn is_called(peer: &Peer, name: &str) -> bool {
    peer.name == name
        || peer
            .name
            .split_once('/')
            .is_some_and(|(_, own_name)| own_name == name)
}

fn render(screen: &Screen, response: &ListPeersResponse) -> String {
    if response.peers.is_empty() {
        return "no peers are configured\n".to_owned();
    }
    let mut table = Table::new(&[
        Column::Text("NAME"),
        Column::Text("ADDRESS"),
        Column::Number("AS"),
        Column::Text("STATE"),
        Column::Text("SINCE"),
        Column::Number("RCVD"),
        Column::Number("ACC"),
        Column::Number("ADV"),
        Column::Prose("REASON"),
    ]);
    for peer in &response.peers {
        let sum = |counter: fn(&weft_proto::v1::PeerFamily) -> u64| -> u64 {
            peer.families.iter().map(counter).sum()
        };
        table.row([
            or_dash(&peer.name).into(),
            endpoint(&peer.address, peer.port).into(),
            peer.remote_asn.into(),
            state(peer),
            age_or_dash(screen.now, peer.since.as_ref()).into(),
            sum(|family| family.received).into(),
            sum(|family| family.accepted).into(),
            sum(|family| family.advertised).into(),
            reason(screen, peer),
        ]);
    }
    table.render(screen)
}

/// The state's name in RFC 4271.
pub(super) fn state_name(state: State) -> &'static str {
    match state {
        State::Unspecified => "-",
        State::Idle => "Idle",
        State::Connect => "Connect",
        State::Active => "Active",
        State::OpenSent => "OpenSent",
        State::OpenConfirm => "OpenConfirm",
        State::Established => "Established",
    }
}

fn state(peer: &Peer) -> Cell {
    let tone = match peer.state() {
        State::Established => Tone::Good,
        State::Idle => Tone::Bad,
        _ => Tone::Notice,
    };
    Cell::new(state_name(peer.state()), tone)
}

/// What needs attention: why the session is down, and what is parked.
pub(super) fn reason(screen: &Screen, peer: &Peer) -> Cell {
    let mut parts = Vec::new();
    if peer.state() != State::Established {
        match &peer.last_down {
            Some(down) => parts.push(match age(screen.now, down.at.as_ref()) {
                Some(age) => format!("{}, {age} ago", down_reason(down)),
                None => down_reason(down),
            }),
            None if peer.passive => parts.push("passive: waits for the neighbour".to_owned()),
            None => {}
        }
    }
    parts.extend(peer.conditions.iter().filter(|c| is_parked(c)).map(parked));
    Cell::new(parts.join("; "), Tone::Plain)
}

fn is_parked(condition: &Condition) -> bool {
    condition.r#type == PENDING_RESET && condition.status() == condition::Status::True
}

fn parked(condition: &Condition) -> String {
    match condition.message.as_str() {
        "" => PENDING_RESET.to_owned(),
        message => format!("{PENDING_RESET}: {message}"),
    }
}

/// The condition of a peer whose newest settings wait for a session reset.
const PENDING_RESET: &str = "PendingReset";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{documentation, fixtures};

    fn peers() -> ListPeersResponse {
        ListPeersResponse {
            peers: fixtures::peers(fixtures::present()),
        }
    }

    #[test]
    fn peers_in_every_state() {
        let text = render(&Screen::of_test(), &peers());
        insta::assert_snapshot!(text);
        documentation::assert_shows(&text);
    }

    #[test]
    fn a_narrow_screen_wraps_the_reason_only() {
        let screen = Screen {
            width: Some(100),
            ..Screen::of_test()
        };
        let text = render(&screen, &peers());
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        insta::assert_snapshot!(text);
    }

    #[test]
    fn no_peers_are_said_to_be_none() {
        let text = render(&Screen::of_test(), &ListPeersResponse::default());
        assert_eq!(text, "no peers are configured\n");
    }

    #[test]
    fn a_peer_answers_to_its_own_name() {
        let peer = &fixtures::peers(fixtures::present())[0];
        assert!(is_called(peer, "mesh/node-2"));
        assert!(is_called(peer, "node-2"));
        assert!(!is_called(peer, "mesh"));
        assert!(!is_called(peer, "node"));
    }
}
