//! What each tool takes. Whatever else a call brings is ignored: who calls, how deep it stands and what
//! it may do come from its token alone.

use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Map, Value};
use vigie_core::caller::{ListScope, MailSide, StopHow, Until};

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Nothing {}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ListSessions {
    /// Which ones: every session of the machine (the default), of your project, of your repository,
    /// in your folder, or those that you and yours started.
    #[serde(default)]
    pub(super) scope: Scope,
    /// Only of this project.
    pub(super) project: Option<String>,
    /// Only this story: `PD-285`, or `PD-*` for all that begin so.
    pub(super) story: Option<String>,
    /// Also those that have ended.
    #[serde(default)]
    pub(super) ended: bool,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scope {
    #[default]
    Machine,
    Project,
    Repository,
    Directory,
    Tree,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct StartSession {
    /// The story's key or a short name: `PD-285`, `docs`. One live session has a name at a time.
    pub(super) name: String,
    /// What it shall do: its first message. It knows nothing of your conversation, so say it all.
    pub(super) prompt: String,
    /// Where it works, as `list_projects` calls it. Without one: the first project.
    pub(super) project: Option<String>,
    /// The coding agent that works. Without one: the project's.
    pub(super) agent: Option<String>,
    /// What it is about, in a few words, for lists.
    #[serde(default)]
    pub(super) title: String,
    /// Other sessions neither see it nor reach it: for a reviewer who must stay independent.
    #[serde(default)]
    pub(super) isolated: bool,
    /// The most it may cost, in dollars; never more than your bounds leave.
    pub(super) max_usd: Option<f64>,
    /// The most tokens it may use.
    pub(super) max_tokens: Option<u64>,
    /// A key of your own: the same key again starts nothing and answers with the first session.
    pub(super) key: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneSession {
    /// Its name or id.
    pub(super) session: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct WaitForSessions {
    /// Names or ids: comes back once all of them are done.
    #[serde(default)]
    pub(super) sessions: Vec<String>,
    /// Done is `idle` (the turn is over and nothing is queued; the default) or `ended`.
    #[serde(default)]
    pub(super) until: Done,
    #[serde(flatten)]
    pub(super) coming_back: ComingBack,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Done {
    #[default]
    Idle,
    Ended,
}

/// How long this call waits, and what it goes on waiting for.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct ComingBack {
    /// Instead of everything else: goes on with what an earlier call waited for.
    pub(super) ticket: Option<String>,
    /// Come back after so many seconds at the latest, with a ticket; 0 only looks. At most 600.
    pub(super) max_seconds: Option<u64>,
    /// With `ticket`: gives up on it. A question that nobody answered yet is taken back.
    #[serde(default)]
    pub(super) cancel: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct StopSession {
    /// Its name or id. You may stop what you started, and what that started.
    pub(super) session: String,
    /// `interrupt` only stops the present turn and keeps the context, `end` (the default) lets it end,
    /// `kill` kills every process of it.
    #[serde(default)]
    pub(super) how: How,
    /// Everything that it started, too, all at once.
    #[serde(default)]
    pub(super) tree: bool,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum How {
    Interrupt,
    #[default]
    End,
    Kill,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SendMessage {
    /// Session names, or `parent`, `children`, `lord`, `human`, `project:NAME`, `PD-*`, `all`.
    pub(super) to: Recipients,
    pub(super) text: String,
    /// The id of the message that this answers.
    pub(super) reply_to: Option<String>,
    /// A key of your own: sent again under it, it is one message.
    pub(super) key: Option<String>,
    /// You know that this reaches many, each of whom takes a turn for it.
    #[serde(default)]
    pub(super) confirmed: bool,
}

/// One address, or several.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Recipients {
    One(String),
    Several(Vec<String>),
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReadMessages {
    /// How many at most; without it 20.
    pub(super) most: Option<usize>,
    /// Ids of messages that you have dealt with: they do not come again.
    #[serde(default)]
    pub(super) acknowledge: Vec<String>,
    /// Looks for messages of yours instead, old ones and sent ones too, the newest first.
    pub(super) find: Option<FindMessages>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct FindMessages {
    /// Words that stand in it.
    pub(super) words: Option<String>,
    /// With this session or client, or `human`.
    pub(super) with: Option<String>,
    /// Of this exchange: the `thread` of a message.
    pub(super) thread: Option<String>,
    /// Those you got, those you sent, or both.
    #[serde(default)]
    pub(super) side: Side,
    /// Older than the message of this `number`.
    pub(super) before: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Side {
    #[default]
    Both,
    Received,
    Sent,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SetSummary {
    /// One line: what you are doing, and what you are waiting for.
    pub(super) text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct AskHuman {
    /// The whole question, with what one has to know to answer it.
    #[serde(default)]
    pub(super) question: String,
    /// A word or two that names it.
    #[serde(default)]
    pub(super) header: String,
    /// Answers to choose from; the person may always write another.
    #[serde(default)]
    pub(super) options: Vec<OfferedAnswer>,
    /// Several may be chosen.
    #[serde(default)]
    pub(super) multiple: bool,
    #[serde(flatten)]
    pub(super) coming_back: ComingBack,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OfferedAnswer {
    pub(super) label: String,
    /// What choosing it means.
    #[serde(default)]
    pub(super) description: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct NotifyHuman {
    pub(super) text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SendFile {
    /// In your session's folder.
    pub(super) path: String,
    /// What it is, in a sentence.
    #[serde(default)]
    pub(super) about: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct RunWorkflow {
    /// As `list_workflows` calls it.
    pub(super) workflow: String,
    /// Values of its params, by name; those with a default may be left out.
    #[serde(default)]
    pub(super) params: Map<String, Value>,
    /// Where it runs, as `list_projects` calls it, if the workflow does not say itself.
    pub(super) project: Option<String>,
    /// A key of your own: the same key again starts nothing and answers with the first run.
    pub(super) key: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneRun {
    /// The run's id or name, as `run_workflow` gave it.
    pub(super) run: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct WaitForRun {
    /// The run's id or name, as `run_workflow` gave it.
    #[serde(default)]
    pub(super) run: String,
    #[serde(flatten)]
    pub(super) coming_back: ComingBack,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReadTranscript {
    /// Its name or id.
    pub(super) session: String,
    /// How many characters at most, the newest; without it 20,000, at most 100,000.
    pub(super) characters: Option<usize>,
    /// So many of the newest characters are left out: for what came before an earlier answer.
    #[serde(default)]
    pub(super) skip: usize,
}

impl From<Scope> for ListScope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Machine => Self::Machine,
            Scope::Project => Self::Project,
            Scope::Repository => Self::Repository,
            Scope::Directory => Self::Directory,
            Scope::Tree => Self::Tree,
        }
    }
}

impl From<Done> for Until {
    fn from(done: Done) -> Self {
        match done {
            Done::Idle => Self::Idle,
            Done::Ended => Self::Ended,
        }
    }
}

impl From<How> for StopHow {
    fn from(how: How) -> Self {
        match how {
            How::Interrupt => Self::Interrupt,
            How::End => Self::End,
            How::Kill => Self::Kill,
        }
    }
}

impl From<Side> for MailSide {
    fn from(side: Side) -> Self {
        match side {
            Side::Both => Self::Both,
            Side::Received => Self::Received,
            Side::Sent => Self::Sent,
        }
    }
}

impl Recipients {
    pub(super) fn addresses(self) -> Vec<String> {
        match self {
            Self::One(address) => vec![address],
            Self::Several(addresses) => addresses,
        }
    }
}
