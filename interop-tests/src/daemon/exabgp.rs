//! ExaBGP: announces what a FIFO tells it, and writes what it receives as JSON lines.
//!
//! It has no table and chooses no best path, so every path that a neighbour has announced counts as best here.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ipnet::IpNet;
use nix::sys::stat::Mode;
use serde_json::Value;

use super::{Announcement, Neighbor, Route, Session, Speaker, SpeakerConfig};
use crate::kernel::Family;
use crate::netns::Netns;
use crate::process::Process;
use crate::timeouts;
use crate::wait::wait_until;

/// An ExaBGP that runs.
#[derive(Debug)]
pub struct ExaBgp {
    netns: Netns,
    config: SpeakerConfig,
    process: Process,
    commands: File,
    events: PathBuf,
    announced: BTreeMap<IpNet, String>,
}

impl ExaBgp {
    /// Starts it and waits until it listens to its FIFO.
    ///
    /// # Errors
    /// When it does not start; the text holds its log.
    pub fn start(netns: &Netns, config: SpeakerConfig) -> Result<Self> {
        if config.kernel {
            bail!("ExaBGP writes no routes into the kernel");
        }
        let dir = netns.dir()?;
        let (config_file, fifo, events) = (
            dir.join("exabgp.conf"),
            dir.join("exabgp.fifo"),
            dir.join("exabgp.events"),
        );
        nix::unistd::mkfifo(&fifo, Mode::S_IRUSR | Mode::S_IWUSR).context("FIFO")?;
        // Open for both, so that neither end ever sees the other go.
        let commands = File::options()
            .read(true)
            .write(true)
            .open(&fifo)
            .context("FIFO")?;
        // A file, because ExaBGP's own parser stumbles over shell syntax.
        let script = dir.join("exabgp.sh");
        let text = format!(
            "exec 3<&0\ncat <&3 >'{}' &\nexec cat '{}'\n",
            events.display(),
            fifo.display()
        );
        std::fs::write(&script, text).context("exabgp.sh")?;
        std::fs::write(&config_file, render(netns, &config, &script)?).context("exabgp.conf")?;
        let process = netns
            .command("exabgp")
            .arg(&config_file)
            .env("exabgp.daemon.user", "root")
            .env("exabgp.daemon.daemonize", "false")
            .env("exabgp.log.destination", "stdout")
            .env("exabgp.api.cli", "false")
            .env("exabgp.api.ack", "false")
            .env("exabgp.tcp.bind", "0.0.0.0 ::")
            .env("exabgp.tcp.port", config.port.to_string())
            .env("PYTHONUNBUFFERED", "1")
            .daemon("exabgp", dir.join("exabgp.log"))?;
        let announcements = config.announcements.clone();
        let mut exabgp = Self {
            netns: netns.clone(),
            config,
            process,
            commands,
            events,
            announced: BTreeMap::new(),
        };
        wait_until(timeouts::START, "API process of exabgp", || {
            exabgp.process.ensure_running()?;
            Ok(exabgp.events.exists().then_some(()))
        })?;
        for announcement in &announcements {
            exabgp.announce(announcement)?;
        }
        Ok(exabgp)
    }

    /// Gives it one line of its API, for example `announce route 192.0.2.0/24 next-hop self`.
    ///
    /// # Errors
    /// When the FIFO can't be written.
    pub fn command(&mut self, line: &str) -> Result<()> {
        writeln!(self.commands, "{line}").context("FIFO of exabgp")
    }

    /// All that it has told so far, one JSON object each.
    ///
    /// # Errors
    /// When there is a line that is no JSON.
    pub fn events(&self) -> Result<Vec<Value>> {
        let text = std::fs::read_to_string(&self.events).context("events of exabgp")?;
        // The last line may be half written.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole
            .lines()
            .filter(|line| line.starts_with('{'))
            .map(|line| serde_json::from_str(line).with_context(|| format!("exabgp said {line}")))
            .collect()
    }
}

impl Speaker for ExaBgp {
    fn kind(&self) -> &'static str {
        "ExaBGP"
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
        let mut sessions: BTreeMap<IpAddr, Session> = self
            .config
            .neighbors
            .iter()
            .map(|neighbor| {
                let session = Session {
                    peer: neighbor.address,
                    state: "Idle".to_owned(),
                    established: false,
                    detail: String::new(),
                };
                (neighbor.address, session)
            })
            .collect();
        for event in self.events()? {
            let Some(session) = peer_of(&event).and_then(|peer| sessions.get_mut(&peer)) else {
                continue;
            };
            if let Some(state) = event["neighbor"]["state"].as_str() {
                session.established = state == "up";
                let name = if session.established {
                    "Established"
                } else {
                    state
                };
                name.clone_into(&mut session.state);
                session.detail = event["neighbor"]["reason"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
            }
        }
        Ok(sessions.into_values().collect())
    }

