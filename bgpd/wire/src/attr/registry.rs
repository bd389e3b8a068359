//! The one table that says what each attribute's flags are and what a fault in it costs.
//!
//! RFC 7606 (sections 3, 5 and 7) and the RFC of each attribute. Nothing else in this crate chooses between discarding an
//! attribute and withdrawing routes; what ends the session is an `Err` of the decoder.

use super::code;
use super::fault::{FaultAction, FaultReason, Violation};

/// What is known about an attribute.
#[derive(Debug)]
pub(crate) struct Rule {
    code: u8,
    name: &'static str,
    pub(crate) class: Class,
    /// Optional, Transitive or Partial differ from what the class asks for (RFC 7606 section 3, item c).
    flags: FaultAction,
    /// The value has a length or a structure that it can't have.
    syntax: FaultAction,
    /// The value can be read, but says what can't be.
    value: FaultAction,
    /// Whether a peer in another AS may send it.
    pub(crate) external: FromExternal,
}

/// The classes of RFC 4271 section 5.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Class {
    WellKnown,
    OptionalTransitive,
    OptionalNonTransitive,
}

/// What becomes of an attribute that a peer in another AS sends.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum FromExternal {
    /// It is read.
    Read,
    /// It is discarded, whatever it looks like.
    Discarded,
}

use Class::{OptionalNonTransitive, OptionalTransitive, WellKnown};
use FaultAction::{Discard, TreatAsWithdraw as Withdraw};
use FromExternal::{Discarded, Read};

#[rustfmt::skip]
static RULES: [Rule; 23] = [
    //   code                             name                         class                  flags     syntax    value     external
    rule(code::ORIGIN,                    "ORIGIN",                    WellKnown,             Withdraw, Withdraw, Withdraw, Read),      // RFC 7606 section 7.1
    rule(code::AS_PATH,                   "AS_PATH",                   WellKnown,             Withdraw, Withdraw, Withdraw, Read),      // 7.2, RFC 7607
    rule(code::NEXT_HOP,                  "NEXT_HOP",                  WellKnown,             Withdraw, Withdraw, Withdraw, Read),      // 7.3
    rule(code::MED,                       "MULTI_EXIT_DISC",           OptionalNonTransitive, Withdraw, Withdraw, Withdraw, Read),      // 7.4
    rule(code::LOCAL_PREF,                "LOCAL_PREF",                WellKnown,             Withdraw, Withdraw, Withdraw, Discarded), // 7.5
    rule(code::ATOMIC_AGGREGATE,          "ATOMIC_AGGREGATE",          WellKnown,             Withdraw, Discard,  Discard,  Read),      // 7.6
    rule(code::AGGREGATOR,                "AGGREGATOR",                OptionalTransitive,    Withdraw, Discard,  Discard,  Read),      // 7.7, RFC 7607
    rule(code::COMMUNITIES,               "COMMUNITIES",               OptionalTransitive,    Withdraw, Withdraw, Withdraw, Read),      // 7.8
    rule(code::ORIGINATOR_ID,             "ORIGINATOR_ID",             OptionalNonTransitive, Withdraw, Withdraw, Withdraw, Discarded), // 7.9
    rule(code::CLUSTER_LIST,              "CLUSTER_LIST",              OptionalNonTransitive, Withdraw, Withdraw, Withdraw, Discarded), // 7.10
    // Sections 5.3, 7.11, 7.12: a structure that hides the NLRI ends the session, which the decoder says itself.
    rule(code::MP_REACH_NLRI,             "MP_REACH_NLRI",             OptionalNonTransitive, Withdraw, Withdraw, Withdraw, Read),
    rule(code::MP_UNREACH_NLRI,           "MP_UNREACH_NLRI",           OptionalNonTransitive, Withdraw, Withdraw, Withdraw, Read),
    rule(code::EXTENDED_COMMUNITIES,      "EXTENDED_COMMUNITIES",      OptionalTransitive,    Withdraw, Withdraw, Withdraw, Read),      // 7.14
    // RFC 6793 section 6 discards it. Stricter: a path whose true ASes can't be known is no path to loop-check.
    rule(code::AS4_PATH,                  "AS4_PATH",                  OptionalTransitive,    Withdraw, Withdraw, Withdraw, Read),
    rule(code::AS4_AGGREGATOR,            "AS4_AGGREGATOR",            OptionalTransitive,    Withdraw, Discard,  Discard,  Read),      // RFC 6793 section 6
    rule(code::PMSI_TUNNEL,               "PMSI_TUNNEL",               OptionalTransitive,    Withdraw, Withdraw, Withdraw, Read),      // RFC 6514 section 5
    rule(code::TUNNEL_ENCAPSULATION,      "TUNNEL_ENCAPSULATION",      OptionalTransitive,    Withdraw, Withdraw, Withdraw, Read),      // RFC 9012 section 13
    rule(code::IPV6_EXTENDED_COMMUNITIES, "IPV6_EXTENDED_COMMUNITIES", OptionalTransitive,    Withdraw, Withdraw, Withdraw, Read),      // 7.15
    // RFC 7311 section 3; section 3.1: a peer in another AS is outside unless told otherwise, and there is no such knob.
    rule(code::AIGP,                      "AIGP",                      OptionalNonTransitive, Discard,  Discard,  Discard,  Discarded),
    // RFC 9552 section 8.2.2. Routes of its family are not read, so that a good one is of no use either.
    rule(code::LINK_STATE,                "BGP-LS",                    OptionalNonTransitive, Discard,  Discard,  Discard,  Discarded),
    rule(code::LARGE_COMMUNITIES,         "LARGE_COMMUNITIES",         OptionalTransitive,    Withdraw, Withdraw, Withdraw, Read),      // RFC 8092 section 6
    rule(code::OTC,                       "ONLY_TO_CUSTOMER",          OptionalTransitive,    Withdraw, Withdraw, Withdraw, Read),      // RFC 9234 section 5
    // RFC 8669 section 6. Its SRv6 services are another matter: RFC 9252 section 7. From another AS: section 4.
    rule(code::PREFIX_SID,                "PREFIX_SID",                OptionalTransitive,    Discard,  Discard,  Withdraw, Discarded),
];

