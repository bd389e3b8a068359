//! Ctrl-C, SIGTERM and SIGHUP as an error that unwinds.
//!
//! Nothing is cleaned up in a signal handler. The handler only raises a flag; every wait and every command of the
//! harness looks at it and returns [`Interrupted`], so that the usual `Drop`s take everything down in order.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};

/// Turns SIGINT, SIGTERM and SIGHUP into [`Interrupted`] from now on. Call once, from a program; tests have no need.
///
/// # Errors
/// When the handlers can't be installed.
pub fn catch_signals() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("runtime for signals")?;
    let (ready, armed) = std::sync::mpsc::channel();
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                let kinds = [
                    SignalKind::interrupt(),
                    SignalKind::terminate(),
                    SignalKind::hangup(),
                ];
                let streams: std::io::Result<Vec<_>> = kinds.into_iter().map(signal).collect();
                let [mut interrupt, mut terminate, mut hangup] =
                    match streams.map(<[_; 3]>::try_from) {
                        Ok(Ok(streams)) => {
                            let _ = ready.send(Ok(()));
                            streams
                        }
                        Ok(Err(_)) => return,
                        Err(error) => {
                            let _ = ready.send(Err(error));
                            return;
                        }
                    };
                loop {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = terminate.recv() => {}
                        _ = hangup.recv() => {}
                    }
                    if INTERRUPTED.swap(true, Ordering::SeqCst) {
                        eprintln!("still taking everything down, please wait");
                    }
                }
            });
        })
        .context("thread for signals")?;
    armed
        .recv()
        .context("thread for signals")?
        .context("signal handlers")
}

/// True once a signal has come.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// An error once a signal has come.
///
/// # Errors
/// [`Interrupted`].
pub fn check() -> Result<()> {
    if interrupted() {
        Err(Interrupted.into())
    } else {
        Ok(())
    }
}

/// Returns when a signal comes.
pub fn wait() {
    while !interrupted() {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The user wants the program to end.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
