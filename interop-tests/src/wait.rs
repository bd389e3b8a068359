//! Waiting for a condition instead of sleeping.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use crate::interrupt;

/// Polls `check` until it yields a value, and returns that.
///
/// `Ok(None)` means "not yet". So does an `Err`: its text should say what was seen instead, because the last one
/// becomes the explanation when time is up. An error that carries [`Fatal`] ends the wait at once.
///
/// # Errors
/// When `timeout` has passed, when `check` says [`Fatal`], and when the user has interrupted the program.
pub fn wait_until<T>(
    timeout: Duration,
    what: &str,
    mut check: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let start = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        interrupt::check()?;
        let outcome = check();
        if let Ok(Some(value)) = outcome {
            return Ok(value);
        }
        let error = outcome.err();
        if let Some(fatal) = error.as_ref().filter(|e| e.is::<Fatal>()) {
            return Err(anyhow!("{fatal:#}")).with_context(|| format!("while waiting for {what}"));
        }
        if start.elapsed() >= timeout {
            let seen = error.unwrap_or_else(|| anyhow!("the condition did not hold"));
            return Err(seen).with_context(|| {
                format!("no {what} within {:.1} s; last seen", timeout.as_secs_f64())
            });
        }
        std::thread::sleep(pause);
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

/// Marks an error that no waiting mends: a daemon has ended, a file is malformed.
#[derive(Debug)]
pub struct Fatal(String);

impl Fatal {
    /// An error that ends [`wait_until`] at once.
    pub fn error(reason: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Self(reason.into()))
    }
}

impl fmt::Display for Fatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fatal {}

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn the_last_state_seen_explains_a_timeout() {
        let mut tries = 0;
        let error = wait_until::<()>(Duration::from_millis(30), "route to x", || {
            tries += 1;
            bail!("try {tries}: table is empty")
        })
        .unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains("no route to x within 0.0 s"), "{text}");
        assert!(
            text.contains(&format!("try {tries}: table is empty")),
            "{text}"
        );
    }

    #[test]
    fn a_fatal_error_ends_the_wait_at_once() {
        let start = Instant::now();
        let error = wait_until::<()>(Duration::from_secs(60), "session", || {
            Err(Fatal::error("bgpd has ended").context("asked for sessions"))
        })
        .unwrap_err();
        assert!(start.elapsed() < Duration::from_secs(5));
        assert!(format!("{error:#}").contains("bgpd has ended"), "{error:#}");
    }
}
