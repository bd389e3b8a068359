//! The objects of each owner scope, and the one set that all scopes make together.
//!
//! A scope is replaced as a whole: what its owner no longer names is gone, other scopes are untouched. An object that
//! two scopes name belongs to the one that had it first; the other's request is refused.

use std::collections::BTreeMap;
use std::time::SystemTime;

use cluster::Finding;
use cluster::manifest::{Diagnostic, Located, duplicates, read_json, read_manifest};
use cluster::model::{FieldError, Object, ObjectKey};
use weft_proto::v1;
use weft_proto::v1::problem::Severity;

/// The scope of `--manifests`.
pub(crate) const FILE_SCOPE: &str = "file";

/// All scopes, as they were last applied.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    scopes: BTreeMap<String, Scope>,
}

#[derive(Debug, Default)]
struct Scope {
    generation: u64,
    objects: BTreeMap<ObjectKey, Object>,
    applied_at: Option<SystemTime>,
    /// Why the newest request was not taken, or what its warnings were.
    problems: Vec<v1::Problem>,
}

/// A request that was read and found without errors, not yet in force.
#[derive(Debug)]
pub(crate) struct Candidate {
    scope: String,
    generation: u64,
    objects: BTreeMap<ObjectKey, Object>,
    /// Where each object came from: file (or place in the request) and line, 0 when it has none.
    places: BTreeMap<ObjectKey, (String, u64)>,
    /// What is probably not meant.
    pub(crate) warnings: Vec<v1::Problem>,
}

impl Scopes {
    /// Reads a request and holds it against the other scopes.
    ///
    /// # Errors
    /// Every problem of the request, warnings included, when at least one is an error.
    pub(crate) fn read(&self, request: &v1::ApplyRequest) -> Result<Candidate, Vec<v1::Problem>> {
        let (located, mut problems) = read(request);
        for object in &located {
            let key = object.value.key();
            if let Some(owner) = self.other_owner(&request.scope, &key) {
                problems.push(v1::Problem {
                    severity: Severity::Error.into(),
                    object: Some(object_key(&key)),
                    file_name: object.file.clone(),
                    line: u32::try_from(object.line).unwrap_or(0),
                    field: String::new(),
                    message: format!(
                        "belongs to scope {owner:?}; change it there, or remove it there first"
                    ),
                });
            }
        }
        if problems
            .iter()
            .any(|problem| problem.severity() == Severity::Error)
        {
            return Err(problems);
        }
        let (mut objects, mut places) = (BTreeMap::new(), BTreeMap::new());
        for Located { file, line, value } in located {
            let key = value.key();
            places.insert(key.clone(), (file, line));
            objects.insert(key, value);
        }
        Ok(Candidate {
            scope: request.scope.clone(),
            generation: request.generation,
            objects,
            places,
            warnings: problems,
        })
    }

    /// The generation in force, 0 when the scope is unknown or keeps no count.
    pub(crate) fn generation(&self, scope: &str) -> u64 {
        self.scopes.get(scope).map_or(0, |scope| scope.generation)
    }

    /// What taking the candidate over does to each object of its scope.
    pub(crate) fn changes(&self, candidate: &Candidate) -> Vec<v1::ObjectChange> {
        let none = BTreeMap::new();
        let old = self
            .scopes
            .get(&candidate.scope)
            .map_or(&none, |scope| &scope.objects);
        let deleted = old
            .keys()
            .filter(|key| !candidate.objects.contains_key(key));
        let kept = candidate.objects.iter().map(|(key, object)| {
            let action = match old.get(key) {
                None => v1::Action::Create,
                Some(known) if known == object => v1::Action::None,
                Some(_) => v1::Action::Update,
            };
            change(key, action)
        });
        kept.chain(deleted.map(|key| change(key, v1::Action::Delete)))
            .collect()
    }

