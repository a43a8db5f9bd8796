//! Looks at the bot and its groups, for a person at the desk who wants to know. Never asks for
//! updates, so nothing is taken from a daemon that does.

use std::{fmt, time::Duration};
use vigie_telegram::api::{
    Api, CallError, ChatKind, GetChat, GetChatMember, GetMe, GetWebhookInfo, MemberStatus, Method,
    NoBaseUrl, Patience, Refusal, TgUser, Token,
};

/// For one answer of Telegram's while a person waits.
const LOOK: Duration = Duration::from_secs(10);

/// The bot, spoken to by hand: for a person at the desk who wants to know.
pub struct Bot {
    client: Api,
    address: String,
}

/// What the bot says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Me {
    /// Its own number, which it is a member of groups under.
    user: TgUser,
    pub name: String,
    /// Without the `@`.
    pub username: Option<String>,
    pub can_join_groups: bool,
    /// Privacy mode is off.
    pub reads_groups: bool,
    /// Its private chats have topics.
    pub has_topics: bool,
}

/// What Telegram keeps for the bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Where it sends updates, when somebody told it to.
    pub webhook: Option<String>,
    /// How many nobody has fetched.
    pub updates: u64,
}

/// A group, as far as the bot sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub title: String,
    pub has_topics: bool,
    pub standing: Standing,
}

/// What the bot is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Administrator { topics: TopicRight },
    Member,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicRight {
    Given,
    Missing,
}

/// Why a look at Telegram came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookError {
    #[error("Telegram does not know this token any more")]
    Revoked,
    #[error("no Bot API answers at {api}")]
    WrongAddress { api: String },
    #[error("Telegram was not reached at {api}: {why}")]
    Unreached { api: String, why: String },
    #[error("the chat is gone, or the bot is not in it any more")]
    Gone,
    #[error("Telegram refuses: {0}")]
    Refused(String),
    #[error("{0}")]
    Here(String),
}

impl LookError {
    /// What to do, as a sentence.
    pub fn mend(&self) -> &'static str {
        match self {
            Self::Revoked => {
                "Ask @BotFather for the bot's present token (/mybots, API Token) and put it in: vigie init telegram."
            }
            Self::WrongAddress { .. } => {
                "Correct `api` under [telegram]: https://api.telegram.org, or your own server's address without /bot and the token. A token that is not whole gives the same answer."
            }
            Self::Unreached { .. } => {
                "Look at this machine's network and at HTTPS_PROXY; Vigie tries again by itself."
            }
            Self::Gone | Self::Refused(_) => "Look at the bot and the chat in Telegram.",
            Self::Here(_) => "Mend this on the machine that Vigie runs on.",
        }
    }
}

impl Bot {
    /// Makes no connection yet.
    ///
    /// # Errors
    /// The address is none, or this machine has no certificates.
    pub fn new(token: Token, api: &str) -> Result<Self, LookError> {
        let here = |wrong: &dyn fmt::Display| LookError::Here(wrong.to_string());
        let base = api.parse().map_err(|wrong: NoBaseUrl| here(&wrong))?;
        let patience = Patience { connect: LOOK, answer: LOOK, ..Patience::default() };
        let client = Api::new(token, base, patience).map_err(|wrong| here(&wrong))?;
        Ok(Self { client, address: api.into() })
    }
    /// Who the bot is; also tells whether the token is good.
    ///
    /// # Errors
    /// What came instead, and what to do.
    pub async fn me(&self) -> Result<Me, LookError> {
        let me = self.ask(&GetMe {}).await?;
        Ok(Me {
            user: me.id,
            name: me.first_name,
            username: me.username,
            can_join_groups: me.can_join_groups,
            reads_groups: me.can_read_all_group_messages,
            has_topics: me.has_topics_enabled,
        })
    }

    /// What waits at Telegram, and whether something else takes it.
    ///
    /// # Errors
    /// What came instead, and what to do.
    pub async fn waiting(&self) -> Result<Waiting, LookError> {
        let info = self.ask(&GetWebhookInfo {}).await?;
        let webhook = Some(info.url).filter(|url| !url.is_empty());
        Ok(Waiting { webhook, updates: info.pending_update_count })
    }

    /// The group of that number; `None` when the number is no group's.
    ///
    /// # Errors
    /// What came instead, and what to do.
    pub async fn group(&self, chat: &str, me: &Me) -> Result<Option<Group>, LookError> {
        let Ok(chat_id) = chat.parse() else { return Ok(None) };
        let about = match self.ask(&GetChat { chat_id }).await {
            Err(LookError::Gone) => {
                let title = chat.into();
                return Ok(Some(Group { title, has_topics: false, standing: Standing::Gone }));
            }
            other => other?,
        };
        if about.kind == ChatKind::Private {
            return Ok(None);
        }
        let standing = match self.ask(&GetChatMember { chat_id, user_id: me.user }).await {
            Err(LookError::Gone) => Standing::Gone,
            other => standing(&other?),
        };
        let title = about.title.unwrap_or_else(|| chat.into());
        Ok(Some(Group { title, has_topics: about.is_forum, standing }))
    }

    async fn ask<M: Method>(&self, method: &M) -> Result<M::Answer, LookError> {
        let api = || self.address.clone();
        self.client.call(method).await.map_err(|error| match error {
            CallError::Refused { refusal: Refusal::Unauthorized, .. } => LookError::Revoked,
            CallError::Refused { refusal: Refusal::NotFound, .. } => {
                LookError::WrongAddress { api: api() }
            }
            CallError::Refused { refusal: Refusal::Blocked | Refusal::ChatNotFound, .. } => {
                LookError::Gone
            }
            CallError::Refused { description, .. } => LookError::Refused(description),
            CallError::NotSent { why } | CallError::InDoubt { why } => {
                LookError::Unreached { api: api(), why }
            }
            CallError::TooMany { .. } => {
                LookError::Unreached { api: api(), why: error.to_string() }
            }
        })
    }
}

fn standing(member: &vigie_telegram::api::ChatMember) -> Standing {
    match member.status {
        MemberStatus::Creator => Standing::Administrator { topics: TopicRight::Given },
        MemberStatus::Administrator => {
            let given = member.can_manage_topics;
            let topics = if given { TopicRight::Given } else { TopicRight::Missing };
            Standing::Administrator { topics }
        }
        MemberStatus::Member | MemberStatus::Restricted | MemberStatus::Other => Standing::Member,
        MemberStatus::Left | MemberStatus::Kicked => Standing::Gone,
    }
}
