//! Plans against the BIRD configuration that Calico generates from the same resources.
//!
//! The vectors are not part of the repository: they lie in `../shared/vectors/calico` beside the workspace. Without
//! them these tests say so and pass.

#![expect(
    clippy::unwrap_used,
    reason = "a vector that cannot be read is a failed test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use cluster::model::NextHopMode;
use cluster::plan::{Bind, CommunityRule, ExportRule, Plan, SessionKind, SessionPlan};
use cluster::{Local, Located, Object, RouterIdSource, Snapshot, plan, read_manifest};
use ipnet::IpNet;

/// What a session looks like in both worlds.
#[derive(Debug, Eq, PartialEq)]
struct Session {
    remote_asn: u32,
    local_asn: u32,
    source: Option<IpAddr>,
    passive: bool,
    client_of: Option<Ipv4Addr>,
    next_hop: &'static str,
    allow_own_asn: u8,
    ttl_security: Option<u8>,
    restart_time: Option<u16>,
}

type Sessions = BTreeMap<(IpAddr, u16), Session>;

/// Scenarios without passwords, filters and workload peers, which weft does not have yet.
const SCENARIOS: [&str; 31] = [
    "mesh/bgp-export",
    "mesh/communities",
    "mesh/communities/step2",
    "mesh/hash",
    "mesh/ipip-always",
    "mesh/ipip-cross-subnet",
    "mesh/ipip-off",
    "mesh/route-reflector-mesh-enabled",
    "mesh/static-routes",
    "mesh/vxlan-always",
    "explicit_peering/global",
    "explicit_peering/global-external",
    "explicit_peering/global-ipv6",
    "explicit_peering/keepnexthop",
    "explicit_peering/local-as",
    "explicit_peering/local-as-global",
    "explicit_peering/local-as-ipv6",
    "explicit_peering/route_reflector",
    "explicit_peering/selectors",
    "explicit_peering/selectors/step2",
    "explicit_peering/specific_node",
    "next_hop_mode/route_reflectors",
    "reverse_peering/auto",
    "ttl_security/explicit_node",
    "ttl_security/global",
    "ttl_security/peer_selector",
    "cluster_routes/default",
    "cluster_routes/enabled",
    "cluster_routes/ipip-only",
    "cluster_routes/noencap-only",
    "felix_cluster_routing",
];

#[test]
fn sessions_equal_calicos() {
    each_scenario(|scenario, plan, bird| {
        let actual: Sessions = plan
            .sessions
            .iter()
            .map(|(key, session)| ((key.address, key.port), of_plan(plan, session)))
            .collect();
        let mut expected = of_bird(&bird.read("bird.cfg"), scenario);
        expected.extend(of_bird(&bird.read("bird6.cfg"), scenario));
        (format!("{actual:#?}"), format!("{expected:#?}"))
    });
}

#[test]
fn the_kind_of_each_session_equals_calicos() {
    each_scenario(|_, plan, bird| {
        let kind = |session: &SessionPlan| match session.kind {
            SessionKind::Mesh => "Mesh",
            SessionKind::Global => "Global",
            // Calico files the other end of a peering under the kind of the forward end.
            SessionKind::Node | SessionKind::Reverse => "Node",
        };
        let sessions = plan.sessions.iter();
        let actual: BTreeSet<String> = sessions
            .map(|(key, session)| format!("{} {}", key.address, kind(session)))
            .collect();
        let text = bird.read("bird.cfg") + &bird.read("bird6.cfg");
        let expected: BTreeSet<String> = blocks(&text)
            .map(|(name, body)| {
                let address = statement(&body, "neighbor ").and_then(|rest| rest.split(' ').next());
                format!("{} {}", address.unwrap(), name.split('_').next().unwrap())
            })
            .collect();
        (format!("{actual:#?}"), format!("{expected:#?}"))
    });
}

#[test]
fn speaker_settings_equal_calicos() {
    each_scenario(|_, plan, bird| {
        let text = bird.read("bird.cfg");
        let id = statement(&text, "router id ").map(|id| id.trim_end_matches(';').to_owned());
        let listen = statement(&text, "listen bgp ").unwrap_or("port 179;");
        let port = listen
            .rsplit(' ')
            .next()
            .map(|port| port.trim_end_matches(';').to_owned());
        let bound = listen.contains("address");
        let actual = (
            plan.router_id.map(|id| id.to_string()),
            plan.listen_port.to_string(),
        );
        let actual = format!("{actual:?} bound {}", plan.bind == Bind::NodeAddresses);
        (actual, format!("{:?} bound {bound}", (id, port.unwrap())))
    });
}

