//! One agent working on one story.

use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    agent::{ExitStatus, Order, Running},
    bridge::SessionLook,
    caller::{Isolated, Principal, TokenHash},
    id::{AgentName, HumanId, ProjectName, RunId, SessionId, SessionName, TurnId},
    ledger::Tokens,
    mail::Mail,
    outage::Cut,
    prompt::OfStep,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    pub name: SessionName,
    /// What the story is about, in a few words; empty when nobody said.
    pub title: String,
    pub project: ProjectName,
    pub agent: AgentName,
    /// The folder it works in; the project's own until a worktree is made.
    pub cwd: String,
    pub worktree: Option<Worktree>,
    pub created: Timestamp,
    /// Who wrote to it last, or else started it; of what an agent started, whose that agent was then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whose: Option<HumanId>,
    pub life: Life,
    /// Somebody wants it to end; told to its holder until it has.
    pub ending: Option<Box<Ending>>,
    /// An interrupt was ordered and has not shown any effect.
    pub interrupting: Option<Order>,
    /// Its program was ordered to start and has not said that it runs.
    pub launching: Option<Launch>,
    /// How many times its program was started; each start has a holder and a folder of its own.
    pub run: u32,
    /// The agent's own id of the conversation, with which it is resumed.
    pub conversation: Option<String>,
    /// The last report that is written down.
    pub last_seq: u64,
    /// When that came.
    #[serde(default)]
    pub heard: Option<Timestamp>,
    /// That nothing goes on below its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent: Option<Silent>,
    /// When people were told that it is stuck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<Timestamp>,
    pub turn: Option<Turn>,
    /// What policies denied in this turn, as far as it was told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// The agent's last words, shortened, for lists.
    pub last_words: Option<String>,
    pub spent: Spent,
    #[serde(default)]
    pub role: Role,
    /// `None`: a person started it.
    #[serde(default)]
    pub spawn: Option<Spawn>,
    #[serde(default)]
    pub isolated: Isolated,
    /// What it says it does.
    #[serde(default)]
    pub summary: Option<Summary>,
    /// Of the token its present run speaks with.
    #[serde(default)]
    pub token: Option<TokenHash>,
    /// What stirred its present turn, when that was a message.
    #[serde(default)]
    pub stirred: Stirred,
    /// The run of a workflow that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_run: Option<OfRun>,
    /// The step whose turn was the last, and what was spent by its end: what comes to light until the
    /// next turn is that step's as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Box<TurnOfStep>>,
    /// Its last turn was cut off by what is wrong with its account, and goes on once that is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Box<Cut>>,
    /// Another agent goes on with its story as soon as its program is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handing_over: Option<Box<HandingOver>>,
}

/// Who goes on with a story, and who wanted that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandingOver {
    pub to: AgentName,
    pub by: HumanId,
    /// What it worked on when that was ordered: by the time its program is gone, nothing tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Box<Cut>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silent {
    pub since: Timestamp,
    /// The newest program below it, which may be as old as the session.
    pub running: Option<Running>,
    /// Since when one of the agent's tools runs; `None`: none does, or nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Timestamp>,
}

/// A run of a workflow, as those it started know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfRun {
    pub run: RunId,
    /// For people: `release-12`.
    pub name: String,
}

impl Session {
    /// Whether there is a turn that an interrupt would stop.
    pub fn is_in_a_turn(&self) -> bool {
        self.turn.is_some() || matches!(self.life, Life::Working { .. })
    }
}

/// What a session is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    #[default]
    Worker,
    /// The person's one counterpart: gets what has no address.
    Lord,
}

/// That an agent started it, and on what terms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spawn {
    pub by: Principal,
    /// The session or client above them all.
    pub root: Principal,
    /// Generations below what a person started.
    pub depth: u32,
    /// What was set aside for it; past that its turn is stopped …
    pub micro_usd: u64,
    pub tokens: u64,
    /// … and how often a person set aside as much again.
    #[serde(default)]
    pub renewed: u32,
    /// The starter's own key.
    pub key: Option<String>,
    /// It went past what was set aside, and that was said: nothing stirs it any more until a person
    /// writes to it.
    pub over_budget: bool,
}

