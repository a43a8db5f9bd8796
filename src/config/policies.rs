//! The check of what is decided before anybody is asked: `[[policy]]`.

use toml::Spanned;
use vigie_core::{
    id::ProjectName,
    policy::{
        Catastrophic, CommandPattern, Days, Effect, Glob, Hours, NeverSure, PathPattern, Policy,
        SHELL_TOOLS,
    },
};

use super::{
    Config, Role,
    check::{Check, Row},
    problem::nearest,
    rows::{PolicyRow, Text, Texts},
};

const EFFECTS: [(&str, Effect); 4] = [
    ("allow", Effect::Allow),
    ("deny", Effect::Deny),
    ("ask", Effect::Ask),
    ("ask_two", Effect::AskTwo),
];

/// How many people `ask_two` needs.
const TWO: usize = 2;

type List = Vec<Spanned<String>>;

impl Check<'_> {
    pub(super) fn policies(&mut self, rows: Vec<Row<PolicyRow>>, config: &mut Config) {
        let mut taken = Vec::new();
        for (span, row) in rows {
            let Some(effect) = self.needed(&span, "[[policy]]", "effect", row.effect) else {
                continue;
            };
            let Some(kind) = self.choice(&effect, &EFFECTS) else { continue };
            let policy = Policy {
                name: row.name.map(|name| self.name(&name, &mut taken)).unwrap_or_default(),
                line: self.line_of(&span),
                effect: kind,
                reason: row.reason,
                tools: self.list(row.tool, "tool").map(|it| self.tools(&it)).unwrap_or_default(),
                commands: {
                    let list = self.list(row.command, "command");
                    list.map(|it| self.commands(it, kind)).unwrap_or_default()
                },
                paths: self
                    .list(row.path, "path")
                    .map(|it| self.path_patterns(it))
                    .unwrap_or_default(),
                projects: {
                    let list = self.list(row.project, "project");
                    list.map(|it| self.project_names(it, config)).unwrap_or_default()
                },
                sessions: self
                    .list(row.session, "session")
                    .map(|it| self.tools(&it))
                    .unwrap_or_default(),
                hours: {
                    let days = self.list(row.days, "days");
                    self.hours_of(row.hours.as_ref(), days.as_deref(), row.zone)
                },
                catastrophic: if row.catastrophic.as_ref().is_some_and(|it| *it.get_ref()) {
                    Catastrophic::Allowed
                } else {
                    Catastrophic::Asked
                },
            };
            self.can_be_kept(&policy, &effect, row.catastrophic.as_ref(), config);
            config.policies.push(policy);
        }
    }

    /// What stands in a list. An empty one would fit everything, which nobody means by it.
    fn list(&mut self, list: Texts, key: &str) -> Option<List> {
        let list = list?;
        if list.get_ref().is_empty() {
            let words = format!("`{key}` names nothing");
            let hint = format!(
                "Name what this policy is about, or leave `{key}` out: then it is about everything."
            );
            self.add(list.span(), words, Some(hint));
        }
        Some(list.into_inner())
    }

    /// Refuses what would not do what it seems to say.
    fn can_be_kept(
        &mut self,
        policy: &Policy,
        effect: &Spanned<String>,
        catastrophic: Option<&Spanned<bool>>,
        config: &mut Config,
    ) {
        let any_tool = |tool: &Glob| tool.as_str().contains('*');
        let is_shell = |tool: &Glob| SHELL_TOOLS.contains(&tool.as_str()) || any_tool(tool);
        let Policy { tools, commands, paths, .. } = policy;
        if !commands.is_empty() && !tools.is_empty() && !tools.iter().any(is_shell) {
            let hint = format!("Commands are given to {} alone: leave `tool` out.", SHELL_TOOLS[0]);
            self.add(
                effect.span(),
                "this never fits: its tools run no commands".into(),
                Some(hint),
            );
        }
        if let Some(span) = catastrophic.filter(|it| *it.get_ref()).map(Spanned::span)
            && (policy.effect != Effect::Allow || commands.is_empty())
        {
            let hint = "It lets the commands of an `allow` through whose code would have to be typed: name them in `command`.";
            self.add(
                span,
                "`catastrophic` stands with an allow and its commands".into(),
                Some(hint.into()),
            );
        }
        if policy.effect == Effect::Allow
            && tools.is_empty()
            && commands.is_empty()
            && paths.is_empty()
        {
            let hint = "Add `command`, `tool` or `path`.";
            self.add(effect.span(), "this allow says not what it allows".into(), Some(hint.into()));
        }
        if policy.effect == Effect::Allow && commands.is_empty() && tools.iter().any(is_shell) {
            config.warnings.push(format!(
                "The {policy} allows every command that needs no code, whatever it runs. Name commands in `command` if that is too much."
            ));
        }
        let may = config.humans.iter().filter(|human| human.role >= Role::Approver).count();
        if policy.effect == Effect::AskTwo && may < TWO {
            let hint = "Add a `[[human]]` with the role approver or owner, or write `ask`.";
            let words =
                format!("nobody could answer this: two people would have to, and {may} may");
            self.add(effect.span(), words, Some(hint.into()));
        }
    }

    fn tools(&mut self, texts: &[Spanned<String>]) -> Vec<Glob> {
        let read = |text: &str| (!text.trim().is_empty()).then(|| Glob::new(text));
        let hint = "Write its whole name; `*` stands for any characters.";
        texts.iter().filter_map(|text| self.read(text, read, "no name", hint)).collect()
    }

    fn commands(&mut self, texts: List, effect: Effect) -> Vec<CommandPattern> {
        let mut found = Vec::new();
        for text in texts {
            let shown = text.get_ref();
            match CommandPattern::parse(shown) {
                Ok(pattern) if effect == Effect::Allow && pattern.is_of_any_program() => {
                    let hint = "Write the program first, such as `cargo test *`.".to_owned();
                    let words = format!("`{shown}` leaves open what is run");
                    self.add(text.span(), words, Some(hint));
                }
                Ok(pattern) if effect == Effect::Allow && pattern.is_never_sure().is_some() => {
                    let (why, hint) = match pattern.is_never_sure() {
                        Some(NeverSure::ChangesTheShell) => (
                            "it changes the shell that runs the rest of a script",
                            "What reads, sets or runs something within the shell itself is always asked about: leave it out.",
                        ),
                        Some(NeverSure::RunsAnother) | None => (
                            "it runs another program",
                            "Name what it runs: `timeout 60 cargo test` is allowed by `cargo test *`. What is behind sudo, xargs and their like is always asked about.",
                        ),
                    };
                    self.add(
                        text.span(),
                        format!("`{shown}` would never fit: {why}"),
                        Some(hint.into()),
                    );
                }
                Ok(pattern) => found.push(pattern),
                Err(why) => {
                    let hint = "Write one command: its words, `*` for any characters of one, and ` *` for any number of words. Each part of a script is looked at by itself.".to_owned();
                    self.add(text.span(), format!("`{shown}` {why}"), Some(hint));
                }
            }
        }
        found
    }

    fn path_patterns(&mut self, texts: List) -> Vec<PathPattern> {
        let mut found = Vec::new();
        for text in texts {
            let at_home =
                text.get_ref().starts_with('~').then(|| self.around.expand(text.get_ref()));
            let whole = match at_home {
                Some(expanded) => expanded.map(|path| path.to_string_lossy().into_owned()),
                None => Some(text.get_ref().clone()),
            };
            if let Some(pattern) = whole.and_then(|whole| PathPattern::parse(&whole)) {
                found.push(pattern);
                continue;
            }
            let hint = "Write src/**, **/.env* or ~/notes/*: relative ones are below the folder that is worked in, and none climbs with `..`.";
            let words = format!("`{}` names no files", text.get_ref());
            self.add(text.span(), words, Some(hint.to_owned()));
        }
        found
    }

    fn project_names(&mut self, texts: List, config: &Config) -> Vec<ProjectName> {
        let known: Vec<&str> = config.projects.iter().map(|it| it.name.as_str()).collect();
        let mut found = Vec::new();
        for text in texts {
            let word = text.get_ref().as_str();
            if known.contains(&word) {
                found.push(ProjectName::new(word));
            } else {
                let hint = nearest(word, &known, "Projects");
                self.add(text.span(), format!("no project is called `{word}`"), hint);
            }
        }
        found
    }

    fn hours_of(
        &mut self,
        span: Option<&Spanned<String>>,
        days: Option<&[Spanned<String>]>,
        zone: Text,
    ) -> Option<Hours> {
        if let (None, None, Some(zone)) = (span, days, &zone) {
            let hint = "Add `hours` or `days`, or leave it out.".to_owned();
            self.add(zone.span(), "`zone` says nothing by itself".into(), Some(hint));
        }
        let zone = zone.and_then(|zone| {
            let hint = "Write a name of the IANA database, such as Europe/Paris.";
            self.read(&zone, Hours::zone, "no time zone", hint)
        });
        let (from, to) = match span {
            Some(span) => {
                let hint = "Write 09:00-18:00; 22:00-06:00 goes over midnight.";
                self.read(span, Hours::span, "no span of time", hint)?
            }
            None => Hours::span("00:00-24:00")?,
        };
        let hint = "Write mon, tue, wed, thu, fri, sat or sun, or mon-fri.";
        let parts: Option<Vec<Days>> = days.map(|days| {
            days.iter().filter_map(|day| self.read(day, Days::parse, "no day", hint)).collect()
        });
        (span.is_some() || days.is_some()).then(|| Hours {
            from,
            to,
            days: parts.map_or_else(Days::all, |parts| Days::union(&parts)),
            zone: zone.unwrap_or_default(),
        })
    }
}
