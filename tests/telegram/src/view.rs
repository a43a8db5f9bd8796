//! What the phones show.

use std::fmt::Write as _;

use axum::body::Bytes;
use serde_json::Value;

use crate::{
    Emulator, Moment,
    files::MediaKind,
    methods::commands::Scope,
    state::{self, ChatKind, Message, Sender, State, Toast},
    text::Entity,
    world::{ChatId, GENERAL, MessageId, TopicId, UserId},
};

/// A message as a phone shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Its chat.
    pub chat: ChatId,
    /// Its id in that chat.
    pub id: MessageId,
    /// Who wrote it.
    pub from: Sender,
    /// Its topic; none in General and outside of topics.
    pub topic: Option<TopicId>,
    /// Text or caption. A service message has none.
    pub text: String,
    /// Entities of the text.
    pub entities: Vec<Entity>,
    /// The buttons, row by row.
    pub buttons: Vec<Vec<Button>>,
    /// Everybody's reactions.
    pub reactions: Vec<Reaction>,
    /// The message it replies to, other than a topic's first.
    pub reply_to: Option<MessageId>,
    /// The marked part of that message.
    pub quote: Option<String>,
    /// The name of the service message it is, such as `forum_topic_created`.
    pub service: Option<&'static str>,
    /// The attached file.
    pub file: Option<File>,
    /// When it came.
    pub at: Moment,
    /// What it was before each edit, oldest first.
    pub versions: Vec<Version>,
    /// Came without a sound.
    pub silent: bool,
    /// Links show no preview.
    pub no_preview: bool,
}

impl Shown {
    /// Whether the bot wrote it.
    pub fn is_bot(&self) -> bool {
        self.from == Sender::Bot
    }

    /// All buttons in a row.
    pub fn all_buttons(&self) -> impl Iterator<Item = &Button> {
        self.buttons.iter().flatten()
    }

    /// The button with that label.
    pub fn button(&self, label: &str) -> Option<&Button> {
        self.all_buttons().find(|button| button.label == label)
    }
}

/// A button under a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// What is on it.
    pub label: String,
    /// `danger`, `success` or `primary`.
    pub style: Option<String>,
    /// What a press sends to the bot.
    pub data: Option<String>,
    /// Where it leads.
    pub url: Option<String>,
    /// What it copies.
    pub copies: Option<String>,
}

/// Somebody's reaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reaction {
    /// Whose; the bot's has its id.
    pub by: UserId,
    /// The emoji.
    pub emoji: String,
}

/// A file of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// What it is shown as.
    pub kind: MediaKind,
    /// The name.
    pub name: String,
    /// The type.
    pub mime: String,
    /// The content.
    pub bytes: Bytes,
    /// Telegram's id of it.
    pub id: String,
}

/// What a message was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Until when.
    pub until: Moment,
    /// Text or caption.
    pub text: String,
    /// The buttons.
    pub buttons: Vec<Vec<Button>>,
}

/// A topic as a phone lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its id.
    pub id: TopicId,
    /// Its name.
    pub name: String,
    /// Nobody but administrators writes there.
    pub closed: bool,
    /// Gone.
    pub deleted: bool,
}

/// A streaming preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The bot's number of it.
    pub id: i64,
    /// Its topic.
    pub topic: Option<TopicId>,
    /// The text; empty shows "Thinking…".
    pub text: String,
    /// Entities of the text.
    pub entities: Vec<Entity>,
    /// Whether there is a Stop button.
    pub can_stop: bool,
}

/// "typing…" and the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typing {
    /// What it says.
    pub action: String,
    /// Where.
    pub topic: Option<TopicId>,
}

impl Emulator {
    /// The messages of a chat, oldest first; with `topic` only those of that topic, 1 being General.
    pub fn messages(&self, chat: ChatId, topic: Option<TopicId>) -> Vec<Shown> {
        self.shared.look(|state| shown_in(state, chat, topic).collect())
    }

    /// The newest message that fits.
    pub(crate) fn newest(
        &self,
        chat: ChatId,
        topic: Option<TopicId>,
        fits: impl Fn(&Shown) -> bool,
    ) -> Option<Shown> {
        self.shared.look(|state| shown_in(state, chat, topic).rev().find(|shown| fits(shown)))
    }

    /// One message, if it is still there.
    pub fn message(&self, chat: ChatId, id: MessageId) -> Option<Shown> {
        self.shared.look(|state| Some(shown(state, chat, state.chat(chat).message(id)?)))
    }

