//! Messages that go to the agent beside the results of its tools: each once, in their order, or back
//! to whoever sent them as soon as it is plain that no result comes any more.

use serde_json::{Value, json};
use std::collections::VecDeque;
use vigie_core::{agent::AgentEvent, id::MailId};

use super::{Machine, Status, Stop};
use crate::agents::HookReply;

/// Most that the program takes beside a result, in UTF-16 units; of what is longer the model sees the
/// beginning only, the rest goes to a file. Seen with 2.1.332.
const ROOM: usize = 10_000;
const BETWEEN: &str = "\n\n";

/// What waits for the next result, first come first.
#[derive(Default)]
pub(super) struct Mailbag(VecDeque<(MailId, String)>);

impl Mailbag {
    /// How many of the first fit into one answer.
    fn fitting(&self) -> usize {
        let mut room = ROOM + BETWEEN.len();
        let fits = |(_, text): &&(MailId, String)| {
            let needed = text.encode_utf16().count() + BETWEEN.len();
            room.checked_sub(needed).map(|left| room = left).is_some()
        };
        self.0.iter().take_while(fits).count()
    }

    fn drain(&mut self, count: usize) -> impl Iterator<Item = MailId> {
        self.0.drain(..count).map(|(mail, _)| mail)
    }
}

impl Machine {
    /// Keeps it for the next result, if there may be one.
    pub(super) fn mail(&mut self, mail: MailId, text: String) {
        let working = matches!(self.status, Some(Status::Busy | Status::Waiting(_)));
        if (working || !self.turns.is_empty()) && matches!(self.stop, Stop::No) {
            self.mailbag.0.push_back((mail, text));
        } else {
            self.report([AgentEvent::MailReturned { mail }]);
        }
    }

    /// Answers the hook that stands between a round of tools and the model's next request, with what
    /// fits. A subagent's rounds carry nothing, and neither does the last one of a turn that is
    /// being stopped.
    pub(super) fn give_mail(&mut self, event: &str, reply: HookReply) {
        let count = self.mailbag.fitting();
        let texts: Vec<_> = self.mailbag.0.iter().take(count).map(|(_, text)| &**text).collect();
        if texts.is_empty() {
            reply.answer(json!({}));
            // The first is longer than any answer; what came after it must not overtake it.
            self.return_mail();
        } else if reply.answer(beside(event, &texts.join(BETWEEN))) {
            let given: Vec<_> = self.mailbag.drain(count).collect();
            self.report(given.into_iter().map(|mail| AgentEvent::MailTaken { mail }));
        }
    }

    /// No result comes any more that could carry it.
    pub(super) fn return_mail(&mut self) {
        let count = self.mailbag.0.len();
        let left: Vec<_> = self.mailbag.drain(count).collect();
        self.report(left.into_iter().map(|mail| AgentEvent::MailReturned { mail }));
    }
}

fn beside(event: &str, text: &str) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
}
