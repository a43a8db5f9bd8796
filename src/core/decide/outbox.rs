//! Deliveries: made, sent one at a time per chat by rank and age, and settled by what the
//! service says.

use chrono::TimeDelta;
use serde_json::json;
use std::collections::HashSet;

use super::{About, Effect, Work};
use crate::{
    Timestamp,
    bridge::{Body, Level, Place, Post, Progress, Repeats, Said, Say, SayError},
    delivery::{Delivery, DeliveryState, NewestOf, Outgoing, Rank, Shown, Spot, Target},
    id::{BridgeName, ChatId, DeliveryId, SessionId},
    prompt::PromptMessage,
    state::{Chat, ChatRow, Row, ThreadRow},
};

/// After a send whose end nobody saw, before it is tried again.
const AFTER_DOUBT: TimeDelta = TimeDelta::seconds(2);

/// Failures kept for `status`; older ones stand in the journal.
const FAILURES_SHOWN: usize = 50;

/// A card or a final answer is tried so often before it is given up and said at the desk.
const LAST_TRY: u32 = 10;

/// What may wait for a chat that takes nothing; more is a chat nobody reads.
const WAITING_AT_MOST: usize = 500;

/// Messages whose last change is remembered.
const CHANGES_REMEMBERED: usize = 1000;

