//! FRR: `bgpd` and `zebra`, asked through `vtysh`.
//!
//! zebra runs in any case: without it bgpd knows no interfaces, and refuses a next hop that has a link-local address
//! (RFC 2545 section 3). Without [`SpeakerConfig::kernel`] bgpd tells it nothing to install.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use ipnet::IpNet;
use serde::Deserialize;

use super::{Announcement, Neighbor, Route, Session, Speaker, SpeakerConfig};
use crate::kernel::Family;
use crate::netns::Netns;
use crate::process::{Cmd, Process};
use crate::timeouts;
use crate::wait::wait_until;

/// An FRR that runs.
#[derive(Debug)]
pub struct Frr {
    netns: Netns,
    config: SpeakerConfig,
    process: Process,
    zebra: Process,
    /// Route maps made so far.
    route_maps: usize,
    dir: PathBuf,
}

impl Frr {
    /// Starts zebra and bgpd and waits until they answer.
    ///
    /// # Errors
    /// When it does not start; the text holds its log.
    pub fn start(netns: &Netns, config: SpeakerConfig) -> Result<Self> {
        let dir = netns.dir()?.join("frr");
        std::fs::create_dir_all(&dir).context("frr directory")?;
        // zebra has a user of its own, and makes its sockets as that.
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o777))
            .context("frr directory")?;
        std::fs::write(dir.join("bgpd.conf"), render(&config)).context("bgpd.conf")?;
        std::fs::write(dir.join("zebra.conf"), "hostname zebra\n").context("zebra.conf")?;
        // vtysh wants to find its own file, though there is nothing to say.
        std::fs::write(
            dir.join("vtysh.conf"),
            "no service integrated-vtysh-config\n",
        )
        .context("vtysh.conf")?;
        let socket = dir.join("zserv.api");
        let arguments = |name: &str, command: Cmd| {
            command
                .arg(format!("/usr/lib/frr/{name}"))
                .arg("--vty_socket")
                .arg(&dir)
                .arg("-i")
                .arg(dir.join(format!("{name}.pid")))
                .arg("-f")
                .arg(dir.join(format!("{name}.conf")))
                .arg("-z")
                .arg(&socket)
                .args(["-P", "0", "--log", "stdout"])
        };
        // zebra changes its user, and with that loses the signal that ends it with the harness. So it gets a shell above
        // it that keeps the signal, and a PID namespace that ends with that shell.
        let zebra = netns.command("unshare").args([
            "--pid",
            "--fork",
            "--kill-child=KILL",
            "sh",
            "-c",
            "\"$@\"; exit $?",
            "sh",
        ]);
        let zebra = arguments("zebra", zebra).daemon("zebra", dir.join("zebra.log"))?;
        wait_until(timeouts::START, "zebra's socket", || {
            zebra.ensure_running()?;
            Ok(socket.exists().then_some(()))
        })?;
        let mut bgpd =
            arguments("bgpd", netns.command("env")).args(["-S", "-p", &config.port.to_string()]);
        if !config.kernel {
            bgpd = bgpd.arg("--no_kernel");
        }
        let process = bgpd.daemon("bgpd", dir.join("bgpd.log"))?;
        let route_maps = config.announcements.len();
        let frr = Self {
            route_maps,
            netns: netns.clone(),
            config,
            process,
            zebra,
            dir,
        };
        wait_until(timeouts::START, "answer of FRR's bgpd", || {
            frr.process.ensure_running()?;
            let answer = frr.vtysh(&["show bgp summary json"])?;
            // The configuration is read after the socket is there.
            if !answer.contains('{') {
                bail!("vtysh says {answer}")
            }
            Ok(Some(()))
        })?;
        Ok(frr)
    }

    /// Runs vtysh commands in one session and returns what they print.
    ///
    /// # Errors
    /// When bgpd does not answer or knows a command not.
    pub fn vtysh(&self, commands: &[&str]) -> Result<String> {
        let output = Cmd::new("vtysh")
            .arg("--vty_socket")
            .arg(&self.dir)
            .arg("--config_dir")
            .arg(&self.dir)
            .args(commands.iter().flat_map(|command| ["-c", command]))
            .run()?;
        if let Some(line) = output.lines().find(|line| line.starts_with("% ")) {
            bail!("vtysh {commands:?}: {line}");
        }
        Ok(output)
    }

    /// Runs configuration commands below `router bgp`, in the address family's context if one is given.
    ///
    /// # Errors
    /// When bgpd refuses one.
    pub fn configure(&self, family: Option<Family>, commands: &[&str]) -> Result<()> {
        let router = format!("router bgp {}", self.config.asn);
        let mut lines = vec!["configure terminal", router.as_str()];
        lines.extend(family.map(|family| match family {
            Family::V4 => "address-family ipv4 unicast",
            Family::V6 => "address-family ipv6 unicast",
        }));
        lines.extend(commands);
        self.vtysh(&lines).map(drop)
    }

    /// zebra's process.
    pub fn zebra(&mut self) -> &mut Process {
        &mut self.zebra
    }
}

