//! `weft watch`: what is, then every change, one line each.

use std::collections::HashMap;
use std::pin::pin;
use std::time::SystemTime;

use prost_types::Timestamp;
use weft_proto::v1::peer::State;
use weft_proto::v1::watch_response::Event;
use weft_proto::v1::{Entry, EntryKey, Peer, Route, WatchKind, WatchRequest, WatchResponse, entry};

use crate::cli::Kind;
use crate::commands::{Context, blocks, paths, peers, status, vteps};
use crate::error::Error;
use crate::output::cell::{Cell, Tone};
use crate::output::text::{count, endpoint, or_dash};
use crate::output::{Format, Screen, json, stdout};

pub(super) async fn run(context: &mut Context<'_>, kinds: &[Kind]) -> Result<(), Error> {
    let client = context.connect().await?;
    let kinds = kinds.iter().map(|kind| WatchKind::from(*kind).into());
    let mut events = client
        .watch(WatchRequest {
            kinds: kinds.collect(),
        })
        .await?;
    let mut interrupted = pin!(tokio::signal::ctrl_c());
    let mut unread = pin!(stdout::closed());
    let mut narrator = Narrator::default();
    loop {
        let event = tokio::select! {
            biased;
            _ = &mut interrupted => return Ok(()),
            () = &mut unread => return Ok(()),
            event = client.next(&mut events) => event?.ok_or(Error::WatchEnded)?,
        };
        match context.format {
            Format::Json => {
                json::write_compact(context.out, &event)?;
                context.print("\n")?;
            }
            Format::Table => {
                context.screen.now = SystemTime::now();
                if let Some(line) = narrator.line(&context.screen, &event) {
                    context.print(&line)?;
                }
            }
        }
        context.out.flush()?;
    }
}

/// Turns events into lines. It remembers the peers' states, to say what they were.
#[derive(Debug, Default)]
struct Narrator {
    states: HashMap<String, State>,
}

impl Narrator {
    /// The event's line with its end; `None` when there is nothing to tell.
    fn line(&mut self, screen: &Screen, response: &WatchResponse) -> Option<String> {
        let told = match response.event.as_ref()? {
            Event::SnapshotBegin(begin) => {
                self.states.clear();
                if !begin.lagged {
                    return None;
                }
                Cell::new(
                    "-- lagged: changes were dropped; everything again --",
                    Tone::Notice,
                )
            }
            Event::SnapshotEnd(_) => "-- watching --".into(),
            Event::Bookmark(_) => return None,
            Event::Upsert(entry) => {
                let (kind, text) = self.entry(screen, entry)?;
                line_of(kind, text)
            }
            Event::Delete(key) => self.gone(key),
        };
        Some(format!(
            "{}  {}\n",
            time_of_day(screen.now),
            told.painted(screen)
        ))
    }

    fn entry(&mut self, screen: &Screen, entry: &Entry) -> Option<(WatchKind, Cell)> {
        Some(match entry.entry.as_ref()? {
            entry::Entry::Peer(peer) => (WatchKind::Peer, self.peer(screen, peer)),
            entry::Entry::Route(route) => (WatchKind::Route, route_line(route)),
            entry::Entry::Vtep(vtep) => (WatchKind::Vtep, vteps::summary(vtep).into()),
            entry::Entry::Block(block) => (WatchKind::Block, blocks::summary(block).into()),
            entry::Entry::Status(daemon) => (WatchKind::Status, status::summary(daemon).into()),
        })
    }

    fn peer(&mut self, screen: &Screen, peer: &Peer) -> Cell {
        let name = format!(
            "{} {}",
            or_dash(&peer.name),
            endpoint(&peer.address, peer.port)
        );
        let before = self.states.insert(name.clone(), peer.state());
        let mut text = format!("{name} {}", peers::state_name(peer.state()));
        if let Some(before) = before.filter(|before| *before != peer.state()) {
            text += &format!(" (was {})", peers::state_name(before));
        }
        let received: u64 = peer.families.iter().map(|family| family.received).sum();
        let advertised: u64 = peer.families.iter().map(|family| family.advertised).sum();
        let tone = if peer.state() == State::Established {
            text += &format!(
                ", {} received, {advertised} advertised",
                count(received, "route")
            );
            Tone::Good
        } else {
            Tone::Notice
        };
        let reason = peers::reason(screen, peer);
        if !reason.is_empty() {
            text += &format!("; {}", reason.text());
        }
        Cell::new(text, tone)
    }

    fn gone(&mut self, key: &EntryKey) -> Cell {
        line_of(
            key.kind(),
            Cell::new(format!("{} gone", key.key), Tone::Bad),
        )
    }
}

fn line_of(kind: WatchKind, text: Cell) -> Cell {
    let kind = match kind {
        WatchKind::Peer => "peer",
        WatchKind::Route => "route",
        WatchKind::Vtep => "vtep",
        WatchKind::Block => "block",
        WatchKind::Status => "status",
        WatchKind::Unspecified => "-",
    };
    let line = format!("{kind:<6}  {}", text.text());
    text.with_text(line)
}

fn route_line(route: &Route) -> Cell {
    let used: Vec<String> = route
        .paths
        .iter()
        .filter(|path| path.best || path.multipath)
        .map(|path| {
            format!(
                "via {} from {}",
                paths::next_hops(path),
                paths::source(path)
            )
        })
        .collect();
    let mut text = match used.as_slice() {
        [] => format!("{} unreachable", route.prefix),
        ways => format!("{} {}", route.prefix, ways.join(" and ")),
    };
    let mut tone = Tone::Plain;
    if let Some(kernel) = &route.kernel {
        text += match (kernel.error.as_str(), kernel.installed) {
            ("", true) => "; in the kernel",
            ("", false) => "; not yet in the kernel",
            _ => "; the kernel refused it: ",
        };
        text += &kernel.error;
        if !kernel.error.is_empty() {
            tone = Tone::Bad;
        }
    }
    Cell::new(text, tone)
}

/// RFC 3339, in whole seconds: the same clock and form as weftd's log.
fn time_of_day(now: SystemTime) -> String {
    let mut now = Timestamp::from(now);
    now.nanos = 0;
    now.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{documentation, fixtures};

    fn told(events: Vec<WatchResponse>) -> String {
        let mut narrator = Narrator::default();
        events
            .iter()
            .filter_map(|event| narrator.line(&Screen::of_test(), event))
            .collect()
    }

    #[test]
    fn a_snapshot_then_changes() {
        let text = told(fixtures::events(fixtures::present()));
        insta::assert_snapshot!(text);
        documentation::assert_shows(&text);
    }

    #[test]
    fn a_watcher_that_lags_is_told_and_forgets_what_it_knew() {
        let mut events = fixtures::events(fixtures::present());
        let snapshot: Vec<WatchResponse> = events.drain(..2).collect();
        let lagged = fixtures::lagged();
        let text = told([snapshot.clone(), vec![lagged], snapshot].concat());
        assert!(text.contains("-- lagged: changes were dropped; everything again --"));
        assert!(!text.contains("(was"), "{text}");
    }

    #[test]
    fn a_bookmark_is_no_news() {
        assert_eq!(told(vec![fixtures::bookmark()]), "");
    }
}
