//! One TCP connection: a reader task that cuts the stream into messages, a writer task that sends them.
//!
//! ```text
//!   socket ──▶ reader ──▶ Inbound (16 batches; full: the socket is not read, TCP pushes back) ──▶ peer task
//!   socket ◀── writer ◀── control lane (OPEN, KEEPALIVE, NOTIFICATION: always first)          ◀── peer task
//!                     ◀── routes lane (bounded by the credit that each shard gives its members) ◀── shards
//! ```

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bgp_core::{ConnectionId, Epoch};
use bgp_wire::{Framer, NotificationMessage};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

/// What a connection tells its peer task.
#[derive(Debug)]
pub(crate) enum Inbound {
    /// Whole messages, in order.
    Frames {
        connection: ConnectionId,
        frames: Vec<Bytes>,
    },
    /// The stream can't be cut into messages any more.
    Malformed {
        connection: ConnectionId,
        notification: NotificationMessage,
    },
    /// Nothing will be received any more.
    Closed {
        connection: ConnectionId,
        error: Option<String>,
    },
}

/// Whose window a message counts against.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Lender {
    /// The shard that made it.
    pub(crate) shard: u8,
    /// The life of the session that it was made for.
    pub(crate) epoch: Epoch,
}

/// Whole messages that carry routes, and who made them.
#[derive(Debug)]
pub(crate) struct RouteFrame {
    /// `None` for the peer task's own, which cost no credit.
    pub(crate) lender: Option<Lender>,
    pub(crate) bytes: Bytes,
    /// How many messages these are.
    pub(crate) messages: u32,
}

/// Told what becomes of the bytes that a connection was given.
pub(crate) trait SendObserver: Send + Sync + 'static {
    /// `bytes` of the lender's messages are in the socket's buffer.
    fn credit(&self, lender: Lender, bytes: usize);
    /// This many messages of the routes lane are in the socket's buffer.
    fn sent(&self, connection: ConnectionId, messages: u64);
    /// The socket takes nothing more for now, and bytes wait (RFC 9687).
    fn stalled(&self, connection: ConnectionId);
    /// The socket took bytes after it had stalled.
    fn resumed(&self, connection: ConnectionId);
}

/// The peer task's end of one connection. Dropping it ends both tasks.
pub(crate) struct Connection {
    control: mpsc::UnboundedSender<Control>,
    routes: mpsc::UnboundedSender<RouteFrame>,
    /// RFC 8654: messages above 4096 octets are welcome.
    extended: Arc<AtomicBool>,
    _end: DropGuard,
}

enum Control {
    Message(Bytes),
    Close,
}

impl Connection {
    /// Starts the reader and the writer of `stream`.
    pub(crate) fn start(
        id: ConnectionId,
        stream: TcpStream,
        inbound: mpsc::Sender<Inbound>,
        observer: impl SendObserver,
    ) -> Self {
        let (read_half, write_half) = stream.into_split();
        // Both lanes are unbounded in type, bounded by their producers: the peer task sends a handful of control
        // messages, a shard never has more than its credit window in flight.
        let (control, control_queue) = mpsc::unbounded_channel();
        let (routes, routes_queue) = mpsc::unbounded_channel();
        let extended = Arc::new(AtomicBool::new(false));
        let end = CancellationToken::new();
        tokio::spawn(end.clone().run_until_cancelled_owned(read(
            id,
            read_half,
            inbound,
            Arc::clone(&extended),
        )));
        let writer = Writer {
            id,
            socket: write_half,
            control: control_queue,
            routes: routes_queue,
            observer,
        };
        // The writer outlives the handle for a moment: a NOTIFICATION must get out after the peer task let go.
        let linger = end.clone();
        tokio::spawn(async move {
            let deadline = async {
                linger.cancelled().await;
                tokio::time::sleep(LINGER).await;
            };
            tokio::select! {
                () = writer.run() => {}
                () = deadline => {}
            }
        });
        Self {
            control,
            routes,
            extended,
            _end: end.drop_guard(),
        }
    }

    /// Queues a message ahead of all routes.
    pub(crate) fn send_control(&self, bytes: Bytes) {
        // An error means that the writer has ended: its reader reports the closed connection.
        let _ = self.control.send(Control::Message(bytes));
    }

    /// Queues a message that must not overtake routes: End-of-RIB.
    pub(crate) fn send_behind_routes(&self, bytes: Bytes) {
        self.routes_lane().send(RouteFrame {
            lender: None,
            bytes,
            messages: 0,
        });
    }

    /// Where messages with routes go.
    pub(crate) fn routes_lane(&self) -> RoutesLane {
        RoutesLane {
            queue: self.routes.clone(),
        }
    }

    /// Closes after what is queued on the control lane has left; what waits on the routes lane is dropped.
    pub(crate) fn close(&self) {
        let _ = self.control.send(Control::Close);
    }

    /// Lets messages of up to 65535 octets in (RFC 8654).
    pub(crate) fn allow_extended(&self) {
        self.extended.store(true, Ordering::Release);
    }
}

