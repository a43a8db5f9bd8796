use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// What an entity covers, as `kind: part`.
fn parts(done: &Formatted) -> Vec<String> {
    let kind =
        |entity: &Entity| serde_json::to_value(entity.kind).unwrap().as_str().unwrap().to_owned();
    done.entities
        .iter()
        .map(|entity| format!("{}: {}", kind(entity), covered(&done.text, entity)))
        .collect()
}

fn found(text: &str) -> Vec<String> {
    parts(&formatted(text, &[]).unwrap())
}

fn given(text: &str, entities: &[(&str, usize, usize)]) -> Result<Formatted, String> {
    let entities: Vec<Value> = entities
        .iter()
        .map(|(kind, offset, length)| json!({"type": kind, "offset": offset, "length": length}))
        .collect();
    formatted(text, &entities)
}

#[test]
fn a_text_is_cleaned_and_trimmed() {
    let cases = [
        (" a\tb\r\n ", "a b"),
        ("\n\n  x", "x"),
        ("a\u{202e}b\u{2028}c", "abc"),
        ("a\u{0}\u{7}b", "a  b"),
        ("keeps\n\nlines", "keeps\n\nlines"),
        (" \n\t", ""),
        ("👨‍👩‍👧", "👨‍👩‍👧"),
    ];
    for (raw, clean) in cases {
        assert_eq!(formatted(raw, &[]).unwrap().text, clean, "{raw:?}");
    }
}

#[test]
fn words_that_look_like_addresses_become_links() {
    let cases: &[(&str, &[&str])] = &[
        ("see main.rs.", &["url: main.rs"]),
        ("README.md, build.sh and x.py", &["url: README.md", "url: build.sh", "url: x.py"]),
        (
            "crates.io docs.rs v.co me.ai",
            &["url: crates.io", "url: docs.rs", "url: v.co", "url: me.ai"],
        ),
        ("main.rs:12", &["url: main.rs:12"]),
        ("example.org/a?b=c).", &["url: example.org/a?b=c"]),
        ("https://x.example.org/a#b, then", &["url: https://x.example.org/a#b"]),
        ("http://localhost:80/x", &["url: http://localhost:80/x"]),
        ("src/main.rs", &[]),
        ("Cargo.toml Cargo.lock x.json", &[]),
        ("End.Me and end. me", &[]),
        ("1.5 or 2.0.1", &[]),
        ("a.rs.bak", &[]),
        ("self.me_too", &[]),
    ];
    for (text, links) in cases {
        assert_eq!(found(text), *links, "{text}");
    }
}

#[test]
fn mentions_tags_commands_and_mail_are_found() {
    let cases: &[(&str, &[&str])] = &[
        ("/start", &["bot_command: /start"]),
        ("do /stop@some_bot now", &["bot_command: /stop@some_bot"]),
        ("/usr/bin", &[]),
        ("a/b", &[]),
        ("/etc/hosts and /help.", &["bot_command: /help"]),
        ("@ada_l hi @x", &["mention: @ada_l"]),
        ("mail ada@example.org", &["email: ada@example.org"]),
        ("#fix42 #42", &["hashtag: #fix42"]),
        ("$USD $usd", &["cashtag: $USD"]),
        ("PD-285 #é", &["hashtag: #é"]),
    ];
    for (text, wanted) in cases {
        assert_eq!(found(text), *wanted, "{text}");
    }
}

#[test]
fn nothing_is_found_inside_of_code_and_links() {
    let done = given("see main.rs and /start", &[("code", 4, 7), ("pre", 16, 6)]).unwrap();
    assert_eq!(parts(&done), ["code: main.rs", "pre: /start"]);
    let link = json!({"type": "text_link", "offset": 0, "length": 7, "url": "https://example.org"});
    assert_eq!(parts(&formatted("main.rs", &[link]).unwrap()), ["text_link: main.rs"]);
    let bold = given("main.rs", &[("bold", 0, 7)]).unwrap();
    assert_eq!(parts(&bold), ["url: main.rs", "bold: main.rs"]);
}

#[test]
fn entities_move_with_what_is_taken_out() {
    let done = given("  \r👍 x\ty ", &[("bold", 3, 4)]).unwrap();
    assert_eq!((done.text.as_str(), parts(&done)), ("👍 x y", vec!["bold: 👍 x".into()]));
    let done = given("a  ", &[("code", 0, 3)]).unwrap();
    assert_eq!(parts(&done), ["code: a"]);
    let done = given("  a", &[("code", 1, 2)]).unwrap();
    assert_eq!((done.text.as_str(), parts(&done)), (" a", vec!["code:  a".into()]));
}

#[test]
fn entities_are_repaired() {
    let cases: &[Repair] = &[
        (&[("bold", 0, 3), ("code", 1, 1)], &["bold: a", "code: b", "bold: c"]),
        (&[("code", 0, 2), ("code", 1, 2)], &["code: ab"]),
        (&[("bold", 0, 2), ("bold", 2, 2)], &["bold: abcd"]),
        (&[("blockquote", 0, 4), ("blockquote", 1, 1)], &["blockquote: abcd"]),
        (&[("blockquote", 0, 2), ("code", 1, 2)], &["blockquote: ab"]),
        (&[("bold", 0, 2), ("italic", 1, 2)], &["bold: ab", "italic: bc"]),
        (&[("nonsense", 0, 2), ("mention", 0, 2), ("bold", 1, 0)], &[]),
    ];
    for (entities, wanted) in cases {
        assert_eq!(parts(&given("abcdef", entities).unwrap()), *wanted, "{entities:?}");
    }
}

