//! weft among BIRD, FRR, GoBGP and others, in network namespaces on the real kernel.
