//! Who may be heard, and where sessions are heard of: codes, chats that open.

use chrono::TimeDelta;
use serde_json::json;

use super::{About, Work, heard::via_words, hush::Cause, outbox::target_of, show};
use crate::{
    Timestamp,
    bridge::{Heard, HeardKind, Level, Mark, Place, Room, TextOrigin},
    command::{BridgeView, IdentityView, People, Refusal, Reply},
    delivery::{NewestOf, Rank},
    id::{BridgeName, ChatId, HumanId, PairingCode},
    prompt::PromptMessage,
    state::{
        Chat, ChatRow, ChatState, HeardOutcome, IdentityRow, Pairing, Role, Row, State, Tried,
    },
    text::Rich,
};

/// Long enough to fetch a phone, too short to be found lying about.
const PAIRING_LASTS: TimeDelta = TimeDelta::minutes(10);

/// Wrong tries, of anybody, before every open code is void.
const PAIRING_TRIES: u32 = 5;

/// Codes open at a time: a family's worth.
const PAIRINGS: usize = 8;

/// Codes of one stranger that are answered in a day though none is open.
const CODES_ANSWERED: u32 = 10;

impl Work<'_> {
    /// Opens a code for `human`, or for whoever asks.
    pub(super) fn pair(
        &mut self,
        by: &HumanId,
        human: Option<&str>,
        code: PairingCode,
    ) -> Result<Reply, Refusal> {
        let people = &self.state.rules.people;
        let human = human.map_or_else(|| by.clone(), HumanId::new);
        let Some(person) = people.get(&human) else {
            let mut known: Vec<_> = people.keys().cloned().collect();
            known.sort_unstable();
            return Err(Refusal::NoHuman { name: human.to_string(), known });
        };
        let name = person.name.clone();
        let bridges = self.services();
        if bridges.is_empty() {
            return Err(Refusal::NoService);
        }
        let until = self.now + PAIRING_LASTS;
        self.forget_old_codes();
        self.state.pairings.retain(|open| open.human != human);
        self.state.pairings.truncate(PAIRINGS - 1);
        let pairing =
            Pairing { code: code.clone(), human: human.clone(), until, tries_left: PAIRING_TRIES };
        self.state.pairings.push(pairing);
        self.journal(
            "pairing_opened",
            About { human: Some(human.clone()), ..About::default() },
            json!({}),
        );
        Ok(Reply::Pairing { code, human, name, until, bridges })
    }

    /// Chat services that are switched on and let people in by code.
    fn services(&self) -> Vec<BridgeName> {
        let own: Vec<_> = self.state.rules.chats.iter().map(|chat| &chat.bridge).collect();
        let mut all: Vec<_> =
            self.state.rules.limits.keys().map(|(bridge, _)| bridge.clone()).collect();
        all.sort_unstable();
        all.dedup();
        all.retain(|bridge| !own.contains(&bridge));
        all
    }

    fn forget_old_codes(&mut self) {
        let now = self.now;
        self.state.pairings.retain(|open| open.until > now && open.tries_left > 0);
    }

    /// Takes access back, from a person's id or from a chat.
    pub(super) fn unpair(&mut self, bridge: &str, id: &str) -> Result<Reply, Refusal> {
        let bridge = BridgeName::new(bridge);
        let human = self.state.human_of(&bridge, id);
        if let Some(human) = &human {
            let (from, at) = (id.to_owned(), self.now);
            self.put(Row::Identity(IdentityRow { bridge: bridge.clone(), from, human: None, at }));
            self.journal(
                "access_taken_back",
                About { human: Some(human.clone()), ..About::default() },
                json!({ "bridge": bridge, "from": id }),
            );
            self.look_everywhere_who_reads(&bridge);
        }
        let key = (bridge.clone(), ChatId::new(id));
        let chat = self.state.chats.get(&key).filter(|row| row.state != ChatState::Left).cloned();
        if let Some(row) = &chat {
            self.put(Row::Chat(ChatRow { state: ChatState::Left, ..row.clone() }));
            self.forget_deliveries_to(&bridge, &row.chat);
        }
        match (human, chat) {
            (None, None) => Err(Refusal::NotPaired { bridge: bridge.to_string(), id: id.into() }),
            (Some(human), _) => Ok(Reply::Done {
                words: format!(
                    "{} is no longer heard as {id} on {bridge}.",
                    self.state.name_of(&human)
                ),
            }),
            (None, Some(_)) => Ok(Reply::Done {
                words: format!("Chat {id} on {bridge} hears of nothing any more."),
            }),
        }
    }

    /// Vigie's own words in every chat that hears of sessions.
    pub(super) fn tell_everywhere(&mut self, level: Level, words: &str) {
        if level == Level::Ring {
            self.trouble(&Cause::vigie(), words);
        }
        for chat in self.state.hearing() {
            self.tell_chat(&chat, level, words);
        }
    }

    /// What rings does so where people are.
    pub(super) fn tell_chat(&mut self, chat: &Chat, level: Level, words: &str) {
        let loud = self.level_in(chat, level, &Cause::vigie());
        let rank = if level == Level::Ring { Rank::Gate } else { Rank::Note };
        self.tell_as_loud(chat, loud, words, rank, None);
    }

    /// The same, exactly as loud as it is.
    pub(super) fn tell_as_loud(
        &mut self,
        chat: &Chat,
        level: Level,
        words: &str,
        rank: Rank,
        newest: Option<NewestOf>,
    ) {
        let place = Place { bridge: chat.bridge.clone(), chat: chat.chat.clone(), thread: None };
        let what = crate::delivery::Outgoing::Post {
            post: show::note(level, Rich::plain(words), vec![]),
            reply_to: None,
        };
        self.deliver(super::outbox::Draft {
            to: target_of(&place),
            what,
            rank,
            session: None,
            newest,
            not_before: None,
        });
    }

    /// A person we know wrote: their own chat hears of sessions from now on. `Some` when the place
    /// is none of theirs, so that nothing else is to be done.
    pub(super) fn place_known(&mut self, heard: &Heard, human: &HumanId) -> Option<HeardOutcome> {
        let key = (heard.place.bridge.clone(), heard.place.chat.clone());
        if self.state.rules.chats.iter().any(|chat| chat.bridge == key.0 && chat.chat == key.1) {
            return None;
        }
        if let Some(outcome) = self.typed_code(heard, Some(human)) {
            return Some(outcome);
        }
        match self.state.chats.get(&key).filter(|row| row.state != ChatState::Left).cloned() {
            Some(row) => {
                self.chat_is(&row, heard.room, ChatState::Open);
                None
            }
            None if heard.room.is_direct() => {
                self.was_heard(human, &heard.place, heard.at);
                self.open_chat(&key, heard.room, human, heard.at);
                None
            }
            // A group is read by others: it is opened by a code, never by a message.
            None => {
                if matches!(heard.what, HeardKind::Text { .. }) {
                    self.say_not_connected(&heard.place);
                }
                Some(HeardOutcome::Handled)
            }
        }
    }

    /// What to do with a group that we are in and do not hear; once in a while.
    fn say_not_connected(&mut self, place: &Place) {
        if !self.is_new(&place.bridge, place.chat.as_str(), Tried::Spoke) {
            return;
        }
        let words = format!(
            "This group is not connected to Vigie, so nothing is read here. To connect it, run vigie pair at the desk and send {}pair and the code here.",
            show::command_mark(&place.bridge)
        );
        self.post_to_place(place, None, show::note(Level::Note, Rich::plain(words), vec![]));
        self.told_of(&place.bridge, place.chat.as_str());
    }

    /// Brings a chat's row up to date, and tells it what it missed when it opens again.
    pub(super) fn chat_is(&mut self, row: &ChatRow, room: Room, state: ChatState) {
        // A direct chat becomes a group by a code alone, however many the service says are in it.
        let room = row.room.with_threads_of(room);
        let room = if row.threadless.is_some() { room.without_threads() } else { room };
        let state = if row.is_held() { row.state.clone() } else { state };
        let reopened = state == ChatState::Open && row.state != ChatState::Open;
        if row.room == room && row.state == state {
            return;
        }
        let row = ChatRow { room, state, ..row.clone() };
        self.put(Row::Chat(row.clone()));
        if reopened || row.room.has_threads() {
            self.bring_up_to_date(&row);
        }
        if reopened {
            self.ring_elsewhere();
        }
    }

    /// Its threads are made, and what waits is asked in them.
    fn bring_up_to_date(&mut self, row: &ChatRow) {
        let chat = Chat { bridge: row.bridge.clone(), chat: row.chat.clone(), room: row.room };
        if !self.state.hearing().contains(&chat) {
            return;
        }
        for session in self.state.live().map(|s| s.id).collect::<Vec<_>>() {
            self.show_thread_in(&chat, session);
        }
        self.ask_again_in(&chat);
    }

    fn open_chat(
        &mut self,
        (bridge, chat): &(BridgeName, ChatId),
        room: Room,
        human: &HumanId,
        opened: Timestamp,
    ) {
        let row = ChatRow {
            bridge: bridge.clone(),
            chat: chat.clone(),
            room,
            by: human.clone(),
            state: ChatState::Open,
            threadless: None,
            opened: Some(opened.min(self.now)),
            readers: self.readers_accepted(bridge, chat, room),
        };
        self.put(Row::Chat(row.clone()));
        self.journal(
            "chat_opened",
            About { human: Some(human.clone()), ..About::default() },
            json!({ "bridge": row.bridge, "chat": row.chat, "room": row.room }),
        );
        self.look_who_reads(bridge, chat);
        self.bring_up_to_date(&row);
    }

    /// Whether the message is a code, right or wrong. `None`: it is something else.
    pub(super) fn typed_code(
        &mut self,
        heard: &Heard,
        known: Option<&HumanId>,
    ) -> Option<HeardOutcome> {
        let HeardKind::Text { text, message, origin: TextOrigin::Typed, .. } = &heard.what else {
            return None;
        };
        let typed = Typed::read(text)?;
        self.forget_old_codes();
        if self.state.pairings.is_empty() {
            if !self.answers_codes(heard, typed.asked, known) {
                return None;
            }
            let words = "No code is open. Run vigie pair at the desk for a new one; it is good for ten minutes.";
            self.post_to_place(
                &heard.place,
                None,
                show::note(Level::Note, Rich::plain(words), vec![]),
            );
            return Some(HeardOutcome::Handled);
        }
        let fits = |open: &&Pairing| typed.code.as_ref() == Some(&open.code);
        let Some(open) = self.state.pairings.iter().find(fits).cloned() else {
            return Some(self.wrong_code(heard));
        };
        if let Some(known) = known.filter(|known| **known != open.human) {
            let words = format!(
                "You are {} here, and that code is for somebody else. Nothing changed.",
                self.state.name_of(known)
            );
            self.post_to_place(
                &heard.place,
                None,
                show::note(Level::Note, Rich::plain(words), vec![]),
            );
            return Some(HeardOutcome::Handled);
        }
        self.state.pairings.retain(|other| other.code != open.code);
        let receipt = PromptMessage {
            heard: self.heard_now,
            place: heard.place.clone(),
            id: message.clone(),
            targets: vec![],
        };
        self.mark(&receipt, Mark::Stored { targets: vec![], words: None });
        self.let_in(heard, &open.human);
        Some(HeardOutcome::Handled)
    }

    /// Whether somebody who types a code while none is open hears so: people we know when they ask
    /// in so many words, others a few times a day.
    fn answers_codes(&mut self, heard: &Heard, asked: Asked, known: Option<&HumanId>) -> bool {
        if known.is_some() {
            return asked == Asked::ByCommand;
        }
        self.is_new(&heard.place.bridge, &heard.from, Tried::Spoke);
        let key = (heard.place.bridge.clone(), heard.from.clone());
        let tries = self.state.strangers.get(&key).map(|known| known.tries);
        heard.room.is_direct() && tries.is_some_and(|tries| tries <= CODES_ANSWERED)
    }

    fn wrong_code(&mut self, heard: &Heard) -> HeardOutcome {
        if self.state.human_of(&heard.place.bridge, &heard.from).is_none() {
            // The owners hear of it.
            self.is_new(&heard.place.bridge, &heard.from, Tried::Spoke);
        }
        for open in &mut self.state.pairings {
            open.tries_left = open.tries_left.saturating_sub(1);
        }
        let detail = json!({ "bridge": heard.place.bridge, "from": heard.from });
        self.journal("pairing_code_wrong", About::default(), detail);
        self.forget_old_codes();
        let words = if self.state.pairings.is_empty() {
            "That code is wrong, and after too many wrong ones none is open any more. Run vigie pair at the desk again."
        } else {
            "That code is wrong. The right one stands at the desk, below vigie up or vigie pair."
        };
        self.post_to_place(&heard.place, None, show::note(Level::Note, Rich::plain(words), vec![]));
        HeardOutcome::Handled
    }

    fn let_in(&mut self, heard: &Heard, human: &HumanId) {
        let bridge = heard.place.bridge.clone();
        self.put(Row::Identity(IdentityRow {
            bridge: bridge.clone(),
            from: heard.from.clone(),
            human: Some(human.clone()),
            at: self.now,
        }));
        self.state.strangers.remove(&(bridge.clone(), heard.from.clone()));
        self.look_everywhere_who_reads(&bridge);
        self.journal(
            "paired",
            About { human: Some(human.clone()), ..About::default() },
            json!({ "bridge": bridge, "from": heard.from }),
        );
        self.was_heard(human, &heard.place, heard.at);
        self.welcome(&heard.place, heard.room, human, heard.at);
    }

    /// Somebody we know is in a chat with us and has said nothing yet. A group is opened by a code alone,
    /// which they are told.
    pub(super) fn met(&mut self, bridge: &BridgeName, chat: &ChatId, room: Room, from: &str) {
        let Some(human) = self.state.human_of(bridge, from) else { return };
        let key = (bridge.clone(), chat.clone());
        let ours = |chat: &Chat| chat.bridge == key.0 && chat.chat == key.1;
        if self.state.rules.chats.iter().any(ours) {
            return;
        }
        let row = self.state.chats.get(&key).filter(|row| row.state != ChatState::Left).cloned();
        let place = Place { bridge: key.0, chat: key.1, thread: None };
        match row {
            Some(row) if room.is_direct() => self.chat_is(&row, room, ChatState::Open),
            Some(_) => {}
            None if room.is_direct() => self.welcome(&place, room, &human, self.now),
            None => self.say_not_connected(&place),
        }
    }

    fn welcome(&mut self, place: &Place, room: Room, human: &HumanId, opened: Timestamp) {
        let name = self.state.name_of(human);
        let role = self.state.rules.people.get(human).map_or(Role::Viewer, |person| person.role);
        let mark = show::command_mark(&place.bridge);
        let words = match room {
            Room::Direct => format!(
                "You are {name} here, {}. Write [NAME] text to a session; {mark}new NAME TEXT starts one, {mark}help tells the rest.",
                role_words(role)
            ),
            Room::DirectThreads => format!(
                "You are {name} here, {}. Each session gets a thread: what you write there goes to it. {mark}new NAME TEXT starts one, {mark}help tells the rest.",
                role_words(role)
            ),
            Room::Group => format!(
                "This group is connected. It has no threads, so each message names its session; write [NAME] text to one. You are {name} here, {}.",
                role_words(role)
            ),
            Room::Forum => format!(
                "This group is connected: each session gets a thread, and what you write there goes to it. You are {name} here, {}.",
                role_words(role)
            ),
        };
        let words = if room.is_direct() {
            words + self.come_along(&place.bridge, &place.chat, human)
        } else {
            let accepted = self.words_of_accepted(&place.bridge, &place.chat);
            let service = via_words(&place.bridge);
            format!(
                "{words} From now on what sessions say and ask is heard of here, and no longer in private chats on {service}; to have it there again, take Vigie out of this group.{accepted}"
            )
        };
        self.post_to_place(place, None, show::note(Level::Note, Rich::plain(words), vec![]));
        self.open_chat(&(place.bridge.clone(), place.chat.clone()), room, human, opened);
    }
}

