//! One VXLAN device with its address, neighbours and FDB entries. Its routes are with all others.

mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Instant;

use ipnet::IpNet;
use vxlan::{MacAddr, Mtu, Tunnel, Vtep};

use super::host_model::HostModel;
use super::outbox::Outbox;
use super::retry::{Pauses, Refused};
use crate::object::{DeviceSpec, Entries, Link, Operation, Refusal, VxlanLink};
use crate::{DEVICE_ALIAS, DataplaneEvent, KernelError};

#[derive(Debug)]
pub(super) struct TunnelState {
    pub(super) wanted: Tunnel,
    /// The device, once it is there and is what it should be.
    ifindex: Option<u32>,
    problem: Option<String>,
    told_problem: Option<Option<String>>,
    /// weft's own entries in the kernel; `None`: not looked at yet.
    actual: Option<Actual>,
    refused: Refused<ObjectKey>,
    told: BTreeMap<IpAddr, Result<(), KernelError>>,
    drift: u64,
    foreign: Vec<String>,
    /// Something is to be compared.
    pub(super) dirty: bool,
}

#[derive(Debug, Default)]
struct Actual {
    neighbours: BTreeMap<IpAddr, MacAddr>,
    fdb: BTreeMap<MacAddr, IpAddr>,
}

#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
enum ObjectKey {
    Device,
    Address,
    Neighbour(IpAddr),
    Fdb(MacAddr),
}

impl TunnelState {
    pub(super) fn new(wanted: Tunnel, pauses: Pauses) -> Self {
        Self {
            wanted,
            ifindex: None,
            problem: None,
            told_problem: None,
            actual: None,
            refused: Refused::new(pauses),
            told: BTreeMap::new(),
            drift: 0,
            foreign: Vec::new(),
            dirty: true,
        }
    }

    /// Replaces what is wanted; its routes are not looked at here.
    pub(super) fn set(&mut self, wanted: Tunnel) {
        if self.wanted != wanted {
            self.told
                .retain(|address, _| wanted.vteps.get(address) == self.wanted.vteps.get(address));
            self.wanted = wanted;
            self.dirty = true;
        }
    }

    pub(super) const fn ifindex(&self) -> Option<u32> {
        self.ifindex
    }

    /// The device whose entries have to be looked at before anything is written to it.
    pub(super) fn unknown_entries(&self) -> Option<u32> {
        match self.actual {
            None => self.ifindex,
            Some(_) => None,
        }
    }

    pub(super) fn host_changed(&mut self, host: &HostModel) {
        let found = host.link_named(&self.wanted.device);
        if self.ifindex.is_some() && self.ifindex != found.map(|link| link.ifindex) {
            // Gone, or another one: so are its entries.
            self.ifindex = None;
            self.actual = None;
            self.drift += 1;
        }
        self.dirty = true;
    }

    /// Takes in what the device has; returns whether something else had changed it.
    pub(super) fn observe(&mut self, entries: Entries) -> u64 {
        let mut seen = Actual::default();
        self.foreign.clear();
        for entry in entries.neighbours {
            if entry.own {
                seen.neighbours.insert(entry.address, entry.mac);
            } else {
                self.foreign.push(format!(
                    "permanent neighbour {} at {}",
                    entry.address, entry.mac
                ));
            }
        }
        for entry in entries.fdb {
            if entry.own {
                seen.fdb.insert(entry.mac, entry.underlay);
            } else {
                self.foreign.push(format!(
                    "permanent FDB entry {} to {}",
                    entry.mac, entry.underlay
                ));
            }
        }
        self.foreign.sort_unstable();
        let mut drift = 0;
        if let Some(known) = &self.actual {
            let lost = |address: &IpAddr, mac: &MacAddr| seen.neighbours.get(address) != Some(mac);
            drift += known.neighbours.iter().filter(|(a, m)| lost(a, m)).count();
            let lost = |mac: &MacAddr, underlay: &IpAddr| seen.fdb.get(mac) != Some(underlay);
            drift += known.fdb.iter().filter(|(m, u)| lost(m, u)).count();
        }
        let drift = u64::try_from(drift).unwrap_or(u64::MAX);
        self.drift += drift;
        self.actual = Some(seen);
        self.dirty = true;
        drift
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.refused.next_deadline()
    }

