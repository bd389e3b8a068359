//! What must hold once a simulation has settled.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use bgp_core::rib::{PathState, PrefixFilter, RouteQuery, RouteTable, RouteView, Totals};
use bgp_core::session::SessionState;
use bgp_wire::NextHop;
use ipnet::IpNet;

use crate::oracle::{self, Chosen, Expected, Sent};
use crate::simulation::Simulation;
use crate::topology::SpeakerId;

/// Something that must not be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Problem {
    /// Sessions are down that should be up, or the other way round; or work did not end.
    Unsettled {
        /// These sessions, by both ends.
        sessions: Vec<[SpeakerId; 2]>,
    },
    /// A Loc-RIB has something else than the oracle.
    LocRib {
        /// Whose.
        speaker: SpeakerId,
        /// Which prefix.
        prefix: IpNet,
        /// What the oracle says.
        expected: Option<Box<Chosen>>,
        /// What is there.
        found: Option<Box<Chosen>>,
    },
    /// One end was not sent, or does not have, what the oracle says.
    Session {
        /// The sender.
        from: SpeakerId,
        /// The receiver.
        to: SpeakerId,
        /// Prefixes that differ.
        prefixes: Vec<IpNet>,
    },
    /// A packet would go round.
    Loop {
        /// To where.
        prefix: IpNet,
        /// The way it takes; the last one is there already.
        way: Vec<SpeakerId>,
    },
    /// A path is still there without the session or the route that it came from.
    Leftover {
        /// Where.
        speaker: SpeakerId,
        /// What the shard holds.
        totals: Totals,
    },
    /// UPDATEs went on though everything seemed to be said.
    Restless {
        /// How many arrived.
        updates: u64,
    },
    /// A path is still marked stale.
    Stale {
        /// Where.
        speaker: SpeakerId,
        /// Which prefix.
        prefix: IpNet,
    },
}

/// All problems of a simulation that should have settled.
#[must_use]
pub fn problems(simulation: &Simulation) -> Vec<Problem> {
    if !simulation.is_settled() {
        let sessions = wrong_sessions(simulation);
        return vec![Problem::Unsettled { sessions }];
    }
    let found = loc_ribs(simulation);
    let expected = oracle::expected(simulation);
    let mut problems = compare(simulation, &expected, &found);
    problems.extend(differing_sessions(simulation, &expected));
    problems.extend(loops(simulation, &found));
    problems
}

/// What is left where nothing is announced any more.
#[must_use]
pub fn leftovers(simulation: &Simulation) -> Vec<Problem> {
    let mut problems = Vec::new();
    for speaker in simulation.topology().ids() {
        let totals = simulation.shard(speaker).totals();
        if totals.prefixes + totals.paths + totals.originated + totals.attribute_sets > 0 {
            problems.push(Problem::Leftover { speaker, totals });
        }
    }
    problems
}

type Found = Vec<BTreeMap<IpNet, Chosen>>;

/// Sessions that are not as their link is, by both ends.
fn wrong_sessions(simulation: &Simulation) -> Vec<[SpeakerId; 2]> {
    let up = |one, other| {
        simulation
            .session(one, other)
            .is_some_and(|status| status.state == SessionState::Established)
    };
    let links = simulation.topology().links.iter().enumerate();
    links
        .filter(|(position, link)| {
            let [one, other] = link.ends;
            let usable = simulation.is_usable(*position);
            up(one, other) != usable || up(other, one) != usable
        })
        .map(|(_, link)| link.ends)
        .collect()
}

fn loc_ribs(simulation: &Simulation) -> Found {
    let ids = simulation.topology().ids();
    ids.map(|id| {
        // What a speaker that is down once held does not count.
        let running = simulation.is_running(id);
        let routes = running.then(|| routes(simulation, id, RouteTable::LocRib));
        routes
            .into_iter()
            .flatten()
            .filter_map(|route| {
                let best = route
                    .paths
                    .into_iter()
                    .find(|path| path.state == PathState::Best)?;
                let chosen = Chosen {
                    attributes: best.attributes,
                    next_hop: best.next_hop.map(address),
                    from: best.peer.map(SpeakerId::of_peer),
                };
                Some((route.prefix, chosen))
            })
            .collect()
    })
    .collect()
}

