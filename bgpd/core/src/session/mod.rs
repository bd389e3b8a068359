//! One neighbour: RFC 4271 section 8, collisions, negotiation and graceful restart.
