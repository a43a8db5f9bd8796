//! What agents can ask for, and what comes back. Who asks is known from their token alone; nothing
//! in a request can say otherwise, and nothing in here answers a gate or changes who may do what.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeSet,
    fmt::{self, Write as _},
};

use crate::{
    Timestamp,
    agent::Choice,
    command::Refusal,
    gate::Answer,
    id::{
        AgentName, GateCode, GateId, HumanId, MailId, ProjectName, RunId, SessionId, SessionName,
        TicketId, TokenId,
    },
    mail::Mail,
    outage::LimitedView,
    run::{RunView, StartRun, WorkflowView},
    session::{Life, Role, Spent, Summary},
};

/// SHA-256 of a bearer token, in hex. The token itself is known to whoever holds it, and nobody else.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenHash(pub String);

impl TokenHash {
    /// Tokens are random, so nothing slower is needed.
    pub fn of(token: &str) -> Self {
        let mut hex = String::with_capacity(64);
        for byte in Sha256::digest(token.as_bytes()) {
            let _ = write!(hex, "{byte:02x}"); // a String takes everything
        }
        Self(hex)
    }
}

/// Who a token speaks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "principal", rename_all = "snake_case")]
pub enum Principal {
    /// The agent in a session; its token is minted with each start of its program and ends with it.
    Session { session: SessionId },
    /// A program outside of every session, let in by a person (`vigie token create`).
    Client { token: TokenId },
}

impl Principal {
    /// As messages are filed under it (see [`crate::mail::Recipient::address`]).
    pub fn address(&self) -> String {
        match self {
            Self::Session { session } => session.to_string(),
            Self::Client { token } => token.to_string(),
        }
    }
}

/// What a client's token is good for. A session has all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenScope {
    /// Lists, states, transcripts, costs.
    Read,
    /// Messages to sessions, and its own inbox.
    Mail,
    /// Start sessions, and stop those it started.
    Sessions,
    /// Start and cancel workflow runs.
    Workflows,
}

impl TokenScope {
    pub const ALL: [Self; 4] = [Self::Read, Self::Mail, Self::Sessions, Self::Workflows];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Mail => "mail",
            Self::Sessions => "sessions",
            Self::Workflows => "workflows",
        }
    }
}

/// A client's token, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRow {
    pub id: TokenId,
    /// As people call it; unique among those that are not revoked.
    pub name: String,
    pub hash: TokenHash,
    pub scopes: BTreeSet<TokenScope>,
    pub by: HumanId,
    pub made: Timestamp,
    pub revoked: Option<Timestamp>,
}

/// Who is behind a token right now, for the door: looked up in memory, nothing is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub principal: Principal,
    /// For people: `PD-285`, or the client's name.
    pub name: String,
    pub scopes: BTreeSet<TokenScope>,
    /// The present start of the session's program: its token is used from inside its own process
    /// tree, which is found by this.
    pub run: Option<(SessionId, u32)>,
}

/// How the machine does, as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Host {
    /// Load average of the last minute per core, in thousandths.
    pub load_permille: u32,
    /// Memory that can be had without swapping, in MiB.
    pub free_mib: u64,
}

/// How far agents may go on their own account. Checked where a session is started, in the same
/// transaction. Only people change them, in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How many generations below a session that a person started.
    pub depth: u32,
    /// Live sessions that one session started itself.
    pub children: u32,
    /// Live sessions altogether, people's own included.
    pub live: u32,
    /// Sessions that agents start within a minute, altogether.
    pub starts_a_minute: u32,
    /// What everything that agents started below one root may cost within a day, in millionths of a
    /// dollar at list price.
    pub tree_micro_usd: u64,
    pub tree_tokens: u64,
    /// What one start sets aside out of that when it does not say.
    pub start_micro_usd: u64,
    pub start_tokens: u64,
    /// No start above this load per core, in thousandths …
    pub load_permille: u32,
    /// … or with less free memory, in MiB.
    pub free_mib: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            depth: 2,
            children: 5,
            live: 20,
            starts_a_minute: 10,
            tree_micro_usd: 20_000_000,
            tree_tokens: 20_000_000,
            start_micro_usd: 2_000_000,
            start_tokens: 2_000_000,
            load_permille: 4000,
            free_mib: 512,
        }
    }
}

/// One call of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRequest {
    pub token: TokenHash,
    pub host: Host,
    pub what: AgentCommand,
    pub facts: AgentFacts,
}

