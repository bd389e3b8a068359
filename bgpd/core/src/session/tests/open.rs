//! OPEN messages: what is refused and with which NOTIFICATION, and what is agreed on (RFC 4271 section 6.2).

use super::*;

/// What a peer that sends `frame` as its first message is told; checks that nothing follows.
fn refusal_of(settings: PeerSettings, frame: Bytes) -> NotificationMessage {
    let mut bench = Bench::passive(settings);
    let connection = bench.accept();
    let actions = bench.receive(connection, frame);
    let mut sent = notified(&actions);
    assert_eq!(sent.len(), 1, "{:?}", show(&actions));
    let sent = sent.remove(0);
    let expected = [
        format!("{connection} NOTIFICATION {}/{}", sent.code, sent.subcode),
        format!("{connection} close"),
        "OpenSent -> Active".to_owned(),
    ];
    assert_eq!(show(&actions), expected);
    // Nothing after it, whatever still arrives.
    assert_eq!(
        show(&bench.receive(connection, message::keepalive())),
        [""; 0]
    );
    let failure = bench.peer.status().last_failure.unwrap();
    assert_eq!(
        (failure.code, failure.subcode),
        (Some(sent.code), Some(sent.subcode))
    );
    sent
}

fn refused(open: &OpenMessage) -> (u8, u8) {
    let sent = refusal_of(settings(), message::open(open));
    (sent.code, sent.subcode)
}

fn ebgp_with(capabilities: Vec<Capability>) -> OpenMessage {
    open_with(capabilities)
}

#[test]
fn unsupported_version_is_told_which_one_we_speak() {
    let mut frame = message::open(&peer_open()).to_vec();
    frame[19] = 5;
    let sent = refusal_of(settings(), Bytes::from(frame));
    assert_eq!(
        (sent.code, sent.subcode, &sent.data[..]),
        (2, 1, &[0, 4][..])
    );
}

#[test]
fn wrong_as_number_is_refused() {
    let capable = ebgp_with(vec![Capability::FourOctetAsn(Asn(65003))]);
    assert_eq!(refused(&capable), (2, 2));
    assert_eq!(
        refused(&OpenMessage {
            asn: Asn(65003),
            ..open_with(Vec::new())
        }),
        (2, 2)
    );
    // Case 32: AS 0 in the capability.
    assert_eq!(
        refused(&ebgp_with(vec![Capability::FourOctetAsn(Asn(0))])),
        (2, 2)
    );
}

#[test]
fn identifier_zero_is_refused_and_any_other_is_fine() {
    let zero = OpenMessage {
        router_id: RouterId::from(Ipv4Addr::UNSPECIFIED),
        ..peer_open()
    };
    assert_eq!(refused(&zero), (2, 3));
    for unusual in [[240, 0, 0, 1], [224, 1, 1, 1], [255, 255, 255, 255]] {
        let mut bench = Bench::passive(settings());
        let router_id = RouterId::from(Ipv4Addr::from(unusual));
        bench.establish(&OpenMessage {
            router_id,
            ..peer_open()
        });
    }
}

#[test]
fn own_identifier_is_refused_inside_the_as_only() {
    let internal = PeerSettings {
        remote_asn: LOCAL_ASN,
        ..settings()
    };
    let open = OpenMessage {
        asn: Asn(65001),
        router_id: router_id(1),
        ..open_with(vec![Capability::FourOctetAsn(LOCAL_ASN)])
    };
    let sent = refusal_of(internal, message::open(&open));
    assert_eq!((sent.code, sent.subcode), (2, 3));
    // RFC 6286 section 2.1: unique within an AS.
    Bench::passive(settings()).establish(&OpenMessage {
        router_id: router_id(1),
        ..peer_open()
    });
}

#[test]
fn hold_times_of_one_and_two_seconds_are_refused() {
    for hold_time in [1, 2] {
        assert_eq!(
            refused(&OpenMessage {
                hold_time,
                ..peer_open()
            }),
            (2, 6)
        );
        assert!(HoldTime::new(hold_time).is_err());
    }
    for hold_time in [0, 3] {
        Bench::passive(settings()).establish(&OpenMessage {
            hold_time,
            ..peer_open()
        });
        assert!(HoldTime::new(hold_time).is_ok());
    }
}

#[test]
fn no_common_family_is_told_what_we_need() {
    // Case 29: exactly one NOTIFICATION and no KEEPALIVE; `refusal_of` checks it.
    let evpn = Family::L2VPN_EVPN;
    let open = ebgp_with(vec![Capability::MultiProtocol(evpn)]);
    let sent = refusal_of(settings(), message::open(&open));
    assert_eq!((sent.code, sent.subcode), (2, 7));
    // RFC 5492 section 5: the capabilities, encoded as in an OPEN.
    assert_eq!(&sent.data[..], [1, 4, 0, 1, 0, 1, 1, 4, 0, 2, 0, 1]);
}

