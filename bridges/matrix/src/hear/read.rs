//! An event as what it means to us. Plain functions: the same text always means the same.

use matrix_sdk::ruma::events::room::MediaSource;
use serde_json::{Map, Value};

use super::event::{Event, Relation};
use crate::{
    markup::incoming::{self, text},
    store::heard::{Trust, Waiting},
};

/// What an event says to us.
#[derive(Clone, Debug)]
pub(super) enum Told {
    /// Nothing that we act on, and why.
    Nothing(&'static str),
    Said(Piece),
    /// A message has other words now.
    Edited {
        message: String,
        text: String,
    },
    /// An emoji on a message.
    Reacted {
        on: String,
        emoji: String,
    },
    /// A vote in a poll; the last one counts.
    Voted {
        poll: String,
        answer: String,
    },
    /// An event was taken back.
    Redacted {
        event: String,
    },
    /// It says that it is another event, or somebody else's.
    Swapped,
    /// Something that cannot be read, or not yet.
    Sealed,
    /// Before this event more was written than is fetched.
    Gap,
}

impl Told {
    /// The message that it answers: nobody knows what it means before it is known what that is.
    pub(super) fn answers(&self) -> Option<&str> {
        match self {
            Self::Reacted { on, .. } => Some(on),
            Self::Voted { poll, .. } => Some(poll),
            Self::Said(piece) => piece.reply_to.as_deref(),
            Self::Nothing(_)
            | Self::Edited { .. }
            | Self::Redacted { .. }
            | Self::Swapped
            | Self::Sealed
            | Self::Gap => None,
        }
    }
}

/// What somebody wrote.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) reply_to: Option<String>,
    pub(super) file: Option<Offered>,
}

impl Piece {
    /// A command need not wait for what a person sent before.
    pub(super) fn is_command(&self) -> bool {
        self.file.is_none() && self.text.starts_with('/')
    }
}

/// A file that lies on the homeserver.
#[derive(Clone, Debug)]
pub(super) struct Offered {
    /// As the person sent it: not safe.
    pub(super) name: String,
    /// As the person's app says.
    pub(super) size: Option<u64>,
    pub(super) source: MediaSource,
}

/// What is kept of a timeline; everything else is about the room.
pub(super) fn is_for_us(kind: &str) -> bool {
    matches!(
        kind,
        "m.room.message"
            | "m.room.encrypted"
            | "m.reaction"
            | "m.room.redaction"
            | "m.sticker"
            | "m.poll.response"
            | "org.matrix.msc3381.poll.response"
    )
}

/// Whether apps send events of this kind without encryption in rooms that are encrypted.
/// Source: Matrix specification, "m.room.encrypted": relations are read by homeservers.
pub(super) fn is_never_encrypted(kind: &str) -> bool {
    matches!(kind, "m.reaction" | "m.room.redaction")
}

/// What the row says; `me` is the id of our own account.
pub(super) fn read(row: &Waiting, me: &str) -> Result<Told, String> {
    match row.opened.trust {
        Trust::Sealed => return Ok(Told::Sealed),
        Trust::Gap => return Ok(Told::Gap),
        Trust::Signed | Trust::Unsigned | Trust::Changed | Trust::Plain | Trust::Bare => {}
    }
    let event = Event::read(&row.json)?;
    if event.sender != row.sender || event.id != row.event {
        return Ok(Told::Swapped);
    }
    if event.state_key.is_some() {
        return Ok(Told::Nothing("it is about the room"));
    }
    let relation = event.relation();
    Ok(match event.kind.as_str() {
        "m.room.message" => message(&event.content, relation, me),
        "m.sticker" => sticker(&event.content, relation),
        "m.reaction" => reaction(relation),
        "m.room.redaction" => match event.redacts() {
            Some(target) => Told::Redacted { event: target.to_owned() },
            None => Told::Nothing("a redaction of nothing"),
        },
        "m.poll.response" | "org.matrix.msc3381.poll.response" => vote(&event.content, relation),
        _ => Told::Nothing("no kind that we know"),
    })
}

