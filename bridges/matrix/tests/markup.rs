//! What is sent reads the same with and without HTML, and is what clients take, whatever an agent
//! writes.

mod model;

use model::Page;
use proptest::prelude::*;
use serde_json::json;
use std::{fmt::Write as _, fs, num::NonZeroUsize, path::Path, time::Instant};
use vigie_core::{
    bridge::{Counts, Limits, Room},
    text::{Rich, Style, fit, markdown},
};
use vigie_matrix::{
    Pace, limits,
    markup::{Kind, Text, fits, text},
};

fn taken() -> Limits {
    let pace = Pace { events_a_minute: NonZeroUsize::MIN };
    limits(Room::Direct, pace, None, Counts::Answers)
}

/// Characters that no reader sees, or that a service may join.
fn is_seen(c: char) -> bool {
    !c.is_whitespace()
        && !c.is_control()
        && !matches!(c, '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

fn seen(text: &str) -> String {
    text.chars().filter(|c| is_seen(*c)).collect()
}

/// Whether `all` has the characters of `words`, in their order.
fn says(all: &str, words: &str) -> bool {
    let mut all = all.chars();
    words.chars().filter(|c| is_seen(*c)).all(|c| all.any(|other| other == c))
}

/// Writes `rich`, and says what is wrong with it.
fn check(rich: &Rich) -> Result<(Text, Option<Page>), String> {
    let written = text(rich);
    if !says(&written.body, &rich.text) {
        return Err(format!("{:?} does not say {:?}", written.body, rich.text));
    }
    let Some(html) = &written.html else {
        return Ok((written, None));
    };
    let page = model::read(html).map_err(|why| format!("{why}: {html}"))?;
    let has_links = rich.spans.iter().any(|span| matches!(span.style, Style::Link { .. }));
    let same =
        if has_links { says(&page.text, &rich.text) } else { seen(&page.text) == seen(&rich.text) };
    if !same {
        return Err(format!("{html} does not say {:?}", rich.text));
    }
    Ok((written, Some(page)))
}

fn content(text: &Text) -> serde_json::Value {
    let mut content = json!({ "msgtype": "m.notice", "body": text.body, "m.mentions": {} });
    if let Some(html) = &text.html {
        content["format"] = "org.matrix.custom.html".into();
        content["formatted_body"] = html.as_str().into();
    }
    content
}

fn check_reply(source: &str) -> Result<Vec<(Text, Option<Page>)>, String> {
    let fitted = fit(&markdown(source), &taken(), "reply");
    let checked = |part| check(part).map_err(|why| format!("{why}\nfrom {source:?}"));
    fitted.parts.iter().map(checked).collect()
}

/// `=== name`, the Markdown, `--- plain`, `--- html`.
#[test]
fn texts_are_written_as_the_cases_say() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/markup.txt");
    let cases = fs::read_to_string(&file).unwrap();
    let mut shown = cases[..=cases.find("\n=== ").unwrap()].to_owned();
    let mut count = 0;
    for case in cases.split("\n=== ").skip(1) {
        let (name, rest) = case.split_once('\n').unwrap();
        let source = rest.split("\n--- plain\n").next().unwrap();
        let written = named(source);
        let (text, _) = check(&markdown(&written)).unwrap();
        let html = text.html.unwrap_or_else(|| "(none)".into()).replace('\u{A0}', "\\u{A0}");
        let body = text.body.replace('\t', "\\t").replace(" \n", "\\u{20}\n");
        let body = body.replace('\u{200B}', "\\u{200B}");
        let html = html.replace('\t', "\\t").replace('\u{200B}', "\\u{200B}");
        write!(shown, "=== {name}\n{source}\n--- plain\n{body}\n--- html\n{html}\n\n").unwrap();
        count += 1;
    }
    if std::env::var_os("WRITE_CASES").is_some() {
        fs::write(&file, &shown).unwrap();
    }
    assert_eq!(shown, cases);
    assert!(count >= 12);
}

fn named(source: &str) -> String {
    ["\\r=\r", "\\t=\t", "\\u{202E}=\u{202E}", "\\u{200B}=\u{200B}", "\\u{FFFD}=\u{FFFD}"]
        .iter()
        .filter_map(|pair| pair.split_once('='))
        .fold(source.to_owned(), |text, (name, c)| text.replace(name, c))
}

/// Those of the core and of the other bridge, cut anywhere: a reply is shown while it grows.
#[test]
fn every_beginning_of_every_case_is_taken() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cases: Vec<String> = fs::read_dir(here.join("../../src/core/cases/markdown"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert!(cases.len() > 10);
    let replies = fs::read_to_string(here.join("../telegram/tests/cases/replies.md")).unwrap();
    let replies = replies.split("\n=== ").skip(1).map(|case| case.split_once('\n').unwrap().1);
    cases.extend(replies.map(named));
    assert!(cases.len() > 20);
    for case in cases {
        for (at, _) in case.char_indices().chain([(case.len(), ' ')]) {
            check_reply(&case[..at]).unwrap();
        }
    }
}

#[test]
fn long_replies_are_taken_in_a_few_events_that_are_small_enough() {
    let code = "    let value = compute(\"<&>\");\n".repeat(700);
    for reply in [
        format!("Generated:\n\n```rust\n{code}```\n\nCompiles clean."),
        format!("Body:\n```json\n{}\n```\nEnd.", "v".repeat(8_100)),
        format!("Done {}", "🟢".repeat(2_500)),
        "<b>&amp;</b> \"x\" ".repeat(240),
        "one `two` **three** main.rs ".repeat(200),
        format!("{}\n", "\ta\tb\n".repeat(900)),
        "> **a** `b`\n\n".repeat(150),
        format!("{}\n\nThe end.", "[".repeat(3_000)),
        format!("{}\n\nThe end.", "_a ".repeat(3_000)),
        format!("{} deep\n\nThe end.", "> ".repeat(400)),
        "👨‍👩‍👧 ".repeat(700),
    ] {
        let all = check_reply(&reply).unwrap();
        assert!(!all.is_empty() && all.len() <= 4, "{} events", all.len());
        for (text, _) in &all {
            assert!(fits(&content(text), Kind::New), "{}", text.body);
            assert!(fits(&content(text), Kind::Edit), "{}", text.body);
        }
    }
}

#[test]
fn twenty_thousand_characters_of_three_bytes_come_whole() {
    let source = "要約これは移行計画の長い説明文です。".repeat(1_111);
    let limits = Limits { parts: 100, ..taken() };
    let fitted = fit(&markdown(&source), &limits, "reply");
    assert_eq!(fitted.document, None);
    let mut all = String::new();
    for part in &fitted.parts {
        let (text, _) = check(part).unwrap();
        assert!(fits(&content(&text), Kind::Edit), "{} bytes", text.body.len());
        all.push_str(&text.body);
    }
    assert_eq!(seen(&all), source);
    // Cut by characters, as one message, it would be refused.
    let whole = text(&Rich::plain(source));
    assert!(!fits(&content(&whole), Kind::New));
}

#[test]
fn what_explodes_elsewhere_is_written_at_once() {
    let source = format!(
        "{}{}[a](b{}{}{}\n\nThe end.",
        "[".repeat(3_000),
        "(".repeat(2_000),
        "*_".repeat(1_200),
        "> ".repeat(400),
        "`".repeat(999)
    );
    let rich = markdown(&source);
    let begun = Instant::now();
    let written = text(&rich);
    assert!(begun.elapsed().as_millis() < 500, "{:?}", begun.elapsed());
    assert!(written.body.ends_with("The end."));
    let crossing: Rich = (0..2_000).fold(Rich::default(), |mut rich, _| {
        rich.push("a", Some(Style::Bold));
        rich.push("b", Some(Style::Code));
        rich
    });
    let begun = Instant::now();
    check(&crossing).unwrap();
    assert!(begun.elapsed().as_millis() < 1_000, "{:?}", begun.elapsed());
}

#[test]
fn nothing_in_a_text_calls_anybody() {
    let source = "@room see @ines:example.org, [Ines](https://matrix.to/#/@ines:example.org) and \
        [Tomás](matrix:u/tomas:example.org)";
    let (text, page) = check(&markdown(source)).unwrap();
    assert!(page.is_none_or(|page| page.links.is_empty()), "{text:?}");
    assert!(text.body.contains("Ines (https://matrix.to/#/@ines:example.org)"), "{text:?}");
}

#[test]
fn a_label_that_is_another_address_does_not_mislead() {
    let source = "[https://example.org](https://example.net/x) and [page](https://example.net/y)";
    let (text, page) = check(&markdown(source)).unwrap();
    assert_eq!(page.unwrap().links, [("page".into(), "https://example.net/y".into())]);
    assert!(text.body.contains("https://example.org (https://example.net/x)"), "{text:?}");
}

#[test]
fn spans_that_cross_are_well_formed_all_the_same() {
    use vigie_core::text::Span;
    let span = |range, style| Span { range, style };
    let rich = Rich {
        text: "abcdefgh".into(),
        spans: vec![span(0..4, Style::Bold), span(2..6, Style::Italic), span(3..8, Style::Quote)],
    };
    let (text, _) = check(&rich).unwrap();
    assert_eq!(
        text.html.unwrap(),
        "<strong>ab<em>c</em></strong><blockquote><strong><em>d</em></strong><em>ef</em>gh</blockquote>"
    );
}

/// Texts with any style on any part.
fn a_rich() -> impl Strategy<Value = Rich> {
    let text = "([a-z ]|\t|\n|\r|`|\u{202E}|\u{200F}|\u{1b}|\\PC|👨‍👩‍👧|<b>|&amp;|\"|@room){0,12}";
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
                4 => vec![Style::Code, link("https://example.org/?a=1&b=\"<x>'")],
                5 => vec![link("https://example.org/x"), Style::Code],
                6 => vec![link("javascript:alert(1)")],
                7 => vec![Style::Hidden, Style::Heading],
                8 => vec![Style::Quote, Style::Quote],
                9 => vec![Style::Strike, Style::LookAlike],
                10 => vec![Style::Pre { language: None }, Style::Bold],
                _ => Vec::new(),
            };
            let part = styles.into_iter().fold(Rich::plain(text), Rich::wrapped);
            whole.append(&if quoted { part.wrapped(Style::Quote) } else { part });
        }
        whole
    })
}

