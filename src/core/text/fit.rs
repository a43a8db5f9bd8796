use std::fmt::Write as _;

use super::{
    Rich, Style,
    split::{parts, units},
};
use crate::bridge::{Document, Limits, TextUnit};

/// How much of a long text, or of a long block in it, is shown in the chat.
const SHOWN_LINES: usize = 15;

/// And how many units of it, when its lines are long.
const SHOWN_UNITS: usize = 1_500;

/// Longest file name without its ending.
const LONGEST_NAME: usize = 60;

/// A text as a chat can take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    pub parts: Vec<Rich>,
    /// The whole of what the parts show the beginning of.
    pub document: Option<Document>,
}

/// `text` in at most `limits.parts` messages; when it is longer, its beginning with the number of
/// its lines and its size, and the whole as a document. Words around long code blocks stay readable
/// in the chat where they fit: then only the blocks are shortened, and if there is but one, the
/// document is that block. `document_name` has no ending, this adds one; unsafe characters go.
pub fn fit(text: &Rich, limits: &Limits, document_name: &str) -> Fitted {
    let most = limits.parts.max(1);
    let parts = spoken(text, limits, most);
    if parts.len() <= most {
        return Fitted { parts, document: None };
    }
    let document = document(text, document_name);
    let around = shortened_blocks(text, limits, &document.name);
    let mut parts = spoken(&around, limits, most);
    let document = if parts.len() <= most {
        document
    } else {
        let whole =
            Document { text: fenced(text), name: file_name(document_name, "md"), ..document };
        parts = spoken(&beginning(text, limits, &whole), limits, most);
        parts.truncate(most); // only where the note itself needs several messages
        Document { about: about(&whole.text), ..whole }
    };
    Fitted { parts, document: Some(document) }
}

/// The parts without those that show nothing, since services refuse an empty message; no more than
/// one above `most`, which is one too many.
fn spoken(text: &Rich, limits: &Limits, most: usize) -> Vec<Rich> {
    let seen = |part: &Rich| !super::invisible::is_blank(&part.text);
    parts(text, limits).filter(seen).take(most.saturating_add(1)).collect()
}

/// The block alone when there is one, else the whole text.
fn document(text: &Rich, name: &str) -> Document {
    let mut blocks = text.spans.iter().filter_map(|span| match &span.style {
        Style::Pre { language } => Some((span.range.clone(), language.as_deref())),
        Style::Bold
        | Style::Italic
        | Style::Strike
        | Style::Code
        | Style::Quote
        | Style::Heading
        | Style::Link { .. }
        | Style::Hidden
        | Style::LookAlike => None,
    });
    let (text, ending) = match (blocks.next(), blocks.next()) {
        (Some((range, language)), None) => (text.text[range].to_owned(), ending(language)),
        (Some(_), Some(_)) | (None, _) => (fenced(text), "md"),
    };
    Document { name: file_name(name, ending), about: about(&text), text }
}

fn about(text: &str) -> String {
    let lines = text.lines().count();
    format!("{lines} {}, {}", if lines == 1 { "line" } else { "lines" }, size(text.len()))
}

/// Bytes as people say them.
fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// The text with each long block cut to its beginning.
fn shortened_blocks(text: &Rich, limits: &Limits, name: &str) -> Rich {
    let mut short = Rich::default();
    let mut from = 0;
    for span in &text.spans {
        if !matches!(span.style, Style::Pre { .. }) || span.range.start < from {
            continue;
        }
        short.append(&text.slice(from..span.range.start));
        let block = &text.text[span.range.clone()];
        let shown = first_lines(block, limits.unit, SHOWN_UNITS.min(limits.text / 2));
        short.append(&text.slice(span.range.start..span.range.start + shown));
        if shown < block.len() {
            short.text.push_str(&note(block, name));
        }
        from = span.range.end;
    }
    short.append(&text.slice(from..text.text.len()));
    short
}

fn beginning(text: &Rich, limits: &Limits, whole: &Document) -> Rich {
    let note = note(&whole.text, &whole.name);
    let room = limits.text.saturating_sub(units(&note, limits.unit)).min(SHOWN_UNITS);
    let mut shown = text.slice(0..first_lines(&text.text, limits.unit, room));
    shown.spans.truncate(limits.spans);
    shown.text.push_str(&note);
    shown
}

fn note(text: &str, name: &str) -> String {
    format!("\n… {}, all of it in {name}", about(text))
}

/// The bytes of the first lines that a reader is shown, at most `room` units.
fn first_lines(text: &str, unit: TextUnit, room: usize) -> usize {
    let lines: usize = text.split_inclusive('\n').take(SHOWN_LINES).map(str::len).sum();
    let lines = if lines < text.len() { text[..lines].trim_end_matches('\n').len() } else { lines };
    if units(&text[..lines], unit) <= room {
        return lines;
    }
    let one = Limits::of_text(unit, room, 0, 1);
    parts(&Rich::plain(&text[..lines]), &one).next().map_or(0, |part| part.text.trim_end().len())
}

/// The plain text with its blocks fenced again, for a file that people open elsewhere.
fn fenced(text: &Rich) -> String {
    let mut file = String::with_capacity(text.text.len());
    let mut from = 0;
    for span in &text.spans {
        if let Style::Pre { language } = &span.style
            && span.range.start >= from
        {
            let block = &text.text[span.range.clone()];
            let ticks = "`".repeat(longest_ticks(block).max(2) + 1);
            file.push_str(&text.text[from..span.range.start]);
            let language = language.as_deref().unwrap_or_default();
            let _ = write!(file, "{ticks}{language}\n{block}\n{ticks}");
            from = span.range.end;
        }
    }
    file.push_str(&text.text[from..]);
    file
}

