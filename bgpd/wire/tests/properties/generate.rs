//! Strategies for everything that weft may write.

use std::net::{Ipv4Addr, Ipv6Addr};

use bgp_wire::{
    AddPathMode, Aggregator, AsPath, Asn, Attributes, Capability, Community, ExtendedCommunity,
    ExtendedNextHop, Family, GracefulFamily, Ipv6ExtendedCommunity, LargeCommunity,
    LongLivedFamily, NextHop, Nlri, NotificationMessage, OpenMessage, Origin, RefreshSubtype,
    RouteRefreshMessage, RouterId, SegmentKind, SessionType, UnknownAttribute,
    attribute_code as code,
};
use bytes::Bytes;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// What a session may have agreed on.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Features {
    pub(crate) four_octet_asn: bool,
    pub(crate) extended_messages: bool,
    pub(crate) add_path: bool,
}

pub(crate) fn features() -> impl Strategy<Value = Features> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(four_octet_asn, extended_messages, add_path)| Features {
            four_octet_asn,
            extended_messages,
            add_path,
        },
    )
}

pub(crate) fn session() -> impl Strategy<Value = SessionType> {
    select(vec![SessionType::Internal, SessionType::External])
}

pub(crate) fn open() -> impl Strategy<Value = OpenMessage> {
    let capabilities = vec(capability(), 0..12);
    (asn(), any::<u16>(), 1u32.., capabilities).prop_map(
        |(asn, hold_time, id, mut capabilities)| {
            // Without the capability only two octets arrive; and there is but one AS of the sender.
            capabilities.retain(|capability| !matches!(capability, Capability::FourOctetAsn(_)));
            capabilities.push(Capability::FourOctetAsn(asn));
            OpenMessage {
                version: 4,
                asn,
                hold_time,
                router_id: RouterId::from(id),
                capabilities,
            }
        },
    )
}

fn capability() -> impl Strategy<Value = Capability> {
    let mode = select(vec![
        AddPathMode::Receive,
        AddPathMode::Send,
        AddPathMode::Both,
    ]);
    let next_hop = (family(), any::<u16>()).prop_map(|(family, next_hop_afi)| ExtendedNextHop {
        family,
        next_hop_afi,
    });
    let graceful =
        (family(), any::<bool>()).prop_map(|(family, forwarding_preserved)| GracefulFamily {
            family,
            forwarding_preserved,
        });
    let long_lived = (family(), any::<bool>(), 0u32..1 << 24).prop_map(
        |(family, forwarding_preserved, stale_time)| LongLivedFamily {
            family,
            forwarding_preserved,
            stale_time,
        },
    );
    let restart = (
        any::<bool>(),
        any::<bool>(),
        0u16..4096,
        vec(graceful, 0..=63),
    )
        .prop_map(|(restarting, notification, restart_time, families)| {
            Capability::GracefulRestart {
                restarting,
                notification,
                restart_time,
                families,
            }
        });
    prop_oneof![
        family().prop_map(Capability::MultiProtocol),
        Just(Capability::RouteRefresh),
        vec(next_hop, 0..=42).prop_map(Capability::ExtendedNextHop),
        Just(Capability::ExtendedMessage),
        any::<u8>().prop_map(Capability::Role),
        restart,
        vec((family(), mode), 0..=63).prop_map(Capability::AddPath),
        Just(Capability::EnhancedRouteRefresh),
        vec(long_lived, 0..=36).prop_map(Capability::LongLivedGracefulRestart),
        ("[a-z0-9-]{0,126}", "[a-z0-9.é]{0,63}")
            .prop_map(|(hostname, domain)| Capability::Fqdn { hostname, domain }),
        "[ -~]{0,254}".prop_map(Capability::SoftwareVersion),
        (
            select(vec![3u8, 8, 66, 67, 77, 128, 239]),
            vec(any::<u8>(), 0..=255)
        )
            .prop_map(|(code, value)| {
                Capability::Unknown {
                    code,
                    value: Bytes::from(value),
                }
            }),
    ]
}

fn family() -> impl Strategy<Value = Family> {
    prop_oneof![
        Just(Family::IPV4_UNICAST),
        Just(Family::IPV6_UNICAST),
        (any::<u16>(), any::<u8>()).prop_map(|(afi, safi)| Family { afi, safi }),
    ]
}

