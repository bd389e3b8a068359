//! Random histories, against a model that keeps no state but its input and computes everything anew.
//!
//! The model shares with the shard only the codec, the settings and [`Policy`], which has tests of its own.

use bgp_wire::{Community, RefreshSubtype};
use proptest::prelude::*;

use super::*;
use crate::policy::{
    Condition, Edit, PolicyRoute, PrefixRule, PrefixSet, RouteSource, SourceMatch, Term, Verdict,
};
use crate::rib::attributes::gateway;
use crate::rib::shard::Slices;

proptest! {
    #[test]
    fn the_shard_always_ends_where_the_model_does(
        reflector in any::<bool>(),
        deferring in any::<bool>(),
        multipath in 1u16..4,
        slice in prop::sample::select(vec![1, 2, 3, 1000]),
        happenings in prop::collection::vec(any_happening(), 1..80),
    ) {
        let settings = ShardSettings {
            cluster_id: reflector.then_some(CLUSTER),
            multipath,
            // So small that everybody lags now and then.
            send_window: 200,
            ..shard_settings()
        };
        let mut world = World::new(settings, deferring);
        world.bench.shard.set_slices(Slices {
            walk: slice,
            decide: slice,
            send: slice,
            step: slice,
            reclaim: slice,
            bury: slice,
        });
        for happening in happenings {
            world.happen(happening);
        }
        world.bench.handle(RibEvent::EndDeferral);
        world.bench.stalled.clear();
        world.bench.settle();
        world.compare();
        world.end();
    }
}

#[derive(Clone, Debug)]
enum Happening {
    Up(u8, u8),
    Down {
        number: u8,
        keep: u8,
    },
    Remove(u8),
    Announce {
        number: u8,
        prefix: u8,
        path_id: u32,
        attributes: u8,
        next_hop: u8,
    },
    Retract {
        number: u8,
        prefix: u8,
        path_id: u32,
    },
    EndOfRib(u8, bool),
    FlushStale(u8, bool),
    Refresh(u8, bool),
    Originate {
        prefix: u8,
        attributes: u8,
        next_hop: u8,
    },
    Withdraw(u8),
    Policies {
        number: u8,
        import: u8,
        export: u8,
    },
    Settings(u8, u8),
    NextHop {
        next_hop: u8,
        v4: bool,
        state: u8,
    },
    Configure {
        reflector: bool,
    },
    Step,
    Settle,
    Stall(u8),
    Release,
    EndDeferral,
}

const PEERS: u8 = 6;

fn any_happening() -> impl Strategy<Value = Happening> {
    let number = || 1u8..=PEERS;
    prop_oneof![
        8 => (number(), 0u8..6).prop_map(|(number, knob)| Happening::Up(number, knob)),
        3 => (number(), 0u8..4).prop_map(|(number, keep)| Happening::Down { number, keep }),
        1 => number().prop_map(Happening::Remove),
        24 => (number(), 0u8..6, 0u32..2, 0u8..12, 0u8..4).prop_map(
            |(number, prefix, path_id, attributes, next_hop)| Happening::Announce {
                number, prefix, path_id, attributes, next_hop,
            }),
        8 => (number(), 0u8..6, 0u32..2)
            .prop_map(|(number, prefix, path_id)| Happening::Retract { number, prefix, path_id }),
        2 => (number(), any::<bool>()).prop_map(|(number, v4)| Happening::EndOfRib(number, v4)),
        1 => (number(), any::<bool>()).prop_map(|(number, v4)| Happening::FlushStale(number, v4)),
        2 => (number(), any::<bool>()).prop_map(|(number, v4)| Happening::Refresh(number, v4)),
        3 => (0u8..6, 0u8..12, 0u8..3).prop_map(
            |(prefix, attributes, next_hop)| Happening::Originate { prefix, attributes, next_hop }),
        2 => (0u8..6).prop_map(Happening::Withdraw),
        4 => (number(), 0u8..6, 0u8..6)
            .prop_map(|(number, import, export)| Happening::Policies { number, import, export }),
        2 => (number(), 0u8..6).prop_map(|(number, knob)| Happening::Settings(number, knob)),
        2 => (0u8..4, any::<bool>(), 0u8..3)
            .prop_map(|(next_hop, v4, state)| Happening::NextHop { next_hop, v4, state }),
        1 => any::<bool>().prop_map(|reflector| Happening::Configure { reflector }),
        12 => Just(Happening::Step),
        3 => Just(Happening::Settle),
        3 => number().prop_map(Happening::Stall),
        2 => Just(Happening::Release),
        1 => Just(Happening::EndDeferral),
    ]
}

