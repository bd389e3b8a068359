//! Reading the fields of one mapping: typed, all errors kept, unknown fields noticed.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;

use super::tree::{Entry, Tree, Value};
use super::value::{Sink, choose, distance, go_duration, join, number, parse, scalar, show};
use crate::Asn;
use crate::Selector;
use crate::model::SecretKeyRef;

/// The fields of one mapping. When it goes out of scope, fields that nobody asked for are reported as unknown.
pub(super) struct Fields<'t> {
    path: String,
    entries: &'t [Entry],
    sink: &'t Sink,
    asked: Vec<&'static str>,
}

impl<'t> Fields<'t> {
    /// The fields of `tree`; none when it is absent or null.
    pub(super) fn new(path: String, tree: Option<&'t Tree>, sink: &'t Sink) -> Self {
        let entries = match tree.map(|tree| &tree.value) {
            Some(Value::Map(entries)) => entries.as_slice(),
            None | Some(Value::Null) => &[],
            Some(other) => {
                sink.error(
                    &path,
                    format!("{} where fields are expected", show(other)),
                    "write it as field: value lines",
                );
                &[]
            }
        };
        for (at, entry) in entries.iter().enumerate() {
            if entries[..at].iter().any(|earlier| earlier.key == entry.key) {
                sink.error(
                    &join(&path, &entry.key),
                    "is set twice",
                    "remove one of the two",
                );
            }
        }
        Self {
            path,
            entries,
            sink,
            asked: Vec::new(),
        }
    }

    /// The full path of a field.
    pub(super) fn path(&self, name: &str) -> String {
        join(&self.path, name)
    }

