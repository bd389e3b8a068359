//! The rules: from inputs to the overlay, for one family like for the other.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use ipnet::IpNet;

use crate::{
    Family, Finding, Inputs, MacAddr, Missing, Mode, Mtu, NodeInfo, Overlay, Settings, Tunnel,
    TunnelRoute, Vtep,
};

/// The overlay that follows from the inputs.
pub(crate) fn overlay(inputs: &Inputs) -> Overlay {
    let mut findings = Vec::new();
    let mut tunnels = Vec::new();
    let families: Vec<Family> = Family::ALL
        .into_iter()
        .filter(|family| {
            inputs
                .pools
                .iter()
                .any(|pool| Family::of(&pool.cidr) == *family)
        })
        .collect();
    if !families.is_empty() && settings_are_usable(&inputs.settings, &families, &mut findings) {
        for family in families {
            tunnels.extend(
                Computation {
                    inputs,
                    family,
                    findings: &mut findings,
                }
                .tunnel(),
            );
        }
    }
    findings.sort();
    Overlay { tunnels, findings }
}

fn settings_are_usable(
    settings: &Settings,
    families: &[Family],
    findings: &mut Vec<Finding>,
) -> bool {
    let mut refuse = |setting, problem, remedy| {
        findings.push(Finding::Setting {
            setting,
            problem,
            remedy,
        });
    };
    let mut usable = true;
    if !(1..=MAX_VNI).contains(&settings.vni) {
        refuse(
            "VNI",
            format!("it is {}", settings.vni),
            "use 1 to 16777215, with Windows nodes 4096 to 65535",
        );
        usable = false;
    }
    if settings.port == 0 {
        refuse("port", "it is 0".to_owned(), "use 4789");
        usable = false;
    }
    for family in families {
        let device = settings.device(*family);
        let is_name = (1..=MAX_DEVICE_NAME).contains(&device.len())
            && !device
                .contains(|c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control())
            && device != "."
            && device != "..";
        if !is_name {
            refuse(
                "device name",
                format!("{device:?} is none"),
                "use 1 to 15 letters, digits, dots or dashes",
            );
            usable = false;
        }
    }
    if families.len() > 1 && settings.device_v4 == settings.device_v6 {
        let problem = format!(
            "{:?} is both the IPv4 and the IPv6 device",
            settings.device_v4
        );
        refuse("device name", problem, "name them differently");
        usable = false;
    }
    usable
}

struct Computation<'a> {
    inputs: &'a Inputs,
    family: Family,
    findings: &'a mut Vec<Finding>,
}

/// This node as an end of the tunnel.
struct OwnEnd {
    /// Address with its subnet.
    subnet: IpNet,
    tunnel_address: IpAddr,
    mac: MacAddr,
}

impl<'a> Computation<'a> {
    fn tunnel(mut self) -> Option<Tunnel> {
        let own = self.own_end()?;
        let vteps = self.vteps(&own);
        let by_node: HashMap<&str, IpAddr> = vteps
            .iter()
            .map(|(address, vtep)| (vtep.node.as_str(), *address))
            .collect();
        let mut routes = self.routes(&own, &by_node);
        self.add_ways_to_vteps(&own, &vteps, &mut routes);
        let settings = &self.inputs.settings;
        Some(Tunnel {
            device: settings.device(self.family).clone(),
            family: self.family,
            vni: settings.vni,
            port: settings.port,
            local: own.subnet.addr(),
            tunnel_address: own.tunnel_address,
            mac: own.mac,
            mtu: settings.mtu(self.family).map_or(Mtu::Auto, Mtu::Fixed),
            vteps,
            routes,
        })
    }

    fn own_end(&mut self) -> Option<OwnEnd> {
        let name = &self.inputs.node;
        let found = self
            .inputs
            .nodes
            .get(name)
            .ok_or(Missing::Node)
            .and_then(|node| self.end_of(node));
        match found {
            Ok((subnet, tunnel_address)) => {
                // The node is there, or it would have no end.
                let mac = self.inputs.nodes.get(name)?.mac(name, self.family);
                if mac.is_unicast() {
                    return Some(OwnEnd {
                        subnet,
                        tunnel_address,
                        mac,
                    });
                }
                self.findings.push(Finding::InvalidMac {
                    node: name.clone(),
                    mac,
                });
            }
            Err(missing) => {
                let (node, family) = (name.clone(), self.family);
                self.findings.push(Finding::OwnEndMissing {
                    node,
                    family,
                    missing,
                });
            }
        }
        None
    }

    fn end_of(&self, node: &NodeInfo) -> Result<(IpNet, IpAddr), Missing> {
        let address = node.address(self.family).ok_or(Missing::Address)?;
        let tunnel = node
            .tunnel_address(self.family)
            .ok_or(Missing::TunnelAddress)?;
        Ok((address, tunnel))
    }

    /// The other ends. Of several nodes that claim the same address, this node comes first, then the first by name:
    /// all nodes leave out the same one.
    fn vteps(&mut self, own: &OwnEnd) -> BTreeMap<IpAddr, Vtep> {
        let mut vteps = BTreeMap::<IpAddr, Vtep>::new();
        let mut macs = BTreeMap::from([(own.mac, self.inputs.node.as_str())]);
        for (name, node) in self.others() {
            let Ok((subnet, address)) = self.end_of(node) else {
                continue;
            };
            let (underlay, mac) = (subnet.addr(), node.mac(name, self.family));
            let holder = match vteps.get(&address) {
                Some(vtep) => Some(vtep.node.clone()),
                None => (address == own.tunnel_address).then(|| self.inputs.node.clone()),
            };
            let finding = if underlay == own.subnet.addr() {
                Finding::OwnAddressElsewhere {
                    node: name.clone(),
                    address: underlay,
                }
            } else if !mac.is_unicast() {
                Finding::InvalidMac {
                    node: name.clone(),
                    mac,
                }
            } else if let Some(kept) = holder {
                Finding::DuplicateTunnelAddress {
                    address,
                    kept,
                    dropped: name.clone(),
                }
            } else if let Some(kept) = macs.get(&mac) {
                let (kept, dropped) = ((*kept).to_owned(), name.clone());
                Finding::DuplicateMac {
                    mac,
                    family: self.family,
                    kept,
                    dropped,
                }
            } else {
                macs.insert(mac, name);
                vteps.insert(
                    address,
                    Vtep {
                        node: name.clone(),
                        mac,
                        underlay,
                    },
                );
                continue;
            };
            self.findings.push(finding);
        }
        vteps
    }

