//! The core's time, read from the system's monotonic clock.

use bgp_core::Instant;

/// Turns system time into the core's time and back. All threads share one.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Clock {
    start: std::time::Instant,
    wall_start: std::time::SystemTime,
}

impl Clock {
    /// A clock that starts now.
    pub(crate) fn start() -> Self {
        Self {
            start: std::time::Instant::now(),
            wall_start: std::time::SystemTime::now(),
        }
    }

    /// The present.
    pub(crate) fn now(self) -> Instant {
        let nanos = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Instant::from_nanos(nanos)
    }

    /// What to hand to a sleep that ends at `deadline`.
    pub(crate) fn deadline(self, deadline: Instant) -> tokio::time::Instant {
        let offset = std::time::Duration::from_nanos(deadline.as_nanos());
        tokio::time::Instant::from_std(self.start + offset)
    }

    /// Wall-clock time of a point in this run, for display.
    pub(crate) fn wall(self, at: Instant) -> std::time::SystemTime {
        self.wall_start + std::time::Duration::from_nanos(at.as_nanos())
    }
}
