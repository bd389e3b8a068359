//! Autonomous system numbers.

use std::fmt;
use std::str::FromStr;

/// An autonomous system number (RFC 6793): four bytes, written in decimal.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct Asn(pub u32);

impl Asn {
    /// The cluster's AS where nothing else is configured, as in Calico.
    pub const DEFAULT: Self = Self(64512);
}

/// A text that is no AS number.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is not an AS number")]
pub struct ParseAsnError(String);

impl FromStr for Asn {
    type Err = ParseAsnError;

    /// Reads `65001` and the dotted form `1.10` (RFC 5396 section 2).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let dotted = |(high, low): (&str, &str)| {
            let valid = digits(high) && digits(low);
            let (high, low): (u16, u16) = (high.parse().ok()?, low.parse().ok()?);
            valid.then_some(u32::from(high) << 16 | u32::from(low))
        };
        let number = match text.split_once('.') {
            Some(parts) => dotted(parts),
            None => text.parse().ok().filter(|_| digits(text)),
        };
        number
            .map(Self)
            .ok_or_else(|| ParseAsnError(text.to_owned()))
    }
}

impl fmt::Display for Asn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_and_dotted_numbers_are_read() {
        assert_eq!("64512".parse(), Ok(Asn(64512)));
        assert_eq!("4294967295".parse(), Ok(Asn(u32::MAX)));
        assert_eq!("1.10".parse(), Ok(Asn(65546)));
        for wrong in [
            "",
            "-1",
            "+1",
            "4294967296",
            "1.65536",
            "1.",
            ".1",
            "1.1.1",
            "AS65000",
            "1.+1",
        ] {
            assert!(
                wrong.parse::<Asn>().is_err(),
                "{wrong:?} must not be an AS number"
            );
        }
    }
}
