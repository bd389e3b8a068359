//! What must be known besides the bytes: the result of a session's OPEN exchange, as the codec needs it.

use crate::family::{Family, FamilySet};
use crate::header::{MAX_EXTENDED_LENGTH, MAX_LENGTH};

/// Whether the peer is in our AS (RFC 4271 section 1.1). Decides what some attributes mean.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum SessionType {
    /// iBGP.
    Internal,
    /// eBGP.
    External,
}

/// How to read what a peer sends.
///
/// The default is what holds before the OPENs are exchanged: no family, no capability.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub struct DecodeContext {
    /// Whether the peer is in our AS.
    pub session: SessionType,
    /// AS numbers have four octets in AS_PATH and AGGREGATOR (RFC 6793).
    pub four_octet_asn: bool,
    /// Messages may have up to 65535 octets (RFC 8654).
    pub extended_messages: bool,
    /// Families in force. Routes of any other are ignored.
    pub families: FamilySet,
    /// Families whose NLRI carry a path identifier on the way to us (RFC 7911).
    pub add_path_receive: FamilySet,
    /// IPv4 families whose next hop may be an IPv6 address (RFC 8950).
    pub extended_next_hop: FamilySet,
}

impl Default for DecodeContext {
    fn default() -> Self {
        Self {
            session: SessionType::External,
            four_octet_asn: false,
            extended_messages: false,
            families: FamilySet::new(),
            add_path_receive: FamilySet::new(),
            extended_next_hop: FamilySet::new(),
        }
    }
}

/// How to write what a peer will read. Two peers with equal contexts can be sent the same bytes.
#[derive(Clone, Debug, Default, Eq, PartialEq, Hash)]
pub struct EncodeContext {
    /// AS numbers have four octets in AS_PATH and AGGREGATOR (RFC 6793).
    pub four_octet_asn: bool,
    /// Messages may have up to 65535 octets (RFC 8654).
    pub extended_messages: bool,
    /// Families whose NLRI carry a path identifier on the way to the peer (RFC 7911).
    pub add_path_send: FamilySet,
    /// IPv4 families whose next hop may be an IPv6 address (RFC 8950).
    pub extended_next_hop: FamilySet,
}

impl EncodeContext {
    /// Length that an UPDATE must not exceed, in octets.
    #[must_use]
    pub const fn max_message_length(&self) -> usize {
        if self.extended_messages {
            MAX_EXTENDED_LENGTH
        } else {
            MAX_LENGTH
        }
    }

    /// True when routes of `family` may be sent with an IPv6 next hop.
    #[must_use]
    pub fn allows_v6_next_hop(&self, family: Family) -> bool {
        family == Family::IPV6_UNICAST || self.extended_next_hop.contains(family)
    }
}
