//! `weft blocks`: address blocks, and whether they are announced.

use weft_proto::v1::{Block, ListBlocksRequest, ListBlocksResponse};

use crate::commands::Context;
use crate::error::Error;
use crate::output::Screen;
use crate::output::cell::{Cell, Tone};
use crate::output::table::{Column, Table};
use crate::output::text::{count, or_dash, yes_no};

pub(super) async fn run(context: &mut Context<'_>, all_nodes: bool) -> Result<(), Error> {
    let client = context.connect().await?;
    let blocks = client.blocks(ListBlocksRequest { all_nodes }).await?;
    context.tell(&blocks, |screen, blocks| render(screen, blocks, all_nodes))
}

fn render(screen: &Screen, response: &ListBlocksResponse, all_nodes: bool) -> String {
    if response.blocks.is_empty() {
        return match all_nodes {
            true => "no blocks\n".to_owned(),
            false => {
                "no blocks on this node; `weft blocks --all` shows those of all nodes\n".to_owned()
            }
        };
    }
    let mut table = Table::new(&[
        Column::Text("BLOCK"),
        Column::Text("NODE"),
        Column::Text("POOL"),
        Column::Text("ENCAP"),
        Column::Number("USED"),
        Column::Number("BORROWED"),
        Column::Text("BLACKHOLE"),
        Column::Text("ANNOUNCED"),
        Column::Prose("REASON"),
    ]);
    for block in &response.blocks {
        table.row([
            block.cidr.as_str().into(),
            or_dash(&block.node).into(),
            or_dash(&block.pool).into(),
            or_dash(&block.encapsulation).into(),
            used(block).into(),
            block.borrowed.len().to_string().into(),
            blackhole(block),
            yes_no(block.announced).into(),
            block.reason.as_str().into(),
        ]);
    }
    table.render(screen)
}

fn used(block: &Block) -> String {
    format!("{}/{}", block.allocated, block.capacity)
}

/// Only the block's own node has one, and only in a kernel that weftd programs.
fn blackhole(block: &Block) -> Cell {
    match (block.blackhole_wanted, block.blackhole_installed) {
        (true, true) => Cell::new("ok", Tone::Good),
        (true, false) => Cell::new("missing", Tone::Bad),
        (false, _) => "-".into(),
    }
}

/// One line for a watcher or an explanation.
pub(super) fn summary(block: &Block) -> String {
    let mut text = format!("{} of node {}", block.cidr, or_dash(&block.node));
    if !block.pool.is_empty() {
        text += &format!(", pool {}", block.pool);
    }
    if !block.encapsulation.is_empty() {
        text += &format!(", encapsulation {}", block.encapsulation);
    }
    text += &format!(
        ", {} of {} in use",
        block.allocated,
        count(block.capacity, "address")
    );
    if block.blackhole_wanted && !block.blackhole_installed {
        text += ", blackhole route missing";
    }
    match (block.announced, block.reason.as_str()) {
        (true, _) => text += ", announced",
        (false, "") => text += ", not announced",
        (false, reason) => text += &format!(", not announced: {reason}"),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{documentation, fixtures};

    #[test]
    fn blocks_of_all_nodes() {
        let response = ListBlocksResponse {
            blocks: fixtures::blocks(),
        };
        let text = render(&Screen::of_test(), &response, true);
        insta::assert_snapshot!(text);
        documentation::assert_shows(&text);
    }

    #[test]
    fn a_node_without_blocks() {
        let text = render(&Screen::of_test(), &ListBlocksResponse::default(), false);
        assert!(text.contains("weft blocks --all"), "{text}");
    }
}