pub(crate) fn notification() -> impl Strategy<Value = NotificationMessage> {
    prop_oneof![
        (any::<u8>(), any::<u8>(), vec(any::<u8>(), 0..4096 - 21))
            .prop_map(|(code, subcode, data)| NotificationMessage::with_data(code, subcode, &data)),
        ".{0,200}".prop_map(|text| NotificationMessage::administrative_shutdown(&text)),
        ".{0,200}".prop_map(|text| NotificationMessage::administrative_reset(&text)),
    ]
}

pub(crate) fn refresh() -> impl Strategy<Value = RouteRefreshMessage> {
    let subtype = prop_oneof![
        Just(RefreshSubtype::Normal),
        Just(RefreshSubtype::Begin),
        Just(RefreshSubtype::End),
        (3u8..).prop_map(RefreshSubtype::Unknown),
    ];
    (family(), subtype).prop_map(|(family, subtype)| RouteRefreshMessage { family, subtype })
}

/// Enough of them to need several messages now and then.
pub(crate) fn routes() -> impl Strategy<Value = (Family, NextHop, Vec<Nlri>)> {
    let count = || prop_oneof![4 => 1usize..6, 1 => 1usize..2500];
    let v4 = (any::<u32>(), any::<u32>(), 0u8..=32).prop_map(|(path_id, address, length)| {
        let prefix = Ipv4Net::new(Ipv4Addr::from(address), length)
            .expect("at most 32 or 128 bits")
            .trunc();
        Nlri {
            path_id,
            prefix: IpNet::V4(prefix),
        }
    });
    let v6 = (any::<u32>(), any::<u128>(), 0u8..=128).prop_map(|(path_id, address, length)| {
        let prefix = Ipv6Net::new(Ipv6Addr::from(address), length)
            .expect("at most 32 or 128 bits")
            .trunc();
        Nlri {
            path_id,
            prefix: IpNet::V6(prefix),
        }
    });
    let v4 = count().prop_flat_map(move |count| vec(v4.clone(), count));
    let v6 = count().prop_flat_map(move |count| vec(v6.clone(), count));
    prop_oneof![
        (prop_oneof![next_hop_v4(), next_hop_v6()], v4).prop_map(|(hop, nlri)| (
            Family::IPV4_UNICAST,
            hop,
            nlri
        )),
        (next_hop_v6(), v6).prop_map(|(hop, nlri)| (Family::IPV6_UNICAST, hop, nlri)),
    ]
}

fn next_hop_v4() -> impl Strategy<Value = NextHop> {
    // 1.0.0.0 to 126.255.255.255.
    (0x0100_0000u32..0x7f00_0000).prop_map(|address| NextHop::V4(address.into()))
}

fn next_hop_v6() -> impl Strategy<Value = NextHop> {
    // 2000::/3, and fe80::/64.
    (0u128..1 << 125, option::of(any::<u64>())).prop_map(|(address, interface)| NextHop::V6 {
        global: Ipv6Addr::from(1 << 125 | address),
        link_local: interface.map(|it| Ipv6Addr::from(0xfe80 << 112 | u128::from(it))),
    })
}

/// All that an iBGP session can carry. At most about 3200 octets, so that there is room for a route.
pub(crate) fn attributes() -> impl Strategy<Value = Attributes> {
    let numbers = (
        select(vec![Origin::Igp, Origin::Egp, Origin::Incomplete]),
        as_path(),
        option::of(any::<u32>()),
        option::of(any::<u32>()),
        any::<bool>(),
        option::of((asn(), any::<u32>())),
        option::of(any::<u32>()),
        vec(any::<u32>(), 0..20),
        option::of(any::<u64>()),
        option::of(asn()),
    );
    let communities = (
        vec(any::<u32>(), 0..100),
        vec(any::<[u8; 8]>(), 0..40),
        vec(any::<[u8; 20]>(), 0..5),
        vec(any::<[u32; 3]>(), 0..30),
    );
    let opaque = (
        option::of(select(PMSI_TUNNELS)),
        option::of(select(TUNNEL_ENCAPSULATIONS)),
        option::of(select(PREFIX_SIDS)),
        unknown(),
        subsequence(PARTIAL.to_vec(), 0..=PARTIAL.len()),
    );
    (numbers, communities, opaque).prop_map(|(numbers, communities, opaque)| {
        let (
            origin,
            as_path,
            med,
            local_pref,
            atomic_aggregate,
            aggregator,
            originator,
            clusters,
            aigp,
            otc,
        ) = numbers;
        let (standard, extended, ipv6_extended, large) = communities;
        let (pmsi_tunnel, tunnel_encapsulation, prefix_sid, unknown, partial) = opaque;
        let mut attributes = Attributes {
            origin,
            as_path,
            med,
            local_pref,
            atomic_aggregate,
            aggregator: aggregator.map(|(asn, address)| Aggregator {
                asn,
                address: address.into(),
            }),
            communities: standard.into_iter().map(Community).collect(),
            extended_communities: extended.into_iter().map(ExtendedCommunity).collect(),
            ipv6_extended_communities: ipv6_extended
                .into_iter()
                .map(Ipv6ExtendedCommunity)
                .collect(),
            large_communities: large
                .into_iter()
                .map(|[a, b, c]| LargeCommunity::new(a, b, c))
                .collect(),
            originator_id: originator.map(RouterId::from),
            cluster_list: clusters.into_iter().map(RouterId::from).collect(),
            aigp,
            otc,
            pmsi_tunnel: pmsi_tunnel.map(Into::into),
            tunnel_encapsulation: tunnel_encapsulation.map(Into::into),
            prefix_sid: prefix_sid.map(Into::into),
            unknown,
            ..Attributes::default()
        };
        attributes.partial = partial
            .into_iter()
            .filter(|&code| is_present(&attributes, code))
            .collect();
        attributes
    })
}

