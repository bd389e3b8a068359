//! What every Loc-RIB must hold in the end, worked out without messages, sessions or time.
//!
//! All speakers decide at once, again and again, each from what its neighbours chose in the round before, until nothing
//! changes (RFC 4271 sections 9.1 and 9.2, RFC 4456, RFC 1997). Nothing here is shared with the core but its values.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use bgp_core::rib::NextHopMode;
use bgp_wire::{Attributes, Community, SessionType};
use ipnet::IpNet;

use crate::simulation::Simulation;
use crate::topology::{SpeakerId, Topology};

/// A route that a speaker uses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Chosen {
    /// As in Loc-RIB.
    pub attributes: Attributes,
    /// `None` for a route of the speaker's own.
    pub next_hop: Option<IpAddr>,
    /// Who it came from; `None` for a route of the speaker's own.
    pub from: Option<SpeakerId>,
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            attributes,
            next_hop,
            from,
        } = self;
        match (from, next_hop) {
            (Some(from), Some(next_hop)) => write!(f, "from {from} via {next_hop}")?,
            _ => f.write_str("its own")?,
        }
        write!(
            f,
            ", path [{}], {:?}",
            attributes.as_path, attributes.origin
        )?;
        if let Some(local_pref) = attributes.local_pref {
            write!(f, ", preference {local_pref}")?;
        }
        if let Some(med) = attributes.med {
            write!(f, ", MED {med}")?;
        }
        if let Some(originator) = attributes.originator_id {
            write!(f, ", from {originator} through {}", attributes.cluster_list)?;
        }
        if !attributes.communities.is_empty() {
            write!(f, ", communities {:?}", attributes.communities)?;
        }
        Ok(())
    }
}

/// Attributes and next hop, as they are sent.
pub type Sent = (Attributes, IpAddr);

/// What must be, once everything that can be said has been said.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Expected {
    /// What everybody uses.
    pub chosen: LocRibs,
    /// What each speaker (first) has told each neighbour (second).
    pub sent: BTreeMap<(SpeakerId, SpeakerId), BTreeMap<IpNet, Sent>>,
}

/// Loc-RIB of each speaker, by prefix.
pub type LocRibs = BTreeMap<IpNet, Vec<Option<Chosen>>>;

/// What must be, given who runs and which links carry.
///
/// # Panics
/// When the choices never come to rest: such a topology has no one answer, and a test must not use it.
#[must_use]
pub fn expected(simulation: &Simulation) -> Expected {
    let topology = simulation.topology();
    let own = |id| {
        let running = simulation.is_running(id).then(|| simulation.own(id));
        running.into_iter().flatten()
    };
    let prefixes: BTreeSet<_> = topology
        .ids()
        .flat_map(|id| own(id).map(|(prefix, _)| prefix))
        .collect();
    let neighbours: Vec<Vec<_>> = topology
        .ids()
        .map(|id| {
            let neighbours = topology.neighbours_of(id);
            neighbours
                .filter(|(_, link)| simulation.is_usable(*link))
                .collect()
        })
        .collect();
    let model = Model {
        topology,
        neighbours,
        next_hop: simulation.settings().next_hop,
    };
    let chosen: LocRibs = prefixes
        .into_iter()
        .map(|prefix| {
            let own: Vec<_> = topology
                .ids()
                .map(|id| own(id).find(|(other, _)| *other == prefix))
                .map(|route| route.map(|(_, attributes)| attributes))
                .collect();
            (prefix, model.settle(prefix, &own))
        })
        .collect();
    let mut sent = BTreeMap::new();
    for from in topology.ids() {
        for &(to, link) in &model.neighbours[from.index()] {
            let routes = chosen.iter().filter_map(|(prefix, chosen)| {
                let chosen = chosen[from.index()].as_ref()?;
                let sent = model.export(from, to, link, *prefix, chosen)?;
                Some((*prefix, sent))
            });
            sent.insert((from, to), routes.collect());
        }
    }
    Expected { chosen, sent }
}

struct Model<'a> {
    topology: &'a Topology,
    neighbours: Vec<Vec<(SpeakerId, usize)>>,
    next_hop: NextHopMode,
}

