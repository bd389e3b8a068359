//! What a fault in an UPDATE costs: the table of RFC 7606, row by row, for every family.
//!
//! Behind each fault there are an attribute and routes that must still be found: who skips the wrong number of octets
//! resets the session over the next thing (frr#14129).

mod message;
mod table;

use bgp_wire::{DecodeContext, Family, FaultReason, Message, NextHop, UpdateMessage, decode};

use message::{From, MP_REACH, Routes, Verdict, attributes, frame, hex, update, verdict};

const ANNOUNCING: [Routes; 3] = [Routes::V4, Routes::V6, Routes::Both];

#[test]
fn every_fault_gets_its_verdict_in_every_family() {
    for (what, from, attribute, expected) in table::ROWS {
        let octets = hex(attribute);
        for (context, routes) in combinations(*from) {
            let frame = update(
                &[],
                &attributes(&context, routes, octets[1], &octets),
                routes,
            );
            assert_eq!(
                verdict(&frame, &context, routes),
                *expected,
                "{what}; {routes:?}, {context:?}"
            );
        }
    }
}

/// What an operator reads about each fault.
#[test]
fn every_fault_is_told_in_words() {
    let mut lines = String::new();
    for (what, from, attribute, _) in table::ROWS {
        let (context, octets) = (&from.contexts()[0], hex(attribute));
        let list = attributes(context, Routes::V4, octets[1], &octets);
        let text = match decode(&update(&[], &list, Routes::V4), context) {
            Ok(Message::Update(update)) if update.faults.is_empty() => "-".to_owned(),
            Ok(Message::Update(update)) => {
                let texts: Vec<String> = update.faults.iter().map(ToString::to_string).collect();
                texts.join(", ")
            }
            Ok(other) => panic!("{other:?}"),
            Err(notification) => notification.to_string(),
        };
        lines += &format!("{what:<46} {from:?}: {text}\n");
    }
    insta::assert_snapshot!(lines);
}

/// Section 5.2: what would withdraw routes ends the session when there are none; what would be discarded still is.
#[test]
fn a_fault_without_routes_ends_the_session_unless_it_is_discarded() {
    for (what, from, attribute, expected) in table::ROWS {
        // Only where there are routes must there be a path, and one that is not empty.
        if what.starts_with("AS_PATH: empty") {
            continue;
        }
        let octets = hex(attribute);
        for context in from.contexts() {
            let frame = update(
                &[],
                &attributes(&context, Routes::None, octets[1], &octets),
                Routes::None,
            );
            let verdict = verdict(&frame, &context, Routes::None);
            match expected {
                Verdict::Withdraw => assert!(matches!(verdict, Verdict::Reset(3, _)), "{what}"),
                expected => assert_eq!(verdict, *expected, "{what}"),
            }
        }
    }
}

#[test]
fn next_hops_matter_to_the_routes_that_use_them() {
    for (what, attribute, v4, v6) in table::NEXT_HOPS {
        for (context, routes) in combinations(From::Any) {
            let expected = if routes.has_v4() { v4 } else { v6 };
            let frame = update(
                &[],
                &attributes(&context, routes, 3, &hex(attribute)),
                routes,
            );
            assert_eq!(
                verdict(&frame, &context, routes),
                *expected,
                "{what}; {routes:?}"
            );
        }
    }
}

#[test]
fn a_missing_mandatory_attribute_withdraws() {
    for (context, routes) in combinations(From::Any) {
        for code in [1, 2] {
            let frame = update(&[], &attributes(&context, routes, code, &[]), routes);
            assert_eq!(
                verdict(&frame, &context, routes),
                Verdict::Withdraw,
                "{code}; {routes:?}"
            );
        }
        // LOCAL_PREF is not asked for, also from iBGP: no other fault than these.
        let frame = update(&[], &attributes(&context, routes, 4, &[]), routes);
        assert_eq!(verdict(&frame, &context, routes), Verdict::Keep);
    }
}

#[test]
fn routes_that_can_not_be_found_end_the_session() {
    for (what, attribute, expected) in table::MULTI_PROTOCOL {
        let octets = hex(attribute);
        for context in From::Any.contexts() {
            let frame = update(
                &[],
                &attributes(&context, Routes::V4, octets[1], &octets),
                Routes::V4,
            );
            assert_eq!(verdict(&frame, &context, Routes::V4), *expected, "{what}");
        }
    }
}

/// Section 3, item c: the routes are there, so that they can be withdrawn.
#[test]
fn wrong_flags_of_mp_reach_withdraw_its_routes() {
    for flags in [0x00, 0x40, 0xc0, 0xa0] {
        for (context, routes) in combinations(From::Any) {
            if routes == Routes::V4 {
                continue;
            }
            let mut octets = hex(MP_REACH);
            octets[0] = flags;
            let frame = update(&[], &attributes(&context, routes, 14, &octets), routes);
            assert_eq!(
                verdict(&frame, &context, routes),
                Verdict::Withdraw,
                "{flags:#x}"
            );
        }
    }
}