    fn others(&self) -> impl Iterator<Item = (&'a String, &'a NodeInfo)> + use<'a> {
        let inputs = self.inputs;
        inputs
            .nodes
            .iter()
            .filter(|(name, _)| **name != inputs.node)
    }

    fn routes(
        &mut self,
        own: &OwnEnd,
        vteps: &HashMap<&str, IpAddr>,
    ) -> BTreeMap<IpNet, TunnelRoute> {
        let mut routes = BTreeMap::new();
        let mut unreachable = BTreeMap::<&str, (Missing, IpNet, usize)>::new();
        for (prefix, node) in &self.inputs.routes {
            // The unspecified address stands for "no address" in block data.
            let is_nothing =
                prefix.addr().is_unspecified() && prefix.prefix_len() == self.family.host_length();
            if Family::of(prefix) != self.family || *node == self.inputs.node || is_nothing {
                continue;
            }
            let Some(mode) = self.mode_of(prefix) else {
                self.findings.push(Finding::OutsidePools {
                    prefix: *prefix,
                    node: node.clone(),
                });
                continue;
            };
            match self.route(own, prefix, mode, node, vteps.get(node.as_str()).copied()) {
                Ok(route) => {
                    routes.insert(*prefix, route);
                }
                Err(missing) => {
                    unreachable
                        .entry(node)
                        .and_modify(|(_, _, more)| *more += 1)
                        .or_insert((missing, *prefix, 0));
                }
            }
        }
        let family = self.family;
        self.findings.extend(
            unreachable
                .into_iter()
                .map(|(node, (missing, prefix, more))| Finding::VtepMissing {
                    node: node.to_owned(),
                    family,
                    missing,
                    prefix,
                    more,
                }),
        );
        routes
    }

    fn route(
        &self,
        own: &OwnEnd,
        prefix: &IpNet,
        mode: Mode,
        node: &str,
        vtep: Option<IpAddr>,
    ) -> Result<TunnelRoute, Missing> {
        let info = self.inputs.nodes.get(node).ok_or(Missing::Node)?;
        if let Some(route) = self.same_subnet(own, mode, info) {
            return Ok(route);
        }
        match vtep {
            Some(address) if is_host(prefix, address) => Ok(TunnelRoute::Vtep),
            Some(address) => Ok(TunnelRoute::Via(address)),
            None => Err(self
                .end_of(info)
                .map_or_else(|missing| missing, |_| Missing::UsableEnd)),
        }
    }

    fn same_subnet(&self, own: &OwnEnd, mode: Mode, node: &NodeInfo) -> Option<TunnelRoute> {
        let address = node.address(self.family)?.addr();
        let direct = mode == Mode::CrossSubnet
            && own.subnet.contains(&address)
            && address != own.subnet.addr();
        direct.then_some(TunnelRoute::SameSubnet(address))
    }

    /// A tunnel address that its node's prefixes don't cover needs a route of its own: it is the source of what that
    /// node itself sends into the overlay, and answers must not go to whoever holds the prefix around it.
    fn add_ways_to_vteps(
        &self,
        own: &OwnEnd,
        vteps: &BTreeMap<IpAddr, Vtep>,
        routes: &mut BTreeMap<IpNet, TunnelRoute>,
    ) {
        let lengths: BTreeSet<u8> = self
            .inputs
            .routes
            .keys()
            .filter(|prefix| Family::of(prefix) == self.family)
            .map(IpNet::prefix_len)
            .collect();
        for (address, vtep) in vteps {
            if self.holder_of(*address, &lengths) == Some(&vtep.node) {
                continue;
            }
            let host = IpNet::from(*address);
            let direct = self.mode_of(&host).zip(self.inputs.nodes.get(&vtep.node));
            let route = direct.and_then(|(mode, node)| self.same_subnet(own, mode, node));
            routes.insert(host, route.unwrap_or(TunnelRoute::Vtep));
        }
    }

    /// The node that the longest prefix around an address leads to.
    fn holder_of(&self, address: IpAddr, lengths: &BTreeSet<u8>) -> Option<&String> {
        lengths.iter().rev().find_map(|length| {
            let prefix = IpNet::new(address, *length).ok()?.trunc();
            self.inputs.routes.get(&prefix)
        })
    }

    /// The mode of the smallest pool around a prefix.
    fn mode_of(&self, prefix: &IpNet) -> Option<Mode> {
        let pools = self
            .inputs
            .pools
            .iter()
            .filter(|pool| pool.cidr.contains(prefix));
        pools
            .max_by_key(|pool| pool.cidr.prefix_len())
            .map(|pool| pool.mode)
    }
}

fn is_host(prefix: &IpNet, address: IpAddr) -> bool {
    *prefix == IpNet::from(address)
}

/// VNIs have 24 bits (RFC 7348 section 5).
const MAX_VNI: u32 = 0xff_ffff;
/// `IFNAMSIZ` less the closing zero.
const MAX_DEVICE_NAME: usize = 15;
