//! Where what rings rings: in the chat where each person was heard last, as long as that chat hears.
//! Everywhere else it is said without a sound. What rang where nobody is heard any more rings once
//! elsewhere.

use std::collections::BTreeSet;

use super::{
    Work,
    heard::via_words,
    hush::{Cause, Whom},
    outbox::Draft,
    show,
};
use crate::{
    Timestamp,
    bridge::{Attention, Level, Place, Post},
    delivery::{DeliveryState, NewestOf, Outgoing, Rank, Shown, Target},
    gate::Gate,
    id::{BridgeName, ChatId, GateId, HumanId, SessionId},
    ringing::{Loudness, Rung},
    state::{Chat, ChatState, LastHeardRow, Row, State},
    text::{Rich, Style},
};

/// Lines of what waits in one message; `/waiting` lists the rest.
const LISTED: usize = 12;

pub(super) type Spot = (BridgeName, ChatId);

/// Why something rings that rang already, or came without a sound.
pub(super) enum Why {
    /// Where it rang nobody is heard any more.
    Unheard(Spot),
    /// Nothing could wake whoever it is for, until now.
    Waited,
    /// Nobody answers.
    Still,
}

fn spot(chat: &Chat) -> Spot {
    (chat.bridge.clone(), chat.chat.clone())
}

fn spot_of(to: &Target) -> Spot {
    (to.bridge.clone(), to.chat.clone())
}

impl State {
    /// Whether it wakes a person who is not looking.
    fn wakes(&self, (bridge, chat): &Spot) -> bool {
        match self.limits_of(bridge, chat).attention {
            Attention::Pushed => true,
            Attention::WhileOpen => false,
        }
    }

    /// Whether it takes what is said, and hears what is answered.
    pub(super) fn is_fine(&self, at: &Spot) -> bool {
        let takes = self.chats.get(at).is_none_or(|row| match row.state {
            ChatState::Open => true,
            ChatState::Shut { .. } | ChatState::Left => false,
        });
        takes && !self.is_deaf(&at.0)
    }

    fn is_deaf(&self, bridge: &BridgeName) -> bool {
        self.health.get(bridge).is_some_and(|hearing| hearing.deaf.is_some())
    }

    /// Chats that hear of sessions and can wake somebody.
    fn waking(&self) -> Vec<Spot> {
        let all = self.hearing().iter().map(spot).collect::<Vec<_>>();
        all.into_iter().filter(|at| self.wakes(at)).collect()
    }

    fn is_on(&self, human: &HumanId, bridge: &BridgeName) -> bool {
        let here = |key: &&(BridgeName, String)| key.0 == *bridge;
        let mut ids = self.identities.keys().chain(self.rules.identities.keys()).filter(here);
        ids.any(|(bridge, from)| self.human_of(bridge, from).as_ref() == Some(human))
    }

    /// Every chat that can wake a person, the likeliest first.
    pub(super) fn waking_chats_of(&self, human: &HumanId) -> Vec<Spot> {
        let Whereabouts { heard, own } = self.whereabouts(human);
        heard.into_iter().chain(own).collect()
    }

    /// Where a person can be woken. Where a group hears of sessions in place of people's own chats, it
    /// is the group.
    fn whereabouts(&self, human: &HumanId) -> Whereabouts {
        let mut heard: Vec<(Timestamp, Spot)> = self
            .last_heard
            .iter()
            .filter(|((who, bridge, _), _)| who == human && self.is_on(human, bridge))
            .map(|((_, bridge, chat), at)| (*at, (bridge.clone(), chat.clone())))
            .collect();
        heard.sort_by(|a, b| b.cmp(a));
        let own = self.chats.values().filter(|row| row.by == *human);
        let own = own.map(|row| (row.bridge.clone(), row.chat.clone()));
        let waking = self.waking();
        let woken_in = |at: Spot| -> Vec<Spot> {
            let instead = |other: &&Spot| other.0 == at.0 && self.is_group(other);
            if waking.contains(&at) {
                vec![at]
            } else {
                waking.iter().filter(instead).cloned().collect()
            }
        };
        Whereabouts {
            heard: heard.into_iter().flat_map(|(_, at)| woken_in(at)).collect(),
            own: own.flat_map(woken_in).collect(),
        }
    }

