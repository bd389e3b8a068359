//! BGP daemons of several makers behind one trait.
//!
//! A [`SpeakerConfig`] says in neutral words what a speaker shall do; each module renders it in its daemon's own
//! language, starts the daemon in a namespace with sockets and files of its own, and reads its state back into
//! [`Session`] and [`Route`]. What only one daemon can do goes into [`SpeakerConfig::extra`], verbatim.
//!
//! Announcements are made and taken back at run time through each daemon's own means, so nothing here resets a session.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ipnet::IpNet;

use crate::kernel::Family;
use crate::netns::Netns;
use crate::process::Process;
use crate::wait::wait_until;

mod bird;
mod exabgp;
mod frr;
mod gobgp;
mod openbgpd;
mod weft;

pub use bird::Bird;
pub use exabgp::ExaBgp;
pub use frr::Frr;
pub use gobgp::GoBgp;
pub use openbgpd::OpenBgpd;
pub use weft::{Weft, WeftConfig};

/// What a speaker shall do.
#[derive(Debug, Clone)]
pub struct SpeakerConfig {
    /// Its AS.
    pub asn: u32,
    /// Its BGP identifier.
    pub router_id: Ipv4Addr,
    /// TCP port to listen on.
    pub port: u16,
    /// Its neighbours.
    pub neighbors: Vec<Neighbor>,
    /// Its cluster identifier as a route reflector; the router id when absent (RFC 4456).
    pub cluster_id: Option<Ipv4Addr>,
    /// What it announces from the start.
    pub announcements: Vec<Announcement>,
    /// Whether routes are written into the namespace's kernel: BIRD with `protocol kernel`, FRR with zebra. The others
    /// refuse it.
    pub kernel: bool,
    /// Appended to the generated configuration as it is.
    pub extra: String,
}

impl SpeakerConfig {
    /// A speaker without neighbours.
    pub fn new(asn: u32, router_id: impl Into<Ipv4Addr>) -> Self {
        Self {
            asn,
            router_id: router_id.into(),
            port: 179,
            neighbors: Vec::new(),
            cluster_id: None,
            announcements: Vec::new(),
            kernel: false,
            extra: String::new(),
        }
    }

    /// Adds a neighbour.
    #[must_use]
    pub fn neighbor(mut self, neighbor: Neighbor) -> Self {
        self.neighbors.push(neighbor);
        self
    }

    /// Adds what is announced from the start.
    #[must_use]
    pub fn announce(mut self, announcement: Announcement) -> Self {
        self.announcements.push(announcement);
        self
    }

    /// Writes routes into the kernel.
    #[must_use]
    pub fn kernel(mut self) -> Self {
        self.kernel = true;
        self
    }

    /// Appends text to the generated configuration.
    #[must_use]
    pub fn extra(mut self, text: &str) -> Self {
        self.extra.push_str(text);
        self.extra.push('\n');
        self
    }

    fn is_ibgp(&self, neighbor: &Neighbor) -> bool {
        neighbor.asn == self.asn
    }
}

/// A neighbour of a speaker.
#[derive(Debug, Clone)]
pub struct Neighbor {
    /// Its address.
    pub address: IpAddr,
    /// Its AS; the speaker's own means iBGP.
    pub asn: u32,
    /// TCP port to dial, 179 when absent.
    pub port: Option<u16>,
    /// Own address of the session.
    pub local_address: Option<IpAddr>,
    /// Families; by default the address's own.
    pub families: Vec<Family>,
    /// TCP MD5 key (RFC 2385).
    pub password: Option<String>,
    /// Listen only.
    pub passive: bool,
    /// It is a client of this reflector (RFC 4456).
    pub reflector_client: bool,
    /// Proposed hold time in seconds.
    pub hold_time: Option<u16>,
    /// Send and receive several paths for a prefix (RFC 7911).
    pub add_path: bool,
    /// Graceful restart (RFC 4724): the restart time in seconds.
    pub graceful_restart: Option<u16>,
    /// Announce own address as next hop.
    pub next_hop_self: bool,
    /// The neighbour is not on a connected network.
    pub multihop: bool,
    /// Only packets with TTL 255 are taken (RFC 5082).
    pub ttl_security: bool,
}

