//! OpenBGPD: `/usr/sbin/bgpd` without a kernel, asked through `bgpctl`.

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

/// An OpenBGPD that runs.
#[derive(Debug)]
pub struct OpenBgpd {
    netns: Netns,
    process: Process,
    socket: PathBuf,
}

impl OpenBgpd {
    /// Starts it and waits until it answers.
    ///
    /// # Errors
    /// When it does not start; the text holds its log.
    pub fn start(netns: &Netns, config: SpeakerConfig) -> Result<Self> {
        if config.kernel {
            bail!("OpenBGPD runs with `fib-update no` here");
        }
        // Its children lock themselves in there; systemd would have made it.
        std::fs::create_dir_all(CHROOT).context(CHROOT)?;
        config.neighbors.iter().try_for_each(refuse)?;
        let dir = netns.dir()?;
        let (config_file, socket) = (dir.join("bgpd.conf"), dir.join("bgpd.sock"));
        std::fs::write(&config_file, render(&config, &socket.to_string_lossy()))
            .context("bgpd.conf")?;
        // It refuses a file that others can read, for the keys in it.
        std::fs::set_permissions(&config_file, std::fs::Permissions::from_mode(0o600))
            .context("bgpd.conf")?;
        let process = netns
            .command("/usr/sbin/bgpd")
            .args(["-d", "-v", "-f"])
            .arg(&config_file)
            .daemon("OpenBGPD", dir.join("openbgpd.log"))?;
        let bgpd = Self {
            netns: netns.clone(),
            process,
            socket,
        };
        wait_until(timeouts::START, "answer of OpenBGPD", || {
            bgpd.process.ensure_running()?;
            bgpd.bgpctl(&["show", "summary"]).map(Some)
        })?;
        Ok(bgpd)
    }

    /// Runs one bgpctl command and returns its JSON (some commands have only text).
    ///
    /// # Errors
    /// When bgpd does not answer or refuses.
    pub fn bgpctl(&self, args: &[&str]) -> Result<String> {
        Cmd::new("bgpctl")
            .arg("-j")
            .arg("-s")
            .arg(&self.socket)
            .args(args)
            .run()
    }
}

impl Speaker for OpenBgpd {
    fn kind(&self) -> &'static str {
        "OpenBGPD"
    }

    fn netns(&self) -> &Netns {
        &self.netns
    }

    fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    fn ensure_running(&self) -> Result<()> {
        self.process.ensure_running()
    }

    fn sessions(&self) -> Result<Vec<Session>> {
        let text = self.bgpctl(&["show", "neighbor"])?;
        let answer: Neighbors =
            serde_json::from_str(&text).with_context(|| format!("neighbours: {text}"))?;
        Ok(answer
            .neighbors
            .into_iter()
            .filter_map(|neighbor| {
                Some(Session {
                    peer: neighbor.remote_addr.parse().ok()?,
                    established: neighbor.state == "Established",
                    state: neighbor.state,
                    detail: neighbor.last_error.unwrap_or_default(),
                })
            })
            .collect())
    }

    fn routes(&self, family: Family) -> Result<Vec<Route>> {
        let text = self.bgpctl(&["show", "rib", afi(family), "detail"])?;
        let table: Rib = serde_json::from_str(&text).with_context(|| format!("routes: {text}"))?;
        table.rib.into_iter().map(Entry::into_route).collect()
    }

    fn announce(&mut self, announcement: &Announcement) -> Result<()> {
        let mut args = vec![
            "network".to_owned(),
            "add".to_owned(),
            announcement.prefix.to_string(),
        ];
        args.extend(set_words(announcement));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        self.bgpctl(&args).map(drop)
    }

    fn withdraw(&mut self, prefix: &str) -> Result<()> {
        self.bgpctl(&["network", "delete", prefix]).map(drop)
    }

    fn request_refresh(&mut self, peer: &str) -> Result<()> {
        self.bgpctl(&["neighbor", peer, "refresh"]).map(drop)
    }
}

/// What it has no setting for.
fn refuse(neighbor: &Neighbor) -> Result<()> {
    if neighbor.extended_messages {
        bail!("OpenBGPD 7 knows no extended messages");
    }
    if neighbor.extended_next_hop {
        bail!("OpenBGPD 7 knows no IPv6 next hops for IPv4 routes");
    }
    Ok(())
}

fn render(config: &SpeakerConfig, socket: &str) -> String {
    let mut out = format!(
        "AS {}\nrouter-id {}\nsocket \"{socket}\"\nfib-update no\nnexthop qualify via default\nlog updates\n",
        config.asn, config.router_id
    );
    if config.port != 179 {
        let _ = writeln!(
            out,
            "listen on 0.0.0.0 port {0}\nlisten on :: port {0}",
            config.port
        );
    }
    for announcement in &config.announcements {
        let set = set_words(announcement).join(" ");
        let set = if set.is_empty() {
            set
        } else {
            format!(" set {{ {set} }}")
        };
        let _ = writeln!(out, "network {}{set}", announcement.prefix);
    }
    for neighbor in &config.neighbors {
        render_neighbor(config, neighbor, &mut out);
    }
    // Without these lines it takes nothing from and gives nothing to eBGP neighbours (RFC 8212).
    let _ = writeln!(out, "allow from any\nallow to any");
    out.push_str(&config.extra);
    out
}

