//! Attribute type codes: the IANA registry "BGP Path Attributes".

/// RFC 4271 section 5.1.1.
pub const ORIGIN: u8 = 1;
/// RFC 4271 section 5.1.2.
pub const AS_PATH: u8 = 2;
/// RFC 4271 section 5.1.3.
pub const NEXT_HOP: u8 = 3;
/// MULTI_EXIT_DISC, RFC 4271 section 5.1.4.
pub const MED: u8 = 4;
/// RFC 4271 section 5.1.5.
pub const LOCAL_PREF: u8 = 5;
/// RFC 4271 section 5.1.6.
pub const ATOMIC_AGGREGATE: u8 = 6;
/// RFC 4271 section 5.1.7.
pub const AGGREGATOR: u8 = 7;
/// RFC 1997.
pub const COMMUNITIES: u8 = 8;
/// RFC 4456.
pub const ORIGINATOR_ID: u8 = 9;
/// RFC 4456.
pub const CLUSTER_LIST: u8 = 10;
/// RFC 4760 section 3.
pub const MP_REACH_NLRI: u8 = 14;
/// RFC 4760 section 4.
pub const MP_UNREACH_NLRI: u8 = 15;
/// RFC 4360.
pub const EXTENDED_COMMUNITIES: u8 = 16;
/// RFC 6793.
pub const AS4_PATH: u8 = 17;
/// RFC 6793.
pub const AS4_AGGREGATOR: u8 = 18;
/// RFC 6514 section 5.
pub const PMSI_TUNNEL: u8 = 22;
/// RFC 9012.
pub const TUNNEL_ENCAPSULATION: u8 = 23;
/// RFC 5701.
pub const IPV6_EXTENDED_COMMUNITIES: u8 = 25;
/// RFC 7311.
pub const AIGP: u8 = 26;
/// RFC 9552.
pub const LINK_STATE: u8 = 29;
/// RFC 8092.
pub const LARGE_COMMUNITIES: u8 = 32;
/// Only to Customer, RFC 9234.
pub const OTC: u8 = 35;
/// RFC 8669.
pub const PREFIX_SID: u8 = 40;
