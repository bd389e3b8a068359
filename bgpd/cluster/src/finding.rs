//! What a person should know about objects that are valid each by itself.

use std::fmt;

use crate::ObjectKey;

/// A problem between objects, and what to do about it.
#[derive(Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The objects concerned, the one to change first.
    pub objects: Vec<ObjectKey>,
    /// The path of the field in the first object; may be empty.
    pub field: String,
    /// What is wrong, and what weft does about it.
    pub problem: String,
    /// What a person can do.
    pub remedy: String,
}

/// How bad a finding is.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Severity {
    /// Something does not work as the objects ask.
    Error,
    /// Something is probably not meant.
    Warning,
}

impl Finding {
    pub(crate) fn error(
        objects: Vec<ObjectKey>,
        field: &str,
        problem: String,
        remedy: &str,
    ) -> Self {
        Self::new(Severity::Error, objects, field, problem, remedy)
    }

    pub(crate) fn warning(
        objects: Vec<ObjectKey>,
        field: &str,
        problem: String,
        remedy: &str,
    ) -> Self {
        Self::new(Severity::Warning, objects, field, problem, remedy)
    }

    fn new(
        severity: Severity,
        objects: Vec<ObjectKey>,
        field: &str,
        problem: String,
        remedy: &str,
    ) -> Self {
        let (field, remedy) = (field.to_owned(), remedy.to_owned());
        Self {
            severity,
            objects,
            field,
            problem,
            remedy,
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            severity,
            objects,
            field,
            problem,
            remedy,
        } = self;
        write!(f, "{severity}: ")?;
        if let Some(object) = objects.first() {
            write!(f, "{object}: ")?;
        }
        if !field.is_empty() {
            write!(f, "{field}: ")?;
        }
        write!(f, "{problem}; {remedy}")
    }
}
