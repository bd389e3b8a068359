//! The command line: what can be asked, and how.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use weft_proto::v1;

use crate::client::ApiAddress;
use crate::destination::Destination;
use crate::output::Format;

/// Looks into weftd, the routing daemon of this node, and gives it its objects.
#[derive(Debug, Parser)]
#[command(name = "weft", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) options: Options,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command understands.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Where weftd answers: a Unix socket.
    #[arg(
        long,
        global = true,
        env = "WEFT_API",
        value_name = "ADDRESS",
        default_value = "unix:///run/weft/weft.sock"
    )]
    pub(crate) api: ApiAddress,

    /// Form of the output: tables for people, JSON for programs.
    #[arg(
        short,
        long,
        global = true,
        env = "WEFT_OUTPUT",
        value_name = "FORM",
        default_value = "table"
    )]
    pub(crate) output: Format,

    /// How long to wait for an answer, in seconds.
    #[arg(long, global = true, value_name = "SECONDS", default_value = "30")]
    timeout: NonZeroU64,
}

impl Options {
    /// How long to wait for an answer.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout.get())
    }
}

/// What is asked.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The daemon in one page: sessions, routes, kernel, overlay, and what is wrong.
    Status,
    /// The BGP neighbours, or everything about one of them.
    Peers {
        /// Address or name, for example 10.0.0.7, mesh/node-2 or node-2.
        #[arg(value_name = "ADDRESS")]
        peer: Option<String>,
    },
    /// Routes: the best ones, or what one neighbour sent or was sent.
    Routes(RoutesArgs),
    /// The overlay: this node's tunnels and the tunnel ends of the others.
    Vteps,
    /// Address blocks of this node.
    Blocks {
        /// Blocks of all nodes.
        #[arg(long)]
        all: bool,
    },
    /// What an apply of manifests would change, and what that costs.
    Plan {
        #[command(flatten)]
        manifests: ManifestArgs,
        #[command(flatten)]
        apply: ApplyArgs,
        /// End with code 2 when something would change.
        #[arg(long)]
        exit_code: bool,
    },
    /// Makes manifests the full state of their scope: what is absent from them is removed.
    Apply {
        #[command(flatten)]
        manifests: ManifestArgs,
        #[command(flatten)]
        apply: ApplyArgs,
    },
    /// Checks manifests and changes nothing.
    Validate {
        #[command(flatten)]
        manifests: ManifestArgs,
        #[command(flatten)]
        scope: ScopeArg,
    },
    /// What is, then every change, until Ctrl-C.
    Watch {
        /// What to watch; everything when absent.
        kinds: Vec<Kind>,
    },
    /// Why a destination is routed as it is: paths, kernel, announcements, block, overlay.
    Explain {
        /// A prefix, or an address (its longest match).
        #[arg(value_name = "PREFIX|ADDRESS")]
        destination: Destination,
    },
    /// Version of this client and of the daemon.
    Version,
}

/// Which routes.
#[derive(Debug, Args)]
pub(crate) struct RoutesArgs {
    /// Exactly this prefix; an address means every prefix that contains it.
    #[arg(value_name = "PREFIX")]
    pub(crate) destination: Option<Destination>,
    /// Which table; loc-rib, or adj-rib-in when there is a --peer.
    #[arg(long)]
    pub(crate) table: Option<RibTable>,
    /// The neighbour (address or name) whose Adj-RIB is meant.
    #[arg(
        long,
        value_name = "ADDRESS",
        required_if_eq_any([("table", "adj-rib-in"), ("table", "adj-rib-out")])
    )]
    pub(crate) peer: Option<String>,
    /// Only this family.
    #[arg(long)]
    pub(crate) family: Option<Family>,
    /// The prefix and what lies inside it.
    #[arg(long, requires = "destination", conflicts_with = "covering")]
    pub(crate) within: bool,
    /// The prefix and what contains it.
    #[arg(long, requires = "destination")]
    pub(crate) covering: bool,
    /// At most so many routes; 0 means all.
    #[arg(long, value_name = "ROUTES", default_value_t = 0)]
    pub(crate) limit: u32,
}

