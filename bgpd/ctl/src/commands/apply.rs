//! `weft plan`, `weft apply` and `weft validate`: one request in three modes.

use weft_proto::v1::apply_request::{Mode, SessionReset};
use weft_proto::v1::problem::Severity;
use weft_proto::v1::{
    Action, ApplyRequest, ApplyResponse, Cost, ObjectChange, ObjectKey, PlanChange, Problem,
};

use crate::cli::{ApplyArgs, ManifestArgs, ScopeArg};
use crate::commands::{Context, Outcome};
use crate::error::Error;
use crate::manifests;
use crate::output::Screen;
use crate::output::cell::{Cell, Tone};
use crate::output::page::Page;
use crate::output::table::{Column, Table};
use crate::output::text::count;

/// `weft plan`.
pub(super) async fn plan(
    context: &mut Context<'_>,
    files: &ManifestArgs,
    args: ApplyArgs,
    exit_code: bool,
) -> Result<Outcome, Error> {
    let response = ask(context, files, args, Mode::Plan).await?;
    Ok(if exit_code && changes_something(&response) {
        Outcome::Changes
    } else {
        Outcome::Done
    })
}

/// `weft apply`.
pub(super) async fn apply(
    context: &mut Context<'_>,
    files: &ManifestArgs,
    args: ApplyArgs,
) -> Result<(), Error> {
    ask(context, files, args, Mode::Apply).await?;
    Ok(())
}

/// `weft validate`.
pub(super) async fn validate(
    context: &mut Context<'_>,
    files: &ManifestArgs,
    scope: ScopeArg,
) -> Result<(), Error> {
    let args = ApplyArgs {
        scope,
        no_session_reset: false,
    };
    ask(context, files, args, Mode::Validate).await?;
    Ok(())
}

async fn ask(
    context: &mut Context<'_>,
    files: &ManifestArgs,
    args: ApplyArgs,
    mode: Mode,
) -> Result<ApplyResponse, Error> {
    let manifests = manifests::read(&files.files)?;
    let allow_session_reset = if args.no_session_reset {
        SessionReset::Never
    } else {
        SessionReset::IfNeeded
    };
    let request = ApplyRequest {
        scope: args.scope.scope,
        generation: 0,
        mode: mode.into(),
        allow_session_reset: allow_session_reset.into(),
        objects: Vec::new(),
        manifests,
    };
    let scope = request.scope.clone();
    let response = context.connect().await?.apply(request).await?;
    context.tell(&response, |screen, response| {
        render(screen, response, mode, &scope)
    })?;
    if response.accepted {
        Ok(response)
    } else {
        let errors = response
            .problems
            .iter()
            .filter(|problem| problem.severity() != Severity::Warning)
            .count();
        Err(Error::NotAccepted { errors })
    }
}

fn render(screen: &Screen, response: &ApplyResponse, mode: Mode, scope: &str) -> String {
    let mut page = Page::new(screen);
    if !response.problems.is_empty() {
        for problem in &response.problems {
            page.line(problem_line(problem));
        }
    }
    if response.accepted {
        if mode != Mode::Validate {
            changes(&mut page, response, scope);
        }
        page.section(conclusion(response, mode));
    }
    page.finish()
}

fn changes(page: &mut Page<'_>, response: &ApplyResponse, scope: &str) {
    let objects = objects(&response.objects);
    if objects.pending() > 0 {
        page.section(format!("objects of scope {scope}"))
            .rows(objects);
    }
    let consequences = consequences(&response.changes);
    if consequences.pending() > 0 {
        page.section("on this node").rows(consequences);
    }
}

fn objects(objects: &[ObjectChange]) -> Table {
    let mut table = Table::new(&[Column::Text("")]);
    for change in objects {
        let name = object_name(change.object.as_ref());
        if let Some(marked) = marked(change.action(), &name) {
            table.row([marked]);
        }
    }
    table
}