#[test]
fn bad_entities_are_refused_in_the_servers_words() {
    let cases: &[(&str, (i64, i64), &str)] = &[
        ("👍x", (1, 2), "Entity begins in a middle of a UTF-16 symbol at byte offset 4"),
        (
            "👍x",
            (0, 1),
            "Entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 4",
        ),
        ("ab", (2, 1), "Entity begins after the end of the text at UTF-16 offset 2"),
        (
            "ab",
            (1, 2),
            "Entity beginning at UTF-16 offset 1 ends after the end of the text at UTF-16 offset 3",
        ),
        ("ab", (-1, 2), "receive an entity with incorrect offset -1"),
        ("ab", (0, -2), "receive an entity with incorrect length -2"),
    ];
    for (text, (offset, length), words) in cases {
        let entity = json!({"type": "bold", "offset": offset, "length": length});
        assert_eq!(formatted(text, &[entity]).unwrap_err(), *words);
    }
    let link = json!({"type": "text_link", "offset": 0, "length": 1, "url": "http://localhost"});
    assert_eq!(
        formatted("a", &[link]).unwrap_err(),
        "entity URL 'http://localhost' is invalid: Wrong HTTP URL"
    );
    assert!(formatted("a", &[json!(5)]).is_err());
    assert!(formatted("a", &[json!({"type": "bold"})]).is_err());
    assert_eq!(formatted(&"x".repeat(RAW_BYTES + 1), &[]).unwrap_err(), "text is too long");
}

#[test]
fn the_entities_past_the_hundredth_are_counted_as_lost() {
    let text = "ab ".repeat(150);
    let entities: Vec<(&str, usize, usize)> = (0..150).map(|word| ("bold", word * 3, 2)).collect();
    let done = given(&text, &entities).unwrap();
    assert_eq!((done.entities.len(), done.dropped), (100, 50));
}

#[test]
fn links_are_checked_as_telegram_checks_them() {
    let cases = [
        ("example.org", Some("http://example.org/")),
        ("HTTPS://Example.org/A", Some("https://example.org/A")),
        ("http://localhost:3000", None),
        ("ftp://example.org", None),
        ("tg:user?id=1", Some("tg://user?id=1")),
        ("https://example.org/a b", None),
        ("https://[::1]/", Some("https://[::1]/")),
    ];
    for (url, stored) in cases {
        assert_eq!(checked_link(url).as_deref(), stored, "{url}");
    }
}

/// A text's entities, and what they cover afterwards.
type Repair = (&'static [(&'static str, usize, usize)], &'static [&'static str]);

const KINDS: [&str; 8] = [
    "bold",
    "italic",
    "underline",
    "spoiler",
    "code",
    "pre",
    "blockquote",
    "expandable_blockquote",
];

/// Entities that begin and end where characters do.
fn fitting(text: &str, raw: &[(usize, usize, usize)]) -> Vec<Value> {
    let mut edges: Vec<usize> = vec![0];
    for c in text.chars() {
        edges.push(edges[edges.len() - 1] + c.len_utf16());
    }
    raw.iter()
        .map(|(kind, from, to)| {
            let (a, b) = (edges[from % edges.len()], edges[to % edges.len()]);
            json!({"type": KINDS[kind % KINDS.len()], "offset": a.min(b), "length": a.abs_diff(b)})
        })
        .collect()
}

proptest! {
    #[test]
    fn whatever_is_stored_is_whole(
        text in "(\\PC|[\\n\\t\\r /.@#]|rs|md|👨‍👩‍👧|\u{30a}){0,60}",
        raw in prop::collection::vec((0_usize..8, 0_usize..80, 0_usize..80), 0..8),
    ) {
        let done = formatted(&text, &fitting(&text, &raw)).unwrap();
        prop_assert!(!done.text.contains(['\r', '\t']));
        prop_assert!(!done.text.ends_with([' ', '\n']));
        let end = units(&done.text);
        for entity in &done.entities {
            prop_assert!(entity.length > 0 && entity.end() <= end);
            prop_assert!(byte_of(&done.text, entity.offset).is_some());
            prop_assert!(byte_of(&done.text, entity.end()).is_some());
        }
        // Two lie in each other or apart, but for styles, which may cross styles.
        for (at, one) in done.entities.iter().enumerate() {
            for two in &done.entities[at + 1..] {
                let style = |entity: &Entity| entity.class() == entity::Class::Style;
                let apart = one.end() <= two.offset || two.end() <= one.offset;
                let inside = (one.offset <= two.offset && two.end() <= one.end())
                    || (two.offset <= one.offset && one.end() <= two.end());
                let found = one.class() == entity::Class::Found || two.class() == entity::Class::Found;
                prop_assert!(apart || inside || (style(one) && style(two)) || found, "{one:?} {two:?}");
            }
        }
    }

    #[test]
    fn what_is_stored_once_is_stored_the_same_again(
        text in "(\\PC|[\\n\\t /.@]|👍){0,60}",
        raw in prop::collection::vec((0_usize..8, 0_usize..80, 0_usize..80), 0..8),
    ) {
        let once = formatted(&text, &fitting(&text, &raw)).unwrap();
        let entities: Vec<Value> = once.entities.iter().map(|entity| json!(entity)).collect();
        prop_assert_eq!(formatted(&once.text, &entities).unwrap(), once);
    }

    #[test]
    fn nothing_makes_it_panic(
        text in ".{0,40}",
        entities in prop::collection::vec((0_usize..8, -3_i64..60, -3_i64..60), 0..6),
    ) {
        let entities: Vec<Value> = entities
            .into_iter()
            .map(|(kind, offset, length)| json!({"type": KINDS[kind], "offset": offset, "length": length}))
            .collect();
        let _ = formatted(&text, &entities);
    }
}
