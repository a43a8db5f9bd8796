//! The live state: chats with their messages and topics, and what happens when a message appears.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use serde_json::{Map, Value};

use crate::{
    Clock, Moment,
    faults::ActiveFault,
    files::Files,
    flood::Windows,
    methods::commands::Scope,
    records::Records,
    updates::Inbox,
    world::{
        BotAccount, ChatId, GENERAL, Group, GroupKind, Membership, MessageId, Person, Status,
        TopicId, UserId, World,
    },
};

/// How long a chat action is shown. Source: Bot API, `sendChatAction`.
const ACTION_SHOWN: Duration = Duration::from_secs(5);

/// Everything the emulator knows.
pub(crate) struct State {
    pub(crate) clock: Clock,
    pub(crate) bot: BotAccount,
    /// Whether the token was taken back.
    pub(crate) revoked: bool,
    pub(crate) people: BTreeMap<UserId, Person>,
    pub(crate) chats: BTreeMap<ChatId, Chat>,
    pub(crate) files: Files,
    pub(crate) inbox: Inbox,
    pub(crate) flood_on: bool,
    pub(crate) overall: VecDeque<Moment>,
    pub(crate) faults: Vec<ActiveFault>,
    pub(crate) records: Records,
    pub(crate) callbacks: BTreeMap<String, Callback>,
    pub(crate) commands: BTreeMap<(Scope, String), Vec<Value>>,
    pub(crate) texts: BTreeMap<(&'static str, String), String>,
    /// Private chats and basic groups share one counter.
    next_shared: MessageId,
    /// Runs through callback query ids, albums and file ids.
    serial: u64,
}

/// A chat.
pub(crate) struct Chat {
    pub(crate) id: ChatId,
    pub(crate) kind: ChatKind,
    pub(crate) messages: BTreeMap<MessageId, Message>,
    pub(crate) topics: BTreeMap<TopicId, Topic>,
    pub(crate) members: BTreeMap<UserId, Membership>,
    pub(crate) toasts: Vec<Toast>,
    pub(crate) actions: Vec<Action>,
    pub(crate) drafts: Vec<Draft>,
    pub(crate) pinned: Vec<MessageId>,
    pub(crate) windows: Windows,
    next: MessageId,
}

/// What kind of chat, with what only that kind has.
pub(crate) enum ChatKind {
    Private { started: bool, blocked: bool, deactivated: bool },
    Group { kind: GroupKind, title: String, migrated_to: Option<ChatId> },
}

impl Chat {
    pub(crate) fn is_forum(&self) -> bool {
        matches!(self.kind, ChatKind::Group { kind: GroupKind::Forum, .. })
    }

    pub(crate) fn is_private(&self) -> bool {
        matches!(self.kind, ChatKind::Private { .. })
    }

    pub(crate) fn is_supergroup(&self) -> bool {
        match &self.kind {
            ChatKind::Private { .. } => false,
            ChatKind::Group { kind, .. } => *kind != GroupKind::Basic,
        }
    }

    pub(crate) fn member(&self, user: UserId) -> Membership {
        self.members.get(&user).cloned().unwrap_or_else(|| Membership::of(Status::Left))
    }

    /// A message that is still there.
    pub(crate) fn message(&self, id: MessageId) -> Option<&Message> {
        self.messages.get(&id).filter(|message| !message.deleted)
    }

    pub(crate) fn message_mut(&mut self, id: MessageId) -> Option<&mut Message> {
        self.messages.get_mut(&id).filter(|message| !message.deleted)
    }
}

/// Who is seen as the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The bot.
    Bot,
    /// A person by name.
    Person(UserId),
    /// An administrator who writes as the group.
    Anonymous,
    /// A person who writes as a channel: its id and title.
    Channel(ChatId, String),
    /// A post of the linked channel, which Telegram itself puts into the group: its id and title.
    LinkedPost(ChatId, String),
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) id: MessageId,
    pub(crate) sender: Sender,
    /// In a forum always a topic, General included; elsewhere only a private chat's topic.
    pub(crate) topic: Option<TopicId>,
    pub(crate) at: Moment,
    pub(crate) edited: Option<Moment>,
    /// `text`, `entities`, `document`, … as in the Bot API.
    pub(crate) body: Map<String, Value>,
    pub(crate) markup: Option<Value>,
    /// Sent with a keyboard that is not inline, and so never editable.
    pub(crate) keyboard: bool,
    pub(crate) reply_to: Option<MessageId>,
    pub(crate) external_reply: Option<Value>,
    pub(crate) quote: Option<Value>,
    pub(crate) silent: bool,
    pub(crate) reactions: BTreeMap<UserId, Vec<Value>>,
    pub(crate) deleted: bool,
    pub(crate) versions: Vec<Version>,
    /// `forward_origin`, `has_protected_content`, …
    pub(crate) extra: Map<String, Value>,
}

