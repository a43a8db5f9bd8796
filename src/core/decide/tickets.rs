//! What agents wait for: sessions that should be done, and people's answers. Each wait is a ticket
//! that is written down, so that whoever lost the thread can come back for it.

use super::{Work, show};
use crate::{
    caller::{
        AgentRefusal, AgentReply, Over, Principal, Standing, Ticket, TicketView, Until, Wanted,
    },
    command::Refusal,
    gate::GateState,
    id::{SessionId, TicketId},
    session::Life,
    state::Row,
};

/// Sessions that one call waits for; more than live at once by default.
const WAITED: usize = 50;

/// Waits that one caller may have open; each is small, and whoever needs more has lost count.
const OPEN_WAITS: usize = 32;

impl Work<'_> {
    pub(super) fn wait_for(
        &mut self,
        caller: &Principal,
        names: &[String],
        until: Until,
    ) -> Result<AgentReply, AgentRefusal> {
        let sessions = self.waited(caller, names)?;
        let what = Wanted::Sessions { sessions, until };
        let own = |ticket: &&Ticket| ticket.by == *caller && ticket.over.is_none();
        if let Some(same) = self.state.tickets.values().filter(own).find(|t| t.what == what) {
            return self.look_at_ticket(caller, same.id);
        }
        let waits = |ticket: &&Ticket| matches!(ticket.what, Wanted::Sessions { .. });
        let open = self.state.tickets.values().filter(own).filter(waits).count();
        if open >= OPEN_WAITS {
            return Err(AgentRefusal::TooMany { what: "waits", open });
        }
        let ticket = self.make_ticket(caller, what);
        self.look_at_ticket(caller, ticket.id)
    }

    /// The sessions of these names, each once.
    fn waited(&self, caller: &Principal, names: &[String]) -> Result<Vec<SessionId>, AgentRefusal> {
        if names.is_empty() || names.len() > WAITED {
            return Err(Refusal::BadName(format!("name 1 to {WAITED} sessions")).into());
        }
        let mut sessions = Vec::new();
        for name in names {
            let id = self.peer_named(caller, name)?;
            if *caller == (Principal::Session { session: id }) {
                let words = format!("{name} is you, and you cannot wait for yourself");
                return Err(Refusal::BadName(words).into());
            }
            if !sessions.contains(&id) {
                sessions.push(id);
            }
        }
        Ok(sessions)
    }

    pub(super) fn make_ticket(&mut self, by: &Principal, what: Wanted) -> Ticket {
        let id = self.ids.make(TicketId::from_parts);
        let ticket = Ticket { id, by: by.clone(), what, made: self.now, over: None };
        self.put(Row::Ticket(ticket.clone()));
        ticket
    }

    /// How it stands. A result is handed over with the first look that finds it; later looks see the
    /// same.
    pub(super) fn look_at_ticket(
        &mut self,
        caller: &Principal,
        ticket: TicketId,
    ) -> Result<AgentReply, AgentRefusal> {
        let mut ticket = self.ticket_of(caller, ticket)?;
        let standing = self.standing(&ticket);
        let waits = matches!(standing, Standing::Waiting { .. });
        if !waits && ticket.over.is_none() {
            if let Wanted::Answer { gate, .. } = ticket.what {
                self.hand_answer(gate);
            }
            ticket.over = Some(Over::Given { at: self.now });
            self.put(Row::Ticket(ticket.clone()));
        }
        Ok(AgentReply::Ticket(TicketView { ticket, standing }))
    }

    pub(super) fn cancel_ticket(
        &mut self,
        caller: &Principal,
        ticket: TicketId,
    ) -> Result<AgentReply, AgentRefusal> {
        let mut ticket = self.ticket_of(caller, ticket)?;
        if ticket.over.is_none() {
            if let Wanted::Answer { gate, .. } = ticket.what {
                self.take_back(gate);
            }
            ticket.over = Some(Over::Cancelled { at: self.now });
            self.put(Row::Ticket(ticket.clone()));
        }
        let standing = self.standing(&ticket);
        Ok(AgentReply::Ticket(TicketView { ticket, standing }))
    }

    fn ticket_of(&self, caller: &Principal, id: TicketId) -> Result<Ticket, AgentRefusal> {
        let ticket = self.state.tickets.get(&id).filter(|ticket| ticket.by == *caller);
        ticket.cloned().ok_or(AgentRefusal::NoTicket(id))
    }

    fn standing(&self, ticket: &Ticket) -> Standing {
        match (&ticket.over, &ticket.what) {
            (Some(Over::Cancelled { .. }), _) => Standing::Cancelled,
            (_, Wanted::Answer { gate, .. }) => match self.state.gates.get(gate) {
                None => Standing::Unanswered { why: "it was settled long ago".into() },
                Some(gate) => match &gate.state {
                    GateState::Open => Standing::Waiting {
                        words: format!(
                            "nobody has answered yet, {} after you asked",
                            show::span(gate.opened, self.now)
                        ),
                    },
                    GateState::Answered { .. } if self.is_on_its_way(gate.id) => {
                        Standing::Waiting {
                            words: "it is answered and comes to you as a message".into(),
                        }
                    }
                    GateState::Answered { answer, .. } | GateState::Taken { answer, .. } => {
                        self.answered_standing(answer)
                    }
                    GateState::Closed { why, .. } => Standing::Unanswered { why: why.clone() },
                },
            },
            (_, Wanted::Run { run }) => self.standing_of_run(*run),
            (over, Wanted::Sessions { sessions, until }) => {
                let holds: Vec<_> =
                    sessions.iter().filter_map(|id| self.holds_up(*id, *until)).collect();
                if over.is_none() && !holds.is_empty() {
                    return Standing::Waiting { words: holds.join("; ") };
                }
                let known = sessions.iter().filter(|id| self.state.sessions.contains_key(id));
                Standing::Sessions { sessions: known.map(|id| self.peer(*id)).collect() }
            }
        }
    }

    /// What keeps a session from being done, in words; `None`: it is.
    fn holds_up(&self, id: SessionId, until: Until) -> Option<String> {
        let session = self.state.sessions.get(&id).filter(|s| s.life.is_live())?;
        let (name, since) = (&session.name, show::span(session.life.since(), self.now));
        if let Some(waits) = self.waits_for(id).first() {
            let span = show::span(waits.since, self.now);
            return Some(format!("{name} waits for a person since {span}: {}", waits.title));
        }
        let words = match &session.life {
            Life::Starting { .. } => format!("{name} starts since {since}"),
            Life::Working { .. } => format!("{name} works since {since}"),
            Life::Idle { .. } if session.turn.is_some() => {
                format!("{name} works in the background since {since}")
            }
            Life::Idle { .. } | Life::NeedsDesk { .. } => {
                let (queued, mail) =
                    (self.state.line_of(id).count(), self.state.mail_of(id).count());
                match until {
                    // A message on its way stirs it, so it is not done before.
                    Until::Idle if queued > 0 || mail > 0 => {
                        format!("{name} has something new to read")
                    }
                    Until::Idle => return None,
                    Until::Ended => format!("{name} is idle since {since}"),
                }
            }
            Life::Ended { .. } | Life::Lost { .. } => return None,
        };
        Some(words)
    }
}
