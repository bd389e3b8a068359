//! Rules of BGPConfiguration.

use super::{NO_PASSWORDS, Rules};
use crate::model::{BgpConfiguration, Community};

impl Rules {
    pub(super) fn bgp_configuration(&mut self, configuration: &BgpConfiguration) {
        let name = configuration.metadata.name.as_str();
        if !name.is_empty() && name != "default" && configuration.node().is_none() {
            let problem = format!("{name:?} is neither default nor node.NAME");
            self.refuse(
                "metadata.name",
                problem,
                "name it default, or node. and the name of a node",
            );
        }
        self.asn("spec.asNumber", configuration.as_number);
        if configuration.node_mesh_password.is_some() {
            self.refuse(
                "spec.nodeMeshPassword",
                NO_PASSWORDS,
                "remove it, or set nodeToNodeMeshEnabled: false",
            );
        }
        if let Some(time) = configuration.node_mesh_max_restart_time {
            let field = "spec.nodeMeshMaxRestartTime";
            self.restart_time(field, time);
            if configuration.node_to_node_mesh_enabled == Some(false) {
                self.refuse(
                    field,
                    "there is no mesh",
                    "remove it, or set nodeToNodeMeshEnabled: true",
                );
            }
        }
        self.port("spec.listenPort", configuration.listen_port);
        self.priority(
            "spec.ipv4NormalRoutePriority",
            configuration.ipv4_normal_route_priority,
        );
        self.priority(
            "spec.ipv6NormalRoutePriority",
            configuration.ipv6_normal_route_priority,
        );
        self.communities(configuration);
    }

    fn communities(&mut self, configuration: &BgpConfiguration) {
        let communities = &configuration.communities;
        if !communities.is_empty() && configuration.prefix_advertisements.is_empty() {
            let problem = "communities have names but nothing is announced with them";
            self.refuse(
                "spec.communities",
                problem,
                "add prefixAdvertisements, or remove them",
            );
        }
        for (at, community) in communities.iter().enumerate() {
            if communities[..at]
                .iter()
                .any(|earlier| earlier.name == community.name)
            {
                let problem = format!("{:?} names two communities", community.name);
                self.refuse(
                    &format!("spec.communities[{at}].name"),
                    problem,
                    "rename one of the two",
                );
            }
        }
        for (at, advertisement) in configuration.prefix_advertisements.iter().enumerate() {
            for (index, text) in advertisement.communities.iter().enumerate() {
                let named = communities.iter().any(|community| community.name == *text);
                if !named && text.parse::<Community>().is_err() {
                    let field = format!("spec.prefixAdvertisements[{at}].communities[{index}]");
                    let problem = format!("{text:?} is neither a community nor the name of one");
                    self.refuse(
                        &field,
                        problem,
                        "write for example 64512:100, or add the name to communities",
                    );
                }
            }
        }
    }
}
