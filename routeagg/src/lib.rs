//! IPAM blocks, affinities and borrowed addresses, and the routes a node announces for them.
