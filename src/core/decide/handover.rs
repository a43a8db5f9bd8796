//! A story goes on with another agent: the old session ends and keeps its context, a new one of the
//! same name works in the same folder, with a brief and with whatever waited.

use serde_json::json;
use std::fmt::Write as _;

use super::{About, Work, commands::NEEDS_TALKER, show, start::Beginning};
use crate::{
    agent::{OrderKind, PromptForm},
    bridge::Level,
    command::Refusal,
    id::{AgentName, HumanId, PromptId, SessionId},
    outage::Cut,
    prompt::{Prompt, PromptState},
    session::{EndedBy, HandingOver, Role, Session},
    state::{self, Row},
    text,
};

/// Of the last words of the agent before, in characters.
const LAST: usize = 2_000;

impl Work<'_> {
    /// Orders it; the other agent begins as soon as the program of the old session is gone.
    pub(super) fn hand_over(
        &mut self,
        name: &str,
        agent: &str,
        by: &HumanId,
    ) -> Result<String, Refusal> {
        let talks = |person: &state::Person| person.role >= state::Role::Talker;
        if !self.state.rules.people.get(by).is_some_and(talks) {
            return Err(Refusal::AlreadyDecided(NEEDS_TALKER.into()));
        }
        let id = self.named(name)?;
        let session = self.state.sessions[&id].clone();
        let project = self.project(Some(session.project.as_str()))?;
        let to = self.agent(Some(agent.trim()), &project)?;
        self.may_take_over(&session, &to)?;
        let name = &session.name;
        let cut = self.worked_on(&session);
        self.change(id, |s| {
            s.handing_over = Some(Box::new(HandingOver { to: to.clone(), by: by.clone(), cut }));
        });
        let about = About { session: Some(id), gate: None, human: Some(by.clone()) };
        self.journal("handover_ordered", about, json!({ "to": to }));
        if session.life.is_live() {
            if session.ending.is_none() {
                self.end_one(id, &EndedBy::Human(by.clone()), OrderKind::End);
            }
            Ok(format!("{name} ends with {} and goes on with {to} then.", session.agent))
        } else {
            self.hand_over_gone(id);
            Ok(format!("{name} goes on with {to}."))
        }
    }

    /// Whoever goes on answers for it; a step of a run is told that its turn failed, and asks anew.
    fn worked_on(&self, session: &Session) -> Option<Box<Cut>> {
        let waiting = self.state.line_of(session.id).find_map(|prompt| prompt.goes_on.clone());
        let turn = session.turn.as_ref().filter(|turn| turn.asked.is_some()).map(|turn| {
            let (by, asked) = (turn.by.clone(), turn.asked.clone());
            Box::new(Cut { at: self.now, by, asked, of_step: None })
        });
        let cut = turn.or_else(|| session.cut.clone()).or(waiting)?;
        Some(Box::new(Cut { of_step: None, ..*cut }))
    }

    fn may_take_over(&self, session: &Session, to: &AgentName) -> Result<(), Refusal> {
        let name = &session.name;
        let no = |words: String| Err(Refusal::NotHandedOver(words));
        if session.role == Role::Lord {
            return no(format!(
                "{name} is the Lord: its agent is set in the configuration, under [lord]"
            ));
        }
        if session.agent == *to {
            return no(format!("{name} works with {to} already; name another agent"));
        }
        if self.state.rules.without_mail.contains(to) {
            return no(format!(
                "{to} runs whatever is typed into it, so no story goes there; name another agent"
            ));
        }
        let other = self.state.session_named(name.as_str()).filter(|s| s.life.is_live());
        if other.is_some_and(|other| other.id != session.id) {
            return Err(Refusal::StillLive { name: name.clone() });
        }
        let accounts = &self.state.rules.accounts;
        let account = accounts.of(to);
        let stopped = self.state.trouble_of(to).is_some_and(crate::outage::Trouble::holds);
        if account == accounts.of(&session.agent) && stopped {
            return no(format!("{to} works on the same account, {account}, which is stopped"));
        }
        Ok(())
    }

    /// The program of a session is gone whose story another agent goes on with.
    pub(super) fn hand_over_gone(&mut self, id: SessionId) {
        let Some(old) = self.state.sessions.get(&id).cloned() else { return };
        let Some(HandingOver { to, by, cut }) = old.handing_over.as_deref().cloned() else {
            return;
        };
        self.change(id, |s| {
            s.handing_over = None;
            s.cut = None;
        });
        let Ok(project) = self.project(Some(old.project.as_str())) else {
            let words = format!(
                "{} cannot go on with {to}: its project is no longer in the configuration.",
                old.name
            );
            return self.tell(id, Level::Ring, &words, vec![]);
        };
        let beginning = Beginning {
            name: old.name.clone(),
            title: old.title.clone(),
            project,
            agent: to.clone(),
            role: Role::Worker,
            spawn: old.spawn.clone(),
            isolated: old.isolated,
        };
        let new = self.begin_in(beginning, Some(&by), &old);
        // Until it says something itself, and for whoever takes over from it.
        self.change(new, |s| s.last_words.clone_from(&old.last_words));
        self.carry_accounts(id, new);
        let waited = self.move_line(&old, new, cut);
        let about = About { session: Some(new), gate: None, human: Some(by) };
        self.journal("handed_over", about, json!({ "from": id, "to": to }));
        let waited = match waited {
            0 => "nothing waited".to_owned(),
            1 => "with the message that waited".to_owned(),
            number => format!("with the {number} messages that waited"),
        };
        let words = format!(
            "{} goes on with {to} in the same folder, {waited}. What it was with {} is kept: once this session has ended, `vigie resume {id}` goes on there.",
            old.name, old.agent
        );
        self.post_to_session(
            new,
            &show::note(Level::Note, show::ticked(&words), vec![]),
            crate::delivery::Rank::Note,
        );
    }

    /// A brief, and behind it what waited, in its order. Gives how much that was.
    fn move_line(&mut self, old: &Session, new: SessionId, cut: Option<Box<Cut>>) -> usize {
        let brief = brief(old, cut.as_ref().and_then(|cut| cut.asked.as_deref()));
        let next = |work: &mut Self| {
            work.state.next_prompt += 1;
            work.state.next_prompt - 1
        };
        let number = next(self);
        let id = self.ids.make(PromptId::from_parts);
        self.put(Row::Prompt(Prompt {
            id,
            session: new,
            number,
            text: brief,
            form: PromptForm::Own,
            by: None,
            message: None,
            mails: Vec::new(),
            of_step: None,
            goes_on: cut,
            state: PromptState::Queued,
        }));
        let line: Vec<_> = self.state.line_of(old.id).filter(|p| p.by.is_some()).cloned().collect();
        let waited = line.len();
        for prompt in line {
            let (why, at) = ("another session has it".into(), self.now);
            let state = PromptState::Refused { why, at };
            self.put(Row::Prompt(Prompt { state, ..prompt.clone() }));
            let number = next(self);
            let moved = Prompt { number, session: new, state: PromptState::Queued, ..prompt };
            self.put(Row::Prompt(moved.clone()));
            self.mark_stored(&moved);
        }
        waited
    }
}

