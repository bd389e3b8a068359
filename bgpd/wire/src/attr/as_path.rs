//! AS_PATH (RFC 4271 section 5.1.2), its two widths and how they merge (RFC 6793), confederation segments (RFC 5065).

use std::fmt;

use bytes::BufMut;
use smallvec::SmallVec;

use crate::asn::Asn;
use crate::context::SessionType;
use crate::reader::Reader;

use super::fault::FaultReason;

/// The ASes that a route came through, the nearest first.
///
/// Held as one run of words: for each segment its kind and length in one word, then its ASes. A path of one segment with
/// up to five ASes needs no heap; 32 octets in all.
///
/// ```text
/// +--------------------+-----------------------------+---------------------------------+
/// | Segment type (1)   | Number of ASes (1)          | AS numbers (2 or 4 octets each) | ...
/// +--------------------+-----------------------------+---------------------------------+
/// ```
#[derive(Clone, Default, Eq, PartialEq, Hash)]
pub struct AsPath {
    words: SmallVec<[u32; 6]>,
}

/// Kinds of segments.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum SegmentKind {
    /// In any order: the ASes of aggregated routes.
    Set = 1,
    /// In the order of the path.
    Sequence = 2,
    /// As `Sequence`, of ASes inside a confederation.
    ConfedSequence = 3,
    /// As `Set`, of ASes inside a confederation.
    ConfedSet = 4,
}

/// One segment of a path. Never empty.
#[derive(Copy, Clone)]
pub struct Segment<'a> {
    kind: SegmentKind,
    words: &'a [u32],
}

/// Octets of an AS number on the wire (RFC 6793).
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum AsnWidth {
    Two,
    Four,
}

impl AsPath {
    /// The empty path: of routes that begin in this AS.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A path of one AS_SEQUENCE, the nearest AS first.
    #[must_use]
    pub fn sequence(asns: impl IntoIterator<Item = Asn>) -> Self {
        let mut path = Self::new();
        path.extend(SegmentKind::Sequence, asns.into_iter().map(|asn| asn.0));
        path
    }

    /// Appends ASes at the far end. A sequence goes on where the last segment is one too and has room.
    pub fn push_segment(&mut self, kind: SegmentKind, asns: &[Asn]) {
        self.extend(kind, asns.iter().map(|asn| asn.0));
    }

