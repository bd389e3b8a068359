//! What must hold in a lab that works: every route in every kernel, and every pod answers every other.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use ipnet::IpNet;

use super::network::Network;
use super::options::TorKind;
use super::plan::{INTERNET_V4, INTERNET_V6, Plan, TOR_V4, TOR_V6};
use super::tor;
use crate::kernel::{Family, KernelRoute};
use crate::netns::Netns;
use crate::ping::{Answer, ping_all};
use crate::wait::wait_until;

/// A route that a kernel must have.
#[derive(Debug, Clone)]
struct Expected {
    prefix: IpNet,
    way: Way,
}

#[derive(Debug, Clone)]
enum Way {
    /// Through this gateway on this device.
    Via(IpAddr, &'static str),
    /// Through any gateway on this device.
    Device(&'static str),
    /// To nowhere: a node's own block, below the routes to its pods.
    Blackhole,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.way {
            Way::Via(gateway, device) => write!(f, "{} via {gateway} dev {device}", self.prefix),
            Way::Device(device) => write!(f, "{} dev {device}", self.prefix),
            Way::Blackhole => write!(f, "blackhole {}", self.prefix),
        }
    }
}

impl Expected {
    fn is_met_by(&self, routes: &[KernelRoute]) -> bool {
        routes
            .iter()
            .filter(|route| route.prefix == self.prefix)
            .any(|route| match &self.way {
                Way::Blackhole => route.kind == "blackhole",
                Way::Via(gateway, device) => {
                    let [hop] = &route.hops[..] else { return false };
                    hop.gateway == Some(*gateway) && hop.device == *device
                }
                Way::Device(device) => {
                    !route.hops.is_empty() && route.hops.iter().all(|hop| hop.device == *device)
                }
            })
    }
}

/// Waits until all routes are in all kernels; returns how many that are.
///
/// # Errors
/// When some are missing after `timeout`: the text names them.
pub fn wait_for_routes(
    network: &Network,
    plan: &Plan,
    tor: TorKind,
    timeout: Duration,
) -> Result<usize> {
    let expectations = expectations(network, plan, tor)?;
    let total = expectations
        .iter()
        .map(|(_, expected)| expected.len())
        .sum();
    // A kernel that has all is not asked again until all have: the last look is at all of them.
    let mut pending: Vec<&(Netns, Vec<Expected>)> = expectations.iter().collect();
    wait_until(timeout, "full set of routes", || {
        look(&mut pending)?;
        pending = expectations.iter().collect();
        look(&mut pending).map(|()| Some(total))
    })
}

/// Asks the kernels and drops those that have all; an error names what is missing.
fn look(pending: &mut Vec<&(Netns, Vec<Expected>)>) -> Result<()> {
    let mut missing = Vec::new();
    let mut incomplete = Vec::new();
    for entry in pending.drain(..) {
        let (netns, expected) = entry;
        let mut routes = netns.kernel_routes(Family::V4)?;
        routes.extend(netns.kernel_routes(Family::V6)?);
        let before = missing.len();
        missing.extend(
            expected
                .iter()
                .filter(|expected| !expected.is_met_by(&routes))
                .map(|expected| format!("{}: {expected}", netns.name())),
        );
        if missing.len() > before {
            incomplete.push(entry);
        }
    }
    *pending = incomplete;
    if missing.is_empty() {
        return Ok(());
    }
    let shown = missing
        .iter()
        .take(SHOWN)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("\n  ");
    let more = missing.len().saturating_sub(SHOWN);
    let more = if more == 0 {
        String::new()
    } else {
        format!("\n  and {more} more")
    };
    bail!("missing in the kernels:\n  {shown}{more}")
}

fn expectations(
    network: &Network,
    plan: &Plan,
    tor_kind: TorKind,
) -> Result<Vec<(Netns, Vec<Expected>)>> {
    let mut all = Vec::new();
    let [internet_v4, internet_v6] = tor::internet(tor_kind);
    for node in &plan.nodes {
        let mut expected = vec![
            Expected {
                prefix: internet_v4,
                way: Way::Via(TOR_V4.into(), "eth0"),
            },
            Expected {
                prefix: internet_v6,
                way: Way::Via(TOR_V6.into(), "eth0"),
            },
        ];
        for other in &plan.nodes {
            let [(v4, _), (v6, _), (vxlan, _)] = other.blocks();
            let [way_v4, way_v6, way_vxlan] = if other.name == node.name {
                [Way::Blackhole, Way::Blackhole, Way::Blackhole]
            } else {
                [
                    Way::Via(other.ipv4.into(), "eth0"),
                    Way::Via(other.ipv6.into(), "eth0"),
                    Way::Via(other.vtep.into(), "vxlan.weft"),
                ]
            };
            expected.extend([
                Expected {
                    prefix: v4,
                    way: way_v4,
                },
                Expected {
                    prefix: v6,
                    way: way_v6,
                },
                Expected {
                    prefix: vxlan,
                    way: way_vxlan,
                },
            ]);
        }
        all.push((network.netns(&node.name)?.clone(), expected));
    }
    let mut expected = Vec::new();
    for node in &plan.nodes {
        for prefix in [IpNet::from(node.block_v4), node.block_v6.into()] {
            // Every node may announce every block to it (they all know the way), so any of them will do.
            expected.push(Expected {
                prefix,
                way: Way::Device("eth0"),
            });
        }
    }
    all.push((network.tor.clone(), expected));
    Ok(all)
}

/// A kind of ping: one row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PingKind {
    /// Between pods of the pool without encapsulation.
    Bgp,
    /// The same over IPv6.
    BgpV6,
    /// Between pods of the VXLAN pool.
    Vxlan,
    /// Between a pod of the one pool and a pod of the other.
    Across,
    /// From pods to the host behind the ToR.
    Internet,
    /// The same over IPv6.
    InternetV6,
}