fn consequences(changes: &[PlanChange]) -> Table {
    let mut table = Table::new(&[Column::Text(""), Column::Text(""), Column::Prose("")]);
    for change in changes {
        let name = format!("{} {}", change.kind, change.what);
        if let Some(marked) = marked(change.action(), &name) {
            table.row([marked, cost(change), change.detail.as_str().into()]);
        }
    }
    table
}

/// As diff shows it; `None` for what stays.
fn marked(action: Action, name: &str) -> Option<Cell> {
    match action {
        Action::Create => Some(Cell::new(format!("+ {name}"), Tone::Good)),
        Action::Update => Some(Cell::new(format!("~ {name}"), Tone::Notice)),
        Action::Delete => Some(Cell::new(format!("- {name}"), Tone::Bad)),
        Action::None | Action::Unspecified => None,
    }
}

fn cost(change: &PlanChange) -> Cell {
    match (change.cost(), change.action()) {
        (Cost::Unspecified, _) => "".into(),
        (Cost::None, _) => "no cost".into(),
        (Cost::SoftOut, _) => "announces anew".into(),
        (Cost::SoftIn, _) => "evaluates anew".into(),
        (Cost::Dataplane, _) => "replaces in place".into(),
        (Cost::SessionReset, _) if change.parked => {
            Cell::new("waits, needs a session reset", Tone::Notice)
        }
        (Cost::SessionReset, Action::Delete) => Cell::new("ends the session", Tone::Bad),
        (Cost::SessionReset, _) if change.kind == SPEAKER => {
            Cell::new("resets all sessions", Tone::Bad)
        }
        (Cost::SessionReset, _) => Cell::new("resets the session", Tone::Bad),
    }
}

fn conclusion(response: &ApplyResponse, mode: Mode) -> Cell {
    let of = |action: Action| {
        let objects = response.objects.iter();
        objects.filter(|change| change.action() == action).count()
    };
    let total = response.objects.len() - of(Action::Delete);
    if mode == Mode::Validate {
        return Cell::new(format!("valid: {}", count(total, "object")), Tone::Good);
    }
    let (title, [create, update, delete]) = match mode {
        Mode::Apply => ("applied", ["created", "updated", "deleted"]),
        _ => ("plan", ["to create", "to update", "to delete"]),
    };
    if !changes_something(response) {
        return format!("{title}: nothing changes ({})", count(total, "object")).into();
    }
    let mut text = format!(
        "{title}: {} {create}, {} {update}, {} {delete}, {} unchanged",
        of(Action::Create),
        of(Action::Update),
        of(Action::Delete),
        of(Action::None),
    );
    if let Some(resets) = resets(&response.changes) {
        text += &format!("; {resets}");
    }
    text.into()
}

/// How many sessions go down, and how many would if they were allowed to; `None` when no session does.
fn resets(changes: &[PlanChange]) -> Option<String> {
    let costly: Vec<&PlanChange> = changes
        .iter()
        .filter(|change| change.cost() == Cost::SessionReset)
        .collect();
    // A change of the speaker, of its AS for example, is not one more session.
    let speaker = costly.iter().any(|change| change.kind == SPEAKER);
    let waiting = costly.iter().filter(|change| change.parked).count();
    match (costly.len(), waiting) {
        (0, _) => None,
        (_, 0) if speaker => Some("all sessions reset".to_owned()),
        (_, _) if speaker => Some("all session resets wait".to_owned()),
        (all, 0) => Some(count(all, "session reset")),
        (all, waiting) if all == waiting => {
            Some(format!("{} waiting", count(all, "session reset")))
        }
        (all, waiting) => Some(format!(
            "{}, {waiting} of them waiting",
            count(all, "session reset")
        )),
    }
}

fn changes_something(response: &ApplyResponse) -> bool {
    let objects = response.objects.iter().map(ObjectChange::action);
    let changes = response.changes.iter().map(PlanChange::action);
    objects
        .chain(changes)
        .any(|action| !matches!(action, Action::None | Action::Unspecified))
}

