//! The service's own ids. Each names the log it belongs to, so that after a log was deleted an old
//! id can never mean a new message, nor an old key swallow a new update.

use std::sync::Arc;
use vigie_core::id::{MessageId, ThreadId};

/// Row number of the main chat where a thread is asked for; threads count from 1. Messages without
/// a thread carry it; who reads it reads the messages of all threads.
pub(crate) const MAIN: i64 = 0;

/// Turns row numbers into ids and back; an id of another log is none of ours.
#[derive(Clone, Debug)]
pub(crate) struct Ids {
    epoch: Arc<str>,
}

impl Ids {
    pub(crate) fn new(epoch: &str) -> Self {
        Self { epoch: epoch.into() }
    }

    pub(crate) fn message(&self, row: i64) -> MessageId {
        MessageId::new(format!("{}-{row}", self.epoch))
    }

    pub(crate) fn message_row(&self, id: &MessageId) -> Option<i64> {
        self.number(id.as_str(), "-")
    }

    /// `None` for the main chat, which has no id.
    pub(crate) fn thread(&self, row: i64) -> Option<ThreadId> {
        (row != MAIN).then(|| ThreadId::new(format!("{}-t{row}", self.epoch)))
    }

    pub(crate) fn thread_row(&self, id: Option<&ThreadId>) -> Option<i64> {
        match id {
            None => Some(MAIN),
            Some(id) => self.number(id.as_str(), "-t"),
        }
    }

    /// Unique over all logs, as [`Heard::key`](vigie_core::bridge::Heard::key) must be.
    pub(crate) fn heard_key(&self, row: i64) -> String {
        format!("{}-h{row}", self.epoch)
    }

    /// Names the state of the log after change `seq`.
    pub(crate) fn cursor(&self, seq: i64) -> String {
        format!("{}-s{seq}", self.epoch)
    }

    pub(crate) fn cursor_seq(&self, cursor: &str) -> Option<i64> {
        self.number(cursor, "-s")
    }

    fn number(&self, text: &str, mark: &str) -> Option<i64> {
        let digits = text.strip_prefix(&*self.epoch)?.strip_prefix(mark)?;
        // `parse` alone would take `+7`, and then two texts were the same id.
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_and_ids_of_another_log_do_not() {
        let (ids, other) = (Ids::new("a1b2c3d4"), Ids::new("00ff00ff"));
        assert_eq!(ids.message_row(&ids.message(17)), Some(17));
        assert_eq!(ids.thread_row(ids.thread(3).as_ref()), Some(3));
        assert_eq!(ids.thread_row(None), Some(MAIN));
        assert_eq!(ids.cursor_seq(&ids.cursor(0)), Some(0));
        assert_eq!(other.message_row(&ids.message(17)), None);
        for bad in ["", "a1b2c3d4", "a1b2c3d4-", "a1b2c3d4-+1", "a1b2c3d4-t1", "17", "a1b2c3d4--1"]
        {
            assert_eq!(ids.message_row(&MessageId::new(bad)), None, "{bad}");
        }
    }
}
