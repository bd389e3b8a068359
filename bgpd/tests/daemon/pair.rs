//! Two daemons with a session between them.

use weft_proto::v1::{WatchKind, peer};

use crate::weftd::{Home, POOL, PORT, Weftd, node};

/// Two nodes that peer with each other, as each of them is told.
pub(crate) struct Pair {
    pub(crate) left: Weftd,
    pub(crate) right: Weftd,
    pub(crate) cluster: String,
}

impl Pair {
    /// Starts both and waits until their session is up.
    pub(crate) async fn start() -> Self {
        let (left, right) = (Home::new("left"), Home::new("right"));
        let cluster = [
            POOL,
            &node("left", left.address, "10.244.1.0/26"),
            &node("right", right.address, "10.244.2.0/26"),
            // The mesh; on the port of the tests.
            &format!(
                "---
apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {{ name: default }}
spec: {{ listenPort: {PORT} }}
"
            ),
        ]
        .concat();
        let (left, right) = (left.start(&[]), right.start(&[]));
        let mut watch = right.watch(&[WatchKind::Peer]).await;
        left.apply(&cluster).await;
        right.apply(&cluster).await;
        watch.peer_is(peer::State::Established).await;
        Self {
            left,
            right,
            cluster,
        }
    }
}
