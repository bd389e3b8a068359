//! A daemon that runs, whichever it is: its sessions, its table, its announcements.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ipnet::IpNet;

use super::Announcement;
use crate::kernel::Family;
use crate::netns::Netns;
use crate::process::Process;
use crate::wait::wait_until;

/// A BGP daemon that runs in a namespace; killed when dropped.
pub trait Speaker: Send {
    /// What it is: `BIRD`, `FRR` and so on.
    fn kind(&self) -> &'static str;

    /// Where it runs.
    fn netns(&self) -> &Netns;

    /// Its main process.
    fn process(&mut self) -> &mut Process;

    /// An error (of the kind [`crate::Fatal`]) with the log's end when it runs no more.
    ///
    /// # Errors
    /// As said.
    fn ensure_running(&self) -> Result<()>;

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

    /// Asks a neighbour for all its routes again (RFC 2918).
    ///
    /// # Errors
    /// When the daemon refuses, or has no means for it.
    fn request_refresh(&mut self, peer: &str) -> Result<()>;

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
            self.ensure_running()?;
            let paths = self.paths(prefix)?;
            if let Some(route) = paths.iter().find(|route| route.best && condition(route)) {
                return Ok(Some(route.clone()));
            }
            if !paths.is_empty() {
                bail!("paths that will not do: {paths:#?}");
            }
            let family = Family::of_prefix(prefix.parse()?);
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
    /// Route targets among the EXTENDED COMMUNITIES, as `a:b`.
    pub route_targets: Vec<String>,
    /// ORIGINATOR_ID (RFC 4456).
    pub originator_id: Option<Ipv4Addr>,
    /// CLUSTER_LIST (RFC 4456), the nearest reflector first.
    pub cluster_list: Vec<Ipv4Addr>,
}

impl Route {
    pub(super) fn new(prefix: IpNet) -> Self {
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
            route_targets: Vec::new(),
            originator_id: None,
            cluster_list: Vec::new(),
        }
    }
}
