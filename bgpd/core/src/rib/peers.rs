//! The peers of a shard, by dense index.
//!
//! Paths and Adj-RIBs-Out name peers by 16-bit index. An index is used again only when no path and no Adj-RIB-Out can
//! still name its former owner. What a decision asks of a peer lies in one small record ([`Facts`]).

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bgp_wire::{Family, RouterId, SessionType};
use hashbrown::HashMap;

use super::export::GroupIndex;
use super::ids::PeerIndex;
use super::life::Life;
use super::settings::RibPeer;
use crate::policy::RouteSource;
use crate::{Epoch, PeerId};

/// The families that a shard has tables for. A new one goes here.
pub(super) const FAMILIES: [Family; 2] = [Family::IPV4_UNICAST, Family::IPV6_UNICAST];

/// Position of a family in [`FAMILIES`], and of its table.
pub(super) fn table_index(family: Family) -> Option<usize> {
    FAMILIES.iter().position(|other| *other == family)
}

/// What decision and export rules ask of the source of a path.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct Facts {
    pub(super) id: PeerId,
    pub(super) source: RouteSource,
    pub(super) router_id: RouterId,
    pub(super) address: IpAddr,
    /// A client of this reflector.
    pub(super) client: bool,
    /// Of a session between link-local addresses.
    pub(super) interface: Option<u32>,
}

/// One peer in one family.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct PeerFamily {
    pub(super) life: Life,
    /// Path records, dead ones included until the walk comes by.
    pub(super) held: u32,
    /// Those of the current generation.
    pub(super) fresh: u32,
    /// Those that import let pass.
    pub(super) accepted: u32,
    /// Prefixes whose best path is from this peer.
    pub(super) best: u32,
    /// A walk runs import again over the paths.
    pub(super) reimport: bool,
    /// Where the peer gets its routes from, while it is up.
    pub(super) group: Option<GroupIndex>,
}

/// A peer from its first `PeerUp` to `RemovePeer`.
#[derive(Debug)]
pub(super) struct PeerRecord {
    pub(super) settings: Arc<RibPeer>,
    pub(super) epoch: Epoch,
    pub(super) up: bool,
    /// Octets handed out and not yet reported as sent.
    pub(super) outstanding: usize,
    /// Paths that did not fit: more for one prefix than a list can hold.
    pub(super) overflowed: u64,
}

/// All peers of a shard.
#[derive(Debug)]
pub(super) struct PeerTable {
    records: Vec<Option<PeerRecord>>,
    facts: Vec<Facts>,
    families: Vec<[PeerFamily; FAMILIES.len()]>,
    by_id: HashMap<PeerId, PeerIndex>,
    /// Removed, with paths or Adj-RIB-Out entries that still name them.
    retired: Vec<PeerIndex>,
    free: Vec<PeerIndex>,
}

impl PeerTable {
    /// Nobody but this node itself.
    pub(super) fn new(router_id: RouterId) -> Self {
        let local = Facts {
            id: PeerId(0),
            source: RouteSource::Local,
            router_id,
            address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            client: false,
            interface: None,
        };
        Self {
            records: vec![None],
            facts: vec![local],
            families: vec![Default::default()],
            by_id: HashMap::new(),
            retired: Vec::new(),
            free: Vec::new(),
        }
    }

    /// The index of a peer.
    pub(super) fn find(&self, peer: PeerId) -> Option<PeerIndex> {
        self.by_id.get(&peer).copied()
    }

    /// The index of a peer in this life of its session.
    pub(super) fn find_up(&self, peer: PeerId, epoch: Epoch) -> Option<PeerIndex> {
        self.find(peer).filter(|index| {
            self.record(*index)
                .is_some_and(|record| record.up && record.epoch == epoch)
        })
    }

    /// A new peer; `None` when there are 65,534 already.
    pub(super) fn add(&mut self, peer: PeerId, settings: Arc<RibPeer>) -> Option<PeerIndex> {
        let facts = Facts::of(peer, &settings);
        let record = PeerRecord {
            settings,
            epoch: Epoch(0),
            up: false,
            outstanding: 0,
            overflowed: 0,
        };
        let index = if let Some(index) = self.free.pop() {
            self.records[index.index()] = Some(record);
            self.facts[index.index()] = facts;
            index
        } else {
            let index = u16::try_from(self.records.len()).ok().map(PeerIndex)?;
            if index == PeerIndex::NONE {
                return None;
            }
            self.records.push(Some(record));
            self.facts.push(facts);
            self.families.push(Default::default());
            index
        };
        self.by_id.insert(peer, index);
        Some(index)
    }

