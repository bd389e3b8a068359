//! From the running plan to a new one: every difference, in the order that never leaves a gap.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use bgp_core::rib::{Origination, RibEvent, ShardSettings};
use bgp_wire::{Asn, Attributes, RouterId};
use cluster::Snapshot;
use cluster::plan::{Bind, Plan, PlanChange, Subject};
use dataplane::{RouteChange, RouteClass, RouteSpec};
use ipnet::IpNet;
use tracing::{error, info};
use weft_proto::v1;
use weft_proto::v1::condition::Status as ConditionStatus;

use super::Control;
use super::apply::Outcome;
use super::originations::{Step, Wanted};
use super::peers::{Policies, Resets};
use super::view::View;
use crate::bgp::listener::Listener;
use crate::fib::KernelRules;
use crate::watch::{Key, Kind};

impl Control {
    /// Makes the daemon what `outcome` says.
    pub(super) async fn carry_out(&mut self, outcome: Outcome, resets: Resets) {
        let (snapshot, plan, findings) = outcome.into_shared();
        let changes = self.plan.diff(&plan);
        let router_id = router_id(&plan, self.parts.fallback_router_id);
        let shard_settings = shard_settings(&plan, router_id);
        if shard_settings != self.parts.shard_settings {
            self.parts.shard_settings = shard_settings.clone();
            self.parts
                .shards
                .command_all(|| RibEvent::Configure(shard_settings.clone()));
        }
        let trouble = self.listen(&plan);
        self.parts.fib.set_rules(kernel_rules(&plan));
        if let Some(dataplane) = &self.parts.dataplane {
            self.overlay.set(super::overlay::inputs(&plan));
            dataplane.set_overlay(self.overlay.desired().clone()).await;
        }
        let policies = Policies {
            import: super::policy::import(),
            export: super::policy::export(&plan.export),
        };
        for peer in self.peers.set(&plan, router_id, &policies, resets) {
            self.restart.removed(peer);
        }
        self.neighbours.store(Arc::new(self.peers.neighbours()));
        let wanted: BTreeMap<IpNet, Wanted> = plan
            .originations
            .iter()
            .map(|(prefix, origination)| {
                (
                    *prefix,
                    Wanted {
                        blackhole: origination.blackhole,
                    },
                )
            })
            .collect();
        let steps = self.originations.set(&wanted);
        let changed = self.changed_keys(&changes, &snapshot, &plan);
        self.plan = plan;
        self.announce(steps).await;
        if self.configured() {
            self.restart
                .configured(self.parts.clock.now(), self.peers.ids());
        }
        self.snapshot = snapshot;
        self.router_id = router_id;
        self.findings = findings;
        self.trouble = trouble;
        self.publish();
        self.parts.hub.mark(changed);
    }

    /// What watchers should look at again.
    fn changed_keys(&self, changes: &[PlanChange], new: &Snapshot, plan: &Plan) -> BTreeSet<Key> {
        let mut keys = BTreeSet::from([Key::Status]);
        for change in changes {
            match &change.subject {
                Subject::Session(key) => {
                    keys.insert(Key::Peer(SocketAddr::new(key.address, key.port)));
                }
                Subject::VxlanNode(name) => {
                    let nodes = [&self.plan, plan].map(|plan| plan.vxlan.nodes.get(name));
                    let ends = nodes.into_iter().flatten().flat_map(|node| {
                        let v4 = node.tunnel_ipv4.map(IpAddr::V4);
                        [v4, node.tunnel_ipv6.map(IpAddr::V6)]
                    });
                    keys.extend(ends.flatten().map(Key::Vtep));
                }
                _ => {}
            }
        }
        // The blocks of all nodes are shown, not only those that this node's plan speaks of.
        if self.parts.hub.is_watched(Kind::Block) {
            for snapshot in [&self.snapshot, new] {
                let ipam = snapshot.ipam();
                keys.extend(ipam.routes().map(|route| Key::Block(route.prefix)));
            }
        }
        keys
    }

    /// Tries again to listen where it was not possible.
    pub(super) fn listen_again(&mut self) {
        let plan = self.plan.clone();
        let trouble = self.listen(&plan);
        let texts = |trouble: &[v1::Condition]| -> Vec<String> {
            trouble.iter().map(|one| one.message.clone()).collect()
        };
        if texts(&trouble) != texts(&self.trouble) {
            self.trouble = trouble;
            self.publish();
            self.parts.hub.mark([Key::Status]);
        }
    }

    /// Carries out the steps of announcements.
    pub(super) async fn announce(&self, steps: Vec<Step>) {
        let mut kernel = Vec::new();
        let mut originate: Vec<Vec<Origination>> = vec![Vec::new(); self.parts.shards.count()];
        let mut withdraw: Vec<Vec<IpNet>> = vec![Vec::new(); self.parts.shards.count()];
        for step in steps {
            match step {
                Step::InstallBlackhole(prefix) => {
                    kernel.push(blackhole(prefix, Some(RouteSpec::Blackhole)))
                }
                Step::RemoveBlackhole(prefix) => kernel.push(blackhole(prefix, None)),
                Step::Announce(prefix) => {
                    originate[self.parts.shards.index_of(&prefix)].push(self.origination(prefix));
                }
                Step::Withdraw(prefix) => {
                    withdraw[self.parts.shards.index_of(&prefix)].push(prefix)
                }
            }
        }
        for (shard, (withdraw, originate)) in withdraw.into_iter().zip(originate).enumerate() {
            if !withdraw.is_empty() {
                self.parts
                    .shards
                    .command(shard, RibEvent::Withdraw(withdraw));
            }
            if !originate.is_empty() {
                self.parts
                    .shards
                    .command(shard, RibEvent::Originate(originate));
            }
        }
        if let Some(dataplane) = &self.parts.dataplane
            && !kernel.is_empty()
        {
            dataplane.update_routes(kernel).await;
        }
    }

