//! Every workflow there is, and the runs of them: the open ones first, then the newest.

use maud::{Markup, html};
use vigie_core::{
    Timestamp,
    run::{RunView, WorkflowView},
};

use crate::{
    board::strip,
    frame::{Page, Tab},
    gate::Asked,
    pieces::{small_icon, state},
    steps::{run_ended, run_look, run_why, took},
    words::{age, day_and_clock, many, money, said},
};

/// What the list is made of.
pub struct Runs<'a> {
    pub workflows: &'a [WorkflowView],
    /// Newest first, those of one workflow alone where `only` says so.
    pub runs: &'a [RunView],
    pub only: Option<&'a str>,
    /// Why some folders are not read as a whole.
    pub faults: &'a [String],
    pub waiting: &'a [Asked],
    /// Whether whoever looks may make new workflows.
    pub may_make: bool,
    pub now: Timestamp,
}

/// The page of a workflow; its name may have a slash in it.
pub fn workflow_href(name: &str) -> String {
    format!("/workflows/{name}")
}

pub fn run_href(name: &str) -> String {
    format!("/runs/{name}")
}

pub fn page(page: &Runs) -> Page {
    let open = page.runs.iter().filter(|run| run.row.life.is_open());
    let over = page.runs.iter().filter(|run| !run.row.life.is_open());
    let runs: Vec<_> = open.chain(over).collect();
    let main = html! {
        div.head { h1 { "Runs" } p.dim.small { (counted(page)) } }
        (strip(page.waiting, page.now))
        div.stack {
            section.band aria-labelledby="runs" {
                h2 id="runs" { "Runs" }
                (filter(page))
                @if runs.is_empty() { (nothing(page.only)) } @else { (table(&runs, page.now)) }
            }
            section.band aria-labelledby="workflows" {
                h2 id="workflows" { "Workflows" }
                @for fault in page.faults { p.error { (said(fault)) } }
                @if page.may_make { (new_workflow()) }
                ul.list.panel id="all-workflows" {
                    @for view in page.workflows { (workflow(view)) }
                }
            }
        }
    };
    Page { title: "Runs".into(), tab: Tab::Runs, main }
}

/// It begins as one that runs, and goes on in the editor.
fn new_workflow() -> Markup {
    html! {
        details.tell {
            summary.btn { (small_icon("i-plus")) "New workflow…" }
            form.panel.form data-post="/workflows" data-then="/workflows/{name}" {
                label.field for="new-workflow" { "Name"
                    input.input.mono id="new-workflow" name="name" required maxlength="60" placeholder="nightly-count" autocomplete="off" autocapitalize="none" spellcheck="false";
                }
                p.error.wide role="alert" hidden {}
                div.wide.line-up { button.btn.go { "Make it" } span.small.dim { "A file beside the configuration, with one step; write the rest in the editor." } }
            }
        }
    }
}

fn counted(page: &Runs) -> String {
    let open = page.runs.iter().filter(|run| run.row.life.is_open()).count();
    let broken = page.workflows.iter().filter(|view| view.errors > 0).count();
    let all = many(page.workflows.len(), "workflow", "workflows");
    let broken = if broken == 0 { String::new() } else { format!(", {broken} with mistakes") };
    format!("{open} open, {all}{broken}")
}

fn filter(page: &Runs) -> Markup {
    html! {
        form.head.filters method="get" action="/runs" data-go {
            div.chips {
                label.hush for="workflow" { "Workflow" }
                select.input id="workflow" name="workflow" {
                    option value="" { "All workflows" }
                    @for view in page.workflows {
                        option value=(view.name) selected[page.only == Some(view.name.as_str())] { (said(&view.name)) }
                    }
                }
                noscript { button.btn { "Show" } }
            }
        }
    }
}

fn nothing(only: Option<&str>) -> Markup {
    html! {
        div.panel.empty {
            @if let Some(only) = only {
                p { b { "No run of " (said(only)) " yet." } }
                p { a href=(workflow_href(only)) { "Run it…" } " or " a href="/runs" { "show all runs" } }
            } @else {
                p { b { "No run yet." } }
                p.dim { "Open a workflow and run it. Schedules and webhooks run theirs by themselves." }
            }
        }
    }
}

fn table(runs: &[&RunView], now: Timestamp) -> Markup {
    html! {
        div.panel {
            table.fold role="table" aria-label="Runs" {
                thead role="rowgroup" { tr role="row" {
                    @for name in ["Run", "State", "Started by", "Project"] { th role="columnheader" scope="col" { (name) } }
                    @for name in ["Started", "Took", "Cost"] { th.n role="columnheader" scope="col" { (name) } }
                } }
                tbody role="rowgroup" { @for run in runs { (line(run, now)) } }
            }
        }
    }
}

