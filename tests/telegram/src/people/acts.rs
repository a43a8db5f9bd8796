//! What people do to messages: edit, delete, press, react.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::{
    Emulator,
    state::{Callback, State, Toast},
    text::formatted,
    wire::unix,
    world::{ChatId, MessageId, UserId},
};

/// A press of a button.
#[must_use = "a press has an answer; `let _ =` says that it does not matter"]
pub struct Pressed<'a> {
    emulator: &'a Emulator,
    /// The id of the callback query.
    pub id: String,
}

/// What the bot answered to a press.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The text, empty if the spinner just stops.
    pub text: String,
    /// Whether the text stays until it is closed.
    pub alert: bool,
}

impl Pressed<'_> {
    /// The answer so far.
    pub fn so_far(&self) -> Option<Answer> {
        self.emulator.shared.look(|state| {
            let Toast { text, alert, .. } = state.callbacks[&self.id].answer.clone()?;
            Some(Answer { text, alert })
        })
    }

    /// Waits for the answer.
    ///
    /// # Panics
    /// With a picture of all chats, if none comes.
    pub async fn answer(&self) -> Answer {
        self.answer_within(self.emulator.patience).await
    }

    /// Waits for the answer so long.
    ///
    /// # Panics
    /// With a picture of all chats, if none comes.
    pub async fn answer_within(&self, deadline: Duration) -> Answer {
        self.emulator.wait_value("an answer to the press", deadline, |_| self.so_far()).await
    }
}

impl Emulator {
    /// A person changes the text or caption of a message.
    pub fn edit(&self, chat: ChatId, message: MessageId, text: &str) {
        self.shared.act(|state| {
            let words = formatted(text, &[])
                .unwrap_or_else(|error| panic!("the app would not send this: {error}"));
            let now = state.now();
            let target = there(state, chat, message);
            let (field, entities) = if target.body.contains_key("text") {
                ("text", "entities")
            } else {
                ("caption", "caption_entities")
            };
            let mut body: Map<String, Value> = target.body.clone();
            body.remove(entities);
            body.insert(field.into(), words.text.into());
            if !words.entities.is_empty() {
                body.insert(entities.into(), json!(words.entities));
            }
            let markup = target.markup.clone();
            target.change(now, body, markup);
            state.tell(chat, message, "edited_message");
        });
    }

    /// A person deletes a message. The bot is not told.
    pub fn delete(&self, chat: ChatId, message: MessageId) {
        self.shared.act(|state| there(state, chat, message).deleted = true);
    }

    /// A person presses the button with this label, or if there is none with this `callback_data`.
    ///
    /// # Panics
    /// With a picture, if the message has no such button.
    pub fn press(
        &self,
        chat: ChatId,
        message: MessageId,
        from: UserId,
        button: &str,
    ) -> Pressed<'_> {
        let data = self.shared.look(|state| {
            let markup =
                state.chat(chat).message(message).and_then(|message| message.markup.as_ref());
            find_button(markup, button)
        });
        let data = data.unwrap_or_else(|| {
            panic!(
                "message {message} in chat {chat} has no button `{button}` to press\n{}",
                self.picture()
            )
        });
        self.press_old(chat, message, from, &data)
    }

    /// A person presses a button that their phone still shows, but that is no longer there; or one of a
    /// message that is gone.
    pub fn press_old(
        &self,
        chat: ChatId,
        message: MessageId,
        from: UserId,
        data: &str,
    ) -> Pressed<'_> {
        let id = self.shared.act(|state| {
            let at = state.now();
            // Long numbers, as Telegram's are.
            let id = (4_294_967_296_000_000_000 + state.serial()).to_string();
            let payload = json!({
                "id": id,
                "from": state.user_json(from),
                "message": pressed_message(state, chat, message),
                "chat_instance": format!("{}", 700_000_000_000 + chat.unsigned_abs()),
                "data": data,
            });
            state.callbacks.insert(id.clone(), Callback { chat, user: from, at, answer: None });
            state.push("callback_query", payload);
            id
        });
        Pressed { emulator: self, id }
    }

    /// A person sets their reaction, or takes it away.
    pub fn react(&self, chat: ChatId, message: MessageId, from: UserId, emoji: Option<&str>) {
        self.shared.act(|state| {
            let new: Vec<Value> = emoji.iter().map(|emoji| json!({"type": "emoji", "emoji": emoji})).collect();
            let target = there(state, chat, message);
            let old = target.reactions.remove(&from).unwrap_or_default();
            if !new.is_empty() {
                target.reactions.insert(from, new.clone());
            }
            let place = state.chat(chat);
            // In groups only administrators hear of reactions.
            if place.is_private() || place.member(state.bot.id()).status.administers() {
                let payload = json!({
                    "chat": state.chat_json(chat), "message_id": message, "user": state.user_json(from),
                    "date": unix(state.now()), "old_reaction": old, "new_reaction": new,
                });
                state.push("message_reaction", payload);
            }
        });
    }

    /// A person presses Stop under a streaming preview that has the button.
    pub fn stop_draft(&self, chat: ChatId) {
        self.shared.act(|state| {
            let now = state.now();
            let drafts = &mut state.chat_mut(chat).drafts;
            let draft = drafts
                .iter_mut()
                .find(|draft| draft.can_stop && !draft.stopped && now < draft.until)
                .unwrap_or_else(|| panic!("no preview in chat {chat} has a Stop button"));
            draft.stopped = true;
            if !draft.keep_on_stop {
                draft.text.clear();
                draft.entities.clear();
            }
            let (id, topic) = (draft.id, draft.topic);
            let mut payload = json!({"chat": state.chat_json(chat), "draft_id": id});
            if let Some(topic) = topic {
                payload["message_thread_id"] = topic.into();
            }
            state.push("stopped_message_generation", payload);
        });
    }
}

/// A message that a person can do something with.
fn there(state: &mut State, chat: ChatId, message: MessageId) -> &mut crate::state::Message {
    let found = state.chat_mut(chat).message_mut(message);
    found.unwrap_or_else(|| panic!("there is no message {message} in chat {chat}"))
}

/// What a press says of its message: one that is gone is inaccessible, with date 0.
fn pressed_message(state: &State, chat: ChatId, message: MessageId) -> Value {
    match state.chat(chat).message(message) {
        Some(_) => state.message_json(chat, message),
        None => json!({"chat": state.chat_json(chat), "message_id": message, "date": 0}),
    }
}

fn find_button(markup: Option<&Value>, wanted: &str) -> Option<String> {
    let rows = markup?.get("inline_keyboard")?.as_array()?;
    let buttons: Vec<&Value> = rows.iter().filter_map(Value::as_array).flatten().collect();
    ["text", "callback_data"].into_iter().find_map(|field| {
        let button = buttons
            .iter()
            .find(|button| button.get(field).and_then(Value::as_str) == Some(wanted))?;
        button.get("callback_data")?.as_str().map(str::to_owned)
    })
}
