//! What tools ask: health, reflection, metrics, and questions that have no answer.

use std::io::{Read, Write};
use std::net::TcpStream;

use tokio_stream::StreamExt;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use weft_proto::v1;

use crate::weftd::{Home, POOL, connect, node};

#[tokio::test]
async fn health_and_reflection_answer() {
    let daemon = Home::new("left").start(&[]);
    let channel = connect(&daemon.home().socket()).await;
    for service in ["", "weft.v1.Weft"] {
        let request = HealthCheckRequest {
            service: service.to_owned(),
        };
        let response = HealthClient::new(channel.clone()).check(request).await;
        assert_eq!(
            response.unwrap().into_inner().status(),
            ServingStatus::Serving
        );
    }
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut answers = ServerReflectionClient::new(channel)
        .server_reflection_info(tokio_stream::iter([request]))
        .await
        .unwrap()
        .into_inner();
    let answer = answers.next().await.unwrap().unwrap();
    let Some(MessageResponse::ListServicesResponse(services)) = answer.message_response else {
        panic!("{answer:?}")
    };
    let names: Vec<&str> = services
        .service
        .iter()
        .map(|service| service.name.as_str())
        .collect();
    assert!(names.contains(&"weft.v1.Weft"), "{names:?}");
    assert!(names.contains(&"grpc.health.v1.Health"), "{names:?}");
}

#[tokio::test]
async fn metrics_are_served() {
    let home = Home::new("left");
    let text = [POOL, &node("left", home.address, "10.244.1.0/26")].concat();
    let metrics = format!("{}:9179", home.address);
    let daemon = home.start(&["--metrics", &metrics]);
    daemon.apply(&text).await;
    let mut connection = TcpStream::connect(&metrics).unwrap();
    connection
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: weft\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut page = String::new();
    connection.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(page.contains("openmetrics-text"), "{page}");
    assert!(page.contains("\nweft_rib_originated 1\n"), "{page}");
}

#[tokio::test]
async fn blocks_and_explanations_know_the_whole_cluster() {
    let home = Home::new("left");
    let other = "192.0.2.9".parse().unwrap();
    let text = [
        POOL,
        &node("left", home.address, "10.244.1.0/26"),
        &node("right", other, "10.244.2.0/26"),
    ]
    .concat();
    let daemon = home.start(&[]);
    daemon.apply(&text).await;
    let mut client = daemon.client().await;
    let request = v1::ListBlocksRequest { all_nodes: true };
    let blocks = client
        .list_blocks(request)
        .await
        .unwrap()
        .into_inner()
        .blocks;
    let [own, foreign] = blocks.as_slice() else {
        panic!("{blocks:?}")
    };
    assert!(own.own && own.announced && !own.blackhole_wanted);
    assert!(!own.blackhole_installed, "there is no kernel");
    assert!(!foreign.own && !foreign.announced);
    assert_eq!(foreign.reason, "it is for right to announce");

    let mut explain = async |prefix: &str| {
        let prefix = prefix.to_owned();
        let request = v1::ExplainRequest { prefix };
        client
            .explain(request)
            .await
            .map(tonic::Response::into_inner)
    };
    let found = explain("10.244.2.5").await.unwrap();
    assert_eq!(found.prefix, "10.244.2.0/26");
    assert_eq!(found.block.unwrap().node, "right");
    assert_eq!(found.paths, []);
    let own = explain("10.244.1.0/26").await.unwrap();
    assert_eq!(own.paths[0].reason, "the only usable path");
    assert_eq!(explain("198.51.100.1").await.unwrap().prefix, "");
    let error = explain("10.244.1.0/33").await.unwrap_err();
    assert!(error.message().contains("write for example"), "{error}");
}

#[tokio::test]
async fn a_question_about_nobody_says_so() {
    let daemon = Home::new("left").start(&[]);
    let mut client = daemon.client().await;
    let mut peers = async |address: &str| {
        let address = address.to_owned();
        let request = v1::ListPeersRequest { address };
        client.list_peers(request).await.unwrap_err()
    };
    assert_eq!(peers("192.0.2.1").await.code(), tonic::Code::NotFound);
    assert_eq!(peers("tor").await.code(), tonic::Code::InvalidArgument);
    let request = v1::ListRoutesRequest {
        family: "ipx".to_owned(),
        ..v1::ListRoutesRequest::default()
    };
    let error = daemon
        .client()
        .await
        .list_routes(request)
        .await
        .unwrap_err();
    assert!(error.message().contains("ipv4-unicast"), "{error}");
}
