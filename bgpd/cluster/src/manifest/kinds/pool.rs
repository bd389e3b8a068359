//! The fields of IPPool.

use super::super::fields::{A_PREFIX, Fields, PREFIX};
use crate::model::{AllowedUse, AssignmentMode, Encapsulation, IpPool, Metadata};

pub(super) fn read(metadata: Metadata, spec: &mut Fields<'_>) -> Option<IpPool> {
    let cidr = spec.required("cidr", A_PREFIX, PREFIX);
    let vxlan_mode = spec
        .choice("vxlanMode", &ENCAPSULATIONS)
        .unwrap_or_default();
    let ipip_mode = spec.choice("ipipMode", &ENCAPSULATIONS).unwrap_or_default();
    let nat_outgoing = spec.flag("natOutgoing").unwrap_or_default();
    let disabled = spec.flag("disabled").unwrap_or_default();
    let disable_bgp_export = spec.flag("disableBGPExport").unwrap_or_default();
    let block_size = spec.number("blockSize", 0..=128);
    let node_selector = spec.selector("nodeSelector");
    let namespace_selector = spec.selector("namespaceSelector");
    let allowed_uses = spec.choice_list("allowedUses", &ALLOWED_USES);
    let assignment_mode = spec
        .choice("assignmentMode", &ASSIGNMENT_MODES)
        .unwrap_or_default();
    Some(IpPool {
        metadata,
        cidr: cidr?,
        vxlan_mode,
        ipip_mode,
        nat_outgoing,
        disabled,
        disable_bgp_export,
        block_size,
        node_selector,
        namespace_selector,
        allowed_uses,
        assignment_mode,
    })
}

const ENCAPSULATIONS: [(&str, Encapsulation); 3] = [
    ("Never", Encapsulation::Never),
    ("Always", Encapsulation::Always),
    ("CrossSubnet", Encapsulation::CrossSubnet),
];

const ALLOWED_USES: [(&str, AllowedUse); 3] = [
    ("Workload", AllowedUse::Workload),
    ("Tunnel", AllowedUse::Tunnel),
    ("LoadBalancer", AllowedUse::LoadBalancer),
];

const ASSIGNMENT_MODES: [(&str, AssignmentMode); 2] = [
    ("Automatic", AssignmentMode::Automatic),
    ("Manual", AssignmentMode::Manual),
];
