//! The plan's overlay, as the VXLAN controller takes it.

use cluster::model::Encapsulation;
use cluster::plan::{Plan, VxlanNode, VxlanPlan, VxlanSettings};
use vxlan::{Inputs, MacAddr, Mode, NodeInfo, Pool, Settings};

/// What the controller needs to know.
pub(super) fn inputs(plan: &Plan) -> Inputs {
    let VxlanPlan {
        ipv4: _,
        ipv6: _,
        settings,
        pools,
        nodes,
        routes,
    } = &plan.vxlan;
    let VxlanSettings {
        vni,
        port,
        device_ipv4,
        device_ipv6,
        mtu_ipv4,
        mtu_ipv6,
    } = settings.clone();
    Inputs {
        node: plan.node.clone(),
        settings: Settings {
            vni,
            port,
            device_v4: device_ipv4,
            device_v6: device_ipv6,
            mtu_v4: mtu_ipv4,
            mtu_v6: mtu_ipv6,
        },
        pools: pools
            .iter()
            .map(|(cidr, pool)| Pool {
                cidr: *cidr,
                mode: match pool.mode {
                    Encapsulation::CrossSubnet => Mode::CrossSubnet,
                    Encapsulation::Always | Encapsulation::Never => Mode::Always,
                },
            })
            .collect(),
        nodes: nodes
            .iter()
            .map(|(name, node)| (name.clone(), node_info(node)))
            .collect(),
        routes: routes
            .iter()
            .map(|(prefix, route)| (*prefix, route.node.clone()))
            .collect(),
    }
}

fn node_info(node: &VxlanNode) -> NodeInfo {
    let VxlanNode {
        ipv4,
        ipv6,
        tunnel_ipv4,
        tunnel_ipv6,
        mac_ipv4,
        mac_ipv6,
        platform: _,
    } = *node;
    NodeInfo {
        v4: ipv4,
        v6: ipv6,
        tunnel_v4: tunnel_ipv4,
        tunnel_v6: tunnel_ipv6,
        mac_v4: mac_ipv4.map(|mac| MacAddr(mac.0)),
        mac_v6: mac_ipv6.map(|mac| MacAddr(mac.0)),
    }
}