/// The same with spans that lie anywhere.
fn a_wild_rich() -> impl Strategy<Value = Rich> {
    let spans = proptest::collection::vec((0_usize..40, 1_usize..20), 0..8);
    (a_rich(), spans).prop_map(|(mut rich, spans)| {
        let ends: Vec<usize> = rich.text.char_indices().map(|(at, _)| at).collect();
        for (from, length) in spans {
            if let (Some(start), Some(end)) = (ends.get(from), ends.get(from + length)) {
                let style = if length % 3 == 0 { Style::Quote } else { Style::Italic };
                rich.spans.push(vigie_core::text::Span { range: *start..*end, style });
            }
        }
        rich
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn any_text_says_the_same_both_ways(rich in a_rich()) {
        prop_assert_eq!(check(&rich).err(), None);
    }

    #[test]
    fn whatever_the_spans_do_elements_nest(rich in a_wild_rich()) {
        prop_assert_eq!(check(&rich).err(), None);
    }

    #[test]
    fn code_is_kept_character_by_character(code in "([ -~]|\n|\t|`|漢){1,80}") {
        let code = format!("x{code}x");
        let mut rich = Rich::plain("before\n");
        rich.push(&code, Some(Style::Pre { language: Some("c++".into()) }));
        rich.push("\nafter", None);
        let (text, page) = check(&rich).unwrap();
        prop_assert_eq!(page.unwrap().blocks, [(Some("c++".to_owned()), code.clone())]);
        prop_assert!(text.body.contains(&format!("`c++\n{code}\n```")), "{}", text.body);
    }

    #[test]
    fn any_reply_is_taken(source in "(word |main\\.rs |\n|```\n|\\PC|# |- |\\*\\*|_|`|> |\t|\\[x\\]\\(https://example.org\\)|\\| a \\| b \\|\n){0,120}") {
        prop_assert_eq!(check_reply(&source).err(), None);
    }
}
