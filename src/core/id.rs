//! Ids and names: small types with one parser each, so that no bare string names a thing.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use ulid::Ulid;

use crate::Timestamp;

/// Why a text is no id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseIdError {
    #[error("an id of this kind starts with `{0}`")]
    Prefix(&'static str),
    #[error("`{0}` is not 26 characters of an id")]
    Body(String),
}

/// Declares an id: a prefix and 26 characters, the same in logs, over the wire and in the database.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub struct $name(Ulid);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            /// `random` is 80 bits of randomness; more is cut off.
            pub fn from_parts(at: Timestamp, random: u128) -> Self {
                let ms = u64::try_from(at.timestamp_millis()).unwrap_or_default();
                Self(Ulid::from_parts(ms, random))
            }

            /// When it was made, to the millisecond.
            pub fn made(self) -> Timestamp {
                let ms = i64::try_from(self.0.timestamp_ms()).unwrap_or(i64::MAX);
                Timestamp::from_timestamp_millis(ms).unwrap_or(Timestamp::MAX_UTC)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", Self::PREFIX, self.0)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;
            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let body = text.strip_prefix(Self::PREFIX).ok_or(ParseIdError::Prefix(Self::PREFIX))?;
                Ulid::from_string(body).map(Self).map_err(|_| ParseIdError::Body(body.into()))
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = ParseIdError;
            fn try_from(text: String) -> Result<Self, ParseIdError> {
                text.parse()
            }
        }
    };
}

id!(/// One agent session for its whole life; never used again.
    SessionId, "ses_");
id!(/// One thing a person (or the desk) wants a session to read.
    PromptId, "prm_");
id!(/// One thing that waits for a human.
    GateId, "gat_");
id!(/// One thing that must reach one chat.
    DeliveryId, "dlv_");
id!(/// One thing heard from a chat.
    HeardId, "hrd_");
id!(/// One order from the daemon to a holder; the holder carries each out once.
    OrderId, "ord_");
id!(/// One message between sessions.
    MailId, "msg_");
id!(/// Something an agent waits for and can come back for.
    TicketId, "tkt_");
id!(/// One token of a program outside of every session.
    TokenId, "tok_");
id!(/// One execution of a workflow.
    RunId, "run_");
id!(/// One standing permission a person gave ("for this session").
    GrantId, "grt_");

/// Declares a name that comes from outside and is compared as text.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(/// A person from the configuration, by their short name there: `owner`.
    HumanId);
name!(/// A chat service as configured: `phone`, `telegram`.
    BridgeName);
name!(/// A service's own id of a chat.
    ChatId);
name!(/// A service's own id of a thread, topic or room-thread within a chat.
    ThreadId);
name!(/// A service's own id of one message within a chat.
    MessageId);
name!(/// An agent as configured: `claude`, `demo`.
    AgentName);
name!(/// An account that agents work on: as configured, else an agent's own name.
    AccountName);
name!(/// A project as configured.
    ProjectName);
name!(/// The agent's own id of one request it waits on; unique within its session.
    RequestId);
name!(/// The agent's own id of one turn (Claude Code: `prompt_id`).
    TurnId);

/// The name people use for a session: a story key (`PD-285`) or a slug (`docs`, `hotfix-2`).
/// Keeps the spelling it was made with; two names are the same session when [`SessionName::folded`] is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SessionName(String);

/// Why a text cannot name a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot name a session: use letters, digits, `-`, `_` and `.`, at most 40, beginning with a letter or digit, and no word that means somebody else: all, human, vigie, parent, children"
)]
pub struct BadSessionName(pub String);

impl SessionName {
    /// Longest name; longer ones do not fit a topic title beside its state.
    pub const MAX: usize = 40;