impl Neighbor {
    /// A directly connected neighbour.
    ///
    /// # Panics
    /// When `address` is no IP address: it is a literal of a test.
    pub fn new(address: &str, asn: u32) -> Self {
        let address = ip(address);
        Self {
            address,
            asn,
            port: None,
            local_address: None,
            families: vec![Family::of(address)],
            password: None,
            passive: false,
            reflector_client: false,
            hold_time: None,
            add_path: false,
            graceful_restart: None,
            next_hop_self: false,
            multihop: false,
            ttl_security: false,
        }
    }

    /// Sets the families.
    #[must_use]
    pub fn families(mut self, families: &[Family]) -> Self {
        self.families = families.to_vec();
        self
    }

    /// Sets the TCP MD5 key.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// Listens only.
    #[must_use]
    pub fn passive(mut self) -> Self {
        self.passive = true;
        self
    }

    /// Makes it a client of this reflector.
    #[must_use]
    pub fn reflector_client(mut self) -> Self {
        self.reflector_client = true;
        self
    }

    /// Sets the proposed hold time.
    #[must_use]
    pub fn hold_time(mut self, seconds: u16) -> Self {
        self.hold_time = Some(seconds);
        self
    }

    /// Sends and receives several paths for a prefix.
    #[must_use]
    pub fn add_path(mut self) -> Self {
        self.add_path = true;
        self
    }

    /// Offers graceful restart.
    #[must_use]
    pub fn graceful_restart(mut self, seconds: u16) -> Self {
        self.graceful_restart = Some(seconds);
        self
    }

    /// Announces own address as next hop.
    #[must_use]
    pub fn next_hop_self(mut self) -> Self {
        self.next_hop_self = true;
        self
    }

    /// The neighbour is not on a connected network.
    #[must_use]
    pub fn multihop(mut self) -> Self {
        self.multihop = true;
        self
    }

    /// Takes packets with TTL 255 only.
    #[must_use]
    pub fn ttl_security(mut self) -> Self {
        self.ttl_security = true;
        self
    }

    /// Sets the TCP port to dial.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Sets the own address of the session.
    ///
    /// # Panics
    /// When `address` is no IP address.
    #[must_use]
    pub fn local_address(mut self, address: &str) -> Self {
        self.local_address = Some(ip(address));
        self
    }
}

/// A prefix to announce, with the attributes that matter in tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// Prefix.
    pub prefix: IpNet,
    /// Next hop; the session's own address when absent.
    pub next_hop: Option<IpAddr>,
    /// MULTI_EXIT_DISC.
    pub med: Option<u32>,
    /// LOCAL_PREF, for iBGP.
    pub local_pref: Option<u32>,
    /// COMMUNITIES, `a:b` (RFC 1997).
    pub communities: Vec<String>,
    /// LARGE_COMMUNITY, `a:b:c` (RFC 8092).
    pub large_communities: Vec<String>,
}

impl Announcement {
    /// A prefix without further attributes.
    ///
    /// # Panics
    /// When `prefix` is none: it is a literal of a test.
    pub fn new(prefix: &str) -> Self {
        Self {
            prefix: net(prefix),
            next_hop: None,
            med: None,
            local_pref: None,
            communities: Vec::new(),
            large_communities: Vec::new(),
        }
    }

    /// Sets the next hop.
    ///
    /// # Panics
    /// When `address` is no IP address.
    #[must_use]
    pub fn next_hop(mut self, address: &str) -> Self {
        self.next_hop = Some(ip(address));
        self
    }

    /// Sets MULTI_EXIT_DISC.
    #[must_use]
    pub fn med(mut self, med: u32) -> Self {
        self.med = Some(med);
        self
    }

    /// Sets LOCAL_PREF.
    #[must_use]
    pub fn local_pref(mut self, local_pref: u32) -> Self {
        self.local_pref = Some(local_pref);
        self
    }

