//! How answers look: tables and pages for people, JSON for programs.
//!
//! A command turns a message into [`table::Table`]s and [`page::Page`]s. Both lay out [`cell::Cell`]s for a
//! [`Screen`], and a cell never lets a control character through: descriptions and shutdown texts come from the network.

pub(crate) mod cell;
pub(crate) mod conditions;
pub(crate) mod json;
pub(crate) mod notification;
pub(crate) mod page;
pub(crate) mod stdout;
pub(crate) mod table;
pub(crate) mod text;

use std::env;
use std::io::{self, IsTerminal};
use std::time::SystemTime;

use clap::ValueEnum;

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// The API's messages in proto3 JSON, 64-bit integers as numbers.
    Json,
}

/// What output is laid out for.
#[derive(Debug, Clone)]
pub(crate) struct Screen {
    /// Columns; `None` means that lines may be as long as they like.
    pub(crate) width: Option<u16>,
    /// Whether escape sequences for colours are wanted.
    pub(crate) colour: bool,
    /// The present: ages are told against it.
    pub(crate) now: SystemTime,
}

impl Screen {
    /// What stdout is connected to.
    pub(crate) fn of_stdout() -> Self {
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            width: comfy_table::Table::new().width(),
            colour: io::stdout().is_terminal() && !set("NO_COLOR") && !dumb,
            now: SystemTime::now(),
        }
    }
}

#[cfg(test)]
impl Screen {
    /// As wide as the documentation, without colour, at the fixtures' present.
    pub(crate) fn of_test() -> Self {
        Self {
            width: Some(120),
            colour: false,
            now: crate::fixtures::present(),
        }
    }
}
