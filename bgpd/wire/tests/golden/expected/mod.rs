//! What each vector means.

mod attributes;
mod exabgp;
mod notifications;
mod opens;
mod updates;

use bgp_wire::{Family, Message, RefreshSubtype, RouteRefreshMessage, UpdateMessage};

use crate::vector::Vector;

/// The message, from who sent it, to whom, and what it is about.
pub(crate) fn message(vector: &Vector) -> Message {
    let refresh = |family, subtype| Message::RouteRefresh(RouteRefreshMessage { family, subtype });
    let end_of_rib = |family| {
        Message::Update(UpdateMessage {
            end_of_rib: Some(family),
            ..UpdateMessage::default()
        })
    };
    match vector.title.as_str() {
        "open" => Message::Open(opens::open(vector)),
        "keepalive" => Message::Keepalive,
        "refresh-afi-1" => refresh(Family::IPV4_UNICAST, RefreshSubtype::Normal),
        "refresh-afi-2" => refresh(Family::IPV6_UNICAST, RefreshSubtype::Normal),
        "begin-of-refresh-afi-1" => refresh(Family::IPV4_UNICAST, RefreshSubtype::Begin),
        "end-of-refresh-afi-1" => refresh(Family::IPV4_UNICAST, RefreshSubtype::End),
        "end-of-rib" => end_of_rib(Family::IPV4_UNICAST),
        "end-of-rib-afi-2" => end_of_rib(Family::IPV6_UNICAST),
        title if title.starts_with("notification-") => {
            Message::Notification(notifications::notification(vector))
        }
        _ if vector.daemon == "exabgp" => Message::Update(exabgp::update(vector)),
        _ => Message::Update(updates::update(vector)),
    }
}
