//! What became of the routes, for people to look at.

use std::sync::Arc;

use ipnet::IpNet;

use super::super::host_model::HostModel;
use super::super::interner::Id;
use super::{CLASSES, Entry, Routes, Told};
use crate::object::{Hop, HostRoute};
use crate::{Counters, RouteNextHop, RouteSpec, RouteState, RouteStatus};

impl Routes {
    /// What is wanted for a prefix, by class.
    pub(in crate::reconcile) fn statuses(
        &self,
        prefix: &IpNet,
        host: &HostModel,
    ) -> impl Iterator<Item = RouteStatus> {
        let entry = self.entries.get(prefix);
        let winner = entry.and_then(Entry::winner);
        let kernel = entry
            .and_then(|entry| entry.actual)
            .map(|id| shown(self.host_routes.get(id), host));
        CLASSES.into_iter().filter_map(move |class| {
            let entry = entry?;
            let spec = entry.wanted[class as usize]?;
            let (first, _) = winner?;
            let state = if first == class {
                self.state(prefix, entry, spec)
            } else {
                RouteState::Shadowed(first)
            };
            Some(RouteStatus {
                prefix: *prefix,
                class,
                wanted: Arc::clone(self.specs.get(spec)),
                state,
                kernel: (first == class).then(|| kernel.clone()).flatten(),
            })
        })
    }

    fn state(&self, prefix: &IpNet, entry: &Entry, spec: Id) -> RouteState {
        match entry.told {
            Told::Nothing => RouteState::Pending,
            Told::Failed => match self.refused.error(prefix) {
                Some(error) => RouteState::Failed(error.clone()),
                None => RouteState::Pending,
            },
            Told::Installed => match self.resolutions.get(&spec) {
                Some(resolution) if !resolution.errors.is_empty() => {
                    RouteState::Partial(resolution.errors.clone())
                }
                _ => RouteState::Installed,
            },
        }
    }

    pub(in crate::reconcile) fn count(&self, counters: &mut Counters) {
        for entry in self.entries.values() {
            if entry.winner().is_none() {
                counters.routes_adopted += u64::from(entry.actual.is_some());
                continue;
            }
            counters.routes_wanted += 1;
            counters.routes_installed += u64::from(entry.told == Told::Installed);
            counters.routes_failed += u64::from(entry.told == Told::Failed);
        }
    }
}

fn shown(route: &HostRoute, host: &HostModel) -> RouteSpec {
    match route {
        HostRoute::Blackhole => RouteSpec::Blackhole,
        HostRoute::Unicast { hops, mtu } => RouteSpec::Unicast {
            next_hops: hops
                .iter()
                .map(|hop| {
                    let Hop {
                        gateway,
                        ifindex,
                        onlink,
                        weight,
                    } = hop;
                    RouteNextHop {
                        gateway: *gateway,
                        interface: host.link(*ifindex).map(|link| link.name.clone()),
                        onlink: *onlink,
                        weight: *weight,
                    }
                })
                .collect(),
            mtu: *mtu,
        },
    }
}
