//! What is wanted against what the kernel has; out comes what is to be written. Pure: time is an argument.
//!
//! ```text
//!  update_routes, set_overlay, complete         observe_* (dumps, the monitor)
//!                    │                                  │
//!                    ▼                                  ▼
//!            ┌ Routes: wanted by class, actual ┐  HostModel: links, foreign routes
//!            └ TunnelState: device, entries    ┘◀── next hops are looked up here
//!                    │ plan                  ▲
//!                    ▼                       │ written
//!               operations ───▶ backend ─────┘
//! ```
//!
//! The order within a batch: devices, addresses, FDB entries, neighbours, then routes that are put, then routes that are
//! removed, then entries that are removed. So nothing is ever routed to what does not exist yet or any more.

mod host_model;
mod interner;
mod outbox;
mod resolve;
mod retry;
mod routes;
#[cfg(test)]
mod tests;
mod tunnel;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use hashbrown::HashMap;
use ipnet::IpNet;
use tracing::{info, warn};
use vxlan::{Overlay, TunnelRoute};

pub(crate) use outbox::Outbox;

use crate::object::{Entries, ForeignRoute, HostRoute, Link, Operation, Refusal, SeenRoute};
use crate::{
    Counters, DEVICE_ALIAS, DataplaneEvent, ROUTE_METRIC, ResyncReason, RouteChange, RouteClass,
    RouteNextHop, RouteSpec, RouteStatus, Settings, Snapshot,
};
use host_model::HostModel;
use retry::Pauses;
use routes::Routes;
use tunnel::TunnelState;

/// Everything that is wanted of a host, and what is known of it.
#[derive(Debug)]
pub(crate) struct Reconciler {
    pauses: Pauses,
    host: HostModel,
    routes: Routes,
    tunnels: Vec<TunnelState>,
    /// What the overlay wants, to tell the difference to the next one.
    overlay_routes: HashMap<IpNet, (RouteClass, RouteSpec)>,
    complete: bool,
    /// There may be devices that nothing wants.
    sweep: bool,
    conflicts: BTreeMap<IpNet, String>,
    counters: Counters,
    needs: Needs,
    pub(crate) outbox: Outbox,
}

/// What has to be looked at in the kernel.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Needs {
    pub(crate) links: bool,
    pub(crate) routes: Option<ResyncReason>,
    pub(crate) entries: BTreeSet<u32>,
}

impl Reconciler {
    /// Nothing is wanted, nothing is known: everything needs to be looked at.
    pub(crate) fn new(settings: &Settings) -> Self {
        let pauses = Pauses {
            first: settings.retry,
            limit: settings.retry_limit,
        };
        Self {
            pauses,
            host: HostModel::default(),
            routes: Routes::new(pauses),
            tunnels: Vec::new(),
            overlay_routes: HashMap::new(),
            complete: false,
            sweep: true,
            conflicts: BTreeMap::new(),
            counters: Counters::default(),
            needs: Needs {
                links: true,
                routes: Some(ResyncReason::Start),
                entries: BTreeSet::new(),
            },
            outbox: Outbox::default(),
        }
    }

    pub(crate) fn update_routes(&mut self, changes: Vec<RouteChange>) {
        for RouteChange {
            prefix,
            class,
            route,
        } in changes
        {
            match class {
                RouteClass::Bgp | RouteClass::OwnBlock => {
                    self.routes
                        .want(prefix, class, route, &self.host, &mut self.outbox);
                }
                RouteClass::Tunnel | RouteClass::SameSubnet => {
                    warn!(%prefix, %class, "only the overlay sets routes of this class");
                }
            }
        }
    }

