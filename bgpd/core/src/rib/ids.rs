//! Dense 32-bit and 16-bit indexes: what the RIB uses in place of pointers and of long keys.

/// A distinct attribute set in the [`super::attributes::AttributeStore`].
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub(super) struct AttrId(pub(super) u32);

impl AttrId {
    /// No attribute set: a path that policy denied, a prefix that is not advertised.
    pub(super) const NONE: Self = Self(u32::MAX);

    /// Position in the store.
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    /// `None` for [`Self::NONE`].
    pub(super) fn some(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }
}

/// A prefix of one family: dense, reused after the prefix is gone from everywhere.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub(super) struct Slot(pub(super) u32);

impl Slot {
    /// Position in the arrays that are kept by slot.
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    /// The slot at a position.
    pub(super) fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("fewer than 2^32 prefixes fit in memory"))
    }
}

/// A peer that the shard knows; 16 bits, because every path carries one.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub(super) struct PeerIndex(pub(super) u16);

impl PeerIndex {
    /// The source of this node's own routes.
    pub(super) const LOCAL: Self = Self(0);
    /// Nobody.
    pub(super) const NONE: Self = Self(u16::MAX);

    /// Position in the peer table.
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}