    /// Adds a community, `a:b`.
    #[must_use]
    pub fn community(mut self, community: &str) -> Self {
        self.communities.push(community.to_owned());
        self
    }

    /// Adds a large community, `a:b:c`.
    #[must_use]
    pub fn large_community(mut self, community: &str) -> Self {
        self.large_communities.push(community.to_owned());
        self
    }
}

/// A speaker's view of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The neighbour.
    pub peer: IpAddr,
    /// RFC 4271 state, as the daemon writes it.
    pub state: String,
    /// True in Established.
    pub established: bool,
    /// Why it is not, where the daemon tells.
    pub detail: String,
}

/// A path in a speaker's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Prefix.
    pub prefix: IpNet,
    /// NEXT_HOP, or MP_REACH_NLRI's; none for what the speaker announces itself.
    pub next_hop: Option<IpAddr>,
    /// The neighbour that it came from; none for what the speaker announces itself.
    pub from: Option<IpAddr>,
    /// The daemon's choice for the prefix.
    pub best: bool,
    /// AS_PATH; sets are flattened.
    pub as_path: Vec<u32>,
    /// LOCAL_PREF, where present (many daemons show their default instead).
    pub local_pref: Option<u32>,
    /// MULTI_EXIT_DISC, where present (some show 0 instead).
    pub med: Option<u32>,
    /// COMMUNITIES as `a:b`, in the order shown.
    pub communities: Vec<String>,
    /// LARGE_COMMUNITY as `a:b:c`.
    pub large_communities: Vec<String>,
    /// ORIGINATOR_ID (RFC 4456).
    pub originator_id: Option<Ipv4Addr>,
    /// CLUSTER_LIST (RFC 4456), the nearest reflector first.
    pub cluster_list: Vec<Ipv4Addr>,
}

impl Route {
    fn new(prefix: IpNet) -> Self {
        Self {
            prefix,
            next_hop: None,
            from: None,
            best: false,
            as_path: Vec::new(),
            local_pref: None,
            med: None,
            communities: Vec::new(),
            large_communities: Vec::new(),
            originator_id: None,
            cluster_list: Vec::new(),
        }
    }
}

/// A BGP daemon that runs in a namespace; killed when dropped.
pub trait Speaker: Send {
    /// What it is: `BIRD`, `FRR` and so on.
    fn kind(&self) -> &'static str;

    /// Where it runs.
    fn netns(&self) -> &Netns;

    /// Its main process.
    fn process(&mut self) -> &mut Process;

    /// Its sessions.
    ///
    /// # Errors
    /// When it does not answer.
    fn sessions(&self) -> Result<Vec<Session>>;

    /// Its paths of a family, with those that are not best where the daemon shows them.
    ///
    /// # Errors
    /// When it does not answer.
    fn routes(&self, family: Family) -> Result<Vec<Route>>;

    /// Announces a prefix to all neighbours, or changes an announcement.
    ///
    /// # Errors
    /// When the daemon refuses.
    fn announce(&mut self, announcement: &Announcement) -> Result<()>;

    /// Takes an announcement back.
    ///
    /// # Errors
    /// When the daemon refuses, or `prefix` is none.
    fn withdraw(&mut self, prefix: &str) -> Result<()>;

    /// Lets its processes run on after the harness has ended ([`Process::release`]).
    fn release(&mut self) {
        self.process().release();
    }

    /// The session with a neighbour.
    ///
    /// # Errors
    /// When there is none.
    fn session(&self, peer: &str) -> Result<Session> {
        let peer: IpAddr = peer.parse().with_context(|| format!("address {peer}"))?;
        let sessions = self.sessions()?;
        let found = sessions
            .iter()
            .find(|session| session.peer == peer)
            .cloned();
        found.with_context(|| format!("no session with {peer} among {sessions:?}"))
    }

    /// The paths for exactly a prefix.
    ///
    /// # Errors
    /// When the daemon does not answer.
    fn paths(&self, prefix: &str) -> Result<Vec<Route>> {
        let prefix: IpNet = prefix.parse().with_context(|| format!("prefix {prefix}"))?;
        let mut routes = self.routes(Family::of_prefix(prefix))?;
        routes.retain(|route| route.prefix == prefix);
        Ok(routes)
    }

