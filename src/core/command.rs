//! What a person can ask for at the command line or over the API, and what comes back.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use crate::{
    Timestamp,
    account::Wanted,
    agent::PromptForm,
    bridge::{Action, Card, Place},
    caller::{Isolated, TokenHash, TokenRow, TokenScope},
    delivery::Undelivered,
    gate::{Gate, Waits},
    grant::Grant,
    id::{
        AccountName, AgentName, BridgeName, DeliveryId, GateCode, GateId, HumanId, PairingCode,
        ProjectName, PromptId, SessionId, SessionName,
    },
    outage::LimitedView,
    prompt::Prompt,
    run::{RunListing, RunView, StartRun, WorkflowView},
    session::Session,
    state::{ChatRow, Role},
};

/// Asked by a person who was let in already; `by` and `via` stand in the journal and on cards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub by: HumanId,
    /// "the command line", "the phone page".
    pub via: String,
    pub what: Command,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Start(Start),
    Send {
        session: String,
        text: String,
        form: PromptForm,
    },
    /// Interrupt the turn, context kept.
    Stop {
        session: String,
    },
    End {
        session: String,
    },
    Kill {
        session: String,
    },
    Resume {
        session: String,
    },
    Answer {
        code: String,
        choice: String,
    },
    /// Answers by a button of a card; any other action is refused.
    Tap {
        action: Action,
    },
    /// Lets whoever types this code in a chat in as that person; `None`: whoever asks.
    Pair {
        human: Option<String>,
        code: PairingCode,
    },
    /// Takes access back from an id of a person or of a chat on a service.
    Unpair {
        bridge: String,
        id: String,
    },
    /// Lets a program outside of every session in, with a token of which only the hash is told.
    AddToken {
        name: String,
        hash: TokenHash,
        scopes: BTreeSet<TokenScope>,
    },
    /// Ends a token, by its name.
    RevokeToken {
        name: String,
    },
    /// Takes back what was allowed for longer.
    RevokeGrant {
        number: u64,
    },
    /// Ends a session and whatever it and those below it started, all at once.
    EndTree {
        session: String,
    },
    /// What may be spent: sets it for a session or story, or tells how it stands.
    Budget {
        /// `None`: whatever runs, and the day.
        name: Option<String>,
        wanted: Option<Wanted>,
    },
    Run(StartRun),
    /// Ends a run; `name`: `release-12` or its id.
    CancelRun {
        name: String,
    },
    /// Runs what failed again, or that step and all that needs it.
    RetryRun {
        name: String,
        from: Option<String>,
    },
    /// Tries an account again that something is wrong with; `None`: all of them.
    RetryAccount {
        account: Option<String>,
    },
    /// Has another agent go on with a session's story.
    HandOver {
        session: String,
        agent: String,
    },
    /// Keeps a session, or `all`, from ringing for whoever asks: `PD-285 2h`. Empty: says what is muted.
    Mute {
        words: String,
    },
    Unmute {
        name: String,
    },
    /// What happened since the last digest of whoever asks, and what waits.
    Digest,
    /// Nothing is asked; the state is read.
    Workflows,
    Runs(RunListing),
    ShowRun {
        name: String,
    },
    Tokens,
    /// What is allowed for longer, now.
    Grants,
    People,
    Sessions,
    Waiting,
    /// The cards of what waits, and of the last so many that were decided.
    Cards {
        decided: usize,
    },
    /// The words that wait for a session, in the order in which they go in.
    Prompts {
        session: SessionId,
    },
    Status,
    /// Other words in place of some that wait, by the id of the prompt.
    EditPrompt {
        prompt: String,
        text: String,
    },
    /// Words that wait are to go nowhere.
    WithdrawPrompt {
        prompt: String,
    },
    /// What was given up lately.
    Undelivered,
    /// Tries once more what was given up, by the id of the delivery.
    RetryDelivery {
        delivery: String,
    },
    /// Writes down that somebody types into a terminal, which is done afterwards.
    NoteTyped {
        session: SessionId,
        typed: Typed,
    },
}

/// How much is typed into a terminal. What it says is not kept: it may be a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Typed {
    /// By name: `enter`, `ctrl-c`.
    pub keys: Vec<String>,
    /// Letters of text before them.
    pub characters: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    pub name: String,
    pub title: String,
    /// `None`: the first project.
    pub project: Option<String>,
    /// `None`: the project's agent.
    pub agent: Option<String>,
    pub prompt: Option<String>,
    /// Neither listed to other sessions nor reachable for them.
    pub isolated: Isolated,
}

