//! Cuts a byte stream into messages (RFC 4271 section 4.1).
//!
//! Pure: whoever owns the socket appends what it reads and takes whole messages out.

use bytes::{Bytes, BytesMut};

use crate::header::{HEADER_LENGTH, Header};
use crate::notification::NotificationMessage;

/// Collects bytes and hands out whole messages, header included.
///
/// Holds at most one incomplete message beyond what the caller has pushed and not taken.
#[derive(Debug, Default)]
pub struct Framer {
    buffer: BytesMut,
    extended_messages: bool,
}

impl Framer {
    /// An empty buffer that refuses messages above 4096 octets.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether messages of up to 65535 octets are welcome (RFC 8654): both sides said so in their OPEN.
    pub const fn set_extended_messages(&mut self, extended_messages: bool) {
        self.extended_messages = extended_messages;
    }

    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The buffer, for reading into directly. Only append to it.
    pub const fn buffer_mut(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Takes the next whole message, or `None` until more bytes are here.
    ///
    /// # Errors
    /// The NOTIFICATION to send. The stream can't be read on after that, and every further call says the same.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, NotificationMessage> {
        let Some(octets) = self.buffer.first_chunk::<HEADER_LENGTH>() else {
            return Ok(None);
        };
        let header = Header::parse(octets, self.extended_messages)?;
        if self.buffer.len() < header.length {
            return Ok(None);
        }
        Ok(Some(self.buffer.split_to(header.length).freeze()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode_keepalive;

    fn header(length: u16, kind: u8) -> Vec<u8> {
        let mut octets = vec![0xff; 16];
        octets.extend_from_slice(&length.to_be_bytes());
        octets.push(kind);
        octets
    }

    fn refusal(framer: &mut Framer) -> (u8, u8, Vec<u8>) {
        let NotificationMessage {
            code,
            subcode,
            data,
        } = framer.next_frame().unwrap_err();
        (code, subcode, data.to_vec())
    }

    #[test]
    fn messages_come_out_whole_however_the_bytes_come_in() {
        let mut stream = encode_keepalive().to_vec();
        stream.extend(header(23, 2));
        stream.extend([0; 4]);
        stream.extend(encode_keepalive());
        let mut framer = Framer::new();
        let mut lengths = Vec::new();
        for octet in stream {
            framer.push(&[octet]);
            while let Some(frame) = framer.next_frame().unwrap() {
                lengths.push(frame.len());
            }
        }
        assert_eq!(lengths, [19, 23, 19]);
    }

    #[test]
    fn a_marker_that_is_not_all_ones_is_refused_for_good() {
        let mut framer = Framer::new();
        let mut octets = header(19, 4);
        octets[15] = 0xfe;
        framer.push(&octets);
        assert_eq!(refusal(&mut framer), (1, 1, vec![]));
        framer.push(&encode_keepalive());
        assert_eq!(refusal(&mut framer), (1, 1, vec![]));
    }

    #[test]
    fn length_bounds_depend_on_the_type() {
        let bad = |length: u16, kind, extended| {
            let mut framer = Framer::new();
            framer.set_extended_messages(extended);
            framer.push(&header(length, kind));
            match framer.next_frame() {
                Ok(_) => false,
                Err(error) => {
                    assert_eq!(
                        (error.code, error.subcode),
                        (1, 2),
                        "length {length} type {kind}"
                    );
                    assert_eq!(error.data[..], length.to_be_bytes());
                    true
                }
            }
        };
        // Type, the shortest, the longest, the longest with extended messages.
        for (kind, least, most, extended) in [
            (1, 29, 4096, 4096),
            (2, 23, 4096, 65535),
            (3, 21, 4096, 65535),
            (4, 19, 19, 19),
            (5, 23, 4096, 65535),
        ] {
            assert!(
                bad(least - 1, kind, false) && !bad(least, kind, false),
                "type {kind}"
            );
            assert!(
                bad(most + 1, kind, false) && !bad(most, kind, false),
                "type {kind}"
            );
            assert!(!bad(extended, kind, true), "type {kind}");
            assert!(
                extended == 65535 || bad(extended + 1, kind, true),
                "type {kind}"
            );
        }
        assert!(bad(0, 2, false) && bad(18, 9, false));
    }

    #[test]
    fn an_unknown_type_is_named_in_the_refusal() {
        for kind in [0, 6, 255] {
            let mut framer = Framer::new();
            framer.push(&header(19, kind));
            assert_eq!(refusal(&mut framer), (1, 3, vec![kind]));
        }
    }
}