fn longest_ticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn file_name(name: &str, ending: &str) -> String {
    let safe: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' })
        .take(LONGEST_NAME)
        .collect();
    let safe = safe.trim_matches('-');
    format!("{}.{ending}", if safe.is_empty() { "text" } else { safe })
}

/// The usual ending for what a fence calls its language; `txt` when there is none we know.
fn ending(language: Option<&str>) -> &'static str {
    match language.unwrap_or_default().to_ascii_lowercase().as_str() {
        "bash" | "console" | "sh" | "shell" | "zsh" => "sh",
        "c" => "c",
        "c++" | "cpp" => "cpp",
        "css" => "css",
        "csv" => "csv",
        "diff" | "patch" => "diff",
        "go" => "go",
        "html" => "html.txt", // a phone would run it
        "java" => "java",
        "javascript" | "js" => "js",
        "json" => "json",
        "kotlin" => "kt",
        "markdown" | "md" => "md",
        "python" | "py" => "py",
        "ruby" | "rb" => "rb",
        "rust" | "rs" => "rs",
        "sql" => "sql",
        "swift" => "swift",
        "toml" => "toml",
        "typescript" | "ts" => "ts",
        "tsx" => "tsx",
        "xml" => "xml",
        "yaml" | "yml" => "yaml",
        _ => "txt",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::markdown;
    use proptest::prelude::*;

    const PHONE: Limits = Limits::of_text(TextUnit::Utf16, 4096, 100, 3);

    fn shown(fitted: &Fitted) -> String {
        fitted.parts.iter().map(|part| part.text.as_str()).collect()
    }

    #[test]
    fn short_text_is_only_messages() {
        let fitted = fit(&Rich::plain("word ".repeat(2_000)), &PHONE, "reply");
        assert_eq!((fitted.parts.len(), fitted.document), (3, None));
    }

    #[test]
    fn one_long_block_is_a_file_of_its_kind() {
        let mut code = String::new();
        for n in 0..600 {
            writeln!(code, "    let v{n:04} = compute({n});").unwrap();
        }
        let text = markdown(&format!("Generated:\n\n```rust\n{code}```\n\nCompiles clean."));
        let fitted = fit(&text, &PHONE, "reply-PD-285/4");
        let document = fitted.document.as_ref().unwrap();
        assert_eq!(document.name, "reply-PD-285-4.rs");
        assert_eq!(document.text, code.trim_end_matches('\n'));
        assert_eq!(document.about, "600 lines, 17.8 kB");
        assert_eq!(fitted.parts.len(), 1);
        assert!(shown(&fitted).starts_with("Generated:\n\n    let v0000"));
        assert!(shown(&fitted).contains(
            "compute(14);\n… 600 lines, 17.8 kB, all of it in reply-PD-285-4.rs\n\nCompiles clean."
        ));
        assert_eq!(fitted.parts[0].spans[0].style, Style::Pre { language: Some("rust".into()) });
    }

    #[test]
    fn long_prose_is_a_beginning_and_a_file() {
        let text = markdown(&"要約これは移行計画の長い説明文です。\n\n".repeat(1_200));
        let limits = Limits { unit: TextUnit::Bytes, text: 20_000, ..PHONE };
        let fitted = fit(&text, &limits, "..");
        let document = fitted.document.as_ref().unwrap();
        assert_eq!(document.name, "text.md");
        assert_eq!(document.text, text.text);
        assert!(
            shown(&fitted).ends_with("lines, 67.1 kB, all of it in text.md"),
            "{}",
            shown(&fitted)
        );
        assert_eq!(fitted.parts.len(), 1);
    }

    #[test]
    fn several_blocks_are_fenced_in_the_file() {
        let block = "x\n".repeat(3_000);
        let text = markdown(&format!("one\n````\n```\n{block}````\ntwo\n```py\n{block}```\nthree"));
        let fitted = fit(&text, &PHONE, "r");
        let document = fitted.document.as_ref().unwrap();
        assert!(
            document.name == "r.md"
                && document.text.contains("````\n```\nx")
                && document.text.contains("```py\nx")
        );
        assert!(shown(&fitted).contains("two") && shown(&fitted).ends_with("three"));
    }

    #[test]
    fn a_line_of_one_word_is_cut() {
        let text = markdown(&format!("Body:\n```json\n{}\n```\nEnd.", "v".repeat(20_000)));
        let fitted = fit(&text, &PHONE, "body");
        assert_eq!(fitted.document.unwrap().text.len(), 20_000);
        assert_eq!(fitted.parts.len(), 1);
        assert!(fitted.parts[0].text.ends_with("End."));
    }

    proptest! {
        #[test]
        fn it_always_fits(source in "(word |\n|```\n|\\PC|# |- ){0,200}", text in 60_usize..200, parts in 0_usize..4) {
            let rich = markdown(&source);
            let fitted = fit(&rich, &Limits { text, parts, ..PHONE }, "reply");
            prop_assert!(fitted.parts.len() <= parts.max(1));
            for part in &fitted.parts {
                prop_assert_eq!(part.check(), Ok(()));
                prop_assert!(part.text.encode_utf16().count() <= text);
            }
            prop_assert_eq!(fitted.parts.is_empty(), rich.is_empty());
        }
    }
}
