//! A netlink socket: batches of writes, and dumps.

use std::io;
use std::time::Duration;

use netlink_packet_core::{
    ErrorMessage, NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload,
};
use netlink_sys::SocketAddr;
use netlink_sys::protocols::NETLINK_ROUTE;
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::TimeVal;
use rtnetlink::packet_route::RouteNetlinkMessage;

use crate::KernelError;
use crate::object::Refusal;

/// A socket that asks; what the kernel tells unasked comes to [`super::monitor`].
#[derive(Debug)]
pub(super) struct Socket {
    socket: netlink_sys::Socket,
    port: u32,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Socket {
    pub(super) fn open() -> io::Result<Self> {
        let mut socket = netlink_sys::Socket::new(NETLINK_ROUTE)?;
        let port = socket.bind_auto()?.port_number();
        socket.set_ext_ack(true)?;
        // Answers need not repeat the question.
        socket.set_cap_ack(true)?;
        socket.set_netlink_get_strict_chk(true)?;
        enlarge(&socket, ANSWER_BUFFER);
        let patience = TimeVal::new(PATIENCE.as_secs().try_into().unwrap_or(i64::MAX), 0);
        setsockopt(&socket, sockopt::ReceiveTimeout, &patience)?;
        Ok(Self {
            socket,
            port,
            sequence: 0,
            buffer: Vec::with_capacity(RECEIVE_SIZE),
        })
    }

    pub(super) const fn port(&self) -> u32 {
        self.port
    }

    /// Writes all; one result each, in the same order.
    pub(super) fn write(
        &mut self,
        messages: &[(RouteNetlinkMessage, u16)],
    ) -> Vec<Result<(), Refusal>> {
        let mut results = Vec::with_capacity(messages.len());
        let mut bytes = Vec::new();
        let mut rest = messages;
        while !rest.is_empty() {
            bytes.clear();
            let first = self.sequence.wrapping_add(1);
            let mut count = 0;
            for (message, flags) in rest {
                if bytes.len() >= BATCH_SIZE {
                    break;
                }
                count += 1;
                self.append(message, *flags, &mut bytes);
            }
            let (batch, next) = rest.split_at(count);
            // Only the last one is answered when it goes well. Any that does not is answered all the same.
            acknowledge_last(&mut bytes, batch.len());
            results.extend(self.exchange(&bytes, first, batch.len()));
            rest = next;
        }
        results
    }

    fn append(&mut self, message: &RouteNetlinkMessage, flags: u16, bytes: &mut Vec<u8>) {
        self.sequence = self.sequence.wrapping_add(1);
        let mut message = NetlinkMessage::from(message.clone());
        message.header.flags = NLM_F_REQUEST | flags;
        message.header.sequence_number = self.sequence;
        message.finalize();
        let start = bytes.len();
        // Messages are aligned to 4 bytes.
        bytes.resize(start + message.buffer_len().next_multiple_of(4), 0);
        message.serialize(&mut bytes[start..]);
    }

    /// Sends a batch and reads its answers. The kernel has carried it out when `send` returns, all answers are there.
    fn exchange(&mut self, bytes: &[u8], first: u32, count: usize) -> Vec<Result<(), Refusal>> {
        if let Err(error) = self.socket.send(bytes, 0) {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            return vec![Err(Refusal::Kernel(KernelError::new(errno, None))); count];
        }
        let mut results = vec![Ok(()); count];
        let mut lost = false;
        loop {
            self.buffer.clear();
            match self.socket.recv(&mut self.buffer, libc::MSG_DONTWAIT) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    lost = true;
                    continue;
                }
                // The answer to the last one was lost, or others were.
                Err(_) => break,
            }
            let mut done = false;
            for message in messages(&self.buffer) {
                let NetlinkPayload::Error(answer) = message.payload else {
                    continue;
                };
                let index = message.header.sequence_number.wrapping_sub(first) as usize;
                let Some(result) = results.get_mut(index) else {
                    continue;
                };
                done |= index + 1 == count;
                if let Some(error) = kernel_error(&answer) {
                    *result = Err(Refusal::Kernel(error));
                }
            }
            if done && !lost {
                return results;
            }
        }
        for result in &mut results {
            if result.is_ok() {
                *result = Err(Refusal::Unknown);
            }
        }
        results
    }

    /// Asks for all of something. Repeats when it changed meanwhile; what was given then comes again.
    pub(super) fn dump(
        &mut self,
        request: RouteNetlinkMessage,
        mut each: impl FnMut(RouteNetlinkMessage),
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let sequence = self.sequence;
        let mut message = NetlinkMessage::from(request);
        message.header.flags = NLM_F_REQUEST | NLM_F_DUMP;
        message.header.sequence_number = sequence;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut interrupted = false;
        loop {
            self.buffer.clear();
            match self.socket.recv(&mut self.buffer, 0) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            for message in messages(&self.buffer) {
                if message.header.sequence_number != sequence {
                    continue;
                }
                interrupted |= message.header.flags & NLM_F_DUMP_INTR != 0;
                match message.payload {
                    NetlinkPayload::InnerMessage(inner) => each(inner),
                    NetlinkPayload::Done(done) if done.code < 0 => {
                        return Err(io::Error::from_raw_os_error(-done.code));
                    }
                    NetlinkPayload::Done(_) if interrupted => {
                        return Err(io::Error::from_raw_os_error(libc::EINTR));
                    }
                    NetlinkPayload::Done(_) => return Ok(()),
                    NetlinkPayload::Error(error) => return Err(error.to_io()),
                    _ => {}
                }
            }
        }
    }
}