#[test]
fn peer_without_multiprotocol_speaks_ipv4_unicast() {
    for capabilities in [Vec::new(), vec![Capability::RouteRefresh]] {
        let mut bench = Bench::passive(settings());
        bench.establish(&open_with(capabilities));
        assert_eq!(bench.negotiated().families, [Family::IPV4_UNICAST]);
    }
    let only_v6 = PeerSettings {
        families: vec![Family::IPV6_UNICAST],
        ..settings()
    };
    let sent = refusal_of(only_v6, message::open(&open_with(Vec::new())));
    assert_eq!((sent.code, sent.subcode), (2, 7));
}

#[test]
fn families_are_those_that_both_list() {
    let mut bench = Bench::passive(settings());
    bench.establish(&ebgp_with(vec![
        Capability::MultiProtocol(Family::L2VPN_EVPN),
        Capability::MultiProtocol(Family::IPV6_UNICAST),
    ]));
    assert_eq!(bench.negotiated().families, [Family::IPV6_UNICAST]);
}

#[test]
fn unknown_capabilities_are_tolerated() {
    // Case 27.
    let mut bench = Bench::passive(settings());
    let mut open = peer_open();
    let capabilities: [(u8, &[u8]); 5] = [
        (67, &[1, 2]),
        (71, &[]),
        (73, &[1, b'r', 0]),
        (75, &[1, b'w']),
        (239, &[1, 2]),
    ];
    for (code, value) in capabilities {
        open.capabilities.push(Capability::Unknown {
            code,
            value: Bytes::copy_from_slice(value),
        });
    }
    bench.establish(&open);
}

#[test]
fn peer_without_four_octet_as_numbers_interoperates() {
    // Case 31.
    let mut bench = Bench::passive(PeerSettings {
        local_asn: Asn(4_200_000_000),
        ..settings()
    });
    let connection = bench.connection();
    let actions = bench.handle(PeerEvent::Accepted {
        connection,
        local_address: LOCAL_ADDRESS,
    });
    let PeerAction::Send { bytes, .. } = &actions[0] else {
        panic!("{:?}", show(&actions))
    };
    // My AS: AS_TRANS (RFC 6793 section 4.2.2).
    assert_eq!(&bytes[20..22], 23456_u16.to_be_bytes());
    bench.receive(connection, message::open(&open_with(Vec::new())));
    bench.receive(connection, message::keepalive());
    assert_eq!(bench.state(), SessionState::Established);
    assert!(!bench.negotiated().four_octet_asn);
}

#[test]
fn extended_messages_need_both_sides() {
    for (ours, theirs) in [(true, true), (true, false), (false, true)] {
        let mut bench = Bench::passive(PeerSettings {
            extended_messages: ours,
            ..settings()
        });
        let mut open = peer_open();
        if !theirs {
            open.capabilities
                .retain(|capability| *capability != Capability::ExtendedMessage);
        }
        let connection = bench.accept();
        let actions = show(&bench.receive(connection, message::open(&open)));
        let allowed = actions.contains(&format!("{connection} allow extended"));
        assert_eq!(allowed, ours && theirs);
        assert_eq!(bench.negotiated().extended_messages, ours && theirs);
    }
}

#[test]
fn add_path_is_what_one_sends_and_the_other_receives() {
    use AddPathMode::{Both, Receive, Send};
    let family = Family::IPV4_UNICAST;
    for (ours, theirs, agreed) in [
        (Both, Both, Some(Both)),
        (Send, Receive, Some(Send)),
        (Both, Send, Some(Receive)),
        (Receive, Receive, None),
        (Send, Send, None),
    ] {
        let mut bench = Bench::passive(PeerSettings {
            add_path: vec![(family, ours)],
            ..settings()
        });
        let mut open = peer_open();
        open.capabilities.push(Capability::AddPath(vec![(
            family,
            negotiation::on_the_wire(theirs),
        )]));
        bench.establish(&open);
        assert_eq!(
            bench.negotiated().add_path(family),
            agreed,
            "{ours:?} {theirs:?}"
        );
    }
}

#[test]
fn refresh_needs_the_capability_and_the_family() {
    let mut bench = Bench::passive(settings());
    let connection = bench.establish(&peer_open());
    let family = Family::IPV6_UNICAST;
    let actions = bench.handle(PeerEvent::RequestRefresh { family });
    assert_eq!(show(&actions), [format!("{connection} ROUTE-REFRESH")]);
    let other = PeerEvent::RequestRefresh {
        family: Family::L2VPN_EVPN,
    };
    assert_eq!(show(&bench.handle(other)), [""; 0]);

    let mut bench = Bench::passive(settings());
    bench.establish(&open_with(Vec::new()));
    let family = Family::IPV4_UNICAST;
    assert_eq!(
        show(&bench.handle(PeerEvent::RequestRefresh { family })),
        [""; 0]
    );
}

