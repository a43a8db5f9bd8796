//! Rows → [`Config`]: every value is checked here, and everything that is wrong is said at once.

use serde::{Deserialize, de::IntoDeserializer};
use std::{
    net::SocketAddr,
    ops::Range,
    path::{Path, PathBuf},
};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};
use vigie_core::id::{AccountName, AgentName, ProjectName};

use super::{
    Agent, Config, ConfigError, Gates, Language, OnOff, Phone, Problem, Project, Recording,
    Routing, Surroundings, Web, WorktreeMode, defaults, keys,
    problem::nearest,
    rows::{
        AgentRow, GatesRow, LordRow, PhoneRow, PolicyRow, ProjectRow, RecordingRow, RingingRow,
        RoutingRow, TelegramRow, Text, WebRow, WorkflowsRow,
    },
    values,
};
use crate::{
    agents::AgentKind,
    confine::{Account, Level},
};

const TABLES: &[&str] = &[
    "web",
    "human",
    "project",
    "agent",
    "routing",
    "gates",
    "recording",
    "phone",
    "telegram",
    "matrix",
    "access",
    "bounds",
    "lord",
    "workflows",
    "secret",
    "policy",
    "budget",
    "ringing",
    "telemetry",
];

/// Of Claude Code 2.1.332 (`--permission-mode`).
const PERMISSION_MODES: [&str; 6] =
    ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"];

/// A file with more mistakes than this is no configuration of ours.
const MOST_PROBLEMS: usize = 20;

pub(super) fn parse(text: &str, file: &Path, around: &Surroundings) -> Result<Config, ConfigError> {
    let (document, syntax) = DeTable::parse_recoverable(text);
    let mut check = Check { text, around, problems: Vec::new() };
    for error in syntax {
        check.add(error.span().unwrap_or_default(), error.message().into(), None);
    }
    if check.problems.is_empty() {
        let config = check.document(document.into_inner());
        if check.problems.is_empty() {
            return Ok(config);
        }
    }
    check.problems.truncate(MOST_PROBLEMS);
    Err(ConfigError::new(file, check.problems))
}

pub(super) struct Check<'a> {
    text: &'a str,
    pub(super) around: &'a Surroundings,
    problems: Vec<Problem>,
}

/// One table of a list, and where it stands.
pub(super) type Row<T> = (Range<usize>, T);