impl Spawn {
    /// All that is set aside for it.
    pub fn reserve(&self) -> Amount {
        let times = u64::from(self.renewed) + 1;
        Amount {
            micro_usd: self.micro_usd.saturating_mul(times),
            tokens: self.tokens.saturating_mul(times),
        }
    }
}

/// What an agent says it is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub text: String,
    pub at: Timestamp,
}

/// How a turn came about that messages led to; zeros: a person's own words did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stirred {
    pub hops: u32,
    /// The depth of the deepest session behind it: nobody reaches deeper through another.
    pub depth: u32,
}

impl Stirred {
    /// As whoever reads that message is stirred by it.
    pub fn by(mail: &Mail) -> Self {
        Self { hops: mail.hops, depth: mail.depth }
    }

    /// By both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self { hops: self.hops.max(other.hops), depth: self.depth.max(other.depth) }
    }
}

/// An order to end, kept until the program is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    pub by: EndedBy,
    pub order: Order,
}

/// Who wants a session to end. A person is written as before agents could: by their name alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EndedBy {
    Human(HumanId),
    Agent(Principal),
}

/// With which conversation a program is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "launch", rename_all = "snake_case")]
pub enum Launch {
    New { conversation: String },
    Resume { conversation: String },
}

/// A git worktree made for a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    pub path: String,
    pub branch: String,
}

/// Tokens and money as the agent counts them (list price), summed over its runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub micro_usd: u64,
    /// Read anew, from no cache and into none.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Read from a cache, or written into one.
    #[serde(default)]
    pub cached_tokens: u64,
    /// What the present run has counted so far: an agent's count restarts with its program.
    pub run_micro_usd: u64,
    pub run_input_tokens: u64,
    pub run_output_tokens: u64,
    /// Where the sums come from.
    #[serde(default)]
    pub counted: Counted,
    /// What was spent before the present turn, or the last one.
    #[serde(default)]
    pub before_turn: u64,
    /// The dearest turn so far.
    #[serde(default)]
    pub largest_turn: u64,
}

/// How it is known what a session spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Its agent tells totals, and money by its own prices.
    #[default]
    Told,
    /// Its agent's records have each answer of a model: they are in the ledger, and nothing else counts.
    Records,
}

/// Money in millionths of a dollar, and tokens of both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub micro_usd: u64,
    pub tokens: u64,
}

impl Amount {
    /// The larger of each.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            micro_usd: self.micro_usd.max(other.micro_usd),
            tokens: self.tokens.max(other.tokens),
        }
    }

    /// Whether neither is more than in `limit`.
    pub fn is_within(self, limit: Self) -> bool {
        self.micro_usd <= limit.micro_usd && self.tokens <= limit.tokens
    }
}

impl std::ops::Add for Amount {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            micro_usd: self.micro_usd.saturating_add(other.micro_usd),
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }
}

impl std::iter::Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), |sum, amount| sum + amount)
    }
}

impl Spent {
    pub fn amount(&self) -> Amount {
        let tokens = self.given().saturating_add(self.output_tokens);
        Amount { micro_usd: self.micro_usd, tokens }
    }

    /// Tokens of all that its models were given.
    pub fn given(&self) -> u64 {
        self.input_tokens.saturating_add(self.cached_tokens)
    }

    /// From here on records are counted, which hold whatever was told before as well.
    pub fn count_by_records(&mut self) {
        self.counted = Counted::Records;
        (self.micro_usd, self.input_tokens, self.output_tokens) = (0, 0, 0);
        (self.cached_tokens, self.before_turn, self.largest_turn) = (0, 0, 0);
    }

    /// Adds what the ledger took in.
    pub fn count(&mut self, tokens: Tokens, micro_usd: u64) {
        self.micro_usd = self.micro_usd.saturating_add(micro_usd);
        self.input_tokens = self.input_tokens.saturating_add(tokens.input);
        let cached = tokens.prompt().saturating_sub(tokens.input);
        self.cached_tokens = self.cached_tokens.saturating_add(cached);
        self.output_tokens = self.output_tokens.saturating_add(tokens.output);
        self.largest_turn = self.largest_turn.max(self.of_turn());
    }