/// What was looked up for one call before it is decided about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentFacts {
    /// What its sender sent under this key before, one a recipient.
    pub same_key: Vec<Mail>,
    /// The message that is answered.
    pub answered: Option<Mail>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentCommand {
    Whoami,
    Projects,
    Sessions(Listing),
    Start(AgentStart),
    Session {
        name: String,
    },
    /// Waits until these sessions are done with what they were asked; see [`AgentCommand::Look`].
    Wait {
        names: Vec<String>,
        until: Until,
    },
    Stop {
        name: String,
        how: StopHow,
        tree: WholeTree,
    },
    Send(Letter),
    /// What waits for the caller; it counts as read once the caller goes on (see [`crate::mail`]).
    Read {
        most: usize,
    },
    /// The caller has these.
    Acknowledge {
        mails: Vec<MailId>,
    },
    SetSummary {
        text: String,
    },
    AskHuman(Asking),
    /// How a ticket stands; a result is handed over once.
    Look {
        ticket: TicketId,
    },
    Cancel {
        ticket: TicketId,
    },
    /// A silent message to the people, in the session's thread.
    Notify {
        text: String,
    },
    /// A file of the session's folder, to the people.
    SendFile {
        path: String,
        about: String,
    },
    Usage,
    Workflows,
    /// Those the caller can see, newest first.
    Runs,
    Run(StartRun),
    ShowRun {
        name: String,
    },
    /// Waits until the run is over; see [`AgentCommand::Look`].
    WaitForRun {
        name: String,
    },
    /// Ends a run that the caller, or what it started, started.
    CancelRun {
        name: String,
    },
}

impl AgentCommand {
    /// What a client's token must be good for; `None`: any will do.
    pub fn scope(&self) -> Option<TokenScope> {
        match self {
            Self::Projects
            | Self::Sessions(_)
            | Self::Session { .. }
            | Self::Wait { .. }
            | Self::Look { .. }
            | Self::Cancel { .. }
            | Self::Workflows
            | Self::Runs
            | Self::ShowRun { .. }
            | Self::WaitForRun { .. }
            | Self::Usage => Some(TokenScope::Read),
            Self::Run(_) | Self::CancelRun { .. } => Some(TokenScope::Workflows),
            Self::Start(_) | Self::Stop { .. } => Some(TokenScope::Sessions),
            Self::Send(_) | Self::Read { .. } | Self::Acknowledge { .. } => Some(TokenScope::Mail),
            // But for the first, sessions alone can, and they have every scope.
            Self::Whoami
            | Self::SetSummary { .. }
            | Self::AskHuman(_)
            | Self::Notify { .. }
            | Self::SendFile { .. } => None,
        }
    }
}