/// A shard's way to one connection.
#[derive(Clone, Debug)]
pub(crate) struct RoutesLane {
    queue: mpsc::UnboundedSender<RouteFrame>,
}

impl RoutesLane {
    /// Queues a message behind those that wait. A closed connection swallows it: its session is about to end.
    pub(crate) fn send(&self, frame: RouteFrame) {
        let _ = self.queue.send(frame);
    }
}

async fn read(
    id: ConnectionId,
    mut socket: OwnedReadHalf,
    inbound: mpsc::Sender<Inbound>,
    extended: Arc<AtomicBool>,
) {
    let mut framer = Framer::new();
    let end = loop {
        match read_some(&mut socket, framer.buffer_mut()).await {
            Ok(0) => {
                break Inbound::Closed {
                    connection: id,
                    error: None,
                };
            }
            Ok(_) => {}
            Err(error) => {
                break Inbound::Closed {
                    connection: id,
                    error: Some(error.to_string()),
                };
            }
        }
        if extended.load(Ordering::Acquire) {
            framer.set_extended_messages(true);
        }
        let mut frames = Vec::new();
        let fault = loop {
            match framer.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break None,
                Err(notification) => break Some(notification),
            }
        };
        if !frames.is_empty()
            && inbound
                .send(Inbound::Frames {
                    connection: id,
                    frames,
                })
                .await
                .is_err()
        {
            return;
        }
        if let Some(notification) = fault {
            break Inbound::Malformed {
                connection: id,
                notification,
            };
        }
    };
    // The peer task is gone: nobody wants to know.
    let _ = inbound.send(end).await;
}

async fn read_some(socket: &mut OwnedReadHalf, buffer: &mut BytesMut) -> io::Result<usize> {
    buffer.reserve(READ_SIZE);
    socket.read_buf(buffer).await
}

struct Writer<O> {
    id: ConnectionId,
    socket: OwnedWriteHalf,
    control: mpsc::UnboundedReceiver<Control>,
    routes: mpsc::UnboundedReceiver<RouteFrame>,
    observer: O,
}

impl<O: SendObserver> Writer<O> {
    /// Runs until told to close, or until the socket fails; the reader sees the failure too and reports it.
    async fn run(mut self) {
        let mut batch = Vec::with_capacity(ROUTES_PER_WRITE);
        loop {
            tokio::select! {
                biased;
                message = self.control.recv() => match message {
                    Some(Control::Message(bytes)) => {
                        if self.write(&[&bytes]).await.is_err() {
                            return;
                        }
                    }
                    Some(Control::Close) | None => {
                        let _ = self.socket.shutdown().await;
                        return;
                    }
                },
                count = self.routes.recv_many(&mut batch, ROUTES_PER_WRITE) => {
                    if count == 0 {
                        // No shard holds this lane any more; only control messages are left to send.
                        self.drain_control().await;
                        return;
                    }
                    let frames: Vec<&Bytes> = batch.iter().map(|frame| &frame.bytes).collect();
                    if self.write(&frames).await.is_err() {
                        return;
                    }
                    self.account(&mut batch);
                }
            }
        }
    }

    async fn drain_control(&mut self) {
        while let Some(Control::Message(bytes)) = self.control.recv().await {
            if self.write(&[&bytes]).await.is_err() {
                return;
            }
        }
        let _ = self.socket.shutdown().await;
    }

    fn account(&self, batch: &mut Vec<RouteFrame>) {
        self.observer.sent(
            self.id,
            batch.iter().map(|frame| u64::from(frame.messages)).sum(),
        );
        let mut credit: Option<(Lender, usize)> = None;
        for frame in batch.drain(..) {
            let Some(lender) = frame.lender else { continue };
            match &mut credit {
                Some((last, bytes)) if *last == lender => *bytes += frame.bytes.len(),
                _ => {
                    if let Some((lender, bytes)) = credit.replace((lender, frame.bytes.len())) {
                        self.observer.credit(lender, bytes);
                    }
                }
            }
        }
        if let Some((lender, bytes)) = credit {
            self.observer.credit(lender, bytes);
        }
    }

    async fn write(&self, frames: &[&Bytes]) -> io::Result<()> {
        let mut slices: Vec<io::IoSlice<'_>> =
            frames.iter().map(|frame| io::IoSlice::new(frame)).collect();
        let mut rest = slices.as_mut_slice();
        let mut stalled = false;
        while !rest.is_empty() {
            match self.socket.try_write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    if std::mem::take(&mut stalled) {
                        self.observer.resumed(self.id);
                    }
                    io::IoSlice::advance_slices(&mut rest, written);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !std::mem::replace(&mut stalled, true) {
                        self.observer.stalled(self.id);
                    }
                    self.socket.writable().await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Room for one read: many messages at once when a table comes in.
const READ_SIZE: usize = 64 * 1024;

/// Messages per system call when a table goes out: 64 of 4096 octets fill a typical socket buffer.
const ROUTES_PER_WRITE: usize = 64;

/// How long a NOTIFICATION may take to leave after the session has ended.
const LINGER: std::time::Duration = std::time::Duration::from_secs(2);
