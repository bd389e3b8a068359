//! `weft status`: the daemon in one page.

use weft_proto::v1::problem::Severity;
use weft_proto::v1::{GetStatusResponse, KernelTotals, Problem, ScopeStatus};

use crate::commands::{Context, apply, vteps};
use crate::error::Error;
use crate::output::cell::{Cell, Tone};
use crate::output::page::Page;
use crate::output::table::{Column, Table};
use crate::output::text::{age, age_or_dash, count};
use crate::output::{Screen, conditions};

pub(super) async fn run(context: &mut Context<'_>) -> Result<(), Error> {
    let status = context.connect().await?.status().await?;
    context.tell(&status, render)
}

fn render(screen: &Screen, status: &GetStatusResponse) -> String {
    let mut page = Page::new(screen);
    page.line(format!(
        "node {}, AS {}, router ID {}",
        status.node, status.asn, status.router_id
    ));
    page.field("daemon", daemon(screen, status))
        .field("ready", ready(status))
        .field("cluster ID", &status.cluster_id)
        .field("listening", listening(status))
        .field("peers", peers(status))
        .field("routes", routes(status))
        .field("kernel", kernel(status));

    page.table(scopes(screen, &status.scopes));
    let problems = status
        .scopes
        .iter()
        .filter(|scope| !scope.problems.is_empty());
    for scope in problems {
        page.section(heading(scope));
        for problem in &scope.problems {
            page.line(apply::problem_line(problem));
        }
    }
    page.table(vteps::tunnels(&status.tunnels));
    page.table(conditions::table(screen, &status.conditions));
    page.finish()
}

/// Warnings are no reason not to take what was written.
fn heading(scope: &ScopeStatus) -> Cell {
    let name = &scope.scope;
    let is_error = |problem: &Problem| problem.severity() == Severity::Error;
    if scope.problems.iter().any(is_error) {
        let text = "is not taken; the last good state runs";
        Cell::new(
            format!("The newest input of scope {name} {text}:"),
            Tone::Bad,
        )
    } else {
        format!("Scope {name} is in force, with warnings:").into()
    }
}

/// One line for a watcher.
pub(super) fn summary(status: &GetStatusResponse) -> String {
    let mut parts = vec![if status.ready { "ready" } else { "not ready" }.to_owned()];
    parts.push(format!("peers: {}", peers(status).text()));
    parts.push(format!("routes: {}", routes(status)));
    parts.push(format!("kernel: {}", kernel(status).text()));
    parts.join("; ")
}

fn daemon(screen: &Screen, status: &GetStatusResponse) -> String {
    let mut text = format!("weftd {}", status.version);
    if !status.platform.is_empty() {
        text += &format!(" on {}", status.platform);
    }
    if let Some(age) = age(screen.now, status.started_at.as_ref()) {
        text += &format!(", up {age}");
    }
    text
}

fn ready(status: &GetStatusResponse) -> Cell {
    if status.ready {
        Cell::new("yes", Tone::Good)
    } else {
        Cell::new(
            "not yet: initial state or restart is not over",
            Tone::Notice,
        )
    }
}

fn listening(status: &GetStatusResponse) -> Cell {
    if status.listening.is_empty() {
        Cell::new("nowhere", Tone::Notice)
    } else {
        status.listening.join(", ").into()
    }
}

fn peers(status: &GetStatusResponse) -> Cell {
    let totals = status.peers.unwrap_or_default();
    let tone = match (totals.configured, totals.established) {
        (0, _) => Tone::Plain,
        (configured, established) if configured == established => Tone::Good,
        (_, 0) => Tone::Bad,
        _ => Tone::Notice,
    };
    Cell::new(
        format!(
            "{} of {} established",
            totals.established, totals.configured
        ),
        tone,
    )
}

fn routes(status: &GetStatusResponse) -> String {
    let totals = status.routes.unwrap_or_default();
    format!(
        "{}, {}, {}; {} originated here",
        count(totals.prefixes, "prefix"),
        count(totals.paths, "path"),
        count(totals.attribute_sets, "attribute set"),
        totals.originated
    )
}

fn kernel(status: &GetStatusResponse) -> Cell {
    if !status.programs_kernel {
        return Cell::new("not programmed (--no-kernel)", Tone::Notice);
    }
    let KernelTotals {
        routes_wanted,
        routes_installed,
        routes_failed,
        drift_repaired,
        last_error,
    } = status.kernel.clone().unwrap_or_default();
    let mut text = format!("{routes_installed} of {routes_wanted} routes installed");
    if routes_failed > 0 {
        text += &format!(", {routes_failed} failed");
    }
    if drift_repaired > 0 {
        text += &format!("; {} by others repaired", count(drift_repaired, "change"));
    }
    if !last_error.is_empty() {
        text += &format!("; last error: {last_error}");
    }
    let tone = match routes_failed {
        0 => Tone::Plain,
        _ => Tone::Bad,
    };
    Cell::new(text, tone)
}

fn scopes(screen: &Screen, scopes: &[ScopeStatus]) -> Table {
    let mut table = Table::new(&[
        Column::Text("SCOPE"),
        Column::Number("GENERATION"),
        Column::Number("OBJECTS"),
        Column::Text("APPLIED"),
        Column::Text("PROBLEMS"),
    ]);
    for scope in scopes {
        let problems = scope.problems.len();
        table.row([
            scope.scope.as_str().into(),
            scope.generation.into(),
            scope.objects.into(),
            age_or_dash(screen.now, scope.applied_at.as_ref()).into(),
            match problems {
                0 => "none".into(),
                _ => Cell::new(problems.to_string(), Tone::Bad),
            },
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{documentation, fixtures};

    #[test]
    fn a_healthy_node() {
        insta::assert_snapshot!(render(
            &Screen::of_test(),
            &fixtures::status(fixtures::present())
        ));
    }

    #[test]
    fn a_node_in_trouble() {
        let status = fixtures::status_in_trouble(fixtures::present());
        let text = render(&Screen::of_test(), &status);
        insta::assert_snapshot!(text);
        documentation::assert_shows(&text);
    }

    #[test]
    fn an_empty_answer_is_no_panic() {
        let text = render(&Screen::of_test(), &GetStatusResponse::default());
        assert!(text.contains("0 of 0 established"), "{text}");
    }
}
