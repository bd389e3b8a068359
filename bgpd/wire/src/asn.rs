//! Autonomous system numbers (RFC 6793), their notation (RFC 5396) and the reserved ones.

use std::fmt;
use std::str::FromStr;

/// A four-octet autonomous system number.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct Asn(pub u32);

impl Asn {
    /// AS 0, which no route may carry (RFC 7607).
    pub const ZERO: Self = Self(0);

    /// AS_TRANS, which stands for a number that does not fit into two octets (RFC 6793 section 9).
    pub const TRANS: Self = Self(23456);

    /// True for AS 0.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// True when the number fits into two octets.
    #[must_use]
    pub const fn is_two_octet(self) -> bool {
        self.0 <= u16::MAX as u32
    }

    /// True for the ranges of RFC 6996: 64512 to 65534 and 4200000000 to 4294967294.
    #[must_use]
    pub const fn is_private(self) -> bool {
        matches!(self.0, 64_512..=65_534 | 4_200_000_000..=4_294_967_294)
    }

    /// True for numbers that no speaker may call its own: 0 (RFC 7607), AS_TRANS (RFC 6793), and the last of both sizes
    /// (RFC 7300).
    #[must_use]
    pub const fn is_reserved(self) -> bool {
        matches!(self.0, 0 | 23_456 | 65_535 | u32::MAX)
    }

    /// The number as a two-octet speaker sees it: itself, or AS_TRANS.
    #[must_use]
    pub fn to_two_octets(self) -> u16 {
        u16::try_from(self.0).unwrap_or(Self::TRANS.0 as u16)
    }
}

impl From<u32> for Asn {
    fn from(number: u32) -> Self {
        Self(number)
    }
}

impl fmt::Display for Asn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A text that is no AS number.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is not an AS number: expected 0 to 4294967295, or x.y with both parts up to 65535")]
pub struct ParseAsnError(String);

impl FromStr for Asn {
    type Err = ParseAsnError;

    /// Reads `asplain` ("65536") and `asdot` ("1.0").
    fn from_str(text: &str) -> Result<Self, ParseAsnError> {
        let number = match text.split_once('.') {
            None => decimal::<u32>(text),
            Some((high, low)) => decimal::<u16>(high)
                .zip(decimal::<u16>(low))
                .map(|(high, low)| u32::from(high) << 16 | u32::from(low)),
        };
        number
            .map(Self)
            .ok_or_else(|| ParseAsnError(text.to_owned()))
    }
}

/// Digits only: the standard parser would also take a sign.
pub(crate) fn decimal<T: FromStr>(text: &str) -> Option<T> {
    text.bytes()
        .all(|octet| octet.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_notations_are_read() {
        assert_eq!("65536".parse(), Ok(Asn(65536)));
        assert_eq!("1.0".parse(), Ok(Asn(65536)));
        assert_eq!("65535.65535".parse(), Ok(Asn(u32::MAX)));
        for text in [
            "",
            ".",
            "1.",
            "1.65536",
            "4294967296",
            "-1",
            "+1",
            "1.2.3",
            "AS1",
            " 1",
        ] {
            assert!(text.parse::<Asn>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn private_and_reserved_ranges_end_where_the_registries_say() {
        let private = [64_512, 65_534, 4_200_000_000, 4_294_967_294];
        assert!(private.iter().all(|&number| Asn(number).is_private()));
        let public = [64_511, 65_535, 4_199_999_999, u32::MAX];
        assert!(!public.iter().any(|&number| Asn(number).is_private()));
        assert!(
            [0, 23_456, 65_535, u32::MAX]
                .iter()
                .all(|&number| Asn(number).is_reserved())
        );
    }

    #[test]
    fn large_numbers_shrink_to_as_trans() {
        assert_eq!(Asn(65_535).to_two_octets(), 65_535);
        assert_eq!(Asn(65_536).to_two_octets(), 23_456);
    }
}
