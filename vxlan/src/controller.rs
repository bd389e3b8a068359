//! Keeps the inputs and the overlay that follows from them.

use ipnet::IpNet;

use crate::compute;
use crate::{Inputs, NodeInfo, Overlay, Pool, Settings};

/// Inputs, and the overlay that they make.
///
/// The overlay is computed from scratch after each [`Self::set`] or [`Self::update`], a few milliseconds for thousands
/// of nodes: give many changes at once.
#[derive(Clone, Debug, Default)]
pub struct Controller {
    inputs: Inputs,
    overlay: Overlay,
}

/// A change of the inputs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Change {
    /// Other settings.
    Settings(Settings),
    /// Other pools, all of them.
    Pools(Vec<Pool>),
    /// A node as it is now; `None` when it is gone.
    Node(String, Option<NodeInfo>),
    /// The node that a prefix leads to now; `None` when it leads nowhere.
    Route(IpNet, Option<String>),
}

impl Controller {
    /// A controller with these inputs.
    #[must_use]
    pub fn new(inputs: Inputs) -> Self {
        let overlay = compute::overlay(&inputs);
        Self { inputs, overlay }
    }

    /// Replaces all inputs.
    pub fn set(&mut self, inputs: Inputs) {
        if self.inputs != inputs {
            *self = Self::new(inputs);
        }
    }

    /// Changes some inputs.
    pub fn update(&mut self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            self.take(change);
        }
        self.overlay = compute::overlay(&self.inputs);
    }

    /// What should be on the host.
    #[must_use]
    pub const fn desired(&self) -> &Overlay {
        &self.overlay
    }

    /// What it follows from.
    #[must_use]
    pub const fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    fn take(&mut self, change: Change) {
        match change {
            Change::Settings(settings) => self.inputs.settings = settings,
            Change::Pools(pools) => self.inputs.pools = pools,
            Change::Node(name, Some(node)) => {
                self.inputs.nodes.insert(name, node);
            }
            Change::Node(name, None) => {
                self.inputs.nodes.remove(&name);
            }
            Change::Route(prefix, Some(node)) => {
                self.inputs.routes.insert(prefix, node);
            }
            Change::Route(prefix, None) => {
                self.inputs.routes.remove(&prefix);
            }
        }
    }
}
