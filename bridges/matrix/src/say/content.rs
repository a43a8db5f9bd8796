//! The contents of events. Pure.

use matrix_sdk::ruma::{EventId, OwnedEventId, OwnedUserId};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

use crate::{
    markup::{Kind, Text, fits},
    store::Part,
};

/// Where our own key stands in a content, so that what is in doubt can be found again when the
/// server has forgotten its transaction.
pub(super) const KEY: &str = "vigie.delivery";

/// Where an event stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// The first event of its thread, and the newest one known there.
    pub thread: Option<(OwnedEventId, OwnedEventId)>,
    pub reply_to: Option<OwnedEventId>,
}

impl Standing {
    /// As it stands in a content; a thread's event answers its newest one where clients know no
    /// threads. Source: Matrix specification, "Threading".
    fn relation(&self) -> Option<Value> {
        let to = |event: &EventId| json!({ "event_id": event });
        match (&self.thread, &self.reply_to) {
            (Some((root, last)), reply) => Some(json!({
                "rel_type": "m.thread",
                "event_id": root,
                "is_falling_back": reply.is_none(),
                "m.in_reply_to": to(reply.as_ref().unwrap_or(last)),
            })),
            (None, Some(reply)) => Some(json!({ "m.in_reply_to": to(reply) })),
            (None, None) => None,
        }
    }
}

/// A message's words. Whom it calls stands there and nowhere else: names in a text call nobody.
pub(super) fn words(text: &Text, calls: Option<&[OwnedUserId]>) -> Value {
    let msgtype = if calls.is_some() { "m.text" } else { "m.notice" };
    let mut content = json!({
        "msgtype": msgtype,
        "body": text.body,
        "m.mentions": mentions(calls.unwrap_or_default()),
    });
    if let Some(html) = &text.html {
        content["format"] = "org.matrix.custom.html".into();
        content["formatted_body"] = html.as_str().into();
    }
    content
}

fn mentions(users: &[OwnedUserId]) -> Value {
    if users.is_empty() { json!({}) } else { json!({ "user_ids": users }) }
}

/// The text in the richest form that is small enough, if one is.
pub(super) fn fitting(text: Text, kind: Kind) -> Option<Text> {
    let takes = |text: &Text| fits(&words(text, Some(&[])), kind);
    if takes(&text) {
        return Some(text);
    }
    let plain = Text { html: None, ..text };
    takes(&plain).then_some(plain)
}

/// The content as a new event has it.
pub(super) fn placed(mut content: Value, standing: &Standing, part: Part) -> Value {
    if let Some(relation) = standing.relation() {
        content["m.relates_to"] = relation;
    }
    content[KEY] = marker(part).into();
    content
}

/// What stands at [`KEY`].
pub(super) fn marker(part: Part) -> String {
    format!("{}.{}", part.key, part.number)
}

/// What makes an earlier message show `content`. Its words come once more outside, for clients that
/// know no changes; nobody is called by one.
pub(super) fn replacement(of: &EventId, content: &Value) -> Value {
    let body = content["body"].as_str().unwrap_or_default();
    json!({
        "msgtype": content["msgtype"],
        "body": format!("* {body}"),
        "m.mentions": {},
        "m.relates_to": { "rel_type": "m.replace", "event_id": of },
        "m.new_content": content,
    })
}

pub(super) fn reaction(to: &EventId, emoji: &str) -> Value {
    json!({ "m.relates_to": { "rel_type": "m.annotation", "event_id": to, "key": emoji } })
}

/// A file's message: `source` says where it lies and how to open it, `info` how large it is.
pub(super) fn file(
    picture: bool,
    name: &str,
    source: Map<String, Value>,
    info: &Value,
    caption: Option<&Text>,
    calls: Option<&[OwnedUserId]>,
) -> Value {
    let mut content = json!({
        "msgtype": if picture { "m.image" } else { "m.file" },
        "body": caption.map_or(name, |caption| caption.body.as_str()),
        "filename": name,
        "info": info,
        "m.mentions": mentions(calls.unwrap_or_default()),
    });
    if let Some(html) = caption.and_then(|caption| caption.html.as_deref()) {
        content["format"] = "org.matrix.custom.html".into();
        content["formatted_body"] = html.into();
    }
    for (key, value) in source {
        content[key] = value;
    }
    content
}

