//! One workflow: what it says, an editor that says what is wrong with it, and a form that runs it.

use maud::{Markup, html};
use serde_json::Value;
use std::collections::BTreeSet;
use vigie_core::{Timestamp, run::WorkflowView};
use vigie_workflow::{
    Problem,
    language::{Param, ParamKind},
    problem::Severity,
};

use crate::{
    board::strip,
    frame::{Page, Tab},
    gate::Asked,
    pieces::small_icon,
    runs::next,
    words::{many, money, said},
};

/// What the page of a workflow is made of.
pub struct Workflow<'a> {
    pub view: &'a WorkflowView,
    /// As its file says.
    pub text: &'a str,
    /// Of that text: what is written in its place is written only while it is still this one.
    pub digest: &'a str,
    pub problems: &'a [Problem],
    pub edit: Edit<'a>,
    /// Who looks may run it.
    pub may_run: bool,
    /// What a run can be in; the first is taken unless another is.
    pub projects: &'a [String],
    pub waiting: &'a [Asked],
    pub now: Timestamp,
}

/// Whether what is written can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit<'a> {
    Yes,
    /// Why not, a sentence.
    No(&'a str),
}

pub fn page(page: &Workflow) -> Page {
    let Workflow { view, .. } = page;
    let runs = format!("/runs?workflow={}", view.name);
    let main = html! {
        div.head {
            h1 { (said(&view.name)) }
            p.dim { span dir="auto" { (said(&view.title)) } }
            div.end.under {
                a.btn href=(runs) { "Its runs" }
                @if page.may_run && view.errors == 0 { a.btn.go href="#run" { "Run…" } }
            }
        }
        (strip(page.waiting, page.now))
        @if !view.description.is_empty() { p.lines.about dir="auto" { (said(&view.description)) } }
        div.cols {
            (editor(page))
            div.stack {
                (run_form(page))
                (about(page))
            }
        }
    };
    Page { title: view.name.clone(), tab: Tab::Runs, main }
}

fn about(page: &Workflow) -> Markup {
    let view = page.view;
    html! {
        section.band aria-labelledby="about" {
            h2 id="about" { "About it" }
            dl.facts.panel {
                dt { "File" } dd { code { (said(&view.file)) } }
                dt { "Schedule" } dd { (next(view, 5)) }
                @if let Some([least, median, most]) = view.cost {
                    dt { "Runs cost" } dd { (money(least)) " to " (money(most)) ", half of them under " (money(median)) }
                }
            }
        }
    }
}

fn editor(page: &Workflow) -> Markup {
    let wrong = page.problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    let lines = page.text.lines().count().max(1);
    let wrong_lines: BTreeSet<_> = page.problems.iter().map(|problem| problem.line).collect();
    // What a person writes stays while the page changes around it, and the digest of what it was made
    // from with it.
    html! {
        section.band.editor id="text" aria-labelledby="text-t" {
            h2 id="text-t" { "Text" }
            p.dim.small id="keep" data-now=(page.digest) {
                @match page.edit {
                    Edit::Yes => "Checked while you write. Saving puts the whole file in place of the one there.",
                    Edit::No(why) => { (said(why)) " What you write here is checked and kept nowhere." },
                }
            }
            form.panel.sheet data-sheet=(page.view.name) data-digest=(page.digest) data-keep id="sheet" {
                div.paper {
                    pre.numbers aria-hidden="true" { @for line in 1..=lines { @if wrong_lines.contains(&line) { b { (line) } } @else { (line) } "\n" } }
                    textarea.input.mono name="text" id="sheet-text" rows=(lines.clamp(12, 40)) wrap="off" spellcheck="false"
                        autocomplete="off" autocapitalize="off" aria-label="Text of the workflow" aria-describedby="verdict" data-keys { "\n" (page.text) }
                }
                p.verdict id="verdict" role="status" { (verdict(wrong, page.problems.len() - wrong)) }
                ol.problems { @for problem in page.problems { (line_of(problem)) } }
                p.error role="alert" hidden {}
                @if page.edit == Edit::Yes { div.acts { button.btn { "Save" } } }
            }
        }
    }
}

