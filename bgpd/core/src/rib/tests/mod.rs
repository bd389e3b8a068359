//! The shard from outside: events in, frames and kernel changes out.
//!
//! [`Bench`] is the driver of these tests. It decodes every frame with the codec and keeps what each peer would have in its
//! Adj-RIB-In, so that tests look at routes and not at actions.

mod decide;
mod export;
mod groups;
mod import;
mod lagging;
mod oracle;
mod queries;
mod restart;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use bgp_wire::{
    AsPath, Asn, Attributes, DecodeContext, EncodeContext, Family, Message, NextHop, Nlri, Reach,
    RouterId, SessionType, Unreach, UpdateMessage,
};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::*;
use crate::policy::Policy;
use crate::rib::peers::FAMILIES;
use crate::{Epoch, Instant, Outbox, PeerId};

pub(super) const LOCAL_ASN: Asn = Asn(64512);
pub(super) const OWN_ID: RouterId = RouterId(Ipv4Addr::new(10, 0, 0, 1));
pub(super) const CLUSTER: RouterId = RouterId(Ipv4Addr::new(10, 0, 0, 204));

/// A shard, and the world around it.
pub(super) struct Bench {
    pub(super) shard: Shard,
    pub(super) now: Instant,
    /// What each peer would have learned from us.
    pub(super) learned: BTreeMap<PeerId, BTreeMap<IpNet, Learned>>,
    pub(super) kernel: BTreeMap<IpNet, FibRoute>,
    /// Peers and families in the order of `InitialRoutesSent`.
    pub(super) complete: Vec<(PeerId, Family)>,
    pub(super) best_changed: BTreeSet<IpNet>,
    /// Every UPDATE that went out, for each peer it went to.
    pub(super) log: Vec<(PeerId, UpdateMessage)>,
    /// BoRR and EoRR that went out, in place among the UPDATEs: position in `log`.
    pub(super) refresh_marks: Vec<(PeerId, bgp_wire::RefreshSubtype, usize)>,
    /// Peers that take nothing: what is handed out for them stays outstanding.
    pub(super) stalled: BTreeSet<PeerId>,
    pub(super) outstanding: BTreeMap<PeerId, usize>,
    settings: BTreeMap<PeerId, Arc<RibPeer>>,
    epochs: BTreeMap<PeerId, Epoch>,
}

