//! Reads what `-f` names. The text goes to weftd as it is: weftd parses it, and says file and line of what is wrong.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use weft_proto::v1::Manifest;

use crate::error::{Error, ManifestError};

/// Reads files, directories and stdin (`-`), in the order given; a directory's files by name.
///
/// # Errors
/// Everything that cannot be read, at once.
pub(crate) fn read(sources: &[PathBuf]) -> Result<Vec<Manifest>, Error> {
    read_with(sources, io::stdin())
}

fn read_with(sources: &[PathBuf], mut stdin: impl Read) -> Result<Vec<Manifest>, Error> {
    let mut manifests = Vec::new();
    let mut errors = Vec::new();
    let mut stdin_read = false;
    for source in sources {
        let read = if source.as_os_str() == STDIN {
            if std::mem::replace(&mut stdin_read, true) {
                Err(ManifestError::StdinTwice)
            } else {
                from_stdin(&mut stdin).map(|manifest| manifests.push(manifest))
            }
        } else if source.is_dir() {
            files_of(source).map(|files| {
                for file in files {
                    match from_file(&file) {
                        Ok(manifest) => manifests.push(manifest),
                        Err(error) => errors.push(error),
                    }
                }
            })
        } else {
            from_file(source).map(|manifest| manifests.push(manifest))
        };
        errors.extend(read.err());
    }
    if errors.is_empty() {
        Ok(manifests)
    } else {
        Err(Error::Manifests(errors))
    }
}

/// The manifests in a directory, sorted. Hidden files are not taken: editors leave theirs there.
fn files_of(directory: &Path) -> Result<Vec<PathBuf>, ManifestError> {
    let unreadable = |source| ManifestError::Unreadable {
        path: directory.into(),
        source,
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let manifest = path
            .extension()
            .is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known));
        // Not entry.file_type(): a mounted ConfigMap is made of symbolic links.
        if manifest && !hidden && !path.is_dir() {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(ManifestError::EmptyDirectory {
            path: directory.into(),
        });
    }
    files.sort();
    Ok(files)
}

fn from_file(path: &Path) -> Result<Manifest, ManifestError> {
    fs::read_to_string(path)
        .map(|text| Manifest {
            file_name: path.display().to_string(),
            text,
        })
        .map_err(|source| unreadable(path, source))
}

fn from_stdin(stdin: &mut impl Read) -> Result<Manifest, ManifestError> {
    let mut text = String::new();
    stdin
        .read_to_string(&mut text)
        .map_err(|source| unreadable(Path::new("stdin"), source))?;
    Ok(Manifest {
        file_name: "stdin".to_owned(),
        text,
    })
}

fn unreadable(path: &Path, source: io::Error) -> ManifestError {
    let path = path.into();
    match source.kind() {
        io::ErrorKind::InvalidData => ManifestError::NotText { path },
        _ => ManifestError::Unreadable { path, source },
    }
}

const STDIN: &str = "-";
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(directory.path().join(name), content).unwrap();
        }
        directory
    }

    fn error(sources: &[PathBuf]) -> String {
        read_with(sources, io::empty()).unwrap_err().to_string()
    }

    #[test]
    fn a_directory_gives_its_manifests_by_name() {
        let files: &[(&str, &[u8])] = &[
            ("b.yml", b"b"),
            ("a.json", b"a"),
            ("c.yaml", b"c"),
            (".a.yaml.swp.yaml", b"hidden"),
            ("README.md", b"no manifest"),
        ];
        let directory = directory(files);
        fs::create_dir(directory.path().join("d.yaml")).unwrap();

        let read = read_with(&[directory.path().into()], io::empty()).unwrap();

        let texts: Vec<&str> = read.iter().map(|manifest| manifest.text.as_str()).collect();
        assert_eq!(texts, ["a", "b", "c"]);
        assert_eq!(
            read[0].file_name,
            directory.path().join("a.json").display().to_string()
        );
    }

    #[test]
    fn stdin_is_read_once() {
        let stdin = PathBuf::from("-");
        let once = read_with(std::slice::from_ref(&stdin), b"kind: Node".as_slice()).unwrap();
        assert_eq!(once[0].file_name, "stdin");
        assert_eq!(once[0].text, "kind: Node");
        assert!(error(&[stdin.clone(), stdin]).contains("only once"));
    }

    #[test]
    fn all_that_is_unreadable_is_said_at_once() {
        let directory = directory(&[("binary.yaml", b"\xff\xfe")]);
        let text = error(&[
            directory.path().into(),
            directory.path().join("absent.yaml"),
        ]);
        assert!(text.contains("binary.yaml is not UTF-8 text"), "{text}");
        assert!(
            text.contains("absent.yaml: No such file or directory"),
            "{text}"
        );
    }

    #[test]
    fn an_empty_directory_does_not_mean_remove_everything() {
        let directory = directory(&[("README.md", b"")]);
        assert!(error(&[directory.path().into()]).contains("holds no *.yaml"));
    }
}
