//! When what waits goes into an agent, and on which way: as a prompt where the agent is idle, beside
//! the result of its next tool call where it works. Nothing overtakes on its way to one recipient.

use chrono::TimeDelta;
use std::collections::BTreeSet;

use super::{AT_ONCE, BYTES_AT_ONCE, KEPT};
use crate::{
    Timestamp,
    agent::{Order, OrderKind, PromptForm},
    decide::Work,
    gate::Asker,
    id::{OrderId, PromptId, SessionId},
    mail::{Mail, MailState, Offer, Recipient, Taken, envelope},
    prompt::{Prompt, PromptState},
    session::{Life, Session},
    state::{Row, State},
};

/// Longest message beside a tool's result, in bytes with its envelope: agents cut what is added
/// there (Claude Code at 10,000 characters). A longer one waits for the end of the turn.
const BESIDE: usize = 8 * 1024;

/// How long whoever fetched a message outside of a turn may take to acknowledge it.
pub(super) const LEASE: TimeDelta = TimeDelta::minutes(5);

/// A turn that is over gives back what did not go beside it; by then something is wrong.
const GIVEN_BACK: TimeDelta = TimeDelta::minutes(1);

/// How a message can go into a session right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Prompt,
    Beside,
    /// Not now, and until when.
    Waits(Until),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    Started,
    /// Its account works again.
    AccountWorks,
    /// Somebody writes to it, since it is past what was set aside for it.
    Stirred,
    /// There is money for another turn.
    Paid,
    Answered,
    /// What the people wrote goes first.
    PeopleFirst,
    TurnEnds,
    AtTheDesk,
    Resumed,
    Never,
}

/// When the next message that was held back is offered, or one that was offered is again.
pub(in crate::decide) fn next_offer(state: &State) -> Option<Timestamp> {
    state.mails.values().filter_map(|mail| deadline(state, mail)).min()
}

/// When something is to be done about it that nobody else would tell us.
fn deadline(state: &State, mail: &Mail) -> Option<Timestamp> {
    match &mail.state {
        MailState::Waiting { not_before } => {
            let kept = mail.sent + KEPT;
            Some(not_before.map_or(kept, |at| at.min(kept)))
        }
        MailState::Offered { how, at } => {
            let since = match mail.to.session() {
                None => *at,
                Some(session) => match state.sessions.get(&session).map(|s| &s.life) {
                    Some(Life::Idle { since }) => *at.max(since),
                    // The end of a turn tells, or the end of the session.
                    Some(
                        Life::Starting { .. }
                        | Life::Working { .. }
                        | Life::NeedsDesk { .. }
                        | Life::Ended { .. }
                        | Life::Lost { .. },
                    )
                    | None => return None,
                },
            };
            match how {
                Offer::Tool => Some(since + LEASE),
                Offer::Beside { taken: Taken::NotYet, .. } => Some(since + GIVEN_BACK),
                // The holder keeps it until it can say what became of it.
                Offer::Prompt { .. } | Offer::Beside { taken: Taken::Yes, .. } => None,
            }
        }
        MailState::Read { .. } | MailState::Dead { .. } => None,
    }
}

/// Why something has to be done about a message.
enum Overdue {
    /// Its reader is gone for good.
    Revoked,
    /// It waits for too long.
    Old,
    /// It was held back, and no longer.
    Held,
    /// It was offered, and nobody said that it was taken.
    Offered,
}

