//! The decision process: which of several paths is used (RFC 4271 section 9.1.2.2, RFC 4456 section 9).
//!
//! Each step removes the candidates that are worse than the best of those left. Removing, in place of comparing pairs,
//! makes MED sound: it compares only within one neighbour AS, so a comparison of pairs depends on the order of arrival.

use std::fmt;
use std::net::IpAddr;

use bgp_wire::{Asn, RouterId};
use smallvec::SmallVec;

use crate::PeerId;

/// The rule that tells one path from a better one, in the order of the decision.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Step {
    /// Highest LOCAL_PREF.
    LocalPref,
    /// A route of this node's own.
    LocalOrigin,
    /// Shortest AS_PATH.
    AsPathLength,
    /// Lowest ORIGIN: IGP, then EGP, then INCOMPLETE.
    Origin,
    /// Lowest MED among paths from the same neighbour AS.
    Med,
    /// eBGP over iBGP.
    SessionType,
    /// Lowest cost of the way to the next hop. Paths that are equal up to here may share the load.
    NextHopCost,
    /// Lowest ORIGINATOR_ID, or BGP identifier of the peer without.
    RouterId,
    /// Shortest CLUSTER_LIST.
    ClusterListLength,
    /// Lowest address of the peer.
    PeerAddress,
    /// Lowest path identifier from the same peer.
    PathId,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LocalPref => "lower LOCAL_PREF",
            Self::LocalOrigin => "not this node's own route",
            Self::AsPathLength => "longer AS_PATH",
            Self::Origin => "higher ORIGIN",
            Self::Med => "higher MED from the same neighbour AS",
            Self::SessionType => "iBGP, and the best is eBGP",
            Self::NextHopCost => "higher cost to the next hop",
            Self::RouterId => "higher router id",
            Self::ClusterListLength => "longer CLUSTER_LIST",
            Self::PeerAddress => "higher peer address",
            Self::PathId => "higher path identifier",
        })
    }
}

/// A usable path, as the decision sees it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Candidate {
    /// In the prefix's array of paths.
    pub(super) position: u16,
    pub(super) local: bool,
    pub(super) ebgp: bool,
    pub(super) origin: u8,
    pub(super) local_pref: u32,
    pub(super) hops: u32,
    pub(super) neighbour: Asn,
    pub(super) med: u32,
    pub(super) cost: u32,
    pub(super) tie: TieBreak,
}

/// What decides between paths that could share the load.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub(super) struct TieBreak {
    pub(super) router_id: RouterId,
    pub(super) cluster_list: u32,
    pub(super) address: IpAddr,
    /// Only tells apart link-local peers that have the same address on two interfaces.
    pub(super) peer: PeerId,
    pub(super) path_id: u32,
}

/// Paths of one prefix; on the heap only from the ninth on.
pub(super) type Candidates = SmallVec<[Candidate; 8]>;

/// Leaves the paths that are equal up to the cost of the next hop, best first; tells of each other one where it lost.
pub(super) fn decide(candidates: &mut Candidates, mut lost: impl FnMut(&Candidate, Step)) {
    if candidates.len() < 2 {
        return;
    }
    keep_lowest(
        candidates,
        |c| u32::MAX - c.local_pref,
        |c| lost(c, Step::LocalPref),
    );
    keep_lowest(candidates, |c| !c.local, |c| lost(c, Step::LocalOrigin));
    keep_lowest(candidates, |c| c.hops, |c| lost(c, Step::AsPathLength));
    keep_lowest(candidates, |c| c.origin, |c| lost(c, Step::Origin));
    keep_lowest_med(candidates, |c| lost(c, Step::Med));
    keep_lowest(candidates, |c| !c.ebgp, |c| lost(c, Step::SessionType));
    keep_lowest(candidates, |c| c.cost, |c| lost(c, Step::NextHopCost));
    candidates.sort_unstable_by_key(|c| c.tie);
}

/// Which of the rules for equal paths the worse one lost at.
pub(super) fn tie_step(best: &Candidate, other: &Candidate) -> Step {
    if best.tie.router_id != other.tie.router_id {
        Step::RouterId
    } else if best.tie.cluster_list != other.tie.cluster_list {
        Step::ClusterListLength
    } else if (best.tie.address, best.tie.peer) != (other.tie.address, other.tie.peer) {
        Step::PeerAddress
    } else {
        Step::PathId
    }
}

fn keep_lowest<K: Ord + Copy>(
    candidates: &mut Candidates,
    key: impl Fn(&Candidate) -> K,
    mut lost: impl FnMut(&Candidate),
) {
    let Some(lowest) = candidates.iter().map(&key).min() else {
        return;
    };
    candidates.retain(|candidate| {
        let keep = key(candidate) == lowest;
        if !keep {
            lost(candidate);
        }
        keep
    });
}

