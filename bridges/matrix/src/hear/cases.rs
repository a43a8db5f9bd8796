//! `tests/cases/*.json`: events as they come, and what each of them means, in one line.

use matrix_sdk::{deserialized_responses::TimelineEvent, ruma::serde::Raw};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{fs, path::Path};

use super::{
    gather::{self, Came, Of},
    read::{self, Told},
};
use crate::store::heard::{self, Batch, Waiting};

const ME: &str = "@vigie:example.org";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[expect(dead_code, reason = "for whoever reads the case")]
    what: String,
    /// Written down before.
    #[serde(default)]
    known: Vec<String>,
    events: Vec<Box<RawValue>>,
    means: Vec<String>,
}

#[test]
fn every_case_means_what_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue; // a text, for the other direction
        }
        let case: Case = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(means(&case), case.means, "{}", path.display());
        count += 1;
    }
    assert_eq!(count, 6);
}

/// What is kept of the events, read again, as the desk does.
fn means(case: &Case) -> Vec<String> {
    let of = Of { room: "!room", encrypted: true, me: ME };
    let read = |json: &RawValue| {
        gather::came(of, &TimelineEvent::from_plaintext(Raw::from_json(json.to_owned())))
    };
    let events = case.events.iter().filter_map(|json| read(json)).filter_map(|came| match came {
        Came::Told(incoming) => Some(incoming),
        Came::Echo { .. } | Came::Entry { .. } | Came::Other { .. } => None,
    });
    let (known, new): (Vec<_>, Vec<_>) =
        events.clone().partition(|event| case.known.contains(&event.event));
    let mut db = rusqlite::Connection::open_in_memory().unwrap();
    db.execute_batch(include_str!("../store/migrations/001_heard.sql")).unwrap();
    for (at, batch) in [known, events.collect()].into_iter().enumerate() {
        let batch = Batch { cursor: at.to_string(), rooms: vec![], events: batch };
        heard::keep(&mut db, ME, &batch, 0).unwrap();
    }
    let rows = heard::waiting(&mut db, 0, 100).unwrap();
    assert_eq!(rows.len(), case.known.len() + new.len(), "nothing is kept twice");
    rows.iter().skip(case.known.len()).map(line).collect()
}

fn line(row: &Waiting) -> String {
    let from = &row.sender;
    match read::read(row, ME).unwrap() {
        Told::Nothing(why) => format!("nothing: {why}"),
        Told::Said(piece) => {
            let to = piece.reply_to.map(|to| format!(" to {to}")).unwrap_or_default();
            let thread = row.thread.as_ref().map(|root| format!(" in {root}")).unwrap_or_default();
            let file = piece.file.map(|file| {
                let size = file.size.map(|size| format!(" ({size} bytes)")).unwrap_or_default();
                format!(" with {}{size}", file.name)
            });
            format!("{from} says{thread}{to}{}: {}", file.unwrap_or_default(), piece.text)
        }
        Told::Edited { message, text } => format!("{from} changes {message} to: {text}"),
        Told::Reacted { on, emoji } => format!("{from} puts {emoji} on {on}"),
        Told::Voted { poll, answer } => format!("{from} votes {answer} in {poll}"),
        Told::Redacted { event } => format!("{from} takes back {event}"),
        Told::Swapped => format!("{from} is said to have sent another's"),
        Told::Sealed => format!(
            "{from} wrote something in {} that waits for the key {}",
            row.thread.as_deref().unwrap_or_default(),
            row.opened.megolm.as_deref().unwrap_or_default()
        ),
        Told::Gap => "a gap".into(),
    }
}
