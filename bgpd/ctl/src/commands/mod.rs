//! One file a command: it asks weftd, and renders the answer.
//!
//! Rendering is a function from message and screen to text, so that tests compare text. Nothing is printed but through
//! the [`Context`].

mod apply;
mod blocks;
mod explain;
mod paths;
mod peers;
mod routes;
mod status;
mod version;
mod vteps;
mod watch;

use std::io::Write;
use std::time::Duration;

use crate::cli::{Cli, Command};
use crate::client::{ApiAddress, Client};
use crate::error::Error;
use crate::output::json::{self, Described};
use crate::output::{Format, Screen};

/// How a command that did not fail ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It did what was asked.
    Done,
    /// A plan has changes, and its exit code was asked for.
    Changes,
}

/// What a command works with.
struct Context<'a> {
    api: ApiAddress,
    patience: Duration,
    format: Format,
    screen: Screen,
    out: &'a mut dyn Write,
}

/// Carries out what the command line says.
pub(crate) async fn run(cli: Cli, out: &mut dyn Write) -> Result<Outcome, Error> {
    let mut context = Context {
        patience: cli.options.patience(),
        api: cli.options.api,
        format: cli.options.output,
        screen: Screen::of_stdout(),
        out,
    };
    let context = &mut context;
    match cli.command {
        Command::Status => status::run(context).await?,
        Command::Peers { peer } => peers::run(context, peer).await?,
        Command::Routes(args) => routes::run(context, args).await?,
        Command::Vteps => vteps::run(context).await?,
        Command::Blocks { all } => blocks::run(context, all).await?,
        Command::Plan {
            manifests,
            apply,
            exit_code,
        } => return apply::plan(context, &manifests, apply, exit_code).await,
        Command::Apply { manifests, apply } => apply::apply(context, &manifests, apply).await?,
        Command::Validate { manifests, scope } => {
            apply::validate(context, &manifests, scope).await?;
        }
        Command::Watch { kinds } => watch::run(context, &kinds).await?,
        Command::Explain { destination } => explain::run(context, destination).await?,
        Command::Version => version::run(context).await?,
    }
    Ok(Outcome::Done)
}

impl Context<'_> {
    async fn connect(&self) -> Result<Client, Error> {
        Client::connect(&self.api, self.patience).await
    }

    fn print(&mut self, text: &str) -> Result<(), Error> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Prints a message in the form that was asked for.
    fn tell<M: Described>(
        &mut self,
        message: &M,
        render: impl FnOnce(&Screen, &M) -> String,
    ) -> Result<(), Error> {
        match self.format {
            Format::Json => Ok(json::write_pretty(self.out, message)?),
            Format::Table => {
                let text = render(&self.screen, message);
                self.print(&text)
            }
        }
    }
}
