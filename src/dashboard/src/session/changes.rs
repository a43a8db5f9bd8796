//! What changed in a session's folder.

use maud::{Markup, html};
use vigie_core::session::Session;

use crate::{
    pieces,
    words::{many, said},
};

/// What changed since the last commit, secrets masked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// `3 files, +40 −12; 2 not yet in git`.
    pub summary: String,
    /// Names that git does not know yet, then a unified diff.
    pub text: String,
    /// The diff is longer than shown.
    pub cut: bool,
}

/// One file of a diff.
struct Part<'a> {
    name: &'a str,
    text: &'a str,
}

/// Inside of a hunk each line begins with a sign, so no content is taken for a header.
const HEADER: &str = "diff --git ";

/// What stands before the first file, and the files.
fn parts(text: &str) -> (&str, Vec<Part<'_>>) {
    let mut starts: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    starts.insert(0, 0);
    starts.retain(|at| text[*at..].starts_with(HEADER));
    let head = &text[..starts.first().copied().unwrap_or(text.len())];
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let files = starts.iter().zip(ends).map(|(start, end)| {
        let text = &text[*start..end];
        Part { name: name(text), text }
    });
    (head, files.collect())
}

/// As the newer side has it, where there is one.
fn name(text: &str) -> &str {
    let head = || text.lines().take_while(|line| !line.starts_with("@@"));
    let side = |mark: &str| head().find_map(|line| line.strip_prefix(mark));
    let newer = side("+++ b/").or_else(|| side("--- a/"));
    newer.or_else(|| side(HEADER)).unwrap_or_default().trim_end()
}

/// Lines that came and went.
fn counts(text: &str) -> (usize, usize) {
    let inside = || text.lines().skip_while(|line| !line.starts_with("@@"));
    let count = |sign: char| inside().filter(|line| line.starts_with(sign)).count();
    (count('+'), count('-'))
}

fn numbers(text: &str) -> Markup {
    let (added, removed) = counts(text);
    html! { span.good.num { "+" (added) } " " span.bad.num { "−" (removed) } }
}

pub(super) fn diff(changes: &Changes) -> Markup {
    let (head, files) = parts(&changes.text);
    html! {
        p.small.dim { (said(&changes.summary)) " against the last commit." }
        @if !head.trim().is_empty() { pre.code-block.foot tabindex="0" { (said(head.trim_end())) } }
        @for (number, file) in files.iter().enumerate() {
            details.panel.file.foot open id=(format!("file-{number}")) {
                summary { code { (said(file.name)) } span.end { (numbers(file.text)) } }
                (pieces::diff(file.text.find("\n@@").map_or(file.text, |at| &file.text[at + 1..])))
            }
        }
        @if changes.cut { p.small.wait.foot { "The diff is longer than is shown. See the rest at the desk." } }
    }
}

/// Which files changed, and a way to any other.
pub(super) fn files(session: &Session, changes: Result<&Changes, &str>) -> Markup {
    html! {
        @match changes {
            Err(why) => { (super::nothing(why)) }
            Ok(changes) => { (listed(session, changes)) }
        }
        form.panel.form.foot method="get" action=(format!("/sessions/{}/file", session.id)) {
            label.field.wide for="path" { "Get a file of its folder"
                input.input.mono id="path" name="path" required maxlength="1000" placeholder="src/main.rs" autocomplete="off" autocapitalize="none" spellcheck="false";
            }
            div.wide { button.btn { "Get" } }
        }
    }
}

fn listed(session: &Session, changes: &Changes) -> Markup {
    let (head, files) = parts(&changes.text);
    let new: Vec<&str> = head.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    html! {
        p.small.dim { (many(files.len() + new.len(), "file", "files")) " changed since the last commit." }
        ul.list.panel.foot {
            @for (number, file) in files.iter().enumerate() {
                li { div.line {
                    a href=(format!("/sessions/{}?view=diff#file-{number}", session.id)) { (said(file.name)) }
                    span { (numbers(file.text)) }
                } }
            }
            @for name in new {
                li { div.line {
                    span { (said(name)) " " span.small.dim { "not yet in git" } }
                    // A name that git had to quote, and a folder, are no file's.
                    @if !name.ends_with(['/', '"']) {
                        form method="get" action=(format!("/sessions/{}/file", session.id)) {
                            button.btn.quiet name="path" value=(name) { "Get" }
                        }
                    }
                } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Not yet in git:\n  notes.md\n\ndiff --git a/x.rs b/x.rs\nindex 1..2 100644\n--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,2 @@\n-diff --git old\n+++ b/evil\n same\ndiff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-all\n";

    #[test]
    fn a_diff_is_cut_into_its_files_and_no_content_is_a_header() {
        let (head, files) = parts(TEXT);
        assert!(head.contains("notes.md"));
        let names: Vec<_> = files.iter().map(|file| (file.name, counts(file.text))).collect();
        assert_eq!(names, [("x.rs", (1, 1)), ("gone", (0, 1))]);
        assert_eq!(parts("").1.len(), 0);
    }

    #[test]
    fn names_and_lines_are_text() {
        let text = "diff --git a/<b> b/<b>\n--- a/<b>\n+++ b/<b>\n@@ -0,0 +1 @@\n+<script>\n";
        let changes = Changes { summary: "<i>".into(), text: text.into(), cut: true };
        let shown = diff(&changes).0;
        assert!(!shown.contains("<script>") && !shown.contains("<b></") && !shown.contains("<i> "));
        assert!(
            shown.contains("&lt;script&gt;") && shown.contains("longer than is shown"),
            "{shown}"
        );
    }
}