/// A grant that holds, and whether it counts: that of somebody who may no longer approve does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantView {
    pub grant: Grant,
    pub counts: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Started(Box<SessionView>),
    /// Written down; `place` tells where in the line it stands (0: it goes in now).
    Stored {
        prompt: PromptId,
        session: SessionName,
        ahead: usize,
        /// Why it does not go in though nothing is ahead of it: "claude is at its usage limit until 04:11".
        kept: Option<String>,
    },
    /// Ordered, with the words to show.
    Done {
        words: String,
    },
    /// A code to type, and until when.
    Pairing {
        code: PairingCode,
        human: HumanId,
        name: String,
        until: Timestamp,
        /// The services it can be typed in.
        bridges: Vec<BridgeName>,
    },
    People(People),
    Tokens(Vec<TokenRow>),
    Grants(Vec<GrantView>),
    Workflows(Vec<WorkflowView>),
    Runs(Vec<RunView>),
    Run(Box<RunView>),
    Sessions(Vec<SessionView>),
    Waiting(Vec<Gate>),
    /// What waits, oldest first, then what was decided, newest first.
    Cards(Vec<CardView>),
    Prompts(Vec<Prompt>),
    /// The newest last.
    Undelivered(Vec<Undelivered>),
    Status(Status),
}

/// A gate as chats show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardView {
    /// The session that asks; a run's card says its name itself.
    pub from: Option<SessionName>,
    pub waits: Waits,
    pub card: Card,
}

/// A session and what belongs to it now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionView {
    pub session: Session,
    pub open_gates: Vec<(GateId, GateCode)>,
    pub queued: usize,
    /// Messages of other sessions that it has not read.
    pub unread_mail: usize,
    /// What the agent or program is called that started it; `None`: a person did.
    pub started_by: Option<String>,
    /// What the person is called who ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// Its account is stopped; `None`: it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited: Option<LimitedView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub sessions: Vec<SessionView>,
    pub waiting: Vec<Gate>,
    pub pending_deliveries: usize,
    pub failed_deliveries: Vec<String>,
    pub bridges: Vec<BridgeView>,
    /// Rows and files that could not be read, each a sentence.
    pub problems: Vec<String>,
}

/// How a chat service does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeView {
    pub name: BridgeName,
    /// When it last answered that it had told everything; `None`: it cannot go deaf, or never did.
    pub heard: Option<Timestamp>,
    /// What is wrong, for a person; `None`: nothing.
    pub trouble: Option<String>,
    pub chats: usize,
    /// What waits to be sent there.
    pub pending: usize,
}

/// Who may be heard, and where sessions are heard of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct People {
    pub identities: Vec<IdentityView>,
    pub chats: Vec<ChatRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityView {
    pub bridge: BridgeName,
    /// The service's own id.
    pub id: String,
    pub human: HumanId,
    pub name: String,
    pub role: Role,
    /// Since when; `None`: it stands in the configuration.
    pub since: Option<Timestamp>,
}

fn mistakes_of(count: usize) -> String {
    if count == 1 { "a mistake".into() } else { format!("{count} mistakes") }
}

