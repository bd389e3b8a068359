//! The node-to-node mesh: a session with every node that is no route reflector, unless this one is.

use std::collections::BTreeSet;

use super::{
    CONNECT_RETRY, Context, Family, HOLD_TIME, RESTART_TIME, SessionKey, SessionKind, SessionPlan,
    seconds, waits_for,
};
use crate::Finding;
use crate::model::{Kind, NextHopMode, ObjectKey};

pub(super) fn sessions(
    context: &Context<'_>,
    findings: &mut Vec<Finding>,
) -> Vec<(SessionKey, SessionPlan)> {
    // A reflector leaves the mesh in both directions.
    if !context.snapshot.mesh_enabled() || context.cluster_id().is_some() {
        return Vec::new();
    }
    let defaults = context.snapshot.defaults();
    if defaults.is_some_and(|defaults| defaults.node_mesh_password.is_some()) {
        let problem = "passwords are not supported: the mesh has no sessions rather than open ones"
            .to_owned();
        let objects = vec![ObjectKey::new(Kind::BgpConfiguration, "default")];
        let remedy = "remove it, or disable the mesh";
        findings.push(Finding::error(
            objects,
            "spec.nodeMeshPassword",
            problem,
            remedy,
        ));
        return Vec::new();
    }
    let restart_time = defaults.and_then(|defaults| defaults.node_mesh_max_restart_time);

    let mut sessions = Vec::new();
    for remote in context
        .others()
        .filter(|remote| remote.node.cluster_id().is_none())
    {
        for address in context.addresses_of(&remote) {
            let Some(own) = context.own_address(address) else {
                continue;
            };
            let session = SessionPlan {
                name: format!("mesh/{}", remote.name),
                kind: SessionKind::Mesh,
                remote_asn: context.snapshot.asn_of(remote.node),
                local_asn: context.asn(),
                passive: waits_for(own, address),
                reflector_client: false,
                source_address: Some(own),
                families: BTreeSet::from([Family::of(address)]),
                hold_time: HOLD_TIME,
                keepalive: HOLD_TIME / 3,
                connect_retry: CONNECT_RETRY,
                restart_time: restart_time.map_or(RESTART_TIME, seconds),
                next_hop_mode: NextHopMode::Auto,
                allow_own_asn: 0,
                ttl_security: None,
                description: None,
                from: vec![remote.key()],
            };
            sessions.push((context.session_key(&remote, address), session));
        }
    }
    sessions
}