    pub(crate) fn set_overlay(&mut self, overlay: Overlay) {
        let mut routes = HashMap::new();
        for tunnel in &overlay.tunnels {
            for (prefix, route) in &tunnel.routes {
                routes.insert(*prefix, lower(route, &tunnel.device));
            }
        }
        for (prefix, (class, spec)) in &routes {
            let class = *class;
            if let Some((old, _)) = self.overlay_routes.remove(prefix)
                && old != class
            {
                self.routes
                    .want(*prefix, old, None, &self.host, &mut self.outbox);
            }
            let spec = Some(spec.clone());
            self.routes
                .want(*prefix, class, spec, &self.host, &mut self.outbox);
        }
        for (prefix, (class, _)) in std::mem::replace(&mut self.overlay_routes, routes) {
            self.routes
                .want(prefix, class, None, &self.host, &mut self.outbox);
        }
        self.sweep = true;
        let mut known: BTreeMap<String, TunnelState> = self
            .tunnels
            .drain(..)
            .map(|tunnel| (tunnel.wanted.device.clone(), tunnel))
            .collect();
        for wanted in overlay.tunnels {
            let tunnel = match known.remove(&wanted.device) {
                Some(mut tunnel) => {
                    tunnel.set(wanted);
                    tunnel
                }
                None => TunnelState::new(wanted, self.pauses),
            };
            self.tunnels.push(tunnel);
        }
        self.needs_entries();
    }

    pub(crate) fn complete(&mut self) {
        if !self.complete {
            self.complete = true;
            self.sweep = true;
            self.routes.complete();
            for tunnel in &mut self.tunnels {
                tunnel.dirty = true;
            }
        }
    }

    /// What has to be looked at; it is taken as done.
    pub(crate) fn take_needs(&mut self) -> Needs {
        std::mem::take(&mut self.needs)
    }

    /// Whether something has to be looked at because of what weft itself did.
    pub(crate) fn needs_look(&self) -> bool {
        self.needs != Needs::default()
    }

    /// Asks for links to be looked at, since the kernel tells of a change.
    pub(crate) fn links_changed(&mut self) {
        self.needs.links = true;
    }

    /// Asks for a device's entries to be looked at, if it is weft's.
    pub(crate) fn entries_changed(&mut self, ifindex: u32) {
        if self.tunnels.iter().any(|t| t.ifindex() == Some(ifindex)) {
            self.needs.entries.insert(ifindex);
        }
    }

    /// Asks for everything to be looked at.
    pub(crate) fn resync(&mut self, reason: ResyncReason) {
        self.needs.links = true;
        self.needs.routes.get_or_insert(reason);
        self.needs
            .entries
            .extend(self.tunnels.iter().filter_map(TunnelState::ifindex));
    }

    pub(crate) fn note_notification(&mut self) {
        self.counters.notifications += 1;
    }

    pub(crate) fn note_overrun(&mut self) {
        self.counters.overruns += 1;
        self.resync(ResyncReason::Overrun);
    }

    pub(crate) fn observe_links(&mut self, links: Vec<Link>) {
        self.sweep = true;
        let before: Vec<u32> = self
            .host
            .links()
            .filter(|link| link.up)
            .map(|link| link.ifindex)
            .collect();
        if !self.host.set_links(links) {
            for tunnel in &mut self.tunnels {
                tunnel.dirty = true;
            }
            return;
        }
        // The kernel drops routes with their interface, and does not tell of each.
        let lost = before
            .into_iter()
            .any(|ifindex| !self.host.is_up(ifindex) && self.routes.uses_interface(ifindex));
        if lost {
            self.needs.routes.get_or_insert(ResyncReason::LinkChange);
        }
        self.routes.host_changed(&self.host);
        for tunnel in &mut self.tunnels {
            tunnel.host_changed(&self.host);
        }
        self.needs_entries();
    }

    fn needs_entries(&mut self) {
        self.needs
            .entries
            .extend(self.tunnels.iter().filter_map(TunnelState::unknown_entries));
    }

    pub(crate) fn observe_entries(&mut self, ifindex: u32, entries: Entries) {
        for tunnel in &mut self.tunnels {
            if tunnel.ifindex() == Some(ifindex) {
                self.counters.drift_repaired += tunnel.observe(entries);
                return;
            }
        }
    }

    /// All routes of table main.
    pub(crate) fn observe_routes(&mut self, seen: Vec<(IpNet, SeenRoute)>, reason: ResyncReason) {
        self.host.clear_foreign();
        self.conflicts.clear();
        let mut own: Vec<(IpNet, HostRoute)> = Vec::new();
        for (prefix, route) in seen {
            match route {
                SeenRoute::Own(route) => own.push((prefix, route)),
                SeenRoute::Foreign(route) => self.host.add_foreign(prefix, route),
            }
        }
        let drift = self.routes.observe_all(own);
        if drift > 0 && reason != ResyncReason::Start {
            info!(drift, %reason, "routes were changed by something else");
        }
        self.counters.drift_repaired += drift;
        self.counters.full_checks += 1;
        self.routes.host_changed(&self.host);
        self.outbox.push(DataplaneEvent::Resynced { reason });
    }