/// As compilers write it, so that editors find the place: `peers.yaml:12: error: BGPPeer/tor-a spec.peerIP: ...`.
pub(super) fn problem_line(problem: &Problem) -> Cell {
    let place = match (problem.file_name.as_str(), problem.line) {
        ("", _) => String::new(),
        (file, 0) => format!("{file}: "),
        (file, line) => format!("{file}:{line}: "),
    };
    let (severity, tone) = match problem.severity() {
        Severity::Warning => ("warning", Tone::Notice),
        Severity::Error | Severity::Unspecified => ("error", Tone::Bad),
    };
    let object = problem.object.as_ref().filter(|key| !key.kind.is_empty());
    let subject = match (object, problem.field.as_str()) {
        (None, "") => String::new(),
        (None, field) => format!("{field}: "),
        (Some(_), "") => format!("{}: ", object_name(object)),
        (Some(_), field) => format!("{} {field}: ", object_name(object)),
    };
    Cell::new(
        format!("{place}{severity}: {subject}{}", problem.message),
        tone,
    )
}

fn object_name(object: Option<&ObjectKey>) -> String {
    match object {
        Some(ObjectKey { kind, name }) => format!("{kind}/{name}"),
        None => "-".to_owned(),
    }
}

/// The kind of a change that concerns all sessions.
const SPEAKER: &str = "speaker";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{documentation, fixtures};

    fn rendered(response: &ApplyResponse, mode: Mode) -> String {
        render(&Screen::of_test(), response, mode, "cli")
    }

    #[test]
    fn a_plan_with_every_kind_of_change() {
        let text = rendered(&fixtures::plan(), Mode::Plan);
        insta::assert_snapshot!(text);
        documentation::assert_shows(&text);
    }

    #[test]
    fn refused_manifests() {
        let text = rendered(&fixtures::refused_plan(), Mode::Plan);
        insta::assert_snapshot!(text);
        documentation::assert_shows(&text);
    }

    #[test]
    fn an_apply_that_changes_nothing() {
        let text = rendered(&fixtures::unchanged_plan(), Mode::Apply);
        assert_eq!(text, "applied: nothing changes (2 objects)\n");
    }

    #[test]
    fn valid_manifests() {
        let text = rendered(&fixtures::unchanged_plan(), Mode::Validate);
        assert_eq!(text, "valid: 2 objects\n");
    }

    #[test]
    fn a_change_on_the_node_alone_is_a_change_too() {
        let mut response = fixtures::unchanged_plan();
        assert!(!changes_something(&response));
        response.changes.push(PlanChange {
            action: Action::Update.into(),
            ..Default::default()
        });
        assert!(changes_something(&response));
    }

    #[test]
    fn a_problem_without_place_or_object_is_its_message() {
        let problem = Problem {
            message: "scope: must not be empty".into(),
            ..Default::default()
        };
        assert_eq!(
            problem_line(&problem).text(),
            "error: scope: must not be empty"
        );
    }

    #[test]
    fn resets_that_wait_are_told_apart() {
        let reset = |kind: &str, parked| PlanChange {
            kind: kind.to_owned(),
            action: Action::Update.into(),
            cost: Cost::SessionReset.into(),
            parked,
            ..PlanChange::default()
        };
        let session = |parked| reset("session", parked);
        let texts = |changes: &[PlanChange]| resets(changes).unwrap_or_default();
        assert_eq!(texts(&[]), "");
        assert_eq!(texts(&[session(false)]), "1 session reset");
        assert_eq!(texts(&[session(true)]), "1 session reset waiting");
        assert_eq!(
            texts(&[session(true), session(false)]),
            "2 session resets, 1 of them waiting"
        );
        assert_eq!(
            texts(&[reset(SPEAKER, false), session(false)]),
            "all sessions reset"
        );
    }

    #[test]
    fn objects_that_go_are_not_counted_as_valid() {
        let gone = ObjectChange {
            action: Action::Delete.into(),
            ..ObjectChange::default()
        };
        let response = ApplyResponse {
            accepted: true,
            objects: vec![gone],
            ..ApplyResponse::default()
        };
        let text = render(&Screen::of_test(), &response, Mode::Validate, "cli");
        assert_eq!(text, "valid: 0 objects\n");
    }
}
