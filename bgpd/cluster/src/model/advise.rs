//! What in a valid object has no effect, or probably not the one that is meant.

use std::net::IpAddr;

use super::{BgpConfiguration, BgpPeer, FieldError, IpPool, IpamBlock, Object};

/// What in an object has no effect, or probably not the one that is meant.
#[must_use]
pub fn advise(object: &Object) -> Vec<FieldError> {
    let mut advice = Advice::default();
    match object {
        Object::BgpConfiguration(configuration) => advice.bgp_configuration(configuration),
        Object::BgpPeer(peer) => advice.bgp_peer(peer),
        Object::IpPool(pool) => advice.pool(pool),
        Object::IpamBlock(block) => advice.block(block),
        Object::Node(_) | Object::BlockAffinity(_) => {}
    }
    advice.notes
}

#[derive(Default)]
struct Advice {
    notes: Vec<FieldError>,
}

impl Advice {
    fn note(&mut self, field: &str, problem: impl Into<String>, remedy: &str) {
        self.notes.push(FieldError::new(field, problem, remedy));
    }

    fn pool(&mut self, pool: &IpPool) {
        if pool.uses_ipip() {
            let remedy = "leave these routes to Felix, or use vxlanMode";
            self.note("spec.ipipMode", "weft installs no IP-in-IP routes", remedy);
        }
    }

    fn bgp_configuration(&mut self, configuration: &BgpConfiguration) {
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
            self.note(
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
            self.note(field, problem, "announce them with another speaker");
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
            self.note(field, NO_EFFECT, "remove it");
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
            self.note(
                field,
                "counts in the BGPConfiguration \"default\" only",
                "move it there",
            );
        }
    }

    fn bgp_peer(&mut self, peer: &BgpPeer) {
        if let Some(address) = peer
            .peer_ip
            .map(|peer| peer.address)
            .filter(IpAddr::is_multicast)
        {
            let problem = format!("{address} is a multicast address: the session cannot come up");
            self.note("spec.peerIP", problem, "write the address of one host");
        }
        if peer.reachable_by.is_some() {
            let remedy = "make sure that the host has a route to the peer";
            self.note("spec.reachableBy", NO_EFFECT, remedy);
        }
    }

    fn block(&mut self, block: &IpamBlock) {
        for (at, index) in block.allocations.iter().enumerate() {
            let known =
                |index: u32| usize::try_from(index).is_ok_and(|i| i < block.attributes.len());
            if let Some(index) = index.filter(|index| !known(*index)) {
                let problem =
                    format!("{index} is not an index into attributes: the address has no route");
                self.note(
                    &format!("spec.allocations[{at}]"),
                    problem,
                    "correct the index",
                );
            }
        }
    }
}

const NO_EFFECT: &str = "has no effect in this version of weft";
