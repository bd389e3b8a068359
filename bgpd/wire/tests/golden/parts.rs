//! A message taken apart into what it says, without how it is arranged: written for the comparison, not with the codec.

/// The parts of an OPEN or UPDATE, sorted: what RFC 4271 and RFC 5492 let a speaker arrange as it likes.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Parts {
    /// What has its place: all fixed fields.
    fixed: Vec<u8>,
    /// Capabilities, or attributes as flags, code and value, without the bit that says how long the length field is.
    listed: Vec<Vec<u8>>,
    /// Withdrawn and announced routes of the message's own fields.
    routes: [Vec<u8>; 2],
}

/// Takes a whole, well-formed message apart.
pub(crate) fn of(message: &[u8]) -> Parts {
    let (header, body) = message.split_at(19);
    match header[18] {
        1 => open(body),
        2 => update(body),
        kind => panic!("messages of type {kind} have one form"),
    }
}

fn open(body: &[u8]) -> Parts {
    let (fixed, mut parameters) = body.split_at(10);
    let mut listed = Vec::new();
    while let [2, length, rest @ ..] = parameters {
        let (mut value, behind) = rest.split_at(usize::from(*length));
        while !value.is_empty() {
            let (capability, next) = value.split_at(2 + usize::from(value[1]));
            listed.push(capability.to_vec());
            value = next;
        }
        parameters = behind;
    }
    assert!(parameters.is_empty(), "not only capabilities");
    listed.sort();
    // Without the length of the parameters, which depends on how they are packed.
    Parts {
        fixed: fixed[..9].to_vec(),
        listed,
        routes: Default::default(),
    }
}

fn update(body: &[u8]) -> Parts {
    let (withdrawn, rest) = prefixed(body);
    let (mut attributes, announced) = prefixed(rest);
    let mut listed = Vec::new();
    while let [flags, code, ..] = *attributes {
        let (value, behind) = if flags & 0x10 == 0 {
            attributes[3..].split_at(usize::from(attributes[2]))
        } else {
            prefixed(&attributes[2..])
        };
        listed.push([&[flags & !0x10, code], value].concat());
        attributes = behind;
    }
    listed.sort();
    Parts {
        fixed: Vec::new(),
        listed,
        routes: [withdrawn.to_vec(), announced.to_vec()],
    }
}

/// A field with two octets of length in front, and what is behind it.
fn prefixed(octets: &[u8]) -> (&[u8], &[u8]) {
    let length = usize::from(u16::from_be_bytes([octets[0], octets[1]]));
    octets[2..].split_at(length)
}
