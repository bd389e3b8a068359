//! The Unix socket of the API. Who may command the daemon is said by the file's permissions: owner and group.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, bail};
use tokio::net::UnixListener;

/// Binds the socket; one that a dead daemon left behind is replaced, a living daemon's is not.
///
/// # Errors
/// When another daemon answers there, or the path can't be used.
pub(super) fn listen(path: &Path) -> anyhow::Result<UnixListener> {
    let shown = path.display();
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).with_context(|| {
            format!(
                "--api unix://{shown}: can't make the directory {}",
                directory.display()
            )
        })?;
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(_) => bail!(
            "--api unix://{shown}: another weftd answers there; stop it, or give this one its own socket with --api"
        ),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)
                .with_context(|| format!("{shown}: can't remove the old socket"))?;
        }
        Err(_) => {}
    }
    let listener = UnixListener::bind(path)
        .with_context(|| format!("--api unix://{shown}: can't listen there"))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))
        .with_context(|| format!("{shown}: can't set its permissions"))?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_dead_daemons_socket_is_replaced_and_a_living_ones_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run/weft.sock");
        drop(listen(&path).unwrap());
        assert!(path.exists(), "the file outlives its listener");
        let living = listen(&path).unwrap();
        let error = listen(&path).unwrap_err().to_string();
        assert!(error.contains("another weftd answers there"), "{error}");
        drop(living);
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o660
        );
    }
}
