//! Who gets in, by which way, and what they were given.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, fmt};
use utoipa::ToSchema;
use vigie_core::{
    Timestamp,
    bridge::Room,
    caller::{TokenRow, TokenScope},
    command::{GrantView, IdentityView, People},
    grant::Scope,
    state::{self, ChatRow, ChatState},
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLink {
    /// Who signs in with it; the first owner when nobody is named.
    pub human: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinkShape {
    pub url: String,
    /// The same secret for typing.
    pub code: String,
    pub human: String,
    #[schema(value_type = String, format = DateTime)]
    pub until: Timestamp,
    /// Whether another device can open it, or this machine alone.
    pub reaches: Reaches,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reaches {
    ThisMachine,
    Others,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoginShape {
    pub id: String,
    pub human: String,
    /// What the browser called itself.
    pub device: String,
    #[schema(value_type = String, format = DateTime)]
    pub made: Timestamp,
    /// To the hour.
    #[schema(value_type = String, format = DateTime)]
    pub seen: Timestamp,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPairing {
    /// Whom it lets in; who asks, when nobody is named.
    pub human: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PairingShape {
    /// As people read it: two groups of four.
    pub code: String,
    /// Whom it lets in, by id.
    pub human: String,
    pub name: String,
    #[schema(value_type = String, format = DateTime)]
    pub until: Timestamp,
    /// Where it can be typed.
    pub services: Vec<ServiceShape>,
}

/// A chat service that takes codes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServiceShape {
    pub bridge: String,
    /// Where people find us there, when it is known.
    pub link: Option<String>,
    /// Why it will not hear the code now.
    pub trouble: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    pub name: String,
    /// `read`, `mail`, `sessions`, `workflows`; all of them when none are named.
    #[schema(value_type = Option<Vec<String>>)]
    pub scopes: Option<BTreeSet<TokenScope>>,
}

/// A token that was just made.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MadeToken {
    /// The secret, told this once.
    pub token: String,
    /// Where it is good for something.
    pub url: String,
    pub about: TokenShape,
}

impl fmt::Debug for MadeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MadeToken {{ token: ***, about: {:?} }}", self.about)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenShape {
    pub id: String,
    pub name: String,
    #[schema(value_type = Vec<String>)]
    pub scopes: BTreeSet<TokenScope>,
    /// Who made it, by id.
    pub by: String,
    #[schema(value_type = String, format = DateTime)]
    pub made: Timestamp,
}

impl TokenShape {
    pub fn new(row: &TokenRow) -> Self {
        let TokenRow { id, name, hash: _, scopes, by, made, revoked: _ } = row.clone();
        Self { id: id.to_string(), name, scopes, by: by.to_string(), made }
    }
}

/// What was allowed for longer than one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GrantShape {
    pub number: u64,
    /// "cargo test … in /home/ines/quay".
    pub allows: String,
    /// The session or the project it is for.
    pub holds_for: String,
    /// `None`: until that session ends.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
    /// Who gave it, by id, and where.
    pub by: String,
    pub via: String,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// `false`: whoever gave it may no longer approve, so it allows nothing.
    pub counts: bool,
}

impl GrantShape {
    pub fn new(view: &GrantView) -> Self {
        let grant = &view.grant;
        let (holds_for, until) = match &grant.scope {
            Scope::Session { name, .. } => (name.to_string(), None),
            Scope::Project { project, until } => (project.to_string(), Some(*until)),
        };
        Self {
            number: grant.number,
            allows: grant.kind.to_string(),
            holds_for,
            until,
            by: grant.by.to_string(),
            via: grant.via.clone(),
            at: grant.at,
            counts: view.counts,
        }
    }
}

/// Who is heard over chat services, and which chats hear of sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PeopleShape {
    pub identities: Vec<IdentityShape>,
    pub chats: Vec<ChatShape>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IdentityShape {
    pub bridge: String,
    /// The service's own id of the person.
    pub id: String,
    pub human: String,
    pub name: String,
    /// `owner`, `approver`, `talker` or `viewer`.
    #[schema(value_type = String)]
    pub role: state::Role,
    /// Since when; `null`: it stands in the configuration.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub since: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChatShape {
    pub bridge: String,
    /// The service's own id of the chat.
    pub chat: String,
    /// `direct`, `direct_threads`, `group` or `forum`.
    #[schema(value_type = String)]
    pub room: Room,
    /// Who opened it, by id.
    pub by: String,
    /// Why the service lets nothing in; `null`: it does.
    pub shut: Option<String>,
    /// It is shut since somebody reads along; what is said waits until they are out.
    #[serde(default)]
    pub held: bool,
}

impl PeopleShape {
    pub fn new(people: &People) -> Self {
        Self {
            identities: people.identities.iter().map(IdentityShape::new).collect(),
            chats: people.chats.iter().map(ChatShape::new).collect(),
        }
    }
}

impl IdentityShape {
    fn new(view: &IdentityView) -> Self {
        let IdentityView { bridge, id, human, name, role, since } = view.clone();
        Self { bridge: bridge.to_string(), id, human: human.to_string(), name, role, since }
    }
}

impl ChatShape {
    fn new(row: &ChatRow) -> Self {
        let shut = match &row.state {
            ChatState::Open | ChatState::Left => None,
            ChatState::Shut { reason, .. } => Some(reason.clone()),
        };
        Self {
            bridge: row.bridge.to_string(),
            chat: row.chat.to_string(),
            room: row.room,
            by: row.by.to_string(),
            held: shut.is_some() && row.is_held(),
            shut,
        }
    }
}
