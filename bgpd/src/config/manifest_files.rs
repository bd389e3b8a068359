//! Manifest files on disk: reading them, and noticing that they changed.

use std::path::{Path, PathBuf};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

/// One file's text. The name is the path as the operator gave it, so that messages can be clicked on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ManifestFile {
    pub(crate) file_name: String,
    pub(crate) text: String,
}

/// A path that can't be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub(crate) struct ReadError {
    path: PathBuf,
    source: std::io::Error,
}

/// Reads a manifest, or every `*.yaml`, `*.yml` and `*.json` of a directory in order of their names.
///
/// # Errors
/// The path that can't be read.
pub(crate) fn read(path: &Path) -> Result<Vec<ManifestFile>, ReadError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| ReadError { path, source }
    };
    if !path.metadata().map_err(at(path))?.is_dir() {
        return Ok(vec![read_file(path)?]);
    }
    let mut paths = Vec::new();
    for entry in path.read_dir().map_err(at(path))? {
        let entry = entry.map_err(at(path))?.path();
        if is_manifest(&entry) {
            paths.push(entry);
        }
    }
    paths.sort();
    paths.iter().map(|path| read_file(path)).collect()
}

fn read_file(path: &Path) -> Result<ManifestFile, ReadError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(ManifestFile {
            file_name: path.display().to_string(),
            text,
        }),
        Err(source) => Err(ReadError {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Hidden files are an editor's or a half-written copy's.
fn is_manifest(path: &Path) -> bool {
    let hidden = path
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let known = path.extension().is_some_and(|extension| {
        ["yaml", "yml", "json"]
            .iter()
            .any(|known| extension == *known)
    });
    known && !hidden
}

/// Tells when something below the manifests' path changed.
pub(crate) struct ManifestWatch {
    changes: mpsc::Receiver<()>,
    _watcher: RecommendedWatcher,
}

impl ManifestWatch {
    /// Watches a file (through its directory, since editors and Kubernetes replace files) or a directory.
    ///
    /// # Errors
    /// When the system can't watch it; the daemon then still reads on SIGHUP.
    pub(crate) fn start(path: &Path) -> notify::Result<Self> {
        // One pending mark is enough: whoever takes it reads everything.
        let (mark, changes) = mpsc::channel(1);
        let watched = path.to_owned();
        let mut watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                let concerns = match &event {
                    Ok(event) => !event.kind.is_access() && concerns(&watched, &event.paths),
                    // Something may have been missed.
                    Err(_) => true,
                };
                if concerns {
                    // Full: a mark waits already.
                    let _ = mark.try_send(());
                }
            })?;
        let directory = if path.is_dir() { path } else { parent(path) };
        watcher.watch(directory, RecursiveMode::NonRecursive)?;
        Ok(Self {
            changes,
            _watcher: watcher,
        })
    }

    /// Waits for a change, and then until nothing changed for a moment.
    pub(crate) async fn changed(&mut self) {
        if self.changes.recv().await.is_none() {
            // The watcher ended; SIGHUP still works.
            std::future::pending::<()>().await;
        }
        while tokio::time::timeout(SETTLE, self.changes.recv())
            .await
            .is_ok()
        {}
    }
}

/// Whether one of these is the manifest, or may be one of the directory's. Others lie beside them: a log that is written
/// all the time would keep the manifests from ever being read, and one that is ours would have them read for ever.
fn concerns(watched: &Path, changed: &[PathBuf]) -> bool {
    // No path: the system lost count.
    changed.is_empty()
        || changed.iter().any(|path| {
            let name = path.file_name().unwrap_or_default();
            // Kubernetes replaces the link `..data` behind all files of a volume.
            path == watched
                || path.file_name() == watched.file_name()
                || is_manifest(path) && watched.is_dir()
                || name.to_string_lossy().starts_with("..")
        })
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Writing several files takes a moment; reading half of them would show a cluster that never was.
const SETTLE: std::time::Duration = std::time::Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_read_in_order_and_hidden_files_are_left_out() {
        let directory = tempfile::tempdir().unwrap();
        for name in [
            "b.yaml",
            "a.yml",
            ".a.yaml.swp",
            ".hidden.yaml",
            "notes.txt",
            "c.json",
        ] {
            std::fs::write(directory.path().join(name), name).unwrap();
        }
        let texts: Vec<String> = read(directory.path())
            .unwrap()
            .into_iter()
            .map(|file| file.text)
            .collect();
        assert_eq!(texts, ["a.yml", "b.yaml", "c.json"]);
    }

    #[test]
    fn only_what_may_be_a_manifest_concerns() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for (name, in_directory, for_file) in [
            ("node.yaml", true, true),
            ("other.yaml", true, false),
            ("weftd.log", false, false),
            (".node.yaml.swp", false, false),
            ("..data", true, true),
        ] {
            let changed = [at(name)];
            assert_eq!(concerns(directory.path(), &changed), in_directory, "{name}");
            assert_eq!(concerns(&at("node.yaml"), &changed), for_file, "{name}");
        }
        assert!(concerns(directory.path(), &[]));
        assert!(concerns(directory.path(), &[directory.path().to_owned()]));
    }

    #[test]
    fn a_missing_path_is_named() {
        let error = read(Path::new("/nowhere/weft.yaml"))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("/nowhere/weft.yaml: "), "{error}");
    }

    #[tokio::test]
    async fn replacing_a_file_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("node.yaml");
        std::fs::write(&file, "old").unwrap();
        let mut watch = ManifestWatch::start(&file).unwrap();
        std::fs::write(directory.path().join("new"), "new").unwrap();
        std::fs::rename(directory.path().join("new"), &file).unwrap();
        tokio::time::timeout(std::time::Duration::from_secs(10), watch.changed())
            .await
            .unwrap();
        assert_eq!(read(&file).unwrap()[0].text, "new");
    }
}
