//! Who reads along in chats: nobody that people were not told of. A direct chat takes nothing while
//! somebody is in it whom nobody knows; a group is told once of each.

use serde_json::json;
use std::collections::BTreeSet;

use super::{About, Work, heard::via_words, outbox::Draft, show};
use crate::{
    bridge::{Entry, Level, Reader, Room},
    delivery::{Delivery, DeliveryState, NewestOf, Outgoing, Rank, Spot, Target},
    id::{BridgeName, ChatId, HumanId},
    state::{ChatRow, ChatState, Row, State},
    text::{self, Rich},
};

/// Chats in which we are that somebody may still connect; of more it is not remembered who is in them.
const CHATS: usize = 1_000;

/// People that one message names; of more it says how many.
const NAMED: usize = 5;

/// An id that fits a line. Longer ones are cut, and are odd anyway.
const LONGEST_ID: usize = 120;

impl Reader {
    /// What tells them from everybody whom people were told of before.
    fn key(&self) -> String {
        match &self.changed {
            Some(changed) => format!("{} {}", self.who, changed.to),
            None => self.who.clone(),
        }
    }
}

impl State {
    /// Who is in the chat and is nobody we know, or no longer who they were.
    fn strangers_in(&self, bridge: &BridgeName, chat: &ChatId) -> Vec<Reader> {
        let present = self.present.get(&(bridge.clone(), chat.clone()));
        let strange = |reader: &&Reader| {
            reader.changed.is_some() || self.human_of(bridge, &reader.who).is_none()
        };
        present.into_iter().flatten().filter(strange).cloned().collect()
    }

    /// Whether nothing is on its way to that chat.
    pub fn is_still(&self, bridge: &BridgeName, chat: &ChatId) -> bool {
        let flies = |state: &DeliveryState| matches!(state, DeliveryState::InFlight { .. });
        let mut all = self.deliveries.values();
        !all.any(|d| flies(&d.state) && d.to.bridge == *bridge && d.to.chat == *chat)
    }
}

