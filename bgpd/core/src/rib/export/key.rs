//! The key of an update group: everything that the bytes for a peer depend on, besides the routes.
//!
//! Two peers share a group exactly when their keys are equal. A setting that changes what goes out but is not in here
//! would leak from one peer to another, so the key is made by taking the settings apart field by field: a new field does
//! not compile until somebody has decided where it goes.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use bgp_wire::{Asn, EncodeContext, Family, NextHop, RouterId, SessionType};

use crate::policy::Policy;
use crate::rib::settings::{NextHopMode, RibPeer, ShardSettings};

/// Everything that the bytes for a peer depend on, besides the routes.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub struct GroupKey {
    /// Groups are per family.
    pub family: Family,
    /// Which rules apply.
    pub session_type: SessionType,
    /// What eBGP puts before AS_PATH; 0 for iBGP, which puts nothing there.
    pub local_asn: Asn,
    /// What reflection puts before CLUSTER_LIST; `None` for eBGP and on nodes that do not reflect.
    pub cluster_id: Option<RouterId>,
    /// Gets what other iBGP peers sent (RFC 4456 section 6).
    pub reflector_client: bool,
    /// Which next hop goes out.
    pub next_hop: NextHopMode,
    /// The own one; `None` when there is no own address that fits the family.
    pub own_next_hop: Option<NextHop>,
    /// For routes without LOCAL_PREF; 0 for eBGP, which never carries it.
    pub default_local_pref: u32,
    /// How messages are written.
    pub encode: EncodeContext,
    /// What passes and what is edited.
    pub export: Arc<Policy>,
}

impl GroupKey {
    /// The key of a peer in one of its families.
    pub(in crate::rib) fn of(shard: &ShardSettings, peer: &RibPeer, family: Family) -> Self {
        let RibPeer {
            address: _,
            local_address: _,
            local_next_hops: _,
            interface: _,
            local_asn,
            remote_asn: _,
            remote_router_id: _,
            session_type,
            reflector_client,
            families: _,
            encode,
            next_hop,
            allow_own_asn: _,
            enforce_first_asn: _,
            import: _,
            export,
            enhanced_refresh: _,
        } = peer;
        let ShardSettings {
            local_asn: _,
            router_id: _,
            cluster_id,
            multipath: _,
            default_local_pref,
            send_window: _,
        } = shard;
        let ibgp = *session_type == SessionType::Internal;
        let cluster_id = cluster_id.filter(|_| ibgp);
        Self {
            family,
            session_type: *session_type,
            local_asn: if ibgp { Asn(0) } else { *local_asn },
            cluster_id,
            reflector_client: *reflector_client && cluster_id.is_some(),
            next_hop: *next_hop,
            own_next_hop: own_next_hop(peer, family),
            default_local_pref: if ibgp { *default_local_pref } else { 0 },
            encode: encode.clone(),
            export: Arc::clone(export),
        }
    }

    /// True when messages of this group can carry the next hop (RFC 8950 for IPv4 over IPv6).
    pub(in crate::rib) fn can_carry(&self, next_hop: NextHop) -> bool {
        can_carry(&self.encode, self.family, next_hop)
    }
}

fn can_carry(encode: &EncodeContext, family: Family, next_hop: NextHop) -> bool {
    match next_hop {
        NextHop::V4(_) => family == Family::IPV4_UNICAST,
        NextHop::V6 { .. } => encode.allows_v6_next_hop(family),
    }
}

fn own_next_hop(peer: &RibPeer, family: Family) -> Option<NextHop> {
    let v4 = peer.own_v4().map(NextHop::V4);
    let v6 = own_v6(peer);
    [v4, v6]
        .into_iter()
        .flatten()
        .find(|next_hop| can_carry(&peer.encode, family, *next_hop))
}

/// With the link-local address beside the global one where both ends are on one link (RFC 2545 section 3).
fn own_v6(peer: &RibPeer) -> Option<NextHop> {
    let link_local = match peer.local_address {
        IpAddr::V6(address) if address.is_unicast_link_local() => Some(address),
        _ => peer.local_next_hops.v6_link_local,
    };
    let global = match peer.local_address {
        IpAddr::V6(address) if !address.is_unicast_link_local() => Some(address),
        _ => peer.local_next_hops.v6,
    };
    let global: Ipv6Addr = global.or(link_local)?;
    Some(NextHop::V6 { global, link_local })
}
