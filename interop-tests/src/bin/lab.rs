//! `cargo lab`: a cluster of weft nodes in network namespaces.
fn main() {}