impl Check<'_> {
    fn document(&mut self, document: DeTable<'_>) -> Config {
        let mut config = Config::defaults(self.around);
        let mut projects: Vec<Row<ProjectRow>> = Vec::new();
        let mut lord: Option<Row<LordRow>> = None;
        let mut workflows: Option<WorkflowsRow> = None;
        let mut policies: Vec<Row<PolicyRow>> = Vec::new();
        let mut ringing: Option<RingingRow> = None;
        for (key, value) in document {
            match key.get_ref().as_ref() {
                "web" => config.web = self.one(value, "[web]", Self::web).unwrap_or(config.web),
                "human" => {
                    let rows = self.rows(value, "[[human]]");
                    self.humans(rows, &mut config.humans);
                }
                "agent" => {
                    let rows = self.rows(value, "[[agent]]");
                    self.agents(rows, &mut config.agents);
                }
                "project" => projects = self.rows(value, "[[project]]"),
                "routing" => {
                    config.routing =
                        self.one(value, "[routing]", Self::routing).unwrap_or(config.routing);
                }
                "gates" => {
                    config.gates = self.one(value, "[gates]", Self::gates).unwrap_or(config.gates);
                }
                "recording" => {
                    config.recording =
                        self.one(value, "[recording]", Self::recording).unwrap_or(config.recording);
                }
                "phone" => {
                    config.phone = self.one(value, "[phone]", Self::phone).unwrap_or(config.phone);
                }
                "telegram" => {
                    let row: Option<TelegramRow> = self.row(value, "[telegram]");
                    if let Some(row) = row {
                        config.telegram = self.telegram(row, &mut config.warnings);
                    }
                }
                "matrix" => {
                    config.matrix =
                        self.one(value, "[matrix]", Self::matrix).unwrap_or(config.matrix);
                }
                "access" => {
                    config.access =
                        self.one(value, "[access]", Self::access).unwrap_or(config.access);
                }
                "bounds" => {
                    config.bounds =
                        self.one(value, "[bounds]", Self::bounds).unwrap_or(config.bounds);
                }
                "budget" => {
                    config.budget =
                        self.one(value, "[budget]", Self::budget).unwrap_or(config.budget);
                }
                "secret" => {
                    let rows = self.rows(value, "[[secret]]");
                    config.secrets = self.secrets(rows);
                }
                "lord" => {
                    let span = value.span();
                    lord = self.row(value, "[lord]").map(|row| (span, row));
                }
                "policy" => policies = self.rows(value, "[[policy]]"),
                "workflows" => workflows = self.row(value, "[workflows]"),
                "telemetry" => {
                    config.telemetry =
                        self.one(value, "[telemetry]", Self::telemetry).unwrap_or_default();
                }
                "ringing" => ringing = self.row(value, "[ringing]"),
                other => {
                    let hint = nearest(other, TABLES, "Tables");
                    self.add(key.span(), format!("there is no table `{other}`"), hint);
                }
            }
        }
        // Last, whatever their place in the file: they name agents and projects.
        self.projects(projects, &mut config);
        config.lord = lord.and_then(|(span, row)| self.lord(span, row, &mut config));
        if let Some(row) = workflows {
            config.workflows = self.workflows(row, &config);
        }
        self.policies(policies, &mut config);
        if let Some(row) = ringing {
            config.ringing = self.ringing(row, &config);
        }
        config
    }

    pub(super) fn add(&mut self, span: Range<usize>, words: String, hint: Option<String>) {
        self.problems.push(Problem::new(self.text, span, words, hint));
    }

    /// The line on which it begins, from 1.
    pub(super) fn line_of(&self, span: &Range<usize>) -> usize {
        let start = self.text.floor_char_boundary(span.start.min(self.text.len()));
        self.text[..start].matches('\n').count() + 1
    }

    /// Reads one table and checks it.
    fn one<'de, T, C>(
        &mut self,
        value: Spanned<DeValue<'de>>,
        table: &str,
        check: fn(&mut Self, T) -> C,
    ) -> Option<C>
    where
        T: Deserialize<'de>,
    {
        let row = self.row(value, table)?;
        Some(check(self, row))
    }

    /// Reads a list of tables; what cannot be read is said and left out.
    fn rows<'de, T: Deserialize<'de>>(
        &mut self,
        value: Spanned<DeValue<'de>>,
        table: &str,
    ) -> Vec<Row<T>> {
        let span = value.span();
        match value.into_inner() {
            DeValue::Array(rows) => rows
                .into_iter()
                .filter_map(|row| Some((row.span(), self.row(row, table)?)))
                .collect(),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Table(_) => {
                let hint = format!("Write {table}, with two brackets: there can be several.");
                self.add(span, format!("{table} is a list of tables"), Some(hint));
                Vec::new()
            }
        }
    }

    fn row<'de, T: Deserialize<'de>>(
        &mut self,
        mut value: Spanned<DeValue<'de>>,
        table: &str,
    ) -> Option<T> {
        let known = keys::of::<T>();
        if let DeValue::Table(entries) = value.get_mut() {
            for (key, value) in std::mem::take(entries) {
                let name = key.get_ref().as_ref();
                if known.contains(&name) {
                    entries.insert(key, value);
                } else {
                    let hint = nearest(name, known, "Keys");
                    self.add(key.span(), format!("{table} has no key `{name}`"), hint);
                }
            }
        }
        let whole = value.span();
        match T::deserialize(value.into_deserializer()) {
            Ok(row) => Some(row),
            Err(error) => {
                let words = format!("{table}: {}", error.message().trim_end());
                self.add(error.span().unwrap_or(whole), words, None);
                None
            }
        }
    }

    /// The value of `key`, which must be there.
    pub(super) fn needed(
        &mut self,
        row: &Range<usize>,
        table: &str,
        key: &str,
        value: Text,
    ) -> Option<Spanned<String>> {
        if value.is_none() {
            self.add(row.clone(), format!("{table} needs `{key}`"), None);
        }
        value
    }

    /// Reads a value with `read`, or says what was expected.
    pub(super) fn read<V>(
        &mut self,
        value: &Spanned<String>,
        read: fn(&str) -> Option<V>,
        words: &str,
        hint: &str,
    ) -> Option<V> {
        let read = read(value.get_ref());
        if read.is_none() {
            let words = format!("`{}` is {words}", value.get_ref());
            self.add(value.span(), words, Some(hint.into()));
        }
        read
    }

    /// Reads one word out of a few.
    pub(super) fn choice<V: Copy>(
        &mut self,
        value: &Spanned<String>,
        of: &[(&str, V)],
    ) -> Option<V> {
        let word = value.get_ref();
        let found = of.iter().find(|(name, _)| name == word).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<&str> = of.iter().map(|(name, _)| *name).collect();
            let hint = nearest(word, &names, "Possible");
            self.add(value.span(), format!("`{word}` is not possible here"), hint);
        }
        found
    }

    /// A short name that nobody before it in the list has.
    pub(super) fn name(&mut self, name: &Spanned<String>, taken: &mut Vec<String>) -> String {
        let text = name.get_ref();
        let fits =
            text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c));
        if text.is_empty() || text.len() > 40 || !fits {
            let hint = "Use a-z, 0-9, `-`, `_` and `.`, at most 40 of them.".to_owned();
            self.add(name.span(), format!("`{text}` is no name"), Some(hint));
        } else if taken.contains(text) {
            self.add(name.span(), format!("`{text}` is there twice"), None);
        }
        taken.push(text.clone());
        text.clone()
    }

    fn web(&mut self, row: WebRow) -> Web {
        let listen = row.listen.map_or_else(defaults::listen, |text| {
            let hint = "Write an address and a port, such as 127.0.0.1:7285.";
            let address = self.read(&text, |text| text.parse().ok(), "no address to listen on", hint);
            let address: SocketAddr = address.unwrap_or_else(defaults::listen);
            let remote = !address.ip().is_loopback();
            let named = row.hosts.as_ref().is_some_and(|hosts| !hosts.is_empty());
            if remote && !(row.allow_remote == Some(true) && named) {
                let hint = "Keep 127.0.0.1 and use a tunnel, or set `allow_remote = true` and `hosts = [\"…\"]`, the names people type for this machine.";
                let words = format!("`{address}` lets other machines in");
                self.add(text.span(), words, Some(hint.into()));
            }
            address
        });
        let hosts = row.hosts.unwrap_or_default();
        let hint = "Write it without `http://` and without a port, such as harbour.example.org.";
        let host = |text: &str| values::host(text).then(|| text.to_ascii_lowercase());
        let hosts =
            hosts.iter().filter_map(|text| self.read(text, host, "no host name", hint)).collect();
        let hint = "Write http:// or https://, the host and perhaps a port; nothing after it.";
        let url = row.url.and_then(|text| self.read(&text, values::public_url, "no address", hint));
        Web { listen, hosts, url }
    }

    /// Adds to the built-in agents; one of the same name takes its place.
    fn agents(&mut self, rows: Vec<Row<AgentRow>>, agents: &mut Vec<Agent>) {
        let mut taken = Vec::new();
        for (span, row) in rows {
            let Some(name) = self.needed(&span, "[[agent]]", "name", row.name) else { continue };
            let Some(kind) = self.needed(&span, "[[agent]]", "kind", row.kind) else { continue };
            let name = AgentName::new(self.name(&name, &mut taken));
            let Some(kind) = self.choice(&kind, &KINDS) else { continue };
            let program = match row.program {
                Some(program) => self.program(&program),
                None => self.usual_program(kind),
            };
            let confine = row.confine.and_then(|level| self.choice(&level, &LEVELS));
            let confine = confine.unwrap_or_default();
            let agent = Agent {
                name,
                kind,
                program,
                args: row.args.unwrap_or_default(),
                env: row.env.unwrap_or_default(),
                permission_mode: self.permission_mode(row.permission_mode),
                prompt_ends: row.prompt_ends.map(Spanned::into_inner),
                confine,
                hide: self.hidden(&row.hide.unwrap_or_default()),
                user: row.user.and_then(|user| self.user(&user, confine)),
                account: row
                    .account
                    .map(|account| AccountName::new(self.name(&account, &mut Vec::new()))),
            };
            agents.retain(|other| other.name != agent.name);
            agents.push(agent);
        }
    }

    fn permission_mode(&mut self, text: Option<Spanned<String>>) -> Option<String> {
        let text = text?;
        if !PERMISSION_MODES.contains(&text.as_ref().as_str()) {
            let words = format!("there is no permission mode `{}`", text.as_ref());
            let hint = nearest(text.as_ref(), &PERMISSION_MODES, "Modes");
            self.add(text.span(), words, hint);
        }
        Some(text.into_inner())
    }

    fn hidden(&mut self, paths: &[Spanned<String>]) -> Vec<PathBuf> {
        paths.iter().filter_map(|path| self.path(path)).collect()
    }

    /// Another user of the system, whom only root can become.
    fn user(&mut self, name: &Spanned<String>, confine: Level) -> Option<String> {
        let user = name.get_ref();
        let hint = if !(cfg!(target_os = "linux") && nix::unistd::geteuid().is_root()) {
            "Only Vigie on Linux, run as root, can start agents as other users: leave `user` out."
        } else if Account::find(user).is_none() {
            "There is no such user: `useradd` makes one."
        } else if confine == Level::Off {
            "What hides Vigie's files from it also shows it its own: leave `confine` out."
        } else {
            return Some(user.clone());
        };
        self.add(name.span(), format!("no agent can run as `{user}`"), Some(hint.into()));
        None
    }

    pub(super) fn path(&mut self, text: &Spanned<String>) -> Option<PathBuf> {
        let path = self.around.expand(text.get_ref());
        if path.is_none() {
            let hint = "Write an absolute path, or one that begins with `~/`.".to_owned();
            self.add(text.span(), format!("`{}` is not absolute", text.get_ref()), Some(hint));
        }
        path
    }

    /// A path, or a bare name to be found on PATH when it is started.
    fn program(&mut self, text: &Spanned<String>) -> PathBuf {
        let word = text.get_ref();
        if !word.is_empty() && !word.contains('/') {
            return word.into();
        }
        self.around.expand(word).unwrap_or_else(|| {
            let hint =
                "Write an absolute path, one that begins with `~/`, or a bare name.".to_owned();
            self.add(text.span(), format!("`{word}` names no program"), Some(hint));
            word.into()
        })
    }

    fn usual_program(&self, kind: AgentKind) -> PathBuf {
        match kind {
            AgentKind::Claude => self.around.claude.clone().unwrap_or_else(|| "claude".into()),
            AgentKind::Shell => self.around.shell.clone(),
            AgentKind::Demo => "vigie".into(),
        }
    }

    fn projects(&mut self, rows: Vec<Row<ProjectRow>>, config: &mut Config) {
        let mut taken = Vec::new();
        let mut read = Vec::new();
        for (span, row) in rows {
            let Some(name) = self.needed(&span, "[[project]]", "name", row.name) else { continue };
            let Some(path) = self.needed(&span, "[[project]]", "path", row.path) else { continue };
            let name = ProjectName::new(self.name(&name, &mut taken));
            let agent = match row.agent {
                Some(agent) => self.agent(&agent, &mut config.agents),
                None => self.usual_agent(),
            };
            let expanded = self.path(&path).unwrap_or_default();
            let worktree = row.worktree.and_then(|mode| self.choice(&mode, &WORKTREES));
            let worktree = worktree.unwrap_or(WorktreeMode::None);
            read.push(Project { name, path: expanded, agent, worktree });
        }
        if !read.is_empty() {
            config.projects = read;
        }
    }

    /// An agent that is configured or built in; `claude` may be named before it is installed.
    pub(super) fn agent(&mut self, name: &Spanned<String>, agents: &mut Vec<Agent>) -> AgentName {
        let word = name.get_ref().as_str();
        if !agents.iter().any(|agent| agent.name.as_str() == word) {
            if word == "claude" {
                agents.push(defaults::agent("claude", AgentKind::Claude, "claude".into()));
            } else {
                let known: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
                let hint = nearest(word, &known, "Agents");
                self.add(name.span(), format!("no agent is called `{word}`"), hint);
            }
        }
        AgentName::new(word)
    }

    fn usual_agent(&self) -> AgentName {
        AgentName::new(if self.around.claude.is_some() { "claude" } else { "demo" })
    }

    fn routing(&mut self, row: RoutingRow) -> Routing {
        let usual = Config::defaults(self.around).routing;
        let prefix = |text: &str| {
            let upper = text.to_ascii_uppercase();
            let first = upper.starts_with(|c: char| c.is_ascii_uppercase());
            let rest = upper.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
            (first && rest && (2..=10).contains(&upper.len())).then_some(upper)
        };
        let hint = "Write the letters before the dash, 2 to 10 of them: `PD` for PD-285.";
        let stories = row.stories.map_or(usual.stories, |all| {
            all.iter().filter_map(|text| self.read(text, prefix, "no story prefix", hint)).collect()
        });
        let languages = row.languages.map_or(usual.languages, |all| {
            all.iter().filter_map(|word| self.choice(word, &LANGUAGES)).collect()
        });
        Routing { stories, languages }
    }

    fn gates(&mut self, row: GatesRow) -> Gates {
        let hint = "Write 15m, 2h or 1h30m; at least 1m and at most 23h, since agents give up after a day.";
        let in_bounds = |text: &str| {
            let deadline = values::duration(text)?;
            (deadline.as_secs() >= 60 && deadline <= defaults::LONGEST_DEADLINE).then_some(deadline)
        };
        let deadline =
            row.deadline.and_then(|text| self.read(&text, in_bounds, "no deadline", hint));
        Gates { deadline: deadline.unwrap_or(defaults::LONGEST_DEADLINE) }
    }

    fn recording(&mut self, row: RecordingRow) -> Recording {
        let usual = Config::defaults(self.around).recording;
        let hint = "Write a number and KiB, MiB or GiB, such as 64 MiB.";
        let limit = row.limit.and_then(|text| self.read(&text, values::size, "no size", hint));
        limit.map_or(usual, |limit| Recording { limit })
    }

    #[expect(
        clippy::unused_self,
        clippy::needless_pass_by_value,
        reason = "one of the checks that `one` takes"
    )]
    fn phone(&mut self, row: PhoneRow) -> Phone {
        Phone { enabled: on_off(row.enabled.unwrap_or(true)) }
    }
}

