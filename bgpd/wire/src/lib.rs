//! BGP messages: bytes to typed values and back, without I/O.
//!
//! ```text
//!   bytes ─▶ Framer ─▶ frame ─▶ decode(frame, DecodeContext) ─┬▶ Message
//!                                                             └▶ NotificationMessage, to be sent
//!   OpenMessage … ─▶ encode_open … ──────────────────────────────▶ Bytes, one whole message
//!   Attributes ─▶ encode_attributes ─▶ AttributeBlock ─▶ pack_reach ─▶ Bytes, as many messages as it takes
//! ```
//!
//! What a fault in an UPDATE costs (RFC 7606) is decided here, in one table: `attr/registry.rs`. What a valid message
//! means for a session or a route is not: that is `bgp-core`'s.

mod asn;
mod attr;
mod context;
mod family;
mod framer;
mod header;
mod message;
mod notification;
mod open;
mod reader;
mod route_refresh;
mod router_id;
mod update;

pub use asn::{Asn, ParseAsnError};
pub use attr::{
    Aggregator, AsPath, AttributeBlock, AttributeFault, Attributes, ClusterList, Communities,
    Community, CommunitySet, ExtendedCommunities, ExtendedCommunity, FaultAction, FaultReason,
    Ipv6ExtendedCommunities, Ipv6ExtendedCommunity, LargeCommunities, LargeCommunity, Origin,
    ParseCommunityError, PartialSet, Segment, SegmentKind, Segments, UnknownAttribute,
    attribute_name, code as attribute_code, encode_attributes,
};
pub use context::{DecodeContext, EncodeContext, SessionType};
pub use family::{AFI_IPV4, AFI_IPV6, Family, FamilySet, ParseFamilyError, SAFI_UNICAST};
pub use framer::Framer;
pub use header::{HEADER_LENGTH, MAX_EXTENDED_LENGTH, MAX_LENGTH};
pub use message::{Message, decode, encode_keepalive};
pub use notification::{NotificationMessage, code as notification_code, encode_notification};
pub use open::{
    AddPathMode, Capability, ExtendedNextHop, GracefulFamily, LongLivedFamily, OpenMessage,
    encode_open,
};
pub use route_refresh::{RefreshSubtype, RouteRefreshMessage, encode_route_refresh};
pub use router_id::RouterId;
pub use update::{
    EncodeError, NextHop, Nlri, PathId, Reach, Unreach, UpdateMessage, encode_end_of_rib,
    pack_reach, pack_unreach,
};
