//! What the two OPENs agree on.
//!
//! RFC 4271 sections 4.2 and 6.2, RFC 5492 (capabilities), RFC 4760 (families), RFC 6286 (identifiers), RFC 6793
//! (four-octet AS numbers), RFC 7911 (add-path), RFC 8654 (extended messages), RFC 4724 and RFC 8538 (graceful restart).
//!
//! A capability is in force when both sides sent it: what counts on our side is the OPEN that went out on this very
//! connection ([`Offer`]), not what the settings say by now.

use std::time::Duration;

use bgp_wire::{
    Asn, Capability, DecodeContext, EncodeContext, Family, FamilySet, GracefulFamily,
    NotificationMessage, OpenMessage, RouterId, SessionType,
};

use super::notification;
use super::settings::{AddPathMode, GracefulRestartSettings, HoldTime, PeerSettings};

/// What both sides agreed on. Constant for the life of a session, but for the KEEPALIVE interval.
#[derive(Clone, Debug)]
pub struct Negotiated {
    /// Inside our AS or not.
    pub session_type: SessionType,
    /// Families that both sides listed, in our order.
    pub families: Vec<Family>,
    /// How to read what the peer sends.
    pub decode: DecodeContext,
    /// How to write what we send.
    pub encode: EncodeContext,
    /// The peer's BGP identifier.
    pub remote_router_id: RouterId,
    /// The smaller of both sides' hold times.
    pub hold_time: HoldTime,
    /// Time between our KEEPALIVEs, before jitter; `None` without a hold time.
    pub keepalive: Option<Duration>,
    /// AS numbers have four octets on the wire.
    pub four_octet_asn: bool,
    /// Messages may have up to 65535 octets.
    pub extended_messages: bool,
    /// The peer answers ROUTE-REFRESH.
    pub route_refresh: bool,
    /// The peer marks the ends of its answer (RFC 7313).
    pub enhanced_refresh: bool,
    /// Families with several paths per prefix, and the directions that are in force, seen from us.
    pub add_path: Vec<(Family, AddPathMode)>,
    /// The peer's graceful restart, when both sides take part.
    pub graceful_restart: Option<PeerGracefulRestart>,
    /// The capabilities that we sent, for display.
    pub local_capabilities: Vec<Capability>,
    /// The capabilities that the peer sent, for display.
    pub remote_capabilities: Vec<Capability>,
}

/// What the peer said about its graceful restart (RFC 4724 section 3).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PeerGracefulRestart {
    /// How soon it promises to be back.
    pub restart_time: Duration,
    /// It has just restarted, and must not be waited for with End-of-RIB.
    pub restarting: bool,
    /// Both sides set the N bit: routes outlive a NOTIFICATION (RFC 8538).
    pub notification: bool,
    /// The negotiated families that it listed.
    pub families: Vec<GracefulFamily>,
}

impl Negotiated {
    /// The directions in which `family` carries several paths per prefix, seen from us.
    #[must_use]
    pub fn add_path(&self, family: Family) -> Option<AddPathMode> {
        self.add_path
            .iter()
            .find(|(listed, _)| *listed == family)
            .map(|(_, mode)| *mode)
    }

    /// True when the peer says that it kept forwarding for `family` through its restart.
    #[must_use]
    pub fn forwarding_preserved(&self, family: Family) -> bool {
        self.graceful_restart.as_ref().is_some_and(|restart| {
            restart
                .families
                .iter()
                .any(|listed| listed.family == family && listed.forwarding_preserved)
        })
    }

    /// How long the peer's routes are kept when it goes.
    pub(super) fn restart_time(&self) -> Duration {
        self.graceful_restart
            .as_ref()
            .map_or(Duration::ZERO, |restart| restart.restart_time)
    }

    /// A third of the hold time, or the configured interval if that is shorter.
    pub(super) fn keepalive_interval(
        hold_time: HoldTime,
        configured: Option<Duration>,
    ) -> Option<Duration> {
        let longest = hold_time.duration()? / 3;
        Some(configured.map_or(longest, |configured| {
            configured.clamp(LEAST_KEEPALIVE, longest)
        }))
    }
}

