//! Rules within one object. Rules between objects are in [`crate::Snapshot::check`].

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use ipnet::IpNet;
use routeagg::Platform;

use super::{
    AllowedUse, BgpConfiguration, BgpPeer, BlockAffinity, Community, Encapsulation, FieldError,
    IpPool, IpamBlock, MacAddr, Node, Object,
};
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

/// What in an object has no effect, or probably not the one that is meant.
#[must_use]
pub fn advise(object: &Object) -> Vec<FieldError> {
    let mut rules = Rules::default();
    match object {
        Object::BgpConfiguration(configuration) => rules.advise_bgp_configuration(configuration),
        Object::BgpPeer(peer) => rules.advise_bgp_peer(peer),
        Object::IpPool(pool) => {
            if pool.uses_ipip() {
                let problem = "weft installs no IP-in-IP routes";
                rules.refuse(
                    "spec.ipipMode",
                    problem,
                    "leave these routes to Felix, or use vxlanMode",
                );
            }
        }
        Object::IpamBlock(block) => rules.advise_block(block),
        Object::Node(_) | Object::BlockAffinity(_) => {}
    }
    rules.broken
}

#[derive(Default)]
struct Rules {
    broken: Vec<FieldError>,
}

impl Rules {
    fn refuse(&mut self, field: &str, problem: impl Into<String>, remedy: &str) {
        self.broken.push(FieldError::new(field, problem, remedy));
    }

    fn node(&mut self, node: &Node) {
        let windows = node.platform() == Platform::Windows;
        if let Some(bgp) = &node.bgp {
            self.asn("spec.bgp.asNumber", bgp.as_number);
            let ipv4 = bgp.ipv4_address.map(|net| net.addr().into());
            self.usable_address("spec.bgp.ipv4Address", ipv4);
            let ipv6 = bgp.ipv6_address.map(|net| net.addr().into());
            self.usable_address("spec.bgp.ipv6Address", ipv6);
            if bgp.route_reflector_cluster_id == Some(Ipv4Addr::UNSPECIFIED) {
                let remedy = "write another one, for example 244.0.0.1";
                self.refuse(
                    "spec.bgp.routeReflectorClusterID",
                    "0.0.0.0 is not a cluster ID",
                    remedy,
                );
            }
            if windows && bgp.route_reflector_cluster_id.is_some() {
                let problem = "a Windows node cannot be a route reflector";
                self.refuse(
                    "spec.bgp.routeReflectorClusterID",
                    problem,
                    "remove it, and make a Linux node the reflector",
                );
            }
            if windows && ipv6.is_some() {
                let problem = "weft has no IPv6 on Windows";
                self.refuse(
                    "spec.bgp.ipv6Address",
                    problem,
                    "remove it from Windows nodes",
                );
            }
        }
        self.unicast_mac("spec.vxlanTunnelMACAddr", node.vxlan_tunnel_mac_addr);
        self.unicast_mac("spec.vxlanTunnelMACAddrV6", node.vxlan_tunnel_mac_addr_v6);
        let tunnel = node.ipv4_vxlan_tunnel_addr.map(IpAddr::V4);
        self.usable_address("spec.ipv4VXLANTunnelAddr", tunnel);
        let tunnel = node.ipv6_vxlan_tunnel_addr.map(IpAddr::V6);
        self.usable_address("spec.ipv6VXLANTunnelAddr", tunnel);
    }

    fn bgp_configuration(&mut self, configuration: &BgpConfiguration) {
        let name = configuration.metadata.name.as_str();
        if !name.is_empty() && name != "default" && configuration.node().is_none() {
            let problem = format!("{name:?} is neither default nor node.NAME");
            self.refuse(
                "metadata.name",
                problem,
                "name it default, or node. and the name of a node",
            );
        }
        self.asn("spec.asNumber", configuration.as_number);
        if configuration.node_mesh_password.is_some() {
            self.refuse(
                "spec.nodeMeshPassword",
                NO_PASSWORDS,
                "remove it, or set nodeToNodeMeshEnabled: false",
            );
        }
        if let Some(time) = configuration.node_mesh_max_restart_time {
            let field = "spec.nodeMeshMaxRestartTime";
            self.restart_time(field, time);
            if configuration.node_to_node_mesh_enabled == Some(false) {
                self.refuse(
                    field,
                    "there is no mesh",
                    "remove it, or set nodeToNodeMeshEnabled: true",
                );
            }
        }
        self.port("spec.listenPort", configuration.listen_port);
        self.priority(
            "spec.ipv4NormalRoutePriority",
            configuration.ipv4_normal_route_priority,
        );
        self.priority(
            "spec.ipv6NormalRoutePriority",
            configuration.ipv6_normal_route_priority,
        );
        self.communities(configuration);
    }