/// A route as a peer learned it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Learned {
    pub(super) attributes: Attributes,
    pub(super) next_hop: NextHop,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(shard_settings(), false)
    }

    pub(super) fn reflector() -> Self {
        Self::with(
            ShardSettings {
                cluster_id: Some(CLUSTER),
                ..shard_settings()
            },
            false,
        )
    }

    pub(super) fn with(settings: ShardSettings, deferring: bool) -> Self {
        Self {
            shard: Shard::new(settings, deferring),
            now: Instant::ZERO,
            learned: BTreeMap::new(),
            kernel: BTreeMap::new(),
            complete: Vec::new(),
            best_changed: BTreeSet::new(),
            log: Vec::new(),
            refresh_marks: Vec::new(),
            stalled: BTreeSet::new(),
            outstanding: BTreeMap::new(),
            settings: BTreeMap::new(),
            epochs: BTreeMap::new(),
        }
    }

    /// Brings a session up, in a new epoch.
    pub(super) fn up(&mut self, settings: RibPeer) -> PeerId {
        let peer = id_of(&settings);
        let settings = Arc::new(settings);
        let epoch = Epoch(self.epochs.get(&peer).map_or(1, |epoch| epoch.0 + 1));
        self.epochs.insert(peer, epoch);
        self.settings.insert(peer, Arc::clone(&settings));
        self.learned.insert(peer, BTreeMap::new());
        self.outstanding.insert(peer, 0);
        self.handle(RibEvent::PeerUp {
            peer,
            epoch,
            settings,
        });
        peer
    }

    pub(super) fn down(&mut self, peer: PeerId, keep: &[Family]) {
        let epoch = self.epoch(peer);
        self.learned.remove(&peer);
        self.outstanding.remove(&peer);
        self.handle(RibEvent::PeerDown {
            peer,
            epoch,
            keep: keep.to_vec(),
        });
    }

    pub(super) fn epoch(&self, peer: PeerId) -> Epoch {
        self.epochs[&peer]
    }

    pub(super) fn announce(&mut self, peer: PeerId, prefix: IpNet, attributes: Attributes) {
        let next_hop = hop(prefix, peer.0);
        self.announce_via(peer, prefix, attributes, next_hop);
    }

    pub(super) fn announce_via(
        &mut self,
        peer: PeerId,
        prefix: IpNet,
        attributes: Attributes,
        next_hop: NextHop,
    ) {
        self.announce_path(peer, prefix, 0, attributes, next_hop);
    }

    pub(super) fn announce_path(
        &mut self,
        peer: PeerId,
        prefix: IpNet,
        path_id: u32,
        attributes: Attributes,
        next_hop: NextHop,
    ) {
        let reach = Reach {
            family: Family::of(&prefix),
            next_hop,
            nlri: vec![nlri(prefix, path_id)],
        };
        let update = UpdateMessage {
            attributes: Some(attributes),
            reach: vec![reach],
            ..Default::default()
        };
        self.update(peer, update);
    }

    pub(super) fn retract(&mut self, peer: PeerId, prefix: IpNet) {
        self.retract_path(peer, prefix, 0);
    }

    pub(super) fn retract_path(&mut self, peer: PeerId, prefix: IpNet, path_id: u32) {
        let unreach = Unreach {
            family: Family::of(&prefix),
            nlri: vec![nlri(prefix, path_id)],
        };
        self.update(
            peer,
            UpdateMessage {
                unreach: vec![unreach],
                ..Default::default()
            },
        );
    }

    pub(super) fn update(&mut self, peer: PeerId, update: UpdateMessage) {
        let epoch = self.epoch(peer);
        self.handle(RibEvent::Update {
            peer,
            epoch,
            update,
        });
    }

    pub(super) fn originate(&mut self, prefix: IpNet, attributes: Attributes) {
        self.handle(RibEvent::Originate(vec![Origination {
            prefix,
            attributes,
            next_hop: None,
        }]));
    }

    pub(super) fn policies(&mut self, peer: PeerId, import: Policy, export: Policy) {
        let settings = RibPeer {
            import: Arc::new(import),
            export: Arc::new(export),
            ..(*self.settings[&peer]).clone()
        };
        let (import, export) = (Arc::clone(&settings.import), Arc::clone(&settings.export));
        self.settings.insert(peer, Arc::new(settings));
        self.handle(RibEvent::Policies {
            peer,
            import,
            export,
        });
    }

    pub(super) fn reconfigure(&mut self, settings: RibPeer) {
        let peer = id_of(&settings);
        let settings = Arc::new(settings);
        self.settings.insert(peer, Arc::clone(&settings));
        self.handle(RibEvent::PeerSettings { peer, settings });
    }

    pub(super) fn handle(&mut self, event: RibEvent) {
        let mut out = Outbox::new();
        self.shard.handle(self.now, event, &mut out);
        self.carry_out(&mut out);
    }

    /// One slice.
    pub(super) fn step(&mut self) {
        let mut out = Outbox::new();
        self.shard.handle_timeout(self.now, &mut out);
        self.carry_out(&mut out);
    }

    /// Lets the shard work until it waits for somebody, however long its own timers take.
    pub(super) fn settle(&mut self) {
        for _ in 0..20_000 {
            self.acknowledge();
            let Some(deadline) = self.shard.next_deadline() else {
                return;
            };
            self.now = self.now.max(deadline);
            self.step();
        }
        panic!("the shard does not come to rest");
    }

    /// The log since the last call.
    pub(super) fn take_log(&mut self) -> Vec<(PeerId, UpdateMessage)> {
        std::mem::take(&mut self.log)
    }

    pub(super) fn learned(&self, peer: PeerId, prefix: IpNet) -> Option<&Learned> {
        self.learned.get(&peer)?.get(&prefix)
    }

    /// Everybody who is not stalled takes what was handed out.
    fn acknowledge(&mut self) {
        let sent: Vec<_> = self
            .outstanding
            .iter_mut()
            .filter(|(peer, bytes)| !self.stalled.contains(peer) && **bytes > 0)
            .map(|(peer, bytes)| (*peer, std::mem::take(bytes)))
            .collect();
        for (peer, bytes) in sent {
            let epoch = self.epoch(peer);
            self.handle(RibEvent::Sent { peer, epoch, bytes });
        }
    }

    /// Decodes as the peer would, and applies what it learns.
    fn deliver(&mut self, peer: PeerId, mut frame: &[u8], messages: u32) {
        // Sent to a session that is over: the driver throws it away.
        let Some(learned) = self.learned.get_mut(&peer) else {
            return;
        };
        *self.outstanding.entry(peer).or_default() += frame.len();
        let context = decode_context(&self.settings[&peer]);
        let mut count = 0;
        while !frame.is_empty() {
            let length = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
            let (message, rest) = frame.split_at(length);
            frame = rest;
            count += 1;
            let update = match bgp_wire::decode(message, &context).expect("well-formed") {
                Message::Update(update) => update,
                Message::RouteRefresh(mark) => {
                    self.refresh_marks
                        .push((peer, mark.subtype, self.log.len()));
                    continue;
                }
                other => panic!("a shard sends no {other:?}"),
            };
            assert_eq!(update.faults, []);
            for Unreach { nlri, .. } in &update.unreach {
                for route in nlri {
                    learned.remove(&route.prefix);
                }
            }
            for Reach { next_hop, nlri, .. } in &update.reach {
                let attributes = update.attributes.clone().expect("routes have attributes");
                for route in nlri {
                    let next_hop = *next_hop;
                    let route_learned = Learned {
                        attributes: attributes.clone(),
                        next_hop,
                    };
                    learned.insert(route.prefix, route_learned);
                }
            }
            self.log.push((peer, update));
        }
        assert_eq!(count, messages);
    }

    fn carry_out(&mut self, out: &mut Outbox<RibAction>) {
        for action in out.drain() {
            match action {
                RibAction::Send {
                    peers,
                    frame,
                    messages,
                } => {
                    for peer in peers.iter() {
                        self.deliver(peer, &frame, messages);
                    }
                }
                RibAction::Fib(changes) => {
                    for FibChange { prefix, route } in changes {
                        match route {
                            Some(route) => self.kernel.insert(prefix, route),
                            None => self.kernel.remove(&prefix),
                        };
                    }
                }
                RibAction::InitialRoutesSent {
                    peer,
                    epoch,
                    family,
                } => {
                    assert_eq!(epoch, self.epochs[&peer]);
                    self.complete.push((peer, family));
                }
                RibAction::BestChanged(prefixes) => self.best_changed.extend(prefixes),
            }
        }
    }
}

