//! TCP sockets for BGP: listening, dialling, and the options that must be set before a byte leaves.

use std::io;
use std::net::{IpAddr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Opens a listening socket; IPv6 ones take IPv6 only, so that both families can listen on one port.
///
/// # Errors
/// What the system says: the address is in use, not this host's, or needs more rights.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // A daemon that is back after a crash must not wait for its old connections to leave TIME_WAIT.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    mark_internetwork_control(&socket, address.ip())?;
    socket.bind(&address.into())?;
    socket.listen(LISTEN_BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Connects to a neighbour, from `source` when one is given.
///
/// # Errors
/// What the system says: refused, unreachable, timed out, source not this host's.
pub(crate) async fn dial(remote: SocketAddr, source: Option<IpAddr>) -> io::Result<TcpStream> {
    let socket = if remote.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    mark_internetwork_control(&socket2::SockRef::from(&socket), remote.ip())?;
    if let Some(source) = source {
        socket.bind(SocketAddr::new(source, 0))?;
    }
    let stream = socket.connect(remote).await?;
    prepare(&stream)?;
    Ok(stream)
}

/// Sets what every BGP connection needs, whichever side dialled.
///
/// # Errors
/// What the system says.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    // Messages are packed by us; waiting for more would only delay keepalives and withdrawals.
    stream.set_nodelay(true)
}

/// RFC 4271 appendix E: BGP runs with IP precedence internetwork control (DSCP CS6).
fn mark_internetwork_control(socket: &Socket, address: IpAddr) -> io::Result<()> {
    const INTERNETWORK_CONTROL: u32 = 0xc0;
    match address {
        IpAddr::V4(_) => socket.set_tos_v4(INTERNETWORK_CONTROL),
        IpAddr::V6(_) => socket.set_tclass_v6(INTERNETWORK_CONTROL),
    }
}

/// Connections that wait to be accepted: a whole cluster may dial at once after a power cut.
const LISTEN_BACKLOG: i32 = 1024;
