//! The difference between two plans: what to change, and what each change costs.
//!
//! Every struct is destructured completely: a new field does not compile until someone has said what its change costs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ipnet::IpNet;

use super::{
    ExportPlan, KernelPlan, NodeAddresses, OriginationPlan, Plan, RoutePriorities, SessionKey,
    SessionPlan, VxlanPlan, VxlanRoute,
};

/// One difference between two plans.
#[derive(Clone, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub struct PlanChange {
    /// What changes.
    pub subject: Subject,
    /// How.
    pub action: Action,
    /// What it costs.
    pub cost: Cost,
    /// The change in words: `hold time 90 -> 30, description`.
    pub text: String,
}

/// What changes.
#[derive(Clone, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub enum Subject {
    /// The speaker as a whole: AS, router ID, cluster ID, addresses.
    Speaker,
    /// The listening socket.
    Listener,
    /// A session.
    Session(SessionKey),
    /// A prefix of this node.
    Origination(IpNet),
    /// The export rules and communities.
    Export,
    /// What stays out of the kernel.
    Kernel,
    /// The overlay's devices.
    VxlanDevice,
    /// A pool of the overlay.
    VxlanPool(IpNet),
    /// A node of the overlay.
    VxlanNode(String),
    /// A route of the overlay.
    VxlanRoute(IpNet),
}

/// How a subject changes.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Action {
    /// It is new.
    Create,
    /// It is different.
    Update,
    /// It is gone.
    Delete,
}

/// What a change costs, from least to most.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Cost {
    /// Nothing that a peer or packet notices.
    None,
    /// Routes, blackholes or devices on this host.
    Dataplane,
    /// What was announced is compared again and differences are sent.
    SoftOut,
    /// What was received is looked at again, which may need a route refresh (RFC 2918); includes `SoftOut`.
    SoftIn,
    /// The session is closed and opened again.
    SessionReset,
}

impl Plan {
    /// What has to change to get from this plan to another one, sorted by subject; empty when nothing does.
    ///
    /// A new session costs nothing, a removed one a reset of itself. Cost grows with the size of both plans.
    #[must_use]
    pub fn diff(&self, new: &Self) -> Vec<PlanChange> {
        let Self {
            node,
            asn,
            router_id,
            listen_port,
            bind,
            cluster_id,
            node_addresses,
            priorities,
            sessions,
            originations,
            export,
            kernel,
            vxlan,
        } = self;
        let mut changes = Vec::new();

        // RFC 4271 section 4.2: AS and identifier are the same on every session, so all are opened again.
        let all_again = if sessions.is_empty() {
            Cost::None
        } else {
            Cost::SessionReset
        };
        let mut speaker = Difference::default();
        speaker.field("node", all_again, node, &new.node);
        speaker.field("AS", all_again, asn, &new.asn);
        speaker.optional("router ID", all_again, router_id, &new.router_id);
        speaker.optional("cluster ID", Cost::SoftIn, cluster_id, &new.cluster_id);
        let NodeAddresses { ipv4, ipv6 } = node_addresses;
        // Sessions name their source address themselves; the subnet decides what VXLAN sends without a tunnel.
        speaker.optional(
            "IPv4 address",
            Cost::Dataplane,
            ipv4,
            &new.node_addresses.ipv4,
        );
        speaker.optional(
            "IPv6 address",
            Cost::Dataplane,
            ipv6,
            &new.node_addresses.ipv6,
        );
        let RoutePriorities { ipv4, ipv6 } = priorities;
        speaker.field(
            "IPv4 route priority",
            Cost::SoftOut,
            ipv4,
            &new.priorities.ipv4,
        );
        speaker.field(
            "IPv6 route priority",
            Cost::SoftOut,
            ipv6,
            &new.priorities.ipv6,
        );
        changes.extend(speaker.update(Subject::Speaker));

        // Sessions that stand do not depend on the socket that they came from.
        let mut listener = Difference::default();
        listener.field("port", Cost::None, listen_port, &new.listen_port);
        listener.debug("bind", Cost::None, bind, &new.bind);
        changes.extend(listener.update(Subject::Listener));

        let session = |key: &SessionKey| Subject::Session(*key);
        let (create, delete) = (Cost::None, Cost::SessionReset);
        maps(
            &mut changes,
            sessions,
            &new.sessions,
            session,
            create,
            delete,
            diff_session,
        );
        let (create, delete) = (Cost::Dataplane, Cost::Dataplane);
        let origination = |prefix: &IpNet| Subject::Origination(*prefix);
        let (old, other) = (originations, &new.originations);
        maps(
            &mut changes,
            old,
            other,
            origination,
            create,
            delete,
            diff_origination,
        );

        changes.extend(diff_export(export, &new.export).update(Subject::Export));
        let KernelPlan { rejects } = kernel;
        let mut difference = Difference::default();
        difference.opaque(
            "ranges that are not installed",
            Cost::Dataplane,
            rejects,
            &new.kernel.rejects,
        );
        changes.extend(difference.update(Subject::Kernel));
        diff_vxlan(&mut changes, vxlan, &new.vxlan);
        changes.sort();
        changes
    }
}

