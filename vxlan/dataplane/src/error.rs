//! What can go wrong: starting, and single operations.

use std::fmt;
use std::io;

/// Why there is no dataplane.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This platform has no backend yet.
    #[error("weft can't program the network of {platform} hosts yet; run without the kernel")]
    Unsupported {
        /// The operating system.
        platform: &'static str,
    },
    /// A netlink socket can't be opened.
    #[error("netlink socket: {0}")]
    Socket(#[source] io::Error),
    /// The thread that the dataplane runs on can't be started.
    #[error("thread of the dataplane: {0}")]
    Thread(#[source] io::Error),
}

/// Why the kernel, or what stands before it, refused an object. The text is for people and has the kernel's own words.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub struct KernelError {
    /// As in `errno.h`.
    pub errno: i32,
    /// What `errno` means, and what the kernel said about it.
    pub text: String,
}

impl KernelError {
    /// An error with the meaning of `errno` as its text, and the kernel's words behind it if there are any.
    #[must_use]
    pub fn new(errno: i32, words: Option<&str>) -> Self {
        // The standard library appends " (os error N)", which says nothing to people.
        let meaning = io::Error::from_raw_os_error(errno).to_string();
        let meaning = meaning
            .split(" (os error")
            .next()
            .unwrap_or_default()
            .to_owned();
        let text = match words.map(|words| words.trim().trim_end_matches('.')) {
            Some(words) if !words.is_empty() => format!("{meaning} ({words})"),
            _ => meaning,
        };
        Self { errno, text }
    }
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for KernelError {}
