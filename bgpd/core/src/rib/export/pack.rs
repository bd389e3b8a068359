//! From changes to full messages, each encoded once and shared by all that get it.
//!
//! Changes are sorted by who gets them and by attribute set, so a message carries as many prefixes as fit (RFC 4271
//! section 9.2: nothing is said twice, withdrawals are packed too). Split horizon and reflection do not split a group:
//! they are an [`Audience`], and audiences other than "everyone" are few.

use std::mem;
use std::sync::Arc;

use bgp_wire::{
    Family, Nlri, RefreshSubtype, RouteRefreshMessage, encode_attributes, pack_reach, pack_unreach,
};
use bytes::{Bytes, BytesMut};
use hashbrown::HashMap;

use super::group::Excluded;
use super::key::GroupKey;
use crate::rib::attributes::RouteAttributes;
use crate::rib::event::{Recipients, RibAction};
use crate::rib::ids::{AttrId, PeerIndex, Slot};
use crate::rib::shared::Shared;
use crate::rib::table::Table;
use crate::{Outbox, PeerId};

/// Which of the members that a batch is for get a change.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub(super) enum Audience {
    /// All but these few.
    AllBut(Excluded),
    /// These few.
    Only(Excluded),
}

/// Collects the changes of a batch. The room that it needs stays allocated.
#[derive(Debug, Default)]
pub(super) struct Packer {
    changes: Vec<Change>,
    audiences: Vec<Audience>,
    numbers: HashMap<Audience, u32>,
    nlri: Vec<Nlri>,
    frame: BytesMut,
    messages: u32,
}

/// In this order changes are packed: for each audience withdrawals first, then one attribute set after the other.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd)]
struct Change {
    audience: u32,
    /// `None` withdraws.
    attributes: Option<AttrId>,
    slot: Slot,
}

impl Packer {
    /// Queues an announcement. The attribute set must be held until the batch is sent.
    pub(super) fn announce(&mut self, slot: Slot, attributes: AttrId, audience: Audience) {
        self.queue(slot, Some(attributes), audience);
    }

    /// Queues a withdrawal.
    pub(super) fn withdraw(&mut self, slot: Slot, audience: Audience) {
        self.queue(slot, None, audience);
    }

    /// Sends what is queued to those of `group` that are in the audience.
    pub(super) fn send(
        &mut self,
        shared: &mut Shared,
        table: &Table,
        key: &GroupKey,
        group: &Arc<[PeerId]>,
        out: &mut Outbox<RibAction>,
    ) {
        let mut changes = mem::take(&mut self.changes);
        let audiences = mem::take(&mut self.audiences);
        self.numbers.clear();
        changes.sort_unstable();
        for same_audience in changes.chunk_by(|one, other| one.audience == other.audience) {
            let audience = &audiences[same_audience[0].audience as usize];
            let Some(recipients) = recipients(shared, group, audience) else {
                continue;
            };
            for run in same_audience.chunk_by(|one, other| one.attributes == other.attributes) {
                self.encode(shared, table, key, run);
                if self.frame.len() >= FULL_FRAME {
                    self.hand_over(shared, &recipients, out);
                }
            }
            self.hand_over(shared, &recipients, out);
        }
        changes.clear();
        self.changes = changes;
    }

    /// Hands bytes to peers, and counts them against their windows.
    pub(super) fn push(
        &mut self,
        shared: &mut Shared,
        peers: Recipients,
        frame: Bytes,
        messages: u32,
        out: &mut Outbox<RibAction>,
    ) {
        for peer in peers.iter() {
            let index = shared.peers.find(peer);
            if let Some(record) = index.and_then(|index| shared.peers.record_mut(index)) {
                record.outstanding += frame.len();
            }
        }
        out.push(RibAction::Send {
            peers,
            frame,
            messages,
        });
    }

    fn queue(&mut self, slot: Slot, attributes: Option<AttrId>, audience: Audience) {
        if matches!(&audience, Audience::Only(peers) if peers.is_empty()) {
            return;
        }
        let Self {
            audiences, numbers, ..
        } = self;
        let audience = *numbers.entry_ref(&audience).or_insert_with(|| {
            audiences.push(audience.clone());
            u32::try_from(audiences.len() - 1).expect("fewer audiences than changes")
        });
        self.changes.push(Change {
            audience,
            attributes,
            slot,
        });
    }

    /// Appends the messages of changes that differ in their prefix only.
    fn encode(&mut self, shared: &Shared, table: &Table, key: &GroupKey, run: &[Change]) {
        let Self {
            nlri,
            frame,
            messages,
            ..
        } = self;
        nlri.clear();
        nlri.extend(run.iter().map(|change| Nlri {
            path_id: SENT_PATH_ID,
            prefix: table.prefixes.get(change.slot),
        }));
        let mut append = |message: Bytes| {
            frame.extend_from_slice(&message);
            *messages += 1;
        };
        let packed = match run[0].attributes.map(|id| shared.load(id)) {
            None => pack_unreach(key.family, nlri, &key.encode, &mut append),
            Some(RouteAttributes {
                attributes,
                next_hop,
            }) => {
                let next_hop = next_hop.expect("what is exported has a next hop");
                let block = encode_attributes(&attributes, &key.encode);
                pack_reach(
                    key.family,
                    &next_hop,
                    &block,
                    nlri,
                    &key.encode,
                    &mut append,
                )
            }
        };
        packed.expect(
            "rewriting has checked that the route fits, and the table that the family does",
        );
    }

    fn hand_over(
        &mut self,
        shared: &mut Shared,
        recipients: &Recipients,
        out: &mut Outbox<RibAction>,
    ) {
        let messages = mem::take(&mut self.messages);
        if messages > 0 {
            let frame = self.frame.split().freeze();
            self.push(shared, recipients.clone(), frame, messages, out);
        }
    }
}

/// The members of a group that are in an audience; `None` when there are none.
fn recipients(shared: &Shared, group: &Arc<[PeerId]>, audience: &Audience) -> Option<Recipients> {
    let name = |peer: &PeerIndex| shared.peers.facts(*peer).id;
    let recipients = match audience {
        Audience::AllBut(peers) => Recipients {
            group: Arc::clone(group),
            except: peers
                .iter()
                .map(name)
                .filter(|peer| group.contains(peer))
                .collect(),
        },
        Audience::Only(peers) => Recipients {
            group: peers
                .iter()
                .map(name)
                .filter(|peer| group.contains(peer))
                .collect(),
            except: Default::default(),
        },
    };
    (recipients.group.len() > recipients.except.len()).then_some(recipients)
}

/// True when a message to this group can carry a route with these attributes, whatever its prefix.
pub(super) fn fits(key: &GroupKey, route: &RouteAttributes) -> bool {
    let Some(next_hop) = route.next_hop else {
        return false;
    };
    let block = encode_attributes(&route.attributes, &key.encode);
    block.check(key.family, &next_hop, &key.encode).is_ok()
}

/// BoRR or EoRR (RFC 7313).
pub(super) fn refresh_mark(family: Family, subtype: RefreshSubtype) -> Bytes {
    bgp_wire::encode_route_refresh(&RouteRefreshMessage { family, subtype })
}

/// Only the best path is sent: where a peer expects path identifiers (RFC 7911) it is always the same one.
const SENT_PATH_ID: u32 = 1;
/// Octets of messages that are handed over together.
const FULL_FRAME: usize = 32 * 1024;