    fn is_group(&self, (bridge, chat): &Spot) -> bool {
        self.chat_of(bridge, chat).is_some_and(|chat| !chat.room.is_direct())
    }
}

/// Where somebody may be.
struct Whereabouts {
    /// Where they were heard, the last first.
    heard: Vec<Spot>,
    /// Chats they opened, whether or not they said anything there lately.
    own: Vec<Spot>,
}

/// Whom a ring reaches.
#[derive(Default)]
struct Reach {
    /// The best chat of each whom nothing reaches yet.
    missing: BTreeSet<Spot>,
    /// Somebody is in chats that are not heard, and in no other.
    lost: bool,
    /// Nobody is known to be anywhere.
    nobody: bool,
}

/// How a card that is to ring comes where it does.
#[derive(PartialEq, Eq)]
enum Comes {
    Loud,
    /// It is there already, or others wait as well: words ring for it.
    Silent,
}

impl Work<'_> {
    /// Remembers where a person is.
    pub(super) fn was_heard(&mut self, human: &HumanId, place: &Place, at: Timestamp) {
        let here = (place.bridge.clone(), place.chat.clone());
        if !self.state.wakes(&here) {
            return;
        }
        let (bridge, chat) = here;
        let key = (human.clone(), bridge.clone(), chat.clone());
        let at = at.min(self.now); // a clock that is ahead must not bind them there
        if self.state.last_heard.get(&key).is_none_or(|last| *last < at) {
            self.put(Row::LastHeard(LastHeardRow { human: human.clone(), bridge, chat, at }));
        }
    }

    /// Its chat goes by another id.
    pub(super) fn last_heard_moved(&mut self, bridge: &BridgeName, from: &ChatId, to: &ChatId) {
        let here = |(_, b, c): &&(HumanId, BridgeName, ChatId)| b == bridge && c == from;
        let people: Vec<_> = self.state.last_heard.keys().filter(here).cloned().collect();
        for key in people {
            let Some(at) = self.state.last_heard.get(&key).copied() else { continue };
            let (human, bridge, _) = key;
            self.put(Row::LastHeard(LastHeardRow { human, bridge, chat: to.clone(), at }));
        }
    }

    /// How loud it is in that chat.
    pub(super) fn level_in(&self, chat: &Chat, level: Level, cause: &Cause) -> Level {
        match level {
            Level::Ring
                if self.loudness(cause.kind) == Loudness::Ring
                    && self.rings_in(&spot(chat), &self.woken_by(cause)) =>
            {
                self.unless_it_just_rang(chat, Level::Ring)
            }
            Level::Ring => Level::Note,
            Level::Note | Level::Log => level,
        }
    }

    /// News that come right after something rang come without a sound of their own.
    fn unless_it_just_rang(&self, chat: &Chat, level: Level) -> Level {
        let of = self.state.rang_at.get(&spot(chat));
        self.bundled(level, of.and_then(|rang| rang.anything))
    }

    /// What asks somebody does so only after something that asks as well: whoever heard a failure need
    /// not look at once.
    pub(super) fn unless_a_card_just_rang(&self, chat: &Chat, level: Level) -> Level {
        let of = self.state.rang_at.get(&spot(chat));
        self.bundled(level, of.and_then(|rang| rang.asking))
    }

    fn bundled(&self, level: Level, last: Option<Timestamp>) -> Level {
        let bundle = self.state.rules.ringing.bundle;
        let just_rang = last.is_some_and(|at| self.now - at < bundle);
        if just_rang { level.min(Level::Note) } else { level }
    }

    /// A card that was to ring there is answered before it was sent: the next that came with it and
    /// still waits rings in its place.
    pub(super) fn rings_in_its_place(&mut self, at: &Spot) {
        for gate in self.open_gates_by_age() {
            let shown = if gate.rang.contains(at) { self.card_in(&gate, at) } else { None };
            if shown.is_some_and(|shown| self.set_level(&shown, Level::Ring)) {
                return;
            }
        }
    }

    /// For these people. A page that is only heard while it is open rings for whomever, and stands for
    /// no other chat.
    fn rings_in(&self, at: &Spot, whom: &Whom) -> bool {
        if whom.people.is_empty() {
            return false;
        }
        let fine = self.fine_and_waking();
        if !self.state.wakes(at) || fine.is_empty() {
            return true; // nothing is heard: it rings wherever it comes through first
        }
        let reach = self.reach(&whom.people, &[]);
        if reach.lost || reach.nobody {
            return reach.missing.contains(at) || self.anywhere(fine, whom).contains(at);
        }
        reach.missing.contains(at)
    }

    /// Where people may be of whom nobody knows better: not in chats of those who sleep.
    fn anywhere(&self, mut fine: Vec<Spot>, whom: &Whom) -> Vec<Spot> {
        let of = |people: &[HumanId]| -> Vec<Spot> {
            people.iter().flat_map(|human| self.state.waking_chats_of(human)).collect()
        };
        let (asleep, awake) = (of(&whom.asleep), of(&whom.people));
        fine.retain(|at| !asleep.contains(at) || awake.contains(at));
        fine
    }

    fn fine_and_waking(&self) -> Vec<Spot> {
        self.state.waking().into_iter().filter(|at| self.state.is_fine(at)).collect()
    }

    /// Where something rings for these people; where no chat can wake anybody, wherever they may look.
    pub(super) fn where_they_are(&self, whom: &Whom) -> BTreeSet<Spot> {
        let fine = self.fine_and_waking();
        if fine.is_empty() {
            return self.state.hearing().iter().map(spot).collect();
        }
        let Reach { mut missing, lost, nobody } = self.reach(&whom.people, &[]);
        if lost || nobody {
            missing.extend(self.anywhere(fine, whom));
        }
        missing
    }

    /// Who of them is not reached by what rings in these chats.
    fn reach(&self, people: &[HumanId], rings: &[Spot]) -> Reach {
        let mut reach = Reach { nobody: true, ..Reach::default() };
        for human in people {
            let Whereabouts { heard, own } = self.state.whereabouts(human);
            let nowhere = heard.is_empty() && own.is_empty();
            reach.nobody &= nowhere;
            let fine = |at: &&Spot| self.state.is_fine(at);
            let (last, own) = (heard.iter().find(fine), own.iter().filter(fine));
            if heard.iter().filter(fine).chain(own.clone()).any(|at| rings.contains(at)) {
                continue;
            }
            // Whoever was heard nowhere yet is in any that they opened.
            let missing: Vec<_> = last.map_or_else(|| own.collect(), |last| vec![last]);
            reach.lost |= missing.is_empty() && !nowhere;
            reach.missing.extend(missing.into_iter().cloned());
        }
        reach
    }

    /// How loud the card of a gate is that is said in that chat, or said there anew.
    pub(super) fn level_of_card(&self, gate: &Gate, chat: &Chat) -> Level {
        let here = spot(chat);
        let elsewhere = gate.rang.iter().any(|at| *at != here && self.state.is_fine(at));
        if elsewhere && self.state.wakes(&here) {
            return Level::Note;
        }
        if self.rings_in(&here, &self.called_now(gate)) { Level::Ring } else { Level::Note }
    }

    /// Its card rings there.
    pub(super) fn card_rings(&self, gate: &mut Gate, chat: &Chat) {
        self.rings_there(gate, &spot(chat));
    }

    pub(super) fn rings_there(&self, gate: &mut Gate, at: &Spot) {
        if self.state.wakes(at) && !gate.rang.contains(at) {
            gate.rang.push(at.clone());
        }
    }

    /// Whether something that waits rings in that chat.
    pub(super) fn rings_still(&self, to: &Target) -> bool {
        let here = spot_of(to);
        // A page wakes nobody, so what rings there is not remembered.
        let rang = |gate: &Gate| gate.rang.contains(&here) || !self.state.wakes(&here);
        self.state.open_gates().any(rang)
    }

    /// What became of services and chats may have left open cards where nobody hears them. Each such
    /// rings once where it is heard. Returns the chats in which it does.
    pub(super) fn ring_elsewhere(&mut self) -> Vec<Spot> {
        let fine = self.fine_and_waking();
        if fine.is_empty() {
            return Vec::new();
        }
        let open = self.open_gates_by_age();
        let mut anew: Vec<(Spot, GateId, Spot)> = Vec::new();
        for mut gate in open {
            let rang = self.rang(&gate);
            let Some(lost) = rang.iter().find(|at| !self.state.is_fine(at)).cloned() else {
                continue;
            };
            let whom = self.called_now(&gate);
            let reach = self.reach(&whom.people, &rang);
            let mut missing = reach.missing;
            let nowhere = !whom.people.is_empty() && (reach.lost || reach.nobody);
            if nowhere && !fine.iter().any(|at| rang.contains(at)) {
                missing.extend(self.anywhere(fine.clone(), &whom));
            }
            gate.rang = rang;
            self.hush(&mut gate);
            gate.rang.extend(missing.iter().cloned());
            anew.extend(missing.into_iter().map(|at| (at, gate.id, lost.clone())));
            self.put(Row::Gate(gate));
        }
        self.drop_rings_unheard();
        let mut chats: Vec<Spot> = anew.iter().map(|(at, ..)| at.clone()).collect();
        chats.sort();
        chats.dedup();
        for at in &chats {
            let here = anew.iter().filter(|(there, ..)| there == at);
            let gates: Vec<_> = here.clone().map(|(_, gate, _)| *gate).collect();
            if let Some((.., lost)) = here.clone().next() {
                self.ring_there(at, &gates, &Why::Unheard(lost.clone()));
            }
        }
        chats
    }

    /// Where a gate rang. One of an older Vigie rang wherever its card went.
    fn rang(&self, gate: &Gate) -> Vec<Spot> {
        if !gate.rang.is_empty() || gate.rung != Rung::default() {
            return gate.rang.clone();
        }
        let cards = gate.cards.iter().map(|shown| spot_of(&shown.to));
        cards.filter(|at| self.state.wakes(at)).collect()
    }

    /// What still waits for a chat that is not heard comes without a sound, since it rings elsewhere.
    fn hush(&mut self, gate: &mut Gate) {
        for shown in gate.cards.clone() {
            let at = spot_of(&shown.to);
            if self.state.is_fine(&at) || !self.set_level(&shown, Level::Note) {
                continue;
            }
            gate.rang.retain(|rang| *rang != at);
        }
    }

    /// `false`: the card is no longer where it can be changed.
    fn set_level(&mut self, shown: &Shown, level: Level) -> bool {
        let waiting = self.state.deliveries.values().find(|d| d.id == shown.delivery).cloned();
        let Some(mut waiting) = waiting else { return false };
        let surely = match waiting.state {
            DeliveryState::Due { tries, .. } => tries.doubtful == 0,
            // It is on its way as loud as it was; should it not arrive, the next try is silent.
            DeliveryState::InFlight { .. } if level == Level::Note => false,
            DeliveryState::InFlight { .. }
            | DeliveryState::Sent { .. }
            | DeliveryState::Missed { .. }
            | DeliveryState::Failed { .. }
            | DeliveryState::Replaced => return false,
        };
        let Outgoing::Post { post, .. } = &mut waiting.what else { return false };
        post.level = level;
        self.put(Row::Delivery(waiting));
        surely
    }

    /// Words that were to ring where nobody hears them either: it rings elsewhere by now.
    fn drop_rings_unheard(&mut self) {
        let unheard = |d: &&crate::delivery::Delivery| {
            d.newest == Some(NewestOf::Rings)
                && matches!(d.state, DeliveryState::Due { .. })
                && !self.state.is_fine(&spot_of(&d.to))
        };
        let dropped: Vec<_> = self.state.deliveries.values().filter(unheard).cloned().collect();
        for mut delivery in dropped {
            let at = spot_of(&delivery.to);
            delivery.state = DeliveryState::Replaced;
            self.put(Row::Delivery(delivery));
            let rang = |gate: &&Gate| gate.rang.contains(&at);
            for mut gate in self.state.open_gates().filter(rang).cloned().collect::<Vec<_>>() {
                gate.rang.retain(|rang| *rang != at);
                self.put(Row::Gate(gate));
            }
        }
    }

    /// One message names what waits there; a single card that is not there yet rings itself.
    pub(super) fn ring_there(&mut self, at: &Spot, gates: &[GateId], why: &Why) {
        let Some(chat) = self.state.chat_of(&at.0, &at.1) else { return };
        // A page that wakes nobody stands in no list of chats where something rang.
        let rings = |gate: &&Gate| gate.rang.contains(at) || gates.contains(&gate.id);
        let mut all: Vec<_> =
            self.state.open_gates().filter(rings).map(|g| (g.opened, g.id)).collect();
        all.sort_unstable();
        let alone = all.len() == 1;
        for gate in gates {
            if self.card_comes(*gate, &chat, alone) == Comes::Loud {
                return;
            }
        }
        let all: Vec<_> = all.into_iter().map(|(_, id)| id).collect();
        self.say_what_waits(&chat, &all, why);
    }

    /// Sees to it that the card is there, or will be; `alone`, it may be what rings.
    fn card_comes(&mut self, gate: GateId, chat: &Chat, alone: bool) -> Comes {
        let Some(mut gate) = self.state.gates.get(&gate).cloned() else { return Comes::Silent };
        let comes = if alone { Comes::Loud } else { Comes::Silent };
        if let Some(shown) = self.card_in(&gate, &spot(chat)) {
            let loud = alone && self.set_level(&shown, Level::Ring);
            return if loud { comes } else { Comes::Silent };
        }
        let level = if alone { Level::Ring } else { Level::Note };
        let card = self.post_card(&gate, chat, level);
        gate.cards.push(card);
        self.put(Row::Gate(gate));
        comes
    }

    /// Its newest card there, sent or about to be.
    fn card_in(&self, gate: &Gate, at: &Spot) -> Option<Shown> {
        let there = |shown: &&Shown| {
            let waits = || self.state.deliveries.values().any(|d| d.id == shown.delivery);
            spot_of(&shown.to) == *at
                && (self.state.messages.contains_key(&shown.delivery) || waits())
        };
        gate.cards.iter().rev().find(there).cloned()
    }

    fn say_what_waits(&mut self, chat: &Chat, all: &[GateId], why: &Why) {
        let mut text = Rich::plain(self.why_words(why, all.len()));
        self.push_waiting(&mut text, all);
        let post = show::note(Level::Ring, text, vec![]);
        match all {
            [one] => self.ring_about_card(chat, *one, post),
            _ => self.ring_with(show::main_of(chat), post, None, None),
        }
    }

    fn why_words(&self, why: &Why, number: usize) -> String {
        let what = if number == 1 { "this waits" } else { "these wait" };
        match why {
            Why::Unheard((lost, shut)) => {
                let service = via_words(lost);
                let why = if self.state.is_deaf(lost) {
                    format!("{service} is not heard")
                } else {
                    format!("{service} lets nothing into chat {shut}")
                };
                format!("{why}, so {what} for you here:")
            }
            Why::Waited if number == 1 => "This waits for you:".into(),
            Why::Waited => "These wait for you:".into(),
            Why::Still if number == 1 => "This still waits for you:".into(),
            Why::Still => "These still wait for you:".into(),
        }
    }

    /// A line each, with its code and how long it waits.
    pub(super) fn push_waiting(&self, text: &mut Rich, all: &[GateId]) {
        for gate in all.iter().take(LISTED).filter_map(|id| self.state.gates.get(id)) {
            text.push("\n", None);
            text.push(gate.code.as_str(), Some(Style::Code));
            let age = show::span(gate.opened, self.now);
            let line = format!("  {} {}, {age}", self.waits_name(gate), gate.shown.title);
            text.push(&line, None);
        }
        if all.len() > LISTED {
            text.push(&format!("\n{} more: /waiting", all.len() - LISTED), None);
        }
    }

    /// In reply to the card, so that an answer to either means the same.
    fn ring_about_card(&mut self, chat: &Chat, gate: GateId, post: Post) {
        let Some(gate) = self.state.gates.get(&gate).cloned() else { return };
        let shown = self.card_in(&gate, &spot(chat));
        let message = shown.as_ref().and_then(|s| self.state.messages.get(&s.delivery)).cloned();
        let to = shown.map_or_else(|| show::main_of(chat), |shown| shown.to);
        self.ring_with(to, post, message, gate.session());
    }

    fn ring_with(
        &mut self,
        to: Target,
        post: Post,
        reply_to: Option<crate::id::MessageId>,
        session: Option<SessionId>,
    ) {
        let (rank, newest) = (Rank::Gate, Some(NewestOf::Rings));
        let what = Outgoing::Post { post, reply_to };
        self.deliver(Draft { to, what, rank, session, newest, not_before: None });
    }
}
