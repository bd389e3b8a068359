//! Everything that says how to run one neighbour, and what of it the RIB gets to know.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use bgp_core::policy::Policy;
use bgp_core::rib::{LocalNextHops, NextHopMode, RibPeer};
use bgp_core::session::{ChangeCost, Negotiated, PeerSettings};

/// One neighbour.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct PeerConfig {
    /// Where it is dialled, and the address that it dials from.
    pub(crate) remote: SocketAddr,
    /// Our end, when it is not left to the kernel.
    pub(crate) source: Option<IpAddr>,
    pub(crate) session: PeerSettings,
    pub(crate) routes: RouteSettings,
}

/// The part that only the RIB needs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct RouteSettings {
    pub(crate) reflector_client: bool,
    pub(crate) next_hop: NextHopMode,
    pub(crate) allow_own_asn: u8,
    /// This node's addresses, for families that the session's transport is not of.
    pub(crate) own_v4: Option<Ipv4Addr>,
    pub(crate) own_v6: Option<Ipv6Addr>,
    pub(crate) import: Arc<Policy>,
    pub(crate) export: Arc<Policy>,
}

impl PeerConfig {
    /// What taking over `new` costs a session that is up.
    pub(crate) fn change_cost(&self, new: &Self) -> ChangeCost {
        // Destructured, so that a new field does not compile until someone has classed it.
        let Self {
            remote,
            source,
            session,
            routes,
        } = self;
        let RouteSettings {
            reflector_client,
            next_hop,
            allow_own_asn,
            own_v4,
            own_v6,
            import,
            export,
        } = routes;
        let moved = *remote != new.remote || *source != new.source;
        let inbound = *allow_own_asn != new.routes.allow_own_asn || *import != new.routes.import;
        let outbound = *reflector_client != new.routes.reflector_client
            || *next_hop != new.routes.next_hop
            || *own_v4 != new.routes.own_v4
            || *own_v6 != new.routes.own_v6
            || *export != new.routes.export;
        let routes = match (moved, inbound, outbound) {
            (true, ..) => ChangeCost::SessionReset,
            (false, true, _) => ChangeCost::SoftIn,
            (false, false, true) => ChangeCost::SoftOut,
            (false, false, false) => ChangeCost::None,
        };
        routes.max(session.change_cost(&new.session))
    }
}

/// What a shard must know of a session that just came up.
pub(crate) fn rib_peer(
    config: &PeerConfig,
    local_address: IpAddr,
    negotiated: &Negotiated,
) -> RibPeer {
    let RouteSettings {
        reflector_client,
        next_hop,
        allow_own_asn,
        own_v4,
        own_v6,
        import,
        export,
    } = config.routes.clone();
    RibPeer {
        address: config.remote.ip(),
        local_address,
        local_next_hops: LocalNextHops {
            v4: own_v4,
            v6: own_v6,
            v6_link_local: None,
        },
        interface: None,
        local_asn: config.session.local_asn,
        remote_asn: config.session.remote_asn,
        remote_router_id: negotiated.remote_router_id,
        session_type: negotiated.session_type,
        reflector_client,
        families: negotiated.families.clone(),
        encode: negotiated.encode.clone(),
        next_hop,
        allow_own_asn,
        enforce_first_asn: false,
        import,
        export,
        enhanced_refresh: negotiated.enhanced_refresh,
    }
}
