//! The messages that a session sends, as bytes.

use bgp_wire::{Family, NotificationMessage, OpenMessage, RefreshSubtype, RouteRefreshMessage};
use bytes::Bytes;

use super::status::MessageCounters;

pub(super) fn open(open: &OpenMessage) -> Bytes {
    bgp_wire::encode_open(open)
}

pub(super) fn keepalive() -> Bytes {
    bgp_wire::encode_keepalive()
}

pub(super) fn notification(message: &NotificationMessage) -> Bytes {
    bgp_wire::encode_notification(message)
}

pub(super) fn route_refresh(family: Family, subtype: RefreshSubtype) -> Bytes {
    bgp_wire::encode_route_refresh(&RouteRefreshMessage { family, subtype })
}

pub(super) fn end_of_rib(family: Family) -> Bytes {
    bgp_wire::encode_end_of_rib(family)
}

/// The type octet (RFC 4271 section 4.1), for what is decided before a message is decoded.
pub(super) fn kind(frame: &[u8]) -> u8 {
    frame.get(TYPE_OFFSET).copied().unwrap_or(0)
}

impl MessageCounters {
    pub(super) const ZERO: Self = Self {
        open: 0,
        update: 0,
        notification: 0,
        keepalive: 0,
        route_refresh: 0,
    };

    /// Counts one message by its type octet.
    pub(super) fn count(&mut self, frame: &[u8]) {
        let counter = match kind(frame) {
            OPEN => &mut self.open,
            UPDATE => &mut self.update,
            NOTIFICATION => &mut self.notification,
            KEEPALIVE => &mut self.keepalive,
            ROUTE_REFRESH => &mut self.route_refresh,
            _ => return,
        };
        *counter += 1;
    }
}

pub(super) const OPEN: u8 = 1;
pub(super) const UPDATE: u8 = 2;
pub(super) const NOTIFICATION: u8 = 3;
pub(super) const KEEPALIVE: u8 = 4;
pub(super) const ROUTE_REFRESH: u8 = 5;
const TYPE_OFFSET: usize = 18;
