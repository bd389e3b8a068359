//! Rules of IPPool, IPAMBlock and BlockAffinity.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use super::Rules;
use crate::model::{AllowedUse, BlockAffinity, Encapsulation, IpPool, IpamBlock};

impl Rules {
    pub(super) fn pool(&mut self, pool: &IpPool) {
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

    pub(super) fn block(&mut self, block: &IpamBlock) {
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

    pub(super) fn affinity(&mut self, affinity: &BlockAffinity) {
        self.network("spec.cidr", &affinity.cidr);
        if affinity.node.is_empty() {
            self.refuse("spec.node", "is missing", "write the name of the owner");
        }
    }
}

fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(b) || b.contains(a)
}
