//! Communities of all four sizes: RFC 1997, RFC 4360, RFC 5701, RFC 8092. All are sets: order and repetition mean nothing.

mod extended;

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use crate::asn::decimal;

use super::fault::FaultReason;

pub use extended::{ExtendedCommunity, Ipv6ExtendedCommunity};

/// A set, kept sorted and without repetition, so that equal sets compare, hash and encode alike.
///
/// Built for being compared and searched; each change copies the set. Empty, it needs no heap.
#[derive(Clone, Eq, PartialEq, Hash)]
pub struct CommunitySet<T>(Box<[T]>);

/// The value of COMMUNITIES.
pub type Communities = CommunitySet<Community>;
/// The value of EXTENDED_COMMUNITIES.
pub type ExtendedCommunities = CommunitySet<ExtendedCommunity>;
/// The value of IPV6_EXTENDED_COMMUNITIES.
pub type Ipv6ExtendedCommunities = CommunitySet<Ipv6ExtendedCommunity>;
/// The value of LARGE_COMMUNITIES.
pub type LargeCommunities = CommunitySet<LargeCommunity>;

impl<T: Copy + Ord> CommunitySet<T> {
    /// The empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// True when `community` is a member.
    #[must_use]
    pub fn contains(&self, community: &T) -> bool {
        self.0.binary_search(community).is_ok()
    }

    /// Adds a member; returns false when it was there.
    pub fn insert(&mut self, community: T) -> bool {
        let Err(position) = self.0.binary_search(&community) else {
            return false;
        };
        let mut members = Vec::with_capacity(self.0.len() + 1);
        members.extend_from_slice(&self.0[..position]);
        members.push(community);
        members.extend_from_slice(&self.0[position..]);
        self.0 = members.into_boxed_slice();
        true
    }

    /// Takes a member away; returns false when it was not there.
    pub fn remove(&mut self, community: &T) -> bool {
        let found = self.contains(community);
        if found {
            self.retain(|other| other != community);
        }
        found
    }

    /// Keeps the members for which `keep` holds.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        let mut members = std::mem::take(&mut self.0).into_vec();
        members.retain(keep);
        self.0 = members.into_boxed_slice();
    }

    /// Takes all members away.
    pub fn clear(&mut self) {
        self.0 = Box::default();
    }

    /// Reads a value of members of `N` octets: at least one (RFC 7606 sections 7.8, 7.14, 7.15).
    pub(super) fn decode<const N: usize>(
        value: &[u8],
        read: impl Fn([u8; N]) -> T,
    ) -> Result<Self, FaultReason> {
        let (members, []) = value.as_chunks::<N>() else {
            return Err(FaultReason::Length(value.len() as u16)); // comes from 16 bits
        };
        if members.is_empty() {
            return Err(FaultReason::Length(0));
        }
        Ok(members.iter().map(|octets| read(*octets)).collect())
    }
}

impl<T> Default for CommunitySet<T> {
    fn default() -> Self {
        Self(Box::default())
    }
}

impl<T> Deref for CommunitySet<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Ord> FromIterator<T> for CommunitySet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(members: I) -> Self {
        let mut members: Vec<T> = members.into_iter().collect();
        if !members.is_sorted_by(|one, next| one < next) {
            members.sort_unstable();
            members.dedup();
        }
        Self(members.into_boxed_slice())
    }
}

impl<'a, T> IntoIterator for &'a CommunitySet<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: fmt::Display> fmt::Display for CommunitySet<T> {
    /// The members in ascending order, with a space between.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, member) in self.iter().enumerate() {
            write!(f, "{}{member}", if position > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

impl<T: fmt::Debug> fmt::Debug for CommunitySet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A community (RFC 1997): an AS number in the upper half, what it means there in the lower.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct Community(pub u32);

impl Community {
    /// Please prefer any other way: this one goes soon (RFC 8326).
    pub const GRACEFUL_SHUTDOWN: Self = Self(0xffff_0000);
    /// A stale route kept for long (RFC 9494).
    pub const LLGR_STALE: Self = Self(0xffff_0006);
    /// Not to be kept for long (RFC 9494).
    pub const NO_LLGR: Self = Self(0xffff_0007);
    /// Please drop the traffic (RFC 7999).
    pub const BLACKHOLE: Self = Self(0xffff_029a);
    /// Not to leave the AS or confederation (RFC 1997).
    pub const NO_EXPORT: Self = Self(0xffff_ff01);
    /// Not to be told to any peer (RFC 1997).
    pub const NO_ADVERTISE: Self = Self(0xffff_ff02);
    /// Not to leave the member AS (RFC 1997).
    pub const NO_EXPORT_SUBCONFED: Self = Self(0xffff_ff03);

    /// The community `asn:value`.
    #[must_use]
    pub const fn new(asn: u16, value: u16) -> Self {
        Self((asn as u32) << 16 | value as u32)
    }

    /// The registered name, for the well-known ones.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::GRACEFUL_SHUTDOWN => "graceful-shutdown",
            Self::LLGR_STALE => "llgr-stale",
            Self::NO_LLGR => "no-llgr",
            Self::BLACKHOLE => "blackhole",
            Self::NO_EXPORT => "no-export",
            Self::NO_ADVERTISE => "no-advertise",
            Self::NO_EXPORT_SUBCONFED => "no-export-subconfed",
            _ => return None,
        })
    }
}

