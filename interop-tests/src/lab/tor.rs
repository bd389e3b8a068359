//! The ToR: an eBGP neighbour of every node, that forwards to them and announces the way to "the internet".

use anyhow::Result;
use ipnet::IpNet;

use super::manifests;
use super::options::TorKind;
use super::plan::{INTERNET_V4, INTERNET_V6, NODE_ASN, Plan, TOR_ASN, TOR_V4};
use crate::daemon::{Announcement, Bird, Frr, Neighbor, Speaker, SpeakerConfig, Weft, WeftConfig};
use crate::netns::Netns;

/// Starts it.
///
/// # Errors
/// When it does not start.
pub fn start(kind: TorKind, netns: &Netns, plan: &Plan) -> Result<Box<dyn Speaker>> {
    if kind == TorKind::Weft {
        let mut config = WeftConfig::new("tor");
        config.manifests = manifests::tor(plan);
        return Ok(Box::new(Weft::start(netns, config)?));
    }
    let mut config = SpeakerConfig::new(TOR_ASN, TOR_V4).kernel();
    for prefix in internet(kind) {
        config = config.announce(Announcement::new(&prefix.to_string()));
    }
    for node in &plan.nodes {
        config = config
            .neighbor(Neighbor::new(&node.ipv4.to_string(), NODE_ASN))
            .neighbor(Neighbor::new(&node.ipv6.to_string(), NODE_ASN));
    }
    Ok(match kind {
        TorKind::Bird => Box::new(Bird::start(netns, config)?),
        TorKind::Frr | TorKind::Weft => Box::new(Frr::start(netns, config)?),
    })
}

/// What it announces: the host's address, or the block that holds it where the ToR is a weft, which announces blocks.
pub fn internet(kind: TorKind) -> [IpNet; 2] {
    let (v4, v6) = if kind == TorKind::Weft {
        (26, 122)
    } else {
        (32, 128)
    };
    [
        IpNet::new_assert(INTERNET_V4.into(), v4).trunc(),
        IpNet::new_assert(INTERNET_V6.into(), v6).trunc(),
    ]
}