impl Speaker for Frr {
    fn kind(&self) -> &'static str {
        "FRR"
    }

    fn netns(&self) -> &Netns {
        &self.netns
    }

    fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    fn ensure_running(&self) -> Result<()> {
        self.zebra.ensure_running()?;
        self.process.ensure_running()
    }

    fn release(&mut self) {
        self.process.release();
        self.zebra.release();
    }

    fn sessions(&self) -> Result<Vec<Session>> {
        let text = self.vtysh(&["show bgp neighbors json"])?;
        let all: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&text).context("neighbours of FRR")?;
        Ok(all
            .into_iter()
            .filter_map(|(address, value)| {
                let text = |key| value[key].as_str().unwrap_or_default().to_owned();
                let state = text("bgpState");
                Some(Session {
                    peer: address.parse().ok()?,
                    established: state == "Established",
                    detail: [text("lastResetDueTo"), text("lastNotificationReason")].join(" "),
                    state,
                })
            })
            .collect())
    }

    fn routes(&self, family: Family) -> Result<Vec<Route>> {
        let afi = afi(family);
        let text = self.vtysh(&[&format!("show bgp {afi} unicast json")])?;
        let table: Table = serde_json::from_str(&text).context("routes of FRR")?;
        // The table has no ORIGINATOR_ID and the like; only a question for a single prefix tells all.
        let prefixes: Vec<&String> = table.routes.keys().collect();
        let mut routes = Vec::new();
        for chunk in prefixes.chunks(PREFIXES_PER_VTYSH) {
            let questions: Vec<String> = chunk
                .iter()
                .map(|prefix| format!("show bgp {afi} unicast {prefix} json"))
                .collect();
            let questions: Vec<&str> = questions.iter().map(String::as_str).collect();
            let text = self.vtysh(&questions)?;
            for detail in serde_json::Deserializer::from_str(&text).into_iter::<Detail>() {
                let detail = detail.context("route of FRR")?;
                // Empty when it went between the two questions.
                if let Some(prefix) = detail.prefix {
                    routes.extend(detail.paths.into_iter().map(|path| path.into_route(prefix)));
                }
            }
        }
        Ok(routes)
    }

    fn announce(&mut self, announcement: &Announcement) -> Result<()> {
        // A new one each time: to delete and make again one that is in use crashes FRR 8.4 now and then.
        self.route_maps += 1;
        let route_map = render_route_map(announcement, self.route_maps);
        let mut lines = vec!["configure terminal"];
        lines.extend(route_map.lines().map(str::trim));
        self.vtysh(&lines)?;
        let line = network(announcement, self.route_maps);
        self.configure(Some(Family::of_prefix(announcement.prefix)), &[&line])
    }

    fn withdraw(&mut self, prefix: &str) -> Result<()> {
        let prefix: IpNet = prefix.parse().with_context(|| format!("prefix {prefix}"))?;
        self.configure(
            Some(Family::of_prefix(prefix)),
            &[&format!("no network {prefix}")],
        )
    }

    fn request_refresh(&mut self, peer: &str) -> Result<()> {
        self.vtysh(&[&format!("clear bgp {peer} soft in")])
            .map(drop)
    }
}

