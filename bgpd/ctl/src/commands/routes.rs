//! `weft routes`: a table of routes, printed as it arrives, however long it is.

use weft_proto::v1::list_routes_request::{Match, Table as RibKind};
use weft_proto::v1::{ListRoutesRequest, Route};

use crate::cli::{RibTable, RoutesArgs};
use crate::client::Client;
use crate::commands::{Context, paths, peers};
use crate::destination::Destination;
use crate::error::Error;
use crate::output::table::{Column, Table};
use crate::output::text::count;
use crate::output::{Format, Screen, json};

pub(super) async fn run(context: &mut Context<'_>, args: RoutesArgs) -> Result<(), Error> {
    if args.table == Some(RibTable::LocRib) && args.peer.is_some() {
        return Err(Error::LocRibOfPeer);
    }
    let client = context.connect().await?;
    let request = request(&client, args).await?;
    match context.format {
        Format::Json => print_json(context, &client, request).await,
        Format::Table => print_table(context, &client, request).await,
    }
}

async fn request(client: &Client, args: RoutesArgs) -> Result<ListRoutesRequest, Error> {
    let peer = match &args.peer {
        Some(peer) => peers::address_of(client, peer).await?,
        None => String::new(),
    };
    let table: RibKind = match args.table {
        Some(table) => table.into(),
        None if args.peer.is_some() => RibKind::AdjRibIn,
        None => RibKind::LocRib,
    };
    Ok(ListRoutesRequest {
        table: table.into(),
        peer,
        family: args
            .family
            .map(|family| family.api_name().to_owned())
            .unwrap_or_default(),
        prefix: args
            .destination
            .map(|destination| destination.prefix().to_string())
            .unwrap_or_default(),
        r#match: wanted_match(&args).into(),
        limit: args.limit,
    })
}

fn wanted_match(args: &RoutesArgs) -> Match {
    match args.destination {
        _ if args.within => Match::Within,
        _ if args.covering => Match::Covering,
        // Nobody who asks for an address means a host route alone.
        Some(Destination::Address(_)) => Match::Covering,
        _ => Match::Exact,
    }
}

/// One object, one route a line. It is written while the routes arrive; after an error it stays open, and no reader takes
/// half a table for a whole one.
async fn print_json(
    context: &mut Context<'_>,
    client: &Client,
    request: ListRoutesRequest,
) -> Result<(), Error> {
    let mut batches = client.routes(request).await?;
    context.print("{\"routes\":[")?;
    let mut separator = "\n";
    while let Some(batch) = client.next(&mut batches).await? {
        for route in &batch.routes {
            context.print(separator)?;
            json::write_compact(context.out, route)?;
            separator = ",\n";
        }
    }
    context.print("\n]}\n")
}

async fn print_table(
    context: &mut Context<'_>,
    client: &Client,
    request: ListRoutesRequest,
) -> Result<(), Error> {
    let limit = request.limit;
    let mut listing = Listing::new(request.table());
    let mut batches = client.routes(request).await?;
    while let Some(batch) = client.next(&mut batches).await? {
        for route in &batch.routes {
            listing.add(route);
        }
        if listing.table.pending() >= INSTALMENT {
            let text = listing.table.render(&context.screen);
            context.print(&text)?;
        }
    }
    let text = listing.finish(&context.screen, limit);
    context.print(&text)
}

/// The table under construction.
struct Listing {
    rib: RibKind,
    table: Table,
    routes: u64,
    paths: u64,
}

impl Listing {
    fn new(rib: RibKind) -> Self {
        Self {
            rib,
            table: Table::new(&[
                Column::Text("FLAGS"),
                Column::Text("PREFIX"),
                Column::Text("NEXT HOP"),
                Column::Text("FROM"),
                Column::Number("LOCAL-PREF"),
                Column::Number("MED"),
                Column::Prose("AS PATH"),
            ]),
            routes: 0,
            paths: 0,
        }
    }

    /// Adds a line for each path. Each has the prefix, so that grep finds them all.
    fn add(&mut self, route: &Route) {
        self.routes += 1;
        for path in &route.paths {
            self.paths += 1;
            let flags = match self.rib {
                // What was sent has no standing here.
                RibKind::AdjRibOut => String::new(),
                _ => paths::flags(path, route.kernel.as_ref()),
            };
            self.table.row([
                flags.into(),
                route.prefix.as_str().into(),
                paths::next_hops(path).into(),
                paths::source(path).into(),
                paths::optional(path.local_pref).into(),
                paths::optional(path.med).into(),
                paths::as_path(path).into(),
            ]);
        }
    }

    /// The lines that are left, the legend and the totals.
    fn finish(&mut self, screen: &Screen, limit: u32) -> String {
        if self.routes == 0 {
            return "no routes\n".to_owned();
        }
        let mut text = match self.table.pending() {
            0 => String::new(),
            _ => self.table.render(screen),
        };
        text.push('\n');
        if self.rib != RibKind::AdjRibOut {
            text += paths::LEGEND;
        }
        text += &format!(
            "{}, {}",
            count(self.routes, "route"),
            count(self.paths, "path")
        );
        if limit > 0 && self.routes >= limit.into() {
            text += " (--limit reached; there may be more)";
        }
        text + "\n"
    }
}

/// Rows that are laid out together; a screenful many times over.
const INSTALMENT: usize = 2000;

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};
    use crate::{documentation, fixtures};

    fn args(line: &[&str]) -> RoutesArgs {
        match Cli::try_parse_from(["weft", "routes"].iter().chain(line))
            .unwrap()
            .command
        {
            Command::Routes(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn routes_of_every_kind() {
        let mut listing = Listing::new(RibKind::LocRib);
        for route in fixtures::routes() {
            listing.add(&route);
        }
        let text = listing.finish(&Screen::of_test(), 0);
        insta::assert_snapshot!(text);
        documentation::assert_shows(&text);
    }

    #[test]
    fn what_was_sent_has_no_flags() {
        let mut listing = Listing::new(RibKind::AdjRibOut);
        listing.add(&fixtures::routes()[1]);
        let text = listing.finish(&Screen::of_test(), 0);
        assert!(!text.contains("*k"), "{text}");
        assert!(!text.contains("best"), "{text}");
    }

    #[test]
    fn a_reached_limit_is_said() {
        let mut listing = Listing::new(RibKind::LocRib);
        for route in fixtures::routes().iter().take(2) {
            listing.add(route);
        }
        let text = listing.finish(&Screen::of_test(), 2);
        assert!(
            text.ends_with("(--limit reached; there may be more)\n"),
            "{text}"
        );
    }

    #[test]
    fn no_routes_are_said_to_be_none() {
        assert_eq!(
            Listing::new(RibKind::LocRib).finish(&Screen::of_test(), 0),
            "no routes\n"
        );
    }

    #[test]
    fn an_address_means_what_contains_it() {
        assert_eq!(wanted_match(&args(&["10.244.1.5"])), Match::Covering);
        assert_eq!(wanted_match(&args(&["10.244.1.0/26"])), Match::Exact);
        assert_eq!(
            wanted_match(&args(&["10.244.0.0/16", "--within"])),
            Match::Within
        );
        assert_eq!(
            wanted_match(&args(&["10.244.1.0/26", "--covering"])),
            Match::Covering
        );
    }
}
