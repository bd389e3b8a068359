//! The router ID of a node (RFC 6286: any four non-zero bytes, unique within the AS).

use std::net::Ipv4Addr;

use sha2::{Digest, Sha256};

/// Where the router ID comes from.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub enum RouterIdSource {
    /// The node's own IPv4 address. A node without one needs one of the others.
    #[default]
    NodeAddress,
    /// The node's own IPv4 address, or this one where the node has none.
    NodeAddressOr(Ipv4Addr),
    /// [`hashed_router_id`] of the node's name.
    Hash,
    /// This one.
    Given(Ipv4Addr),
}

/// The router ID made from a node's name: the first four bytes of its SHA-256.
///
/// 32 is taken off the first byte if it is above 223, as in Calico, so that the result looks like no multicast or
/// reserved address to a peer that minds.
#[must_use]
pub fn hashed_router_id(node: &str) -> Ipv4Addr {
    let digest = Sha256::digest(node.as_bytes());
    let first = if digest[0] > 223 {
        digest[0] - 32
    } else {
        digest[0]
    };
    Ipv4Addr::new(first, digest[1], digest[2], digest[3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_equal_calicos() {
        assert_eq!(
            hashed_router_id("kube-master"),
            Ipv4Addr::new(25, 79, 212, 8)
        );
        assert_eq!(
            hashed_router_id("kube-node-1"),
            Ipv4Addr::new(34, 92, 252, 97)
        );
    }

    #[test]
    fn the_first_byte_is_never_above_223() {
        let names = (0..2000).map(|number| format!("node-{number}"));
        assert!(
            names
                .map(|name| hashed_router_id(&name).octets()[0])
                .all(|first| first <= 223)
        );
    }
}
