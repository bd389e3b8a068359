//! What a term changes in a route.

use std::net::IpAddr;

use bgp_wire::{Asn, Attributes, Community, LargeCommunity};

/// One change by a [`super::Term`].
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub enum Edit {
    /// Sets LOCAL_PREF. It leaves the AS in no case (RFC 4271 section 5.1.5).
    SetLocalPref(u32),
    /// Sets MED, or takes it away. One that is set here goes to eBGP peers too.
    SetMed(Option<u32>),
    /// Adds a community.
    AddCommunity(Community),
    /// Takes a community away.
    RemoveCommunity(Community),
    /// Replaces all communities.
    SetCommunities(Vec<Community>),
    /// Adds a large community.
    AddLargeCommunity(LargeCommunity),
    /// Takes a large community away.
    RemoveLargeCommunity(LargeCommunity),
    /// Replaces all large communities.
    SetLargeCommunities(Vec<LargeCommunity>),
    /// Puts these before AS_PATH; afterwards it begins with them, in this order.
    PrependAsPath(Vec<Asn>),
    /// Sets the next hop.
    SetNextHop(IpAddr),
}

impl Edit {
    pub(super) fn apply(&self, attributes: &mut Attributes, next_hop: &mut Option<IpAddr>) {
        match self {
            Self::SetLocalPref(value) => attributes.local_pref = Some(*value),
            Self::SetMed(value) => attributes.med = *value,
            Self::AddCommunity(community) => {
                attributes.communities.insert(*community);
            }
            Self::RemoveCommunity(community) => {
                attributes.communities.remove(community);
            }
            Self::SetCommunities(communities) => {
                attributes.communities = communities.iter().copied().collect();
            }
            Self::AddLargeCommunity(community) => {
                attributes.large_communities.insert(*community);
            }
            Self::RemoveLargeCommunity(community) => {
                attributes.large_communities.remove(community);
            }
            Self::SetLargeCommunities(communities) => {
                attributes.large_communities = communities.iter().copied().collect();
            }
            Self::PrependAsPath(asns) => {
                for asn in asns.iter().rev() {
                    attributes.as_path.prepend(*asn, 1);
                }
            }
            Self::SetNextHop(address) => *next_hop = Some(*address),
        }
    }
}