#[test]
fn an_impossible_next_hop_of_mp_reach_withdraws_its_routes() {
    for next_hop in [
        "00000000000000000000000000000000",
        "00000000000000000000000000000001",
        "ff020000000000000000000000000001",
    ] {
        let octets = hex(&MP_REACH.replace("20010db8000000000000000000000001", next_hop));
        for (context, routes) in combinations(From::Any) {
            if routes == Routes::V4 {
                continue;
            }
            let frame = update(&[], &attributes(&context, routes, 14, &octets), routes);
            assert_eq!(
                verdict(&frame, &context, routes),
                Verdict::Withdraw,
                "{next_hop}"
            );
        }
    }
}

/// Not section 5.2, which is about attributes other than MP_UNREACH_NLRI: nothing can be hidden here.
#[test]
fn wrong_flags_of_a_lone_mp_unreach_cost_nothing() {
    for flags in [0x00, 0x40, 0xc0] {
        for context in From::Any.contexts() {
            let attribute = [&[flags][..], &hex("0f 08 0002 01 20 20010db8")].concat();
            let update = decoded(&update(&[], &attribute, Routes::None), &context);
            assert_eq!(texts(&update), (vec![], vec!["2001:db8::/32".to_owned()]));
            assert_eq!(update.faults.len(), 1);
            assert_eq!(update.end_of_rib, None);
        }
    }
    // With anything beside it, something may be.
    let context = &From::External.contexts()[0];
    let beside = hex("c0 0f 08 0002 01 20 20010db8 40 01 01 00");
    assert_eq!(
        verdict(&update(&[], &beside, Routes::None), context, Routes::None),
        Verdict::Reset(3, 4)
    );
    let cut = hex("c0 0f 08 0002 01 20 20010db8 40 01 02 00");
    assert_eq!(
        verdict(&update(&[], &cut, Routes::None), context, Routes::None),
        Verdict::Reset(3, 4)
    );
}

/// Section 3, item g.
#[test]
fn of_duplicates_the_first_one_counts() {
    for (context, routes) in combinations(From::Any) {
        let twice = hex("40 01 01 01 40 01 01 02");
        let frame = update(&[], &attributes(&context, routes, 1, &twice), routes);
        assert_eq!(verdict(&frame, &context, routes), Verdict::Discard);
        let attributes_of = decoded(&frame, &context)
            .attributes
            .expect("there are routes");
        assert_eq!(attributes_of.origin, bgp_wire::Origin::Egp);
        // The second one is not looked at, so that a fault in it is none.
        let second_malformed = hex("40 01 01 01 40 01 01 09");
        let frame = update(
            &[],
            &attributes(&context, routes, 1, &second_malformed),
            routes,
        );
        assert_eq!(verdict(&frame, &context, routes), Verdict::Discard);
        let first_malformed = hex("40 01 01 09 40 01 01 01");
        let frame = update(
            &[],
            &attributes(&context, routes, 1, &first_malformed),
            routes,
        );
        assert_eq!(verdict(&frame, &context, routes), Verdict::Withdraw);
    }
}

#[test]
fn the_strongest_of_two_verdicts_counts() {
    let [discard, withdraw, reset] = ["40 06 01 00", "80 04 03 000000", "40 c9 01 00"].map(hex);
    for (context, routes) in combinations(From::Any) {
        let of = |faults: &[&[u8]]| {
            let frame = update(
                &[],
                &attributes(&context, routes, 0, &faults.concat()),
                routes,
            );
            verdict(&frame, &context, routes)
        };
        assert_eq!(of(&[&discard, &withdraw]), Verdict::Withdraw);
        assert_eq!(of(&[&withdraw, &discard]), Verdict::Withdraw);
        assert_eq!(of(&[&withdraw, &reset]), Verdict::Reset(3, 2));
        assert_eq!(of(&[&discard, &reset]), Verdict::Reset(3, 2));
    }
}

/// Section 4, and section 5.2 (frr#22563). What is behind cannot be told apart, and the routes are elsewhere.
#[test]
fn an_attribute_beyond_the_list_withdraws_what_is_announced() {
    for context in From::Any.contexts() {
        for tail in [
            "40 06 01",
            "40",
            "40 06",
            "d0 08 00",
            "d0 08 ffff",
            "40 06 20 00",
        ] {
            for routes in ANNOUNCING {
                let mut list = attributes(&context, routes, 0, &[]);
                list.extend(hex(tail));
                let frame = update(&[], &list, routes);
                assert_eq!(
                    verdict(&frame, &context, routes),
                    Verdict::Withdraw,
                    "{tail}; {routes:?}"
                );
            }
            let frame = update(&[], &hex(tail), Routes::None);
            assert_eq!(
                verdict(&frame, &context, Routes::None),
                Verdict::Reset(3, 1),
                "{tail}"
            );
            // Withdrawn routes are no reachable ones.
            let frame = update(&[8, 10], &hex(tail), Routes::None);
            assert_eq!(
                verdict(&frame, &context, Routes::None),
                Verdict::Reset(3, 1),
                "{tail}"
            );
        }
        // Routes that are cut off with the list can't be withdrawn.
        for tail in ["80 0e 20 0002", "80 0f 20 0002"] {
            let mut list = attributes(&context, Routes::V4, 0, &[]);
            list.extend(hex(tail));
            let frame = update(&[], &list, Routes::V4);
            assert_eq!(
                verdict(&frame, &context, Routes::V4),
                Verdict::Reset(3, 1),
                "{tail}"
            );
        }
    }
}

