//! What the node announces of itself: its blocks, and the addresses that it borrows.

use std::collections::BTreeMap;

use ipnet::IpNet;
use routeagg::Announcements;

use super::{Context, ExportPlan, Verdict};
use crate::Finding;
use crate::model::{Kind, ObjectKey};

/// A prefix that the node announces.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OriginationPlan {
    /// What it is.
    pub kind: OriginationKind,
    /// True when the kernel needs a blackhole for it, so that packets for unused addresses of the block do not
    /// leave by the default route and come back.
    ///
    /// Install it before the announcement, remove it after the withdrawal. Never for a single address, where it
    /// would collide with the route of the workload, and never on Windows, where HNS owns the block's subnet.
    pub blackhole: bool,
    /// The pool around it.
    pub pool: Option<String>,
    /// False when the export rules keep it from every peer (`disableBGPExport`, or no pool).
    pub exported: bool,
}

/// What kind of prefix the node announces.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum OriginationKind {
    /// A block of its own.
    Block,
    /// An address that it borrows, while it uses it.
    Borrowed,
}

pub(super) fn plan(
    context: &Context<'_>,
    announcements: &Announcements,
    export: &ExportPlan,
    findings: &mut Vec<Finding>,
) -> BTreeMap<IpNet, OriginationPlan> {
    let blocks = announcements
        .blocks
        .iter()
        .map(|prefix| (*prefix, OriginationKind::Block));
    let borrowed = announcements
        .borrowed
        .iter()
        .map(|prefix| (*prefix, OriginationKind::Borrowed));
    let on_platform = |(prefix, _): &(IpNet, OriginationKind)| {
        !(context.is_windows() && matches!(prefix, IpNet::V6(_)))
    };
    let mut originations = BTreeMap::new();
    for (prefix, kind) in blocks.chain(borrowed).filter(on_platform) {
        let pool = context.pools.containing(&prefix);
        if pool.is_none() {
            let problem = format!("{prefix} of this node is in no IPPool: not announced");
            let objects = vec![ObjectKey::new(Kind::Node, &context.local.node)];
            let remedy = "add the IPPool, or release the block";
            findings.push(Finding::warning(objects, "", problem, remedy));
        }
        let single = prefix.prefix_len() == prefix.max_prefix_len();
        let origination = OriginationPlan {
            kind,
            blackhole: kind == OriginationKind::Block && !single && !context.is_windows(),
            pool: pool.map(|pool| pool.metadata.name.clone()),
            exported: pool.is_some() && export.verdict(&prefix, None) == Verdict::Accept,
        };
        originations.insert(prefix, origination);
    }
    originations
}
