//! Calico's selector language: which objects, by their labels.
//!
//! ```text
//!   or      = and { "||" and }
//!   and     = term { "&&" term }
//!   term    = "!" term | "(" or ")" | "all()" | "global()" | "has(" label ")" | label test
//!   test    = "==" text | "!=" text | "in" set | "not in" set
//!           | "contains" text | "starts with" text | "ends with" text
//!   set     = "{" [ text { "," text } ] "}"
//!   text    = '...' | "..."         no escapes: the other quote may be inside
//!   label   = letters, digits, and any of _ . / -
//! ```
//!
//! A label that is absent satisfies `!=`, `not in` and `!has()`, and no other test. The empty selector is `all()`.

mod parse;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

pub use parse::ParseSelectorError;

/// A parsed selector.
///
/// Two selectors are equal when their texts are.
#[derive(Clone, Debug)]
pub struct Selector {
    text: String,
    expression: Expression,
}

/// What a selector asks.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Expression {
    Everything,
    Has(String),
    Equal(String, String),
    NotEqual(String, String),
    In(String, BTreeSet<String>),
    NotIn(String, BTreeSet<String>),
    Contains(String, String),
    StartsWith(String, String),
    EndsWith(String, String),
    Not(Box<Self>),
    And(Vec<Self>),
    Or(Vec<Self>),
}

impl Selector {
    /// True when an object with these labels is selected.
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.expression.matches(labels)
    }

    /// The selector as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Expression {
    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let test = |label: &String, test: &dyn Fn(&str) -> bool| {
            labels.get(label).is_some_and(|value| test(value))
        };
        match self {
            Self::Everything => true,
            Self::Has(label) => labels.contains_key(label),
            Self::Equal(label, text) => test(label, &|value| value == text),
            Self::NotEqual(label, text) => !test(label, &|value| value == text),
            Self::In(label, texts) => test(label, &|value| texts.contains(value)),
            Self::NotIn(label, texts) => !test(label, &|value| texts.contains(value)),
            Self::Contains(label, text) => test(label, &|value| value.contains(text)),
            Self::StartsWith(label, text) => test(label, &|value| value.starts_with(text)),
            Self::EndsWith(label, text) => test(label, &|value| value.ends_with(text)),
            Self::Not(inner) => !inner.matches(labels),
            Self::And(parts) => parts.iter().all(|part| part.matches(labels)),
            Self::Or(parts) => parts.iter().any(|part| part.matches(labels)),
        }
    }
}

impl FromStr for Selector {
    type Err = ParseSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self {
            text: text.to_owned(),
            expression: parse::parse(text)?,
        })
    }
}

impl PartialEq for Selector {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Selector {}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