impl fmt::Display for PingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Bgp => "pod - pod, BGP, IPv4",
            Self::BgpV6 => "pod - pod, BGP, IPv6",
            Self::Vxlan => "pod - pod, VXLAN",
            Self::Across => "BGP pod - VXLAN pod",
            Self::Internet => "pod - behind ToR, IPv4",
            Self::InternetV6 => "pod - behind ToR, IPv6",
        })
    }
}

/// The outcome of all pings.
#[derive(Debug, Default)]
pub struct PingReport {
    rows: BTreeMap<PingKind, Row>,
    lost: Vec<String>,
}

#[derive(Debug, Default)]
struct Row {
    round_trips: Vec<Duration>,
    retried: usize,
    lost: usize,
}

impl PingReport {
    /// True when all have answered.
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty()
    }

    fn add(&mut self, kind: PingKind, from: &str, to: IpAddr, answer: &Answer) {
        let row = self.rows.entry(kind).or_default();
        match answer {
            Answer::Reply { rtt, tries } => {
                row.round_trips.push(*rtt);
                row.retried += usize::from(*tries > 1);
            }
            Answer::Lost(why) => {
                row.lost += 1;
                self.lost.push(format!("{kind}: {from} to {to}: {why}"));
            }
        }
    }
}

impl fmt::Display for PingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "  {:<24}{:>8}{:>10}{:>8}{:>12}{:>12}",
            "pings", "pairs", "answered", "lost", "median rtt", "worst rtt"
        )?;
        for (kind, row) in &self.rows {
            let mut sorted = row.round_trips.clone();
            sorted.sort();
            let milliseconds = |rtt: Option<&Duration>| {
                rtt.map_or_else(
                    || "-".to_owned(),
                    |rtt| format!("{:.2} ms", rtt.as_secs_f64() * 1e3),
                )
            };
            writeln!(
                f,
                "  {kind:<24}{:>8}{:>10}{:>8}{:>12}{:>12}{}",
                sorted.len() + row.lost,
                sorted.len(),
                row.lost,
                milliseconds(sorted.get(sorted.len() / 2)),
                milliseconds(sorted.last()),
                if row.retried == 0 {
                    String::new()
                } else {
                    format!("   {} at the second try or later", row.retried)
                },
            )?;
        }
        for line in self.lost.iter().take(SHOWN) {
            writeln!(f, "  LOST {line}")?;
        }
        if self.lost.len() > SHOWN {
            writeln!(f, "  and {} more lost", self.lost.len() - SHOWN)?;
        }
        Ok(())
    }
}

