//! BIRD 2: `bird -c -s -P`, asked through `birdc`.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::{Announcement, Neighbor, Route, Session, Speaker, SpeakerConfig};
use crate::kernel::Family;
use crate::netns::Netns;
use crate::process::{Cmd, Process};
use crate::timeouts;
use crate::wait::wait_until;

/// A BIRD that runs.
#[derive(Debug)]
pub struct Bird {
    netns: Netns,
    config: SpeakerConfig,
    process: Process,
    config_file: PathBuf,
    socket: PathBuf,
}

impl Bird {
    /// Starts it and waits until it answers.
    ///
    /// # Errors
    /// When it does not start, for example because of [`SpeakerConfig::extra`]; the text holds its log.
    pub fn start(netns: &Netns, config: SpeakerConfig) -> Result<Self> {
        let dir = netns.dir()?;
        let (config_file, socket) = (dir.join("bird.conf"), dir.join("bird.ctl"));
        std::fs::write(&config_file, render(&config)).context("bird.conf")?;
        let process = netns
            .command("bird")
            .arg("-f")
            .args(["-c".as_ref(), config_file.as_os_str()])
            .args(["-s".as_ref(), socket.as_os_str()])
            .args(["-P".as_ref(), dir.join("bird.pid").as_os_str()])
            .daemon("bird", dir.join("bird.log"))?;
        let bird = Self {
            netns: netns.clone(),
            config,
            process,
            config_file,
            socket,
        };
        wait_until(timeouts::START, "answer of bird", || {
            bird.process.ensure_running()?;
            bird.birdc("show status").map(Some)
        })?;
        Ok(bird)
    }

    /// Runs one birdc command and returns its answer without the greeting.
    ///
    /// # Errors
    /// When BIRD does not answer, or answers with an error.
    pub fn birdc(&self, command: &str) -> Result<String> {
        let text = Cmd::new("birdc")
            .arg("-s")
            .arg(&self.socket)
            .args(command.split(' '))
            .run()?;
        Ok(text.lines().skip(1).collect::<Vec<_>>().join("\n"))
    }

    /// Changes the configuration at run time; sessions whose settings stay the same stay up.
    ///
    /// # Errors
    /// When BIRD refuses it.
    pub fn reconfigure(&mut self, change: impl FnOnce(&mut SpeakerConfig)) -> Result<()> {
        change(&mut self.config);
        std::fs::write(&self.config_file, render(&self.config)).context("bird.conf")?;
        let answer = self.birdc("configure")?;
        if !answer.contains("Reconfigur") {
            bail!("bird refuses the configuration: {answer}");
        }
        Ok(())
    }
}

impl Speaker for Bird {
    fn kind(&self) -> &'static str {
        "BIRD"
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
        Ok(parse_sessions(&self.birdc("show protocols all")?))
    }

    fn routes(&self, family: Family) -> Result<Vec<Route>> {
        let table = table(family);
        let text = self.birdc(&format!("show route table {table} all"))?;
        parse_routes(&text, &self.config.neighbors)
    }

    fn announce(&mut self, announcement: &Announcement) -> Result<()> {
        self.reconfigure(|config| {
            config
                .announcements
                .retain(|other| other.prefix != announcement.prefix);
            config.announcements.push(announcement.clone());
        })
    }

    fn withdraw(&mut self, prefix: &str) -> Result<()> {
        let prefix = prefix.parse().with_context(|| format!("prefix {prefix}"))?;
        self.reconfigure(|config| config.announcements.retain(|other| other.prefix != prefix))
    }

    fn request_refresh(&mut self, peer: &str) -> Result<()> {
        let peer = peer.parse().with_context(|| format!("address {peer}"))?;
        self.birdc(&format!("reload in {}", protocol_name(peer)))
            .map(drop)
    }
}

