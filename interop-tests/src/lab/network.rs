//! The lab's namespaces and cables.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::plan::{INTERNET_V4, INTERNET_V6, Node, Plan, Pod, TOR_V4, TOR_V6};
use crate::netns::Netns;
use crate::process::Cmd;
use crate::sandbox::Sandbox;
use crate::switch::{Attachment, Switch, cable};

/// All namespaces, wired and addressed; no daemon yet.
#[derive(Debug)]
pub struct Network {
    /// The underlay.
    pub underlay: Switch,
    /// The ToR.
    pub tor: Netns,
    /// Nodes and pods by name.
    namespaces: BTreeMap<String, Netns>,
}

impl Network {
    /// Builds it. Few processes whatever the size: two for each namespace, and some for all.
    ///
    /// # Errors
    /// When `ip` refuses something, or the user interrupts.
    pub fn build(sandbox: &Sandbox, plan: &Plan) -> Result<Self> {
        let underlay = Switch::new(sandbox, "underlay")?;
        let nodes = plan.nodes.iter().map(|node| node.name.as_str());
        let names = nodes.chain(plan.pods().map(|pod| pod.name.as_str()));
        let mut namespaces: BTreeMap<String, Netns> = sandbox
            .netns_many(names.chain(["tor"]))?
            .into_iter()
            .map(|netns| (netns.name().to_owned(), netns))
            .collect();
        let tor = namespaces.remove("tor").context("the ToR was asked for")?;
        let network = Self {
            underlay,
            tor,
            namespaces,
        };

        network.lay_cables(plan)?;
        if plan.nodes.len() > NEIGHBOURS_LEARNED {
            network.set_neighbours(plan)?;
        }
        network.set_up_tor()?;
        for node in &plan.nodes {
            network.set_up_node(node)?;
            for pod in [&node.bgp_pod, &node.vxlan_pod] {
                network.set_up_pod(pod)?;
            }
        }
        Ok(network)
    }

    /// A node's or pod's namespace.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn netns(&self, name: &str) -> Result<&Netns> {
        self.namespaces
            .get(name)
            .with_context(|| format!("the lab has no {name}"))
    }

    fn lay_cables(&self, plan: &Plan) -> Result<()> {
        let mut attachments = vec![Attachment {
            node: &self.tor,
            interface: "eth0",
            addresses: vec![format!("{TOR_V4}/16"), format!("{TOR_V6}/64")],
        }];
        let mut pod_cables = String::new();
        for node in &plan.nodes {
            let netns = self.netns(&node.name)?;
            attachments.push(Attachment {
                node: netns,
                interface: "eth0",
                addresses: vec![format!("{}/16", node.ipv4), format!("{}/64", node.ipv6)],
            });
            for pod in [&node.bgp_pod, &node.vxlan_pod] {
                let pod_end = (self.netns(&pod.name)?, "eth0");
                pod_cables.push_str(&cable((netns, &pod.interface), pod_end));
            }
        }
        self.underlay.attach_many(&attachments)?;
        Cmd::new("ip")
            .args(["-batch", "-"])
            .stdin(pod_cables)
            .run()
            .map(drop)
    }

    /// Tells everybody on the underlay where everybody else is.
    ///
    /// All namespaces share one table of neighbours, which takes 1024 that are learned, and any number that are set.
    fn set_neighbours(&self, plan: &Plan) -> Result<()> {
        let mut members = vec![(&self.tor, TOR_V4, TOR_V6)];
        for node in &plan.nodes {
            members.push((self.netns(&node.name)?, node.ipv4, node.ipv6));
        }
        let mut lines = Vec::new();
        for (netns, ipv4, ipv6) in &members {
            let link = netns.link("eth0")?.context("eth0 was just made")?;
            let mac = link.mac.context("eth0 has a MAC address")?;
            lines.push([
                format!("neigh replace {ipv4} lladdr {mac} dev eth0 nud permanent"),
                format!("neigh replace {ipv6} lladdr {mac} dev eth0 nud permanent"),
            ]);
        }
        for (member, (netns, ..)) in members.iter().enumerate() {
            let others = lines
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != member);
            netns.ip(others.flat_map(|(_, lines)| lines.clone()))?;
        }
        Ok(())
    }

    fn set_up_tor(&self) -> Result<()> {
        self.tor.enable_forwarding()?;
        self.tor.ip([
            format!("address add {INTERNET_V4}/32 dev lo"),
            format!("address add {INTERNET_V6}/128 dev lo"),
        ])
    }

    /// The node's side of what Calico's CNI plugin does: a route to each address of a pod, and a gateway without an
    /// address of its own.
    fn set_up_node(&self, node: &Node) -> Result<()> {
        let netns = self.netns(&node.name)?;
        netns.enable_forwarding()?;
        let mut lines = Vec::new();
        for Pod {
            interface,
            mtu,
            addresses,
            ..
        } in [&node.bgp_pod, &node.vxlan_pod]
        {
            lines.push(format!(
                "link set {interface} address {GATEWAY_MAC} mtu {mtu} up"
            ));
            for address in addresses {
                // As Felix writes them, metric included, which tells them from what others write.
                lines.push(format!(
                    "route add {address} dev {interface} scope link metric 1024"
                ));
            }
        }
        netns.ip(lines)
    }

    /// The pod's side.
    fn set_up_pod(&self, pod: &Pod) -> Result<()> {
        let mut lines = vec![format!("link set eth0 mtu {} up", pod.mtu)];
        for address in &pod.addresses {
            if address.is_ipv4() {
                lines.extend([
                    format!("address add {address}/32 dev eth0"),
                    format!("neigh add {GATEWAY_V4} lladdr {GATEWAY_MAC} dev eth0 nud permanent"),
                    format!("route add {GATEWAY_V4} dev eth0 scope link"),
                    format!("route add default via {GATEWAY_V4} dev eth0"),
                ]);
            } else {
                lines.extend([
                    format!("address add {address}/128 dev eth0"),
                    format!("neigh add {GATEWAY_V6} lladdr {GATEWAY_MAC} dev eth0 nud permanent"),
                    format!("route add ::/0 via {GATEWAY_V6} dev eth0"),
                ]);
            }
        }
        self.netns(&pod.name)?.ip(lines)
    }
}

/// Up to so many nodes find each other by ARP and neighbour discovery.
const NEIGHBOURS_LEARNED: usize = 16;

/// What Calico gives to every pod as its gateway; the node's end of the cable has its MAC.
const GATEWAY_V4: &str = "169.254.1.1";
const GATEWAY_MAC: &str = "ee:ee:ee:ee:ee:ee";
/// The link-local address that belongs to the MAC.
const GATEWAY_V6: &str = "fe80::ecee:eeff:feee:eeee";