    /// All objects in force.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.scopes
            .values()
            .flat_map(|scope| scope.objects.values())
    }

    /// All objects as they would be with the candidate in force.
    pub(crate) fn with<'a>(&'a self, candidate: &'a Candidate) -> impl Iterator<Item = &'a Object> {
        let others = self
            .scopes
            .iter()
            .filter(|(name, _)| **name != candidate.scope);
        others
            .flat_map(|(_, scope)| scope.objects.values())
            .chain(candidate.objects.values())
    }

    /// Puts the candidate in force.
    pub(crate) fn commit(&mut self, candidate: Candidate) {
        let Candidate {
            scope,
            generation,
            objects,
            places: _,
            warnings,
        } = candidate;
        // The scope of the manifests stays: an empty directory is an answer too.
        if objects.is_empty() && generation == 0 && scope != FILE_SCOPE {
            self.scopes.remove(&scope);
            return;
        }
        let applied_at = Some(SystemTime::now());
        self.scopes.insert(
            scope,
            Scope {
                generation,
                objects,
                applied_at,
                problems: warnings,
            },
        );
    }

    /// Remembers why a request was not taken; what was in force stays in force.
    pub(crate) fn refuse(&mut self, scope: &str, problems: Vec<v1::Problem>) {
        self.scopes.entry(scope.to_owned()).or_default().problems = problems;
    }

    /// True when no scope holds anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.scopes.values().all(|scope| scope.objects.is_empty())
    }

    /// The scopes for display.
    pub(crate) fn status(&self) -> Vec<v1::ScopeStatus> {
        let status = |(name, scope): (&String, &Scope)| v1::ScopeStatus {
            scope: name.clone(),
            generation: scope.generation,
            objects: u32::try_from(scope.objects.len()).unwrap_or(u32::MAX),
            applied_at: scope.applied_at.map(Into::into),
            problems: scope.problems.clone(),
        };
        self.scopes.iter().map(status).collect()
    }

    fn other_owner(&self, scope: &str, key: &ObjectKey) -> Option<&str> {
        let mut others = self.scopes.iter().filter(|(name, _)| *name != scope);
        others
            .find(|(_, other)| other.objects.contains_key(key))
            .map(|(name, _)| name.as_str())
    }
}

impl Candidate {
    /// A finding about objects, as a problem with the place of the first of them that is of this request.
    pub(crate) fn problem(&self, finding: &Finding) -> v1::Problem {
        let Finding {
            severity,
            objects,
            field,
            problem,
            remedy,
        } = finding;
        let ours = objects.iter().find(|key| self.places.contains_key(key));
        let key = ours.or_else(|| objects.first());
        let (file_name, line) = key
            .and_then(|key| self.places.get(key))
            .cloned()
            .unwrap_or_default();
        v1::Problem {
            severity: match severity {
                cluster::Severity::Error => Severity::Error,
                cluster::Severity::Warning => Severity::Warning,
            }
            .into(),
            object: key.map(object_key),
            file_name,
            line: u32::try_from(line).unwrap_or(0),
            field: field.clone(),
            message: format!("{problem}; {remedy}"),
        }
    }
}

/// The objects of a request, typed ones and manifests alike, and everything that is wrong with them.
fn read(request: &v1::ApplyRequest) -> (Vec<Located<Object>>, Vec<v1::Problem>) {
    let (mut objects, mut problems) = (Vec::new(), Vec::new());
    for manifest in &request.manifests {
        let read = read_manifest(&manifest.file_name, &manifest.text);
        problems.extend(
            read.errors
                .iter()
                .map(|error| from_diagnostic(Severity::Error, error)),
        );
        problems.extend(
            read.warnings
                .iter()
                .map(|warning| from_diagnostic(Severity::Warning, warning)),
        );
        objects.extend(read.objects);
    }
    for (index, object) in request.objects.iter().enumerate() {
        let place = format!("objects[{index}]");
        let Some(value) = crate::api::to_manifest(object.clone()) else {
            problems.push(v1::Problem {
                severity: Severity::Error.into(),
                field: place,
                message: "has no kind that this version knows; it knows Node, BGPConfiguration, BGPPeer, IPPool, \
                          IPAMBlock and BlockAffinity"
                    .to_owned(),
                ..v1::Problem::default()
            });
            continue;
        };
        let read = read_json(&value);
        let name = named(&value);
        let problem = |severity, error| from_field_error(severity, &place, name.clone(), error);
        problems.extend(
            read.errors
                .into_iter()
                .map(|error| problem(Severity::Error, error)),
        );
        problems.extend(
            read.warnings
                .into_iter()
                .map(|warning| problem(Severity::Warning, warning)),
        );
        objects.extend(read.object.map(|value| Located {
            file: place,
            line: 0,
            value,
        }));
    }
    problems.extend(
        duplicates(&objects)
            .iter()
            .map(|error| from_diagnostic(Severity::Error, error)),
    );
    problems.dedup();
    (objects, problems)
}

fn named(manifest: &serde_json::Value) -> Option<v1::ObjectKey> {
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    Some(v1::ObjectKey {
        kind: manifest.get("kind").and_then(text)?,
        name: manifest.pointer("/metadata/name").and_then(text)?,
    })
}

