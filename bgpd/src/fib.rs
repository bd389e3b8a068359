//! From the Loc-RIB to the dataplane: what the shards decide, coalesced by prefix, less what BGP must not program.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bgp_core::rib::{FibChange, FibRoute};
use dataplane::{Dataplane, RouteChange, RouteClass, RouteNextHop, RouteSpec};
use ipnet::IpNet;
use tokio::sync::Notify;

/// Prefixes whose routes belong to somebody else: the overlay's pools.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct KernelRules {
    /// Nothing inside these is programmed from BGP (Calico: the kernel filter's VXLAN pools).
    pub(crate) not_from_bgp: Vec<IpNet>,
}

impl KernelRules {
    fn allows(&self, prefix: &IpNet) -> bool {
        !self.not_from_bgp.iter().any(|pool| pool.contains(prefix))
    }
}

/// Where shards leave their changes. It never makes them wait: what is not taken yet is replaced by what is newer.
#[derive(Debug, Default)]
pub(crate) struct FibInbox {
    pending: Mutex<Pending>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct Pending {
    changes: HashMap<IpNet, Option<FibRoute>>,
    rules: Option<KernelRules>,
    /// This daemon ends: what is in the kernel stays there.
    closed: bool,
}

impl FibInbox {
    /// Leaves changes; at most one per prefix is kept.
    pub(crate) fn put(&self, changes: Vec<FibChange>) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.closed {
            return;
        }
        for FibChange { prefix, route } in changes {
            pending.changes.insert(prefix, route);
        }
        drop(pending);
        self.wake.notify_one();
    }

    /// Sets the rules; routes that are known are looked at again.
    pub(crate) fn set_rules(&self, rules: KernelRules) {
        self.pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .rules = Some(rules);
        self.wake.notify_one();
    }

    /// Takes no more changes. Sessions that end with the daemon must not take their routes out of the kernel.
    pub(crate) fn close(&self) {
        self.pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .closed = true;
    }

    async fn take(&self) -> Pending {
        loop {
            let pending = {
                let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
                let closed = pending.closed;
                std::mem::replace(
                    &mut *pending,
                    Pending {
                        closed,
                        ..Pending::default()
                    },
                )
            };
            if pending.rules.is_some() || !pending.changes.is_empty() {
                return pending;
            }
            self.wake.notified().await;
        }
    }
}

/// Carries changes to the dataplane until the task is dropped.
pub(crate) async fn run(inbox: Arc<FibInbox>, dataplane: Dataplane) {
    let mut fib = Fib::default();
    loop {
        let changes = fib.apply(inbox.take().await);
        if !changes.is_empty() {
            dataplane.update_routes(changes).await;
        }
    }
}

/// The routes that BGP wants, whether the rules let them into the kernel or not.
#[derive(Default)]
struct Fib {
    routes: HashMap<IpNet, FibRoute>,
    rules: KernelRules,
}

impl Fib {
    fn apply(&mut self, Pending { changes, rules, .. }: Pending) -> Vec<RouteChange> {
        let mut result = Vec::with_capacity(changes.len());
        if let Some(rules) = rules {
            for (prefix, route) in &self.routes {
                match (self.rules.allows(prefix), rules.allows(prefix)) {
                    (false, true) => result.push(change(*prefix, Some(route))),
                    (true, false) => result.push(change(*prefix, None)),
                    (true, true) | (false, false) => {}
                }
            }
            self.rules = rules;
        }
        for (prefix, route) in changes {
            if self.rules.allows(&prefix) {
                result.push(change(prefix, route.as_ref()));
            }
            match route {
                Some(route) => self.routes.insert(prefix, route),
                None => self.routes.remove(&prefix),
            };
        }
        result
    }
}

fn change(prefix: IpNet, route: Option<&FibRoute>) -> RouteChange {
    let route = route.map(|route| RouteSpec::Unicast {
        next_hops: route
            .next_hops
            .iter()
            .map(|next_hop| RouteNextHop {
                gateway: Some(next_hop.address),
                interface: next_hop.interface.and_then(dataplane::host::interface_name),
                onlink: false,
                weight: next_hop.weight.into(),
            })
            .collect(),
        mtu: None,
    });
    RouteChange {
        prefix,
        class: RouteClass::Bgp,
        route,
    }
}
