//! What services say about themselves and about chats: moved, shut, deaf, hearing again, and who is
//! there.

use chrono::TimeDelta;
use serde_json::json;

use super::{About, Work, hush::Cause};
use crate::{
    Timestamp,
    bridge::{Cards, Health, Level, Noted},
    delivery::{Delivery, DeliveryState, NewestOf, Rank, Shown, Spot, Target},
    gate::Gate,
    id::{BridgeName, ChatId, ThreadId},
    state::{Chat, ChatRow, ChatState, FocusRow, Hearing, Row, ThreadRow},
};

/// A service that answered nothing for so long is not heard. A bridge's own longest wait for an
/// answer is well below.
const DEAF: TimeDelta = TimeDelta::seconds(45);

/// What waited for a service goes out as soon as it answers, often before it says that it was silent:
/// a card that came with that was tapped by nobody yet.
const JUST_SAID: TimeDelta = TimeDelta::minutes(1);

impl Work<'_> {
    pub(super) fn noted(&mut self, bridge: &BridgeName, noted: Noted) {
        if !self.concerns_us(bridge, &noted) {
            return;
        }
        // Neither stands in the journal each time it is told.
        if let Noted::Knocked { from } = &noted {
            return self.knocked(bridge, from);
        }
        if let Noted::Readers { chat, readers } = noted {
            return self.readers(bridge, &chat, readers);
        }
        let detail = json!({ "bridge": bridge, "what": noted });
        self.journal("service_noted", About::default(), detail);
        match noted {
            Noted::Back { after } => {
                let minutes = after.as_secs() / 60;
                let words = format!(
                    "{bridge} was not heard for {minutes} min. What was written meanwhile follows, oldest first; buttons tapped meanwhile may be lost."
                );
                for chat in self.chats_on(bridge) {
                    if self.ask_again_in(&chat) > 0 {
                        self.tell_chat(&chat, Level::Note, &words);
                    }
                }
            }
            Noted::Moved { from, to } => self.chat_moved(bridge, &from, &to),
            Noted::Open { chat, room } => {
                if let Some(row) = self.known_chat(bridge, &chat) {
                    let row = ChatRow { threadless: None, ..row };
                    self.chat_is(&row, room, ChatState::Open);
                }
            }
            Noted::Shut { chat, reason } => self.chat_shut(bridge, &chat, &reason),
            Noted::ThreadGone { chat, thread } => self.thread_gone(bridge, &chat, &thread),
            Noted::Met { chat, room, from } => self.met(bridge, &chat, room, &from),
            Noted::Knocked { .. } | Noted::Readers { .. } => {}
            Noted::NotRead { place, message, why, .. } => {
                self.say_about(&place, &message, &why);
            }
            Noted::NeedsDesk { words } => self.tell_everywhere(Level::Ring, &words),
            Noted::Unread { number, reason } => {
                let words = format!(
                    "One thing that came over {bridge} could not be read and was set aside as {number}: {reason}. `vigie doctor` shows where it lies."
                );
                self.tell_everywhere(Level::Note, &words);
            }
        }
    }

    /// Whatever strangers do with their own groups leaves no trace.
    fn concerns_us(&self, bridge: &BridgeName, noted: &Noted) -> bool {
        match noted {
            // Of readers of chats that are none of ours, no more than that is kept.
            Noted::Readers { .. }
            | Noted::Back { .. }
            | Noted::NeedsDesk { .. }
            | Noted::Unread { .. } => true,
            Noted::Knocked { from } => self.state.human_of(bridge, from).is_none(),
            Noted::Met { from, .. } | Noted::NotRead { from, .. } => {
                self.state.human_of(bridge, from).is_some()
            }
            Noted::Moved { from: chat, .. }
            | Noted::Open { chat, .. }
            | Noted::Shut { chat, .. }
            | Noted::ThreadGone { chat, .. } => self.known_chat(bridge, chat).is_some(),
        }
    }

    pub(super) fn known_chat(&self, bridge: &BridgeName, chat: &ChatId) -> Option<ChatRow> {
        let row = self.state.chats.get(&(bridge.clone(), chat.clone()))?;
        (row.state != ChatState::Left).then(|| row.clone())
    }

    fn chats_on(&self, bridge: &BridgeName) -> Vec<Chat> {
        self.state.hearing().into_iter().filter(|chat| chat.bridge == *bridge).collect()
    }

    /// Says open cards anew in a chat where they and their taps may be lost; returns how many there were.
    /// Those that are still to be sent, were sent just now, or are surely there, are not.
    pub(super) fn ask_again_in(&mut self, chat: &Chat) -> usize {
        let cards = self.state.limits_of(&chat.bridge, &chat.chat).cards;
        let mut open: Vec<Gate> = self.state.open_gates().cloned().collect();
        open.sort_by_key(|gate| (gate.opened, gate.id));
        let mut said = 0;
        for mut gate in open {
            let is_there = |shown: &Shown| match cards {
                Cards::Last => self.state.messages.contains_key(&shown.delivery),
                Cards::Perish => false,
            };
            let soon = |at: &Timestamp| self.now - *at < JUST_SAID;
            let waits = |shown: &Shown| {
                self.state.changed.get(&shown.delivery).is_some_and(soon)
                    || self.state.deliveries.values().any(|d| d.id == shown.delivery)
            };
            let here =
                |shown: &&Shown| shown.to.bridge == chat.bridge && shown.to.chat == chat.chat;
            let in_its_place = |shown: &Shown| is_in_its_place(&gate, chat, shown);
            let mut cards = gate.cards.iter().filter(here);
            if cards.any(|s| waits(s) || (is_there(s) && in_its_place(s))) {
                continue;
            }
            let level = self.level_of_card(&gate, chat);
            self.say_card(&mut gate, chat, level);
            self.put(Row::Gate(gate));
            said += 1;
        }
        said
    }

    pub(super) fn chat_shut(&mut self, bridge: &BridgeName, chat: &ChatId, reason: &str) {
        let Some(row) = self.known_chat(bridge, chat) else { return };
        if matches!(row.state, ChatState::Shut { .. }) {
            return;
        }
        let state = ChatState::Shut { reason: reason.into(), since: self.now };
        self.put(Row::Chat(ChatRow { state, ..row }));
        let words = format!(
            "{bridge} lets nothing into chat {chat} any more: {reason}. What should arrive there waits."
        );
        let others = |other: &Chat| other.chat != *chat;
        self.say_where_heard(&words, others, None);
    }

    /// Something is not heard any more: what waited there rings elsewhere, and people are told. Where
    /// both happens, one of them is loud.
    pub(super) fn say_where_heard(
        &mut self,
        words: &str,
        others: impl Fn(&Chat) -> bool,
        newest: Option<&NewestOf>,
    ) {
        match newest {
            // Most services are heard again by morning.
            Some(_) => self.happened(&Cause::vigie(), words),
            None => self.trouble(&Cause::vigie(), words),
        }
        let rings = self.ring_elsewhere();
        for chat in self.state.hearing().into_iter().filter(others) {
            let level = if rings.contains(&(chat.bridge.clone(), chat.chat.clone())) {
                Level::Note
            } else {
                self.level_in(&chat, Level::Ring, &Cause::vigie())
            };
            self.tell_as_loud(&chat, level, words, Rank::Gate, newest.cloned());
        }
    }

    /// Everything that pointed to the old id points to the new one, in this one decision.
    pub(super) fn chat_moved(&mut self, bridge: &BridgeName, from: &ChatId, to: &ChatId) {
        let Some(row) = self.known_chat(bridge, from) else { return };
        self.put(Row::Chat(ChatRow { state: ChatState::Left, ..row.clone() }));
        let state = if row.is_held() { row.state.clone() } else { ChatState::Open };
        self.put(Row::Chat(ChatRow { chat: to.clone(), state, ..row }));
        let here = |target: &Target| target.bridge == *bridge && target.chat == *from;
        let moved: Vec<_> =
            self.state.deliveries.values().filter(|d| here(&d.to)).cloned().collect();
        for delivery in moved {
            self.move_delivery(delivery, to);
        }
        let threads: Vec<_> = self
            .state
            .threads
            .keys()
            .filter(|(_, b, c)| b == bridge && c == from)
            .cloned()
            .collect();
        for (session, ..) in threads {
            self.put(Row::Thread(ThreadRow {
                session,
                bridge: bridge.clone(),
                chat: from.clone(),
                thread: None,
            }));
        }
        let focus: Vec<_> = self
            .state
            .focus
            .iter()
            .filter(|((place, _), _)| place.bridge == *bridge && place.chat == *from)
            .map(|(key, session)| (key.clone(), *session))
            .collect();
        for ((place, human), session) in focus {
            self.put(Row::Focus(FocusRow {
                place: place.clone(),
                human: human.clone(),
                session: None,
            }));
            let place = crate::bridge::Place { chat: to.clone(), thread: None, ..place };
            self.put(Row::Focus(FocusRow { place, human, session: Some(session) }));
        }
        self.last_heard_moved(bridge, from, to);
        self.move_shown(bridge, from, to);
    }

    /// Cards and progress keep being found where they went. The messages themselves have new ids
    /// there that nobody tells, so open cards are said anew; those that were not sent yet went along.
    fn move_shown(&mut self, bridge: &BridgeName, from: &ChatId, to: &ChatId) {
        let chat = self.state.chat_of(bridge, to);
        let gates: Vec<_> =
            self.state.gates.values().filter(|gate| gate.is_open()).cloned().collect();
        for mut gate in gates {
            for (_, rang) in gate.rang.iter_mut().filter(|(b, c)| b == bridge && c == from) {
                rang.clone_from(to);
            }
            let (old, mut kept): (Vec<_>, Vec<_>) = gate
                .cards
                .into_iter()
                .partition(|shown| shown.to.bridge == *bridge && shown.to.chat == *from);
            let waits = |shown: &Shown| {
                let here = |d: &&Delivery| d.id == shown.delivery && d.to.chat == *to;
                self.state.deliveries.values().find(here)
            };
            let along: Vec<_> = old
                .iter()
                .filter_map(|shown| Some(Shown { to: waits(shown)?.to.clone(), ..shown.clone() }))
                .collect();
            let went = !along.is_empty();
            kept.extend(along);
            gate.cards = kept;
            if let Some(chat) = chat.as_ref().filter(|_| !went) {
                let level = self.level_of_card(&gate, chat);
                self.say_card(&mut gate, chat, level);
            }
            self.put(Row::Gate(gate));
        }
    }

    /// A session's thread is gone: what waits for it waits for a new one.
    pub(super) fn thread_gone(&mut self, bridge: &BridgeName, chat: &ChatId, thread: &ThreadId) {
        let bound = self
            .state
            .threads
            .iter()
            .find(|((_, b, c), t)| b == bridge && c == chat && *t == thread);
        let Some(session) = bound.map(|((session, ..), _)| *session) else { return };
        self.put(Row::Thread(ThreadRow {
            session,
            bridge: bridge.clone(),
            chat: chat.clone(),
            thread: None,
        }));
        let lost = Spot::Thread { thread: thread.clone() };
        let waiting: Vec<_> = self
            .state
            .deliveries
            .values()
            .filter(|d| d.to.bridge == *bridge && d.to.chat == *chat && d.to.spot == lost)
            .cloned()
            .collect();
        for mut delivery in waiting {
            delivery.to.spot = Spot::Session { session };
            self.put(Row::Delivery(delivery));
        }
        let live = self.is_live(session);
        let needed = self.state.deliveries.values().any(|d| {
            d.to.bridge == *bridge
                && d.to.chat == *chat
                && d.to.spot == Spot::Session { session }
                && !matches!(d.state, DeliveryState::Failed { .. })
        });
        if let Some(chat) = self.state.chat_of(bridge, chat).filter(|_| live || needed) {
            self.show_thread_in(&chat, session);
        }
    }

    /// How a bridge hears; told in memory only, every few seconds.
    pub(super) fn pulse(&mut self, bridge: &BridgeName, health: Health) {
        let now = self.now;
        let last = self.state.health.get(bridge).cloned();
        let was_deaf = last.as_ref().and_then(|hearing| hearing.deaf);
        let since = last.as_ref().map_or(now, |hearing| hearing.since);
        // One that has not been heard since a start is as deaf as one that is heard no more.
        let silent = Some(health.heard.unwrap_or(since)).filter(|heard| now - *heard > DEAF);
        let deaf = match health.heard {
            Some(_) => silent,
            None => was_deaf.or(silent),
        };
        let trouble = health.trouble.clone();
        let news = NewestOf::Hearing { bridge: bridge.clone() };
        self.state.health.insert(bridge.clone(), Hearing { health, since, deaf });
        match (was_deaf, deaf) {
            (None, Some(since)) => {
                let why = trouble.unwrap_or_else(|| "it gives no answer".into());
                self.journal(
                    "service_deaf",
                    About::default(),
                    json!({ "bridge": bridge, "why": why }),
                );
                let words = format!(
                    "{bridge} has not been heard since {}: {why}. Vigie keeps trying; what is written there is read once it answers.",
                    since.format("%H:%M UTC")
                );
                self.say_where_heard(&words, |chat| chat.bridge != *bridge, Some(&news));
            }
            (Some(since), None) => {
                self.journal("service_heard_again", About::default(), json!({ "bridge": bridge }));
                let words =
                    format!("{bridge} is heard again, after {}.", super::show::span(since, now));
                for chat in self.state.hearing().into_iter().filter(|chat| chat.bridge != *bridge) {
                    let newest = Some(news.clone());
                    self.tell_as_loud(&chat, Level::Note, &words, Rank::Note, newest);
                }
                self.ring_elsewhere();
            }
            (None, None) | (Some(_), Some(_)) => {}
        }
    }
}

/// A card in the chat itself is not where people look once its session has a thread there.
fn is_in_its_place(gate: &Gate, chat: &Chat, shown: &Shown) -> bool {
    let threads = chat.room.has_threads() && gate.session().is_some();
    !threads || shown.to.spot != Spot::Main
}
