//! BGP daemons of several makers behind one trait.
//!
//! A [`SpeakerConfig`] says in neutral words what a speaker shall do; each module renders it in its daemon's own
//! language, starts the daemon in a namespace with sockets and files of its own, and reads its state back into
//! [`Session`] and [`Route`]. What only one daemon can do goes into [`SpeakerConfig::extra`], verbatim.
//!
//! Announcements are made and taken back at run time through each daemon's own means, so nothing here resets a session.

use anyhow::Result;

use crate::netns::Netns;

mod bird;
mod config;
mod exabgp;
mod frr;
mod gobgp;
mod openbgpd;
mod speaker;
mod weft;

pub use bird::Bird;
pub use config::{Announcement, Neighbor, Role, SpeakerConfig};
pub use exabgp::ExaBgp;
pub use frr::Frr;
pub use gobgp::GoBgp;
pub use openbgpd::OpenBgpd;
pub use speaker::{Route, Session, Speaker};
pub use weft::{Weft, WeftConfig};

/// The daemons of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Implementation {
    /// BIRD 2.
    Bird,
    /// FRR's bgpd.
    Frr,
    /// GoBGP.
    GoBgp,
    /// OpenBGPD.
    OpenBgpd,
    /// ExaBGP.
    ExaBgp,
}

impl Implementation {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Bird,
        Self::Frr,
        Self::GoBgp,
        Self::OpenBgpd,
        Self::ExaBgp,
    ];

    /// Starts one.
    ///
    /// # Errors
    /// When it does not start, or can't do what is asked for.
    pub fn start(self, netns: &Netns, config: SpeakerConfig) -> Result<Box<dyn Speaker>> {
        Ok(match self {
            Self::Bird => Box::new(Bird::start(netns, config)?),
            Self::Frr => Box::new(Frr::start(netns, config)?),
            Self::GoBgp => Box::new(GoBgp::start(netns, config)?),
            Self::OpenBgpd => Box::new(OpenBgpd::start(netns, config)?),
            Self::ExaBgp => Box::new(ExaBgp::start(netns, config)?),
        })
    }
}
