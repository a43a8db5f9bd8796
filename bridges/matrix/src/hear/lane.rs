//! What waits to be handed in, in the order of one person in one place. No clock and no disk in here.

use chrono::{DateTime, TimeDelta};
use std::collections::VecDeque;
use vigie_core::Timestamp;

use super::read::Told;
use crate::store::heard::Waiting;

/// How long what a person wrote later waits for something of theirs that cannot be read yet.
const FOR_A_KEY: TimeDelta = TimeDelta::seconds(10);

/// One row and what it means.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) row: Waiting,
    pub(super) work: Work,
    /// It answers something of ours of which it is not known yet what it became; so long it waits.
    pub(super) held: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub(super) enum Work {
    Told(Told),
    /// Nothing can be made of it.
    Unread(String),
}

impl Item {
    /// Fetching a file takes its time.
    pub(super) fn has_file(&self) -> bool {
        matches!(&self.work, Work::Told(Told::Said(piece)) if piece.file.is_some())
    }

    fn is_command(&self) -> bool {
        matches!(&self.work, Work::Told(Told::Said(piece)) if piece.is_command())
    }

    /// The message that it answers.
    pub(super) fn answers(&self) -> Option<&str> {
        match &self.work {
            Work::Told(told) => told.answers(),
            Work::Unread(_) => None,
        }
    }

    fn waits_until(&self) -> Option<Timestamp> {
        if self.held.is_some() {
            return self.held;
        }
        let sealed = matches!(self.work, Work::Told(Told::Sealed));
        let hindrance = self.row.opened.hindrance;
        let received = DateTime::from_timestamp_millis(self.row.received)?;
        // Who signed a device is known a moment later too.
        (sealed && hindrance.is_some()).then(|| received + FOR_A_KEY)
    }
}

/// What one person wrote in one place and the daemon does not have yet.
#[derive(Debug, Default)]
pub(super) struct Lane {
    queue: VecDeque<Item>,
    /// Something is being handed in.
    busy: bool,
    /// What is being handed in fetches a file: commands need not wait for that.
    fetching: bool,
    /// A command is being handed in past what the lane waits for.
    overtaking: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    InOrder,
    Overtaking,
}

/// What a lane does next.
#[derive(Debug)]
pub(super) enum Step {
    Nothing,
    /// What is in front may be understood until then.
    Wait(Timestamp),
    HandIn(Turn, Box<Item>),
}

impl Lane {
    /// In the order in which it was written.
    pub(super) fn put(&mut self, item: Item) {
        let at = self.queue.partition_point(|before| before.row.id < item.row.id);
        self.queue.insert(at, item);
    }

    /// Takes out what is not being handed in yet.
    pub(super) fn take(&mut self, id: i64) -> Option<Item> {
        let at = self.queue.iter().position(|item| item.row.id == id)?;
        self.queue.remove(at)
    }

    pub(super) fn is_over(&self) -> bool {
        self.queue.is_empty() && !self.busy && !self.overtaking
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy
    }

    /// In which room the next one was written.
    pub(super) fn next_room(&self) -> Option<&str> {
        self.queue.front().map(|item| item.row.room.as_str())
    }

    /// The next one, while it is held.
    pub(super) fn held(&self) -> Option<&Item> {
        self.queue.front().filter(|item| item.held.is_some() && !self.busy)
    }

    /// What the next one answers is known.
    pub(super) fn release(&mut self) {
        if let Some(front) = self.queue.front_mut() {
            front.held = None;
        }
    }

    /// What to hand in now.
    pub(super) fn next(&mut self, now: Timestamp) -> Step {
        if self.busy {
            return if self.fetching { self.overtake(now) } else { Step::Nothing };
        }
        let Some(front) = self.queue.front() else { return Step::Nothing };
        if let Some(until) = front.waits_until().filter(|until| *until > now) {
            return match self.overtake(now) {
                Step::Nothing => Step::Wait(until),
                step => step,
            };
        }
        let Some(item) = self.queue.pop_front() else { return Step::Nothing };
        (self.busy, self.fetching) = (true, item.has_file());
        Step::HandIn(Turn::InOrder, Box::new(item))
    }

    fn overtake(&mut self, now: Timestamp) -> Step {
        let at = self.queue.iter().position(Item::is_command).filter(|_| !self.overtaking);
        let waits = |at: &usize| self.queue[*at].waits_until().is_some_and(|until| until > now);
        let Some(item) = at.filter(|at| !waits(at)).and_then(|at| self.queue.remove(at)) else {
            return Step::Nothing;
        };
        self.overtaking = true;
        Step::HandIn(Turn::Overtaking, Box::new(item))
    }

