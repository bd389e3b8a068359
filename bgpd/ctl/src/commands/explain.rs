//! `weft explain`: the story of one destination.

use std::collections::BTreeMap;

use weft_proto::v1::{Advertisement, Block, ExplainResponse, Path};

use crate::commands::{Context, blocks, paths, vteps};
use crate::destination::Destination;
use crate::error::Error;
use crate::output::Screen;
use crate::output::cell::{Cell, Tone};
use crate::output::page::Page;
use crate::output::table::{Column, Table};
use crate::output::text::count;

pub(super) async fn run(context: &mut Context<'_>, destination: Destination) -> Result<(), Error> {
    let client = context.connect().await?;
    let explanation = client.explain(destination.to_string()).await?;
    context.tell(&explanation, render)
}

fn render(screen: &Screen, explanation: &ExplainResponse) -> String {
    let mut page = Page::new(screen);
    page.line(title(explanation));
    page.rows(prose(&explanation.summary));

    if !explanation.paths.is_empty() {
        page.section("paths, best first");
        for path in &explanation.paths {
            page.line(path_line(path));
            page.rows(prose(&[paths::attributes(path), verdict(path)]).indented(PATH_INDENT));
        }
    }
    if let Some(kernel) = &explanation.kernel {
        page.section("kernel");
        let tone = match (kernel.error.as_str(), kernel.installed) {
            ("", true) => Tone::Plain,
            ("", false) => Tone::Notice,
            _ => Tone::Bad,
        };
        page.rows(lines([Cell::new(paths::kernel(kernel), tone)]));
    }
    if let Some(vtep) = &explanation.vtep {
        page.section("overlay, VTEP");
        page.rows(lines([vteps::summary(vtep).into()]));
    }
    if let Some(block) = &explanation.block {
        page.section("block");
        page.rows(lines(
            std::iter::once(blocks::summary(block))
                .chain(borrowed(block))
                .map(Cell::from),
        ));
    }
    if !explanation.advertised.is_empty() {
        page.section("announcements");
        page.rows(lines(announcements(&explanation.advertised)));
    }
    page.finish()
}

fn title(explanation: &ExplainResponse) -> Cell {
    match (explanation.prefix.as_str(), explanation.asked.as_str()) {
        ("", asked) => Cell::new(format!("nothing matches {asked}"), Tone::Notice),
        (prefix, asked) if prefix == asked => prefix.into(),
        (prefix, asked) => format!("{prefix}, the longest match of {asked}").into(),
    }
}

fn path_line(path: &Path) -> Cell {
    let way = match (path.peer_name.as_str(), path.peer.as_str()) {
        (_, "") => "this node's own".to_owned(),
        ("", address) => format!("via {} from {address}", paths::next_hops(path)),
        (name, address) => format!("via {} from {name} ({address})", paths::next_hops(path)),
    };
    let flags = paths::flags(path, None);
    let tone = match path.best {
        true => Tone::Good,
        false => Tone::Plain,
    };
    Cell::new(format!("{flags:>3} {way}"), tone)
}

/// Why the path is where it is.
fn verdict(path: &Path) -> String {
    let standing = match (path.usable, path.best, path.multipath) {
        (false, _, _) => "unusable",
        (true, true, _) => "best",
        (true, false, true) => "shares the load",
        (true, false, false) => "not used",
    };
    match path.reason.as_str() {
        "" => standing.to_owned(),
        reason => format!("{standing}: {reason}"),
    }
}

fn borrowed(block: &Block) -> impl Iterator<Item = String> {
    block
        .borrowed
        .iter()
        .map(|address| format!("{} is held by node {}", address.address, address.node))
}

/// Peers that hear it, by next hop, and those that do not, by reason: a mesh of thousands is a few lines.
fn announcements(advertised: &[Advertisement]) -> Vec<Cell> {
    let mut heard: BTreeMap<&str, Vec<&Advertisement>> = BTreeMap::new();
    let mut unheard: BTreeMap<&str, Vec<&Advertisement>> = BTreeMap::new();
    for advertisement in advertised {
        if advertisement.advertised {
            heard
                .entry(&advertisement.next_hop)
                .or_default()
                .push(advertisement);
        } else {
            unheard
                .entry(&advertisement.reason)
                .or_default()
                .push(advertisement);
        }
    }
    let heard = heard.into_iter().map(|(next_hop, peers)| {
        let next_hop = match next_hop {
            "" => String::new(),
            next_hop => format!(" with next hop {next_hop}"),
        };
        format!(
            "to {}{next_hop}: {}",
            count(peers.len(), "peer"),
            names(&peers)
        )
    });
    let unheard = unheard.into_iter().map(|(reason, peers)| {
        let reason = match reason {
            "" => String::new(),
            reason => format!(" ({reason})"),
        };
        format!(
            "not to {}{reason}: {}",
            count(peers.len(), "peer"),
            names(&peers)
        )
    });
    heard.chain(unheard).map(Cell::from).collect()
}

fn names(peers: &[&Advertisement]) -> String {
    let mut named: Vec<&str> = peers
        .iter()
        .take(NAMED_PEERS)
        .map(|peer| match peer.peer_name.as_str() {
            "" => peer.peer.as_str(),
            name => name,
        })
        .collect();
    let more = peers.len().saturating_sub(NAMED_PEERS);
    let more = format!("and {more} more");
    if peers.len() > NAMED_PEERS {
        named.push(&more);
    }
    named.join(", ")
}

/// Sentences, wrapped.
fn prose(sentences: &[String]) -> Table {
    lines(sentences.iter().map(Cell::from))
}

fn lines(cells: impl IntoIterator<Item = Cell>) -> Table {
    let mut table = Table::new(&[Column::Prose("")]);
    for cell in cells {
        table.row([cell]);
    }
    table
}

/// So many peers are named before the rest is counted.
const NAMED_PEERS: usize = 5;
/// So that lines stand under the "via" of the path's line, and two columns further.
const PATH_INDENT: u16 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{documentation, fixtures};

    #[test]
    fn a_destination_with_two_paths() {
        let text = render(&Screen::of_test(), &fixtures::explanation());
        insta::assert_snapshot!(text);
        documentation::assert_shows(&text);
    }

    #[test]
    fn a_block_of_this_node() {
        insta::assert_snapshot!(render(
            &Screen::of_test(),
            &fixtures::explanation_of_own_block()
        ));
    }

    #[test]
    fn nothing_matches() {
        let explanation = ExplainResponse {
            asked: "192.0.2.1".into(),
            summary: vec!["No route contains 192.0.2.1.".into()],
            ..Default::default()
        };
        insta::assert_snapshot!(render(&Screen::of_test(), &explanation), @r"
        nothing matches 192.0.2.1
          No route contains 192.0.2.1.
        ");
    }

    #[test]
    fn a_large_mesh_is_one_line() {
        let advertised: Vec<Advertisement> = (0..5000)
            .map(|node| Advertisement {
                peer_name: format!("mesh/node-{node}"),
                reason: "internal routes are not passed on to internal peers".into(),
                ..Default::default()
            })
            .collect();
        let lines = announcements(&advertised);
        assert_eq!(lines.len(), 1);
        assert_eq!(
            lines[0].text(),
            "not to 5000 peers (internal routes are not passed on to internal peers): mesh/node-0, mesh/node-1, \
             mesh/node-2, mesh/node-3, mesh/node-4, and 4995 more"
        );
    }
}
