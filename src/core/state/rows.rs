//! What state is made of: rows as they are kept, and the few things that are only remembered.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use crate::{
    Timestamp,
    account::Account,
    bridge::{Attached, Health, Place, Room},
    caller::{Ticket, TokenRow},
    command::Kept,
    delivery::Delivery,
    gate::Gate,
    grant::Grant,
    id::{
        BridgeName, ChatId, DeliveryId, GateId, HeardId, HumanId, MessageId, PairingCode, PromptId,
        SessionId, ThreadId,
    },
    ledger::LedgerRow,
    mail::Mail,
    outage::OutageRow,
    prompt::Prompt,
    ringing::{DigestRow, Happened, MuteRow},
    run::{FrozenRow, RunLogRow, RunRow, SlotRow},
    session::Session,
};

/// A chat that hears of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chat {
    pub bridge: BridgeName,
    pub chat: ChatId,
    pub room: Room,
}

/// What shares one budget: a chat, or with `None` all chats of the service.
pub type Purse = (BridgeName, Option<ChatId>);

/// One thing kept in the database, whole. Its table and key follow from its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    Session(Session),
    Prompt(Prompt),
    Gate(Gate),
    Delivery(Delivery),
    Heard(HeardRow),
    Thread(ThreadRow),
    Focus(FocusRow),
    Chat(ChatRow),
    Identity(IdentityRow),
    LastHeard(LastHeardRow),
    Mail(Mail),
    Ticket(Ticket),
    Token(TokenRow),
    Answer(AnswerRow),
    Run(RunRow),
    Frozen(FrozenRow),
    RunLog(RunLogRow),
    Slot(SlotRow),
    Outage(OutageRow),
    Happened(Happened),
    Digest(DigestRow),
    Mute(MuteRow),
    Grant(Grant),
    Journal(JournalEntry),
    Ledger(LedgerRow),
    Account(Account),
}

/// What a session said last at the end of a turn, whole up to a bound: for who waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRow {
    pub session: SessionId,
    pub at: Timestamp,
    pub text: String,
}

/// Something heard, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeardRow {
    pub id: HeardId,
    pub bridge: BridgeName,
    /// The service's own key; unique with the bridge.
    pub key: String,
    pub place: Place,
    pub message: Option<MessageId>,
    /// When the service says it was sent.
    pub sent: Timestamp,
    pub received: Timestamp,
    /// What came with it, which an edit of its words does not take back. None of a stranger's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Attached>,
    pub outcome: HeardOutcome,
}

#[expect(clippy::large_enum_variant, reason = "those that stay in memory are kept ones")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum HeardOutcome {
    /// Nothing of a stranger's words is kept.
    Stranger,
    /// It went to these sessions.
    Routed { prompts: Vec<PromptId>, sessions: Vec<SessionId> },
    /// A person is asked where it should go.
    Kept { kept: Kept },
    /// An answer, a command, a tap: done when it was heard.
    Handled,
}

/// Which thread of a chat is a session's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRow {
    pub session: SessionId,
    pub bridge: BridgeName,
    pub chat: ChatId,
    /// `None`: it had one, and that is gone.
    pub thread: Option<ThreadId>,
}

/// A chat that a person opened to us: by writing in their own, or by a code in a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatRow {
    pub bridge: BridgeName,
    pub chat: ChatId,
    pub room: Room,
    /// Who opened it.
    pub by: HumanId,
    pub state: ChatState,
    /// Why it has no threads though its service says it could.
    #[serde(default)]
    pub threadless: Option<String>,
    /// Since when it is ours; unknown for those of an older Vigie.
    #[serde(default)]
    pub opened: Option<Timestamp>,
    /// Who reads along there and is nobody we know, as people were told.
    #[serde(default)]
    pub readers: BTreeSet<String>,
}

impl ChatRow {
    /// Whether nothing is said there because of who reads along.
    pub fn is_held(&self) -> bool {
        self.room.is_direct() && !self.readers.is_empty()
    }
}

/// When a person was heard last in a chat of a service that can wake them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastHeardRow {
    pub human: HumanId,
    pub bridge: BridgeName,
    pub chat: ChatId,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ChatState {
    Open,
    /// The service lets nothing in; what must arrive waits.
    Shut {
        reason: String,
        since: Timestamp,
    },
    /// It is no chat of ours any more: moved, or its person's access was taken back.
    Left,
}

/// Who a service's own id of a person is, by a code typed there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityRow {
    pub bridge: BridgeName,
    pub from: String,
    /// `None`: access was taken back.
    pub human: Option<HumanId>,
    pub at: Timestamp,
}

/// A code that was printed at the desk and not typed yet. Kept in memory only: it ends with us.
#[derive(Clone, Debug)]
pub struct Pairing {
    pub code: PairingCode,
    pub human: HumanId,
    pub until: Timestamp,
    pub tries_left: u32,
}

/// What somebody nobody knows did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// They wrote, tapped or reacted.
    Spoke,
    /// They asked to have us in a chat, where we did not go.
    Knocked,
}

/// Somebody nobody knows, who tried something lately.
#[derive(Clone, Debug)]
pub struct Stranger {
    /// What they did first.
    pub tried: Tried,
    pub tries: u32,
    pub since: Timestamp,
    /// The owners know.
    pub told: bool,
    /// They heard that this is private.
    pub answered: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FocusRow {
    pub place: Place,
    pub human: HumanId,
    /// `None`: no focus any more.
    pub session: Option<SessionId>,
}

/// One line of what happened, for the live view, `watch` and the audit. The writer numbers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    pub at: Timestamp,
    /// A constant word: `prompt_taken`, `gate_answered`.
    pub kind: String,
    pub session: Option<SessionId>,
    pub gate: Option<GateId>,
    pub human: Option<HumanId>,
    pub detail: serde_json::Value,
}

/// A message of ours and what it is about.
#[derive(Clone, Debug)]
pub struct JustSent {
    pub bridge: BridgeName,
    pub chat: ChatId,
    pub message: MessageId,
    pub session: Option<SessionId>,
    pub gate: Option<GateId>,
}

/// How a bridge hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hearing {
    pub health: Health,
    /// When it first said how it hears: from then on its silence counts.
    pub since: Timestamp,
    /// Since when nothing was heard, once that was noticed.
    pub deaf: Option<Timestamp>,
}

/// What was looked up for one message before it is decided about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The message it answers (or taps, or reacts to) is about this session …
    pub session: Option<SessionId>,
    /// … and is this card.
    pub gate: Option<GateId>,
    /// It is already in the database under its key.
    pub known: bool,
    /// The row of the message that is edited or tapped about, when it is ours to find.
    pub heard: Option<HeardRow>,
    /// Prompts of that message that reached nobody.
    pub refused: Vec<PromptId>,
    /// It is about a message that is not known here, or not yet.
    pub unknown: bool,
}

/// A question of Vigie's own about somebody's message, and that it is decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// What asked.
    pub asked: DeliveryId,
    pub place: Place,
    /// Whose message it was about.
    pub by: HumanId,
    pub at: Timestamp,
}

/// How something new is on its way into a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sending {
    /// A bridge has it right now.
    Now,
    /// It may have arrived, and is said again: before a restart, or when a service did not answer.
    InDoubt,
}