/// Settings of the node under test.
pub(super) fn shard_settings() -> ShardSettings {
    ShardSettings::new(LOCAL_ASN, OWN_ID)
}

/// An eBGP peer; everything about it follows from the number.
pub(super) fn ebgp(number: u8) -> RibPeer {
    peer(number, SessionType::External)
}

/// An iBGP peer.
pub(super) fn ibgp(number: u8) -> RibPeer {
    peer(number, SessionType::Internal)
}

/// An iBGP peer that is a client of this reflector.
pub(super) fn client(number: u8) -> RibPeer {
    RibPeer {
        reflector_client: true,
        ..ibgp(number)
    }
}

fn peer(number: u8, session_type: SessionType) -> RibPeer {
    let remote_asn = match session_type {
        SessionType::Internal => LOCAL_ASN,
        SessionType::External => Asn(65000 + u32::from(number)),
    };
    RibPeer {
        address: Ipv4Addr::new(192, 0, 2, number).into(),
        local_address: Ipv4Addr::new(192, 0, 2, 254).into(),
        local_next_hops: LocalNextHops {
            v6: Some(Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 0xfe)),
            ..Default::default()
        },
        interface: None,
        local_asn: LOCAL_ASN,
        remote_asn,
        remote_router_id: RouterId::from(0xc000_0200 | u32::from(number)),
        session_type,
        reflector_client: false,
        families: FAMILIES.to_vec(),
        encode: EncodeContext {
            four_octet_asn: true,
            ..EncodeContext::default()
        },
        next_hop: NextHopMode::Auto,
        allow_own_asn: 0,
        enforce_first_asn: false,
        import: Arc::new(Policy::accept_all()),
        export: Arc::new(Policy::accept_all()),
        enhanced_refresh: false,
    }
}

