//! Linux: rtnetlink.
//!
//! Writes go out many at a time in one message to the kernel, with one answer for all that went well and one for each
//! that did not ([`socket`]). [`monitor`] hears what changes; [`questions`] asks without a [`crate::Dataplane`].
//! `encode` and `decode` are pure.

mod decode;
mod encode;
pub(crate) mod monitor;
pub(crate) mod questions;
mod socket;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;

use ipnet::IpNet;
use rtnetlink::packet_route::address::AddressMessage;
use rtnetlink::packet_route::link::LinkMessage;
use rtnetlink::packet_route::{AddressFamily, RouteNetlinkMessage};

use crate::object::{Entries, Host, Link, Operation, Refusal, SeenRoute};
use socket::Socket;

/// This host, in the network namespace of the thread that made it.
#[derive(Debug)]
pub(crate) struct LinuxHost {
    socket: Socket,
}

impl LinuxHost {
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self {
            socket: Socket::open()?,
        })
    }

    /// The port of the socket, by which the monitor knows what weft itself has done.
    pub(crate) const fn port(&self) -> u32 {
        self.socket.port()
    }

    fn dump_links(&mut self) -> io::Result<Vec<Link>> {
        let mut addresses: HashMap<u32, Vec<IpNet>> = HashMap::new();
        let request = RouteNetlinkMessage::GetAddress(AddressMessage::default());
        self.socket.dump(request, |message| {
            if let RouteNetlinkMessage::NewAddress(message) = message
                && let Some((ifindex, address)) = decode::address(&message)
            {
                addresses.entry(ifindex).or_default().push(address);
            }
        })?;
        let mut links = Vec::new();
        let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
        self.socket.dump(request, |message| {
            if let RouteNetlinkMessage::NewLink(message) = message
                && let Some(mut link) = decode::link(&message)
            {
                link.addresses = addresses.remove(&link.ifindex).unwrap_or_default();
                link.addresses.sort_unstable();
                links.push(link);
            }
        })?;
        Ok(links)
    }
}

impl Host for LinuxHost {
    fn execute(&mut self, operations: &[Operation]) -> Vec<Result<(), Refusal>> {
        let messages: Vec<_> = operations.iter().map(encode::operation).collect();
        let mut results = self.socket.write(&messages);
        for (operation, result) in operations.iter().zip(&mut results) {
            if let Err(Refusal::Kernel(error)) = result
                && is_gone_already(operation, error.errno)
            {
                *result = Ok(());
            }
        }
        results
    }

    fn links(&mut self) -> io::Result<Vec<Link>> {
        self.dump_links()
    }

    fn routes(&mut self) -> io::Result<Vec<(IpNet, SeenRoute)>> {
        let mut routes = Vec::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            self.socket.dump(encode::all_routes(family), |message| {
                if let RouteNetlinkMessage::NewRoute(message) = message {
                    routes.extend(decode::route(&message));
                }
            })?;
        }
        Ok(routes)
    }

    fn entries(&mut self, ifindex: u32) -> io::Result<Entries> {
        let mut entries = Entries::default();
        for request in encode::all_entries(ifindex) {
            self.socket.dump(request, |message| {
                if let RouteNetlinkMessage::NewNeighbour(message) = message {
                    decode::entry(&message, ifindex, &mut entries);
                }
            })?;
        }
        Ok(entries)
    }
}

/// Removing what is not there has done what was asked for.
fn is_gone_already(operation: &Operation, errno: i32) -> bool {
    match operation {
        Operation::RemoveRoute { .. } => matches!(errno, libc::ESRCH | libc::ENOENT),
        Operation::RemoveNeighbour { .. } | Operation::RemoveFdb { .. } => {
            matches!(errno, libc::ENOENT | libc::ENODEV)
        }
        Operation::RemoveDevice { .. } => errno == libc::ENODEV,
        Operation::RemoveAddress { .. } => matches!(errno, libc::EADDRNOTAVAIL | libc::ENODEV),
        Operation::AddAddress { .. } => errno == libc::EEXIST,
        _ => false,
    }
}