    /// Forgets a peer; its index stays taken until [`Self::recycle`].
    pub(super) fn remove(&mut self, index: PeerIndex) {
        self.by_id.remove(&self.facts[index.index()].id);
        self.records[index.index()] = None;
        self.retired.push(index);
    }

    /// Nothing is dirty: indexes without paths are named nowhere any more.
    pub(super) fn recycle(&mut self) {
        let Self {
            retired,
            free,
            families,
            ..
        } = self;
        retired.retain(|index| {
            let families = &mut families[index.index()];
            let gone = families.iter().all(|family| family.held == 0);
            if gone {
                *families = Default::default();
                free.push(*index);
            }
            !gone
        });
    }

    /// Replaces what is known of a peer; true when its paths have to be looked at again.
    pub(super) fn set_settings(&mut self, index: PeerIndex, settings: Arc<RibPeer>) -> bool {
        let Some(record) = self.records[index.index()].as_mut() else {
            return false;
        };
        let facts = Facts::of(self.facts[index.index()].id, &settings);
        let again = facts != self.facts[index.index()]
            || record.settings.import != settings.import
            || record.settings.local_asn != settings.local_asn
            || record.settings.remote_asn != settings.remote_asn
            || record.settings.allow_own_asn != settings.allow_own_asn
            || record.settings.enforce_first_asn != settings.enforce_first_asn;
        self.facts[index.index()] = facts;
        record.settings = settings;
        again
    }

    /// What is known of a peer; `None` for this node and for removed ones.
    pub(super) fn record(&self, index: PeerIndex) -> Option<&PeerRecord> {
        self.records.get(index.index())?.as_ref()
    }

    /// The same, to change it.
    pub(super) fn record_mut(&mut self, index: PeerIndex) -> Option<&mut PeerRecord> {
        self.records.get_mut(index.index())?.as_mut()
    }

    /// What decisions ask.
    pub(super) fn facts(&self, index: PeerIndex) -> &Facts {
        &self.facts[index.index()]
    }

    /// One family of a peer.
    pub(super) fn family(&self, index: PeerIndex, table: usize) -> &PeerFamily {
        &self.families[index.index()][table]
    }

    /// The same, to change it.
    pub(super) fn family_mut(&mut self, index: PeerIndex, table: usize) -> &mut PeerFamily {
        &mut self.families[index.index()][table]
    }

    /// All peers that are configured.
    pub(super) fn iter(&self) -> impl Iterator<Item = (PeerIndex, &PeerRecord)> {
        (0..=u16::MAX)
            .map(PeerIndex)
            .zip(&self.records)
            .filter_map(|(index, record)| Some((index, record.as_ref()?)))
    }

    /// A walk has reclaimed all dead paths of a table.
    pub(super) fn swept(&mut self, table: usize) {
        for families in &mut self.families {
            families[table].life.swept();
        }
    }

    /// Paths of all peers and of this node.
    pub(super) fn held(&self) -> u64 {
        self.families
            .iter()
            .flatten()
            .map(|family| u64::from(family.held))
            .sum()
    }

    /// How many indexes were ever given out.
    #[cfg(test)]
    pub(super) const fn indexes(&self) -> usize {
        self.records.len()
    }

    /// This node's BGP identifier, for its own routes.
    pub(super) fn set_router_id(&mut self, router_id: RouterId) {
        self.facts[PeerIndex::LOCAL.index()].router_id = router_id;
    }
}

impl Facts {
    fn of(peer: PeerId, settings: &RibPeer) -> Self {
        Self {
            id: peer,
            source: RouteSource::Peer(settings.session_type),
            router_id: settings.remote_router_id,
            address: settings.address,
            client: settings.reflector_client && settings.session_type == SessionType::Internal,
            interface: settings.interface,
        }
    }

    /// True for a path from an iBGP peer.
    pub(super) fn is_ibgp(&self) -> bool {
        self.source == RouteSource::Peer(SessionType::Internal)
    }

    /// True for a path from an eBGP peer.
    pub(super) fn is_ebgp(&self) -> bool {
        self.source == RouteSource::Peer(SessionType::External)
    }
}