fn render_neighbor(config: &SpeakerConfig, neighbor: &Neighbor, out: &mut String) {
    let _ = writeln!(
        out,
        "neighbor {} {{\n  remote-as {}",
        neighbor.address, neighbor.asn
    );
    if let Some(port) = neighbor.port {
        let _ = writeln!(out, "  port {port}");
    }
    if let Some(address) = neighbor.local_address {
        let _ = writeln!(out, "  local-address {address}");
    }
    if let Some(password) = &neighbor.password {
        let _ = writeln!(out, "  tcp md5sig password \"{password}\"");
    }
    if neighbor.passive {
        let _ = writeln!(out, "  passive");
    }
    if let Some(hold_time) = neighbor.hold_time {
        let _ = writeln!(out, "  holdtime {hold_time}");
    }
    if neighbor.reflector_client {
        let _ = writeln!(
            out,
            "  route-reflector {}",
            config.cluster_id.unwrap_or(config.router_id)
        );
    }
    if neighbor.ttl_security {
        let _ = writeln!(out, "  ttl-security yes");
    } else if neighbor.multihop && !config.is_ibgp(neighbor) {
        let _ = writeln!(out, "  multihop 64");
    }
    if neighbor.next_hop_self {
        let _ = writeln!(out, "  set nexthop self");
    }
    for family in Family::ALL {
        let name = match family {
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        };
        let what = if neighbor.families.contains(&family) {
            "unicast"
        } else {
            "none"
        };
        let _ = writeln!(out, "  announce {name} {what}");
    }
    if neighbor.add_path {
        let _ = writeln!(
            out,
            "  announce add-path recv yes\n  announce add-path send all"
        );
    }
    if neighbor.two_octet_asn {
        let _ = writeln!(out, "  announce as-4byte no");
    }
    if let Some(role) = neighbor.role {
        let _ = writeln!(out, "  announce policy {}", role.name());
    }
    if let Some(count) = neighbor.max_prefixes {
        let _ = writeln!(out, "  max-prefix {count}");
    }
    let _ = writeln!(out, "  announce enhanced refresh yes");
    let restart = if neighbor.graceful_restart.is_some() {
        "yes"
    } else {
        "no"
    };
    let _ = writeln!(out, "  announce restart {restart}\n}}");
}

/// The attributes in the words that both `bgpd.conf` and `bgpctl network add` take.
fn set_words(announcement: &Announcement) -> Vec<String> {
    let mut words = Vec::new();
    let mut pair = |key: &str, value: String| words.extend([key.to_owned(), value]);
    if let Some(next_hop) = announcement.next_hop {
        pair("nexthop", next_hop.to_string());
    }
    if let Some(med) = announcement.med {
        pair("med", med.to_string());
    }
    if let Some(local_pref) = announcement.local_pref {
        pair("localpref", local_pref.to_string());
    }
    for community in &announcement.communities {
        pair("community", community.clone());
    }
    for community in &announcement.large_communities {
        pair("large-community", community.clone());
    }
    for target in &announcement.route_targets {
        words.extend(["ext-community", "rt", target].map(str::to_owned));
    }
    words
}

fn afi(family: Family) -> &'static str {
    match family {
        Family::V4 => "ipv4",
        Family::V6 => "ipv6",
    }
}

const CHROOT: &str = "/run/openbgpd";

#[derive(Deserialize)]
struct Neighbors {
    #[serde(default)]
    neighbors: Vec<RawNeighbor>,
}

#[derive(Deserialize)]
struct RawNeighbor {
    remote_addr: String,
    state: String,
    last_error: Option<String>,
}

#[derive(Deserialize)]
struct Rib {
    #[serde(default)]
    rib: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    prefix: IpNet,
    #[serde(default)]
    aspath: String,
    exit_nexthop: Option<IpAddr>,
    neighbor: EntryNeighbor,
    #[serde(default)]
    best: bool,
    localpref: Option<u32>,
    metric: Option<u32>,
    #[serde(default)]
    communities: Vec<String>,
    #[serde(default)]
    large_communities: Vec<String>,
    #[serde(default)]
    extended_communities: Vec<String>,
    /// Attributes without a field of their own.
    #[serde(default)]
    attributes: Vec<Attribute>,
}

#[derive(Deserialize)]
struct Attribute {
    originator: Option<Ipv4Addr>,
    #[serde(default, alias = "cluster_ids")]
    cluster_list: Vec<Ipv4Addr>,
}

#[derive(Deserialize)]
struct EntryNeighbor {
    remote_addr: String,
}

impl Entry {
    fn into_route(self) -> Result<Route> {
        let as_path = self
            .aspath
            .split([' ', '{', '}'])
            .filter(|asn| !asn.is_empty())
            .map(str::parse)
            .collect::<Result<_, _>>()
            .with_context(|| format!("AS path {}", self.aspath))?;
        Ok(Route {
            next_hop: self.exit_nexthop.filter(|hop| !hop.is_unspecified()),
            from: self.neighbor.remote_addr.parse().ok(),
            best: self.best,
            as_path,
            local_pref: self.localpref,
            med: self.metric,
            communities: self.communities,
            large_communities: self.large_communities,
            route_targets: self
                .extended_communities
                .iter()
                .filter_map(|community| community.strip_prefix("rt ").map(str::to_owned))
                .collect(),
            originator_id: self
                .attributes
                .iter()
                .find_map(|attribute| attribute.originator),
            cluster_list: self
                .attributes
                .into_iter()
                .flat_map(|a| a.cluster_list)
                .collect(),
            ..Route::new(self.prefix)
        })
    }
}
