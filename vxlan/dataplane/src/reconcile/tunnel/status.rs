//! What became of a tunnel, for people to look at.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use vxlan::{Tunnel, Vtep};

use super::super::host_model::HostModel;
use super::{ObjectKey, TunnelState};
use crate::{DeviceStatus, EntryState, TunnelStatus, VtepStatus};

impl TunnelState {
    pub(in crate::reconcile) fn status(&self, host: &HostModel) -> TunnelStatus {
        let Tunnel {
            device,
            family,
            vni,
            port,
            local,
            tunnel_address,
            mac,
            mtu: _,
            vteps,
            routes,
        } = &self.wanted;
        TunnelStatus {
            device: device.clone(),
            family: *family,
            vni: *vni,
            port: *port,
            local: *local,
            tunnel_address: *tunnel_address,
            mac: *mac,
            state: host.link_named(device).map(|link| DeviceStatus {
                ifindex: link.ifindex,
                mtu: link.mtu,
                up: link.up,
            }),
            parent: host.owner(*local).map(|link| link.name.clone()),
            problem: self.problem.clone(),
            vteps: self.vtep_statuses(vteps),
            routes: routes.len(),
            drift_repaired: self.drift,
            foreign: self.foreign.clone(),
        }
    }

    fn vtep_statuses(&self, vteps: &BTreeMap<IpAddr, Vtep>) -> BTreeMap<IpAddr, VtepStatus> {
        let mut behind: BTreeMap<IpAddr, Vec<IpNet>> = BTreeMap::new();
        for (prefix, route) in &self.wanted.routes {
            let address = match route {
                vxlan::TunnelRoute::Via(address) => *address,
                vxlan::TunnelRoute::Vtep => prefix.addr(),
                vxlan::TunnelRoute::SameSubnet(_) => continue,
            };
            behind.entry(address).or_default().push(*prefix);
        }
        vteps
            .iter()
            .map(|(address, vtep)| {
                let Vtep {
                    node,
                    mac,
                    underlay,
                } = vtep;
                let actual = self.actual.as_ref();
                let neighbour = actual.is_some_and(|a| a.neighbours.get(address) == Some(mac));
                let fdb = actual.is_some_and(|actual| actual.fdb.get(mac) == Some(underlay));
                let status = VtepStatus {
                    node: node.clone(),
                    mac: *mac,
                    underlay: *underlay,
                    neighbour: self.entry_state(neighbour, &ObjectKey::Neighbour(*address)),
                    fdb: self.entry_state(fdb, &ObjectKey::Fdb(*mac)),
                    prefixes: behind.remove(address).unwrap_or_default(),
                };
                (*address, status)
            })
            .collect()
    }

    fn entry_state(&self, installed: bool, key: &ObjectKey) -> EntryState {
        match self.refused.error(key) {
            _ if installed => EntryState::Installed,
            Some(error) => EntryState::Failed(error.clone()),
            None => EntryState::Pending,
        }
    }
}
