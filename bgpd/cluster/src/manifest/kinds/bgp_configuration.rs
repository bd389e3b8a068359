//! The fields of BGPConfiguration.

use super::super::fields::{A_PREFIX, Fields, PREFIX};
use super::super::value::scalar;
use crate::model::{
    BgpConfiguration, BindMode, LogSeverity, Metadata, NamedCommunity, PrefixAdvertisement,
    ProgramClusterRoutes, ServiceAggregation,
};

pub(super) fn read(metadata: Metadata, spec: &mut Fields<'_>) -> BgpConfiguration {
    let mut communities = spec.list_of_fields("communities");
    let mut advertisements = spec.list_of_fields("prefixAdvertisements");
    BgpConfiguration {
        metadata,
        log_severity_screen: log_severity(spec),
        node_to_node_mesh_enabled: spec.flag("nodeToNodeMeshEnabled"),
        as_number: spec.asn("asNumber"),
        service_load_balancer_ips: spec.cidr_list("serviceLoadBalancerIPs"),
        service_external_ips: spec.cidr_list("serviceExternalIPs"),
        service_cluster_ips: spec.cidr_list("serviceClusterIPs"),
        service_load_balancer_aggregation: spec.choice(
            "serviceLoadBalancerAggregation",
            &[
                ("Enabled", ServiceAggregation::Enabled),
                ("Disabled", ServiceAggregation::Disabled),
            ],
        ),
        communities: communities.iter_mut().filter_map(community).collect(),
        prefix_advertisements: advertisements
            .iter_mut()
            .filter_map(advertisement)
            .collect(),
        listen_port: spec.number("listenPort", 1..=65535),
        node_mesh_password: spec.secret("nodeMeshPassword"),
        node_mesh_max_restart_time: spec.duration("nodeMeshMaxRestartTime"),
        bind_mode: spec.choice(
            "bindMode",
            &[("None", BindMode::None), ("NodeIP", BindMode::NodeIp)],
        ),
        ignored_interfaces: spec.parsed_list(
            "ignoredInterfaces",
            "a pattern",
            "write for example docker*",
        ),
        local_workload_peering_ipv4: spec.parsed(
            "localWorkloadPeeringIPV4",
            "an IPv4 address",
            "write for example 169.254.1.1",
        ),
        local_workload_peering_ipv6: spec.parsed(
            "localWorkloadPeeringIPV6",
            "an IPv6 address",
            "write for example fe80::1",
        ),
        program_cluster_routes: spec.choice("programClusterRoutes", &PROGRAM_CLUSTER_ROUTES),
        ipv4_normal_route_priority: spec.number("ipv4NormalRoutePriority", PRIORITIES),
        ipv6_normal_route_priority: spec.number("ipv6NormalRoutePriority", PRIORITIES),
    }
}

fn log_severity(spec: &mut Fields<'_>) -> Option<LogSeverity> {
    let text = spec.text("logSeverityScreen")?;
    let known = LOG_SEVERITIES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(&text));
    if known.is_none() {
        let names = LOG_SEVERITIES.map(|(name, _)| name).join(", ");
        let problem = format!("{text:?} is not a log severity");
        spec.sink().error(
            &spec.path("logSeverityScreen"),
            problem,
            format!("write one of {names}"),
        );
    }
    known.map(|(_, severity)| *severity)
}

fn community(fields: &mut Fields<'_>) -> Option<NamedCommunity> {
    let name = fields.required_text("name", "write a name for the community");
    let value = fields.required(
        "value",
        "a community",
        "write for example 64512:100 or 64512:100:1",
    );
    Some(NamedCommunity {
        name: name?,
        value: value?,
    })
}

fn advertisement(fields: &mut Fields<'_>) -> Option<PrefixAdvertisement> {
    let sink = fields.sink();
    let communities = fields.list("communities").into_iter();
    let communities = communities
        .filter_map(|(path, tree)| scalar(&path, tree, sink))
        .collect();
    let cidr = fields.required("cidr", A_PREFIX, PREFIX)?;
    Some(PrefixAdvertisement { cidr, communities })
}

const PRIORITIES: std::ops::RangeInclusive<u64> = 1..=2_147_483_646;

const PROGRAM_CLUSTER_ROUTES: [(&str, ProgramClusterRoutes); 4] = [
    ("Enabled", ProgramClusterRoutes::Enabled),
    ("Disabled", ProgramClusterRoutes::Disabled),
    ("EnabledIPIPOnly", ProgramClusterRoutes::EnabledIpipOnly),
    (
        "EnabledNoEncapOnly",
        ProgramClusterRoutes::EnabledNoEncapOnly,
    ),
];

const LOG_SEVERITIES: [(&str, LogSeverity); 7] = [
    ("Trace", LogSeverity::Trace),
    ("Debug", LogSeverity::Debug),
    ("Info", LogSeverity::Info),
    ("Warning", LogSeverity::Warning),
    ("Error", LogSeverity::Error),
    ("Fatal", LogSeverity::Fatal),
    ("None", LogSeverity::None),
];