fn line(view: &RunView, now: Timestamp) -> Markup {
    let (look, word) = run_look(view);
    let since = view.row.since();
    let end = run_ended(view).unwrap_or(now);
    let project = view.row.project.as_ref().map(ToString::to_string);
    html! {
        tr role="row" id=(format!("run-{}", view.row.id)) {
            th role="rowheader" scope="row" {
                a.key href=(run_href(&view.name)) { (said(&view.name)) }
                @if let Some(why) = run_why(view) { p.small.dim dir="auto" { (said(why)) } }
            }
            td role="cell" { (state(look, word)) }
            td.dim role="cell" data-l="Started by" { (said(&view.started_by)) }
            td.dim role="cell" data-l=[project.as_ref().map(|_| "Project")] { (project.unwrap_or_default()) }
            td.n role="cell" data-l="Started" { (day_and_clock(since)) }
            td.n role="cell" data-l="Took" {
                @if view.row.life.is_open() { (age(since, now)) } @else { (took((end - since).num_milliseconds())) }
            }
            td.n role="cell" data-l="Cost" { (money(view.spent.micro_usd)) }
        }
    }
}

fn workflow(view: &WorkflowView) -> Markup {
    html! {
        li id=(format!("workflow-{}", view.name)) {
            div.line {
                span {
                    a.key href=(workflow_href(&view.name)) { (said(&view.name)) } " "
                    span dir="auto" { (said(&view.title)) }
                }
                @if view.errors > 0 { span.bad.small { "does not run: " (many(view.errors, "mistake", "mistakes")) } }
            }
            p.small.dim {
                code { (said(&view.file)) }
                @if let Some([_, median, most]) = view.cost { ", costs " (money(median)) ", at most " (money(most)) }
                ". "
                (next(view, 2))
            }
        }
    }
}

/// When it runs by itself, and that it does not though its file says so.
pub fn next(view: &WorkflowView, most: usize) -> Markup {
    html! {
        @if !view.triggers {
            "Its schedule and webhook do not count."
        } @else if view.next.is_empty() {
            "No schedule."
        } @else {
            "Next "
            @for (at, fire) in view.next.iter().take(most).enumerate() {
                @if at > 0 { ", " }
                (day_and_clock(*fire))
            }
            ", times of " (said(&view.timezone)) "."
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::json;

    /// A run as the hub tells it, in words of JSON: what is not given is as after a start.
    pub(crate) fn run(name: &str, life: &serde_json::Value) -> RunView {
        let (workflow, number) = name.rsplit_once('-').unwrap();
        let number: u64 = number.parse().unwrap();
        let id = format!("run_01j{number:023}");
        let row = json!({
            "id": id, "workflow": workflow, "number": number,
            "starter": { "starter": "cron", "slot": "2026-11-30T08:40:00Z" },
            "key": null, "place": null, "parent": null, "project": null,
            "made": "2026-11-30T08:40:00Z", "life": life, "shown": [],
        });
        let view = json!({
            "row": row, "name": name, "started_by": "its schedule", "params": {}, "steps": [],
            "progress": [], "outputs": null, "open_gates": [], "report": [], "made_of": null,
            "spent": { "micro_usd": 2_080_000, "input_tokens": 0, "output_tokens": 0 },
        });
        serde_json::from_value(view).unwrap()
    }

    pub(crate) fn workflow_view(name: &str) -> WorkflowView {
        WorkflowView {
            name: name.into(),
            title: "Ship <it>".into(),
            description: String::new(),
            file: "~/.config/vigie/workflows/release.yaml".into(),
            params: Vec::new(),
            next: Vec::new(),
            timezone: "Europe/Paris".into(),
            errors: 0,
            cost: None,
            triggers: true,
        }
    }

    #[test]
    fn what_is_open_stands_first_and_everything_is_linked() {
        let over = json!({ "life": "over", "status": "failed", "why": "`ship` <failed>", "at": "2026-11-30T09:00:00Z" });
        let runs = [run("release-2", &over), run("release-1", &json!({ "life": "running" }))];
        let workflows = [
            WorkflowView { errors: 2, ..workflow_view("api/release") },
            WorkflowView { triggers: false, ..workflow_view("release") },
        ];
        let now = "2026-11-30T09:10:00Z".parse().unwrap();
        let (workflows, runs) = (workflows.as_slice(), runs.as_slice());
        let list =
            Runs { workflows, runs, only: None, faults: &[], waiting: &[], may_make: false, now };
        let shown = page(&list).main.into_string();
        let first = shown.find("href=\"/runs/release-1\"").unwrap();
        assert!(first < shown.find("href=\"/runs/release-2\"").unwrap());
        assert!(!shown.contains("New workflow"), "who may not is offered none");
        assert!(page(&Runs { may_make: true, ..list }).main.0.contains("New workflow"));
        assert!(shown.contains("1 open, 2 workflows, 1 with mistakes"), "{shown}");
        assert!(
            shown.contains("href=\"/workflows/api/release\"")
                && shown.contains("does not run: 2 mistakes")
        );
        assert!(shown.contains("do not count") && shown.contains("No schedule."));
        assert!(shown.contains("&lt;failed&gt;") && shown.contains("20 min 00 s"));
    }
}
