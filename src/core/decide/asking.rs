//! Questions that agents put to the people through a tool of ours. The answer goes one way, once: to
//! whoever looks at the ticket, else as a message.

use super::{Work, start::is_same};
use crate::{
    agent::{Asked, Decision, Question},
    caller::{AgentRefusal, AgentReply, Asking, Multiple, Over, Principal, Standing, Wanted},
    gate::{Answer, Asker, Gate, GateState},
    id::{GateId, RequestId, SessionId},
    mail::{Mail, MailState},
    state::Row,
};

/// Questions that one session may have open: who asks more at once is not answered sooner.
const OPEN_QUESTIONS: usize = 3;

/// Longest question, in characters: it is read on a phone.
const QUESTION: usize = 2000;

/// Longest name of a question, in characters.
const HEADER: usize = 40;

/// Options that are still chosen from with a thumb.
const OPTIONS: usize = 8;

/// Longest label of an option, in characters: a button bears no more.
const LABEL: usize = 80;

/// Longest description of an option, in characters.
const DESCRIPTION: usize = 300;

impl Work<'_> {
    pub(super) fn ask_human(
        &mut self,
        caller: &Principal,
        asking: Asking,
    ) -> Result<AgentReply, AgentRefusal> {
        let id = Self::caller_session(caller, "ask the people")?;
        let ask = Asked::Questions { questions: vec![question(asking)?] };
        let open: Vec<_> = self.state.open_gates_of(id).filter(|g| g.is_by(Asker::Tool)).collect();
        // Asked again, it is the same question: nobody rings twice for it.
        if let Some(same) = open.iter().find(|gate| gate.ask == ask).map(|gate| gate.id) {
            let wants =
                |what: &Wanted| matches!(what, Wanted::Answer { gate, .. } if *gate == same);
            let ticket = self.state.tickets.values().find(|t| t.over.is_none() && wants(&t.what));
            if let Some(ticket) = ticket.map(|ticket| ticket.id) {
                return self.look_at_ticket(caller, ticket);
            }
        }
        if open.len() >= OPEN_QUESTIONS {
            return Err(AgentRefusal::TooMany { what: "questions", open: open.len() });
        }
        let gate = self.open_question(id, ask);
        let wanted = Wanted::Answer { gate: gate.id, code: gate.code };
        let ticket = self.make_ticket(caller, wanted);
        self.look_at_ticket(caller, ticket.id)
    }

    fn open_question(&mut self, id: SessionId, ask: Asked) -> Gate {
        let run = self.state.sessions.get(&id).map_or(0, |s| s.run);
        let request = RequestId::new(self.ids.uuid());
        self.open_gate(id, run, request, ask, Asker::Tool)
    }

    pub(super) fn answered_standing(&self, answer: &Answer) -> Standing {
        match (&answer.decision, &answer.by) {
            (Decision::Deny { reason }, Some(by)) => {
                let name = self.state.name_of(by);
                let reason = reason.as_ref().map(|reason| format!(": {reason}"));
                Standing::Unanswered {
                    why: format!("{name} said no{}", reason.unwrap_or_default()),
                }
            }
            (Decision::Deny { .. }, None) => {
                Standing::Unanswered { why: "nobody answered in time".into() }
            }
            (
                Decision::Allow { .. }
                | Decision::Answers { .. }
                | Decision::Plan { .. }
                | Decision::Approve { .. }
                | Decision::SendBack { .. },
                _,
            ) => Standing::Answered { answer: answer.clone() },
        }
    }

    /// Whether the answer is being given to the agent as a message right now, so that it is not
    /// given a second time.
    pub(super) fn is_on_its_way(&self, gate: GateId) -> bool {
        let mail = self.state.mails.values().find(|mail| mail.answers == Some(gate));
        mail.is_some_and(Mail::is_on_its_way)
    }

    /// Whoever asked has the answer now; the message with it need not come any more.
    pub(super) fn hand_answer(&mut self, gate: GateId) {
        self.settle_answer_mail(gate);
        self.answer_reached(gate);
    }

    /// Answers that this decision showed to be read as messages are with their agents.
    pub(super) fn settle_read_answers(&mut self) {
        let read = self.out.rows.iter().filter_map(|row| {
            let Row::Mail(mail) = row else { return None };
            mail.answers.filter(|_| matches!(mail.state, MailState::Read { .. }))
        });
        for gate in read.collect::<Vec<_>>() {
            self.answer_reached(gate);
        }
    }

    fn answer_reached(&mut self, gate: GateId) {
        let Some(mut gate) = self.state.gates.get(&gate).cloned() else { return };
        if let GateState::Answered { answer, .. } = gate.state {
            gate.state = GateState::Taken { answer, at: self.now };
            self.close_gate(&gate);
        }
        let waits =
            |what: &Wanted| matches!(what, Wanted::Answer { gate: of, .. } if *of == gate.id);
        let open = self.state.tickets.values().filter(|t| t.over.is_none() && waits(&t.what));
        for mut ticket in open.cloned().collect::<Vec<_>>() {
            ticket.over = Some(Over::Given { at: self.now });
            self.put(Row::Ticket(ticket));
        }
    }

    /// Another session goes by that one's name from now on: nobody answers for those before it.
    pub(super) fn close_questions_of_predecessors(&mut self, id: SessionId) {
        let Some(name) = self.state.sessions.get(&id).map(|s| s.name.clone()) else { return };
        let before = |gate: &&Gate| {
            let session = gate.session().filter(|session| *session != id);
            let session = session.and_then(|session| self.state.sessions.get(&session));
            session.is_some_and(|s| is_same(&s.name, &name))
        };
        let open = self.state.open_gates().filter(before).cloned().collect::<Vec<_>>();
        for mut gate in open {
            let why = format!("Another session is called {name} now");
            gate.state = GateState::Closed { why, at: self.now };
            self.close_gate(&gate);
        }
    }

    /// The agent no longer wants to know.
    pub(super) fn take_back(&mut self, gate: GateId) {
        let Some(mut gate) = self.state.gates.get(&gate).cloned() else { return };
        let name = self.waits_name(&gate);
        let why = match &gate.state {
            GateState::Open => format!("{name} took its question back"),
            GateState::Answered { .. } => format!("{name} no longer wanted the answer"),
            GateState::Taken { .. } | GateState::Closed { .. } => return,
        };
        self.settle_answer_mail(gate.id);
        gate.state = GateState::Closed { why, at: self.now };
        self.close_gate(&gate);
    }
}