impl Work<'_> {
    /// A service says who is in a chat.
    pub(super) fn readers(&mut self, bridge: &BridgeName, chat: &ChatId, readers: Vec<Reader>) {
        let key = (bridge.clone(), chat.clone());
        self.state.present.insert(key.clone(), readers);
        if self.state.present.len() > CHATS {
            let chats = &self.state.chats;
            let nobodys =
                |other: &&(BridgeName, ChatId)| **other != key && !chats.contains_key(*other);
            if let Some(forgotten) = self.state.present.keys().find(nobodys).cloned() {
                self.state.present.remove(&forgotten);
            }
        }
        self.look_who_reads(bridge, chat);
    }

    /// Those whom a code that is typed there accepts: whoever types it in a group sees who is in it.
    pub(super) fn readers_accepted(
        &self,
        bridge: &BridgeName,
        chat: &ChatId,
        room: Room,
    ) -> BTreeSet<String> {
        if room.is_direct() {
            return BTreeSet::new();
        }
        self.state.strangers_in(bridge, chat).iter().map(Reader::key).collect()
    }

    /// Words about them for whoever types the code: perhaps the service shows them to us alone.
    pub(super) fn words_of_accepted(&self, bridge: &BridgeName, chat: &ChatId) -> String {
        let strangers = self.state.strangers_in(bridge, chat);
        if strangers.is_empty() {
            return String::new();
        }
        format!(" Besides people Vigie knows, these read along: {}.", names(&strangers))
    }

    /// Somebody is known now, or is not any more.
    pub(super) fn look_everywhere_who_reads(&mut self, bridge: &BridgeName) {
        let here = self.state.chats.keys().filter(|(other, _)| other == bridge);
        for (_, chat) in here.cloned().collect::<Vec<_>>() {
            self.look_who_reads(bridge, &chat);
        }
    }

    /// Compares who is there with whom people were told of.
    pub(super) fn look_who_reads(&mut self, bridge: &BridgeName, chat: &ChatId) {
        if !self.state.present.contains_key(&(bridge.clone(), chat.clone())) {
            return; // nobody said yet; what was true before holds
        }
        self.look_who_is_left(bridge, chat);
        let Some(before) = self.known_chat(bridge, chat) else { return };
        let strangers = self.state.strangers_in(bridge, chat);
        let readers: BTreeSet<String> = strangers.iter().map(Reader::key).collect();
        if readers == before.readers {
            return;
        }
        let detail = json!({ "bridge": bridge, "chat": chat, "readers": readers });
        self.journal("readers_changed", About::default(), detail);
        let is_new = |reader: &&Reader| !before.readers.contains(&reader.key());
        let new: Vec<Reader> = strangers.iter().filter(is_new).cloned().collect();
        let fewer = before.readers.iter().any(|reader| !readers.contains(reader));
        let row = ChatRow { readers, ..before };
        self.put(Row::Chat(row.clone()));
        if row.is_held() {
            self.hold(&row, &strangers, &new);
            return;
        }
        if !new.is_empty() {
            for told in self.state.hearing() {
                let of = (told.bridge != *bridge || told.chat != *chat).then_some(chat);
                self.tell_chat(&told, Level::Ring, &group_words(bridge, of, &new));
            }
        }
        if fewer && matches!(row.state, ChatState::Shut { .. }) {
            self.chat_is(&row, row.room, ChatState::Open);
            if row.room.is_direct() {
                self.say_why(&row, Level::Note, OPEN_AGAIN);
            }
        }
    }

    /// Where nobody is left whom we know, nobody would read what is said.
    fn look_who_is_left(&mut self, bridge: &BridgeName, chat: &ChatId) {
        let Some(row) = self.known_chat(bridge, chat) else { return };
        let present = self.state.present.get(&(bridge.clone(), chat.clone()));
        let mut present = present.into_iter().flatten();
        let left = present.any(|reader| self.state.human_of(bridge, &reader.who).is_some());
        match &row.state {
            ChatState::Open if !left => self.chat_shut(bridge, chat, NOBODY),
            ChatState::Shut { reason, .. } if left && reason == NOBODY => {
                self.chat_is(&row, row.room, ChatState::Open);
            }
            ChatState::Open | ChatState::Shut { .. } | ChatState::Left => {}
        }
    }

    /// Somebody whose own chat takes nothing any more, since they left it or we are out of it, is met in
    /// another one: what waited goes along, and the first is no chat of ours any more.
    /// Returns what to say about that.
    pub(super) fn come_along(
        &mut self,
        bridge: &BridgeName,
        chat: &ChatId,
        human: &HumanId,
    ) -> &'static str {
        let is_theirs = |row: &&ChatRow| {
            let here = |b: &BridgeName, c: &ChatId| *b == row.bridge && *c == row.chat;
            let mut heard = self.state.last_heard.keys().filter(|(_, b, c)| here(b, c)).peekable();
            heard.peek().is_some() && heard.all(|(other, ..)| other == human)
        };
        let is_left = |row: &&ChatRow| {
            let shut = matches!(row.state, ChatState::Shut { .. }) && !row.is_held();
            row.bridge == *bridge && row.chat != *chat && row.room.is_direct() && shut
        };
        let all = self.state.chats.values().filter(is_left).filter(is_theirs);
        let left: Vec<ChatId> = all.map(|row| row.chat.clone()).collect();
        for left in &left {
            self.chat_moved(bridge, left, chat);
        }
        if left.is_empty() { "" } else { COMES_ALONG }
    }

    /// Nothing is said there until they are out, but why.
    fn hold(&mut self, row: &ChatRow, strangers: &[Reader], new: &[Reader]) {
        let since = match row.state {
            ChatState::Shut { since, .. } => since,
            ChatState::Open | ChatState::Left => self.now,
        };
        let state = ChatState::Shut { reason: reason(strangers), since };
        self.put(Row::Chat(ChatRow { state, ..row.clone() }));
        if new.is_empty() {
            return;
        }
        // What was not said yet is said with it: the newest takes its place.
        let here = |d: &&Delivery| d.to.bridge == row.bridge && d.to.chat == row.chat;
        let mut waiting = self.state.deliveries.values().filter(here);
        let is_unsaid = waiting.any(|d| d.newest == Some(NewestOf::ReadAlong));
        let new = if is_unsaid { strangers } else { new };
        let mut words: Vec<String> = new.iter().filter_map(changed_words).collect();
        let others: Vec<Reader> = new.iter().filter(|r| r.changed.is_none()).cloned().collect();
        if !others.is_empty() {
            words.push(held_words(&row.bridge, &others));
        }
        self.say_why(row, Level::Ring, &words.join("\n\n"));
        let elsewhere = format!(
            "{}: nothing is said in chat {} any more: {}. What should arrive there waits.",
            via_words(&row.bridge),
            row.chat,
            reason(strangers)
        );
        let (bridge, chat) = (row.bridge.clone(), row.chat.clone());
        self.say_where_heard(&elsewhere, |at| at.bridge != bridge || at.chat != chat, None);
    }

    fn say_why(&mut self, row: &ChatRow, level: Level, words: &str) {
        let post = show::note(level, Rich::plain(words), vec![]);
        let (bridge, chat) = (row.bridge.clone(), row.chat.clone());
        self.deliver(Draft {
            to: Target { bridge, chat, spot: Spot::Main },
            what: Outgoing::Post { post, reply_to: None },
            rank: Rank::Gate,
            session: None,
            newest: Some(NewestOf::ReadAlong),
            not_before: None,
        });
    }
}

