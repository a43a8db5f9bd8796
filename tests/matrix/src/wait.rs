//! Waiting for what a person would see. Every wait has a deadline in real time, and fails with a picture.

use std::time::Duration;

use crate::{
    Phone,
    view::{Membership, Message, Room, View},
};

impl Phone {
    /// Waits until `predicate` holds.
    ///
    /// # Panics
    /// With all that is on the phone, once the deadline has passed or the phone's program has ended.
    pub async fn wait_for(
        &self,
        what: &str,
        deadline: Duration,
        mut predicate: impl FnMut(&View) -> bool,
    ) {
        self.wait_value(what, deadline, |view| predicate(view).then_some(())).await;
    }

    /// Waits until `look` finds something, and gives it.
    ///
    /// # Panics
    /// As [`Self::wait_for`].
    pub async fn wait_value<T>(
        &self,
        what: &str,
        deadline: Duration,
        mut look: impl FnMut(&View) -> Option<T>,
    ) -> T {
        let mut changes = self.shared.changes.subscribe();
        let found = tokio::time::timeout(deadline, async {
            loop {
                changes.borrow_and_update();
                let view = self.view();
                if let Some(found) = look(&view) {
                    return Some(found);
                }
                if view.ended.is_some() {
                    return None;
                }
                // The sender lives in `self`, so this cannot fail.
                let _ = changes.changed().await;
            }
        });
        found.await.ok().flatten().unwrap_or_else(|| {
            panic!(
                "waited {deadline:?} in vain for {what}\non the phone of {}:\n{}",
                self.user(),
                self.view()
            )
        })
    }

    /// Waits for a message of somebody else's with those words in it. The newest one counts.
    pub async fn wait_message(&self, room: &str, words: &str) -> Message {
        let what = format!("a message with `{words}` in {room}");
        self.wait_value(&what, self.patience, |view| {
            view.rooms.get(room)?.newest_with(words, self.user()).cloned()
        })
        .await
    }

    /// Waits for a message of somebody else's in that thread. The newest one counts.
    pub async fn wait_in_thread(&self, room: &str, thread: &str, words: &str) -> Message {
        let what = format!("a message with `{words}` in the thread {thread} of {room}");
        self.wait_value(&what, self.patience, |view| {
            let mut messages = view.rooms.get(room)?.thread(thread).rev();
            messages.find(|message| message.sender != self.user() && message.says(words)).cloned()
        })
        .await
    }

    /// Waits until that message says those words after an edit.
    pub async fn wait_edit(&self, room: &str, message: &str, words: &str) -> Message {
        let what = format!("an edit of {message} in {room} to `{words}`");
        self.wait_value(&what, self.patience, |view| {
            let found = view.message(room, message)?;
            (!found.versions.is_empty() && found.says(words)).then(|| found.clone())
        })
        .await
    }

    /// Waits until somebody else's reaction is on that message.
    pub async fn wait_reaction(&self, room: &str, message: &str, key: &str) {
        let what = format!("{key} on {message} in {room}");
        self.wait_for(&what, self.patience, |view| {
            let Some(found) = view.message(room, message) else { return false };
            let others = found.reactions.iter().filter(|one| one.by != self.user());
            others.into_iter().any(|one| found.has_reaction(&one.by, key))
        })
        .await;
    }

    /// Waits until that message is taken back.
    pub async fn wait_redaction(&self, room: &str, message: &str) {
        let what = format!("that {message} in {room} is taken back");
        self.wait_for(&what, self.patience, |view| {
            view.message(room, message).is_some_and(|message| message.redacted)
        })
        .await;
    }

    /// Waits for a room of that name that the person is in or may come into.
    pub async fn wait_room(&self, name: &str) -> Room {
        self.wait_value(&format!("a room `{name}`"), self.patience, |view| {
            let mut rooms = view.rooms.values();
            let stays = |room: &&Room| room.membership != Membership::Left;
            rooms.find(|room| room.name.as_deref() == Some(name) && stays(room)).cloned()
        })
        .await
    }

    /// Waits for an invitation of somebody's.
    pub async fn wait_invitation(&self, by: &str) -> Room {
        self.wait_value(&format!("an invitation of {by}"), self.patience, |view| {
            let mut rooms = view.rooms.values();
            rooms
                .find(|room| {
                    room.membership == Membership::Invited && room.invited_by.as_deref() == Some(by)
                })
                .cloned()
        })
        .await
    }

    /// Waits until somebody stands so to a room.
    pub async fn wait_member(&self, room: &str, user: &str, membership: Membership) {
        let what = format!("that {user} is {membership:?} in {room}");
        self.wait_for(&what, self.patience, |view| {
            let members = view.rooms.get(room).map(|room| &room.members);
            members.and_then(|members| members.get(user)) == Some(&membership)
        })
        .await;
    }

    /// Waits until somebody has read that message.
    pub async fn wait_read(&self, room: &str, message: &str, by: &str) {
        let receipt = (by.to_owned(), message.to_owned());
        self.wait_for(&format!("that {by} has read {message}"), self.patience, |view| {
            view.rooms.get(room).is_some_and(|room| room.read.contains(&receipt))
        })
        .await;
    }

    /// Waits until somebody is typing.
    pub async fn wait_typing(&self, room: &str, user: &str) {
        self.wait_for(&format!("that {user} types in {room}"), self.patience, |view| {
            view.rooms.get(room).is_some_and(|room| room.typing.contains(user))
        })
        .await;
    }
}
