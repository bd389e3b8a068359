//! A cluster's size: two reflectors and two hundred clients.

use std::time::Duration;

use bgp_sim::{
    Clusters, Crash, Settings, Simulation, SpeakerId, Topology, leftovers, prefix, problems,
};
use bgp_wire::Attributes;

#[test]
fn two_hundred_clients_of_two_reflectors_survive_the_loss_of_one() {
    let [first, second] = [0, 1].map(SpeakerId);
    let topology = Topology::reflectors(2, 200, Clusters::Separate);
    let clients: Vec<_> = topology.ids().skip(2).collect();
    let mut simulation = Simulation::new(topology, Settings::default(), 42);
    for client in &clients {
        simulation.originate(*client, prefix(client.0), Attributes::default());
    }
    simulation.start_all();
    assert!(simulation.run_until_settled(Duration::from_secs(120)));
    assert_eq!(problems(&simulation), []);
    for client in &clients {
        let totals = simulation.shard(*client).totals();
        assert_eq!(totals.prefixes, 200, "{client}");
        // Its own route once, each other one from both reflectors.
        assert_eq!(totals.paths, 1 + 2 * 199, "{client}");
    }

    simulation.crash(first, Crash::Power);
    simulation.withdraw(clients[0], prefix(clients[0].0));
    simulation.run_for(Duration::from_secs(100));
    for client in &clients {
        assert_eq!(simulation.shard(*client).totals().paths, 199, "{client}");
        assert!(
            simulation
                .session(*client, second)
                .is_some_and(|session| session.flaps == 0)
        );
    }

    simulation.start(first);
    assert!(simulation.run_until_settled(Duration::from_secs(300)));
    assert_eq!(problems(&simulation), []);

    for client in &clients {
        simulation.withdraw(*client, prefix(client.0));
    }
    assert!(simulation.run_until_settled(Duration::from_secs(60)));
    assert_eq!(leftovers(&simulation), []);
}
