//! What queries see of the control loop: replaced as a whole whenever it changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use bgp_core::PeerId;
use bgp_wire::RouterId;
use cluster::Snapshot;
use cluster::plan::{Plan, SessionKey, SessionPlan};
use ipnet::IpNet;
use weft_proto::v1;

use super::originations::Progress;
use crate::bgp::peer::PeerHandle;

/// A consistent picture.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) plan: Arc<Plan>,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) router_id: RouterId,
    pub(crate) peers: Arc<Vec<PeerEntry>>,
    pub(crate) originations: Arc<BTreeMap<IpNet, Progress>>,
    pub(crate) scopes: Vec<v1::ScopeStatus>,
    pub(crate) listening: Vec<String>,
    /// Why something that was asked for is not so; empty when all is well.
    pub(crate) conditions: Vec<v1::Condition>,
    pub(crate) ready: bool,
}

/// One peer, as it is configured, and the way to its task.
#[derive(Clone)]
pub(crate) struct PeerEntry {
    pub(crate) key: SessionKey,
    pub(crate) id: PeerId,
    pub(crate) handle: PeerHandle,
    pub(crate) plan: SessionPlan,
    /// Since when new settings wait, because they would reset the session.
    pub(crate) pending_reset_since: Option<SystemTime>,
}

impl View {
    /// Before anything was told.
    pub(crate) fn empty(local: &cluster::Local, router_id: RouterId) -> Self {
        Self {
            plan: Arc::new(Plan::idle(local)),
            snapshot: Arc::default(),
            router_id,
            peers: Arc::default(),
            originations: Arc::default(),
            scopes: Vec::new(),
            listening: Vec::new(),
            conditions: Vec::new(),
            ready: false,
        }
    }
}