const NOBODY: &str = "nobody whom Vigie knows is in there any more, and it invites nobody who left; begin a new chat with its account, or come in again, and what waits follows there";

const COMES_ALONG: &str =
    " What could not be said in the room before this one comes here; that one is done with.";

const OPEN_AGAIN: &str = "Nobody reads along here any more. What waited follows.";

/// An id in which everything can be seen.
fn shown(id: &str) -> String {
    let id = text::reveal(id).text.text;
    match id.char_indices().nth(LONGEST_ID) {
        Some((at, _)) => format!("{}…", &id[..at]),
        None => id,
    }
}

fn names(readers: &[Reader]) -> String {
    let mut all: Vec<String> = readers.iter().take(NAMED).map(|r| shown(&r.who)).collect();
    if let Some(more) = readers.len().checked_sub(NAMED).filter(|more| *more > 0) {
        all.push(format!("{more} more"));
    }
    all.join(", ")
}

/// How each of them came, as the service says.
fn entries(bridge: &BridgeName, readers: &[Reader]) -> String {
    let via = via_words(bridge);
    let one = |reader: &Reader| {
        let how = match (reader.entry, &reader.thread) {
            (Entry::Joined, None) => "is in here now",
            (Entry::Invited, None) => "is invited in here",
            (Entry::Joined, Some(_)) => "is in the room of one session now",
            (Entry::Invited, Some(_)) => "is invited into the room of one session",
        };
        let by = reader.by.as_deref().map(|by| format!(" (by {}, {via} says)", shown(by)));
        format!("{} {how}{}", shown(&reader.who), by.unwrap_or_default())
    };
    let mut all: Vec<String> = readers.iter().take(NAMED).map(one).collect();
    if let Some(more) = readers.len().checked_sub(NAMED).filter(|more| *more > 0) {
        all.push(format!("{more} more are in here"));
    }
    all.join("; ")
}

fn held_words(bridge: &BridgeName, strangers: &[Reader]) -> String {
    format!(
        "{}. Vigie knows nobody by that name, so nothing is said here any more: what should come waits. Remove them, and it follows. If they belong here, run vigie pair at the desk and write !pair and the code here: then this is a group. If none of you let them in, somebody at {} did, to read along.",
        entries(bridge, strangers),
        via_words(bridge),
    )
}

fn changed_words(reader: &Reader) -> Option<String> {
    let changed = reader.changed.as_ref()?;
    Some(format!("{} Until then nothing is said here: what should come waits.", changed.words))
}

/// What is said of them there; elsewhere with the chat that it is about.
fn group_words(bridge: &BridgeName, chat: Option<&ChatId>, new: &[Reader]) -> String {
    let mut words: Vec<String> =
        new.iter().filter_map(|r| r.changed.as_ref()).map(|c| c.words.clone()).collect();
    let others: Vec<Reader> = new.iter().filter(|r| r.changed.is_none()).cloned().collect();
    if !others.is_empty() {
        let entries = entries(bridge, &others);
        let (entries, spot) = match chat {
            Some(chat) => {
                let entries = entries.replace(" in here", " in there");
                (format!("In another chat on {} ({chat}): {entries}", via_words(bridge)), "there")
            }
            None => (entries, "here"),
        };
        words.push(format!(
            "{entries}. Vigie knows nobody by that name, and they read what is said {spot} from now on. If that is not right, remove them."
        ));
    }
    words.join("\n\n")
}

fn reason(strangers: &[Reader]) -> String {
    let (changed, others): (Vec<Reader>, Vec<Reader>) =
        strangers.iter().cloned().partition(|reader| reader.changed.is_some());
    let mut parts = Vec::new();
    if !others.is_empty() {
        parts.push(format!(
            "{} is in it, whom Vigie does not know; remove them, or connect it as a group: vigie pair, then !pair and the code there",
            names(&others)
        ));
    }
    if !changed.is_empty() {
        parts.push(format!(
            "the identity of {} is another one than before; look at it at the desk before you go on",
            names(&changed)
        ));
    }
    parts.join("; ")
}
