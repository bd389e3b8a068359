//! How the dataplane runs.

use std::time::Duration;

/// Which network is programmed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Backend {
    /// This host's, in the network namespace of the thread that calls [`crate::spawn`].
    Host,
}

/// Settings of the dataplane.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Time between two comparisons of everything with the kernel. With so many routes that one takes long, it is
    /// stretched to keep them below one fiftieth of the time.
    pub full_check: Duration,
    /// First pause before what the kernel refused is tried again; it doubles each time. Changes of links, addresses and
    /// routes end it early.
    pub retry: Duration,
    /// The longest such pause.
    pub retry_limit: Duration,
}

impl Default for Settings {
    /// 60 s between checks; retries after 1 s up to 60 s.
    fn default() -> Self {
        Self {
            full_check: Duration::from_secs(60),
            retry: Duration::from_secs(1),
            retry_limit: Duration::from_secs(60),
        }
    }
}