    pub(super) fn finished(&mut self, turn: Turn) {
        match turn {
            Turn::InOrder => (self.busy, self.fetching) = (false, false),
            Turn::Overtaking => self.overtaking = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        hear::read::{Offered, Piece},
        store::heard::{Hindrance, Opened, Trust},
    };
    use matrix_sdk::ruma::events::room::MediaSource;

    fn at(seconds: i64) -> Timestamp {
        DateTime::from_timestamp(1_796_000_000 + seconds, 0).unwrap()
    }

    fn item(id: i64, work: Told) -> Item {
        let sealed = matches!(work, Told::Sealed);
        let row = Waiting {
            id,
            room: "!room".into(),
            event: format!("${id}"),
            sender: "@ines:example.org".into(),
            thread: None,
            sent: 0,
            received: at(0).timestamp_millis(),
            json: String::new(),
            opened: Opened {
                hindrance: sealed.then_some(Hindrance::NoKey),
                ..Opened::as_is(if sealed { Trust::Sealed } else { Trust::Signed })
            },
            told: 0,
        };
        Item { row, work: Work::Told(work), held: None }
    }

    fn held(id: i64, work: Told, until: i64) -> Item {
        Item { held: Some(at(until)), ..item(id, work) }
    }

    fn said(text: &str) -> Told {
        Told::Said(Piece { text: text.into(), reply_to: None, file: None })
    }

    fn file() -> Told {
        let source = MediaSource::Plain("mxc://example.org/x".into());
        let file = Some(Offered { name: "a".into(), size: None, source });
        Told::Said(Piece { text: String::new(), reply_to: None, file })
    }

    fn handed(step: Step) -> (Turn, i64) {
        match step {
            Step::HandIn(turn, item) => (turn, item.row.id),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_after_the_other_in_the_order_of_writing() {
        let mut lane = Lane::default();
        lane.put(item(2, said("two")));
        lane.put(item(1, said("one")));
        assert_eq!(handed(lane.next(at(0))), (Turn::InOrder, 1));
        assert!(matches!(lane.next(at(0)), Step::Nothing), "one at a time");
        lane.finished(Turn::InOrder);
        assert_eq!(handed(lane.next(at(0))), (Turn::InOrder, 2));
        lane.finished(Turn::InOrder);
        assert!(lane.is_over());
    }

    #[test]
    fn what_is_sealed_holds_up_others_for_ten_seconds() {
        let mut lane = Lane::default();
        lane.put(item(1, Told::Sealed));
        lane.put(item(2, said("later")));
        assert!(matches!(lane.next(at(9)), Step::Wait(until) if until == at(10)));
        assert_eq!(handed(lane.next(at(10))), (Turn::InOrder, 1));
    }

    #[test]
    fn what_opens_in_time_comes_first() {
        let mut lane = Lane::default();
        lane.put(item(1, Told::Sealed));
        lane.put(item(2, said("later")));
        assert!(lane.take(1).is_some());
        lane.put(item(1, said("earlier")));
        assert_eq!(handed(lane.next(at(1))), (Turn::InOrder, 1));
        lane.finished(Turn::InOrder);
        assert_eq!(handed(lane.next(at(1))), (Turn::InOrder, 2));
    }

    #[test]
    fn what_answers_something_unknown_waits_and_keeps_its_place() {
        let tap = |on: &str| Told::Reacted { on: on.into(), emoji: "👍".into() };
        let mut lane = Lane::default();
        lane.put(held(1, tap("$card"), 60));
        lane.put(item(2, tap("$other")));
        assert!(matches!(lane.next(at(59)), Step::Wait(until) if until == at(60)));
        assert_eq!(lane.held().map(|item| item.row.id), Some(1));
        lane.release();
        assert!(lane.held().is_none());
        assert_eq!(handed(lane.next(at(1))), (Turn::InOrder, 1));
        lane.finished(Turn::InOrder);
        assert_eq!(handed(lane.next(at(1))), (Turn::InOrder, 2));
    }

    #[test]
    fn what_answers_something_unknown_is_handed_in_as_it_is_in_the_end() {
        let mut lane = Lane::default();
        lane.put(held(1, said("as you said"), 60));
        assert_eq!(handed(lane.next(at(60))), (Turn::InOrder, 1));
    }

    #[test]
    fn a_command_does_not_wait_for_what_is_held_but_for_what_it_answers_itself() {
        let mut lane = Lane::default();
        lane.put(held(1, said("as you said"), 60));
        lane.put(held(2, said("/stop"), 60));
        assert!(matches!(lane.next(at(0)), Step::Wait(_)));
        let mut lane = Lane::default();
        lane.put(held(1, said("as you said"), 60));
        lane.put(item(2, said("/stop")));
        assert_eq!(handed(lane.next(at(0))), (Turn::Overtaking, 2));
    }

    #[test]
    fn a_command_waits_for_no_file_and_no_key() {
        let mut lane = Lane::default();
        lane.put(item(1, file()));
        lane.put(item(2, said("words")));
        lane.put(item(3, said("/stop")));
        lane.put(item(4, said("/status")));
        assert_eq!(handed(lane.next(at(0))), (Turn::InOrder, 1));
        assert_eq!(handed(lane.next(at(0))), (Turn::Overtaking, 3));
        assert!(matches!(lane.next(at(0)), Step::Nothing), "commands keep their order");
        lane.finished(Turn::Overtaking);
        assert_eq!(handed(lane.next(at(0))), (Turn::Overtaking, 4));
        let mut lane = Lane::default();
        lane.put(item(1, Told::Sealed));
        lane.put(item(2, said("/stop")));
        assert_eq!(handed(lane.next(at(0))), (Turn::Overtaking, 2));
    }
}