    /// Puts the present state where queries see it.
    pub(super) fn publish(&self) {
        let mut conditions: Vec<v1::Condition> = self.trouble.clone();
        conditions.extend(self.findings.iter().map(|finding| {
            condition(
                "ConfigurationWarning",
                finding.severity.to_string(),
                finding.to_string(),
            )
        }));
        // What was so before has been so since then.
        let before = self.parts.view.load();
        for condition in &mut conditions {
            let is_it = |known: &&v1::Condition| {
                (&known.r#type, &known.message) == (&condition.r#type, &condition.message)
            };
            if let Some(known) = before.conditions.iter().find(is_it) {
                condition.last_transition = known.last_transition;
            }
        }
        self.parts.view.store(Arc::new(View {
            plan: Arc::new(self.plan.clone()),
            snapshot: Arc::clone(&self.snapshot),
            router_id: self.router_id,
            peers: Arc::new(self.peers.view()),
            originations: Arc::new(self.originations.progress()),
            scopes: self.parts.scopes.status(),
            listening: self
                .listeners
                .iter()
                .map(|listener| listener.address().to_string())
                .collect(),
            conditions,
            ready: self.restart.has_completed(),
        }));
    }

    fn origination(&self, prefix: IpNet) -> Origination {
        // Calico's speakers carry the kernel metric of a route in LOCAL_PREF; nodes of both kinds then agree.
        let attributes = Attributes {
            local_pref: Some(self.plan.priorities.local_pref(&prefix)),
            ..Attributes::default()
        };
        Origination {
            prefix,
            attributes,
            next_hop: None,
        }
    }

    /// Listens where the plan and the flags say. A socket that stays is not touched.
    fn listen(&mut self, plan: &Plan) -> Vec<v1::Condition> {
        let wanted = listen_addresses(
            plan,
            self.parts.flags.bgp_address,
            self.parts.flags.bgp_port,
        );
        self.listeners
            .retain(|listener| wanted.contains(&listener.address()));
        let mut trouble = Vec::new();
        for address in wanted {
            if self
                .listeners
                .iter()
                .any(|listener| listener.address() == address)
            {
                continue;
            }
            match Listener::open(address, Arc::clone(&self.neighbours)) {
                Ok(listener) => {
                    info!(%address, "listening for BGP");
                    self.listeners.push(listener);
                }
                // A host without IPv6 is no fault unless somebody asked for IPv6.
                Err(error)
                    if is_no_ipv6(&error) && address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) => {}
                Err(error) => {
                    let text = format!(
                        "can't listen for BGP on {address}: {error}; neighbours can't connect to this node (another \
                         BGP daemon may run here; --bgp-address and --bgp-port choose another place)"
                    );
                    // Said once: it is tried again and again.
                    if !self.trouble.iter().any(|known| known.message == text) {
                        error!("{text}");
                    }
                    let reason = match error.raw_os_error() {
                        Some(libc::EADDRNOTAVAIL) => NO_SUCH_ADDRESS,
                        _ => "BindError",
                    };
                    trouble.push(condition("ListenFailed", reason.to_owned(), text));
                }
            }
        }
        trouble
    }

    /// True once anything at all was told: from then on peers are waited for.
    fn configured(&self) -> bool {
        !self.parts.scopes.is_empty() || self.parts.flags.manifests.is_none()
    }
}

/// The router ID in force.
pub(crate) fn router_id(plan: &Plan, fallback: RouterId) -> RouterId {
    plan.router_id.map_or(fallback, RouterId)
}

/// What the shards must know of this node.
pub(crate) fn shard_settings(plan: &Plan, router_id: RouterId) -> ShardSettings {
    let mut settings = ShardSettings::new(Asn(plan.asn.0), router_id);
    settings.cluster_id = plan.cluster_id.map(RouterId);
    settings
}

fn listen_addresses(plan: &Plan, address: Option<IpAddr>, port: Option<u16>) -> Vec<SocketAddr> {
    let port = port.unwrap_or(plan.listen_port);
    let addresses: Vec<IpAddr> = match (address, plan.bind) {
        (Some(address), _) => vec![address],
        (None, Bind::Any) => vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()],
        (None, Bind::NodeAddresses) => {
            let v4 = plan.node_addresses.ipv4_address().map(IpAddr::V4);
            v4.into_iter()
                .chain(plan.node_addresses.ipv6_address().map(IpAddr::V6))
                .collect()
        }
    };
    addresses
        .into_iter()
        .map(|address| SocketAddr::new(address, port))
        .collect()
}

fn is_no_ipv6(error: &std::io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL)
    )
}

fn kernel_rules(plan: &Plan) -> KernelRules {
    KernelRules {
        not_from_bgp: plan
            .kernel
            .rejects
            .iter()
            .map(|reject| reject.within)
            .collect(),
    }
}

fn blackhole(prefix: IpNet, route: Option<RouteSpec>) -> RouteChange {
    RouteChange {
        prefix,
        class: RouteClass::OwnBlock,
        route,
    }
}

fn condition(kind: &str, reason: String, message: String) -> v1::Condition {
    v1::Condition {
        r#type: kind.to_owned(),
        status: ConditionStatus::True.into(),
        reason,
        message,
        last_transition: Some(std::time::SystemTime::now().into()),
    }
}

/// The reason for not listening that passes when the interface is set up.
pub(super) const NO_SUCH_ADDRESS: &str = "NoSuchAddress";
