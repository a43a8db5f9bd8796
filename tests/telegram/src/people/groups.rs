//! What people do to chats: topics, members, blocking, growing into a supergroup.

use serde_json::{Value, json};

use crate::{
    Emulator,
    methods::topics::Toggle,
    state::{ChatKind, Sender, State},
    wire::unix,
    world::{ChatId, Group, GroupKind, Membership, Status, TopicId, UserId},
};

/// The colour that the app gives a topic.
const COLOR: i64 = 7_322_096;

impl Emulator {
    /// A person makes a topic.
    pub fn create_topic(&self, chat: ChatId, by: UserId, name: &str) -> TopicId {
        self.shared.act(|state| state.create_topic(chat, Sender::Person(by), by, name, COLOR, None))
    }

    /// A person closes a topic.
    pub fn close_topic(&self, chat: ChatId, by: UserId, topic: TopicId) {
        self.shared.act(|state| state.toggle_topic(chat, Sender::Person(by), topic, Toggle::Close));
    }

    /// A person opens a topic again.
    pub fn reopen_topic(&self, chat: ChatId, by: UserId, topic: TopicId) {
        self.shared
            .act(|state| state.toggle_topic(chat, Sender::Person(by), topic, Toggle::Reopen));
    }

    /// A person gives a topic another name.
    pub fn rename_topic(&self, chat: ChatId, by: UserId, topic: TopicId, name: &str) {
        self.shared.act(|state| {
            state.change_topic(chat, Sender::Person(by), topic, Some(name.into()), None);
        });
    }

    /// A person deletes a topic with all that is in it. The bot is not told.
    pub fn delete_topic(&self, chat: ChatId, topic: TopicId) {
        self.shared.act(|state| state.delete_topic(chat, topic));
    }

    /// A person changes what somebody, or the bot, is in a group: added, removed, promoted, restricted.
    pub fn member(&self, chat: ChatId, by: UserId, whom: UserId, membership: Membership) {
        self.shared.act(|state| {
            let old = state.member_json(chat, whom);
            let was_in = state.chat(chat).member(whom).status.is_in();
            let joins = !was_in && membership.status.is_in();
            state.chat_mut(chat).members.insert(whom, membership);
            let change = json!({
                "chat": state.chat_json(chat), "from": state.user_json(by), "date": unix(state.now()),
                "old_chat_member": old, "new_chat_member": state.member_json(chat, whom),
            });
            if whom == state.bot.id() {
                state.push("my_chat_member", change);
            } else if state.chat(chat).member(state.bot.id()).status.administers() {
                state.push("chat_member", change);
            }
            if joins {
                let new = json!([state.user_json(whom)]);
                state.post_service(chat, Sender::Person(by), None, "new_chat_members", new);
            }
        });
    }

    /// The bot's id, for [`Emulator::member`].
    pub fn bot_id(&self) -> UserId {
        self.shared.look(|state| state.bot.id())
    }

    /// A person blocks the bot.
    pub fn block(&self, user: UserId) {
        self.shared.act(|state| set_blocked(state, user, true));
    }

    /// A person takes the block back.
    pub fn unblock(&self, user: UserId) {
        self.shared.act(|state| set_blocked(state, user, false));
    }

    /// A person deletes their account.
    pub fn deactivate(&self, user: UserId) {
        self.shared.act(|state| {
            if let ChatKind::Private { deactivated, .. } = &mut state.chat_mut(user).kind {
                *deactivated = true;
            }
        });
    }

    /// A basic group becomes a supergroup, with topics if `kind` says so. Gives its new id.
    ///
    /// # Panics
    /// If the chat is no basic group, or grew already.
    pub fn migrate(&self, chat: ChatId, by: UserId, kind: GroupKind) -> ChatId {
        self.shared.act(|state| {
            let new = -1_002_000_000_000 + chat;
            let bot = state.bot.id();
            let old = state.chat_mut(chat);
            let ChatKind::Group { kind: GroupKind::Basic, title, migrated_to: to @ None } =
                &mut old.kind
            else {
                panic!("chat {chat} is no basic group that could grow");
            };
            *to = Some(new);
            let title = title.clone();
            let mut members: Vec<(UserId, Membership)> = old.members.clone().into_iter().collect();
            members.retain(|(user, _)| *user != bot);
            let group = Group { id: new, title, kind, members, bot: old.member(bot) };
            state.add_group(group);
            state.post_service(chat, Sender::Person(by), None, "migrate_to_chat_id", new.into());
            state.post_service(new, Sender::Person(by), None, "migrate_from_chat_id", chat.into());
            new
        })
    }
}

fn set_blocked(state: &mut State, user: UserId, to: bool) {
    let ChatKind::Private { blocked, .. } = &mut state.chat_mut(user).kind else {
        panic!("{user} is no person");
    };
    if *blocked == to {
        return;
    }
    *blocked = to;
    let status = |blocked: bool| if blocked { Status::Kicked } else { Status::Member };
    let member = |state: &State, blocked: bool| -> Value {
        let mut member = json!({"status": status(blocked).name(), "user": state.bot_json()});
        if blocked {
            member["until_date"] = 0.into();
        }
        member
    };
    let change = json!({
        "chat": state.chat_json(user), "from": state.user_json(user), "date": unix(state.now()),
        "old_chat_member": member(state, !to), "new_chat_member": member(state, to),
    });
    state.push("my_chat_member", change);
}
