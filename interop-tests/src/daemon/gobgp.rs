//! GoBGP: `gobgpd` with its API on a Unix socket, asked through `gobgp`.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use ipnet::IpNet;
use serde::Deserialize;
use serde_json::Value;

use super::{Announcement, Neighbor, Route, Session, Speaker, SpeakerConfig};
use crate::kernel::Family;
use crate::netns::Netns;
use crate::process::{Cmd, Process};
use crate::timeouts;
use crate::wait::wait_until;

/// A GoBGP that runs.
#[derive(Debug)]
pub struct GoBgp {
    netns: Netns,
    process: Process,
    socket: PathBuf,
}

impl GoBgp {
    /// Starts it and waits until it answers.
    ///
    /// # Errors
    /// When it does not start; the text holds its log.
    pub fn start(netns: &Netns, config: SpeakerConfig) -> Result<Self> {
        if config.kernel {
            bail!("GoBGP writes no routes into the kernel by itself");
        }
        config.neighbors.iter().try_for_each(refuse)?;
        let dir = netns.dir()?;
        let (config_file, socket) = (dir.join("gobgpd.toml"), dir.join("gobgp.sock"));
        std::fs::write(&config_file, render(&config)).context("gobgpd.toml")?;
        let process = netns
            .command("gobgpd")
            .args(["--log-plain", "--pprof-disable", "-f"])
            .arg(&config_file)
            .arg(format!("--api-hosts=unix://{}", socket.display()))
            .daemon("gobgpd", dir.join("gobgpd.log"))?;
        let mut gobgp = Self {
            netns: netns.clone(),
            process,
            socket,
        };
        wait_until(timeouts::START, "answer of gobgpd", || {
            gobgp.process.ensure_running()?;
            gobgp.gobgp(&["global"]).map(Some)
        })?;
        for announcement in &config.announcements {
            gobgp.announce(announcement)?;
        }
        Ok(gobgp)
    }

    /// Runs one gobgp command and returns its JSON.
    ///
    /// # Errors
    /// When gobgpd does not answer or refuses.
    pub fn gobgp(&self, args: &[&str]) -> Result<String> {
        let target = format!("unix://{}", self.socket.display());
        Cmd::new("gobgp")
            .args(["-j", "--target", &target])
            .args(args)
            .run()
    }

    fn json(&self, args: &[&str]) -> Result<Value> {
        let text = self.gobgp(args)?;
        serde_json::from_str(&text).with_context(|| format!("gobgp {args:?} said: {text}"))
    }
}

impl Speaker for GoBgp {
    fn kind(&self) -> &'static str {
        "GoBGP"
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
        let answer = self.json(&["neighbor"])?;
        let neighbors = answer.as_array().map_or(&[][..], Vec::as_slice);
        neighbors.iter().map(session).collect()
    }

    fn routes(&self, family: Family) -> Result<Vec<Route>> {
        let text = self.gobgp(&["global", "rib", "-a", afi(family)])?;
        let table: serde_json::Map<String, Value> = serde_json::from_str(&text)
            // What it says about an empty table is no JSON.
            .or_else(|e| {
                if text.contains("Network not in table") {
                    Ok(Default::default())
                } else {
                    Err(e)
                }
            })
            .with_context(|| format!("routes of GoBGP: {text}"))?;
        let mut routes = Vec::new();
        for (prefix, paths) in table {
            let prefix: IpNet = prefix.parse().with_context(|| format!("prefix {prefix}"))?;
            for path in Vec::<Path>::deserialize(paths).context("paths of GoBGP")? {
                routes.push(path.into_route(prefix)?);
            }
        }
        Ok(routes)
    }

    fn announce(&mut self, announcement: &Announcement) -> Result<()> {
        let mut args = vec!["global".to_owned(), "rib".to_owned(), "add".to_owned()];
        args.extend([
            "-a".to_owned(),
            afi(Family::of_prefix(announcement.prefix)).to_owned(),
        ]);
        args.push(announcement.prefix.to_string());
        let mut option = |name: &str, value: Option<String>| {
            args.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
        };
        let list = |list: &[String]| (!list.is_empty()).then(|| list.join(","));
        option("nexthop", announcement.next_hop.map(|hop| hop.to_string()));
        option("med", announcement.med.map(|med| med.to_string()));
        option(
            "local-pref",
            announcement
                .local_pref
                .map(|local_pref| local_pref.to_string()),
        );
        option("community", list(&announcement.communities));
        option("large-community", list(&announcement.large_communities));
        if !announcement.route_targets.is_empty() {
            args.push("rt".to_owned());
            args.extend(announcement.route_targets.iter().cloned());
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        self.gobgp(&args).map(drop)
    }

    fn withdraw(&mut self, prefix: &str) -> Result<()> {
        let net: IpNet = prefix.parse().with_context(|| format!("prefix {prefix}"))?;
        self.gobgp(&[
            "global",
            "rib",
            "del",
            "-a",
            afi(Family::of_prefix(net)),
            prefix,
        ])
        .map(drop)
    }

    fn request_refresh(&mut self, peer: &str) -> Result<()> {
        // It answers in words.
        self.gobgp(&["neighbor", peer, "softresetin"]).map(drop)
    }
}

