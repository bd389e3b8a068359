//! Which sessions the node has: explicit peers, their reverse, and the mesh.
//!
//! # Which one wins
//!
//! A session is identified by the peer's address and port. Where several objects ask for the same one, the first of
//! this order wins, within each group by name of the BGPPeer; a difference in the settings is reported:
//!
//! 1. global BGPPeers (neither `node` nor `nodeSelector`), as in Calico, where they shadow those of a node,
//! 2. BGPPeers of this node,
//! 3. the reverse of BGPPeers of other nodes,
//! 4. the mesh.
//!
//! # Where it differs from Calico, on purpose
//!
//! - A mesh peer without an AS of its own has the cluster's AS, not that of the own node.
//! - A peer with an AS of its own, a local AS or allowed own ASes gets them however it was selected; a reverse
//!   session expects the `localASNumber` of the session that it answers.
//! - A peer by address that is a node keeps its cluster ID: two reflectors of one cluster are plain iBGP peers.
//! - A password, filter or workload selector that cannot be honoured makes no session instead of an open one.

mod explicit;
mod mesh;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use ipnet::IpNet;
use routeagg::Platform;

use super::Context;
use crate::model::{Kind, NextHopMode, Node, ObjectKey};
use crate::{Asn, Finding};

/// Identifies a session: the peer's address and TCP port.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct SessionKey {
    /// The peer's address.
    pub address: IpAddr,
    /// The peer's port.
    pub port: u16,
}

/// One BGP session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SessionPlan {
    /// A name for people: `mesh/node-2`, `peer/tor-a`, `peer/spines/node-7`, `reverse/rr/node-1`.
    pub name: String,
    /// Where the session comes from.
    pub kind: SessionKind,
    /// The peer's AS.
    pub remote_asn: Asn,
    /// The AS that is shown to the peer.
    pub local_asn: Asn,
    /// True to rather wait for the peer to connect than to connect.
    ///
    /// A connection that the peer opens is welcome either way.
    pub passive: bool,
    /// True when the peer is a client of this route reflector (RFC 4456).
    pub reflector_client: bool,
    /// The local address; `None` leaves the choice to the kernel.
    pub source_address: Option<IpAddr>,
    /// The families that are exchanged: the one of the peer's address, as in Calico.
    pub families: BTreeSet<Family>,
    /// Longest silence before the session is closed, in seconds; 0 for no limit (RFC 4271 section 4.2).
    pub hold_time: u16,
    /// Pause between keepalives, in seconds; 0 for none.
    pub keepalive: u16,
    /// Pause between attempts to connect, in seconds.
    pub connect_retry: u16,
    /// How long the peer is asked to keep our routes while we restart, in seconds (RFC 4724).
    pub restart_time: u16,
    /// Which next hop announced routes carry.
    pub next_hop_mode: NextHopMode,
    /// How often the own AS may be in a received AS path.
    pub allow_own_asn: u8,
    /// The peer is at most that many hops away, packets from further are dropped (RFC 5082).
    pub ttl_security: Option<u8>,
    /// Text for people.
    pub description: Option<String>,
    /// The objects that the session comes from.
    pub from: Vec<ObjectKey>,
}

/// Where a session comes from.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum SessionKind {
    /// A BGPPeer for all nodes.
    Global,
    /// A BGPPeer for this node.
    Node,
    /// The other end of a node's BGPPeer that names this node as the peer.
    Reverse,
    /// The node-to-node mesh.
    Mesh,
}

/// An address family of routes.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Family {
    /// IPv4 unicast.
    Ipv4,
    /// IPv6 unicast.
    Ipv6,
}

pub(super) fn plan(
    context: &Context<'_>,
    findings: &mut Vec<Finding>,
) -> BTreeMap<SessionKey, SessionPlan> {
    if let Some(pool) = context.pools.iter().find(|(cidr, pool)| {
        context.is_windows() && pool.uses_vxlan() && matches!(cidr, IpNet::V4(_))
    }) {
        let problem = format!(
            "pool {} uses VXLAN, which excludes BGP on Windows: no sessions",
            pool.0
        );
        let remedy = "set vxlanMode: Never to use BGP on Windows nodes";
        findings.push(Finding::warning(vec![context.key()], "", problem, remedy));
        return BTreeMap::new();
    }
    let mut sessions: BTreeMap<SessionKey, SessionPlan> = BTreeMap::new();
    let explicit = explicit::sessions(context, findings);
    for (key, session) in explicit
        .into_iter()
        .chain(mesh::sessions(context, findings))
    {
        match sessions.get(&key) {
            None => drop(sessions.insert(key, session)),
            Some(winner) => findings.extend(conflict(key, winner, &session)),
        }
    }
    if sessions.is_empty() && context.snapshot.nodes.len() > 1 {
        let why = match context.cluster_id() {
            Some(_) => "a route reflector takes no part in the mesh, and no BGPPeer selects it",
            None if context.snapshot.mesh_enabled() => {
                "no other node has an address of a common family"
            }
            None => "the mesh is off and no BGPPeer selects this node",
        };
        let problem = format!("the node has no BGP session: {why}");
        let remedy = "add a BGPPeer for it, or enable nodeToNodeMeshEnabled";
        findings.push(Finding::warning(vec![context.key()], "", problem, remedy));
    }
    sessions
}

