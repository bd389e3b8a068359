//! Apply and Watch: what is planned, what is carried out, what is left alone.

use weft_proto::v1::apply_request::{Mode, SessionReset};
use weft_proto::v1::watch_response::Event;
use weft_proto::v1::{self, Action, Cost, WatchKind, entry, peer};

use crate::pair::Pair;
use crate::weftd::{Home, PATIENCE, POOL, entry, node, request};

#[tokio::test]
async fn plan_and_validate_change_nothing() {
    let home = Home::new("left");
    let text = [POOL, &node("left", home.address, "10.244.1.0/26")].concat();
    let daemon = home.start(&[]);
    for mode in [Mode::Validate, Mode::Plan] {
        let response = daemon.send(mode, &text).await;
        assert!(response.accepted, "{response:?}");
        assert!(
            response
                .objects
                .iter()
                .all(|change| change.action() == Action::Create)
        );
        assert!(
            response
                .changes
                .iter()
                .any(|change| change.what == "10.244.1.0/26")
        );
        let status = daemon.status().await;
        assert_eq!(status.scopes, []);
        assert_eq!(status.routes.unwrap().originated, 0);
    }
}

#[tokio::test]
async fn an_apply_is_carried_out_and_watchers_see_it() {
    let home = Home::new("left");
    let text = [POOL, &node("left", home.address, "10.244.1.0/26")].concat();
    let daemon = home.start(&[]);
    let mut watch = daemon.watch(&[WatchKind::Block, WatchKind::Route]).await;
    assert!(matches!(watch.next().await, Event::SnapshotBegin(_)));
    assert!(matches!(watch.next().await, Event::SnapshotEnd(_)));

    daemon.apply(&text).await;
    let route = watch
        .find(|event| match entry(event)? {
            entry::Entry::Route(route) => Some(route.clone()),
            _ => None,
        })
        .await;
    assert_eq!(route.prefix, "10.244.1.0/26");
    assert!(route.paths[0].best);

    daemon.apply("").await;
    let gone = watch
        .find(|event| match event {
            Event::Delete(gone) if gone.kind() == WatchKind::Route => Some(gone.key.clone()),
            _ => None,
        })
        .await;
    assert_eq!(gone, "10.244.1.0/26");
    assert_eq!(daemon.status().await.scopes, [], "an empty scope is none");
}

// What is learnt is not looked at here: a loopback address is no next hop. The interop tests do.
#[tokio::test]
async fn applying_the_same_again_sends_nothing() {
    let Pair {
        left,
        right,
        cluster,
    } = Pair::start().await;
    let updates = async || left.peers().await[0].received.unwrap().update;
    let reach = async |count| {
        let search = async { while updates().await < count {} };
        let reached = tokio::time::timeout(PATIENCE, search).await;
        reached.expect("an UPDATE in time");
    };
    // A block, and End-of-RIB.
    reach(2).await;

    let again = right.apply(&cluster).await;
    assert_eq!(again.changes, []);
    assert!(
        again
            .objects
            .iter()
            .all(|change| change.action() == Action::None)
    );
    // What is sent now arrives after whatever the repeated Apply may have sent.
    let another = "---
apiVersion: projectcalico.org/v3
kind: BlockAffinity
metadata: { name: another }
spec: { cidr: 10.244.3.0/26, node: right, state: confirmed }
";
    right.apply(&format!("{cluster}{another}")).await;
    reach(3).await;
    assert_eq!(right.peers().await[0].sent.unwrap().update, 3);
}

#[tokio::test]
async fn a_reset_that_is_not_allowed_waits_and_shows() {
    let Pair {
        left,
        right,
        cluster,
    } = Pair::start().await;
    let address = right.home().address;
    let moved = cluster.replace(
        &format!("{address}/8"),
        &format!("{address}/8, asNumber: 65001"),
    );
    let never = v1::ApplyRequest {
        allow_session_reset: SessionReset::Never.into(),
        ..request(Mode::Apply, &moved)
    };
    let response = left.client().await.apply(never).await.unwrap().into_inner();
    let [change] = response.changes.as_slice() else {
        panic!("{response:?}")
    };
    assert_eq!((change.cost(), change.parked), (Cost::SessionReset, true));
    let peer = &left.peers().await[0];
    assert_eq!(peer.state(), peer::State::Established);
    assert_eq!((peer.remote_asn, peer.flaps), (64512, 0));
    assert_eq!(peer.conditions[0].r#type, "PendingReset");
    assert!(peer.conditions[0].last_transition.is_some());

    let plan = left.send(Mode::Plan, &moved).await;
    assert_eq!(plan.changes[0].cost(), Cost::SessionReset);
    assert!(!plan.changes[0].parked);
    let mut watch = left.watch(&[WatchKind::Peer]).await;
    left.apply(&moved).await;
    let peer = watch
        .find(|event| match entry(event)? {
            entry::Entry::Peer(peer) if peer.remote_asn == 65001 => Some(peer.clone()),
            _ => None,
        })
        .await;
    assert_eq!(peer.conditions, []);
}

#[tokio::test]
async fn a_contradiction_names_the_file_and_line_and_changes_nothing() {
    let daemon = Home::new("left").start(&[]);
    let text = format!(
        "{POOL}{}",
        POOL.replace("pods", "inner").replace("/16", "/17")
    );
    let response = daemon.send(Mode::Apply, &text).await;
    assert!(!response.accepted);
    let [problem] = response.problems.as_slice() else {
        panic!("{response:?}")
    };
    assert_eq!(
        (
            problem.file_name.as_str(),
            problem.line,
            problem.field.as_str()
        ),
        ("test.yaml", 7, "spec.cidr")
    );
    assert_eq!(daemon.status().await.scopes[0].objects, 0);
}

#[tokio::test]
async fn requests_that_can_t_be_meant_are_refused() {
    let daemon = Home::new("left").start(&[]);
    let refused = async |request| daemon.client().await.apply(request).await.unwrap_err();

    let nobody = v1::ApplyRequest {
        scope: String::new(),
        ..request(Mode::Plan, POOL)
    };
    assert!(refused(nobody).await.message().starts_with("scope: "));
    let nothing = request(Mode::Unspecified, POOL);
    assert!(refused(nothing).await.message().starts_with("mode: "));
    let manifests = v1::ApplyRequest {
        scope: "file".to_owned(),
        ..request(Mode::Apply, POOL)
    };
    assert!(refused(manifests).await.message().contains("--manifests"));

    let generation = |generation| v1::ApplyRequest {
        generation,
        ..request(Mode::Apply, POOL)
    };
    let mut client = daemon.client().await;
    assert!(
        client
            .apply(generation(7))
            .await
            .unwrap()
            .into_inner()
            .accepted
    );
    let old = refused(generation(6)).await;
    assert_eq!(old.code(), tonic::Code::FailedPrecondition);
    assert!(old.message().contains("6 is older than 7"), "{old}");
}
