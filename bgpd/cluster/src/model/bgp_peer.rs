//! BGPPeer: sessions of the nodes that it selects with the peers that it names.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use super::{Metadata, SecretKeyRef};
use crate::{Asn, Selector};

/// One or more BGP sessions.
///
/// It applies to the nodes that `node` or `node_selector` names, to all when neither is set. The peer is the one at
/// `peer_ip`, or every node that `peer_selector` matches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BgpPeer {
    /// Name.
    pub metadata: Metadata,
    /// `node`: the only node with these sessions.
    pub node: Option<String>,
    /// `nodeSelector`: the nodes with these sessions.
    pub node_selector: Option<Selector>,
    /// `peerIP`: the peer's address and, if given, port.
    pub peer_ip: Option<PeerAddress>,
    /// `asNumber`: the peer's AS.
    pub as_number: Option<Asn>,
    /// `localASNumber`: the AS that the node shows to this peer (RFC 7705).
    pub local_as_number: Option<Asn>,
    /// `peerSelector`: the peers are the nodes that match.
    pub peer_selector: Option<Selector>,
    /// `localWorkloadSelector`: the peers are workloads on the node.
    pub local_workload_selector: Option<Selector>,
    /// `keepOriginalNextHop`: the old form of `nextHopMode: Keep`, for eBGP only.
    pub keep_original_next_hop: bool,
    /// `nextHopMode`.
    pub next_hop_mode: Option<NextHopMode>,
    /// `password`: the TCP-MD5 password (RFC 2385).
    pub password: Option<SecretKeyRef>,
    /// `sourceAddress`.
    pub source_address: Option<SourceAddress>,
    /// `maxRestartTime`: graceful restart time (RFC 4724).
    pub max_restart_time: Option<Duration>,
    /// `keepaliveTime`.
    pub keepalive_time: Option<Duration>,
    /// `numAllowedLocalASNumbers`: how often the own AS may be in a received AS path.
    pub num_allowed_local_as_numbers: Option<u32>,
    /// `ttlSecurity`: the peer is at most that many hops away (RFC 5082); 0 means off.
    pub ttl_security: Option<u8>,
    /// `reachableBy`: the gateway to the peer's address.
    pub reachable_by: Option<IpAddr>,
    /// `filters`: names of BGPFilter objects.
    pub filters: Vec<String>,
    /// `reversePeering`.
    pub reverse_peering: Option<ReversePeering>,
    /// `holdTime`, an addition of weft: the longest silence before the session is closed.
    pub hold_time: Option<Duration>,
    /// `connectRetryTime`, an addition of weft: the pause between attempts to connect.
    pub connect_retry_time: Option<Duration>,
    /// `passive`, an addition of weft: wait for the peer to connect.
    pub passive: Option<bool>,
    /// `description`, an addition of weft: text for people.
    pub description: Option<String>,
}

/// The address of a peer.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct PeerAddress {
    /// The address.
    pub address: IpAddr,
    /// The port, if one is given.
    pub port: Option<u16>,
}

/// Which next hop announced routes carry.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum NextHopMode {
    /// What RFC 4271 section 5.1.3 asks for.
    #[default]
    Auto,
    /// Always the own address.
    OwnAddress,
    /// Always the one that was received.
    Keep,
}

/// The local address of a session.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub enum SourceAddress {
    /// The node's own address.
    #[default]
    UseNodeIp,
    /// The one that the kernel chooses.
    None,
}

/// Whether peers that are nodes get the session back to this one without being told.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub enum ReversePeering {
    /// They do.
    #[default]
    Auto,
    /// They need a BGPPeer of their own.
    Manual,
}

/// A text that is no peer address.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is not an IP address")]
pub struct ParsePeerAddressError(String);

impl BgpPeer {
    /// True when the object applies to all nodes.
    #[must_use]
    pub fn is_global(&self) -> bool {
        self.node.is_none() && self.node_selector.is_none()
    }
}

impl FromStr for PeerAddress {
    type Err = ParsePeerAddressError;

    /// Reads `192.0.2.1`, `192.0.2.1:179`, `fd00::1`, `[fd00::1]:179` and `[fd00::1]`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(address) = text.parse() {
            return Ok(Self {
                address,
                port: None,
            });
        }
        let bare = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        if let Some(Ok(address)) = bare.map(|bare| bare.parse().map(IpAddr::V6)) {
            return Ok(Self {
                address,
                port: None,
            });
        }
        let socket: Option<SocketAddr> = text.parse().ok();
        // Port 0 and a scope (`[fe80::1%3]:179`) would not survive: neither names a peer.
        let socket = socket.filter(|socket| match socket {
            SocketAddr::V4(v4) => v4.port() != 0,
            SocketAddr::V6(v6) => v6.port() != 0 && v6.scope_id() == 0,
        });
        let socket = socket.ok_or_else(|| ParsePeerAddressError(text.to_owned()))?;
        Ok(Self {
            address: socket.ip(),
            port: Some(socket.port()),
        })
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            None => write!(f, "{}", self.address),
            Some(port) => write!(f, "{}", SocketAddr::new(self.address, port)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peer_addresses_are_read_with_and_without_port() {
        for (text, address, port) in [
            ("192.0.2.1", "192.0.2.1", None),
            ("192.0.2.1:166", "192.0.2.1", Some(166)),
            ("fd00::1", "fd00::1", None),
            ("[fd00::1]:50", "fd00::1", Some(50)),
            ("[fd00::1]", "fd00::1", None),
        ] {
            let expected = PeerAddress {
                address: address.parse().unwrap(),
                port,
            };
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for wrong in [
            "",
            "10.0.0",
            "10.0.0.1:",
            "10.0.0.1:0",
            "10.0.0.1:65536",
            "[10.0.0.1]",
            "fe80::1%eth0",
            "[fe80::1%3]:179",
            "tor.example",
        ] {
            assert!(
                wrong.parse::<PeerAddress>().is_err(),
                "{wrong:?} must not be a peer address"
            );
        }
    }
}
