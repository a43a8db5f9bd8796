//! What crosses the API, both ways; `docs/api.md` describes it. Kept apart from the core's types,
//! so that a rename in there changes nothing out here.

mod access;
mod desk;
mod matrix;
mod runs;
mod usage;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use vigie_core::{
    Timestamp,
    agent::{Asked, PromptForm},
    bridge::{CardKind, Risk},
    caller::{Isolated, Principal},
    command::{BridgeView, SessionView, Status},
    gate::{Gate, GateState, Waits},
    mail::{Mail, MailState},
    outage::Ends,
    run::RunView,
    session::{Ended, Life, Role},
};

pub use access::{
    ChatShape, GrantShape, IdentityShape, LinkShape, LoginShape, MadeToken, NewLink, NewPairing,
    NewToken, PairingShape, PeopleShape, Reaches, ServiceShape, TokenShape,
};
pub use desk::{EditPrompt, PromptShape, UndeliveredShape};
pub use matrix::{
    AcceptIdentity, ConfirmVerification, EmojiShape, MatrixDeviceShape, MatrixPersonShape,
    MatrixRoomShape, MatrixShape, NewVerification, VerificationBegun, VerificationShape,
    VerificationState,
};
pub use runs::{
    BegunShape, CheckText, Checked, NewRun, NewWorkflow, NotBegunShape, OutputShape, ParamShape,
    ProblemShape, RetryRun, RunShape, SaveText, Saved, StepShape, WorkflowShape,
};
pub use usage::{
    DelegationShape, PriceShape, PricesShape, SetBudget, SpreadShape, UnpricedShape, UsageLine,
    UsageShape,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorShape {
    pub error: String,
    pub hint: Option<String>,
    /// Stable, for programs.
    pub code: String,
    /// One sentence for each value that is wrong, where several can be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DaemonShape {
    pub version: String,
    pub pid: u32,
    /// Where the pages are.
    pub url: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionShape {
    pub id: String,
    pub name: String,
    pub title: String,
    pub project: String,
    pub agent: String,
    pub folder: String,
    pub branch: Option<String>,
    /// `starting`, `idle`, `working`, `waiting`, `needs_desk`, `limited`, `ended` or
    /// `lost`.
    pub state: String,
    /// Why it needs the desk, or how it ended.
    pub detail: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
    /// Codes of what it waits for.
    pub waiting: Vec<String>,
    /// Messages it has not taken yet.
    pub queued: usize,
    /// Messages of other sessions that it has not read.
    pub unread_mail: usize,
    pub last_words: Option<String>,
    /// What it says it does.
    pub summary: Option<String>,
    /// `worker`, or `lord` for the people's one counterpart.
    #[schema(value_type = String)]
    pub role: Role,
    /// Who started it; `null`: a person.
    pub parent: Option<ParentShape>,
    /// Generations below what a person started.
    pub depth: u32,
    /// Neither listed to other sessions nor reachable for them.
    pub isolated: bool,
    /// It used what was set aside for it, and goes on when a person writes to it.
    pub over_budget: bool,
    /// It is `limited`, and goes on only once somebody did something about it.
    pub needs_you: bool,
    pub micro_usd: u64,
    /// Read anew, from no cache and into none.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Read from a cache, or written into one.
    pub cached_tokens: u64,
}

impl SessionShape {
    pub fn new(view: &SessionView) -> Self {
        let session = &view.session;
        let (state, detail) = state(view);
        Self {
            id: session.id.to_string(),
            name: session.name.to_string(),
            title: session.title.clone(),
            project: session.project.to_string(),
            agent: session.agent.to_string(),
            folder: session.cwd.clone(),
            branch: session.worktree.as_ref().map(|worktree| worktree.branch.clone()),
            state: state.into(),
            detail,
            since: session.life.since(),
            created: session.created,
            waiting: view.open_gates.iter().map(|(_, code)| code.to_string()).collect(),
            queued: view.queued,
            unread_mail: view.unread_mail,
            summary: session.summary.as_ref().map(|summary| summary.text.clone()),
            role: session.role,
            parent: ParentShape::new(view),
            depth: session.spawn.as_ref().map_or(0, |spawn| spawn.depth),
            isolated: session.isolated == Isolated::Yes,
            over_budget: session.spawn.as_ref().is_some_and(|spawn| spawn.over_budget),
            needs_you: state == "limited"
                && view.limited.as_ref().is_some_and(|it| it.ends == Ends::BySomebody),
            last_words: session.last_words.clone(),
            micro_usd: session.spent.micro_usd,
            input_tokens: session.spent.input_tokens,
            output_tokens: session.spent.output_tokens,
            cached_tokens: session.spent.cached_tokens,
        }
    }
}

/// The agent or program that started a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ParentShape {
    /// Of a session, or of a token.
    pub id: String,
    pub name: String,
}

impl ParentShape {
    fn new(view: &SessionView) -> Option<Self> {
        let id = match &view.session.spawn.as_ref()?.by {
            Principal::Session { session } => session.to_string(),
            Principal::Client { token } => token.to_string(),
        };
        let name = view.started_by.clone().unwrap_or_else(|| id.clone());
        Some(Self { id, name })
    }
}

fn state(view: &SessionView) -> (&'static str, Option<String>) {
    let waits = !view.open_gates.is_empty();
    if let Some(limited) = view.limited.as_ref().filter(|_| !waits) {
        return ("limited", Some(limited.sentence()));
    }
    match &view.session.life {
        Life::Ended { how: Ended::By { human }, .. } => ("ended", Some(format!("by {human}"))),
        Life::Ended { how: Ended::ByAgent { name }, .. } => ("ended", Some(format!("by {name}"))),
        Life::Ended { how: Ended::Itself, .. } => ("ended", None),
        Life::Lost { why, .. } => ("lost", Some(why.clone())),
        Life::NeedsDesk { why, .. } => ("needs_desk", Some(why.clone())),
        Life::Starting { .. } | Life::Idle { .. } | Life::Working { .. } if waits => {
            ("waiting", None)
        }
        Life::Starting { .. } => ("starting", None),
        Life::Idle { .. } => ("idle", None),
        Life::Working { .. } => ("working", None),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GateShape {
    pub id: String,
    pub code: String,
    /// The session's name.
    pub session: String,
    /// `permission`, `question` or `plan`.
    pub kind: String,
    pub title: String,
    /// Exactly what will run, is asked or is planned; hidden characters made visible.
    pub content: String,
    pub diff: Option<String>,
    pub warnings: Vec<String>,
    pub facts: Vec<FactShape>,
    /// `plain`, `care`, or `code` when only its code answers it.
    pub risk: String,
    #[schema(value_type = String, format = DateTime)]
    pub opened: Timestamp,
    /// Denied by itself from then on.
    #[schema(value_type = String, format = DateTime)]
    pub until: Timestamp,
    /// `open`, `answered`, `taken` or `closed`.
    pub state: String,
    pub questions: Vec<QuestionShape>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FactShape {
    pub label: String,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuestionShape {
    pub text: String,
    pub options: Vec<OptionShape>,
    pub multiple: bool,
    /// The answer it has already, while another question is still open.
    pub picked: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OptionShape {
    pub label: String,
    pub description: String,
}

impl GateShape {
    /// `session` is its session's name.
    pub fn new(gate: &Gate, session: String) -> Self {
        let shown = &gate.shown;
        let fact = |fact: &vigie_core::bridge::Fact| FactShape {
            label: fact.label.clone(),
            value: fact.value.clone(),
        };
        Self {
            id: gate.id.to_string(),
            code: gate.code.to_string(),
            session,
            kind: match shown.kind {
                CardKind::Permission => "permission",
                CardKind::Question => "question",
                CardKind::Plan => "plan",
                CardKind::Approval => "approval",
            }
            .into(),
            title: shown.title.clone(),
            content: shown.content.text.clone(),
            diff: shown.diff.clone(),
            warnings: shown.warnings.clone(),
            facts: shown.facts.iter().map(fact).collect(),
            risk: match shown.risk {
                Risk::Plain => "plain",
                Risk::Care => "care",
                Risk::Code => "code",
            }
            .into(),
            opened: gate.opened,
            until: gate.until,
            state: match gate.state {
                GateState::Open => "open",
                GateState::Answered { .. } => "answered",
                GateState::Taken { .. } => "taken",
                GateState::Closed { .. } => "closed",
            }
            .into(),
            questions: questions(gate),
        }
    }
}

/// What an approval asks for besides a yes.
fn form(gate: &Gate, fields: &[vigie_workflow::language::Field]) -> Vec<QuestionShape> {
    let option = |label: &String| OptionShape { label: label.clone(), description: String::new() };
    let shape = |(at, field): (usize, &vigie_workflow::language::Field)| QuestionShape {
        text: if field.title.is_empty() { field.id.to_string() } else { field.title.clone() },
        options: field.choices.iter().map(option).collect(),
        multiple: false,
        picked: gate.picked.get(at).cloned().flatten(),
    };
    fields.iter().enumerate().map(shape).collect()
}

fn questions(gate: &Gate) -> Vec<QuestionShape> {
    let asked = match &gate.ask {
        Asked::Questions { questions } => questions,
        Asked::Approval(approval) => return form(gate, &approval.form),
        Asked::Permission { .. } | Asked::Plan { .. } => return Vec::new(),
    };
    let shape = |(at, question): (usize, &vigie_core::agent::Question)| QuestionShape {
        text: question.text.clone(),
        options: question
            .options
            .iter()
            .map(|option| OptionShape {
                label: option.label.clone(),
                description: option.description.clone(),
            })
            .collect(),
        multiple: question.multiple,
        picked: gate.picked.get(at).cloned().flatten(),
    };
    asked.iter().enumerate().map(shape).collect()
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatusShape {
    pub daemon: DaemonShape,
    pub sessions: Vec<SessionShape>,
    pub waiting: Vec<GateShape>,
    /// Runs of workflows that are not over, without their steps.
    pub runs: Vec<RunShape>,
    pub pending_deliveries: usize,
    pub failed_deliveries: Vec<String>,
    pub bridges: Vec<BridgeShape>,
    pub problems: Vec<String>,
    /// What keeps agents from Vigie itself on this machine.
    pub protections: Vec<ProtectionShape>,
}

/// One thing that is closed to agents, or should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProtectionShape {
    /// `files`, `processes`, `signals`, `terminal`, `callers`.
    pub name: String,
    pub holds: bool,
    /// What holds, or why it does not.
    pub words: String,
    /// What to do where it does not hold.
    pub todo: Option<String>,
}

impl StatusShape {
    pub fn new(
        daemon: DaemonShape,
        status: &Status,
        runs: &[RunView],
        protections: Vec<ProtectionShape>,
    ) -> Self {
        Self {
            daemon,
            sessions: status.sessions.iter().map(SessionShape::new).collect(),
            waiting: gates(&status.waiting, &status.sessions),
            runs: runs.iter().map(RunShape::new).collect(),
            pending_deliveries: status.pending_deliveries,
            failed_deliveries: status.failed_deliveries.clone(),
            bridges: status.bridges.iter().map(BridgeShape::new).collect(),
            problems: status.problems.clone(),
            protections,
        }
    }
}

/// How a chat service does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BridgeShape {
    pub name: String,
    /// When it last told everything; `null` for one that cannot go deaf, or never did yet.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub heard: Option<Timestamp>,
    /// What is wrong and what to do; `null`: nothing.
    pub trouble: Option<String>,
    pub chats: usize,
    /// What waits to be sent there.
    pub pending: usize,
}

impl BridgeShape {
    fn new(view: &BridgeView) -> Self {
        let BridgeView { name, heard, trouble, chats, pending } = view.clone();
        Self { name: name.to_string(), heard, trouble, chats, pending }
    }
}

/// Each gate with the name of its session.
pub fn gates(gates: &[Gate], sessions: &[SessionView]) -> Vec<GateShape> {
    let name = |gate: &Gate| match &gate.waits {
        Waits::Step(waits) => waits.run_name.clone(),
        Waits::Session(waits) => {
            let view = sessions.iter().find(|view| view.session.id == waits.session);
            view.map_or_else(|| waits.session.to_string(), |view| view.session.name.to_string())
        }
    };
    gates.iter().map(|gate| GateShape::new(gate, name(gate))).collect()
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSession {
    pub name: String,
    #[serde(default)]
    pub title: String,
    pub project: Option<String>,
    pub agent: Option<String>,
    pub prompt: Option<String>,
    /// Other sessions neither see it nor reach it.
    #[serde(default)]
    pub isolated: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EndSession {
    /// With whatever it and those below it started, even where it has ended itself.
    #[serde(default)]
    pub tree: bool,
}

/// To another agent, by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HandOver {
    pub agent: String,
}

/// Without a name: all accounts that are stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryAccount {
    pub account: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SendText {
    pub text: String,
    #[serde(default)]
    pub form: FormShape,
}

/// What is typed into a session's terminal: the text, then the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TypeKeys {
    #[serde(default)]
    pub text: String,
    /// `esc`, `enter`, `ctrl-c` and so on.
    #[serde(default)]
    pub keys: Vec<String>,
}

/// `text` unless it is one of the agent's own slash commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FormShape {
    #[default]
    Text,
    Command,
}

impl From<FormShape> for PromptForm {
    fn from(form: FormShape) -> Self {
        match form {
            FormShape::Text => Self::Text,
            FormShape::Command => Self::Command,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Stored {
    pub prompt: String,
    pub session: String,
    /// How many messages go in before it.
    pub ahead: usize,
    /// Why it waits all the same: its account is stopped, or its money is used up.
    pub kept: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Done {
    pub words: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MuteSession {
    /// Its name, or `all`.
    pub session: String,
    /// `30m`, `2h`, `1d`.
    pub time: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerGate {
    pub choice: String,
}

/// A button of a card, as the page has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TapGate {
    pub action: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Screen {
    pub session: String,
    pub lines: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Folder {
    pub session: String,
    /// Of its present run, or the last one.
    pub folder: String,
    pub live: bool,
}

/// One line of the event stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    pub seq: u64,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// What happened: `started`, `gate_answered`, …
    pub kind: String,
    /// Ids of what it is about.
    pub session: Option<String>,
    pub gate: Option<String>,
    /// Who did it.
    pub human: Option<String>,
    /// More about it, by kind; its fields may grow.
    pub detail: Value,
}

/// A message from session to session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MailShape {
    pub id: String,
    /// In the order in which they came, over all of them.
    pub number: u64,
    /// Names: of a session, a program, `human:ID`, `human`, or Vigie.
    pub from: String,
    pub to: String,
    pub text: String,
    #[schema(value_type = String, format = DateTime)]
    pub sent: Timestamp,
    /// `waiting`, `offered` (it is on its way into the agent), `read` or `dead`.
    pub state: String,
    /// Why nobody will read it.
    pub why: Option<String>,
    /// The first of its exchange.
    pub thread: String,
    pub reply_to: Option<String>,
}

impl MailShape {
    pub fn new(mail: &Mail) -> Self {
        let (state, why) = match &mail.state {
            MailState::Waiting { .. } => ("waiting", None),
            MailState::Offered { .. } => ("offered", None),
            MailState::Read { .. } => ("read", None),
            MailState::Dead { why, .. } => ("dead", Some(why.clone())),
        };
        Self {
            id: mail.id.to_string(),
            number: mail.number,
            from: mail.from.spoken(),
            to: mail.to.spoken(),
            text: mail.text.clone(),
            sent: mail.sent,
            state: state.into(),
            why,
            thread: mail.thread.to_string(),
            reply_to: mail.reply_to.map(|id| id.to_string()),
        }
    }
}
