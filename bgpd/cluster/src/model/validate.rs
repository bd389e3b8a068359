//! Rules within one object. Rules between objects are in [`crate::Snapshot::check`].

mod bgp_configuration;
mod bgp_peer;
mod ipam;
mod node;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use ipnet::IpNet;

use super::{FieldError, MacAddr, Object};
use crate::Asn;

/// Every reason why an object cannot be used; empty when it can.
///
/// Includes fields which this version of weft does not support and which would weaken the configuration if they were
/// ignored, such as passwords and filters.
#[must_use]
pub fn validate(object: &Object) -> Vec<FieldError> {
    let mut rules = Rules::default();
    if object.metadata().name.is_empty() {
        rules.refuse("metadata.name", "is missing", "write the object's name");
    }
    match object {
        Object::Node(node) => rules.node(node),
        Object::BgpConfiguration(configuration) => rules.bgp_configuration(configuration),
        Object::BgpPeer(peer) => rules.bgp_peer(peer),
        Object::IpPool(pool) => rules.pool(pool),
        Object::IpamBlock(block) => rules.block(block),
        Object::BlockAffinity(affinity) => rules.affinity(affinity),
    }
    rules.broken
}

/// Collects the rules that an object breaks. The rules of each kind are in a file of their own.
#[derive(Default)]
struct Rules {
    broken: Vec<FieldError>,
}

impl Rules {
    fn refuse(&mut self, field: &str, problem: impl Into<String>, remedy: &str) {
        self.broken.push(FieldError::new(field, problem, remedy));
    }

    fn asn(&mut self, field: &str, asn: Option<Asn>) {
        let problem = match asn {
            Some(Asn(0)) => "0 is reserved (RFC 7607)",
            Some(Asn(23456)) => "23456 stands for any four-byte AS number (RFC 6793)",
            Some(Asn(65535 | u32::MAX)) => "the last AS number is reserved (RFC 7300)",
            _ => return,
        };
        self.refuse(
            field,
            problem,
            "write the real AS number, for example 65010",
        );
    }

    fn usable_address(&mut self, field: &str, address: Option<IpAddr>) {
        let Some(address) = address else { return };
        let kind = match address {
            _ if address.is_unspecified() => "the unspecified address",
            _ if address.is_multicast() => "a multicast address",
            IpAddr::V4(Ipv4Addr::BROADCAST) => "the broadcast address",
            _ => return,
        };
        self.refuse(
            field,
            format!("{address} is {kind}"),
            "write the address of one host",
        );
    }

    fn unicast_mac(&mut self, field: &str, mac: Option<MacAddr>) {
        let Some(mac) = mac else { return };
        if mac.0 == [0; 6] || mac.0[0] & 1 == 1 {
            let problem = format!("{mac} is not the address of one interface");
            self.refuse(
                field,
                problem,
                "write a unicast MAC address, for example 66:a8:6f:cf:1c:56",
            );
        }
    }

    fn network(&mut self, field: &str, net: &IpNet) {
        if net.trunc() != *net {
            let problem = format!("{net} has host bits");
            self.refuse(field, problem, &format!("write {}", net.trunc()));
        }
    }

    fn port(&mut self, field: &str, port: Option<u16>) {
        if port == Some(0) {
            self.refuse(field, "0 is not a port", "write a number from 1 to 65535");
        }
    }

    fn priority(&mut self, field: &str, priority: Option<u32>) {
        if priority.is_some_and(|priority| !(1..=2_147_483_646).contains(&priority)) {
            self.refuse(
                field,
                "is out of range",
                "write a number from 1 to 2147483646",
            );
        }
    }

    fn restart_time(&mut self, field: &str, time: Duration) {
        // RFC 4724 section 3: 12 bits.
        self.seconds(field, time, 0, 4095);
    }

    /// The whole seconds of a duration within bounds.
    fn seconds(&mut self, field: &str, time: Duration, low: u64, high: u64) -> u64 {
        let seconds = time.as_secs();
        if seconds < low || seconds > high || (seconds == high && time.subsec_nanos() > 0) {
            let problem = format!(
                "{} s is not from {low} to {high} seconds",
                time.as_secs_f64()
            );
            self.refuse(field, problem, "write for example 90s");
        }
        seconds
    }
}

const NO_PASSWORDS: &str = "this version of weft does not support TCP-MD5 passwords and would open the session without one";