#[test]
fn refresh_from_the_peer_is_answered_for_negotiated_families() {
    // Case 79.
    let mut bench = Bench::passive(settings());
    let connection = bench.establish(&peer_open());
    for (family, answered) in [
        (Family::IPV4_UNICAST, true),
        (Family::IPV6_UNICAST, true),
        (Family::L2VPN_EVPN, false),
    ] {
        let frame = message::route_refresh(family, RefreshSubtype::Normal);
        let actions = bench.receive(connection, frame);
        assert_eq!(actions.len(), usize::from(answered), "{family}");
    }
}

#[test]
fn subtype_counts_only_where_enhanced_refresh_was_agreed_on() {
    for enhanced in [true, false] {
        let mut open = peer_open();
        if !enhanced {
            open.capabilities
                .retain(|capability| *capability != Capability::EnhancedRouteRefresh);
        }
        let mut bench = Bench::passive(settings());
        let connection = bench.establish(&open);
        let frame = message::route_refresh(Family::IPV4_UNICAST, RefreshSubtype::Begin);
        let expected = if enhanced { "Begin" } else { "Normal" };
        let actions = show(&bench.receive(connection, frame));
        assert_eq!(actions, [format!("refresh ipv4-unicast {expected}")]);
    }
}

#[test]
fn peer_that_refuses_capabilities_is_tried_without() {
    // RFC 5492 section 3.
    let mut bench = Bench::new(settings());
    bench.handle(PeerEvent::Start);
    let connection = bench.dial();
    bench.receive(connection, notification(2, 4));
    bench.advance(bench.patience());
    let connection = bench.connection();
    let actions = bench.handle(PeerEvent::Dialed {
        connection,
        local_address: LOCAL_ADDRESS,
    });
    let PeerAction::Send { bytes, .. } = &actions[0] else {
        panic!("{:?}", show(&actions))
    };
    assert_eq!((bytes.len(), bytes[28]), (29, 0), "no optional parameters");
    bench.receive(connection, message::open(&open_with(Vec::new())));
    bench.receive(connection, message::keepalive());
    assert_eq!(bench.negotiated().families, [Family::IPV4_UNICAST]);
}

#[test]
fn nothing_that_was_not_offered_is_agreed_on() {
    let mut bench = Bench::new(settings());
    bench.handle(PeerEvent::Start);
    let connection = bench.dial();
    bench.receive(connection, notification(2, 4));
    // The peer refuses our capabilities and yet sends its own.
    let connection = bench.dial();
    bench.receive(connection, message::open(&peer_open()));
    let negotiated = bench.negotiated();
    assert_eq!(negotiated.families, [Family::IPV4_UNICAST]);
    assert!(!negotiated.four_octet_asn && !negotiated.extended_messages);
    assert!(!negotiated.route_refresh && !negotiated.enhanced_refresh);
}

#[test]
fn unexpected_messages_are_told_the_state() {
    // RFC 6608: 1 in OpenSent, 2 in OpenConfirm, 3 in Established.
    let update = message::end_of_rib(Family::IPV4_UNICAST);
    for frame in [message::keepalive(), update.clone()] {
        let sent = refusal_of(settings(), frame);
        assert_eq!((sent.code, sent.subcode), (5, 1));
    }
    for frame in [message::open(&peer_open()), update] {
        let mut bench = Bench::passive(settings());
        let connection = bench.confirm(&peer_open());
        let sent = notified(&bench.receive(connection, frame)).remove(0);
        assert_eq!((sent.code, sent.subcode), (5, 2));
    }
    let mut bench = Bench::passive(settings());
    let connection = bench.establish(&peer_open());
    let sent = notified(&bench.receive(connection, message::open(&peer_open()))).remove(0);
    assert_eq!((sent.code, sent.subcode), (5, 3));
}

#[test]
fn framing_error_is_passed_on_to_the_peer() {
    let mut bench = Bench::passive(settings());
    let connection = bench.establish(&peer_open());
    let data = Bytes::from_static(&[0, 20]);
    let notification = NotificationMessage {
        code: 1,
        subcode: 2,
        data,
    };
    let event = PeerEvent::Malformed {
        connection,
        notification: notification.clone(),
    };
    let actions = bench.handle(event);
    assert_eq!(notified(&actions), [notification]);
    assert!(down(&actions).is_some());
}

#[test]
fn messages_are_counted_by_type() {
    let mut bench = Bench::passive(settings());
    let connection = bench.establish(&peer_open());
    bench.receive(connection, message::end_of_rib(Family::IPV4_UNICAST));
    bench.handle(PeerEvent::UpdatesSent {
        epoch: Epoch(1),
        messages: 7,
    });
    let status = bench.peer.status();
    assert_eq!(
        (
            status.received.open,
            status.received.keepalive,
            status.received.update
        ),
        (1, 1, 1)
    );
    assert_eq!(
        (status.sent.open, status.sent.keepalive, status.sent.update),
        (1, 1, 7)
    );
}
