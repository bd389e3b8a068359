//! Routes: what is wanted by prefix and class, what the kernel has, and which prefixes have to be looked at.
//!
//! Cost per prefix: its key and 28 bytes; the routes themselves are interned, few next hops serve many prefixes.

mod status;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use hashbrown::{HashMap, HashSet};
use ipnet::IpNet;

use super::host_model::HostModel;
use super::interner::{Id, Interner};
use super::outbox::Outbox;
use super::resolve::{Resolution, resolve};
use super::retry::{Pauses, Refused};
use crate::object::{HostRoute, Operation, Refusal};
use crate::{DataplaneEvent, KernelError, RouteClass, RouteSpec};

#[derive(Debug)]
pub(super) struct Routes {
    entries: HashMap<IpNet, Entry>,
    specs: Interner<RouteSpec>,
    resolutions: HashMap<Id, Resolution>,
    host_routes: Interner<HostRoute>,
    /// Prefixes to look at, each once.
    queue: VecDeque<IpNet>,
    /// Prefixes whose route is to be removed, when nothing is to be put any more.
    removals: VecDeque<IpNet>,
    refused: Refused<IpNet>,
    /// Repairs by prefix since the last full check.
    repairs: HashMap<IpNet, u32>,
    adopted_may_go: bool,
}

#[derive(Debug, Default)]
struct Entry {
    /// By class.
    wanted: [Option<Id>; CLASSES.len()],
    actual: Option<Id>,
    queued: bool,
    /// It was wanted in this life; else it is of an earlier one.
    claimed: bool,
    told: Told,
}

#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
enum Told {
    #[default]
    Nothing,
    Installed,
    Failed,
}

const CLASSES: [RouteClass; 4] = [
    RouteClass::Tunnel,
    RouteClass::SameSubnet,
    RouteClass::Bgp,
    RouteClass::OwnBlock,
];

/// Repairs of one prefix between two full checks; after these, somebody else is fighting over it.
const REPAIR_LIMIT: u32 = 5;

impl Entry {
    fn winner(&self) -> Option<(RouteClass, Id)> {
        CLASSES
            .into_iter()
            .zip(self.wanted)
            .find_map(|(class, id)| id.map(|id| (class, id)))
    }

    fn is_unused(&self) -> bool {
        self.actual.is_none() && !self.queued && self.wanted.iter().all(Option::is_none)
    }
}

impl Routes {
    pub(super) fn new(pauses: Pauses) -> Self {
        Self {
            entries: HashMap::new(),
            specs: Interner::default(),
            resolutions: HashMap::new(),
            host_routes: Interner::default(),
            queue: VecDeque::new(),
            removals: VecDeque::new(),
            refused: Refused::new(pauses),
            repairs: HashMap::new(),
            adopted_may_go: false,
        }
    }

    /// Changes what is wanted of one prefix and class.
    pub(super) fn want(
        &mut self,
        prefix: IpNet,
        class: RouteClass,
        route: Option<RouteSpec>,
        host: &HostModel,
        outbox: &mut Outbox,
    ) {
        let prefix = prefix.trunc();
        let new = route.map(|route| {
            let id = self.specs.acquire(normalised(route));
            let spec = self.specs.get(id);
            self.resolutions
                .entry(id)
                .or_insert_with(|| resolve(spec, host));
            id
        });
        if new.is_none() && !self.entries.contains_key(&prefix) {
            return;
        }
        let entry = self.entries.entry(prefix).or_default();
        let old = std::mem::replace(&mut entry.wanted[class as usize], new);
        entry.claimed = true;
        let is_new = new.is_some() && old != new;
        if let Some(old) = old {
            self.release_spec(old);
        }
        match new {
            None => outbox.retract(prefix, class),
            // What is equal is not looked at again, except to tell that it is there.
            Some(_) if !is_new => return,
            Some(_) => {
                if let Some(entry) = self.entries.get_mut(&prefix) {
                    entry.told = Told::Nothing;
                }
                self.refused.clear(&prefix);
                let winner = self.entries.get(&prefix).and_then(Entry::winner);
                if let Some((first, _)) = winner
                    && first != class
                {
                    outbox.push(DataplaneEvent::Route {
                        prefix,
                        class,
                        result: Err(shadowed_by(first)),
                    });
                }
            }
        }
        if old.is_some() && new.is_none() {
            // Another class may be next.
            if let Some(entry) = self.entries.get_mut(&prefix) {
                entry.told = Told::Nothing;
            }
            self.refused.clear(&prefix);
        }
        self.enqueue(prefix);
    }

