//! What crosses between the daemon and a session's holder: orders down, reports up. Both are
//! serialisable and carry ids, so that either side may die and ask again; an order is carried out
//! once however often it comes, a report is numbered and kept until it is acknowledged.

use serde::{Deserialize, Serialize};

use vigie_workflow::run::ApprovalWork;

use crate::{
    Timestamp,
    caller::TokenHash,
    id::{MailId, OrderId, PromptId, RequestId, TurnId},
    ledger::Used,
};

/// Down: what the daemon wants of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub id: OrderId,
    pub what: OrderKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum OrderKind {
    /// Put this into the agent. Answered by `PromptTaken`, `PromptHeld` or `PromptRefused`.
    Prompt { prompt: PromptId, text: String, form: PromptForm },
    /// Take a prompt back that was not typed yet. Answered by `PromptRefused` with `Withdrawn`,
    /// or by nothing when it was already taken.
    Withdraw { prompt: PromptId },
    /// Put these words beside the result of the agent's next tool call. Answered by `MailTaken`, or
    /// by `MailReturned` when the turn ends before one, or the agent cannot take any.
    Mail { mail: MailId, text: String },
    /// Interrupt the turn and keep the context.
    Interrupt,
    /// What a person decided on a request. Answered by `Settled`.
    Answer { request: RequestId, decision: Decision },
    /// Ask the program to leave: its own way first, then TERM, then KILL.
    End,
    /// KILL to every process of the session.
    Kill,
}

/// How a prompt goes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptForm {
    /// A person's words: whatever they begin with, they are text.
    Text,
    /// Words of another session or a program, with what says so before them: text as well, and no
    /// person's.
    Others,
    /// Vigie's own words: text, and nobody else's.
    Own,
    /// One of the agent's own slash commands, meant as such.
    Command,
}

/// What a person decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    Allow {
        /// What the agent should not ask again; only [`Scope::Once`] for questions and plans.
        scope: Scope,
    },
    Deny {
        /// Shown to the model. `None`: the agent's usual words.
        reason: Option<String>,
    },
    /// Answers to the questions, in their order: a label, labels joined by ", ", or free text.
    Answers { answers: Vec<String> },
    /// A plan approved; `accept_edits` lets its edits through afterwards.
    Plan { accept_edits: AcceptEdits },
    /// A step of a workflow may go on. `form`: what was filled in, in the order asked.
    Approve { form: Vec<String>, words: Option<String> },
    /// A step of a workflow goes back, with what should change.
    SendBack { words: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Once,
    /// This and what the agent itself calls the same kind of request, until the session ends. Nobody is
    /// offered it any more; answers of an older Vigie that had it are carried out.
    Session,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AcceptEdits {
    Yes,
    No,
}

/// Up: what happened, numbered from 1 without gaps within a session. A resumed session's holder
/// goes on from the last number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub seq: u64,
    pub at: Timestamp,
    pub what: AgentEvent,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum AgentEvent {
    /// The program runs. `conversation` is the agent's own id, with which it can be resumed.
    Started { pid: u32, version: Option<String>, conversation: Option<String> },
    /// The agent goes by a new conversation id from now on (Claude Code: `/clear`, or first known).
    Conversation { id: String, transcript: Option<String> },
    /// What the agent does now changed.
    Now { doing: Doing },
    /// The agent's own signal that it took this prompt; `turn` is the turn it belongs to.
    /// `unsignalled` agents (a plain shell) report it when the bytes are in the PTY.
    PromptTaken { prompt: PromptId, turn: Option<TurnId> },
    /// Not yet: it waits in the holder, said once per reason.
    PromptHeld { prompt: PromptId, why: Held },
    /// It will not go in; nothing of it reached the model, unless `why` says otherwise.
    PromptRefused { prompt: PromptId, why: RefusedPrompt },
    /// The words went to the agent with a tool's result.
    MailTaken { mail: MailId },
    /// They did not.
    MailReturned { mail: MailId },
    /// The token that this run's program speaks to Vigie with.
    Token { hash: TokenHash },
    /// A turn began that the daemon did not ask for: somebody wrote at the desk, or, where `text` is
    /// empty, the agent goes on by itself once its background work is done.
    ForeignTurn { turn: Option<TurnId>, text: String },
    /// The agent waits for a person.
    Asked { request: RequestId, ask: Asked },
    /// A policy said no to a tool before it ran; the agent has read why.
    Denied { call: DeniedCall },
    /// A request is over.
    Settled { request: RequestId, how: Settled },
    /// One line about what it does: a tool call begun, a plan step.
    Progress { turn: Option<TurnId>, line: String },
    /// A turn ended with these words. `provisional`: background work goes on, more will come.
    Finished { turn: Option<TurnId>, text: String, provisional: bool },
    /// A turn ended in an error of the service or the agent.
    TurnFailed { turn: Option<TurnId>, kind: FailureKind, text: String },
    /// A turn was interrupted, by our order or at the desk.
    Interrupted { turn: Option<TurnId> },
    /// The context was compacted; the turn goes on.
    Compacted,
    /// Money and tokens so far in this run of the program, as the agent counts them.
    Cost { micro_usd: u64, input_tokens: u64, output_tokens: u64 },
    /// Answers of models, as the agent's own records have them. One may come again, with more tokens or
    /// as it was.
    Usage { entries: Vec<Used> },
    /// Something Vigie relies on does not hold; the session goes on, less is promised.
    Degraded { what: String },
    /// Nothing has gone on below the program since then; told once. The program itself may wait for its
    /// service, or for the one command that runs.
    Silent { since: Timestamp, running: Option<Running> },
    /// Something goes on again.
    Stirs,
    /// The program is gone. `last` holds its last lines on the screen.
    Exited { how: ExitStatus, last: Vec<String> },
}

/// A use of a tool that a policy said no to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeniedCall {
    pub tool: String,
    /// What it was about, in one line.
    pub line: String,
    /// As that of a card: of the tool, its whole input and its folder.
    pub digest: String,
    /// Which policy, as people and the journal name it.
    pub rule: String,
    /// Goes on after "because".
    pub why: String,
}

