//! Tests of the session as a whole: events in, actions out.

mod collision;
mod invariants;
mod open;
mod operator;
mod pair;
mod restart;
mod stale_events;
mod table;
mod timers;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bgp_wire::{
    Asn, Capability, Family, GracefulFamily, NotificationMessage, OpenMessage, RefreshSubtype,
    RouterId,
};
use bytes::Bytes;

use super::*;
use crate::{ConnectionId, Epoch, Instant, Outbox};

const LOCAL_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const LOCAL_ASN: Asn = Asn(65001);
const REMOTE_ASN: Asn = Asn(65002);

/// One peer under test, its clock, and the driver's part of the work.
struct Bench {
    peer: Peer,
    now: Instant,
    out: Outbox<PeerAction>,
    next_connection: u64,
}

impl Bench {
    /// A stopped peer.
    fn new(settings: PeerSettings) -> Self {
        Self::with(Peer::new(settings, 1, false))
    }

    fn with(peer: Peer) -> Self {
        Self {
            peer,
            now: Instant::ZERO,
            out: Outbox::new(),
            next_connection: 1,
        }
    }

    /// A started, passive peer: nothing happens unless the test does it.
    fn passive(mut settings: PeerSettings) -> Self {
        settings.connect = ConnectMode::Passive;
        let mut bench = Self::new(settings);
        bench.handle(PeerEvent::Start);
        bench
    }

    fn handle(&mut self, event: PeerEvent) -> Vec<PeerAction> {
        self.peer.handle(self.now, event, &mut self.out);
        self.out.drain().collect()
    }

    /// Lets time pass, with every deadline kept on the way.
    fn advance(&mut self, by: Duration) -> Vec<PeerAction> {
        let end = self.now + by;
        while let Some(deadline) = self
            .peer
            .next_deadline()
            .filter(|&deadline| deadline <= end)
        {
            self.now = deadline.max(self.now);
            self.peer.handle_timeout(self.now, &mut self.out);
            let next = self.peer.next_deadline();
            assert!(
                next.is_none_or(|next| next > self.now),
                "deadline in the past: {next:?}"
            );
        }
        self.now = end;
        self.out.drain().collect()
    }

    /// Time until the next deadline.
    fn patience(&self) -> Duration {
        self.peer.next_deadline().expect("a timer runs") - self.now
    }

    fn connection(&mut self) -> ConnectionId {
        self.next_connection += 1;
        ConnectionId(self.next_connection - 1)
    }

    fn accept(&mut self) -> ConnectionId {
        let connection = self.connection();
        let actions = self.handle(PeerEvent::Accepted {
            connection,
            local_address: LOCAL_ADDRESS,
        });
        assert!(
            show(&actions).contains(&format!("{connection} OPEN")),
            "{:?}",
            show(&actions)
        );
        connection
    }

    /// Waits for the dial and lets it succeed.
    fn dial(&mut self) -> ConnectionId {
        let actions = self.advance(self.patience());
        assert!(
            show(&actions).contains(&"dial".to_owned()),
            "{:?}",
            show(&actions)
        );
        let connection = self.connection();
        let actions = self.handle(PeerEvent::Dialed {
            connection,
            local_address: LOCAL_ADDRESS,
        });
        assert!(
            show(&actions).contains(&format!("{connection} OPEN")),
            "{:?}",
            show(&actions)
        );
        connection
    }

    fn receive(&mut self, connection: ConnectionId, frame: Bytes) -> Vec<PeerAction> {
        self.handle(PeerEvent::Frame { connection, frame })
    }

    fn close(&mut self, connection: ConnectionId) -> Vec<PeerAction> {
        self.handle(PeerEvent::Closed {
            connection,
            error: None,
        })
    }

    /// Accepts a connection and brings it to OpenConfirm.
    fn confirm(&mut self, open: &OpenMessage) -> ConnectionId {
        let connection = self.accept();
        self.receive(connection, message::open(open));
        connection
    }

    /// Accepts a connection and brings it to Established.
    fn establish(&mut self, open: &OpenMessage) -> ConnectionId {
        let connection = self.confirm(open);
        let actions = self.receive(connection, message::keepalive());
        assert!(up(&actions).is_some(), "{:?}", show(&actions));
        connection
    }

    fn state(&self) -> SessionState {
        self.peer.status().state
    }

    fn negotiated(&self) -> std::sync::Arc<Negotiated> {
        self.peer.status().negotiated.expect("OPENs were exchanged")
    }
}

/// eBGP, IPv4 and IPv6 unicast, no graceful restart.
fn settings() -> PeerSettings {
    PeerSettings {
        local_asn: LOCAL_ASN,
        remote_asn: REMOTE_ASN,
        router_id: router_id(1),
        hold_time: HoldTime::DEFAULT,
        keepalive: None,
        connect_retry: PeerSettings::DEFAULT_CONNECT_RETRY,
        connect: ConnectMode::Active,
        families: vec![Family::IPV4_UNICAST, Family::IPV6_UNICAST],
        add_path: Vec::new(),
        graceful_restart: None,
        extended_messages: true,
    }
}

