//! Generated messages come back as they were.

use bgp_wire::{
    Attributes, DecodeContext, EncodeContext, Family, FamilySet, HEADER_LENGTH, Message, Nlri,
    SessionType, UpdateMessage, decode, encode_attributes, encode_notification, encode_open,
    encode_route_refresh, pack_reach, pack_unreach,
};
use proptest::prelude::*;

use crate::generate;

proptest! {
    #[test]
    fn opens(open in generate::open()) {
        let frame = encode_open(&open);
        prop_assert!(frame.len() <= 4096);
        prop_assert_eq!(decode(&frame, &DecodeContext::default()), Ok(Message::Open(open)));
    }

    #[test]
    fn notifications(notification in generate::notification()) {
        let frame = encode_notification(&notification);
        prop_assert_eq!(decode(&frame, &DecodeContext::default()), Ok(Message::Notification(notification)));
    }

    #[test]
    fn refreshes(refresh in generate::refresh()) {
        let frame = encode_route_refresh(&refresh);
        prop_assert_eq!(decode(&frame, &DecodeContext::default()), Ok(Message::RouteRefresh(refresh)));
    }

    #[test]
    fn announcements(
        attributes in generate::attributes(),
        (family, next_hop, nlri) in generate::routes(),
        session in generate::session(),
        features in generate::features(),
    ) {
        let attributes = as_sent(attributes, session);
        let contexts = Contexts::new(session, features);
        let nlri = contexts.routes(family, nlri);
        let block = encode_attributes(&attributes, &contexts.encode);
        let mut frames = Vec::new();
        pack_reach(family, &next_hop, &block, &nlri, &contexts.encode, &mut |frame| frames.push(frame)).unwrap();

        let (mut seen, mut room) = (Vec::new(), 0);
        for frame in &frames {
            let update = contexts.update(frame)?;
            prop_assert_eq!(update.faults, vec![]);
            prop_assert_eq!(update.attributes, Some(attributes.clone()));
            prop_assert_eq!(update.unreach, vec![]);
            prop_assert_eq!(update.end_of_rib, None);
            let [reach] = &update.reach[..] else { panic!("{:?}", update.reach) };
            prop_assert_eq!((reach.family, reach.next_hop), (family, next_hop));
            // As few messages as possible: what begins this one did not fit into the one before.
            prop_assert!(room < contexts.length(&reach.nlri[0]), "{} octets left", room);
            room = contexts.encode.max_message_length() - frame.len();
            seen.extend(reach.nlri.iter().copied());
        }
        prop_assert_eq!(seen, nlri);
    }

    #[test]
    fn withdrawals(
        (family, _, nlri) in generate::routes(),
        session in generate::session(),
        features in generate::features(),
    ) {
        let contexts = Contexts::new(session, features);
        let nlri = contexts.routes(family, nlri);
        let mut frames = Vec::new();
        pack_unreach(family, &nlri, &contexts.encode, &mut |frame| frames.push(frame)).unwrap();

        let (mut seen, mut room) = (Vec::new(), 0);
        for frame in &frames {
            let update = contexts.update(frame)?;
            prop_assert_eq!((update.attributes, update.reach, update.faults), (None, vec![], vec![]));
            prop_assert_eq!(update.end_of_rib, None);
            let [unreach] = &update.unreach[..] else { panic!("{:?}", update.unreach) };
            prop_assert_eq!(unreach.family, family);
            prop_assert!(room < contexts.length(&unreach.nlri[0]), "{} octets left", room);
            room = contexts.encode.max_message_length() - frame.len();
            seen.extend(unreach.nlri.iter().copied());
        }
        prop_assert_eq!(seen, nlri);
    }
}

/// What an eBGP peer must not be told is not sent to it, and a path to it is not empty.
fn as_sent(attributes: Attributes, session: SessionType) -> Attributes {
    if session == SessionType::Internal {
        return attributes;
    }
    let mut attributes = Attributes {
        local_pref: None,
        originator_id: None,
        cluster_list: Default::default(),
        aigp: None,
        prefix_sid: None,
        ..attributes
    };
    let partial = attributes.partial;
    let kept = (0..64)
        .filter(|&code| partial.contains(code) && code != bgp_wire::attribute_code::PREFIX_SID);
    attributes.partial = kept.collect();
    attributes.as_path.prepend(bgp_wire::Asn(65001), 1);
    attributes
}

/// Both ends of a session.
struct Contexts {
    encode: EncodeContext,
    decode: DecodeContext,
}

impl Contexts {
    fn new(session: SessionType, features: generate::Features) -> Self {
        let both = FamilySet::from([Family::IPV4_UNICAST, Family::IPV6_UNICAST]);
        let generate::Features {
            four_octet_asn,
            extended_messages,
            add_path,
        } = features;
        let add_path = if add_path {
            both.clone()
        } else {
            FamilySet::new()
        };
        Self {
            encode: EncodeContext {
                four_octet_asn,
                extended_messages,
                add_path_send: add_path.clone(),
                extended_next_hop: both.clone(),
            },
            decode: DecodeContext {
                session,
                four_octet_asn,
                extended_messages,
                families: both.clone(),
                add_path_receive: add_path,
                extended_next_hop: both,
            },
        }
    }

    /// Without path identifiers where there are none on the wire.
    fn routes(&self, family: Family, mut nlri: Vec<Nlri>) -> Vec<Nlri> {
        if !self.encode.add_path_send.contains(family) {
            nlri.iter_mut().for_each(|route| route.path_id = 0);
        }
        nlri
    }

    /// Octets of a route.
    fn length(&self, route: &Nlri) -> usize {
        let path_id = if self.encode.add_path_send.is_empty() {
            0
        } else {
            4
        };
        path_id + 1 + usize::from(route.prefix.prefix_len()).div_ceil(8)
    }

    fn update(&self, frame: &[u8]) -> Result<UpdateMessage, TestCaseError> {
        prop_assert!((HEADER_LENGTH + 4..=self.encode.max_message_length()).contains(&frame.len()));
        match decode(frame, &self.decode) {
            Ok(Message::Update(update)) => Ok(update),
            other => Err(TestCaseError::fail(format!("{other:?}"))),
        }
    }
}
