//! Messages between sessions, on their way.

use super::Work;
use crate::{
    Timestamp,
    caller::{AgentFacts, AgentRefusal, AgentReply, Letter, Principal},
    gate::Gate,
    id::{GateId, MailId, SessionId},
    mail::{Mail, MailState, Recipient, Sender},
    state::{Row, State},
};

/// When the next message that was held back is offered.
pub(super) fn next_offer(_state: &State) -> Option<Timestamp> {
    None
}

impl Work<'_> {
    pub(super) fn send_mail(
        &mut self,
        _caller: &Principal,
        _letter: &Letter,
        _facts: &AgentFacts,
    ) -> Result<AgentReply, AgentRefusal> {
        Err(AgentRefusal::OnlySessions("send mail"))
    }

    pub(super) fn read_mail(
        &mut self,
        _caller: &Principal,
        _most: usize,
    ) -> Result<AgentReply, AgentRefusal> {
        Err(AgentRefusal::OnlySessions("read mail"))
    }

    pub(super) fn acknowledge_mail(
        &mut self,
        _caller: &Principal,
        _mails: &[MailId],
    ) -> Result<AgentReply, AgentRefusal> {
        Err(AgentRefusal::OnlySessions("read mail"))
    }

    /// Offers what waits to whoever can take it now.
    pub(super) fn offer_mail(&mut self) {}

    /// The people's answer to a question that a tool asked, for whoever does not wait for it.
    pub(super) fn mail_answer(&mut self, _gate: &Gate) {}

    /// Whoever waited has the answer, so it need not go out as a message. What is on its way
    /// already goes on.
    pub(super) fn settle_answer_mail(&mut self, gate: GateId) {
        let waits = |mail: &&Mail| {
            mail.answers == Some(gate) && matches!(mail.state, MailState::Waiting { .. })
        };
        if let Some(mail) = self.state.mails.values().find(waits).cloned() {
            self.put(Row::Mail(Mail { state: MailState::Read { at: self.now }, ..mail }));
        }
    }

    /// What the code has to tell a session.
    pub(super) fn mail_from_vigie(&mut self, to: SessionId, text: &str) {
        let Some(name) = self.state.sessions.get(&to).map(|s| s.name.clone()) else { return };
        let number = self.state.next_mail;
        self.state.next_mail += 1;
        let id = self.ids.make(MailId::from_parts);
        self.put(Row::Mail(Mail {
            id,
            number,
            from: Sender::Vigie,
            to: Recipient::Session { session: to, name },
            thread: id,
            reply_to: None,
            batch: id,
            text: text.into(),
            key: None,
            sent: self.now,
            hops: 0,
            depth: 0,
            answers: None,
            tries: 0,
            state: MailState::Waiting { not_before: None },
        }));
    }

    pub(super) fn mail_taken(&mut self, _session: SessionId, _mail: MailId) {}

    pub(super) fn mail_returned(&mut self, _session: SessionId, _mail: MailId) {}
}