fn render(config: &SpeakerConfig) -> String {
    let mut out = format!(
        "log stderr all;\nrouter id {};\ndebug protocols {{ states, events }};\nprotocol device {{}}\n\
         attribute int harness_med;\nattribute ip harness_next_hop;\n{EXPORT}\
         ipv4 table igp4;\nipv6 table igp6;\n\
         protocol direct {{ ipv4 {{ table igp4; }}; ipv6 {{ table igp6; }}; }}\n",
        config.router_id
    );
    for family in Family::ALL {
        let name = channel(family);
        if config.kernel {
            // What it announces itself is a blackhole to BIRD, and the namespace may really hold those addresses.
            let _ = writeln!(
                out,
                "protocol kernel kernel_{name} {{ {name} {{ import none; export where source = RTS_BGP; }}; \
                 merge paths on; scan time 2; }}"
            );
        }
        let _ = writeln!(out, "protocol static static_{name} {{\n  {name};");
        for announcement in &config.announcements {
            if Family::of_prefix(announcement.prefix) == family {
                let _ = writeln!(out, "  {}", render_static(announcement));
            }
        }
        let _ = writeln!(out, "}}");
    }
    for neighbor in &config.neighbors {
        out.push_str(&render_neighbor(config, neighbor));
    }
    out.push_str(&config.extra);
    out
}

fn render_static(announcement: &Announcement) -> String {
    let mut set = String::new();
    if let Some(med) = announcement.med {
        let _ = write!(set, " harness_med = {med};");
    }
    if let Some(local_pref) = announcement.local_pref {
        let _ = write!(set, " bgp_local_pref = {local_pref};");
    }
    if let Some(next_hop) = announcement.next_hop {
        let _ = write!(set, " harness_next_hop = {next_hop};");
    }
    for community in &announcement.communities {
        let _ = write!(
            set,
            " bgp_community.add(({}));",
            community.replace(':', ",")
        );
    }
    for community in &announcement.large_communities {
        let _ = write!(
            set,
            " bgp_large_community.add(({}));",
            community.replace(':', ",")
        );
    }
    for target in &announcement.route_targets {
        let _ = write!(
            set,
            " bgp_ext_community.add((rt, {}));",
            target.replace(':', ",")
        );
    }
    format!("route {} blackhole {{{set} }};", announcement.prefix)
}

fn render_neighbor(config: &SpeakerConfig, neighbor: &Neighbor) -> String {
    let ibgp = config.is_ibgp(neighbor);
    let mut out = format!("protocol bgp {} {{\n", protocol_name(neighbor.address));
    let local = neighbor
        .local_address
        .map_or_else(String::new, |address| format!(" {address}"));
    let _ = writeln!(
        out,
        "  local{local} port {} as {};",
        config.port, config.asn
    );
    let port = neighbor
        .port
        .map_or_else(String::new, |port| format!(" port {port}"));
    let _ = writeln!(
        out,
        "  neighbor {}{port} as {};",
        neighbor.address, neighbor.asn
    );
    let _ = writeln!(
        out,
        "  {};",
        if neighbor.multihop {
            "multihop"
        } else {
            "direct"
        }
    );
    let _ = writeln!(
        out,
        "  connect delay time 1; connect retry time 2; error wait time 1, 3;"
    );
    if let Some(password) = &neighbor.password {
        let _ = writeln!(out, "  password \"{password}\";");
    }
    if neighbor.passive {
        let _ = writeln!(out, "  passive on;");
    }
    if let Some(hold_time) = neighbor.hold_time {
        let _ = writeln!(out, "  hold time {hold_time};");
    }
    if neighbor.ttl_security {
        let _ = writeln!(out, "  ttl security on;");
    }
    if neighbor.two_octet_asn {
        let _ = writeln!(out, "  enable as4 off;");
    }
    if neighbor.extended_messages {
        let _ = writeln!(out, "  enable extended messages on;");
    }
    if let Some(role) = neighbor.role {
        let _ = writeln!(out, "  local role {};", role.name());
    }
    match neighbor.graceful_restart {
        Some(seconds) => {
            let _ = writeln!(
                out,
                "  graceful restart on; graceful restart time {seconds};"
            );
        }
        None => {
            let _ = writeln!(out, "  graceful restart off;");
        }
    }
    if neighbor.reflector_client {
        let _ = writeln!(out, "  rr client;");
    }
    if ibgp && let Some(cluster_id) = config.cluster_id {
        let _ = writeln!(out, "  rr cluster id {cluster_id};");
    }
    for family in &neighbor.families {
        let _ = writeln!(
            out,
            "  {} {{\n    import all; export filter announced;{}{}{}{}{}\n  }};",
            channel(*family),
            // An iBGP route keeps the next hop of whoever announced it first, who need not be a neighbour. It is looked
            // up among the connected networks, which have a table of their own: there they can't hide an announcement
            // of the same prefix.
            if ibgp {
                format!(" gateway recursive; igp table {};", igp_table(*family))
            } else {
                String::new()
            },
            if neighbor.next_hop_self {
                " next hop self;"
            } else {
                ""
            },
            if neighbor.add_path {
                " add paths on;"
            } else {
                ""
            },
            if neighbor.extended_next_hop && *family == Family::V4 {
                " extended next hop on;"
            } else {
                ""
            },
            neighbor
                .max_prefixes
                .map_or_else(String::new, |count| format!(
                    " receive limit {count} action disable;"
                )),
        );
    }
    out.push_str("}\n");
    out
}