    /// Mean somebody else where a message is addressed or says who wrote it.
    const TAKEN: [&str; 5] = ["all", "human", "vigie", "parent", "children"];

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Lower case, for comparing.
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl FromStr for SessionName {
    type Err = BadSessionName;
    fn from_str(text: &str) -> Result<Self, BadSessionName> {
        let taken = Self::TAKEN.iter().any(|taken| text.eq_ignore_ascii_case(taken));
        if taken { Err(BadSessionName(text.into())) } else { Self::try_from(text.to_owned()) }
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<SessionName> for String {
    fn from(name: SessionName) -> Self {
        name.0
    }
}

/// A name that is written down; `vigie` is none any more, but a session may have been called so.
impl TryFrom<String> for SessionName {
    type Error = BadSessionName;
    fn try_from(text: String) -> Result<Self, BadSessionName> {
        let fits = text.len() <= Self::MAX
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if fits { Ok(Self(text)) } else { Err(BadSessionName(text)) }
    }
}

/// Four letters a person can type: names an open gate. No `0 O 1 I L` and no vowels but `A E U`,
/// so that nothing is misread and few words appear.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GateCode(String);

impl GateCode {
    const ALPHABET: &'static [u8; 28] = b"23456789ACDEFGHJKMNPQRTUVWXY";
    /// How many of them are digits.
    const DIGITS: usize = 8;

    /// Takes four characters out of `random`, one of them a digit at least: letters alone spell words
    /// (`DENY`, `THAT`). The caller draws again while the code is in use.
    pub fn from_random(mut random: u32) -> Self {
        let base = u32::try_from(Self::ALPHABET.len()).expect("28 fits");
        let mut at = [0; 4].map(|_: usize| {
            let at = usize::try_from(random % base).expect("below 28");
            random /= base;
            at
        });
        if at.iter().all(|at| *at >= Self::DIGITS) {
            at[3] %= Self::DIGITS;
        }
        Self(at.iter().map(|at| char::from(Self::ALPHABET[*at])).collect())
    }

    /// Reads what a person typed: any case. `None` when it is no code.
    pub fn parse(text: &str) -> Option<Self> {
        let upper = text.to_ascii_uppercase();
        (upper.len() == 4 && upper.bytes().all(|b| Self::ALPHABET.contains(&b)))
            .then_some(Self(upper))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GateCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a person types once in a chat to show that they sit at the desk. Eight characters out of
/// 28 are some 38 bits: plenty for ten minutes and five tries.
#[derive(Clone, PartialEq, Eq)]
pub struct PairingCode(String);

impl PairingCode {
    /// `random` must come from the system's own source: the code is a secret.
    pub fn from_random(random: u64) -> Self {
        let (first, second) = (random >> 32, random & 0xffff_ffff);
        let half = |half: u64| GateCode::from_random(u32::try_from(half).expect("half of 64 bits"));
        Self(format!("{}{}", half(first), half(second)))
    }

    /// Reads what a person typed: any case, with or without dash and spaces. `None` when it can
    /// be no code.
    pub fn parse(text: &str) -> Option<Self> {
        let upper: String = text
            .chars()
            .filter(|c| !c.is_whitespace() && !matches!(c, '-' | '‑' | '–' | '—'))
            .map(|c| c.to_ascii_uppercase())
            .collect();
        (upper.len() == 8 && upper.bytes().all(|b| GateCode::ALPHABET.contains(&b)))
            .then_some(Self(upper))
    }

    /// As people read it: two groups of four.
    pub fn show(&self) -> String {
        format!("{}-{}", &self.0[..4], &self.0[4..])
    }
}

impl fmt::Debug for PairingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_id_reads_back_as_itself(ms in 0_i64..4_000_000_000_000, random in any::<u128>()) {
            let at = chrono::DateTime::from_timestamp_millis(ms).unwrap();
            let id = SessionId::from_parts(at, random);
            prop_assert_eq!(id.to_string().parse::<SessionId>().unwrap(), id);
        }

        #[test]
        fn a_code_reads_back_in_any_case(random in any::<u32>()) {
            let code = GateCode::from_random(random);
            prop_assert_eq!(GateCode::parse(&code.as_str().to_lowercase()), Some(code));
        }
    }

    proptest! {
        #[test]
        fn a_pairing_code_reads_back_however_it_is_typed(random in any::<u64>()) {
            let code = PairingCode::from_random(random);
            let typed = code.show().to_lowercase().replace('-', " ");
            prop_assert_eq!(PairingCode::parse(&typed), Some(code.clone()));
            prop_assert_eq!(format!("{code:?}"), "***");
        }
    }

    #[test]
    fn an_id_of_another_kind_is_refused() {
        let id = PromptId::from_parts(Timestamp::default(), 7);
        assert_eq!(id.to_string().parse::<SessionId>(), Err(ParseIdError::Prefix("ses_")));
    }

    #[test]
    fn names_that_would_be_misread_are_refused() {
        for bad in [
            "",
            "all",
            "ALL",
            "Human",
            "vigie",
            "parent",
            "children",
            "-x",
            "a b",
            "é",
            "a/b",
            &"x".repeat(41),
        ] {
            assert!(bad.parse::<SessionName>().is_err(), "{bad}");
        }
    }
}
