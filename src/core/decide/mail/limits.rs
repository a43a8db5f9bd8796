//! What stops agents that only keep each other going.

use chrono::TimeDelta;

use crate::{
    bridge::Level,
    caller::Principal,
    decide::Work,
    id::SessionId,
    mail::{Mail, MailState, NotSent, Recipient, Sender},
    session::Stirred,
};

/// Messages in a row that agents write each other before a person has to say something.
const HOPS: u32 = 8;

/// Messages of one to another within a minute.
const PAIR_RATE: usize = 10;

const MINUTE: TimeDelta = TimeDelta::minutes(1);

/// The people hear of the same two once in that time.
const TOLD_AGAIN: TimeDelta = TimeDelta::hours(1);

impl Work<'_> {
    /// What stirred the session, with what is on its way to it: an agent may act on a message
    /// before we hear that it has it.
    pub(in crate::decide) fn stirred_of(&self, id: SessionId) -> Stirred {
        let stirred = self.state.sessions.get(&id).map(|s| s.stirred).unwrap_or_default();
        let offered =
            self.state.mail_of(id).filter(|m| matches!(m.state, MailState::Offered { .. }));
        offered.fold(stirred, |stirred, mail| stirred.with(Stirred::by(mail)))
    }

    /// How a message of that sender would stir whoever reads it.
    pub(super) fn stirs(&self, from: &Sender) -> Stirred {
        match from {
            Sender::Session { session, .. } => {
                let own = self.state.sessions.get(session).and_then(|s| s.spawn.as_ref());
                let depth = own.map_or(0, |spawn| spawn.depth);
                let stirred = self.stirred_of(*session);
                Stirred { hops: stirred.hops + 1, depth: depth.max(stirred.depth) }
            }
            Sender::Client { .. } => Stirred { hops: 1, depth: 0 },
            Sender::Human { .. } | Sender::Vigie => Stirred::default(),
        }
    }

    /// Whether an answer goes on with what led to that message, whatever the caller's turn began with:
    /// a program has no turns that a person could begin anew, and whoever looked a message up before
    /// it was offered has read it.
    pub(super) fn stirs_on(&self, caller: &Principal, answered: &Mail) -> bool {
        match caller {
            Principal::Client { .. } => true,
            Principal::Session { .. } => self.state.mail_for(caller).any(|m| m.id == answered.id),
        }
    }

    /// Whether one more may go from one to the other. That it may not is told to the people once.
    pub(super) fn refuse_what_goes_on_for_ever(
        &mut self,
        from: &Sender,
        to: &Recipient,
        hops: u32,
    ) -> Result<(), NotSent> {
        let people = *to == Recipient::Humans;
        if hops > HOPS && !people {
            let words = format!(
                "{} and {} stopped: {HOPS} messages led to the last one and no person wrote in between. They go on once you write to one of them.",
                from.spoken(),
                to.spoken()
            );
            self.tell_of_a_loop(from, to, &words);
            return Err(NotSent::TooManyHops { hops: hops - 1 });
        }
        let pair = (from.address(), to.address());
        let lately = self.state.mail_lately.wrote.get(&pair);
        let count = lately.map_or(0, |at| at.iter().filter(|at| **at + MINUTE > self.now).count());
        if count >= PAIR_RATE {
            let words = format!(
                "{} wrote {} {count} messages within a minute; Vigie takes no more of them for now.",
                from.spoken(),
                to.spoken()
            );
            self.tell_of_a_loop(from, to, &words);
            return Err(NotSent::TooOften { name: to.spoken(), count });
        }
        Ok(())
    }

    pub(super) fn count_message(&mut self, from: &Sender, to: &Recipient) {
        let now = self.now;
        let wrote = &mut self.state.mail_lately.wrote;
        wrote.retain(|_, at| at.back().is_some_and(|at| *at + MINUTE > now));
        let pair = wrote.entry((from.address(), to.address())).or_default();
        pair.push_back(now);
        if pair.len() > PAIR_RATE {
            pair.pop_front();
        }
    }

    fn tell_of_a_loop(&mut self, from: &Sender, to: &Recipient, words: &str) {
        let (a, b) = (from.address(), to.address());
        let pair = if a < b { (a, b) } else { (b, a) };
        let now = self.now;
        let told = &mut self.state.mail_lately.told;
        told.retain(|_, at| *at + TOLD_AGAIN > now);
        if told.contains_key(&pair) {
            return;
        }
        told.insert(pair, now);
        if let Some(thread) = from.session().or(to.session()) {
            self.tell(thread, Level::Note, words, vec![]);
        }
    }
}
