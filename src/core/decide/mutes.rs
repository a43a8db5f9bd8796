//! What makes no sound for a person for a while, because they said so: `/mute`, `/unmute`.

use chrono::TimeDelta;

use super::{Work, ring::Spot, show};
use crate::{
    Timestamp,
    bridge::Level,
    command::Refusal,
    delivery::Rank,
    id::HumanId,
    ringing::{Happened, Loudness, MuteRow, Muted, span},
    state::{Row, State},
    text::Rich,
};

/// Where nobody says for how long.
const USUAL: TimeDelta = TimeDelta::hours(2);

/// When the next mute is over.
pub(super) fn next_end(state: &State) -> Option<Timestamp> {
    state.mutes.values().filter_map(|row| row.until).min()
}

impl Work<'_> {
    /// `[NAME or all] [2h]`, as a person writes it; `here`: what is meant where no name is given.
    /// Without either it says what is muted.
    pub(super) fn mute_as_written(
        &mut self,
        human: &HumanId,
        arguments: &str,
        here: Option<Muted>,
    ) -> Result<String, Refusal> {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        let (what, time) = match words.as_slice() {
            [] => return Ok(self.mutes_of(human)),
            [one] => match (span(one), here) {
                (Some(time), Some(here)) => (here, time),
                (Some(_), None) => {
                    return Err(bad("Which session? Name it before the time: PD-285 2h."));
                }
                (None, _) => (self.muted_named(one)?, USUAL),
            },
            [name, time] => {
                let why = "Write for how long as 30m, 2h or 1d, at most 7d.";
                (self.muted_named(name)?, span(time).ok_or_else(|| bad(why))?)
            }
            [..] => return Err(bad("Write a session and for how long: PD-285 2h.")),
        };
        Ok(self.mute(human, what, time))
    }

    fn mute(&mut self, human: &HumanId, what: Muted, time: TimeDelta) -> String {
        let until = self.now + time;
        let row = MuteRow { human: human.clone(), what, since: Some(self.now), until: Some(until) };
        self.put(Row::Mute(row));
        let clock = self.clock_of(human, until);
        let name = self.muted_name(what);
        format!(
            "{name} makes no sound for you until {clock}. What waits still comes, silently, and rings then if it still waits. /unmute {} ends it.",
            self.muted_word(what)
        )
    }

    /// `/unmute NAME` or `all`.
    pub(super) fn unmute(
        &mut self,
        human: &HumanId,
        name: &str,
        here: Option<Muted>,
    ) -> Result<String, Refusal> {
        let what = match (name.trim(), here) {
            ("", Some(here)) => here,
            ("", None) => return Err(bad("Which session? Write its name, or all.")),
            (name, _) => self.muted_named(name)?,
        };
        let Some(row) = self.state.mutes.get(&(human.clone(), what)).cloned() else {
            return Ok(format!("{} was not muted.", self.muted_name(what)));
        };
        let mut words = Rich::plain(format!("{} is heard again.", self.muted_name(what)));
        self.push_what_was_muted(&mut words, &row);
        self.put(Row::Mute(MuteRow { until: None, ..row }));
        Ok(words.text)
    }

    fn mutes_of(&self, human: &HumanId) -> String {
        let of_them = self.state.mutes.values().filter(|row| row.human == *human);
        let line = |row: &MuteRow| {
            let until = row.until.map(|until| self.clock_of(human, until)).unwrap_or_default();
            format!("{} until {until}", self.muted_name(row.what))
        };
        let lines: Vec<_> = of_them.map(line).collect();
        if lines.is_empty() {
            "Nothing is muted. /mute NAME 2h keeps a session from ringing, /mute all 1h all of them; 7d at most."
                .into()
        } else {
            format!("Muted for you:\n{}", lines.join("\n"))
        }
    }

    fn muted_named(&self, name: &str) -> Result<Muted, Refusal> {
        let name = name.trim_matches(['[', ']']);
        if name.eq_ignore_ascii_case("all") {
            return Ok(Muted::All);
        }
        Ok(Muted::Session { session: self.named(name)? })
    }

    fn muted_word(&self, what: Muted) -> String {
        match what {
            Muted::All => "all".into(),
            Muted::Session { session } => self.session_name(session),
        }
    }

    fn muted_name(&self, what: Muted) -> String {
        match what {
            Muted::All => "Everything".into(),
            Muted::Session { .. } => self.muted_word(what),
        }
    }

    /// As that person reads a clock.
    pub(super) fn clock_of(&self, human: &HumanId, at: Timestamp) -> String {
        match self.state.rules.ringing.people.get(human) {
            Some(hours) => hours.clock(at),
            None => at.format("%a %H:%M UTC").to_string(),
        }
    }

    /// Says so where the person is; what waited for it rings right after.
    pub(super) fn end_mutes(&mut self) {
        let over = |row: &&MuteRow| row.until.is_some_and(|until| until <= self.now);
        let over: Vec<_> = self.state.mutes.values().filter(over).cloned().collect();
        for row in over {
            let name = self.muted_name(row.what);
            let mut words = Rich::plain(format!("{name} is no longer muted for you."));
            self.push_what_was_muted(&mut words, &row);
            let human = row.human.clone();
            self.put(Row::Mute(MuteRow { until: None, ..row }));
            self.tell_person(&human, words);
        }
    }

    /// What came without a sound and waits for nobody, so that nothing rings for it now.
    fn push_what_was_muted(&self, words: &mut Rich, row: &MuteRow) {
        let Some(since) = row.since else { return };
        let (name, all) = (self.muted_word(row.what), row.what == Muted::All);
        let loud = |event: &Happened| {
            (all || event.who == name) && self.loudness(event.kind) == Loudness::Ring
        };
        self.push_all_that_happened(words, since, &loud);
    }

    /// Says it without a sound, in the one chat where that person is most likely.
    fn tell_person(&mut self, human: &HumanId, words: Rich) {
        let Some((bridge, chat)) = self.likeliest_chat_of(human) else { return };
        let Some(chat) = self.state.chat_of(&bridge, &chat) else { return };
        self.post_as_loud(&chat, None, show::note(Level::Note, words, vec![]), Rank::Note);
    }

    /// Where they were heard last, as long as that is heard; without any, wherever they may look.
    pub(super) fn likeliest_chat_of(&self, human: &HumanId) -> Option<Spot> {
        let all = self.state.waking_chats_of(human);
        let fine = all.iter().find(|at| self.state.is_fine(at)).or_else(|| all.first());
        let anywhere = || {
            let hearing = self.state.hearing();
            hearing.first().map(|chat| (chat.bridge.clone(), chat.chat.clone()))
        };
        fine.cloned().or_else(anywhere)
    }
}

fn bad(words: &str) -> Refusal {
    Refusal::BadName(words.into())
}
