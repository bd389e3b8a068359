//! Attribute x fault -> verdict.
//!
//! RFC 7606 section 7 and, for later attributes, their own RFC; with what other implementations were caught at.

use super::message::From::{self, Any, External, Internal, TwoOctet};
use super::message::Verdict::{self, Discard, Keep, Reset, Withdraw};

/// A fault, who commits it, the attribute in hexadecimal, the verdict.
pub(crate) type Row = (&'static str, From, &'static str, Verdict);

#[rustfmt::skip]
pub(crate) const ROWS: &[Row] = &[
    // ORIGIN, section 7.1.
    ("ORIGIN: Optional",                    Any,      "c0 01 01 00",                        Withdraw),
    ("ORIGIN: Partial",                     Any,      "60 01 01 00",                        Withdraw),
    ("ORIGIN: no flag at all (gobgp#3392)", Any,      "00 01 01 00",                        Withdraw),
    ("ORIGIN: Optional, not transitive",    Any,      "80 01 01 00",                        Withdraw),
    ("ORIGIN: length 0",                    Any,      "40 01 00",                           Withdraw),
    ("ORIGIN: length 2",                    Any,      "40 01 02 0000",                      Withdraw),
    ("ORIGIN: 3",                           Any,      "40 01 01 03",                        Withdraw),
    ("ORIGIN: 4",                           Any,      "40 01 01 04",                        Withdraw),
    ("ORIGIN: 255",                         Any,      "40 01 01 ff",                        Withdraw),
    ("ORIGIN: extended length",             Any,      "50 01 0001 02",                      Keep),
    ("ORIGIN: lower flag bits",             Any,      "4f 01 01 00",                        Keep),

    // AS_PATH, section 7.2 and RFC 7607.
    ("AS_PATH: Optional",                   Any,      "c0 02 06 0201 0000fdea",             Withdraw),
    ("AS_PATH: Partial",                    Any,      "60 02 06 0201 0000fdea",             Withdraw),
    ("AS_PATH: segment type 0",             Any,      "40 02 06 0001 0000fdea",             Withdraw),
    ("AS_PATH: segment type 5",             Any,      "40 02 06 0501 0000fdea",             Withdraw),
    ("AS_PATH: segment of length 0",        Any,      "40 02 02 0200",                      Withdraw),
    ("AS_PATH: segment beyond the end",     Any,      "40 02 06 0202 0000fdea",             Withdraw),
    ("AS_PATH: segment ends early",         Any,      "40 02 08 0201 0000fdea fdeb",        Withdraw),
    ("AS_PATH: half a segment head",        Any,      "40 02 07 0201 0000fdea 02",          Withdraw),
    ("AS_PATH: two-octet ASes",             Any,      "40 02 04 0201 fdea",                 Withdraw),
    ("AS_PATH: AS 0",                       Any,      "40 02 06 0201 00000000",             Withdraw),
    ("AS_PATH: AS 0 in a set",              Any,      "40 02 0a 0102 0000fdea 00000000",    Withdraw),
    ("AS_PATH: AS 0",                       TwoOctet, "40 02 04 0201 0000",                 Withdraw),
    ("AS_PATH: empty, eBGP",                External, "40 02 00",                           Withdraw),
    ("AS_PATH: empty, iBGP",                Internal, "40 02 00",                           Keep),
    ("AS_PATH: confederation, eBGP",        External, "40 02 06 0301 0000fdea",             Withdraw),
    ("AS_PATH: confederation, iBGP",        Internal, "40 02 06 0301 0000fdea",             Keep),

    // MULTI_EXIT_DISC, section 7.4.
    ("MED: right",                          Any,      "80 04 04 00000001",                  Keep),
    ("MED: Transitive",                     Any,      "c0 04 04 00000001",                  Withdraw),
    ("MED: Partial",                        Any,      "a0 04 04 00000001",                  Withdraw),
    ("MED: length 0",                       Any,      "80 04 00",                           Withdraw),
    ("MED: length 3",                       Any,      "80 04 03 000001",                    Withdraw),
    ("MED: length 5",                       Any,      "80 04 05 0000000001",                Withdraw),

    // LOCAL_PREF, section 7.5.
    ("LOCAL_PREF: right, iBGP",             Internal, "40 05 04 00000064",                  Keep),
    ("LOCAL_PREF: Optional, iBGP",          Internal, "c0 05 04 00000064",                  Withdraw),
    ("LOCAL_PREF: length 0, iBGP",          Internal, "40 05 00",                           Withdraw),
    ("LOCAL_PREF: length 3, iBGP",          Internal, "40 05 03 000064",                    Withdraw),
    ("LOCAL_PREF: length 5, iBGP",          Internal, "40 05 05 0000000064",                Withdraw),
    ("LOCAL_PREF: right, eBGP",             External, "40 05 04 00000064",                  Discard),
    ("LOCAL_PREF: length 3, eBGP",          External, "40 05 03 000064",                    Discard),
    ("LOCAL_PREF: Optional, eBGP",          External, "c0 05 04 00000064",                  Discard),

    // ATOMIC_AGGREGATE and AGGREGATOR, sections 7.6 and 7.7, RFC 7607.
    ("ATOMIC_AGGREGATE: right",             Any,      "40 06 00",                           Keep),
    ("ATOMIC_AGGREGATE: length 1",          Any,      "40 06 01 00",                        Discard),
    ("ATOMIC_AGGREGATE: Optional",          Any,      "c0 06 00",                           Withdraw),
    ("AGGREGATOR: right",                   Any,      "c0 07 08 0000fdea c0000201",         Keep),
    ("AGGREGATOR: Partial",                 Any,      "e0 07 08 0000fdea c0000201",         Keep),
    ("AGGREGATOR: not transitive",          Any,      "80 07 08 0000fdea c0000201",         Withdraw),
    ("AGGREGATOR: length 0",                Any,      "c0 07 00",                           Discard),
    ("AGGREGATOR: length 5",                Any,      "c0 07 05 fdea c00002",               Discard),
    ("AGGREGATOR: length 6",                Any,      "c0 07 06 fdea c0000201",             Discard),
    ("AGGREGATOR: length 7",                Any,      "c0 07 07 0000fdea c00002",           Discard),
    ("AGGREGATOR: length 9",                Any,      "c0 07 09 0000fdea c000020100",       Discard),
    ("AGGREGATOR: AS 0",                    Any,      "c0 07 08 00000000 c0000201",         Discard),
    ("AGGREGATOR: two octets",              TwoOctet, "c0 07 06 fdea c0000201",             Keep),
    ("AGGREGATOR: length 8, two octets",    TwoOctet, "c0 07 08 0000fdea c0000201",         Discard),
    ("AGGREGATOR: AS 0, two octets",        TwoOctet, "c0 07 06 0000 c0000201",             Discard),

    // COMMUNITIES of all sizes, sections 7.8, 7.14, 7.15, RFC 8092 section 6.
    ("COMMUNITIES: Partial",                Any,      "e0 08 04 fdea0001",                  Keep),
    ("COMMUNITIES: not transitive",         Any,      "80 08 04 fdea0001",                  Withdraw),
    ("COMMUNITIES: not optional",           Any,      "40 08 04 fdea0001",                  Withdraw),
    ("COMMUNITIES: length 0",               Any,      "c0 08 00",                           Withdraw),
    ("COMMUNITIES: length 5",               Any,      "c0 08 05 fdea0001 00",               Withdraw),
    ("EXTENDED_COMMUNITIES: right",         Any,      "c0 10 08 0002fdea00000001",          Keep),
    ("EXTENDED_COMMUNITIES: not transitive", Any,     "80 10 08 0002fdea00000001",          Withdraw),
    ("EXTENDED_COMMUNITIES: length 0",      Any,      "c0 10 00",                           Withdraw),
    ("EXTENDED_COMMUNITIES: length 9",      Any,      "c0 10 09 0002fdea00000001 00",       Withdraw),
    ("IPV6_EXTENDED_COMMUNITIES: right",    Any,      "c0 19 14 0002 20010db8000000000000000000000001 0001", Keep),
    ("IPV6_EXTENDED_COMMUNITIES: not transitive", Any, "80 19 14 0002 20010db8000000000000000000000001 0001", Withdraw),
    ("IPV6_EXTENDED_COMMUNITIES: length 0", Any,      "c0 19 00",                           Withdraw),
    ("IPV6_EXTENDED_COMMUNITIES: length 21", Any,     "c0 19 15 0002 20010db8000000000000000000000001 0001 00", Withdraw),
    ("LARGE_COMMUNITIES: right",            Any,      "c0 20 0c 0000fdea 00000001 00000002", Keep),
    ("LARGE_COMMUNITIES: not transitive",   Any,      "80 20 0c 0000fdea 00000001 00000002", Withdraw),
    ("LARGE_COMMUNITIES: length 0",         Any,      "c0 20 00",                           Withdraw),
    ("LARGE_COMMUNITIES: length 13",        Any,      "c0 20 0d 0000fdea 00000001 00000002 00", Withdraw),

    // ORIGINATOR_ID and CLUSTER_LIST, sections 7.9 and 7.10.
    ("ORIGINATOR_ID: right, iBGP",          Internal, "80 09 04 0a000001",                  Keep),
    ("ORIGINATOR_ID: Transitive, iBGP",     Internal, "c0 09 04 0a000001",                  Withdraw),
    ("ORIGINATOR_ID: length 3, iBGP",       Internal, "80 09 03 0a0000",                    Withdraw),
    ("ORIGINATOR_ID: length 5, iBGP",       Internal, "80 09 05 0a00000100",                Withdraw),
    ("ORIGINATOR_ID: right, eBGP",          External, "80 09 04 0a000001",                  Discard),
    ("ORIGINATOR_ID: length 3, eBGP",       External, "80 09 03 0a0000",                    Discard),
    ("ORIGINATOR_ID: length 5, eBGP",       External, "80 09 05 0a00000100",                Discard),
    ("CLUSTER_LIST: right, iBGP",           Internal, "80 0a 08 0a000001 0a000002",         Keep),
    ("CLUSTER_LIST: Transitive, iBGP",      Internal, "c0 0a 04 0a000001",                  Withdraw),
    ("CLUSTER_LIST: length 0, iBGP",        Internal, "80 0a 00",                           Withdraw),
    ("CLUSTER_LIST: length 5, iBGP",        Internal, "80 0a 05 0a000001 00",               Withdraw),
    ("CLUSTER_LIST: right, eBGP",           External, "80 0a 04 0a000001",                  Discard),
    ("CLUSTER_LIST: length 0, eBGP",        External, "80 0a 00",                           Discard),
    ("CLUSTER_LIST: length 5, eBGP",        External, "80 0a 05 0a000001 00",               Discard),

    // AS4_PATH and AS4_AGGREGATOR, RFC 6793 sections 3 and 6.
    ("AS4_PATH: right",                     TwoOctet, "c0 11 06 0201 00011170",             Keep),
    ("AS4_PATH: not transitive",            TwoOctet, "80 11 06 0201 00011170",             Withdraw),
    ("AS4_PATH: segment type 0",            TwoOctet, "c0 11 06 0001 00011170",             Withdraw),
    ("AS4_PATH: segment of length 0",       TwoOctet, "c0 11 02 0200",                      Withdraw),
    ("AS4_PATH: segment beyond the end",    TwoOctet, "c0 11 06 0202 00011170",             Withdraw),
    ("AS4_PATH: length 0",                  TwoOctet, "c0 11 00",                           Withdraw),
    ("AS4_PATH: AS 0",                      TwoOctet, "c0 11 06 0201 00000000",             Withdraw),
    ("AS4_PATH: from a four-octet peer",    Any,      "c0 11 06 0201 00011170",             Discard),
    ("AS4_PATH: malformed, four-octet peer", Any,     "80 11 06 0001 00011170",             Discard),
    ("AS4_AGGREGATOR: right",               TwoOctet, "c0 12 08 00011170 c0000201",         Keep),
    ("AS4_AGGREGATOR: not transitive",      TwoOctet, "80 12 08 00011170 c0000201",         Withdraw),
    ("AS4_AGGREGATOR: length 7",            TwoOctet, "c0 12 07 00011170 c00002",           Discard),
    ("AS4_AGGREGATOR: length 9",            TwoOctet, "c0 12 09 00011170 c0000201 00",      Discard),
    ("AS4_AGGREGATOR: AS 0",                TwoOctet, "c0 12 08 00000000 c0000201",         Discard),
    ("AS4_AGGREGATOR: from a four-octet peer", Any,   "c0 12 08 00011170 c0000201",         Discard),

    // PMSI_TUNNEL, RFC 6514 section 5.
    ("PMSI_TUNNEL: IPv4",                   Any,      "c0 16 09 00 06 000064 c0000201",     Keep),
    ("PMSI_TUNNEL: IPv6",                   Any,      "c0 16 15 00 06 000064 20010db8000000000000000000000001", Keep),
    ("PMSI_TUNNEL: not transitive",         Any,      "80 16 09 00 06 000064 c0000201",     Withdraw),
    ("PMSI_TUNNEL: length 4",               Any,      "c0 16 04 00 06 0000",                Withdraw),
    ("PMSI_TUNNEL: type 8",                 Any,      "c0 16 09 00 08 000064 c0000201",     Withdraw),
    ("PMSI_TUNNEL: type 255",               Any,      "c0 16 09 00 ff 000064 c0000201",     Withdraw),
    ("PMSI_TUNNEL: an address of 3 octets", Any,      "c0 16 08 00 06 000064 c00002",       Withdraw),

    // TUNNEL_ENCAPSULATION, RFC 9012 section 13 (CVE-2023-38802).
    ("TUNNEL_ENCAPSULATION: right",         Any,      "c0 17 07 0008 0003 04 01 01",        Keep),
    ("TUNNEL_ENCAPSULATION: not transitive", Any,     "80 17 07 0008 0003 04 01 01",        Withdraw),
    ("TUNNEL_ENCAPSULATION: length 0",      Any,      "c0 17 00",                           Withdraw),
    ("TUNNEL_ENCAPSULATION: length 3",      Any,      "c0 17 03 0008 00",                   Withdraw),
    ("TUNNEL_ENCAPSULATION: TLV beyond the end", Any, "c0 17 07 0008 0004 04 01 01",        Withdraw),
    ("TUNNEL_ENCAPSULATION: TLV ends early", Any,     "c0 17 07 0008 0002 04 00 01",        Withdraw),
    ("TUNNEL_ENCAPSULATION: sub-TLV beyond its TLV", Any, "c0 17 07 0008 0003 04 02 01",    Withdraw),

    // ONLY_TO_CUSTOMER, RFC 9234 section 5.
    ("OTC: right",                          Any,      "c0 23 04 0000fdea",                  Keep),
    ("OTC: not transitive",                 Any,      "80 23 04 0000fdea",                  Withdraw),
    ("OTC: length 3",                       Any,      "c0 23 03 00fdea",                    Withdraw),
    ("OTC: length 5",                       Any,      "c0 23 05 0000fdea00",                Withdraw),
    ("OTC: AS 0",                           Any,      "c0 23 04 00000000",                  Withdraw),

    // AIGP, RFC 7311 section 3.
    ("AIGP: right, iBGP",                   Internal, "80 1a 0b 01 000b 0000000000000064",  Keep),
    ("AIGP: Transitive",                    Internal, "c0 1a 0b 01 000b 0000000000000064",  Discard),
    ("AIGP: unknown TLV",                   Internal, "80 1a 0b 02 000b 0000000000000064",  Discard),
    ("AIGP: TLV of length 10",              Internal, "80 1a 0a 01 000a 00000000000064",    Discard),
    ("AIGP: TLV of length 12",              Internal, "80 1a 0c 01 000c 000000000000000064", Discard),
    ("AIGP: TLV beyond the end",            Internal, "80 1a 0a 01 000b 00000000000064",    Discard),
    ("AIGP: length 0",                      Internal, "80 1a 00",                           Discard),
    ("AIGP: right, eBGP",                   External, "80 1a 0b 01 000b 0000000000000064",  Discard),

    // PREFIX_SID, RFC 8669 section 6 and RFC 9252 section 7.
    ("PREFIX_SID: right, iBGP",             Internal, "c0 28 0a 01 0007 00 0000 00000001",  Keep),
    ("PREFIX_SID: not transitive",          Internal, "80 28 0a 01 0007 00 0000 00000001",  Discard),
    ("PREFIX_SID: TLV beyond the end",      Internal, "c0 28 0a 01 0008 00 0000 00000001",  Discard),
    ("PREFIX_SID: half a TLV head",         Internal, "c0 28 02 01 00",                     Discard),
    ("PREFIX_SID: label index of length 6", Internal, "c0 28 09 01 0006 00 0000 000001",    Discard),
    ("PREFIX_SID: length 0",                Internal, "c0 28 00",                           Discard),
    ("PREFIX_SID: 37 octets of zero (frr#22651)", Any, "c0 28 25 00000000000000000000000000000000000000000000000000000000000000000000000000", Discard),
    ("PREFIX_SID: SRv6 without its reserved octet", Internal, "c0 28 03 05 0000",           Discard),
    ("PREFIX_SID: SRv6 sub-TLV beyond its TLV", Internal, "c0 28 07 05 0004 00 01 0009",    Withdraw),
    ("PREFIX_SID: SRv6 sub-TLV of length 1", Internal, "c0 28 08 05 0005 00 01 0001 00",    Withdraw),
    ("PREFIX_SID: right, eBGP",             External, "c0 28 0a 01 0007 00 0000 00000001",  Discard),

    // BGP-LS, RFC 9552 section 8.2.2.
    ("BGP-LS: right, iBGP",                 Internal, "80 1d 05 0401 0001 00",              Keep),
    ("BGP-LS: Transitive",                  Internal, "c0 1d 05 0401 0001 00",              Discard),
    ("BGP-LS: TLV beyond the end",          Internal, "80 1d 05 0401 0002 00",              Discard),
    ("BGP-LS: half a TLV head",             Internal, "80 1d 03 0401 00",                   Discard),
    ("BGP-LS: right, eBGP",                 External, "80 1d 05 0401 0001 00",              Discard),

    // What is not known here, RFC 4271 sections 5 and 6.3. 28 is the deprecated entropy label (CVE-2023-4481).
    ("unknown: optional",                   Any,      "80 c9 01 00",                        Keep),
    ("unknown: optional transitive",        Any,      "c0 c9 01 00",                        Keep),
    ("unknown: without a value",            Any,      "c0 c9 00",                           Keep),
    ("unknown: well-known",                 Any,      "40 c9 01 00",                        Reset(3, 2)),
    ("attribute 28: length 0",              Any,      "c0 1c 00",                           Keep),
    ("attribute 28: length 1",              Any,      "c0 1c 01 00",                        Keep),
];