    /// The segments, the nearest first.
    #[must_use]
    pub fn segments(&self) -> Segments<'_> {
        Segments { words: &self.words }
    }

    /// True without any AS.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Length for the decision (RFC 4271 section 9.1.2.2 a, RFC 5065 section 5.3): a set counts 1, confederation segments 0.
    #[must_use]
    pub fn hop_count(&self) -> u32 {
        self.segments().map(Segment::hop_count).sum()
    }

    /// The neighbouring AS: the first one, when the path begins with a sequence. Confederation segments do not count.
    #[must_use]
    pub fn first_asn(&self) -> Option<Asn> {
        let first = self
            .segments()
            .find(|segment| !segment.kind.is_confederation())?;
        (first.kind == SegmentKind::Sequence)
            .then(|| first.asns().next())
            .flatten()
    }

    /// The AS that the route comes from: the last one, when the path ends with a sequence (RFC 6811 section 2).
    #[must_use]
    pub fn origin_asn(&self) -> Option<Asn> {
        let last = self.segments().last()?;
        (last.kind == SegmentKind::Sequence)
            .then(|| last.asns().next_back())
            .flatten()
    }

    /// True when `asn` is anywhere in the path.
    #[must_use]
    pub fn contains(&self, asn: Asn) -> bool {
        self.asns().any(|other| other == asn)
    }

    /// How many times `asn` is in the path.
    #[must_use]
    pub fn count(&self, asn: Asn) -> usize {
        self.asns().filter(|&other| other == asn).count()
    }

    /// All ASes of all segments, in order.
    pub fn asns(&self) -> impl Iterator<Item = Asn> + '_ {
        self.segments().flat_map(|segment| segment.asns())
    }

    /// True when the path begins with these ASes, as sequences.
    #[must_use]
    pub fn starts_with(&self, asns: &[Asn]) -> bool {
        let leading = self
            .segments()
            .take_while(|segment| segment.kind == SegmentKind::Sequence)
            .flat_map(|segment| segment.asns());
        let mut wanted = asns.iter().copied();
        let found = leading
            .zip(&mut wanted)
            .take_while(|(asn, wanted)| asn == wanted)
            .count();
        found == asns.len()
    }

    /// Puts `asn` in front, `times` times (RFC 4271 section 5.1.2 b). A full segment gets a new one before it.
    pub fn prepend(&mut self, asn: Asn, times: usize) {
        let first = self.segments().next();
        let room = match first {
            Some(first) if first.kind == SegmentKind::Sequence => {
                MAX_SEGMENT_LENGTH - first.words.len()
            }
            _ => 0,
        };
        let joined = times.min(room);
        if joined > 0 {
            self.words[0] += joined as u32; // the length is in the low octet, and stays within it
            self.words
                .insert_many(1, std::iter::repeat_n(asn.0, joined));
        }
        let mut rest = times - joined;
        while rest > 0 {
            let length = rest.min(MAX_SEGMENT_LENGTH);
            let words = std::iter::repeat_n(asn.0, length);
            self.words.insert_many(
                0,
                std::iter::once(head(SegmentKind::Sequence, length)).chain(words),
            );
            rest -= length;
        }
    }

    /// Reads AS_PATH or AS4_PATH.
    pub(crate) fn decode(
        value: &[u8],
        width: AsnWidth,
        session: SessionType,
    ) -> Result<Self, FaultReason> {
        let mut path = Self::new();
        let mut reader = Reader::new(value);
        while let Some(kind) = reader.u8() {
            let kind = SegmentKind::from_octet(kind).ok_or(FaultReason::Value("segment type"))?;
            // RFC 5065 section 5: not from outside the confederation. No session here is inside one.
            if kind.is_confederation() && session == SessionType::External {
                return Err(FaultReason::Value("confederation segment"));
            }
            let length = reader.u8().ok_or(FaultReason::Structure("segment"))?;
            if length == 0 {
                return Err(FaultReason::Value("segment length"));
            }
            path.words.push(head(kind, length.into()));
            for _ in 0..length {
                let asn = width
                    .read(&mut reader)
                    .ok_or(FaultReason::Structure("segment"))?;
                if asn.is_zero() {
                    return Err(FaultReason::AsZero);
                }
                path.words.push(asn.0);
            }
        }
        Ok(path)
    }

    /// Appends the wire form.
    pub(crate) fn encode(&self, width: AsnWidth, out: &mut Vec<u8>) {
        self.segments()
            .for_each(|segment| segment.encode(width, out));
    }

    /// Appends AS4_PATH: as AS_PATH, without confederation segments (RFC 6793 section 3).
    pub(crate) fn encode_as4(&self, out: &mut Vec<u8>) {
        self.segments()
            .filter(|segment| !segment.kind.is_confederation())
            .for_each(|segment| segment.encode(AsnWidth::Four, out));
    }

    /// The path without confederation segments, which have no place in AS4_PATH (RFC 6793 section 6).
    pub(crate) fn without_confederations(self) -> Self {
        if !self
            .segments()
            .any(|segment| segment.kind.is_confederation())
        {
            return self;
        }
        let mut kept = Self::new();
        for segment in self
            .segments()
            .filter(|segment| !segment.kind.is_confederation())
        {
            kept.extend(segment.kind, segment.words.iter().copied());
        }
        kept
    }

    /// True when two octets are not enough, where it matters to AS4_PATH.
    pub(crate) fn needs_four_octets(&self) -> bool {
        self.segments()
            .filter(|segment| !segment.kind.is_confederation())
            .any(|segment| segment.asns().any(|asn| !asn.is_two_octet()))
    }

    /// The true path, from AS_PATH (`self`) and AS4_PATH of a peer with two-octet AS numbers (RFC 6793 section 4.2.3).
    ///
    /// AS4_PATH lacks what two-octet speakers prepended since: as many hops as AS_PATH is longer are taken from there.
    pub(crate) fn merge(self, as4_path: Self) -> Self {
        let Some(mut lead) = self.hop_count().checked_sub(as4_path.hop_count()) else {
            return self; // shorter than AS4_PATH: that one can't be trusted
        };
        let mut merged = Self::new();
        for segment in self.segments() {
            match segment.kind {
                SegmentKind::Sequence => {
                    let taken = segment.words.len().min(lead as usize); // 32 bits fit
                    merged.extend(segment.kind, segment.words[..taken].iter().copied());
                    lead -= taken as u32; // at most `lead`
                    if taken < segment.words.len() {
                        break;
                    }
                }
                SegmentKind::Set if lead == 0 => break,
                SegmentKind::Set => {
                    merged.extend(segment.kind, segment.words.iter().copied());
                    lead -= 1;
                }
                // Leading, or next to what was taken.
                SegmentKind::ConfedSequence | SegmentKind::ConfedSet => {
                    merged.extend(segment.kind, segment.words.iter().copied());
                }
            }
        }
        for segment in as4_path.segments() {
            merged.extend(segment.kind, segment.words.iter().copied());
        }
        merged
    }

    fn extend(&mut self, kind: SegmentKind, asns: impl Iterator<Item = u32>) {
        let mut open = self.last_head().filter(|&position| {
            kind.is_sequence() && self.words[position] >> KIND_SHIFT == kind as u32
        });
        for asn in asns {
            let position = match open {
                Some(position)
                    if self.words[position] & LENGTH_MASK < MAX_SEGMENT_LENGTH as u32 =>
                {
                    position
                }
                _ => {
                    self.words.push(head(kind, 0));
                    self.words.len() - 1
                }
            };
            open = Some(position);
            self.words[position] += 1;
            self.words.push(asn);
        }
    }

    /// Where the last segment begins.
    fn last_head(&self) -> Option<usize> {
        let last = self.segments().last()?;
        Some(self.words.len() - last.words.len() - 1)
    }
}

