//! The Lord: one session that is the person's counterpart, kept alive by code. It gets what has no
//! address. Nothing here ever prompts it, so idle it costs nothing.

use chrono::TimeDelta;

use super::{
    Work,
    start::{Beginning, is_same},
};
use crate::{
    Timestamp,
    bridge::Level,
    caller::{Isolated, Principal},
    command::Refusal,
    id::{GateId, SessionId},
    ringing::Kind,
    session::{Ended, Life, Role, Session},
    state::{Lord, LordWatch, State},
};

/// How often it is started again by itself …
const TRIES: usize = 3;

/// … within this long: what fails so often is not mended by one more try.
const TRIES_WITHIN: TimeDelta = TimeDelta::minutes(10);

impl State {
    /// The session that is the Lord: the live one, else the last that was.
    pub fn lord(&self) -> Option<&Session> {
        let lord = self.rules.lord.as_ref()?;
        let was = |s: &&Session| s.role == Role::Lord && is_same(&s.name, &lord.name);
        let mut all = self.sessions.values().filter(was);
        all.clone().find(|s| s.life.is_live()).or_else(|| all.next_back())
    }
}

impl Work<'_> {
    pub(super) fn is_lord(&self, caller: &Principal) -> bool {
        match caller {
            Principal::Session { session } => {
                self.state.lord().is_some_and(|lord| lord.id == *session)
            }
            Principal::Client { .. } => false,
        }
    }

    /// A start of the daemon, or a person's own word, begins anew.
    pub(super) fn watch_lord_anew(&mut self) {
        self.state.lord_watch = LordWatch::On { tries: Vec::new() };
    }

    /// What somebody ended goes on with the next start of the daemon.
    pub(super) fn boot_lord(&mut self) {
        self.watch_lord_anew();
        let ended = |lord: &&Session| matches!(lord.life, Life::Ended { .. });
        if let Some(id) = self.state.lord().filter(ended).map(|lord| lord.id) {
            self.resume_lord(id);
        }
    }

    /// Starts the Lord where there is none, and resumes one that is gone though nobody wanted that.
    pub(super) fn keep_lord(&mut self) {
        let Some(rule) = self.state.rules.lord.clone() else { return };
        if self.state.lord_watch == LordWatch::Off {
            return;
        }
        match self.state.lord().map(|lord| (lord.id, &lord.life)) {
            None => self.begin_lord(&rule),
            Some((id, Life::Lost { .. } | Life::Ended { how: Ended::Itself, .. })) => {
                self.resume_lord(id);
            }
            Some((
                _,
                Life::Ended { how: Ended::By { .. } | Ended::ByAgent { .. }, .. }
                | Life::Starting { .. }
                | Life::Idle { .. }
                | Life::Working { .. }
                | Life::NeedsDesk { .. },
            )) => {}
        }
    }

    fn resume_lord(&mut self, id: SessionId) {
        let tries = match &self.state.lord_watch {
            LordWatch::On { tries } => tries.clone(),
            LordWatch::NameTaken | LordWatch::Off => Vec::new(),
        };
        let lately = |at: &Timestamp| *at > self.now - TRIES_WITHIN;
        let mut tries: Vec<_> = tries.into_iter().filter(lately).collect();
        if tries.len() >= TRIES {
            return self.leave_lord("it stopped again and again");
        }
        match self.go_on(id) {
            Ok(()) => {
                tries.push(self.now);
                self.state.lord_watch = LordWatch::On { tries };
                let words = format!("{} goes on with its context.", self.session_name(id));
                self.tell(id, Level::Note, &words, vec![]);
            }
            Err(Refusal::StillLive { .. }) => self.wait_for_name(),
            Err(refusal) => self.leave_lord(&refusal.to_string()),
        }
    }

    fn begin_lord(&mut self, lord: &Lord) {
        match self.lord_to_be(lord) {
            Ok(beginning) => {
                self.watch_lord_anew();
                self.begin(beginning, None);
            }
            Err(Refusal::StillLive { .. }) => self.wait_for_name(),
            Err(refusal) => self.leave_lord(&refusal.to_string()),
        }
    }

    fn lord_to_be(&self, lord: &Lord) -> Result<Beginning, Refusal> {
        let name = self.free_name(lord.name.as_str())?;
        let project = self.project(Some(lord.project.as_str()))?;
        let agent = self.agent(Some(lord.agent.as_str()), &project)?;
        let (role, isolated) = (Role::Lord, Isolated::No);
        let title = String::new();
        Ok(Beginning { name, title, project, agent, role, spawn: None, isolated })
    }

    /// Another session goes by its name; it starts once that has ended.
    fn wait_for_name(&mut self) {
        if self.state.lord_watch == LordWatch::NameTaken {
            return;
        }
        self.state.lord_watch = LordWatch::NameTaken;
        let Some(name) = self.state.rules.lord.as_ref().map(|lord| lord.name.clone()) else {
            return;
        };
        let words = format!(
            "The Lord cannot start: this session has its name. It starts once this one has ended: /end {name}"
        );
        if let Some(id) = self.state.session_named(name.as_str()).map(|s| s.id) {
            self.tell(id, Level::Ring, &words, vec![]);
        }
    }

    /// Nothing is tried any more until a person does something. A fresh context is theirs to want.
    fn leave_lord(&mut self, why: &str) {
        self.state.lord_watch = LordWatch::Off;
        let Some(name) = self.state.rules.lord.as_ref().map(|lord| lord.name.clone()) else {
            return;
        };
        let words = format!(
            "{name}, the Lord, is left alone: {why}. Write to it, or /resume {name}, to try again with its context; /new {name} starts it afresh, without."
        );
        match self.state.lord().map(|lord| lord.id) {
            Some(id) => self.tell(id, Level::Ring, &words, vec![]),
            None => {
                for chat in self.state.hearing() {
                    self.tell_chat(&chat, Level::Ring, &words);
                }
            }
        }
    }

    /// A person has words for the Lord: one that does not run is brought back with its context.
    pub(super) fn wake_lord(&mut self, id: SessionId) -> bool {
        let is_lord = self.state.lord().is_some_and(|lord| lord.id == id);
        is_lord && self.resume(id).is_ok()
    }

    /// Whether the Lord said something to the person after that gate of another opened: then "yes"
    /// without an address may be meant for either.
    pub(super) fn lord_spoke_after(&self, gate: GateId) -> bool {
        let (Some(lord), Some(gate)) = (self.state.lord(), self.state.gates.get(&gate)) else {
            return false;
        };
        gate.session() != Some(lord.id)
            && lord.last_words.is_some()
            && lord.life.since() >= gate.opened
    }

    /// How loud a session's words are: those of the Lord in a turn that no person asked for are only
    /// kept, since what rings is not for a model to say.
    pub(super) fn level_of_words(&self, id: SessionId) -> Level {
        let lord = self.state.lord().filter(|lord| lord.id == id);
        if lord.is_some() && !self.was_asked(id) { Level::Log } else { Level::Note }
    }

    /// How loud an answer at the end of a turn is; `None`: it is in no message. Whoever asked has it in
    /// any case.
    pub(super) fn level_of_answer(&self, id: SessionId) -> Option<Level> {
        let words = self.level_of_words(id);
        if words == Level::Log {
            return Some(words);
        }
        let set = self.loudness(Kind::Done).level();
        set.or_else(|| self.was_asked(id).then_some(words))
    }

    /// Whether a person's words began its turn.
    fn was_asked(&self, id: SessionId) -> bool {
        let turn = self.state.sessions.get(&id).and_then(|session| session.turn.as_ref());
        turn.is_some_and(|turn| turn.by.is_some())
    }
}
