//! Calico-style resources, and the plan of what one node does with them.
