use super::*;
use std::fmt::Write as _;

const CASES: [&str; 2] = [
    include_str!("../../../tests/cases/heard/messages.txt"),
    include_str!("../../../tests/cases/heard/others.txt"),
];

fn me() -> Me {
    Me { id: 42, username: Some("vigie_bot".into()), topics: false }
}

fn spot(spot: &Spot) -> String {
    let thread = spot.thread.map(|thread| format!("/{thread}")).unwrap_or_default();
    format!("{}{thread} ({})", spot.chat, room(spot.room))
}

fn room(room: Room) -> &'static str {
    match room {
        Room::Direct => "direct",
        Room::DirectThreads => "direct threads",
        Room::Group => "group",
        Room::Forum => "forum",
    }
}

fn piece(piece: &Piece) -> String {
    let mut out = format!("by {} in {} as {}", piece.spot.from, spot(&piece.spot), piece.message);
    if let Some(to) = piece.reply_to {
        write!(out, " to {to}").unwrap();
    }
    if let Some(album) = &piece.album {
        write!(out, " of album {album}").unwrap();
    }
    for file in &piece.files {
        let size = file.size.map_or("?".into(), |size| size.to_string());
        write!(out, " with {} ({size})", file.name).unwrap();
    }
    if piece.origin == TextOrigin::Forwarded {
        out.push_str(", forwarded");
    }
    if piece.command {
        out.push_str(", a command");
    }
    format!("{out}: {}", piece.text)
}

fn told(told: Told) -> String {
    match told {
        Told::Said(said) => format!("said {}", piece(&said)),
        Told::Edited { piece: said, edited } => format!("edited at {edited} {}", piece(&said)),
        Told::Tapped(Tapped { query, from, on, data }) => {
            let on = on.map(|(at, message)| format!("{message} in {}", spot(&at)));
            format!("tapped {query} by {from} on {}: {data}", on.unwrap_or("nothing".into()))
        }
        Told::Reacted(from, put) => {
            let one = |put: Put| {
                let at = spot(&put.spot);
                format!("put on {} in {at} by {from} at {}: {}", put.message, put.date, put.emoji)
            };
            put.into_iter().map(one).collect::<Vec<_>>().join(" and ")
        }
        Told::Noted(Noted::Open { chat, room: kind }) => format!("open {chat} ({})", room(kind)),
        Told::Noted(Noted::Shut { chat, reason }) => format!("shut {chat}: {reason}"),
        Told::Noted(other) => format!("{other:?}"),
        Told::Moved { from, to } => format!("moved from {from} to {to}"),
        Told::Topic { chat, thread, change } => format!("topic {thread} in {chat}: {change:?}"),
        Told::Nothing(why) => format!("nothing: {why}"),
    }
}

#[test]
fn every_case_means_what_it_says() {
    let mut seen = 0;
    for file in CASES {
        for case in file.split("\n\n").skip(1) {
            let mut lines = case.trim_start_matches('\n').lines();
            let (about, update) = (lines.next().unwrap(), lines.next().unwrap());
            let expected = lines.next().unwrap_or_else(|| panic!("{about}: means nothing"));
            let update = update.replacen('{', r#"{"update_id":1,"#, 1);
            let meant = told(read(&update, &me()).unwrap());
            assert_eq!(meant.trim_end(), expected.trim_end(), "{about}");
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn a_bot_with_topics_has_them_in_private_chats() {
    let update = r#"{"message":{"message_id":5,"date":1,"chat":{"id":1,"type":"private"},"from":{"id":1},"text":"x"}}"#;
    let me = Me { topics: true, ..me() };
    let Told::Said(piece) = read(update, &me).unwrap() else { panic!() };
    assert_eq!((piece.spot.room, piece.spot.thread), (Room::DirectThreads, None));
}

#[test]
fn what_does_not_read_is_an_error_and_no_panic() {
    for update in [
        "",
        "{",
        r#"{"message":5}"#,
        r#"{"message":{"message_id":"five"}}"#,
        r#"{"message":{"message_id":5,"date":99999999999999999,"chat":{"id":1,"type":"private"},"from":{"id":1},"text":"x"}}"#,
        r#"{"callback_query":{"id":"1"}}"#,
    ] {
        assert!(read(update, &me()).is_err(), "{update}");
    }
}

/// Every update that is `whole` with one value in it replaced, wherever it stands.
fn spoilt(whole: &Value, at: &Value, spoil: &Value, out: &mut Vec<Value>, path: &str) {
    let mut each = |at: &Value, step: &str| {
        let path = format!("{path}/{step}");
        let mut other = whole.clone();
        *other.pointer_mut(&path).unwrap() = spoil.clone();
        out.push(other);
        spoilt(whole, at, spoil, out, &path);
    };
    match at {
        Value::Object(fields) => fields.iter().for_each(|(name, at)| each(at, name)),
        Value::Array(all) => {
            all.iter().enumerate().for_each(|(place, at)| each(at, &place.to_string()));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn no_update_makes_it_panic_whatever_stands_where() {
    let updates = CASES.iter().flat_map(|file| file.lines()).filter(|line| line.starts_with('{'));
    let spoils = [
        serde_json::json!(null),
        serde_json::json!(i64::MAX),
        serde_json::json!(-1.5),
        serde_json::json!("\u{202E}\u{0}😀"),
        serde_json::json!([[{}]]),
        serde_json::json!({ "id": {} }),
    ];
    let mut all = Vec::new();
    for update in updates {
        let whole: Value = serde_json::from_str(update).unwrap();
        for spoil in &spoils {
            spoilt(&whole, &whole, spoil, &mut all, "");
        }
    }
    assert!(all.len() > 1_000, "{}", all.len());
    for update in all {
        let _ = read(&update.to_string(), &me()); // an error is fine
    }
}