/// Why something was not done. The words are for a person; [`Refusal::hint`] says what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no session {name}")]
    NoSession { name: String, near: Vec<String> },
    #[error("{name} has ended")]
    NotLive { name: SessionName },
    #[error("{name} is running")]
    StillLive { name: SessionName },
    #[error("{name} has no conversation to go on with")]
    NothingToResume { name: SessionName },
    #[error("no project is called `{name}`")]
    NoProject { name: String, known: Vec<ProjectName>, near: Vec<String> },
    #[error("no agent is called `{name}`")]
    NoAgent { name: String, known: Vec<AgentName>, near: Vec<String> },
    #[error("nothing waits under the code {code}")]
    NoGate { code: String, open: Vec<GateCode> },
    #[error("`{choice}` is no answer to this")]
    NoSuchChoice { choice: String, choices: Vec<String> },
    #[error("{title} is not filled in yet")]
    NotFilledIn { title: String },
    #[error("{0}")]
    AlreadyDecided(String),
    #[error("this needs its code: {code}")]
    NeedsCode { code: GateCode },
    #[error("{0}")]
    BadName(String),
    #[error("nobody is called `{name}`")]
    NoHuman { name: String, known: Vec<HumanId> },
    #[error("{id} has no access on {bridge}")]
    NotPaired { bridge: String, id: String },
    #[error("a token is called `{name}` already")]
    TokenExists { name: String },
    #[error("no token is called `{name}`")]
    NoToken { name: String, known: Vec<String> },
    #[error("no workflow is called `{name}`")]
    NoWorkflow { name: String, known: Vec<String>, near: Vec<String> },
    #[error("the workflow {name} has {} and does not run", mistakes_of(*errors))]
    BadWorkflow { name: String, errors: usize },
    /// One sentence a mistake.
    #[error("{}", mistakes.join("; "))]
    BadParams { workflow: String, mistakes: Vec<String> },
    #[error("no run is called `{name}`")]
    NoRun { name: String, near: Vec<String> },
    #[error("{0}")]
    NotRun(String),
    #[error("the key `{key}` was used with other params, for {run}")]
    OtherKey { key: String, run: String },
    /// `retry_after`: in seconds.
    #[error("{workflow} was started {most} times within a minute, and more is not")]
    TooOften { workflow: String, most: usize, retry_after: u64 },
    #[error("no account is stopped")]
    NothingStopped,
    #[error("no account is called `{name}`")]
    NoAccount { name: String, near: Vec<String>, known: Vec<String> },
    #[error("nothing is wrong with {account}")]
    AccountWorks { account: String, troubled: Vec<AccountName> },
    #[error("{0}")]
    NotHandedOver(String),
    #[error("no chat service is switched on")]
    NoService,
    #[error("that message is on its way into the agent, or is gone; nothing was changed")]
    NotQueued,
    #[error("these words are {author}'s")]
    NotTheirs { author: String },
    #[error("these are no person's words, and what asks for them would wait for ever")]
    NotAPersons,
    #[error("there is no grant {number}")]
    NoGrant { number: u64, there: String },
    #[error("nothing undelivered is called `{id}`")]
    NoDelivery { id: String },
    #[error("its chat on {bridge} is none of ours any more")]
    NotOurChat { bridge: BridgeName },
    #[error("the message is empty")]
    EmptyText,
    #[error("{name} has {queued} messages waiting, and more would only hide that")]
    QueueFull { name: SessionName, queued: usize },
    #[error("it could not be written down: {reason}")]
    NotWritten { reason: String },
    #[error("it could not be read: {reason}")]
    NotRead { reason: String },
    #[error("Vigie is stopping")]
    Stopping,
}

impl Refusal {
    /// What happened and what to do next, in one go.
    pub fn sentence(&self) -> String {
        match self.hint() {
            Some(hint) => {
                let words = self.to_string();
                let end = if words.ends_with(['.', '?', '!']) { "" } else { "." };
                format!("{words}{end} {hint}")
            }
            None => self.to_string(),
        }
    }

