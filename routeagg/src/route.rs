//! What comes out: which node a prefix leads to, and what a node announces.

use std::collections::BTreeSet;
use std::fmt;

use ipnet::IpNet;

/// A prefix and the node that it leads to.
#[derive(Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct Route {
    /// A block, or one address as /32 or /128.
    pub prefix: IpNet,
    /// Where packets to the prefix go.
    pub node: String,
    /// Why they go there.
    pub kind: RouteKind,
    /// True when `node` announces the prefix by BGP.
    ///
    /// False for a block whose affinity is not confirmed: its owner holds it already, and a VXLAN route to it is
    /// right, but the claim may still fail.
    pub announced: bool,
}

/// Why a prefix leads to a node.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum RouteKind {
    /// The node owns the block.
    Block,
    /// The node uses an address of a block that is another node's, or nobody's.
    Borrowed,
}

/// What one change did to the routes.
///
/// Both lists are sorted by prefix. A route that changed is in both: its old form is withdrawn, its new form added.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[must_use = "the routes have changed: pass the change on"]
pub struct Delta {
    /// Routes that are gone.
    pub withdrawn: Vec<Route>,
    /// Routes that are new.
    pub added: Vec<Route>,
}

/// What a node announces by BGP.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Announcements {
    /// The node's own blocks.
    pub blocks: BTreeSet<IpNet>,
    /// The addresses that the node borrows, as /32 or /128.
    pub borrowed: BTreeSet<IpNet>,
}

impl Delta {
    /// True when nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { withdrawn, added } = self;
        withdrawn.is_empty() && added.is_empty()
    }
}

impl Announcements {
    /// True when the prefix is covered by a larger block of the node and therefore not announced itself.
    ///
    /// Cost grows with the number of the node's own blocks.
    #[must_use]
    pub fn suppresses(&self, prefix: &IpNet) -> bool {
        self.blocks
            .iter()
            .any(|block| block != prefix && block.contains(prefix))
    }

    /// Every announced prefix.
    pub fn prefixes(&self) -> impl Iterator<Item = &IpNet> {
        self.blocks.iter().chain(&self.borrowed)
    }
}

impl fmt::Display for RouteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Block => "block",
            Self::Borrowed => "borrowed",
        })
    }
}