fn render(config: &SpeakerConfig) -> String {
    let mut out = String::from("frr defaults datacenter\n");
    for (index, announcement) in config.announcements.iter().enumerate() {
        out.push_str(&render_route_map(announcement, index));
    }
    let _ = writeln!(
        out,
        "router bgp {}\n bgp router-id {}\n no bgp ebgp-requires-policy\n no bgp network import-check\n \
         no bgp default ipv4-unicast\n bgp log-neighbor-changes",
        config.asn, config.router_id
    );
    if let Some(cluster_id) = config.cluster_id {
        let _ = writeln!(out, " bgp cluster-id {cluster_id}");
    }
    for neighbor in &config.neighbors {
        render_neighbor(config, neighbor, &mut out);
    }
    for family in Family::ALL {
        let _ = writeln!(out, " address-family {} unicast", afi(family));
        for neighbor in config
            .neighbors
            .iter()
            .filter(|n| n.families.contains(&family))
        {
            let peer = neighbor.address;
            let _ = writeln!(out, "  neighbor {peer} activate");
            if neighbor.reflector_client {
                let _ = writeln!(out, "  neighbor {peer} route-reflector-client");
            }
            if neighbor.next_hop_self {
                let _ = writeln!(out, "  neighbor {peer} next-hop-self");
            }
            if neighbor.add_path {
                let _ = writeln!(out, "  neighbor {peer} addpath-tx-all-paths");
            }
            if let Some(count) = neighbor.max_prefixes {
                let _ = writeln!(out, "  neighbor {peer} maximum-prefix {count}");
            }
        }
        for (index, announcement) in config.announcements.iter().enumerate() {
            if Family::of_prefix(announcement.prefix) == family {
                let _ = writeln!(out, "  {}", network(announcement, index));
            }
        }
        let _ = writeln!(out, " exit-address-family");
    }
    let _ = writeln!(out, "exit");
    out.push_str(&config.extra);
    out
}

fn render_neighbor(config: &SpeakerConfig, neighbor: &Neighbor, out: &mut String) {
    let peer = neighbor.address;
    let _ = writeln!(out, " neighbor {peer} remote-as {}", neighbor.asn);
    let _ = writeln!(out, " neighbor {peer} timers connect 1");
    let _ = writeln!(out, " neighbor {peer} advertisement-interval 0");
    if let Some(port) = neighbor.port {
        let _ = writeln!(out, " neighbor {peer} port {port}");
    }
    if let Some(address) = neighbor.local_address {
        let _ = writeln!(out, " neighbor {peer} update-source {address}");
    }
    if let Some(password) = &neighbor.password {
        let _ = writeln!(out, " neighbor {peer} password {password}");
    }
    if neighbor.passive {
        let _ = writeln!(out, " neighbor {peer} passive");
    }
    if let Some(hold) = neighbor.hold_time {
        let _ = writeln!(out, " neighbor {peer} timers {} {hold}", hold / 3);
    }
    if neighbor.ttl_security {
        let _ = writeln!(out, " neighbor {peer} ttl-security hops 1");
    } else if neighbor.multihop && !config.is_ibgp(neighbor) {
        let _ = writeln!(out, " neighbor {peer} ebgp-multihop");
    }
    if neighbor.two_octet_asn {
        // All or nothing: it has no switch for this capability alone.
        let _ = writeln!(out, " neighbor {peer} dont-capability-negotiate");
    }
    if neighbor.extended_next_hop {
        let _ = writeln!(out, " neighbor {peer} capability extended-nexthop");
    }
    if let Some(role) = neighbor.role {
        let _ = writeln!(out, " neighbor {peer} local-role {}", role.name());
    }
    match neighbor.graceful_restart {
        Some(seconds) => {
            let _ = writeln!(out, " bgp graceful-restart restart-time {seconds}");
            let _ = writeln!(out, " neighbor {peer} graceful-restart");
        }
        None => {
            let _ = writeln!(out, " neighbor {peer} graceful-restart-disable");
        }
    }
}