/// What it has no setting for.
fn refuse(neighbor: &Neighbor) -> Result<()> {
    let refused = [
        (
            neighbor.two_octet_asn,
            "always offers AS numbers of four octets",
        ),
        (neighbor.extended_messages, "knows no extended messages"),
        (neighbor.role.is_some(), "knows no roles"),
    ];
    match refused.iter().find(|(asked, _)| *asked) {
        Some((_, why)) => bail!("GoBGP {why}"),
        None => Ok(()),
    }
}

fn session(neighbor: &Value) -> Result<Session> {
    let state = &neighbor["state"];
    let address = state["neighbor_address"]
        .as_str()
        .context("neighbour without address")?;
    // apipb.PeerState.SessionState.
    let name = match state["session_state"].as_u64() {
        Some(1) => "Idle",
        Some(2) => "Connect",
        Some(3) => "Active",
        Some(4) => "OpenSent",
        Some(5) => "OpenConfirm",
        Some(6) => "Established",
        _ => "Unknown",
    };
    Ok(Session {
        peer: address
            .parse()
            .with_context(|| format!("address {address}"))?,
        state: name.to_owned(),
        established: name == "Established",
        detail: String::new(),
    })
}

fn render(config: &SpeakerConfig) -> String {
    let mut out = format!(
        "[global.config]\nas = {}\nrouter-id = \"{}\"\nport = {}\n",
        config.asn, config.router_id, config.port
    );
    for neighbor in &config.neighbors {
        render_neighbor(config, neighbor, &mut out);
    }
    out.push_str(&config.extra);
    out
}

fn render_neighbor(config: &SpeakerConfig, neighbor: &Neighbor, out: &mut String) {
    let _ = writeln!(
        out,
        "[[neighbors]]\n[neighbors.config]\nneighbor-address = \"{}\"\npeer-as = {}",
        neighbor.address, neighbor.asn
    );
    if let Some(password) = &neighbor.password {
        let _ = writeln!(out, "auth-password = \"{password}\"");
    }
    let _ = writeln!(
        out,
        "[neighbors.timers.config]\nconnect-retry = 1\nidle-hold-time-after-reset = 1"
    );
    if let Some(hold) = neighbor.hold_time {
        let _ = writeln!(out, "hold-time = {hold}\nkeepalive-interval = {}", hold / 3);
    }
    let _ = writeln!(
        out,
        "[neighbors.transport.config]\npassive-mode = {}",
        neighbor.passive
    );
    if let Some(port) = neighbor.port {
        let _ = writeln!(out, "remote-port = {port}");
    }
    if let Some(address) = neighbor.local_address {
        let _ = writeln!(out, "local-address = \"{address}\"");
    }
    if neighbor.reflector_client {
        let cluster_id = config.cluster_id.unwrap_or(config.router_id);
        let _ = writeln!(
            out,
            "[neighbors.route-reflector.config]\nroute-reflector-client = true\n\
             route-reflector-cluster-id = \"{cluster_id}\""
        );
    }
    if neighbor.ttl_security {
        let _ = writeln!(
            out,
            "[neighbors.ttl-security.config]\nenabled = true\nttl-min = 255"
        );
    } else if neighbor.multihop && !config.is_ibgp(neighbor) {
        let _ = writeln!(
            out,
            "[neighbors.ebgp-multihop.config]\nenabled = true\nmultihop-ttl = 64"
        );
    }
    if let Some(seconds) = neighbor.graceful_restart {
        let _ = writeln!(
            out,
            "[neighbors.graceful-restart.config]\nenabled = true\nrestart-time = {seconds}"
        );
    }
    for family in &neighbor.families {
        let _ = writeln!(
            out,
            "[[neighbors.afi-safis]]\n[neighbors.afi-safis.config]\nafi-safi-name = \"{}-unicast\"",
            afi(*family)
        );
        if neighbor.graceful_restart.is_some() {
            let _ = writeln!(
                out,
                "[neighbors.afi-safis.mp-graceful-restart.config]\nenabled = true"
            );
        }
        if neighbor.add_path {
            let _ = writeln!(
                out,
                "[neighbors.afi-safis.add-paths.config]\nreceive = true\nsend-max = 8"
            );
        }
        if let Some(count) = neighbor.max_prefixes {
            let _ = writeln!(
                out,
                "[neighbors.afi-safis.prefix-limit.config]\nmax-prefixes = {count}"
            );
        }
    }
}