/// The shard and the model's input.
struct World {
    bench: Bench,
    settings: ShardSettings,
    peers: BTreeMap<PeerId, ModelPeer>,
    own: BTreeMap<IpNet, (Attributes, Option<IpAddr>)>,
    next_hops: BTreeMap<IpAddr, NextHopState>,
}

struct ModelPeer {
    settings: RibPeer,
    up: bool,
    paths: BTreeMap<(IpNet, u32), ModelPath>,
}

#[derive(Clone)]
struct ModelPath {
    attributes: Attributes,
    next_hop: NextHop,
    stale: bool,
}

/// A usable path, with all that the decision compares.
struct Usable {
    source: Option<PeerId>,
    attributes: Attributes,
    next_hop: Option<NextHop>,
    cost: u32,
    path_id: u32,
}

impl World {
    fn new(settings: ShardSettings, deferring: bool) -> Self {
        Self {
            bench: Bench::with(settings.clone(), deferring),
            settings,
            peers: BTreeMap::new(),
            own: BTreeMap::new(),
            next_hops: BTreeMap::new(),
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Up(number, knob) => {
                let settings = settings_of(number, knob);
                let id = PeerId(number.into());
                if self.is_up(id) {
                    self.down(id, &[]);
                }
                self.bench.up(settings.clone());
                let peer = self.peers.entry(id).or_insert_with(|| ModelPeer {
                    settings: settings.clone(),
                    up: true,
                    paths: BTreeMap::new(),
                });
                peer.settings = settings;
                peer.up = true;
            }
            Happening::Down { number, keep } => {
                let families: Vec<_> = (0..)
                    .zip(FAMILIES)
                    .filter(|(bit, _)| keep & (1 << bit) != 0)
                    .map(|(_, family)| family)
                    .collect();
                let id = PeerId(number.into());
                if self.is_up(id) {
                    self.down(id, &families);
                }
            }
            Happening::Remove(number) => {
                let peer = PeerId(number.into());
                if self.peers.remove(&peer).is_some() {
                    self.bench.learned.remove(&peer);
                    self.bench.outstanding.remove(&peer);
                    self.bench.handle(RibEvent::RemovePeer { peer });
                }
            }
            Happening::Announce {
                number,
                prefix,
                path_id,
                attributes,
                next_hop,
            } => {
                let id = PeerId(number.into());
                let prefix = prefix_of(prefix);
                let attributes = attributes_of(attributes);
                let next_hop = next_hop_of(prefix, next_hop);
                if self.is_up(id) {
                    self.bench
                        .announce_path(id, prefix, path_id, attributes.clone(), next_hop);
                    let path = ModelPath {
                        attributes,
                        next_hop,
                        stale: false,
                    };
                    let peer = self.peers.get_mut(&id).expect("it is up");
                    peer.paths.insert((prefix, path_id), path);
                }
            }
            Happening::Retract {
                number,
                prefix,
                path_id,
            } => {
                let id = PeerId(number.into());
                if self.is_up(id) {
                    self.bench.retract_path(id, prefix_of(prefix), path_id);
                    let peer = self.peers.get_mut(&id).expect("it is up");
                    peer.paths.remove(&(prefix_of(prefix), path_id));
                }
            }
            Happening::EndOfRib(number, v4) => {
                let (peer, family) = (PeerId(number.into()), FAMILIES[usize::from(v4)]);
                if self.is_up(peer) {
                    let epoch = self.bench.epoch(peer);
                    self.bench.handle(RibEvent::EndOfRib {
                        peer,
                        epoch,
                        family,
                    });
                    self.sweep(peer, family);
                }
            }
            Happening::FlushStale(number, v4) => {
                let (peer, family) = (PeerId(number.into()), FAMILIES[usize::from(v4)]);
                self.bench.handle(RibEvent::FlushStale {
                    peer,
                    families: vec![family],
                });
                self.sweep(peer, family);
            }
            Happening::Refresh(number, v4) => {
                let (peer, family) = (PeerId(number.into()), FAMILIES[usize::from(v4)]);
                if self.is_up(peer) {
                    let epoch = self.bench.epoch(peer);
                    let subtype = RefreshSubtype::Normal;
                    self.bench.handle(RibEvent::Refresh {
                        peer,
                        epoch,
                        family,
                        subtype,
                    });
                }
            }
            Happening::Originate {
                prefix,
                attributes,
                next_hop,
            } => {
                let prefix = prefix_of(prefix);
                let next_hop = (next_hop > 0).then(|| gateway(next_hop_of(prefix, next_hop)));
                let attributes = attributes_of(attributes);
                let own = Attributes {
                    originator_id: None,
                    cluster_list: Default::default(),
                    ..attributes.clone()
                };
                self.own.insert(prefix, (own, next_hop));
                let route = Origination {
                    prefix,
                    attributes,
                    next_hop,
                };
                self.bench.handle(RibEvent::Originate(vec![route]));
            }
            Happening::Withdraw(prefix) => {
                self.own.remove(&prefix_of(prefix));
                self.bench
                    .handle(RibEvent::Withdraw(vec![prefix_of(prefix)]));
            }
            Happening::Policies {
                number,
                import,
                export,
            } => {
                let id = PeerId(number.into());
                if let Some(peer) = self.peers.get_mut(&id) {
                    peer.settings.import = Arc::new(policy_of(import));
                    peer.settings.export = Arc::new(policy_of(export));
                    self.bench
                        .policies(id, policy_of(import), policy_of(export));
                }
            }
            Happening::Settings(number, knob) => {
                let id = PeerId(number.into());
                if let Some(peer) = self.peers.get_mut(&id) {
                    peer.settings = settings_of(number, knob);
                    self.bench.reconfigure(settings_of(number, knob));
                }
            }
            Happening::NextHop {
                next_hop,
                v4,
                state,
            } => {
                let prefix = prefix(FAMILIES[usize::from(v4)], 0);
                let address = gateway(next_hop_of(prefix, next_hop));
                let state = match state {
                    0 => NextHopState::Unreachable,
                    cost => NextHopState::Reachable {
                        cost: u32::from(cost) - 1,
                    },
                };
                self.next_hops.insert(address, state);
                self.bench
                    .handle(RibEvent::NextHopChanged { address, state });
            }
            Happening::Configure { reflector } => {
                self.settings.cluster_id = reflector.then_some(CLUSTER);
                self.bench
                    .handle(RibEvent::Configure(self.settings.clone()));
            }
            Happening::Step => self.bench.step(),
            Happening::Settle => self.bench.settle(),
            Happening::Stall(number) => {
                self.bench.stalled.insert(PeerId(number.into()));
            }
            Happening::Release => self.bench.stalled.clear(),
            Happening::EndDeferral => self.bench.handle(RibEvent::EndDeferral),
        }
    }