/// Asks for an answer to the last message of a batch.
fn acknowledge_last(bytes: &mut [u8], count: usize) {
    let mut start = 0;
    for _ in 1..count {
        start += message_length(&bytes[start..]).next_multiple_of(4);
    }
    // Length (4 octets), type (2), flags (2).
    let flags = u16::from_ne_bytes([bytes[start + 6], bytes[start + 7]]) | NLM_F_ACK;
    bytes[start + 6..start + 8].copy_from_slice(&flags.to_ne_bytes());
}

/// A larger receive buffer, as far as the process may.
pub(super) fn enlarge(socket: &netlink_sys::Socket, bytes: usize) {
    if setsockopt(socket, sockopt::RcvBufForce, &bytes).is_err() {
        // Without the capability it is bounded by net.core.rmem_max.
        let _ = socket.set_rx_buf_sz(i32::try_from(bytes).unwrap_or(i32::MAX));
    }
}

/// The messages in what was read. One that can't be decoded is of a kind that does not concern weft.
pub(super) fn messages(
    mut bytes: &[u8],
) -> impl Iterator<Item = NetlinkMessage<RouteNetlinkMessage>> {
    std::iter::from_fn(move || {
        while bytes.len() >= HEADER_LENGTH {
            let length = message_length(bytes);
            if length < HEADER_LENGTH || length > bytes.len() {
                return None;
            }
            let (message, _) = bytes.split_at(length);
            bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
            match NetlinkMessage::deserialize(message) {
                Ok(message) => return Some(message),
                Err(error) => tracing::debug!(%error, "netlink message not understood"),
            }
        }
        None
    })
}

fn message_length(bytes: &[u8]) -> usize {
    u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize
}

/// The error in an answer, with the kernel's words (extended acknowledgement); `None` when all went well.
fn kernel_error(answer: &ErrorMessage) -> Option<KernelError> {
    let code = answer.code?;
    let words = answer.header.get(HEADER_LENGTH..).and_then(extended_text);
    Some(KernelError::new(code.get().abs(), words.as_deref()))
}

/// The text among the attributes behind an answer.
fn extended_text(mut attributes: &[u8]) -> Option<String> {
    while attributes.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([attributes[0], attributes[1]]));
        let kind = u16::from_ne_bytes([attributes[2], attributes[3]]);
        let value = attributes.get(4..length)?;
        if kind == NLMSGERR_ATTR_MSG {
            let text = value.split(|byte| *byte == 0).next()?;
            return Some(String::from_utf8_lossy(text).into_owned());
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

/// The address that gets what the kernel tells of these groups.
pub(super) fn groups(groups: &[u32]) -> SocketAddr {
    SocketAddr::new(
        0,
        groups.iter().fold(0, |mask, group| mask | 1 << (group - 1)),
    )
}

const HEADER_LENGTH: usize = 16;
const NLMSGERR_ATTR_MSG: u16 = 1;

/// Bytes of one batch; the kernel's send buffer is 212992 by default.
const BATCH_SIZE: usize = 48 * 1024;

/// Bytes of one read: the kernel's largest piece of a dump is 32 kB.
pub(super) const RECEIVE_SIZE: usize = 64 * 1024;

/// Room for an error for each message of a batch.
const ANSWER_BUFFER: usize = 4 << 20;

/// The kernel answers at once; this is for one that does not.
const PATIENCE: Duration = Duration::from_secs(10);
