//! Small pieces of text: ages, counts, addresses.

use std::io;
use std::time::{Duration, SystemTime};

use prost_types::Timestamp;

/// The text with whatever a terminal would act upon made visible; line ends included.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\'' | '\\' => shown.push(character),
            _ => shown.extend(character.escape_debug()),
        }
    }
    shown
}

/// A span in its two largest units: 12s, 3m12s, 5h7m, 12d4h.
pub(crate) fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m{}s", seconds % 60),
        (0, _, _) => format!("{hours}h{}m", minutes % 60),
        (_, _, _) => format!("{days}d{}h", hours % 24),
    }
}

/// How long ago something was; `None` when it is not known. A time yet to come counts as now: clocks get set back.
pub(crate) fn age(now: SystemTime, then: Option<&Timestamp>) -> Option<String> {
    let then = SystemTime::try_from(*then?).ok()?;
    Some(span(now.duration_since(then).unwrap_or_default()))
}

/// [`age`], or a dash.
pub(crate) fn age_or_dash(now: SystemTime, then: Option<&Timestamp>) -> String {
    age(now, then).unwrap_or_else(|| "-".to_owned())
}

/// "1 route", "2 routes", "3 prefixes".
pub(crate) fn count(number: impl TryInto<u64>, one: &str) -> String {
    match number.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {one}"),
        number if one.ends_with(['s', 'x']) => format!("{number} {one}es"),
        number => format!("{number} {one}s"),
    }
}

/// The text, or a dash, so that a column is never empty.
pub(crate) fn or_dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

/// "yes" or "no".
pub(crate) fn yes_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

/// The address, and the port where it isn't BGP's.
pub(crate) fn endpoint(address: &str, port: u32) -> String {
    match port {
        0 | BGP_PORT => address.to_owned(),
        _ if address.contains(':') => format!("[{address}]:{port}"),
        _ => format!("{address}:{port}"),
    }
}

/// An error of the operating system in its words, without Rust's "(os error 2)".
pub(crate) fn os_words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

const BGP_PORT: u32 = 179;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_show_their_two_largest_units() {
        let shown = |seconds| span(Duration::from_secs(seconds));
        assert_eq!(shown(0), "0s");
        assert_eq!(shown(59), "59s");
        assert_eq!(shown(192), "3m12s");
        assert_eq!(shown(3600), "1h0m");
        assert_eq!(shown(5 * 3600 + 7 * 60 + 59), "5h7m");
        assert_eq!(shown(12 * 86400 + 4 * 3600), "12d4h");
    }

    #[test]
    fn a_time_yet_to_come_is_now() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let later = Timestamp {
            seconds: 160,
            nanos: 0,
        };
        assert_eq!(age(now, Some(&later)).as_deref(), Some("0s"));
        assert_eq!(age(now, None), None);
    }

    #[test]
    fn one_is_singular() {
        assert_eq!(count(1_u32, "route"), "1 route");
        assert_eq!(count(0_usize, "route"), "0 routes");
        assert_eq!(count(2_u64, "prefix"), "2 prefixes");
        assert_eq!(count(64_u32, "address"), "64 addresses");
    }

    #[test]
    fn only_an_unusual_port_is_shown() {
        assert_eq!(endpoint("10.0.0.7", 179), "10.0.0.7");
        assert_eq!(endpoint("10.0.0.7", 1179), "10.0.0.7:1179");
        assert_eq!(endpoint("fd00::7", 1179), "[fd00::7]:1179");
    }

    #[test]
    fn errors_of_the_system_lose_their_number() {
        let error = io::Error::from_raw_os_error(2);
        assert_eq!(os_words(&error), "No such file or directory");
    }
}
