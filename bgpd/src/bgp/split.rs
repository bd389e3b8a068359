//! Cuts an UPDATE into one part for each shard that holds some of its prefixes.

use bgp_wire::{Nlri, Reach, Unreach, UpdateMessage};
use ipnet::IpNet;

/// The parts, by shard; empty parts are left out. With one shard the message passes as it is.
pub(crate) fn by_shard(
    update: UpdateMessage,
    shards: usize,
    shard_of: impl Fn(&IpNet) -> usize,
) -> Vec<(usize, UpdateMessage)> {
    if shards <= 1 {
        return vec![(0, update)];
    }
    let UpdateMessage {
        attributes,
        reach,
        unreach,
        end_of_rib: _,
        faults: _,
    } = update;
    let mut parts: Vec<UpdateMessage> = (0..shards).map(|_| UpdateMessage::default()).collect();
    for Reach {
        family,
        next_hop,
        nlri,
    } in reach
    {
        for (shard, nlri) in distribute(nlri, shards, &shard_of) {
            parts[shard].attributes.clone_from(&attributes);
            parts[shard].reach.push(Reach {
                family,
                next_hop,
                nlri,
            });
        }
    }
    for Unreach { family, nlri } in unreach {
        for (shard, nlri) in distribute(nlri, shards, &shard_of) {
            parts[shard].unreach.push(Unreach { family, nlri });
        }
    }
    let filled =
        |(_, part): &(usize, UpdateMessage)| !part.reach.is_empty() || !part.unreach.is_empty();
    parts.into_iter().enumerate().filter(filled).collect()
}

fn distribute(
    nlri: Vec<Nlri>,
    shards: usize,
    shard_of: impl Fn(&IpNet) -> usize,
) -> impl Iterator<Item = (usize, Vec<Nlri>)> {
    let mut parts: Vec<Vec<Nlri>> = vec![Vec::new(); shards];
    for nlri in nlri {
        parts[shard_of(&nlri.prefix)].push(nlri);
    }
    parts
        .into_iter()
        .enumerate()
        .filter(|(_, part)| !part.is_empty())
}