/// Whether our OPEN has optional parameters.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum OpenForm {
    WithCapabilities,
    /// For a peer that refused the Capabilities parameter.
    Plain,
}

/// Our OPEN on one connection.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) settings: PeerSettings,
    pub(super) open: OpenMessage,
}

impl Offer {
    pub(super) fn new(
        settings: &PeerSettings,
        form: OpenForm,
        restarting: bool,
        forwarding_preserved: bool,
    ) -> Self {
        let capabilities = match form {
            OpenForm::WithCapabilities => capabilities(settings, restarting, forwarding_preserved),
            OpenForm::Plain => Vec::new(),
        };
        let open = OpenMessage {
            version: 4,
            asn: settings.local_asn,
            hold_time: settings.hold_time.seconds(),
            router_id: settings.router_id,
            capabilities,
        };
        Self {
            settings: settings.clone(),
            open,
        }
    }

    /// Judges the peer's OPEN against ours.
    ///
    /// # Errors
    /// The NOTIFICATION that refuses it.
    pub(super) fn negotiate(&self, open: &OpenMessage) -> Result<Negotiated, NotificationMessage> {
        let settings = &self.settings;
        let internal = settings.local_asn == settings.remote_asn;
        // RFC 7607: AS 0 is nobody's, whatever the settings say.
        if open.asn != settings.remote_asn || open.asn == Asn(0) {
            return Err(notification::bad_peer_as());
        }
        // RFC 6286 section 2.2: any value but zero, and inside an AS any but our own.
        if open.router_id.is_zero() || (internal && open.router_id == settings.router_id) {
            return Err(notification::bad_identifier());
        }
        let Ok(hold_time) = HoldTime::new(open.hold_time) else {
            return Err(notification::unacceptable_hold_time());
        };
        let hold_time = hold_time.min(settings.hold_time);
        let families = common_families(&self.open.capabilities, &open.capabilities);
        if families.is_empty() {
            return Err(notification::no_common_family(&settings.families));
        }

        let both = |capability: &Capability| {
            self.open.capabilities.contains(capability) && open.capabilities.contains(capability)
        };
        let session_type = if internal {
            SessionType::Internal
        } else {
            SessionType::External
        };
        let four_octet_asn = [&self.open, open]
            .iter()
            .all(|open| has_four_octet_asn(&open.capabilities));
        let extended_messages = both(&Capability::ExtendedMessage);
        let add_path = common_add_path(&families, &self.open.capabilities, &open.capabilities);
        let add_path_in = |direction: fn(AddPathMode) -> bool| -> FamilySet {
            add_path
                .iter()
                .filter(|(_, mode)| direction(*mode))
                .map(|(family, _)| *family)
                .collect()
        };
        let graceful_restart = graceful_restart(&self.open.capabilities)
            .and_then(|_| graceful_restart(&open.capabilities))
            .map(|peer| PeerGracefulRestart {
                restart_time: peer.restart_time,
                restarting: peer.restarting,
                notification: peer.notification
                    && graceful_restart(&self.open.capabilities)
                        .is_some_and(|own| own.notification),
                families: peer
                    .families
                    .into_iter()
                    .filter(|listed| families.contains(&listed.family))
                    .collect(),
            });
        Ok(Negotiated {
            session_type,
            decode: DecodeContext {
                session: session_type,
                four_octet_asn,
                extended_messages,
                families: families.iter().copied().collect(),
                add_path_receive: add_path_in(AddPathMode::receives),
                extended_next_hop: FamilySet::new(),
            },
            encode: EncodeContext {
                four_octet_asn,
                extended_messages,
                add_path_send: add_path_in(AddPathMode::sends),
                extended_next_hop: FamilySet::new(),
            },
            remote_router_id: open.router_id,
            hold_time,
            keepalive: Negotiated::keepalive_interval(hold_time, settings.keepalive),
            four_octet_asn,
            extended_messages,
            route_refresh: both(&Capability::RouteRefresh),
            enhanced_refresh: both(&Capability::EnhancedRouteRefresh),
            add_path,
            graceful_restart,
            local_capabilities: self.open.capabilities.clone(),
            remote_capabilities: open.capabilities.clone(),
            families,
        })
    }
}