fn afi(family: Family) -> &'static str {
    match family {
        Family::V4 => "ipv4",
        Family::V6 => "ipv6",
    }
}

/// Subtype of an extended community (RFC 4360 section 4).
const ROUTE_TARGET: u64 = 2;

#[derive(Deserialize)]
struct Path {
    #[serde(default)]
    best: bool,
    attrs: Vec<Value>,
    #[serde(rename = "neighbor-ip")]
    neighbor: Option<String>,
}

impl Path {
    fn into_route(self, prefix: IpNet) -> Result<Route> {
        let mut route = Route {
            best: self.best,
            from: self
                .neighbor
                .and_then(|text| text.parse().ok())
                .filter(|ip: &IpAddr| !ip.is_unspecified()),
            ..Route::new(prefix)
        };
        for attribute in &self.attrs {
            read_attribute(attribute, &mut route)
                .with_context(|| format!("attribute {attribute} of GoBGP"))?;
        }
        Ok(route)
    }
}

/// The attribute types are RFC 4271's and its followers'; the JSON is GoBGP's own.
fn read_attribute(attribute: &Value, route: &mut Route) -> Result<()> {
    let number = |key: &str| attribute[key].as_u64().and_then(|n| u32::try_from(n).ok());
    let list = |key: &str| attribute[key].as_array().map_or(&[][..], Vec::as_slice);
    match attribute["type"].as_u64() {
        Some(2) => {
            route.as_path = list("as_paths")
                .iter()
                .flat_map(|segment| segment["asns"].as_array().into_iter().flatten())
                .filter_map(|asn| asn.as_u64().and_then(|n| u32::try_from(n).ok()))
                .collect();
        }
        Some(3 | 14) => {
            let hop: Option<IpAddr> = attribute["nexthop"].as_str().map(str::parse).transpose()?;
            route.next_hop = hop.filter(|hop| !hop.is_unspecified());
        }
        Some(4) => route.med = number("metric"),
        Some(5) => route.local_pref = number("value"),
        Some(8) => {
            route.communities = list("communities")
                .iter()
                .filter_map(Value::as_u64)
                .map(|community| format!("{}:{}", community >> 16, community & 0xffff))
                .collect();
        }
        Some(9) => {
            let id: Option<Ipv4Addr> = attribute["value"].as_str().map(str::parse).transpose()?;
            route.originator_id = id;
        }
        Some(10) => {
            route.cluster_list = list("value")
                .iter()
                .filter_map(Value::as_str)
                .map(str::parse)
                .collect::<Result<_, _>>()?;
        }
        Some(16) => {
            route.route_targets = list("value")
                .iter()
                .filter(|community| community["subtype"] == ROUTE_TARGET)
                .filter_map(|community| community["value"].as_str().map(str::to_owned))
                .collect();
        }
        Some(32) => {
            route.large_communities = list("value")
                .iter()
                .map(|c| format!("{}:{}:{}", c["ASN"], c["LocalData1"], c["LocalData2"]))
                .collect();
        }
        _ => {}
    }
    Ok(())
}
