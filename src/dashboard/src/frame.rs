//! What stands around every page.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{pieces::icon, words::said};

/// The entry of the navigation that a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    Waiting,
    Board,
    Runs,
    Ledger,
    Audit,
    System,
}

/// Who looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Me {
    pub name: String,
    /// `owner`, `approver`, `talker`, `viewer`.
    pub role: String,
    /// Whether the phone page is on for them.
    pub phone: bool,
}

/// What one page shows.
#[derive(Clone, Debug)]
pub struct Page {
    pub title: String,
    pub tab: Tab,
    /// Inside of `<main>`.
    pub main: Markup,
}

/// What is the same on every page.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    pub me: &'a Me,
    /// How many gates wait for a person.
    pub waiting: usize,
    /// The newest event that the page knows of.
    pub seq: u64,
}

impl Frame<'_> {
    /// The whole document.
    pub fn document(&self, page: &Page) -> String {
        let title = self.title(page);
        let document = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover, interactive-widget=resizes-content";
                    meta name="color-scheme" content="light dark";
                    meta name="theme-color" content="#ffffff" media="(prefers-color-scheme: light)";
                    meta name="theme-color" content="#161b1d" media="(prefers-color-scheme: dark)";
                    title { (title) }
                    link rel="icon" id="favicon" href=(self.favicon()) type="image/svg+xml";
                    link rel="stylesheet" href="/assets/look.css";
                    link rel="stylesheet" href="/assets/desk.css";
                    link rel="stylesheet" href="/assets/runs.css";
                    script src="/assets/idiomorph.js" defer {}
                    script src="/assets/seat.js" defer {}
                    script src="/assets/desk.js" defer {}
                    script src="/assets/runs.js" defer {}
                }
                body data-seq=(self.seq) {
                    a.skip href="#main" { "Skip to content" }
                    (PreEscaped(vigie_look::ICONS))
                    (self.topbar(page.tab))
                    p.conn-bar id="conn-bar" hidden {}
                    noscript { p.conn-bar.off { "Without JavaScript this page shows how things stood when it was loaded." } }
                    main.page id="main" tabindex="-1" { (page.main) }
                    p.toast id="said" role="status" aria-live="polite" {}
                }
            }
        };
        document.into_string()
    }

    /// As it stands in the browser's tab: what waits comes first.
    pub fn title(&self, page: &Page) -> String {
        let title = plain(&page.title);
        match self.waiting {
            0 => format!("{title} · Vigie"),
            count => format!("({count}) {title} · Vigie"),
        }
    }

    fn favicon(&self) -> &'static str {
        if self.waiting == 0 { "/assets/favicon.svg" } else { "/assets/favicon-waiting.svg" }
    }

    fn topbar(&self, tab: Tab) -> Markup {
        let entry = |name: &str, href: &str, shape: &str, own: Option<Tab>| {
            html! {
                a href=(href) aria-current=[(own == Some(tab)).then_some("page")] {
                    (icon(shape)) (name)
                    @if own == Some(Tab::Waiting) { (self.count()) }
                }
            }
        };
        html! {
            header.topbar {
                a.brand href="/board" { img src="/assets/icon.svg" width="26" height="26" alt=""; " Vigie" }
                nav.nav aria-label="Main" {
                    @if self.me.phone { (entry("Chat", "/phone", "i-chat", None)) }
                    (entry("Waiting", "/waiting", "i-bell", Some(Tab::Waiting)))
                    (entry("Board", "/board", "i-board", Some(Tab::Board)))
                    (entry("Runs", "/runs", "i-runs", Some(Tab::Runs)))
                    (entry("Ledger", "/ledger", "i-ledger", Some(Tab::Ledger)))
                    (entry("Audit", "/audit", "i-plan", Some(Tab::Audit)))
                    (entry("System", "/system", "i-system", Some(Tab::System)))
                }
                p.conn.late id="conn" role="status" { "Connecting" }
                (self.me())
            }
        }
    }

    /// How many wait, beside "Waiting".
    fn count(&self) -> Markup {
        let words = format!("{} wait for you", self.waiting);
        html! {
            span.count id="waiting-count" aria-label=(words) hidden[self.waiting == 0] { (self.waiting) }
        }
    }

    fn me(&self) -> Markup {
        let Me { name, role, .. } = self.me;
        let initials = initials(name);
        html! {
            details.who-menu {
                summary.me aria-label=(format!("{initials}: signed in as {name}, {role}")) { (initials) }
                div.menu {
                    p { b { (name) } br; span.small.dim { (role) } }
                    form method="post" action="/logout" { button.btn { "Sign out" } }
                }
            }
        }
    }
}

/// Why there is no page, and what to do.
pub fn fault(words: &str, hint: Option<&str>) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover";
                meta name="color-scheme" content="light dark";
                title { (plain(&sentence(words))) " · Vigie" }
                link rel="icon" href="/assets/favicon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/assets/look.css";
            }
            body {
                main.door id="main" {
                    p.brand { img src="/assets/icon.svg" width="32" height="32" alt=""; " Vigie" }
                    div { h1 { (said(&sentence(words))) } @if let Some(hint) = hint { p.dim { (said(hint)) } } }
                    p { a href="/board" { "Board" } }
                }
            }
        }
    };
    document.into_string()
}

/// Text from outside where no markup can be: what would not be seen is written out.
fn plain(text: &str) -> String {
    vigie_core::text::reveal(text).text.text
}

/// With a capital letter.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// "IC" of "Inès Caradec".
fn initials(name: &str) -> String {
    let firsts = name.split_whitespace().filter_map(|word| word.chars().next());
    let initials: String = firsts.take(2).flat_map(char::to_uppercase).collect();
    if initials.is_empty() { "?".into() } else { initials }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_stands_in_the_title_and_the_icon() {
        let me = Me { name: "Inès Caradec".into(), role: "owner".into(), phone: true };
        let page = Page { title: "Board".into(), tab: Tab::Board, main: html! { h1 { "Board" } } };
        let busy = Frame { me: &me, waiting: 5, seq: 7 }.document(&page);
        assert!(busy.contains("<title>(5) Board · Vigie</title>"));
        assert!(busy.contains("favicon-waiting.svg") && busy.contains(">IC</summary>"));
        let calm = Frame { me: &me, waiting: 0, seq: 7 }.document(&page);
        assert!(calm.contains("<title>Board · Vigie</title>") && !calm.contains("favicon-waiting"));
    }

    #[test]
    fn no_page_carries_an_inline_script_or_style() {
        let me = Me { name: "\"><script>".into(), role: "owner".into(), phone: false };
        let page = Page { title: "<b>\u{202e}".into(), tab: Tab::System, main: html! {} };
        let document = Frame { me: &me, waiting: 1, seq: 1 }.document(&page);
        assert!(!document.contains("style=") && !document.contains("<style"));
        assert!(!document.contains("<script>") && !document.contains("<title>(1) <b>"));
        assert!(!document.contains('\u{202e}'));
    }
}