impl fmt::Display for Community {
    /// `65001:100`, for well-known ones too; see [`Community::name`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0 >> 16, self.0 & 0xffff)
    }
}

impl FromStr for Community {
    type Err = ParseCommunityError;

    /// Reads `65001:100`, and the names of the well-known ones.
    fn from_str(text: &str) -> Result<Self, ParseCommunityError> {
        let well_known = [
            Self::GRACEFUL_SHUTDOWN,
            Self::LLGR_STALE,
            Self::NO_LLGR,
            Self::BLACKHOLE,
            Self::NO_EXPORT,
            Self::NO_ADVERTISE,
            Self::NO_EXPORT_SUBCONFED,
        ];
        if let Some(named) = well_known
            .into_iter()
            .find(|named| named.name() == Some(text))
        {
            return Ok(named);
        }
        text.split_once(':')
            .and_then(|(asn, value)| Some(Self::new(decimal(asn)?, decimal(value)?)))
            .ok_or_else(|| ParseCommunityError::new(text, "x:y with both parts up to 65535"))
    }
}

/// A large community (RFC 8092).
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                      Global Administrator                     |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                       Local Data Part 1                       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                       Local Data Part 2                       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct LargeCommunity {
    /// The AS that gives the others their meaning.
    pub global: u32,
    /// Local data part 1.
    pub local1: u32,
    /// Local data part 2.
    pub local2: u32,
}

impl LargeCommunity {
    /// The community `global:local1:local2`.
    #[must_use]
    pub const fn new(global: u32, local1: u32, local2: u32) -> Self {
        Self {
            global,
            local1,
            local2,
        }
    }

    pub(super) const fn from_octets(octets: [u8; 12]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = octets;
        Self {
            global: u32::from_be_bytes([a, b, c, d]),
            local1: u32::from_be_bytes([e, f, g, h]),
            local2: u32::from_be_bytes([i, j, k, l]),
        }
    }
}

impl fmt::Display for LargeCommunity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.global, self.local1, self.local2)
    }
}

impl FromStr for LargeCommunity {
    type Err = ParseCommunityError;

    fn from_str(text: &str) -> Result<Self, ParseCommunityError> {
        let mut parts = text.split(':').map(decimal::<u32>);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Some(global)), Some(Some(local1)), Some(Some(local2)), None) => Ok(Self {
                global,
                local1,
                local2,
            }),
            _ => Err(ParseCommunityError::new(
                text,
                "x:y:z with parts up to 4294967295",
            )),
        }
    }
}

/// A text that is no community.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{text:?} is not a community: expected {expected}")]
pub struct ParseCommunityError {
    text: String,
    expected: &'static str,
}

impl ParseCommunityError {
    fn new(text: &str, expected: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            expected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_equal_whatever_the_order() {
        let one: Communities = [3, 1, 2, 1].into_iter().map(Community).collect();
        let other: Communities = [1, 2, 3].into_iter().map(Community).collect();
        assert_eq!(one, other);
        assert_eq!(
            one.iter().map(|community| community.0).collect::<Vec<_>>(),
            [1, 2, 3]
        );
    }

    #[test]
    fn a_set_stays_sorted_while_it_changes() {
        let mut set = Communities::new();
        for number in [5, 1, 3, 3] {
            set.insert(Community(number));
        }
        assert_eq!(set[..], [Community(1), Community(3), Community(5)]);
        assert!(!set.insert(Community(5)) && set.contains(&Community(5)));
        assert!(set.remove(&Community(3)) && !set.remove(&Community(3)));
        assert_eq!(set[..], [Community(1), Community(5)]);
        set.retain(|community| community.0 > 1);
        assert_eq!(set[..], [Community(5)]);
        set.clear();
        assert!(set.is_empty());
    }

    #[test]
    fn communities_are_written_and_read_in_the_usual_notation() {
        assert_eq!(Community::new(65_001, 100).to_string(), "65001:100");
        assert_eq!("65001:100".parse(), Ok(Community::new(65_001, 100)));
        assert_eq!("no-export".parse(), Ok(Community::NO_EXPORT));
        assert_eq!("65535:65281".parse(), Ok(Community::NO_EXPORT));
        assert_eq!(Community::BLACKHOLE.to_string(), "65535:666");
        for text in [
            "", "1", "1:", ":1", "65536:1", "1:65536", "1:2:3", "-1:2", "noexport",
        ] {
            assert!(text.parse::<Community>().is_err(), "{text:?}");
        }
        let large = LargeCommunity::new(4_200_000_000, 0, u32::MAX);
        assert_eq!(large.to_string().parse(), Ok(large));
        for text in ["1:2", "1:2:3:4", "1:2:", "4294967296:0:0"] {
            assert!(text.parse::<LargeCommunity>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_value_is_at_least_one_whole_member() {
        let decode = |value: &[u8]| {
            Communities::decode(value, |octets| Community(u32::from_be_bytes(octets)))
        };
        assert_eq!(decode(&[]), Err(FaultReason::Length(0)));
        assert_eq!(decode(&[0; 5]), Err(FaultReason::Length(5)));
        assert_eq!(decode(&[0, 0, 0, 1]).map(|set| set.len()), Ok(1));
    }
}
