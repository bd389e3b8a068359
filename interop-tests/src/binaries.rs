//! Where weft's own binaries lie.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// A binary's path: from `WEFT_BIN_DIR`, or else beside the running one in the target directory (tests lie in
/// `deps/`), the `lab` profile first.
///
/// # Errors
/// When it is in none of those places.
pub fn find(name: &str) -> Result<String> {
    let mut looked = Vec::new();
    for dir in binary_dirs() {
        let path = dir.join(name);
        if path.is_file() {
            return Ok(path.to_string_lossy().into_owned());
        }
        looked.push(dir.display().to_string());
    }
    bail!(
        "no `{name}` in {}: build it with `cargo build --profile lab -p weftd -p weft`, or say where it is with WEFT_BIN_DIR",
        looked.join(", ")
    )
}

fn binary_dirs() -> Vec<PathBuf> {
    if let Some(dir) = std::env::var_os("WEFT_BIN_DIR") {
        return vec![dir.into()];
    }
    let running = std::env::current_exe().unwrap_or_default();
    let profile = running
        .ancestors()
        .skip(1)
        .find(|dir| !dir.ends_with("deps"));
    let target = profile.and_then(Path::parent);
    target
        .map(|dir| dir.join("lab"))
        .into_iter()
        .chain(profile.map(Path::to_owned))
        .collect()
}
