//! Words that a person deleted: what waits goes nowhere, and where it is too late, that is said.

use super::{Work, show};
use crate::{
    bridge::{Level, Place},
    id::{PromptId, SessionId},
    prompt::PromptState,
    state::{Facts, HeardOutcome, HeardRow, Row},
    text::Rich,
};

impl Work<'_> {
    pub(super) fn withdrawn(&mut self, facts: &Facts) -> HeardOutcome {
        let Some(original) = facts.heard.clone() else { return HeardOutcome::Handled };
        match &original.outcome {
            HeardOutcome::Kept { kept } => {
                let kept = kept.clone();
                self.put(Row::Heard(HeardRow { outcome: HeardOutcome::Handled, ..original }));
                self.question_decided(&kept, "You deleted the message.");
            }
            HeardOutcome::Routed { prompts, sessions } => {
                let spared = self.spare(prompts);
                let refused = prompts.iter().all(|prompt| facts.refused.contains(prompt));
                let reached = |session: &&SessionId| !spared.contains(session) && !refused;
                let reached: Vec<_> = sessions.iter().filter(reached).copied().collect();
                self.say_withdrawn(&original.place, &spared, &reached);
            }
            HeardOutcome::Stranger | HeardOutcome::Handled => {}
        }
        HeardOutcome::Handled
    }

    /// What no session has yet goes to none. Returns those that would have got it.
    fn spare(&mut self, prompts: &[PromptId]) -> Vec<SessionId> {
        let waits =
            self.state.prompts.values().filter(|prompt| {
                prompts.contains(&prompt.id) && prompt.state == PromptState::Queued
            });
        let mut spared = Vec::new();
        for mut prompt in waits.cloned().collect::<Vec<_>>() {
            let why = "it was deleted before it went in".into();
            prompt.state = PromptState::Refused { why, at: self.now };
            spared.push(prompt.session);
            if let Some(message) = prompt.message.clone() {
                self.drop_words(&message);
            }
            self.put(Row::Prompt(prompt));
        }
        spared
    }

    fn say_withdrawn(&mut self, place: &Place, spared: &[SessionId], reached: &[SessionId]) {
        let names = |sessions: &[SessionId]| {
            let names: Vec<_> = sessions.iter().map(|id| self.session_name(*id)).collect();
            names.join(", ")
        };
        let mut words = Vec::new();
        if !spared.is_empty() {
            words.push(format!("You deleted it in time: it does not go to {}.", names(spared)));
        }
        if !reached.is_empty() {
            words.push(format!(
                "It was too late to delete that: {} has it already. /stop interrupts what comes of it.",
                names(reached)
            ));
        }
        if words.is_empty() {
            return;
        }
        let session = reached.first().or(spared.first()).copied();
        let post = show::note(Level::Note, Rich::plain(words.join(" ")), vec![]);
        self.post_to_place(place, session, post);
    }
}