    fn is_up(&self, id: PeerId) -> bool {
        self.peers.get(&id).is_some_and(|peer| peer.up)
    }

    fn down(&mut self, id: PeerId, keep: &[Family]) {
        self.bench.down(id, keep);
        let peer = self.peers.get_mut(&id).expect("it is up");
        peer.up = false;
        peer.paths
            .retain(|(prefix, _), path| keep.contains(&Family::of(prefix)) && !path.stale);
        for path in peer.paths.values_mut() {
            path.stale = true;
        }
    }

    fn sweep(&mut self, id: PeerId, family: Family) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.paths
                .retain(|(prefix, _), path| Family::of(prefix) != family || !path.stale);
        }
    }

    /// Everything that the shard shows must be what the model says.
    fn compare(&self) {
        let mut expected: BTreeMap<PeerId, BTreeMap<IpNet, Learned>> = BTreeMap::new();
        let mut kernel = BTreeMap::new();
        for (id, _) in self.peers.iter().filter(|(_, peer)| peer.up) {
            expected.entry(*id).or_default();
        }
        for prefix in (0..6).map(prefix_of) {
            let ranked = self.ranked(prefix);
            if let Some(route) = self.fib_route(&ranked) {
                kernel.insert(prefix, route);
            }
            let Some(best) = ranked.first() else { continue };
            for (id, peer) in self.peers.iter().filter(|(_, peer)| peer.up) {
                if let Some(learned) = self.exported(prefix, best, *id, peer) {
                    expected.entry(*id).or_default().insert(prefix, learned);
                }
            }
        }
        assert_eq!(self.bench.learned, expected);
        assert_eq!(self.bench.kernel, kernel);
        for (peer, learned) in &expected {
            let query = RouteQuery {
                table: RouteTable::AdjOut(*peer),
                family: None,
                prefix: PrefixFilter::All,
            };
            let listed = self.bench.shard.routes(&query, None, 100);
            assert!(listed.iter().map(|route| &route.prefix).eq(learned.keys()));
            let counts = self.bench.shard.peer_counts(*peer);
            let advertised: u32 = counts
                .families
                .iter()
                .map(|(_, family)| family.advertised)
                .sum();
            assert_eq!(advertised as usize, learned.len());
            assert_eq!(counts.outstanding, 0);
        }
    }

    /// Takes everything away: nothing may be left.
    fn end(mut self) {
        for peer in self.peers.keys().copied().collect::<Vec<_>>() {
            self.bench.learned.remove(&peer);
            self.bench.handle(RibEvent::RemovePeer { peer });
        }
        self.bench
            .handle(RibEvent::Withdraw((0..6).map(prefix_of).collect()));
        self.bench.settle();
        assert_eq!(self.bench.shard.totals().prefixes, 0);
        assert_eq!(self.bench.shard.totals().paths, 0);
        assert_eq!(self.bench.shard.totals().attribute_sets, 0);
        assert_eq!(self.bench.shard.totals().groups, 0);
        assert!(self.bench.kernel.is_empty());
    }

    /// Paths that share the load, best first.
    fn ranked(&self, prefix: IpNet) -> Vec<Usable> {
        let mut usable = self.usable(prefix);
        let preference = |path: &Usable| path.attributes.local_pref.unwrap_or(100);
        keep_if_lowest(&mut usable, |path| u32::MAX - preference(path));
        keep_if_lowest(&mut usable, |path| u32::from(path.source.is_some()));
        keep_if_lowest(&mut usable, |path| path.attributes.as_path.hop_count());
        keep_if_lowest(&mut usable, |path| path.attributes.origin as u32);
        let med = |path: &Usable| path.attributes.med.unwrap_or(0);
        let neighbour = |path: &Usable| path.attributes.as_path.first_asn();
        let beaten: Vec<_> = usable
            .iter()
            .map(|path| {
                usable
                    .iter()
                    .any(|other| neighbour(other) == neighbour(path) && med(other) < med(path))
            })
            .collect();
        let mut beaten = beaten.into_iter();
        usable.retain(|_| !beaten.next().expect("one for each"));
        let internal = |path: &Usable| {
            path.source
                .is_some_and(|id| self.peers[&id].settings.session_type == SessionType::Internal)
        };
        keep_if_lowest(&mut usable, |path| u32::from(internal(path)));
        keep_if_lowest(&mut usable, |path| path.cost);
        usable.sort_by_key(|path| {
            let peer = path.source.map(|id| &self.peers[&id].settings);
            (
                path.attributes
                    .originator_id
                    .or_else(|| peer.map(|peer| peer.remote_router_id)),
                path.attributes.cluster_list.len(),
                peer.map(|peer| peer.address),
                path.path_id,
            )
        });
        usable
    }

    fn usable(&self, prefix: IpNet) -> Vec<Usable> {
        let mut usable = Vec::new();
        if let Some((attributes, next_hop)) = self.own.get(&prefix) {
            usable.push(Usable {
                source: None,
                attributes: attributes.clone(),
                next_hop: next_hop.map(NextHop::from),
                cost: 0,
                path_id: 0,
            });
        }
        for (id, peer) in &self.peers {
            for ((of, path_id), path) in &peer.paths {
                if *of == prefix
                    && let Some((attributes, next_hop)) =
                        self.imported(prefix, &peer.settings, path)
                    && let Some(cost) = self.cost(gateway(next_hop))
                {
                    let (source, next_hop) = (Some(*id), Some(next_hop));
                    usable.push(Usable {
                        source,
                        attributes,
                        next_hop,
                        cost,
                        path_id: *path_id,
                    });
                }
            }
        }
        usable
    }

    fn imported(
        &self,
        prefix: IpNet,
        peer: &RibPeer,
        path: &ModelPath,
    ) -> Option<(Attributes, NextHop)> {
        let mut attributes = path.attributes.clone();
        if peer.session_type == SessionType::External {
            attributes.local_pref = None;
            attributes.originator_id = None;
            attributes.cluster_list = Default::default();
        }
        let looped = attributes.as_path.count(LOCAL_ASN) > usize::from(peer.allow_own_asn)
            || attributes.originator_id == Some(OWN_ID)
            || attributes
                .cluster_list
                .iter()
                .any(|cluster| Some(*cluster) == self.settings.cluster_id);
        if looped {
            return None;
        }
        let mut next_hop = None;
        let outcome = peer.import.evaluate(&PolicyRoute {
            prefix,
            attributes: (&attributes).into(),
            next_hop: Some(gateway(path.next_hop)),
            source: RouteSource::Peer(peer.session_type),
            session: peer.session_type,
        });
        peer.import
            .apply(&outcome.edits, &mut attributes, &mut next_hop);
        outcome.accepted.then_some((attributes, path.next_hop))
    }

    fn cost(&self, address: IpAddr) -> Option<u32> {
        let own = |peer: &ModelPeer| peer.settings.own_addresses().any(|own| own == address);
        if self.peers.values().any(own) {
            return None;
        }
        match self.next_hops.get(&address).copied().unwrap_or_default() {
            NextHopState::Reachable { cost } => Some(cost),
            NextHopState::Unreachable => None,
        }
    }

    fn fib_route(&self, ranked: &[Usable]) -> Option<FibRoute> {
        let best = ranked.first()?;
        let source = self.peers[&best.source?].settings.session_type;
        let mut addresses = Vec::new();
        for path in ranked.iter().take(self.settings.multipath.into()) {
            let address = gateway(path.next_hop?);
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        let next_hops = addresses
            .into_iter()
            .map(|address| FibNextHop {
                address,
                interface: None,
                weight: 1,
            })
            .collect();
        Some(FibRoute {
            next_hops,
            source,
            local_pref: best.attributes.local_pref,
        })
    }

    fn exported(
        &self,
        prefix: IpNet,
        best: &Usable,
        id: PeerId,
        peer: &ModelPeer,
    ) -> Option<Learned> {
        let to = &peer.settings;
        let from = best.source.map(|id| &self.peers[&id].settings);
        let external = to.session_type == SessionType::External;
        let reflected =
            !external && from.is_some_and(|from| from.session_type == SessionType::Internal);
        if best.source == Some(id) || !to.families.contains(&Family::of(&prefix)) {
            return None;
        }
        let has = |community| best.attributes.communities.contains(&community);
        if has(Community::NO_ADVERTISE) || external && has(Community::NO_EXPORT) {
            return None;
        }
        if reflected {
            self.settings.cluster_id?;
            if !to.reflector_client && !from.is_some_and(|from| from.reflector_client) {
                return None;
            }
        }
        let mut attributes = best.attributes.clone();
        let mut by_policy = None;
        let outcome = to.export.evaluate(&PolicyRoute {
            prefix,
            attributes: (&attributes).into(),
            next_hop: best.next_hop.map(gateway),
            source: from.map_or(RouteSource::Local, |from| {
                RouteSource::Peer(from.session_type)
            }),
            session: to.session_type,
        });
        if !outcome.accepted {
            return None;
        }
        to.export
            .apply(&outcome.edits, &mut attributes, &mut by_policy);
        let keep = match to.next_hop {
            NextHopMode::Auto => !external,
            NextHopMode::ToSelf => reflected,
            NextHopMode::Keep => true,
        };
        let received = best.next_hop.filter(|_| keep);
        let next_hop = by_policy
            .map(NextHop::from)
            .or(received)
            .unwrap_or_else(|| own_hop(prefix));
        if external {
            attributes.as_path.prepend(LOCAL_ASN, 1);
            attributes.local_pref = None;
            attributes.originator_id = None;
            attributes.cluster_list = Default::default();
            if from.is_some() && !to.export.sets_med(&outcome.edits) {
                attributes.med = None;
            }
        } else {
            attributes.local_pref.get_or_insert(100);
        }
        if reflected {
            let originator = *attributes
                .originator_id
                .get_or_insert_with(|| from.expect("it came from a peer").remote_router_id);
            if originator == to.remote_router_id {
                return None;
            }
            attributes.cluster_list = std::iter::once(CLUSTER)
                .chain(attributes.cluster_list.iter().copied())
                .collect();
        }
        Some(Learned {
            attributes,
            next_hop,
        })
    }
}

