//! What was last applied, kept on disk so that a restarted daemon works before its agent is back.
//!
//! One file per owner scope, holding the request as it came, replaced by an atomic rename. A file that can't be read
//! is set aside with the suffix `.bad`, never deleted.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use prost::Message;
use weft_proto::v1::ApplyRequest;

/// The directory of `--state-dir`.
#[derive(Clone, Debug)]
pub(crate) struct StateDir {
    path: PathBuf,
}

impl StateDir {
    /// Makes the directory when it is missing.
    ///
    /// # Errors
    /// When it can't be made.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// Keeps a scope's request; a request without content removes the scope's file.
    ///
    /// # Errors
    /// When it can't be written; what was there before is then still there.
    pub(crate) fn save(&self, request: &ApplyRequest) -> io::Result<()> {
        let file = self.scope_file(&request.scope);
        if request.objects.is_empty() && request.manifests.is_empty() && request.generation == 0 {
            return match std::fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let fresh = file.with_extension("new");
        let mut out = std::fs::File::create(&fresh)?;
        out.write_all(&request.encode_to_vec())?;
        out.sync_all()?;
        std::fs::rename(&fresh, &file)?;
        // The rename itself must survive a power cut.
        std::fs::File::open(&self.path)?.sync_all()
    }

    /// Everything that was kept, in the order of the scopes' names; and what could not be read.
    pub(crate) fn load(&self) -> (Vec<ApplyRequest>, Vec<String>) {
        let (mut requests, mut complaints) = (Vec::new(), Vec::new());
        let mut files: Vec<PathBuf> = match self.path.read_dir() {
            Ok(entries) => entries
                .filter_map(|entry| Some(entry.ok()?.path()))
                .collect(),
            Err(error) => return (requests, vec![format!("{}: {error}", self.path.display())]),
        };
        files.retain(|file| {
            file.extension()
                .is_some_and(|extension| extension == SUFFIX)
        });
        files.sort();
        for file in files {
            match read_request(&file) {
                Ok(request) => requests.push(request),
                Err(error) => {
                    let aside = file.with_extension("bad");
                    let moved = std::fs::rename(&file, &aside).is_ok();
                    let fate = if moved {
                        format!("; set aside as {}", aside.display())
                    } else {
                        String::new()
                    };
                    complaints.push(format!("{}: {error}{fate}", file.display()));
                }
            }
        }
        (requests, complaints)
    }

    /// True when a daemon ran here before, since the host booted: peers and the kernel may still hold our routes.
    pub(crate) fn ran_before(&self) -> bool {
        std::fs::read_to_string(self.path.join(RUNNING)).is_ok_and(|boot| boot == boot_id())
    }

    /// Leaves the marker for [`StateDir::ran_before`].
    ///
    /// # Errors
    /// When it can't be written.
    pub(crate) fn mark_running(&self) -> io::Result<()> {
        std::fs::write(self.path.join(RUNNING), boot_id())
    }

    /// Scope names may hold any character; file names may not.
    fn scope_file(&self, scope: &str) -> PathBuf {
        use std::fmt::Write as _;
        let mut name = String::from("scope-");
        for byte in scope.bytes() {
            if byte.is_ascii_alphanumeric() || byte == b'-' {
                name.push(char::from(byte));
            } else {
                let _ = write!(name, "_{byte:02x}");
            }
        }
        self.path.join(name).with_extension(SUFFIX)
    }
}

fn read_request(file: &Path) -> io::Result<ApplyRequest> {
    let bytes = std::fs::read(file)?;
    ApplyRequest::decode(bytes.as_slice())
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Differs after each boot. Where the system has none, every start counts as one after the same boot.
fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

const SUFFIX: &str = "state";
const RUNNING: &str = "running";

#[cfg(test)]
mod tests {
    use weft_proto::v1::Manifest;

    use super::*;

    fn request(scope: &str) -> ApplyRequest {
        let manifest = Manifest {
            file_name: "a.yaml".to_owned(),
            text: "kind: Node".to_owned(),
        };
        ApplyRequest {
            scope: scope.to_owned(),
            generation: 7,
            manifests: vec![manifest],
            ..ApplyRequest::default()
        }
    }

    #[test]
    fn what_was_saved_comes_back() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::open(directory.path()).unwrap();
        state.save(&request("node-agent")).unwrap();
        state.save(&request("../etc/passwd")).unwrap();
        let (requests, complaints) = state.load();
        assert_eq!(complaints, Vec::<String>::new());
        let mut scopes: Vec<&str> = requests
            .iter()
            .map(|request| request.scope.as_str())
            .collect();
        scopes.sort_unstable();
        assert_eq!(scopes, ["../etc/passwd", "node-agent"]);
        assert!(!directory.path().join("../etc").exists());
    }

    #[test]
    fn a_torn_file_is_set_aside_and_the_others_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::open(directory.path()).unwrap();
        state.save(&request("good")).unwrap();
        std::fs::write(
            directory.path().join("scope-torn.state"),
            [0xff, 0xff, 0xff],
        )
        .unwrap();
        let (requests, complaints) = state.load();
        assert_eq!(requests.len(), 1);
        assert_eq!(complaints.len(), 1);
        assert!(directory.path().join("scope-torn.bad").exists());
    }

    #[test]
    fn a_start_after_another_boot_is_no_restart() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::open(directory.path()).unwrap();
        assert!(!state.ran_before());
        state.mark_running().unwrap();
        assert!(state.ran_before());
        std::fs::write(directory.path().join(RUNNING), "another boot").unwrap();
        assert!(!state.ran_before());
    }

    #[test]
    fn an_emptied_scope_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::open(directory.path()).unwrap();
        state.save(&request("agent")).unwrap();
        state
            .save(&ApplyRequest {
                scope: "agent".to_owned(),
                ..ApplyRequest::default()
            })
            .unwrap();
        assert_eq!(state.load().0.len(), 0);
    }
}
