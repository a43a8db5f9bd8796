//! Deliveries: made, sent one at a time per chat by rank and age, and settled by what the
//! service says.

use chrono::TimeDelta;
use serde_json::json;
use std::collections::HashSet;

use super::{About, Effect, Work};
use crate::{
    Timestamp,
    bridge::{Body, Place, Post, Repeats, Said, Say, SayError},
    delivery::{Delivery, DeliveryState, NewestOf, Outgoing, Rank, Spot, Target},
    id::{DeliveryId, SessionId},
    prompt::PromptMessage,
    state::{Chat, Row, State, ThreadRow, Threads},
};

/// After a send whose end nobody saw, before it is tried again.
const AFTER_DOUBT: TimeDelta = TimeDelta::seconds(2);

/// Failures kept for `status`; older ones stand in the journal.
const FAILURES_SHOWN: usize = 50;

/// When the next delivery that waits for a time becomes due.
pub(super) fn next_due(state: &State) -> Option<Timestamp> {
    let times = state.deliveries.values().filter_map(|delivery| match delivery.state {
        DeliveryState::Due { not_before, .. } => not_before,
        DeliveryState::InFlight { .. }
        | DeliveryState::Sent { .. }
        | DeliveryState::Failed { .. }
        | DeliveryState::Replaced => None,
    });
    times.min()
}

/// A delivery before it has an id.
pub(super) struct Draft {
    pub to: Target,
    pub what: Outgoing,
    pub rank: Rank,
    pub session: Option<SessionId>,
    pub newest: Option<NewestOf>,
}

impl Work<'_> {
    pub(super) fn deliver(&mut self, draft: Draft) -> DeliveryId {
        let Draft { to, what, rank, session, newest } = draft;
        if newest.is_some() {
            let older = self.state.deliveries.values().filter(|d| {
                d.newest == newest && d.to == to && matches!(d.state, DeliveryState::Due { .. })
            });
            for mut old in older.cloned().collect::<Vec<_>>() {
                old.state = DeliveryState::Replaced;
                self.put(Row::Delivery(old));
            }
        }
        let id = self.ids.make(DeliveryId::from_parts);
        let number = self.state.next_delivery;
        self.state.next_delivery += 1;
        let state = DeliveryState::Due { not_before: None, tries: 0 };
        self.put(Row::Delivery(Delivery { id, number, to, what, rank, session, newest, state }));
        id
    }

    /// Says it in every chat that hears of the session, in its thread where it has one.
    pub(super) fn post_to_session(
        &mut self,
        session: SessionId,
        post: &Post,
        rank: Rank,
    ) -> Vec<DeliveryId> {
        let chats = self.state.rules.chats.clone();
        let posts = chats.iter().map(|chat| {
            let to = self.session_target(chat, session);
            let what = Outgoing::Post { post: post.clone(), reply_to: None };
            self.deliver(Draft { to, what, rank, session: Some(session), newest: None })
        });
        posts.collect()
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
        })
    }

    /// Changes what earlier deliveries show.
    pub(super) fn edit_all(&mut self, shown: &[(DeliveryId, Target)], post: &Post, rank: Rank) {
        for (of, to) in shown {
            let what = Outgoing::Edit { of: *of, post: post.clone() };
            let newest = Some(NewestOf::EditOf { delivery: *of });
            let session = match &to.spot {
                Spot::Session { session } => Some(*session),
                Spot::Main | Spot::Thread { .. } => None,
            };
            self.deliver(Draft { to: to.clone(), what, rank, session, newest });
        }
    }

    pub(super) fn mark(&mut self, message: &PromptMessage, mark: crate::bridge::Mark) {
        self.deliver(Draft {
            to: target_of(&message.place),
            what: Outgoing::Mark { message: message.id.clone(), mark },
            rank: Rank::Note,
            session: None,
            newest: Some(NewestOf::Receipt { heard: message.heard }),
        });
    }

    /// Where a session's words go in a chat.
    pub(super) fn session_target(&mut self, chat: &Chat, session: SessionId) -> Target {
        let spot = match chat.threads {
            Threads::PerSession => Spot::Session { session },
            Threads::None => Spot::Main,
        };
        let to = Target { bridge: chat.bridge.clone(), chat: chat.chat.clone(), spot };
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
        if chat.threads == Threads::None {
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
        let (to, rank) = if exists {
            (bound, Rank::Progress)
        } else {
            (Target { spot: Spot::Main, ..bound }, Rank::Gate)
        };
        self.deliver(Draft {
            to,
            what: Outgoing::Thread { thread },
            rank,
            session: Some(session),
            newest: Some(NewestOf::Thread { session }),
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
        }
        self.put(Row::Delivery(delivery));
    }

    fn sent(&mut self, mut delivery: Delivery, said: Said) {
        if let Some(message) = &said.message {
            self.state.remember_message(delivery.id, message.clone());
        }
        if let (Outgoing::Thread { .. }, Some(thread), Some(session)) =
            (&delivery.what, said.thread, delivery.session)
        {
            let (bridge, chat) = (delivery.to.bridge.clone(), delivery.to.chat.clone());
            self.put(Row::Thread(ThreadRow { session, bridge, chat, thread }));
        }
        delivery.state = DeliveryState::Sent { message: said.message, at: self.now };
        self.put(Row::Delivery(delivery));
    }

    /// Nobody knows whether the service took it. Where the service drops a double it is simply
    /// said again; elsewhere once more, marked, and never a third time.
    pub(super) fn doubtful(&self, what: &mut Outgoing, to: &Target, tries: u32) -> DeliveryState {
        let again =
            DeliveryState::Due { not_before: Some(self.now + AFTER_DOUBT), tries: tries + 1 };
        let chat =
            self.state.rules.chats.iter().find(|c| c.bridge == to.bridge && c.chat == to.chat);
        match chat.map(|chat| chat.limits.repeats) {
            Some(Repeats::DroppedByService) => again,
            Some(Repeats::Shown) | None if tries == 0 => {
                if let Outgoing::Post { post: Post { body: Body::Text { text, .. }, .. }, .. } =
                    what
                {
                    text.push("\n(may be a repeat)", None);
                }
                again
            }
            Some(Repeats::Shown) | None => DeliveryState::Failed {
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
            if busy.contains(&chat) || self.state.quiet.contains_key(&chat) {
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

pub(super) fn target_of(place: &Place) -> Target {
    let spot = place.thread.clone().map_or(Spot::Main, |thread| Spot::Thread { thread });
    Target { bridge: place.bridge.clone(), chat: place.chat.clone(), spot }
}