impl Work<'_> {
    /// Offers what waits to whoever can take it now.
    pub(in crate::decide) fn offer_mail(&mut self) {
        let sessions = &self.state.sessions;
        let works = |id: &SessionId| {
            sessions.get(id).is_some_and(|s| matches!(s.life, Life::Working { .. }))
        };
        self.state.mail_lately.takes_nothing.retain(works);
        if self.state.mails.is_empty() {
            return;
        }
        self.settle_overdue();
        let waiting = self.state.mails.values().filter(|mail| mail.is_waiting());
        let readers: BTreeSet<_> = waiting.filter_map(|mail| mail.to.session()).collect();
        for id in readers {
            match self.state.sessions.get(&id).map(|session| self.way_to(session)) {
                Some(Way::Prompt) => self.offer_as_prompt(id),
                Some(Way::Beside) => self.offer_beside(id),
                // Somebody is asked for it, once.
                Some(Way::Waits(Until::Paid)) => drop(self.may_begin_turn(id)),
                Some(Way::Waits(_)) | None => {}
            }
        }
    }

    /// What nobody took in time waits again, or is given up.
    fn settle_overdue(&mut self) {
        let found = self.state.mails.values().filter_map(|mail| Some((self.overdue(mail)?, mail)));
        let (mut revoked, mut old, mut offered) = (vec![], vec![], vec![]);
        let mut held = vec![];
        for (why, mail) in found {
            let pile = match why {
                Overdue::Revoked => &mut revoked,
                Overdue::Old => &mut old,
                Overdue::Held => &mut held,
                Overdue::Offered => &mut offered,
            };
            pile.push(mail.clone());
        }
        for mail in held {
            self.put(Row::Mail(Mail { state: MailState::Waiting { not_before: None }, ..mail }));
        }
        self.bury(&revoked, "the token of its reader was revoked");
        self.bury(&old, &format!("nobody read it within {} days", KEPT.num_days()));
        self.offer_again(offered, None);
    }

    fn overdue(&self, mail: &Mail) -> Option<Overdue> {
        if let Recipient::Client { token, .. } = &mail.to
            && self.state.tokens.get(token).is_none_or(|token| token.revoked.is_some())
        {
            return Some(Overdue::Revoked);
        }
        deadline(self.state, mail).filter(|at| *at <= self.now)?;
        Some(match mail.state {
            MailState::Waiting { .. } if mail.sent + KEPT <= self.now => Overdue::Old,
            MailState::Waiting { .. } => Overdue::Held,
            MailState::Offered { .. } | MailState::Read { .. } | MailState::Dead { .. } => {
                Overdue::Offered
            }
        })
    }

    pub(super) fn way_to(&self, session: &Session) -> Way {
        let asks = || self.state.open_gates_of(session.id).any(|g| g.is_by(Asker::Request));
        let over_budget = session.spawn.as_ref().is_some_and(|spawn| spawn.over_budget);
        if self.state.rules.without_mail.contains(&session.agent) {
            return Way::Waits(Until::Never);
        }
        match &session.life {
            Life::Ended { .. } | Life::Lost { .. } => Way::Waits(Until::Resumed),
            Life::Idle { .. } | Life::Working { .. } if session.ending.is_some() => {
                Way::Waits(Until::Resumed)
            }
            Life::Starting { .. } => Way::Waits(Until::Started),
            Life::NeedsDesk { .. } => Way::Waits(Until::AtTheDesk),
            Life::Idle { .. } if asks() => Way::Waits(Until::Answered),
            Life::Idle { .. } if self.state.line_of(session.id).next().is_some() => {
                Way::Waits(Until::PeopleFirst)
            }
            Life::Idle { .. } if self.is_held_back(session) => Way::Waits(Until::AccountWorks),
            Life::Idle { .. } if over_budget => Way::Waits(Until::Stirred),
            Life::Idle { .. } if self.is_out_of_money(session) => Way::Waits(Until::Paid),
            Life::Idle { .. } => Way::Prompt,
            Life::Working { .. } if self.state.mail_lately.takes_nothing.contains(&session.id) => {
                Way::Waits(Until::TurnEnds)
            }
            Life::Working { .. } => Way::Beside,
        }
    }

    /// What waits goes in as one prompt, so that the agent takes one turn for all of it.
    fn offer_as_prompt(&mut self, session: SessionId) {
        if self.state.mail_of(session).any(Mail::is_on_its_way) {
            return;
        }
        let (mut bytes, mut offered) = (0, Vec::new());
        for mail in self.due(session).take(AT_ONCE) {
            let text = envelope(mail);
            bytes += text.len();
            if bytes > BYTES_AT_ONCE && !offered.is_empty() {
                break;
            }
            offered.push((mail.clone(), text));
        }
        if offered.is_empty() {
            return;
        }
        let (mails, texts): (Vec<_>, Vec<_>) = offered.into_iter().unzip();
        let number = self.state.next_prompt;
        self.state.next_prompt += 1;
        let prompt = Prompt {
            id: self.ids.make(PromptId::from_parts),
            session,
            number,
            text: texts.join("\n\n"),
            form: PromptForm::Text,
            by: None,
            message: None,
            mails: mails.iter().map(|mail| mail.id).collect(),
            of_step: None,
            goes_on: None,
            state: PromptState::Queued,
        };
        for mail in mails {
            self.put_offered(mail, Offer::Prompt { prompt: prompt.id });
        }
        self.hand(prompt);
    }

    /// Each goes by itself, as many as one tool's result bears.
    fn offer_beside(&mut self, session: SessionId) {
        let (mut count, mut bytes) = (0, 0);
        for mail in self.state.mail_of(session).filter(|mail| mail.is_on_its_way()) {
            if matches!(offer(mail), Some(Offer::Prompt { .. })) {
                return;
            }
            (count, bytes) = (count + 1, bytes + mail.text.len());
        }
        let mut offered = Vec::new();
        for mail in self.due(session) {
            let text = envelope(mail);
            (count, bytes) = (count + 1, bytes + text.len());
            if text.len() > BESIDE || count > AT_ONCE || bytes > BYTES_AT_ONCE {
                break;
            }
            offered.push((mail.clone(), text));
        }
        for (mail, text) in offered {
            let order = self.order(session, OrderKind::Mail { mail: mail.id, text });
            self.put_offered(mail, Offer::Beside { order, taken: Taken::NotYet });
        }
    }

    /// What waits for that session, in order, up to the first that is held back.
    fn due(&self, session: SessionId) -> impl Iterator<Item = &Mail> {
        let waiting = self.state.mail_of(session).filter(|mail| mail.is_waiting());
        waiting.take_while(|mail| mail.state == MailState::Waiting { not_before: None })
    }

    pub(super) fn put_offered(&mut self, mail: Mail, how: Offer) {
        let state = MailState::Offered { how, at: self.now };
        self.put(Row::Mail(Mail { state, ..mail }));
    }

    /// What was ordered to go beside that session's work and is not settled, in order.
    pub(in crate::decide) fn mail_orders_of(&self, session: SessionId) -> Vec<Order> {
        let order = |mail: &Mail| match offer(mail) {
            Some(Offer::Beside { order, taken: Taken::NotYet }) => Some(beside(*order, mail)),
            Some(Offer::Beside { taken: Taken::Yes, .. } | Offer::Prompt { .. } | Offer::Tool)
            | None => None,
        };
        self.state.mail_of(session).filter_map(order).collect()
    }
}

fn beside(id: OrderId, mail: &Mail) -> Order {
    Order { id, what: OrderKind::Mail { mail: mail.id, text: envelope(mail) } }
}

pub(super) fn offer(mail: &Mail) -> Option<&Offer> {
    match &mail.state {
        MailState::Offered { how, .. } => Some(how),
        MailState::Waiting { .. } | MailState::Read { .. } | MailState::Dead { .. } => None,
    }
}
