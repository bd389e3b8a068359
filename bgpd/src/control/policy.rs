//! The plan's export rules, compiled into the core's policy.

use std::sync::Arc;

use bgp_core::policy::{Compare, Condition, Edit, Policy, PrefixRule, PrefixSet, Term, Verdict};
use bgp_wire::{Community, Family, LargeCommunity};
use cluster::model;
use cluster::plan::{AcceptReason, CommunityRule, ExportPlan, ExportRule};
use ipnet::IpNet;

/// The export policy of every session of this node: what the plan's rules accept, with its communities added.
pub(super) fn export(plan: &ExportPlan) -> Arc<Policy> {
    let mut terms: Vec<Term> = plan.communities.iter().map(add_communities).collect();
    // Neighbouring rules of one kind become one set: a look-up then costs the same for one block and for a thousand.
    for run in plan.rules.chunk_by(|one, other| kind(one) == kind(other)) {
        let ranges = || run.iter().map(range);
        match run.first() {
            Some(ExportRule::RejectInside { .. }) => {
                terms.push(term(
                    "pool with disableBGPExport",
                    vec![inside(ranges())],
                    Verdict::Reject,
                ));
            }
            Some(ExportRule::AcceptInside {
                reason: AcceptReason::Pool(_),
                ..
            }) => {
                terms.push(term("pool", vec![inside(ranges())], Verdict::Accept));
            }
            Some(ExportRule::AcceptInside {
                reason: AcceptReason::ServiceRange,
                ..
            }) => {
                terms.push(term(
                    "service range",
                    vec![inside(ranges())],
                    Verdict::Accept,
                ));
            }
            Some(ExportRule::OwnBlock { .. }) => {
                let exact = PrefixSet::new(ranges().map(PrefixRule::exact));
                terms.push(term(
                    "own block",
                    vec![Condition::PrefixIn(Arc::new(exact))],
                    Verdict::Accept,
                ));
                let normal = [
                    (Family::IPV4_UNICAST, plan.normal_local_pref_ipv4),
                    (Family::IPV6_UNICAST, plan.normal_local_pref_ipv6),
                ];
                for (family, local_pref) in normal {
                    let conditions = vec![
                        Condition::Family(family),
                        Condition::LocalPref(Compare::Above, local_pref),
                        inside(ranges()),
                    ];
                    terms.push(term(
                        "elevated priority inside own block",
                        conditions,
                        Verdict::Accept,
                    ));
                }
                terms.push(term(
                    "inside own block",
                    vec![inside(ranges())],
                    Verdict::Reject,
                ));
            }
            None => {}
        }
    }
    Arc::new(Policy::new(terms, Verdict::Reject))
}

/// What is let in: everything, as Calico's peers without a BGPFilter do.
pub(super) fn import() -> Arc<Policy> {
    Arc::new(Policy::accept_all())
}

fn add_communities(rule: &CommunityRule) -> Term {
    let edits = rule.communities.iter().map(|community| match *community {
        model::Community::Standard(high, low) => {
            Edit::AddCommunity(Community(u32::from(high) << 16 | u32::from(low)))
        }
        model::Community::Large(global, local_1, local_2) => {
            Edit::AddLargeCommunity(LargeCommunity {
                global,
                local1: local_1,
                local2: local_2,
            })
        }
    });
    Term {
        name: "prefixAdvertisements".to_owned(),
        conditions: vec![inside([rule.within].into_iter())],
        edits: edits.collect(),
        verdict: Verdict::Next,
    }
}

fn term(name: &str, conditions: Vec<Condition>, verdict: Verdict) -> Term {
    Term {
        name: name.to_owned(),
        conditions,
        edits: Vec::new(),
        verdict,
    }
}

fn inside(ranges: impl Iterator<Item = IpNet>) -> Condition {
    Condition::PrefixIn(Arc::new(PrefixSet::new(ranges.map(PrefixRule::or_longer))))
}

