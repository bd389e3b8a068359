//! weft's node daemon.
