//! Log output: one line per event on standard error.

use anyhow::Context;
use tracing_subscriber::EnvFilter;

use crate::flags::LogFormat;

/// Starts writing logs.
///
/// # Errors
/// When `level` is not a level or list of directives.
pub fn start(level: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(level).with_context(|| format!("--log-level {level}"))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => lines
            .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
            .init(),
        LogFormat::Json => lines.json().init(),
    }
    Ok(())
}
