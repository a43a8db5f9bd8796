//! Deliveries: made, sent one at a time per chat by rank and age, and settled by what the
//! service says.

use chrono::TimeDelta;
use std::collections::HashSet;

use super::{Effect, Work, budget::Free};
use crate::{
    Timestamp,
    bridge::{Body, Card, CardState, Level, Mark, Place, Post, Progress, Say, SessionLook},
    delivery::{Delivery, DeliveryState, NewestOf, Outgoing, Rank, Shown, Spot, Target, Tries},
    id::{DeliveryId, SessionId},
    prompt::PromptMessage,
    state::{Chat, Row},
};

/// Versions of a long turn's progress come at most this many times rarer than those of a short one.
const SLOWEST_PROGRESS: i32 = 4;

/// An agent takes an answer within moments, and then one change of the card says both.
const SOON_TAKEN: TimeDelta = TimeDelta::milliseconds(1_500);

/// What is over sooner is not worth a message that says it waits.
const WORDS_AFTER: TimeDelta = TimeDelta::seconds(4);

/// A delivery before it has an id.
pub(super) struct Draft {
    pub to: Target,
    pub what: Outgoing,
    pub rank: Rank,
    pub session: Option<SessionId>,
    pub newest: Option<NewestOf>,
    pub not_before: Option<Timestamp>,
}

