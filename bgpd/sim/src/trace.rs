//! What happened, as a number: two histories with the same one are the same.

use bgp_core::{ConnectionId, Instant};

use crate::network::{Item, Side};

/// FNV-1a over all arrivals.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    hash: u64,
    updates: u64,
}

impl Trace {
    pub(crate) fn record(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        side: Side,
        item: &Item,
    ) {
        self.add(&now.as_nanos().to_be_bytes());
        self.add(&connection.0.to_be_bytes());
        self.add(&[u8::from(side == 0)]);
        match item {
            Item::Syn => self.add(&[1]),
            Item::Connected => self.add(&[2]),
            Item::Refused => self.add(&[3]),
            Item::Closed { .. } => self.add(&[4]),
            Item::Data { bytes, .. } => self.add(bytes),
        }
    }

    /// A running speaker reads this.
    pub(crate) fn count(&mut self, bytes: &[u8]) {
        self.updates += updates(bytes);
    }

    pub(crate) const fn fingerprint(&self) -> u64 {
        self.hash
    }

    pub(crate) const fn updates(&self) -> u64 {
        self.updates
    }

    fn add(&mut self, octets: &[u8]) {
        for octet in octets {
            self.hash = (self.hash ^ u64::from(*octet)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            hash: 0xcbf2_9ce4_8422_2325,
            updates: 0,
        }
    }
}

/// How many of the messages are UPDATEs.
fn updates(mut bytes: &[u8]) -> u64 {
    let mut count = 0;
    while let Some([high, low, kind]) = bytes.get(16..19) {
        count += u64::from(*kind == 2);
        let length = usize::from(u16::from_be_bytes([*high, *low])).max(19);
        bytes = bytes.get(length..).unwrap_or_default();
    }
    count
}