/// BIRD sends these two attributes to eBGP neighbours only when the export filter has set them.
const EXPORT: &str = "filter announced {
  if ! (source ~ [ RTS_STATIC, RTS_BGP ]) then reject;
  if defined(harness_med) then bgp_med = harness_med;
  if defined(harness_next_hop) then bgp_next_hop = harness_next_hop;
  accept;
}
";

fn protocol_name(address: IpAddr) -> String {
    format!("peer_{}", address.to_string().replace(['.', ':'], "_"))
}

fn channel(family: Family) -> &'static str {
    match family {
        Family::V4 => "ipv4",
        Family::V6 => "ipv6",
    }
}

fn igp_table(family: Family) -> &'static str {
    match family {
        Family::V4 => "igp4",
        Family::V6 => "igp6",
    }
}

fn table(family: Family) -> &'static str {
    match family {
        Family::V4 => "master4",
        Family::V6 => "master6",
    }
}

/// `show protocols all`: a block per protocol, its first line unindented.
fn parse_sessions(text: &str) -> Vec<Session> {
    let mut sessions = Vec::new();
    let mut state = String::new();
    let mut pending: Option<Session> = None;
    for line in text.lines() {
        if !line.starts_with(' ') {
            sessions.extend(pending.take());
            state.clear();
            continue;
        }
        let Some((key, value)) = line.trim().split_once(':') else {
            continue;
        };
        match (key, value.trim()) {
            ("BGP state", value) => value.clone_into(&mut state),
            ("Neighbor address", value) => {
                // A link-local address has its interface behind a percent sign.
                if let Ok(peer) = value.split('%').next().unwrap_or(value).parse() {
                    pending = Some(Session {
                        peer,
                        established: state == "Established",
                        state: state.clone(),
                        detail: String::new(),
                    });
                }
            }
            ("Last error", value) => {
                if let Some(session) = &mut pending {
                    value.clone_into(&mut session.detail);
                }
            }
            _ => {}
        }
    }
    sessions.extend(pending);
    sessions
}

/// `show route all`: a line per path (further paths of a prefix have blanks in its place), then tab-indented details.
fn parse_routes(text: &str, neighbors: &[Neighbor]) -> Result<Vec<Route>> {
    let mut routes: Vec<Route> = Vec::new();
    let mut prefix = None;
    for line in text
        .lines()
        .filter(|line| !line.starts_with("Table ") && !line.is_empty())
    {
        if let Some(detail) = line.strip_prefix('\t') {
            if let Some(route) = routes.last_mut() {
                parse_detail(detail, route).with_context(|| format!("birdc line {line:?}"))?;
            }
            continue;
        }
        let (head, rest) = line.split_at(
            line.find('[')
                .with_context(|| format!("birdc line {line:?}"))?,
        );
        let first = head.split_whitespace().next().unwrap_or_default();
        if !head.starts_with(' ') {
            prefix = Some(
                first
                    .parse()
                    .with_context(|| format!("birdc line {line:?}"))?,
            );
        }
        let protocol = rest[1..].split_whitespace().next().unwrap_or_default();
        let from = neighbors
            .iter()
            .find(|n| protocol_name(n.address) == protocol);
        routes.push(Route {
            from: from.map(|neighbor| neighbor.address),
            best: rest.contains("] * ("),
            ..Route::new(prefix.with_context(|| format!("birdc line {line:?}"))?)
        });
    }
    Ok(routes)
}