    /// The kernel tells that a route is there now, and weft did not put it there.
    pub(crate) fn route_appeared(&mut self, prefix: IpNet, route: SeenRoute) {
        match route {
            SeenRoute::Own(route) => self.note_route(prefix, Some(route)),
            SeenRoute::Foreign(route) => {
                let in_place = route.metric == ROUTE_METRIC;
                let protocol = route.protocol;
                self.host.add_foreign(prefix, route);
                if in_place && self.routes.is_wanted(&prefix) {
                    self.conflicts.insert(
                        prefix,
                        format!(
                            "{prefix}: something else (protocol {protocol}) puts a route of metric {ROUTE_METRIC} in \
                             place of weft's"
                        ),
                    );
                    self.note_route(prefix, None);
                }
                self.foreign_changed(&prefix);
            }
        }
    }

    /// The kernel tells that a route is gone, and weft did not remove it.
    pub(crate) fn route_vanished(&mut self, prefix: IpNet, route: &SeenRoute) {
        match route {
            SeenRoute::Own(_) => self.note_route(prefix, None),
            SeenRoute::Foreign(route) => {
                self.remove_foreign(prefix, route);
            }
        }
    }

    fn remove_foreign(&mut self, prefix: IpNet, route: &ForeignRoute) {
        self.host.remove_foreign(&prefix, route);
        self.foreign_changed(&prefix);
    }

    fn note_route(&mut self, prefix: IpNet, route: Option<HostRoute>) {
        if self.routes.observe(prefix, route) {
            self.counters.drift_repaired += 1;
        }
    }

    fn foreign_changed(&mut self, prefix: &IpNet) {
        if self.routes.looks_up_within(prefix) {
            self.routes.host_changed(&self.host);
        }
    }

    /// Whether [`Self::plan`] may have something to write.
    pub(crate) fn has_work(&self) -> bool {
        self.routes.has_work()
            || (self.complete && self.sweep)
            || self.tunnels.iter().any(|tunnel| tunnel.dirty)
    }

