//! The queue of updates: what waits, for how long, and what confirms it.

use std::{collections::VecDeque, time::Duration};

use serde_json::{Value, json};

use crate::{
    Moment,
    records::{Fate, UpdateLife},
    state::State,
};

/// How long a message waits. Source: tdlib/telegram-bot-api.
const MESSAGE_WAITS: Duration = Duration::from_hours(24);
/// How long a press waits. Source: tdlib/telegram-bot-api.
const PRESS_WAITS: Duration = Duration::from_secs(150);
/// The first update's number; Telegram's is random.
const FIRST: i64 = 150_000_001;

/// All types of Bot API 10.3.
pub(crate) const KINDS: [&str; 27] = [
    "message",
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "business_connection",
    "business_message",
    "edited_business_message",
    "deleted_business_messages",
    "message_reaction",
    "message_reaction_count",
    "inline_query",
    "chosen_inline_result",
    "callback_query",
    "shipping_query",
    "pre_checkout_query",
    "purchased_paid_media",
    "poll",
    "poll_answer",
    "my_chat_member",
    "chat_member",
    "chat_join_request",
    "chat_boost",
    "removed_chat_boost",
    "managed_bot",
    "guest_message",
    "subscription",
    "stopped_message_generation",
];

/// Types a bot gets only if it asks for them.
const ON_REQUEST: [&str; 3] = ["chat_member", "message_reaction", "message_reaction_count"];

/// What waits for the bot, and who polls.
pub(crate) struct Inbox {
    queue: VecDeque<Waiting>,
    next: i64,
    pub(crate) allowed: Vec<String>,
    /// The poll that waits.
    pub(crate) poll: Option<u64>,
    pub(crate) polls: u64,
    pub(crate) slow_busy_polls: bool,
    pub(crate) last_offset: Option<i64>,
    pub(crate) last_poll: Moment,
    pub(crate) next_conflict: Moment,
    pub(crate) webhook: Option<Webhook>,
}

/// An address updates would go to. The emulator calls none: it is as if nobody answered there.
pub(crate) struct Webhook {
    pub(crate) url: String,
    pub(crate) connections: i64,
}

struct Waiting {
    id: i64,
    expires: Moment,
    /// Where its life is recorded.
    record: usize,
}

impl Inbox {
    pub(crate) fn new(slow_busy_polls: bool) -> Self {
        Self {
            queue: VecDeque::new(),
            next: FIRST,
            allowed: default_kinds(),
            poll: None,
            polls: 0,
            slow_busy_polls,
            last_offset: None,
            last_poll: Moment::ZERO,
            next_conflict: Moment::ZERO,
            webhook: None,
        }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }
}

/// What a bot gets that never asked.
pub(crate) fn default_kinds() -> Vec<String> {
    KINDS.into_iter().filter(|kind| !ON_REQUEST.contains(kind)).map(str::to_owned).collect()
}

impl State {
    /// Queues an update, unless the bot does not want its kind: then it is lost now, not when fetched.
    pub(crate) fn push(&mut self, kind: &str, payload: Value) -> Option<i64> {
        let now = self.now();
        let wanted = self.inbox.allowed.iter().any(|allowed| allowed == kind);
        let id = wanted.then_some(self.inbox.next);
        let fate = if wanted { Fate::Waiting } else { Fate::Unwanted };
        self.records.updates.push(UpdateLife {
            id,
            kind: kind.into(),
            payload,
            created: now,
            delivered: Vec::new(),
            fate,
        });
        let waits = if kind == "callback_query" { PRESS_WAITS } else { MESSAGE_WAITS };
        if let Some(id) = id {
            let record = self.records.updates.len() - 1;
            self.inbox.queue.push_back(Waiting { id, expires: now + waits, record });
            self.inbox.next += 1;
        }
        id
    }

    /// Confirms what lies before `offset` (negative: all but so many), and hands out what follows.
    /// The second value says whether this changed anything.
    pub(crate) fn take(&mut self, offset: i64, limit: usize) -> (Vec<Value>, bool) {
        let mut changed = self.expire();
        let last = self.inbox.queue.back().map_or(i64::MIN, |update| update.id);
        let keep = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
        // An offset from the future is ignored.
        let first = if offset < 0 {
            let past = self.inbox.queue.len().saturating_sub(keep);
            self.inbox.queue.get(past).map_or(i64::MIN, |update| update.id)
        } else if offset > last.saturating_add(1) {
            i64::MIN
        } else {
            offset
        };
        let now = self.now();
        while self.inbox.queue.front().is_some_and(|update| update.id < first) {
            changed = true;
            self.end_first(Fate::Confirmed(now));
        }
        let mut out = Vec::new();
        for update in self.inbox.queue.iter().take(limit) {
            let life = &mut self.records.updates[update.record];
            life.delivered.push(now);
            let mut value = json!({"update_id": update.id});
            value[&life.kind] = life.payload.clone();
            out.push(value);
        }
        changed |= !out.is_empty();
        (out, changed)
    }

    /// Drops what waited too long.
    pub(crate) fn expire(&mut self) -> bool {
        let now = self.now();
        let before = self.inbox.queue.len();
        let records = &mut self.records.updates;
        self.inbox.queue.retain(|update| {
            let alive = now < update.expires;
            if !alive {
                records[update.record].fate = Fate::Expired(now);
            }
            alive
        });
        self.inbox.queue.len() != before
    }

    /// Drops all that waits, because the bot asks for it.
    pub(crate) fn forget_updates(&mut self) {
        let now = self.now();
        while !self.inbox.queue.is_empty() {
            self.end_first(Fate::Forgotten(now));
        }
    }

    fn end_first(&mut self, fate: Fate) {
        if let Some(update) = self.inbox.queue.pop_front() {
            self.records.updates[update.record].fate = fate;
        }
    }
}