/// Where manifests come from.
#[derive(Debug, Args)]
pub(crate) struct ManifestArgs {
    /// A file, a directory (its *.yaml, *.yml and *.json), or - for stdin; may be repeated.
    #[arg(short = 'f', long = "file", required = true, value_name = "FILE|DIR|-")]
    pub(crate) files: Vec<PathBuf>,
}

/// Whose objects they are.
#[derive(Debug, Args)]
pub(crate) struct ScopeArg {
    /// Owner of the objects; other owners' objects are never touched.
    #[arg(long, default_value = "cli")]
    pub(crate) scope: String,
}

/// How changes are made.
#[derive(Debug, Args)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) scope: ScopeArg,
    /// Park changes that need a session reset; such peers show the condition PendingReset.
    #[arg(long)]
    pub(crate) no_session_reset: bool,
}

/// A table of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RibTable {
    /// The best routes, from all neighbours.
    LocRib,
    /// What a neighbour sent, before import policy.
    AdjRibIn,
    /// What a neighbour was sent.
    AdjRibOut,
}

impl From<RibTable> for v1::list_routes_request::Table {
    fn from(table: RibTable) -> Self {
        match table {
            RibTable::LocRib => Self::LocRib,
            RibTable::AdjRibIn => Self::AdjRibIn,
            RibTable::AdjRibOut => Self::AdjRibOut,
        }
    }
}

/// An address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Family {
    #[value(alias = "ipv4-unicast")]
    Ipv4,
    #[value(alias = "ipv6-unicast")]
    Ipv6,
}

impl Family {
    /// The family's name in the API.
    pub(crate) fn api_name(self) -> &'static str {
        match self {
            Self::Ipv4 => "ipv4-unicast",
            Self::Ipv6 => "ipv6-unicast",
        }
    }
}

/// What can be watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    #[value(alias = "peers")]
    Peer,
    #[value(alias = "routes")]
    Route,
    #[value(alias = "vteps")]
    Vtep,
    #[value(alias = "blocks")]
    Block,
    Status,
}

impl From<Kind> for v1::WatchKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Peer => Self::Peer,
            Kind::Route => Self::Route,
            Kind::Vtep => Self::Vtep,
            Kind::Block => Self::Block,
            Kind::Status => Self::Status,
        }
    }
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed or refused, 2 wrong usage (and, for `plan --exit-code`: there are changes).
Colours appear only on a terminal, and not when NO_COLOR is set.";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn tcp_is_refused_with_the_reason_and_the_way_out() {
        let error = Cli::try_parse_from(["weft", "--api", "10.0.0.5:9090", "status"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ValueValidation);
        let text = error.to_string();
        assert!(text.contains("mutual TLS"), "{text}");
        assert!(text.contains("ssh -L"), "{text}");
    }

    #[test]
    fn an_adj_rib_needs_a_peer() {
        let error = Cli::try_parse_from(["weft", "routes", "--table", "adj-rib-out"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingRequiredArgument);
    }

    #[test]
    fn within_needs_a_prefix_and_excludes_covering() {
        let alone = Cli::try_parse_from(["weft", "routes", "--within"]).unwrap_err();
        assert_eq!(alone.kind(), ErrorKind::MissingRequiredArgument);
        let both = Cli::try_parse_from(["weft", "routes", "10.0.0.0/8", "--within", "--covering"])
            .unwrap_err();
        assert_eq!(both.kind(), ErrorKind::ArgumentConflict);
    }

    #[test]
    fn options_may_follow_the_command() {
        let cli = Cli::try_parse_from(["weft", "peers", "-o", "json", "--timeout", "5"]).unwrap();
        assert_eq!(cli.options.output, Format::Json);
        assert_eq!(cli.options.patience(), Duration::from_secs(5));
    }
}
