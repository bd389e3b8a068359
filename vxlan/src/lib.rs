//! Nodes, VTEPs and blocks, and the tunnels and routes one node needs for them.
