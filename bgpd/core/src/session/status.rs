//! What a session tells about itself.

use std::fmt;
use std::sync::Arc;

use bgp_wire::Family;

use super::action::DownReason;
use super::negotiation::Negotiated;
use super::notification;
use crate::{Epoch, Instant};

/// A snapshot for the operator.
#[derive(Clone, Debug)]
pub struct PeerStatus {
    /// State of the furthest connection.
    pub state: SessionState,
    /// What both sides agreed on, while a connection is in OpenConfirm or Established.
    pub negotiated: Option<Arc<Negotiated>>,
    /// How often the session reached Established; names the present session when there is one.
    pub epoch: Epoch,
    /// When the present session reached Established.
    pub established_at: Option<Instant>,
    /// How the last session ended.
    pub last_down: Option<LastDown>,
    /// How the last attempt that did not reach Established ended, a failed dial included. Cleared by a success.
    pub last_failure: Option<LastDown>,
    /// How often a session was lost.
    pub flaps: u64,
    /// Messages received, over all connections.
    pub received: MessageCounters,
    /// Messages sent, over all connections.
    pub sent: MessageCounters,
    /// True while our OPENs carry the Restart State bit.
    pub restarting: bool,
    /// Routes of the peer that are kept although it did not confirm them since its last restart.
    pub stale: Option<StaleStatus>,
    /// When we dial next.
    pub next_dial: Option<Instant>,
}

/// Families with routes kept across a restart of the peer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StaleStatus {
    /// Which families.
    pub families: Vec<Family>,
    /// When they go at the latest.
    pub until: Instant,
    /// What they wait for.
    pub awaiting: StaleAwaiting,
}

/// What stale routes wait for.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum StaleAwaiting {
    /// The peer's return, within the restart time that it advertised.
    Peer,
    /// End-of-RIB from the peer that came back.
    EndOfRib,
}

/// States of RFC 4271 section 8.2.2.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum SessionState {
    /// Stopped; connections are refused.
    Idle,
    /// No connection; waits to dial again, or for the peer to connect.
    Active,
    /// TCP is being set up.
    Connect,
    /// Our OPEN is out.
    OpenSent,
    /// Both OPENs agree; a KEEPALIVE is awaited.
    OpenConfirm,
    /// Routes flow.
    Established,
}

impl fmt::Display for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "Idle",
            Self::Active => "Active",
            Self::Connect => "Connect",
            Self::OpenSent => "OpenSent",
            Self::OpenConfirm => "OpenConfirm",
            Self::Established => "Established",
        })
    }
}

/// How a session or an attempt ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LastDown {
    /// When.
    pub at: Instant,
    /// Who ended it.
    pub by: DownBy,
    /// Error code of the NOTIFICATION, if there was one (RFC 4271 section 4.5).
    pub code: Option<u8>,
    /// Its subcode.
    pub subcode: Option<u8>,
    /// The reason in words, with the text that the other operator sent (RFC 9003).
    pub text: String,
}

/// Who ended a session.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum DownBy {
    /// We did.
    Local,
    /// The peer did.
    Remote,
    /// TCP, or what lies below.
    Transport,
}

impl LastDown {
    pub(super) fn new(at: Instant, reason: &DownReason) -> Self {
        let (by, message) = match reason {
            DownReason::Sent(message) => (DownBy::Local, Some(message)),
            DownReason::Received(message) => (DownBy::Remote, Some(message)),
            DownReason::Lost { .. } => (DownBy::Transport, None),
            DownReason::PeerRestarted => (DownBy::Remote, None),
            DownReason::PlannedRestart => (DownBy::Local, None),
        };
        Self {
            at,
            by,
            code: message.map(|message| message.code),
            subcode: message.map(|message| message.subcode),
            text: message.map_or_else(|| reason.to_string(), notification::describe),
        }
    }

    pub(super) fn dial_failed(at: Instant, error: &str) -> Self {
        let text = format!("cannot connect: {error}");
        Self {
            at,
            by: DownBy::Transport,
            code: None,
            subcode: None,
            text,
        }
    }
}

/// Messages by type.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct MessageCounters {
    /// OPEN.
    pub open: u64,
    /// UPDATE. Those sent include what [`super::PeerEvent::UpdatesSent`] reported.
    pub update: u64,
    /// NOTIFICATION.
    pub notification: u64,
    /// KEEPALIVE.
    pub keepalive: u64,
    /// ROUTE-REFRESH.
    pub route_refresh: u64,
}
