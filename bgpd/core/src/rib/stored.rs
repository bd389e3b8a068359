//! An attribute set as it is kept: small for what most sets are.
//!
//! What decisions read is in [`Metrics`] and not here again; what few routes have is behind one pointer.

use bgp_wire::{
    Aggregator, AsPath, Asn, Attributes, ClusterList, Communities, ExtendedCommunities,
    Ipv6ExtendedCommunities, LargeCommunities, NextHop, PartialSet, UnknownAttribute,
};

use super::attributes::{Metrics, RouteAttributes, gateway};
use super::next_hops::NextHopTable;
use crate::policy::AttributesView;

/// What is not in [`Metrics`].
#[derive(Debug, Default)]
pub(super) struct Stored {
    as_path: AsPath,
    communities: Communities,
    large_communities: LargeCommunities,
    cluster_list: ClusterList,
    /// `None` when all of it is at its default.
    rest: Option<Box<Rest>>,
}

/// What few routes have.
#[derive(Debug, Default)]
struct Rest {
    /// When the address that packets go to does not tell all.
    next_hop: Option<NextHop>,
    atomic_aggregate: bool,
    aggregator: Option<Aggregator>,
    extended_communities: ExtendedCommunities,
    ipv6_extended_communities: Ipv6ExtendedCommunities,
    aigp: Option<u64>,
    otc: Option<Asn>,
    pmsi_tunnel: Option<Box<[u8]>>,
    tunnel_encapsulation: Option<Box<[u8]>>,
    prefix_sid: Option<Box<[u8]>>,
    unknown: Vec<UnknownAttribute>,
    partial: PartialSet,
}

impl Stored {
    /// What has to be kept of a route besides its metrics.
    pub(super) fn new(route: RouteAttributes) -> Self {
        let RouteAttributes {
            attributes,
            next_hop,
        } = route;
        let Attributes {
            origin: _,
            as_path,
            med: _,
            local_pref: _,
            atomic_aggregate,
            aggregator,
            communities,
            extended_communities,
            ipv6_extended_communities,
            large_communities,
            originator_id: _,
            cluster_list,
            aigp,
            otc,
            pmsi_tunnel,
            tunnel_encapsulation,
            prefix_sid,
            unknown,
            partial,
        } = attributes;
        let rest = Rest {
            next_hop: next_hop.filter(|next_hop| !is_plain(*next_hop)),
            atomic_aggregate,
            aggregator,
            extended_communities,
            ipv6_extended_communities,
            aigp,
            otc,
            pmsi_tunnel,
            tunnel_encapsulation,
            prefix_sid,
            unknown,
            partial,
        };
        let rest = (!rest.is_empty()).then(|| Box::new(rest));
        Self {
            as_path,
            communities,
            large_communities,
            cluster_list,
            rest,
        }
    }

    /// The whole set.
    pub(super) fn load(&self, metrics: &Metrics, next_hops: &NextHopTable) -> RouteAttributes {
        let empty = Rest::default();
        let rest = self.rest.as_deref().unwrap_or(&empty);
        let attributes = Attributes {
            origin: metrics.origin,
            as_path: self.as_path.clone(),
            med: metrics.med,
            local_pref: metrics.local_pref,
            atomic_aggregate: rest.atomic_aggregate,
            aggregator: rest.aggregator,
            communities: self.communities.clone(),
            extended_communities: rest.extended_communities.clone(),
            ipv6_extended_communities: rest.ipv6_extended_communities.clone(),
            large_communities: self.large_communities.clone(),
            originator_id: metrics.originator_id,
            cluster_list: self.cluster_list.clone(),
            aigp: rest.aigp,
            otc: rest.otc,
            pmsi_tunnel: rest.pmsi_tunnel.clone(),
            tunnel_encapsulation: rest.tunnel_encapsulation.clone(),
            prefix_sid: rest.prefix_sid.clone(),
            unknown: rest.unknown.clone(),
            partial: rest.partial,
        };
        RouteAttributes {
            attributes,
            next_hop: self.next_hop(metrics, next_hops),
        }
    }

    /// True when this is what [`Self::new`] made of an equal route.
    pub(super) fn is(
        &self,
        metrics: &Metrics,
        route: &RouteAttributes,
        next_hops: &NextHopTable,
    ) -> bool {
        let RouteAttributes {
            attributes,
            next_hop,
        } = route;
        // Destructured, so that an attribute added is an attribute compared.
        let Attributes {
            origin,
            as_path,
            med,
            local_pref,
            atomic_aggregate,
            aggregator,
            communities,
            extended_communities,
            ipv6_extended_communities,
            large_communities,
            originator_id,
            cluster_list,
            aigp,
            otc,
            pmsi_tunnel,
            tunnel_encapsulation,
            prefix_sid,
            unknown,
            partial,
        } = attributes;
        let common = *origin == metrics.origin
            && *med == metrics.med
            && *local_pref == metrics.local_pref
            && *originator_id == metrics.originator_id
            && *as_path == self.as_path
            && *communities == self.communities
            && *large_communities == self.large_communities
            && *cluster_list == self.cluster_list
            && *next_hop == self.next_hop(metrics, next_hops);
        let empty = Rest::default();
        let rest = self.rest.as_deref().unwrap_or(&empty);
        common
            && *atomic_aggregate == rest.atomic_aggregate
            && *aggregator == rest.aggregator
            && *extended_communities == rest.extended_communities
            && *ipv6_extended_communities == rest.ipv6_extended_communities
            && *aigp == rest.aigp
            && *otc == rest.otc
            && *pmsi_tunnel == rest.pmsi_tunnel
            && *tunnel_encapsulation == rest.tunnel_encapsulation
            && *prefix_sid == rest.prefix_sid
            && *unknown == rest.unknown
            && *partial == rest.partial
    }

    /// What policies look at.
    pub(super) fn view(&self, metrics: &Metrics) -> AttributesView<'_> {
        AttributesView {
            as_path: &self.as_path,
            med: metrics.med,
            local_pref: metrics.local_pref,
            communities: &self.communities,
            large_communities: &self.large_communities,
            extended_communities: self
                .rest
                .as_deref()
                .map_or(&[], |rest| &rest.extended_communities),
        }
    }

    fn next_hop(&self, metrics: &Metrics, next_hops: &NextHopTable) -> Option<NextHop> {
        let special = self.rest.as_deref().and_then(|rest| rest.next_hop);
        special.or_else(|| {
            metrics
                .next_hop
                .map(|index| NextHop::from(next_hops.address(index)))
        })
    }
}

impl Rest {
    fn is_empty(&self) -> bool {
        let Self {
            next_hop,
            atomic_aggregate,
            aggregator,
            extended_communities,
            ipv6_extended_communities,
            aigp,
            otc,
            pmsi_tunnel,
            tunnel_encapsulation,
            prefix_sid,
            unknown,
            partial,
        } = self;
        next_hop.is_none()
            && !atomic_aggregate
            && aggregator.is_none()
            && extended_communities.is_empty()
            && ipv6_extended_communities.is_empty()
            && aigp.is_none()
            && otc.is_none()
            && pmsi_tunnel.is_none()
            && tunnel_encapsulation.is_none()
            && prefix_sid.is_none()
            && unknown.is_empty()
            && *partial == PartialSet::default()
    }
}

/// True when the address that packets go to is all there is to a next hop.
fn is_plain(next_hop: NextHop) -> bool {
    NextHop::from(gateway(next_hop)) == next_hop
}
