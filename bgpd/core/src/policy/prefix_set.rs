//! Sets of prefixes, each entry a network with a range of lengths, compiled for look-up.
//!
//! Entries lie sorted by network. A look-up tries each network length that occurs in the set, at most 33 or 129 and as a
//! rule two or three, with one bisection each: 3 million entries cost about what 30 do. An entry takes 19 bytes.

use ipnet::IpNet;

/// A network and the lengths of those inside it that belong to a set.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct PrefixRule {
    network: IpNet,
    shortest: u8,
    longest: u8,
}

impl PrefixRule {
    /// The network itself and nothing inside it.
    #[must_use]
    pub fn exact(network: IpNet) -> Self {
        let length = network.prefix_len();
        Self {
            network: network.trunc(),
            shortest: length,
            longest: length,
        }
    }

    /// The network and everything inside it.
    #[must_use]
    pub fn or_longer(network: IpNet) -> Self {
        Self {
            network: network.trunc(),
            shortest: network.prefix_len(),
            longest: network.max_prefix_len(),
        }
    }

    /// What is inside the network and of a length from `shortest` to `longest`.
    ///
    /// Lengths that cannot be are cut to the network's own and to the longest of the family.
    #[must_use]
    pub fn range(network: IpNet, shortest: u8, longest: u8) -> Self {
        Self {
            network: network.trunc(),
            shortest: shortest.max(network.prefix_len()),
            longest: longest.min(network.max_prefix_len()),
        }
    }

    fn matches_length(&self, length: u8) -> bool {
        (self.shortest..=self.longest).contains(&length)
    }
}

/// A set of prefixes of both families.
#[derive(Clone, Debug, Default, Eq, PartialEq, Hash)]
pub struct PrefixSet {
    /// Sorted, without repeats.
    rules: Vec<PrefixRule>,
    /// Lengths of the networks in `rules`, ascending.
    v4_lengths: Vec<u8>,
    v6_lengths: Vec<u8>,
}

impl PrefixSet {
    /// Compiles a set; the order of the rules is of no matter.
    #[must_use]
    pub fn new(rules: impl IntoIterator<Item = PrefixRule>) -> Self {
        let mut rules: Vec<_> = rules.into_iter().collect();
        rules.sort_unstable();
        rules.dedup();
        let lengths = |want_v4: bool| {
            let mut lengths: Vec<_> = rules
                .iter()
                .filter(|rule| matches!(rule.network, IpNet::V4(_)) == want_v4)
                .map(|rule| rule.network.prefix_len())
                .collect();
            lengths.sort_unstable();
            lengths.dedup();
            lengths
        };
        Self {
            v4_lengths: lengths(true),
            v6_lengths: lengths(false),
            rules,
        }
    }

    /// True when a rule covers the prefix and takes its length.
    #[must_use]
    pub fn contains(&self, prefix: IpNet) -> bool {
        let lengths = match prefix {
            IpNet::V4(_) => &self.v4_lengths,
            IpNet::V6(_) => &self.v6_lengths,
        };
        lengths
            .iter()
            .take_while(|length| **length <= prefix.prefix_len())
            .any(|length| self.covers(prefix, *length))
    }

    /// True without rules.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    fn covers(&self, prefix: IpNet, length: u8) -> bool {
        let network = IpNet::new_assert(prefix.addr(), length).trunc();
        let start = self.rules.partition_point(|rule| rule.network < network);
        self.rules[start..]
            .iter()
            .take_while(|rule| rule.network == network)
            .any(|rule| rule.matches_length(prefix.prefix_len()))
    }
}

impl FromIterator<PrefixRule> for PrefixSet {
    fn from_iter<I: IntoIterator<Item = PrefixRule>>(rules: I) -> Self {
        Self::new(rules)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use ipnet::{Ipv4Net, Ipv6Net};
    use proptest::prelude::*;

    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().expect("a prefix")
    }

    #[test]
    fn rules_take_the_lengths_they_say() {
        for (network, inside, deeper, outside) in [
            ("10.0.0.0/16", "10.0.1.0/24", "10.0.1.0/26", "10.1.0.0/24"),
            (
                "2001:db8::/32",
                "2001:db8:1::/48",
                "2001:db8:1::/64",
                "2001:db9::/48",
            ),
        ] {
            let (network, inside, deeper, outside) =
                (net(network), net(inside), net(deeper), net(outside));
            let exact = PrefixSet::new([PrefixRule::exact(network)]);
            assert!(exact.contains(network) && !exact.contains(inside));
            let longer = PrefixSet::new([PrefixRule::or_longer(network)]);
            assert!(longer.contains(network) && longer.contains(deeper));
            let range = PrefixSet::new([PrefixRule::range(
                network,
                inside.prefix_len(),
                inside.prefix_len(),
            )]);
            assert!(range.contains(inside));
            assert!(!range.contains(network) && !range.contains(deeper));
            for set in [exact, longer, range] {
                assert!(!set.contains(outside));
            }
        }
    }

    #[test]
    fn host_bits_of_a_rule_are_of_no_matter() {
        assert_eq!(
            PrefixRule::or_longer(net("10.1.2.3/8")),
            PrefixRule::or_longer(net("10.0.0.0/8")),
        );
    }

    fn any_prefix() -> impl Strategy<Value = IpNet> {
        // Few distinct bits, so that networks cover each other often.
        (any::<bool>(), 0u8..8, 0u8..=8).prop_map(|(v4, bits, length)| {
            if v4 {
                let address = Ipv4Addr::new(bits << 5, 0, 0, 0);
                IpNet::V4(Ipv4Net::new_assert(address, length).trunc())
            } else {
                let address = Ipv6Addr::new(u16::from(bits) << 13, 0, 0, 0, 0, 0, 0, 0);
                IpNet::V6(Ipv6Net::new_assert(address, length).trunc())
            }
        })
    }

    proptest! {
        #[test]
        fn agrees_with_trying_each_rule(
            rules in prop::collection::vec((any_prefix(), 0u8..9, 0u8..9), 0..20),
            prefix in any_prefix(),
        ) {
            let rules: Vec<_> =
                rules.into_iter().map(|(network, ge, le)| PrefixRule::range(network, ge, le)).collect();
            let expected = rules.iter().any(|rule| {
                rule.network.contains(&prefix) && rule.matches_length(prefix.prefix_len())
            });
            prop_assert_eq!(PrefixSet::new(rules).contains(prefix), expected);
        }
    }
}
