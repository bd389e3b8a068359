//! Attribute sets, interned: one entry for each distinct set, addressed by a 32-bit id.
//!
//! Two routes are equal exactly when their ids are. Equality covers every attribute and the next hop, which travels
//! outside the attributes in MP_REACH_NLRI (RFC 4760) but changes a route all the same.
//!
//! What the decision asks of a set is computed once, when the set is new ([`Metrics`]), so a decision never looks into the
//! set. A set costs 144 bytes, 4 to 8 bytes of index and what its lists have on the heap: a third of what it takes as
//! [`Attributes`], because most sets have none of the rarer attributes ([`super::stored`]). Paths and Adj-RIBs-Out hold ids.

use std::hash::BuildHasher;
use std::net::IpAddr;

use bgp_wire::{Asn, Attributes, Community, NextHop, Origin, RouterId};
use hashbrown::{DefaultHashBuilder, HashTable};

use super::ids::AttrId;
use super::next_hops::{NextHopIndex, NextHopTable};
use super::stored::Stored;
use crate::policy::AttributesView;

/// What two routes must have in common to be the same but for their prefix.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub(super) struct RouteAttributes {
    /// The path attributes.
    pub(super) attributes: Attributes,
    /// `None` is this node, for own routes.
    pub(super) next_hop: Option<NextHop>,
}

/// What the decision and the export rules read of a set.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct Metrics {
    /// LOCAL_PREF, when present.
    pub(super) local_pref: Option<u32>,
    /// MED, when present.
    pub(super) med: Option<u32>,
    /// Length of AS_PATH for RFC 4271 section 9.1.2.2 (a).
    pub(super) hops: u32,
    /// The AS that the route came from; 0 for this one, when AS_PATH is empty.
    pub(super) neighbour: Asn,
    /// Length of CLUSTER_LIST.
    pub(super) cluster_list: u32,
    /// ORIGINATOR_ID, when present.
    pub(super) originator_id: Option<RouterId>,
    /// Lower is better.
    pub(super) origin: Origin,
    /// How far the route may go (RFC 1997).
    pub(super) reach: Reach,
    /// Where packets go; `None` is this node.
    pub(super) next_hop: Option<NextHopIndex>,
}

/// How far the well-known communities let a route go (RFC 1997). The same for every family.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Reach {
    /// Anywhere.
    Any,
    /// NO_EXPORT, or NO_EXPORT_SUBCONFED without confederations: iBGP peers only.
    ThisAs,
    /// NO_ADVERTISE: nowhere.
    ThisNode,
}

/// All distinct attribute sets of a shard.
#[derive(Debug, Default)]
pub(super) struct AttributeStore {
    entries: Vec<Entry>,
    free: Vec<u32>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

#[derive(Debug)]
struct Entry {
    metrics: Metrics,
    references: u32,
    /// Kept, so that growing the index does not hash the sets again.
    hash: u64,
    stored: Stored,
}

impl AttributeStore {
    /// The id of a set, with a reference for the caller.
    pub(super) fn intern(
        &mut self,
        route: RouteAttributes,
        next_hops: &mut NextHopTable,
    ) -> AttrId {
        let Self {
            entries,
            free,
            index,
            hasher,
        } = self;
        let hash = hasher.hash_one(&route);
        let same = |id: &u32| {
            let entry = &entries[*id as usize];
            entry.hash == hash && entry.is(&route, next_hops)
        };
        if let Some(&id) = index.find(hash, same) {
            entries[id as usize].references += 1;
            return AttrId(id);
        }
        let metrics = Metrics::of(&route, next_hops);
        let entry = Entry {
            metrics,
            references: 1,
            hash,
            stored: Stored::new(route),
        };
        let id = if let Some(id) = free.pop() {
            entries[id as usize] = entry;
            id
        } else {
            entries.push(entry);
            u32::try_from(entries.len() - 1).expect("fewer than 2^32 sets fit in memory")
        };
        index.insert_unique(hash, id, |id| entries[*id as usize].hash);
        AttrId(id)
    }

    /// Takes one more reference; nothing for `NONE`.
    pub(super) fn retain(&mut self, id: AttrId) -> AttrId {
        if id != AttrId::NONE {
            self.entries[id.index()].references += 1;
        }
        id
    }

    /// Gives a reference back; nothing for `NONE`.
    pub(super) fn release(&mut self, id: AttrId, next_hops: &mut NextHopTable) {
        if id == AttrId::NONE {
            return;
        }
        let entry = &mut self.entries[id.index()];
        entry.references -= 1;
        if entry.references > 0 {
            return;
        }
        entry.stored = Stored::default();
        if let Some(next_hop) = entry.metrics.next_hop {
            next_hops.release(next_hop);
        }
        if let Ok(found) = self.index.find_entry(entry.hash, |other| *other == id.0) {
            found.remove();
        }
        self.free.push(id.0);
    }

