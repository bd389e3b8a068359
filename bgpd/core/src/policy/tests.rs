use std::collections::HashSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use bgp_wire::{AsPath, Asn, Community, Family, LargeCommunity};

use super::*;

const ONE: Community = Community::new(65000, 1);
const TWO: Community = Community::new(65000, 2);
const LARGE: LargeCommunity = LargeCommunity::new(65000, 1, 2);

fn net(text: &str) -> IpNet {
    text.parse().expect("a prefix")
}

/// The same route once in each family.
fn in_both_families() -> [(Family, IpNet, IpAddr); 2] {
    [
        (
            Family::IPV4_UNICAST,
            net("10.1.2.0/24"),
            Ipv4Addr::new(192, 0, 2, 1).into(),
        ),
        (
            Family::IPV6_UNICAST,
            net("2001:db8:1:2::/64"),
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
        ),
    ]
}

fn sample() -> Attributes {
    Attributes {
        as_path: AsPath::sequence([Asn(64501), Asn(64502)]),
        local_pref: Some(200),
        med: Some(7),
        communities: [ONE].into_iter().collect(),
        large_communities: [LARGE].into_iter().collect(),
        ..Attributes::default()
    }
}

fn route(attributes: &Attributes, prefix: IpNet, next_hop: IpAddr) -> PolicyRoute<'_> {
    PolicyRoute {
        prefix,
        attributes: attributes.into(),
        next_hop: Some(next_hop),
        source: RouteSource::Peer(SessionType::Internal),
        session: SessionType::External,
    }
}

fn term(conditions: Vec<Condition>, edits: Vec<Edit>, verdict: Verdict) -> Term {
    Term {
        name: "test".to_owned(),
        conditions,
        edits,
        verdict,
    }
}

#[test]
fn each_condition_holds_for_what_it_names_and_nothing_else() {
    let attributes = sample();
    for (family, prefix, next_hop) in in_both_families() {
        let route = route(&attributes, prefix, next_hop);
        let other_family = in_both_families()
            .into_iter()
            .find(|(other, ..)| *other != family)
            .map(|(other, ..)| other)
            .expect("two families");
        let set = |rule| Arc::new(PrefixSet::new([rule]));
        let around = set(PrefixRule::or_longer(
            prefix.supernet().expect("not the default route"),
        ));
        let exactly_around = set(PrefixRule::exact(prefix.supernet().expect("a supernet")));
        let gateway = set(PrefixRule::or_longer(IpNet::from(next_hop)));
        let holding = [
            Condition::PrefixIn(Arc::clone(&around)),
            Condition::PrefixNotIn(Arc::clone(&exactly_around)),
            Condition::Family(family),
            Condition::Source(SourceMatch::Peers),
            Condition::Source(SourceMatch::Peer(SessionType::Internal)),
            Condition::Session(SessionType::External),
            Condition::Community(ONE),
            Condition::LargeCommunity(LARGE),
            Condition::AsPathStartsWith(vec![Asn(64501)]),
            Condition::AsPathStartsWith(vec![Asn(64501), Asn(64502)]),
            Condition::AsPathContains(Asn(64502)),
            Condition::NextHopIn(gateway),
            Condition::LocalPref(Compare::Equal, 200),
            Condition::LocalPref(Compare::Below, 201),
            Condition::LocalPref(Compare::Above, 199),
            Condition::Med(Compare::Equal, 7),
        ];
        for condition in holding {
            assert!(condition.holds(&route), "{condition:?}");
            assert!(!Condition::Not(Box::new(condition)).holds(&route));
        }
        let failing = [
            Condition::PrefixIn(Arc::clone(&exactly_around)),
            Condition::PrefixNotIn(around),
            Condition::Family(other_family),
            Condition::Source(SourceMatch::Local),
            Condition::Source(SourceMatch::Peer(SessionType::External)),
            Condition::Session(SessionType::Internal),
            Condition::Community(TWO),
            Condition::AsPathStartsWith(vec![Asn(64502)]),
            Condition::AsPathStartsWith(vec![Asn(64501), Asn(64502), Asn(64503)]),
            Condition::AsPathContains(Asn(64503)),
            Condition::NextHopIn(exactly_around),
            Condition::LocalPref(Compare::Above, 200),
            Condition::LocalPref(Compare::Below, 200),
            Condition::Med(Compare::Equal, 8),
        ];
        for condition in failing {
            assert!(!condition.holds(&route), "{condition:?}");
        }
    }
}

