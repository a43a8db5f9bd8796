//! An event of Matrix, as far as it is looked at. Whatever is not as it should be is as if it were
//! not there: events are anybody's text.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::markup::incoming::text;

/// One event, as a timeline has it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Event {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(rename = "event_id")]
    pub(super) id: String,
    pub(super) sender: String,
    #[serde(default)]
    pub(super) origin_server_ts: i64,
    #[serde(default)]
    pub(super) state_key: Option<String>,
    #[serde(default)]
    pub(super) content: Map<String, Value>,
    /// Of a redaction, before rooms of version 11.
    #[serde(default)]
    redacts: Option<String>,
    #[serde(default)]
    unsigned: Map<String, Value>,
}

/// What an event says about another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Relation {
    /// The root of the thread that it stands in.
    pub(super) thread: Option<String>,
    /// What it answers, when the person said so.
    pub(super) reply_to: Option<String>,
    /// What it is a new version of.
    pub(super) replaces: Option<String>,
    /// What it puts an emoji on, and the emoji.
    pub(super) annotates: Option<(String, String)>,
    /// What it votes in.
    pub(super) refers_to: Option<String>,
}

impl Event {
    pub(super) fn read(json: &str) -> Result<Self, String> {
        serde_json::from_str(json).map_err(|error| format!("it is no event of Matrix: {error}"))
    }

    pub(super) fn relation(&self) -> Relation {
        relation(&self.content)
    }

    /// What a redaction is about. Source of the two places: Matrix specification, `m.room.redaction`.
    pub(super) fn redacts(&self) -> Option<&str> {
        text(&self.content, "redacts").or(self.redacts.as_deref())
    }

    /// Under which id one of our own events was sent.
    pub(super) fn transaction(&self) -> Option<&str> {
        text(&self.unsigned, "transaction_id")
    }
}

/// What stands under `m.relates_to`.
pub(super) fn relation(content: &Map<String, Value>) -> Relation {
    let Some(Value::Object(said)) = content.get("m.relates_to") else {
        return Relation::default();
    };
    let target = || text(said, "event_id").map(ToOwned::to_owned);
    let falls_back = said.get("is_falling_back").and_then(Value::as_bool).unwrap_or(false);
    let answered = said.get("m.in_reply_to").and_then(|to| to.get("event_id"));
    let answered = answered.and_then(Value::as_str).map(ToOwned::to_owned);
    let mut relation =
        Relation { reply_to: answered.filter(|_| !falls_back), ..Relation::default() };
    match text(said, "rel_type") {
        Some("m.thread" | "io.element.thread") => relation.thread = target(),
        Some("m.replace") => relation.replaces = target(),
        Some("m.annotation") => {
            let emoji = text(said, "key").map(ToOwned::to_owned);
            relation.annotates = target().zip(emoji);
        }
        Some("m.reference") => relation.refers_to = target(),
        Some(_) | None => {}
    }
    relation
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(relation: &Value) -> Relation {
        super::relation(json!({ "m.relates_to": relation }).as_object().unwrap())
    }

    #[test]
    fn what_only_stands_in_a_thread_answers_nothing() {
        let mut said = json!({
            "rel_type": "m.thread", "event_id": "$root", "is_falling_back": true,
            "m.in_reply_to": {"event_id": "$last"}
        });
        let root = Some("$root".to_owned());
        assert_eq!(of(&said), Relation { thread: root.clone(), ..Relation::default() });
        said["is_falling_back"] = json!(false);
        let answer = Some("$last".to_owned());
        assert_eq!(of(&said), Relation { thread: root, reply_to: answer, ..Relation::default() });
    }

    #[test]
    fn what_is_said_wrongly_is_not_said() {
        for said in [
            json!(null),
            json!("m.thread"),
            json!({"rel_type": "m.thread"}),
            json!({"rel_type": "m.annotation", "event_id": "$1"}),
            json!({"rel_type": 7, "event_id": "$1"}),
            json!({"m.in_reply_to": "$1"}),
        ] {
            assert_eq!(of(&said), Relation::default(), "{said}");
        }
    }

    #[test]
    fn a_redaction_names_its_target_in_either_place() {
        let event = |more: &str| {
            let json = format!(
                "{{\"type\":\"m.room.redaction\",\"event_id\":\"$r\",\"sender\":\"@a:b\"{more}}}"
            );
            Event::read(&json).unwrap()
        };
        assert_eq!(event(",\"redacts\":\"$1\"").redacts(), Some("$1"));
        assert_eq!(event(",\"content\":{\"redacts\":\"$2\"}").redacts(), Some("$2"));
        assert_eq!(event("").redacts(), None);
    }
}
