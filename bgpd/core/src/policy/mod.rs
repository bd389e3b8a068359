//! Import and export rules, compiled once and run without allocation.
//!
//! ```text
//!  route ──▶ term 1 ──▶ term 2 ──▶ ... ──▶ default
//!             │ all conditions hold: note the edits, then
//!             ├─ Accept / Reject: done
//!             └─ Next: go on
//! ```
//!
//! [`Policy::evaluate`] only says what would be edited ([`Edits`]: which terms); [`Policy::apply`] does it. So the RIB edits
//! one attribute set once, however many prefixes share it.
//!
//! A policy does not know prefixes of one family from those of another: one policy serves all families of a peer.

mod condition;
mod edit;
mod prefix_set;

#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

use bgp_wire::{AsPath, Attributes, Community, ExtendedCommunity, LargeCommunity, SessionType};
use ipnet::IpNet;
use smallvec::SmallVec;

pub use condition::{Compare, Condition, SourceMatch};
pub use edit::Edit;
pub use prefix_set::{PrefixRule, PrefixSet};

/// An ordered list of terms. Equal and hashed by content; share it with `Arc`.
#[derive(Clone, Debug)]
pub struct Policy {
    terms: Vec<Term>,
    default: Verdict,
    /// Of the content, so that hashing is cheap and comparing mostly so.
    fingerprint: u64,
}

/// Conditions, and what happens to a route that fulfils all of them.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub struct Term {
    /// Shown when a route is explained.
    pub name: String,
    /// All must hold; a term without conditions takes every route.
    pub conditions: Vec<Condition>,
    /// Done in order, also when the verdict is to go on.
    pub edits: Vec<Edit>,
    /// What then.
    pub verdict: Verdict,
}

/// What a term does with a route that it takes.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum Verdict {
    /// The route passes; no further term is looked at.
    Accept,
    /// The route does not pass; no further term is looked at.
    Reject,
    /// The next term decides. As a policy's default it rejects.
    Next,
}

/// A route as a policy sees it.
#[derive(Copy, Clone, Debug)]
pub struct PolicyRoute<'a> {
    /// Where it leads.
    pub prefix: IpNet,
    /// Of its attributes those that conditions look at.
    pub attributes: AttributesView<'a>,
    /// Its next hop; `None` for this node.
    pub next_hop: Option<IpAddr>,
    /// Where it came from.
    pub source: RouteSource,
    /// The kind of session that the policy runs for.
    pub session: SessionType,
}

/// The attributes that conditions look at, wherever they are kept.
#[derive(Copy, Clone, Debug)]
pub struct AttributesView<'a> {
    /// AS_PATH.
    pub as_path: &'a AsPath,
    /// MULTI_EXIT_DISC.
    pub med: Option<u32>,
    /// LOCAL_PREF.
    pub local_pref: Option<u32>,
    /// COMMUNITIES, ascending.
    pub communities: &'a [Community],
    /// LARGE_COMMUNITIES, ascending.
    pub large_communities: &'a [LargeCommunity],
    /// EXTENDED_COMMUNITIES, ascending.
    pub extended_communities: &'a [ExtendedCommunity],
}

/// Where a route came from.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum RouteSource {
    /// This node announces it itself.
    Local,
    /// From a peer.
    Peer(SessionType),
}

/// What a policy says of one route.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Outcome {
    /// The route passes.
    pub accepted: bool,
    /// The term that decided; `None` for the default.
    pub term: Option<u16>,
    /// What changes when it passes.
    pub edits: Edits,
}

/// The terms of one policy whose edits apply, in order. Without meaning for any other policy.
pub type Edits = SmallVec<[u16; 4]>;

impl Policy {
    /// Compiles a policy. At most 65,536 terms count.
    #[must_use]
    pub fn new(terms: Vec<Term>, default: Verdict) -> Self {
        // The keys are fixed, so that a fingerprint never differs between two runs.
        let fingerprint =
            BuildHasherDefault::<DefaultHasher>::default().hash_one((&terms, default));
        Self {
            terms,
            default,
            fingerprint,
        }
    }

    /// Everything passes, unchanged.
    #[must_use]
    pub fn accept_all() -> Self {
        Self::new(Vec::new(), Verdict::Accept)
    }

    /// Nothing passes.
    #[must_use]
    pub fn reject_all() -> Self {
        Self::new(Vec::new(), Verdict::Reject)
    }

    /// The terms, in order.
    #[must_use]
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// What happens to a route that no term decides.
    #[must_use]
    pub const fn default_verdict(&self) -> Verdict {
        self.default
    }

    /// The name of the term that an [`Outcome`] tells.
    #[must_use]
    pub fn term_name(&self, term: Option<u16>) -> &str {
        term.and_then(|term| self.terms.get(usize::from(term)))
            .map_or("default", |term| term.name.as_str())
    }

