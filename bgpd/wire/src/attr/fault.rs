//! What was wrong with an UPDATE that did not end the session, and what came of it (RFC 7606 section 2).

use std::fmt;

use crate::family::Family;
use crate::notification::code::update as subcode;

use super::code;
use super::registry::attribute_name;

/// One fault, for logs and counters.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub struct AttributeFault {
    /// The attribute's type code; 0 when it is about the list of attributes or the NLRI fields as such.
    pub code: u8,
    /// What was done about it.
    pub action: FaultAction,
    /// What was wrong.
    pub reason: FaultReason,
}

/// What is done about a fault. The greater is the stronger, and the strongest of an UPDATE counts.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum FaultAction {
    /// Routes of a family that was not agreed on: not looked at.
    Ignore,
    /// The attribute is as good as absent.
    Discard,
    /// All routes that the UPDATE announces are withdrawn.
    TreatAsWithdraw,
}

/// What was wrong.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum FaultReason {
    /// Optional, Transitive or Partial is not what it must be.
    Flags(u8),
    /// The attribute has a length that it can't have.
    Length(u16),
    /// A part of the value, named here, is cut off or runs over its end.
    Structure(&'static str),
    /// The value, or the part named here, says what can't be.
    Value(&'static str),
    /// AS 0 (RFC 7607).
    AsZero,
    /// A TLV that the attribute can't have.
    UnknownTlv(u8),
    /// It was there before.
    Duplicate,
    /// It must be there.
    Missing,
    /// A peer in another AS has no business to send it.
    FromExternalPeer,
    /// A peer that speaks four-octet AS numbers has no business to send it (RFC 6793 section 3).
    FromFourOctetPeer,
    /// The list of attributes ends within this one.
    Truncated,
    /// Routes of a family that was not agreed on (RFC 4760 section 7), or that can't be read here.
    FamilyNotNegotiated(Family),
}

/// Kinds of [`FaultReason`] that the registry tells apart.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Violation {
    Flags,
    Syntax,
    Value,
    Duplicate,
    Missing,
    Sender,
    Framing,
    Family,
}

impl FaultReason {
    pub(crate) const fn violation(&self) -> Violation {
        match self {
            Self::Flags(_) => Violation::Flags,
            Self::Length(_) | Self::Structure(_) => Violation::Syntax,
            Self::Value(_) | Self::AsZero | Self::UnknownTlv(_) => Violation::Value,
            Self::Duplicate => Violation::Duplicate,
            Self::Missing => Violation::Missing,
            Self::FromExternalPeer | Self::FromFourOctetPeer => Violation::Sender,
            Self::Truncated => Violation::Framing,
            Self::FamilyNotNegotiated(_) => Violation::Family,
        }
    }

    /// Subcode of the UPDATE Message Error for when the fault ends the session after all (RFC 4271 section 6.3).
    pub(crate) const fn subcode(&self, attribute: u8) -> u8 {
        match (self.violation(), attribute) {
            (Violation::Flags, _) => subcode::ATTRIBUTE_FLAGS,
            (Violation::Missing, _) => subcode::MISSING_WELL_KNOWN_ATTRIBUTE,
            (Violation::Framing | Violation::Duplicate, _) => subcode::MALFORMED_ATTRIBUTE_LIST,
            (_, code::AS_PATH) => subcode::MALFORMED_AS_PATH,
            (Violation::Syntax, _) if matches!(self, Self::Length(_)) => subcode::ATTRIBUTE_LENGTH,
            (_, code::ORIGIN) => subcode::INVALID_ORIGIN,
            (_, code::NEXT_HOP) => subcode::INVALID_NEXT_HOP,
            _ => subcode::OPTIONAL_ATTRIBUTE,
        }
    }
}

impl fmt::Display for AttributeFault {
    /// `AS_PATH: AS 0; routes withdrawn`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            action,
            reason,
        } = self;
        match (attribute_name(*code), code) {
            (Some(name), _) => f.write_str(name)?,
            (None, 0) => f.write_str("UPDATE")?,
            (None, code) => write!(f, "attribute {code}")?,
        }
        write!(f, ": {reason}; {action}")
    }
}

impl fmt::Display for FaultAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ignore => "ignored",
            Self::Discard => "attribute discarded",
            Self::TreatAsWithdraw => "routes withdrawn",
        })
    }
}

impl fmt::Display for FaultReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flags(flags) => write!(f, "flags 0x{flags:02x}"),
            Self::Length(length) => write!(f, "length {length}"),
            Self::Structure(part) => write!(f, "{part} cut off or overrun"),
            Self::Value(part) => write!(f, "invalid {part}"),
            Self::AsZero => f.write_str("AS 0"),
            Self::UnknownTlv(kind) => write!(f, "unknown TLV {kind}"),
            Self::Duplicate => f.write_str("duplicate"),
            Self::Missing => f.write_str("missing"),
            Self::FromExternalPeer => f.write_str("sent by an eBGP peer"),
            Self::FromFourOctetPeer => f.write_str("sent by a peer with four-octet AS numbers"),
            Self::Truncated => f.write_str("beyond the end of the attributes"),
            Self::FamilyNotNegotiated(family) => write!(f, "{family} is not in force"),
        }
    }
}
