//! Which routes learned by BGP the daemon leaves out of the kernel, because somebody else owns them.

use ipnet::IpNet;

use super::Context;
use crate::model::{BgpConfiguration, IpPool, ProgramClusterRoutes};

/// What stays out of the kernel; everything else that BGP selects goes in.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct KernelPlan {
    /// The ranges; what is inside of one is not installed.
    pub rejects: Vec<KernelReject>,
}

/// A range of which nothing learned by BGP is installed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KernelReject {
    /// The range.
    pub within: IpNet,
    /// Why.
    pub reason: NotInstalled,
}

/// Why a route learned by BGP is not installed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum NotInstalled {
    /// Service addresses are handled on each node by itself.
    ServiceRange,
    /// The pool is reached through VXLAN, whose routes come from IPAM, not from BGP.
    Vxlan {
        /// The pool's name.
        pool: String,
    },
    /// The pool is reached through IP-in-IP, which another agent programs.
    Ipip {
        /// The pool's name.
        pool: String,
    },
    /// `programClusterRoutes` gives the pool's routes to another agent.
    OtherAgent {
        /// The pool's name.
        pool: String,
    },
}

impl KernelPlan {
    /// Why a prefix learned by BGP is not installed, or `None` when it is.
    ///
    /// Cost grows with the number of pools and service ranges.
    #[must_use]
    pub fn not_installed(&self, prefix: &IpNet) -> Option<&NotInstalled> {
        let reject = self
            .rejects
            .iter()
            .find(|reject| reject.within.contains(prefix));
        reject.map(|reject| &reject.reason)
    }
}

pub(super) fn plan(context: &Context<'_>) -> KernelPlan {
    let defaults = context.snapshot.defaults();
    let services = defaults
        .into_iter()
        .flat_map(service_ranges)
        .map(|range| KernelReject {
            within: range.trunc(),
            reason: NotInstalled::ServiceRange,
        });
    let program = defaults
        .and_then(|defaults| defaults.program_cluster_routes)
        .unwrap_or_default();
    let pools = context.pools.iter().filter_map(|(cidr, pool)| {
        reason(pool, program).map(|reason| KernelReject {
            within: *cidr,
            reason,
        })
    });
    KernelPlan {
        rejects: services.chain(pools).collect(),
    }
}

fn service_ranges(defaults: &BgpConfiguration) -> impl Iterator<Item = &IpNet> {
    let cluster = defaults.service_cluster_ips.iter();
    cluster
        .chain(&defaults.service_external_ips)
        .chain(&defaults.service_load_balancer_ips)
}

fn reason(pool: &IpPool, program: ProgramClusterRoutes) -> Option<NotInstalled> {
    let name = || pool.metadata.name.clone();
    let without_encapsulation = match program {
        ProgramClusterRoutes::Enabled | ProgramClusterRoutes::EnabledNoEncapOnly => true,
        ProgramClusterRoutes::Disabled | ProgramClusterRoutes::EnabledIpipOnly => false,
    };
    if pool.uses_vxlan() {
        Some(NotInstalled::Vxlan { pool: name() })
    } else if pool.uses_ipip() {
        // Whatever programClusterRoutes says: weft has no IP-in-IP device to send them through.
        Some(NotInstalled::Ipip { pool: name() })
    } else if without_encapsulation {
        None
    } else {
        Some(NotInstalled::OtherAgent { pool: name() })
    }
}