impl<'a> Segment<'a> {
    /// What kind of segment it is.
    #[must_use]
    pub const fn kind(self) -> SegmentKind {
        self.kind
    }

    /// Its ASes, the nearest first where order matters.
    pub fn asns(self) -> impl ExactSizeIterator<Item = Asn> + DoubleEndedIterator + 'a {
        self.words.iter().map(|&number| Asn(number))
    }

    fn hop_count(self) -> u32 {
        match self.kind {
            SegmentKind::Sequence => self.words.len() as u32, // at most 255
            SegmentKind::Set => 1,
            SegmentKind::ConfedSequence | SegmentKind::ConfedSet => 0,
        }
    }

    fn encode(self, width: AsnWidth, out: &mut Vec<u8>) {
        out.put_slice(&[self.kind as u8, self.words.len() as u8]); // at most 255
        for asn in self.asns() {
            width.write(asn, out);
        }
    }
}

/// The segments of an [`AsPath`].
#[derive(Clone)]
pub struct Segments<'a> {
    words: &'a [u32],
}

impl<'a> Iterator for Segments<'a> {
    type Item = Segment<'a>;

    fn next(&mut self) -> Option<Segment<'a>> {
        let (head, rest) = self.words.split_first()?;
        let kind = SegmentKind::from_octet((head >> KIND_SHIFT) as u8)?; // always one of ours
        let (words, rest) = rest.split_at_checked((head & LENGTH_MASK) as usize)?; // always whole
        self.words = rest;
        Some(Segment { kind, words })
    }
}

