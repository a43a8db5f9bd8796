//! What the pages load beside what all pages of Vigie share.

use vigie_look::{CSS, File, JAVASCRIPT};

/// Served at `/assets`.
pub const FILES: [File; 7] = [
    File { name: "desk.css", mime: CSS, text: include_str!("../page/desk.css") },
    File { name: "desk.js", mime: JAVASCRIPT, text: include_str!("../page/desk.js") },
    File { name: "palette.css", mime: CSS, text: include_str!("../page/palette.css") },
    File { name: "term.js", mime: JAVASCRIPT, text: include_str!("../page/term.js") },
    File { name: "runs.css", mime: CSS, text: include_str!("../page/runs.css") },
    File { name: "runs.js", mime: JAVASCRIPT, text: include_str!("../page/runs.js") },
    // Version 0.8.0, under the licence 0BSD: makes what is shown into what should be shown, and keeps
    // the focus and what is typed.
    File { name: "idiomorph.js", mime: JAVASCRIPT, text: include_str!("../page/idiomorph.js") },
];

#[cfg(test)]
mod tests {
    use super::FILES;

    /// What a page loads the first time, with its style sheets, before it is squeezed: about a third of it
    /// goes over the wire, where browser stories hold a whole page below 100 kB.
    const BUDGET: usize = 105_000;

    #[test]
    fn a_page_is_small() {
        let shared = vigie_look::FILES.iter().find(|file| file.name == "look.css");
        let total: usize = FILES.iter().chain(shared).map(|file| file.text.len()).sum();
        assert!(total + vigie_look::ICONS.len() < BUDGET, "{total} bytes");
    }

    #[test]
    fn the_script_asks_nobody_else() {
        for file in FILES {
            assert!(!file.text.contains("http://") || file.name == "idiomorph.js", "{}", file.name);
            assert!(!file.text.contains("eval("), "{}", file.name);
        }
    }
}
