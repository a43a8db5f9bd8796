//! What people and Vigie itself have to say to a session, kept and offered like any other message.

use chrono::TimeDelta;

use super::send::Draft;
use crate::{
    agent::{Asked, Decision},
    decide::Work,
    gate::{Answer, Gate, GateState},
    id::{GateId, SessionId},
    mail::{MailState, Recipient, Sender},
    session::Stirred,
};

/// Whoever still waits for an answer gets it as the result of that call.
const FOR_WHOEVER_WAITS: TimeDelta = TimeDelta::seconds(5);

impl Work<'_> {
    /// Vigie's own words to a session. They change nothing about what stirs it.
    pub(in crate::decide) fn mail_from_vigie(&mut self, to: SessionId, text: &str) {
        if let Some(session) = self.state.sessions.get(&to) {
            let to = Recipient::Session { session: to, name: session.name.clone() };
            self.post_own_mail(to, text.into());
        }
    }

    pub(super) fn post_own_mail(&mut self, to: Recipient, text: String) {
        if !self.can_read_mail(&to) {
            return;
        }
        let stirs = to.session().map(|session| self.stirred_of(session)).unwrap_or_default();
        self.post_mail(Draft {
            from: Sender::Vigie,
            to,
            text,
            stirs,
            reply_to: None,
            thread: None,
            batch: None,
            key: None,
            answers: None,
            state: MailState::Waiting { not_before: None },
        });
    }

    /// Whether somebody is left who reads what goes there, rather than running it.
    fn can_read_mail(&self, to: &Recipient) -> bool {
        match to {
            Recipient::Session { session, .. } => {
                self.state.sessions.get(session).is_some_and(|s| {
                    let named = self.state.session_named(s.name.as_str());
                    named.is_some_and(|named| named.id == s.id)
                        && !self.state.rules.without_mail.contains(&s.agent)
                })
            }
            Recipient::Client { token, .. } => {
                self.state.tokens.get(token).is_some_and(|token| token.revoked.is_none())
            }
            Recipient::Humans => true,
        }
    }

    /// The people's answer to a question that a tool asked, for whoever does not wait for it.
    pub(in crate::decide) fn mail_answer(&mut self, gate: &Gate) {
        let answer = match &gate.state {
            GateState::Answered { answer, .. } | GateState::Taken { answer, .. } => answer,
            GateState::Open | GateState::Closed { .. } => return,
        };
        let session = gate.session().and_then(|session| self.state.sessions.get(&session));
        let Some(session) = session else { return };
        let from = match &answer.by {
            Some(human) => Sender::Human { human: human.clone() },
            None => Sender::Vigie,
        };
        self.post_mail(Draft {
            from,
            to: Recipient::Session { session: session.id, name: session.name.clone() },
            text: answer_words(gate, answer),
            stirs: Stirred::default(),
            reply_to: None,
            thread: None,
            batch: None,
            key: None,
            answers: Some(gate.id),
            state: MailState::Waiting { not_before: Some(self.now + FOR_WHOEVER_WAITS) },
        });
    }

    /// Whoever waited has the answer, so it need not go out as a message. What is on its way
    /// already goes on.
    pub(in crate::decide) fn settle_answer_mail(&mut self, gate: GateId) {
        let answers = self.state.mails.values().find(|m| m.answers == Some(gate) && m.is_waiting());
        if let Some(mail) = answers.cloned() {
            self.read(mail);
        }
    }
}

/// The question and its answer: by the time it is read, others may have come in between.
fn answer_words(gate: &Gate, answer: &Answer) -> String {
    let questions = match &gate.ask {
        Asked::Questions { questions } => questions.as_slice(),
        Asked::Permission { .. } | Asked::Plan { .. } | Asked::Approval(_) => &[],
    };
    match &answer.decision {
        Decision::Answers { answers } => {
            let pairs = questions.iter().zip(answers);
            let lines = pairs.map(|(question, answer)| format!("{}\n{answer}", question.text));
            lines.collect::<Vec<_>>().join("\n\n")
        }
        Decision::Deny { reason } => {
            let asked: Vec<_> = questions.iter().map(|q| q.text.as_str()).collect();
            let reason = reason.as_deref().unwrap_or("it is not answered");
            format!("{}\nNo: {reason}", asked.join("\n"))
        }
        Decision::Allow { .. }
        | Decision::Plan { .. }
        | Decision::Approve { .. }
        | Decision::SendBack { .. } => answer.verdict.clone(),
    }
}