fn graceful_settings() -> PeerSettings {
    PeerSettings {
        graceful_restart: Some(GracefulRestartSettings::default()),
        ..settings()
    }
}

fn router_id(last: u8) -> RouterId {
    RouterId::from(Ipv4Addr::new(10, 0, 0, last))
}

/// What the peer's OPEN says unless a test changes it.
fn peer_open() -> OpenMessage {
    open_with(vec![
        Capability::MultiProtocol(Family::IPV4_UNICAST),
        Capability::MultiProtocol(Family::IPV6_UNICAST),
        Capability::RouteRefresh,
        Capability::EnhancedRouteRefresh,
        Capability::FourOctetAsn(REMOTE_ASN),
        Capability::ExtendedMessage,
    ])
}

fn open_with(capabilities: Vec<Capability>) -> OpenMessage {
    OpenMessage {
        version: 4,
        asn: Asn(65002),
        hold_time: 90,
        router_id: router_id(2),
        capabilities,
    }
}

/// The peer's graceful restart capability: `families` with their F bit.
fn graceful_open(
    restart_time: u16,
    notification: bool,
    families: &[(Family, bool)],
) -> OpenMessage {
    let mut open = peer_open();
    open.capabilities.push(Capability::GracefulRestart {
        restarting: false,
        notification,
        restart_time,
        families: families
            .iter()
            .map(|&(family, forwarding_preserved)| GracefulFamily {
                family,
                forwarding_preserved,
            })
            .collect(),
    });
    open
}

fn notification(code: u8, subcode: u8) -> Bytes {
    message::notification(&NotificationMessage {
        code,
        subcode,
        data: Bytes::new(),
    })
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn up(actions: &[PeerAction]) -> Option<Epoch> {
    actions.iter().find_map(|action| match action {
        PeerAction::Up { epoch, .. } => Some(*epoch),
        _ => None,
    })
}

fn down(actions: &[PeerAction]) -> Option<(DownReason, Vec<Family>)> {
    actions.iter().find_map(|action| match action {
        PeerAction::Down { reason, keep, .. } => Some((reason.clone(), keep.clone())),
        _ => None,
    })
}

fn flushed(actions: &[PeerAction]) -> Vec<Family> {
    let families = actions.iter().filter_map(|action| match action {
        PeerAction::FlushStale { families } => Some(families.clone()),
        _ => None,
    });
    families.flatten().collect()
}

/// All NOTIFICATIONs that were sent, in order.
fn notified(actions: &[PeerAction]) -> Vec<NotificationMessage> {
    actions.iter().filter_map(sent_notification).collect()
}

fn sent_notification(action: &PeerAction) -> Option<NotificationMessage> {
    match action {
        PeerAction::Send { bytes, .. } if bytes[18] == 3 => Some(NotificationMessage {
            code: bytes[19],
            subcode: bytes[20],
            data: bytes.slice(21..),
        }),
        _ => None,
    }
}

fn show(actions: &[PeerAction]) -> Vec<String> {
    actions.iter().map(show_one).collect()
}

fn show_one(action: &PeerAction) -> String {
    match action {
        PeerAction::Dial => "dial".to_owned(),
        PeerAction::CancelDial => "cancel dial".to_owned(),
        PeerAction::Send {
            connection,
            bytes,
            lane,
        } => {
            let name = match bytes[18] {
                1 => "OPEN".to_owned(),
                2 => "UPDATE".to_owned(),
                3 => format!("NOTIFICATION {}/{}", bytes[19], bytes[20]),
                4 => "KEEPALIVE".to_owned(),
                5 => "ROUTE-REFRESH".to_owned(),
                other => format!("type {other}"),
            };
            match lane {
                Lane::Control => format!("{connection} {name}"),
                Lane::Routes => format!("{connection} {name} behind the routes"),
            }
        }
        PeerAction::Close { connection } => format!("{connection} close"),
        PeerAction::AllowExtended { connection } => format!("{connection} allow extended"),
        PeerAction::Up {
            epoch, connection, ..
        } => format!("{connection} up, epoch {epoch}"),
        PeerAction::Update { .. } => "routes".to_owned(),
        PeerAction::EndOfRib { family, .. } => format!("end of {family}"),
        PeerAction::Refresh {
            family, subtype, ..
        } => format!("refresh {family} {subtype:?}"),
        PeerAction::Down {
            epoch,
            reason,
            keep,
        } => {
            let keep: Vec<_> = keep.iter().map(ToString::to_string).collect();
            format!("down, epoch {epoch}, {reason}, keep [{}]", keep.join(", "))
        }
        PeerAction::FlushStale { families } => {
            let families: Vec<_> = families.iter().map(ToString::to_string).collect();
            format!("flush stale [{}]", families.join(", "))
        }
        PeerAction::StateChanged { from, to } => format!("{from} -> {to}"),
    }
}
