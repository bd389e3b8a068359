//! ExaBGP's own test messages: what its authors thought worth checking, read here.
//!
//! They are not part of the repository: they lie in `../shared/vectors/exabgp` beside the workspace. Without them this
//! test says so and passes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bgp_wire::{
    Capability, DecodeContext, EncodeContext, Family, FaultReason, Message, SessionType,
    UpdateMessage, decode, encode_attributes, encode_end_of_rib, pack_reach, pack_unreach,
};

/// Messages that are not fine, by file and line, and why: all other ones are, but for families that are not read here.
const REFUSED: [(&str, &str); 5] = [
    (
        "conf-attributes.ci:10",
        "NEXT_HOP: invalid next hop; routes withdrawn",
    ), // 255.255.255.255
    (
        "conf-generic-attribute.ci:6",
        "UPDATE Message Error/Unrecognized Well-known Attribute",
    ),
    (
        "conf-generic-attribute.ci:9",
        "UPDATE Message Error/Unrecognized Well-known Attribute",
    ),
    (
        "conf-ipself4.ci:3",
        "NEXT_HOP: invalid next hop; routes withdrawn",
    ), // 127.0.0.1
    (
        "conf-ipself6.ci:4",
        "MP_REACH_NLRI: invalid next hop; routes withdrawn",
    ), // ::1
];

#[test]
fn messages_of_exabgps_tests_are_understood() {
    let Some(messages) = messages() else { return };
    let mut refused = BTreeMap::new();
    let mut understood = 0;
    for (name, octets) in &messages {
        match decode(octets, &context()) {
            Ok(Message::Update(update)) => {
                let faults = update.faults.iter();
                let own = faults
                    .filter(|fault| !matches!(fault.reason, FaultReason::FamilyNotNegotiated(_)));
                let texts: Vec<String> = own.map(ToString::to_string).collect();
                if texts.is_empty() {
                    understood += 1;
                    assert_eq!(again(&update), without_faults(update), "{name}");
                } else {
                    refused.insert(name.as_str(), texts.join(", "));
                }
            }
            Ok(_) => understood += 1,
            Err(notification) => drop(refused.insert(name, notification.to_string())),
        }
    }
    let expected = REFUSED.map(|(name, text)| (name, text.to_owned()));
    assert_eq!(refused, BTreeMap::from(expected));
    assert!(understood > 140, "{understood}");
}

#[test]
fn capabilities_of_exabgps_tests_are_understood() {
    let Some(messages) = messages() else { return };
    let capabilities = |name: &str| {
        let (_, octets) = messages
            .iter()
            .find(|(other, _)| other == name)
            .expect("it is there");
        match decode(octets, &context()) {
            Ok(Message::Open(open)) => open.capabilities,
            other => panic!("{other:?}"),
        }
    };
    let name = Capability::Fqdn {
        hostname: "my-host-name".into(),
        domain: "my-domain-name.com".into(),
    };
    assert_eq!(capabilities("conf-hostname.ci:3").last(), Some(&name));
    let version = Capability::SoftwareVersion("ExaBGP/5.0.0-0+test".into());
    assert_eq!(
        capabilities("conf-cap-software-version.ci:3").last(),
        Some(&version)
    );
}

/// All `raw` lines, by file and line.
fn messages() -> Option<Vec<(String, Vec<u8>)>> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/exabgp/encoding");
    let Ok(entries) = fs::read_dir(&root) else {
        eprintln!("SKIPPED: no vectors in {}", root.display());
        return None;
    };
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable").path())
        .collect();
    files.sort();
    let mut messages = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("readable");
        let name = file
            .file_name()
            .expect("a file")
            .to_string_lossy()
            .into_owned();
        for (number, line) in (1..).zip(text.lines()) {
            if let Some((_, raw)) = line.split_once(":raw:") {
                messages.push((format!("{name}:{number}"), hex(raw)));
            }
        }
    }
    Some(messages)
}

/// Hexadecimal, with colons between the fields.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter_map(|it| it.to_digit(16))
        .map(|it| it as u8)
        .collect();
    let (pairs, rest) = digits.as_chunks::<2>();
    assert!(rest.is_empty(), "{text}");
    pairs.iter().map(|[high, low]| high << 4 | low).collect()
}

/// Most of the sessions are iBGP; that of the others makes no difference here.
fn context() -> DecodeContext {
    DecodeContext {
        session: SessionType::Internal,
        four_octet_asn: true,
        families: [Family::IPV4_UNICAST, Family::IPV6_UNICAST].into(),
        ..DecodeContext::default()
    }
}

/// Written and read once more.
fn again(update: &UpdateMessage) -> UpdateMessage {
    let encode = EncodeContext {
        four_octet_asn: true,
        ..EncodeContext::default()
    };
    let mut frames = Vec::new();
    let mut keep = |frame| frames.push(frame);
    for unreach in &update.unreach {
        pack_unreach(unreach.family, &unreach.nlri, &encode, &mut keep).expect("it was read");
    }
    for reach in &update.reach {
        let attributes = update.attributes.as_ref().expect("there are routes");
        let block = encode_attributes(attributes, &encode);
        pack_reach(
            reach.family,
            &reach.next_hop,
            &block,
            &reach.nlri,
            &encode,
            &mut keep,
        )
        .expect("it was read");
    }
    if let Some(family) = update.end_of_rib {
        keep(encode_end_of_rib(family));
    }
    let mut whole = UpdateMessage::default();
    for frame in frames {
        let Ok(Message::Update(part)) = decode(&frame, &context()) else {
            panic!("{frame:?}")
        };
        whole.attributes = part.attributes.or(whole.attributes);
        whole.reach.extend(part.reach);
        whole.unreach.extend(part.unreach);
        whole.end_of_rib = part.end_of_rib.or(whole.end_of_rib);
    }
    whole
}

fn without_faults(update: UpdateMessage) -> UpdateMessage {
    UpdateMessage {
        faults: Vec::new(),
        ..update
    }
}