#[test]
fn a_missing_number_compares_with_nothing() {
    let attributes = Attributes::default();
    let [(_, prefix, next_hop), _] = in_both_families();
    let route = route(&attributes, prefix, next_hop);
    for compare in [Compare::Equal, Compare::Below, Compare::Above] {
        assert!(!Condition::LocalPref(compare, 100).holds(&route));
        assert!(!Condition::Med(compare, 0).holds(&route));
    }
}

#[test]
fn edits_do_what_they_say_in_order() {
    let mut attributes = sample();
    let mut next_hop = None;
    let policy = Policy::new(
        vec![term(
            vec![],
            vec![
                Edit::SetLocalPref(300),
                Edit::SetMed(None),
                Edit::AddCommunity(TWO),
                Edit::AddCommunity(TWO),
                Edit::RemoveCommunity(ONE),
                Edit::RemoveLargeCommunity(LARGE),
                Edit::PrependAsPath(vec![Asn(1), Asn(2)]),
                Edit::SetNextHop(Ipv4Addr::new(192, 0, 2, 9).into()),
            ],
            Verdict::Accept,
        )],
        Verdict::Reject,
    );
    let [(_, prefix, via), _] = in_both_families();
    let outcome = policy.evaluate(&route(&attributes, prefix, via));
    assert!(outcome.accepted);
    policy.apply(&outcome.edits, &mut attributes, &mut next_hop);
    let mut expected = sample();
    expected.local_pref = Some(300);
    expected.med = None;
    expected.communities = [TWO].into_iter().collect();
    expected.large_communities = Default::default();
    expected.as_path = AsPath::sequence([Asn(1), Asn(2), Asn(64501), Asn(64502)]);
    assert_eq!(attributes, expected);
    assert_eq!(next_hop, Some(Ipv4Addr::new(192, 0, 2, 9).into()));
    assert!(policy.sets_med(&outcome.edits) && policy.sets_next_hop(&outcome.edits));
}

#[test]
fn the_first_term_with_a_final_verdict_decides() {
    let [(_, prefix, via), _] = in_both_families();
    let attributes = sample();
    let policy = Policy::new(
        vec![
            term(vec![Condition::Community(TWO)], vec![], Verdict::Reject),
            term(
                vec![Condition::Community(ONE)],
                vec![Edit::SetMed(Some(1))],
                Verdict::Next,
            ),
            term(vec![], vec![Edit::SetLocalPref(1)], Verdict::Accept),
            term(vec![], vec![], Verdict::Reject),
        ],
        Verdict::Reject,
    );
    let outcome = policy.evaluate(&route(&attributes, prefix, via));
    assert_eq!(
        outcome,
        Outcome {
            accepted: true,
            term: Some(2),
            edits: Edits::from_slice(&[1, 2])
        }
    );
}

#[test]
fn a_condition_sees_what_earlier_terms_edited() {
    let [(_, prefix, via), _] = in_both_families();
    let attributes = sample();
    let policy = Policy::new(
        vec![
            term(vec![], vec![Edit::AddCommunity(TWO)], Verdict::Next),
            term(vec![Condition::Community(TWO)], vec![], Verdict::Accept),
        ],
        Verdict::Reject,
    );
    assert!(policy.evaluate(&route(&attributes, prefix, via)).accepted);
    assert_eq!(attributes, sample());
}

#[test]
fn the_default_decides_when_no_term_does() {
    let [(_, prefix, via), _] = in_both_families();
    let attributes = sample();
    let route = route(&attributes, prefix, via);
    assert!(Policy::accept_all().evaluate(&route).accepted);
    assert!(!Policy::reject_all().evaluate(&route).accepted);
    assert!(!Policy::new(vec![], Verdict::Next).evaluate(&route).accepted);
    assert_eq!(Policy::reject_all().term_name(None), "default");
}

#[test]
fn policies_are_equal_and_hashed_by_content() {
    let build = |local_pref| {
        Policy::new(
            vec![term(
                vec![Condition::PrefixIn(Arc::new(PrefixSet::new([
                    PrefixRule::exact(net("10.0.0.0/8")),
                ])))],
                vec![Edit::SetLocalPref(local_pref)],
                Verdict::Accept,
            )],
            Verdict::Reject,
        )
    };
    let set: HashSet<Policy> = [build(1), build(1), build(2)].into_iter().collect();
    assert_eq!(set.len(), 2);
    assert_ne!(Policy::accept_all(), Policy::reject_all());
}