/// Which sessions are listed; those that are isolated never are, but for whoever started them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    pub scope: ListScope,
    pub project: Option<String>,
    /// A story key, or its beginning with `*`.
    pub story: Option<String>,
    pub ended: WithEnded,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListScope {
    #[default]
    Machine,
    /// The caller's own project.
    Project,
    /// Sessions on the caller's repository, worktrees included.
    Repository,
    /// Sessions in the caller's very folder.
    Directory,
    /// What the caller started, and what that started.
    Tree,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WithEnded {
    #[default]
    No,
    Yes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentStart {
    pub name: String,
    pub title: String,
    pub project: Option<String>,
    pub agent: Option<String>,
    pub prompt: String,
    /// Neither listed to others nor reachable for them.
    pub isolated: Isolated,
    /// What it may cost, in millionths of a dollar; `None`: as the bounds say.
    pub micro_usd: Option<u64>,
    pub tokens: Option<u64>,
    /// The same key again starts nothing and answers with the first.
    pub key: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolated {
    #[default]
    No,
    Yes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// Its line is empty and its turn over, or it has ended.
    Idle,
    /// It has ended.
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopHow {
    /// Interrupts the turn; the context is kept.
    Interrupt,
    End,
    /// Kills every process of it.
    Kill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WholeTree {
    No,
    /// And everything it started, all at once.
    Yes,
}

/// A message to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Names, `parent`, `children`, `lord`, `human`, `client:NAME`, `project:NAME`, `PD-*`, `all`.
    /// None with [`Letter::reply_to`]: whoever the other one of that message is.
    pub to: Vec<String>,
    pub text: String,
    pub reply_to: Option<MailId>,
    /// The sender's own key: sent again under it, it is one message.
    pub key: Option<String>,
    /// The sender has seen how many a broadcast reaches.
    pub confirmed: Confirmed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    No,
    Yes,
}

/// Whose messages are looked through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mailbox {
    Of(Principal),
    /// All there are: for people.
    Everybody,
}

/// Which mail is looked up; newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailQuery {
    pub of: Mailbox,
    /// Of somebody's own mailbox.
    pub side: MailSide,
    /// With this session, by name.
    pub with: Option<String>,
    /// Words that stand in it.
    pub words: Option<String>,
    /// One exchange.
    pub thread: Option<MailId>,
    /// Older than this number.
    pub before: Option<u64>,
    pub most: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailSide {
    #[default]
    Both,
    Received,
    Sent,
}

/// A question to the people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    pub question: String,
    /// A word or two that names it.
    pub header: String,
    pub options: Vec<Choice>,
    pub multiple: Multiple,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiple {
    No,
    Yes,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "one reply lives at a time")]
pub enum AgentReply {
    Whoami(Whoami),
    Projects {
        projects: Vec<ProjectView>,
    },
    /// `digest`: where everything stands, in one text.
    Sessions {
        sessions: Vec<PeerView>,
        digest: String,
    },
    Started {
        session: Box<PeerView>,
        left: BoundsLeft,
    },
    Workflows(Vec<WorkflowView>),
    /// Without their steps.
    Runs {
        runs: Vec<RunView>,
    },
    Run {
        run: Box<RunView>,
    },
    Session {
        session: Box<PeerView>,
    },
    Stopped {
        sessions: Vec<SessionName>,
    },
    Sent {
        mails: Vec<SentView>,
        /// Who of a group does not get it, and why: a sentence each.
        left_out: Vec<String>,
    },
    Inbox {
        mails: Vec<Mail>,
        left: usize,
    },
    Acknowledged {
        count: usize,
    },
    Ticket(TicketView),
    Done {
        words: String,
    },
    Usage(UsageView),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whoami {
    pub name: String,
    pub principal: Principal,
    /// `None` for a client.
    pub session: Option<PeerView>,
    /// Who started it, nearest first; a name, `a person`, or a client's name.
    pub chain: Vec<String>,
    pub depth: u32,
    pub waiting_mail: usize,
    pub left: BoundsLeft,
}

/// How far the caller may still go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundsLeft {
    pub depth: u32,
    pub children: u32,
    pub live: u32,
    pub micro_usd: u64,
    pub tokens: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectView {
    pub name: ProjectName,
    pub path: String,
    pub agent: AgentName,
    pub live: usize,
}

/// A session as others see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerView {
    pub id: SessionId,
    /// The present start of its program.
    pub run: u32,
    pub name: SessionName,
    pub title: String,
    pub project: ProjectName,
    pub agent: AgentName,
    pub role: Role,
    pub cwd: String,
    pub branch: Option<String>,
    pub life: Life,
    /// What it says it does.
    pub summary: Option<Summary>,
    /// The last line of its progress.
    pub doing: Option<String>,
    pub last_words: Option<String>,
    pub waits_for: Vec<WaitsFor>,
    pub queued: usize,
    pub unread_mail: usize,
    pub spent: Spent,
    pub started_by: Option<String>,
    pub depth: u32,
    pub isolated: Isolated,
    pub created: Timestamp,
    /// Its account is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited: Option<LimitedView>,
}

/// A gate of another session: that it waits, never what would answer it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitsFor {
    pub title: String,
    pub since: Timestamp,
}

/// What became of one recipient of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentView {
    pub id: MailId,
    pub to: String,
    /// "it reads it now", "queued: PD-285 has ended; it reads it when it is resumed".
    pub words: String,
}

/// How something that is waited for stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketView {
    pub ticket: Ticket,
    pub standing: Standing,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum Standing {
    /// Not yet, and what holds it up.
    Waiting {
        words: String,
    },
    Answered {
        answer: Answer,
    },
    /// Nobody will answer any more, and why.
    Unanswered {
        why: String,
    },
    Sessions {
        sessions: Vec<PeerView>,
    },
    Run {
        run: Box<RunView>,
    },
    Cancelled,
}

/// Something an agent waits for, kept so that it can come back for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    pub id: TicketId,
    pub by: Principal,
    pub what: Wanted,
    pub made: Timestamp,
    pub over: Option<Over>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wanted", rename_all = "snake_case")]
pub enum Wanted {
    Answer { gate: GateId, code: GateCode },
    Sessions { sessions: Vec<SessionId>, until: Until },
    Run { run: RunId },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "over", rename_all = "snake_case")]
