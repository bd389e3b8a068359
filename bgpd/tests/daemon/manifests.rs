//! `--manifests`: read at the start, when they change, and on SIGHUP; a bad one changes nothing.

use nix::sys::signal::Signal;
use weft_proto::v1::{WatchKind, entry};

use crate::weftd::{Home, POOL, entry, node};

fn started(home: Home) -> crate::weftd::Weftd {
    let text = [POOL, &node("left", home.address, "10.244.1.0/26")].concat();
    home.write("cluster.yaml", &text);
    let manifests = home.manifests();
    home.start(&["--manifests", manifests.to_str().unwrap()])
}

#[tokio::test]
async fn a_changed_directory_is_taken_over() {
    let daemon = started(Home::new("left"));
    assert_eq!(daemon.status().await.routes.unwrap().originated, 1);
    let mut watch = daemon.watch(&[WatchKind::Block]).await;
    daemon.home().write(
        "more.yaml",
        "apiVersion: projectcalico.org/v3
kind: BlockAffinity
metadata: { name: more }
spec: { cidr: 10.244.7.0/26, node: left, state: confirmed }
",
    );
    watch
        .find(|event| match entry(event)? {
            entry::Entry::Block(block) => (block.cidr == "10.244.7.0/26").then_some(()),
            _ => None,
        })
        .await;
    assert_eq!(daemon.status().await.scopes[0].objects, 4);
}

#[tokio::test]
async fn a_bad_manifest_keeps_the_last_good_state_and_is_shown_until_it_is_mended() {
    let daemon = started(Home::new("left"));
    let bad = "apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: { name: tor }
spec:
  peerIP: 192.0.2.300
  asNumber: 65001
";
    let path = daemon.home().write("tor.yaml", bad);
    let log = daemon.wait_for_log("what was read last stays in force");
    let place = format!("{}:5", path.display());
    assert!(
        log.iter()
            .any(|line| line.contains(&place) && line.contains("spec.peerIP")),
        "{log:#?}"
    );
    let status = daemon.status().await;
    assert_eq!(status.routes.unwrap().originated, 1);
    let [scope] = status.scopes.as_slice() else {
        panic!("{status:?}")
    };
    assert_eq!((scope.objects, scope.problems.len()), (3, 1));
    let problem = &scope.problems[0];
    assert_eq!((problem.line, problem.field.as_str()), (5, "spec.peerIP"));
    assert!(problem.message.contains("write for example"), "{problem:?}");

    daemon.home().write("tor.yaml", &bad.replace("300", "30"));
    daemon.wait_for_log("peer added");
    // The answer comes from the control loop, after what it is doing.
    let response = daemon
        .send(weft_proto::v1::apply_request::Mode::Plan, "")
        .await;
    assert!(response.accepted);
    let status = daemon.status().await;
    assert_eq!(status.scopes[0].problems, []);
    assert_eq!(status.peers.unwrap().configured, 1);
}

#[tokio::test]
async fn manifests_that_vanish_change_nothing() {
    let daemon = started(Home::new("left"));
    std::fs::rename(
        daemon.home().manifests(),
        daemon.home().manifests().with_extension("away"),
    )
    .unwrap();
    daemon.signal(Signal::SIGHUP);
    daemon.wait_for_log("No such file or directory");
    assert_eq!(daemon.status().await.routes.unwrap().originated, 1);
}

#[test]
fn what_lies_beside_the_manifests_does_not_concern_them() {
    let daemon = started(Home::new("left"));
    let log = daemon.home().manifests().join("weftd.log");
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn(move || {
        let goes_on = || stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty);
        while goes_on() {
            std::fs::write(&log, "a line").unwrap();
        }
    });
    // Files are read when nothing has changed for a moment: if the log counted, that would be never.
    daemon.home().write("empty.yaml", "# nothing");
    daemon.wait_for_log("applying");
    drop(stop);
    writer.join().unwrap();
}

#[tokio::test]
async fn sighup_reads_them_again() {
    let daemon = started(Home::new("left"));
    daemon.signal(Signal::SIGHUP);
    daemon.wait_for_log("SIGHUP");
    let log = daemon.wait_for_log("applying");
    assert!(log.last().unwrap().contains("changes=0"), "{log:?}");
}

#[test]
fn a_start_with_a_bad_manifest_and_nothing_good_is_refused() {
    for (text, line, field) in [
        (POOL.replace("/16", "/99"), 5, "spec.cidr"),
        // Each pool is right by itself.
        (
            format!(
                "{POOL}{}",
                POOL.replace("pods", "inner").replace("/16", "/17")
            ),
            7,
            "spec.cidr",
        ),
    ] {
        let home = Home::new("left");
        let path = home.write("pools.yaml", &text);
        let output = home
            .command(&["--manifests", path.to_str().unwrap()])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        let errors = String::from_utf8(output.stderr).unwrap();
        let place = format!("{}:{line}", path.display());
        assert!(
            errors.contains(&place) && errors.contains(field),
            "{errors}"
        );
        assert!(errors.contains("--manifests"), "{errors}");
    }
}

#[tokio::test]
async fn a_restart_over_a_bad_manifest_runs_on_the_last_good_state() {
    let daemon = started(Home::new("left"));
    let (status, home) = daemon.end();
    assert!(status.success());
    home.write("tor.yaml", "kind: Nonsense");
    let manifests = home.manifests();
    let daemon = home.start(&["--manifests", manifests.to_str().unwrap()]);
    let status = daemon.status().await;
    assert_eq!(status.routes.unwrap().originated, 1);
    assert_eq!(status.scopes[0].objects, 3);
    assert!(status.scopes[0].problems[0].message.contains("weft knows"));
}
