//! ICMP echo from a namespace to many targets at once, without a process per target.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use socket2::{Domain, Protocol, Socket, Type};

use crate::interrupt;
use crate::netns::Netns;

/// What became of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It answered.
    Reply {
        /// Round trip.
        rtt: Duration,
        /// Echo requests that it took; more than 1 when the first ones were lost.
        tries: u32,
    },
    /// It did not, and this is why: the kernel's words, or `no answer`.
    Lost(String),
}

impl Answer {
    /// True for a reply.
    pub fn is_reply(&self) -> bool {
        matches!(self, Self::Reply { .. })
    }
}

/// Pings every target from `netns` until it answers, again each 200 ms, for at most `patience`.
///
/// # Errors
/// When no raw socket can be had, or the user interrupts.
pub fn ping_all(
    netns: &Netns,
    targets: &[IpAddr],
    patience: Duration,
) -> Result<BTreeMap<IpAddr, Answer>> {
    netns.enter(|| ping_all_here(targets, patience))?
}

/// Pings until all targets have answered, and says which have not.
///
/// # Errors
/// When a target does not answer within `patience`.
pub fn expect_all(netns: &Netns, targets: &[IpAddr], patience: Duration) -> Result<()> {
    let lost: Vec<String> = ping_all(netns, targets, patience)?
        .into_iter()
        .filter_map(|(target, answer)| match answer {
            Answer::Reply { .. } => None,
            Answer::Lost(why) => Some(format!("{target}: {why}")),
        })
        .collect();
    if lost.is_empty() {
        return Ok(());
    }
    Err(anyhow!("from {}: {}", netns.name(), lost.join("; ")))
}

fn ping_all_here(targets: &[IpAddr], patience: Duration) -> Result<BTreeMap<IpAddr, Answer>> {
    let sockets = Sockets::open(targets)?;
    let start = Instant::now();
    let mut waiting: BTreeMap<IpAddr, (u16, Option<Instant>, String)> = targets
        .iter()
        .map(|target| (*target, (0, None, "no answer".to_owned())))
        .collect();
    let mut answers = BTreeMap::new();
    while !waiting.is_empty() && start.elapsed() < patience {
        interrupt::check()?;
        for (target, (tries, sent, why)) in &mut waiting {
            *tries += 1;
            *sent = Some(Instant::now());
            if let Err(error) = sockets.send(*target, *tries) {
                *why = error.to_string();
            }
        }
        let round_ends = Instant::now() + RETRY_AFTER;
        while !waiting.is_empty() && Instant::now() < round_ends {
            for (from, sequence) in sockets.receive()? {
                // An answer to an earlier try counts, though its time is not known: the later try's is shorter.
                if let Some((tries, Some(sent), _)) = waiting.get(&from).cloned()
                    && (1..=tries).contains(&sequence)
                {
                    waiting.remove(&from);
                    answers.insert(
                        from,
                        Answer::Reply {
                            rtt: sent.elapsed(),
                            tries: u32::from(tries),
                        },
                    );
                }
            }
        }
    }
    answers.extend(
        waiting
            .into_iter()
            .map(|(target, (_, _, why))| (target, Answer::Lost(why))),
    );
    Ok(answers)
}

/// A background probe: one echo request to each target every interval, until stopped.
#[derive(Debug)]
pub struct Probe {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<BTreeMap<IpAddr, Loss>>>,
}

/// What a [`Probe`] saw of one target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loss {
    /// Echo requests sent.
    pub sent: u32,
    /// Echo requests that were answered within a second.
    pub answered: u32,
    /// The longest run of requests without an answer, times the interval.
    pub longest_outage: Duration,
}

impl Loss {
    /// Requests without an answer.
    pub fn lost(&self) -> u32 {
        self.sent - self.answered
    }
}

impl Probe {
    /// Starts it. Targets should answer already.
    pub fn start(netns: &Netns, targets: &[IpAddr], interval: Duration) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let targets = targets.to_vec();
        let thread = netns.spawn(move || probe_here(&targets, interval, &flag));
        Self { stop, thread }
    }

    /// Stops it, waits a second for late answers, and tells per target what was lost.
    ///
    /// # Errors
    /// When its thread had an error.
    pub fn stop(self) -> Result<BTreeMap<IpAddr, Loss>> {
        self.stop.store(true, Ordering::SeqCst);
        self.thread
            .join()
            .map_err(|_| anyhow!("the probe's thread panicked"))?
    }
}

fn probe_here(
    targets: &[IpAddr],
    interval: Duration,
    stop: &AtomicBool,
) -> Result<BTreeMap<IpAddr, Loss>> {
    let sockets = Sockets::open(targets)?;
    let start = Instant::now();
    let mut answered: BTreeMap<IpAddr, Vec<bool>> =
        targets.iter().map(|target| (*target, Vec::new())).collect();
    let mut round: u32 = 0;
    let mut end = None;
    while end.is_none_or(|end| Instant::now() < end) {
        if end.is_none() && stop.load(Ordering::SeqCst) {
            end = Some(Instant::now() + LATE);
        }
        if end.is_none() && start.elapsed() >= interval * round {
            for target in targets {
                // The low bits suffice: an answer comes within a second, and 65536 intervals are longer.
                let _ = sockets.send(*target, (round & 0xffff) as u16);
                if let Some(list) = answered.get_mut(target) {
                    list.push(false);
                }
            }
            round += 1;
        }
        for (from, sequence) in sockets.receive()? {
            let Some(list) = answered.get_mut(&from) else {
                continue;
            };
            let newest = list.len().saturating_sub(1);
            let behind = (newest as u16).wrapping_sub(sequence);
            if let Some(slot) = newest.checked_sub(usize::from(behind)) {
                list[slot] = true;
            }
        }
    }
    Ok(answered
        .into_iter()
        .map(|(target, list)| (target, Loss::of(&list, interval)))
        .collect())
}

