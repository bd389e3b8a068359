//! IPAMBlock: a part of a pool, its owner, and the addresses in use.

use std::collections::BTreeMap;

use ipnet::IpNet;
use routeagg::{Allocation, Block, Owner, Usage};

use super::Metadata;

/// A part of a pool that belongs to one node.
#[derive(Clone, Debug, PartialEq)]
pub struct IpamBlock {
    /// Name, such as `10-244-1-64-26`.
    pub metadata: Metadata,
    /// `cidr`: the block.
    pub cidr: IpNet,
    /// `affinity`: whom the block belongs to.
    pub affinity: Owner,
    /// `affinityClaimTime`, as written (RFC 3339).
    pub affinity_claim_time: Option<String>,
    /// `allocations`: for each address an index into `attributes`, or none when it is free.
    pub allocations: Vec<Option<u32>>,
    /// `unallocated`: ordinals of free addresses, next one first.
    pub unallocated: Vec<u32>,
    /// `attributes`: what the addresses are used for.
    pub attributes: Vec<AllocationAttribute>,
    /// `sequenceNumber`.
    pub sequence_number: Option<u64>,
    /// `sequenceNumberForAllocation`, by ordinal.
    pub sequence_number_for_allocation: BTreeMap<String, u64>,
    /// `deleted`: on its way out.
    pub deleted: bool,
    /// `strictAffinity`, no longer used by Calico.
    pub strict_affinity: bool,
}

/// What one or more addresses of a block are used for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AllocationAttribute {
    /// `handle_id`: what holds the address.
    pub handle_id: Option<String>,
    /// `secondary`: the present user: `node`, `pod`, `namespace`, `type` and others.
    pub secondary: BTreeMap<String, String>,
    /// `alternateOwnerAttrs`: the next user during a live migration.
    pub alternate_owner_attrs: BTreeMap<String, String>,
    /// `releasedAt`: released and cooling down, as written (RFC 3339).
    pub released_at: Option<String>,
}

impl IpamBlock {
    /// A block without addresses in use.
    #[must_use]
    pub fn new(name: &str, cidr: IpNet, affinity: Owner) -> Self {
        Self {
            metadata: Metadata::named(name),
            cidr,
            affinity,
            affinity_claim_time: None,
            allocations: Vec::new(),
            unallocated: Vec::new(),
            attributes: Vec::new(),
            sequence_number: None,
            sequence_number_for_allocation: BTreeMap::new(),
            deleted: false,
            strict_affinity: false,
        }
    }

    /// The block as `routeagg` wants it.
    ///
    /// An allocation whose index names no attribute is taken as in use by an unknown node: it has no route.
    #[must_use]
    pub fn to_block(&self) -> Block {
        let used = self
            .allocations
            .iter()
            .zip(0u32..)
            .filter_map(|(index, ordinal)| {
                let attribute = self.attributes.get(usize::try_from((*index)?).ok()?);
                let unknown = Allocation {
                    node: None,
                    usage: Usage::Workload,
                };
                Some((
                    ordinal,
                    attribute.map_or(unknown, AllocationAttribute::to_allocation),
                ))
            });
        Block {
            cidr: self.cidr,
            owner: self.affinity.clone(),
            deleted: self.deleted,
            allocations: used.collect(),
        }
    }
}

impl AllocationAttribute {
    fn to_allocation(&self) -> Allocation {
        let tunnel = self.secondary.get("type").is_some_and(|kind| {
            let kinds = [
                "ipipTunnelAddress",
                "vxlanTunnelAddress",
                "vxlanV6TunnelAddress",
                "wireguardTunnelAddress",
                "wireguardV6TunnelAddress",
            ];
            kinds.contains(&kind.as_str())
        });
        let usage = if self.released_at.is_some() {
            Usage::Released
        } else if self.handle_id.as_deref() == Some("windows-reserved-ipam-handle") {
            Usage::WindowsReserved
        } else if tunnel {
            Usage::Tunnel
        } else {
            Usage::Workload
        };
        let node = self.secondary.get("node").filter(|node| !node.is_empty());
        Allocation {
            node: node.cloned(),
            usage,
        }
    }
}