/// A question with one answer. Source: MSC3381, in the form that clients send.
pub(super) fn poll(question: &str, answers: &[(String, String)]) -> Value {
    let answer =
        |(id, label): &(String, String)| json!({ "id": id, "org.matrix.msc1767.text": label });
    let mut fallback = question.to_owned();
    for (number, (_, label)) in answers.iter().enumerate() {
        let _ = write!(fallback, "\n{}. {label}", number + 1);
    }
    json!({
        "org.matrix.msc1767.text": fallback,
        "org.matrix.msc3381.poll.start": {
            "kind": "org.matrix.msc3381.poll.disclosed",
            "max_selections": 1,
            "question": { "org.matrix.msc1767.text": question },
            "answers": answers.iter().map(answer).collect::<Vec<_>>(),
        },
    })
}

pub(super) fn poll_end(poll: &EventId) -> Value {
    json!({
        "org.matrix.msc1767.text": "No more votes are counted.",
        "org.matrix.msc3381.poll.end": {},
        "m.relates_to": { "rel_type": "m.reference", "event_id": poll },
    })
}

/// Tells contents apart; where one stands is no part of it.
pub(super) fn digest(content: &Value) -> String {
    let mut content = content.clone();
    if let Some(fields) = content.as_object_mut() {
        fields.remove("m.relates_to");
        fields.remove(KEY);
    }
    let hash = Sha256::digest(content.to_string());
    hash.iter().take(12).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use matrix_sdk::ruma::event_id;
    use vigie_core::{Timestamp, id::DeliveryId};

    fn text(body: &str) -> Text {
        Text { body: body.into(), html: None }
    }

    fn part() -> Part {
        Part::first(DeliveryId::from_parts(Timestamp::default(), 1))
    }

    #[test]
    fn only_what_rings_calls_somebody() {
        let ines: OwnedUserId = "@ines:example.org".try_into().unwrap();
        let silent = words(&text("@ines:example.org and @room"), None);
        assert_eq!((&silent["msgtype"], &silent["m.mentions"]), (&json!("m.notice"), &json!({})));
        let ringing = words(&text("Yes?"), Some(&[ines]));
        assert_eq!(ringing["msgtype"], "m.text");
        assert_eq!(ringing["m.mentions"], json!({ "user_ids": ["@ines:example.org"] }));
    }

    #[test]
    fn an_event_of_a_thread_answers_the_newest_where_there_are_no_threads() {
        let thread = Some((event_id!("$root").to_owned(), event_id!("$last").to_owned()));
        let standing = Standing { thread, reply_to: None };
        let content = placed(words(&text("x"), None), &standing, part());
        assert_eq!(
            content["m.relates_to"],
            json!({ "rel_type": "m.thread", "event_id": "$root", "is_falling_back": true,
                "m.in_reply_to": { "event_id": "$last" } })
        );
        let standing = Standing { reply_to: Some(event_id!("$asked").to_owned()), ..standing };
        let content = placed(words(&text("x"), None), &standing, part());
        assert_eq!(content["m.relates_to"]["is_falling_back"], false);
        assert_eq!(content["m.relates_to"]["m.in_reply_to"]["event_id"], "$asked");
    }

    #[test]
    fn where_it_stands_does_not_make_it_another_content() {
        let content = words(&text("x"), None);
        let standing = Standing { thread: None, reply_to: Some(event_id!("$asked").to_owned()) };
        let placed = placed(content.clone(), &standing, part());
        assert_eq!(digest(&placed), digest(&content));
        assert_ne!(digest(&words(&text("y"), None)), digest(&content));
    }

    #[test]
    fn a_change_calls_nobody_and_says_all_of_it_once_more() {
        let ines: OwnedUserId = "@ines:example.org".try_into().unwrap();
        let change = replacement(event_id!("$card"), &words(&text("Yes?"), Some(&[ines])));
        assert_eq!(change["m.mentions"], json!({}));
        assert_eq!(change["body"], "* Yes?");
        assert_eq!(change["m.new_content"]["body"], "Yes?");
        assert_eq!(change["m.relates_to"], json!({ "rel_type": "m.replace", "event_id": "$card" }));
    }

    #[test]
    fn looks_go_before_words_do() {
        let html = |length: usize| Some("<br>".repeat(length / 4));
        let short = Text { body: "x".repeat(8_000), html: html(12_000) };
        assert_eq!(fitting(short.clone(), Kind::Edit), Some(short));
        let wide = Text { body: "x".repeat(8_000), html: html(40_000) };
        let plain = Text { html: None, ..wide.clone() };
        assert_eq!(fitting(wide, Kind::New), Some(plain));
        assert_eq!(fitting(text(&"x".repeat(50_000)), Kind::New), None);
    }
}
