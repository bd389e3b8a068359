//! What this node was told: owner scopes, manifest files, and what is kept on disk.

pub(crate) mod manifest_files;
pub(crate) mod scopes;
pub(crate) mod state_dir;
