//! Apply: read, check, plan, and only then carry out. All or nothing.

use std::sync::Arc;

use cluster::plan::{Plan, PlanChange, Planned, Subject};
use cluster::{Finding, Severity, Snapshot};
use tonic::Status;
use tracing::{error, info, warn};
use weft_proto::v1;
use weft_proto::v1::apply_request::{Mode, SessionReset};
use weft_proto::v1::problem::Severity as ProblemSeverity;

use super::Control;
use super::peers::Resets;
use crate::config::manifest_files;
use crate::config::scopes::{FILE_SCOPE, Scopes, object_key};

/// All objects of all scopes, and what they make this node do.
pub(crate) struct Outcome {
    pub(crate) snapshot: Snapshot,
    pub(crate) plan: Plan,
    /// What a person should know; errors are things that don't work as the objects ask.
    pub(crate) findings: Vec<Finding>,
}

/// Plans for a set of objects. Without this node among them there is nothing to do, and that is said.
pub(crate) fn outcome(snapshot: Snapshot, local: &cluster::Local) -> Outcome {
    match cluster::plan(&snapshot, local) {
        Ok(Planned { plan, findings }) => Outcome {
            snapshot,
            plan,
            findings,
        },
        Err(error) => {
            let findings = if snapshot.is_empty() {
                // Just started, nothing told yet: not a fault.
                Vec::new()
            } else {
                vec![Finding {
                    severity: Severity::Warning,
                    objects: Vec::new(),
                    field: String::new(),
                    problem: error.to_string(),
                    remedy: "this node does nothing until then".to_owned(),
                }]
            };
            Outcome {
                plan: Plan::idle(local),
                snapshot,
                findings,
            }
        }
    }
}

impl Control {
    /// Carries out one request.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION` for a generation that is older than the one in force, `INVALID_ARGUMENT` for a request
    /// without scope or mode. Faults of the objects are in the response instead.
    pub(super) async fn apply(
        &mut self,
        request: v1::ApplyRequest,
    ) -> Result<v1::ApplyResponse, Status> {
        let mode = check(&request, &self.parts.scopes)?;
        let resets = match request.allow_session_reset() {
            SessionReset::Never => Resets::Parked,
            SessionReset::Unspecified | SessionReset::IfNeeded => Resets::Allowed,
        };
        let generation = request.generation;
        let refused = |problems| v1::ApplyResponse {
            problems,
            generation,
            ..v1::ApplyResponse::default()
        };
        let candidate = match self.parts.scopes.read(&request) {
            Ok(candidate) => candidate,
            Err(problems) => {
                self.refuse(mode, &request.scope, &problems);
                return Ok(refused(problems));
            }
        };
        let mut snapshot = Snapshot::default();
        for object in self.parts.scopes.with(&candidate) {
            snapshot.insert(object.clone());
        }
        let mut problems = candidate.warnings.clone();
        let checked = snapshot.check();
        let fatal = checked
            .iter()
            .any(|finding| finding.severity == Severity::Error);
        problems.extend(checked.iter().map(problem));
        if fatal {
            self.refuse(mode, &request.scope, &problems);
            return Ok(refused(problems));
        }
        let outcome = outcome(snapshot, &self.local());
        // What does not work on this node is shown, not refused: the objects are the whole cluster's.
        problems.extend(
            outcome
                .findings
                .iter()
                .map(|finding| as_warning(problem(finding))),
        );
        let changes = self.plan.diff(&outcome.plan);
        let response = v1::ApplyResponse {
            accepted: true,
            problems,
            objects: self.parts.scopes.changes(&candidate),
            changes: changes
                .iter()
                .map(|change| self.describe(change, &outcome.plan))
                .collect(),
            generation,
        };
        if mode == Mode::Apply {
            info!(
                scope = request.scope,
                generation,
                changes = changes.len(),
                "applying"
            );
            self.parts.scopes.commit(candidate);
            if let Err(error) = self.parts.state_dir.save(&request) {
                error!(scope = request.scope, %error, "can't keep the applied state: a restart would not find it");
            }
            self.carry_out(outcome, resets).await;
        }
        Ok(response)
    }

    /// Reads `--manifests` and applies them; what is wrong with them is logged and shown, and changes nothing.
    pub(super) async fn read_manifests(&mut self) {
        let Some(path) = self.parts.flags.manifests.clone() else {
            return;
        };
        let request = match manifest_files::read(&path) {
            Ok(files) => file_request(files),
            Err(error) => {
                let message = format!("{error}; what was read last stays in force");
                error!("{message}");
                let problem = v1::Problem {
                    severity: ProblemSeverity::Error.into(),
                    file_name: path.display().to_string(),
                    message,
                    ..v1::Problem::default()
                };
                self.parts.scopes.refuse(FILE_SCOPE, vec![problem]);
                self.publish();
                return;
            }
        };
        match self.apply(request).await {
            Ok(response) => log_problems(&response.problems),
            Err(status) => error!(error = status.message(), "manifests"),
        }
    }

    fn refuse(&mut self, mode: Mode, scope: &str, problems: &[v1::Problem]) {
        if mode == Mode::Apply {
            self.parts.scopes.refuse(scope, problems.to_vec());
            self.publish();
        }
    }

    pub(super) fn local(&self) -> cluster::Local {
        local(
            &self.parts.node,
            self.parts.fallback_router_id,
            self.parts.flags.router_id,
        )
    }

