//! IPAM blocks: whose they are, and how far their announcement has come.

use std::collections::{BTreeMap, BTreeSet};

use cluster::model::{Encapsulation, IpPool};
use ipnet::IpNet;
use routeagg::{Route, RouteKind};
use weft_proto::v1;

use super::Queries;
use crate::control::{Progress, View};

impl Queries {
    /// All blocks that have an owner, in order of their addresses.
    pub(crate) async fn blocks(&self) -> Vec<v1::Block> {
        let view = self.view.load_full();
        let ipam = view.snapshot.ipam();
        let mut borrowed: BTreeMap<IpNet, Vec<v1::BorrowedAddress>> = BTreeMap::new();
        let mut blocks: Vec<&Route> = Vec::new();
        for route in ipam.routes() {
            match route.kind {
                RouteKind::Block => blocks.push(route),
                RouteKind::Borrowed => {
                    let holder = v1::BorrowedAddress {
                        address: route.prefix.addr().to_string(),
                        node: route.node.clone(),
                    };
                    if let Some(block) = view
                        .snapshot
                        .ipam_blocks
                        .values()
                        .find(|block| block.cidr.contains(&route.prefix))
                    {
                        borrowed.entry(block.cidr).or_default().push(holder);
                    }
                }
            }
        }
        let own = blocks.iter().filter(|route| route.node == view.plan.node);
        let own: Vec<IpNet> = own.map(|route| route.prefix).collect();
        let kernel = self.kernel_routes(own.clone()).await;
        let installed: BTreeSet<IpNet> = own
            .into_iter()
            .zip(kernel)
            .filter(|(_, route)| route.as_ref().is_some_and(|route| route.installed))
            .map(|(prefix, _)| prefix)
            .collect();
        blocks
            .into_iter()
            .map(|route| v1::Block {
                blackhole_wanted: self.dataplane.is_some() && wants_blackhole(&view, &route.prefix),
                blackhole_installed: installed.contains(&route.prefix)
                    && wants_blackhole(&view, &route.prefix),
                borrowed: borrowed.remove(&route.prefix).unwrap_or_default(),
                ..render(&view, route)
            })
            .collect()
    }
}

/// What there is to say without asking the kernel.
fn render(view: &View, route: &Route) -> v1::Block {
    let own = route.node == view.plan.node;
    let pool = view
        .snapshot
        .ip_pools
        .values()
        .filter(|pool| pool.cidr.contains(&route.prefix))
        .max_by_key(|pool| pool.cidr.prefix_len());
    let origination = view.plan.originations.get(&route.prefix);
    let progress = view.originations.get(&route.prefix);
    let is_announced =
        progress == Some(&Progress::Announced) && origination.is_some_and(|plan| plan.exported);
    let reason = match (own, origination, progress) {
        (false, ..) => format!("it is for {} to announce", route.node),
        (true, None, _) => "its affinity is not confirmed".to_owned(),
        (true, Some(plan), _) if !plan.exported && pool.is_none() => {
            "it is in no IPPool".to_owned()
        }
        (true, Some(plan), _) if !plan.exported => "its pool has disableBGPExport".to_owned(),
        (true, Some(_), Some(Progress::Refused(text))) => {
            format!("the kernel refuses its blackhole route: {text}")
        }
        (true, Some(_), Some(Progress::AwaitsKernel) | None) => {
            "its blackhole route is being installed".to_owned()
        }
        (true, Some(_), Some(Progress::Announced)) => String::new(),
    };
    let block = view
        .snapshot
        .ipam_blocks
        .values()
        .find(|block| block.cidr == route.prefix);
    v1::Block {
        cidr: route.prefix.to_string(),
        node: route.node.clone(),
        pool: pool
            .map(|pool| pool.metadata.name.clone())
            .unwrap_or_default(),
        encapsulation: pool.map(encapsulation).unwrap_or_default().to_owned(),
        own,
        announced: is_announced,
        reason,
        capacity: capacity(&route.prefix),
        allocated: block.map_or(0, |block| {
            u32::try_from(block.allocations.iter().flatten().count()).unwrap_or(u32::MAX)
        }),
        ..v1::Block::default()
    }
}

fn wants_blackhole(view: &View, prefix: &IpNet) -> bool {
    let origination = view.plan.originations.get(prefix);
    origination.is_some_and(|plan| plan.blackhole)
}

fn encapsulation(pool: &IpPool) -> &'static str {
    match (pool.vxlan_mode, pool.ipip_mode) {
        (Encapsulation::Never, Encapsulation::Never) => "none",
        (Encapsulation::Never, _) => "ipip",
        (Encapsulation::Always, _) => "vxlan",
        (Encapsulation::CrossSubnet, _) => "vxlan-cross-subnet",
    }
}

fn capacity(block: &IpNet) -> u32 {
    let host_bits = block.max_prefix_len() - block.prefix_len();
    1_u32.checked_shl(host_bits.into()).unwrap_or(u32::MAX)
}
