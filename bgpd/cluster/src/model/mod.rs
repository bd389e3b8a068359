//! The resources: Calico's, with all of their fields, checked and typed; plus a few optional additions of weft.
//!
//! Everything here is plain data with public fields. Manifests become objects in [`crate::manifest`]; an API that
//! builds objects by itself calls [`validate`] on each before it uses them.

mod advise;
mod affinity;
mod bgp_configuration;
mod bgp_peer;
mod block;
mod field;
mod node;
mod pool;
mod validate;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub use advise::advise;
pub use affinity::{AffinityType, BlockAffinity};
pub use bgp_configuration::{
    BgpConfiguration, BindMode, Community, LogSeverity, NamedCommunity, ParseCommunityError,
    PrefixAdvertisement, ProgramClusterRoutes, ServiceAggregation,
};
pub use bgp_peer::{
    BgpPeer, NextHopMode, ParsePeerAddressError, PeerAddress, ReversePeering, SourceAddress,
};
pub use block::{AllocationAttribute, IpamBlock};
pub use field::{FieldError, MacAddr, ParseMacAddrError, SecretKeyRef};
pub use node::{
    AddressType, Node, NodeAddress, NodeBgp, NodeInterface, NodeWireguard, OrchRef, platform_label,
};
pub use pool::{AllowedUse, AssignmentMode, Encapsulation, IpPool};
pub use validate::validate;

/// What an object is.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Kind {
    /// A cluster node.
    Node,
    /// Settings of BGP: `default` for the cluster, `node.NAME` for one node.
    BgpConfiguration,
    /// One or more BGP sessions.
    BgpPeer,
    /// A range of addresses for workloads.
    IpPool,
    /// A part of a pool that belongs to one node.
    IpamBlock,
    /// A node's claim to a block.
    BlockAffinity,
}

/// Names one object.
#[derive(Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct ObjectKey {
    /// What it is.
    pub kind: Kind,
    /// Its name, unique within the kind.
    pub name: String,
}

/// The part of Kubernetes' metadata that matters here; the rest is ignored.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Metadata {
    /// The object's name.
    pub name: String,
    /// Labels, which selectors look at.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

/// One resource.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// A cluster node.
    Node(Box<Node>),
    /// Settings of BGP.
    BgpConfiguration(Box<BgpConfiguration>),
    /// One or more BGP sessions.
    BgpPeer(Box<BgpPeer>),
    /// A range of addresses for workloads.
    IpPool(Box<IpPool>),
    /// A part of a pool that belongs to one node.
    IpamBlock(Box<IpamBlock>),
    /// A node's claim to a block.
    BlockAffinity(Box<BlockAffinity>),
}

/// A text that is none of the kinds that weft knows.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is not a kind that weft knows")]
pub struct ParseKindError(String);

impl Kind {
    /// Every kind that weft knows.
    pub const ALL: [Self; 6] = [
        Self::Node,
        Self::BgpConfiguration,
        Self::BgpPeer,
        Self::IpPool,
        Self::IpamBlock,
        Self::BlockAffinity,
    ];

    /// The name that manifests use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Node => "Node",
            Self::BgpConfiguration => "BGPConfiguration",
            Self::BgpPeer => "BGPPeer",
            Self::IpPool => "IPPool",
            Self::IpamBlock => "IPAMBlock",
            Self::BlockAffinity => "BlockAffinity",
        }
    }
}

impl Object {
    /// What the object is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Node(_) => Kind::Node,
            Self::BgpConfiguration(_) => Kind::BgpConfiguration,
            Self::BgpPeer(_) => Kind::BgpPeer,
            Self::IpPool(_) => Kind::IpPool,
            Self::IpamBlock(_) => Kind::IpamBlock,
            Self::BlockAffinity(_) => Kind::BlockAffinity,
        }
    }

    /// Name, labels and annotations.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        match self {
            Self::Node(object) => &object.metadata,
            Self::BgpConfiguration(object) => &object.metadata,
            Self::BgpPeer(object) => &object.metadata,
            Self::IpPool(object) => &object.metadata,
            Self::IpamBlock(object) => &object.metadata,
            Self::BlockAffinity(object) => &object.metadata,
        }
    }

    /// The object's identity.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(self.kind(), &self.metadata().name)
    }
}

impl ObjectKey {
    /// Names an object.
    #[must_use]
    pub fn new(kind: Kind, name: &str) -> Self {
        Self {
            kind,
            name: name.to_owned(),
        }
    }
}

impl Metadata {
    /// Metadata with a name only.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }
}

impl FromStr for Kind {
    type Err = ParseKindError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        known.ok_or_else(|| ParseKindError(text.to_owned()))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind, self.name)
    }
}
