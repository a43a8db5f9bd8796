//! What is sent is what Telegram keeps, whatever an agent writes.

mod model;

use proptest::prelude::*;
use std::{fs, path::Path};
use vigie_bridge_kit::compose::Composer;
use vigie_core::{
    bridge::{Limits, TextUnit},
    text::{Rich, Style, fit, markdown},
};
use vigie_telegram::markup::{MESSAGE_UNITS, Text, lay_out};

const LIMITS: Limits = Limits::of_text(TextUnit::Utf16, MESSAGE_UNITS, 100, 3);

/// Characters Telegram or we take out, and blanks, which may be joined or trimmed.
fn is_seen(c: char) -> bool {
    !c.is_whitespace()
        && !c.is_control()
        && !matches!(
            c,
            '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{333}' | '\u{33F}' | '\u{30A}'
        )
}

/// The characters with a ring, as one or as two.
fn apart(text: &str) -> String {
    ["å", "Å", "ů", "Ů", "ẘ", "ẙ"]
        .iter()
        .zip(["a", "A", "u", "U", "w", "y"])
        .fold(text.to_owned(), |text, (ringed, bare)| text.replace(ringed, bare))
}

/// Lays `rich` out, and says what is wrong with it.
fn check(rich: &Rich) -> Result<Vec<Text>, String> {
    let all = lay_out(rich);
    for text in &all {
        let (kept, looks) = model::kept(text)?;
        if kept != text.text {
            return Err(format!("{:?} would be kept as {kept:?}", text.text));
        }
        if looks != model::sent(text) {
            return Err(format!("other looks would be kept of {text:?}"));
        }
    }
    let shown: String = all.iter().map(|text| text.text.as_str()).collect();
    let shown = apart(&shown);
    let mut shown = shown.chars();
    let said = apart(&rich.text);
    if all.is_empty() && !said.chars().any(char::is_alphanumeric) {
        return Ok(all);
    }
    for c in said.chars().filter(|c| is_seen(*c)) {
        if !shown.any(|other| other == c) {
            return Err(format!("{c:?} is lost of {:?}", rich.text));
        }
    }
    Ok(all)
}

fn check_reply(source: &str) -> Result<Vec<Text>, String> {
    let mut all = Vec::new();
    for part in fit(&markdown(source), &LIMITS, "reply").parts {
        let laid_out = check(&part).map_err(|why| format!("{why}\nfrom {source:?}"))?;
        if laid_out.is_empty() {
            return Err(format!("nothing is shown of {:?}", part.text));
        }
        all.extend(laid_out);
    }
    Ok(all)
}

#[test]
fn every_beginning_of_every_case_is_kept_as_sent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src/core/cases/markdown");
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let mut cases: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| read(&path))
        .collect();
    assert!(cases.len() > 10);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/replies.md");
    let own = read(&own);
    let own: Vec<&str> =
        own.split("\n=== ").skip(1).map(|case| case.split_once('\n').unwrap().1).collect();
    assert!(own.len() >= 8);
    cases.extend(own.into_iter().map(|case| {
        case.replace("\\r", "\r")
            .replace("\\t", "\t")
            .replace("\\u{202E}", "\u{202E}")
            .replace("\\u{200B}", "\u{200B}")
            .replace("\\u{2060}", "\u{2060}")
            .replace("\\u{FFFD}", "\u{FFFD}")
            .replace("\\u{301}", "\u{301}")
    }));
    for case in cases {
        for (at, _) in case.char_indices().chain([(case.len(), ' ')]) {
            check_reply(&case[..at]).unwrap();
        }
    }
}

#[test]
fn long_replies_are_kept_as_sent() {
    let code = "    let value = compute(\"<&>\");\n".repeat(700);
    for reply in [
        format!("Generated:\n\n```rust\n{code}```\n\nCompiles clean."),
        format!("Body:\n```json\n{}\n```\nEnd.", "v".repeat(8_100)),
        format!("Done {}", "🟢".repeat(2_500)),
        "要約これは移行計画の長い説明文です。\n\n".repeat(300),
        "<b>&amp;</b> \"x\" ".repeat(240),
        "one `two` **three** main.rs ".repeat(200),
        format!("{}\n", "\ta\tb\n".repeat(900)),
        "> **a** `b`\n\n".repeat(150),
        "**a *b* c** ".repeat(90),
        format!("{}\n\nThe end.", "[".repeat(3_000)),
        format!("{}\n\nThe end.", "_a ".repeat(3_000)),
        format!("{} deep\n\nThe end.", "> ".repeat(400)),
        "👨‍👩‍👧 ".repeat(700),
    ] {
        let all = check_reply(&reply).unwrap();
        assert!(!all.is_empty() && all.len() <= 6, "{} messages", all.len());
    }
}