    /// What is to be written: puts go to `puts`, removals to `removals`, which have to be written after all puts.
    pub(super) fn plan(
        &mut self,
        now: Instant,
        host: &HostModel,
        remove_adopted: bool,
        puts: &mut Vec<Operation>,
        removals: &mut Vec<Operation>,
        outbox: &mut Outbox,
    ) {
        if !self.refused.take_due(now).is_empty() {
            self.dirty = true;
        }
        if !self.dirty {
            return;
        }
        self.dirty = false;
        let before = puts.len();
        match self.plan_device(host, puts) {
            Ok(Some(link)) => {
                self.ifindex = Some(link.ifindex);
                self.plan_addresses(link, puts, removals);
                self.plan_entries(link.ifindex, remove_adopted, puts, removals, outbox);
                if puts.len() == before {
                    self.problem = self
                        .refused
                        .error(&ObjectKey::Address)
                        .map(ToString::to_string);
                    self.tell_problem(outbox);
                }
            }
            // Being created or changed: to be looked at again when that is done.
            Ok(None) => {}
            Err(problem) => {
                self.problem = Some(problem);
                self.tell_problem(outbox);
            }
        }
    }

    /// The device when it is as it should be; `None` when operations have to come first.
    fn plan_device<'h>(
        &self,
        host: &'h HostModel,
        puts: &mut Vec<Operation>,
    ) -> Result<Option<&'h Link>, String> {
        let Tunnel {
            device,
            family,
            vni,
            port,
            local,
            mac,
            mtu,
            ..
        } = &self.wanted;
        if let Some(error) = self.refused.error(&ObjectKey::Device)
            && self.refused.is_waiting(&ObjectKey::Device)
        {
            return Err(format!("device {device}: {error}"));
        }
        let parent = host.owner(*local).ok_or_else(|| {
            format!(
                "no interface carries this node's address {local}; is the Node's address right?"
            )
        })?;
        let mtu = match mtu {
            Mtu::Auto => parent.mtu.saturating_sub(family.overhead()),
            Mtu::Fixed(bytes) => *bytes,
        };
        let create = || {
            Operation::CreateDevice(DeviceSpec {
                name: device.clone(),
                vni: *vni,
                port: *port,
                local: *local,
                parent: parent.ifindex,
                mac: *mac,
                mtu,
            })
        };
        let Some(link) = host.link_named(device) else {
            puts.push(create());
            return Ok(None);
        };
        let Some(found) = &link.vxlan else {
            return Err(format!(
                "{device} exists but is not a VXLAN device; rename or remove it"
            ));
        };
        let fits = *found
            == VxlanLink {
                vni: *vni,
                port: *port,
                local: Some(*local),
                parent: parent.ifindex,
                learning: false,
            };
        if !fits {
            // The kernel can't change these on a device that exists.
            puts.push(Operation::RemoveDevice {
                ifindex: link.ifindex,
            });
            puts.push(create());
            return Ok(None);
        }
        if link.mac != Some(*mac)
            || link.mtu != mtu
            || !link.up
            || link.alias.as_deref() != Some(DEVICE_ALIAS)
        {
            puts.push(Operation::ConfigureDevice {
                ifindex: link.ifindex,
                mac: *mac,
                mtu,
            });
            return Ok(None);
        }
        Ok(Some(link))
    }

    fn plan_addresses(
        &self,
        link: &Link,
        puts: &mut Vec<Operation>,
        removals: &mut Vec<Operation>,
    ) {
        let wanted = IpNet::from(self.wanted.tunnel_address);
        let waits = self.refused.is_waiting(&ObjectKey::Address);
        if !link.addresses.contains(&wanted) && !waits {
            puts.push(Operation::AddAddress {
                ifindex: link.ifindex,
                address: wanted,
            });
        }
        for address in &link.addresses {
            let kernels_own =
                matches!(address, IpNet::V6(net) if net.addr().is_unicast_link_local());
            if *address != wanted && !kernels_own {
                removals.push(Operation::RemoveAddress {
                    ifindex: link.ifindex,
                    address: *address,
                });
            }
        }
    }

    fn plan_entries(
        &mut self,
        ifindex: u32,
        remove_adopted: bool,
        puts: &mut Vec<Operation>,
        removals: &mut Vec<Operation>,
        outbox: &mut Outbox,
    ) {
        let Some(actual) = &self.actual else {
            return;
        };
        let mut installed = Vec::new();
        for (address, vtep) in &self.wanted.vteps {
            let Vtep { mac, underlay, .. } = vtep;
            // The way to the MAC address first, then who uses it.
            let has_fdb = actual.fdb.get(mac) == Some(underlay);
            if !has_fdb && !self.refused.is_waiting(&ObjectKey::Fdb(*mac)) {
                puts.push(Operation::PutFdb {
                    ifindex,
                    mac: *mac,
                    underlay: *underlay,
                });
            }
            let has_neighbour = actual.neighbours.get(address) == Some(mac);
            if !has_neighbour && !self.refused.is_waiting(&ObjectKey::Neighbour(*address)) {
                puts.push(Operation::PutNeighbour {
                    ifindex,
                    address: *address,
                    mac: *mac,
                });
            }
            if has_fdb && has_neighbour {
                installed.push(*address);
            }
        }
        for address in installed {
            self.tell_vtep(address, Ok(()), outbox);
        }
        if !remove_adopted {
            return;
        }
        let Some(actual) = &self.actual else {
            return;
        };
        for address in actual.neighbours.keys() {
            if !self.wanted.vteps.contains_key(address) {
                removals.push(Operation::RemoveNeighbour {
                    ifindex,
                    address: *address,
                });
            }
        }
        let in_use: BTreeSet<MacAddr> = self.wanted.vteps.values().map(|vtep| vtep.mac).collect();
        for (mac, underlay) in &actual.fdb {
            if !in_use.contains(mac) {
                removals.push(Operation::RemoveFdb {
                    ifindex,
                    mac: *mac,
                    underlay: *underlay,
                });
            }
        }
    }

    /// Takes the result of an operation of this tunnel's.
    pub(super) fn written(
        &mut self,
        now: Instant,
        operation: &Operation,
        result: &Result<(), Refusal>,
        outbox: &mut Outbox,
    ) {
        let Some(key) = key_of(operation) else {
            return;
        };
        self.dirty = true;
        match result {
            Ok(()) => {
                self.refused.clear(&key);
                self.note(operation);
            }
            Err(Refusal::Unknown) => self.actual = None,
            Err(Refusal::Kernel(error)) => {
                self.refused.refuse(now, key, error.clone());
                match key {
                    ObjectKey::Neighbour(address) => {
                        self.tell_vtep(address, Err(error.clone()), outbox);
                    }
                    ObjectKey::Fdb(mac) => {
                        let affected: Vec<IpAddr> = self
                            .wanted
                            .vteps
                            .iter()
                            .filter(|(_, vtep)| vtep.mac == mac)
                            .map(|(address, _)| *address)
                            .collect();
                        for address in affected {
                            self.tell_vtep(address, Err(error.clone()), outbox);
                        }
                    }
                    ObjectKey::Device | ObjectKey::Address => {
                        self.problem = Some(format!("{operation}: {error}"));
                        self.tell_problem(outbox);
                    }
                }
            }
        }
    }

    fn note(&mut self, operation: &Operation) {
        if let Operation::CreateDevice(_) = operation {
            // A new device has nothing on it.
            self.actual = Some(Actual::default());
            return;
        }
        if let Operation::RemoveDevice { .. } = operation {
            self.ifindex = None;
            self.actual = None;
            return;
        }
        let Some(actual) = &mut self.actual else {
            return;
        };
        match operation {
            Operation::PutNeighbour { address, mac, .. } => {
                actual.neighbours.insert(*address, *mac);
            }
            Operation::RemoveNeighbour { address, .. } => {
                actual.neighbours.remove(address);
            }
            Operation::PutFdb { mac, underlay, .. } => {
                actual.fdb.insert(*mac, *underlay);
            }
            Operation::RemoveFdb { mac, .. } => {
                actual.fdb.remove(mac);
            }
            _ => {}
        }
    }

    fn tell_vtep(&mut self, address: IpAddr, result: Result<(), KernelError>, outbox: &mut Outbox) {
        if self.told.get(&address) == Some(&result) {
            return;
        }
        self.told.insert(address, result.clone());
        outbox.push(DataplaneEvent::Vtep {
            device: self.wanted.device.clone(),
            address,
            result,
        });
    }

    fn tell_problem(&mut self, outbox: &mut Outbox) {
        if self.told_problem.as_ref() == Some(&self.problem) {
            return;
        }
        self.told_problem = Some(self.problem.clone());
        outbox.push(DataplaneEvent::Tunnel {
            device: self.wanted.device.clone(),
            problem: self.problem.clone(),
        });
    }
}

fn key_of(operation: &Operation) -> Option<ObjectKey> {
    Some(match operation {
        Operation::CreateDevice(_)
        | Operation::ConfigureDevice { .. }
        | Operation::RemoveDevice { .. } => ObjectKey::Device,
        Operation::AddAddress { .. } | Operation::RemoveAddress { .. } => ObjectKey::Address,
        Operation::PutNeighbour { address, .. } | Operation::RemoveNeighbour { address, .. } => {
            ObjectKey::Neighbour(*address)
        }
        Operation::PutFdb { mac, .. } | Operation::RemoveFdb { mac, .. } => ObjectKey::Fdb(*mac),
        Operation::PutRoute { .. } | Operation::RemoveRoute { .. } => return None,
    })
}
