//! weft's gRPC API: messages and services, nothing else.