    /// When to plan again although nothing happened.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.tunnels
            .iter()
            .filter_map(TunnelState::next_deadline)
            .chain(self.routes.next_deadline())
            .min()
    }

    /// What is to be written now, in order; the routes among it are at most `limit`.
    pub(crate) fn plan(&mut self, now: Instant, limit: usize) -> Vec<Operation> {
        let mut operations = Vec::new();
        let mut removals = Vec::new();
        for tunnel in &mut self.tunnels {
            tunnel.plan(
                now,
                &self.host,
                self.complete,
                &mut operations,
                &mut removals,
                &mut self.outbox,
            );
        }
        self.needs_entries();
        let limit = operations.len() + limit;
        self.routes
            .plan(now, limit, &mut operations, &mut self.outbox);
        if std::mem::take(&mut self.sweep) && self.complete {
            let stale = self.host.links().filter(|link| {
                link.vxlan.is_some()
                    && link.alias.as_deref() == Some(DEVICE_ALIAS)
                    && !self.tunnels.iter().any(|t| t.wanted.device == link.name)
            });
            removals.extend(stale.map(|link| Operation::RemoveDevice {
                ifindex: link.ifindex,
            }));
        }
        operations.extend(removals);
        operations
    }

    /// Takes the results of what [`Self::plan`] gave, one each.
    pub(crate) fn written(
        &mut self,
        now: Instant,
        operations: &[Operation],
        results: &[Result<(), Refusal>],
    ) {
        for (operation, result) in operations.iter().zip(results) {
            self.counters.writes += 1;
            match result {
                Ok(()) => {}
                Err(Refusal::Unknown) => self.resync(ResyncReason::Incomplete),
                Err(Refusal::Kernel(error)) => {
                    self.counters.writes_failed += 1;
                    let text = format!("{operation}: {error}");
                    if self.counters.last_error.as_ref() != Some(&text) {
                        warn!(%operation, %error, "the kernel refused");
                    }
                    self.counters.last_error = Some(text);
                }
            }
            self.written_one(now, operation, result);
        }
    }

    fn written_one(&mut self, now: Instant, operation: &Operation, result: &Result<(), Refusal>) {
        let ifindex = match operation {
            Operation::PutRoute { prefix, route } => {
                if result.is_ok() && self.host.foreign_at(prefix, ROUTE_METRIC).is_some() {
                    self.forget_replaced(*prefix);
                }
                self.routes
                    .written(now, *prefix, Some(route), result, &mut self.outbox);
                return;
            }
            Operation::RemoveRoute { prefix } => {
                self.routes
                    .written(now, *prefix, None, result, &mut self.outbox);
                return;
            }
            Operation::CreateDevice(device) => {
                self.needs.links = true;
                let wanted = |tunnel: &&mut TunnelState| tunnel.wanted.device == device.name;
                if let Some(tunnel) = self.tunnels.iter_mut().find(wanted) {
                    tunnel.written(now, operation, result, &mut self.outbox);
                    if result.is_ok() {
                        info!(
                            device = device.name,
                            vni = device.vni,
                            "VXLAN device created"
                        );
                    }
                }
                return;
            }
            Operation::ConfigureDevice { ifindex, .. }
            | Operation::RemoveDevice { ifindex }
            | Operation::AddAddress { ifindex, .. }
            | Operation::RemoveAddress { ifindex, .. } => {
                self.needs.links = true;
                *ifindex
            }
            Operation::PutNeighbour { ifindex, .. }
            | Operation::RemoveNeighbour { ifindex, .. }
            | Operation::PutFdb { ifindex, .. }
            | Operation::RemoveFdb { ifindex, .. } => *ifindex,
        };
        let name = self.host.link(ifindex).map(|link| link.name.clone());
        let found = |tunnel: &&mut TunnelState| Some(&tunnel.wanted.device) == name.as_ref();
        if let Some(tunnel) = self.tunnels.iter_mut().find(found) {
            tunnel.written(now, operation, result, &mut self.outbox);
        }
    }

    fn forget_replaced(&mut self, prefix: IpNet) {
        if let Some(route) = self.host.foreign_at(&prefix, ROUTE_METRIC).cloned() {
            let protocol = route.protocol;
            self.conflicts.insert(
                prefix,
                format!(
                    "{prefix}: a route of something else (protocol {protocol}, metric {ROUTE_METRIC}) was in the way \
                     and was replaced"
                ),
            );
            self.host.remove_foreign(&prefix, &route);
        }
    }

    pub(crate) fn summary(&self) -> Snapshot {
        let mut counters = self.counters.clone();
        self.routes.count(&mut counters);
        Snapshot {
            routes: Vec::new(),
            tunnels: self.tunnels.iter().map(|t| t.status(&self.host)).collect(),
            conflicts: self.conflicts.values().cloned().collect(),
            complete: self.complete,
            counters,
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut prefixes: Vec<IpNet> = self.routes.prefixes().copied().collect();
        prefixes.sort_unstable();
        Snapshot {
            routes: self.statuses(&prefixes),
            ..self.summary()
        }
    }

    pub(crate) fn statuses(&self, prefixes: &[IpNet]) -> Vec<RouteStatus> {
        prefixes
            .iter()
            .flat_map(|prefix| self.routes.statuses(prefix, &self.host))
            .collect()
    }
}

fn lower(route: &TunnelRoute, device: &str) -> (RouteClass, RouteSpec) {
    match route {
        TunnelRoute::Via(vtep) => (
            RouteClass::Tunnel,
            RouteSpec::unicast(RouteNextHop {
                onlink: true,
                ..RouteNextHop::via_dev(*vtep, device)
            }),
        ),
        TunnelRoute::Vtep => (
            RouteClass::Tunnel,
            RouteSpec::unicast(RouteNextHop::dev(device)),
        ),
        TunnelRoute::SameSubnet(node) => (
            RouteClass::SameSubnet,
            RouteSpec::unicast(RouteNextHop::via(*node)),
        ),
    }
}
