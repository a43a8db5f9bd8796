//! What services say about themselves and about chats: moved, shut, deaf, hearing again.

use chrono::TimeDelta;
use serde_json::json;

use super::{About, Work};
use crate::{
    bridge::{Health, Level, Noted},
    delivery::{DeliveryState, Shown, Spot, Target},
    gate::Gate,
    id::{BridgeName, ChatId, ThreadId},
    state::{Chat, ChatRow, ChatState, FocusRow, Hearing, Row, ThreadRow},
};

/// A service that answered nothing for so long is not heard. A bridge's own longest wait for an
/// answer is well below.
const DEAF: TimeDelta = TimeDelta::seconds(45);

impl Work<'_> {
    pub(super) fn noted(&mut self, bridge: &BridgeName, noted: Noted) {
        if !self.concerns_us(bridge, &noted) {
            return;
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
            Noted::Met { .. } | Noted::Knocked { .. } | Noted::NotRead { .. } => {
                // handled by the core's part of this change
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
            Noted::Back { .. }
            | Noted::NeedsDesk { .. }
            | Noted::Unread { .. }
            | Noted::Met { .. }
            | Noted::Knocked { .. }
            | Noted::NotRead { .. } => true,
            Noted::Moved { from: chat, .. }
            | Noted::Open { chat, .. }
            | Noted::Shut { chat, .. }
            | Noted::ThreadGone { chat, .. } => self.known_chat(bridge, chat).is_some(),
        }
    }

    fn known_chat(&self, bridge: &BridgeName, chat: &ChatId) -> Option<ChatRow> {
        let row = self.state.chats.get(&(bridge.clone(), chat.clone()))?;
        (row.state != ChatState::Left).then(|| row.clone())
    }

    fn chats_on(&self, bridge: &BridgeName) -> Vec<Chat> {
        self.state.hearing().into_iter().filter(|chat| chat.bridge == *bridge).collect()
    }

    /// Says every open card anew in a chat whose taps may be lost; returns how many there were.
    pub(super) fn ask_again_in(&mut self, chat: &Chat) -> usize {
        let mut open: Vec<Gate> = self.state.open_gates().cloned().collect();
        open.sort_by_key(|gate| (gate.opened, gate.id));
        for gate in &open {
            let waits = |shown: &Shown| {
                shown.to.bridge == chat.bridge
                    && shown.to.chat == chat.chat
                    && self.state.deliveries.values().any(|d| d.id == shown.delivery)
            };
            if gate.cards.iter().any(waits) {
                continue; // it was never sent yet
            }
            let card = self.post_card(gate, chat);
            let mut gate = gate.clone();
            gate.cards.push(card);
            self.put(Row::Gate(gate));
        }
        open.len()
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
        for other in self.state.hearing().into_iter().filter(|other| other.chat != *chat) {
            self.tell_chat(&other, Level::Ring, &words);
        }
    }

    /// Everything that pointed to the old id points to the new one, in this one decision.
    pub(super) fn chat_moved(&mut self, bridge: &BridgeName, from: &ChatId, to: &ChatId) {
        let Some(row) = self.known_chat(bridge, from) else { return };
        self.put(Row::Chat(ChatRow { state: ChatState::Left, ..row.clone() }));
        self.put(Row::Chat(ChatRow { chat: to.clone(), state: ChatState::Open, ..row }));
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
        self.move_shown(bridge, from, to);
    }

    /// Cards and progress keep being found where they went. The messages themselves have new ids
    /// there that nobody tells, so open cards are said anew.
    fn move_shown(&mut self, bridge: &BridgeName, from: &ChatId, to: &ChatId) {
        let chat = self.state.chat_of(bridge, to);
        let gates: Vec<_> =
            self.state.gates.values().filter(|gate| gate.is_open()).cloned().collect();
        for mut gate in gates {
            gate.cards.retain(|shown| !(shown.to.bridge == *bridge && shown.to.chat == *from));
            if let Some(chat) = &chat {
                let card = self.post_card(&gate, chat);
                gate.cards.push(card);
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
        let silent = health.heard.filter(|heard| now - *heard > DEAF);
        let deaf = silent.or_else(|| was_deaf.filter(|_| health.heard.is_none()));
        match (was_deaf, deaf) {
            (None, Some(since)) => {
                let why = health.trouble.clone().unwrap_or_else(|| "it gives no answer".into());
                self.journal(
                    "service_deaf",
                    About::default(),
                    json!({ "bridge": bridge, "why": why }),
                );
                let words = format!(
                    "{bridge} has not been heard since {}: {why}. Vigie keeps trying; what is written there is read once it answers.",
                    since.format("%H:%M UTC")
                );
                for chat in self.state.hearing().into_iter().filter(|chat| chat.bridge != *bridge) {
                    self.tell_chat(&chat, Level::Ring, &words);
                }
            }
            (Some(since), None) => {
                self.journal("service_heard_again", About::default(), json!({ "bridge": bridge }));
                let words =
                    format!("{bridge} is heard again, after {}.", super::show::span(since, now));
                for chat in self.state.hearing().into_iter().filter(|chat| chat.bridge != *bridge) {
                    self.tell_chat(&chat, Level::Note, &words);
                }
            }
            (None, None) | (Some(_), Some(_)) => {}
        }
        self.state.health.insert(bridge.clone(), Hearing { health, deaf });
    }
}