#[test]
fn pools_are_exported_as_calico_exports_them() {
    each_scenario(|_, plan, bird| {
        let mut actual = BTreeSet::new();
        for rule in &plan.export.rules {
            let _ = match rule {
                ExportRule::RejectInside { within, .. } => {
                    actual.insert(format!("reject {within}"))
                }
                ExportRule::AcceptInside { within, .. } => {
                    actual.insert(format!("accept {within}"))
                }
                ExportRule::OwnBlock { .. } => true,
            };
        }
        let mut expected = BTreeSet::new();
        for file in ["bird_ipam.cfg", "bird6_ipam.cfg"] {
            let text = bird.read(file);
            let function = text
                .split("function calico_export_to_bgp_peers")
                .nth(1)
                .unwrap();
            let function = function.split("\n}").next().unwrap();
            expected.extend(function.lines().filter_map(|line| {
                let (net, rest) = line.trim().strip_prefix("if (net ~ ")?.split_once(')')?;
                let action = if rest.contains("accept") {
                    "accept"
                } else {
                    "reject"
                };
                Some(format!("{action} {net}"))
            }));
        }
        (format!("{actual:#?}"), format!("{expected:#?}"))
    });
}

/// IP-in-IP pools are left out: whatever `programClusterRoutes` says, weft does not install their routes.
#[test]
fn routes_stay_out_of_the_kernel_where_calico_keeps_them_out() {
    each_scenario(|_, plan, bird| {
        let text = bird.read("bird_ipam.cfg") + &bird.read("bird6_ipam.cfg");
        let filters = text.split("filter calico_kernel_programming").skip(1);
        let kernel: String = filters
            .map(|filter| filter.split("\n}").next().unwrap())
            .collect();
        let rejected =
            |pool: &IpNet| kernel.contains(&format!("(net ~ {pool}) then {{ reject; }}"));
        let (mut actual, mut expected) = (String::new(), String::new());
        for pool in bird
            .snapshot
            .ip_pools
            .values()
            .filter(|pool| !pool.uses_ipip())
        {
            let kept_out = plan.kernel.not_installed(&pool.cidr).is_some();
            let _ = writeln!(actual, "{} {kept_out}", pool.cidr);
            let _ = writeln!(expected, "{} {}", pool.cidr, rejected(&pool.cidr));
        }
        (actual, expected)
    });
}

#[test]
fn every_manifest_is_read_but_for_what_is_not_supported() {
    let Some(root) = vectors() else { return };
    let mut files = Vec::new();
    let mut directories = vec![root.join("input")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path)
            } else {
                files.push(path)
            }
        }
    }
    assert!(files.len() > 50, "{} files", files.len());
    for file in files {
        let manifest = read_manifest("input.yaml", &fs::read_to_string(&file).unwrap());
        for error in manifest.errors {
            let unsupported = match error.field.as_str() {
                "spec.password" | "spec.nodeMeshPassword" | "spec.filters" => true,
                "spec.localWorkloadSelector" => true,
                "kind" => ["BGPFilter", "Service", "EndpointSlice"]
                    .iter()
                    .any(|kind| error.object.starts_with(kind)),
                _ => false,
            };
            assert!(unsupported, "{}: {error}", file.display());
        }
        // Fields that weft does not know would be typos of ours.
        for warning in manifest.warnings {
            assert!(
                !warning.problem.contains("does not know"),
                "{}: {warning}",
                file.display()
            );
        }
    }
}

#[test]
fn communities_equal_calicos() {
    each_scenario(|_, plan, bird| {
        let mut actual = String::new();
        for CommunityRule {
            within,
            communities,
        } in &plan.export.communities
        {
            let communities: BTreeSet<String> =
                communities.iter().map(ToString::to_string).collect();
            let _ = writeln!(actual, "{within} {communities:?}");
        }
        let mut expected = String::new();
        for file in ["bird.cfg", "bird6.cfg"] {
            let text = bird.read(file);
            let function = text.split("function apply_communities").nth(1).unwrap();
            let function = function.split("\n}").next().unwrap();
            for part in function.split("if ( net ~ ").skip(1) {
                let (net, body) = part.split_once(' ').unwrap();
                let values = body.split(".add((").skip(1);
                let values: BTreeSet<String> = values
                    .map(|value| value.split(')').next().unwrap().replace(", ", ":"))
                    .collect();
                let _ = writeln!(expected, "{net} {values:?}");
            }
        }
        (actual, expected)
    });
}

