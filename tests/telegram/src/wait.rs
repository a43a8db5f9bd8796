//! Waiting for what a person would see. Every wait has a deadline in real time, and fails with a picture.

use std::time::Duration;

use crate::{
    Emulator,
    view::Shown,
    world::{ChatId, MessageId, TopicId},
};

impl Emulator {
    /// Waits until `predicate` holds.
    ///
    /// # Panics
    /// With a picture of all chats, once the deadline has passed.
    pub async fn wait_for(
        &self,
        what: &str,
        deadline: Duration,
        mut predicate: impl FnMut(&Self) -> bool,
    ) {
        self.wait_value(what, deadline, |emulator| predicate(emulator).then_some(())).await;
    }

    /// Waits until `look` finds something, and gives it.
    ///
    /// # Panics
    /// With a picture of all chats, once the deadline has passed.
    pub async fn wait_value<T>(
        &self,
        what: &str,
        deadline: Duration,
        mut look: impl FnMut(&Self) -> Option<T>,
    ) -> T {
        let mut changes = self.shared.subscribe();
        let found = tokio::time::timeout(deadline, async {
            loop {
                changes.borrow_and_update();
                if let Some(found) = look(self) {
                    return found;
                }
                // The sender lives in `self`, so this cannot fail.
                let _ = changes.changed().await;
            }
        });
        found.await.unwrap_or_else(|_| {
            panic!("waited {deadline:?} in vain for {what}\n{}", self.picture())
        })
    }

    /// Waits for a message of the bot that contains `text`, in that topic if one is given (1 being
    /// General). The newest one counts.
    pub async fn wait_message(&self, chat: ChatId, topic: Option<TopicId>, text: &str) -> Shown {
        self.wait_value(
            &format!("a message with `{text}` in chat {chat}"),
            self.patience,
            |emulator| {
                let mut messages = emulator.messages(chat, topic).into_iter().rev();
                messages.find(|message| message.is_bot() && message.text.contains(text))
            },
        )
        .await
    }

    /// Waits for a message with a button of that label. The newest one counts.
    pub async fn wait_button(&self, chat: ChatId, topic: Option<TopicId>, label: &str) -> Shown {
        self.wait_value(&format!("a button `{label}` in chat {chat}"), self.patience, |emulator| {
            emulator.newest(chat, topic, |shown| shown.button(label).is_some())
        })
        .await
    }

    /// Waits until a message has the bot's reaction.
    pub async fn wait_reaction(&self, chat: ChatId, message: MessageId, emoji: &str) {
        let bot = self.bot_id();
        self.wait_for(
            &format!("{emoji} on message {message} in chat {chat}"),
            self.patience,
            |emulator| {
                let shown = emulator.message(chat, message);
                shown.is_some_and(|shown| {
                    shown.reactions.iter().any(|one| one.by == bot && one.emoji == emoji)
                })
            },
        )
        .await;
    }

    /// Waits for a topic of that name which is not gone.
    pub async fn wait_topic(&self, chat: ChatId, name: &str) -> TopicId {
        self.wait_value(&format!("a topic `{name}` in chat {chat}"), self.patience, |emulator| {
            let topics = emulator.topics(chat);
            topics
                .iter()
                .rev()
                .find(|topic| topic.name == name && !topic.deleted)
                .map(|topic| topic.id)
        })
        .await
    }

    /// Waits until the bot has confirmed every update.
    pub async fn wait_confirmed(&self) {
        self.wait_for("the confirmation of all updates", self.patience, |emulator| {
            emulator.waiting_updates() == 0
        })
        .await;
    }

    /// Waits until the bot polls.
    pub async fn wait_polling(&self) {
        self.wait_for("a poll", self.patience, Self::is_polled).await;
    }
}
