//! TOML → checked [`Config`]. Nothing behind this module checks a setting again.

mod access;
mod bounds;
mod budget;
mod check;
mod defaults;
mod keys;
mod lord;
mod matrix;
mod paths;
mod policies;
mod prices;
mod problem;
mod ringing;
mod rows;
mod secrets;
mod telemetry;
mod values;
mod workflows;

pub(crate) use paths::on_path;
pub use paths::{NoHome, Surroundings};
pub use prices::{AS_OF as PRICES_AS_OF, FILE as PRICES_FILE, PriceList};
pub use problem::{ConfigError, Problem};
pub use vigie_core::{
    account::Budgets,
    caller::Bounds,
    ringing::{Hours, Ringing},
    state::{Lord, Role, Strangers, WorkflowRules},
};

use std::{
    collections::BTreeMap, fs, io, net::SocketAddr, num::NonZeroUsize, path::PathBuf,
    time::Duration,
};
use vigie_core::{
    id::{AccountName, AgentName, HumanId, ProjectName},
    policy::Policy,
};
use vigie_workflow::value::SecretName;

use crate::{agents::AgentKind, confine::Level};

/// Everything a person can set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The file it came from; `None`: the defaults alone.
    pub source: Option<PathBuf>,
    pub web: Web,
    /// At least one of them is an owner.
    pub humans: Vec<Human>,
    /// At least one; the first is taken when nobody names one.
    pub projects: Vec<Project>,
    pub agents: Vec<Agent>,
    pub routing: Routing,
    pub gates: Gates,
    pub recording: Recording,
    pub phone: Phone,
    pub telegram: Telegram,
    pub matrix: Matrix,
    pub access: Access,
    /// How far agents may go on their own account.
    pub bounds: Bounds,
    /// What may be spent.
    pub budget: Budgets,
    /// What models cost: those that ship with Vigie, and over them those of the person's file.
    pub prices: PriceList,
    /// The session that is the people's one counterpart; `None`: there is none.
    pub lord: Option<Lord>,
    pub workflows: Workflows,
    /// What is decided before anybody is asked, in the order of the file.
    pub policies: Vec<Policy>,
    /// What rings, as far as it is not each person's own.
    pub ringing: Ringing,
    pub telemetry: Telemetry,
    /// What workflows may use and nobody reads.
    pub secrets: Vec<Secret>,
    /// What is allowed and still worth a word at the start, each a sentence.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Web {
    pub listen: SocketAddr,
    /// Host names besides the loopback ones under which a browser may ask for us.
    pub hosts: Vec<String>,
    /// The address people reach us under when it is not `listen`: a tunnel or a proxy with TLS.
    pub url: Option<PublicUrl>,
}

/// `http(s)://host[:port]`, without a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    pub scheme: Scheme,
    /// Host and, where it is not the scheme's own, port: as it stands in a `Host` header.
    pub authority: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Human {
    pub id: HumanId,
    pub name: String,
    pub role: Role,
    /// Whether they get the phone page.
    pub phone: OnOff,
    /// Their number on Telegram, when it stands here instead of coming from a code.
    pub telegram: Option<u64>,
    /// Their full user id on Matrix, the server's name in lower case.
    pub matrix: Option<String>,
    /// When nothing wakes them, and when they read what happened.
    pub hours: Option<Hours>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnOff {
    On,
    Off,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub name: ProjectName,
    pub path: PathBuf,
    /// Names one of [`Config::agents`].
    pub agent: AgentName,
    pub worktree: WorktreeMode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorktreeMode {
    /// Every session works in the project's own folder.
    None,
    /// Each session gets a git worktree and a branch.
    PerStory,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    pub name: AgentName,
    pub kind: AgentKind,
    /// For [`AgentKind::Demo`] our own binary, whatever stands here.
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub permission_mode: Option<String>,
    pub prompt_ends: Option<String>,
    pub confine: Level,
    /// Besides Vigie's own: folders and files that are not there for it.
    pub hide: Vec<PathBuf>,
    /// Another user of the system, as whom it runs.
    pub user: Option<String>,
    /// The account it works on, where others share it; `None`: one of its own.
    pub account: Option<AccountName>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routing {
    /// Prefixes of story keys in upper case (`PD`); empty: any that looks like one.
    pub stories: Vec<String>,
    /// Languages whose answer words count.
    pub languages: Vec<Language>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    English,
    French,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gates {
    /// How long a request waits before it is denied by itself.
    pub deadline: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Most bytes of one session's recording.
    pub limit: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phone {
    pub enabled: OnOff,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telegram {
    pub enabled: OnOff,
    /// The bot's token lies in there, and nothing else.
    pub token_file: PathBuf,
    /// Where the Bot API is: `http(s)://`, a host and perhaps a port and a path.
    pub api: String,
    pub long_answers: LongAnswers,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    pub enabled: OnOff,
    pub layout: Layout,
    /// Devices that their owner has not signed.
    pub unsigned_devices: Unsafe,
    /// Words without encryption in a room that is encrypted.
    pub unencrypted: Unsafe,
    /// Rooms without encryption.
    pub plain_rooms: Unsafe,
    pub reactions: Reactions,
    /// Another identity of somebody who was never verified.
    pub new_identities: Unsafe,
    /// What the homeserver lets the account send.
    pub events_a_minute: NonZeroUsize,
    pub polls: OnOff,
    pub quick_reactions: OnOff,
    pub long_answers: LongAnswers,
}

/// Where sessions stand on Matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One room, with a thread for each.
    Threads,
    /// One room, and prefixes.
    Direct,
    /// A space, with a room for each.
    Space,
}

/// What is done with something that is less safe than it could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsafe {
    Refuse,
    Accept,
}

/// What counts of reactions, which are not encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reactions {
    /// Plain answers.
    Answer,
    /// Only what lets nothing through.
    Deny,
    Ignore,
}

/// What becomes of an answer that fits no single message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongAnswers {
    /// A few messages, and a document only when they would be too many.
    Parts,
    /// The beginning, and the whole as a document.
    Document,
}

/// A secret by its name and where its value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    pub name: SecretName,
    pub from: SecretFrom,
    /// The workflows that may use it, by their whole names; `*`: all of the person's own.
    pub workflows: Vec<String>,
}

impl Secret {
    /// Whether that workflow may use it. A project's own are files that agents may write, so each is
    /// named or has nothing.
    pub fn is_for(&self, workflow: &str) -> bool {
        let own = !workflow.contains('/');
        self.workflows.iter().any(|allowed| allowed == workflow || (allowed == "*" && own))
    }
}

/// Where a value is read when a step needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretFrom {
    /// A variable of the daemon's environment.
    Env(String),
    File(PathBuf),
    /// What it prints.
    Command(Vec<String>),
    /// The system's own.
    Keyring {
        service: String,
        account: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    pub strangers: Strangers,
}

impl std::fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        write!(f, "{scheme}://{}", self.authority)
    }
}

