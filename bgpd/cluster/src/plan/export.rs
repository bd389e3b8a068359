//! What leaves towards peers: ordered rules, the first that says something decides; and communities.

use std::collections::BTreeSet;

use ipnet::IpNet;
use routeagg::Announcements;

use super::{Context, RoutePriorities};
use crate::model::{BgpConfiguration, Community};

/// The export rules of the node, the same for every peer.
///
/// As Calico's: pools that are not exported, own blocks with everything inside them suppressed, service ranges on
/// route reflectors, pools, and nothing else. External routes, default routes and node subnets never leave.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ExportPlan {
    /// The rules in order; what no rule accepts stays.
    pub rules: Vec<ExportRule>,
    /// Communities to add to what leaves; all that match apply.
    pub communities: Vec<CommunityRule>,
    /// Normal IPv4 routes have this LOCAL_PREF among nodes; a higher one marks a route of elevated priority.
    pub normal_local_pref_ipv4: u32,
    /// Normal IPv6 routes have this LOCAL_PREF among nodes; a higher one marks a route of elevated priority.
    pub normal_local_pref_ipv6: u32,
}

/// One rule. "Inside" is the range itself and everything more specific.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ExportRule {
    /// A pool with `disableBGPExport`: nothing inside leaves.
    RejectInside {
        /// The pool's range.
        within: IpNet,
        /// The pool's name.
        pool: String,
    },
    /// A block of this node: itself leaves; inside only what has an elevated priority (a live migration's /32).
    OwnBlock {
        /// The block.
        block: IpNet,
    },
    /// What is inside leaves.
    AcceptInside {
        /// The range.
        within: IpNet,
        /// Why.
        reason: AcceptReason,
    },
}

/// Why a range is exported.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AcceptReason {
    /// It is a pool's, by name.
    Pool(String),
    /// It is a range of service addresses and the node is a route reflector, which has to pass them on.
    ServiceRange,
}

/// Whether a prefix leaves.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It does.
    Accept,
    /// It stays.
    Reject,
}

/// Communities for what is inside a range.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CommunityRule {
    /// The range.
    pub within: IpNet,
    /// The communities to add.
    pub communities: BTreeSet<Community>,
}

impl ExportPlan {
    /// Whether a prefix leaves, given its LOCAL_PREF; `None` for a route that never had one.
    ///
    /// Cost grows with the number of rules: pools and own blocks.
    #[must_use]
    pub fn verdict(&self, prefix: &IpNet, local_pref: Option<u32>) -> Verdict {
        let normal = match prefix {
            IpNet::V4(_) => self.normal_local_pref_ipv4,
            IpNet::V6(_) => self.normal_local_pref_ipv6,
        };
        let elevated = local_pref.is_some_and(|local_pref| local_pref > normal);
        let decision = self.rules.iter().find_map(|rule| match rule {
            ExportRule::RejectInside { within, .. } => {
                within.contains(prefix).then_some(Verdict::Reject)
            }
            ExportRule::OwnBlock { block } if block == prefix => Some(Verdict::Accept),
            ExportRule::OwnBlock { block } => block.contains(prefix).then_some(match elevated {
                true => Verdict::Accept,
                false => Verdict::Reject,
            }),
            ExportRule::AcceptInside { within, .. } => {
                within.contains(prefix).then_some(Verdict::Accept)
            }
        });
        decision.unwrap_or(Verdict::Reject)
    }

    /// The communities to add to a prefix that leaves.
    #[must_use]
    pub fn communities_of(&self, prefix: &IpNet) -> BTreeSet<Community> {
        let matching = self
            .communities
            .iter()
            .filter(|rule| rule.within.contains(prefix));
        matching
            .flat_map(|rule| rule.communities.iter().copied())
            .collect()
    }
}

pub(super) fn plan(
    context: &Context<'_>,
    announcements: &Announcements,
    priorities: RoutePriorities,
) -> ExportPlan {
    let pools = || context.pools.iter();
    let no_export = pools()
        .filter(|(_, pool)| pool.disable_bgp_export)
        .map(|(cidr, pool)| ExportRule::RejectInside {
            within: *cidr,
            pool: pool.metadata.name.clone(),
        });
    let exportable = pools()
        .filter(|(_, pool)| !pool.disable_bgp_export)
        .map(|(cidr, pool)| {
            let reason = AcceptReason::Pool(pool.metadata.name.clone());
            ExportRule::AcceptInside {
                within: *cidr,
                reason,
            }
        });
    // Should blocks overlap, the more specific one speaks first.
    let mut blocks: Vec<IpNet> = announcements.blocks.iter().copied().collect();
    blocks.sort_by_key(|block| (u8::MAX - block.prefix_len(), *block));
    let own = blocks
        .into_iter()
        .map(|block| ExportRule::OwnBlock { block });
    ExportPlan {
        rules: no_export
            .chain(own)
            .chain(service_ranges(context))
            .chain(exportable)
            .collect(),
        communities: communities(context),
        normal_local_pref_ipv4: super::metric_from_local_pref(priorities.ipv4),
        normal_local_pref_ipv6: super::metric_from_local_pref(priorities.ipv6),
    }
}

fn service_ranges(context: &Context<'_>) -> Vec<ExportRule> {
    let defaults = context
        .snapshot
        .defaults()
        .filter(|_| context.cluster_id().is_some());
    let ranges = defaults.into_iter().flat_map(|defaults| {
        defaults
            .service_load_balancer_ips
            .iter()
            .chain(&defaults.service_external_ips)
    });
    let ranges: BTreeSet<IpNet> = ranges.map(IpNet::trunc).collect();
    let accept = |within| ExportRule::AcceptInside {
        within,
        reason: AcceptReason::ServiceRange,
    };
    ranges.into_iter().map(accept).collect()
}

/// The node's own advertisements replace those of the cluster.
fn communities(context: &Context<'_>) -> Vec<CommunityRule> {
    let has_some =
        |configuration: &&BgpConfiguration| !configuration.prefix_advertisements.is_empty();
    let own = context
        .snapshot
        .configuration_of(&context.local.node)
        .filter(has_some);
    let Some(configuration) = own.or_else(|| context.snapshot.defaults()) else {
        return Vec::new();
    };
    let resolve = |text: &String| {
        let named = configuration
            .communities
            .iter()
            .find(|community| community.name == *text);
        named
            .map(|community| community.value)
            .or_else(|| text.parse().ok())
    };
    let advertisements = configuration.prefix_advertisements.iter();
    advertisements
        .map(|advertisement| CommunityRule {
            within: advertisement.cidr.trunc(),
            communities: advertisement
                .communities
                .iter()
                .filter_map(resolve)
                .collect(),
        })
        .collect()
}
