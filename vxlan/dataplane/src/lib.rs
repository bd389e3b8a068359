//! What the host's network should be against what it is, and the system calls between the two.
//!
//! ```text
//!   update_routes ─┐              ┌─────────────┐  batches of operations   ┌─────────┐
//!   set_overlay  ──┼─▶ task ─────▶│ reconcile   │─────────────────────────▶│ backend │ Linux: netlink
//!   complete     ──┘   │          │ (pure)      │◀──── one result each ────│         │ Fake: memory
//!                      │          │ wanted      │                          └────┬────┘
//!   events, snapshot ◀─┘          │ actual      │◀──── what others changed ─────┘
//!                                 └─────────────┘      (monitor, full checks)
//! ```
//!
//! Callers say what they want, never what to do: routes by prefix and [`RouteClass`], the overlay as a whole
//! ([`vxlan::Overlay`]). The difference to what the kernel has is kept incrementally and written in batches; each
//! operation has its own result, one that fails never holds up another, and it is tried again. What something else
//! changes behind weft's back is repaired as soon as the kernel tells.
//!
//! # What is weft's
//!
//! - Routes: protocol [`ROUTE_PROTOCOL`], table main, metric [`ROUTE_METRIC`]. A route of somebody else at exactly this
//!   place (prefix, table, metric) is replaced and reported; any other is never touched.
//! - VXLAN devices: those with a name that the overlay uses, and those with the alias [`DEVICE_ALIAS`].
//! - On these devices, neighbours of protocol [`ROUTE_PROTOCOL`] and FDB entries marked `extern_learn`. Permanent entries
//!   without the mark are kept, and reported.
//!
//! # No gaps
//!
//! What is new is written before what is old is removed, and changes replace in one step. After a start everything of an
//! earlier life is adopted, and nothing of it is removed before [`Dataplane::complete`]. [`Dataplane::shutdown`] leaves
//! the kernel as it is.

mod error;
mod event;
#[cfg(test)]
mod fake;
mod handle;
pub mod host;
#[cfg(target_os = "linux")]
mod linux;
mod object;
mod reconcile;
mod route;
mod settings;
mod snapshot;
#[cfg(target_os = "linux")]
mod task;

pub use error::{Error, KernelError};
pub use event::{DataplaneEvent, ResyncReason};
pub use handle::{Dataplane, spawn};
pub use route::{RouteChange, RouteClass, RouteNextHop, RouteSpec};
pub use settings::{Backend, Settings};
pub use snapshot::{
    Counters, DeviceStatus, EntryState, RouteState, RouteStatus, Snapshot, TunnelStatus, VtepStatus,
};

/// The routing protocol number of weft's routes and neighbours: `ip route show proto 87`.
pub const ROUTE_PROTOCOL: u8 = 87;

/// The metric of weft's routes, for IPv4 and IPv6 alike (Calico's `ipv4NormalRoutePriority`).
pub const ROUTE_METRIC: u32 = 1024;

/// The alias of weft's VXLAN devices, by which a later life knows them: `ip link show`.
pub const DEVICE_ALIAS: &str = "weft";
