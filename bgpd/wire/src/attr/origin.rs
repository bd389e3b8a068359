//! ORIGIN (RFC 4271 section 5.1.1).

use std::fmt;

use super::fault::FaultReason;

/// How a route came into BGP. The lesser is preferred.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Origin {
    /// From inside the AS.
    #[default]
    Igp = 0,
    /// From EGP.
    Egp = 1,
    /// By other means.
    Incomplete = 2,
}

impl Origin {
    pub(super) fn decode(value: &[u8]) -> Result<Self, FaultReason> {
        match value {
            [0] => Ok(Self::Igp),
            [1] => Ok(Self::Egp),
            [2] => Ok(Self::Incomplete),
            [_] => Err(FaultReason::Value("origin")),
            _ => Err(FaultReason::Length(value.len() as u16)), // comes from 16 bits
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Igp => "igp",
            Self::Egp => "egp",
            Self::Incomplete => "incomplete",
        })
    }
}
