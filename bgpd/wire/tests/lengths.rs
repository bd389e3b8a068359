//! Every length field of every message, with every kind of wrong value.
//!
//! A message is written with its length fields in brackets, and with the lengths of prefixes, which count bits, in braces.
//! Each is set to zero, one less, one more, and the most it can hold; nothing of it may pass unnoticed.

use bgp_wire::{DecodeContext, Family, Framer, Message, NotificationMessage, decode};

/// Without ROUTE-REFRESH, whose `02 00` would pass for an empty parameter behind one that is made empty.
const OPEN: &str = "ffffffffffffffffffffffffffffffff [0056] 01
    04 fde9 00b4 0a000001 [39]
    02 [06]  01 [04] 0001 00 01
    02 [08]  05 [06] 0001 0001 0002
    02 [02]  06 [00]
    02 [03]  09 [01] 03
    02 [0c]  40 [0a] 0078 0001 01 00 0002 01 00
    02 [06]  41 [04] 0000fde9
    02 [06]  45 [04] 0001 01 03";

const OPEN_EXTENDED: &str = "ffffffffffffffffffffffffffffffff [0035] 01
    04 fde9 00b4 0a000001 ff ff [0015]
    02 [0006]  41 [04] 0000fde9
    02 [0009]  47 [07] 0001 01 00 000e10";

const UPDATE: &str = "ffffffffffffffffffffffffffffffff [0062] 02
    [0004] {18} 0a0b0c
    [0043]
    80 0e [1a] 0002 01 [10] 20010db8000000000000000000000001 00 {20} 20010db8
    80 0f [08] 0002 01 {20} 20010db9
    40 01 [01] 00
    40 02 [06] 02 [01] 0000fdea
    40 03 [04] c0000201
    c0 08 [04] fdea0001
    {18} cb0071";

const KEEPALIVE: &str = "ffffffffffffffffffffffffffffffff [0013] 04";
const ROUTE_REFRESH: &str = "ffffffffffffffffffffffffffffffff [0017] 05 0001 01 01";
const NOTIFICATION: &str = "ffffffffffffffffffffffffffffffff [0015] 03 06 04";

#[test]
fn no_wrong_length_passes_unnoticed() {
    let mut fields = 0;
    for text in [
        OPEN,
        OPEN_EXTENDED,
        UPDATE,
        KEEPALIVE,
        ROUTE_REFRESH,
        NOTIFICATION,
    ] {
        let marked = Marked::parse(text);
        assert!(!is_noticed(&marked.octets), "right as it is: {text}");
        for field in &marked.fields {
            for wrong in field.wrong_values(&marked.octets) {
                let mut octets = marked.octets.clone();
                field.write(&mut octets, wrong);
                assert!(
                    is_noticed(&octets),
                    "{wrong:#x} at octet {} of {text}",
                    field.at
                );
                fields += 1;
            }
        }
    }
    assert!(fields > 100, "{fields}");
}

/// The length of the header is all that the framer sees.
#[test]
fn the_framer_refuses_a_length_that_its_type_can_not_have() {
    for (text, wrong) in [
        (OPEN, [0, 28, 4097]),
        (UPDATE, [18, 22, 4097]),
        (KEEPALIVE, [18, 20, 65535]),
        (ROUTE_REFRESH, [19, 22, 4097]),
        (NOTIFICATION, [19, 20, 4097]),
    ] {
        let marked = Marked::parse(text);
        for length in wrong {
            let mut octets = marked.octets.clone();
            marked.fields[0].write(&mut octets, length);
            let mut framer = Framer::new();
            framer.push(&octets);
            let refusal = NotificationMessage::bad_message_length(length as u16);
            assert_eq!(framer.next_frame(), Err(refusal), "{text}");
        }
    }
}

/// A text may be cut short by its length, but is never read beyond the message (RFC 9003).
#[test]
fn the_length_of_a_shutdown_text_is_bounded_by_the_message() {
    let text = |length| NotificationMessage::with_data(6, 2, &[length, b'b', b'y', b'e']);
    assert_eq!(text(3).text(), Some("bye"));
    assert_eq!(text(2).text(), Some("by"));
    assert_eq!(text(0).text(), None);
    assert_eq!(text(4).text(), None);
    assert_eq!(text(255).text(), None);
}

fn is_noticed(octets: &[u8]) -> bool {
    let context = DecodeContext {
        four_octet_asn: true,
        families: [Family::IPV4_UNICAST, Family::IPV6_UNICAST].into(),
        ..DecodeContext::default()
    };
    match decode(octets, &context) {
        Err(_) => true,
        Ok(Message::Update(update)) => !update.faults.is_empty(),
        Ok(_) => false,
    }
}

/// A message, and where its length fields are.
struct Marked {
    octets: Vec<u8>,
    fields: Vec<Field>,
}

struct Field {
    at: usize,
    width: usize,
    /// Counts bits, of which up to seven make no difference to the octets.
    bits: bool,
}

impl Marked {
    fn parse(text: &str) -> Self {
        let (mut octets, mut fields) = (Vec::new(), Vec::new());
        let mut half = None;
        for character in text.chars() {
            match character {
                '[' | '{' => fields.push(Field {
                    at: octets.len(),
                    width: 0,
                    bits: character == '{',
                }),
                ']' | '}' => {
                    let field: &mut Field = fields.last_mut().expect("it was opened");
                    field.width = octets.len() - field.at;
                }
                _ => {
                    let Some(digit) = character.to_digit(16) else {
                        continue;
                    };
                    half = match half {
                        None => Some(digit << 4),
                        Some(high) => {
                            octets.push((high | digit) as u8);
                            None
                        }
                    };
                }
            }
        }
        Self { octets, fields }
    }
}

impl Field {
    fn wrong_values(&self, octets: &[u8]) -> Vec<u32> {
        let right = octets[self.at..][..self.width]
            .iter()
            .fold(0, |value, octet| value << 8 | u32::from(*octet));
        let most = (1 << (8 * self.width)) - 1;
        let mut wrong = match self.bits {
            // One octet more, and more than any family has bits.
            true => vec![right + 8, 129, most],
            false => vec![0, right.saturating_sub(1), right + 1, most],
        };
        wrong.retain(|value| *value != right);
        wrong
    }

    fn write(&self, octets: &mut [u8], value: u32) {
        octets[self.at..][..self.width].copy_from_slice(&value.to_be_bytes()[4 - self.width..]);
    }
}