fn verdict(errors: usize, warnings: usize) -> String {
    let warned = match warnings {
        0 => String::new(),
        count => format!(", {}", many(count, "warning", "warnings")),
    };
    match errors {
        0 => format!("It runs{warned}."),
        count => format!("It does not run: {}{warned}.", many(count, "mistake", "mistakes")),
    }
}

/// The script puts the cursor where it says.
fn line_of(problem: &Problem) -> Markup {
    let Problem { severity, line, column, width, what, hint } = problem;
    let look = match severity {
        Severity::Error => "bad",
        Severity::Warning => "dim",
    };
    html! {
        li {
            @if *line > 0 {
                a class=(look) href="#sheet-text" data-line=(line) data-column=(column) data-width=(width) { "line " (line) ", " (column) }
                ": "
            }
            (said(what)) "."
            @if let Some(hint) = hint { span.dim { " " (said(hint)) } }
        }
    }
}

fn run_form(page: &Workflow) -> Markup {
    let view = page.view;
    html! {
        section.band id="run" aria-labelledby="run-t" {
            h2 id="run-t" { "Run it" }
            @if view.errors > 0 {
                p.dim { "It does not run: " (many(view.errors, "mistake", "mistakes")) " in its text, or in what it calls." }
            } @else if !page.may_run {
                p.dim { "You may look and not run it." }
            } @else {
                form.panel.form.run-form id="run-form" data-run=(view.name) data-keep {
                    @for param in &view.params { (field(param)) }
                    @if page.projects.len() > 1 {
                        label.field for="project" { "Project"
                            select.input id="project" name="project" data-project {
                                option value="" { "As it says" }
                                @for name in page.projects { option value=(name) { (said(name)) } }
                            }
                        }
                    }
                    p.error.wide role="alert" hidden {}
                    div.wide { button.btn.go { (small_icon("i-runs")) "Run" } }
                }
            }
        }
    }
}

fn field(param: &Param) -> Markup {
    let name = param.name.as_str();
    let id = format!("param-{name}");
    let wrong = format!("{id}-wrong");
    let title = if param.title.is_empty() { name } else { &param.title };
    let needed = param.default.is_none();
    html! {
        div.field.wide {
            label for=(id) { (said(title)) @if title != name { " " code.dim { (name) } } }
            (control(param, &id, &wrong, needed))
            p.dim.small { (bounds(param)) }
            p.error.small id=(wrong) data-wrong=(name) hidden {}
        }
    }
}

fn control(param: &Param, id: &str, wrong: &str, needed: bool) -> Markup {
    let name = param.name.as_str();
    let default = param.default.as_ref().map(shown);
    let choices = match param.kind {
        ParamKind::Boolean if param.choices.is_empty() => vec!["true".into(), "false".into()],
        _ => param.choices.iter().map(shown).collect(),
    };
    if !choices.is_empty() {
        return html! {
            select.input id=(id) name=(name) aria-describedby=(wrong) required[needed] {
                @if needed { option value="" { "Choose…" } }
                @for choice in &choices {
                    option value=(choice) selected[default.as_ref() == Some(choice)] { (said(choice)) }
                }
            }
        };
    }
    let long = matches!(param.kind, ParamKind::Json)
        || default.as_ref().is_some_and(|text| text.contains('\n'));
    let value = default.unwrap_or_default();
    html! {
        @if long {
            textarea.input.mono id=(id) name=(name) rows="3" aria-describedby=(wrong) required[needed] spellcheck="false" { "\n" (value) }
        } @else {
            @match param.kind {
                ParamKind::Integer { minimum, maximum } => {
                    input.input id=(id) name=(name) type="number" step="1" inputmode="numeric" min=[minimum] max=[maximum] value=(value) aria-describedby=(wrong) required[needed];
                }
                ParamKind::Number => {
                    input.input id=(id) name=(name) type="number" step="any" inputmode="decimal" value=(value) aria-describedby=(wrong) required[needed];
                }
                ParamKind::String { longest } => {
                    input.input id=(id) name=(name) maxlength=[longest] value=(value) aria-describedby=(wrong) data-empty[!needed] autocomplete="off";
                }
                ParamKind::Boolean | ParamKind::Json => {
                    input.input id=(id) name=(name) value=(value) aria-describedby=(wrong) required[needed];
                }
            }
        }
    }
}

