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
use crate::config::scopes::{Candidate, FILE_SCOPE, Scopes};

/// All objects of all scopes, and what they make this node do.
pub(crate) struct Outcome {
    pub(crate) snapshot: Snapshot,
    pub(crate) plan: Plan,
    /// What contradicts itself between the objects. An error among them keeps a request from being taken.
    pub(crate) contradictions: Vec<Finding>,
    /// What of the objects this node can't do. Shown, not refused: the objects are the whole cluster's.
    pub(crate) findings: Vec<Finding>,
}

/// Plans for a set of objects. Without this node among them there is nothing to do, and that is said.
pub(crate) fn outcome(snapshot: Snapshot, local: &cluster::Local) -> Outcome {
    let (plan, findings) = match cluster::plan(&snapshot, local) {
        Ok(Planned { plan, findings }) => (plan, findings),
        // Just started, nothing told yet: not a fault.
        Err(_) if snapshot.is_empty() => (Plan::idle(local), Vec::new()),
        Err(error) => {
            let finding = Finding {
                severity: Severity::Warning,
                objects: Vec::new(),
                field: String::new(),
                problem: error.to_string(),
                remedy: "this node does nothing until then".to_owned(),
            };
            (Plan::idle(local), vec![finding])
        }
    };
    Outcome {
        contradictions: snapshot.check(),
        snapshot,
        plan,
        findings,
    }
}

/// A request that can be taken.
pub(crate) struct Examined {
    pub(crate) candidate: Candidate,
    pub(crate) outcome: Outcome,
    /// Warnings only.
    pub(crate) problems: Vec<v1::Problem>,
}

/// Reads a request and holds it against everything that is in force. Changes nothing.
///
/// # Errors
/// Every problem of the request, warnings included, when at least one is an error.
pub(crate) fn examine(
    scopes: &Scopes,
    request: &v1::ApplyRequest,
    local: &cluster::Local,
) -> Result<Examined, Vec<v1::Problem>> {
    let candidate = scopes.read(request)?;
    let mut snapshot = Snapshot::default();
    for object in scopes.with(&candidate) {
        snapshot.insert(object.clone());
    }
    let outcome = outcome(snapshot, local);
    let mut problems = candidate.warnings.clone();
    let contradictions = outcome.contradictions.iter();
    problems.extend(contradictions.map(|finding| candidate.problem(finding)));
    if problems
        .iter()
        .any(|problem| problem.severity() == ProblemSeverity::Error)
    {
        return Err(problems);
    }
    let findings = outcome.findings.iter();
    problems.extend(findings.map(|finding| as_warning(candidate.problem(finding))));
    Ok(Examined {
        candidate,
        outcome,
        problems,
    })
}

/// When manifests that were read are applied.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Reread {
    /// Somebody asked for it.
    Always,
    /// Something below their path was touched, maybe not they: a log in the same directory, for example our own.
    IfChanged,
}

impl Control {
    /// Carries out one request, which passed [`check`] if it came from outside.
    /// Faults of its objects are in the response.
    pub(super) async fn apply(&mut self, request: v1::ApplyRequest) -> v1::ApplyResponse {
        let mode = request.mode();
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
        let Examined {
            candidate,
            outcome,
            problems,
        } = match examine(&self.parts.scopes, &request, &self.local()) {
            Ok(examined) => examined,
            Err(problems) => {
                self.refuse(mode, &request.scope, &problems);
                return refused(problems);
            }
        };
        let changes = self.plan.diff(&outcome.plan);
        let mut changes: Vec<v1::PlanChange> = changes
            .iter()
            .map(|change| self.describe(change, &outcome.plan))
            .chain(self.parked(&changes, &outcome.plan))
            .collect();
        for change in &mut changes {
            // A session that is to go does not come back: nothing is there to wait.
            change.parked = resets == Resets::Parked
                && change.cost() == v1::Cost::SessionReset
                && change.action() == v1::Action::Update;
        }
        let response = v1::ApplyResponse {
            accepted: true,
            problems,
            objects: self.parts.scopes.changes(&candidate),
            changes,
            generation,
        };
        if mode == Mode::Apply {
            info!(
                scope = request.scope,
                generation,
                changes = response.changes.len(),
                "applying"
            );
            self.parts.scopes.commit(candidate);
            if let Err(error) = self.parts.state_dir.save(&request) {
                error!(scope = request.scope, %error, "can't keep the applied state: a restart would not find it");
            }
            self.carry_out(outcome, resets).await;
        }
        response
    }

