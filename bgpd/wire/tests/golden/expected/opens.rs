//! OPENs: capabilities in the order in which each implementation lists them.

use bgp_wire::{
    AddPathMode, Asn, Capability, ExtendedNextHop, Family, GracefulFamily, LongLivedFamily,
    OpenMessage, RouterId,
};
use bytes::Bytes;

use crate::vector::{Peer, Vector};

const V4: Family = Family::IPV4_UNICAST;
const V6: Family = Family::IPV6_UNICAST;

pub(super) fn open(vector: &Vector) -> OpenMessage {
    let capabilities = match vector.daemon.as_str() {
        "bird" => bird(vector.peer),
        "frr" => frr(vector.peer),
        "gobgp" => gobgp(vector.peer),
        "openbgpd" => openbgpd(vector.peer),
        "exabgp" => exabgp(vector.peer),
        daemon => panic!("what {daemon} can do is not known"),
    };
    OpenMessage {
        version: 4,
        asn: Asn(65001),
        hold_time: 180,
        router_id: RouterId::from([192, 0, 2, 1]),
        capabilities: capabilities.into_iter().flatten().collect(),
    }
}

fn bird(peer: Peer) -> Vec<Option<Capability>> {
    vec![
        Some(Capability::MultiProtocol(V4)),
        has_v6(peer).then_some(Capability::MultiProtocol(V6)),
        Some(Capability::RouteRefresh),
        (peer == Peer::V6Session).then(v4_by_v6),
        Some(Capability::ExtendedMessage),
        Some(graceful(peer, 120, false)),
        Some(Capability::FourOctetAsn(Asn(65001))),
        (peer == Peer::AddPath).then(|| add_path(peer, AddPathMode::Both)),
        Some(Capability::EnhancedRouteRefresh),
        // Long-lived for nothing, where it was not asked for.
        Some(match peer {
            Peer::TwoOctet => Capability::LongLivedGracefulRestart(vec![]),
            _ => long_lived(peer, false),
        }),
    ]
}

fn frr(peer: Peer) -> Vec<Option<Capability>> {
    // Cisco's code for ROUTE-REFRESH, from before there was a standard.
    let old_refresh = Capability::Unknown {
        code: 128,
        value: Bytes::new(),
    };
    let name = Capability::Fqdn {
        hostname: "frr1".into(),
        domain: String::new(),
    };
    let way = match peer {
        Peer::AddPath => AddPathMode::Both,
        _ => AddPathMode::Receive,
    };
    vec![
        Some(Capability::MultiProtocol(V4)),
        (peer == Peer::V6Session).then(v4_by_v6),
        has_v6(peer).then_some(Capability::MultiProtocol(V6)),
        Some(old_refresh),
        Some(Capability::RouteRefresh),
        Some(Capability::EnhancedRouteRefresh),
        Some(Capability::FourOctetAsn(Asn(65001))),
        Some(Capability::ExtendedMessage),
        (peer == Peer::External).then_some(PROVIDER),
        Some(add_path(peer, way)),
        Some(name),
        Some(restarting(graceful(peer, 120, true))),
        Some(long_lived(peer, true)),
    ]
}

fn gobgp(peer: Peer) -> Vec<Option<Capability>> {
    let name = Capability::Fqdn {
        hostname: "vm".into(),
        domain: String::new(),
    };
    vec![
        Some(Capability::RouteRefresh),
        Some(name),
        Some(Capability::MultiProtocol(V4)),
        has_v6(peer).then_some(Capability::MultiProtocol(V6)),
        Some(Capability::FourOctetAsn(Asn(65001))),
        Some(graceful(peer, 120, true)),
        (peer == Peer::Client).then(|| long_lived(peer, false)),
        Some(v4_by_v6()),
        (peer == Peer::AddPath).then(|| add_path(peer, AddPathMode::Both)),
    ]
}

fn openbgpd(peer: Peer) -> Vec<Option<Capability>> {
    // It keeps no routes of its own over a restart, and says only that it has just started.
    let started = Capability::GracefulRestart {
        restarting: true,
        notification: false,
        restart_time: 0,
        families: vec![],
    };
    vec![
        Some(Capability::MultiProtocol(V4)),
        has_v6(peer).then_some(Capability::MultiProtocol(V6)),
        Some(Capability::RouteRefresh),
        (peer == Peer::External).then_some(PROVIDER),
        Some(started),
        Some(Capability::FourOctetAsn(Asn(65001))),
        (peer == Peer::AddPath).then(|| add_path(peer, AddPathMode::Both)),
        has_v6(peer).then_some(Capability::EnhancedRouteRefresh),
    ]
}

fn exabgp(peer: Peer) -> Vec<Option<Capability>> {
    // Knows no families by session; F is set, though it forwards nothing.
    let listed = [V4, V6].map(|family| GracefulFamily {
        family,
        forwarding_preserved: true,
    });
    let graceful = Capability::GracefulRestart {
        restarting: true,
        notification: false,
        restart_time: 120,
        families: listed.into(),
    };
    vec![
        Some(Capability::MultiProtocol(V4)),
        Some(Capability::MultiProtocol(V6)),
        (peer != Peer::TwoOctet).then_some(Capability::FourOctetAsn(Asn(65001))),
        (peer == Peer::AddPath).then(|| add_path(peer, AddPathMode::Both)),
        Some(graceful),
        Some(Capability::RouteRefresh),
        Some(Capability::EnhancedRouteRefresh),
        Some(Capability::ExtendedMessage),
    ]
}

/// RFC 9234 section 4.1.
const PROVIDER: Capability = Capability::Role(0);

/// The session without capabilities of the peer was set up for IPv4 alone.
fn has_v6(peer: Peer) -> bool {
    peer != Peer::TwoOctet
}

fn families(peer: Peer) -> Vec<Family> {
    if has_v6(peer) { vec![V4, V6] } else { vec![V4] }
}

fn v4_by_v6() -> Capability {
    Capability::ExtendedNextHop(vec![ExtendedNextHop {
        family: V4,
        next_hop_afi: 2,
    }])
}

fn graceful(peer: Peer, restart_time: u16, notification: bool) -> Capability {
    let listed = families(peer).into_iter().map(|family| GracefulFamily {
        family,
        forwarding_preserved: false,
    });
    Capability::GracefulRestart {
        restarting: false,
        notification,
        restart_time,
        families: listed.collect(),
    }
}

fn restarting(capability: Capability) -> Capability {
    match capability {
        Capability::GracefulRestart {
            notification,
            restart_time,
            families,
            ..
        } => Capability::GracefulRestart {
            restarting: true,
            notification,
            restart_time,
            families,
        },
        other => other,
    }
}

fn long_lived(peer: Peer, forwarding_preserved: bool) -> Capability {
    let listed = families(peer).into_iter().map(|family| LongLivedFamily {
        family,
        forwarding_preserved,
        stale_time: 3600,
    });
    Capability::LongLivedGracefulRestart(listed.collect())
}

fn add_path(peer: Peer, mode: AddPathMode) -> Capability {
    let listed = families(peer).into_iter().map(|family| (family, mode));
    Capability::AddPath(listed.collect())
}