fn message(content: &Map<String, Value>, relation: Relation, me: &str) -> Told {
    if let Some(message) = relation.replaces {
        return match content.get("m.new_content") {
            Some(Value::Object(new)) => Told::Edited { message, text: words_of(new, me) },
            Some(_) | None => Told::Nothing("an edit without words"),
        };
    }
    let reply_to = relation.reply_to;
    match text(content, "msgtype") {
        Some("m.text" | "m.emote") => {
            let text = incoming::words(content, me);
            Told::Said(Piece { text, reply_to, file: None })
        }
        Some("m.location") => {
            let lines = [text(content, "body"), text(content, "geo_uri")];
            let text = lines.into_iter().flatten().collect::<Vec<_>>().join("\n");
            Told::Said(Piece { text, reply_to, file: None })
        }
        Some("m.image" | "m.file" | "m.audio" | "m.video") => match offered(content) {
            Some(file) => {
                let text = incoming::caption(content, me);
                Told::Said(Piece { text, reply_to, file: Some(file) })
            }
            None => Told::Nothing("a file that lies nowhere"),
        },
        // Bots talk like that, and bots that answer bots do not end.
        Some("m.notice" | "m.server_notice") => Told::Nothing("a notice"),
        Some(kind) if kind.starts_with("m.key.verification.") => {
            Told::Nothing("a verification, which goes its own way")
        }
        Some(_) => Told::Said(Piece { text: incoming::words(content, me), reply_to, file: None }),
        None => Told::Nothing("it was taken back"),
    }
}

/// An edited message, or an edited caption.
fn words_of(content: &Map<String, Value>, me: &str) -> String {
    match text(content, "msgtype") {
        Some("m.image" | "m.file" | "m.audio" | "m.video") => incoming::caption(content, me),
        Some(_) | None => incoming::words(content, me),
    }
}

fn sticker(content: &Map<String, Value>, relation: Relation) -> Told {
    match offered(content) {
        Some(file) => {
            Told::Said(Piece { text: String::new(), reply_to: relation.reply_to, file: Some(file) })
        }
        None => Told::Nothing("a sticker that lies nowhere"),
    }
}

fn offered(content: &Map<String, Value>) -> Option<Offered> {
    let source = match (content.get("file"), text(content, "url")) {
        (Some(file), _) => {
            let file = serde_json::from_value(file.clone()).ok()?;
            MediaSource::Encrypted(Box::new(file))
        }
        (None, Some(url)) => MediaSource::Plain(url.into()),
        (None, None) => return None,
    };
    let size = content.get("info").and_then(|info| info.get("size")).and_then(Value::as_u64);
    let name = text(content, "filename").or_else(|| text(content, "body")).unwrap_or_default();
    Some(Offered { name: name.to_owned(), size, source })
}

fn reaction(relation: Relation) -> Told {
    match relation.annotates {
        Some((on, emoji)) => Told::Reacted { on, emoji },
        None => Told::Nothing("a reaction on nothing"),
    }
}

/// Source of the two places: Matrix specification, "Polls", and MSC3381 before it was stable.
fn vote(content: &Map<String, Value>, relation: Relation) -> Told {
    let unstable = content.get("org.matrix.msc3381.poll.response").and_then(|it| it.get("answers"));
    let answers = content.get("m.selections").or(unstable).and_then(Value::as_array);
    let answer = answers.and_then(|answers| answers.first()).and_then(Value::as_str);
    match (relation.refers_to, answer) {
        (Some(poll), Some(answer)) => Told::Voted { poll, answer: answer.to_owned() },
        (Some(_), None) => Told::Nothing("a vote taken back"),
        (None, _) => Told::Nothing("a vote in nothing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::heard::Opened;

    #[test]
    fn what_says_it_is_anothers_is_nobodys() {
        let row = |sender: &str, event: &str| Waiting {
            id: 1,
            room: "!room".into(),
            event: event.into(),
            sender: sender.into(),
            thread: None,
            sent: 0,
            received: 0,
            json: r#"{"type":"m.room.message","event_id":"$1","sender":"@ines:example.org",
                "content":{"msgtype":"m.text","body":"words"}}"#
                .into(),
            opened: Opened::as_is(Trust::Signed),
            told: 0,
        };
        let read = |row: &Waiting| read(row, "@vigie:example.org").unwrap();
        assert!(matches!(read(&row("@ines:example.org", "$1")), Told::Said(_)));
        assert!(matches!(read(&row("@eve:example.org", "$1")), Told::Swapped));
        assert!(matches!(read(&row("@ines:example.org", "$2")), Told::Swapped));
    }
}
