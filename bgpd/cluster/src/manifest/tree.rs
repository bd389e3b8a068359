//! YAML as a tree of values, each with its line, scalars as they were written.
//!
//! Scalars keep their text: a label `v: 1.10` is "1.10", an AS number `1.10` is dotted, neither is the float 1.1.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{DuplicateKeyPolicy, Spanned};

/// A value and its line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    /// From 1; 0 when the value was not written in a file.
    pub(super) line: u64,
    pub(super) value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    /// The value, and the word for it (`yes` is true).
    Bool(bool, String),
    /// As it was written.
    Number(String),
    Text(String),
    List(Vec<Tree>),
    /// Duplicate keys are kept.
    Map(Vec<Entry>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) line: u64,
    pub(super) tree: Tree,
}

/// One document of a stream.
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    /// The line on which `text` begins, from 1.
    pub(super) line: u64,
}

pub(super) struct SyntaxError {
    pub(super) line: u64,
    pub(super) problem: String,
}

/// Cuts a stream at its `---` lines, so that a broken document does not take the others with it.
///
/// YAML 1.2.2 section 9.1.2: these markers cannot be content, not even inside a block scalar.
pub(super) fn documents(text: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let (mut start, mut start_line) = (0, 1);
    let mut blank = true;
    let mut at = 0;
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let marker = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if marker && !blank {
            documents.push(Document {
                text: &text[start..at],
                line: start_line,
            });
            (start, start_line) = (at, number);
        }
        // Directives, comments and empty lines in front of the first marker belong to its document.
        blank = !marker && blank && (line.trim().is_empty() || line.starts_with(['#', '%']));
        at += line.len();
    }
    documents.push(Document {
        text: &text[start..],
        line: start_line,
    });
    documents
}

/// Reads one document whose text begins on `first_line`.
pub(super) fn parse(text: &str, first_line: u64) -> Result<Tree, SyntaxError> {
    let options = serde_saphyr::options! {
        // Ours reports all of them, with lines.
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        // A `List` of every block of a large cluster is one document.
        budget: serde_saphyr::budget! {
            max_events: 20_000_000,
            max_nodes: 10_000_000,
        },
        // Anchors are rare in manifests; what is nested to explode is refused early.
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 100_000,
        },
    };
    let shift = first_line - 1;
    match serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options) {
        Ok(raw) => Ok(Tree::from_raw(raw, text, shift)),
        Err(error) => Err(SyntaxError {
            line: error.location().map_or(0, |location| location.line()) + shift,
            problem: plain(&error.without_snippet().to_string()),
        }),
    }
}

impl Tree {
    pub(super) fn is_null(&self) -> bool {
        self.value == Value::Null
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) | Value::Number(text) | Value::Bool(_, text) => Some(text),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn map(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.map()?
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.tree)
    }

    /// The line of a field, or of the innermost enclosing one that is written.
    pub(super) fn line_of(&self, path: &str) -> u64 {
        let mut line = self.line;
        let (mut tree, mut rest) = (self, path);
        loop {
            let (child, child_line, after) = if let Some(index) = rest.strip_prefix('[') {
                let Some((index, after)) = index.split_once(']') else {
                    return line;
                };
                let item = index
                    .parse::<usize>()
                    .ok()
                    .and_then(|i| tree.list()?.get(i));
                let Some(item) = item else { return line };
                (item, item.line, after)
            } else {
                // Label names contain dots: the longest key that fits is the one.
                let rest = rest.strip_prefix('.').unwrap_or(rest);
                let fits = |entry: &&Entry| {
                    rest.strip_prefix(entry.key.as_str())
                        .is_some_and(|after| after.is_empty() || after.starts_with(['.', '[']))
                };
                let entries = tree.map().unwrap_or_default();
                // Of a repeated key the last one is meant.
                let entry = entries
                    .iter()
                    .filter(fits)
                    .max_by_key(|entry| entry.key.len());
                let Some(entry) = entry else { return line };
                (&entry.tree, entry.line, &rest[entry.key.len()..])
            };
            (tree, line, rest) = (child, child_line, after);
        }
    }

    fn from_raw(raw: Spanned<Raw>, text: &str, shift: u64) -> Self {
        let written = || {
            let span = raw.defined.span();
            let start = usize::try_from(span.byte_offset()?).ok()?;
            let length = usize::try_from(span.byte_len()?).ok()?;
            text.get(start..start + length).map(str::to_owned)
        };
        let value = match raw.value {
            Raw::Null => Value::Null,
            Raw::Bool(value) => Value::Bool(value, written().unwrap_or_else(|| value.to_string())),
            Raw::Number(value) => Value::Number(written().unwrap_or(value)),
            Raw::Text(value) => Value::Text(value),
            Raw::List(items) => Value::List(
                items
                    .into_iter()
                    .map(|item| Self::from_raw(item, text, shift))
                    .collect(),
            ),
            Raw::Map(entries) => {
                let entry = |(key, value): (Spanned<String>, Spanned<Raw>)| Entry {
                    line: key.referenced.line() + shift,
                    key: key.value,
                    tree: Self::from_raw(value, text, shift),
                };
                Value::Map(entries.into_iter().map(entry).collect())
            }
        };
        Self {
            line: raw.referenced.line() + shift,
            value,
        }
    }
}

impl From<&serde_json::Value> for Tree {
    fn from(json: &serde_json::Value) -> Self {
        let value = match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(*value, value.to_string()),
            serde_json::Value::Number(number) => Value::Number(number.to_string()),
            serde_json::Value::String(text) => Value::Text(text.clone()),
            serde_json::Value::Array(items) => Value::List(items.iter().map(Self::from).collect()),
            serde_json::Value::Object(entries) => {
                let entry = |(key, value): (&String, &serde_json::Value)| Entry {
                    key: key.clone(),
                    line: 0,
                    tree: Self::from(value),
                };
                Value::Map(entries.iter().map(entry).collect())
            }
        };
        Self { line: 0, value }
    }
}

/// What the YAML library gives us: types inferred, scalars no longer as written.
enum Raw {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<String>, Spanned<Self>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Number(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Number(value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Raw, E> {
        Ok(Raw::Number(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Raw, E> {
        Ok(Raw::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Number(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Raw::Map(map))
    }
}

/// The library's message without its own mention of the place, which ours gives for the whole file.
fn plain(message: &str) -> String {
    match message.rfind(" at line ") {
        Some(at) => message[..at].to_owned(),
        None => message.to_owned(),
    }
}