/// Section 5.3: what follows a route that can't be read can't be read either.
#[test]
fn routes_that_can_not_be_read_end_the_session() {
    for context in From::Any.contexts() {
        for routes in ["21 0a000000 00", "18 0a00", "08", "08 0a 20"] {
            let routes = hex(routes);
            let list = attributes(&context, Routes::V4, 0, &[]);
            let announced = [
                &[0, 0][..],
                &(list.len() as u16).to_be_bytes(),
                &list,
                &routes,
            ]
            .concat();
            assert_eq!(
                verdict(&frame(&announced), &context, Routes::V4),
                Verdict::Reset(3, 10),
                "{routes:?}"
            );
            let withdrawn = update(&routes, &[], Routes::None);
            assert_eq!(
                verdict(&withdrawn, &context, Routes::None),
                Verdict::Reset(3, 10),
                "{routes:?}"
            );
        }
    }
}

/// RFC 4760 section 7 lets a speaker ignore them; the rest of the UPDATE counts.
#[test]
fn routes_of_a_family_that_is_not_in_force_are_ignored() {
    for context in From::Any.contexts() {
        for attribute in ["80 0e 09 0019 46 04 c0000201 00", "80 0f 05 0019 46 0102"] {
            let octets = hex(attribute);
            let list = attributes(&context, Routes::V4, octets[1], &octets);
            let update = decoded(&update(&[], &list, Routes::V4), &context);
            assert_eq!(texts(&update).0, Routes::V4.prefixes());
            let reasons: Vec<FaultReason> =
                update.faults.iter().map(|fault| fault.reason).collect();
            assert_eq!(
                reasons,
                [FaultReason::FamilyNotNegotiated(Family::L2VPN_EVPN)]
            );
        }
        // It announces routes, if not for us: a fault beside it withdraws them, and does not end the session.
        let evpn = hex("80 0e 09 0019 46 04 c0000201 00 80 04 03 000000");
        let list = attributes(&context, Routes::None, 14, &evpn);
        let alone = decoded(&update(&[], &list, Routes::None), &context);
        assert_eq!(texts(&alone), (vec![], vec![]));
        let only_v6 = DecodeContext {
            families: [Family::IPV6_UNICAST].into(),
            ..context
        };
        let list = attributes(&only_v6, Routes::Both, 0, &[]);
        let update = decoded(&update(&[8, 10], &list, Routes::Both), &only_v6);
        assert_eq!(texts(&update), (Routes::V6.prefixes(), vec![]));
    }
}

/// RFC 4271 section 5: the bit tells that someone on the way did not understand the attribute.
#[test]
fn an_unknown_transitive_attribute_goes_on_as_partial_and_others_stay_here() {
    let context = &From::External.contexts()[0];
    for (attribute, kept) in [
        ("c0 c9 01 07", true),
        ("e0 c9 01 07", true),
        ("80 c9 01 07", false),
    ] {
        let frame = update(
            &[],
            &attributes(context, Routes::V4, 201, &hex(attribute)),
            Routes::V4,
        );
        let attributes = decoded(&frame, context)
            .attributes
            .expect("there are routes");
        let found = attributes.unknown.iter().find(|it| it.code == 201);
        let expected = kept.then_some((0xe0, &[7][..]));
        assert_eq!(
            found.map(|it| (it.flags, &it.value[..])),
            expected,
            "{attribute}"
        );
    }
}

#[test]
fn the_next_hop_stays_with_its_routes() {
    let context = &From::External.contexts()[0];
    let frame = update(
        &[],
        &attributes(context, Routes::Both, 0, &[]),
        Routes::Both,
    );
    let hops: Vec<NextHop> = decoded(&frame, context)
        .reach
        .iter()
        .map(|reach| reach.next_hop)
        .collect();
    let v6: std::net::IpAddr = "2001:db8::1".parse().unwrap();
    assert_eq!(hops, [NextHop::V4([192, 0, 2, 1].into()), v6.into()]);
}

fn combinations(from: From) -> Vec<(DecodeContext, Routes)> {
    let contexts = from.contexts();
    contexts
        .iter()
        .flat_map(|context| ANNOUNCING.map(|routes| (context.clone(), routes)))
        .collect()
}

fn decoded(frame: &[u8], context: &DecodeContext) -> UpdateMessage {
    match decode(frame, context) {
        Ok(Message::Update(update)) => update,
        other => panic!("{other:?}"),
    }
}

/// Announced and withdrawn prefixes.
fn texts(update: &UpdateMessage) -> (Vec<String>, Vec<String>) {
    let reached = update.reach.iter().flat_map(|reach| &reach.nlri);
    let gone = update.unreach.iter().flat_map(|unreach| &unreach.nlri);
    (
        reached.map(|route| route.prefix.to_string()).collect(),
        gone.map(|route| route.prefix.to_string()).collect(),
    )
}