    /// The topics of a chat, with those that are gone.
    pub fn topics(&self, chat: ChatId) -> Vec<Topic> {
        self.shared.look(|state| {
            let topics = state.chat(chat).topics.iter();
            topics
                .map(|(id, topic)| Topic {
                    id: *id,
                    name: topic.name.clone(),
                    closed: topic.closed,
                    deleted: topic.deleted,
                })
                .collect()
        })
    }

    /// What popped up in a chat, oldest first.
    pub fn toasts(&self, chat: ChatId) -> Vec<Toast> {
        self.shared.look(|state| state.chat(chat).toasts.clone())
    }

    /// Who is typing in a chat now.
    pub fn typing(&self, chat: ChatId) -> Vec<Typing> {
        self.shared.look(|state| {
            let now = state.now();
            let actions = state.chat(chat).actions.iter().filter(|action| action.is_shown(now));
            actions
                .map(|action| Typing { action: action.name.clone(), topic: action.topic })
                .collect()
        })
    }

    /// The previews that stream in a chat now.
    pub fn drafts(&self, chat: ChatId) -> Vec<Draft> {
        self.shared.look(|state| {
            let now = state.now();
            let drafts = state.chat(chat).drafts.iter().filter(|draft| now < draft.until);
            drafts.map(shown_draft).collect()
        })
    }

    /// The pinned messages of a chat, the newest last.
    pub fn pinned(&self, chat: ChatId) -> Vec<MessageId> {
        self.shared.look(|state| state.chat(chat).pinned.clone())
    }

    /// The commands of one scope and language (empty: all others), as name and text.
    pub fn commands(&self, scope: Scope, language: &str) -> Vec<(String, String)> {
        self.shared.look(|state| {
            let commands = state.commands.get(&(scope, language.to_owned()));
            let word =
                |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
            commands
                .into_iter()
                .flatten()
                .map(|command| (word(command, "command"), word(command, "description")))
                .collect()
        })
    }

    /// Whether a poll waits for updates.
    pub fn is_polled(&self) -> bool {
        self.shared.look(|state| state.inbox.poll.is_some())
    }

    /// All chats as text, for a person who wonders why a test failed.
    pub fn picture(&self) -> String {
        self.shared.look(picture)
    }
}

fn shown_draft(draft: &state::Draft) -> Draft {
    Draft {
        id: draft.id,
        topic: draft.topic,
        text: draft.text.clone(),
        entities: draft.entities.clone(),
        can_stop: draft.can_stop && !draft.stopped,
    }
}

fn shown_in(
    state: &State,
    chat: ChatId,
    topic: Option<TopicId>,
) -> impl DoubleEndedIterator<Item = Shown> {
    let messages = state.chat(chat).messages.values().filter(|message| !message.deleted);
    messages
        .filter(move |message| topic.is_none_or(|topic| message.topic.unwrap_or(GENERAL) == topic))
        .map(move |message| shown(state, chat, message))
}