/// Versions of a long turn's progress come at most this many times rarer than those of a short one.
const SLOWEST_PROGRESS: i32 = 4;

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
        let id = self.ids.make(DeliveryId::from_parts);
        let number = self.state.next_delivery;
        self.state.next_delivery += 1;
        let state = DeliveryState::Due { not_before, tries: 0 };
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

    /// Changes what earlier deliveries show.
    pub(super) fn edit_all(&mut self, shown: &[Shown], post: &Post, rank: Rank) {
        for Shown { delivery: of, to } in shown {
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

    /// Versions of a progress message keep a distance that grows with the age of the turn; its last
    /// one need not.
    fn not_too_soon(&self, of: DeliveryId, to: &Target, post: &Post) -> Option<Timestamp> {
        let Body::Progress(Progress { since, ended: None, .. }) = &post.body else { return None };
        let least = self.state.limits_of(&to.bridge, &to.chat).progress_every;
        let least = TimeDelta::from_std(least).unwrap_or(TimeDelta::MAX);
        if least.is_zero() {
            return None;
        }
        let apart = (self.now - *since).clamp(least, least * SLOWEST_PROGRESS);
        Some(self.state.changed.get(&of).map_or(self.now + least, |at| *at + apart))
    }

    pub(super) fn mark(&mut self, message: &PromptMessage, mark: crate::bridge::Mark) {
        self.deliver(Draft {
            to: target_of(&message.place),
            what: Outgoing::Mark { message: message.id.clone(), mark },
            rank: Rank::Note,
            session: None,
            newest: Some(NewestOf::Receipt { heard: message.heard }),
            not_before: None,
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
        let in_flight = |d: &Delivery| {
            d.newest == Some(NewestOf::Thread { session })
                && d.to == Target { spot: Spot::Main, ..bound.clone() }
                && matches!(d.state, DeliveryState::InFlight { .. })
        };
        // One that is being made gets its news once it is there; a second would be a ghost.
        let exists =
            self.state.place_of(&bound).is_some() || self.state.deliveries.values().any(in_flight);
        let after = self.state.limits_of(&chat.bridge, &chat.chat).thread_after;
        let after = TimeDelta::from_std(after).unwrap_or(TimeDelta::MAX);
        let (to, rank, not_before) = if exists {
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

    /// The service answered, or did not.
    pub(super) fn delivered(&mut self, id: DeliveryId, outcome: Result<Said, SayError>) {
        let Some(mut delivery) = self.state.deliveries.values().find(|d| d.id == id).cloned()
        else {
            return;
        };
        let DeliveryState::InFlight { tries } = delivery.state else { return };
        match outcome {
            Ok(said) => return self.sent(delivery, said),
            Err(SayError::Later { after }) => {
                let until = self.now + TimeDelta::from_std(after).unwrap_or(TimeDelta::MAX);
                self.state
                    .quiet
                    .insert((delivery.to.bridge.clone(), delivery.to.chat.clone()), until);
                delivery.state = DeliveryState::Due { not_before: Some(until), tries: tries + 1 };
            }
            Err(SayError::InDoubt) => {
                delivery.state = self.doubtful(&mut delivery.what, &delivery.to, tries);
            }
            Err(SayError::Never { reason }) => {
                delivery.state = DeliveryState::Failed { why: reason.clone(), at: self.now };
                self.failed(&delivery, &reason);
            }
            Err(SayError::NoMessage) => {
                let why = "the message it is about is gone".into();
                delivery.state = DeliveryState::Failed { why, at: self.now };
            }
            Err(SayError::NoThread) => return self.lost_thread(delivery, tries),
            Err(SayError::NoThreads { reason }) => return self.no_threads(delivery, &reason),
            Err(SayError::Moved { to }) => {
                let (bridge, from) = (delivery.to.bridge.clone(), delivery.to.chat.clone());
                delivery.to.chat = to.clone();
                delivery.state = DeliveryState::Due { not_before: None, tries: tries + 1 };
                self.put(Row::Delivery(delivery));
                return self.chat_moved(&bridge, &from, &to);
            }
            Err(SayError::Shut { reason }) => {
                return self.into_a_shut_chat(delivery, tries, reason);
            }
        }
        self.put(Row::Delivery(delivery));
    }

    /// A person deleted the thread: what was to go there goes to a new one.
    fn lost_thread(&mut self, mut delivery: Delivery, tries: u32) {
        let place = self.state.place_of(&delivery.to);
        delivery.state = match delivery.what {
            // What it said or marked is gone with the thread.
            Outgoing::Edit { .. } | Outgoing::Mark { .. } => {
                DeliveryState::Failed { why: "its thread is gone".into(), at: self.now }
            }
            // A new one is made below, with the newest title.
            Outgoing::Thread { .. } => DeliveryState::Replaced,
            Outgoing::Post { .. } if tries >= LAST_TRY => {
                let why = "its thread is gone, and so was each new one".to_owned();
                self.failed(&delivery, &why);
                DeliveryState::Failed { why, at: self.now }
            }
            Outgoing::Post { .. } => {
                let known = place.as_ref().is_some_and(|p| self.state.thread_session(p).is_some());
                if !known && matches!(delivery.to.spot, Spot::Thread { .. }) {
                    delivery.to.spot = Spot::Main;
                }
                DeliveryState::Due { not_before: None, tries: tries + 1 }
            }
        };
        self.put(Row::Delivery(delivery.clone()));
        if let Some(thread) = place.and_then(|place| place.thread) {
            self.thread_gone(&delivery.to.bridge, &delivery.to.chat, &thread);
        }
    }

    /// This chat has no threads, whatever it said: every message names its session from now on.
    fn no_threads(&mut self, mut delivery: Delivery, reason: &str) {
        let (bridge, chat) = (delivery.to.bridge.clone(), delivery.to.chat.clone());
        delivery.state = DeliveryState::Failed { why: reason.into(), at: self.now };
        self.put(Row::Delivery(delivery));
        let key = (bridge.clone(), chat.clone());
        if let Some(row) = self.state.chats.get(&key).filter(|row| row.room.has_threads()).cloned()
        {
            let room = row.room.without_threads();
            self.put(Row::Chat(ChatRow { room, ..row }));
            let words = format!(
                "No topic can be made here: {reason}. Until that is mended, each message names its session; write [NAME] text to one."
            );
            self.tell_chat(
                &Chat { bridge: bridge.clone(), chat: chat.clone(), room },
                Level::Ring,
                &words,
            );
        }
        let waits = |d: &&Delivery| {
            d.to.bridge == bridge && d.to.chat == chat && self.state.place_of(&d.to).is_none()
        };
        for mut waiting in self.state.deliveries.values().filter(waits).cloned().collect::<Vec<_>>()
        {
            waiting.to.spot = Spot::Main;
            self.put(Row::Delivery(waiting));
        }
    }

    fn into_a_shut_chat(&mut self, mut delivery: Delivery, tries: u32, reason: String) {
        let (bridge, chat) = (delivery.to.bridge.clone(), delivery.to.chat.clone());
        let ours = self.state.chat_of(&bridge, &chat).is_some();
        let matters = match delivery.rank {
            Rank::Gate | Rank::Final => ours,
            Rank::Note | Rank::Progress => false,
        };
        delivery.state = if matters {
            DeliveryState::Due { not_before: None, tries: tries + 1 }
        } else {
            DeliveryState::Failed { why: reason.clone(), at: self.now }
        };
        self.put(Row::Delivery(delivery));
        self.chat_shut(&bridge, &chat, &reason);
        self.drop_oldest_of(&bridge, &chat);
    }

    /// What waits for a chat that takes nothing has a bound; the oldest is given up and said.
    fn drop_oldest_of(&mut self, bridge: &BridgeName, chat: &ChatId) {
        let here = |d: &&Delivery| d.to.bridge == *bridge && d.to.chat == *chat;
        let waiting: Vec<_> = self.state.deliveries.values().filter(here).cloned().collect();
        let over = waiting.len().saturating_sub(WAITING_AT_MOST);
        for mut old in waiting.into_iter().take(over) {
            let why = "its chat has taken nothing for too long".to_owned();
            self.failed(&old, &why);
            old.state = DeliveryState::Failed { why, at: self.now };
            self.put(Row::Delivery(old));
        }
    }

    /// Nothing goes to a chat that is none of ours any more.
    pub(super) fn forget_deliveries_to(&mut self, bridge: &BridgeName, chat: &ChatId) {
        let here = |d: &&Delivery| d.to.bridge == *bridge && d.to.chat == *chat;
        for mut old in self.state.deliveries.values().filter(here).cloned().collect::<Vec<_>>() {
            old.state = DeliveryState::Failed { why: "access was taken back".into(), at: self.now };
            self.put(Row::Delivery(old));
        }
    }

    fn sent(&mut self, mut delivery: Delivery, said: Said) {
        if let Some(message) = &said.message {
            self.state.remember_message(delivery.id, message.clone());
        }
        self.charge(&delivery, said.calls);
        if let (Outgoing::Thread { .. }, Some(thread), Some(session)) =
            (&delivery.what, said.thread, delivery.session)
        {
            let (bridge, chat) = (delivery.to.bridge.clone(), delivery.to.chat.clone());
            self.put(Row::Thread(ThreadRow { session, bridge, chat, thread: Some(thread) }));
        }
        delivery.state = DeliveryState::Sent { message: said.message, at: self.now };
        self.put(Row::Delivery(delivery));
    }

    /// What a call took of the chat's budget, and when a message of ours last changed.
    fn charge(&mut self, delivery: &Delivery, calls: usize) {
        let of = match &delivery.what {
            Outgoing::Post { .. } => Some(delivery.id),
            Outgoing::Edit { of, .. } => Some(*of),
            Outgoing::Mark { .. } | Outgoing::Thread { .. } => None,
        };
        if let Some(of) = of {
            self.state.changed.insert(of, self.now);
            if self.state.changed.len() > CHANGES_REMEMBERED {
                self.state.changed.pop_first();
            }
        }
        let chat = (delivery.to.bridge.clone(), delivery.to.chat.clone());
        if self.state.limits_of(&chat.0, &chat.1).budget.is_some() {
            let now = self.now;
            self.state.spent.entry(chat).or_default().extend(std::iter::repeat_n(now, calls));
        }
    }

    /// Nobody knows whether the service took it. Where the service drops a double it is simply
    /// said again; elsewhere once more, marked, and never a third time.
    pub(super) fn doubtful(&self, what: &mut Outgoing, to: &Target, tries: u32) -> DeliveryState {
        let again =
            DeliveryState::Due { not_before: Some(self.now + AFTER_DOUBT), tries: tries + 1 };
        match self.state.limits_of(&to.bridge, &to.chat).repeats {
            Repeats::DroppedByService => again,
            // Saying these twice changes nothing: two cards still are one question.
            Repeats::Shown if may_repeat(what) && tries < LAST_TRY => again,
            Repeats::Shown if tries == 0 => {
                if let Outgoing::Post { post: Post { body: Body::Text { text, .. }, .. }, .. } =
                    what
                {
                    text.push("\n(may be a repeat)", None);
                }
                again
            }
            Repeats::Shown => DeliveryState::Failed {
                why: "it is not known whether it arrived".into(),
                at: self.now,
            },
        }
    }

    fn failed(&mut self, delivery: &Delivery, reason: &str) {
        let about = delivery
            .session
            .and_then(|id| self.state.sessions.get(&id))
            .map(|s| s.name.to_string());
        let words = format!(
            "A message about {} did not reach {}: {reason}",
            about.as_deref().unwrap_or("Vigie"),
            delivery.to.bridge
        );
        self.state.failed.push_back(words);
        if self.state.failed.len() > FAILURES_SHOWN {
            self.state.failed.pop_front();
        }
        let about = About { session: delivery.session, ..About::default() };
        self.journal(
            "delivery_failed",
            about,
            json!({ "delivery": delivery.id, "reason": reason }),
        );
        if let (Outgoing::Thread { .. }, Some(session)) = (&delivery.what, delivery.session) {
            self.fall_back_to_chat(session, &delivery.to);
        }
    }

    /// The thread cannot be made: what waits for it goes to the chat itself, where each message
    /// names its session.
    fn fall_back_to_chat(&mut self, session: SessionId, to: &Target) {
        let waits = Target { spot: Spot::Session { session }, ..to.clone() };
        let waiting: Vec<_> =
            self.state.deliveries.values().filter(|d| d.to == waits).cloned().collect();
        for mut delivery in waiting {
            delivery.to.spot = Spot::Main;
            self.put(Row::Delivery(delivery));
        }
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
        for (_, number) in due {
            let Some(delivery) = self.state.deliveries.get(&number).cloned() else { continue };
            let chat = (delivery.to.bridge.clone(), delivery.to.chat.clone());
            let free = self.state.free_at(&delivery).is_none_or(|at| at <= now);
            if busy.contains(&chat) || self.state.quiet.contains_key(&chat) || !free {
                continue;
            }
            if self.send(delivery) {
                busy.insert(chat);
            }
        }
    }

    fn is_due(&self, delivery: &Delivery) -> bool {
        match delivery.state {
            DeliveryState::Due { not_before, .. } => not_before.is_none_or(|at| at <= self.now),
            DeliveryState::InFlight { .. }
            | DeliveryState::Sent { .. }
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

/// Saying it twice changes nothing.
fn may_repeat(what: &Outgoing) -> bool {
    match what {
        Outgoing::Edit { .. } | Outgoing::Mark { .. } | Outgoing::Thread { .. } => true,
        Outgoing::Post { post, .. } => match post.body {
            Body::Card(_) => true,
            Body::Text { .. } | Body::Progress(_) | Body::Document(_) | Body::File(_) => false,
        },
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
