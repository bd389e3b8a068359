//! What all tables and groups of a shard have in common.

use bgp_wire::SessionType;
use ipnet::IpNet;

use super::attributes::{AttributeStore, RouteAttributes};
use super::fib::FibTable;
use super::ids::AttrId;
use super::next_hops::NextHopTable;
use super::peers::PeerTable;
use super::settings::ShardSettings;
use crate::policy::{PolicyRoute, RouteSource};

/// Settings, peers and everything interned.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: ShardSettings,
    pub(super) peers: PeerTable,
    pub(super) attributes: AttributeStore,
    pub(super) next_hops: NextHopTable,
    pub(super) fibs: FibTable,
}

impl Shared {
    pub(super) fn new(settings: ShardSettings) -> Self {
        let peers = PeerTable::new(settings.router_id);
        Self {
            settings,
            peers,
            attributes: AttributeStore::default(),
            next_hops: NextHopTable::default(),
            fibs: FibTable::default(),
        }
    }

    /// The id of an attribute set, with a reference for the caller.
    pub(super) fn intern(&mut self, route: RouteAttributes) -> AttrId {
        self.attributes.intern(route, &mut self.next_hops)
    }

    /// A copy of the attribute set of an id.
    pub(super) fn load(&self, id: AttrId) -> RouteAttributes {
        self.attributes.load(id, &self.next_hops)
    }

    /// A path as policies see it.
    pub(super) fn policy_route(
        &self,
        prefix: IpNet,
        attributes: AttrId,
        source: RouteSource,
        session: SessionType,
    ) -> PolicyRoute<'_> {
        let next_hop = self.attributes.metrics(attributes).next_hop;
        PolicyRoute {
            prefix,
            attributes: self.attributes.view(attributes),
            next_hop: next_hop.map(|index| self.next_hops.address(index)),
            source,
            session,
        }
    }

    /// Gives a reference back; nothing for `NONE`.
    pub(super) fn release(&mut self, id: AttrId) {
        self.attributes.release(id, &mut self.next_hops);
    }
}