fn change(key: &ObjectKey, action: v1::Action) -> v1::ObjectChange {
    v1::ObjectChange {
        object: Some(object_key(key)),
        action: action.into(),
    }
}

/// An object's identity as the API has it.
pub(crate) fn object_key(key: &ObjectKey) -> v1::ObjectKey {
    v1::ObjectKey {
        kind: key.kind.to_string(),
        name: key.name.clone(),
    }
}

fn from_diagnostic(severity: Severity, diagnostic: &Diagnostic) -> v1::Problem {
    let Diagnostic {
        file,
        line,
        object,
        field,
        problem,
        remedy,
    } = diagnostic;
    // `BGPPeer "tor-a"`, as the reader names it.
    let object = object.split_once(' ').map(|(kind, name)| v1::ObjectKey {
        kind: kind.to_owned(),
        name: name.trim_matches('"').to_owned(),
    });
    v1::Problem {
        severity: severity.into(),
        object,
        file_name: file.clone(),
        line: u32::try_from(*line).unwrap_or(0),
        field: field.clone(),
        message: format!("{problem}; {remedy}"),
    }
}

fn from_field_error(
    severity: Severity,
    place: &str,
    object: Option<v1::ObjectKey>,
    error: FieldError,
) -> v1::Problem {
    let FieldError {
        field,
        problem,
        remedy,
    } = error;
    v1::Problem {
        severity: severity.into(),
        object,
        file_name: place.to_owned(),
        line: 0,
        field,
        message: format!("{problem}; {remedy}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(scope: &str, text: &str) -> v1::ApplyRequest {
        let manifest = v1::Manifest {
            file_name: "a.yaml".to_owned(),
            text: text.to_owned(),
        };
        v1::ApplyRequest {
            scope: scope.to_owned(),
            manifests: vec![manifest],
            ..v1::ApplyRequest::default()
        }
    }

    const POOL: &str = "apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata:\n  name: pods\nspec:\n  cidr: 10.244.0.0/16\n";

    #[test]
    fn a_scope_is_replaced_as_a_whole_and_others_are_untouched() {
        let mut scopes = Scopes::default();
        let candidate = scopes.read(&manifest("a", POOL)).unwrap();
        assert_eq!(scopes.changes(&candidate)[0].action(), v1::Action::Create);
        scopes.commit(candidate);
        let candidate = scopes
            .read(&manifest(
                "b",
                &POOL.replace("pods", "more").replace("244", "245"),
            ))
            .unwrap();
        assert_eq!(scopes.with(&candidate).count(), 2);
        scopes.commit(candidate);
        let candidate = scopes.read(&manifest("a", "")).unwrap();
        assert_eq!(scopes.changes(&candidate)[0].action(), v1::Action::Delete);
        assert_eq!(scopes.with(&candidate).count(), 1);
    }

    #[test]
    fn an_object_of_another_scope_is_refused_with_its_owner() {
        let mut scopes = Scopes::default();
        let candidate = scopes.read(&manifest("a", POOL)).unwrap();
        scopes.commit(candidate);
        let problems = scopes.read(&manifest("b", POOL)).unwrap_err();
        assert!(
            problems[0].message.contains(r#"belongs to scope "a""#),
            "{problems:?}"
        );
        assert_eq!(
            (problems[0].file_name.as_str(), problems[0].line),
            ("a.yaml", 1)
        );
    }

    #[test]
    fn the_same_state_again_changes_nothing() {
        let mut scopes = Scopes::default();
        let candidate = scopes.read(&manifest("a", POOL)).unwrap();
        scopes.commit(candidate);
        let candidate = scopes.read(&manifest("a", POOL)).unwrap();
        assert!(
            scopes
                .changes(&candidate)
                .iter()
                .all(|change| change.action() == v1::Action::None)
        );
    }

    #[test]
    fn a_typed_object_is_checked_like_a_manifest() {
        let metadata = Some(v1::Metadata {
            name: "pods".to_owned(),
            ..v1::Metadata::default()
        });
        let pool = v1::IpPool {
            metadata,
            cidr: "10.244.0.0/99".to_owned(),
            ..v1::IpPool::default()
        };
        let object = v1::Object {
            kind: Some(v1::object::Kind::IpPool(pool)),
        };
        let request = v1::ApplyRequest {
            scope: "a".to_owned(),
            objects: vec![object],
            ..v1::ApplyRequest::default()
        };
        let problems = Scopes::default().read(&request).unwrap_err();
        assert_eq!(problems[0].field, "spec.cidr");
        assert_eq!(problems[0].object.as_ref().unwrap().name, "pods");
    }
}
