//! What can go wrong, in words for the person at the terminal.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tonic::{Code, Status};

use crate::client::ApiAddress;
use crate::output::text::{count, os_words};

/// Why a command did not succeed. The text follows "weft: ".
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(
        "no daemon answers at {api} ({}); is weftd running? Another address: --api or WEFT_API",
        os_words(source)
    )]
    NoDaemon { api: ApiAddress, source: io::Error },

    #[error(
        "may not open {api} ({}); run weft as root, or as a member of the group that the socket belongs to",
        os_words(source)
    )]
    NotPermitted { api: ApiAddress, source: io::Error },

    #[error("{api} cannot be used ({}); is it weftd's socket?", os_words(source))]
    NoSocket { api: ApiAddress, source: io::Error },

    #[error("{api} does not speak weftd's API ({reason}); is it weftd's socket?")]
    NotWeftd { api: ApiAddress, reason: String },

    #[error("the connection to weftd at {api} broke ({reason}); did weftd stop?")]
    Lost { api: ApiAddress, reason: String },

    #[error(
        "weftd at {api} did not answer within {} s; wait longer with --timeout (an apply that has \
         arrived is carried out in any case)",
        patience.as_secs()
    )]
    NoAnswer { api: ApiAddress, patience: Duration },

    #[error("{}", refusal(.0))]
    Refused(Box<Status>),

    #[error("{}", listed(.0))]
    Manifests(Vec<ManifestError>),

    #[error("{} in the manifests; nothing was changed", count(*errors, "error"))]
    NotAccepted { errors: usize },

    #[error("no peer is called {0}; `weft peers` lists them")]
    NoSuchPeer(String),

    #[error("{name} names several peers ({}); give the address", addresses.join(", "))]
    AmbiguousPeer {
        name: String,
        addresses: Vec<String>,
    },

    #[error("no peer has the address {0}; `weft peers` lists them")]
    NoPeerAt(String),

    #[error(
        "--table loc-rib has the routes of all peers; with --peer choose adj-rib-in or adj-rib-out"
    )]
    LocRibOfPeer,

    #[error("weftd ended the watch")]
    WatchEnded,

    #[error("cannot write the output: {}", os_words(.0))]
    Output(#[from] io::Error),

    #[error("cannot start: {}", os_words(.0))]
    Runtime(#[source] io::Error),
}

impl Error {
    /// True when nobody reads the output any more.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Why a manifest could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManifestError {
    #[error("cannot read {}: {}", path.display(), os_words(source))]
    Unreadable { path: PathBuf, source: io::Error },

    #[error("{} is not UTF-8 text", path.display())]
    NotText { path: PathBuf },

    #[error(
        "{} holds no *.yaml, *.yml or *.json; to remove all objects of the scope, give an empty file",
        path.display()
    )]
    EmptyDirectory { path: PathBuf },

    #[error("stdin can be read only once; give -f - once")]
    StdinTwice,
}

/// The daemon's own words, or the next best thing.
fn refusal(status: &Status) -> String {
    match (status.message(), status.code()) {
        ("", Code::Unimplemented) => {
            "weftd does not know this command; is it older than this client?".to_owned()
        }
        ("", code) => code.description().to_owned(),
        (message, _) => message.to_owned(),
    }
}

fn listed(errors: &[ManifestError]) -> String {
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    lines.join("\n      ")
}
