//! BGPConfiguration: settings of the whole cluster (`default`), a few of them for one node (`node.NAME`).

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;

use super::{Metadata, SecretKeyRef};
use crate::Asn;

/// Settings of BGP.
///
/// In an object named `node.NAME` only `prefix_advertisements` with `communities`, `listen_port` and
/// `log_severity_screen` count; they replace the ones of `default`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BgpConfiguration {
    /// Name: `default` or `node.NAME`.
    pub metadata: Metadata,
    /// `logSeverityScreen`.
    pub log_severity_screen: Option<LogSeverity>,
    /// `nodeToNodeMeshEnabled`: a session between every two nodes; on unless set to false.
    pub node_to_node_mesh_enabled: Option<bool>,
    /// `asNumber`: the cluster's AS, 64512 when absent.
    pub as_number: Option<Asn>,
    /// `serviceLoadBalancerIPs`: ranges of load balancer addresses that may be announced.
    pub service_load_balancer_ips: Vec<IpNet>,
    /// `serviceExternalIPs`: ranges of external addresses that may be announced.
    pub service_external_ips: Vec<IpNet>,
    /// `serviceClusterIPs`: ranges of cluster addresses to announce.
    pub service_cluster_ips: Vec<IpNet>,
    /// `serviceLoadBalancerAggregation`.
    pub service_load_balancer_aggregation: Option<ServiceAggregation>,
    /// `communities`: names for community values.
    pub communities: Vec<NamedCommunity>,
    /// `prefixAdvertisements`: communities to add on export.
    pub prefix_advertisements: Vec<PrefixAdvertisement>,
    /// `listenPort`: 179 when absent.
    pub listen_port: Option<u16>,
    /// `nodeMeshPassword`: the TCP-MD5 password (RFC 2385) of all mesh sessions.
    pub node_mesh_password: Option<SecretKeyRef>,
    /// `nodeMeshMaxRestartTime`: graceful restart time (RFC 4724) of mesh sessions.
    pub node_mesh_max_restart_time: Option<Duration>,
    /// `bindMode`.
    pub bind_mode: Option<BindMode>,
    /// `ignoredInterfaces`: patterns of interfaces whose addresses do not resolve next hops.
    pub ignored_interfaces: Vec<String>,
    /// `localWorkloadPeeringIPV4`: the node's address towards workloads that speak BGP.
    pub local_workload_peering_ipv4: Option<Ipv4Addr>,
    /// `localWorkloadPeeringIPV6`: the node's address towards workloads that speak BGP.
    pub local_workload_peering_ipv6: Option<Ipv6Addr>,
    /// `programClusterRoutes`: which pools' routes the BGP daemon installs.
    pub program_cluster_routes: Option<ProgramClusterRoutes>,
    /// `ipv4NormalRoutePriority`: the kernel metric of a normal route, 1024 when absent.
    pub ipv4_normal_route_priority: Option<u32>,
    /// `ipv6NormalRoutePriority`: the kernel metric of a normal route, 1024 when absent.
    pub ipv6_normal_route_priority: Option<u32>,
}

/// How much is logged.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub enum LogSeverity {
    /// Every detail.
    Trace,
    /// For finding faults.
    Debug,
    /// The default.
    Info,
    /// Misbehaviour that was coped with.
    Warning,
    /// Failures.
    Error,
    /// The last words.
    Fatal,
    /// Nothing.
    None,
}

/// Whether load balancer ranges are announced whole.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub enum ServiceAggregation {
    /// The range is announced.
    #[default]
    Enabled,
    /// Each address is announced by itself.
    Disabled,
}

/// Which addresses the daemon listens on.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub enum BindMode {
    /// All.
    #[default]
    None,
    /// The node's own addresses only.
    NodeIp,
}

/// Which pools' routes the BGP daemon installs in the kernel; VXLAN pools never.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub enum ProgramClusterRoutes {
    /// IP-in-IP pools and pools without encapsulation.
    Enabled,
    /// None.
    Disabled,
    /// IP-in-IP pools only.
    EnabledIpipOnly,
    /// Pools without encapsulation only: the default.
    #[default]
    EnabledNoEncapOnly,
}

/// A community with a name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NamedCommunity {
    /// The name.
    pub name: String,
    /// The community.
    pub value: Community,
}

/// Communities for every announced prefix inside a range.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PrefixAdvertisement {
    /// The range.
    pub cidr: IpNet,
    /// Names from `communities`, or literal values.
    pub communities: Vec<String>,
}

/// A BGP community.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Community {
    /// RFC 1997: `64512:100`.
    Standard(u16, u16),
    /// RFC 8092: `64512:100:1`.
    Large(u32, u32, u32),
}

/// A text that is no community.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is not a community")]
pub struct ParseCommunityError(String);

impl BgpConfiguration {
    /// The node that the object is for: `Some("x")` for `node.x`.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        self.metadata
            .name
            .strip_prefix("node.")
            .filter(|name| !name.is_empty())
    }
}

impl FromStr for Community {
    type Err = ParseCommunityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseCommunityError(text.to_owned());
        if !text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b':')
        {
            return Err(error());
        }
        let parts: Vec<&str> = text.split(':').collect();
        let large = |part: &str| part.parse::<u32>().map_err(|_| error());
        let standard = |part: &str| part.parse::<u16>().map_err(|_| error());
        match parts.as_slice() {
            [a, b] => Ok(Self::Standard(standard(a)?, standard(b)?)),
            [a, b, c] => Ok(Self::Large(large(a)?, large(b)?, large(c)?)),
            _ => Err(error()),
        }
    }
}

impl fmt::Display for Community {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard(a, b) => write!(f, "{a}:{b}"),
            Self::Large(a, b, c) => write!(f, "{a}:{b}:{c}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communities_are_standard_or_large() {
        assert_eq!("100:6532".parse(), Ok(Community::Standard(100, 6532)));
        assert_eq!(
            "100:555:70000".parse(),
            Ok(Community::Large(100, 555, 70000))
        );
        for wrong in [
            "",
            "1",
            "1:",
            "65536:1",
            "1:2:3:4",
            "a:1",
            "+1:1",
            "1:4294967296:1",
            "1 :1",
        ] {
            assert!(
                wrong.parse::<Community>().is_err(),
                "{wrong:?} must not be a community"
            );
        }
    }

    #[test]
    fn only_a_named_node_makes_a_configuration_local() {
        let named = |name| BgpConfiguration {
            metadata: Metadata::named(name),
            ..Default::default()
        };
        assert_eq!(named("node.a.b").node(), Some("a.b"));
        assert_eq!(named("default").node(), None);
        assert_eq!(named("node.").node(), None);
    }
}
