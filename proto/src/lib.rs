//! weft's gRPC API: messages and services, nothing else.
//!
//! The `.proto` files under `proto/weft/v1` are the reference, comments included: `resources.proto` has the objects
//! that weft is told about, `weft.proto` the service. Everything here is generated from them.

/// Version 1 of the API.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    unused_qualifications
)]
pub mod v1 {
    tonic::include_proto!("weft.v1");
}

/// The compiled descriptors (a serialised `FileDescriptorSet`): for the reflection service and for JSON output.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
