//! All messages under one roof, and the one way in for received bytes.

use bytes::Bytes;

use crate::context::DecodeContext;
use crate::header::{HEADER_LENGTH, Header, MessageType};
use crate::notification::NotificationMessage;
use crate::open::OpenMessage;
use crate::route_refresh::RouteRefreshMessage;
use crate::update::UpdateMessage;
use crate::{notification, open, route_refresh, update};

/// A received message.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every message is an UPDATE: a box would be one more allocation for each"
)]
pub enum Message {
    /// The first message of either side.
    Open(OpenMessage),
    /// Routes.
    Update(UpdateMessage),
    /// The peer ends the session.
    Notification(NotificationMessage),
    /// The peer is alive.
    Keepalive,
    /// The peer wants routes again, or marks where they begin or end.
    RouteRefresh(RouteRefreshMessage),
}

/// Reads one whole message, header included.
///
/// Faults in an UPDATE that RFC 7606 does not punish with the end of the session are dealt with and listed in
/// [`UpdateMessage::faults`].
///
/// # Errors
/// The NOTIFICATION to send. A NOTIFICATION itself always decodes.
pub fn decode(frame: &[u8], context: &DecodeContext) -> Result<Message, NotificationMessage> {
    let Some(octets) = frame.first_chunk::<HEADER_LENGTH>() else {
        let length = u16::try_from(frame.len()).unwrap_or(0); // below 19
        return Err(NotificationMessage::bad_message_length(length));
    };
    let Header { kind, length } = Header::parse(octets, context.extended_messages)?;
    if length != frame.len() {
        return Err(NotificationMessage::bad_message_length(length as u16)); // came from 16 bits
    }
    Ok(match kind {
        MessageType::Open => Message::Open(open::decode(&frame[HEADER_LENGTH..])?),
        MessageType::Update => {
            Message::Update(update::decode::decode(&frame[HEADER_LENGTH..], context)?)
        }
        MessageType::Notification => {
            Message::Notification(notification::decode(&frame[HEADER_LENGTH..]))
        }
        MessageType::Keepalive => Message::Keepalive,
        MessageType::RouteRefresh => Message::RouteRefresh(route_refresh::decode(frame)?),
    })
}

/// The KEEPALIVE, which is always the same (RFC 4271 section 4.4).
#[must_use]
pub const fn encode_keepalive() -> Bytes {
    Bytes::from_static(&KEEPALIVE)
}

const KEEPALIVE: [u8; HEADER_LENGTH] = {
    let mut octets = [0xff; HEADER_LENGTH];
    octets[16] = 0;
    octets[17] = HEADER_LENGTH as u8;
    octets[18] = MessageType::Keepalive as u8;
    octets
};