/// The question as people see it, once it can be shown and answered.
fn question(asking: Asking) -> Result<Question, AgentRefusal> {
    let Asking { question, header, options, multiple } = asking;
    let text = question.trim().to_owned();
    let bad = |words: String| Err(AgentRefusal::BadQuestion(words));
    if text.is_empty() {
        return bad("the question is empty".into());
    }
    if text.chars().count() > QUESTION {
        return bad(format!(
            "a question has at most {QUESTION} characters: what is longer goes into a file (send_file)"
        ));
    }
    if options.len() > OPTIONS {
        return bad(format!("a question has at most {OPTIONS} options"));
    }
    let mut labels: Vec<_> = options.iter().map(|option| option.label.trim()).collect();
    if labels.iter().any(|label| label.is_empty() || label.chars().count() > LABEL) {
        return bad(format!("a label has 1 to {LABEL} characters"));
    }
    if options.iter().any(|option| option.description.chars().count() > DESCRIPTION) {
        return bad(format!("a description has at most {DESCRIPTION} characters"));
    }
    labels.sort_unstable();
    labels.dedup();
    if labels.len() < options.len() {
        return bad("two options have the same label".into());
    }
    let header = header.trim().chars().take(HEADER).collect();
    let multiple = multiple == Multiple::Yes && !options.is_empty();
    Ok(Question { text, header, options, multiple })
}
