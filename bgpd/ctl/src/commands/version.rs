//! `weft version`: of this client and of the daemon.

use serde_json::json;

use crate::commands::Context;
use crate::error::Error;
use crate::output::Format;

pub(super) async fn run(context: &mut Context<'_>) -> Result<(), Error> {
    // The client's version is known even where no daemon is.
    if context.format == Format::Table {
        context.print(concat!("weft   ", env!("CARGO_PKG_VERSION"), "\n"))?;
    }
    let status = context.connect().await?.status().await?;
    match context.format {
        Format::Table => context.print(&format!(
            "weftd  {} on node {}\n",
            status.version, status.node
        )),
        Format::Json => {
            let versions = json!({
                "client": env!("CARGO_PKG_VERSION"),
                "daemon": status.version,
                "node": status.node,
            });
            context.print(&format!("{versions:#}\n"))
        }
    }
}
