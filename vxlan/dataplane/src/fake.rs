//! A host in memory, for tests: it does what the kernel does with each operation, and refuses what it is told to.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use ipnet::IpNet;
use vxlan::MacAddr;

use crate::object::{
    DeviceSpec, Entries, FdbEntry, ForeignRoute, Host, HostRoute, Link, Neighbour, Operation,
    Refusal, SeenRoute, VxlanLink,
};
use crate::{DEVICE_ALIAS, KernelError};

#[derive(Debug, Default)]
pub(crate) struct FakeHost {
    pub(crate) links: BTreeMap<u32, Link>,
    pub(crate) own: BTreeMap<IpNet, HostRoute>,
    pub(crate) foreign: BTreeMap<IpNet, ForeignRoute>,
    pub(crate) neighbours: BTreeMap<(u32, IpAddr), (MacAddr, bool)>,
    pub(crate) fdb: BTreeMap<(u32, MacAddr), (IpAddr, bool)>,
    /// Puts of these prefixes are refused.
    pub(crate) refuses: Vec<IpNet>,
    /// Everything that was carried out, in order.
    pub(crate) log: Vec<String>,
    next_ifindex: u32,
}

impl FakeHost {
    /// A host with `eth0` (interface 2) and a connected network.
    pub(crate) fn with_eth0(address: &str) -> Self {
        let mut host = Self {
            next_ifindex: 10,
            ..Self::default()
        };
        let address: IpNet = address.parse().expect("an address with a length");
        host.add_link("eth0", 2, &[address]);
        host.foreign.insert(address.trunc(), connected(2));
        host
    }

    pub(crate) fn add_link(&mut self, name: &str, ifindex: u32, addresses: &[IpNet]) {
        let link = Link {
            ifindex,
            name: name.to_owned(),
            mtu: 1500,
            up: true,
            alias: None,
            mac: None,
            vxlan: None,
            addresses: addresses.to_vec(),
        };
        self.links.insert(ifindex, link);
    }

    /// As the kernel does it: what leaves by the link goes with it.
    pub(crate) fn take_down(&mut self, ifindex: u32) {
        if let Some(link) = self.links.get_mut(&ifindex) {
            link.up = false;
        }
        self.forget_routes_by(ifindex);
    }

    fn forget_routes_by(&mut self, ifindex: u32) {
        self.own
            .retain(|_, route| route.hops().iter().all(|hop| hop.ifindex != ifindex));
        self.foreign
            .retain(|_, route| route.hops.iter().all(|hop| hop.ifindex != ifindex));
    }

    fn create(&mut self, spec: &DeviceSpec) -> Result<(), Refusal> {
        let taken = |link: &Link| {
            link.name == spec.name
                || link
                    .vxlan
                    .as_ref()
                    .is_some_and(|v| (v.vni, v.port) == (spec.vni, spec.port))
        };
        if self.links.values().any(taken) {
            return refuse(libc::EEXIST);
        }
        self.next_ifindex += 1;
        let link = Link {
            ifindex: self.next_ifindex,
            name: spec.name.clone(),
            mtu: spec.mtu,
            up: false,
            alias: None,
            mac: Some(spec.mac),
            vxlan: Some(VxlanLink {
                vni: spec.vni,
                port: spec.port,
                local: Some(spec.local),
                parent: spec.parent,
                learning: false,
            }),
            addresses: Vec::new(),
        };
        self.links.insert(self.next_ifindex, link);
        Ok(())
    }

