//! Events on their way to the receiver: in order, only the latest about each object.

use std::collections::VecDeque;
use std::net::IpAddr;

use hashbrown::HashMap;
use ipnet::IpNet;

use crate::{DataplaneEvent, RouteClass};

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    order: VecDeque<Key>,
    latest: HashMap<Key, DataplaneEvent>,
}

#[derive(Clone, Debug, Eq, PartialEq, Hash)]
enum Key {
    Route(IpNet, RouteClass),
    Tunnel(String),
    Vtep(String, IpAddr),
    Resynced,
}

impl Outbox {
    pub(super) fn push(&mut self, event: DataplaneEvent) {
        let key = match &event {
            DataplaneEvent::Route { prefix, class, .. } => Key::Route(*prefix, *class),
            DataplaneEvent::Tunnel { device, .. } => Key::Tunnel(device.clone()),
            DataplaneEvent::Vtep {
                device, address, ..
            } => Key::Vtep(device.clone(), *address),
            DataplaneEvent::Resynced { .. } => Key::Resynced,
        };
        if self.latest.insert(key.clone(), event).is_none() {
            self.order.push_back(key);
        }
    }

    /// Takes back what has not been told of a route that nobody wants any more.
    pub(super) fn retract(&mut self, prefix: IpNet, class: RouteClass) {
        // Its place in the order stays, and is skipped.
        self.latest.remove(&Key::Route(prefix, class));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.latest.is_empty()
    }

    pub(crate) fn pop(&mut self) -> Option<DataplaneEvent> {
        while let Some(key) = self.order.pop_front() {
            if let Some(event) = self.latest.remove(&key) {
                return Some(event);
            }
        }
        None
    }
}