impl Work<'_> {
    pub(super) fn deliver(&mut self, draft: Draft) -> DeliveryId {
        let Draft { to, what, rank, session, newest, mut not_before } = draft;
        if newest.is_some() {
            let older = self.state.deliveries.values().filter(|d| {
                d.newest == newest && d.to == to && matches!(d.state, DeliveryState::Due { .. })
            });
            for mut old in older.cloned().collect::<Vec<_>>() {
                // Whoever changes all the time is shown in time all the same.
                if let (DeliveryState::Due { not_before: Some(earlier), .. }, Some(at)) =
                    (&old.state, &mut not_before)
                {
                    *at = (*at).min(*earlier);
                }
                old.state = DeliveryState::Replaced;
                self.put(Row::Delivery(old));
            }
        }
        if let Outgoing::Post { post: Post { level: Level::Ring, body, .. }, .. } = &what {
            let asks = matches!(body, Body::Card(_)) || newest == Some(NewestOf::Rings);
            let key = (to.bridge.clone(), to.chat.clone());
            let rang = self.state.rang_at.entry(key).or_default();
            rang.anything = Some(self.now);
            rang.asking = if asks { Some(self.now) } else { rang.asking };
        }
        let id = self.ids.make(DeliveryId::from_parts);
        let number = self.state.next_delivery;
        self.state.next_delivery += 1;
        let state = DeliveryState::Due { not_before, tries: Tries::default() };
        self.put(Row::Delivery(Delivery { id, number, to, what, rank, session, newest, state }));
        id
    }

    /// Says it in every chat that hears of the session, in its thread where it has one.
    pub(super) fn post_to_session(
        &mut self,
        session: SessionId,
        post: &Post,
        rank: Rank,
    ) -> Vec<Shown> {
        let chats = self.state.hearing();
        chats.iter().map(|chat| self.post_in(chat, session, post.clone(), rank)).collect()
    }

    /// Says it where somebody wrote.
    pub(super) fn post_to_place(
        &mut self,
        place: &Place,
        session: Option<SessionId>,
        post: Post,
    ) -> DeliveryId {
        let to = target_of(place);
        self.deliver(Draft {
            to,
            what: Outgoing::Post { post, reply_to: None },
            rank: Rank::Note,
            session,
            newest: None,
            not_before: None,
        })
    }

    /// Changes what earlier deliveries show. What was not sent yet is changed where it waits, so that
    /// nothing is said that is over.
    pub(super) fn edit_all(&mut self, shown: &[Shown], post: &Post, rank: Rank) {
        for Shown { delivery: of, to } in shown {
            if self.changed_where_it_waits(*of, post) {
                continue;
            }
            let what = Outgoing::Edit { of: *of, post: post.clone() };
            let newest = Some(NewestOf::EditOf { delivery: *of });
            let session = match &to.spot {
                Spot::Session { session } => Some(*session),
                Spot::Main | Spot::Thread { .. } => None,
            };
            let not_before = self.not_too_soon(*of, to, post);
            self.deliver(Draft { to: to.clone(), what, rank, session, newest, not_before });
        }
    }

    /// `false`: it was sent, or nobody knows whether it was.
    fn changed_where_it_waits(&mut self, of: DeliveryId, post: &Post) -> bool {
        let Some(mut waiting) = self.state.deliveries.values().find(|d| d.id == of).cloned() else {
            return false;
        };
        let DeliveryState::Due { tries, .. } = waiting.state else { return false };
        let Outgoing::Post { post: said, .. } = &mut waiting.what else { return false };
        // How loud it is was decided when it began to wait.
        let level = post.level.min(said.level);
        let falls_silent = level < said.level && said.level == Level::Ring;
        *said = Post { level, ..post.clone() };
        let at = (waiting.to.bridge.clone(), waiting.to.chat.clone());
        self.put(Row::Delivery(waiting));
        if falls_silent {
            self.rings_in_its_place(&at);
        }
        tries.doubtful == 0
    }

    /// Versions of a progress message keep a distance that grows with the age of the turn; its last
    /// one need not. Where calls are counted, "answered" waits a moment for "the agent has it".
    fn not_too_soon(&self, of: DeliveryId, to: &Target, post: &Post) -> Option<Timestamp> {
        let limits = self.state.limits_of(&to.bridge, &to.chat);
        let since = match &post.body {
            Body::Progress(Progress { since, ended: None, .. }) => since,
            Body::Card(Card { state: CardState::Answered(_), .. }) if limits.budget.is_some() => {
                return Some(self.now + SOON_TAKEN);
            }
            Body::Progress(_)
            | Body::Card(_)
            | Body::Text { .. }
            | Body::Document(_)
            | Body::File(_) => return None,
        };
        let least = limits.progress_every;
        let least = TimeDelta::from_std(least).unwrap_or(TimeDelta::MAX);
        if least.is_zero() {
            return None;
        }
        let apart = (self.now - *since).clamp(least, least * SLOWEST_PROGRESS);
        Some(self.state.changed.get(&of).map_or(self.now + least, |at| *at + apart))
    }

    /// Shows on the person's own message what became of it.
    pub(super) fn mark(&mut self, message: &PromptMessage, mark: Mark) {
        self.drop_words(message);
        self.mark_as(message, mark, NewestOf::Receipt { heard: message.heard }, None);
    }

    /// Words about it that would still come are not true any more.
    pub(super) fn drop_words(&mut self, message: &PromptMessage) {
        let words = Some(NewestOf::Words { heard: message.heard });
        let outdated = self
            .state
            .deliveries
            .values()
            .filter(|d| d.newest == words && matches!(d.state, DeliveryState::Due { .. }));
        for mut old in outdated.cloned().collect::<Vec<_>>() {
            old.state = DeliveryState::Replaced;
            self.put(Row::Delivery(old));
        }
    }

    /// It is stored, and perhaps waits. Where calls are counted, words about that come only if they
    /// still hold after a while.
    pub(super) fn mark_stored_as(&mut self, message: &PromptMessage, words: Option<String>) {
        let (heard, targets) = (message.heard, message.targets.clone());
        if words.is_none() || !self.counts_calls(&message.place) {
            return self.mark(message, Mark::Stored { targets, words });
        }
        let brief = Mark::Stored { targets: targets.clone(), words: None };
        self.mark_as(message, brief, NewestOf::Receipt { heard }, None);
        let mark = Mark::Stored { targets, words };
        let later = Some(self.now + WORDS_AFTER);
        self.mark_as(message, mark, NewestOf::Words { heard }, later);
    }

    /// It did what it says: `words`, and a sign alone where calls are counted, since what it did is
    /// seen there anyway.
    pub(super) fn mark_done(&mut self, message: &PromptMessage, words: String) {
        let mark = if self.counts_calls(&message.place) {
            Mark::Taken { targets: Vec::new(), at: self.now }
        } else {
            Mark::Stored { targets: Vec::new(), words: Some(words) }
        };
        self.mark(message, mark);
    }

    pub(super) fn counts_calls(&self, place: &Place) -> bool {
        self.state.limits_of(&place.bridge, &place.chat).budget.is_some()
    }

    fn mark_as(
        &mut self,
        message: &PromptMessage,
        mark: Mark,
        newest: NewestOf,
        not_before: Option<Timestamp>,
    ) {
        self.deliver(Draft {
            to: target_of(&message.place),
            what: Outgoing::Mark { message: message.id.clone(), mark },
            rank: Rank::Note,
            session: None,
            newest: Some(newest),
            not_before,
        });
    }

    /// Where a session's words go in a chat.
    pub(super) fn session_target(&mut self, chat: &Chat, session: SessionId) -> Target {
        let spot = if chat.room.has_threads() { Spot::Session { session } } else { Spot::Main };
        let to = Target { bridge: chat.bridge.clone(), chat: chat.chat.clone(), spot };
        if spot_is_main(&to) {
            return to;
        }
        let made = self.state.place_of(&to).is_some();
        let being_made = self.state.deliveries.values().any(|d| {
            d.newest == Some(NewestOf::Thread { session })
                && d.to.bridge == to.bridge
                && d.to.chat == to.chat
        });
        if !made && !being_made {
            self.show_thread_in(chat, session);
        }
        to
    }

    pub(super) fn show_thread_in(&mut self, chat: &Chat, session: SessionId) {
        if !chat.room.has_threads() {
            return;
        }
        let Some(thread) = self.thread_state(session) else { return };
        let bound = Target {
            bridge: chat.bridge.clone(),
            chat: chat.chat.clone(),
            spot: Spot::Session { session },
        };
        let may_be_there = |d: &Delivery| {
            d.newest == Some(NewestOf::Thread { session })
                && d.to == Target { spot: Spot::Main, ..bound.clone() }
                && was_handed_over(d)
        };
        // One that is being made, or of which nobody knows whether it was, gets its news once it is
        // there; a second, under another key, would be a ghost.
        let exists = self.state.place_of(&bound).is_some()
            || self.state.deliveries.values().any(may_be_there);
        let after = self.state.limits_of(&chat.bridge, &chat.chat).thread_after;
        let after = TimeDelta::from_std(after).unwrap_or(TimeDelta::MAX);
        let over = matches!(thread.state, SessionLook::Ended | SessionLook::Lost);
        let (to, rank, not_before) = if exists && over {
            (bound, Rank::Note, None)
        } else if exists {
            let at = Some(self.now + after).filter(|_| !after.is_zero());
            (bound, Rank::Progress, at)
        } else {
            (Target { spot: Spot::Main, ..bound }, Rank::Gate, None)
        };
        self.deliver(Draft {
            to,
            what: Outgoing::Thread { thread },
            rank,
            session: Some(session),
            newest: Some(NewestOf::Thread { session }),
            not_before,
        });
    }

    /// Puts the best due delivery of each free chat in flight.
    pub(super) fn send_due(&mut self) {
        let mut busy: HashSet<_> = self
            .state
            .deliveries
            .values()
            .filter(|d| matches!(d.state, DeliveryState::InFlight { .. }))
            .map(|d| (d.to.bridge.clone(), d.to.chat.clone()))
            .collect();
        let now = self.now;
        self.state.quiet.retain(|_, until| *until > now);
        self.state.forget_spent(now);
        let mut due: Vec<_> = self
            .state
            .deliveries
            .values()
            .filter(|d| self.is_due(d))
            .map(|d| (d.rank, d.number))
            .collect();
        due.sort_unstable();
        let (again, mut flying) = (self.state.tried_before(), self.state.flying());
        for (_, number) in due {
            let Some(delivery) = self.state.deliveries.get(&number).cloned() else { continue };
            let chat = (delivery.to.bridge.clone(), delivery.to.chat.clone());
            let free = match self.state.free(&delivery, &flying) {
                Free::Now => true,
                Free::At(at) => at <= now,
                Free::OnceItLands => false,
            };
            let quiet = self.state.quiet.contains_key(&self.state.purse(&chat.0, &chat.1));
            let overtakes = again.iter().any(|earlier| earlier.goes_before(&delivery, now));
            if busy.contains(&chat) || quiet || !free || overtakes {
                continue;
            }
            if self.send(delivery.clone()) {
                self.state.takes_off(&delivery, &mut flying);
                busy.insert(chat);
            }
        }
    }

    fn is_due(&self, delivery: &Delivery) -> bool {
        match delivery.state {
            DeliveryState::Due { not_before, .. } => not_before.is_none_or(|at| at <= self.now),
            DeliveryState::InFlight { .. }
            | DeliveryState::Sent { .. }
            | DeliveryState::Missed { .. }
            | DeliveryState::Failed { .. }
            | DeliveryState::Replaced => false,
        }
    }

    /// `false` when it has to wait for something else, or is no longer needed.
    fn send(&mut self, mut delivery: Delivery) -> bool {
        let DeliveryState::Due { tries, .. } = delivery.state else { return false };
        if self.state.is_shut(&delivery) {
            return false;
        }
        let Some(place) = self.state.place_of(&delivery.to) else { return false };
        if delivery.newest == Some(NewestOf::Rings) && !self.rings_still(&delivery.to) {
            delivery.state = DeliveryState::Replaced;
            self.put(Row::Delivery(delivery));
            return false;
        }
        let say = match &delivery.what {
            Outgoing::Post { post, reply_to } => {
                Say::Post { post: post.clone(), reply_to: reply_to.clone() }
            }
            Outgoing::Mark { message, mark } => {
                Say::Mark { message: message.clone(), mark: mark.clone() }
            }
            Outgoing::Thread { thread } => Say::Thread { thread: thread.clone() },
            Outgoing::Edit { of, post } => match self.state.messages.get(of) {
                Some(message) => Say::Edit { message: message.clone(), post: post.clone() },
                None if self.state.deliveries.values().any(|d| d.id == *of) => return false,
                // What it should change was never sent: say it anew rather than nothing.
                None => Say::Post { post: post.clone(), reply_to: None },
            },
        };
        let id = delivery.id;
        delivery.state = DeliveryState::InFlight { tries };
        self.put(Row::Delivery(delivery));
        self.effect(Effect::Say { delivery: id, place, say });
        true
    }
}

/// Whether the service may have taken it.
fn was_handed_over(delivery: &Delivery) -> bool {
    match delivery.state {
        DeliveryState::InFlight { .. } => true,
        DeliveryState::Due { tries, .. } => tries.doubtful > 0,
        DeliveryState::Sent { .. }
        | DeliveryState::Missed { .. }
        | DeliveryState::Failed { .. }
        | DeliveryState::Replaced => false,
    }
}

fn spot_is_main(to: &Target) -> bool {
    match to.spot {
        Spot::Main => true,
        Spot::Thread { .. } | Spot::Session { .. } => false,
    }
}

pub(super) fn target_of(place: &Place) -> Target {
    let spot = place.thread.clone().map_or(Spot::Main, |thread| Spot::Thread { thread });
    Target { bridge: place.bridge.clone(), chat: place.chat.clone(), spot }
}
