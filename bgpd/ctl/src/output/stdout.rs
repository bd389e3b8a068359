//! Notices that nobody reads stdout any more, without writing to it.
//!
//! A quiet watch writes nothing for hours and would otherwise outlive the `head` behind it.

/// Ends when the reader of stdout goes away; never when stdout is something that has no reader.
#[cfg(unix)]
pub(crate) async fn closed() {
    if wait_for_error().await.is_err() {
        // A regular file cannot be polled (EPERM): it has no reader that could leave.
        std::future::pending().await
    }
}

#[cfg(unix)]
#[allow(unsafe_code, reason = "tokio's AsyncFd has no safe constructor")]
async fn wait_for_error() -> std::io::Result<()> {
    use std::os::fd::AsFd;

    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    let stdout = std::io::stdout().as_fd().try_clone_to_owned()?;
    // SAFETY: the descriptor is our own duplicate; the `AsyncFd` owns it, and nothing else can close or replace it.
    let stdout = unsafe { AsyncFd::register_with_interest(stdout, Interest::ERROR) }?;
    let _ready = stdout.ready(Interest::ERROR).await?;
    Ok(())
}

/// Not to be noticed on this platform; the next write fails instead.
#[cfg(not(unix))]
pub(crate) async fn closed() {
    std::future::pending().await
}
