//! What can be typed.

use clap::{
    Parser, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use clap_complete::Shell;
use std::{net::SocketAddr, path::PathBuf};
use vigie_core::caller::TokenScope;

use super::{
    audit::AuditArgs, grants::GrantsDo, hook::HookArgs, matrix::Matrix, policy::PolicyArgs,
    workflow::Workflow,
};
use crate::{agents::demo::DemoArgs, confine::ConfineArgs};

/// Steer many coding-agent sessions from one phone chat.
#[derive(Debug, Parser)]
#[command(name = "vigie", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(
    after_help = "Exit codes: 0 done · 1 a fault of Vigie · 2 command line or configuration \
    · 3 refused · 4 Vigie is not running · 5 disk, port or another program"
)]
pub struct Args {
    /// Print JSON, also for errors
    #[arg(long, global = true)]
    pub json: bool,
    #[arg(long, global = true, value_name = "FOLDER")]
    #[arg(help = "Vigie's own folder [default: $VIGIE_HOME, else ~/.local/share/vigie]")]
    pub home: Option<PathBuf>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start Vigie here; Ctrl-C stops it, and sessions go on
    Up(Up),
    /// Stop Vigie; sessions go on
    Down,
    /// Show what runs and what waits
    Status,
    /// Check this machine and the configuration, and say what to do
    Doctor {
        /// The configuration to check [default: ~/.config/vigie/config.toml]
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Print a one-time link that signs a browser or a phone in
    Login {
        /// Who signs in with it, by id [default: the first owner]
        human: Option<String>,
    },
    /// List the devices that are signed in
    Logins,
    /// Sign a device out
    Logout {
        /// As `vigie logins` shows it
        id: String,
    },
    /// Set a chat service up
    #[command(subcommand)]
    Init(Init),
    /// Print a code that lets a person in over a chat service
    Pair {
        /// Whom it lets in, by id [default: the first owner]
        human: Option<String>,
    },
    /// List who is heard over chat services, and which chats hear of sessions
    People,
    /// Take access back from a person or a chat
    Unpair {
        /// The chat service: telegram, matrix
        bridge: String,
        /// The service's own number, as `vigie people` shows it
        #[arg(allow_hyphen_values = true)]
        id: String,
    },
    /// See the account on Matrix, and verify who is who there
    #[command(subcommand)]
    Matrix(Matrix),
    /// Let programs outside of every session use Vigie's tools
    #[command(subcommand)]
    Token(Token),
    /// Vigie's tools for agents, over standard input and output
    Mcp(Mcp),
    /// Start a session
    New(New),
    /// Send a message to a session
    Send(Send),
    /// Interrupt what a session does; it keeps its context
    Stop { name: String },
    /// End a session; it can be resumed
    End {
        name: String,
        /// With all that it started, and what that started
        #[arg(long)]
        tree: bool,
    },
    /// Kill every process of a session
    Kill { name: String },
    /// Go on with an ended session
    Resume { name: String },
    /// Have another agent go on with a session's story
    ///
    /// The session ends and keeps its context. Another one of the same name starts in the same folder and
    /// on the same branch: its first words are a brief of Vigie's, then comes what waited.
    Handover {
        /// The session whose story it is
        name: String,
        /// The agent that goes on with it, by its name in the configuration
        agent: String,
    },
    /// Try an account again that is stopped: at its limit, not logged in
    Retry {
        /// Its name; all that are stopped without
        #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
        account: Option<String>,
    },
    /// List the sessions
    Sessions {
        /// Also those that have ended
        #[arg(long, short)]
        all: bool,
    },
    /// Show what sessions write each other
    Mail(Mail),
    /// Show what models were paid for
    Usage(Usage),
    /// Set what a session or a story may cost, or show how it stands
    Budget(Budget),
    /// Show what waits for an answer, oldest first
    Waiting,
    /// List what did not reach its chat, or try one again
    Undelivered {
        #[command(subcommand)]
        what: Option<Undelivered>,
    },
    /// Say what happened since the last digest, and what waits
    Digest,
    /// Keep a session from ringing for you; alone: say what is muted
    Mute {
        /// The session, or all
        name: Option<String>,
        /// For how long: 30m, 2h, 1d; seven days at most
        #[arg(value_name = "TIME", default_value = "2h")]
        time: String,
    },
    /// Let a session ring again
    Unmute {
        /// The session, or all
        name: String,
    },
    /// Answer what waits
    Answer {
        /// The four letters on the card
        code: String,
        /// approve, deny, deny and a reason, an option, or your own words
        #[arg(required = true, value_name = "CHOICE")]
        choice: Vec<String>,
    },
    /// Show a session here, live, and type into it; Ctrl-\ twice leaves it
    Attach { name: String },
    /// Print a session's screen
    Screen { name: String },
    /// Print what a session printed
    Log(Log),
    /// Follow everything that happens
    Watch {
        /// Begin after this event instead of now
        #[arg(long, value_name = "NUMBER")]
        after: Option<u64>,
    },
    /// List what was allowed for longer than one request, or take it back
    Grants {
        #[command(subcommand)]
        what: Option<GrantsDo>,
    },
    /// See what is decided before anybody is asked
    Policy(PolicyArgs),
    /// List what was decided, or check that the list is whole
    Audit(AuditArgs),
    /// Let work run by itself: files that say what happens after what
    Workflow(Workflow),
    /// Print completions for a shell
    Completions { shell: Shell },
    /// Hold one session's terminal
    #[command(hide = true)]
    Hold { folder: PathBuf },
    /// Carry out one attempt of a step
    #[command(hide = true)]
    Step { folder: PathBuf },
    /// Run the script that comes in
    #[command(hide = true)]
    Javascript,
    /// Hand an agent's hook to its holder
    #[command(hide = true)]
    Hook(HookArgs),
    /// Confine a session's program
    #[command(hide = true, subcommand)]
    Confine(ConfineArgs),
    /// Behave like a coding agent
    #[command(hide = true)]
    DemoAgent(DemoArgs),
}

#[derive(Debug, clap::Args)]
pub struct Up {
    /// Stay in this terminal; it is the only way so far
    #[arg(long, hide = true)]
    pub foreground: bool,
    /// Address and port of the pages, instead of the configured one
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// The configuration [default: ~/.config/vigie/config.toml]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print no link and no QR code
    #[arg(long)]
    pub no_link: bool,
}

#[derive(Debug, Subcommand)]
pub enum Init {
    /// Set Telegram up with a bot of your own; asks for its token
    Telegram(InitTelegram),
    /// Set Matrix up with an account of Vigie's own; asks for what is not given
    Matrix(Box<InitMatrix>),
}

impl Init {
    pub fn config(&self) -> Option<&PathBuf> {
        match self {
            Self::Telegram(init) => init.config.as_ref(),
            Self::Matrix(init) => init.config.as_ref(),
        }
    }
}

/// The token is never an argument: other users of the machine can read those.
#[derive(Debug, clap::Args)]
pub struct InitTelegram {
    /// Take the bot's token from this file instead of asking for it
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Address of a Bot API server of your own [default: Telegram's]
    #[arg(long, value_name = "URL")]
    pub api: Option<String>,
    /// The configuration to change [default: ~/.config/vigie/config.toml]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Secrets are never arguments: other users of the machine can read those.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "what can be switched on the command line")]
pub struct InitMatrix {
    /// The account's homeserver: its name (example.org) or address [default: that of a whole user id]
    #[arg(long, value_name = "SERVER")]
    pub homeserver: Option<String>,
    /// The account that Vigie speaks as: its name, or its whole id
    #[arg(long, value_name = "USER", conflicts_with = "token_file")]
    pub user: Option<String>,
    /// Take the account's password from this file instead of asking for it
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// Log in with the access token in this file instead of a password
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// What the account's list of devices calls it [default: Vigie on this machine]
    #[arg(long, value_name = "NAME")]
    pub device_name: Option<String>,
    /// Your own id on Matrix, whole, who is then heard: @ines:example.org
    #[arg(long, value_name = "ID")]
    pub person: Option<String>,
    /// Whose id that is, by the id in the configuration [default: the first owner]
    #[arg(long, value_name = "HUMAN", requires = "person")]
    pub human: Option<String>,
    /// Do not ask whether that is the right person
    #[arg(long, short)]
    pub yes: bool,
    /// Take the account's recovery key from this file, where it has one already
    #[arg(long, value_name = "FILE")]
    pub recovery_key_file: Option<PathBuf>,
    /// Whether a recovery key is kept in Vigie's folder too [default: asks; unasked: no]
    #[arg(long, value_enum, value_name = "CHOICE")]
    pub keep_recovery_key: Option<Keep>,
    /// Make a new recovery key; the old one opens nothing any more
    #[arg(long)]
    pub new_recovery_key: bool,
    /// Log in as a new device: after a logout, or when the store is lost
    #[arg(long)]
    pub again: bool,
    /// Put a new identity in the place of the account's; everybody has to verify it again
    #[arg(long)]
    pub reset_identity: bool,
    /// The configuration to change [default: ~/.config/vigie/config.toml]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Keep {
    Yes,
    No,
}

#[derive(Debug, Subcommand)]
pub enum Token {
    /// Print a new token, once; a program speaks with it
    Create(NewClient),
    /// List the tokens that are valid
    List,
    /// End a token, at once
    Revoke {
        /// As `vigie token list` shows it
        name: String,
    },
}

#[derive(Debug, clap::Args)]
pub struct NewClient {
    /// What it is called in lists and beside its messages
    pub name: String,
    /// What it is good for [default: all]
    #[arg(long, value_name = "SCOPE", value_delimiter = ',', value_parser = scope())]
    pub scope: Vec<TokenScope>,
}

/// The names of scopes, for completions and near misses too.
fn scope() -> impl TypedValueParser<Value = TokenScope> {
    PossibleValuesParser::new(TokenScope::ALL.map(TokenScope::as_str)).try_map(|word| {
        TokenScope::ALL.into_iter().find(|scope| scope.as_str() == word).ok_or("no such scope")
    })
}

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Mcp {
    #[command(subcommand)]
    pub what: Option<McpSetup>,
    /// Speak with the token of this name that Vigie keeps [default: the one in `VIGIE_MCP_TOKEN`]
    #[arg(long)]
    pub token: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum McpSetup {
    /// Give them to Claude Code; shows what is written, and asks
    Install(Install),
    /// Take them out of Claude Code
    Uninstall(Uninstall),
}

#[derive(Debug, clap::Args)]
pub struct Install {
    /// For you in every project, or for everybody in the repository of this folder
    #[arg(long, value_enum, default_value_t)]
    pub scope: McpScope,
    /// What Claude Code calls it
    #[arg(long, default_value = "vigie")]
    pub name: String,
    /// Only show what would be written
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, short, conflicts_with = "dry_run")]
    pub yes: bool,
}

#[derive(Debug, clap::Args)]
pub struct Uninstall {
    /// Where it was put
    #[arg(long, value_enum, default_value_t)]
    pub scope: McpScope,
    /// What Claude Code calls it
    #[arg(long, default_value = "vigie")]
    pub name: String,
}

/// As Claude Code calls them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum McpScope {
    #[default]
    User,
    Project,
}

impl McpScope {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

#[derive(Debug, clap::Args)]
pub struct New {
    /// The story's key or a short name: PD-285, docs
    pub name: String,
    /// The project it works in [default: the first]
    #[arg(long, short)]
    pub project: Option<String>,
    /// The agent that works [default: the project's]
    #[arg(long, short)]
    pub agent: Option<String>,
    /// What it is about, in a few words
    #[arg(long, short, default_value = "", hide_default_value = true)]
    pub title: String,
    /// Other sessions neither see it nor can write to it, and it sees none
    #[arg(long)]
    pub isolated: bool,
    /// The first message
    pub prompt: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub struct Send {
    pub name: String,
    /// The message; `-` reads it from standard input
    #[arg(required = true)]
    pub text: Vec<String>,
    /// It is a command of the agent's own, such as /compact
    #[arg(long)]
    pub command: bool,
}

#[derive(Debug, Subcommand)]
pub enum Undelivered {
    /// Try it once more
    Retry {
        /// As `vigie undelivered` shows it
        id: String,
    },
}

#[derive(Debug, clap::Args)]
pub struct Mail {
    /// Only to or from this one: a session's name, `client:NAME` for a program, `human` for people
    pub name: Option<String>,
    /// Only with these words in it
    #[arg(long, short, value_name = "WORDS")]
    pub search: Option<String>,
    /// Only this exchange, by the id of its first message
    #[arg(long, value_name = "ID")]
    pub thread: Option<String>,
    /// Only older ones
    #[arg(long, value_name = "NUMBER")]
    pub before: Option<u64>,
    /// How many
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 20)]
    pub most: usize,
}

#[derive(Debug, clap::Args)]
pub struct Log {
    pub name: String,
    /// Only say where the recording is; asciinema plays it
    #[arg(long, conflicts_with = "raw")]
    pub path: bool,
    /// With colours and cursor movements, as the terminal got it
    #[arg(long)]
    pub raw: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn words_need_no_quotes() {
        let args =
            Args::try_parse_from(["vigie", "send", "PD-285", "run", "the", "tests"]).unwrap();
        let Command::Send(send) = args.command else { panic!("another command") };
        assert_eq!(send.text.join(" "), "run the tests");
    }
}

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Usage {
    #[command(subcommand)]
    pub what: Option<UsageWhat>,
    /// What it is summed by
    #[arg(long, default_value = "day", value_parser = PossibleValuesParser::new(BY))]
    pub by: String,
    /// From this day on, such as 2026-11-30, or from a moment as in RFC 3339
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Up to this day, or before a moment
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
    /// Print it for a spreadsheet
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Compare work that agents did themselves with work that was handed on
    #[arg(long, conflicts_with_all = ["by", "csv"])]
    pub delegations: bool,
    /// The configuration beside which prices lie [default: ~/.config/vigie/config.toml]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

const BY: [&str; 9] =
    ["day", "session", "story", "project", "run", "step", "model", "delegation", "tree"];

#[derive(Debug, Subcommand)]
pub enum UsageWhat {
    /// Show what models cost here, and where that stands
    Prices,
}

#[derive(Debug, clap::Args)]
pub struct Budget {
    /// The session, story or run, or `day`; alone: whatever runs, and the day
    pub name: Option<String>,
    /// Dollars, such as 5 or 2.50; or more, none, usual
    #[arg(requires = "name", value_name = "AMOUNT", allow_negative_numbers = true)]
    pub amount: Option<String>,
}
