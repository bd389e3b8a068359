//! UPDATEs put together by hand, and the verdict that a decoder gave on one.

use bgp_wire::{
    Asn, DecodeContext, Family, FamilySet, FaultAction, Message, SessionType, UpdateMessage, decode,
};

/// Who sends.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum From {
    /// An iBGP or an eBGP peer: it makes no difference.
    Any,
    /// An iBGP peer.
    Internal,
    /// An eBGP peer.
    External,
    /// An eBGP peer with two-octet AS numbers.
    TwoOctet,
}

impl From {
    pub(crate) fn contexts(self) -> Vec<DecodeContext> {
        let sessions = match self {
            Self::Any => vec![SessionType::Internal, SessionType::External],
            Self::Internal => vec![SessionType::Internal],
            Self::External | Self::TwoOctet => vec![SessionType::External],
        };
        let context = |session| DecodeContext {
            session,
            four_octet_asn: self != Self::TwoOctet,
            families: FamilySet::from([Family::IPV4_UNICAST, Family::IPV6_UNICAST]),
            ..DecodeContext::default()
        };
        sessions.into_iter().map(context).collect()
    }
}

/// What is done about an UPDATE, the strongest of all.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    /// Nothing is wrong.
    Keep,
    /// An attribute is as good as absent.
    Discard,
    /// The routes are treated as withdrawn.
    Withdraw,
    /// The session ends with this code and subcode.
    Reset(u8, u8),
}

/// Which routes an UPDATE announces.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Routes {
    None,
    V4,
    V6,
    Both,
}

impl Routes {
    pub(crate) fn has_v4(self) -> bool {
        matches!(self, Self::V4 | Self::Both)
    }

    fn has_v6(self) -> bool {
        matches!(self, Self::V6 | Self::Both)
    }

    /// The prefixes, by family in the order of [`prefixes`].
    pub(crate) fn prefixes(self) -> Vec<String> {
        let v4: &[&str] = if self.has_v4() {
            &["10.0.0.0/8", "192.0.2.0/25"]
        } else {
            &[]
        };
        let v6: &[&str] = if self.has_v6() {
            &["2001:db8::/32", "::/0"]
        } else {
            &[]
        };
        [v4, v6].concat().into_iter().map(str::to_owned).collect()
    }
}

/// Attributes that a route must have, with `replacement` in the place of the one of its code, or behind all of them; and
/// one behind that, which has to be found. An empty replacement with a code leaves out.
pub(crate) fn attributes(
    from: &DecodeContext,
    routes: Routes,
    code: u8,
    replacement: &[u8],
) -> Vec<u8> {
    let as_path: &[u8] = if from.four_octet_asn {
        &[0x40, 2, 6, 2, 1, 0, 0, 0xfd, 0xea]
    } else {
        &[0x40, 2, 4, 2, 1, 0xfd, 0xea]
    };
    let mut parts: Vec<(u8, Vec<u8>)> = Vec::new();
    if routes.has_v6() {
        parts.push((14, hex(MP_REACH)));
    }
    parts.push((1, vec![0x40, 1, 1, 0]));
    parts.push((2, as_path.to_vec()));
    if routes.has_v4() {
        parts.push((3, vec![0x40, 3, 4, 192, 0, 2, 1]));
    }
    match parts.iter_mut().find(|(other, _)| *other == code) {
        Some((_, octets)) => *octets = replacement.to_vec(),
        None => parts.push((code, replacement.to_vec())),
    }
    parts.push((SENTINEL, vec![0xc0, SENTINEL, 2, 0xab, 0xcd]));
    parts.into_iter().flat_map(|(_, octets)| octets).collect()
}

/// A whole UPDATE.
pub(crate) fn update(withdrawn: &[u8], attributes: &[u8], routes: Routes) -> Vec<u8> {
    let announced: &[u8] = if routes.has_v4() {
        &[8, 10, 25, 192, 0, 2, 0]
    } else {
        &[]
    };
    let body = [
        &(withdrawn.len() as u16).to_be_bytes()[..],
        withdrawn,
        &(attributes.len() as u16).to_be_bytes(),
        attributes,
        announced,
    ]
    .concat();
    frame(&body)
}

/// An UPDATE with this body.
pub(crate) fn frame(body: &[u8]) -> Vec<u8> {
    let length = (19 + body.len()) as u16;
    [&[0xff; 16][..], &length.to_be_bytes(), &[2], body].concat()
}

/// Decodes, and checks that every route and the sentinel behind the fault were found.
pub(crate) fn verdict(frame: &[u8], context: &DecodeContext, routes: Routes) -> Verdict {
    let update = match decode(frame, context) {
        Ok(Message::Update(update)) => update,
        Ok(other) => panic!("{other:?}"),
        Err(notification) => return Verdict::Reset(notification.code, notification.subcode),
    };
    let strongest = update.faults.iter().map(|fault| fault.action).max();
    let reached = prefixes(update.reach.iter().flat_map(|reach| &reach.nlri));
    let gone = prefixes(update.unreach.iter().flat_map(|unreach| &unreach.nlri));
    if strongest == Some(FaultAction::TreatAsWithdraw) {
        assert_eq!((reached, gone), (vec![], routes.prefixes()), "{update:?}");
        assert_eq!(update.attributes, None);
        return Verdict::Withdraw;
    }
    assert_eq!((reached, gone), (routes.prefixes(), vec![]), "{update:?}");
    if routes != Routes::None {
        check_sentinel(&update);
    }
    match strongest {
        None => Verdict::Keep,
        Some(FaultAction::Discard) => Verdict::Discard,
        other => panic!("{other:?}"),
    }
}

fn check_sentinel(update: &UpdateMessage) {
    let attributes = update.attributes.as_ref().expect("there are routes");
    let found = attributes.unknown.iter().find(|it| it.code == SENTINEL);
    assert_eq!(
        found.map(|it| &it.value[..]),
        Some(&[0xab, 0xcd][..]),
        "{update:?}"
    );
    assert!(!attributes.as_path.contains(Asn::ZERO));
}

fn prefixes<'a>(routes: impl Iterator<Item = &'a bgp_wire::Nlri>) -> Vec<String> {
    routes.map(|route| route.prefix.to_string()).collect()
}

/// Octets from hexadecimal text with spaces.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|it| !it.is_whitespace())
        .map(|it| it.to_digit(16).unwrap_or_else(|| panic!("{text}")) as u8)
        .collect();
    let (pairs, rest) = digits.as_chunks::<2>();
    assert!(rest.is_empty(), "{text}");
    pairs.iter().map(|[high, low]| high << 4 | low).collect()
}

/// 2001:db8::/32 and the default route by 2001:db8::1.
pub(crate) const MP_REACH: &str =
    "80 0e 1b 0002 01 10 20010db8000000000000000000000001 00 20 20010db8 00";

/// An attribute that no one knows.
const SENTINEL: u8 = 200;
