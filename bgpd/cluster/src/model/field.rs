//! Values and complaints that several kinds share.

use std::fmt;
use std::str::FromStr;

/// What is wrong with one field of an object, and what to write instead.
#[derive(Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash, thiserror::Error)]
#[error("{field}: {problem}; {remedy}")]
pub struct FieldError {
    /// The path of the field as the manifest spells it, such as `spec.bgp.ipv4Address`.
    pub field: String,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl FieldError {
    /// Says what is wrong with a field, and what to do.
    #[must_use]
    pub fn new(
        field: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}

/// Where a password is kept: a key of a Kubernetes Secret.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SecretKeyRef {
    /// The Secret's name.
    pub name: String,
    /// The key within it.
    pub key: String,
}

/// A MAC address (EUI-48).
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct MacAddr(pub [u8; 6]);

/// A text that is no MAC address.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is not a MAC address")]
pub struct ParseMacAddrError(String);

impl FromStr for MacAddr {
    type Err = ParseMacAddrError;

    /// Reads six pairs of hex digits, divided by colons, or by dashes as Windows writes them.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseMacAddrError(text.to_owned());
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut bytes = [0; 6];
        let mut pairs = text.split(separator);
        for byte in &mut bytes {
            let pair = pairs
                .next()
                .filter(|pair| pair.len() == 2)
                .ok_or_else(error)?;
            if !pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(error());
            }
            *byte = u8::from_str_radix(pair, 16).map_err(|_| error())?;
        }
        if pairs.next().is_some() {
            return Err(error());
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mac_addresses_are_read_with_colons_and_dashes() {
        let mac = MacAddr([0x66, 0xa8, 0x6f, 0xcf, 0x1c, 0x56]);
        assert_eq!("66:a8:6f:cf:1c:56".parse(), Ok(mac));
        assert_eq!("66-A8-6F-CF-1C-56".parse(), Ok(mac));
        assert_eq!(mac.to_string(), "66:a8:6f:cf:1c:56");
        for wrong in [
            "",
            "66:a8:6f:cf:1c",
            "66:a8:6f:cf:1c:56:00",
            "66:a8:6f:cf:1c:+6",
            "66-a8:6f:cf:1c:56",
        ] {
            assert!(
                wrong.parse::<MacAddr>().is_err(),
                "{wrong:?} must not be a MAC address"
            );
        }
    }
}