    fn describe(&self, change: &PlanChange, new: &Plan) -> v1::PlanChange {
        let PlanChange {
            subject,
            action,
            cost,
            text,
        } = change;
        let session = |key| {
            new.sessions
                .get(key)
                .or_else(|| self.plan.sessions.get(key))
        };
        let (kind, what) = match subject {
            Subject::Speaker => ("speaker", String::new()),
            Subject::Listener => ("listener", String::new()),
            Subject::Session(key) => {
                let name = session(key).map_or("", |session| session.name.as_str());
                let port = if key.port == 179 {
                    String::new()
                } else {
                    format!(" port {}", key.port)
                };
                ("session", format!("{}{port} ({name})", key.address))
            }
            Subject::Origination(prefix) => ("announcement", prefix.to_string()),
            Subject::Export => ("export rules", String::new()),
            Subject::Kernel => ("kernel rules", String::new()),
            Subject::VxlanDevice => ("tunnel", String::new()),
            Subject::VxlanPool(pool) => ("tunnel pool", pool.to_string()),
            Subject::VxlanNode(node) => ("vtep", node.clone()),
            Subject::VxlanRoute(prefix) => ("tunnel route", prefix.to_string()),
        };
        v1::PlanChange {
            kind: kind.to_owned(),
            what,
            action: match action {
                cluster::plan::Action::Create => v1::Action::Create,
                cluster::plan::Action::Update => v1::Action::Update,
                cluster::plan::Action::Delete => v1::Action::Delete,
            }
            .into(),
            cost: match cost {
                cluster::plan::Cost::None => v1::Cost::None,
                cluster::plan::Cost::Dataplane => v1::Cost::Dataplane,
                cluster::plan::Cost::SoftOut => v1::Cost::SoftOut,
                cluster::plan::Cost::SoftIn => v1::Cost::SoftIn,
                cluster::plan::Cost::SessionReset => v1::Cost::SessionReset,
            }
            .into(),
            detail: text.clone(),
        }
    }
}

/// What the daemon knows about itself.
pub(crate) fn local(
    node: &str,
    fallback: bgp_wire::RouterId,
    given: Option<std::net::Ipv4Addr>,
) -> cluster::Local {
    let mut local = cluster::Local::new(node);
    local.router_id = match given {
        Some(given) => cluster::RouterIdSource::Given(given),
        None => cluster::RouterIdSource::NodeAddressOr(fallback.0),
    };
    local
}

/// The manifests as the request of their own scope.
pub(crate) fn file_request(files: Vec<manifest_files::ManifestFile>) -> v1::ApplyRequest {
    let manifests = files
        .into_iter()
        .map(|manifest_files::ManifestFile { file_name, text }| v1::Manifest { file_name, text })
        .collect();
    v1::ApplyRequest {
        scope: FILE_SCOPE.to_owned(),
        mode: Mode::Apply.into(),
        manifests,
        ..v1::ApplyRequest::default()
    }
}

/// Writes problems to the log, as an operator reads them in an editor: file, line, object, field.
pub(crate) fn log_problems(problems: &[v1::Problem]) {
    for problem in problems {
        let text = render(problem);
        match problem.severity() {
            ProblemSeverity::Warning => warn!("{text}"),
            ProblemSeverity::Error | ProblemSeverity::Unspecified => error!("{text}"),
        }
    }
}

/// One problem on one line.
pub(crate) fn render(problem: &v1::Problem) -> String {
    let mut text = String::new();
    let mut add = |part: &str| {
        text.push_str(part);
        text.push_str(": ");
    };
    match (problem.file_name.as_str(), problem.line) {
        ("", _) => {}
        (file, 0) => add(file),
        (file, line) => add(&format!("{file}:{line}")),
    }
    if let Some(object) = &problem.object {
        add(&format!("{} {:?}", object.kind, object.name));
    }
    if !problem.field.is_empty() {
        add(&problem.field);
    }
    text.push_str(&problem.message);
    text
}

fn check(request: &v1::ApplyRequest, scopes: &Scopes) -> Result<Mode, Status> {
    if request.scope.is_empty() {
        return Err(Status::invalid_argument(
            "scope: is empty; name the owner, for example node-agent",
        ));
    }
    let mode = match Mode::try_from(request.mode) {
        Ok(mode @ (Mode::Validate | Mode::Plan | Mode::Apply)) => mode,
        Ok(Mode::Unspecified) | Err(_) => {
            return Err(Status::invalid_argument(
                "mode: write MODE_VALIDATE, MODE_PLAN or MODE_APPLY",
            ));
        }
    };
    let current = scopes.generation(&request.scope);
    if request.generation < current {
        return Err(Status::failed_precondition(format!(
            "generation: {} is older than {current}, which is in force for scope {:?}",
            request.generation, request.scope
        )));
    }
    Ok(mode)
}

fn problem(finding: &Finding) -> v1::Problem {
    let Finding {
        severity,
        objects,
        field,
        problem,
        remedy,
    } = finding;
    v1::Problem {
        severity: match severity {
            Severity::Error => ProblemSeverity::Error,
            Severity::Warning => ProblemSeverity::Warning,
        }
        .into(),
        object: objects.first().map(object_key),
        field: field.clone(),
        message: format!("{problem}; {remedy}"),
        ..v1::Problem::default()
    }
}

fn as_warning(mut problem: v1::Problem) -> v1::Problem {
    problem.set_severity(ProblemSeverity::Warning);
    problem
}

impl Outcome {
    /// Shared, for the view.
    pub(super) fn into_shared(self) -> (Arc<Snapshot>, Plan, Vec<Finding>) {
        (Arc::new(self.snapshot), self.plan, self.findings)
    }
}