#[test]
fn an_answer_reads_well() {
    let reply = "Fixed `open()` in src/lib.rs, see [the page](https://example.org/a) and [local](http://localhost:3000).\n\n\
        > quoted **words**\n\n```rust\nfn main() {}\n```\nRun ./run.sh, or write /stop.";
    let all = check_reply(reply).unwrap();
    let [text] = all.as_slice() else { panic!("{all:?}") };
    let units: Vec<u16> = text.text.encode_utf16().collect();
    let shown: Vec<String> = text
        .entities
        .iter()
        .map(|entity| {
            let part = &units[entity.offset..entity.offset + entity.length];
            format!("{:?} {}", entity.kind, String::from_utf16(part).unwrap())
        })
        .collect();
    assert_eq!(
        text.text,
        "Fixed open() in src/lib.rs, see the page and local (http://localhost:3000).\n\n\
         quoted words\n\nfn main() {}\n\nRun ./run.sh, or write /stop."
    );
    assert_eq!(
        shown,
        [
            "Code open()",
            "Code src/lib.rs",
            "TextLink { url: \"https://example.org/a\" } the page",
            "Blockquote quoted words",
            "Bold words",
            "Pre { language: Some(\"rust\") } fn main() {}",
            "Code ./run.sh",
            "Code /stop",
        ]
    );
}

/// Texts with any style on any part, nested as the core promises.
fn a_rich() -> impl Strategy<Value = Rich> {
    let text = "([a-z ]|\t|\n|\r|\u{202E}|\u{200E}|\u{200F}|\u{30A}|\u{1b}|\\PC|👨‍👩‍👧|main\\.rs|/stop|@some_one){0,12}";
    let piece = (text, 0_u8..12, any::<bool>());
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| {
        let mut whole = Rich::default();
        for (text, kind, quoted) in pieces {
            let link = |url: &str| Style::Link { url: url.into() };
            let styles = match kind {
                0 => vec![Style::Bold],
                1 => vec![Style::Italic, Style::Bold],
                2 => vec![Style::Code],
                3 => vec![Style::Pre { language: Some("rust".into()) }],
                4 => vec![Style::Code, link("https://example.org/x")],
                5 => vec![link("https://example.org/x"), Style::Code],
                6 => vec![link("http://localhost/")],
                7 => vec![Style::Hidden, Style::Heading],
                8 => vec![Style::Quote, Style::Quote],
                9 => vec![Style::Strike, Style::LookAlike],
                _ => Vec::new(),
            };
            let part = styles.into_iter().fold(Rich::plain(text), Rich::wrapped);
            whole.append(&if quoted { part.wrapped(Style::Quote) } else { part });
        }
        whole
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_is_kept_as_sent(rich in a_rich()) {
        prop_assert_eq!(rich.check(), Ok(()));
        prop_assert_eq!(check(&rich).err(), None);
    }

    #[test]
    fn any_reply_is_kept_as_sent(source in "(word |main\\.rs |\n|```\n|\\PC|# |- |\\*\\*|_|`|> |\t|\\[x\\]\\(https://example.org\\)|\\| a \\| b \\|\n){0,120}") {
        prop_assert_eq!(check_reply(&source).err(), None);
    }

    #[test]
    fn a_composed_message_is_kept_as_sent(header in "\\PC{0,20}", body in a_rich(), footer in "(\\PC|\n){0,20}") {
        let composer = Composer::new().line(&header, Some(Style::Bold)).rich(&body).blank().line(&footer, None);
        let rich = composer.finish();
        prop_assert_eq!(rich.check(), Ok(()));
        prop_assert_eq!(check(&rich).err(), None);
    }

    #[test]
    fn no_name_of_a_file_becomes_a_link(words in proptest::collection::vec(0_usize..8, 1..40), bold in any::<bool>()) {
        let names = ["main.rs", "README.md", "src/lib.rs", "/stop", "@scope/pkg", "plain", "x.py:", "(a.sh)"];
        let text: Vec<&str> = words.into_iter().map(|at| names[at]).collect();
        let rich = Rich::plain(text.join(" "));
        let rich = if bold { rich.wrapped(Style::Bold) } else { rich };
        for text in check(&rich).unwrap() {
            let looks = model::sent(&text);
            for name in names.iter().filter(|name| **name != "plain") {
                let name = name.trim_matches(['(', ')', ':']);
                for (at, _) in text.text.match_indices(name) {
                    prop_assert!(looks[at..at + name.len()].iter().all(|unit| unit.contains("code")), "{} in {}", name, text.text);
                }
            }
        }
    }
}
