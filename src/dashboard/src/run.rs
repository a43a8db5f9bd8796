//! One run as it happens: what it asks, its graph, its steps, what one of them prints, what it gives.

use maud::{Markup, html};
use vigie_core::{
    Timestamp,
    money::exact,
    run::{MadeOf, RunView, StepView},
};

use crate::{
    board::strip,
    frame::{Page, Tab},
    gate::{self, Asked, May},
    graph::{self, Drawing},
    pieces::{act, state},
    runs::{run_href, workflow_href},
    steps::{goes_on, has_log, look, run_ended, run_look, run_why, step_took, took},
    words::{clock, day_and_clock, many, money, said},
};

/// What the page of a run is made of.
pub struct Run<'a> {
    pub view: &'a RunView,
    /// Its open cards, and those of what it waits for.
    pub asked: &'a [&'a Asked],
    pub show: &'a Show,
    /// Who looks may end it and begin it again.
    pub may_steer: bool,
    pub may: May,
    /// All that waits: told of here where none of it is this run's.
    pub waiting: &'a [Asked],
    /// When its schedule comes up next, and in which zone.
    pub next: Option<(Timestamp, &'a str)>,
    pub now: Timestamp,
}

/// What of it is shown, as it stands in the address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Show {
    /// The step whose log is shown; `None`: the one that is at work.
    pub step: Option<String>,
    /// What it complained about instead of what it printed.
    pub err: bool,
    /// The workflow's text as it was frozen, instead of everything else.
    pub yaml: bool,
}

/// Rounds of a `foreach` can come to thousands of rows.
const MOST_ROWS: usize = 400;

/// Longest value of a param or an output in the table of them, in letters; the rest is folded.
const SHORT_VALUE: usize = 120;

pub fn page(run: &Run) -> Page {
    let view = run.view;
    let main = html! {
        (head(run))
        @if run.asked.is_empty() { (strip(run.waiting, run.now)) }
        @if run.show.yaml { (yaml(view)) } @else { (whole(run)) }
    };
    Page { title: title(view), tab: Tab::Runs, main }
}

fn title(view: &RunView) -> String {
    format!("{} {}", view.name, run_look(view).1)
}

fn head(run: &Run) -> Markup {
    let view = run.view;
    let (shape, word) = run_look(view);
    let workflow = &view.row.workflow;
    let short = workflow.rsplit('/').next().unwrap_or(workflow);
    html! {
        div.head {
            h1 { (said(short)) " " span.dim { "#" (view.row.number) } }
            (state(shape, word))
            p.small.dim {
                @if let Some(project) = &view.row.project { (said(&project.to_string())) ", " }
                "by " (said(&view.started_by)) ", " (day_and_clock(view.row.made)) ", " (cost(view))
                @if let Some(ended) = run_ended(view) { ", " (took((ended - view.row.since()).num_milliseconds())) }
            }
            @if run.may_steer { div.end.under { (steering(view)) } }
        }
        @if let Some(why) = run_why(view) { p.error id="why" dir="auto" { (said(why)) "." } }
    }
}

/// "$2.08 of $5.00".
fn cost(view: &RunView) -> String {
    let most = view.made_of.as_ref().and_then(|made_of| made_of.limits.micro_usd);
    match (view.spent.micro_usd, most) {
        (0, None) => "no cost".into(),
        (0, Some(most)) => format!("$0 of {}", exact(most)),
        (spent, None) => money(spent),
        (spent, Some(most)) => format!("{} of {}", money(spent), exact(most)),
    }
}

fn steering(view: &RunView) -> Markup {
    let path = format!("/runs/{}", view.name);
    if view.row.life.is_open() {
        let sure = format!(
            "Cancel {}? Steps that run are stopped; those that always run still do.",
            view.name
        );
        return html! {
            form.act data-post=(format!("{path}/cancel")) data-sure=(sure) { button.btn { "Cancel…" } }
        };
    }
    let over: Vec<_> = view.steps.iter().filter(|step| step.attempt > 0).take(MOST_ROWS).collect();
    if over.is_empty() {
        return html! {};
    }
    html! {
        details.reason.retry {
            summary.btn { "Retry…" }
            div.menu {
                (act(&format!("{path}/retry"), "", &html! { "Retry what failed" }))
                form.form id="retry-from" data-post=(format!("{path}/retry")) data-keep {
                    label.field for="from" { "From a step, with all that needs it"
                        select.input id="from" name="from" {
                            @for step in &over { option value=(step.step) { (said(&step.step)) ", " (look(step).1) } }
                        }
                    }
                    p.error role="alert" hidden {}
                    button.btn { "Retry from there" }
                }
            }
        }
    }
}