    /// Reads `--manifests` and applies them; what is wrong with them is logged and shown, and changes nothing.
    pub(super) async fn read_manifests(&mut self, reread: Reread) {
        let Some(path) = self.parts.flags.manifests.clone() else {
            return;
        };
        let read = manifest_files::read(&path);
        let seen = Some(read.as_ref().map(Vec::clone).map_err(ToString::to_string));
        if reread == Reread::IfChanged && seen == self.manifests {
            return;
        }
        self.manifests = seen;
        let request = match read {
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
        let response = self.apply(request).await;
        log_problems(&response.problems);
        if !response.accepted {
            let path = path.display();
            error!("the manifests in {path} are not taken; what was read last stays in force");
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

    /// Sessions whose new settings wait, and would be taken over now: the plans do not differ in them any more.
    fn parked(&self, changes: &[PlanChange], new: &Plan) -> Vec<v1::PlanChange> {
        let is_told = |key| {
            changes
                .iter()
                .any(|change| change.subject == Subject::Session(key))
        };
        let keys = self
            .peers
            .parked()
            .filter(|key| new.sessions.contains_key(key));
        keys.filter(|key| !is_told(*key))
            .map(|key| {
                let (kind, what) = self.name(&Subject::Session(key), new);
                v1::PlanChange {
                    kind: kind.to_owned(),
                    what,
                    action: v1::Action::Update.into(),
                    cost: v1::Cost::SessionReset.into(),
                    detail: "takes over the settings that wait for a session reset".to_owned(),
                    parked: false,
                }
            })
            .collect()
    }

    fn name(&self, subject: &Subject, new: &Plan) -> (&'static str, String) {
        let session = |key| {
            new.sessions
                .get(key)
                .or_else(|| self.plan.sessions.get(key))
        };
        match subject {
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
        }
    }

    fn describe(&self, change: &PlanChange, new: &Plan) -> v1::PlanChange {
        let PlanChange {
            subject,
            action,
            cost,
            text,
        } = change;
        let (kind, what) = self.name(subject, new);
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
            parked: false,
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

/// Checks what a request says about itself.
///
/// # Errors
/// `FAILED_PRECONDITION` for a generation that is older than the one in force, `INVALID_ARGUMENT` for a request without
/// scope or mode, or for one that would replace what the manifests say.
pub(super) fn check(request: &v1::ApplyRequest, scopes: &Scopes) -> Result<(), Status> {
    if request.scope.is_empty() {
        return Err(Status::invalid_argument(
            "scope: is empty; name the owner, for example node-agent",
        ));
    }
    match request.mode() {
        Mode::Validate | Mode::Plan => {}
        Mode::Apply if request.scope == FILE_SCOPE => {
            return Err(Status::invalid_argument(format!(
                "scope: {FILE_SCOPE:?} belongs to weftd's --manifests; change those, or name another scope"
            )));
        }
        Mode::Apply => {}
        Mode::Unspecified => {
            return Err(Status::invalid_argument(
                "mode: write MODE_VALIDATE, MODE_PLAN or MODE_APPLY",
            ));
        }
    }
    let current = scopes.generation(&request.scope);
    if request.generation < current {
        return Err(Status::failed_precondition(format!(
            "generation: {} is older than {current}, which is in force for scope {:?}",
            request.generation, request.scope
        )));
    }
    Ok(())
}

fn as_warning(mut problem: v1::Problem) -> v1::Problem {
    problem.set_severity(ProblemSeverity::Warning);
    problem
}

impl Outcome {
    /// Shared, for the view.
    pub(super) fn into_shared(self) -> (Arc<Snapshot>, Plan, Vec<Finding>) {
        let mut findings = self.contradictions;
        findings.extend(self.findings);
        (Arc::new(self.snapshot), self.plan, findings)
    }
}
