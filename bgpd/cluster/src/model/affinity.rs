//! BlockAffinity: a node's claim to a block.

use ipnet::IpNet;
use routeagg::{Affinity, AffinityState};

use super::Metadata;

/// A node's claim to a block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockAffinity {
    /// Name, such as `node-a-10-244-1-64-26`.
    pub metadata: Metadata,
    /// `state`.
    pub state: AffinityState,
    /// `node`: who claims; a virtual owner's name when `kind` says so.
    pub node: String,
    /// `type`.
    pub kind: AffinityType,
    /// `cidr`: the block.
    pub cidr: IpNet,
    /// `deleted`: on its way out.
    pub deleted: bool,
}

/// What kind of owner claims a block.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub enum AffinityType {
    /// A node.
    #[default]
    Host,
    /// Something that is no node, such as `load-balancer`.
    Virtual,
}

impl BlockAffinity {
    /// The claim as `routeagg` wants it; `None` for virtual owners, which have no routes.
    #[must_use]
    pub fn to_affinity(&self) -> Option<Affinity> {
        (self.kind == AffinityType::Host).then(|| Affinity {
            cidr: self.cidr,
            node: self.node.clone(),
            state: self.state,
            deleted: self.deleted,
        })
    }
}