/// A message that may be a code.
struct Typed {
    code: Option<PairingCode>,
    asked: Asked,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// `/pair CODE`, `/start CODE`.
    ByCommand,
    /// The bare code.
    Plainly,
}

impl Typed {
    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match word.to_ascii_lowercase().as_str() {
            "/pair" => Some(Self { code: PairingCode::parse(rest), asked: Asked::ByCommand }),
            // A bare /start is how a chat with a bot begins.
            "/start" if !rest.trim().is_empty() => {
                Some(Self { code: PairingCode::parse(rest), asked: Asked::ByCommand })
            }
            _ => PairingCode::parse(text)
                .map(|code| Self { code: Some(code), asked: Asked::Plainly }),
        }
    }
}

fn role_words(role: Role) -> &'static str {
    match role {
        Role::Owner => "and may do everything",
        Role::Approver => "and may write and answer what waits",
        Role::Talker => "and may write to sessions, not approve",
        Role::Viewer => "and may look",
    }
}

impl State {
    pub(super) fn people(&self) -> People {
        let view = |bridge: &BridgeName, id: &str, since| {
            let human = self.human_of(bridge, id)?;
            let person = self.rules.people.get(&human)?;
            Some(IdentityView {
                bridge: bridge.clone(),
                id: id.into(),
                name: person.name.clone(),
                role: person.role,
                human,
                since,
            })
        };
        let configured =
            self.rules.identities.keys().filter(|key| !self.identities.contains_key(key));
        let mut identities: Vec<_> = configured
            .filter_map(|(bridge, id)| view(bridge, id, None))
            .chain(
                self.identities
                    .values()
                    .filter_map(|row| view(&row.bridge, &row.from, Some(row.at))),
            )
            .collect();
        identities.sort_by(|a, b| (&a.bridge, &a.id).cmp(&(&b.bridge, &b.id)));
        let chats =
            self.chats.values().filter(|row| row.state != ChatState::Left).cloned().collect();
        People { identities, chats }
    }

    pub(super) fn bridge_views(&self) -> Vec<BridgeView> {
        let mut names: Vec<_> =
            self.rules.limits.keys().map(|(bridge, _)| bridge.clone()).collect();
        names.sort_unstable();
        names.dedup();
        let hearing = self.hearing();
        names
            .into_iter()
            .map(|name| {
                let known = self.health.get(&name);
                let mut chats = self.chats.values().filter(|row| row.bridge == name);
                let shut = chats.find_map(|row| match (&row.state, &row.threadless) {
                    (ChatState::Shut { reason, .. }, _) => {
                        Some(format!("chat {}: {reason}", row.chat))
                    }
                    (ChatState::Open, Some(why)) => Some(format!("chat {}: {why}", row.chat)),
                    (ChatState::Open, None) | (ChatState::Left, _) => None,
                });
                BridgeView {
                    heard: known.and_then(|hearing| hearing.health.heard),
                    trouble: known.and_then(|hearing| hearing.health.trouble.clone()).or(shut),
                    chats: hearing.iter().filter(|chat| chat.bridge == name).count(),
                    pending: self.deliveries.values().filter(|d| d.to.bridge == name).count(),
                    name,
                }
            })
            .collect()
    }
}
