//! The lab's command line.

use clap::{Parser, ValueEnum};

/// A cluster of weft nodes in network namespaces, with a ToR, pods, and pings between all of them.
///
/// Builds weft, installs what is missing (BIRD or FRR), and leaves nothing behind when it ends. Needs root.
#[derive(Debug, Clone, Parser)]
#[command(name = "cargo lab", bin_name = "cargo lab")]
pub struct Options {
    /// How many nodes
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub nodes: u16,

    /// What the top-of-rack router is
    #[arg(long, value_enum, default_value_t = TorKind::Bird)]
    pub tor: TorKind,

    /// End after the checks, with exit code 0 when all passed and 1 otherwise, instead of waiting for Ctrl-C
    #[arg(long)]
    pub once: bool,

    /// Leave everything standing, also when a check failed; `cargo lab --clean` removes it
    #[arg(long)]
    pub keep: bool,

    /// Only remove what --keep has left
    #[arg(long, conflicts_with_all = ["nodes", "tor", "once", "keep"])]
    pub clean: bool,
}

/// A make of ToR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TorKind {
    /// BIRD 2
    Bird,
    /// FRR
    Frr,
    /// weft itself
    Weft,
}