    fn carry_out(&mut self, operation: &Operation) -> Result<(), Refusal> {
        match operation {
            Operation::CreateDevice(spec) => self.create(spec),
            Operation::ConfigureDevice { ifindex, mac, mtu } => {
                let link = self.link(*ifindex)?;
                link.mac = Some(*mac);
                link.mtu = *mtu;
                link.up = true;
                link.alias = Some(DEVICE_ALIAS.to_owned());
                Ok(())
            }
            Operation::RemoveDevice { ifindex } => {
                self.links.remove(ifindex);
                self.neighbours.retain(|(on, _), _| on != ifindex);
                self.fdb.retain(|(on, _), _| on != ifindex);
                self.forget_routes_by(*ifindex);
                Ok(())
            }
            Operation::AddAddress { ifindex, address } => {
                self.link(*ifindex)?.addresses.push(*address);
                Ok(())
            }
            Operation::RemoveAddress { ifindex, address } => {
                self.link(*ifindex)?.addresses.retain(|a| a != address);
                Ok(())
            }
            Operation::PutNeighbour {
                ifindex,
                address,
                mac,
            } => {
                self.link(*ifindex)?;
                self.neighbours.insert((*ifindex, *address), (*mac, true));
                Ok(())
            }
            Operation::RemoveNeighbour { ifindex, address } => {
                self.neighbours.remove(&(*ifindex, *address));
                Ok(())
            }
            Operation::PutFdb {
                ifindex,
                mac,
                underlay,
            } => {
                self.link(*ifindex)?;
                self.fdb.insert((*ifindex, *mac), (*underlay, true));
                Ok(())
            }
            Operation::RemoveFdb { ifindex, mac, .. } => {
                self.fdb.remove(&(*ifindex, *mac));
                Ok(())
            }
            Operation::PutRoute { prefix, route } => self.put_route(*prefix, route),
            Operation::RemoveRoute { prefix } => {
                self.own.remove(prefix);
                Ok(())
            }
        }
    }

    fn put_route(&mut self, prefix: IpNet, route: &HostRoute) -> Result<(), Refusal> {
        if self.refuses.contains(&prefix) {
            return refuse(libc::ENOMEM);
        }
        let usable = |ifindex: u32| self.links.get(&ifindex).is_some_and(|link| link.up);
        if !route.hops().iter().all(|hop| usable(hop.ifindex)) {
            return refuse(libc::ENETDOWN);
        }
        self.own.insert(prefix, route.clone());
        Ok(())
    }

    fn link(&mut self, ifindex: u32) -> Result<&mut Link, Refusal> {
        self.links
            .get_mut(&ifindex)
            .ok_or_else(|| Refusal::Kernel(KernelError::new(libc::ENODEV, None)))
    }
}

impl Host for FakeHost {
    fn execute(&mut self, operations: &[Operation]) -> Vec<Result<(), Refusal>> {
        operations
            .iter()
            .map(|operation| {
                self.log.push(operation.to_string());
                self.carry_out(operation)
            })
            .collect()
    }

    fn links(&mut self) -> io::Result<Vec<Link>> {
        Ok(self.links.values().cloned().collect())
    }

    fn routes(&mut self) -> io::Result<Vec<(IpNet, SeenRoute)>> {
        let own = self
            .own
            .iter()
            .map(|(p, r)| (*p, SeenRoute::Own(r.clone())));
        let foreign = self
            .foreign
            .iter()
            .map(|(prefix, route)| (*prefix, SeenRoute::Foreign(route.clone())));
        Ok(own.chain(foreign).collect())
    }

    fn entries(&mut self, ifindex: u32) -> io::Result<Entries> {
        let neighbours = self
            .neighbours
            .iter()
            .filter(|((on, _), _)| *on == ifindex)
            .map(|((_, address), (mac, own))| Neighbour {
                address: *address,
                mac: *mac,
                own: *own,
            })
            .collect();
        let fdb = self
            .fdb
            .iter()
            .filter(|((on, _), _)| *on == ifindex)
            .map(|((_, mac), (underlay, own))| FdbEntry {
                mac: *mac,
                underlay: *underlay,
                own: *own,
            })
            .collect();
        Ok(Entries { neighbours, fdb })
    }
}

pub(crate) fn connected(ifindex: u32) -> ForeignRoute {
    ForeignRoute {
        protocol: 2,
        metric: 0,
        source: None,
        hops: vec![crate::object::Hop {
            gateway: None,
            ifindex,
            onlink: false,
            weight: 1,
        }],
    }
}

fn refuse(errno: i32) -> Result<(), Refusal> {
    Err(Refusal::Kernel(KernelError::new(errno, None)))
}
