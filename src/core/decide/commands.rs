//! Vigie's own slash commands, carried out.

use super::{
    Effect, Work,
    heard::{Addressed, Message},
    requests::NEAR,
    show,
    slash::{self, Name},
};
use crate::{
    agent::{OrderKind, PromptForm},
    bridge::{Level, Mark},
    command::{Refusal, Start},
    id::SessionId,
    nearest::nearest,
    state::{FocusRow, HeardOutcome, Role, Row},
    text::{Rich, Style},
};

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
            Name::Help => Ok(help()),
            Name::Sessions | Name::Status => Ok(Rich::plain(self.board())),
            Name::Waiting => Ok(Rich::plain(self.waiting_list())),
            Name::New => self.slash_new(message, arguments).map(Rich::plain),
            Name::Focus if arguments.eq_ignore_ascii_case("off") => {
                let (place, human) = (message.place.clone(), message.human.clone());
                self.put(Row::Focus(FocusRow { place, human, session: None }));
                Ok(Rich::plain("No focus any more."))
            }
            Name::Stop | Name::End | Name::Kill | Name::Resume | Name::Screen | Name::Focus => {
                return self.slash_on_sessions(message, scope, name, arguments);
            }
        };
        let text = result.unwrap_or_else(|refusal| Rich::plain(refusal.sentence()));
        self.say_post(message, show::note(Level::Note, text, vec![]));
        HeardOutcome::Handled
    }

    fn slash_on_sessions(
        &mut self,
        message: &Message,
        scope: &[SessionId],
        name: Name,
        arguments: &str,
    ) -> HeardOutcome {
        let targets = match (arguments.split_whitespace().next(), scope) {
            (Some(named), _) => match self.named(named.trim_matches(['[', ']'])) {
                Ok(id) => vec![id],
                Err(refusal) => {
                    self.say_here(message, &refusal.sentence());
                    return HeardOutcome::Handled;
                }
            },
            (None, []) => {
                let live: Vec<_> = self.state.live().map(|s| s.id).collect();
                if live.len() != 1 {
                    let words = format!(
                        "Which one? Write it with its name.
{}",
                        self.board()
                    );
                    self.say_here(message, &words);
                    return HeardOutcome::Handled;
                }
                live
            }
            // What cannot be taken back wants its name.
            (None, [_, ..])
                if matches!(name, Name::End | Name::Kill) && message.addressed == Addressed::No =>
            {
                let words = format!("Which one? Write it with its name.\n{}", self.board());
                self.say_here(message, &words);
                return HeardOutcome::Handled;
            }
            (None, scope) => scope.to_vec(),
        };
        for id in targets {
            if let Err(refusal) = self.slash_on(message, id, name) {
                self.say_here(message, &refusal.sentence());
            }
        }
        HeardOutcome::Handled
    }

    fn slash_on(&mut self, message: &Message, id: SessionId, name: Name) -> Result<(), Refusal> {
        let session = self.session_name(id);
        if self.state.rules.people.get(&message.human).is_none_or(|p| p.role < Role::Talker) {
            return Err(Refusal::AlreadyDecided("You may look, not command.".into()));
        }
        let live = self.is_live(id);
        let need_live =
            matches!(name, Name::Stop | Name::End | Name::Kill | Name::Screen | Name::Focus);
        if need_live && !live {
            let name = self.state.sessions[&id].name.clone();
            return Err(Refusal::NotLive { name });
        }
        match name {
            Name::Stop => {
                self.interrupt(id);
                self.mark(
                    &message.receipt(vec![]),
                    Mark::Stored { targets: vec![], words: Some(format!("stopping {session}")) },
                );
            }
            Name::End => drop(self.end(&session, &message.human, OrderKind::End)?),
            Name::Kill => drop(self.end(&session, &message.human, OrderKind::Kill)?),
            Name::Resume => self.resume(id)?,
            Name::Focus => drop(self.focus_on(message, id)),
            Name::Screen => {
                let run = self.state.sessions[&id].run;
                self.effect(Effect::ReadScreen { session: id, run, place: message.place.clone() });
            }
            Name::Help | Name::Sessions | Name::Status | Name::Waiting | Name::New => {}
        }
        let verb = match name {
            Name::End => "ending",
            Name::Kill => "killing",
            Name::Resume => "resuming",
            Name::Help
            | Name::Sessions
            | Name::Status
            | Name::Waiting
            | Name::New
            | Name::Stop
            | Name::Focus
            | Name::Screen => return Ok(()),
        };
        let words = Some(format!("{verb} {session}"));
        self.mark(&message.receipt(vec![]), Mark::Stored { targets: vec![], words });
        Ok(())
    }

    /// `/new NAME [in PROJECT] [with AGENT] [TEXT]`.
    fn slash_new(&mut self, message: &Message, arguments: &str) -> Result<String, Refusal> {
        let (name, rest) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
        let (project, rest) = self.named_by("in", rest, &self.project_names())?;
        let (agent, rest) = self.named_by("with", rest, &self.agent_names())?;
        let start = Start {
            name: name.trim_matches(['[', ']']).into(),
            title: show::last_words(rest),
            project,
            agent,
            prompt: None,
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

    /// `word NAME` at the start of `text`, when NAME is one of `known`; a slip is asked back, since
    /// it would otherwise become the first words of a prompt.
    fn named_by<'t>(
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

    fn project_names(&self) -> Vec<String> {
        self.state.rules.projects.iter().map(|project| project.name.to_string()).collect()
    }

    fn agent_names(&self) -> Vec<String> {
        self.state.rules.agents.iter().map(ToString::to_string).collect()
    }

    pub(super) fn status_line(&self, id: SessionId) -> String {
        let Some(thread) = self.thread_state(id) else { return String::new() };
        let agent = self.state.sessions.get(&id).map(|s| s.agent.to_string()).unwrap_or_default();
        let age = show::span(thread.since, self.now);
        let look = serde_json::to_value(thread.state)
            .ok()
            .and_then(|v| v.as_str().map(|s| s.replace('_', " ")));
        let detail = thread.detail.map(|d| format!(": {d}")).unwrap_or_default();
        format!("{} ({agent}) {} {age}{detail}", thread.session, look.unwrap_or_default())
    }

    fn board(&self) -> String {
        let live: Vec<_> = self.state.live().map(|s| self.status_line(s.id)).collect();
        let mut lines = if live.is_empty() {
            vec!["No session runs. /new NAME starts one.".into()]
        } else {
            live
        };
        lines.push(self.waiting_list());
        if !self.state.failed.is_empty() {
            lines.push(format!(
                "{} messages did not arrive; vigie status lists them.",
                self.state.failed.len()
            ));
        }
        lines.join("\n")
    }

    fn waiting_list(&self) -> String {
        let mut open: Vec<_> = self.state.open_gates().collect();
        open.sort_by_key(|gate| gate.opened);
        if open.is_empty() {
            return "Nothing waits for you.".into();
        }
        let line = |gate: &&crate::gate::Gate| {
            let age = show::span(gate.opened, self.now);
            format!(
                "{} {} {} ({age})",
                gate.code,
                self.session_name(gate.session),
                gate.shown.title
            )
        };
        open.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

fn help() -> Rich {
    let mut text = Rich::plain(
        "Write [NAME] text to a session, or text alone in its thread. //command is the agent's own command.\n",
    );
    for (word, _, about) in slash::COMMANDS.iter().filter(|(word, ..)| *word != "start") {
        text.push(&format!("/{word}"), Some(Style::Code));
        text.push(&format!(" {about}\n"), None);
    }
    text
}
