//! The API's messages in proto3 JSON (<https://protobuf.dev/programming-guides/json/>).
//!
//! Two liberties that the format allows or that jq asks for: fields with their default are there, and 64-bit integers are
//! numbers.

use std::io::{self, Write};
use std::sync::LazyLock;

use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde_json::Serializer;
use weft_proto::v1;

/// A message of the API, with its name there.
pub(crate) trait Described: prost::Message {
    /// Without the package.
    const NAME: &'static str;
}

macro_rules! described {
    ($($message:ident),* $(,)?) => {
        $(impl Described for v1::$message {
            const NAME: &'static str = stringify!($message);
        })*

        #[cfg(test)]
        const DESCRIBED: &[&str] = &[$(stringify!($message)),*];
    };
}

described!(
    ApplyResponse,
    ExplainResponse,
    GetStatusResponse,
    ListBlocksResponse,
    ListPeersResponse,
    ListVtepsResponse,
    Route,
    WatchResponse,
);

/// Writes a message over several lines, and a line end.
pub(crate) fn write_pretty<M: Described>(out: &mut dyn Write, message: &M) -> io::Result<()> {
    dynamic(message).serialize_with_options(&mut Serializer::pretty(&mut *out), &OPTIONS)?;
    out.write_all(b"\n")
}

/// Writes a message in one line, without a line end.
pub(crate) fn write_compact<M: Described>(out: &mut dyn Write, message: &M) -> io::Result<()> {
    dynamic(message).serialize_with_options(&mut Serializer::new(out), &OPTIONS)?;
    Ok(())
}

fn dynamic<M: Described>(message: &M) -> DynamicMessage {
    let descriptor = DESCRIPTORS
        .get_message_by_name(&format!("weft.v1.{}", M::NAME))
        .expect("a test looks up every described message");
    let mut dynamic = DynamicMessage::new(descriptor);
    dynamic
        .transcode_from(message)
        .expect("a message fits the descriptor that its code was generated from");
    dynamic
}

static DESCRIPTORS: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(weft_proto::DESCRIPTORS).expect("weft-proto's build wrote them")
});

const OPTIONS: SerializeOptions = SerializeOptions::new()
    .stringify_64_bit_integers(false)
    .skip_default_fields(false);

#[cfg(test)]
mod tests {
    use prost_types::Timestamp;

    use super::*;

    #[test]
    fn every_described_message_is_in_the_descriptors() {
        for name in DESCRIBED {
            let found = DESCRIPTORS.get_message_by_name(&format!("weft.v1.{name}"));
            assert!(found.is_some(), "{name}");
        }
    }

    #[test]
    fn defaults_are_there_long_integers_are_numbers_and_names_are_the_api_s() {
        let response = v1::GetStatusResponse {
            node: "node-1".into(),
            started_at: Some(Timestamp {
                seconds: 1_700_000_000,
                nanos: 0,
            }),
            routes: Some(v1::RouteTotals {
                prefixes: u64::MAX,
                ..Default::default()
            }),
            ..Default::default()
        };
        let mut out = Vec::new();
        write_pretty(&mut out, &response).unwrap();
        assert_eq!(out.last(), Some(&b'\n'));
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(json["node"], "node-1");
        assert_eq!(json["startedAt"], "2023-11-14T22:13:20Z");
        assert_eq!(json["routes"]["prefixes"], u64::MAX);
        assert_eq!(json["routes"]["attributeSets"], 0);
        assert_eq!(json["programsKernel"], false);
        assert_eq!(json["conditions"], serde_json::json!([]));
    }

    #[test]
    fn a_compact_message_is_one_line() {
        let mut out = Vec::new();
        let route = v1::Route {
            prefix: "10.244.1.0/26".into(),
            ..Default::default()
        };
        write_compact(&mut out, &route).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"{"prefix":"10.244.1.0/26","paths":[]}"#
        );
    }
}
