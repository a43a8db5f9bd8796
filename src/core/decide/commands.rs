//! Vigie's own slash commands, carried out.

use super::{
    LookAt, Work,
    heard::{Addressed, Message},
    requests::NEAR,
    route::OFFERED,
    show,
    slash::{self, Name, OfRun, OfSession},
};
use crate::{
    account::Wanted,
    agent::{OrderKind, PromptForm},
    bridge::{Action, Button, Level, Mark, Weight},
    command::{Refusal, Start},
    id::{BridgeName, SessionId},
    nearest::nearest,
    outage::Ends,
    ringing::Muted,
    state::{FocusRow, HeardOutcome, Role, Row},
    text::{Rich, Style},
};

/// What a viewer hears who asks for more than to see.
pub(super) const NEEDS_TALKER: &str = "You may look, not command.";
/// How a budget is written.
const BUDGETS: &str = "Write /budget NAME and dollars, such as /budget PD-285 5; or more for as much again, none for no limit, usual for what the configuration says.";

impl Work<'_> {
    pub(super) fn slash(
        &mut self,
        message: &Message,
        scope: &[SessionId],
        name: Name,
        arguments: &str,
    ) -> HeardOutcome {
        if !message.can_act() {
            self.mark(
                &message.receipt(vec![]),
                Mark::NotTaken {
                    why: "it was sent long ago; say it again if it still holds".into(),
                },
            );
            return HeardOutcome::Handled;
        }
        let result = match name {
            Name::Help => Ok(help(&message.place.bridge)),
            Name::Sessions | Name::Status => Ok(Rich::plain(self.board())),
            Name::Waiting => Ok(Rich::plain(self.waiting_list())),
            Name::New => self.slash_new(message, arguments).map(Rich::plain),
            Name::Digest => Ok(self.digest_for(&message.human)),
            Name::Mute => {
                let here = only_session(scope);
                self.mute_as_written(&message.human, arguments, here).map(Rich::plain)
            }
            Name::Unmute => {
                let here = only_session(scope);
                self.unmute(&message.human, arguments, here).map(Rich::plain)
            }
            Name::Cost => {
                let name = arguments.split_whitespace().next();
                let own = scope.first().map(|id| self.session_name(*id));
                self.cost_words(name.or(own.as_deref())).map(Rich::plain)
            }
            Name::Budget => self.slash_budget(message, scope, arguments).map(Rich::plain),
            Name::Grants => self.slash_grants(&message.human).map(Rich::plain),
            Name::Revoke => self.slash_revoke(&message.human, arguments).map(Rich::plain),
            Name::Session(OfSession::Focus) if arguments.eq_ignore_ascii_case("off") => {
                let (place, human) = (message.place.clone(), message.human.clone());
                self.put(Row::Focus(FocusRow { place, human, session: None }));
                Ok(Rich::plain("No focus any more."))
            }
            Name::File => return self.slash_file(message, scope, arguments),
            Name::HandOver => self.slash_hand_over(message, arguments).map(Rich::plain),
            Name::Run(OfRun::Retry) if arguments.is_empty() && !self.state.troubles.is_empty() => {
                self.retry_account(None, &message.human).map(Rich::plain)
            }
            Name::Run(OfRun::Retry) if self.is_troubled(arguments) => {
                self.retry_account(Some(arguments), &message.human).map(Rich::plain)
            }
            Name::Run(what) => {
                self.slash_about_runs(message, what, arguments);
                return HeardOutcome::Handled;
            }
            Name::Session(what) => {
                return self.slash_on_sessions(message, scope, what, arguments);
            }
        };
        let text = result.unwrap_or_else(|refusal| Rich::plain(refusal.in_a_chat()));
        self.say_post(message, show::note(Level::Note, text, vec![]));
        HeardOutcome::Handled
    }

    fn slash_about_runs(&mut self, message: &Message, what: OfRun, arguments: &str) {
        match what {
            OfRun::Run => self.slash_run(message, arguments),
            OfRun::Runs => self.slash_runs(message),
            OfRun::Cancel => self.slash_cancel(message, arguments),
            OfRun::Retry => self.slash_retry(message, arguments),
        }
    }

    fn slash_on_sessions(
        &mut self,
        message: &Message,
        scope: &[SessionId],
        what: OfSession,
        arguments: &str,
    ) -> HeardOutcome {
        let targets = match (arguments.split_whitespace().next(), scope) {
            (Some(named), _) => match self.named(named.trim_matches(['[', ']'])) {
                Ok(id) => vec![id],
                Err(refusal) => {
                    self.say_here(message, &refusal.in_a_chat());
                    return HeardOutcome::Handled;
                }
            },
            (None, []) => {
                let live: Vec<_> = self.state.live().map(|s| s.id).collect();
                if live.len() != 1 {
                    return self.ask_which(message, what, &live);
                }
                live
            }
            // What cannot be taken back wants its name.
            (None, [_, ..])
                if matches!(what, OfSession::End | OfSession::Kill)
                    && message.addressed == Addressed::No =>
            {
                let words = format!(
                    "Which one? Write it with its name: /{} {}",
                    Name::Session(what).word(),
                    self.session_name(scope[0])
                );
                self.say_here(message, &words);
                return HeardOutcome::Handled;
            }
            (None, scope) => scope.to_vec(),
        };
        let tree = arguments.split_whitespace().nth(1);
        if what == OfSession::End && tree.is_some_and(|word| word.eq_ignore_ascii_case("tree")) {
            return self.slash_end_tree(message, targets[0]);
        }
        for id in targets {
            if let Err(refusal) = self.slash_on(message, id, what) {
                self.say_here(message, &refusal.in_a_chat());
            }
        }
        HeardOutcome::Handled
    }

    /// `/end NAME tree`: with whatever was started below it.
    fn slash_end_tree(&mut self, message: &Message, id: SessionId) -> HeardOutcome {
        match self.end_tree(id, &message.human) {
            Ok(_) => {
                let stored = Mark::Stored { targets: vec![], words: None };
                self.mark(&message.receipt(vec![]), stored);
            }
            Err(refusal) => self.say_here(message, &refusal.in_a_chat()),
        }
        HeardOutcome::Handled
    }

    fn slash_on(
        &mut self,
        message: &Message,
        id: SessionId,
        what: OfSession,
    ) -> Result<(), Refusal> {
        let session = self.session_name(id);
        if self.state.rules.people.get(&message.human).is_none_or(|p| p.role < Role::Talker) {
            return Err(Refusal::AlreadyDecided(NEEDS_TALKER.into()));
        }
        let live = self.is_live(id);
        let need_live = matches!(
            what,
            OfSession::Stop
                | OfSession::End
                | OfSession::Kill
                | OfSession::Screen
                | OfSession::Focus
        );
        if need_live && !live {
            let name = self.state.sessions[&id].name.clone();
            return Err(Refusal::NotLive { name });
        }
        match what {
            OfSession::Stop => self.interrupt(id),
            OfSession::End => drop(self.end(&session, &message.human, OrderKind::End)?),
            OfSession::Kill => drop(self.end(&session, &message.human, OrderKind::Kill)?),
            OfSession::Resume => self.resume(id)?,
            OfSession::Focus => drop(self.focus_on(message, id)),
            OfSession::Screen => self.look(message, id, LookAt::Screen),
            OfSession::Diff => self.look(message, id, LookAt::Diff),
            OfSession::Transcript => self.look(message, id, LookAt::Transcript),
        }
        let receipt = message.receipt(vec![]);
        match what {
            // What comes of it is told when it has.
            OfSession::Stop | OfSession::End | OfSession::Kill => {
                self.mark(&receipt, Mark::Stored { targets: vec![], words: None });
            }
            OfSession::Resume => self.mark_done(&receipt, format!("{session} goes on.")),
            OfSession::Focus | OfSession::Screen | OfSession::Diff | OfSession::Transcript => {}
        }
        Ok(())
    }

    /// Which session a command is for; to stop one, a tap is enough.
    fn ask_which(
        &mut self,
        message: &Message,
        what: OfSession,
        live: &[SessionId],
    ) -> HeardOutcome {
        let names: Vec<_> = live.iter().map(|id| self.session_name(*id)).collect();
        let words = match names.first() {
            Some(first) => {
                format!(
                    "Which one? /{} {first}. These run: {}",
                    Name::Session(what).word(),
                    names.join(", ")
                )
            }
            None => "No session runs. /new NAME starts one.".into(),
        };
        let stop = |id: &SessionId| Button {
            label: format!("Stop {}", self.session_name(*id)),
            detail: None,
            weight: Weight::Plain,
            action: Action::Interrupt { session: *id },
        };
        let all = Button {
            label: "Stop all".into(),
            detail: None,
            weight: Weight::Plain,
            action: Action::InterruptAll,
        };
        let buttons = if what == OfSession::Stop && !live.is_empty() {
            live.iter().take(OFFERED).map(stop).chain([all]).collect()
        } else {
            vec![]
        };
        self.say_post(message, show::note(Level::Note, Rich::plain(words), buttons));
        HeardOutcome::Handled
    }

    /// `/file [NAME] PATH`. The name may be left out where the place says it.
    fn slash_file(
        &mut self,
        message: &Message,
        scope: &[SessionId],
        arguments: &str,
    ) -> HeardOutcome {
        let (first, rest) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
        let named = self.state.session_named(first.trim_matches(['[', ']'])).map(|s| s.id);
        let (session, path) = match (named, scope) {
            (Some(id), _) if !rest.trim().is_empty() => (id, rest.trim()),
            (_, [id]) if !arguments.is_empty() => (*id, arguments.trim()),
            (_, _) => {
                self.say_here(
                    message,
                    "Write /file NAME PATH, with a path inside the session's folder.",
                );
                return HeardOutcome::Handled;
            }
        };
        self.look(message, session, LookAt::File { path: path.to_owned() });
        HeardOutcome::Handled
    }

    /// `/handover NAME [to] AGENT`.
    fn slash_hand_over(&mut self, message: &Message, arguments: &str) -> Result<String, Refusal> {
        let words: Vec<_> = arguments.split_whitespace().collect();
        match words.as_slice() {
            [name, agent] | [name, "to" | "with", agent] => {
                self.hand_over(name.trim_matches(['[', ']']), agent, &message.human)
            }
            _ => Ok(format!(
                "Which session goes on with which agent? /handover NAME AGENT. Agents: {}.",
                self.agent_names().join(", ")
            )),
        }
    }

    /// `/new NAME [in PROJECT] [with AGENT] [TEXT]`.
    fn slash_new(&mut self, message: &Message, arguments: &str) -> Result<String, Refusal> {
        let (name, rest) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
        if name.is_empty() {
            return Ok(
                "Give it a name: /new NAME what to do. Such as /new docs read the guide".into()
            );
        }
        let (project, rest) = self.named_by("in", rest, &self.project_names())?;
        let (agent, rest) = self.named_by("with", rest, &self.agent_names())?;
        let start = Start {
            name: name.trim_matches(['[', ']']).into(),
            title: show::last_words(rest),
            project,
            agent,
            ..Start::default()
        };
        let id = self.start(&start, &message.human)?;
        let name = self.state.sessions[&id].name.clone();
        if !rest.trim().is_empty() {
            self.queue(
                id,
                rest.trim(),
                PromptForm::Text,
                &message.human,
                Some(message.receipt(vec![name.clone()])),
            )?;
        }
        Ok(format!("{name} starts."))
    }

    /// `/budget [NAME] [5 | more | none | usual]`. The name may be left out where the place says it.
    fn slash_budget(
        &mut self,
        message: &Message,
        scope: &[SessionId],
        arguments: &str,
    ) -> Result<String, Refusal> {
        let own = scope.first().map(|id| self.session_name(*id));
        let words: Vec<_> = arguments.split_whitespace().collect();
        let (name, wanted) = match (words.as_slice(), own) {
            ([wanted], Some(own)) if Wanted::read(wanted).is_some() => (Some(own), Some(*wanted)),
            ([], own) => (own, None),
            ([name], _) => (Some((*name).to_owned()), None),
            ([name, wanted, ..], _) => (Some((*name).to_owned()), Some(*wanted)),
        };
        let wanted = match wanted {
            None => None,
            Some(text) => match Wanted::read(text) {
                Some(wanted) => Some(wanted),
                None => return Ok(BUDGETS.into()),
            },
        };
        self.budget(name.as_deref(), wanted, &message.human)
    }

    /// `word NAME` at the start of `text`, when NAME is one of `known`; a slip is asked back, since
    /// it would otherwise become the first words of a prompt.
    pub(super) fn named_by<'t>(
        &self,
        word: &str,
        text: &'t str,
        known: &[String],
    ) -> Result<(Option<String>, &'t str), Refusal> {
        let mut words = text.trim_start().splitn(3, char::is_whitespace);
        let (Some(first), Some(name)) = (words.next(), words.next()) else {
            return Ok((None, text));
        };
        if first != word {
            return Ok((None, text));
        }
        if known.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return Ok((Some(name.to_owned()), words.next().unwrap_or("")));
        }
        let near = nearest(name, known.iter().map(String::as_str), NEAR);
        if near.is_empty() {
            return Ok((None, text));
        }
        let (name, near) = (name.to_owned(), near.into_iter().map(str::to_owned).collect());
        Err(if word == "in" {
            let known =
                self.state.rules.projects.iter().map(|project| project.name.clone()).collect();
            Refusal::NoProject { name, known, near }
        } else {
            Refusal::NoAgent { name, known: self.state.rules.agents.clone(), near }
        })
    }

    pub(super) fn project_names(&self) -> Vec<String> {
        self.state.rules.projects.iter().map(|project| project.name.to_string()).collect()
    }

    fn agent_names(&self) -> Vec<String> {
        self.state.rules.agents.iter().map(ToString::to_string).collect()
    }

    pub(super) fn status_line(&self, id: SessionId) -> String {
        let Some(thread) = self.thread_state(id) else { return String::new() };
        let agent = self.state.sessions.get(&id).map(|s| s.agent.to_string()).unwrap_or_default();
        let age = show::span(thread.since, self.now);
        let look = show::look_words(thread.state);
        let detail = thread.detail.map(|d| format!(": {d}")).unwrap_or_default();
        format!("{} ({agent}) {} {age}{detail}", thread.session, look)
    }

    fn board(&self) -> String {
        let live: Vec<_> = self.state.live().map(|s| self.status_line(s.id)).collect();
        let mut lines = vec![self.waiting_list()];
        if live.is_empty() {
            lines.push("No session runs. /new NAME starts one.".into());
        }
        lines.extend(live);
        lines.extend(self.bridge_lines());
        match self.state.undelivered(self.now).len() {
            0 => {}
            1 => lines.push("1 message did not arrive; vigie undelivered lists it.".into()),
            count => {
                lines.push(format!(
                    "{count} messages did not arrive; vigie undelivered lists them."
                ));
            }
        }
        lines.join("\n")
    }

    /// The health of each bridge that can go deaf, and what waits to be sent there.
    fn bridge_lines(&self) -> Vec<String> {
        let line = |view: crate::command::BridgeView| {
            let heard = match (view.heard, view.trouble) {
                (_, Some(trouble)) => trouble,
                (Some(at), None) => format!("{} ago", show::span(at, self.now)),
                (None, None) => return None,
            };
            let waits = match view.pending {
                0 => String::new(),
                pending => format!(", {pending} on the way"),
            };
            let mut name = view.name.to_string();
            name.get_mut(..1).map(str::make_ascii_uppercase);
            Some(format!("{name} {heard}{waits}"))
        };
        self.state.bridge_views().into_iter().filter_map(line).collect()
    }

    fn waiting_list(&self) -> String {
        let mut open: Vec<_> = self.state.open_gates().collect();
        open.sort_by_key(|gate| gate.opened);
        let line = |gate: &&crate::gate::Gate| {
            let age = show::span(gate.opened, self.now);
            let name = self.waits_name(gate);
            let needed = gate.people_needed();
            let yes: Vec<_> = gate.yes.iter().map(|human| self.state.name_of(human)).collect();
            let yes = match (needed, yes.len()) {
                (..=1, _) => String::new(),
                (_, 0) => format!(" (0 of {needed} said yes)"),
                (_, said) => format!(" ({said} of {needed} said yes: {})", yes.join(", ")),
            };
            format!("◆ {name} {}, {age}: {}{yes}", gate.shown.title, gate.code)
        };
        let lines: Vec<_> = open.iter().map(line).chain(self.stopped_lines()).collect();
        if lines.is_empty() { "Nothing waits for you.".into() } else { lines.join("\n") }
    }

    /// Sessions that do nothing until somebody does something about it, a line each.
    pub(super) fn stopped_lines(&self) -> impl Iterator<Item = String> {
        self.state.live().filter_map(|session| {
            let limited = self.state.limited(session, self.now)?;
            let name = &session.name;
            (limited.ends == Ends::BySomebody).then(|| format!("◐ {name}: {}", limited.sentence()))
        })
    }
}

