//! The fields of BGPPeer.

use super::super::fields::Fields;
use super::super::value::scalar;
use crate::model::{BgpPeer, Metadata, NextHopMode, ReversePeering, SourceAddress};

pub(super) fn read(metadata: Metadata, spec: &mut Fields<'_>) -> BgpPeer {
    let sink = spec.sink();
    let filters = spec.list("filters").into_iter();
    BgpPeer {
        metadata,
        filters: filters
            .filter_map(|(path, tree)| scalar(&path, tree, sink))
            .collect(),
        node: spec.text("node"),
        node_selector: spec.selector("nodeSelector"),
        peer_ip: spec.parsed(
            "peerIP",
            "an IP address",
            "write for example 192.0.2.1 or [fd00::1]:179",
        ),
        as_number: spec.asn("asNumber"),
        local_as_number: spec.asn("localASNumber"),
        peer_selector: spec.selector("peerSelector"),
        local_workload_selector: spec.selector("localWorkloadSelector"),
        keep_original_next_hop: spec.flag("keepOriginalNextHop").unwrap_or_default(),
        next_hop_mode: spec.choice(
            "nextHopMode",
            &[
                ("Auto", NextHopMode::Auto),
                ("Self", NextHopMode::OwnAddress),
                ("Keep", NextHopMode::Keep),
            ],
        ),
        password: spec.secret("password"),
        source_address: spec.choice(
            "sourceAddress",
            &[
                ("UseNodeIP", SourceAddress::UseNodeIp),
                ("None", SourceAddress::None),
            ],
        ),
        max_restart_time: spec.duration("maxRestartTime"),
        keepalive_time: spec.duration("keepaliveTime"),
        num_allowed_local_as_numbers: spec.number("numAllowedLocalASNumbers", 0..=255),
        ttl_security: spec.number("ttlSecurity", 0..=255),
        reachable_by: spec.parsed(
            "reachableBy",
            "an IP address",
            "write for example 192.0.2.254",
        ),
        reverse_peering: spec.choice(
            "reversePeering",
            &[
                ("Auto", ReversePeering::Auto),
                ("Manual", ReversePeering::Manual),
            ],
        ),
        hold_time: spec.duration("holdTime"),
        connect_retry_time: spec.duration("connectRetryTime"),
        passive: spec.flag("passive"),
        description: spec.text("description"),
    }
}