    /// What an earlier life left may go from now on.
    pub(super) fn complete(&mut self) {
        self.adopted_may_go = true;
        let unwanted: Vec<IpNet> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.winner().is_none())
            .map(|(prefix, _)| *prefix)
            .collect();
        for prefix in unwanted {
            self.enqueue(prefix);
        }
    }

    /// The host is different: looks next hops up again, and tries again what was refused.
    pub(super) fn host_changed(&mut self, host: &HostModel) {
        let mut changed = HashSet::new();
        for (id, spec) in self.specs.iter() {
            let resolution = resolve(spec, host);
            if self.resolutions.get(&id) != Some(&resolution) {
                self.resolutions.insert(id, resolution);
                changed.insert(id);
            }
        }
        let mut affected: Vec<IpNet> = self.refused.keys().copied().collect();
        if !changed.is_empty() {
            affected.extend(
                self.entries
                    .iter()
                    .filter(|(_, entry)| {
                        entry.winner().is_some_and(|(_, id)| changed.contains(&id))
                    })
                    .map(|(prefix, _)| *prefix),
            );
        }
        for prefix in affected {
            self.enqueue(prefix);
        }
    }

    /// Whether next hops that are looked up may be affected by a change of a foreign route.
    pub(super) fn looks_up_within(&self, prefix: &IpNet) -> bool {
        self.specs.iter().any(|(_, spec)| match &**spec {
            RouteSpec::Blackhole => false,
            RouteSpec::Unicast { next_hops, .. } => next_hops.iter().any(|next_hop| {
                next_hop.interface.is_none()
                    && next_hop
                        .gateway
                        .is_some_and(|gateway| prefix.contains(&gateway))
            }),
        })
    }

    /// Whether a route for this prefix is wanted.
    pub(super) fn is_wanted(&self, prefix: &IpNet) -> bool {
        self.entries
            .get(prefix)
            .is_some_and(|entry| entry.winner().is_some())
    }

    /// Whether a route in the kernel leaves by this interface.
    pub(super) fn uses_interface(&self, ifindex: u32) -> bool {
        self.host_routes
            .iter()
            .any(|(_, route)| route.hops().iter().any(|hop| hop.ifindex == ifindex))
    }

    /// The kernel has, or no longer has, a route of weft's at this prefix, and weft did not do it.
    ///
    /// Returns whether that is drift: something else changed what weft had put there.
    pub(super) fn observe(&mut self, prefix: IpNet, seen: Option<HostRoute>) -> bool {
        let known = self.entries.get(&prefix).and_then(|entry| entry.actual);
        if known.map(|id| &**self.host_routes.get(id)) == seen.as_ref() {
            return false;
        }
        self.set_actual(prefix, seen);
        self.enqueue(prefix);
        let Some(entry) = self.entries.get(&prefix) else {
            return false;
        };
        // Gone although nobody wants it: that is as it should be.
        if entry.told != Told::Installed {
            return false;
        }
        *self.repairs.entry(prefix).or_default() += 1;
        true
    }

    /// Everything that the kernel has; returns how many were drift.
    pub(super) fn observe_all(&mut self, seen: Vec<(IpNet, HostRoute)>) -> u64 {
        let mut drift = 0;
        let present: HashSet<IpNet> = seen.iter().map(|(prefix, _)| *prefix).collect();
        let missing: Vec<IpNet> = self
            .entries
            .iter()
            .filter(|(prefix, entry)| entry.actual.is_some() && !present.contains(*prefix))
            .map(|(prefix, _)| *prefix)
            .collect();
        for prefix in missing {
            drift += u64::from(self.observe(prefix, None));
        }
        for (prefix, route) in seen {
            drift += u64::from(self.observe(prefix, Some(route)));
        }
        self.repairs.clear();
        drift
    }

    /// Adds what is to be written, at most `limit` operations: first all that is put, then what is removed.
    pub(super) fn plan(
        &mut self,
        now: Instant,
        limit: usize,
        operations: &mut Vec<Operation>,
        outbox: &mut Outbox,
    ) {
        for prefix in self.refused.take_due(now) {
            self.enqueue(prefix);
        }
        while operations.len() < limit {
            let Some(prefix) = self.queue.pop_front() else {
                break;
            };
            if let Some(operation) = self.look_at(now, prefix, outbox) {
                operations.push(operation);
            }
        }
        while self.queue.is_empty() && operations.len() < limit {
            let Some(prefix) = self.removals.pop_front() else {
                break;
            };
            if let Some(entry) = self.entries.get_mut(&prefix) {
                entry.queued = false;
            }
            if self.desired(&prefix).is_some() {
                // Wanted again meanwhile.
                self.enqueue(prefix);
            } else if self
                .entries
                .get(&prefix)
                .is_some_and(|entry| entry.actual.is_some())
            {
                operations.push(Operation::RemoveRoute { prefix });
            }
        }
    }

    /// Compares one prefix. A removal is put off.
    fn look_at(&mut self, now: Instant, prefix: IpNet, outbox: &mut Outbox) -> Option<Operation> {
        self.entries.get_mut(&prefix)?.queued = false;
        let entry = self.entries.get(&prefix)?;
        let actual = entry.actual;
        let Some((class, spec)) = entry.winner() else {
            if actual.is_none() {
                self.entries.remove(&prefix);
            } else if self.adopted_may_go || entry.claimed {
                self.put_off_removal(prefix);
            }
            return None;
        };
        let resolution = self.resolutions.get(&spec)?;
        let Some(route) = &resolution.route else {
            let error = resolution.errors.first()?.clone();
            self.refused.block(prefix, error.clone());
            self.tell(prefix, class, Err(error), outbox);
            if actual.is_some() {
                self.put_off_removal(prefix);
            }
            return None;
        };
        if actual.is_some_and(|id| **self.host_routes.get(id) == *route) {
            self.refused.clear(&prefix);
            self.tell(prefix, class, Ok(()), outbox);
            return None;
        }
        if self
            .repairs
            .get(&prefix)
            .is_some_and(|count| *count > REPAIR_LIMIT)
        {
            self.repairs.remove(&prefix);
            let error = KernelError::new(
                libc::EBUSY,
                Some("something else on this host keeps changing this route"),
            );
            self.refused.refuse(now, prefix, error.clone());
            self.tell(prefix, class, Err(error), outbox);
            return None;
        }
        Some(Operation::PutRoute {
            prefix,
            route: Arc::new(route.clone()),
        })
    }

    fn put_off_removal(&mut self, prefix: IpNet) {
        if let Some(entry) = self.entries.get_mut(&prefix) {
            entry.queued = true;
            self.removals.push_back(prefix);
        }
    }

    fn desired(&self, prefix: &IpNet) -> Option<&HostRoute> {
        let (_, spec) = self.entries.get(prefix)?.winner()?;
        self.resolutions.get(&spec)?.route.as_ref()
    }

    /// Takes the result of an operation that [`Self::plan`] gave.
    pub(super) fn written(
        &mut self,
        now: Instant,
        prefix: IpNet,
        put: Option<&HostRoute>,
        result: &Result<(), Refusal>,
        outbox: &mut Outbox,
    ) {
        match result {
            Ok(()) => {
                self.set_actual(prefix, put.cloned());
                // It may have changed its mind meanwhile; looking again also tells.
                self.enqueue(prefix);
            }
            Err(Refusal::Unknown) => self.enqueue(prefix),
            Err(Refusal::Kernel(error)) => {
                self.refused.refuse(now, prefix, error.clone());
                let winner = self.entries.get(&prefix).and_then(Entry::winner);
                if let Some((class, _)) = winner {
                    self.tell(prefix, class, Err(error.clone()), outbox);
                }
            }
        }
    }

    fn tell(
        &mut self,
        prefix: IpNet,
        class: RouteClass,
        result: Result<(), KernelError>,
        outbox: &mut Outbox,
    ) {
        let Some(entry) = self.entries.get_mut(&prefix) else {
            return;
        };
        let now = match &result {
            Ok(()) => Told::Installed,
            Err(_) => Told::Failed,
        };
        if entry.told == now {
            return;
        }
        entry.told = now;
        outbox.push(DataplaneEvent::Route {
            prefix,
            class,
            result,
        });
    }

    fn set_actual(&mut self, prefix: IpNet, route: Option<HostRoute>) {
        let new = route.map(|route| self.host_routes.acquire(route));
        let entry = self.entries.entry(prefix).or_default();
        let old = std::mem::replace(&mut entry.actual, new);
        if entry.is_unused() {
            self.entries.remove(&prefix);
        }
        if let Some(old) = old {
            self.host_routes.release(old);
        }
    }

    fn enqueue(&mut self, prefix: IpNet) {
        if let Some(entry) = self.entries.get_mut(&prefix)
            && !entry.queued
        {
            entry.queued = true;
            self.queue.push_back(prefix);
        }
    }

    fn release_spec(&mut self, id: Id) {
        self.specs.release(id);
        if !self.specs.is_used(id) {
            self.resolutions.remove(&id);
        }
    }

    /// Whether [`Self::plan`] may have something.
    pub(super) fn has_work(&self) -> bool {
        !self.queue.is_empty() || !self.removals.is_empty()
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.refused.next_deadline()
    }

    pub(super) fn prefixes(&self) -> impl Iterator<Item = &IpNet> {
        self.entries.keys()
    }
}

/// Sorted, each next hop once.
fn normalised(route: RouteSpec) -> RouteSpec {
    match route {
        RouteSpec::Blackhole => RouteSpec::Blackhole,
        RouteSpec::Unicast { mut next_hops, mtu } => {
            next_hops.sort_unstable();
            next_hops.dedup();
            RouteSpec::Unicast { next_hops, mtu }
        }
    }
}

fn shadowed_by(class: RouteClass) -> KernelError {
    KernelError::new(
        libc::EEXIST,
        Some(&format!("a {class} route to the same prefix goes first")),
    )
}