/// How a peer reads what we write to it.
fn decode_context(settings: &RibPeer) -> DecodeContext {
    DecodeContext {
        session: settings.session_type,
        four_octet_asn: settings.encode.four_octet_asn,
        extended_messages: settings.encode.extended_messages,
        families: settings.families.iter().copied().collect(),
        add_path_receive: settings.encode.add_path_send.clone(),
        extended_next_hop: settings.encode.extended_next_hop.clone(),
    }
}

fn nlri(prefix: IpNet, path_id: u32) -> Nlri {
    Nlri { path_id, prefix }
}

fn id_of(settings: &RibPeer) -> PeerId {
    match settings.address {
        IpAddr::V4(address) => PeerId(u32::from(address.octets()[3])),
        IpAddr::V6(address) => PeerId(u32::from(address.octets()[15])),
    }
}

/// The own address that peers get as next hop.
pub(super) fn own_hop(prefix: IpNet) -> NextHop {
    match prefix {
        IpNet::V4(_) => NextHop::V4(Ipv4Addr::new(192, 0, 2, 254)),
        IpNet::V6(_) => NextHop::V6 {
            global: Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 0xfe),
            link_local: None,
        },
    }
}

/// A next hop of the prefix's family; each number another one.
pub(super) fn hop(prefix: IpNet, number: u32) -> NextHop {
    let number = u16::try_from(number).expect("small numbers");
    match prefix {
        IpNet::V4(_) => {
            let [high, low] = number.to_be_bytes();
            NextHop::V4(Ipv4Addr::new(198, 18, high, low))
        }
        IpNet::V6(_) => NextHop::V6 {
            global: Ipv6Addr::new(0x2001, 0xdb8, 0xfffe, 0, 0, 0, 0, number),
            link_local: None,
        },
    }
}

/// A prefix of a family; each number another one.
pub(super) fn prefix(family: Family, number: u32) -> IpNet {
    if family == Family::IPV4_UNICAST {
        let address = Ipv4Addr::from_bits(0x0a00_0000 + (number << 8));
        IpNet::V4(Ipv4Net::new(address, 24).expect("a valid length"))
    } else {
        let address = Ipv6Addr::from_bits(0x2001_0db8_u128 << 96 | u128::from(number) << 64);
        IpNet::V6(Ipv6Net::new(address, 64).expect("a valid length"))
    }
}

/// Attributes with this AS_PATH, as over eBGP.
pub(super) fn path(asns: &[u32]) -> Attributes {
    Attributes {
        as_path: AsPath::sequence(asns.iter().map(|asn| Asn(*asn))),
        ..Default::default()
    }
}

/// Attributes with LOCAL_PREF, as over iBGP.
pub(super) fn internal(local_pref: u32, asns: &[u32]) -> Attributes {
    Attributes {
        local_pref: Some(local_pref),
        ..path(asns)
    }
}
