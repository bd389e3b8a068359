//! CLUSTER_LIST (RFC 4456 section 8).

use std::fmt;
use std::ops::Deref;

use crate::router_id::RouterId;

use super::fault::FaultReason;

/// The clusters that a reflected route came through, the nearest first. Empty, it needs no heap.
#[derive(Clone, Debug, Default, Eq, PartialEq, Hash)]
pub struct ClusterList(Box<[RouterId]>);

impl ClusterList {
    /// Puts a cluster in front, as its reflector does.
    pub fn prepend(&mut self, cluster_id: RouterId) {
        self.0 = std::iter::once(cluster_id)
            .chain(self.0.iter().copied())
            .collect();
    }

    /// Takes all clusters away.
    pub fn clear(&mut self) {
        self.0 = Box::default();
    }

    /// Reads the value: at least one cluster (RFC 7606 section 7.10).
    pub(super) fn decode(value: &[u8]) -> Result<Self, FaultReason> {
        match value.as_chunks::<4>() {
            (clusters @ [_, ..], []) => Ok(clusters.iter().copied().map(RouterId::from).collect()),
            _ => Err(FaultReason::Length(value.len() as u16)), // comes from 16 bits
        }
    }
}

impl Deref for ClusterList {
    type Target = [RouterId];

    fn deref(&self) -> &[RouterId] {
        &self.0
    }
}

impl FromIterator<RouterId> for ClusterList {
    fn from_iter<I: IntoIterator<Item = RouterId>>(clusters: I) -> Self {
        Self(clusters.into_iter().collect())
    }
}

impl fmt::Display for ClusterList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, cluster) in self.iter().enumerate() {
            write!(f, "{}{cluster}", if position > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_cluster_is_the_first() {
        let mut list = ClusterList::default();
        list.prepend(RouterId::from(1));
        list.prepend(RouterId::from(2));
        assert_eq!(list.to_string(), "0.0.0.2 0.0.0.1");
        list.clear();
        assert!(list.is_empty());
    }
}
