//! The fields of IPAMBlock and BlockAffinity.

use std::collections::BTreeMap;

use routeagg::{AffinityState, Owner};

use super::super::fields::{A_PREFIX, Fields, PREFIX};
use super::super::tree::{Entry, Tree};
use super::super::value::number;
use crate::model::{AffinityType, AllocationAttribute, BlockAffinity, IpamBlock, Metadata};

pub(super) fn read_block(metadata: Metadata, spec: &mut Fields<'_>) -> Option<IpamBlock> {
    let sink = spec.sink();
    let index = |(path, tree): (String, &Tree)| {
        if tree.is_null() {
            None
        } else {
            number(&path, tree, 0..=u64::from(u32::MAX), sink)
        }
    };
    let ordinal =
        |(path, tree): (String, &Tree)| number(&path, tree, 0..=u64::from(u32::MAX), sink);

    let cidr = spec.required("cidr", A_PREFIX, PREFIX);
    let affinity = spec.parsed("affinity", "an owner", "write for example host:node-a");
    let affinity_claim_time = spec.text("affinityClaimTime");
    let allocations = spec.list("allocations").into_iter().map(index).collect();
    let unallocated = spec
        .list("unallocated")
        .into_iter()
        .filter_map(ordinal)
        .collect();
    let attributes = spec
        .list_of_fields("attributes")
        .iter_mut()
        .map(read_attribute)
        .collect();
    let sequence_number = spec.number("sequenceNumber", 0..=u64::MAX);
    let sequence_number_for_allocation = sequence_numbers(spec);
    let deleted = spec.flag_or_text("deleted").unwrap_or_default();
    let strict_affinity = spec.flag("strictAffinity").unwrap_or_default();
    Some(IpamBlock {
        metadata,
        cidr: cidr?,
        affinity: affinity.unwrap_or(Owner::Nobody),
        affinity_claim_time,
        allocations,
        unallocated,
        attributes,
        sequence_number,
        sequence_number_for_allocation,
        deleted,
        strict_affinity,
    })
}

fn read_attribute(fields: &mut Fields<'_>) -> AllocationAttribute {
    let handle_id = fields.text("handle_id");
    // The API group projectcalico.org/v3 writes it in camel case.
    let handle_id = handle_id.or_else(|| fields.text("handleID"));
    fields.ignore("handleID");
    AllocationAttribute {
        handle_id,
        secondary: fields.text_map("secondary"),
        alternate_owner_attrs: fields.text_map("alternateOwnerAttrs"),
        released_at: fields.text("releasedAt"),
    }
}

fn sequence_numbers(spec: &mut Fields<'_>) -> BTreeMap<String, u64> {
    let sink = spec.sink();
    let path = spec.path("sequenceNumberForAllocation");
    let entries = spec
        .raw("sequenceNumberForAllocation")
        .and_then(Tree::map)
        .unwrap_or_default();
    let read = |entry: &Entry| {
        let path = format!("{path}.{}", entry.key);
        Some((
            entry.key.clone(),
            number(&path, &entry.tree, 0..=u64::MAX, sink)?,
        ))
    };
    entries.iter().filter_map(read).collect()
}

pub(super) fn read_affinity(metadata: Metadata, spec: &mut Fields<'_>) -> Option<BlockAffinity> {
    let state = spec.choice("state", &STATES).unwrap_or_default();
    let node = spec.required_text("node", "write the name of the owner");
    let kind = spec.choice("type", &TYPES).unwrap_or_default();
    let cidr = spec.required("cidr", A_PREFIX, PREFIX);
    let deleted = spec.flag_or_text("deleted").unwrap_or_default();
    Some(BlockAffinity {
        metadata,
        state,
        node: node?,
        kind,
        cidr: cidr?,
        deleted,
    })
}

const STATES: [(&str, AffinityState); 3] = [
    ("confirmed", AffinityState::Confirmed),
    ("pending", AffinityState::Pending),
    ("pendingDeletion", AffinityState::PendingDeletion),
];

const TYPES: [(&str, AffinityType); 2] = [
    ("host", AffinityType::Host),
    ("virtual", AffinityType::Virtual),
];
