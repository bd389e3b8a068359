//! What is known of the host beside weft's own objects: links, their addresses, and other people's routes.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hashbrown::HashMap;
use ipnet::IpNet;

use crate::object::{ForeignRoute, Hop, Link};

/// Links by interface index, foreign routes of table main by prefix.
#[derive(Debug)]
pub(super) struct HostModel {
    links: BTreeMap<u32, Link>,
    foreign: HashMap<IpNet, Vec<ForeignRoute>>,
    /// How many foreign prefixes there are of each length, so that a lookup tries only these.
    lengths_v4: [u32; 33],
    lengths_v6: [u32; 129],
}

impl Default for HostModel {
    fn default() -> Self {
        Self {
            links: BTreeMap::new(),
            foreign: HashMap::new(),
            lengths_v4: [0; 33],
            lengths_v6: [0; 129],
        }
    }
}

impl HostModel {
    /// Replaces all links; `true` when anything is different.
    pub(super) fn set_links(&mut self, links: Vec<Link>) -> bool {
        let links = links.into_iter().map(|link| (link.ifindex, link)).collect();
        let changed = self.links != links;
        self.links = links;
        changed
    }

    pub(super) fn link(&self, ifindex: u32) -> Option<&Link> {
        self.links.get(&ifindex)
    }

    pub(super) fn links(&self) -> impl Iterator<Item = &Link> {
        self.links.values()
    }

    pub(super) fn link_named(&self, name: &str) -> Option<&Link> {
        self.links.values().find(|link| link.name == name)
    }

    /// The link that carries an address.
    pub(super) fn owner(&self, address: IpAddr) -> Option<&Link> {
        self.links
            .values()
            .find(|link| link.addresses.iter().any(|net| net.addr() == address))
    }

    pub(super) fn add_foreign(&mut self, prefix: IpNet, route: ForeignRoute) {
        let routes = self.foreign.entry(prefix).or_default();
        if routes.contains(&route) {
            return;
        }
        routes.push(route);
        routes.sort_by_key(|route| route.metric);
        if routes.len() == 1 {
            *self.length_mut(&prefix) += 1;
        }
    }

    pub(super) fn remove_foreign(&mut self, prefix: &IpNet, route: &ForeignRoute) {
        let Some(routes) = self.foreign.get_mut(prefix) else {
            return;
        };
        let exact = routes.iter().position(|known| known == route);
        let found = exact.or_else(|| {
            routes
                .iter()
                .position(|known| known.metric == route.metric && known.protocol == route.protocol)
        });
        if let Some(index) = found {
            routes.remove(index);
            if routes.is_empty() {
                self.foreign.remove(prefix);
                *self.length_mut(prefix) -= 1;
            }
        }
    }

    pub(super) fn clear_foreign(&mut self) {
        self.foreign.clear();
        self.lengths_v4 = [0; 33];
        self.lengths_v6 = [0; 129];
    }

    /// Whether somebody has a route at exactly this place.
    pub(super) fn foreign_at(&self, prefix: &IpNet, metric: u32) -> Option<&ForeignRoute> {
        self.foreign
            .get(prefix)?
            .iter()
            .find(|route| route.metric == metric)
    }

    /// The ways out towards an address by other people's routes: longest prefix, lowest metric. Empty when there is no
    /// route, when it leads nowhere, or when its interfaces are down.
    pub(super) fn ways_to(&self, address: IpAddr) -> Vec<Hop> {
        let Some(routes) = self.longest_match(address) else {
            return Vec::new();
        };
        routes
            .iter()
            .map(|route| {
                let usable = route.hops.iter().filter(|hop| self.is_up(hop.ifindex));
                usable.cloned().collect::<Vec<Hop>>()
            })
            .find(|hops| !hops.is_empty())
            .unwrap_or_default()
    }

    fn longest_match(&self, address: IpAddr) -> Option<&[ForeignRoute]> {
        let lengths: &[u32] = match address {
            IpAddr::V4(_) => &self.lengths_v4,
            IpAddr::V6(_) => &self.lengths_v6,
        };
        for length in (0..lengths.len()).rev() {
            if lengths[length] == 0 {
                continue;
            }
            let prefix = IpNet::new(address, u8::try_from(length).ok()?)
                .ok()?
                .trunc();
            if let Some(routes) = self.foreign.get(&prefix) {
                return Some(routes);
            }
        }
        None
    }

    pub(super) fn is_up(&self, ifindex: u32) -> bool {
        self.links.get(&ifindex).is_some_and(|link| link.up)
    }

    fn length_mut(&mut self, prefix: &IpNet) -> &mut u32 {
        match prefix {
            IpNet::V4(net) => &mut self.lengths_v4[usize::from(net.prefix_len())],
            IpNet::V6(net) => &mut self.lengths_v6[usize::from(net.prefix_len())],
        }
    }
}
