//! A verification as the desk sees it.

use std::{fmt, str::FromStr};
use vigie_core::Timestamp;

/// Names one verification, and no other one of this account: the millisecond it began in, so that a
/// restart in between names no other by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VerificationId(i64);

/// No such verification can be meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no verification")]
pub struct NoVerificationId(String);

impl VerificationId {
    const PREFIX: &str = "ver_";

    /// The first one from `now` on that comes after `last`.
    pub(super) fn after(last: Option<Self>, now: Timestamp) -> Self {
        let next = last.map_or(i64::MIN, |last| last.0.saturating_add(1));
        Self(now.timestamp_millis().max(next))
    }
}

impl fmt::Display for VerificationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.0)
    }
}

impl FromStr for VerificationId {
    type Err = NoVerificationId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.strip_prefix(Self::PREFIX).and_then(|number| number.parse().ok());
        number.map(Self).ok_or_else(|| NoVerificationId(text.into()))
    }
}

/// One verification, running or over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    pub id: VerificationId,
    /// The full user id of the person at the other end.
    pub user: String,
    /// Theirs that speaks, once one does.
    pub device: Option<PeerDevice>,
    pub begun: Begun,
    pub since: Timestamp,
    /// It ends by itself then.
    pub until: Timestamp,
    pub state: State,
}

/// A device at the other end, as it calls itself: data from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerDevice {
    pub id: String,
    pub name: Option<String>,
}

/// Who began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    ByThem,
    AtTheDesk,
}

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// They ask, and nobody at the desk took it yet. Nothing was answered.
    Asked,
    /// The other device goes on next.
    Waiting,
    /// Both ends show the same, unless somebody is in between. A person compares.
    Comparing(Shown),
    /// At the desk it was said to be the same; at the other end not yet.
    Confirmed,
    Over(Outcome),
}

/// What is to be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Seven, or none where the other device can only show numbers.
    pub emoji: Vec<Emoji>,
    pub decimals: [u16; 3],
}

/// One of the 64 of the Matrix specification, "SAS method: emoji".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emoji {
    pub symbol: &'static str,
    /// Its English name there.
    pub name: &'static str,
}

impl Shown {
    /// What somebody repeats who says that it is the same: the names of the emoji in their order, or
    /// the numbers where there are none.
    pub fn spoken(&self) -> Vec<String> {
        if self.emoji.is_empty() {
            return self.decimals.iter().map(ToString::to_string).collect();
        }
        self.emoji.iter().map(|emoji| emoji.name.into()).collect()
    }

    /// Whether that was repeated, in any case.
    pub fn is_what(&self, said: &[String]) -> bool {
        let spoken = self.spoken();
        let alike = |(a, b): (&String, &String)| a.trim().eq_ignore_ascii_case(b.trim());
        spoken.len() == said.len() && spoken.iter().zip(said).all(alike)
    }
}

/// How a verification ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Their identity is verified, or the device of our own account is.
    Verified,
    /// Only that one device is: its app knows nothing of its owner's identity.
    DeviceAlone,
    /// Somebody said that the emoji differ, or what was sent does not fit together.
    Mismatch {
        by: Side,
    },
    Cancelled {
        by: Side,
    },
    TimedOut,
    /// Another device of the account took it.
    TakenElsewhere,
    /// The two have no way of comparing in common.
    NoCommonWay,
    /// Vigie stopped.
    Stopped,
    Failed {
        why: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Desk,
    Them,
}

impl Outcome {
    /// What happened, as a sentence.
    pub fn words(&self, user: &str) -> String {
        match self {
            Self::Verified => format!("{user} is verified."),
            Self::DeviceAlone => {
                format!(
                    "Only this device of {user} is verified; its app has no identity of theirs."
                )
            }
            Self::Mismatch { by: Side::Desk } => {
                format!("Nothing was verified: it was not the same as {user} saw.")
            }
            Self::Mismatch { by: Side::Them } => {
                format!("Nothing was verified: at the other end of {user} it was not the same.")
            }
            Self::Cancelled { by: Side::Desk } => {
                "Nothing was verified: it was cancelled here.".into()
            }
            Self::Cancelled { by: Side::Them } => {
                "Nothing was verified: it was cancelled at the other end.".into()
            }
            Self::TimedOut => "Nothing was verified: one of the two took too long.".into(),
            Self::TakenElsewhere => {
                "Nothing was verified here: another device of this account took it.".into()
            }
            Self::NoCommonWay => {
                "Nothing was verified: the other app cannot compare emoji or numbers.".into()
            }
            Self::Stopped => "Nothing was verified: Vigie stopped meanwhile.".into(),
            Self::Failed { why } => format!("Nothing was verified: {why}"),
        }
    }

