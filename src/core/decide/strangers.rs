//! People nobody knows: counted, answered at most once a day, told of to the owners; nothing of theirs is
//! kept.

use chrono::TimeDelta;
use serde_json::json;

use super::{About, Work, show};
use crate::{
    Timestamp,
    bridge::{Heard, HeardKind, Level},
    id::BridgeName,
    state::{HeardOutcome, State, Stranger, Strangers, Tried},
    text::{self, Rich},
};

/// A stranger is answered, and the owners hear of them, once in that time.
const STRANGER_FORGOTTEN: TimeDelta = TimeDelta::days(1);

/// What a stranger does right after the first try belongs to the same note.
const STRANGER_NOTE_AFTER: TimeDelta = TimeDelta::minutes(5);

/// Strangers counted apart. More at a time is an attack, of which one note says enough.
const STRANGERS: usize = 20;

/// When the next note about a stranger is due.
pub(super) fn next_note(state: &State) -> Option<Timestamp> {
    let untold = state.strangers.values().filter(|stranger| !stranger.told);
    untold.map(|stranger| stranger.since + STRANGER_NOTE_AFTER).min()
}

impl Work<'_> {
    /// Somebody nobody knows. Nothing of it is kept but a code that fits.
    pub(super) fn stranger(&mut self, heard: &Heard) -> HeardOutcome {
        if let Some(outcome) = self.typed_code(heard, None) {
            return outcome;
        }
        let detail = json!({ "bridge": heard.place.bridge, "from": heard.from });
        if self.is_new(&heard.place.bridge, &heard.from, Tried::Spoke) {
            self.journal("stranger_refused", About::default(), detail);
        }
        self.answer_stranger(heard);
        HeardOutcome::Stranger
    }

    /// Counts a try; `true` for the first in a long while.
    pub(super) fn is_new(&mut self, bridge: &BridgeName, from: &str, tried: Tried) -> bool {
        let now = self.now;
        self.state.strangers.retain(|_, known| now - known.since < STRANGER_FORGOTTEN);
        let key = (bridge.clone(), from.to_owned());
        if let Some(known) = self.state.strangers.get_mut(&key) {
            known.tries = known.tries.saturating_add(1);
            return false;
        }
        if self.state.strangers.len() >= STRANGERS {
            return false;
        }
        self.state
            .strangers
            .insert(key, Stranger { tried, tries: 1, since: now, told: false, answered: false });
        true
    }

    fn answer_stranger(&mut self, heard: &Heard) {
        let key = (heard.place.bridge.clone(), heard.from.clone());
        let Some(known) = self.state.strangers.get_mut(&key) else { return };
        let wrote = matches!(heard.what, HeardKind::Text { .. }) && heard.room.is_direct();
        if self.state.rules.strangers == Strangers::Ignored || !wrote || known.answered {
            return;
        }
        known.answered = true;
        let words = "This is somebody's own assistant, and it does not know you. If it is yours, \
            run vigie pair at the desk and send the code here.";
        let post = show::note(Level::Note, Rich::plain(words), vec![]);
        self.post_to_place(&heard.place, None, post);
    }

    /// Tells the owners, once, of each stranger lately.
    pub(super) fn tell_of_strangers(&mut self) {
        let now = self.now;
        let due =
            self.state.strangers.iter_mut().filter(|(_, stranger)| {
                !stranger.told && stranger.since + STRANGER_NOTE_AFTER <= now
            });
        let mut notes = Vec::new();
        for ((bridge, from), stranger) in due {
            stranger.told = true;
            let times = if stranger.tries == 1 {
                "once".into()
            } else {
                format!("{} times", stranger.tries)
            };
            notes.push(note_of_stranger(bridge, from, stranger.tried, &times));
        }
        for words in notes {
            self.tell_everywhere(Level::Note, &words);
        }
    }

    pub(super) fn told_of(&mut self, bridge: &BridgeName, from: &str) {
        if let Some(known) = self.state.strangers.get_mut(&(bridge.clone(), from.to_owned())) {
            known.told = true;
        }
    }

    /// Somebody nobody knows wants to have us in a chat; we did not go. The owners hear of it.
    pub(super) fn knocked(&mut self, bridge: &BridgeName, from: &str) {
        if self.is_new(bridge, from, Tried::Knocked) {
            let detail = json!({ "bridge": bridge, "from": from });
            self.journal("stranger_refused", About::default(), detail);
        }
    }
}

/// What the owners hear of a stranger, with what to do about it.
fn note_of_stranger(bridge: &BridgeName, from: &str, tried: Tried, times: &str) -> String {
    let from = text::reveal(from).text.text;
    match tried {
        Tried::Spoke => format!(
            "{from} on {bridge} is nobody you know and tried to reach Vigie, {times}. Nothing of it was read."
        ),
        Tried::Knocked => format!(
            "{from} on {bridge} is nobody you know and wants to have Vigie in a chat, {times}. It did not go there. To let them in, add {bridge} = \"{from}\" under their [[human]] in the configuration; vigie down and vigie up then read it."
        ),
    }
}