/// What a message was before an edit, and until when.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) until: Moment,
    pub(crate) body: Map<String, Value>,
    pub(crate) markup: Option<Value>,
}

/// The bodies of service messages.
const SERVICE: [&str; 9] = [
    "forum_topic_created",
    "forum_topic_edited",
    "forum_topic_closed",
    "forum_topic_reopened",
    "pinned_message",
    "new_chat_members",
    "left_chat_member",
    "migrate_to_chat_id",
    "migrate_from_chat_id",
];

impl Message {
    pub(crate) fn new(sender: Sender, topic: Option<TopicId>, body: Map<String, Value>) -> Self {
        Self {
            id: 0,
            sender,
            topic,
            at: Moment::ZERO,
            edited: None,
            body,
            markup: None,
            keyboard: false,
            reply_to: None,
            external_reply: None,
            quote: None,
            silent: false,
            reactions: BTreeMap::new(),
            deleted: false,
            versions: Vec::new(),
            extra: Map::new(),
        }
    }

    /// The service message this is, if it is one.
    pub(crate) fn service(&self) -> Option<&'static str> {
        SERVICE.into_iter().find(|name| self.body.contains_key(*name))
    }

    /// Text or caption.
    pub(crate) fn words(&self) -> &str {
        ["text", "caption"]
            .into_iter()
            .find_map(|name| self.body.get(name)?.as_str())
            .unwrap_or_default()
    }

    /// Puts a new content in place of the old one, which stays as a version.
    pub(crate) fn change(&mut self, now: Moment, body: Map<String, Value>, markup: Option<Value>) {
        let body = std::mem::replace(&mut self.body, body);
        let markup = std::mem::replace(&mut self.markup, markup);
        self.versions.push(Version { until: now, body, markup });
        self.edited = Some(now);
    }
}

/// A topic.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    pub(crate) name: String,
    pub(crate) icon: Option<String>,
    /// The bot or person who made it; none for General.
    pub(crate) creator: Option<UserId>,
    pub(crate) closed: bool,
    pub(crate) deleted: bool,
}

/// What popped up on a person's phone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toast {
    /// Whose phone.
    pub user: UserId,
    /// The text.
    pub text: String,
    /// Whether it stays until it is closed.
    pub alert: bool,
    /// When.
    pub at: Moment,
}

/// A `sendChatAction`.
pub(crate) struct Action {
    pub(crate) name: String,
    pub(crate) topic: Option<TopicId>,
    pub(crate) at: Moment,
}

impl Action {
    pub(crate) fn is_shown(&self, now: Moment) -> bool {
        now < self.at + ACTION_SHOWN
    }
}

/// A preview that streams.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) id: i64,
    pub(crate) topic: Option<TopicId>,
    pub(crate) text: String,
    pub(crate) entities: Vec<crate::text::Entity>,
    pub(crate) until: Moment,
    pub(crate) can_stop: bool,
    pub(crate) keep_on_stop: bool,
    pub(crate) stopped: bool,
}

/// A press of a button.
pub(crate) struct Callback {
    pub(crate) chat: ChatId,
    pub(crate) user: UserId,
    pub(crate) at: Moment,
    pub(crate) answer: Option<Toast>,
}

