//! What the dataplane tells.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::{KernelError, RouteClass};

/// News. A receiver that is slow misses none of them, but gets only the latest about each object.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum DataplaneEvent {
    /// A wanted route is in the kernel, or is not: once after it was wanted or changed (also when the kernel had it
    /// already), and again whenever that changes. Nothing is told of a route that is no longer wanted.
    Route {
        /// Where to.
        prefix: IpNet,
        /// Of the route that this is about. One that gives way to another class is told as an error.
        class: RouteClass,
        /// Whether the kernel has it.
        result: Result<(), KernelError>,
    },
    /// A tunnel device came up, went, or has another problem than before.
    Tunnel {
        /// Its name.
        device: String,
        /// What is wrong with it; `None`: it is as it should be.
        problem: Option<String>,
    },
    /// Neighbour or FDB entry of a VTEP: told like a route.
    Vtep {
        /// The tunnel device.
        device: String,
        /// The VTEP's address in the overlay.
        address: IpAddr,
        /// Whether the kernel has both.
        result: Result<(), KernelError>,
    },
    /// Everything was compared with the kernel.
    Resynced {
        /// Why.
        reason: ResyncReason,
    },
}

/// Why everything is compared with the kernel.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ResyncReason {
    /// The first time.
    Start,
    /// It is done every now and then.
    Periodic,
    /// The kernel told more than was read in time; some of it is lost.
    Overrun,
    /// A link or an address went, and routes with it, of which the kernel does not tell.
    LinkChange,
    /// The last time was not complete.
    Incomplete,
}

impl fmt::Display for ResyncReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::Periodic => "periodic",
            Self::Overrun => "overrun",
            Self::LinkChange => "link change",
            Self::Incomplete => "incomplete",
        })
    }
}
