//! IPAM blocks, affinities and borrowed addresses, and the routes a node announces for them.
//!
//! ```text
//!   Block ────┐
//!   Affinity ─┼─> Ipam ──> routes (prefix -> node) ──> VXLAN: who holds which block or address
//!   Platform ─┘        ├─> announcements(node)     ──> BGP: what this node originates
//!                      └─> findings                ──> people: what contradicts itself, and what was done
//! ```
//!
//! The package is pure: no files, sockets, clocks or threads. [`Ipam`] is incremental, each change costs about the
//! size of one block and returns the [`Delta`] of the routes; the result never depends on the order of the changes.
//!
//! # Who owns a block
//!
//! 1. The block object's own `affinity` field is the truth. An affinity object that names another node is ignored
//!    and reported ([`Finding::OwnerMismatch`]).
//! 2. Where no block object is known for a CIDR, a confirmed affinity alone is trusted: Calico's renderer sees
//!    nothing but affinities, and a feed that carries no blocks has to work. Several confirmed affinities then
//!    resolve to the smallest node name, so that every node that sees the same data picks the same owner.
//! 3. A block that is marked deleted is known and belongs to nobody.
//!
//! # What is announced
//!
//! The owner announces the block if, in addition, its affinity is confirmed (an empty state is the confirmed of old
//! data). Addresses of the owner inside its block are never announced, the block covers them. An address that is
//! used by another node is *borrowed*: that node announces it as /32 or /128 while it uses it.
//!
//! # Windows
//!
//! HNS makes a block a connected subnet of its node. So blocks of Windows nodes are never lent and Windows nodes
//! never borrow; where the data says otherwise the address gets no route and a [`Finding`].

mod block;
mod finding;
mod ipam;
mod route;

pub use block::{
    Affinity, AffinityState, Allocation, Block, Owner, ParseAffinityStateError, ParseOwnerError,
    Platform, Usage, windows_reserved_ordinals,
};
pub use finding::Finding;
pub use ipam::Ipam;
pub use route::{Announcements, Delta, Route, RouteKind};
