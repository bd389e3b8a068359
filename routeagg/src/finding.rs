//! What in the IPAM data contradicts itself or the rules of the platform, and what was done about it.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::Owner;

/// Something that a person should look at. The text says what is wrong, what follows from it, and, after the last
/// semicolon, what to do.
#[derive(Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash, thiserror::Error)]
pub enum Finding {
    /// A confirmed affinity names one node, the block another owner.
    #[error(
        "block {block} belongs to {owner}, but {node} holds a confirmed affinity for it: the block decides, {node} \
         does not announce it; delete the stale BlockAffinity of {node}"
    )]
    OwnerMismatch {
        /// The block.
        block: IpNet,
        /// The node of the affinity.
        node: String,
        /// The owner that the block names.
        owner: Owner,
    },
    /// Several nodes hold a confirmed affinity for one CIDR and no block object decides.
    #[error(
        "block {block} is claimed by {} and its IPAMBlock is not known: taken as {chosen}'s; delete the stale \
         BlockAffinity objects", nodes.join(" and ")
    )]
    DuplicateAffinity {
        /// The block.
        block: IpNet,
        /// The claiming nodes, sorted.
        nodes: Vec<String>,
        /// The node that is taken to be the owner.
        chosen: String,
    },
    /// A block names a node as its owner, which has no confirmed affinity.
    #[error(
        "block {block} belongs to {node}, which has no confirmed affinity for it: not announced until it has; if that \
         lasts, look for its BlockAffinity, or release the block"
    )]
    AffinityNotConfirmed {
        /// The block.
        block: IpNet,
        /// The owner that the block names.
        node: String,
    },
    /// An address of a Windows node's block is used elsewhere.
    #[error(
        "{address} is used by {borrower} but lies in block {block} of Windows node {owner}, which cannot lend \
         addresses: not announced; recreate the workload and set strictAffinity: true in the IPAMConfig"
    )]
    WindowsBlockLent {
        /// The block.
        block: IpNet,
        /// Its owner.
        owner: String,
        /// The address.
        address: IpAddr,
        /// The node that uses it.
        borrower: String,
    },
    /// A Windows node uses an address of a block that is not its own.
    #[error(
        "{address} is used by Windows node {node} but lies in block {block} of {owner}; Windows nodes cannot borrow: \
         not announced; recreate the workload and set strictAffinity: true in the IPAMConfig"
    )]
    WindowsBorrower {
        /// The block.
        block: IpNet,
        /// Its owner.
        owner: Owner,
        /// The address.
        address: IpAddr,
        /// The Windows node.
        node: String,
    },
    /// A workload has one of the four addresses that Windows needs in each of its blocks.
    #[error(
        "{address} is given to a workload but reserved by Windows in block {block} of {owner}: the workload has no \
         connectivity; recreate it"
    )]
    WindowsReservedInUse {
        /// The block.
        block: IpNet,
        /// Its owner.
        owner: String,
        /// The address.
        address: IpAddr,
    },
    /// A Windows node owns a block without usable addresses.
    #[error(
        "block {block} of Windows node {owner} has no usable address after the four reserved ones: use a pool with a \
         blockSize of 29 or less"
    )]
    WindowsBlockTooSmall {
        /// The block.
        block: IpNet,
        /// Its owner.
        owner: String,
    },
    /// A block lies inside another one.
    #[error(
        "block {inner} lies inside block {outer}: the more specific one decides for its addresses; delete the one \
         that is wrong"
    )]
    OverlappingBlocks {
        /// The larger block.
        outer: IpNet,
        /// The smaller block.
        inner: IpNet,
    },
    /// An allocation's ordinal is not inside the block.
    #[error(
        "block {block} has an allocation at ordinal {ordinal}, outside of it: ignored; correct the block"
    )]
    OrdinalOutside {
        /// The block.
        block: IpNet,
        /// The ordinal.
        ordinal: u32,
    },
}