fn whole(run: &Run) -> Markup {
    let view = run.view;
    let href = run_href(&view.name);
    let drawing = |made_of: &MadeOf| graph::draw(&href, &made_of.graph, &view.steps, run.now);
    let drawing = view.made_of.as_ref().map(drawing);
    let wide = drawing.as_ref().is_some_and(|drawing| drawing.wide);
    html! {
        div class=(if wide { "stack run-wide" } else { "cols graphed" }) {
            @if !run.asked.is_empty() {
                div.gate-place.stack { @for asked in run.asked { (gate::card(asked, run.may, run.now)) } }
            }
            (plot(run, drawing))
            div.stack.rest {
                (steps(run))
                (log(run))
                (values("Outputs", "outputs", &output_values(view)))
                (values("Params", "params", &param_values(view)))
            }
        }
    }
}

fn plot(run: &Run, drawing: Option<Drawing>) -> Markup {
    html! {
        section.stack.plot aria-label="Graph" {
            @if let Some((made_of, drawing)) = run.view.made_of.as_ref().zip(drawing) {
                div.panel.chart-panel { (drawing.picture) }
                (facts(run, made_of))
            }
        }
    }
}

fn facts(run: &Run, made_of: &MadeOf) -> Markup {
    let view = run.view;
    let limits = &made_of.limits;
    let money = limits.micro_usd.map_or_else(|| "no budget".into(), exact);
    let time = limits.timeout.map_or_else(
        || "no end".into(),
        |time| took(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)),
    );
    let begun = view.row.since();
    html! {
        dl.facts {
            dt { "Workflow" }
            dd { a href=(workflow_href(&view.row.workflow)) { (said(&view.row.workflow)) } ", "
                a href="?view=yaml" { "as frozen at " (clock(view.row.made)) } }
            dt { "File" } dd { code { (said(&made_of.file)) } }
            dt { "Limits" }
            dd { (money) ", " (time) " of work, " (many(limits.concurrency as usize, "run", "runs")) " at a time" }
            dt { "Began" } dd { (day_and_clock(begun)) }
            @if let Some((fire, zone)) = run.next { dt { "Next" } dd { (day_and_clock(fire)) ", a time of " (said(zone)) } }
            dt { "Id" } dd { code { (view.row.id.to_string()) } }
            @for line in &view.report { dt { "Agents" } dd { (said(line)) } }
        }
    }
}

fn steps(run: &Run) -> Markup {
    let view = run.view;
    let more = view.steps.len().saturating_sub(MOST_ROWS);
    html! {
        section.band aria-labelledby="steps" {
            h2 id="steps" { "Steps" }
            div.panel.scroll-x tabindex="0" role="region" aria-label="Steps, table" {
                table {
                    thead { tr {
                        @for name in ["Step", "State", "Kind"] { th scope="col" { (name) } }
                        @for name in ["Started", "Took", "Tries", "Cost"] { th.n scope="col" { (name) } }
                    } }
                    tbody { @for step in view.steps.iter().take(MOST_ROWS) { (row(run, step)) } }
                }
            }
            @if more > 0 { p.dim.small { "And " (many(more, "step", "steps")) " more: `vigie workflow show " (view.name) "` lists them." } }
        }
    }
}

