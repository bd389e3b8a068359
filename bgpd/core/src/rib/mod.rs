//! One slice of the prefix space: Adj-RIB-In, decision, Loc-RIB and update groups.
//!
//! ```text
//!  Update ─▶ import ─▶ paths (Adj-RIB-In) ─▶ decision ─▶ Loc-RIB ─┬─▶ Fib
//!                                                                 └─▶ export ─▶ Send
//! ```
//!
//! - `shard`: the state machine, [`Shard`]; `event` and `settings` are its alphabet, `view` its answers.
//! - `ids`, `attributes` (`stored`), `next_hops`, `prefixes`, `paths` (in a `slab`), `fib`: everything is interned or has a dense index.
//! - `table`: one family; `import`, `decision` and `walk` work on it. `life` tells which paths count.
//! - `export`: update groups.
//! - `query`, `explain`: read-only questions.
//!
//! Memory for a million IPv4 prefixes from one peer: 28 MB for prefixes and Loc-RIB, 16 MB for paths, 6 MB for each update
//! group, and the distinct attribute sets. A second peer with the same prefixes: 16 to 24 MB. IPv6 takes 12 MB more.

mod attributes;
mod decision;
mod event;
mod explain;
mod export;
mod fib;
mod ids;
mod import;
mod life;
mod next_hops;
mod paths;
mod peers;
mod prefixes;
mod query;
mod settings;
mod shard;
mod shared;
mod slab;
mod slot_set;
mod stored;
mod table;
mod view;
mod walk;

#[cfg(test)]
mod tests;

pub use decision::Step;
pub use event::{Origination, Recipients, RibAction, RibEvent};
pub use export::GroupKey;
pub use fib::{FibChange, FibNextHop, FibRoute};
pub use next_hops::NextHopState;
pub use settings::{LocalNextHops, NextHopMode, RibPeer, ShardSettings};
pub use shard::Shard;
pub use view::{
    AdvertisementView, Explanation, FamilyCounts, GroupView, NotAdvertised, PathState, PathView,
    PeerCounts, PrefixFilter, RouteQuery, RouteTable, RouteView, SentRoute, Totals, Unusable,
};