    pub(super) fn sink(&self) -> &'t Sink {
        self.sink
    }

    /// True when the mapping has at least one field.
    pub(super) fn is_present(&self) -> bool {
        !self.entries.is_empty()
    }

    /// The raw value; null counts as absent.
    pub(super) fn raw(&mut self, name: &'static str) -> Option<&'t Tree> {
        self.asked.push(name);
        let entry = self.entries.iter().rev().find(|entry| entry.key == name)?;
        Some(&entry.tree).filter(|tree| !tree.is_null())
    }

    /// Accepts a field without looking at it.
    pub(super) fn ignore(&mut self, name: &'static str) {
        self.asked.push(name);
    }

    /// Accepts all other fields without looking at them.
    pub(super) fn ignore_rest(mut self) {
        self.entries = &[];
    }

    pub(super) fn fields(&mut self, name: &'static str) -> Self {
        Self::new(self.path(name), self.raw(name), self.sink)
    }

    /// The mappings in a list.
    pub(super) fn list_of_fields(&mut self, name: &'static str) -> Vec<Self> {
        let sink = self.sink;
        let items = self.list(name).into_iter();
        items
            .map(|(path, tree)| Fields::new(path, Some(tree), sink))
            .collect()
    }

    /// The items of a list with their paths.
    pub(super) fn list(&mut self, name: &'static str) -> Vec<(String, &'t Tree)> {
        let path = self.path(name);
        match self.raw(name).map(|tree| &tree.value) {
            None => Vec::new(),
            Some(Value::List(items)) => items
                .iter()
                .enumerate()
                .map(|(i, item)| (format!("{path}[{i}]"), item))
                .collect(),
            Some(other) => {
                self.sink.error(
                    &path,
                    format!("{} where a list is expected", show(other)),
                    "write it as a list, one - item per line",
                );
                Vec::new()
            }
        }
    }

    /// A scalar as text; the empty text counts as absent.
    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        let (path, tree) = (self.path(name), self.raw(name)?);
        scalar(&path, tree, self.sink).filter(|text| !text.is_empty())
    }

    /// A text that has to be there.
    pub(super) fn required_text(&mut self, name: &'static str, remedy: &str) -> Option<String> {
        let before = self.sink.errors.borrow().len();
        let text = self.text(name);
        self.require(name, text, before, remedy)
    }

    /// A text of a certain form.
    pub(super) fn parsed<T: FromStr>(
        &mut self,
        name: &'static str,
        is: &str,
        remedy: &str,
    ) -> Option<T> {
        let text = self.text(name)?;
        parse(&self.path(name), &text, is, remedy, self.sink)
    }

    /// A text of a certain form that has to be there.
    pub(super) fn required<T: FromStr>(
        &mut self,
        name: &'static str,
        is: &str,
        remedy: &str,
    ) -> Option<T> {
        let before = self.sink.errors.borrow().len();
        let value = self.parsed(name, is, remedy);
        self.require(name, value, before, remedy)
    }

    /// Texts of a certain form in a list.
    pub(super) fn parsed_list<T: FromStr>(
        &mut self,
        name: &'static str,
        is: &str,
        remedy: &str,
    ) -> Vec<T> {
        let sink = self.sink;
        let read = |(path, tree): (String, &Tree)| {
            parse(&path, &scalar(&path, tree, sink)?, is, remedy, sink)
        };
        self.list(name).into_iter().filter_map(read).collect()
    }

    /// Prefixes in a list of `{ cidr: ... }`; entries without cidr are skipped, as Calico does.
    pub(super) fn cidr_list(&mut self, name: &'static str) -> Vec<IpNet> {
        let mut items = self.list_of_fields(name);
        items
            .iter_mut()
            .filter_map(|item| item.parsed("cidr", A_PREFIX, PREFIX))
            .collect()
    }

    pub(super) fn flag(&mut self, name: &'static str) -> Option<bool> {
        let (path, tree) = (self.path(name), self.raw(name)?);
        match &tree.value {
            Value::Bool(value, _) => Some(*value),
            other => {
                self.sink.error(
                    &path,
                    format!("{} is neither true nor false", show(other)),
                    "write true or false without quotes",
                );
                None
            }
        }
    }

    /// A flag that the older API group writes as text: `"true"`.
    pub(super) fn flag_or_text(&mut self, name: &'static str) -> Option<bool> {
        match self.raw(name).map(|tree| &tree.value) {
            Some(Value::Text(text)) if text == "true" => Some(true),
            Some(Value::Text(text)) if text == "false" || text.is_empty() => Some(false),
            _ => self.flag(name),
        }
    }

    /// A whole number within a range.
    pub(super) fn number<T: TryFrom<u64>>(
        &mut self,
        name: &'static str,
        range: RangeInclusive<u64>,
    ) -> Option<T> {
        let (path, tree) = (self.path(name), self.raw(name)?);
        number(&path, tree, range, self.sink)
    }

    pub(super) fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let text = self.text(name)?;
        choose(&self.path(name), &text, choices, self.sink)
    }

    pub(super) fn choice_list<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&str, T)],
    ) -> Vec<T> {
        let sink = self.sink;
        let read = |(path, tree): (String, &Tree)| {
            choose(&path, &scalar(&path, tree, sink)?, choices, sink)
        };
        self.list(name).into_iter().filter_map(read).collect()
    }

    pub(super) fn asn(&mut self, name: &'static str) -> Option<Asn> {
        self.parsed(
            name,
            "an AS number",
            "write a number up to 4294967295, for example 64512",
        )
    }

    pub(super) fn selector(&mut self, name: &'static str) -> Option<Selector> {
        let text = self.text(name)?;
        match text.parse() {
            Ok(selector) => Some(selector),
            Err(error) => {
                let error: crate::ParseSelectorError = error;
                self.sink.error(
                    &self.path(name),
                    format!("{text:?} is not a selector: {error}"),
                    "write for example rack == 'a' && !has(spine)",
                );
                None
            }
        }
    }

    /// A duration as Go writes it: `90s`, `1m30s`.
    pub(super) fn duration(&mut self, name: &'static str) -> Option<Duration> {
        let text = self.text(name)?;
        let duration = go_duration(&text);
        if duration.is_none() {
            let problem = format!("{text:?} is not a duration");
            self.sink
                .error(&self.path(name), problem, "write for example 90s or 1m30s");
        }
        duration
    }

    pub(super) fn text_map(&mut self, name: &'static str) -> BTreeMap<String, String> {
        let path = self.path(name);
        let Some(tree) = self.raw(name) else {
            return BTreeMap::new();
        };
        let mut fields = Fields::new(path.clone(), Some(tree), self.sink);
        let mut map = BTreeMap::new();
        for entry in std::mem::take(&mut fields.entries) {
            let path = join(&path, &entry.key);
            let text = match &entry.tree.value {
                // As Calico has it: a label `yes` is "true". Who wrote it should know.
                Value::Bool(value, word) => {
                    if *word != value.to_string() {
                        let problem = format!("{word} without quotes is the text \"{value}\"");
                        let remedy = format!("write \"{value}\", or \"{word}\" if that is meant");
                        self.sink.warn(&path, problem, remedy);
                    }
                    Some(value.to_string())
                }
                _ => scalar(&path, &entry.tree, self.sink),
            };
            map.extend(text.map(|text| (entry.key.clone(), text)));
        }
        map
    }

    pub(super) fn secret(&mut self, name: &'static str) -> Option<SecretKeyRef> {
        self.raw(name)?;
        let mut outer = self.fields(name);
        let mut reference = outer.fields("secretKeyRef");
        let secret = reference.required_text("name", "write the name of the Secret");
        let key = reference.required_text("key", "write the key within the Secret");
        reference.ignore("optional");
        Some(SecretKeyRef {
            name: secret?,
            key: key?,
        })
    }

    fn require<T>(
        &self,
        name: &str,
        value: Option<T>,
        errors_before: usize,
        remedy: &str,
    ) -> Option<T> {
        if value.is_none() && self.sink.errors.borrow().len() == errors_before {
            self.sink.error(&self.path(name), "is missing", remedy);
        }
        value
    }
}

impl Drop for Fields<'_> {
    fn drop(&mut self) {
        for entry in self.entries {
            if self.asked.contains(&entry.key.as_str()) {
                continue;
            }
            let similar = self
                .asked
                .iter()
                .min_by_key(|known| distance(known, &entry.key));
            let similar =
                similar.filter(|known| distance(known, &entry.key) * 3 <= entry.key.len());
            let remedy = match similar {
                Some(known) => format!("did you mean {known}?"),
                None => "remove it if it is a mistake".to_owned(),
            };
            let problem = "weft does not know this field and ignores it";
            self.sink
                .warn(&join(&self.path, &entry.key), problem, remedy);
        }
    }
}

pub(super) const A_PREFIX: &str = "a prefix";
pub(super) const PREFIX: &str = "write for example 10.244.0.0/16 or fd00:10::/64";