fn shown(state: &State, chat: ChatId, message: &Message) -> Shown {
    let entities =
        ["entities", "caption_entities"].into_iter().find_map(|name| message.body.get(name));
    let emoji = |value: &Value| {
        let named = value.get("emoji").or_else(|| value.get("custom_emoji_id"));
        named.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let reactions = message.reactions.iter();
    Shown {
        chat,
        id: message.id,
        from: message.sender.clone(),
        topic: message.topic.filter(|topic| *topic != GENERAL),
        text: message.words().to_owned(),
        entities: entities
            .map(|entities| {
                serde_json::from_value(entities.clone()).expect("we wrote them ourselves")
            })
            .unwrap_or_default(),
        buttons: buttons(message.markup.as_ref()),
        reactions: reactions
            .flat_map(|(by, list)| {
                list.iter().map(|value| Reaction { by: *by, emoji: emoji(value) })
            })
            .collect(),
        reply_to: message.reply_to,
        quote: message.quote.as_ref().and_then(|quote| quote["text"].as_str()).map(str::to_owned),
        service: message.service(),
        file: file(state, message),
        at: message.at,
        versions: message
            .versions
            .iter()
            .map(|version| Version {
                until: version.until,
                text: Message::new(Sender::Bot, None, version.body.clone()).words().to_owned(),
                buttons: buttons(version.markup.as_ref()),
            })
            .collect(),
        silent: message.silent,
        no_preview: message
            .body
            .get("link_preview_options")
            .is_some_and(|options| options["is_disabled"] == true),
    }
}

fn buttons(markup: Option<&Value>) -> Vec<Vec<Button>> {
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let button = |value: &Value| Button {
        label: word(&value["text"]).unwrap_or_default(),
        style: word(&value["style"]),
        data: word(&value["callback_data"]),
        url: word(&value["url"]),
        copies: word(&value["copy_text"]["text"]),
    };
    let rows = markup.and_then(|markup| markup["inline_keyboard"].as_array());
    rows.into_iter()
        .flatten()
        .filter_map(Value::as_array)
        .map(|row| row.iter().map(button).collect())
        .collect()
}

fn file(state: &State, message: &Message) -> Option<File> {
    let part = MediaKind::ALL.into_iter().find_map(|kind| message.body.get(kind.field()))?;
    let part = part.as_array().and_then(|sizes| sizes.last()).unwrap_or(part);
    let id = part["file_id"].as_str()?;
    let (_, media) = state.files.by_id(id)?;
    Some(File {
        kind: media.kind,
        name: media.name.clone(),
        mime: media.mime.clone(),
        bytes: media.bytes.clone(),
        id: id.into(),
    })
}

/// Writing to a `String` cannot fail, so what `writeln!` gives is passed over.
fn picture(state: &State) -> String {
    let mut out = String::from("what the phones show:\n");
    for chat in state.chats.values() {
        let title = match &chat.kind {
            ChatKind::Private { .. } => state.people[&chat.id].name.clone(),
            ChatKind::Group { title, .. } => title.clone(),
        };
        let _ = writeln!(out, "── {title} ({})", chat.id);
        for (id, topic) in &chat.topics {
            let closed = if topic.closed { ", closed" } else { "" };
            let gone = if topic.deleted { ", deleted" } else { "" };
            let _ = writeln!(out, "   topic {id} \"{}\"{closed}{gone}", topic.name);
        }
        for message in shown_in(state, chat.id, None) {
            draw(&mut out, state, &message);
        }
        for draft in chat.drafts.iter().filter(|draft| state.now() < draft.until) {
            let _ = writeln!(out, "   ✎ {}", draft.text);
        }
        for toast in &chat.toasts {
            let _ = writeln!(out, "   toast for {}: {}", toast.user, toast.text);
        }
    }
    let _ = writeln!(
        out,
        "updates waiting: {}; polled: {}; last calls:",
        state.inbox.waiting(),
        state.inbox.poll.is_some()
    );
    for call in state.records.calls.iter().rev().take(8).rev() {
        let fault = call.fault.map(|fault| format!(" (fault: {fault})")).unwrap_or_default();
        let mut outcome = format!("{:?}", call.outcome);
        outcome.truncate(outcome.char_indices().nth(120).map_or(outcome.len(), |(at, _)| at));
        let _ = writeln!(out, "   {}{fault} → {outcome}", call.method);
    }
    out
}

fn draw(out: &mut String, state: &State, message: &Shown) {
    let who = match &message.from {
        Sender::Bot => state.bot.name.clone(),
        Sender::Person(id) => {
            state.people.get(id).map_or_else(|| id.to_string(), |person| person.name.clone())
        }
        Sender::Anonymous => "(the group)".into(),
        Sender::Channel(_, title) | Sender::LinkedPost(_, title) => title.clone(),
    };
    let topic = message.topic.map(|topic| format!(" #{topic}")).unwrap_or_default();
    let reply = message.reply_to.map(|target| format!(" ↩{target}")).unwrap_or_default();
    let edited = if message.versions.is_empty() { "" } else { " (edited)" };
    let _ = write!(out, "   {}{topic}{reply} {who}{edited}: ", message.id);
    if let Some(service) = message.service {
        let _ = write!(out, "[{service}]");
    }
    if let Some(file) = &message.file {
        let _ = write!(out, "[{} {} {} bytes] ", file.kind.field(), file.name, file.bytes.len());
    }
    let _ = write!(out, "{}", message.text.replace('\n', "\n        "));
    for reaction in &message.reactions {
        let _ = write!(out, " {}", reaction.emoji);
    }
    let _ = writeln!(out);
    for row in &message.buttons {
        let labels: Vec<String> = row.iter().map(|button| format!("[{}]", button.label)).collect();
        let _ = writeln!(out, "        {}", labels.join(" "));
    }
}