/// An announcement's attributes are a route map's work.
fn render_route_map(announcement: &Announcement, number: usize) -> String {
    let mut out = format!("route-map ANNOUNCE-{number} permit 10\n");
    if let Some(med) = announcement.med {
        let _ = writeln!(out, " set metric {med}");
    }
    if let Some(local_pref) = announcement.local_pref {
        let _ = writeln!(out, " set local-preference {local_pref}");
    }
    match announcement.next_hop {
        Some(IpAddr::V4(address)) => {
            let _ = writeln!(out, " set ip next-hop {address}");
        }
        Some(IpAddr::V6(address)) => {
            let _ = writeln!(out, " set ipv6 next-hop global {address}");
        }
        None => {}
    }
    if !announcement.communities.is_empty() {
        let _ = writeln!(out, " set community {}", announcement.communities.join(" "));
    }
    if !announcement.large_communities.is_empty() {
        let _ = writeln!(
            out,
            " set large-community {}",
            announcement.large_communities.join(" ")
        );
    }
    if !announcement.route_targets.is_empty() {
        let _ = writeln!(
            out,
            " set extcommunity rt {}",
            announcement.route_targets.join(" ")
        );
    }
    out.push_str("exit\n");
    out
}

fn network(announcement: &Announcement, route_map: usize) -> String {
    format!(
        "network {} route-map ANNOUNCE-{route_map}",
        announcement.prefix
    )
}

fn afi(family: Family) -> &'static str {
    match family {
        Family::V4 => "ipv4",
        Family::V6 => "ipv6",
    }
}

const PREFIXES_PER_VTYSH: usize = 100;

#[derive(Deserialize)]
struct Table {
    #[serde(default)]
    routes: serde_json::Map<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct Detail {
    prefix: Option<IpNet>,
    #[serde(default)]
    paths: Vec<Path>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Path {
    aspath: Option<AsPath>,
    #[serde(default)]
    bestpath: serde_json::Value,
    #[serde(default)]
    nexthops: Vec<NextHop>,
    peer: Option<Peer>,
    #[serde(alias = "locPrf")]
    local_pref: Option<u32>,
    #[serde(alias = "med")]
    metric: Option<u32>,
    community: Option<List>,
    large_community: Option<List>,
    extended_community: Option<Text>,
    originator_id: Option<Ipv4Addr>,
    cluster_list: Option<ClusterList>,
}

#[derive(Deserialize)]
struct AsPath {
    #[serde(default)]
    segments: Vec<Segment>,
}

#[derive(Deserialize)]
struct Segment {
    list: Vec<u32>,
}

#[derive(Deserialize)]
struct NextHop {
    ip: IpAddr,
    scope: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Peer {
    peer_id: Option<String>,
}

#[derive(Deserialize)]
struct List {
    list: Vec<String>,
}

#[derive(Deserialize)]
struct Text {
    string: String,
}

#[derive(Deserialize)]
struct ClusterList {
    list: Vec<Ipv4Addr>,
}

impl Path {
    fn into_route(self, prefix: IpNet) -> Route {
        let global = self
            .nexthops
            .iter()
            .find(|hop| hop.scope.as_deref() != Some("link-local"));
        Route {
            next_hop: global.map(|hop| hop.ip).filter(|ip| !ip.is_unspecified()),
            from: self
                .peer
                .and_then(|peer| peer.peer_id)
                .and_then(|id| id.parse::<IpAddr>().ok())
                .filter(|ip| !ip.is_unspecified()),
            best: self.bestpath["overall"].as_bool().unwrap_or(false),
            as_path: self.aspath.map_or_else(Vec::new, |path| {
                path.segments
                    .into_iter()
                    .flat_map(|segment| segment.list)
                    .collect()
            }),
            local_pref: self.local_pref,
            med: self.metric,
            communities: self.community.map_or_else(Vec::new, |c| c.list),
            large_communities: self.large_community.map_or_else(Vec::new, |c| c.list),
            route_targets: self
                .extended_community
                .iter()
                .flat_map(|text| text.string.split(' '))
                .filter_map(|community| community.strip_prefix("RT:").map(str::to_owned))
                .collect(),
            originator_id: self.originator_id,
            cluster_list: self.cluster_list.map_or_else(Vec::new, |c| c.list),
            ..Route::new(prefix)
        }
    }
}
