//! Rules of Node.

use std::net::{IpAddr, Ipv4Addr};

use routeagg::Platform;

use super::Rules;
use crate::model::Node;

impl Rules {
    pub(super) fn node(&mut self, node: &Node) {
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
}