/// Pings from every pod to every other pod, and to the host behind the ToR.
///
/// # Errors
/// When pinging itself fails, or the user interrupts; pings without an answer are in the report.
pub fn ping_everything(network: &Network, plan: &Plan) -> Result<PingReport> {
    struct Source<'a> {
        netns: &'a Netns,
        own: &'a [IpAddr],
        vxlan: bool,
    }
    let mut targets: Vec<(IpAddr, bool)> = Vec::new();
    let mut sources = Vec::new();
    for node in &plan.nodes {
        for (pod, vxlan) in [(&node.bgp_pod, false), (&node.vxlan_pod, true)] {
            let netns = network.netns(&pod.name)?;
            sources.push(Source {
                netns,
                own: &pod.addresses,
                vxlan,
            });
            targets.extend(pod.addresses.iter().map(|address| (*address, vxlan)));
        }
    }
    let plan_for = |source: &Source<'_>| -> BTreeMap<IpAddr, PingKind> {
        let mut pings = BTreeMap::new();
        for (address, to_vxlan) in &targets {
            let kind = match (source.vxlan, to_vxlan, address) {
                (false, false, IpAddr::V4(_)) => PingKind::Bgp,
                (false, false, IpAddr::V6(_)) => PingKind::BgpV6,
                (true, true, _) => PingKind::Vxlan,
                (_, _, IpAddr::V4(_)) => PingKind::Across,
                // The overlay of this lab has no IPv6.
                (_, _, IpAddr::V6(_)) => continue,
            };
            if !source.own.contains(address) {
                pings.insert(*address, kind);
            }
        }
        // The overlay's addresses are not announced, so the ToR has no way back to those.
        if !source.vxlan {
            pings.insert(INTERNET_V4.into(), PingKind::Internet);
            pings.insert(INTERNET_V6.into(), PingKind::InternetV6);
        }
        pings
    };

    let queue = Mutex::new(sources.iter());
    let outcomes: Vec<Result<PingReport>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..PING_THREADS)
            .map(|_| {
                scope.spawn(|| {
                    let mut report = PingReport::default();
                    loop {
                        let next = queue
                            .lock()
                            .map_err(|_| anyhow!("a ping thread panicked"))?
                            .next();
                        let Some(source) = next else {
                            return Ok(report);
                        };
                        let pings = plan_for(source);
                        let addresses: Vec<IpAddr> = pings.keys().copied().collect();
                        for (to, answer) in ping_all(source.netns, &addresses, PATIENCE)? {
                            report.add(pings[&to], source.netns.name(), to, &answer);
                        }
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|_| Err(anyhow!("a ping thread panicked")))
            })
            .collect()
    });
    let mut report = PingReport::default();
    for outcome in outcomes {
        let part = outcome?;
        report.lost.extend(part.lost);
        for (kind, row) in part.rows {
            let total = report.rows.entry(kind).or_default();
            total.round_trips.extend(row.round_trips);
            total.retried += row.retried;
            total.lost += row.lost;
        }
    }
    report.lost.sort();
    Ok(report)
}

/// Lines of a long list that are shown.
const SHOWN: usize = 12;
/// Few, so that round trips are not mostly waiting for a core.
const PING_THREADS: usize = 2;
/// How long a pod may take to answer at first (neighbour discovery on the way).
const PATIENCE: Duration = Duration::from_secs(3);
