//! Read-only questions: listings, counts, groups.
//!
//! A page of a listing reads all keys of the family once, about 2 ms for a million prefixes, and copies what is on the
//! page; so a listing of everything is many short stops and never a long one. `Exact` and `Covering` read no more than
//! what they find.

use ipnet::IpNet;
use smallvec::SmallVec;

use super::attributes::RouteAttributes;
use super::decision::tie_step;
use super::export::{Group, Sent};
use super::ids::{AttrId, PeerIndex, Slot};
use super::paths::Path;
use super::peers::FAMILIES;
use super::shard::Shard;
use super::table::Table;
use super::view::{
    FamilyCounts, GroupView, PathState, PathView, PeerCounts, PrefixFilter, RouteQuery, RouteTable,
    RouteView, Totals, Unusable,
};
use crate::PeerId;
use crate::policy::RouteSource;

impl Shard {
    /// Up to `limit` routes after `after`, in order of prefix, IPv4 first. Go on with the last prefix of a page until
    /// one comes back shorter than `limit`.
    #[must_use]
    pub fn routes(&self, query: &RouteQuery, after: Option<IpNet>, limit: usize) -> Vec<RouteView> {
        let mut routes = Vec::new();
        for table in &self.tables {
            if query.family.is_none_or(|family| family == table.family) {
                let left = limit - routes.len();
                routes.extend(self.page(table, query, after, left));
            }
        }
        routes
    }

    /// The longest prefix with a usable path that `prefix` is equal to or inside of.
    #[must_use]
    pub fn longest_match(&self, prefix: IpNet) -> Option<IpNet> {
        self.tables.iter().find_map(|table| {
            covering(table, prefix)
                .into_iter()
                .rev()
                .find(|(_, slot)| table.best(*slot).is_some())
                .map(|(prefix, _)| prefix)
        })
    }

    /// Numbers of a peer; all zero for an unknown one. Reads the peer's Adj-RIB-Out, some ms for a million prefixes.
    #[must_use]
    pub fn peer_counts(&self, peer: PeerId) -> PeerCounts {
        let Some(index) = self.shared.peers.find(peer) else {
            return PeerCounts::default();
        };
        let families = FAMILIES
            .into_iter()
            .zip(self.family_counts(index))
            .collect();
        let record = self.shared.peers.record(index);
        PeerCounts {
            families,
            outstanding: record.map_or(0, |record| record.outstanding),
            overflowed: record.map_or(0, |record| record.overflowed),
        }
    }

