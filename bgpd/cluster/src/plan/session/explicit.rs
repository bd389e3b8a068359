//! Sessions that BGPPeer objects ask for, and their other ends.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use super::{
    CONNECT_RETRY, Context, Family, HOLD_TIME, RESTART_TIME, Remote, SessionKey, SessionKind,
    SessionPlan, seconds, waits_for,
};
use crate::model::{
    BgpPeer, Kind, NextHopMode, Node, ObjectKey, PeerAddress, ReversePeering, SourceAddress,
};
use crate::{Asn, Finding};

/// The sessions in order of precedence.
pub(super) fn sessions(
    context: &Context<'_>,
    findings: &mut Vec<Finding>,
) -> Vec<(SessionKey, SessionPlan)> {
    let supported: Vec<&BgpPeer> = context
        .snapshot
        .bgp_peers
        .values()
        .filter(|peer| applies_or_answers(context, peer) && is_supported(peer, findings))
        .collect();
    let own = (context.local.node.as_str(), context.node);
    let mut sessions = Vec::new();
    for peer in supported.iter().filter(|peer| peer.is_global()) {
        forward(context, peer, SessionKind::Global, &mut sessions, findings);
    }
    for peer in supported
        .iter()
        .filter(|peer| !peer.is_global() && applies_to(peer, own))
    {
        forward(context, peer, SessionKind::Node, &mut sessions, findings);
    }
    for peer in &supported {
        reverse(context, peer, &mut sessions);
    }
    sessions
}

/// True when a node has the sessions of a BGPPeer.
fn applies_to(peer: &BgpPeer, (name, node): (&str, &Node)) -> bool {
    match (&peer.node, &peer.node_selector) {
        (Some(only), _) => only == name,
        (None, Some(selector)) => selector.matches(&node.metadata.labels),
        (None, None) => true,
    }
}

fn is_peer(peer: &BgpPeer, node: &Node) -> bool {
    peer.peer_selector
        .as_ref()
        .is_some_and(|selector| selector.matches(&node.metadata.labels))
}

/// True when the own node is at one end or the other.
fn applies_or_answers(context: &Context<'_>, peer: &BgpPeer) -> bool {
    let is_address = || {
        let address = peer.peer_ip.map(|peer| peer.address);
        context
            .node
            .session_addresses()
            .any(|own| Some(own) == address)
    };
    applies_to(peer, (&context.local.node, context.node))
        || is_peer(peer, context.node)
        || is_address()
}

/// Fails closed: without its password, filter or workload a session would be another one than the one asked for.
fn is_supported(peer: &BgpPeer, findings: &mut Vec<Finding>) -> bool {
    let unsupported = [
        ("spec.password", peer.password.is_some()),
        ("spec.filters", !peer.filters.is_empty()),
        (
            "spec.localWorkloadSelector",
            peer.local_workload_selector.is_some(),
        ),
    ];
    let Some((field, _)) = unsupported.into_iter().find(|(_, set)| *set) else {
        return true;
    };
    let problem = "is not supported by this version of weft: no session".to_owned();
    let objects = vec![key_of(peer)];
    findings.push(Finding::error(
        objects,
        field,
        problem,
        "remove the field, or the object",
    ));
    false
}

fn forward(
    context: &Context<'_>,
    peer: &BgpPeer,
    kind: SessionKind,
    sessions: &mut Vec<(SessionKey, SessionPlan)>,
    findings: &mut Vec<Finding>,
) {
    if let Some(address) = peer.peer_ip {
        sessions.extend(forward_to_address(context, peer, kind, address, findings));
        return;
    }
    for remote in context.others().filter(|remote| is_peer(peer, remote.node)) {
        // Both nodes have this BGPPeer towards each other: then both show the local AS, and not both may wait.
        let mutual = applies_to(peer, (remote.name, remote.node)) && is_peer(peer, context.node);
        let remote_asn = match peer.local_as_number {
            Some(local) if mutual => local,
            _ => context.snapshot.asn_of(remote.node),
        };
        for address in context.addresses_of(&remote) {
            let Some(own) = context.own_address(address) else {
                continue;
            };
            let passive = peer.passive == Some(true) && (!mutual || waits_for(own, address));
            let end = End {
                name: format!("peer/{}/{}", peer.metadata.name, remote.name),
                kind,
                address,
                own,
                remote_asn,
                local_asn: peer.local_as_number.unwrap_or_else(|| context.asn()),
                passive,
                cluster_id: remote.node.cluster_id(),
                node: Some(remote.key()),
            };
            sessions.push((
                context.session_key(&remote, address),
                end.session(context, peer),
            ));
        }
    }
}