/// What a command about muting means where no name is given.
fn only_session(scope: &[SessionId]) -> Option<Muted> {
    match scope {
        [session] => Some(Muted::Session { session: *session }),
        [] | [_, ..] => None,
    }
}

fn help(bridge: &BridgeName) -> Rich {
    let mark = show::command_mark(bridge);
    let (thread, taps, own) = match bridge.as_str() {
        // Some apps take a slash in front for a command of theirs, and one of two away.
        "matrix" => (
            "thread",
            "reactions",
            "//compact: the agent's own /compact; if your app takes a slash away, ///compact.",
        ),
        "telegram" => ("topic", "the buttons", "//compact: the agent's own /compact."),
        _ => ("thread", "the buttons", "//compact: the agent's own /compact."),
    };
    let mut text = Rich::plain(format!(
        "[docs] run the tests: goes to the session docs. In its {thread} no name is needed, nor in a reply.\n\
         yes, no, deny: why, 2, or your own words: answers what waits, as do {taps}.\n\
         {own}\n\
         \\/words or \\!words: words for a session that only look like a command.\n\n",
    ));
    for (word, _, about) in slash::COMMANDS.iter().filter(|(word, ..)| *word != "start") {
        text.push(&format!("{mark}{word}"), Some(Style::Code));
        text.push(&format!(" {about}\n"), None);
    }
    text
}