    /// What to do next, as a sentence; `None`: nothing.
    pub fn mend(&self) -> Option<&'static str> {
        match self {
            Self::Verified => None,
            Self::DeviceAlone => Some(
                "Verify from an app that knows its owner's identity, such as Element, so that all devices of theirs count.",
            ),
            Self::Mismatch { .. } => Some(
                "Somebody may be in between: the homeserver, or the network. Ask each other in person whether both looked at the same verification, and only then try again: vigie matrix verify.",
            ),
            Self::TimedOut => Some(
                "Have both devices at hand: once emoji are shown there is one minute. Again: vigie matrix verify.",
            ),
            Self::Cancelled { .. } | Self::Stopped | Self::Failed { .. } => {
                Some("Again: vigie matrix verify, or from the phone.")
            }
            Self::TakenElsewhere => Some(
                "Nobody but Vigie should be signed in to its account: look at the account's devices.",
            ),
            Self::NoCommonWay => Some("Use an app that compares emoji, such as Element."),
        }
    }
}

/// What a person at the desk does with a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Take what somebody asked for.
    Accept,
    /// It is the same; what that is stands here again, so that nobody says so of what they do not see.
    Confirm {
        same: Vec<String>,
    },
    Mismatch,
    Cancel,
}

/// Why a step or a start was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDone {
    #[error("Matrix is not ready: {why}")]
    NotReady { why: String },
    #[error("there is no verification {id}")]
    NoVerification { id: String },
    #[error("this verification is over")]
    Over,
    #[error("there is nothing to accept: nobody waits for that")]
    NothingToAccept,
    #[error("there is nothing to compare yet, or no more")]
    NothingToCompare,
    #[error("what was repeated is not what is shown")]
    NotTheSame,
    #[error("`{user}` is no Matrix user id")]
    NoUserId { user: String },
    #[error("Vigie does not know {user} on Matrix")]
    Stranger { user: String },
    #[error("{user} has no identity that could be verified")]
    NoIdentity { user: String },
    #[error("there is no room with {user} to ask them in")]
    NoRoom { user: String },
    #[error("{most} verifications are under way")]
    TooMany { most: usize },
    #[error("one with {user} is under way")]
    UnderWay { user: String },
    #[error("{user}'s identity is the one that Vigie knows")]
    NotChanged { user: String },
    #[error("{user} has another identity by now than the one that was looked at")]
    AnotherIdentity { user: String },
    #[error("the homeserver did not take it: {why}")]
    NotSent { why: String },
}

impl NotDone {
    /// What to do, as a sentence.
    pub fn mend(&self) -> &'static str {
        match self {
            Self::NotReady { .. } => "Look: vigie status, vigie doctor.",
            Self::NoVerification { .. } | Self::Over => "Begin again: vigie matrix verify.",
            Self::NothingToAccept | Self::NothingToCompare => "It goes on by itself; look again.",
            Self::NotTheSame => {
                "Repeat the names of all seven emoji in their order, as they are shown now."
            }
            Self::NoUserId { .. } => "Write it in full: @name:example.org.",
            Self::Stranger { .. } => "Let them in first: vigie pair.",
            Self::NoIdentity { .. } => {
                "In Element: Settings, Encryption or Security, set up; then try again."
            }
            Self::NoRoom { .. } => {
                "They begin a chat with Vigie's account first, and are let in: vigie pair."
            }
            Self::TooMany { .. } | Self::UnderWay { .. } => {
                "Finish or cancel what is under way first: vigie matrix verify."
            }
            Self::NotChanged { .. } => "Nothing is to be accepted. See: vigie matrix status.",
            Self::AnotherIdentity { .. } => {
                "Nothing was taken. Ask them in person which one is theirs, and look again: vigie matrix accept."
            }
            Self::NotSent { .. } => "Try again in a moment: vigie matrix verify.",
        }
    }
}