    /// Waits until the session with `peer` is established.
    ///
    /// # Errors
    /// When it is not within `timeout`; the text tells the state.
    fn wait_established(&self, peer: &str, timeout: Duration) -> Result<()> {
        wait_until(
            timeout,
            &self.title(&format!("session with {peer}")),
            || {
                let session = self.session(peer)?;
                if !session.established {
                    bail!("{} {}", session.state, session.detail);
                }
                Ok(Some(()))
            },
        )
    }

    /// Waits for a best path to exactly `prefix`.
    ///
    /// # Errors
    /// When there is none within `timeout`; the text tells what is in the table.
    fn wait_route(&self, prefix: &str, timeout: Duration) -> Result<Route> {
        self.wait_route_where(prefix, timeout, &|_| true)
    }

    /// Waits for a best path to exactly `prefix` that satisfies `condition`.
    ///
    /// # Errors
    /// When there is none within `timeout`; the text tells the paths that there are.
    fn wait_route_where(
        &self,
        prefix: &str,
        timeout: Duration,
        condition: &dyn Fn(&Route) -> bool,
    ) -> Result<Route> {
        wait_until(timeout, &self.title(&format!("route to {prefix}")), || {
            let paths = self.paths(prefix)?;
            if let Some(route) = paths.iter().find(|route| route.best && condition(route)) {
                return Ok(Some(route.clone()));
            }
            if !paths.is_empty() {
                bail!("paths that will not do: {paths:#?}");
            }
            let family = Family::of_prefix(net(prefix));
            let there: Vec<String> = self
                .routes(family)?
                .iter()
                .map(|route| route.prefix.to_string())
                .collect();
            bail!(
                "the table holds [{}]; sessions: {:?}",
                there.join(" "),
                self.sessions()?
            )
        })
    }

    /// Waits until there is no path to exactly `prefix`.
    ///
    /// # Errors
    /// When there still is one after `timeout`.
    fn wait_gone(&self, prefix: &str, timeout: Duration) -> Result<()> {
        wait_until(
            timeout,
            &self.title(&format!("end of the route to {prefix}")),
            || {
                let paths = self.paths(prefix)?;
                if !paths.is_empty() {
                    bail!("still there: {paths:?}");
                }
                Ok(Some(()))
            },
        )
    }

    /// `what` of which speaker, for messages.
    fn title(&self, what: &str) -> String {
        format!("{what} of {} on {}", self.kind(), self.netns().name())
    }
}

/// The daemons of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Implementation {
    /// BIRD 2.
    Bird,
    /// FRR's bgpd.
    Frr,
    /// GoBGP.
    GoBgp,
    /// OpenBGPD.
    OpenBgpd,
    /// ExaBGP.
    ExaBgp,
}

impl Implementation {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Bird,
        Self::Frr,
        Self::GoBgp,
        Self::OpenBgpd,
        Self::ExaBgp,
    ];

    /// Starts one.
    ///
    /// # Errors
    /// When it does not start, or can't do what is asked for.
    pub fn start(self, netns: &Netns, config: SpeakerConfig) -> Result<Box<dyn Speaker>> {
        Ok(match self {
            Self::Bird => Box::new(Bird::start(netns, config)?),
            Self::Frr => Box::new(Frr::start(netns, config)?),
            Self::GoBgp => Box::new(GoBgp::start(netns, config)?),
            Self::OpenBgpd => Box::new(OpenBgpd::start(netns, config)?),
            Self::ExaBgp => Box::new(ExaBgp::start(netns, config)?),
        })
    }
}

/// An address that a test wrote down.
///
/// # Panics
/// When it is none.
fn ip(text: &str) -> IpAddr {
    text.parse()
        .unwrap_or_else(|_| panic!("`{text}` is no IP address"))
}

/// A prefix that a test wrote down.
///
/// # Panics
/// When it is none.
fn net(text: &str) -> IpNet {
    text.parse()
        .unwrap_or_else(|_| panic!("`{text}` is no prefix"))
}