impl State {
    pub(crate) fn new(world: World) -> Self {
        let mut state = Self {
            inbox: Inbox::new(world.slow_busy_polls),
            clock: world.clock,
            bot: world.bot,
            revoked: false,
            people: BTreeMap::new(),
            chats: BTreeMap::new(),
            files: Files::default(),
            flood_on: world.flood,
            overall: VecDeque::new(),
            faults: Vec::new(),
            records: Records::default(),
            callbacks: BTreeMap::new(),
            commands: BTreeMap::new(),
            texts: BTreeMap::new(),
            next_shared: 2,
            serial: 0,
        };
        for person in world.people {
            state.add_person(person);
        }
        for group in world.groups {
            state.add_group(group);
        }
        state
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// A number never given before.
    pub(crate) fn serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub(crate) fn add_person(&mut self, person: Person) {
        let kind =
            ChatKind::Private { started: person.started, blocked: false, deactivated: false };
        self.chats.insert(person.id, Chat::new(person.id, kind));
        self.people.insert(person.id, person);
    }

    pub(crate) fn add_group(&mut self, group: Group) {
        let kind = ChatKind::Group { kind: group.kind, title: group.title, migrated_to: None };
        let mut chat = Chat::new(group.id, kind);
        chat.members = group.members.into_iter().collect();
        chat.members.insert(self.bot.id(), group.bot);
        if group.kind == GroupKind::Forum {
            let general = Topic {
                name: "General".into(),
                icon: None,
                creator: None,
                closed: false,
                deleted: false,
            };
            chat.topics.insert(GENERAL, general);
        }
        self.chats.insert(group.id, chat);
    }

    /// The chat, which the caller has looked up before.
    pub(crate) fn chat(&self, id: ChatId) -> &Chat {
        self.chats.get(&id).unwrap_or_else(|| panic!("there is no chat {id}"))
    }

    pub(crate) fn chat_mut(&mut self, id: ChatId) -> &mut Chat {
        self.chats.get_mut(&id).unwrap_or_else(|| panic!("there is no chat {id}"))
    }

    /// Puts a message into a chat without telling the bot, and gives its id.
    pub(crate) fn place(&mut self, chat: ChatId, mut message: Message) -> MessageId {
        let now = self.now();
        let shared = &mut self.next_shared;
        let chat = self.chats.get_mut(&chat).unwrap_or_else(|| panic!("there is no chat {chat}"));
        let next = if chat.is_supergroup() { &mut chat.next } else { shared };
        let id = *next;
        *next += 1;
        message.id = id;
        message.at = now;
        if message.sender == Sender::Bot {
            let topic = message.topic;
            chat.drafts.retain(|draft| draft.topic != topic); // any real message takes the preview away
        }
        chat.messages.insert(id, message);
        id
    }

    /// Puts a message into a chat, and tells the bot what it would learn of it.
    pub(crate) fn post(&mut self, chat: ChatId, message: Message) -> MessageId {
        let id = self.place(chat, message);
        self.tell(chat, id, "message");
        id
    }

    /// Queues an update about a message, if the bot is to see it.
    pub(crate) fn tell(&mut self, chat: ChatId, id: MessageId, kind: &str) {
        if self.sees(chat, id) {
            let payload = self.message_json(chat, id);
            self.push(kind, payload);
        }
    }

    /// Whether the bot hears of a message: never of its own, but of its service messages; in groups
    /// only what privacy mode lets through.
    fn sees(&self, chat: ChatId, id: MessageId) -> bool {
        let chat = self.chat(chat);
        let message = &chat.messages[&id];
        let service = message.service().is_some();
        if message.sender == Sender::Bot && !service {
            return false;
        }
        if chat.is_private() {
            return true;
        }
        let status = chat.member(self.bot.id()).status;
        let to_bot = message
            .reply_to
            .and_then(|id| chat.messages.get(&id))
            .is_some_and(|target| target.sender == Sender::Bot);
        let words = message.words();
        let named = words.starts_with('/') || words.contains(&format!("@{}", self.bot.username));
        status.is_in() && (status.administers() || self.bot.reads_all || service || to_bot || named)
    }
}

impl Chat {
    fn new(id: ChatId, kind: ChatKind) -> Self {
        Self {
            id,
            kind,
            messages: BTreeMap::new(),
            topics: BTreeMap::new(),
            members: BTreeMap::new(),
            toasts: Vec::new(),
            actions: Vec::new(),
            drafts: Vec::new(),
            pinned: Vec::new(),
            windows: Windows::default(),
            next: 2, // a group's first message says that it was made
        }
    }
}