    /// What the present turn has cost so far.
    pub fn of_turn(&self) -> u64 {
        self.micro_usd.saturating_sub(self.before_turn)
    }

    /// Takes over the running total of the present run.
    pub fn update(&mut self, micro_usd: u64, input: u64, output: u64) {
        if self.counted == Counted::Records {
            return;
        }
        self.micro_usd += micro_usd.saturating_sub(self.run_micro_usd);
        self.input_tokens += input.saturating_sub(self.run_input_tokens);
        self.output_tokens += output.saturating_sub(self.run_output_tokens);
        (self.run_micro_usd, self.run_input_tokens, self.run_output_tokens) =
            (micro_usd, input, output);
        self.largest_turn = self.largest_turn.max(self.of_turn());
    }

    /// The program starts anew, and so does its count.
    pub fn new_run(&mut self) {
        (self.run_micro_usd, self.run_input_tokens, self.run_output_tokens) = (0, 0, 0);
    }
}

/// One turn of the agent as the chat shows it: a progress message edited in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub id: Option<TurnId>,
    /// Whose words it answers; `None`: nobody's, or those of other agents.
    #[serde(default)]
    pub by: Option<HumanId>,
    #[serde(default)]
    pub begun: Begun,
    pub since: Timestamp,
    pub lines: Vec<String>,
    /// The progress messages, one a chat.
    pub shown: Vec<crate::delivery::Shown>,
    /// How many messages this turn has said.
    pub finals: u32,
    /// The step of a run it is for, and what the session had spent before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_step: Option<Box<TurnOfStep>>,
    /// What it was asked, shortened and masked; `None`: nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// It is stopped for the money it would cost, and goes on once there is more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_money: bool,
}

/// Where the words came from that began a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Begun {
    /// Somebody typed them into the session's own terminal, and may still sit there.
    Desk,
    #[default]
    Elsewhere,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnOfStep {
    pub step: OfStep,
    pub before: Spent,
}

/// Where a session is in its life. "Waiting for a person" is not in here: it is working or idle
/// with an open gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "life", rename_all = "snake_case")]
pub enum Life {
    Starting {
        since: Timestamp,
    },
    Idle {
        since: Timestamp,
    },
    Working {
        since: Timestamp,
    },
    NeedsDesk {
        since: Timestamp,
        why: String,
    },
    /// Its program left, as somebody wanted.
    Ended {
        at: Timestamp,
        how: Ended,
    },
    /// Its program is gone though nobody wanted that.
    Lost {
        at: Timestamp,
        why: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Ended {
    /// By `/end` or `/kill`.
    By { human: HumanId },
    /// By an agent above it: a session's name, or a client's.
    ByAgent { name: String },
    /// The program left by itself, without an error.
    Itself,
}

impl Life {
    pub fn is_live(&self) -> bool {
        match self {
            Self::Starting { .. }
            | Self::Idle { .. }
            | Self::Working { .. }
            | Self::NeedsDesk { .. } => true,
            Self::Ended { .. } | Self::Lost { .. } => false,
        }
    }

    pub fn since(&self) -> Timestamp {
        match self {
            Self::Starting { since }
            | Self::Idle { since }
            | Self::Working { since }
            | Self::NeedsDesk { since, .. } => *since,
            Self::Ended { at, .. } | Self::Lost { at, .. } => *at,
        }
    }

    pub fn look(&self) -> SessionLook {
        match self {
            Self::Starting { .. } => SessionLook::Starting,
            Self::Idle { .. } => SessionLook::Idle,
            Self::Working { .. } => SessionLook::Working,
            Self::NeedsDesk { .. } => SessionLook::NeedsDesk,
            Self::Ended { .. } => SessionLook::Ended,
            Self::Lost { .. } => SessionLook::Lost,
        }
    }
}

/// What a person reads about how a program ended.
pub fn exit_words(how: ExitStatus) -> String {
    match how {
        ExitStatus::Code { code } => format!("exit status {code}"),
        ExitStatus::Signal { signal } => format!("signal {signal}"),
        ExitStatus::Unknown => "no exit status, since its holder died with it".into(),
    }
}