/// Of sequences and sets; confederations have no place in AS4_PATH.
fn as_path() -> impl Strategy<Value = AsPath> {
    let kind = select(vec![
        SegmentKind::Sequence,
        SegmentKind::Sequence,
        SegmentKind::Set,
    ]);
    vec((kind, vec(asn(), 1..40)), 0..4).prop_map(|segments| {
        let mut path = AsPath::new();
        for (kind, asns) in segments {
            path.push_segment(kind, &asns);
        }
        path
    })
}

/// Never 0.
fn asn() -> impl Strategy<Value = Asn> {
    prop_oneof![1u32..65536, 65536u32.., Just(23456)].prop_map(Asn)
}

/// By ascending code, each once.
fn unknown() -> impl Strategy<Value = Vec<UnknownAttribute>> {
    let codes = subsequence(
        vec![
            11u8, 12, 13, 19, 20, 21, 24, 27, 28, 33, 39, 41, 128, 200, 255,
        ],
        0..4,
    );
    (codes, vec(vec(any::<u8>(), 0..300), 4)).prop_map(|(codes, values)| {
        let attribute = |(code, value): (u8, Vec<u8>)| UnknownAttribute {
            flags: 0xe0,
            code,
            value: value.into(),
        };
        codes.into_iter().zip(values).map(attribute).collect()
    })
}

fn is_present(attributes: &Attributes, code: u8) -> bool {
    match code {
        code::AGGREGATOR => attributes.aggregator.is_some(),
        code::COMMUNITIES => !attributes.communities.is_empty(),
        code::EXTENDED_COMMUNITIES => !attributes.extended_communities.is_empty(),
        code::IPV6_EXTENDED_COMMUNITIES => !attributes.ipv6_extended_communities.is_empty(),
        code::LARGE_COMMUNITIES => !attributes.large_communities.is_empty(),
        code::OTC => attributes.otc.is_some(),
        code::PMSI_TUNNEL => attributes.pmsi_tunnel.is_some(),
        code::TUNNEL_ENCAPSULATION => attributes.tunnel_encapsulation.is_some(),
        code::PREFIX_SID => attributes.prefix_sid.is_some(),
        code => panic!("{code} never carries the Partial bit"),
    }
}

/// Optional transitive attributes.
const PARTIAL: [u8; 9] = [
    code::AGGREGATOR,
    code::COMMUNITIES,
    code::EXTENDED_COMMUNITIES,
    code::IPV6_EXTENDED_COMMUNITIES,
    code::LARGE_COMMUNITIES,
    code::OTC,
    code::PMSI_TUNNEL,
    code::TUNNEL_ENCAPSULATION,
    code::PREFIX_SID,
];

const PMSI_TUNNELS: &[&[u8]] = &[&[0, 6, 0, 0, 100, 192, 0, 2, 1], &[1, 0, 0, 0, 0]];
const TUNNEL_ENCAPSULATIONS: &[&[u8]] = &[
    &[0, 8, 0, 0],
    &[0, 8, 0, 3, 4, 1, 9, 0, 7, 0, 4, 128, 0, 1, 0],
];
const PREFIX_SIDS: &[&[u8]] = &[&[1, 0, 7, 0, 0, 0, 0, 0, 0, 1], &[99, 0, 1, 0]];
