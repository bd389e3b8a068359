//! The lab's network and checks without weft: routes are set by hand, as weft would set them.

use std::time::Duration;

use anyhow::Result;
use interop_tests::lab::checks::{ping_everything, wait_for_routes};
use interop_tests::lab::network::Network;
use interop_tests::lab::options::TorKind;
use interop_tests::lab::plan::{INTERNET_V4, INTERNET_V6, Plan, TOR_V4, TOR_V6};
use interop_tests::{Sandbox, timeouts};

#[test]
fn the_checks_pass_when_every_route_is_there_and_tell_what_is_missing() -> Result<()> {
    let plan = Plan::new(3)?;
    let sandbox = Sandbox::new()?;
    let network = Network::build(&sandbox, &plan)?;
    route_by_hand(&network, &plan)?;

    // Per node 2 towards the ToR, 3 own blocks, 3 blocks of each other; at the ToR 2 blocks of each.
    let count = wait_for_routes(&network, &plan, TorKind::Bird, timeouts::ROUTE)?;
    assert_eq!(count, 3 * (2 + 3 + 6) + 6);
    let report = ping_everything(&network, &plan)?;
    assert!(report.is_clean(), "{report}");
    let table = report.to_string();
    for (row, pairs) in [
        ("pod - pod, BGP, IPv4", "6"),
        ("pod - pod, BGP, IPv6", "6"),
        ("pod - pod, VXLAN", "6"),
        ("BGP pod - VXLAN pod", "18"),
        ("pod - behind ToR, IPv4", "3"),
        ("pod - behind ToR, IPv6", "3"),
    ] {
        let line = table.lines().find(|line| line.contains(row)).expect(row);
        let columns: Vec<&str> = line
            .split(row)
            .nth(1)
            .unwrap_or("")
            .split_whitespace()
            .collect();
        assert_eq!(columns[..3], [pairs, pairs, "0"], "{table}");
    }

    let (first, second) = (&plan.nodes[0], &plan.nodes[1]);
    let netns = network.netns(&first.name)?;
    netns.ip([format!("route del {}", second.block_vxlan)])?;
    let error = wait_for_routes(&network, &plan, TorKind::Bird, Duration::from_millis(300))
        .expect_err("a route is missing");
    let error = format!("{error:#}");
    let missing = format!(
        "node1: {} via {} dev vxlan.weft",
        second.block_vxlan, second.vtep
    );
    assert!(error.contains(&missing), "{error}");
    let report = ping_everything(&network, &plan)?;
    assert!(!report.is_clean());
    assert!(report.to_string().contains("LOST"), "{report}");
    Ok(())
}

fn route_by_hand(network: &Network, plan: &Plan) -> Result<()> {
    for node in &plan.nodes {
        let mut lines = vec![
            format!(
                "link add vxlan.weft address {} type vxlan id 4096 dstport 4789 local {} dev eth0 nolearning",
                node.vtep_mac, node.ipv4
            ),
            "link set vxlan.weft mtu 1450 up".to_owned(),
            format!("address add {}/32 dev vxlan.weft", node.vtep),
            format!("route add {INTERNET_V4}/32 via {TOR_V4}"),
            format!("route add {INTERNET_V6}/128 via {TOR_V6}"),
        ];
        let mut fdb = Vec::new();
        for other in &plan.nodes {
            if other.name == node.name {
                lines.extend(
                    node.blocks()
                        .iter()
                        .map(|(block, _)| format!("route add blackhole {block}")),
                );
                continue;
            }
            lines.extend([
                format!("route add {} via {}", other.block_v4, other.ipv4),
                format!("route add {} via {}", other.block_v6, other.ipv6),
                format!(
                    "neigh add {} lladdr {} dev vxlan.weft nud permanent",
                    other.vtep, other.vtep_mac
                ),
                format!(
                    "route add {} via {} dev vxlan.weft onlink",
                    other.block_vxlan, other.vtep
                ),
            ]);
            fdb.push(format!(
                "fdb add {} dev vxlan.weft dst {} self permanent\n",
                other.vtep_mac, other.ipv4
            ));
        }
        let netns = network.netns(&node.name)?;
        netns.ip(lines)?;
        netns
            .command("bridge")
            .args(["-batch", "-"])
            .stdin(fdb.concat())
            .run()?;
    }
    network.tor.ip(plan.nodes.iter().flat_map(|node| {
        [
            format!("route add {} via {}", node.block_v4, node.ipv4),
            format!("route add {} via {}", node.block_v6, node.ipv6),
        ]
    }))
}