/// Who is told how long what took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// Where a collector takes OTLP over HTTP, without the `/` at its end; `None`: nobody is told.
    pub otlp: Option<String>,
}

/// How workflows are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workflows {
    /// Projects whose own workflows may be started by their schedule and by webhooks.
    pub triggers: Vec<ProjectName>,
    /// How much of this machine they may take up.
    pub rules: WorkflowRules,
}

/// Reads the address of a Bot API as the configuration takes it; `None`: it is none.
#[cfg(feature = "telegram")]
pub(crate) fn bot_api(text: &str) -> Option<String> {
    values::api_url(text)
}

/// Reads a person's full id on Matrix as the configuration takes it; `None`: it is none.
#[cfg(feature = "matrix")]
pub(crate) fn matrix_user(text: &str) -> Option<String> {
    values::matrix_user(text)
}

/// `config.example.toml`, as it was when this binary was built.
pub const EXAMPLE: &str = include_str!("../../config.example.toml");

impl Config {
    /// Whose program a step of that project has for itself where it needs Claude Code: the project's own
    /// agent where it is that, else the first that is.
    pub fn claude_of(&self, project: &Project) -> Option<&Agent> {
        let is_claude = |agent: &&Agent| agent.kind == AgentKind::Claude;
        let own = self.agents.iter().find(|agent| agent.name == project.agent);
        own.filter(is_claude).or_else(|| self.agents.iter().find(is_claude))
    }

    /// Reads `around.config`. A file that is not there gives the defaults, unless somebody named
    /// it (`named`).
    pub fn load(around: &Surroundings, named: Named) -> Result<Self, ConfigError> {
        let mut config = Self::load_file(around, named)?;
        config.prices = PriceList::load(&around.config)?;
        Ok(config)
    }

    fn load_file(around: &Surroundings, named: Named) -> Result<Self, ConfigError> {
        let file = &around.config;
        match fs::read_to_string(file) {
            Ok(text) => {
                let mut config = check::parse(&text, file, around)?;
                config.warnings.extend(paths::readable_secrets(file, &config));
                config.source = Some(file.clone());
                Ok(config)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && named == Named::No => {
                Ok(Self::defaults(around))
            }
            Err(error) => Err(ConfigError::unreadable(file, error)),
        }
    }

    /// What holds without any file.
    pub fn defaults(around: &Surroundings) -> Self {
        defaults::config(around)
    }

    /// Checks `text` as if it stood in `around.config`.
    pub fn parse(text: &str, around: &Surroundings) -> Result<Self, ConfigError> {
        check::parse(text, &around.config, around)
    }

    pub fn human(&self, id: &HumanId) -> Option<&Human> {
        self.humans.iter().find(|human| human.id == *id)
    }

    /// Whether the value of that variable is one of the secrets.
    pub fn is_a_secret(&self, variable: &str) -> bool {
        let named = |secret: &Secret| matches!(&secret.from, SecretFrom::Env(it) if it == variable);
        self.secrets.iter().any(named)
    }

    /// Who the desk is: the first owner.
    pub fn owner(&self) -> &Human {
        let owner = self.humans.iter().find(|human| human.role == Role::Owner);
        owner.expect("checked: one human is an owner")
    }
}

/// Whether somebody asked for this very file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    Yes,
    No,
}