const fn rule(
    code: u8,
    name: &'static str,
    class: Class,
    flags: FaultAction,
    syntax: FaultAction,
    value: FaultAction,
    external: FromExternal,
) -> Rule {
    Rule {
        code,
        name,
        class,
        flags,
        syntax,
        value,
        external,
    }
}

/// The rule for an attribute; `None` for those that are not known here.
pub(crate) fn lookup(code: u8) -> Option<&'static Rule> {
    RULES.get(usize::from(INDEX[usize::from(code)]))
}

/// The registered name of an attribute that is known here, for logs and counters.
#[must_use]
pub fn attribute_name(code: u8) -> Option<&'static str> {
    lookup(code).map(|rule| rule.name)
}

/// What a fault in the attribute `code` costs; 0 for the list of attributes as such.
pub(crate) fn action(code: u8, reason: &FaultReason) -> FaultAction {
    match (reason.violation(), lookup(code)) {
        (Violation::Flags, Some(rule)) => rule.flags,
        (Violation::Syntax, Some(rule)) => rule.syntax,
        (Violation::Value, Some(rule)) => rule.value,
        // RFC 7606 section 3, item g: the first one counts.
        (Violation::Duplicate | Violation::Sender, _) => Discard,
        (Violation::Family, _) => FaultAction::Ignore,
        // Sections 3 (item d) and 4. What is not known here has no value that could be wrong.
        (Violation::Missing | Violation::Framing, _) | (_, None) => Withdraw,
    }
}

impl Rule {
    /// True when Optional, Transitive and Partial are as they must be.
    ///
    /// Partial says something about optional transitive attributes only; elsewhere it must be 0 (RFC 4271 section 4.3).
    pub(crate) const fn accepts_flags(&self, flags: u8) -> bool {
        let significant = match self.class {
            WellKnown | OptionalNonTransitive => flag::OPTIONAL | flag::TRANSITIVE | flag::PARTIAL,
            OptionalTransitive => flag::OPTIONAL | flag::TRANSITIVE,
        };
        flags & significant == self.class.flags()
    }
}

impl Class {
    /// The flags that an attribute of this class is sent with.
    pub(crate) const fn flags(self) -> u8 {
        match self {
            WellKnown => flag::TRANSITIVE,
            OptionalTransitive => flag::OPTIONAL | flag::TRANSITIVE,
            OptionalNonTransitive => flag::OPTIONAL,
        }
    }
}

/// The flags octet (RFC 4271 section 4.3).
pub(crate) mod flag {
    pub(crate) const OPTIONAL: u8 = 0x80;
    pub(crate) const TRANSITIVE: u8 = 0x40;
    pub(crate) const PARTIAL: u8 = 0x20;
    pub(crate) const EXTENDED_LENGTH: u8 = 0x10;
}

/// Position in `RULES` by code; out of range for those that are not known.
static INDEX: [u8; 256] = {
    let mut index = [u8::MAX; 256];
    let mut position = 0;
    while position < RULES_LENGTH {
        index[RULES[position].code as usize] = position as u8;
        position += 1;
    }
    index
};

const RULES_LENGTH: usize = 23;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_found_by_its_code_and_in_order() {
        assert!(RULES.is_sorted_by_key(|rule| rule.code));
        for rule in &RULES {
            assert_eq!(lookup(rule.code).map(|found| found.name), Some(rule.name));
        }
        let known = (0..=u8::MAX).filter(|&code| lookup(code).is_some()).count();
        assert_eq!(known, RULES.len());
    }

    #[test]
    fn partial_is_for_optional_transitive_attributes_only() {
        let accepts = |code: u8, flags| lookup(code).unwrap().accepts_flags(flags);
        assert!(accepts(code::ORIGIN, 0x40) && accepts(code::ORIGIN, 0x50));
        assert!(!accepts(code::ORIGIN, 0x60) && !accepts(code::ORIGIN, 0xc0));
        assert!(accepts(code::MED, 0x80) && !accepts(code::MED, 0xa0) && !accepts(code::MED, 0xc0));
        assert!(accepts(code::COMMUNITIES, 0xc0) && accepts(code::COMMUNITIES, 0xe0));
        assert!(!accepts(code::COMMUNITIES, 0x80));
        // RFC 4271 section 4.3: the lower four bits are to be ignored.
        assert!(accepts(code::ORIGIN, 0x4f));
    }
}
