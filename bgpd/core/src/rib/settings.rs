//! What a shard has to know of this node and of its peers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use bgp_wire::{Asn, EncodeContext, Family, RouterId, SessionType};

use crate::policy::Policy;

/// What concerns all peers of this node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ShardSettings {
    /// This node's AS. A peer may see another one: [`RibPeer::local_asn`].
    pub local_asn: Asn,
    /// This node's BGP identifier: a path that carries it as ORIGINATOR_ID is our own, sent back.
    pub router_id: RouterId,
    /// `Some` makes the node a route reflector (RFC 4456) of this cluster.
    pub cluster_id: Option<RouterId>,
    /// Most paths that share the load of one prefix; 1 turns multipath off. Default 16.
    pub multipath: u16,
    /// What a path without LOCAL_PREF counts as, and what such a path gets on its way to an iBGP peer. Default 100.
    pub default_local_pref: u32,
    /// Octets handed out for a peer and not yet reported as sent, above which the peer lags. Default 1 MiB.
    ///
    /// A peer that lags costs one bit for each prefix until it catches up, and no other peer waits for it.
    pub send_window: usize,
}

impl ShardSettings {
    /// Defaults for a node that is not a route reflector.
    #[must_use]
    pub const fn new(local_asn: Asn, router_id: RouterId) -> Self {
        Self {
            local_asn,
            router_id,
            cluster_id: None,
            multipath: 16,
            default_local_pref: 100,
            send_window: 1 << 20,
        }
    }
}

/// What a shard must know of one Established peer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RibPeer {
    /// The peer's end of the session.
    pub address: IpAddr,
    /// The session's own end: the next hop of what this node announces in the family of the transport.
    pub local_address: IpAddr,
    /// The own addresses for families other than the transport's.
    pub local_next_hops: LocalNextHops,
    /// The interface of a session between link-local addresses.
    pub interface: Option<u32>,
    /// This node's AS as the peer knows it.
    pub local_asn: Asn,
    /// The peer's AS.
    pub remote_asn: Asn,
    /// The peer's BGP identifier.
    pub remote_router_id: RouterId,
    /// iBGP or eBGP.
    pub session_type: SessionType,
    /// A client of this reflector (RFC 4456); without meaning on eBGP, or when this node has no cluster id.
    pub reflector_client: bool,
    /// What the session carries.
    pub families: Vec<Family>,
    /// How to write messages that the peer can read.
    pub encode: EncodeContext,
    /// Which next hop the peer gets.
    pub next_hop: NextHopMode,
    /// How often this AS may be in a received AS_PATH. Default 0.
    pub allow_own_asn: u8,
    /// Paths from an eBGP peer must begin with the peer's AS. Default false.
    pub enforce_first_asn: bool,
    /// Runs over what comes in.
    pub import: Arc<Policy>,
    /// Runs over what goes out, before the changes that the session type asks for.
    pub export: Arc<Policy>,
    /// Both sides know enhanced route refresh (RFC 7313): an answer to a request is framed by BoRR and EoRR.
    pub enhanced_refresh: bool,
}

/// Own addresses to announce as next hop in families that the transport is not of.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Hash)]
pub struct LocalNextHops {
    /// For IPv4 routes.
    pub v4: Option<Ipv4Addr>,
    /// For IPv6 routes.
    pub v6: Option<Ipv6Addr>,
    /// Goes with the IPv6 one to a peer on the same link (RFC 2545 section 3).
    pub v6_link_local: Option<Ipv6Addr>,
}

impl RibPeer {
    /// The own address for routes of a family: the session's own end when it fits, else what was configured.
    #[must_use]
    pub fn own_v4(&self) -> Option<Ipv4Addr> {
        match self.local_address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => self.local_next_hops.v4,
        }
    }

    /// The same for IPv6 routes.
    #[must_use]
    pub fn own_v6(&self) -> Option<Ipv6Addr> {
        match self.local_address {
            IpAddr::V6(address) => Some(address),
            IpAddr::V4(_) => self.local_next_hops.v6,
        }
    }

    /// All addresses that are this node, as far as the session tells.
    pub(super) fn own_addresses(&self) -> impl Iterator<Item = IpAddr> + use<> {
        let LocalNextHops {
            v4,
            v6,
            v6_link_local,
        } = self.local_next_hops;
        [
            Some(self.local_address),
            v4.map(IpAddr::V4),
            v6.map(IpAddr::V6),
            v6_link_local.map(IpAddr::V6),
        ]
        .into_iter()
        .flatten()
    }
}

/// Which next hop a peer gets.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Hash)]
pub enum NextHopMode {
    /// eBGP: own address. iBGP: as received (RFC 4271 section 5.1.3), own address for own routes.
    #[default]
    Auto,
    /// Always the own address; only what is reflected keeps its next hop (RFC 4456 section 10).
    ToSelf,
    /// As received, for eBGP as well; own address for own routes.
    Keep,
}
