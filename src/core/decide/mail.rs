//! Messages between sessions, on their way.

use super::Work;
use crate::{
    Timestamp,
    caller::{AgentFacts, AgentRefusal, AgentReply, Letter, Principal},
    gate::Gate,
    id::{MailId, SessionId},
    state::State,
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

    pub(super) fn mail_taken(&mut self, _session: SessionId, _mail: MailId) {}

    pub(super) fn mail_returned(&mut self, _session: SessionId, _mail: MailId) {}
}
