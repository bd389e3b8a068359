//! What the operator decides about one session, and what a change of it costs.

use std::time::Duration;

use bgp_wire::{Asn, Family, RouterId};
use thiserror::Error;

/// Everything that concerns one session.
///
/// A checked value: the daemon converts its configuration into it once. What concerns routes (policy, prefix limits,
/// next-hop rules) lives with the RIB and is absent here.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PeerSettings {
    /// Our AS number on this session.
    pub local_asn: Asn,
    /// The AS number that the peer must present; an OPEN with another one is refused with 2/2.
    pub remote_asn: Asn,
    /// Our BGP identifier (RFC 6286): any value but zero.
    pub router_id: RouterId,
    /// The hold time that we propose; the smaller of both sides' applies.
    pub hold_time: HoldTime,
    /// Time between KEEPALIVEs. `None` means a third of the negotiated hold time, which is also the longest
    /// that is used.
    pub keepalive: Option<Duration>,
    /// Time between attempts to connect, and the longest that one attempt may take.
    pub connect_retry: Duration,
    /// Whether we dial.
    pub connect: ConnectMode,
    /// The families that we offer. Order does not matter.
    pub families: Vec<Family>,
    /// Families with more than one path per prefix (RFC 7911). Order does not matter.
    pub add_path: Vec<(Family, AddPathMode)>,
    /// Graceful restart (RFC 4724, RFC 8538); `None` neither offers nor helps.
    pub graceful_restart: Option<GracefulRestartSettings>,
    /// Offer messages of up to 65535 octets (RFC 8654).
    pub extended_messages: bool,
}

impl PeerSettings {
    /// Default of [`PeerSettings::connect_retry`].
    pub const DEFAULT_CONNECT_RETRY: Duration = Duration::from_secs(5);

    /// What replacing these settings by `new` does to a session that is up.
    ///
    /// What stands in an OPEN message cannot change without another OPEN, which takes a new session. The restart
    /// time is the exception: the peer hears the new one at the next OPEN, and no session is reset for its sake.
    #[must_use]
    pub fn change_cost(&self, new: &Self) -> ChangeCost {
        // Destructured, so that a new field does not compile until someone has classed it.
        let Self {
            local_asn,
            remote_asn,
            router_id,
            hold_time,
            keepalive: _,     // in force from the next KEEPALIVE
            connect_retry: _, // in force from the next attempt
            connect: _,       // decides about attempts only
            families,
            add_path,
            graceful_restart,
            extended_messages,
        } = self;
        let same_open = *local_asn == new.local_asn
            && *remote_asn == new.remote_asn
            && *router_id == new.router_id
            && *hold_time == new.hold_time
            && same_members(families, &new.families)
            && same_members(add_path, &new.add_path)
            && graceful_restart.is_some() == new.graceful_restart.is_some()
            && *extended_messages == new.extended_messages;
        if same_open {
            ChangeCost::None
        } else {
            ChangeCost::SessionReset
        }
    }
}

/// What a change of settings costs, cheapest first.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum ChangeCost {
    /// Nobody notices.
    None,
    /// Routes towards the peer are evaluated again.
    SoftOut,
    /// Routes from the peer are evaluated again.
    SoftIn,
    /// The session closes and comes back.
    SessionReset,
}

/// Longest time without a message before the session is closed (RFC 4271 section 4.2).
///
/// Zero disables the timer, the KEEPALIVEs and the send hold timer; otherwise at least 3 seconds.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct HoldTime(u16);

impl HoldTime {
    /// 90 seconds, as RFC 4271 section 10 suggests.
    pub const DEFAULT: Self = Self(90);
    /// No hold timer at all.
    pub const DISABLED: Self = Self(0);

    /// A hold time in seconds.
    ///
    /// # Errors
    /// [`HoldTimeTooShort`] for 1 or 2 seconds.
    pub const fn new(seconds: u16) -> Result<Self, HoldTimeTooShort> {
        match seconds {
            1 | 2 => Err(HoldTimeTooShort { seconds }),
            _ => Ok(Self(seconds)),
        }
    }

    /// The value as it stands in an OPEN message.
    #[must_use]
    pub const fn seconds(self) -> u16 {
        self.0
    }

    /// The time, or `None` when the timer is disabled.
    #[must_use]
    pub const fn duration(self) -> Option<Duration> {
        match self.0 {
            0 => None,
            seconds => Some(Duration::from_secs(seconds as u64)),
        }
    }
}

impl Default for HoldTime {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A hold time that RFC 4271 section 4.2 forbids.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Error)]
#[error("hold time of {seconds} s is not allowed; use 0 (no timer) or at least 3 s")]
pub struct HoldTimeTooShort {
    /// The refused value.
    pub seconds: u16,
}

/// Who opens the TCP connection.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Hash)]
pub enum ConnectMode {
    /// We dial, and accept the peer's connections too.
    #[default]
    Active,
    /// We only accept.
    Passive,
}

/// In which direction a family carries several paths per prefix, seen from us (RFC 7911).
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum AddPathMode {
    /// We are able to receive several paths.
    Receive,
    /// We wish to send several paths.
    Send,
    /// Both.
    Both,
}

impl AddPathMode {
    /// True when we are able to receive several paths.
    #[must_use]
    pub const fn receives(self) -> bool {
        matches!(self, Self::Receive | Self::Both)
    }

    /// True when we wish to send several paths.
    #[must_use]
    pub const fn sends(self) -> bool {
        matches!(self, Self::Send | Self::Both)
    }

    /// The mode that allows exactly these directions, or `None` for neither.
    #[must_use]
    pub const fn from_directions(send: bool, receive: bool) -> Option<Self> {
        match (send, receive) {
            (true, true) => Some(Self::Both),
            (true, false) => Some(Self::Send),
            (false, true) => Some(Self::Receive),
            (false, false) => None,
        }
    }
}

/// How a session takes part in graceful restart (RFC 4724).
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct GracefulRestartSettings {
    /// Seconds within which we promise to be back after a restart; up to 4095, default 120.
    pub restart_time: u16,
    /// How long stale routes may outlive the return of the peer when it sends no End-of-RIB; default 6 minutes.
    pub max_stale_time: Duration,
}

impl GracefulRestartSettings {
    /// Default of [`GracefulRestartSettings::restart_time`].
    pub const DEFAULT_RESTART_TIME: u16 = 120;
    /// The field has twelve bits (RFC 4724 section 3).
    pub const MAX_RESTART_TIME: u16 = 0x0fff;
    /// Default of [`GracefulRestartSettings::max_stale_time`].
    pub const DEFAULT_MAX_STALE_TIME: Duration = Duration::from_secs(360);
}

impl Default for GracefulRestartSettings {
    fn default() -> Self {
        Self {
            restart_time: Self::DEFAULT_RESTART_TIME,
            max_stale_time: Self::DEFAULT_MAX_STALE_TIME,
        }
    }
}

fn same_members<T: Ord + Clone>(left: &[T], right: &[T]) -> bool {
    let sorted = |items: &[T]| {
        let mut items = items.to_vec();
        items.sort_unstable();
        items.dedup();
        items
    };
    sorted(left) == sorted(right)
}
