//! What the kernel holds: routes, neighbours, forwarding database, links, as `ip -json` tells.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anyhow::{Context, Result};
use ipnet::IpNet;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::netns::Netns;

/// An address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// IPv4 unicast.
    V4,
    /// IPv6 unicast.
    V6,
}

impl Family {
    /// Both.
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];

    /// The family of an address.
    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() {
            Self::V4
        } else {
            Self::V6
        }
    }

    /// The family of a prefix.
    pub fn of_prefix(prefix: IpNet) -> Self {
        Self::of(prefix.addr())
    }

    fn flag(self) -> &'static str {
        match self {
            Self::V4 => "-4",
            Self::V6 => "-6",
        }
    }

    fn default_route(self) -> IpNet {
        let any: IpAddr = match self {
            Self::V4 => Ipv4Addr::UNSPECIFIED.into(),
            Self::V6 => Ipv6Addr::UNSPECIFIED.into(),
        };
        IpNet::new_assert(any, 0)
    }
}

/// A route of the kernel's main table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelRoute {
    /// Destination; `0.0.0.0/0` or `::/0` for the default route.
    pub prefix: IpNet,
    /// `unicast`, `blackhole`, `unreachable` and so on.
    pub kind: String,
    /// Where to; several with ECMP, none for a blackhole.
    pub hops: Vec<KernelHop>,
    /// Who installed it (rtm_protocol): 2 kernel, 3 boot, 12 bird, 80 Calico.
    pub protocol: u8,
    /// Metric; IPv6 has 1024 when none was asked for.
    pub metric: Option<u32>,
    /// MTU of the route.
    pub mtu: Option<u32>,
}

/// One next hop of a [`KernelRoute`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelHop {
    /// Gateway, of either family (RFC 5549); none for a connected route.
    pub gateway: Option<IpAddr>,
    /// Device.
    pub device: String,
    /// The gateway is reachable on the device although no prefix says so.
    pub onlink: bool,
    /// The device has no carrier, or the kernel knows the hop as dead.
    pub dead: bool,
}

/// A neighbour (ARP, NDP) entry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Neighbour {
    /// Address.
    #[serde(rename = "dst")]
    pub address: IpAddr,
    /// MAC.
    #[serde(rename = "lladdr")]
    pub mac: Option<String>,
    /// `PERMANENT`, `REACHABLE` and so on.
    pub state: Vec<String>,
}

/// An entry of a device's forwarding database.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FdbEntry {
    /// MAC.
    pub mac: String,
    /// Remote VTEP.
    pub dst: Option<IpAddr>,
    /// `permanent` and so on.
    pub state: Option<String>,
    /// `self`, `master`, `extern_learn`.
    #[serde(default)]
    pub flags: Vec<String>,
}

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Link {
    /// Index.
    pub ifindex: u32,
    /// Name.
    #[serde(rename = "ifname")]
    pub name: String,
    /// MTU.
    pub mtu: u32,
    /// `UP`, `LOWER_UP`, `NO-CARRIER` and so on.
    pub flags: Vec<String>,
    /// MAC.
    #[serde(rename = "address")]
    pub mac: Option<String>,
    /// What kind of device; for VXLAN with `id`, `local`, `port`, `learning`.
    #[serde(default)]
    pub linkinfo: serde_json::Value,
}

impl Netns {
    /// The main table's routes of a family (those with `kind` unicast, blackhole and the like; IPv6 without multicast).
    ///
    /// # Errors
    /// When `ip` can't be run or read.
    pub fn kernel_routes(&self, family: Family) -> Result<Vec<KernelRoute>> {
        let raw: Vec<RawRoute> =
            self.ip_json(&["-N", "-j", family.flag(), "route", "show", "table", "main"])?;
        raw.into_iter().map(|route| route.resolve(family)).collect()
    }

    /// The main table's routes to exactly `prefix`: more than one when their metrics differ.
    ///
    /// # Errors
    /// As [`Netns::kernel_routes`], and when `prefix` is none.
    pub fn kernel_route(&self, prefix: &str) -> Result<Vec<KernelRoute>> {
        let prefix: IpNet = prefix.parse().with_context(|| format!("prefix {prefix}"))?;
        let routes = self.kernel_routes(Family::of_prefix(prefix))?;
        Ok(routes
            .into_iter()
            .filter(|route| route.prefix == prefix)
            .collect())
    }

