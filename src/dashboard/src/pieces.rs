//! Small parts that pages share.

use maud::{Markup, html};
use vigie_core::bridge::SessionLook;

use crate::words::said;

/// A drawing of the sprite, 24 by 24.
pub fn icon(name: &str) -> Markup {
    html! { svg.i aria-hidden="true" { use href=(format!("#{name}")) {} } }
}

/// A small one, beside text.
pub fn small_icon(name: &str) -> Markup {
    html! { svg.i.s aria-hidden="true" { use href=(format!("#{name}")) {} } }
}

/// A state: its shape, its word, and its colour last. `look` is a class of the style sheet and the
/// name of a shape: `waiting`, `working`, `idle`, `done`, …
pub fn state(look: &str, words: &str) -> Markup {
    html! {
        span class=(format!("state {look}")) {
            svg viewBox="0 0 12 12" aria-hidden="true" { use href=(format!("#s-{look}")) {} }
            (words)
        }
    }
}

/// What the style sheet calls it.
pub fn look(look: SessionLook) -> &'static str {
    match look {
        SessionLook::Starting => "starting",
        SessionLook::Idle => "idle",
        SessionLook::Working => "working",
        SessionLook::Waiting => "waiting",
        SessionLook::NeedsDesk => "desk",
        SessionLook::Limited => "limited",
        SessionLook::Ended => "ended",
        SessionLook::Lost => "lost",
    }
}

/// In words.
pub fn look_words(look: SessionLook) -> &'static str {
    match look {
        SessionLook::Starting => "starting",
        SessionLook::Idle => "idle",
        SessionLook::Working => "working",
        SessionLook::Waiting => "waits for you",
        SessionLook::NeedsDesk => "needs you at the desk",
        SessionLook::Limited => "at its limit",
        SessionLook::Ended => "ended",
        SessionLook::Lost => "lost",
    }
}

/// A button that puts one request to the API; `path` is below `/api/v1`.
pub fn act(path: &str, look: &str, label: &Markup) -> Markup {
    html! {
        form.act data-post=(path) { button class=(format!("btn {look}")) { (label) } }
    }
}

/// A unified diff, whole: sign and line number stand beside the colour.
pub fn diff(text: &str) -> Markup {
    let mut numbers = Numbers::default();
    html! {
        div.diff role="group" aria-label="Change" {
            @for line in text.lines() { (numbers.line(line)) }
        }
    }
}

/// Where in the old and the new file a line of a diff stands, and how many of the hunk are left.
#[derive(Default)]
struct Numbers {
    old: usize,
    new: usize,
    old_left: usize,
    new_left: usize,
}

impl Numbers {
    fn line(&mut self, line: &str) -> Markup {
        if self.old_left > 0 || self.new_left > 0 {
            return self.inside(line);
        }
        if let Some(about) = self.hunk(line) {
            return html! { p.at { (said(&about)) } };
        }
        match line.strip_prefix("+++ ") {
            Some(name) => {
                html! { p.name { (said(name.strip_prefix("b/").unwrap_or(name))) } }
            }
            None if line.starts_with("--- ") || line.is_empty() => html! {},
            None => html! { p.at { (said(line)) } },
        }
    }

    fn inside(&mut self, line: &str) -> Markup {
        let row = |look: &str, number: usize, sign: &str, code: &str| {
            html! {
                p class=(look) { i { (number) } b { (sign) } code { (said(code)) } }
            }
        };
        let (sign, code) = line.split_at_checked(1).unwrap_or(("", ""));
        match sign {
            "+" => {
                self.new_left = self.new_left.saturating_sub(1);
                self.new += 1;
                row("ln add", self.new - 1, "+", code)
            }
            "-" => {
                self.old_left = self.old_left.saturating_sub(1);
                self.old += 1;
                row("ln del", self.old - 1, "−", code)
            }
            " " | "" => {
                self.old_left = self.old_left.saturating_sub(1);
                self.new_left = self.new_left.saturating_sub(1);
                self.old += 1;
                self.new += 1;
                row("ln", self.new - 1, "", code)
            }
            _ => html! { p.at { (said(line)) } }, // "\ No newline at end of file"
        }
    }

    /// `@@ -1,3 +1,4 @@ fn open`: what stands behind it.
    fn hunk(&mut self, line: &str) -> Option<String> {
        let (ranges, about) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        let range = |text: &str| {
            let (start, count) = text.split_once(',').unwrap_or((text, "1"));
            Some((start.parse().ok()?, count.parse().ok()?))
        };
        (self.old, self.old_left) = range(old)?;
        (self.new, self.new_left) = range(new)?;
        let about = about.trim();
        Some(if about.is_empty() { format!("line {}", self.new) } else { about.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_numbers_its_lines_and_takes_no_content_for_a_header() {
        let shown = diff("--- a/x.rs\n+++ b/x.rs\n@@ -3,2 +3,2 @@ fn f\n-++ old\n+<b>\n same\n")
            .into_string();
        assert!(shown.contains("<p class=\"name\">x.rs</p>"), "{shown}");
        assert!(shown.contains("<p class=\"at\">fn f</p>"), "{shown}");
        assert!(
            shown.contains("<p class=\"ln del\"><i>3</i><b>−</b><code>++ old</code></p>"),
            "{shown}"
        );
        assert!(
            shown.contains("<p class=\"ln add\"><i>3</i><b>+</b><code>&lt;b&gt;</code></p>"),
            "{shown}"
        );
        assert!(shown.contains("<p class=\"ln\"><i>4</i><b></b><code>same</code></p>"), "{shown}");
    }
}
