//! What a speaker shall do, in words that fit every daemon.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use crate::kernel::Family;

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

    pub(super) fn is_ibgp(&self, neighbor: &Neighbor) -> bool {
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
    /// Does not offer AS numbers of four octets (RFC 6793).
    pub two_octet_asn: bool,
    /// Offers messages of up to 65535 octets (RFC 8654), where the daemon does not do so by itself.
    pub extended_messages: bool,
    /// Offers IPv6 next hops for IPv4 routes (RFC 8950), where the daemon does not do so by itself.
    pub extended_next_hop: bool,
    /// The speaker's own role towards the neighbour (RFC 9234).
    pub role: Option<Role>,
    /// Ends the session when the neighbour announces more prefixes of a family.
    pub max_prefixes: Option<u32>,
}

/// A speaker's role towards a neighbour (RFC 9234 section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Gives transit to the neighbour.
    Provider,
    /// Gets transit from the neighbour.
    Customer,
    /// Shares its own and its customers' routes.
    Peer,
}

impl Role {
    /// Its name, which all daemons share.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Customer => "customer",
            Self::Peer => "peer",
        }
    }
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
            two_octet_asn: false,
            extended_messages: false,
            extended_next_hop: false,
            role: None,
            max_prefixes: None,
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

    /// Does not offer AS numbers of four octets.
    #[must_use]
    pub fn two_octet_asn(mut self) -> Self {
        self.two_octet_asn = true;
        self
    }

    /// Offers messages of up to 65535 octets.
    #[must_use]
    pub fn extended_messages(mut self) -> Self {
        self.extended_messages = true;
        self
    }

    /// Offers IPv6 next hops for IPv4 routes.
    #[must_use]
    pub fn extended_next_hop(mut self) -> Self {
        self.extended_next_hop = true;
        self
    }

    /// Sets the speaker's own role.
    #[must_use]
    pub fn role(mut self, role: Role) -> Self {
        self.role = Some(role);
        self
    }

    /// Sets how many prefixes of a family the neighbour may announce.
    #[must_use]
    pub fn max_prefixes(mut self, count: u32) -> Self {
        self.max_prefixes = Some(count);
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
    /// Route targets among the EXTENDED COMMUNITIES, `a:b` (RFC 4360).
    pub route_targets: Vec<String>,
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
            route_targets: Vec::new(),
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

    /// Adds a route target, `a:b`.
    #[must_use]
    pub fn route_target(mut self, target: &str) -> Self {
        self.route_targets.push(target.to_owned());
        self
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