/// Says that two objects disagree about a session, when they do.
fn conflict(key: SessionKey, winner: &SessionPlan, loser: &SessionPlan) -> Option<Finding> {
    // The mesh gives way to whatever is explicit: that is what an explicit peer is for.
    let same_object = winner.from.first() == loser.from.first();
    if loser.kind == SessionKind::Mesh || same_object || winner.behaves_like(loser) {
        return None;
    }
    let problem = format!(
        "asks for the session with {key} that {} defines with other settings: the latter counts",
        winner.name
    );
    let objects = loser
        .from
        .first()
        .into_iter()
        .chain(winner.from.first())
        .cloned()
        .collect();
    let remedy = "remove one of the two, or make their settings equal";
    Some(Finding::warning(objects, "", problem, remedy))
}

impl SessionPlan {
    /// True when two sessions with one peer differ in nothing that the peer can see.
    fn behaves_like(&self, other: &Self) -> bool {
        let Self {
            name: _,
            kind: _,
            remote_asn,
            local_asn,
            passive: _,
            reflector_client,
            source_address,
            families,
            hold_time,
            keepalive,
            connect_retry,
            restart_time,
            next_hop_mode,
            allow_own_asn,
            ttl_security,
            description: _,
            from: _,
        } = self;
        *remote_asn == other.remote_asn
            && *local_asn == other.local_asn
            && *reflector_client == other.reflector_client
            && *source_address == other.source_address
            && *families == other.families
            && *hold_time == other.hold_time
            && *keepalive == other.keepalive
            && *connect_retry == other.connect_retry
            && *restart_time == other.restart_time
            && *next_hop_mode == other.next_hop_mode
            && *allow_own_asn == other.allow_own_asn
            && *ttl_security == other.ttl_security
    }

    /// True when both ends are in the same AS.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        self.remote_asn == self.local_asn
    }
}

/// Another node as a peer.
struct Remote<'a> {
    name: &'a str,
    node: &'a Node,
}

impl<'a> Context<'a> {
    /// All nodes but the own one.
    fn others(&self) -> impl Iterator<Item = Remote<'a>> {
        let own = self.local.node.as_str();
        let others = self
            .snapshot
            .nodes
            .iter()
            .filter(move |(name, _)| *name != own);
        others.map(|(name, node)| Remote { name, node })
    }

    /// The own address of the family of `peer`, if there is one.
    fn own_address(&self, peer: IpAddr) -> Option<IpAddr> {
        let addresses = self.addresses();
        match peer {
            IpAddr::V4(_) => addresses.ipv4_address().map(IpAddr::V4),
            IpAddr::V6(_) => addresses.ipv6_address().map(IpAddr::V6),
        }
    }

    /// The addresses of another node with which this one can have sessions.
    fn addresses_of(&self, remote: &Remote<'a>) -> Vec<IpAddr> {
        let windows = remote.node.platform() == Platform::Windows;
        let usable = |address: &IpAddr| {
            let own = self.own_address(*address);
            own.is_some_and(|own| own != *address) && !(windows && address.is_ipv6())
        };
        remote.node.session_addresses().filter(usable).collect()
    }

    fn session_key(&self, remote: &Remote<'a>, address: IpAddr) -> SessionKey {
        SessionKey {
            address,
            port: self.snapshot.listen_port(remote.name),
        }
    }

    /// True when the peer is a client of this node.
    ///
    /// RFC 4456 section 7: reflectors with the same cluster ID are no clients of each other.
    fn is_client(&self, remote_asn: Asn, local_asn: Asn, peer_cluster: Option<Ipv4Addr>) -> bool {
        let own = self.cluster_id();
        own.is_some() && remote_asn == local_asn && peer_cluster != own
    }
}

impl Remote<'_> {
    fn key(&self) -> ObjectKey {
        ObjectKey::new(Kind::Node, self.name)
    }
}

impl Family {
    /// The family of an address.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::Ipv4,
            IpAddr::V6(_) => Self::Ipv6,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
        })
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::new(self.address, self.port).fmt(f)
    }
}

/// Calico's rule for which of two nodes waits: the one whose address, compared as text, is smaller.
///
/// Text it has to be, or a pair of one weft and one Calico node would both wait.
fn waits_for(own: IpAddr, peer: IpAddr) -> bool {
    peer.to_string() > own.to_string()
}

/// Whole seconds; validation keeps them within 16 bits.
fn seconds(time: Duration) -> u16 {
    u16::try_from(time.as_secs()).unwrap_or(u16::MAX)
}

/// RFC 4271 section 10 suggests 90 s; BIRD's 240 s would leave a dead node's routes in place for four minutes.
const HOLD_TIME: u16 = 90;
/// As Calico configures BIRD.
const CONNECT_RETRY: u16 = 5;
/// BIRD's default: a restart that takes a while still fits.
const RESTART_TIME: u16 = 120;