    /// Numbers of the shard.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let peers = self.shared.peers.held();
        let local = |table: &Table| {
            self.shared
                .peers
                .family(PeerIndex::LOCAL, table.number)
                .held
        };
        Totals {
            prefixes: self
                .tables
                .iter()
                .map(|table| table.prefixes.len() as u64)
                .sum(),
            paths: peers,
            originated: self
                .tables
                .iter()
                .map(|table| u64::from(local(table)))
                .sum(),
            attribute_sets: self.shared.attributes.len() as u64,
            groups: self.groups.iter().count() as u64,
            too_large: self.groups.too_large(),
            refused_peers: self.refused_peers,
        }
    }

    /// All update groups.
    #[must_use]
    pub fn groups(&self) -> Vec<GroupView> {
        let name = |peer: PeerIndex| self.shared.peers.facts(peer).id;
        self.groups
            .iter()
            .map(|group| GroupView {
                key: (*group.key).clone(),
                members: group
                    .members
                    .iter()
                    .map(|member| name(member.peer))
                    .collect(),
                lagging: group
                    .members
                    .iter()
                    .filter(|member| member.is_lagging())
                    .map(|member| name(member.peer))
                    .collect(),
                prefixes: group.out.len(),
                pending: group.dirty.len(),
            })
            .collect()
    }

    fn family_counts(&self, peer: PeerIndex) -> [FamilyCounts; FAMILIES.len()] {
        std::array::from_fn(|number| {
            let family = self.shared.peers.family(peer, number);
            let group = family.group.and_then(|index| self.groups.get(index));
            FamilyCounts {
                received: family.held,
                accepted: family.accepted,
                best: family.best,
                stale: family.held - family.fresh,
                advertised: group.map_or(0, |group| self.count_advertised(group, peer)),
                pending: group
                    .and_then(|group| group.member(peer))
                    .map_or(0, |member| {
                        u32::try_from(member.missing()).unwrap_or(u32::MAX)
                    }),
            }
        })
    }

    fn count_advertised(&self, group: &Group, peer: PeerIndex) -> u32 {
        let sent = (0..group.out.end())
            .filter_map(|index| group.out.get(Slot::from_index(index)))
            .filter(|sent| !group.excluded(&self.shared, Some(*sent)).contains(&peer))
            .count();
        u32::try_from(sent).unwrap_or(u32::MAX)
    }

    fn page(
        &self,
        table: &Table,
        query: &RouteQuery,
        after: Option<IpNet>,
        limit: usize,
    ) -> Vec<RouteView> {
        let present = |slot| self.has(table, query.table, slot);
        let few = |found: SmallVec<[(IpNet, Slot); 4]>| -> Vec<_> {
            found
                .into_iter()
                .filter(|(prefix, slot)| {
                    after.is_none_or(|after| *prefix > after) && present(*slot)
                })
                .take(limit)
                .collect()
        };
        let found = match query.prefix {
            PrefixFilter::All => table.prefixes.page(after, limit, |slot, _| present(slot)),
            PrefixFilter::Within(outer) => table.prefixes.page(after, limit, |slot, prefix| {
                outer.contains(&prefix) && present(slot)
            }),
            PrefixFilter::Exact(prefix) => few(table
                .prefixes
                .find(prefix)
                .map(|slot| (prefix, slot))
                .into_iter()
                .collect()),
            PrefixFilter::Covering(inner) => few(covering(table, inner)),
        };
        found
            .into_iter()
            .map(|(prefix, slot)| RouteView {
                prefix,
                paths: self.paths_in(table, query.table, slot),
            })
            .collect()
    }

    /// True when the table that is asked for has something under a slot.
    fn has(&self, table: &Table, which: RouteTable, slot: Slot) -> bool {
        match which {
            RouteTable::LocRib => self
                .paths(table, slot)
                .iter()
                .any(|path| self.is_alive(table, path)),
            RouteTable::AdjIn(peer) => self.shared.peers.find(peer).is_some_and(|peer| {
                self.paths(table, slot)
                    .iter()
                    .any(|path| path.peer == peer && self.is_alive(table, path))
            }),
            RouteTable::AdjOut(peer) => self.sent_to(table, peer, slot).is_some(),
        }
    }

    fn paths_in(&self, table: &Table, which: RouteTable, slot: Slot) -> Vec<PathView> {
        match which {
            RouteTable::LocRib => self.ranked_paths(table, slot),
            RouteTable::AdjIn(peer) => self
                .ranked_paths(table, slot)
                .into_iter()
                .filter(|path| path.peer == Some(peer))
                .map(|view| self.as_received(table, slot, view))
                .collect(),
            RouteTable::AdjOut(peer) => self
                .sent_to(table, peer, slot)
                .map(|sent| self.sent_view(sent))
                .into_iter()
                .collect(),
        }
    }

    /// Every path of a slot: the equal ones first, then those that lost, the later the better, then the unusable.
    pub(super) fn ranked_paths(&self, table: &Table, slot: Slot) -> Vec<PathView> {
        let paths = self.paths(table, slot);
        let (equal, mut lost) = table.trace(&self.shared, slot);
        let most = usize::from(self.shared.settings.multipath.max(1));
        let mut views = Vec::with_capacity(paths.len());
        for (rank, candidate) in equal.iter().enumerate() {
            let state = match rank {
                0 => PathState::Best,
                _ if rank < most => PathState::Multipath(tie_step(&equal[0], candidate)),
                _ => PathState::Lost(tie_step(&equal[0], candidate)),
            };
            views.push(self.path_view(table, &paths[usize::from(candidate.position)], state));
        }
        lost.sort_by_key(|(position, step)| (std::cmp::Reverse(*step), *position));
        for (position, step) in lost {
            let path = &paths[usize::from(position)];
            views.push(self.path_view(table, path, PathState::Lost(step)));
        }
        for path in paths.iter().filter(|path| self.is_alive(table, path)) {
            if let Err(ineligible) = table.eligible(&self.shared, path) {
                let why = Unusable::new(ineligible, || self.denying_term(table, path, slot));
                views.push(self.path_view(table, path, PathState::Unusable(why)));
            }
        }
        views
    }

    fn as_received(&self, table: &Table, slot: Slot, view: PathView) -> PathView {
        let received = self.paths(table, slot).iter().find(|path| {
            path.path_id == view.path_id && Some(self.shared.peers.facts(path.peer).id) == view.peer
        });
        match received {
            None => view,
            Some(path) => {
                let RouteAttributes {
                    attributes,
                    next_hop,
                } = self.shared.load(path.received);
                PathView {
                    attributes,
                    next_hop,
                    ..view
                }
            }
        }
    }

    fn path_view(&self, table: &Table, path: &Path, state: PathState) -> PathView {
        let set = if path.accepted == AttrId::NONE {
            path.received
        } else {
            path.accepted
        };
        let RouteAttributes {
            attributes,
            next_hop,
        } = self.shared.load(set);
        let life = self.shared.peers.family(path.peer, table.number).life;
        PathView {
            peer: self.name(path.peer),
            path_id: path.path_id,
            attributes,
            next_hop,
            stale: life.is_stale(path.generation),
            state,
        }
    }

    fn sent_view(&self, sent: Sent) -> PathView {
        let RouteAttributes {
            attributes,
            next_hop,
        } = self.shared.load(sent.attributes);
        PathView {
            peer: self.name(sent.source),
            path_id: 0,
            attributes,
            next_hop,
            stale: false,
            state: PathState::Best,
        }
    }

    /// What a peer was sent of a slot.
    pub(super) fn sent_to(&self, table: &Table, peer: PeerId, slot: Slot) -> Option<Sent> {
        let peer = self.shared.peers.find(peer)?;
        let group = self
            .groups
            .get(self.shared.peers.family(peer, table.number).group?)?;
        let sent = group.out.get(slot)?;
        (!group.excluded(&self.shared, Some(sent)).contains(&peer)).then_some(sent)
    }

    fn denying_term(&self, table: &Table, path: &Path, slot: Slot) -> String {
        let Some(record) = self.shared.peers.record(path.peer) else {
            return String::new();
        };
        let session = record.settings.session_type;
        let prefix = table.prefixes.get(slot);
        let source = RouteSource::Peer(session);
        let route = self
            .shared
            .policy_route(prefix, path.received, source, session);
        let outcome = record.settings.import.evaluate(&route);
        record.settings.import.term_name(outcome.term).to_owned()
    }

    fn paths<'a>(&self, table: &'a Table, slot: Slot) -> &'a [Path] {
        table
            .slots
            .get(slot.index())
            .map_or(&[], |record| table.paths.get(record.paths))
    }

    fn is_alive(&self, table: &Table, path: &Path) -> bool {
        self.shared
            .peers
            .family(path.peer, table.number)
            .life
            .is_alive(path.generation)
    }

    fn name(&self, peer: PeerIndex) -> Option<PeerId> {
        (peer != PeerIndex::LOCAL).then(|| self.shared.peers.facts(peer).id)
    }
}

/// The prefixes that a prefix is equal to or inside of, shortest first.
pub(super) fn covering(table: &Table, prefix: IpNet) -> SmallVec<[(IpNet, Slot); 4]> {
    (0..=prefix.prefix_len())
        .filter_map(|length| {
            let outer = IpNet::new(prefix.addr(), length).ok()?.trunc();
            Some((outer, table.prefixes.find(outer)?))
        })
        .collect()
}
