//! How a path is worded: flags, next hops, where it came from, its attributes.

use weft_proto::v1::{KernelRoute, Path};

use crate::output::text::or_dash;

/// What the flags of [`flags`] mean.
pub(super) const LEGEND: &str = "\
* best  = shares the load  s stale  x unusable  k in the kernel  ! refused by the kernel
";

/// The path's standing in one to four characters. The kernel's answer is about the paths that are in use.
pub(super) fn flags(path: &Path, kernel: Option<&KernelRoute>) -> String {
    let mut flags = String::new();
    if path.best {
        flags.push('*');
    } else if path.multipath {
        flags.push('=');
    }
    if path.stale {
        flags.push('s');
    }
    if !path.usable {
        flags.push('x');
    }
    if path.best || path.multipath {
        match kernel {
            Some(kernel) if !kernel.error.is_empty() => flags.push('!'),
            Some(kernel) if kernel.installed => flags.push('k'),
            _ => {}
        }
    }
    flags
}

/// The next hops; for a path of this node's own, a dash.
pub(super) fn next_hops(path: &Path) -> String {
    or_dash(&path.next_hops.join(",")).to_owned()
}

/// The name of the peer that the path came from, or its address, or "local".
pub(super) fn source(path: &Path) -> &str {
    match (path.peer_name.as_str(), path.peer.as_str()) {
        ("", "") => "local",
        ("", address) => address,
        (name, _) => name,
    }
}

/// The AS path with the origin's letter, as routers show it: "65010 65020 i".
pub(super) fn as_path(path: &Path) -> String {
    let origin = match path.origin.to_ascii_lowercase().as_str() {
        "igp" => "i",
        "egp" => "e",
        "incomplete" => "?",
        _ => path.origin.as_str(),
    };
    let words = [path.as_path.as_str(), origin];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    or_dash(&words.join(" ")).to_owned()
}

/// A number that need not be there.
pub(super) fn optional(number: Option<u32>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

/// Everything that is set, for one line of prose.
pub(super) fn attributes(path: &Path) -> String {
    let as_path = match path.as_path.as_str() {
        "" => "empty",
        as_path => as_path,
    };
    let mut words = vec![format!("AS path {as_path}")];
    let mut add = |label: &str, value: &str| {
        if !value.is_empty() {
            words.push(format!("{label} {value}"));
        }
    };
    add("origin", &path.origin);
    add(
        "local-pref",
        &path.local_pref.map(|n| n.to_string()).unwrap_or_default(),
    );
    add("MED", &path.med.map(|n| n.to_string()).unwrap_or_default());
    add("communities", &path.communities.join(" "));
    add("large communities", &path.large_communities.join(" "));
    add("extended communities", &path.extended_communities.join(" "));
    add("originator", &path.originator_id);
    add("cluster list", &path.cluster_list.join(" "));
    add("aggregator", &path.aggregator);
    if path.atomic_aggregate {
        words.push("atomic aggregate".to_owned());
    }
    if path.path_id != 0 {
        words.push(format!("path ID {}", path.path_id));
    }
    words.join(", ")
}

/// The kernel's entry in words.
pub(super) fn kernel(route: &KernelRoute) -> String {
    let way = route.next_hops.join(" and ");
    let state = match (route.error.as_str(), route.installed) {
        ("", true) => "installed",
        ("", false) => "not installed yet",
        _ => "refused",
    };
    let mut text = state.to_owned();
    if !way.is_empty() {
        text += &format!(": {way}");
    }
    if !route.class.is_empty() {
        text += &format!(", wanted by {}", route.class);
    }
    if route.protocol != 0 {
        text += &format!(", protocol {}", route.protocol);
    }
    if !route.error.is_empty() {
        text += &format!("; the kernel says: {}", route.error);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> Path {
        Path {
            usable: true,
            ..Default::default()
        }
    }

    #[test]
    fn the_kernel_s_answer_is_shown_on_paths_in_use_only() {
        let installed = KernelRoute {
            installed: true,
            ..Default::default()
        };
        let refused = KernelRoute {
            error: "Network is unreachable".into(),
            ..Default::default()
        };
        let best = Path {
            best: true,
            ..path()
        };
        let multipath = Path {
            multipath: true,
            stale: true,
            ..path()
        };
        assert_eq!(flags(&best, Some(&installed)), "*k");
        assert_eq!(flags(&best, Some(&refused)), "*!");
        assert_eq!(flags(&best, None), "*");
        assert_eq!(flags(&multipath, Some(&installed)), "=sk");
        assert_eq!(flags(&path(), Some(&installed)), "");
        assert_eq!(flags(&Path::default(), Some(&installed)), "x");
    }

    #[test]
    fn the_origin_follows_the_as_path() {
        let shown = |as_path_text: &str, origin: &str| {
            as_path(&Path {
                as_path: as_path_text.into(),
                origin: origin.into(),
                ..path()
            })
        };
        assert_eq!(shown("65010 65020", "igp"), "65010 65020 i");
        assert_eq!(shown("", "INCOMPLETE"), "?");
        assert_eq!(shown("", ""), "-");
    }
}