    /// A copy of the set of an id that somebody holds.
    pub(super) fn load(&self, id: AttrId, next_hops: &NextHopTable) -> RouteAttributes {
        let Entry {
            metrics, stored, ..
        } = &self.entries[id.index()];
        stored.load(metrics, next_hops)
    }

    /// What policies look at.
    pub(super) fn view(&self, id: AttrId) -> AttributesView<'_> {
        let Entry {
            metrics, stored, ..
        } = &self.entries[id.index()];
        stored.view(metrics)
    }

    /// The metrics of an id that somebody holds.
    pub(super) fn metrics(&self, id: AttrId) -> &Metrics {
        &self.entries[id.index()].metrics
    }

    /// How many distinct sets.
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }
}

impl Entry {
    fn is(&self, route: &RouteAttributes, next_hops: &NextHopTable) -> bool {
        self.stored.is(&self.metrics, route, next_hops)
    }
}

impl Metrics {
    fn of(route: &RouteAttributes, next_hops: &mut NextHopTable) -> Self {
        let RouteAttributes {
            attributes,
            next_hop,
        } = route;
        Self {
            local_pref: attributes.local_pref,
            med: attributes.med,
            hops: attributes.as_path.hop_count(),
            neighbour: attributes.as_path.first_asn().unwrap_or(Asn::ZERO),
            cluster_list: u32::try_from(attributes.cluster_list.len()).unwrap_or(u32::MAX),
            originator_id: attributes.originator_id,
            origin: attributes.origin,
            reach: Reach::of(attributes),
            next_hop: next_hop.map(|next_hop| next_hops.acquire(gateway(next_hop))),
        }
    }
}

impl Reach {
    fn of(attributes: &Attributes) -> Self {
        let has = |community| attributes.communities.contains(&community);
        if has(Community::NO_ADVERTISE) {
            Self::ThisNode
        } else if has(Community::NO_EXPORT) || has(Community::NO_EXPORT_SUBCONFED) {
            Self::ThisAs
        } else {
            Self::Any
        }
    }
}

