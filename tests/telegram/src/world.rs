//! What there is when an emulator starts: the bot, the people, the groups, and how strict it is.

use std::{collections::BTreeSet, time::Duration};

use crate::Clock;

/// A chat: a person's id for a private chat, negative for groups.
pub type ChatId = i64;
/// A person or bot.
pub type UserId = i64;
/// A message in its chat.
pub type MessageId = i64;
/// A topic: the id of the message that created it.
pub type TopicId = i64;

/// Ada, who owns the group.
pub const ADA: UserId = 1001;
/// Bob, a member of the group.
pub const BOB: UserId = 1002;
/// Somebody nobody knows; in no group.
pub const STRANGER: UserId = 6666;
/// The forum "Agents".
pub const AGENTS: ChatId = -1_001_000_000_001;
/// The topic General of a forum.
pub const GENERAL: TopicId = 1;

/// How long a `wait_…` waits before it gives up: far longer than anything takes, since a busy machine
/// must not fail a test.
const PATIENCE: Duration = Duration::from_mins(1);

/// What there is at the start. Change the fields before [`Emulator::start`](crate::Emulator::start).
#[derive(Clone, Debug)]
pub struct World {
    /// The bot.
    pub bot: BotAccount,
    /// The people. Each has a private chat with the bot.
    pub people: Vec<Person>,
    /// The groups.
    pub groups: Vec<Group>,
    /// Telegram's clock.
    pub clock: Clock,
    /// Whether flood control refuses (it is recorded in either case that a call was charged).
    pub flood: bool,
    /// Whether a poll that repeats its offset at once is slowed, as the real server does.
    pub slow_busy_polls: bool,
    /// How long waiting helpers wait, in real time.
    pub patience: Duration,
    /// The TCP port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
}

impl Default for World {
    fn default() -> Self {
        let mut agents = Group::forum(AGENTS, "Agents");
        agents.members =
            vec![(ADA, Membership::of(Status::Creator)), (BOB, Membership::of(Status::Member))];
        Self {
            bot: BotAccount::default(),
            people: vec![
                Person::new(ADA, "Ada"),
                Person::new(BOB, "Bob"),
                Person::new(STRANGER, "Stranger"),
            ],
            groups: vec![agents],
            clock: Clock::real(),
            flood: true,
            slow_busy_polls: true,
            patience: PATIENCE,
            port: 0,
        }
    }
}

/// The bot as `getMe` shows it.
#[derive(Clone, Debug)]
pub struct BotAccount {
    /// `<id>:<secret>`; the id is read from it.
    pub token: String,
    /// The shown name.
    pub name: String,
    /// Without `@`.
    pub username: String,
    /// Topics in private chats, a switch in `BotFather`.
    pub has_topics_enabled: bool,
    /// Privacy mode off: sees all messages of groups where it is a plain member.
    pub reads_all: bool,
}

impl Default for BotAccount {
    fn default() -> Self {
        Self {
            token: "123456:TEST-TOKEN".into(),
            name: "Bridge".into(),
            username: "bridge123456_bot".into(),
            has_topics_enabled: false,
            reads_all: false,
        }
    }
}

impl BotAccount {
    /// The number before the colon of the token.
    pub fn id(&self) -> UserId {
        let digits = self.token.split(':').next().unwrap_or_default();
        digits.parse().expect("a token begins with the bot's id and a colon")
    }
}

/// Somebody with a phone.
#[derive(Clone, Debug)]
pub struct Person {
    /// The id, also of the private chat with the bot.
    pub id: UserId,
    /// The shown name.
    pub name: String,
    /// Without `@`; the name in lower case.
    pub username: String,
    /// Whether they pressed Start: before that the bot cannot write to them.
    pub started: bool,
}

impl Person {
    /// A person who has pressed Start.
    pub fn new(id: UserId, name: &str) -> Self {
        Self { id, name: name.into(), username: name.to_lowercase(), started: true }
    }
}

/// A group of either kind.
#[derive(Clone, Debug)]
pub struct Group {
    /// Negative; a supergroup's begins with -100.
    pub id: ChatId,
    /// The shown name.
    pub title: String,
    /// What kind of group.
    pub kind: GroupKind,
    /// The people in it.
    pub members: Vec<(UserId, Membership)>,
    /// What the bot is in it.
    pub bot: Membership,
}

impl Group {
    /// A supergroup with topics, with the bot as administrator and nobody else.
    pub fn forum(id: ChatId, title: &str) -> Self {
        Self {
            id,
            title: title.into(),
            kind: GroupKind::Forum,
            members: Vec::new(),
            bot: Membership::of(Status::Administrator),
        }
    }

    /// A basic group, with the bot as member and nobody else.
    pub fn basic(id: ChatId, title: &str) -> Self {
        Self {
            kind: GroupKind::Basic,
            bot: Membership::of(Status::Member),
            ..Self::forum(id, title)
        }
    }
}

/// What kind of group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// The old small kind, which may become a supergroup.
    Basic,
    /// Without topics.
    Supergroup,
    /// A supergroup with topics.
    Forum,
}

/// What somebody is in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Creator,
    Administrator,
    Member,
    Restricted,
    Left,
    Kicked,
}

impl Status {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Creator => "creator",
            Self::Administrator => "administrator",
            Self::Member => "member",
            Self::Restricted => "restricted",
            Self::Left => "left",
            Self::Kicked => "kicked",
        }
    }

    /// Whether somebody with it is in the group.
    pub(crate) fn is_in(self) -> bool {
        match self {
            Self::Creator | Self::Administrator | Self::Member | Self::Restricted => true,
            Self::Left | Self::Kicked => false,
        }
    }

    pub(crate) fn administers(self) -> bool {
        match self {
            Self::Creator | Self::Administrator => true,
            Self::Member | Self::Restricted | Self::Left | Self::Kicked => false,
        }
    }
}

/// The rights of an administrator that `getChatMember` lists.
pub const RIGHTS: [&str; 12] = [
    "can_manage_chat",
    "can_change_info",
    "can_delete_messages",
    "can_invite_users",
    "can_restrict_members",
    "can_pin_messages",
    "can_manage_topics",
    "can_promote_members",
    "can_manage_video_chats",
    "can_post_stories",
    "can_edit_stories",
    "can_delete_stories",
];

/// A status, and the rights it lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The status.
    pub status: Status,
    /// Rights of [`RIGHTS`] an administrator does not have.
    pub denied: BTreeSet<&'static str>,
}

impl Membership {
    /// With every right the status can have.
    pub fn of(status: Status) -> Self {
        Self { status, denied: BTreeSet::new() }
    }

    /// The same without one right.
    #[must_use]
    pub fn without(mut self, right: &'static str) -> Self {
        assert!(RIGHTS.contains(&right), "`{right}` is no right of an administrator");
        self.denied.insert(right);
        self
    }

    pub(crate) fn may(&self, right: &str) -> bool {
        match self.status {
            Status::Creator => true,
            Status::Administrator => !self.denied.contains(right),
            Status::Member | Status::Restricted | Status::Left | Status::Kicked => false,
        }
    }
}