fn keep_if_lowest(paths: &mut Vec<Usable>, key: impl Fn(&Usable) -> u32) {
    if let Some(lowest) = paths.iter().map(&key).min() {
        paths.retain(|path| key(path) == lowest);
    }
}

/// Peers 1 and 2 are clients, 3 and 4 other iBGP peers, 5 and 6 eBGP; the knob varies one setting.
fn settings_of(number: u8, knob: u8) -> RibPeer {
    let base = match number {
        1 | 2 => client(number),
        3 | 4 => ibgp(number),
        _ => ebgp(number),
    };
    match knob {
        1 => RibPeer {
            next_hop: NextHopMode::ToSelf,
            ..base
        },
        2 => RibPeer {
            next_hop: NextHopMode::Keep,
            ..base
        },
        3 => RibPeer {
            reflector_client: !base.reflector_client,
            ..base
        },
        4 => RibPeer {
            allow_own_asn: 1,
            ..base
        },
        5 => RibPeer {
            import: Arc::new(policy_of(2)),
            export: Arc::new(policy_of(3)),
            ..base
        },
        _ => base,
    }
}

fn prefix_of(number: u8) -> IpNet {
    prefix(FAMILIES[usize::from(number % 2)], u32::from(number / 2))
}

/// 0 is this node itself.
fn next_hop_of(prefix: IpNet, number: u8) -> NextHop {
    if number == 0 {
        own_hop(prefix)
    } else {
        hop(prefix, number.into())
    }
}