impl SegmentKind {
    const fn from_octet(octet: u8) -> Option<Self> {
        Some(match octet {
            1 => Self::Set,
            2 => Self::Sequence,
            3 => Self::ConfedSequence,
            4 => Self::ConfedSet,
            _ => return None,
        })
    }

    const fn is_sequence(self) -> bool {
        matches!(self, Self::Sequence | Self::ConfedSequence)
    }

    const fn is_confederation(self) -> bool {
        matches!(self, Self::ConfedSequence | Self::ConfedSet)
    }
}

impl AsnWidth {
    pub(crate) const fn new(four_octet_asn: bool) -> Self {
        if four_octet_asn {
            Self::Four
        } else {
            Self::Two
        }
    }

    pub(crate) fn read(self, reader: &mut Reader<'_>) -> Option<Asn> {
        match self {
            Self::Two => reader.u16().map(|number| Asn(number.into())),
            Self::Four => reader.array().map(|octets| Asn(u32::from_be_bytes(octets))),
        }
    }

    pub(crate) fn write(self, asn: Asn, out: &mut Vec<u8>) {
        match self {
            Self::Two => out.put_u16(asn.to_two_octets()),
            Self::Four => out.put_u32(asn.0),
        }
    }
}

impl fmt::Display for AsPath {
    /// `65001 65002 {65003,65004} (65005) [65006,65007]`: sequence, set, confederation sequence and set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.segments().enumerate() {
            let (open, between, close) = match segment.kind {
                SegmentKind::Sequence => ("", " ", ""),
                SegmentKind::Set => ("{", ",", "}"),
                SegmentKind::ConfedSequence => ("(", " ", ")"),
                SegmentKind::ConfedSet => ("[", ",", "]"),
            };
            write!(f, "{}{open}", if position > 0 { " " } else { "" })?;
            for (position, asn) in segment.asns().enumerate() {
                write!(f, "{}{asn}", if position > 0 { between } else { "" })?;
            }
            f.write_str(close)?;
        }
        Ok(())
    }
}

impl fmt::Debug for AsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AsPath({self})")
    }
}

impl FromIterator<Asn> for AsPath {
    /// A path of one AS_SEQUENCE.
    fn from_iter<I: IntoIterator<Item = Asn>>(asns: I) -> Self {
        Self::sequence(asns)
    }
}

const fn head(kind: SegmentKind, length: usize) -> u32 {
    (kind as u32) << KIND_SHIFT | length as u32 // `length` is at most 255
}