impl Model<'_> {
    fn settle(&self, prefix: IpNet, own: &[Option<&Attributes>]) -> Vec<Option<Chosen>> {
        let mut chosen: Vec<Option<Chosen>> = vec![None; own.len()];
        for _ in 0..4 * own.len() + 4 {
            let next: Vec<_> = self
                .topology
                .ids()
                .map(|id| self.choose(id, prefix, own[id.index()], &chosen))
                .collect();
            if next == chosen {
                return chosen;
            }
            chosen = next;
        }
        panic!("{prefix} has no stable choice in this topology");
    }

    fn choose(
        &self,
        id: SpeakerId,
        prefix: IpNet,
        own: Option<&Attributes>,
        chosen: &[Option<Chosen>],
    ) -> Option<Chosen> {
        let mut candidates: Vec<Chosen> = self.neighbours[id.index()]
            .iter()
            .filter_map(|&(neighbour, link)| {
                let theirs = chosen[neighbour.index()].as_ref()?;
                let sent = self.export(neighbour, id, link, prefix, theirs)?;
                self.import(id, neighbour, link, prefix, sent)
            })
            .collect();
        candidates.extend(own.map(|attributes| Chosen {
            attributes: attributes.clone(),
            next_hop: None,
            from: None,
        }));
        self.best(id, candidates)
    }

    /// What `from` sends of its choice to `to`.
    fn export(
        &self,
        from: SpeakerId,
        to: SpeakerId,
        link: usize,
        prefix: IpNet,
        chosen: &Chosen,
    ) -> Option<Sent> {
        let Chosen {
            attributes,
            next_hop,
            from: source,
        } = chosen;
        if *source == Some(to) || has(attributes, Community::NO_ADVERTISE) {
            return None;
        }
        let mut attributes = attributes.clone();
        let itself = from.next_hop(prefix);
        if self.topology.session_type(link) == SessionType::External {
            if has(&attributes, Community::NO_EXPORT) {
                return None;
            }
            attributes
                .as_path
                .prepend(self.topology.speaker(from).asn, 1);
            attributes.local_pref = None;
            attributes.originator_id = None;
            attributes.cluster_list.clear();
            if source.is_some() {
                attributes.med = None;
            }
            return Some((attributes, itself));
        }
        attributes.local_pref.get_or_insert(100);
        let inside = source.filter(|source| self.is_internal(from, *source));
        let Some(source) = inside else {
            let kept = next_hop.filter(|_| self.next_hop != NextHopMode::ToSelf);
            return Some((attributes, kept.unwrap_or(itself)));
        };
        // RFC 4456 section 6: from one iBGP neighbour to another only if one of them is a client.
        let cluster_id = self.topology.speaker(from).cluster_id?;
        let client = |neighbour| {
            self.neighbours[from.index()].iter().any(|&(other, link)| {
                other == neighbour && self.topology.is_reflector_of(from, link)
            })
        };
        if !client(source) && !client(to) {
            return None;
        }
        let originator = *attributes
            .originator_id
            .get_or_insert_with(|| source.router_id());
        if originator == to.router_id() {
            return None;
        }
        attributes.cluster_list.prepend(cluster_id);
        Some((attributes, next_hop.unwrap_or(itself)))
    }

    fn import(
        &self,
        id: SpeakerId,
        from: SpeakerId,
        link: usize,
        prefix: IpNet,
        (attributes, next_hop): Sent,
    ) -> Option<Chosen> {
        let this = self.topology.speaker(id);
        let looped = match self.topology.session_type(link) {
            SessionType::External => false,
            SessionType::Internal => {
                attributes.originator_id == Some(id.router_id())
                    || attributes
                        .cluster_list
                        .iter()
                        .any(|cluster| Some(*cluster) == this.cluster_id)
            }
        };
        if looped || attributes.as_path.contains(this.asn) || next_hop == id.next_hop(prefix) {
            return None;
        }
        Some(Chosen {
            attributes,
            next_hop: Some(next_hop),
            from: Some(from),
        })
    }

    /// RFC 4271 section 9.1.2.2, without cost: every next hop is equally near.
    fn best(&self, id: SpeakerId, mut candidates: Vec<Chosen>) -> Option<Chosen> {
        keep_lowest(&mut candidates, |route| {
            u32::MAX - route.attributes.local_pref.unwrap_or(100)
        });
        keep_lowest(&mut candidates, |route| route.from.is_some());
        keep_lowest(&mut candidates, |route| {
            route.attributes.as_path.hop_count()
        });
        keep_lowest(&mut candidates, |route| route.attributes.origin as u8);
        let med = |route: &Chosen| route.attributes.med.unwrap_or(0);
        let beaten: Vec<bool> = candidates
            .iter()
            .map(|route| {
                candidates.iter().any(|other| {
                    other.attributes.as_path.first_asn() == route.attributes.as_path.first_asn()
                        && med(other) < med(route)
                })
            })
            .collect();
        let mut beaten = beaten.into_iter();
        candidates.retain(|_| beaten.next() == Some(false));
        keep_lowest(&mut candidates, |route| {
            route.from.is_some_and(|from| self.is_internal(id, from))
        });
        keep_lowest(&mut candidates, |route| {
            let neighbour = route.from.unwrap_or(id).router_id();
            route.attributes.originator_id.unwrap_or(neighbour)
        });
        keep_lowest(&mut candidates, |route| route.attributes.cluster_list.len());
        candidates
            .into_iter()
            .min_by_key(|route| route.from.map(SpeakerId::address))
    }

    fn is_internal(&self, one: SpeakerId, other: SpeakerId) -> bool {
        self.topology.speaker(one).asn == self.topology.speaker(other).asn
    }
}

fn has(attributes: &Attributes, community: Community) -> bool {
    attributes.communities.contains(&community)
}

fn keep_lowest<K: Ord>(routes: &mut Vec<Chosen>, key: impl Fn(&Chosen) -> K) {
    if let Some(lowest) = routes.iter().map(&key).min() {
        routes.retain(|route| key(route) == lowest);
    }
}