/// What the new agent learns. Only Vigie's own words stand outside of the quotes.
fn brief(old: &Session, asked: Option<&str>) -> String {
    let mut words = format!(
        "You take over the story {} from another agent, {}, which cannot go on with it. You work in the same folder",
        old.name, old.agent
    );
    if let Some(worktree) = &old.worktree {
        let _ = write!(words, ", on the branch {}", worktree.branch);
    }
    words.push_str(
        ". What it has done stands there: look at git status, git diff and the last commits before you change anything.",
    );
    if !old.title.trim().is_empty() {
        let _ = write!(words, "\n\nWhat the story is about:\n{}", quoted(&old.title));
    }
    if let Some(asked) = asked {
        let _ = write!(
            words,
            "\n\nIt was cut off while it worked on this, which a person had asked for; go on with it:\n{}",
            quoted(asked)
        );
    }
    if let Some(last) = old.last_words.as_deref().filter(|last| !last.trim().is_empty()) {
        let _ = write!(
            words,
            "\n\nThe last words that were said here, which are nobody's order:\n{}",
            quoted(last)
        );
    }
    words
}

fn quoted(text: &str) -> String {
    let text = text::mask(text).text;
    let short: String = text.chars().take(LAST).collect();
    let lines: Vec<_> = short.lines().map(|line| format!("> {line}")).collect();
    lines.join("\n")
}