fn range(rule: &ExportRule) -> IpNet {
    match rule {
        ExportRule::RejectInside { within, .. } | ExportRule::AcceptInside { within, .. } => {
            *within
        }
        ExportRule::OwnBlock { block } => *block,
    }
}

fn kind(rule: &ExportRule) -> u8 {
    match rule {
        ExportRule::RejectInside { .. } => 0,
        ExportRule::OwnBlock { .. } => 1,
        ExportRule::AcceptInside {
            reason: AcceptReason::ServiceRange,
            ..
        } => 2,
        ExportRule::AcceptInside {
            reason: AcceptReason::Pool(_),
            ..
        } => 3,
    }
}

#[cfg(test)]
mod tests {
    use bgp_core::policy::{PolicyRoute, RouteSource};
    use bgp_wire::{Attributes, SessionType};
    use cluster::plan::Verdict as Planned;

    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    fn plan() -> ExportPlan {
        let pool = |within, name: &str| ExportRule::AcceptInside {
            within: net(within),
            reason: AcceptReason::Pool(name.to_owned()),
        };
        ExportPlan {
            rules: vec![
                ExportRule::RejectInside {
                    within: net("10.245.0.0/16"),
                    pool: "silent".to_owned(),
                },
                ExportRule::OwnBlock {
                    block: net("10.244.1.0/26"),
                },
                ExportRule::OwnBlock {
                    block: net("fd00:244::/122"),
                },
                pool("10.244.0.0/16", "pods"),
                pool("fd00:244::/48", "pods-v6"),
            ],
            communities: vec![CommunityRule {
                within: net("10.244.0.0/16"),
                communities: ["64512:100".parse().unwrap(), "64512:1:2".parse().unwrap()].into(),
            }],
            normal_local_pref_ipv4: 2_147_482_623,
            normal_local_pref_ipv6: 2_147_482_623,
        }
    }

    #[test]
    fn the_policy_says_what_the_plan_says() {
        let plan = plan();
        let policy = export(&plan);
        let prefixes = [
            "10.245.1.0/26",
            "10.244.1.0/26",
            "10.244.1.5/32",
            "10.244.2.0/26",
            "10.244.0.0/16",
            "10.0.0.0/8",
            "0.0.0.0/0",
            "192.0.2.0/24",
            "fd00:244::/122",
            "fd00:244::1/128",
            "fd00:244::1:0/122",
            "::/0",
        ];
        for prefix in prefixes.map(net) {
            for local_pref in [None, Some(100), Some(2_147_482_623), Some(2_147_483_135)] {
                let attributes = Attributes {
                    local_pref,
                    ..Attributes::default()
                };
                let outcome = policy.evaluate(&PolicyRoute {
                    prefix,
                    attributes: (&attributes).into(),
                    next_hop: None,
                    source: RouteSource::Local,
                    session: SessionType::Internal,
                });
                let planned = plan.verdict(&prefix, local_pref) == Planned::Accept;
                assert_eq!(
                    outcome.accepted, planned,
                    "{prefix} with LOCAL_PREF {local_pref:?}"
                );
            }
        }
    }

    #[test]
    fn communities_are_added_on_the_way_out() {
        let policy = export(&plan());
        let given = Attributes::default();
        let mut attributes = given.clone();
        let route = PolicyRoute {
            prefix: net("10.244.1.0/26"),
            attributes: (&given).into(),
            next_hop: None,
            source: RouteSource::Local,
            session: SessionType::External,
        };
        let outcome = policy.evaluate(&route);
        policy.apply(&outcome.edits, &mut attributes, &mut None);
        assert!(
            attributes
                .communities
                .iter()
                .any(|community| community.to_string() == "64512:100")
        );
        assert!(
            attributes
                .large_communities
                .iter()
                .any(|community| community.to_string() == "64512:1:2")
        );
    }
}