    fn communities(&mut self, configuration: &BgpConfiguration) {
        let communities = &configuration.communities;
        if !communities.is_empty() && configuration.prefix_advertisements.is_empty() {
            let problem = "communities have names but nothing is announced with them";
            self.refuse(
                "spec.communities",
                problem,
                "add prefixAdvertisements, or remove them",
            );
        }
        for (at, community) in communities.iter().enumerate() {
            if communities[..at]
                .iter()
                .any(|earlier| earlier.name == community.name)
            {
                let problem = format!("{:?} names two communities", community.name);
                self.refuse(
                    &format!("spec.communities[{at}].name"),
                    problem,
                    "rename one of the two",
                );
            }
        }
        for (at, advertisement) in configuration.prefix_advertisements.iter().enumerate() {
            for (index, text) in advertisement.communities.iter().enumerate() {
                let named = communities.iter().any(|community| community.name == *text);
                if !named && text.parse::<Community>().is_err() {
                    let field = format!("spec.prefixAdvertisements[{at}].communities[{index}]");
                    let problem = format!("{text:?} is neither a community nor the name of one");
                    self.refuse(
                        &field,
                        problem,
                        "write for example 64512:100, or add the name to communities",
                    );
                }
            }
        }
    }

    fn bgp_peer(&mut self, peer: &BgpPeer) {
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
            let problem = "is less than 3 seconds, which RFC 4271 forbids";
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

    fn pool(&mut self, pool: &IpPool) {
        self.network("spec.cidr", &pool.cidr);
        let link_local: [IpNet; 2] = [
            IpNet::new_assert(Ipv4Addr::new(169, 254, 0, 0).into(), 16),
            IpNet::new_assert(IpAddr::from([0xfe80, 0, 0, 0, 0, 0, 0, 0]), 10),
        ];
        if link_local.iter().any(|range| overlap(range, &pool.cidr)) {
            let problem = format!("{} overlaps the link-local range", pool.cidr);
            self.refuse("spec.cidr", problem, "choose another range");
        }
        let is_ipv4 = matches!(pool.cidr, IpNet::V4(_));
        if pool.uses_ipip() && !is_ipv4 {
            self.refuse(
                "spec.ipipMode",
                "IP-in-IP is for IPv4 only",
                "write ipipMode: Never",
            );
        }
        if pool.uses_ipip() && pool.uses_vxlan() {
            self.refuse(
                "spec.ipipMode",
                "excludes vxlanMode",
                "set one of the two to Never",
            );
        }
        if let Some(size) = pool.block_size {
            let (low, high) = if is_ipv4 { (20, 32) } else { (116, 128) };
            if !(low..=high).contains(&size) {
                let problem = format!("{size} is not a prefix length from {low} to {high}");
                self.refuse(
                    "spec.blockSize",
                    problem,
                    "write for example 26 (IPv4) or 122 (IPv6)",
                );
            }
        }
        if pool.cidr.prefix_len() > pool.block_size() && !pool.disabled {
            let problem = format!(
                "{} is smaller than one block of /{}",
                pool.cidr,
                pool.block_size()
            );
            self.refuse(
                "spec.cidr",
                problem,
                "enlarge the pool, or set a larger blockSize",
            );
        }
        self.pool_uses(pool);
    }

    fn pool_uses(&mut self, pool: &IpPool) {
        if pool.allowed_uses.contains(&AllowedUse::Tunnel) && pool.namespace_selector.is_some() {
            let problem = "excludes the use Tunnel: tunnels are in no namespace";
            self.refuse(
                "spec.namespaceSelector",
                problem,
                "remove it, or Tunnel from allowedUses",
            );
        }
        if !pool.is_load_balancer() {
            return;
        }
        if pool.allowed_uses.len() > 1 {
            let problem = "LoadBalancer excludes the other uses";
            self.refuse(
                "spec.allowedUses",
                problem,
                "make a pool for services alone",
            );
        }
        if pool.vxlan_mode != Encapsulation::Never || pool.ipip_mode != Encapsulation::Never {
            let field = if pool.uses_vxlan() {
                "spec.vxlanMode"
            } else {
                "spec.ipipMode"
            };
            self.refuse(
                field,
                "a LoadBalancer pool has no encapsulation",
                "write Never",
            );
        }
        if pool.disable_bgp_export {
            let problem = "a LoadBalancer pool has to be exported";
            self.refuse("spec.disableBGPExport", problem, "write false");
        }
    }

    fn block(&mut self, block: &IpamBlock) {
        self.network("spec.cidr", &block.cidr);
        let size = block.to_block().size();
        if u64::try_from(block.allocations.len()).map_or(true, |length| length > size) {
            let problem = format!(
                "has {} entries, the block {size} addresses",
                block.allocations.len()
            );
            self.refuse("spec.allocations", problem, "write one entry per address");
        }
    }

    fn affinity(&mut self, affinity: &BlockAffinity) {
        self.network("spec.cidr", &affinity.cidr);
        if affinity.node.is_empty() {
            self.refuse("spec.node", "is missing", "write the name of the owner");
        }
    }

    fn advise_bgp_configuration(&mut self, configuration: &BgpConfiguration) {
        let BgpConfiguration {
            metadata: _,
            log_severity_screen,
            node_to_node_mesh_enabled,
            as_number,
            service_load_balancer_ips,
            service_external_ips,
            service_cluster_ips,
            service_load_balancer_aggregation,
            communities: _,
            prefix_advertisements: _,
            listen_port: _,
            node_mesh_password: _,
            node_mesh_max_restart_time,
            bind_mode,
            ignored_interfaces,
            local_workload_peering_ipv4,
            local_workload_peering_ipv6,
            program_cluster_routes,
            ipv4_normal_route_priority,
            ipv6_normal_route_priority,
        } = configuration;
        if log_severity_screen.is_some() {
            self.refuse(
                "spec.logSeverityScreen",
                NO_EFFECT,
                "set the log level of weftd itself",
            );
        }
        let services = [
            (
                "spec.serviceLoadBalancerIPs",
                !service_load_balancer_ips.is_empty(),
            ),
            ("spec.serviceExternalIPs", !service_external_ips.is_empty()),
            ("spec.serviceClusterIPs", !service_cluster_ips.is_empty()),
            (
                "spec.serviceLoadBalancerAggregation",
                service_load_balancer_aggregation.is_some(),
            ),
        ];
        for (field, _) in services.into_iter().filter(|(_, set)| *set) {
            let problem = "weft does not originate service addresses";
            self.refuse(field, problem, "announce them with another speaker");
        }
        let workload_peering = [
            (
                "spec.localWorkloadPeeringIPV4",
                local_workload_peering_ipv4.is_some(),
            ),
            (
                "spec.localWorkloadPeeringIPV6",
                local_workload_peering_ipv6.is_some(),
            ),
            ("spec.ignoredInterfaces", !ignored_interfaces.is_empty()),
        ];
        for (field, _) in workload_peering.into_iter().filter(|(_, set)| *set) {
            self.refuse(field, NO_EFFECT, "remove it");
        }
        if configuration.node().is_none() {
            return;
        }
        let cluster_wide = [
            (
                "spec.nodeToNodeMeshEnabled",
                node_to_node_mesh_enabled.is_some(),
            ),
            ("spec.asNumber", as_number.is_some()),
            (
                "spec.nodeMeshMaxRestartTime",
                node_mesh_max_restart_time.is_some(),
            ),
            ("spec.bindMode", bind_mode.is_some()),
            (
                "spec.programClusterRoutes",
                program_cluster_routes.is_some(),
            ),
            (
                "spec.ipv4NormalRoutePriority",
                ipv4_normal_route_priority.is_some(),
            ),
            (
                "spec.ipv6NormalRoutePriority",
                ipv6_normal_route_priority.is_some(),
            ),
        ];
        for (field, _) in cluster_wide.into_iter().filter(|(_, set)| *set) {
            self.refuse(
                field,
                "counts in the BGPConfiguration \"default\" only",
                "move it there",
            );
        }
    }

    fn advise_bgp_peer(&mut self, peer: &BgpPeer) {
        if let Some(address) = peer
            .peer_ip
            .map(|peer| peer.address)
            .filter(IpAddr::is_multicast)
        {
            let problem = format!("{address} is a multicast address: the session cannot come up");
            self.refuse("spec.peerIP", problem, "write the address of one host");
        }
        if peer.reachable_by.is_some() {
            let remedy = "make sure that the host has a route to the peer";
            self.refuse("spec.reachableBy", NO_EFFECT, remedy);
        }
    }

    fn advise_block(&mut self, block: &IpamBlock) {
        for (at, index) in block.allocations.iter().enumerate() {
            let known =
                |index: u32| usize::try_from(index).is_ok_and(|i| i < block.attributes.len());
            if let Some(index) = index.filter(|index| !known(*index)) {
                let problem =
                    format!("{index} is not an index into attributes: the address has no route");
                self.refuse(
                    &format!("spec.allocations[{at}]"),
                    problem,
                    "correct the index",
                );
            }
        }
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
            let problem = format!("{time:?} is not within {low} and {high} seconds");
            self.refuse(field, problem, "write for example 90s");
        }
        seconds
    }
}

fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(b) || b.contains(a)
}

const NO_EFFECT: &str = "has no effect in this version of weft";
const NO_PASSWORDS: &str = "this version of weft does not support TCP-MD5 passwords and would open the session without one";
