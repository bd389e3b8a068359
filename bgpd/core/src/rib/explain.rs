//! Why a prefix goes where it goes, and who is told.

use bgp_wire::Family;
use ipnet::IpNet;

use super::attributes::RouteAttributes;
use super::export::{GroupIndex, Sent, judge, rewrite};
use super::ids::{PeerIndex, Slot};
use super::peers::{PeerRecord, table_index};
use super::shard::Shard;
use super::table::Table;
use super::view::{AdvertisementView, Explanation, NotAdvertised, SentRoute};

impl Shard {
    /// Every path of a prefix with what became of it, and every peer with what it was told.
    #[must_use]
    pub fn explain(&self, prefix: IpNet) -> Explanation {
        let family = Family::of(&prefix);
        let table = table_index(family).and_then(|number| self.tables.get(number));
        let found = table.and_then(|table| Some((table, table.prefixes.find(prefix)?)));
        Explanation {
            prefix,
            paths: found.map_or_else(Vec::new, |(table, slot)| self.ranked_paths(table, slot)),
            fib: found
                .and_then(|(table, slot)| self.shared.fibs.get(table.slots[slot.index()].fib))
                .cloned(),
            advertisements: self
                .shared
                .peers
                .iter()
                .filter(|(_, record)| record.up)
                .map(|(peer, record)| AdvertisementView {
                    peer: self.shared.peers.facts(peer).id,
                    result: self.advertisement(found, peer, record, family),
                })
                .collect(),
        }
    }

    fn advertisement(
        &self,
        found: Option<(&Table, Slot)>,
        peer: PeerIndex,
        record: &PeerRecord,
        family: Family,
    ) -> Result<SentRoute, NotAdvertised> {
        if !record.settings.families.contains(&family) {
            return Err(NotAdvertised::FamilyNotNegotiated);
        }
        let (table, slot) = found.ok_or(NotAdvertised::NoBestPath)?;
        let group = self.shared.peers.family(peer, table.number).group;
        let (index, group) = group
            .and_then(|index: GroupIndex| Some((index, self.groups.get(index)?)))
            .ok_or(NotAdvertised::Pending)?;
        let Some(sent) = group.out.get(slot) else {
            return Err(self.reason(table, slot, index));
        };
        if sent.source == peer {
            return Err(NotAdvertised::SplitHorizon);
        }
        if group.excluded(&self.shared, Some(sent)).contains(&peer) {
            return Err(NotAdvertised::Originator);
        }
        if group.member(peer).is_some_and(|member| member.lacks(slot)) {
            return Err(NotAdvertised::Pending);
        }
        Ok(self.sent_route(sent))
    }

    fn reason(&self, table: &Table, slot: Slot, index: GroupIndex) -> NotAdvertised {
        let Some(path) = table.best(slot) else {
            return NotAdvertised::NoBestPath;
        };
        let Some(group) = self.groups.get(index) else {
            return NotAdvertised::Pending;
        };
        let prefix = table.prefixes.get(slot);
        let source = self.shared.peers.facts(path.peer);
        let wanted = judge(&self.shared, &group.key, prefix, path)
            .and_then(|edits| rewrite(&self.shared, &group.key, source, path.accepted, &edits));
        match wanted {
            Err(withheld) => NotAdvertised::new(withheld, &group.key),
            Ok(_) if self.deferring => NotAdvertised::Deferring,
            Ok(_) => NotAdvertised::Pending,
        }
    }

    fn sent_route(&self, sent: Sent) -> SentRoute {
        let RouteAttributes {
            attributes,
            next_hop,
        } = self.shared.load(sent.attributes);
        SentRoute {
            attributes,
            next_hop,
        }
    }
}
