//! Typed objects of the API, turned into the manifests that they mirror.
//!
//! The manifest reader is the one place that knows what a field may hold and what to say when it doesn't. Objects that
//! come over the API go the same way as a user's YAML, so that both are checked alike.

use serde_json::{Map, Value, json};
use weft_proto::v1;

/// The object as a resource, or `None` when it has no kind (a newer client's).
pub(crate) fn to_manifest(object: v1::Object) -> Option<Value> {
    use v1::object::Kind;
    Some(match object.kind? {
        Kind::Node(node) => self::node(node),
        Kind::BgpConfiguration(configuration) => bgp_configuration(configuration),
        Kind::BgpPeer(peer) => bgp_peer(peer),
        Kind::IpPool(pool) => ip_pool(pool),
        Kind::IpamBlock(block) => ipam_block(block),
        Kind::BlockAffinity(affinity) => block_affinity(affinity),
    })
}

fn node(node: v1::Node) -> Value {
    let v1::Node {
        metadata,
        bgp,
        ipv4_vxlan_tunnel_addr,
        vxlan_tunnel_mac_addr,
        ipv6_vxlan_tunnel_addr,
        vxlan_tunnel_mac_addr_v6,
        addresses,
    } = node;
    let addresses: Vec<Value> = addresses
        .into_iter()
        .map(|v1::NodeAddress { address, r#type }| {
            fields([("address", text(address)), ("type", text(r#type))])
        })
        .collect();
    resource(
        "Node",
        metadata,
        [
            ("bgp", bgp.map(node_bgp)),
            ("ipv4VXLANTunnelAddr", text(ipv4_vxlan_tunnel_addr)),
            ("vxlanTunnelMACAddr", text(vxlan_tunnel_mac_addr)),
            ("ipv6VXLANTunnelAddr", text(ipv6_vxlan_tunnel_addr)),
            ("vxlanTunnelMACAddrV6", text(vxlan_tunnel_mac_addr_v6)),
            ("addresses", list(addresses)),
        ],
    )
}

fn node_bgp(bgp: v1::NodeBgp) -> Value {
    let v1::NodeBgp {
        as_number,
        ipv4_address,
        ipv6_address,
        route_reflector_cluster_id,
        ipv4_ipip_tunnel_addr,
    } = bgp;
    fields([
        ("asNumber", as_number.map(Value::from)),
        ("ipv4Address", text(ipv4_address)),
        ("ipv6Address", text(ipv6_address)),
        ("routeReflectorClusterID", text(route_reflector_cluster_id)),
        ("ipv4IPIPTunnelAddr", text(ipv4_ipip_tunnel_addr)),
    ])
}

fn bgp_configuration(configuration: v1::BgpConfiguration) -> Value {
    let v1::BgpConfiguration {
        metadata,
        log_severity_screen,
        node_to_node_mesh_enabled,
        as_number,
        service_load_balancer_ips,
        service_external_ips,
        service_cluster_ips,
        service_load_balancer_aggregation,
        communities,
        prefix_advertisements,
        listen_port,
        node_mesh_password,
        node_mesh_max_restart_time,
        bind_mode,
        ignored_interfaces,
        local_workload_peering_ip_v4,
        local_workload_peering_ip_v6,
        program_cluster_routes,
        ipv4_normal_route_priority,
        ipv6_normal_route_priority,
    } = configuration;
    let ranges = |cidrs: Vec<String>| {
        list(
            cidrs
                .into_iter()
                .map(|cidr| json!({ "cidr": cidr }))
                .collect(),
        )
    };
    let communities = communities
        .into_iter()
        .map(|v1::NamedCommunity { name, value }| json!({ "name": name, "value": value }))
        .collect();
    let prefix_advertisements = prefix_advertisements
        .into_iter()
        .map(|v1::PrefixAdvertisement { cidr, communities }| json!({ "cidr": cidr, "communities": communities }))
        .collect();
    resource(
        "BGPConfiguration",
        metadata,
        [
            ("logSeverityScreen", text(log_severity_screen)),
            (
                "nodeToNodeMeshEnabled",
                node_to_node_mesh_enabled.map(Value::from),
            ),
            ("asNumber", as_number.map(Value::from)),
            ("serviceLoadBalancerIPs", ranges(service_load_balancer_ips)),
            ("serviceExternalIPs", ranges(service_external_ips)),
            ("serviceClusterIPs", ranges(service_cluster_ips)),
            (
                "serviceLoadBalancerAggregation",
                text(service_load_balancer_aggregation),
            ),
            ("communities", list(communities)),
            ("prefixAdvertisements", list(prefix_advertisements)),
            ("listenPort", listen_port.map(Value::from)),
            ("nodeMeshPassword", node_mesh_password.map(secret)),
            (
                "nodeMeshMaxRestartTime",
                seconds(node_mesh_max_restart_time),
            ),
            ("bindMode", text(bind_mode)),
            (
                "ignoredInterfaces",
                list(ignored_interfaces.into_iter().map(Value::from).collect()),
            ),
            (
                "localWorkloadPeeringIPV4",
                text(local_workload_peering_ip_v4),
            ),
            (
                "localWorkloadPeeringIPV6",
                text(local_workload_peering_ip_v6),
            ),
            ("programClusterRoutes", text(program_cluster_routes)),
            (
                "ipv4NormalRoutePriority",
                ipv4_normal_route_priority.map(Value::from),
            ),
            (
                "ipv6NormalRoutePriority",
                ipv6_normal_route_priority.map(Value::from),
            ),
        ],
    )
}

fn bgp_peer(peer: v1::BgpPeer) -> Value {
    let v1::BgpPeer {
        metadata,
        node,
        node_selector,
        peer_ip,
        as_number,
        local_as_number,
        peer_selector,
        local_workload_selector,
        keep_original_next_hop,
        next_hop_mode,
        password,
        source_address,
        max_restart_time,
        keepalive_time,
        num_allowed_local_as_numbers,
        ttl_security,
        reachable_by,
        filters,
        reverse_peering,
        hold_time,
        connect_retry_time,
        passive,
        description,
    } = peer;
    resource(
        "BGPPeer",
        metadata,
        [
            ("node", text(node)),
            ("nodeSelector", text(node_selector)),
            ("peerIP", text(peer_ip)),
            ("asNumber", as_number.map(Value::from)),
            ("localASNumber", local_as_number.map(Value::from)),
            ("peerSelector", text(peer_selector)),
            ("localWorkloadSelector", text(local_workload_selector)),
            (
                "keepOriginalNextHop",
                keep_original_next_hop.map(Value::from),
            ),
            ("nextHopMode", text(next_hop_mode)),
            ("password", password.map(secret)),
            ("sourceAddress", text(source_address)),
            ("maxRestartTime", seconds(max_restart_time)),
            ("keepaliveTime", seconds(keepalive_time)),
            (
                "numAllowedLocalASNumbers",
                num_allowed_local_as_numbers.map(Value::from),
            ),
            ("ttlSecurity", ttl_security.map(Value::from)),
            ("reachableBy", text(reachable_by)),
            (
                "filters",
                list(filters.into_iter().map(Value::from).collect()),
            ),
            ("reversePeering", text(reverse_peering)),
            ("holdTime", seconds(hold_time)),
            ("connectRetryTime", seconds(connect_retry_time)),
            ("passive", passive.map(Value::from)),
            ("description", text(description)),
        ],
    )
}

fn ip_pool(pool: v1::IpPool) -> Value {
    let v1::IpPool {
        metadata,
        cidr,
        vxlan_mode,
        ipip_mode,
        nat_outgoing,
        disabled,
        disable_bgp_export,
        block_size,
        node_selector,
        namespace_selector,
        allowed_uses,
        assignment_mode,
    } = pool;
    resource(
        "IPPool",
        metadata,
        [
            ("cidr", text(cidr)),
            ("vxlanMode", text(vxlan_mode)),
            ("ipipMode", text(ipip_mode)),
            ("natOutgoing", nat_outgoing.map(Value::from)),
            ("disabled", disabled.map(Value::from)),
            ("disableBGPExport", disable_bgp_export.map(Value::from)),
            ("blockSize", block_size.map(Value::from)),
            ("nodeSelector", text(node_selector)),
            ("namespaceSelector", text(namespace_selector)),
            (
                "allowedUses",
                list(allowed_uses.into_iter().map(Value::from).collect()),
            ),
            ("assignmentMode", text(assignment_mode)),
        ],
    )
}

fn ipam_block(block: v1::IpamBlock) -> Value {
    let v1::IpamBlock {
        metadata,
        cidr,
        affinity,
        allocations,
        attributes,
        deleted,
        affinity_claim_time,
    } = block;
    let allocations = allocations
        .into_iter()
        .map(|index| {
            if index < 0 {
                Value::Null
            } else {
                Value::from(index)
            }
        })
        .collect();
    let attributes = attributes
        .into_iter()
        .map(
            |v1::AllocationAttribute {
                 handle_id,
                 secondary,
             }| {
                let secondary: Map<String, Value> = secondary
                    .into_iter()
                    .map(|(key, value)| (key, Value::from(value)))
                    .collect();
                fields([
                    ("handle_id", text(handle_id)),
                    ("secondary", Some(Value::from(secondary))),
                ])
            },
        )
        .collect();
    resource(
        "IPAMBlock",
        metadata,
        [
            ("cidr", text(cidr)),
            ("affinity", text(affinity)),
            ("allocations", list(allocations)),
            ("attributes", list(attributes)),
            ("deleted", Some(Value::from(deleted))),
            (
                "affinityClaimTime",
                affinity_claim_time.map(|time| Value::from(time.to_string())),
            ),
        ],
    )
}

fn block_affinity(affinity: v1::BlockAffinity) -> Value {
    let v1::BlockAffinity {
        metadata,
        cidr,
        node,
        state,
        r#type,
        deleted,
    } = affinity;
    resource(
        "BlockAffinity",
        metadata,
        [
            ("cidr", text(cidr)),
            ("node", text(node)),
            ("state", text(state)),
            ("type", text(r#type)),
            ("deleted", Some(Value::from(deleted))),
        ],
    )
}

fn resource<const N: usize>(
    kind: &str,
    metadata: Option<v1::Metadata>,
    spec: [(&str, Option<Value>); N],
) -> Value {
    let v1::Metadata {
        name,
        labels,
        annotations,
    } = metadata.unwrap_or_default();
    json!({
        "apiVersion": "projectcalico.org/v3",
        "kind": kind,
        "metadata": {
            "name": name,
            "labels": labels.into_iter().map(|(key, value)| (key, Value::from(value))).collect::<Map<_, _>>(),
            "annotations":
                annotations.into_iter().map(|(key, value)| (key, Value::from(value))).collect::<Map<_, _>>(),
        },
        "spec": fields(spec),
    })
}

fn fields<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let present = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(present.collect())
}

/// In the API an absent text is an empty one.
fn text(text: String) -> Option<Value> {
    (!text.is_empty()).then(|| Value::from(text))
}

fn list(items: Vec<Value>) -> Option<Value> {
    (!items.is_empty()).then(|| Value::from(items))
}

fn seconds(seconds: Option<u32>) -> Option<Value> {
    seconds.map(|seconds| Value::from(format!("{seconds}s")))
}

fn secret(v1::SecretKeyRef { name, key }: v1::SecretKeyRef) -> Value {
    json!({ "secretKeyRef": { "name": name, "key": key } })
}

#[cfg(test)]
mod tests;
