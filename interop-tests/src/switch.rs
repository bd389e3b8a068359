//! Cables: a switch (a bridge in a namespace of its own), and a direct cable between two namespaces.

use std::collections::BTreeMap;
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow};

use crate::netns::Netns;
use crate::process::Cmd;
use crate::sandbox::Sandbox;

/// A switch. Every port is a cable to an interface of some namespace; cables can be cut and mended.
#[derive(Debug)]
pub struct Switch {
    netns: Netns,
    /// Port by the far end's (namespace, interface).
    ports: Mutex<BTreeMap<(String, String), String>>,
}

impl Switch {
    /// A switch without ports, in the namespace `name`.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn new(sandbox: &Sandbox, name: &str) -> Result<Self> {
        let netns = sandbox.netns(name)?;
        netns.ip([
            // No address of its own, and no waiting for the forwarding state.
            "link add br0 type bridge forward_delay 0 mcast_snooping 0",
            "link set br0 up",
        ])?;
        Ok(Self {
            netns,
            ports: Mutex::new(BTreeMap::new()),
        })
    }

    /// The namespace the bridge is in; its device is `br0`.
    pub fn netns(&self) -> &Netns {
        &self.netns
    }

    /// Gives `node` an interface on this switch, up, with the addresses (`address/length`).
    ///
    /// # Errors
    /// When `ip` refuses.
    pub fn attach(&self, node: &Netns, interface: &str, addresses: &[&str]) -> Result<()> {
        let addresses = addresses
            .iter()
            .map(|&address| address.to_owned())
            .collect();
        self.attach_many(&[Attachment {
            node,
            interface,
            addresses,
        }])
    }

    /// Attaches many nodes with few processes.
    ///
    /// # Errors
    /// As [`Switch::attach`].
    pub fn attach_many(&self, attachments: &[Attachment<'_>]) -> Result<()> {
        let mut ports = self
            .ports
            .lock()
            .map_err(|_| anyhow!("the switch's lock is poisoned"))?;
        let mut cables = String::new();
        let mut ups = Vec::new();
        for Attachment {
            node, interface, ..
        } in attachments
        {
            let port = format!("p{}", ports.len() + 1);
            cables.push_str(&cable((node, interface), (&self.netns, &port)));
            ups.push(format!("link set {port} master br0 up"));
            ports.insert((node.full_name().to_owned(), (*interface).to_owned()), port);
        }
        Cmd::new("ip").args(["-batch", "-"]).stdin(cables).run()?;
        self.netns.ip(ups)?;
        for Attachment {
            node,
            interface,
            addresses,
        } in attachments
        {
            set_up(node, interface, addresses)?;
        }
        Ok(())
    }

    /// Cuts the cable to `node`'s interface: it loses its carrier.
    ///
    /// # Errors
    /// When there is no such cable.
    pub fn cut(&self, node: &Netns, interface: &str) -> Result<()> {
        self.set_port(node, interface, "down")
    }

    /// Mends a cut cable.
    ///
    /// # Errors
    /// When there is no such cable.
    pub fn mend(&self, node: &Netns, interface: &str) -> Result<()> {
        self.set_port(node, interface, "up")
    }

    fn set_port(&self, node: &Netns, interface: &str, state: &str) -> Result<()> {
        let ports = self
            .ports
            .lock()
            .map_err(|_| anyhow!("the switch's lock is poisoned"))?;
        let port = ports
            .get(&(node.full_name().to_owned(), interface.to_owned()))
            .with_context(|| format!("{}:{interface} is not on this switch", node.name()))?;
        self.netns.ip([format!("link set {port} {state}")])
    }
}

/// A cable to be plugged in.
#[derive(Debug)]
pub struct Attachment<'a> {
    /// The far end.
    pub node: &'a Netns,
    /// The interface that the node gets.
    pub interface: &'a str,
    /// Its addresses, `address/length`.
    pub addresses: Vec<String>,
}

/// A cable between two namespaces: (namespace, interface, addresses) at each end.
///
/// # Errors
/// When `ip` refuses.
pub fn connect(a: (&Netns, &str, &[&str]), b: (&Netns, &str, &[&str])) -> Result<()> {
    Cmd::new("ip")
        .args(["-batch", "-"])
        .stdin(cable((a.0, a.1), (b.0, b.1)))
        .run()?;
    set_up(a.0, a.1, a.2)?;
    set_up(b.0, b.1, b.2)
}

/// The line for `ip -batch` (run outside of both namespaces) that makes a veth pair.
pub(crate) fn cable(a: (&Netns, &str), b: (&Netns, &str)) -> String {
    format!(
        "link add {} netns {} type veth peer name {} netns {}\n",
        a.1,
        a.0.full_name(),
        b.1,
        b.0.full_name()
    )
}

fn set_up(node: &Netns, interface: &str, addresses: &[impl AsRef<str>]) -> Result<()> {
    let mut lines: Vec<String> = addresses
        .iter()
        .map(|address| format!("address add {} dev {interface}", address.as_ref()))
        .collect();
    lines.push(format!("link set {interface} up"));
    node.ip(lines)
}
