//! `weft`: the command line client of weftd.
//!
//! Everything it knows comes over weftd's gRPC API; it keeps no state. `cli` says what can be asked, `commands` asks
//! and tells the answer, `output` is how answers look. docs/cli.md shows every command.

mod cli;
mod client;
mod commands;
mod destination;
#[cfg(test)]
mod documentation;
mod error;
#[cfg(test)]
#[path = "../tests/fixtures/mod.rs"]
mod fixtures;
mod manifests;
mod output;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::commands::Outcome;
use crate::error::Error;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Changes) => ExitCode::from(EXIT_CHANGES),
        // `weft routes | head`: the reader has seen enough, and that is no failure.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            // Not eprintln!, which panics when stderr is closed.
            let _ = writeln!(io::stderr(), "weft: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<Outcome, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::Runtime)?;
    let mut out = BufWriter::new(io::stdout());
    let outcome = runtime.block_on(commands::run(cli, &mut out));
    // What was written before an error is part of the answer.
    let flushed = out.flush().map_err(Error::Output);
    // The runtime must not wait for anything, least of all for the daemon.
    runtime.shutdown_background();
    outcome.and_then(|outcome| flushed.map(|()| outcome))
}

/// `weft plan --exit-code` when there is something to do.
const EXIT_CHANGES: u8 = 2;