fn compare(simulation: &Simulation, expected: &Expected, found: &Found) -> Vec<Problem> {
    let expected = &expected.chosen;
    let mut problems = Vec::new();
    for (speaker, found) in simulation.topology().ids().zip(found) {
        let prefixes: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
        for prefix in prefixes {
            let wanted = expected
                .get(prefix)
                .and_then(|chosen| chosen[speaker.index()].as_ref());
            let there = found.get(prefix);
            if wanted != there {
                problems.push(Problem::LocRib {
                    speaker,
                    prefix: *prefix,
                    expected: wanted.cloned().map(Box::new),
                    found: there.cloned().map(Box::new),
                });
            }
        }
    }
    problems
}

/// Both ends of every session against the oracle: also what did not become best must be right.
fn differing_sessions(simulation: &Simulation, expected: &Expected) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (&(from, to), expected) in &expected.sent {
        let received = routes(simulation, to, RouteTable::AdjIn(from.peer_id()));
        let stale = received
            .iter()
            .filter(|route| route.paths.iter().any(|path| path.stale));
        problems.extend(stale.map(|route| Problem::Stale {
            speaker: to,
            prefix: route.prefix,
        }));
        let received = by_prefix(received);
        let sent = by_prefix(routes(simulation, from, RouteTable::AdjOut(to.peer_id())));
        let prefixes: BTreeSet<_> = [expected, &sent, &received]
            .into_iter()
            .flat_map(BTreeMap::keys)
            .collect();
        let prefixes: Vec<_> = prefixes
            .into_iter()
            .filter(|prefix| {
                let wanted = expected.get(*prefix);
                sent.get(*prefix) != wanted || received.get(*prefix) != wanted
            })
            .copied()
            .collect();
        if !prefixes.is_empty() {
            problems.push(Problem::Session { from, to, prefixes });
        }
    }
    problems
}

/// Without add-path there is one path for each prefix, and over iBGP and eBGP each has a next hop.
fn by_prefix(routes: Vec<RouteView>) -> BTreeMap<IpNet, Sent> {
    routes
        .into_iter()
        .filter_map(|route| {
            let path = route.paths.into_iter().next()?;
            Some((route.prefix, (path.attributes, address(path.next_hop?))))
        })
        .collect()
}

/// Follows every prefix from every speaker by next hop. A next hop of the own AS, and of a neighbour, is reached
/// without the help of another speaker.
fn loops(simulation: &Simulation, found: &Found) -> Vec<Problem> {
    let mut problems = Vec::new();
    for start in simulation.topology().ids() {
        for prefix in found[start.index()].keys() {
            let mut way = vec![start];
            let mut at = start;
            while let Some(chosen) = found[at.index()].get(prefix)
                && let Some(next_hop) = chosen.next_hop
            {
                let owner = simulation
                    .topology()
                    .ids()
                    .find(|id| id.next_hop(*prefix) == next_hop);
                let Some(next) = owner else { break };
                let seen = way.contains(&next);
                way.push(next);
                if seen {
                    let prefix = *prefix;
                    problems.push(Problem::Loop { prefix, way });
                    break;
                }
                at = next;
            }
        }
    }
    problems
}

fn routes(simulation: &Simulation, id: SpeakerId, table: RouteTable) -> Vec<RouteView> {
    let query = RouteQuery {
        table,
        family: None,
        prefix: PrefixFilter::All,
    };
    simulation.shard(id).routes(&query, None, MOST_ROUTES)
}

fn address(next_hop: NextHop) -> IpAddr {
    match next_hop {
        NextHop::V4(address) => address.into(),
        NextHop::V6 { global, .. } => global.into(),
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsettled { sessions } if sessions.is_empty() => f.write_str("work does not end"),
            Self::Unsettled { sessions } => {
                write!(f, "these sessions are not as their links are: {sessions:?}")
            }
            Self::LocRib {
                speaker,
                prefix,
                expected,
                found,
            } => {
                let show = |chosen: &Option<Box<Chosen>>| {
                    chosen
                        .as_ref()
                        .map_or_else(|| "nothing".to_owned(), ToString::to_string)
                };
                let (expected, found) = (show(expected), show(found));
                write!(f, "{speaker}, {prefix}: should be {expected}; is {found}")
            }
            Self::Session { from, to, prefixes } => {
                write!(f, "{to} does not have what {from} must send: {prefixes:?}")
            }
            Self::Loop { prefix, way } => write!(f, "packets to {prefix} go round: {way:?}"),
            Self::Leftover { speaker, totals } => write!(f, "{speaker} has {totals:?} left"),
            Self::Restless { updates } => write!(f, "{updates} UPDATEs followed the last one"),
            Self::Stale { speaker, prefix } => write!(f, "{speaker}: {prefix} is stale"),
        }
    }
}

/// More than any simulation has.
const MOST_ROUTES: usize = 1 << 20;