const KINDS: [(&str, AgentKind); 3] =
    [("claude", AgentKind::Claude), ("shell", AgentKind::Shell), ("demo", AgentKind::Demo)];

const LEVELS: [(&str, Level); 3] =
    [("auto", Level::Auto), ("required", Level::Required), ("off", Level::Off)];

const WORKTREES: [(&str, WorktreeMode); 2] =
    [("none", WorktreeMode::None), ("per-story", WorktreeMode::PerStory)];

const LANGUAGES: [(&str, Language); 2] = [("en", Language::English), ("fr", Language::French)];

pub(super) fn on_off(on: bool) -> OnOff {
    if on { OnOff::On } else { OnOff::Off }
}

#[cfg(test)]
mod tests {
    use super::{
        super::rows::{
            AccessRow, BoundsRow, BudgetRow, HumanRow, MatrixRow, SecretRow, TelemetryRow,
        },
        *,
    };

    /// Every key that can be set, as `table.key`.
    fn all_keys() -> Vec<String> {
        let tables: &[(&str, &[&str])] = &[
            ("web", keys::of::<WebRow>()),
            ("human", keys::of::<HumanRow>()),
            ("project", keys::of::<ProjectRow>()),
            ("agent", keys::of::<AgentRow>()),
            ("routing", keys::of::<RoutingRow>()),
            ("gates", keys::of::<GatesRow>()),
            ("recording", keys::of::<RecordingRow>()),
            ("phone", keys::of::<PhoneRow>()),
            ("telegram", keys::of::<TelegramRow>()),
            ("matrix", keys::of::<MatrixRow>()),
            ("access", keys::of::<AccessRow>()),
            ("bounds", keys::of::<BoundsRow>()),
            ("lord", keys::of::<LordRow>()),
            ("workflows", keys::of::<WorkflowsRow>()),
            ("secret", keys::of::<SecretRow>()),
            ("policy", keys::of::<PolicyRow>()),
            ("budget", keys::of::<BudgetRow>()),
            ("ringing", keys::of::<RingingRow>()),
            ("telemetry", keys::of::<TelemetryRow>()),
        ];
        let named: Vec<_> = tables.iter().map(|(table, _)| *table).collect();
        assert_eq!(named, TABLES);
        let all = tables.iter();
        all.flat_map(|(table, keys)| keys.iter().map(move |key| format!("{table}.{key}"))).collect()
    }

    #[test]
    fn the_example_names_every_setting() {
        let example = uncommented(super::super::EXAMPLE);
        let document = DeTable::parse(&example).unwrap().into_inner();
        let mut named = Vec::new();
        for (table, value) in &document {
            let rows: Vec<&DeTable<'_>> = match value.get_ref() {
                DeValue::Table(row) => vec![row],
                DeValue::Array(rows) => {
                    rows.iter().filter_map(|row| row.get_ref().as_table()).collect()
                }
                _ => panic!("{} is no table", table.get_ref()),
            };
            let keys = rows.into_iter().flat_map(DeTable::keys);
            named.extend(keys.map(|key| format!("{}.{}", table.get_ref(), key.get_ref())));
        }
        for key in all_keys() {
            assert!(named.contains(&key), "config.example.toml does not mention {key}");
        }
    }

    /// Lines that begin with `#` and no space are settings a person may want: takes the `#` off.
    fn uncommented(example: &str) -> String {
        let line = |line: &str| match line.strip_prefix('#') {
            Some(rest) if !rest.starts_with(' ') => format!("{rest}\n"),
            _ => format!("{line}\n"),
        };
        example.lines().map(line).collect()
    }
}
