//! Calico-style resources, and the plan of what one node does with them.
//!
//! ```text
//!   manifests ──read_manifest──> Object ─┐
//!   API ────────────validate──> Object ──┴─> Snapshot ──plan──> Plan ──diff──> what to change, and what it costs
//!                                               └──check──> findings between objects
//! ```
//!
//! The package is pure: values in, values out. It opens no file, reads no clock, and iterates in sorted order only,
//! so that the same objects always give the same plan.

mod asn;
mod finding;
pub mod manifest;
pub mod model;
pub mod plan;
mod router_id;
mod selector;
mod snapshot;

pub use asn::{Asn, ParseAsnError};
pub use finding::{Finding, Severity};
pub use manifest::{Located, Manifest, ManifestError, ManifestWarning, read_json, read_manifest};
pub use model::{FieldError, Kind, Object, ObjectKey, advise, validate};
pub use plan::{Local, Plan, PlanChange, PlanError, Planned, plan};
pub use router_id::{RouterIdSource, hashed_router_id};
pub use selector::{ParseSelectorError, Selector};
pub use snapshot::Snapshot;

/// The operating system of a node, as `routeagg` has it.
pub use routeagg::Platform;