fn parse_detail(detail: &str, route: &mut Route) -> Result<()> {
    let Some((key, value)) = detail.split_once(": ") else {
        return Ok(());
    };
    match key {
        "BGP.next_hop" => {
            // IPv6 may have a link-local address behind the global one.
            route.next_hop = value.split(' ').next().map(str::parse).transpose()?;
        }
        "BGP.as_path" => {
            route.as_path = value
                .split([' ', '{', '}'])
                .filter(|asn| !asn.is_empty())
                .map(str::parse)
                .collect::<Result<_, _>>()?;
        }
        "BGP.local_pref" => route.local_pref = Some(value.parse()?),
        "BGP.med" => route.med = Some(value.parse()?),
        "BGP.community" => route.communities = tuples(value),
        "BGP.large_community" => route.large_communities = tuples(value),
        "BGP.ext_community" => {
            route.route_targets = tuples(value)
                .iter()
                .filter_map(|community| community.strip_prefix("rt:").map(str::to_owned))
                .collect();
        }
        "BGP.originator_id" => route.originator_id = Some(value.parse()?),
        "BGP.cluster_list" => {
            route.cluster_list = value
                .split_whitespace()
                .map(str::parse)
                .collect::<Result<_, _>>()?;
        }
        _ => {}
    }
    Ok(())
}

/// `(1,2) (3, 4)` as `1:2`, `3:4`.
fn tuples(text: &str) -> Vec<String> {
    text.split(')')
        .filter_map(|part| part.split_once('('))
        .map(|(_, inner)| inner.replace(' ', "").replace(',', ":"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_one_prefix_are_told_apart() {
        let text = "Table master4:\n\
            100.64.5.0/24        unicast [peer_10_0_0_5 22:47:04.524] * (100) [AS65005i]\n\
            \tvia 10.0.0.5 on eth0\n\
            \tType: BGP univ\n\
            \tBGP.as_path: 65005 {65006 65007}\n\
            \tBGP.next_hop: 10.0.0.5\n\
            \tBGP.med: 7\n\
            \tBGP.community: (65005,1) (65005,2)\n\
            \tBGP.large_community: (65005, 1, 2)\n\
            \x20                    unicast [peer_10_0_0_6 22:47:05.000 from 10.0.0.6] (100) [AS65005i]\n\
            \tBGP.next_hop: 10.0.0.6\n\
            \tBGP.originator_id: 1.1.1.1\n\
            \tBGP.cluster_list: 2.2.2.2 3.3.3.3\n\
            10.0.0.0/24          blackhole [static_ipv4 22:47:04.524] * (200)\n\
            \tType: static univ\n";
        let neighbors = [
            Neighbor::new("10.0.0.5", 65005),
            Neighbor::new("10.0.0.6", 65005),
        ];
        let routes = parse_routes(text, &neighbors).unwrap();
        let [first, second, own] = &routes[..] else {
            panic!("{routes:?}")
        };
        assert!(first.best && !second.best && own.best);
        assert_eq!(own.from, None);
        assert_eq!(first.prefix, second.prefix);
        assert_eq!(first.as_path, [65005, 65006, 65007]);
        assert_eq!(first.communities, ["65005:1", "65005:2"]);
        assert_eq!(first.large_communities, ["65005:1:2"]);
        assert_eq!(second.from, Some("10.0.0.6".parse().unwrap()));
        assert_eq!(second.cluster_list.len(), 2);
    }
}