/// What it takes, in words.
fn bounds(param: &Param) -> String {
    let kind = match param.kind {
        ParamKind::String { longest: Some(longest) } => {
            format!("text, at most {}", many(longest, "letter", "letters"))
        }
        ParamKind::String { longest: None } => "text".into(),
        ParamKind::Integer { minimum: Some(least), maximum: Some(most) } => {
            format!("a whole number from {least} to {most}")
        }
        ParamKind::Integer { minimum: Some(least), maximum: None } => {
            format!("a whole number from {least}")
        }
        ParamKind::Integer { minimum: None, maximum: Some(most) } => {
            format!("a whole number up to {most}")
        }
        ParamKind::Integer { minimum: None, maximum: None } => "a whole number".into(),
        ParamKind::Number => "a number".into(),
        ParamKind::Boolean => "true or false".into(),
        ParamKind::Json => "JSON".into(),
    };
    let kind = if param.choices.is_empty() { kind } else { "one of these".into() };
    if param.default.is_none() { format!("{kind}, needed") } else { kind }
}

/// A value as a person types it.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::tests::workflow_view;
    use serde_json::json;

    fn shown_page(view: &WorkflowView, edit: Edit, may_run: bool) -> String {
        let problem = Problem {
            severity: Severity::Error,
            line: 3,
            column: 5,
            width: 2,
            what: "there is no `<step>`".into(),
            hint: Some("did you mean `step`?".into()),
        };
        let projects = ["quay".to_owned(), "ferry".into()];
        let page = Workflow {
            view,
            digest: "abc",
            text: "name: release\n</textarea><script>\n",
            problems: &[problem],
            edit,
            may_run,
            projects: &projects,
            waiting: &[],
            now: Timestamp::default(),
        };
        super::page(&page).main.into_string()
    }

    fn with_params() -> WorkflowView {
        let params = json!([
            { "name": "target", "title": "Where <to>", "kind": { "string": { "longest": null } }, "choices": ["staging", "prod"], "default": "staging" },
            { "name": "count", "title": "", "kind": { "integer": { "minimum": 1, "maximum": 5 } }, "choices": [], "default": null },
            { "name": "dry", "title": "", "kind": "boolean", "choices": [], "default": true },
            { "name": "extra", "title": "", "kind": "json", "choices": [], "default": { "a": [1] } },
            { "name": "note", "title": "", "kind": { "string": { "longest": 6 } }, "choices": [], "default": "a\"b" },
        ]);
        WorkflowView { params: serde_json::from_value(params).unwrap(), ..workflow_view("release") }
    }

    #[test]
    fn the_form_has_a_field_of_its_kind_for_each_param() {
        let shown = shown_page(&with_params(), Edit::No("It ships with Vigie."), true);
        for part in [
            "<option value=\"staging\" selected>staging</option>",
            "Where &lt;to&gt;",
            "type=\"number\" step=\"1\" inputmode=\"numeric\" min=\"1\" max=\"5\" value=\"\"",
            "a whole number from 1 to 5, needed",
            "<option value=\"true\" selected>true</option>",
            "{&quot;a&quot;:[1]}</textarea>",
            "maxlength=\"6\" value=\"a&quot;b\"",
            "data-wrong=\"count\" hidden",
        ] {
            assert!(shown.contains(part), "{part}\n{shown}");
        }
    }

    #[test]
    fn the_editor_shows_what_is_wrong_where_and_keeps_only_what_may_be_kept() {
        let view = with_params();
        let own = shown_page(&view, Edit::Yes, true);
        assert!(own.contains("data-digest=\"abc\"") && own.contains(">Save</button>"), "{own}");
        assert!(own.contains("data-line=\"3\" data-column=\"5\" data-width=\"2\""), "{own}");
        assert!(own.contains("there is no `&lt;step&gt;`.") && own.contains("1 mistake."));
        assert!(own.contains(">\nname: release\n&lt;/textarea&gt;&lt;script&gt;"), "{own}");
        let not = shown_page(&view, Edit::No("It ships with Vigie."), false);
        assert!(not.contains("It ships with Vigie.") && !not.contains("Save</button>"), "{not}");
        assert!(not.contains("You may look and not run it.") && !not.contains("data-run"));
    }
}
