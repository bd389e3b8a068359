//! The plan of a node that nothing is known about yet.

use std::collections::BTreeMap;

use super::{Bind, ExportPlan, KernelPlan, Local, NodeAddresses, Plan, RoutePriorities, VxlanPlan};
use crate::Asn;

impl Plan {
    /// What the daemon does before its Node is among the objects: it listens with the default AS, has no peer, and
    /// announces nothing.
    #[must_use]
    pub fn idle(local: &Local) -> Self {
        Self {
            node: local.node.clone(),
            asn: Asn::DEFAULT,
            router_id: None,
            listen_port: 179,
            bind: Bind::Any,
            cluster_id: None,
            node_addresses: NodeAddresses::default(),
            priorities: RoutePriorities {
                ipv4: RoutePriorities::NORMAL,
                ipv6: RoutePriorities::NORMAL,
            },
            sessions: BTreeMap::new(),
            originations: BTreeMap::new(),
            export: ExportPlan::default(),
            kernel: KernelPlan::default(),
            vxlan: VxlanPlan {
                ipv4: false,
                ipv6: false,
                settings: local.vxlan.clone(),
                pools: BTreeMap::new(),
                nodes: BTreeMap::new(),
                routes: BTreeMap::new(),
            },
        }
    }
}