/// Those of NEXT_HOP, which routes in MP_REACH_NLRI do not use (section 7.3): the verdict for IPv4, and for IPv6.
#[rustfmt::skip]
pub(crate) const NEXT_HOPS: &[(&str, &str, Verdict, Verdict)] = &[
    ("right",           "40 03 04 c0000201",                            Keep,     Keep),
    ("0.0.0.0",         "40 03 04 00000000",                            Withdraw, Keep),
    ("127.0.0.1",       "40 03 04 7f000001",                            Withdraw, Keep),
    ("224.0.0.1",       "40 03 04 e0000001",                            Withdraw, Keep),
    ("255.255.255.255", "40 03 04 ffffffff",                            Withdraw, Keep),
    ("length 0",        "40 03 00",                                     Withdraw, Withdraw),
    ("length 3",        "40 03 03 c00002",                              Withdraw, Withdraw),
    ("length 5",        "40 03 05 c000020100",                          Withdraw, Withdraw),
    ("length 16",       "40 03 10 20010db8000000000000000000000001",    Withdraw, Withdraw),
    ("Optional",        "c0 03 04 c0000201",                            Withdraw, Withdraw),
    ("missing",         "",                                             Withdraw, Keep),
];

/// Those of MP_REACH_NLRI and MP_UNREACH_NLRI (sections 3, 5.3, 7.11, 7.12), in an UPDATE that announces IPv4 routes too.
#[rustfmt::skip]
pub(crate) const MULTI_PROTOCOL: &[(&str, &str, Verdict)] = &[
    ("MP_REACH: length 0",              "80 0e 00",                                                         Reset(3, 1)),
    ("MP_REACH: half a family",         "80 0e 02 0002",                                                    Reset(3, 1)),
    ("MP_REACH: no next hop length",    "80 0e 03 0002 01",                                                 Reset(3, 1)),
    ("MP_REACH: next hop of length 0",  "80 0e 05 0002 01 00 00",                                           Reset(3, 1)),
    ("MP_REACH: next hop of length 4",  "80 0e 09 0002 01 04 c0000201 00",                                  Reset(3, 1)),
    ("MP_REACH: next hop of length 15", "80 0e 14 0002 01 0f 20010db80000000000000000000001 00",            Reset(3, 1)),
    ("MP_REACH: next hop of length 17", "80 0e 16 0002 01 11 20010db8000000000000000000000001 00 00",       Reset(3, 1)),
    ("MP_REACH: next hop of length 24", "80 0e 1d 0002 01 18 0000000000000000 20010db8000000000000000000000001 00", Reset(3, 1)),
    ("MP_REACH: next hop beyond the end", "80 0e 13 0002 01 10 20010db80000000000000000000000",             Reset(3, 1)),
    ("MP_REACH: no reserved octet",     "80 0e 14 0002 01 10 20010db8000000000000000000000001",             Reset(3, 1)),
    ("MP_REACH: prefix of 129 bits",    "80 0e 16 0002 01 10 20010db8000000000000000000000001 00 81",       Reset(3, 10)),
    ("MP_REACH: prefix beyond the end", "80 0e 18 0002 01 10 20010db8000000000000000000000001 00 20 2001",  Reset(3, 9)),
    ("MP_REACH: twice",                 "80 0e 15 0002 01 10 20010db8000000000000000000000001 00 80 0e 15 0002 01 10 20010db8000000000000000000000001 00", Reset(3, 1)),
    ("MP_UNREACH: length 0",            "80 0f 00",                                                         Reset(3, 9)),
    ("MP_UNREACH: half a family",       "80 0f 02 0002",                                                    Reset(3, 9)),
    ("MP_UNREACH: prefix of 129 bits",  "80 0f 04 0002 01 81",                                              Reset(3, 10)),
    ("MP_UNREACH: prefix beyond the end", "80 0f 06 0002 01 20 2001",                                       Reset(3, 9)),
    ("MP_UNREACH: twice",               "80 0f 03 0002 01 80 0f 03 0002 01",                                Reset(3, 1)),
];