fn keep_lowest_med(candidates: &mut Candidates, mut lost: impl FnMut(&Candidate)) {
    candidates.sort_unstable_by_key(|c| (c.neighbour, c.med));
    let mut run = None;
    candidates.retain(|candidate| {
        let lowest = match run {
            Some((neighbour, lowest)) if neighbour == candidate.neighbour => lowest,
            _ => candidate.med,
        };
        run = Some((candidate.neighbour, lowest));
        let keep = candidate.med == lowest;
        if !keep {
            lost(candidate);
        }
        keep
    });
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    fn base() -> Candidate {
        Candidate {
            position: 0,
            local: false,
            ebgp: true,
            origin: 0,
            local_pref: 100,
            hops: 3,
            neighbour: Asn(64501),
            med: 10,
            cost: 10,
            tie: TieBreak {
                router_id: RouterId::from(5),
                cluster_list: 2,
                address: Ipv4Addr::new(192, 0, 2, 5).into(),
                peer: PeerId(5),
                path_id: 5,
            },
        }
    }

    /// The step at which the second of two candidates loses, whichever comes first.
    fn lost_at(winner: Candidate, loser: Candidate) -> Step {
        let steps = [[winner, loser], [loser, winner]].map(|pair| {
            let mut candidates = Candidates::from_slice(&pair);
            let mut lost = None;
            decide(&mut candidates, |_, step| lost = Some(step));
            assert_eq!(candidates[0].tie, winner.tie, "the other one won");
            lost.unwrap_or_else(|| tie_step(&candidates[0], &candidates[1]))
        });
        assert_eq!(steps[0], steps[1]);
        steps[0]
    }

    #[test]
    fn each_step_decides_when_all_earlier_ones_are_equal() {
        // Each row is worse than the base in one step, and better in every later one.
        let better_tie = TieBreak {
            router_id: RouterId::from(1),
            cluster_list: 0,
            address: Ipv4Addr::new(192, 0, 2, 1).into(),
            peer: PeerId(1),
            path_id: 1,
        };
        let better = Candidate {
            hops: 1,
            med: 1,
            cost: 1,
            tie: better_tie,
            ..base()
        };
        let own = Candidate {
            local: true,
            ..base()
        };
        let ibgp = Candidate {
            ebgp: false,
            ..base()
        };
        let high_origin = Candidate {
            origin: 1,
            ..base()
        };
        let rows = [
            (
                base(),
                Candidate {
                    local_pref: 99,
                    local: true,
                    ..better
                },
                Step::LocalPref,
            ),
            (own, better, Step::LocalOrigin),
            (
                high_origin,
                Candidate {
                    hops: 4,
                    origin: 0,
                    ..better
                },
                Step::AsPathLength,
            ),
            (
                base(),
                Candidate {
                    hops: 3,
                    origin: 1,
                    ..better
                },
                Step::Origin,
            ),
            (
                ibgp,
                Candidate {
                    hops: 3,
                    med: 11,
                    ..better
                },
                Step::Med,
            ),
            (
                base(),
                Candidate {
                    hops: 3,
                    med: 10,
                    ebgp: false,
                    ..better
                },
                Step::SessionType,
            ),
            (
                base(),
                Candidate {
                    hops: 3,
                    med: 10,
                    cost: 11,
                    ..better
                },
                Step::NextHopCost,
            ),
            (
                base(),
                Candidate {
                    tie: TieBreak {
                        router_id: RouterId::from(6),
                        ..better_tie
                    },
                    ..base()
                },
                Step::RouterId,
            ),
            (
                base(),
                Candidate {
                    tie: TieBreak {
                        router_id: RouterId::from(5),
                        cluster_list: 3,
                        ..better_tie
                    },
                    ..base()
                },
                Step::ClusterListLength,
            ),
            (
                base(),
                Candidate {
                    tie: TieBreak {
                        address: Ipv4Addr::new(192, 0, 2, 6).into(),
                        path_id: 1,
                        ..base().tie
                    },
                    ..base()
                },
                Step::PeerAddress,
            ),
            (
                base(),
                Candidate {
                    tie: TieBreak {
                        path_id: 6,
                        ..base().tie
                    },
                    ..base()
                },
                Step::PathId,
            ),
        ];
        for (winner, loser, step) in rows {
            assert_eq!(lost_at(winner, loser), step);
        }
    }

    #[test]
    fn med_compares_only_within_one_neighbour_as() {
        let other = Candidate {
            neighbour: Asn(64502),
            med: 99,
            ..base()
        };
        let mut candidates = Candidates::from_slice(&[base(), other]);
        decide(&mut candidates, |_, step| {
            panic!("nobody loses, not at {step}")
        });
        assert_eq!(candidates.len(), 2);
    }

    fn any_candidate() -> impl Strategy<Value = Candidate> {
        (
            (99u32..101, 0u32..3, 0u8..2, 0u32..3, 0u32..3),
            (any::<bool>(), 0u32..2, 0u32..3, 0u32..2),
        )
            .prop_map(
                |((local_pref, hops, origin, neighbour, med), (ebgp, cost, id, list))| Candidate {
                    local_pref,
                    hops,
                    origin,
                    neighbour: Asn(neighbour),
                    med,
                    ebgp,
                    cost,
                    tie: TieBreak {
                        router_id: RouterId::from(id),
                        cluster_list: list,
                        ..base().tie
                    },
                    ..base()
                },
            )
    }

    proptest! {
        #[test]
        fn the_order_of_arrival_is_of_no_matter(
            candidates in prop::collection::vec(any_candidate(), 1..12),
            seed in any::<u64>(),
        ) {
            let distinct: Candidates = (0..)
                .zip(candidates)
                .map(|(position, mut candidate): (u16, _)| {
                    candidate.position = position;
                    candidate.tie.peer = PeerId(u32::from(position));
                    candidate
                })
                .collect();
            let mut shuffled = distinct.clone();
            shuffled.sort_by_key(|c| (u64::from(c.position) + 1).wrapping_mul(seed | 1));
            let run = |mut candidates: Candidates| {
                let mut lost = Vec::new();
                decide(&mut candidates, |candidate, step| lost.push((candidate.position, step)));
                lost.sort_unstable();
                (candidates.iter().map(|c| c.position).collect::<Vec<_>>(), lost)
            };
            prop_assert_eq!(run(distinct), run(shuffled));
        }
    }
}
