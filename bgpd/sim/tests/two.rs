//! Two speakers: the smallest network.

use std::time::Duration;

use bgp_core::rib::{PrefixFilter, RouteQuery, RouteTable};
use bgp_sim::{Settings, Simulation, SpeakerId, Topology, prefix};
use bgp_wire::Attributes;

#[test]
fn a_route_comes_across_and_goes_again() {
    for topology in [Topology::full_mesh(2), Topology::chain(2)] {
        let [one, two] = [0, 1].map(SpeakerId);
        let mut simulation = Simulation::new(topology, Settings::default(), 7);
        for number in [0, 1] {
            simulation.originate(one, prefix(number), Attributes::default());
        }
        simulation.start_all();
        assert!(simulation.run_until_settled(Duration::from_secs(60)));
        let all = RouteQuery {
            table: RouteTable::LocRib,
            family: None,
            prefix: PrefixFilter::All,
        };
        let routes = simulation.shard(two).routes(&all, None, 100);
        let prefixes: Vec<_> = routes.iter().map(|route| route.prefix).collect();
        assert_eq!(prefixes, [prefix(0), prefix(1)]);
        assert_eq!(routes[0].paths[0].peer, Some(one.peer_id()));

        simulation.withdraw(one, prefix(0));
        assert!(simulation.run_until_settled(Duration::from_secs(60)));
        simulation.withdraw(one, prefix(1));
        assert!(simulation.run_until_settled(Duration::from_secs(60)));
        assert_eq!(simulation.shard(two).routes(&all, None, 100), []);
    }
}