/// The newest program that an agent started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    pub name: String,
    pub since: Timestamp,
}

/// What an agent does, as far as its own signals tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "doing", rename_all = "snake_case")]
pub enum Doing {
    Starting,
    Idle,
    Working,
    /// A request that reached us as `Asked` is open.
    Waiting,
    /// It waits for a person and there is no structured way to answer: the desk is needed.
    /// `screen` is the text of its screen, top to bottom.
    NeedsDesk {
        why: String,
        screen: Vec<String>,
    },
}

/// Why a prompt waits in the holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    Starting,
    Busy,
    /// A dialog is open; typing would answer it.
    Dialog,
    /// Somebody types at the desk.
    DeskTyping,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "refused", rename_all = "snake_case")]
pub enum RefusedPrompt {
    Withdrawn,
    /// Typed, Enter sent, and the agent never said it took it; what stands in its box is unknown.
    NoSignal,
    /// Nothing is left of the text once control and invisible characters are gone.
    Empty,
    /// The program ended first.
    Gone,
    /// The agent itself refused it (a hook of the person's blocked it, unknown command).
    ByAgent {
        reason: String,
    },
}

/// What the agent waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Asked {
    Permission {
        /// The tool's own name: `Bash`, `Edit`, `mcp__lab__echo`.
        tool: String,
        /// The tool's input as the agent sent it, unchanged.
        input: serde_json::Value,
        cwd: String,
        /// The agent offers "do not ask again" for it.
        can_remember: bool,
    },
    Questions {
        questions: Vec<Question>,
    },
    Plan {
        /// Markdown.
        plan: String,
    },
    /// A step of a workflow waits for a yes. No agent asks for one.
    Approval(ApprovalWork),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub text: String,
    /// A word or two that names the question.
    pub header: String,
    pub options: Vec<Choice>,
    pub multiple: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub label: String,
    pub description: String,
}

/// How a request came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "settled", rename_all = "snake_case")]
pub enum Settled {
    /// Our answer is with the agent.
    Ours,
    /// Somebody answered in the agent's own dialog.
    AtDesk { allowed: AtDesk },
    /// The agent gave up waiting: turn interrupted, program gone, time over.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtDesk {
    Allowed,
    Denied,
    /// It was closed at the desk and the agent does not say which way.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The account's usage limit or a rate limit.
    Limit,
    /// The service is down or overloaded.
    Service,
    /// Not logged in, key refused.
    Account,
    /// No credit left, or a bill is not paid.
    Billing,
    /// The request itself was refused.
    Request,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "exit", rename_all = "snake_case")]
pub enum ExitStatus {
    Code {
        code: i32,
    },
    Signal {
        signal: i32,
    },
    /// The holder died with it; nobody saw.
    Unknown,
}