fn attributes_of(number: u8) -> Attributes {
    let with = |community| Attributes {
        communities: [community].into_iter().collect(),
        ..internal(100, &[65005])
    };
    match number {
        0 => internal(100, &[]),
        1 => internal(100, &[65005]),
        2 => internal(200, &[65005, 65006]),
        3 => Attributes {
            med: Some(10),
            ..internal(100, &[65005])
        },
        4 => Attributes {
            med: Some(20),
            ..internal(100, &[65005])
        },
        5 => Attributes {
            med: Some(5),
            ..internal(100, &[65006])
        },
        6 => internal(100, &[65005, LOCAL_ASN.0]),
        7 => with(Community::NO_EXPORT),
        8 => with(Community::NO_ADVERTISE),
        9 => Attributes {
            originator_id: Some(client(1).remote_router_id),
            cluster_list: [RouterId::from(99)].into_iter().collect(),
            ..internal(100, &[])
        },
        10 => Attributes {
            originator_id: Some(RouterId::from(98)),
            cluster_list: [CLUSTER].into_iter().collect(),
            ..internal(100, &[])
        },
        _ => Attributes {
            originator_id: Some(OWN_ID),
            ..internal(100, &[])
        },
    }
}

fn policy_of(number: u8) -> Policy {
    let (conditions, edits, verdict) = match number {
        0 => return Policy::reject_all(),
        1 => {
            let set = PrefixSet::new([0, 1].map(|number| PrefixRule::exact(prefix_of(number))));
            (
                vec![Condition::PrefixIn(Arc::new(set))],
                vec![],
                Verdict::Reject,
            )
        }
        2 => (vec![], vec![Edit::SetLocalPref(150)], Verdict::Next),
        3 => (
            vec![Condition::Source(SourceMatch::Peer(SessionType::External))],
            vec![Edit::SetMed(Some(77)), Edit::AddCommunity(Community(1))],
            Verdict::Accept,
        ),
        4 => (
            vec![Condition::Community(Community::NO_EXPORT)],
            vec![],
            Verdict::Reject,
        ),
        _ => return Policy::accept_all(),
    };
    Policy::new(
        vec![Term {
            name: String::new(),
            conditions,
            edits,
            verdict,
        }],
        Verdict::Accept,
    )
}
