//! The alphabet of a shard: what happens to it, and what it wants done.

use std::net::IpAddr;
use std::sync::Arc;

use bgp_wire::{Attributes, Family, RefreshSubtype, UpdateMessage};
use bytes::Bytes;
use ipnet::IpNet;
use smallvec::SmallVec;

use super::fib::FibChange;
use super::next_hops::NextHopState;
use super::settings::{RibPeer, ShardSettings};
use crate::policy::Policy;
use crate::{Epoch, PeerId};

/// Everything that can happen to a [`super::Shard`].
///
/// An event that names an epoch which is not the peer's current one, or an unknown peer, is dropped.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are updates, and a box for each would cost more than the room"
)]
pub enum RibEvent {
    /// A session reached Established.
    PeerUp {
        /// Who.
        peer: PeerId,
        /// Names this life of the session.
        epoch: Epoch,
        /// What was configured and negotiated.
        settings: Arc<RibPeer>,
    },
    /// The session ended. Paths of the families in `keep` become stale and stay in use; all others go, and so do
    /// those that were stale already (RFC 4724 section 4.2).
    PeerDown {
        /// Who.
        peer: PeerId,
        /// Which life ended.
        epoch: Epoch,
        /// Families that the peer promised to come back with.
        keep: Vec<Family>,
    },
    /// The stale timer ran out, or the peer came back without these families: what is stale in them goes.
    FlushStale {
        /// Who.
        peer: PeerId,
        /// Which families.
        families: Vec<Family>,
    },
    /// The peer is no longer configured: all that is left of it goes.
    RemovePeer {
        /// Who.
        peer: PeerId,
    },
    /// Routes from a peer, after the session has dealt with faults (RFC 7606).
    Update {
        /// Who.
        peer: PeerId,
        /// Which life.
        epoch: Epoch,
        /// What.
        update: UpdateMessage,
    },
    /// The peer sent all its initial routes of a family: what is still stale goes.
    EndOfRib {
        /// Who.
        peer: PeerId,
        /// Which life.
        epoch: Epoch,
        /// Which family.
        family: Family,
    },
    /// The peer wants all routes again (RFC 2918), or frames its own answer (RFC 7313).
    Refresh {
        /// Who.
        peer: PeerId,
        /// Which life.
        epoch: Epoch,
        /// Which family.
        family: Family,
        /// Request, begin or end.
        subtype: RefreshSubtype,
    },
    /// Own routes, new or changed.
    Originate(Vec<Origination>),
    /// Own routes to take back.
    Withdraw(Vec<IpNet>),
    /// New policies of a peer: both directions are evaluated again, without a word to the peer but for what differs.
    Policies {
        /// Who.
        peer: PeerId,
        /// Runs over what comes in.
        import: Arc<Policy>,
        /// Runs over what goes out.
        export: Arc<Policy>,
    },
    /// Other settings of a peer that do not need a new session.
    PeerSettings {
        /// Who.
        peer: PeerId,
        /// All of them.
        settings: Arc<RibPeer>,
    },
    /// The way to an address changed. An address that was never reported counts as reachable at no cost.
    NextHopChanged {
        /// The next hop of some routes, perhaps.
        address: IpAddr,
        /// What holds now.
        state: NextHopState,
    },
    /// Octets of [`RibAction::Send`] that have left for the peer, or were thrown away with its session.
    Sent {
        /// Who.
        peer: PeerId,
        /// The life of the session that they were handed out in: what an old connection still reports must not widen
        /// the window of the new one.
        epoch: Epoch,
        /// How many.
        bytes: usize,
    },
    /// The restart is over (RFC 4724 section 4.1): send what was decided.
    EndDeferral,
    /// New settings of this node.
    Configure(ShardSettings),
}

/// A route of this node's own.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Origination {
    /// What to announce.
    pub prefix: IpNet,
    /// Communities, LOCAL_PREF and the like; AS_PATH as a rule empty.
    pub attributes: Attributes,
    /// `None` is this node: each peer gets the own end of its session.
    pub next_hop: Option<IpAddr>,
}

/// What a shard wants done, in the order given.
#[derive(Clone, Debug)]
pub enum RibAction {
    /// Queue bytes for peers. They count against each one's window until [`RibEvent::Sent`] gives them back.
    Send {
        /// Who gets it.
        peers: Recipients,
        /// One or more whole UPDATE or ROUTE-REFRESH messages.
        frame: Bytes,
        /// How many messages.
        messages: u32,
    },
    /// What the kernel should have; at most one change for each prefix.
    Fib(Vec<FibChange>),
    /// All initial routes of a peer have been handed to `Send`: End-of-RIB may follow them.
    InitialRoutesSent {
        /// Who.
        peer: PeerId,
        /// Which life.
        epoch: Epoch,
        /// Which family.
        family: Family,
    },
    /// The best path of these prefixes changed, appeared or went; each prefix once.
    BestChanged(Vec<IpNet>),
}

/// The peers that get the same bytes: a group, but for the few that must not have them.
#[derive(Clone, Debug)]
pub struct Recipients {
    pub(super) group: Arc<[PeerId]>,
    pub(super) except: SmallVec<[PeerId; 2]>,
}

impl Recipients {
    /// One peer.
    pub(super) fn one(peer: PeerId) -> Self {
        Self {
            group: Arc::new([peer]),
            except: SmallVec::new(),
        }
    }

    /// Each peer once.
    pub fn iter(&self) -> impl Iterator<Item = PeerId> + '_ {
        self.group
            .iter()
            .copied()
            .filter(|peer| !self.except.contains(peer))
    }
}
