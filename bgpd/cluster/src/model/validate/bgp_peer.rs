//! Rules of BGPPeer.

use std::net::IpAddr;

use super::{NO_PASSWORDS, Rules};
use crate::model::BgpPeer;

impl Rules {
    pub(super) fn bgp_peer(&mut self, peer: &BgpPeer) {
        self.peer_selection(peer);
        self.asn("spec.asNumber", peer.as_number);
        self.asn("spec.localASNumber", peer.local_as_number);
        if peer.password.is_some() {
            self.refuse(
                "spec.password",
                NO_PASSWORDS,
                "remove the peer, or its password on both sides",
            );
        }
        if !peer.filters.is_empty() {
            let problem = "this version of weft does not support BGPFilter and would exchange routes unfiltered";
            self.refuse("spec.filters", problem, "remove the peer, or its filters");
        }
        if peer.keep_original_next_hop && peer.next_hop_mode.is_some() {
            let problem = "excludes nextHopMode";
            self.refuse(
                "spec.keepOriginalNextHop",
                problem,
                "remove it: nextHopMode: Keep says the same",
            );
        }
        if let Some(time) = peer.max_restart_time {
            self.restart_time("spec.maxRestartTime", time);
        }
        self.timers(peer);
        if let Some(gateway) = peer.reachable_by {
            let field = "spec.reachableBy";
            match peer.peer_ip {
                None => self.refuse(
                    field,
                    "needs peerIP",
                    "remove it, or name the peer by peerIP",
                ),
                Some(peer) if peer.address.is_ipv4() != gateway.is_ipv4() => {
                    let problem =
                        format!("{gateway} is not of the family of peerIP {}", peer.address);
                    self.refuse(field, problem, "write a gateway of the same family");
                }
                Some(_) => {}
            }
        }
    }

    fn peer_selection(&mut self, peer: &BgpPeer) {
        if peer.node.is_some() && peer.node_selector.is_some() {
            self.refuse(
                "spec.nodeSelector",
                "excludes node",
                "remove one of the two",
            );
        }
        if peer.local_workload_selector.is_some() {
            let problem = "this version of weft does not support sessions with workloads";
            self.refuse("spec.localWorkloadSelector", problem, "remove this BGPPeer");
            return;
        }
        match (&peer.peer_ip, &peer.peer_selector) {
            (Some(_), Some(_)) => {
                self.refuse(
                    "spec.peerSelector",
                    "excludes peerIP",
                    "remove one of the two",
                );
            }
            (None, None) => {
                let remedy = "write peerIP: 192.0.2.1, or peerSelector to peer with nodes";
                self.refuse(
                    "spec.peerIP",
                    "is missing: nothing says who the peer is",
                    remedy,
                );
            }
            (None, Some(_)) if peer.as_number.is_some() => {
                let problem = "excludes peerSelector: each node brings its own AS number";
                self.refuse("spec.asNumber", problem, "remove it");
            }
            (Some(peer), None) => {
                if peer.address.is_unspecified() {
                    let problem = format!("{} is the unspecified address", peer.address);
                    self.refuse("spec.peerIP", problem, "write the address of the peer");
                }
                if matches!(peer.address, IpAddr::V6(ip) if ip.is_unicast_link_local()) {
                    let problem = format!("{} is a link-local address", peer.address);
                    let remedy = "write a global or unique local address of the peer";
                    self.refuse("spec.peerIP", problem, remedy);
                }
            }
            (None, Some(_)) => {}
        }
    }

    fn timers(&mut self, peer: &BgpPeer) {
        // RFC 4271 section 4.2: zero, or at least three seconds, in 16 bits.
        let hold = peer
            .hold_time
            .map(|time| self.seconds("spec.holdTime", time, 0, 65535));
        if matches!(hold, Some(1 | 2)) {
            let problem = "1 and 2 seconds are forbidden (RFC 4271)";
            self.refuse(
                "spec.holdTime",
                problem,
                "write 3s or more, or 0s for no timer",
            );
        }
        let keepalive = peer
            .keepalive_time
            .map(|time| self.seconds("spec.keepaliveTime", time, 1, 21845));
        if let (Some(hold), Some(keepalive)) = (hold, keepalive)
            && hold >= 3
            && keepalive * 3 > hold
        {
            let problem =
                format!("{keepalive} s is more than a third of the hold time of {hold} s");
            self.refuse(
                "spec.keepaliveTime",
                problem,
                "write a third of holdTime or less",
            );
        }
        if let Some(time) = peer.connect_retry_time {
            self.seconds("spec.connectRetryTime", time, 1, 65535);
        }
    }
}
