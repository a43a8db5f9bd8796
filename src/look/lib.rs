//! What all of Vigie's pages look like: one style sheet, its drawings, its icons. Plain files inside
//! the binary, so that there is no build step and nothing comes from elsewhere.

/// One file that pages load, by its name under `/assets`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    pub name: &'static str,
    pub mime: &'static str,
    pub text: &'static str,
}

pub const CSS: &str = "text/css; charset=utf-8";
pub const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
pub const SVG: &str = "image/svg+xml";

/// The files that every page shares.
pub const FILES: [File; 6] = [
    File { name: "look.css", mime: CSS, text: include_str!("files/look.css") },
    File { name: "welcome.js", mime: JAVASCRIPT, text: include_str!("files/welcome.js") },
    File { name: "seat.js", mime: JAVASCRIPT, text: include_str!("files/seat.js") },
    File { name: "icon.svg", mime: SVG, text: include_str!("files/icon.svg") },
    File { name: "favicon.svg", mime: SVG, text: include_str!("files/favicon.svg") },
    File {
        name: "favicon-waiting.svg",
        mime: SVG,
        text: include_str!("files/favicon-waiting.svg"),
    },
];

/// The drawings of all pages, as one hidden `<svg>` to put at the start of a page's body; used as
/// `<svg class="i" aria-hidden="true"><use href="#i-bell"/></svg>`.
pub const ICONS: &str = include_str!("files/icons.svg");