/// What we are able to do, in the order of the codes.
fn capabilities(
    settings: &PeerSettings,
    restarting: bool,
    forwarding_preserved: bool,
) -> Vec<Capability> {
    let mut capabilities: Vec<Capability> = settings
        .families
        .iter()
        .map(|family| Capability::MultiProtocol(*family))
        .collect();
    capabilities.push(Capability::RouteRefresh);
    if settings.extended_messages {
        capabilities.push(Capability::ExtendedMessage);
    }
    if let Some(GracefulRestartSettings {
        restart_time,
        max_stale_time: _,
    }) = settings.graceful_restart
    {
        let family = |family: &Family| GracefulFamily {
            family: *family,
            forwarding_preserved,
        };
        capabilities.push(Capability::GracefulRestart {
            restarting,
            notification: true,
            restart_time: restart_time.min(GracefulRestartSettings::MAX_RESTART_TIME),
            families: settings.families.iter().map(family).collect(),
        });
    }
    capabilities.push(Capability::FourOctetAsn(settings.local_asn));
    let add_path = settings
        .add_path
        .iter()
        .filter(|(family, _)| settings.families.contains(family));
    let add_path: Vec<_> = add_path
        .map(|(family, mode)| (*family, on_the_wire(*mode)))
        .collect();
    if !add_path.is_empty() {
        capabilities.push(Capability::AddPath(add_path));
    }
    capabilities.push(Capability::EnhancedRouteRefresh);
    capabilities
}

/// RFC 4760 section 8: a speaker that lists no family has IPv4 unicast only.
fn common_families(ours: &[Capability], theirs: &[Capability]) -> Vec<Family> {
    let listed = |capabilities: &[Capability]| {
        let families: Vec<Family> = capabilities
            .iter()
            .filter_map(|capability| match capability {
                Capability::MultiProtocol(family) => Some(*family),
                _ => None,
            })
            .collect();
        if families.is_empty() {
            vec![Family::IPV4_UNICAST]
        } else {
            families
        }
    };
    let theirs = listed(theirs);
    let mut common = listed(ours);
    common.retain(|family| theirs.contains(family));
    common
}

/// RFC 7911 section 4: what one side sends the other must be able to receive.
fn common_add_path(
    families: &[Family],
    ours: &[Capability],
    theirs: &[Capability],
) -> Vec<(Family, AddPathMode)> {
    let mode = |capabilities: &[Capability], family: Family| {
        capabilities.iter().find_map(|capability| match capability {
            Capability::AddPath(modes) => modes
                .iter()
                .find(|(listed, _)| *listed == family)
                .map(|(_, mode)| *mode),
            _ => None,
        })
    };
    families
        .iter()
        .filter_map(|family| {
            let (own, peer) = (mode(ours, *family)?, mode(theirs, *family)?);
            let directions = AddPathMode::from_directions(
                own.sends() && peer.receives(),
                own.receives() && peer.sends(),
            );
            Some((*family, directions?))
        })
        .collect()
}

pub(super) const fn on_the_wire(mode: AddPathMode) -> bgp_wire::AddPathMode {
    match mode {
        AddPathMode::Receive => bgp_wire::AddPathMode::Receive,
        AddPathMode::Send => bgp_wire::AddPathMode::Send,
        AddPathMode::Both => bgp_wire::AddPathMode::Both,
    }
}

fn has_four_octet_asn(capabilities: &[Capability]) -> bool {
    capabilities
        .iter()
        .any(|capability| matches!(capability, Capability::FourOctetAsn(_)))
}

/// What a speaker says about its graceful restart, before it is held against the other side.
fn graceful_restart(capabilities: &[Capability]) -> Option<PeerGracefulRestart> {
    capabilities.iter().find_map(|capability| match capability {
        Capability::GracefulRestart {
            restarting,
            notification,
            restart_time,
            families,
        } => Some(PeerGracefulRestart {
            restart_time: Duration::from_secs((*restart_time).into()),
            restarting: *restarting,
            notification: *notification,
            families: families.clone(),
        }),
        _ => None,
    })
}

/// RFC 4271 section 4.4: not more than one KEEPALIVE per second.
const LEAST_KEEPALIVE: Duration = Duration::from_secs(1);