    /// The same for a chat: a command that a chat takes is written as it is there.
    pub fn in_a_chat(&self) -> String {
        const BOTH: [&str; 5] = ["sessions", "new", "stop", "end", "resume"];
        let mut words = self.sentence().replace("`vigie workflow runs`", "/runs");
        for word in BOTH {
            let desk = format!("`vigie {word}");
            while let Some(at) = words.find(&desk) {
                let end = words[at + 1..].find('`').map(|end| at + 1 + end);
                if let Some(end) = end {
                    words.remove(end);
                }
                words.replace_range(at..at + "`vigie ".len(), "/");
            }
        }
        // A name is written as it is.
        let first = words.split_whitespace().next().unwrap_or_default();
        if first.contains(|letter: char| letter == '-' || letter.is_ascii_digit()) {
            return words;
        }
        let mut letters = words.chars();
        let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
        format!("{first}{}", letters.as_str())
    }

    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        let list = |names: &[String]| names.join(", ");
        let or_near = |near: &[String], otherwise: String| {
            Some(if near.is_empty() { otherwise } else { format!("Did you mean {}?", list(near)) })
        };
        match self {
            Self::NoSession { near, .. } => {
                or_near(near, "`vigie sessions` lists them; `vigie new NAME` starts one.".into())
            }
            Self::NoProject { near, known, .. } => {
                or_near(near, format!("Projects in the configuration: {}.", join(known)))
            }
            Self::NoAgent { near, known, .. } => {
                or_near(near, format!("Agents in the configuration: {}.", join(known)))
            }
            Self::NotLive { name } => {
                Some(format!("`vigie resume {name}` goes on with its conversation."))
            }
            Self::StillLive { name } => {
                Some(format!("`vigie attach {name}` shows it, `vigie end {name}` ends it."))
            }
            Self::NothingToResume { name } => {
                Some(format!("`vigie new {name}` starts afresh, without the old context."))
            }
            Self::NoGate { open, .. } if open.is_empty() => Some("Nothing waits for you.".into()),
            Self::NoGate { open, .. } => Some(format!("Open codes: {}.", join(open))),
            Self::NoSuchChoice { choices, .. } if choices.is_empty() => None,
            Self::NoSuchChoice { choices, .. } => Some(format!("Choices: {}.", list(choices))),
            Self::NotFilledIn { .. } => {
                Some("Reply to the card with it, or tap one of its options.".into())
            }
            Self::NeedsCode { code } => Some(format!("Write: approve {code}")),
            Self::QueueFull { name, .. } => {
                Some(format!("`vigie stop {name}` interrupts the turn, so that they go in."))
            }
            Self::NoHuman { known, .. } => {
                Some(format!("People in the configuration: {}.", join(known)))
            }
            Self::NotPaired { .. } => Some("`vigie people` lists who has.".into()),
            Self::TokenExists { name } => {
                Some(format!("`vigie token revoke {name}` ends it; or choose another name."))
            }
            Self::NoToken { known, .. } if known.is_empty() => {
                Some("`vigie token create NAME` makes one.".into())
            }
            Self::NoToken { known, .. } => Some(format!("Tokens: {}.", list(known))),
            Self::NoWorkflow { near, known, .. } => {
                or_near(near, format!("Workflows: {}.", list(known)))
            }
            Self::BadWorkflow { name, .. } => {
                Some(format!("`vigie workflow check {name}` shows each with its place."))
            }
            Self::BadParams { workflow, .. } => {
                Some(format!("`vigie workflow plan {workflow}` lists its params."))
            }
            Self::NoRun { near, .. } => or_near(near, "`vigie workflow runs` lists them.".into()),
            Self::TooOften { retry_after, .. } => Some(format!("Try again in {retry_after} s.")),
            Self::OtherKey { .. } => Some("Use a new key for a new run.".into()),
            Self::NoAccount { near, .. } if !near.is_empty() => {
                Some(format!("Did you mean {}?", near.join(" or ")))
            }
            Self::NoAccount { known, .. } => Some(format!("Accounts: {}.", known.join(", "))),
            Self::AccountWorks { troubled, .. } if troubled.is_empty() => None,
            Self::AccountWorks { troubled, .. } => {
                Some(format!("Accounts that are stopped: {}.", join(troubled)))
            }
            Self::NoService => {
                Some("`vigie init telegram` sets one up; the phone page needs none.".into())
            }
            Self::NotQueued => Some("Send what is to be different as a message of its own.".into()),
            Self::NotTheirs { .. } => Some("They and owners change them.".into()),
            Self::NotAPersons => Some("`vigie stop NAME` interrupts the turn.".into()),
            Self::NoGrant { there, .. } => Some(there.clone()),
            Self::NoDelivery { .. } => Some("`vigie undelivered` lists what there is.".into()),
            Self::NotOurChat { .. } => Some("`vigie pair` lets its person in again.".into()),
            Self::NotWritten { .. } | Self::NotRead { .. } => {
                Some("Look at the disk of the data folder: `vigie doctor`.".into())
            }
            Self::NothingStopped
            | Self::AlreadyDecided(_)
            | Self::BadName(_)
            | Self::NotRun(_)
            | Self::NotHandedOver(_)
            | Self::EmptyText
            | Self::Stopping => None,
        }
    }
}

fn join<T: std::fmt::Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A message that waits for a person to say where it should go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub by: HumanId,
    pub place: Place,
    pub text: String,
    pub form: PromptForm,
    /// Where it would go by itself (an edit of what that session already has).
    pub session: Option<SessionId>,
    /// Our message that asks, so that it can lose its buttons.
    pub asked: Option<DeliveryId>,
    /// What could be started for it: the name it gave, in this project.
    pub start: Option<(SessionName, ProjectName)>,
    /// Sessions that it was offered to, in the order in which they are shown.
    #[serde(default)]
    pub offered: Vec<SessionId>,
}
