//! UPDATE (RFC 4271 section 4.3): routes that come and routes that go.
//!
//! ```text
//!   body ─▶ decode: sections ─▶ attr::decode ─▶ nlri, next_hop ─▶ verdict (RFC 7606) ─▶ UpdateMessage
//!   Nlri, NextHop, AttributeBlock ─▶ encode: as many full messages as it takes
//! ```
//!
//! IPv4 unicast travels in the message's own fields, every other family in MP_REACH_NLRI and MP_UNREACH_NLRI (RFC 4760).
//! Which bytes a family's NLRI have is known in one place, `nlri`.

pub(crate) mod decode;
mod encode;
mod next_hop;
mod nlri;

use crate::attr::{AttributeFault, Attributes};
use crate::family::Family;

pub use encode::{EncodeError, encode_end_of_rib, pack_reach, pack_unreach};
pub use next_hop::NextHop;
pub use nlri::{Nlri, PathId};

/// A received UPDATE, with the faults that RFC 7606 lets pass dealt with.
///
/// Apply `unreach` before `reach`: a prefix that is in both is announced (RFC 4271 section 4.3).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct UpdateMessage {
    /// Of all routes in `reach`; there exactly when there are some.
    pub attributes: Option<Attributes>,
    /// Routes that are announced. No entry is without NLRI.
    pub reach: Vec<Reach>,
    /// Routes that are withdrawn, and those that are treated as if they were. No entry is without NLRI.
    pub unreach: Vec<Unreach>,
    /// All initial routes of the family have been sent (RFC 4724 section 2).
    pub end_of_rib: Option<Family>,
    /// What was wrong, in the order of the message, and what came of it; for logs and counters.
    pub faults: Vec<AttributeFault>,
}

/// Routes that are announced with one next hop.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reach {
    /// Of all routes.
    pub family: Family,
    /// Of all routes.
    pub next_hop: NextHop,
    /// The routes.
    pub nlri: Vec<Nlri>,
}

/// Routes that are withdrawn.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unreach {
    /// Of all routes.
    pub family: Family,
    /// The routes.
    pub nlri: Vec<Nlri>,
}