const KIND_SHIFT: u32 = 8;
const LENGTH_MASK: u32 = 0xff;
const MAX_SEGMENT_LENGTH: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    fn path(asns: &[u32]) -> AsPath {
        asns.iter().map(|&number| Asn(number)).collect()
    }

    fn with(mut path: AsPath, kind: SegmentKind, asns: &[u32]) -> AsPath {
        let asns: Vec<Asn> = asns.iter().map(|&number| Asn(number)).collect();
        path.push_segment(kind, &asns);
        path
    }

    fn encoded(path: &AsPath, width: AsnWidth) -> Vec<u8> {
        let mut out = Vec::new();
        path.encode(width, &mut out);
        out
    }

    #[test]
    fn a_short_path_stays_off_the_heap() {
        assert_eq!(size_of::<AsPath>(), 32);
        assert!(!path(&[1, 2, 3, 4, 5]).words.spilled());
    }

    #[test]
    fn sets_count_one_and_confederations_nothing() {
        let mixed = with(path(&[1, 2]), SegmentKind::Set, &[3, 4, 5]);
        let mixed = with(mixed, SegmentKind::ConfedSequence, &[6, 7]);
        let mixed = with(mixed, SegmentKind::ConfedSet, &[8, 9]);
        assert_eq!(mixed.hop_count(), 3);
        assert_eq!(mixed.to_string(), "1 2 {3,4,5} (6 7) [8,9]");
        assert_eq!(AsPath::new().hop_count(), 0);
    }

    #[test]
    fn neighbour_and_origin_are_known_from_sequences_only() {
        let confederation = with(AsPath::new(), SegmentKind::ConfedSequence, &[65100]);
        let path_behind = with(confederation, SegmentKind::Sequence, &[1, 2]);
        assert_eq!(path_behind.first_asn(), Some(Asn(1)));
        assert_eq!(path_behind.origin_asn(), Some(Asn(2)));
        let aggregated = with(path(&[1]), SegmentKind::Set, &[2, 3]);
        assert_eq!(
            (aggregated.first_asn(), aggregated.origin_asn()),
            (Some(Asn(1)), None)
        );
        let set = with(AsPath::new(), SegmentKind::Set, &[2]);
        assert_eq!((set.first_asn(), set.origin_asn()), (None, None));
        assert_eq!(
            (AsPath::new().first_asn(), AsPath::new().origin_asn()),
            (None, None)
        );
    }

    #[test]
    fn ases_are_found_wherever_they_are() {
        let looped = with(path(&[1, 2, 1]), SegmentKind::Set, &[1, 3]);
        assert_eq!(looped.count(Asn(1)), 3);
        assert!(looped.contains(Asn(3)) && !looped.contains(Asn(4)));
        // The head of a segment is no AS: 2 << 8 | 3.
        assert!(!looped.contains(Asn(0x203)));
        assert!(looped.starts_with(&[Asn(1), Asn(2)]) && looped.starts_with(&[]));
        assert!(
            !looped.starts_with(&[Asn(2)])
                && !looped.starts_with(&[Asn(1), Asn(2), Asn(1), Asn(1)])
        );
    }

    #[test]
    fn prepending_joins_a_sequence_until_it_is_full() {
        let mut joined = path(&[2, 3]);
        joined.prepend(Asn(1), 2);
        assert_eq!(joined, path(&[1, 1, 2, 3]));

        let mut behind_set = with(AsPath::new(), SegmentKind::Set, &[2, 3]);
        behind_set.prepend(Asn(1), 1);
        assert_eq!(behind_set.to_string(), "1 {2,3}");

        let mut full = path(&[7; 255]);
        full.prepend(Asn(1), 300);
        let lengths: Vec<usize> = full
            .segments()
            .map(|segment| segment.asns().len())
            .collect();
        assert_eq!(lengths, [45, 255, 255]);
        assert_eq!(full.hop_count(), 555);
        assert_eq!(full.first_asn(), Some(Asn(1)));

        let mut nearly_full = path(&[7; 250]);
        nearly_full.prepend(Asn(1), 10);
        let lengths: Vec<usize> = nearly_full
            .segments()
            .map(|segment| segment.asns().len())
            .collect();
        assert_eq!(lengths, [5, 255]);

        let mut untouched = AsPath::new();
        untouched.prepend(Asn(1), 0);
        assert!(untouched.is_empty());
    }

    #[test]
    fn long_sequences_are_cut_at_255() {
        let long = path(&[1; 600]);
        let lengths: Vec<usize> = long
            .segments()
            .map(|segment| segment.asns().len())
            .collect();
        assert_eq!(lengths, [255, 255, 90]);
    }

    #[test]
    fn both_widths_are_read_back() {
        let mixed = with(path(&[1, 2]), SegmentKind::Set, &[3]);
        for width in [AsnWidth::Two, AsnWidth::Four] {
            let value = encoded(&mixed, width);
            assert_eq!(
                AsPath::decode(&value, width, SessionType::External),
                Ok(mixed.clone())
            );
        }
        // Two segments of the same kind stay two.
        let split = [2, 1, 0, 1, 2, 1, 0, 2];
        let decoded = AsPath::decode(&split, AsnWidth::Two, SessionType::External).unwrap();
        assert_eq!(encoded(&decoded, AsnWidth::Two), split);
    }

    #[test]
    fn what_can_not_be_is_refused() {
        let fault =
            |value: &[u8], session| AsPath::decode(value, AsnWidth::Two, session).unwrap_err();
        let external = |value| fault(value, SessionType::External);
        assert_eq!(external(&[0, 1, 0, 1]), FaultReason::Value("segment type"));
        assert_eq!(external(&[5, 1, 0, 1]), FaultReason::Value("segment type"));
        assert_eq!(external(&[2, 0]), FaultReason::Value("segment length"));
        assert_eq!(external(&[2]), FaultReason::Structure("segment"));
        assert_eq!(external(&[2, 2, 0, 1]), FaultReason::Structure("segment"));
        assert_eq!(
            external(&[2, 1, 0, 1, 0]),
            FaultReason::Value("segment type")
        );
        assert_eq!(external(&[2, 1, 0, 0]), FaultReason::AsZero);
        assert_eq!(
            fault(&[1, 1, 0, 0], SessionType::Internal),
            FaultReason::AsZero
        );
        assert_eq!(
            external(&[3, 1, 0, 1]),
            FaultReason::Value("confederation segment")
        );
        assert!(AsPath::decode(&[3, 1, 0, 1], AsnWidth::Two, SessionType::Internal).is_ok());
    }

    #[test]
    fn as4_path_replaces_the_tail_of_as_path() {
        let t = Asn::TRANS.0;
        let merged = |as_path: AsPath, as4_path: AsPath| as_path.merge(as4_path).to_string();
        assert_eq!(
            merged(path(&[10, t, t]), path(&[70_001, 70_002])),
            "10 70001 70002"
        );
        assert_eq!(
            merged(path(&[t, t]), path(&[70_001, 70_002])),
            "70001 70002"
        );
        // Longer than AS_PATH: ignored.
        assert_eq!(merged(path(&[t]), path(&[70_001, 70_002])), "23456");
        // A set counts as one, at either side.
        let with_set = with(path(&[10]), SegmentKind::Set, &[11, 12]);
        let with_set = with(with_set, SegmentKind::Sequence, &[t]);
        assert_eq!(merged(with_set, path(&[70_001])), "10 {11,12} 70001");
        let as4_set = with(path(&[70_001]), SegmentKind::Set, &[70_002, 70_003]);
        let as2_set = with(path(&[10, t]), SegmentKind::Set, &[t]);
        assert_eq!(merged(as2_set, as4_set), "10 70001 {70002,70003}");
        // Leading confederation segments stay.
        let confed = with(AsPath::new(), SegmentKind::ConfedSequence, &[65_100]);
        let confed = with(confed, SegmentKind::Sequence, &[t]);
        assert_eq!(merged(confed, path(&[70_001])), "(65100) 70001");
        assert_eq!(merged(path(&[10, 20]), AsPath::new()), "10 20");
    }

    #[test]
    fn as4_path_loses_confederation_segments() {
        let mixed = with(path(&[1]), SegmentKind::ConfedSequence, &[65_100]);
        let mixed = with(mixed, SegmentKind::Sequence, &[2]);
        assert_eq!(mixed.without_confederations(), path(&[1, 2]));
    }

    #[test]
    fn a_path_for_two_octet_peers_can_be_merged_again() {
        let original = path(&[64_512, 4_200_000_000, 3]);
        let as_path = AsPath::decode(
            &encoded(&original, AsnWidth::Two),
            AsnWidth::Two,
            SessionType::External,
        );
        let mut as4 = Vec::new();
        original.encode_as4(&mut as4);
        let as4_path = AsPath::decode(&as4, AsnWidth::Four, SessionType::External);
        assert!(original.needs_four_octets());
        assert_eq!(as_path.unwrap().merge(as4_path.unwrap()), original);
    }
}