fn forward_to_address(
    context: &Context<'_>,
    peer: &BgpPeer,
    kind: SessionKind,
    PeerAddress { address, port }: PeerAddress,
    findings: &mut Vec<Finding>,
) -> Option<(SessionKey, SessionPlan)> {
    if context.node.session_addresses().any(|own| own == address) {
        return None;
    }
    let Some(own) = context.own_address(address) else {
        let problem = format!(
            "{} has no {} address: no session with {address}",
            context.local.node,
            Family::of(address)
        );
        let remedy = "give the node one, or narrow nodeSelector";
        findings.push(Finding::warning(
            vec![key_of(peer)],
            "spec.peerIP",
            problem,
            remedy,
        ));
        return None;
    };
    let at_address = context.snapshot.node_with_address(address);
    let expected = peer
        .as_number
        .unwrap_or_else(|| context.snapshot.global_asn());
    let same_asn = |(_, node): &(&str, &Node)| context.snapshot.asn_of(node) == expected;
    let remote = at_address
        .filter(same_asn)
        .map(|(name, node)| Remote { name, node });
    if let (Some((name, node)), None) = (at_address, &remote) {
        let problem = format!(
            "expects AS {expected} of node {name}, whose AS is {}: the session comes up only if {name} shows {expected}",
            context.snapshot.asn_of(node)
        );
        let remedy = "correct it, or give that node a BGPPeer with this localASNumber";
        findings.push(Finding::warning(
            vec![key_of(peer)],
            "spec.asNumber",
            problem,
            remedy,
        ));
    }
    let Some(remote_asn) = peer.as_number.or_else(|| remote.as_ref().map(|_| expected)) else {
        let problem = format!("is missing: the AS of {address} is not known, no session");
        let objects = vec![key_of(peer)];
        let remedy = "write the AS number of the peer";
        findings.push(Finding::error(objects, "spec.asNumber", problem, remedy));
        return None;
    };
    let listen_port = remote
        .as_ref()
        .map(|remote| context.snapshot.listen_port(remote.name));
    // Calico: of two nodes with a global peering one waits; a peering of a single node dials.
    let waits = kind == SessionKind::Global && remote.is_some() && waits_for(own, address);
    let end = End {
        name: format!("peer/{}", peer.metadata.name),
        kind,
        address,
        own,
        remote_asn,
        local_asn: peer.local_as_number.unwrap_or_else(|| context.asn()),
        passive: peer.passive.unwrap_or(waits),
        cluster_id: remote.as_ref().and_then(|remote| remote.node.cluster_id()),
        node: remote.as_ref().map(Remote::key),
    };
    let port = port.or(listen_port).unwrap_or(BGP_PORT);
    Some((SessionKey { address, port }, end.session(context, peer)))
}

/// The sessions that answer a BGPPeer of other nodes which names this one.
fn reverse(context: &Context<'_>, peer: &BgpPeer, sessions: &mut Vec<(SessionKey, SessionPlan)>) {
    if peer.reverse_peering == Some(ReversePeering::Manual) {
        return;
    }
    let family = match peer.peer_ip {
        None if is_peer(peer, context.node) => None,
        Some(address) if is_own(context, peer, address) => Some(Family::of(address.address)),
        _ => return,
    };
    for remote in context
        .others()
        .filter(|remote| applies_to(peer, (remote.name, remote.node)))
    {
        let addresses = context.addresses_of(&remote).into_iter();
        for address in addresses.filter(|ip| family.is_none_or(|family| Family::of(*ip) == family))
        {
            let Some(own) = context.own_address(address) else {
                continue;
            };
            let asn = || context.snapshot.asn_of(remote.node);
            let end = End {
                name: format!("reverse/{}/{}", peer.metadata.name, remote.name),
                kind: SessionKind::Reverse,
                address,
                own,
                remote_asn: peer.local_as_number.unwrap_or_else(asn),
                local_asn: context.asn(),
                // The forward end may wait, so this one never does.
                passive: false,
                cluster_id: remote.node.cluster_id(),
                node: Some(remote.key()),
            };
            sessions.push((
                context.session_key(&remote, address),
                end.session(context, peer),
            ));
        }
    }
}