    /// The neighbours known on a device.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn neighbours(&self, family: Family, device: &str) -> Result<Vec<Neighbour>> {
        self.ip_json(&["-j", family.flag(), "neigh", "show", "dev", device])
    }

    /// A device's forwarding database.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn fdb(&self, device: &str) -> Result<Vec<FdbEntry>> {
        parse(&self.run("bridge", &["-j", "fdb", "show", "dev", device])?)
    }

    /// A device; `None` when there is none of that name.
    ///
    /// # Errors
    /// When `ip` can't be run or read.
    pub fn link(&self, device: &str) -> Result<Option<Link>> {
        let links: Vec<Link> = self.ip_json(&["-j", "-d", "link", "show"])?;
        Ok(links.into_iter().find(|link| link.name == device))
    }

    fn ip_json<T: DeserializeOwned>(&self, args: &[&str]) -> Result<Vec<T>> {
        parse(&self.run("ip", args)?)
    }
}

/// `ip -json` writes nothing at all, or `[{},{}]`, where there is little to say.
fn parse<T: DeserializeOwned>(text: &str) -> Result<Vec<T>> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let values: Vec<serde_json::Value> =
        serde_json::from_str(text).with_context(|| format!("JSON of iproute2: {text}"))?;
    values
        .into_iter()
        .filter(|value| value.as_object().is_some_and(|object| !object.is_empty()))
        .map(|value| {
            let text = value.to_string();
            serde_json::from_value(value).with_context(|| format!("JSON of iproute2: {text}"))
        })
        .collect()
}

#[derive(Deserialize)]
struct RawRoute {
    #[serde(rename = "type")]
    kind: Option<String>,
    dst: String,
    #[serde(flatten)]
    hop: RawHop,
    protocol: Option<String>,
    metric: Option<u32>,
    #[serde(default)]
    metrics: Vec<RawMetrics>,
    #[serde(default)]
    nexthops: Vec<RawHop>,
}

#[derive(Deserialize)]
struct RawHop {
    gateway: Option<IpAddr>,
    via: Option<RawVia>,
    dev: Option<String>,
    #[serde(default)]
    flags: Vec<String>,
}

#[derive(Deserialize)]
struct RawVia {
    host: IpAddr,
}

#[derive(Deserialize)]
struct RawMetrics {
    mtu: Option<u32>,
}

impl RawRoute {
    fn resolve(self, family: Family) -> Result<KernelRoute> {
        let prefix = if self.dst == "default" {
            family.default_route()
        } else if let Ok(host) = self.dst.parse::<IpAddr>() {
            IpNet::from(host)
        } else {
            self.dst
                .parse()
                .with_context(|| format!("destination {}", self.dst))?
        };
        let hops = if self.nexthops.is_empty() {
            vec![self.hop]
        } else {
            self.nexthops
        };
        let protocol = self.protocol.as_deref().unwrap_or("0");
        Ok(KernelRoute {
            prefix,
            kind: match self.kind.as_deref() {
                // Numeric, as `-N` makes it: RTN_*.
                None | Some("1") => "unicast".to_owned(),
                Some("6") => "blackhole".to_owned(),
                Some("7") => "unreachable".to_owned(),
                Some("8") => "prohibit".to_owned(),
                Some(other) => other.to_owned(),
            },
            hops: hops.into_iter().filter_map(RawHop::resolve).collect(),
            protocol: protocol
                .parse()
                .with_context(|| format!("protocol {protocol}"))?,
            metric: self.metric,
            mtu: self.metrics.iter().find_map(|metrics| metrics.mtu),
        })
    }
}

impl RawHop {
    fn resolve(self) -> Option<KernelHop> {
        let has = |flag: &str| self.flags.iter().any(|f| f == flag);
        Some(KernelHop {
            onlink: has("onlink"),
            dead: has("dead") || has("linkdown"),
            gateway: self
                .gateway
                .or_else(|| self.via.as_ref().map(|via| via.host)),
            // `lo` of an IPv6 blackhole is no way out.
            device: self.dev.filter(|device| device != "lo")?,
        })
    }
}
