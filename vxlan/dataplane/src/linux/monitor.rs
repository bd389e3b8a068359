//! What the kernel tells unasked: links, addresses, neighbours, FDB entries and routes that changed.

use std::io;

use ipnet::IpNet;
use netlink_packet_core::NetlinkPayload;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{AsyncSocket, AsyncSocketExt, TokioSocket};
use rtnetlink::packet_route::RouteNetlinkMessage;

use super::decode;
use super::socket::{RECEIVE_SIZE, enlarge, groups, messages};
use crate::object::SeenRoute;

/// A change that weft did not make.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Notice {
    /// A link or an address.
    Link,
    /// A neighbour or FDB entry of this device.
    Entry(u32),
    RouteAppeared(IpNet, SeenRoute),
    RouteVanished(IpNet, SeenRoute),
    /// Some were lost.
    Overrun,
}

pub(crate) struct Monitor {
    socket: TokioSocket,
    /// The port of the socket that weft writes with.
    own_port: u32,
    buffer: Vec<u8>,
}

impl Monitor {
    /// Starts to listen, in the network namespace of the calling thread and the tokio runtime that it is in. What is
    /// written with a socket of port `own_port` is not told.
    pub(crate) fn open(own_port: u32) -> io::Result<Self> {
        let mut socket = TokioSocket::new(NETLINK_ROUTE)?;
        enlarge(socket.socket_ref(), BUFFER);
        socket.socket_mut().bind(&groups(&GROUPS))?;
        Ok(Self {
            socket,
            own_port,
            buffer: Vec::with_capacity(RECEIVE_SIZE),
        })
    }

    /// Waits for changes and gives those of one read. May be dropped while it waits.
    ///
    /// # Errors
    /// When the socket fails; a lost message is no error but [`Notice::Overrun`].
    pub(crate) async fn next(&mut self) -> io::Result<Vec<Notice>> {
        loop {
            self.buffer.clear();
            match self.socket.recv(&mut self.buffer).await {
                Ok(()) => return Ok(self.notices()),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    return Ok(vec![Notice::Overrun]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn notices(&self) -> Vec<Notice> {
        messages(&self.buffer)
            .filter(|message| {
                message.header.port_number == 0 || message.header.port_number != self.own_port
            })
            .filter_map(|message| match message.payload {
                NetlinkPayload::InnerMessage(inner) => notice(&inner),
                _ => None,
            })
            .collect()
    }
}

fn notice(message: &RouteNetlinkMessage) -> Option<Notice> {
    match message {
        RouteNetlinkMessage::NewLink(_)
        | RouteNetlinkMessage::DelLink(_)
        | RouteNetlinkMessage::NewAddress(_)
        | RouteNetlinkMessage::DelAddress(_) => Some(Notice::Link),
        RouteNetlinkMessage::NewNeighbour(message) | RouteNetlinkMessage::DelNeighbour(message) => {
            Some(Notice::Entry(message.header.ifindex))
        }
        RouteNetlinkMessage::NewRoute(message) => {
            decode::route(message).map(|(prefix, route)| Notice::RouteAppeared(prefix, route))
        }
        RouteNetlinkMessage::DelRoute(message) => {
            decode::route(message).map(|(prefix, route)| Notice::RouteVanished(prefix, route))
        }
        _ => None,
    }
}

/// `RTNLGRP_LINK`, `_NEIGH`, `_IPV4_IFADDR`, `_IPV4_ROUTE`, `_IPV6_IFADDR`, `_IPV6_ROUTE`.
const GROUPS: [u32; 6] = [1, 3, 5, 7, 9, 11];

/// Room for a burst of others' changes; more is an overrun, and everything is looked at.
const BUFFER: usize = 4 << 20;