fn diff_session(old: &SessionPlan, new: &SessionPlan) -> Difference {
    let SessionPlan {
        name,
        kind,
        remote_asn,
        local_asn,
        passive,
        reflector_client,
        source_address,
        families,
        hold_time,
        keepalive,
        connect_retry,
        restart_time,
        next_hop_mode,
        allow_own_asn,
        ttl_security,
        description,
        from,
    } = old;
    let mut difference = Difference::default();
    difference.field("name", Cost::None, name, &new.name);
    difference.debug("kind", Cost::None, kind, &new.kind);
    difference.field("remote AS", Cost::SessionReset, remote_asn, &new.remote_asn);
    difference.field("local AS", Cost::SessionReset, local_asn, &new.local_asn);
    // Counts for the next connection only.
    difference.field("passive", Cost::None, passive, &new.passive);
    difference.field(
        "reflector client",
        Cost::SoftOut,
        reflector_client,
        &new.reflector_client,
    );
    difference.optional(
        "source address",
        Cost::SessionReset,
        source_address,
        &new.source_address,
    );
    difference.debug("families", Cost::SessionReset, families, &new.families);
    // Hold time and restart time are agreed in the OPEN message.
    difference.field("hold time", Cost::SessionReset, hold_time, &new.hold_time);
    difference.field("keepalive", Cost::None, keepalive, &new.keepalive);
    difference.field(
        "connect retry",
        Cost::None,
        connect_retry,
        &new.connect_retry,
    );
    difference.field(
        "restart time",
        Cost::SessionReset,
        restart_time,
        &new.restart_time,
    );
    difference.debug(
        "next hop mode",
        Cost::SoftOut,
        next_hop_mode,
        &new.next_hop_mode,
    );
    difference.field(
        "allowed own AS",
        Cost::SoftIn,
        allow_own_asn,
        &new.allow_own_asn,
    );
    // RFC 5082 section 3: packets in flight would be dropped on one side before the other has changed.
    difference.optional(
        "TTL security",
        Cost::SessionReset,
        ttl_security,
        &new.ttl_security,
    );
    difference.opaque("description", Cost::None, description, &new.description);
    difference.opaque("origin", Cost::None, from, &new.from);
    difference
}

fn diff_origination(old: &OriginationPlan, new: &OriginationPlan) -> Difference {
    let OriginationPlan {
        kind,
        blackhole,
        pool,
        exported,
    } = old;
    let mut difference = Difference::default();
    difference.debug("kind", Cost::None, kind, &new.kind);
    difference.field("blackhole", Cost::Dataplane, blackhole, &new.blackhole);
    difference.optional("pool", Cost::None, pool, &new.pool);
    difference.field("exported", Cost::SoftOut, exported, &new.exported);
    difference
}

fn diff_export(old: &ExportPlan, new: &ExportPlan) -> Difference {
    let ExportPlan {
        rules,
        communities,
        normal_local_pref_ipv4,
        normal_local_pref_ipv6,
    } = old;
    let mut difference = Difference::default();
    difference.opaque("rules", Cost::SoftOut, rules, &new.rules);
    difference.opaque("communities", Cost::SoftOut, communities, &new.communities);
    let (ipv4, ipv6) = (&new.normal_local_pref_ipv4, &new.normal_local_pref_ipv6);
    difference.field(
        "normal IPv4 LOCAL_PREF",
        Cost::SoftOut,
        normal_local_pref_ipv4,
        ipv4,
    );
    difference.field(
        "normal IPv6 LOCAL_PREF",
        Cost::SoftOut,
        normal_local_pref_ipv6,
        ipv6,
    );
    difference
}