impl Loss {
    fn of(answered: &[bool], interval: Duration) -> Self {
        let longest = answered
            .split(|answer| *answer)
            .map(<[bool]>::len)
            .max()
            .unwrap_or(0);
        Self {
            sent: u32::try_from(answered.len()).unwrap_or(u32::MAX),
            answered: u32::try_from(answered.iter().filter(|a| **a).count()).unwrap_or(u32::MAX),
            longest_outage: interval * u32::try_from(longest).unwrap_or(u32::MAX),
        }
    }
}

/// A raw socket for each family that is needed, and the identifier of our requests.
///
/// Raw, though typed as UDP: the standard library has no type for them, and its calls are the same.
struct Sockets {
    v4: Option<UdpSocket>,
    v6: Option<UdpSocket>,
    identifier: u16,
}

impl Sockets {
    fn open(targets: &[IpAddr]) -> Result<Self> {
        let open = |domain, protocol| -> Result<UdpSocket> {
            let socket = Socket::new(domain, Type::RAW, Some(protocol)).context("raw socket")?;
            socket
                .set_recv_buffer_size(4 << 20)
                .context("receive buffer")?;
            socket
                .set_nonblocking(true)
                .context("non-blocking socket")?;
            Ok(socket.into())
        };
        let wants_v4 = targets.iter().any(IpAddr::is_ipv4);
        let wants_v6 = targets.iter().any(IpAddr::is_ipv6);
        Ok(Self {
            v4: wants_v4
                .then(|| open(Domain::IPV4, Protocol::ICMPV4))
                .transpose()?,
            v6: wants_v6
                .then(|| open(Domain::IPV6, Protocol::ICMPV6))
                .transpose()?,
            identifier: NEXT_IDENTIFIER.fetch_add(1, Ordering::Relaxed)
                ^ (std::process::id() & 0xffff) as u16,
        })
    }

    fn send(&self, target: IpAddr, sequence: u16) -> std::io::Result<()> {
        let (socket, kind) = match target {
            IpAddr::V4(_) => (&self.v4, ECHO_REQUEST_V4),
            IpAddr::V6(_) => (&self.v6, ECHO_REQUEST_V6),
        };
        let socket = socket.as_ref().ok_or(std::io::ErrorKind::Unsupported)?;
        let mut packet = [0; 8 + PAYLOAD.len()];
        packet[0] = kind;
        packet[4..6].copy_from_slice(&self.identifier.to_be_bytes());
        packet[6..8].copy_from_slice(&sequence.to_be_bytes());
        packet[8..].copy_from_slice(PAYLOAD);
        // The kernel fills in ICMPv6's checksum, which covers addresses that we don't know (RFC 3542 section 3.1).
        if target.is_ipv4() {
            let sum = checksum(&packet);
            packet[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        socket
            .send_to(&packet, SocketAddr::new(target, 0))
            .map(drop)
    }

    /// The echo replies that are there: who, and to which request. Sleeps a little when there is none.
    fn receive(&self) -> Result<Vec<(IpAddr, u16)>> {
        let mut replies = Vec::new();
        for (socket, kind) in [(&self.v4, ECHO_REPLY_V4), (&self.v6, ECHO_REPLY_V6)] {
            let Some(socket) = socket else { continue };
            loop {
                let mut buffer = [0; 256];
                // Nothing there; or an ICMP error for an earlier request, which the next call skips.
                let Ok((length, from)) = socket.recv_from(&mut buffer) else {
                    break;
                };
                let from = from.ip();
                let packet = &buffer[..length];
                // IPv4 raw sockets hand over the IP header too.
                let header = match from {
                    IpAddr::V4(_) => usize::from(packet.first().map_or(0, |b| b & 0x0f)) * 4,
                    IpAddr::V6(_) => 0,
                };
                if let Some([got, _, _, _, id0, id1, seq0, seq1, ..]) = packet.get(header..)
                    && *got == kind
                    && u16::from_be_bytes([*id0, *id1]) == self.identifier
                {
                    replies.push((from, u16::from_be_bytes([*seq0, *seq1])));
                }
            }
        }
        if replies.is_empty() {
            std::thread::sleep(Duration::from_micros(300));
        }
        Ok(replies)
    }
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low)))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

static NEXT_IDENTIFIER: AtomicU16 = AtomicU16::new(0x5700);
const ECHO_REQUEST_V4: u8 = 8;
const ECHO_REPLY_V4: u8 = 0;
const ECHO_REQUEST_V6: u8 = 128;
const ECHO_REPLY_V6: u8 = 129;
const PAYLOAD: &[u8] = b"weft interop probe";
const RETRY_AFTER: Duration = Duration::from_millis(200);
const LATE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_the_longest_run_without_an_answer() {
        let loss = Loss::of(
            &[true, false, true, false, false, true],
            Duration::from_millis(10),
        );
        assert_eq!(
            loss,
            Loss {
                sent: 6,
                answered: 3,
                longest_outage: Duration::from_millis(20)
            }
        );
        assert_eq!(loss.lost(), 3);
    }
}
