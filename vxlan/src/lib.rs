//! Nodes, VTEPs and blocks, and the tunnels and routes one node needs for them.
//!
//! ```text
//!   Inputs: settings, pools, nodes, ─▶ Controller ─▶ Overlay: per family one tunnel (device, address, MAC, MTU),
//!           who holds which prefix                            its VTEPs, its routes; and findings for people
//! ```
//!
//! The package is pure: no files, sockets, clocks or threads. What it computes depends on the inputs alone, never on
//! their order or on what was computed before.
//!
//! The overlay is VXLAN (RFC 7348) without flooding or learning: a node knows every VTEP beforehand. The rules are
//! those of Calico's node agent, so that nodes of both kinds form one overlay:
//!
//! - A VTEP exists when a node's address and its tunnel address are known. Its MAC address follows from the node's
//!   name ([`MacAddr::of_node`]) unless the node says otherwise.
//! - A prefix of another node is routed via that node's tunnel address; own prefixes are not the overlay's business.
//! - In a [`Mode::CrossSubnet`] pool, a prefix of a node in the own node's subnet is routed straight to that node.
//! - A tunnel address outside its node's own prefixes gets a route of its own, so that the way back is right.

mod compute;
mod controller;
mod finding;
mod inputs;
mod mac;
mod overlay;
#[cfg(test)]
mod tests;

pub use controller::{Change, Controller};
pub use finding::{Finding, Missing};
pub use inputs::{Inputs, Mode, NodeInfo, Pool, Settings};
pub use mac::{MacAddr, ParseMacError};
pub use overlay::{Family, Mtu, Overlay, Tunnel, TunnelRoute, Vtep};
