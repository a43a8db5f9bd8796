//! What was heard about a message of ours that may have arrived or not: it is handed back until that
//! is known, and not for ever.

use chrono::TimeDelta;
use std::collections::HashMap;
use vigie_core::{
    Timestamp,
    bridge::{Heard, HeardKind},
    id::BridgeName,
    state::{Facts, Sending},
};

/// What is in doubt is said again within seconds, unless its service takes nothing.
const IN_DOUBT: TimeDelta = TimeDelta::minutes(1);

/// What does not come again is forgotten after that.
const FORGOTTEN: TimeDelta = TimeDelta::minutes(10);

/// Since when something is handed back, by its bridge and key.
#[derive(Debug, Default)]
pub(super) struct Held(HashMap<(BridgeName, String), Timestamp>);

impl Held {
    /// Whether it must come again: an answer can be quicker than the news that its question arrived.
    pub(super) fn waits(
        &mut self,
        sending: Option<Sending>,
        heard: &Heard,
        facts: &Facts,
        now: Timestamp,
    ) -> bool {
        let key = (heard.place.bridge.clone(), heard.key.clone());
        let sending = sending.filter(|_| facts.unknown && !facts.known);
        let waits = match sending {
            None => false,
            Some(Sending::Now) => true,
            // A tap names its request itself, and whoever tapped waits for a word within seconds.
            Some(Sending::InDoubt) if names_its_request(&heard.what) => false,
            Some(Sending::InDoubt) => {
                self.0.retain(|_, since| now - *since < FORGOTTEN);
                now - *self.0.entry(key.clone()).or_insert(now) < IN_DOUBT
            }
        };
        if !waits {
            self.0.remove(&key);
        }
        waits
    }
}

fn names_its_request(what: &HeardKind) -> bool {
    matches!(what, HeardKind::Tap { .. } | HeardKind::Reaction { means: Some(_), .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vigie_core::{
        bridge::{Action, Place, Room},
        id::{ChatId, MessageId},
    };

    const UNKNOWN: Facts = Facts {
        session: None,
        gate: None,
        known: false,
        heard: None,
        unknown: true,
        refused: Vec::new(),
    };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_796_000_000 + seconds, 0).unwrap()
    }

    fn tap() -> Heard {
        let (bridge, chat) = (BridgeName::new("matrix"), ChatId::new("!room"));
        let message = MessageId::new("$card");
        Heard {
            key: "r:$tap".into(),
            from: "@ines:example.org".into(),
            place: Place { bridge, chat, thread: None },
            room: Room::Direct,
            at: at(0),
            what: HeardKind::Reaction { message, emoji: "👍".into(), means: None },
        }
    }

    #[test]
    fn what_is_about_something_on_its_way_waits_for_it() {
        let waits = |sending, facts: &Facts| Held::default().waits(sending, &tap(), facts, at(0));
        assert!(waits(Some(Sending::Now), &UNKNOWN));
        assert!(waits(Some(Sending::InDoubt), &UNKNOWN));
        assert!(!waits(None, &UNKNOWN));
        assert!(!waits(Some(Sending::Now), &Facts { unknown: false, ..UNKNOWN }));
        assert!(!waits(Some(Sending::Now), &Facts { known: true, ..UNKNOWN }));
    }

    #[test]
    fn a_tap_says_itself_what_it_is_about() {
        let (message, action) = (MessageId::new("$card"), Action::InterruptAll);
        let (emoji, means) = ("⏹".into(), Some(action.clone()));
        let put = HeardKind::Reaction { message: message.clone(), emoji, means };
        let put = Heard { what: put, ..tap() };
        assert!(!Held::default().waits(Some(Sending::InDoubt), &put, &UNKNOWN, at(0)));
        let tap = Heard { what: HeardKind::Tap { message, action }, ..tap() };
        assert!(!Held::default().waits(Some(Sending::InDoubt), &tap, &UNKNOWN, at(0)));
        assert!(Held::default().waits(Some(Sending::Now), &tap, &UNKNOWN, at(0)));
    }

    #[test]
    fn it_waits_a_minute_for_what_is_in_doubt() {
        let mut held = Held::default();
        let mut waits = |seconds| held.waits(Some(Sending::InDoubt), &tap(), &UNKNOWN, at(seconds));
        assert_eq!([0, 30, 59, 60].map(&mut waits), [true, true, true, false]);
    }
}
