//! Reading single values: scalars, numbers, choices, durations; what is wrong goes to a sink.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use super::tree::{Tree, Value};
use crate::model::FieldError;

/// Collects what is wrong.
#[derive(Default)]
pub(super) struct Sink {
    pub(super) errors: RefCell<Vec<FieldError>>,
    pub(super) warnings: RefCell<Vec<FieldError>>,
}

impl Sink {
    pub(super) fn error(&self, field: &str, problem: impl Display, remedy: impl Display) {
        let error = FieldError::new(field, problem.to_string(), remedy.to_string());
        self.errors.borrow_mut().push(error);
    }

    pub(super) fn warn(&self, field: &str, problem: impl Display, remedy: impl Display) {
        let warning = FieldError::new(field, problem.to_string(), remedy.to_string());
        self.warnings.borrow_mut().push(warning);
    }
}

/// A list item that is a number.
pub(super) fn number<T: TryFrom<u64>>(
    path: &str,
    tree: &Tree,
    range: RangeInclusive<u64>,
    sink: &Sink,
) -> Option<T> {
    let (low, high) = (range.start(), range.end());
    let remedy = match (*low, *high) {
        (0, u64::MAX) => "write a number without quotes".to_owned(),
        _ => format!("write a number from {low} to {high} without quotes"),
    };
    let Value::Number(text) = &tree.value else {
        sink.error(
            path,
            format!("{} is not a number", show(&tree.value)),
            remedy,
        );
        return None;
    };
    let number = text
        .parse::<u64>()
        .ok()
        .filter(|number| range.contains(number));
    let number = number.and_then(|number| T::try_from(number).ok());
    if number.is_none() {
        sink.error(
            path,
            format!("{text} is not a whole number in range"),
            remedy,
        );
    }
    number
}

/// The text of a scalar as it was written.
pub(super) fn scalar(path: &str, tree: &Tree, sink: &Sink) -> Option<String> {
    match &tree.value {
        Value::Text(text) | Value::Number(text) => Some(text.clone()),
        Value::Bool(_, word) => Some(word.clone()),
        Value::Null => Some(String::new()),
        other => {
            sink.error(
                path,
                format!("{} where a single value is expected", show(other)),
                "write one value",
            );
            None
        }
    }
}

pub(super) fn parse<T: FromStr>(
    path: &str,
    text: &str,
    is: &str,
    remedy: &str,
    sink: &Sink,
) -> Option<T> {
    let value = text.parse().ok();
    if value.is_none() {
        sink.error(path, format!("{text:?} is not {is}"), remedy);
    }
    value
}

pub(super) fn choose<T: Copy>(
    path: &str,
    text: &str,
    choices: &[(&str, T)],
    sink: &Sink,
) -> Option<T> {
    let chosen = choices
        .iter()
        .find(|(name, _)| *name == text)
        .map(|(_, value)| *value);
    if chosen.is_none() {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let (last, others) = names.split_last()?;
        let remedy = if others.is_empty() {
            format!("write {last}")
        } else {
            format!("write {} or {last}", others.join(", "))
        };
        sink.error(
            path,
            format!("{text:?} is not one of the possible values"),
            remedy,
        );
    }
    chosen
}

pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

pub(super) fn show(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(_, text) | Value::Number(text) => text.clone(),
        Value::Text(text) => format!("{text:?}"),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a group of fields".to_owned(),
    }
}

/// Go's duration syntax without sign and fractions of units: `1h`, `1m30s`, `1500ms`.
pub(super) fn go_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let amount: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let part = match &rest[..unit] {
            "h" => Duration::from_secs(amount.checked_mul(3600)?),
            "m" => Duration::from_secs(amount.checked_mul(60)?),
            "s" => Duration::from_secs(amount),
            "ms" => Duration::from_millis(amount),
            "us" | "µs" => Duration::from_micros(amount),
            "ns" => Duration::from_nanos(amount),
            _ => return None,
        };
        total = total.checked_add(part)?;
        rest = &rest[unit..];
    }
    (!text.is_empty()).then_some(total)
}

/// The number of single letters to change, add or remove between two words, for "did you mean".
pub(super) fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substitute = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, seconds) in [
            ("90s", 90),
            ("1m30s", 90),
            ("1h", 3600),
            ("0s", 0),
            ("0", 0),
            ("1h0m1s", 3601),
        ] {
            assert_eq!(
                go_duration(text),
                Some(Duration::from_secs(seconds)),
                "{text}"
            );
        }
        assert_eq!(go_duration("1500ms"), Some(Duration::from_millis(1500)));
        for wrong in [
            "",
            "90",
            "s",
            "-1s",
            "1.5s",
            "1d",
            "1s ",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert_eq!(go_duration(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("peerIP", "peerIp"), 0);
        assert_eq!(distance("asNumber", "asNumbr"), 1);
        assert_eq!(distance("node", ""), 4);
    }
}