    fn routes(&self, family: Family) -> Result<Vec<Route>> {
        let mut table: BTreeMap<(IpAddr, IpNet), Route> = BTreeMap::new();
        for event in self.events()? {
            let Some(peer) = peer_of(&event) else {
                continue;
            };
            if event["neighbor"]["state"].as_str() == Some("down") {
                table.retain(|(from, _), _| *from != peer);
            }
            let update = &event["neighbor"]["message"]["update"];
            for (prefix, route) in announced(update, peer)? {
                table.insert((peer, prefix), route);
            }
            for prefix in withdrawn(update)? {
                table.remove(&(peer, prefix));
            }
        }
        Ok(table
            .into_values()
            .filter(|r| Family::of_prefix(r.prefix) == family)
            .collect())
    }

    fn announce(&mut self, announcement: &Announcement) -> Result<()> {
        let mut line = format!("route {}", announcement.prefix);
        let next_hop = announcement
            .next_hop
            .map_or_else(|| "self".to_owned(), |hop| hop.to_string());
        let _ = write!(line, " next-hop {next_hop}");
        if let Some(med) = announcement.med {
            let _ = write!(line, " med {med}");
        }
        if let Some(local_pref) = announcement.local_pref {
            let _ = write!(line, " local-preference {local_pref}");
        }
        if !announcement.communities.is_empty() {
            let _ = write!(
                line,
                " community [ {} ]",
                announcement.communities.join(" ")
            );
        }
        if !announcement.large_communities.is_empty() {
            let _ = write!(
                line,
                " large-community [ {} ]",
                announcement.large_communities.join(" ")
            );
        }
        if !announcement.route_targets.is_empty() {
            let targets: Vec<String> = announcement
                .route_targets
                .iter()
                .map(|target| format!("target:{target}"))
                .collect();
            let _ = write!(line, " extended-community [ {} ]", targets.join(" "));
        }
        self.command(&format!("announce {line}"))?;
        self.announced.insert(announcement.prefix, line);
        Ok(())
    }

    fn withdraw(&mut self, prefix: &str) -> Result<()> {
        let net: IpNet = prefix.parse().with_context(|| format!("prefix {prefix}"))?;
        // It wants the whole line again.
        let line = self
            .announced
            .remove(&net)
            .with_context(|| format!("{net} was not announced"))?;
        self.command(&format!("withdraw {line}"))
    }

    fn request_refresh(&mut self, peer: &str) -> Result<()> {
        // It asks for each family that the neighbour has.
        for family in ["ipv4 unicast", "ipv6 unicast"] {
            self.command(&format!("neighbor {peer} announce route-refresh {family}"))?;
        }
        Ok(())
    }
}

fn render(netns: &Netns, config: &SpeakerConfig, script: &Path) -> Result<String> {
    let mut out = format!(
        "process harness {{\n  run /bin/sh {};\n  encoder json;\n}}\n",
        script.display()
    );
    for neighbor in &config.neighbors {
        render_neighbor(netns, config, neighbor, &mut out)?;
    }
    out.push_str(&config.extra);
    Ok(out)
}