fn row(run: &Run, step: &StepView) -> Markup {
    let (shape, word) = look(step);
    let shown = shown_step(run).is_some_and(|shown| shown.step == step.step);
    html! {
        tr id=(format!("step-{}", step.step)) {
            th scope="row" {
                @if has_log(step) {
                    a href=(format!("{}?step={}#log", run_href(&run.view.name), step.step)) aria-current=[shown.then_some("true")] { code { (said(&step.step)) } }
                } @else { code { (said(&step.step)) } }
            }
            td { (state(shape, word)) @if !step.words.is_empty() { p.small.dim.words dir="auto" { (said(&step.words)) } } }
            td.dim { (step.kind) }
            td.n { @if let Some(began) = step.began { (clock(began)) } @else { "–" } }
            td.n { (step_took(step, run.now).unwrap_or_else(|| "–".into())) }
            td.n { @if step.attempt > 0 { (step.attempt) } @else { "–" } }
            td.n { (money(step.micro_usd)) }
        }
    }
}

/// Whose log is shown: the one that was asked for, else one that runs, else one that failed, else the
/// last that has one.
fn shown_step<'a>(run: &Run<'a>) -> Option<&'a StepView> {
    let steps = &run.view.steps;
    if let Some(name) = &run.show.step {
        return steps.iter().find(|step| step.step == *name);
    }
    let logs = || steps.iter().filter(|step| has_log(step));
    let running = logs().find(|step| goes_on(step));
    let failed = || logs().find(|step| matches!(step.state.as_str(), "failed" | "timed_out"));
    running.or_else(failed).or_else(|| logs().next_back())
}

fn log(run: &Run) -> Markup {
    let Some(step) = shown_step(run) else { return html! {} };
    let name = run_href(&run.view.name);
    let (here, there) = if run.show.err { ("err", "out") } else { ("out", "err") };
    let words = if run.show.err { "what it printed" } else { "what it complained about" };
    // Another attempt is another log: it gets a place of its own, and what is there stays as it is.
    let id = format!("log-{}-{}-{here}", step.step, step.attempt);
    let from = format!("{name}/log?step={}&attempt={}&stream={here}", step.step, step.attempt);
    html! {
        section.band.step-log id="log" aria-labelledby="log-t" {
            h2 id="log-t" {
                "Log of " code { (said(&step.step)) }
                @if step.attempt > 1 { ", try " (step.attempt) }
            }
            @if has_log(step) {
                p.small { a href=(format!("{name}?step={}&stream={there}#log", step.step)) { (words) } }
                pre.term id=(id) data-log=(from) data-keep tabindex="0" role="log" aria-label=(format!("Lines of {}", step.step)) {}
                p.small.dim data-log-state=(id) data-keep id=(format!("{id}-state")) {}
            } @else { p.dim { "It has not begun." } }
            @if let Some(file) = &step.file { p.small.dim { "Whole: " code { (said(file)) } } }
        }
    }
}

struct Value {
    name: String,
    text: String,
}

fn value(name: &str, value: &serde_json::Value) -> Value {
    let text = match value {
        serde_json::Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    Value { name: name.into(), text }
}

fn output_values(view: &RunView) -> Vec<Value> {
    match &view.outputs {
        serde_json::Value::Null => Vec::new(),
        serde_json::Value::Object(map) => map.iter().map(|(name, it)| value(name, it)).collect(),
        other => vec![value("output", other)],
    }
}

fn param_values(view: &RunView) -> Vec<Value> {
    view.params.iter().map(|(name, it)| value(name, it)).collect()
}

fn values(title: &str, id: &str, values: &[Value]) -> Markup {
    if values.is_empty() {
        return html! {};
    }
    html! {
        section.band aria-labelledby=(id) {
            h2 id=(id) { (title) }
            dl.facts.panel.values {
                @for Value { name, text } in values {
                    dt { (said(name)) }
                    dd dir="auto" {
                        @if text.chars().count() <= SHORT_VALUE && !text.contains('\n') { (said(text)) } @else {
                            details { summary { (many(text.chars().count(), "letter", "letters")) } pre.code-block { (said(text)) } }
                        }
                    }
                }
            }
        }
    }
}

fn yaml(view: &RunView) -> Markup {
    html! {
        p { a href=(run_href(&view.name)) { "Back to the run" } }
        @if let Some(made_of) = &view.made_of {
            section.band aria-labelledby="yaml" {
                h2 id="yaml" { code { (said(&made_of.file)) } ", as frozen at " (clock(view.row.made)) }
                pre.code-block tabindex="0" role="region" aria-label="Text of the workflow" { (said(&made_of.text)) }
            }
        }
    }
}

#[cfg(test)]
mod tests;
