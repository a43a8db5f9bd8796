//! What agents wait for: sessions that should be done, and people's answers. Each wait is a ticket
//! that is written down, so that whoever lost the thread can come back for it.

use super::Work;
use crate::{
    caller::{AgentRefusal, AgentReply, Asking, Principal, Until},
    id::TicketId,
};

impl Work<'_> {
    pub(super) fn wait_for(
        &mut self,
        _caller: &Principal,
        _names: &[String],
        _until: Until,
    ) -> Result<AgentReply, AgentRefusal> {
        Err(AgentRefusal::OnlySessions("wait"))
    }

    pub(super) fn ask_human(
        &mut self,
        _caller: &Principal,
        _asking: Asking,
    ) -> Result<AgentReply, AgentRefusal> {
        Err(AgentRefusal::OnlySessions("ask people"))
    }

    pub(super) fn look_at_ticket(
        &mut self,
        _caller: &Principal,
        ticket: TicketId,
    ) -> Result<AgentReply, AgentRefusal> {
        Err(AgentRefusal::NoTicket(ticket))
    }

    pub(super) fn cancel_ticket(
        &mut self,
        _caller: &Principal,
        ticket: TicketId,
    ) -> Result<AgentReply, AgentRefusal> {
        Err(AgentRefusal::NoTicket(ticket))
    }
}