pub enum Over {
    /// The result was handed over.
    Given {
        at: Timestamp,
    },
    Cancelled {
        at: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageView {
    pub own: Option<Spent>,
    /// What the caller's sessions cost, nearest first, and each one's share set aside.
    pub sessions: Vec<(SessionName, Spent)>,
    pub left: BoundsLeft,
}

/// Why an agent's call changed nothing. The words are for an agent: what happened; the hint says
/// what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentRefusal {
    #[error(transparent)]
    Same(#[from] Refusal),
    #[error("this token is over: {why}")]
    TokenOver { why: String },
    #[error("{bound}: {now} of {limit}")]
    Bound {
        /// "depth", "live sessions of yours", …
        bound: &'static str,
        now: String,
        limit: String,
        /// Who started whom, the caller last.
        chain: Vec<String>,
    },
    #[error("{name} is not yours to {verb}")]
    NotYours { name: SessionName, verb: &'static str },
    #[error("{name} is not yours to cancel")]
    NotYourRun { name: String },
    /// A file that an agent may have written.
    #[error("`{workflow}` stands in a file of {project}'s own, and agents do not start those")]
    NotTrusted { workflow: String, project: String },
    #[error("{0}")]
    Mail(#[from] crate::mail::NotSent),
    #[error("there is no ticket {0} of yours")]
    NoTicket(TicketId),
    #[error("only a session can {0}")]
    OnlySessions(&'static str),
    #[error("this token is not good for that: it lacks `{0}`")]
    NoScope(TokenScope),
    #[error("`{agent}` runs whatever is typed into it, so only a person starts it")]
    NotByAgents { agent: AgentName, others: Vec<AgentName> },
    #[error("{open} {what} of yours are open, and more are not")]
    TooMany { what: &'static str, open: usize },
    #[error("{0}")]
    BadQuestion(String),
}

impl AgentRefusal {
    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            // The rest of these hints is for whoever sits at the desk.
            Self::Same(Refusal::StillLive { .. }) => {
                Some("Write to it with send_message, or choose another name.".into())
            }
            Self::Same(Refusal::NoSession { near, .. }) if near.is_empty() => {
                Some("list_sessions shows those you can see.".into())
            }
            Self::Same(Refusal::NotLive { .. }) => Some("Only a person resumes it.".into()),
            Self::Same(Refusal::BadWorkflow { .. }) => {
                Some("Whoever wrote its file has to mend it.".into())
            }
            Self::Same(Refusal::BadParams { .. }) => {
                Some("list_workflows says what it takes.".into())
            }
            Self::Same(Refusal::NoRun { near, .. }) if near.is_empty() => {
                Some("run_workflow gives the id of a run that it begins.".into())
            }
            Self::Same(refusal) => refusal.hint(),
            Self::TokenOver { .. } => {
                Some("Its session has ended; whoever wants to go on resumes that.".into())
            }
            Self::Bound { chain, .. } => Some(format!(
                "You are at: {}. Only the person changes this, in the configuration under [bounds]. Do the work yourself, come back to it later, or ask with ask_human.",
                chain.join(" > ")
            )),
            Self::NotYours { .. } => Some("You may stop what you started, and what that started. Ask its session with send_message, or the person with ask_human.".into()),
            Self::NotYourRun { .. } => Some("You may cancel runs that you started, or that what you started did. Ask the person with ask_human.".into()),
            Self::NotTrusted { project, .. } => Some(format!(
                "A person starts it, or trusts the files of {project} with `triggers` under [workflows] in the configuration. Ask with ask_human."
            )),
            Self::Mail(not_sent) => not_sent.hint(),
            Self::NoTicket(_) => Some("A ticket belongs to whoever got it.".into()),
            Self::OnlySessions(_) => Some("You are with a person already: ask them there.".into()),
            Self::NoScope(_) => {
                Some("A person makes another with `vigie token create`, and says what for.".into())
            }
            Self::NotByAgents { others, .. } if others.is_empty() => None,
            Self::NotByAgents { others, .. } => {
                let others: Vec<_> = others.iter().map(AgentName::as_str).collect();
                Some(format!("Agents you can start: {}.", others.join(", ")))
            }
            Self::TooMany { .. } => {
                Some("Come back for those, or cancel what you no longer need.".into())
            }
            Self::BadQuestion(_) => None,
        }
    }

    /// Both in one go.
    pub fn sentence(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{}. {hint}", self.to_string().trim_end_matches('.')),
            None => self.to_string(),
        }
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::TokenHash;

    /// FIPS 180-2, appendix B.1.
    #[test]
    fn a_token_is_known_by_its_sha_256() {
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(TokenHash::of("abc").0, hash);
    }
}