/// The address that packets are sent to: the global one if there is one (RFC 2545 section 3).
pub(super) fn gateway(next_hop: NextHop) -> IpAddr {
    match next_hop {
        NextHop::V4(address) => IpAddr::V4(address),
        NextHop::V6 { global, link_local } => {
            let routable = !global.is_unspecified() && !global.is_unicast_link_local();
            IpAddr::V6(link_local.filter(|_| !routable).unwrap_or(global))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use bgp_wire::{
        Aggregator, AsPath, ExtendedCommunity, Ipv6ExtendedCommunity, LargeCommunity, PartialSet,
        UnknownAttribute,
    };

    use super::*;

    fn route(med: u32, next_hop: [u8; 4]) -> RouteAttributes {
        RouteAttributes {
            attributes: Attributes {
                med: Some(med),
                ..Attributes::default()
            },
            next_hop: Some(NextHop::V4(Ipv4Addr::from(next_hop))),
        }
    }

    #[test]
    fn a_set_has_a_known_cost() {
        assert_eq!(size_of::<Entry>(), 144);
    }

    #[test]
    fn equal_sets_share_an_id_and_the_next_hop_is_part_of_them() {
        let (mut store, mut next_hops) = (AttributeStore::default(), NextHopTable::default());
        let first = store.intern(route(1, [192, 0, 2, 1]), &mut next_hops);
        assert_eq!(
            store.intern(route(1, [192, 0, 2, 1]), &mut next_hops),
            first
        );
        assert_ne!(
            store.intern(route(1, [192, 0, 2, 2]), &mut next_hops),
            first
        );
        assert_ne!(
            store.intern(route(2, [192, 0, 2, 1]), &mut next_hops),
            first
        );
        assert_eq!(store.len(), 3);
    }

    #[test]
    fn a_set_goes_with_its_last_reference() {
        let (mut store, mut next_hops) = (AttributeStore::default(), NextHopTable::default());
        let id = store.intern(route(1, [192, 0, 2, 1]), &mut next_hops);
        store.retain(id);
        store.release(id, &mut next_hops);
        assert_eq!(store.load(id, &next_hops), route(1, [192, 0, 2, 1]));
        store.release(id, &mut next_hops);
        assert_eq!(store.len(), 0);
        assert_eq!(store.intern(route(2, [192, 0, 2, 1]), &mut next_hops), id);
    }

    /// One set for each attribute that is not at its default in it.
    fn one_of_each() -> Vec<RouteAttributes> {
        let global = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
        let link_local = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
        let base = Attributes::default;
        let octets: Option<Box<[u8]>> = Some(Box::new([1, 2, 3]));
        let unknown = UnknownAttribute {
            flags: 0xe0,
            code: 200,
            value: Box::new([7]),
        };
        let attributes = [
            base(),
            Attributes {
                origin: Origin::Incomplete,
                ..base()
            },
            Attributes {
                as_path: AsPath::sequence([Asn(1), Asn(2)]),
                ..base()
            },
            Attributes {
                med: Some(0),
                ..base()
            },
            Attributes {
                local_pref: Some(0),
                ..base()
            },
            Attributes {
                atomic_aggregate: true,
                ..base()
            },
            Attributes {
                aggregator: Some(Aggregator {
                    asn: Asn(1),
                    address: Ipv4Addr::LOCALHOST,
                }),
                ..base()
            },
            Attributes {
                communities: [Community(1)].into_iter().collect(),
                ..base()
            },
            Attributes {
                extended_communities: [ExtendedCommunity([1; 8])].into_iter().collect(),
                ..base()
            },
            Attributes {
                ipv6_extended_communities: [Ipv6ExtendedCommunity([1; 20])].into_iter().collect(),
                ..base()
            },
            Attributes {
                large_communities: [LargeCommunity::new(1, 2, 3)].into_iter().collect(),
                ..base()
            },
            Attributes {
                originator_id: Some(RouterId::from(1)),
                ..base()
            },
            Attributes {
                cluster_list: [RouterId::from(1)].into_iter().collect(),
                ..base()
            },
            Attributes {
                aigp: Some(0),
                ..base()
            },
            Attributes {
                otc: Some(Asn(1)),
                ..base()
            },
            Attributes {
                pmsi_tunnel: octets.clone(),
                ..base()
            },
            Attributes {
                tunnel_encapsulation: octets.clone(),
                ..base()
            },
            Attributes {
                prefix_sid: octets,
                ..base()
            },
            Attributes {
                unknown: vec![unknown],
                ..base()
            },
        ];
        let next_hops = [
            None,
            Some(NextHop::V4(Ipv4Addr::new(192, 0, 2, 1))),
            Some(NextHop::V6 {
                global,
                link_local: None,
            }),
            Some(NextHop::V6 {
                global,
                link_local: Some(link_local),
            }),
            Some(NextHop::V6 {
                global: link_local,
                link_local: None,
            }),
            Some(NextHop::V6 {
                global: link_local,
                link_local: Some(link_local),
            }),
            Some(NextHop::V6 {
                global: Ipv6Addr::UNSPECIFIED,
                link_local: Some(link_local),
            }),
        ];
        let with = |attributes: &Attributes| {
            let attributes = attributes.clone();
            next_hops.map(|next_hop| RouteAttributes {
                attributes: attributes.clone(),
                next_hop,
            })
        };
        attributes.iter().flat_map(with).collect()
    }

    #[test]
    fn every_attribute_comes_back_and_tells_sets_apart() {
        let (mut store, mut next_hops) = (AttributeStore::default(), NextHopTable::default());
        assert_eq!(PartialSet::default(), one_of_each()[0].attributes.partial);
        let ids: Vec<_> = one_of_each()
            .into_iter()
            .map(|route| {
                let id = store.intern(route.clone(), &mut next_hops);
                assert_eq!(store.load(id, &next_hops), route);
                id
            })
            .collect();
        assert_eq!(store.len(), ids.len());
        for (route, id) in one_of_each().into_iter().zip(ids) {
            assert_eq!(store.intern(route, &mut next_hops), id);
        }
        // Also without the hash having told them apart first.
        let (sets, mut none) = (one_of_each(), NextHopTable::default());
        for (number, one) in sets.iter().enumerate() {
            let metrics = Metrics::of(one, &mut none);
            let stored = Stored::new(one.clone());
            for (other_number, other) in sets.iter().enumerate() {
                assert_eq!(stored.is(&metrics, other, &none), number == other_number);
            }
        }
    }

    #[test]
    fn packets_go_to_the_global_address_unless_there_is_none() {
        let global = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
        let link_local = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
        let both = NextHop::V6 {
            global,
            link_local: Some(link_local),
        };
        assert_eq!(gateway(both), IpAddr::V6(global));
        for global in [link_local, Ipv6Addr::UNSPECIFIED] {
            let only = NextHop::V6 {
                global,
                link_local: Some(link_local),
            };
            assert_eq!(gateway(only), IpAddr::V6(link_local));
        }
    }
}
