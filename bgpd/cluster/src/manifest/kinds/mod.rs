//! One reader per kind; each names every field of its kind, so that what is left over is unknown.

mod bgp_configuration;
mod bgp_peer;
mod ipam;
mod node;
mod pool;

use super::fields::Fields;
use super::tree::Tree;
use super::value::Sink;
use crate::model::{Kind, Metadata, Object};

/// Reads one object. `None` when too little is right to make one; the sink then has the reasons.
pub(super) fn read(tree: &Tree, sink: &Sink) -> Option<Object> {
    let mut root = Fields::new(String::new(), Some(tree), sink);
    // What is no mapping has been reported; that it has no kind either would be no news.
    tree.map()?;
    let kind = kind(&mut root);
    let version_fits = kind.is_none_or(|kind| check_api_version(&mut root, kind));
    // A name that is missing has been reported; the rest of the object is read all the same.
    let metadata = metadata(&mut root).unwrap_or_default();
    let (Some(kind), true) = (kind, version_fits) else {
        // The fields of an unknown kind are unknown: no use to warn of each.
        root.ignore_rest();
        return None;
    };
    let mut spec = root.fields("spec");
    Some(match kind {
        Kind::Node => {
            let mut status = root.fields("status");
            Object::Node(Box::new(node::read(metadata, &mut spec, &mut status)))
        }
        Kind::BgpConfiguration => {
            Object::BgpConfiguration(Box::new(bgp_configuration::read(metadata, &mut spec)))
        }
        Kind::BgpPeer => Object::BgpPeer(Box::new(bgp_peer::read(metadata, &mut spec))),
        Kind::IpPool => {
            root.ignore("status");
            Object::IpPool(Box::new(pool::read(metadata, &mut spec)?))
        }
        Kind::IpamBlock => Object::IpamBlock(Box::new(ipam::read_block(metadata, &mut spec)?)),
        Kind::BlockAffinity => {
            Object::BlockAffinity(Box::new(ipam::read_affinity(metadata, &mut spec)?))
        }
    })
}

fn kind(root: &mut Fields<'_>) -> Option<Kind> {
    let known = Kind::ALL.map(Kind::as_str).join(", ");
    let remedy = format!("weft knows {known}");
    let text = root.required_text("kind", &remedy)?;
    let kind = text.parse().ok();
    if kind.is_none() {
        let problem = format!("weft does not know objects of kind {text:?}");
        root.sink()
            .error("kind", problem, format!("remove this object; {remedy}"));
    }
    kind
}

fn check_api_version(root: &mut Fields<'_>, kind: Kind) -> bool {
    let Some(version) = root.text("apiVersion") else {
        let problem = format!("is missing; taken as {}", API_VERSIONS[0]);
        root.sink()
            .warn("apiVersion", problem, format!("write {}", API_VERSIONS[0]));
        return true;
    };
    let fits = API_VERSIONS.contains(&version.as_str());
    if !fits {
        let problem = match (version.as_str(), kind) {
            ("v1", Kind::Node) => "this is Kubernetes' own Node, not Calico's".to_owned(),
            _ => format!("{version:?} is not an API version of {kind}"),
        };
        let [native, crd] = API_VERSIONS;
        root.sink()
            .error("apiVersion", problem, format!("write {native} or {crd}"));
    }
    fits
}

fn metadata(root: &mut Fields<'_>) -> Option<Metadata> {
    let mut fields = root.fields("metadata");
    let name = fields.required_text("name", "write the object's name");
    let (labels, annotations) = (fields.text_map("labels"), fields.text_map("annotations"));
    // The rest of Kubernetes' metadata (uid, resourceVersion, managedFields ...) means nothing here.
    fields.ignore_rest();
    Some(Metadata {
        name: name?,
        labels,
        annotations,
    })
}

const API_VERSIONS: [&str; 2] = ["projectcalico.org/v3", "crd.projectcalico.org/v1"];
