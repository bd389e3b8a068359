//! Manifests: YAML (or JSON) as users of Calico write it, to objects; every problem with file, line and remedy.
//!
//! ```text
//!   text ──split──> documents ──tree──> values with lines ──kinds──> Object ──validate──> Located<Object>
//!                       └── syntax          └── unknown fields, wrong values ──> errors, warnings
//! ```
//!
//! All problems of a file are collected: a broken document does not hide the others, a wrong field not the next one.
//! An unknown field is a warning, since a newer Calico may have added it, and never silent, since it may be a typo.
//! A wrong value is an error, and so is a field that would weaken the configuration if it were ignored.

mod fields;
mod kinds;
mod tree;
mod value;

use std::collections::BTreeMap;
use std::fmt;

use crate::model::{FieldError, Object, ObjectKey, advise, validate};
use tree::Tree;
use value::Sink;

/// What was read from one manifest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    /// The objects without errors, in the order of the file.
    pub objects: Vec<Located<Object>>,
    /// What is wrong. An object with an error is not among `objects`.
    pub errors: Vec<ManifestError>,
    /// What is probably not meant.
    pub warnings: Vec<ManifestWarning>,
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Located<T> {
    /// The file.
    pub file: String,
    /// The line on which it starts, from 1.
    pub line: u64,
    /// The value.
    pub value: T,
}

/// A problem, and what to write instead.
#[derive(Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash, thiserror::Error)]
pub struct Diagnostic {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The object as people name it, such as `BGPPeer "tor-a"`; empty outside of objects.
    pub object: String,
    /// The path of the field; empty when the problem is not with one field.
    pub field: String,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

/// A problem for which an object is refused.
pub type ManifestError = Diagnostic;

/// A problem that does not keep an object from being used.
pub type ManifestWarning = Diagnostic;

/// The objects of a manifest without errors, and its warnings.
pub type Accepted = (Vec<Located<Object>>, Vec<ManifestWarning>);

/// An object read from JSON, or what is wrong with it; see [`read_json`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadObject {
    /// The object; absent when there are errors.
    pub object: Option<Object>,
    /// What is wrong.
    pub errors: Vec<FieldError>,
    /// What is probably not meant.
    pub warnings: Vec<FieldError>,
}

/// Reads a manifest: any number of documents, each one object or a `List` of them.
///
/// `file_name` appears in the messages only; nothing is opened.
#[must_use]
pub fn read_manifest(file_name: &str, text: &str) -> Manifest {
    let mut manifest = Manifest::default();
    for document in tree::documents(text) {
        match tree::parse(document.text, document.line) {
            Ok(tree) => manifest.read_document(file_name, &tree),
            Err(tree::SyntaxError { line, problem }) => manifest.errors.push(Diagnostic {
                file: file_name.to_owned(),
                line,
                object: String::new(),
                field: String::new(),
                problem: format!("not valid YAML: {problem}"),
                remedy: "correct the syntax; the other documents of the file were read".to_owned(),
            }),
        }
    }
    let repeated = repeated(&manifest.objects);
    let mut index = 0;
    manifest.objects.retain(|_| {
        index += 1;
        !repeated.contains_key(&(index - 1))
    });
    manifest.errors.extend(repeated.into_values());
    manifest.errors.sort();
    manifest.warnings.sort();
    manifest
}

/// Reads one object from JSON: the same fields, checks and messages as a manifest, without lines.
#[must_use]
pub fn read_json(value: &serde_json::Value) -> ReadObject {
    read_object(&Tree::from(value))
}

/// An error for every object that has the kind and name of an earlier one, possibly in another file.
#[must_use]
pub fn duplicates(objects: &[Located<Object>]) -> Vec<ManifestError> {
    repeated(objects).into_values().collect()
}

/// The repeated objects by index.
fn repeated(objects: &[Located<Object>]) -> BTreeMap<usize, ManifestError> {
    let mut first: BTreeMap<ObjectKey, &Located<Object>> = BTreeMap::new();
    let mut errors = BTreeMap::new();
    for (index, object) in objects.iter().enumerate() {
        let key = object.value.key();
        let Some(earlier) = first.get(&key) else {
            first.insert(key, object);
            continue;
        };
        let error = Diagnostic {
            file: object.file.clone(),
            line: object.line,
            object: key.to_string(),
            field: "metadata.name".to_owned(),
            problem: format!("is already defined at {}:{}", earlier.file, earlier.line),
            remedy: "rename or remove one of the two".to_owned(),
        };
        errors.insert(index, error);
    }
    errors
}

impl Manifest {
    /// The objects and warnings of a manifest without errors.
    ///
    /// # Errors
    /// All the errors, when there are any.
    pub fn into_result(self) -> Result<Accepted, Vec<ManifestError>> {
        let Self {
            objects,
            errors,
            warnings,
        } = self;
        if errors.is_empty() {
            Ok((objects, warnings))
        } else {
            Err(errors)
        }
    }

    fn read_document(&mut self, file: &str, document: &Tree) {
        if document.is_null() {
            return;
        }
        let kind = document.get("kind").and_then(Tree::text);
        let items = document.get("items").and_then(Tree::list);
        if let (Some(kind), Some(items)) = (kind, items)
            && kind.ends_with("List")
        {
            for item in items {
                self.read_document(file, item);
            }
            return;
        }
        let ReadObject {
            object,
            errors,
            warnings,
        } = read_object(document);
        let name = describe(document);
        let locate = |error: FieldError| {
            let FieldError {
                field,
                problem,
                remedy,
            } = error;
            let (file, object) = (file.to_owned(), name.clone());
            Diagnostic {
                file,
                line: document.line_of(&field),
                object,
                field,
                problem,
                remedy,
            }
        };
        self.errors.extend(errors.into_iter().map(locate));
        self.warnings.extend(warnings.into_iter().map(locate));
        let line = document.line;
        let located = object.map(|value| Located {
            file: file.to_owned(),
            line,
            value,
        });
        self.objects.extend(located);
    }
}

fn read_object(tree: &Tree) -> ReadObject {
    let sink = Sink::default();
    let object = kinds::read(tree, &sink);
    let Sink { errors, warnings } = sink;
    let (mut errors, mut warnings) = (errors.into_inner(), warnings.into_inner());
    if let Some(object) = &object {
        // What could not be read was reported; what depends on it would only repeat that.
        let unread = |error: &FieldError| !errors.iter().any(|known| known.field == error.field);
        let invalid: Vec<FieldError> = validate(object).into_iter().filter(unread).collect();
        errors.extend(invalid);
        warnings.extend(advise(object));
    }
    ReadObject {
        object: object.filter(|_| errors.is_empty()),
        errors,
        warnings,
    }
}

/// How people name the object of a document: `BGPPeer "tor-a"`.
fn describe(document: &Tree) -> String {
    let kind = document
        .get("kind")
        .and_then(Tree::text)
        .unwrap_or("object");
    let name = document
        .get("metadata")
        .and_then(|metadata| metadata.get("name"));
    match name.and_then(Tree::text) {
        Some(name) => format!("{kind} {name:?}"),
        None => kind.to_owned(),
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            object,
            field,
            problem,
            remedy,
        } = self;
        write!(f, "{file}:{line}: ")?;
        for part in [object, field] {
            if !part.is_empty() {
                write!(f, "{part}: ")?;
            }
        }
        write!(f, "{problem}; {remedy}")
    }
}

#[cfg(test)]
mod tests;