fn diff_vxlan(changes: &mut Vec<PlanChange>, old: &VxlanPlan, new: &VxlanPlan) {
    let VxlanPlan {
        ipv4,
        ipv6,
        settings,
        pools,
        nodes,
        routes,
    } = old;
    let mut device = Difference::default();
    device.field("IPv4 overlay", Cost::Dataplane, ipv4, &new.ipv4);
    device.field("IPv6 overlay", Cost::Dataplane, ipv6, &new.ipv6);
    device.opaque("settings", Cost::Dataplane, settings, &new.settings);
    changes.extend(device.update(Subject::VxlanDevice));

    let cost = Cost::Dataplane;
    let pool = |cidr: &IpNet| Subject::VxlanPool(*cidr);
    maps(changes, pools, &new.pools, pool, cost, cost, |old, new| {
        let mut difference = Difference::default();
        difference.field("name", Cost::None, &old.name, &new.name);
        difference.debug("mode", Cost::Dataplane, &old.mode, &new.mode);
        difference
    });
    let node = |name: &String| Subject::VxlanNode(name.clone());
    maps(changes, nodes, &new.nodes, node, cost, cost, |old, new| {
        let mut difference = Difference::default();
        difference.opaque("addresses", Cost::Dataplane, old, new);
        difference
    });
    let route = |prefix: &IpNet| Subject::VxlanRoute(*prefix);
    maps(
        changes,
        routes,
        &new.routes,
        route,
        cost,
        cost,
        |old, new| {
            let VxlanRoute { node, kind, pool } = old;
            let mut difference = Difference::default();
            difference.field("node", Cost::Dataplane, node, &new.node);
            difference.field("kind", Cost::Dataplane, kind, &new.kind);
            difference.field("pool", Cost::Dataplane, pool, &new.pool);
            difference
        },
    );
}

/// Compares two maps key by key.
fn maps<K: Ord, V>(
    changes: &mut Vec<PlanChange>,
    old: &BTreeMap<K, V>,
    new: &BTreeMap<K, V>,
    subject: impl Fn(&K) -> Subject,
    create: Cost,
    delete: Cost,
    compare: impl Fn(&V, &V) -> Difference,
) {
    let keys: BTreeSet<&K> = old.keys().chain(new.keys()).collect();
    for key in keys {
        let subject = subject(key);
        match (old.get(key), new.get(key)) {
            (Some(old), Some(new)) => changes.extend(compare(old, new).update(subject)),
            (None, Some(_)) => changes.push(PlanChange::whole(subject, Action::Create, create)),
            (Some(_), None) => changes.push(PlanChange::whole(subject, Action::Delete, delete)),
            (None, None) => {}
        }
    }
}

/// Collects the fields of one subject that differ.
#[derive(Default)]
struct Difference {
    cost: Option<Cost>,
    texts: Vec<String>,
}

impl Difference {
    fn field<T: PartialEq + fmt::Display>(&mut self, name: &str, cost: Cost, old: &T, new: &T) {
        if old != new {
            self.note(cost, format!("{name} {old} -> {new}"));
        }
    }

    fn optional<T: PartialEq + fmt::Display>(
        &mut self,
        name: &str,
        cost: Cost,
        old: &Option<T>,
        new: &Option<T>,
    ) {
        let show = |value: &Option<T>| {
            value
                .as_ref()
                .map_or_else(|| "none".to_owned(), T::to_string)
        };
        if old != new {
            self.note(cost, format!("{name} {} -> {}", show(old), show(new)));
        }
    }

    fn debug<T: PartialEq + fmt::Debug>(&mut self, name: &str, cost: Cost, old: &T, new: &T) {
        if old != new {
            self.note(cost, format!("{name} {old:?} -> {new:?}"));
        }
    }

    /// A field whose values are too long to print.
    fn opaque<T: PartialEq>(&mut self, name: &str, cost: Cost, old: &T, new: &T) {
        if old != new {
            self.note(cost, name.to_owned());
        }
    }

    fn note(&mut self, cost: Cost, text: String) {
        self.cost = self.cost.max(Some(cost));
        self.texts.push(text);
    }

    fn update(self, subject: Subject) -> Option<PlanChange> {
        let Self { cost, texts } = self;
        let text = texts.join(", ");
        cost.map(|cost| PlanChange {
            subject,
            action: Action::Update,
            cost,
            text,
        })
    }
}

impl PlanChange {
    fn whole(subject: Subject, action: Action, cost: Cost) -> Self {
        Self {
            subject,
            action,
            cost,
            text: String::new(),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Speaker => f.write_str("speaker"),
            Self::Listener => f.write_str("listener"),
            Self::Session(key) => write!(f, "session {key}"),
            Self::Origination(prefix) => write!(f, "origination {prefix}"),
            Self::Export => f.write_str("export"),
            Self::Kernel => f.write_str("kernel"),
            Self::VxlanDevice => f.write_str("vxlan device"),
            Self::VxlanPool(cidr) => write!(f, "vxlan pool {cidr}"),
            Self::VxlanNode(name) => write!(f, "vxlan node {name}"),
            Self::VxlanRoute(prefix) => write!(f, "vxlan route {prefix}"),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        })
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Dataplane => "dataplane",
            Self::SoftOut => "soft out",
            Self::SoftIn => "soft in",
            Self::SessionReset => "session reset",
        })
    }
}

impl fmt::Display for PlanChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            subject,
            action,
            cost,
            text,
        } = self;
        write!(f, "{action} {subject} (cost: {cost})")?;
        if text.is_empty() {
            Ok(())
        } else {
            write!(f, ": {text}")
        }
    }
}