fn render_neighbor(
    netns: &Netns,
    config: &SpeakerConfig,
    neighbor: &Neighbor,
    out: &mut String,
) -> Result<()> {
    let refused = [
        (neighbor.reflector_client, "is no route reflector"),
        (neighbor.role.is_some(), "knows no roles"),
        (neighbor.max_prefixes.is_some(), "counts no prefixes"),
    ];
    if let Some((_, why)) = refused.iter().find(|(asked, _)| *asked) {
        bail!("ExaBGP {why}");
    }
    let _ = writeln!(
        out,
        "neighbor {} {{\n  router-id {};\n  local-as {};\n  peer-as {};",
        neighbor.address, config.router_id, config.asn, neighbor.asn
    );
    // It can't find out by itself before the session is up.
    let local = match neighbor.local_address {
        Some(address) => address,
        None => netns.source_address(neighbor.address)?,
    };
    let _ = writeln!(out, "  local-address {local};");
    if let Some(port) = neighbor.port {
        let _ = writeln!(out, "  connect {port};");
    }
    if let Some(password) = &neighbor.password {
        let _ = writeln!(out, "  md5-password \"{password}\";");
    }
    if neighbor.passive {
        let _ = writeln!(out, "  passive true;");
    }
    if let Some(hold_time) = neighbor.hold_time {
        let _ = writeln!(out, "  hold-time {hold_time};");
    }
    if neighbor.ttl_security {
        let _ = writeln!(out, "  outgoing-ttl 255;\n  incoming-ttl 255;");
    }
    let mut capability = String::from("route-refresh enable;");
    if let Some(seconds) = neighbor.graceful_restart {
        let _ = write!(capability, " graceful-restart {seconds};");
    }
    if neighbor.add_path {
        let _ = write!(capability, " add-path send/receive;");
    }
    if neighbor.two_octet_asn {
        capability.push_str(" asn4 disable;");
    }
    if neighbor.extended_messages {
        capability.push_str(" extended-message enable;");
    }
    if neighbor.extended_next_hop {
        capability.push_str(" nexthop enable;");
    }
    let _ = writeln!(out, "  capability {{ {capability} }}");
    if neighbor.extended_next_hop {
        let _ = writeln!(out, "  nexthop {{ ipv4 unicast ipv6; }}");
    }
    let families: Vec<&str> = neighbor
        .families
        .iter()
        .map(|family| match family {
            Family::V4 => "ipv4 unicast;",
            Family::V6 => "ipv6 unicast;",
        })
        .collect();
    let _ = writeln!(out, "  family {{ {} }}", families.join(" "));
    let _ = writeln!(
        out,
        "  api {{ processes [ harness ]; neighbor-changes; receive {{ parsed; update; notification; }} }}\n}}"
    );
    Ok(())
}

fn peer_of(event: &Value) -> Option<IpAddr> {
    event["neighbor"]["address"]["peer"].as_str()?.parse().ok()
}

/// `{"announce": {"ipv4 unicast": {"10.0.0.1": [{"nlri": "192.0.2.0/24"}]}}, "attribute": {...}}`
fn announced(update: &Value, peer: IpAddr) -> Result<Vec<(IpNet, Route)>> {
    let attributes = &update["attribute"];
    let number = |key: &str| attributes[key].as_u64().and_then(|n| u32::try_from(n).ok());
    let strings = |key: &str| -> Vec<String> {
        attributes[key]
            .as_array()
            .into_iter()
            .flatten()
            .map(|value| match value {
                Value::Array(parts) => parts
                    .iter()
                    .map(Value::to_string)
                    .collect::<Vec<_>>()
                    .join(":"),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            })
            .collect()
    };
    let mut routes = Vec::new();
    for (_, by_next_hop) in update["announce"].as_object().into_iter().flatten() {
        let by_next_hop = by_next_hop.as_object();
        for (next_hop, nlris) in by_next_hop.into_iter().flatten() {
            // An IPv6 route with a link-local next hop beside the global one (RFC 2545 section 3) comes under each.
            if next_hop.starts_with("fe80:") && by_next_hop.is_some_and(|hops| hops.len() > 1) {
                continue;
            }
            for nlri in nlris.as_array().into_iter().flatten() {
                let Some(prefix) = nlri["nlri"].as_str() else {
                    continue;
                };
                let prefix: IpNet = prefix.parse().with_context(|| format!("prefix {prefix}"))?;
                routes.push((
                    prefix,
                    Route {
                        next_hop: next_hop.parse().ok(),
                        from: Some(peer),
                        best: true,
                        as_path: strings("as-path")
                            .iter()
                            .filter_map(|a| a.parse().ok())
                            .collect(),
                        local_pref: number("local-preference"),
                        med: number("med"),
                        communities: strings("community"),
                        large_communities: strings("large-community"),
                        route_targets: attributes["extended-community"]
                            .as_array()
                            .into_iter()
                            .flatten()
                            .filter_map(|community| community["string"].as_str())
                            .filter_map(|text| text.strip_prefix("target:").map(str::to_owned))
                            .collect(),
                        originator_id: attributes["originator-id"]
                            .as_str()
                            .and_then(|id| id.parse().ok()),
                        cluster_list: strings("cluster-list")
                            .iter()
                            .filter_map(|id| id.parse().ok())
                            .collect(),
                        ..Route::new(prefix)
                    },
                ));
            }
        }
    }
    Ok(routes)
}

/// `{"withdraw": {"ipv4 unicast": [{"nlri": "192.0.2.0/24"}]}}`
fn withdrawn(update: &Value) -> Result<Vec<IpNet>> {
    let mut prefixes = Vec::new();
    for (_, nlris) in update["withdraw"].as_object().into_iter().flatten() {
        for nlri in nlris.as_array().into_iter().flatten() {
            let Some(prefix) = nlri["nlri"].as_str() else {
                continue;
            };
            prefixes.push(prefix.parse().with_context(|| format!("prefix {prefix}"))?);
        }
    }
    Ok(prefixes)
}