/// Calls `compare` with each scenario; it returns what weft and what Calico say, as text.
fn each_scenario(compare: impl Fn(&str, &Plan, &Bird) -> (String, String)) {
    let Some(root) = vectors() else { return };
    for scenario in SCENARIOS {
        let mut snapshot = Snapshot::default();
        // A step changes what the scenario before it has set up.
        let steps = scenario
            .strip_suffix("/step2")
            .into_iter()
            .chain([scenario]);
        for step in steps {
            let file = root.join("input").join(step).join("input.yaml");
            let text = fs::read_to_string(&file).unwrap();
            let manifest = read_manifest("input.yaml", &text);
            assert_eq!(manifest.errors, [], "{scenario}");
            snapshot.extend(
                manifest
                    .objects
                    .into_iter()
                    .map(|Located { value, .. }| -> Object { value }),
            );
        }
        let mut local = Local::new("kube-master");
        if scenario == "mesh/hash" {
            local.router_id = RouterIdSource::Hash;
        }
        let planned = plan(&snapshot, &local).unwrap();
        let directory = root.join("bird").join(scenario);
        let bird = Bird {
            directory,
            snapshot,
        };
        let (actual, expected) = compare(scenario, &planned.plan, &bird);
        assert_eq!(
            actual, expected,
            "{scenario}: weft (left) and Calico (right) differ"
        );
    }
}

fn vectors() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/calico");
    if !root.is_dir() {
        eprintln!("SKIPPED: no vectors in {}", root.display());
        return None;
    }
    Some(root)
}

struct Bird {
    directory: PathBuf,
    snapshot: Snapshot,
}

impl Bird {
    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.directory.join(file)).unwrap()
    }
}

fn of_plan(plan: &Plan, session: &SessionPlan) -> Session {
    Session {
        remote_asn: session.remote_asn.0,
        local_asn: session.local_asn.0,
        source: session.source_address,
        passive: session.passive,
        client_of: plan.cluster_id.filter(|_| session.reflector_client),
        next_hop: match session.next_hop_mode {
            NextHopMode::Auto => "auto",
            NextHopMode::OwnAddress => "self",
            NextHopMode::Keep => "keep",
        },
        allow_own_asn: session.allow_own_asn,
        ttl_security: session.ttl_security,
        // BIRD leaves its default unsaid.
        restart_time: Some(session.restart_time).filter(|time| *time != 120),
    }
}

fn of_bird(text: &str, scenario: &str) -> Sessions {
    let global_asn: Option<u32> = statement(text, "local as ").and_then(number);
    let mut sessions = Sessions::new();
    for (name, body) in blocks(text) {
        let neighbor =
            statement(&body, "neighbor ").unwrap_or_else(|| panic!("{scenario}: {name}"));
        let words: Vec<&str> = neighbor.trim_end_matches(';').split(' ').collect();
        let (address, port, asn) = match words.as_slice() {
            [address, "port", port, "as", asn] => (*address, port.parse().unwrap(), *asn),
            [address, "as", asn] => (*address, 179, *asn),
            _ => panic!("{scenario}: {neighbor}"),
        };
        let session = Session {
            remote_asn: asn.parse().unwrap(),
            local_asn: statement(&body, "local as ")
                .and_then(number)
                .or(global_asn)
                .unwrap(),
            source: statement(&body, "source address ").and_then(number),
            passive: body.contains("passive on;"),
            client_of: statement(&body, "rr cluster id ").and_then(number),
            next_hop: match () {
                () if body.contains("next hop keep;") => "keep",
                () if body.contains("next hop self;") => "self",
                () => "auto",
            },
            allow_own_asn: statement(&body, "allow local as ")
                .and_then(number)
                .unwrap_or(0),
            ttl_security: body
                .contains("ttl security on;")
                .then(|| statement(&body, "multihop ").and_then(number).unwrap()),
            restart_time: statement(&body, "graceful restart time ").and_then(number),
        };
        let previous = sessions.insert((address.parse().unwrap(), port), session);
        assert_eq!(previous, None, "{scenario}: {name}");
    }
    sessions
}

/// The `protocol bgp NAME ... { BODY }` blocks of a BIRD configuration.
fn blocks(text: &str) -> impl Iterator<Item = (String, String)> {
    text.split("\nprotocol bgp ").skip(1).map(|part| {
        let name = part.split(' ').next().unwrap().to_owned();
        (name, part.split("\n}").next().unwrap().to_owned())
    })
}

/// What follows the first occurrence of `keyword` at the start of a line.
fn statement<'a>(text: &'a str, keyword: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.trim().strip_prefix(keyword))
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.split(';').next()?.trim().parse().ok()
}