/// True when a peer address is the own one, with the AS and port under which this node can be reached.
fn is_own(
    context: &Context<'_>,
    peer: &BgpPeer,
    PeerAddress { address, port }: PeerAddress,
) -> bool {
    let asn = peer
        .as_number
        .unwrap_or_else(|| context.snapshot.global_asn());
    let own_port = context.snapshot.listen_port(&context.local.node);
    context.own_address(address) == Some(address)
        && asn == context.asn()
        && port.is_none_or(|port| port == own_port)
}

/// What is particular to one end of a peering; the rest comes from the BGPPeer.
struct End {
    name: String,
    kind: SessionKind,
    address: IpAddr,
    own: IpAddr,
    remote_asn: Asn,
    local_asn: Asn,
    passive: bool,
    cluster_id: Option<Ipv4Addr>,
    node: Option<ObjectKey>,
}

impl End {
    fn session(self, context: &Context<'_>, peer: &BgpPeer) -> SessionPlan {
        let Self {
            name,
            kind,
            address,
            own,
            remote_asn,
            local_asn,
            passive,
            cluster_id,
            node,
        } = self;
        let (hold_time, keepalive) = timers(peer);
        let allowed = match kind {
            SessionKind::Reverse => None,
            _ => peer.num_allowed_local_as_numbers,
        };
        SessionPlan {
            name,
            kind,
            remote_asn,
            local_asn,
            passive,
            reflector_client: context.is_client(remote_asn, local_asn, cluster_id),
            source_address: match peer.source_address.unwrap_or_default() {
                SourceAddress::UseNodeIp => Some(own),
                SourceAddress::None => None,
            },
            families: BTreeSet::from([Family::of(address)]),
            hold_time,
            keepalive,
            connect_retry: peer.connect_retry_time.map_or(CONNECT_RETRY, seconds),
            restart_time: peer.max_restart_time.map_or(RESTART_TIME, seconds),
            next_hop_mode: match peer.next_hop_mode {
                Some(mode) => mode,
                None if peer.keep_original_next_hop && remote_asn != local_asn => NextHopMode::Keep,
                None => NextHopMode::Auto,
            },
            allow_own_asn: u8::try_from(allowed.unwrap_or(0)).unwrap_or(u8::MAX),
            ttl_security: peer.ttl_security.filter(|hops| *hops > 0),
            description: peer.description.clone(),
            from: std::iter::once(key_of(peer)).chain(node).collect(),
        }
    }
}

/// Hold time and keepalive; a keepalive alone lengthens the hold time if it has to.
fn timers(peer: &BgpPeer) -> (u16, u16) {
    let keepalive = peer.keepalive_time.map(seconds);
    let hold_time = match (peer.hold_time.map(seconds), keepalive) {
        (Some(hold_time), _) => hold_time,
        (None, Some(keepalive)) => HOLD_TIME.max(keepalive.saturating_mul(3)),
        (None, None) => HOLD_TIME,
    };
    let keepalive = if hold_time == 0 {
        0
    } else {
        keepalive.unwrap_or(hold_time / 3)
    };
    (hold_time, keepalive)
}

fn key_of(peer: &BgpPeer) -> ObjectKey {
    ObjectKey::new(Kind::BgpPeer, &peer.metadata.name)
}

/// TCP port of BGP (RFC 4271 section 8.2.1).
const BGP_PORT: u16 = 179;
