//! Starting and ending: flags, variables, signals, and what is still there the next time.

use nix::sys::signal::Signal;
use weft_proto::v1::entry::Entry;
use weft_proto::v1::{WatchKind, peer};

use crate::pair::Pair;
use crate::weftd::{Home, POOL, PORT, entry, node};

#[tokio::test]
async fn sigterm_ends_cleanly_and_the_applied_state_is_there_again() {
    let home = Home::new("left");
    let text = [POOL, &node("left", home.address, "10.244.1.0/26")].concat();
    let daemon = home.start(&[]);
    daemon.apply(&text).await;
    let (status, home) = daemon.end();
    assert_eq!(status.code(), Some(0));
    assert!(!home.socket().exists(), "nobody answers there any more");

    let daemon = home.start(&[]);
    let status = daemon.status().await;
    assert_eq!(status.scopes[0].scope, "test");
    assert_eq!(status.routes.unwrap().originated, 1);
}

#[tokio::test]
async fn a_watcher_does_not_hold_up_the_end() {
    let daemon = Home::new("left").start(&[]);
    let mut watch = daemon.watch(&[]).await;
    watch.next().await;
    let (status, _home) = daemon.end();
    assert_eq!(status.code(), Some(0));
}

#[tokio::test]
async fn a_second_daemon_does_not_take_the_socket_of_the_first() {
    let daemon = Home::new("left").start(&[]);
    let second = Home::new("left");
    let socket = daemon.home().socket();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_weftd"));
    let output = command
        .args(["--no-kernel", "--bgp-port", "11791", "--bgp-address"])
        .arg(second.address.to_string())
        .arg("--api")
        .arg(&socket)
        .arg("--state-dir")
        .arg(second.manifests())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("another weftd answers there"), "{errors}");
    assert_eq!(daemon.status().await.node, "left");
}

#[test]
fn a_taken_port_ends_the_start_with_the_flags_to_change() {
    let home = Home::new("left");
    let taken = format!("{}:{PORT}", home.address);
    let _other_daemon = std::net::TcpListener::bind(&taken).unwrap();
    let output = home.command(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains(&taken) && errors.contains("--bgp-port"),
        "{errors}"
    );
}

#[tokio::test]
async fn an_address_that_the_host_does_not_have_yet_is_waited_for() {
    let home = Home::new("left");
    let text = format!(
        "{}---
apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {{ name: default }}
spec: {{ bindMode: NodeIP }}
",
        // RFC 5737: nobody's.
        node("left", [203, 0, 113, 77].into(), "10.244.1.0/26")
    );
    let manifests = home.write("cluster.yaml", &text);
    let command = home.command_anywhere(&["--manifests", manifests.to_str().unwrap()]);
    let daemon = home.start_command(command);
    let status = daemon.status().await;
    assert!(status.listening.is_empty());
    let mut conditions = status.conditions.iter();
    let failed = conditions.find(|one| one.r#type == "ListenFailed").unwrap();
    assert!(failed.message.contains("203.0.113.77"), "{failed:?}");
}

#[test]
fn a_refused_variable_is_named() {
    let home = Home::new("left");
    let output = home
        .command(&[])
        .env("WEFT_METRICS", "9179")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("127.0.0.1:9179"), "{errors}");
    assert!(errors.contains("WEFT_METRICS"), "{errors}");
}

#[tokio::test]
async fn variables_that_are_set_to_nothing_are_not_set() {
    let home = Home::new("left");
    let mut command = home.command(&[]);
    command.env("WEFT_MANIFESTS", "");
    command.env("WEFT_METRICS", "").env("WEFT_ROUTER_ID", "");
    let daemon = home.start_command(command);
    assert!(!daemon.status().await.programs_kernel);
}

#[tokio::test]
async fn a_neighbour_that_is_left_for_a_restart_keeps_the_routes() {
    let Pair { left, right, .. } = Pair::start().await;
    let mut watch = left.watch(&[WatchKind::Peer]).await;
    watch.peer_is(peer::State::Established).await;
    right.signal(Signal::SIGTERM);
    let kept = watch
        .find(|event| match entry(event)? {
            Entry::Peer(peer) => {
                let mut conditions = peer.conditions.iter();
                conditions.find(|one| one.r#type == "Stale").cloned()
            }
            _ => None,
        })
        .await;
    assert!(kept.message.contains("ipv4-unicast"), "{kept:?}");
}
