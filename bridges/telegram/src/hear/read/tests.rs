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
