//! Who there is, and who talks to whom.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bgp_core::PeerId;
use bgp_wire::{Asn, RouterId, SessionType};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// A speaker, by its position in [`Topology::speakers`].
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct SpeakerId(pub u16);

impl SpeakerId {
    /// Its only IPv4 address: the end of all its sessions, and its next hop.
    #[must_use]
    pub const fn address(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(0x0aff_0001 + self.0 as u32)
    }

    /// Its next hop for IPv6.
    #[must_use]
    pub const fn address_v6(self) -> Ipv6Addr {
        Ipv6Addr::from_bits((0x2001_0db8_ffff << 80) + 1 + self.0 as u128)
    }

    /// The address that it announces as next hop for a prefix.
    #[must_use]
    pub const fn next_hop(self, prefix: IpNet) -> IpAddr {
        match prefix {
            IpNet::V4(_) => IpAddr::V4(self.address()),
            IpNet::V6(_) => IpAddr::V6(self.address_v6()),
        }
    }

    /// Its BGP identifier.
    #[must_use]
    pub const fn router_id(self) -> RouterId {
        RouterId(self.address())
    }

    /// What its neighbours call it.
    #[must_use]
    pub const fn peer_id(self) -> PeerId {
        PeerId(self.0 as u32 + 1)
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn of_peer(peer: PeerId) -> Self {
        Self(u16::try_from(peer.0 - 1).expect("made by `peer_id`"))
    }
}

impl fmt::Display for SpeakerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "speaker{}", self.0)
    }
}

/// One speaker.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct SpeakerConfig {
    /// Its AS.
    pub asn: Asn,
    /// `Some` makes it a route reflector (RFC 4456).
    pub cluster_id: Option<RouterId>,
}

/// A pair of speakers with a session.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Link {
    /// Both ends.
    pub ends: [SpeakerId; 2],
    /// The second end is a client of the first, which is a reflector.
    pub client: bool,
}

/// Speakers and links.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Topology {
    /// Position is [`SpeakerId`].
    pub speakers: Vec<SpeakerConfig>,
    /// At most one for each pair.
    pub links: Vec<Link>,
}

/// What the reflectors of [`Topology::reflectors`] have as CLUSTER_ID.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Clusters {
    /// All the same: they refuse what another one has reflected.
    Shared,
    /// Each its own.
    Separate,
}

impl Topology {
    /// `count` speakers in one AS, everyone with everyone.
    #[must_use]
    pub fn full_mesh(count: u16) -> Self {
        let mut topology = Self {
            speakers: vec![speaker(INTERNAL); count.into()],
            links: Vec::new(),
        };
        topology.mesh(0..count);
        topology
    }

    /// `count` speakers, each in an AS of its own, in a row.
    #[must_use]
    pub fn chain(count: u16) -> Self {
        let mut topology = Self {
            speakers: (0..count).map(|number| speaker(external(number))).collect(),
            links: Vec::new(),
        };
        for number in 1..count {
            topology.link(number - 1, number, false);
        }
        topology
    }

    /// The same, closed: everything can be reached from two sides.
    #[must_use]
    pub fn ring(count: u16) -> Self {
        let mut topology = Self::chain(count);
        if count > 2 {
            topology.link(count - 1, 0, false);
        }
        topology
    }

    /// The first `reflectors` speakers are in full mesh, and each of the `clients` after them talks to all of these.
    #[must_use]
    pub fn reflectors(reflectors: u16, clients: u16, clusters: Clusters) -> Self {
        let mut topology = Self::full_mesh(reflectors);
        for (number, reflector) in (0..).zip(&mut topology.speakers) {
            let named_after = match clusters {
                Clusters::Shared => 0,
                Clusters::Separate => number,
            };
            reflector.cluster_id = Some(SpeakerId(named_after).router_id());
        }
        for client in reflectors..reflectors + clients {
            topology.speakers.push(speaker(INTERNAL));
            for reflector in 0..reflectors {
                topology.link(reflector, client, true);
            }
        }
        topology
    }

    /// Two ASes of `count` speakers, full mesh inside, and `borders` links between them.
    #[must_use]
    pub fn neighbours(count: u16, borders: u16) -> Self {
        let sides = [INTERNAL, external(0)];
        let mut topology = Self {
            speakers: sides
                .into_iter()
                .flat_map(|asn| vec![speaker(asn); count.into()])
                .collect(),
            links: Vec::new(),
        };
        topology.mesh(0..count);
        topology.mesh(count..2 * count);
        for border in 0..borders.min(count) {
            topology.link(border, count + border, false);
        }
        topology
    }

    /// All speakers.
    pub fn ids(&self) -> impl Iterator<Item = SpeakerId> + use<> {
        (0..u16::try_from(self.speakers.len()).expect("counted by a u16")).map(SpeakerId)
    }

    /// One speaker.
    #[must_use]
    pub fn speaker(&self, id: SpeakerId) -> SpeakerConfig {
        self.speakers[id.index()]
    }

    /// The neighbours of a speaker, each with the position of the link.
    pub fn neighbours_of(&self, id: SpeakerId) -> impl Iterator<Item = (SpeakerId, usize)> + '_ {
        self.links
            .iter()
            .enumerate()
            .filter_map(move |(position, link)| match link.ends {
                [one, other] if one == id => Some((other, position)),
                [other, one] if one == id => Some((other, position)),
                _ => None,
            })
    }

    /// iBGP or eBGP.
    #[must_use]
    pub fn session_type(&self, link: usize) -> SessionType {
        let [one, other] = self.links[link].ends.map(|end| self.speaker(end).asn);
        if one == other {
            SessionType::Internal
        } else {
            SessionType::External
        }
    }

    /// True when `id` is the reflector of this link, and the other end its client.
    #[must_use]
    pub fn is_reflector_of(&self, id: SpeakerId, link: usize) -> bool {
        let link = self.links[link];
        link.client && link.ends[0] == id
    }

    fn mesh(&mut self, range: std::ops::Range<u16>) {
        for one in range.clone() {
            for other in one + 1..range.end {
                self.link(one, other, false);
            }
        }
    }

    fn link(&mut self, one: u16, other: u16, client: bool) {
        self.links.push(Link {
            ends: [SpeakerId(one), SpeakerId(other)],
            client,
        });
    }
}

/// A prefix for tests, each number another one; odd numbers are IPv6.
#[must_use]
pub fn prefix(number: u16) -> IpNet {
    let half = u32::from(number / 2);
    if number.is_multiple_of(2) {
        let address = Ipv4Addr::from_bits(0x0a00_0000 + (half << 8));
        IpNet::V4(Ipv4Net::new(address, 24).expect("24 is a valid length"))
    } else {
        let address = Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(half) << 64);
        IpNet::V6(Ipv6Net::new(address, 64).expect("64 is a valid length"))
    }
}

fn speaker(asn: Asn) -> SpeakerConfig {
    SpeakerConfig {
        asn,
        cluster_id: None,
    }
}

fn external(number: u16) -> Asn {
    Asn(4_200_000_000 + u32::from(number))
}

const INTERNAL: Asn = Asn(64512);