    /// Judges a route. Costs grow with the number of terms.
    ///
    /// Allocates nothing, but in one case: a condition looks at attributes which an earlier term edits before it goes on.
    #[must_use]
    pub fn evaluate(&self, route: &PolicyRoute<'_>) -> Outcome {
        let mut edits = Edits::new();
        let mut seen = Seen {
            edited: None,
            next_hop: route.next_hop,
            done: 0,
        };
        for (number, term) in (0..=u16::MAX).zip(&self.terms) {
            if !term.conditions.is_empty() && edits.len() > seen.done && term.reads_attributes() {
                self.catch_up(&edits, route, &mut seen);
            }
            let attributes = seen
                .edited
                .as_deref()
                .map_or(route.attributes, AttributesView::from);
            let view = PolicyRoute {
                attributes,
                next_hop: seen.next_hop,
                ..*route
            };
            if !term
                .conditions
                .iter()
                .all(|condition| condition.holds(&view))
            {
                continue;
            }
            if !term.edits.is_empty() && term.verdict != Verdict::Reject {
                edits.push(number);
            }
            match term.verdict {
                Verdict::Accept => {
                    return Outcome {
                        accepted: true,
                        term: Some(number),
                        edits,
                    };
                }
                Verdict::Reject => return Outcome::rejected(Some(number)),
                Verdict::Next => {}
            }
        }
        match self.default {
            Verdict::Accept => Outcome {
                accepted: true,
                term: None,
                edits,
            },
            Verdict::Reject | Verdict::Next => Outcome::rejected(None),
        }
    }

    /// Does what [`Self::evaluate`] said.
    pub fn apply(&self, edits: &Edits, attributes: &mut Attributes, next_hop: &mut Option<IpAddr>) {
        for edit in self.edits(edits) {
            edit.apply(attributes, next_hop);
        }
    }

    /// True when MED is among what these edits set: then it is meant for the neighbour (RFC 4271 section 5.1.4).
    #[must_use]
    pub fn sets_med(&self, edits: &Edits) -> bool {
        self.edits(edits)
            .any(|edit| matches!(edit, Edit::SetMed(_)))
    }

    /// True when the next hop is among what these edits set.
    #[must_use]
    pub fn sets_next_hop(&self, edits: &Edits) -> bool {
        self.edits(edits)
            .any(|edit| matches!(edit, Edit::SetNextHop(_)))
    }

    fn edits<'a>(&'a self, edits: &'a [u16]) -> impl Iterator<Item = &'a Edit> {
        edits
            .iter()
            .filter_map(|term| self.terms.get(usize::from(*term)))
            .flat_map(|term| &term.edits)
    }

    fn catch_up(&self, edits: &Edits, route: &PolicyRoute<'_>, seen: &mut Seen) {
        let attributes = seen
            .edited
            .get_or_insert_with(|| Box::new(route.attributes.to_owned()));
        for edit in self.edits(&edits[seen.done..]) {
            edit.apply(attributes, &mut seen.next_hop);
        }
        seen.done = edits.len();
    }
}

/// The route as the next condition has to see it.
struct Seen {
    /// `None` while no edit is in it.
    edited: Option<Box<Attributes>>,
    next_hop: Option<IpAddr>,
    /// How many of the noted edits it has in it.
    done: usize,
}

impl AttributesView<'_> {
    /// Attributes of which conditions see the same.
    fn to_owned(self) -> Attributes {
        Attributes {
            as_path: self.as_path.clone(),
            med: self.med,
            local_pref: self.local_pref,
            communities: self.communities.iter().copied().collect(),
            large_communities: self.large_communities.iter().copied().collect(),
            extended_communities: self.extended_communities.iter().copied().collect(),
            ..Attributes::default()
        }
    }
}

impl<'a> From<&'a Attributes> for AttributesView<'a> {
    fn from(attributes: &'a Attributes) -> Self {
        Self {
            as_path: &attributes.as_path,
            med: attributes.med,
            local_pref: attributes.local_pref,
            communities: &attributes.communities,
            large_communities: &attributes.large_communities,
            extended_communities: &attributes.extended_communities,
        }
    }
}

impl Term {
    fn reads_attributes(&self) -> bool {
        self.conditions.iter().any(Condition::reads_attributes)
    }
}

impl Outcome {
    fn rejected(term: Option<u16>) -> Self {
        Self {
            accepted: false,
            term,
            edits: Edits::new(),
        }
    }
}

impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            terms,
            default,
            fingerprint,
        } = self;
        std::ptr::eq(self, other)
            || *fingerprint == other.fingerprint
                && *default == other.default
                && *terms == other.terms
    }
}

impl Eq for Policy {}

impl Hash for Policy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint.hash(state);
    }
}
