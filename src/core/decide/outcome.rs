//! What became of a delivery: sent, later, in doubt, never, and what its chat turned out to be.

use chrono::TimeDelta;
use serde_json::json;

use super::{About, Work};
use crate::{
    bridge::{Body, Level, Post, Repeats, Said, SayError},
    delivery::{Delivery, DeliveryState, NewestOf, Outgoing, Rank, Spot, Target, Tries},
    id::{BridgeName, ChatId, DeliveryId, SessionId},
    state::{Chat, ChatRow, ChatState, JustSent, Row, ThreadRow},
};

/// After a send whose end nobody saw, before it is tried again.
const AFTER_DOUBT: TimeDelta = TimeDelta::seconds(2);

/// A card or a final answer is tried so often before it is given up and said at the desk.
const LAST_TRY: u32 = 10;

/// What may wait for a chat that takes nothing; more is a chat nobody reads.
const WAITING_AT_MOST: usize = 500;

/// Messages whose last change is remembered.
const CHANGES_REMEMBERED: usize = 1000;

impl Work<'_> {
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
                let purse = self.state.purse(&delivery.to.bridge, &delivery.to.chat);
                self.state.quiet.insert(purse, until);
                delivery.state =
                    DeliveryState::Due { not_before: Some(until), tries: tries.refused() };
            }
            Err(SayError::InDoubt) => {
                self.doubt(&mut delivery, tries);
            }
            Err(SayError::Never { reason }) => {
                self.miss(&delivery, &reason);
                delivery.state = DeliveryState::Missed { why: reason, at: self.now };
            }
            Err(SayError::NoMessage) => {
                let why = "the message it is about is gone".into();
                delivery.state = DeliveryState::Failed { why, at: self.now };
            }
            Err(SayError::NoThread) => return self.lost_thread(delivery, tries),
            Err(SayError::NoThreads { reason }) => {
                return self.no_threads(delivery, reason.as_deref());
            }
            Err(SayError::Moved { to }) => {
                let (bridge, from) = (delivery.to.bridge.clone(), delivery.to.chat.clone());
                delivery.state = DeliveryState::Due { not_before: None, tries: tries.refused() };
                self.move_delivery(delivery, &to);
                return self.chat_moved(&bridge, &from, &to);
            }
            Err(SayError::Shut { reason }) => {
                return self.chat_is_shut(delivery, tries, &reason);
            }
        }
        self.put(Row::Delivery(delivery));
    }

    /// A person deleted the thread: what was to go there goes to a new one.
    fn lost_thread(&mut self, mut delivery: Delivery, tries: Tries) {
        let place = self.state.place_of(&delivery.to);
        delivery.state = match delivery.what {
            // What it said or marked is gone with the thread.
            Outgoing::Edit { .. } | Outgoing::Mark { .. } => {
                DeliveryState::Failed { why: "its thread is gone".into(), at: self.now }
            }
            // A new one is made below, with the newest title.
            Outgoing::Thread { .. } => DeliveryState::Replaced,
            Outgoing::Post { .. } if tries.made >= LAST_TRY => {
                let why = "its thread is gone, and so was each new one".to_owned();
                self.miss(&delivery, &why);
                DeliveryState::Missed { why, at: self.now }
            }
            Outgoing::Post { .. } => {
                let known = place.as_ref().is_some_and(|p| self.state.thread_session(p).is_some());
                if !known && matches!(delivery.to.spot, Spot::Thread { .. }) {
                    delivery.to.spot = Spot::Main;
                }
                DeliveryState::Due { not_before: None, tries: tries.refused() }
            }
        };
        self.put(Row::Delivery(delivery.clone()));
        if let Some(thread) = place.and_then(|place| place.thread) {
            self.thread_gone(&delivery.to.bridge, &delivery.to.chat, &thread);
        }
    }

    /// This chat has no threads, whatever it said: every message names its session from now on.
    fn no_threads(&mut self, mut delivery: Delivery, reason: Option<&str>) {
        let (bridge, chat) = (delivery.to.bridge.clone(), delivery.to.chat.clone());
        let why = reason.unwrap_or("no threads are wanted there").to_owned();
        delivery.state = DeliveryState::Failed { why, at: self.now };
        self.put(Row::Delivery(delivery));
        let key = (bridge.clone(), chat.clone());
        if let Some(row) = self.state.chats.get(&key).filter(|row| row.room.has_threads()).cloned()
        {
            let (room, why) = (row.room.without_threads(), reason.map(str::to_owned));
            self.put(Row::Chat(ChatRow { room, threadless: why, ..row }));
            let chat = Chat { bridge: bridge.clone(), chat: chat.clone(), room };
            if let Some(reason) = reason {
                let words = format!(
                    "No topic can be made here: {reason}. Until that is mended, each message names its session; write [NAME] text to one."
                );
                self.tell_chat(&chat, Level::Ring, &words);
            }
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

    fn chat_is_shut(&mut self, mut delivery: Delivery, tries: Tries, reason: &str) {
        let (bridge, chat) = (delivery.to.bridge.clone(), delivery.to.chat.clone());
        // Of why nothing is said there, no more can be said.
        let says_why = delivery.newest == Some(NewestOf::ReadAlong);
        let ours = self.state.chat_of(&bridge, &chat).is_some() && !says_why;
        let matters = match delivery.rank {
            Rank::Gate | Rank::Final => ours,
            Rank::Reply | Rank::Note | Rank::Progress => false,
        };
        delivery.state = if matters {
            DeliveryState::Due { not_before: None, tries: tries.refused() }
        } else {
            DeliveryState::Failed { why: reason.into(), at: self.now }
        };
        self.put(Row::Delivery(delivery));
        self.chat_shut(&bridge, &chat, reason);
    }

    /// Messages have other numbers in the chat it moved to: what would change or mark one of the old
    /// chat would hit a stranger there.
    pub(super) fn move_delivery(&mut self, mut delivery: Delivery, to: &ChatId) {
        let lost = match &delivery.what {
            Outgoing::Edit { of, .. } => self.state.messages.contains_key(of),
            Outgoing::Mark { .. } => true,
            Outgoing::Post { .. } | Outgoing::Thread { .. } => false,
        };
        if lost {
            let why = "its chat has moved, and the message stayed behind".into();
            delivery.state = DeliveryState::Failed { why, at: self.now };
        } else {
            delivery.to.chat = to.clone();
        }
        self.put(Row::Delivery(delivery));
    }

    /// What waits for chats that take nothing stays within its bound, and is worth waiting for.
    pub(super) fn keep_shut_chats_short(&mut self) {
        let is_shut = |row: &&ChatRow| matches!(row.state, ChatState::Shut { .. });
        let shut: Vec<_> = self.state.chats.values().filter(is_shut).cloned().collect();
        for row in shut {
            let outdated = |d: &&Delivery| {
                d.to.bridge == row.bridge
                    && d.to.chat == row.chat
                    && matches!(d.rank, Rank::Note | Rank::Progress)
                    && matches!(d.state, DeliveryState::Due { .. })
            };
            let all = self.state.deliveries.values().filter(outdated).cloned();
            for mut old in all.collect::<Vec<_>>() {
                let why = "its chat takes nothing".into();
                old.state = DeliveryState::Failed { why, at: self.now };
                self.put(Row::Delivery(old));
            }
            self.drop_oldest_of(&row.bridge, &row.chat);
        }
    }

    /// What waits for a chat that takes nothing has a bound; the oldest is given up and said.
    fn drop_oldest_of(&mut self, bridge: &BridgeName, chat: &ChatId) {
        let here = |d: &&Delivery| d.to.bridge == *bridge && d.to.chat == *chat;
        let waiting: Vec<_> = self.state.deliveries.values().filter(here).cloned().collect();
        let over = waiting.len().saturating_sub(WAITING_AT_MOST);
        for mut old in waiting.into_iter().take(over) {
            let why = "its chat has taken nothing for too long".to_owned();
            self.miss(&old, &why);
            old.state = DeliveryState::Missed { why, at: self.now };
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
            let gate = match &delivery.what {
                Outgoing::Post { post, .. } | Outgoing::Edit { post, .. } => post.body.gate(),
                Outgoing::Mark { .. } | Outgoing::Thread { .. } => None,
            };
            let (bridge, chat) = (delivery.to.bridge.clone(), delivery.to.chat.clone());
            let (message, session) = (message.clone(), delivery.session);
            self.state.remember_sent(JustSent { bridge, chat, message, session, gate });
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
        let Target { bridge, chat, .. } = &delivery.to;
        self.state.spend(bridge, chat, calls, self.now);
    }

    /// Nobody knows whether the service took it. Where the service drops a double it is simply
    /// said again; elsewhere once more, marked, and never a third time.
    pub(super) fn doubt(&mut self, delivery: &mut Delivery, tries: Tries) {
        let (what, to) = (&mut delivery.what, &delivery.to);
        let again = DeliveryState::Due {
            not_before: Some(self.now + AFTER_DOUBT),
            tries: tries.in_doubt(),
        };
        delivery.state = match self.state.limits_of(&to.bridge, &to.chat).repeats {
            Repeats::DroppedByService => again,
            // Saying these twice changes nothing: two cards still are one question.
            Repeats::Shown if may_repeat(what) && tries.doubtful < LAST_TRY => again,
            Repeats::Shown if tries.doubtful == 0 => {
                if let Outgoing::Post { post: Post { body: Body::Text { text, .. }, .. }, .. } =
                    what
                {
                    text.push("\n(may be a repeat)", None);
                }
                again
            }
            Repeats::Shown => {
                let why = "it is not known whether it arrived".to_owned();
                if delivery.rank == Rank::Progress {
                    DeliveryState::Failed { why, at: self.now }
                } else {
                    self.miss(delivery, &why);
                    DeliveryState::Missed { why, at: self.now }
                }
            }
        };
    }

    /// What follows where somebody misses a delivery, beside its row.
    fn miss(&mut self, delivery: &Delivery, reason: &str) {
        let about = About { session: delivery.session, ..About::default() };
        let detail = json!({ "delivery": delivery.id, "reason": reason });
        let thread = matches!(delivery.what, Outgoing::Thread { .. });
        let (session, to) = (delivery.session, delivery.to.clone());
        self.journal("delivery_failed", about, detail);
        if let Some(session) = session.filter(|_| thread) {
            self.fall_back_to_chat(session, &to);
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
