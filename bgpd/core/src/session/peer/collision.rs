//! Which of two connections to one peer survives (RFC 4271 section 6.8, RFC 6286 section 2.3, RFC 4724 section 5).
//!
//! Both speakers must come to the same answer, whatever the order in which the four OPENs arrive. The rule is that the
//! speaker with the higher identifier keeps the connection it dialled. What takes care is *when* to apply it: once a
//! KEEPALIVE has answered the peer's OPEN, the peer may be Established on that connection and refuse the other one,
//! and if we then close the answered one, both are lost. So the answer is held back while a connection that would win
//! is still waiting for the peer's OPEN: see [`Verdict::Contested`].

use bgp_wire::{Asn, RouterId};

use super::super::connection::{Connection, Origin, Phase};

/// What happens to a connection on which a valid OPEN arrived, and to its rival.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    /// It goes on alone; a rival is closed.
    Win,
    /// It closes; the rival stays.
    Lose,
    /// It would lose, but the rival has not yet proved itself: hold the KEEPALIVE back and wait for the rival.
    Contested,
    /// The rival is Established, and graceful restart tells that the peer restarted: the rival is as good as lost.
    ReplaceEstablished,
}

/// The identities that decide.
#[derive(Copy, Clone, Debug)]
pub(super) struct Identities {
    pub(super) local: (RouterId, Asn),
    pub(super) remote: (RouterId, Asn),
}

impl Identities {
    /// Who must have dialled the connection that survives. Equal identifiers may occur between different AS numbers;
    /// then the larger AS number wins.
    pub(super) fn preferred_origin(self) -> Origin {
        if self.local > self.remote {
            Origin::Dialed
        } else {
            Origin::Accepted
        }
    }
}

/// Judges a connection of `origin`, on which the peer's OPEN just arrived, against its `rival`.
pub(super) fn judge(origin: Origin, rival: &Connection, identities: Identities) -> Verdict {
    let wins = identities.preferred_origin() == origin;
    match &rival.phase {
        Phase::Established(established) => {
            // Without graceful restart an Established session is never given up for a new connection.
            if established.negotiated.graceful_restart.is_some() {
                Verdict::ReplaceEstablished
            } else {
                Verdict::Lose
            }
        }
        Phase::OpenConfirm(_) if wins => Verdict::Win,
        Phase::OpenConfirm(_) => Verdict::Lose,
        Phase::OpenSent(_) if wins => Verdict::Win,
        Phase::OpenSent(_) => Verdict::Contested,
    }
}
