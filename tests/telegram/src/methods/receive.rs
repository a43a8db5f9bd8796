//! Receiving: `getUpdates`, which may wait, and the webhook that excludes it.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use crate::{
    Moment,
    params::{Params, Raw},
    refusal::{Refusal, bad},
    shared::Shared,
    state::State,
    updates::{KINDS, Webhook, default_kinds},
};

/// The method's name.
pub(crate) const GET_UPDATES: &str = "getUpdates";

/// Longest wait in seconds. Source: tdlib/telegram-bot-api.
const LONGEST_POLL: i64 = 50;
/// Repeating an offset sooner is slowed to this. Source: tdlib/telegram-bot-api.
const BUSY: Duration = Duration::from_secs(3);
/// Repeating an offset sooner gives one update only. Source: tdlib/telegram-bot-api.
const VERY_BUSY: Duration = Duration::from_millis(500);
/// A second conflict within this time is answered late. Source: tdlib/telegram-bot-api.
const CONFLICT_DELAY: Duration = Duration::from_secs(3);

/// A poll that found nothing and waits.
struct Poll {
    offset: i64,
    limit: usize,
    until: Moment,
    ticket: u64,
}

/// A `getUpdates`, which waits until there is something or the time is over.
pub(crate) async fn get_updates(shared: &Arc<Shared>, raw: &Raw) -> Result<Value, Refusal> {
    let spec = super::find(GET_UPDATES).expect("it is in the table");
    let poll = match shared.act(|state| {
        let params = Params::check(spec, raw, &mut state.records)?;
        begin(state, &params)
    })? {
        Begun::Answered(updates) => return Ok(updates.into()),
        Begun::Waits(poll) => poll,
    };
    let _guard = WaitingPoll { shared, ticket: poll.ticket };
    let mut news = shared.subscribe();
    loop {
        news.borrow_and_update();
        let (step, changed) = shared.look_mut(|state| step(state, &poll));
        if changed {
            shared.announce();
        }
        match step {
            Step::Answer(updates) => return Ok(updates.into()),
            Step::Conflict(wait, refusal) => {
                shared.clock().sleep_until(wait).await;
                return Err(refusal);
            }
            Step::Wait => {}
        }
        tokio::select! {
            () = shared.clock().sleep_until(poll.until) => {}
            // The sender lives in `shared`, so this cannot fail.
            _ = news.changed() => {}
        }
    }
}

/// Gives up the place when the caller goes away.
struct WaitingPoll<'a> {
    shared: &'a Shared,
    ticket: u64,
}

impl Drop for WaitingPoll<'_> {
    fn drop(&mut self) {
        self.shared.act(|state| {
            if state.inbox.poll == Some(self.ticket) {
                state.inbox.poll = None;
            }
        });
    }
}

enum Begun {
    Answered(Vec<Value>),
    Waits(Poll),
}

fn begin(state: &mut State, params: &Params) -> Result<Begun, Refusal> {
    if state.inbox.webhook.is_some() {
        return Err(Refusal::new(
            409,
            "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
        ));
    }
    set_allowed(state, params);
    let now = state.now();
    let offset = params.int("offset").unwrap_or_default();
    if offset < 0 {
        state.records.defect("negative offset", "people's messages are thrown away");
    }
    let limit = params.int("limit").unwrap_or(100).clamp(1, 100);
    let mut limit = usize::try_from(limit).expect("clamped");
    let mut timeout = params.int("timeout").unwrap_or_default().clamp(0, LONGEST_POLL);
    let inbox = &mut state.inbox;
    if inbox.slow_busy_polls && inbox.last_offset == Some(offset) {
        if timeout < 3 && now < inbox.last_poll + BUSY {
            timeout = 3;
        }
        if now < inbox.last_poll + VERY_BUSY {
            limit = 1;
        }
    }
    inbox.last_offset = Some(offset);
    inbox.last_poll = now;
    let (updates, _) = state.take(offset, limit);
    if !updates.is_empty() || timeout == 0 {
        return Ok(Begun::Answered(updates));
    }
    // Whoever waits already loses the place, and learns it.
    let inbox = &mut state.inbox;
    inbox.polls += 1;
    inbox.poll = Some(inbox.polls);
    let until = now + Duration::from_secs(timeout.unsigned_abs());
    Ok(Begun::Waits(Poll { offset, limit, until, ticket: inbox.polls }))
}

enum Step {
    Answer(Vec<Value>),
    /// Refused at this time.
    Conflict(Moment, Refusal),
    Wait,
}

fn step(state: &mut State, poll: &Poll) -> (Step, bool) {
    let now = state.now();
    if state.inbox.poll != Some(poll.ticket) {
        let (what, text) = if state.inbox.webhook.is_some() {
            ("getUpdates ended by setWebhook", "Conflict: terminated by setWebhook request")
        } else {
            (
                "two getUpdates at the same time",
                "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
            )
        };
        state.records.defect("conflict", what);
        let soon = now < state.inbox.next_conflict;
        let at = if soon { now + CONFLICT_DELAY } else { now };
        state.inbox.next_conflict = now + CONFLICT_DELAY;
        return (Step::Conflict(at, Refusal::new(409, text)), true);
    }
    let (updates, changed) = state.take(poll.offset, poll.limit);
    let over = now >= poll.until;
    (if updates.is_empty() && !over { Step::Wait } else { Step::Answer(updates) }, changed)
}

/// Only for the table: a poll never comes this way.
#[expect(clippy::unnecessary_wraps, reason = "the shape of all methods")]
pub(super) fn get_at_once(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    Ok(state.take(params.int("offset").unwrap_or_default(), 1).0.into())
}

/// Remembers what the bot wants, until it says otherwise. An empty list means the default.
fn set_allowed(state: &mut State, params: &Params) {
    if !params.has("allowed_updates") {
        return;
    }
    let mut wanted = Vec::new();
    for value in params.list("allowed_updates") {
        let name = value.as_str().unwrap_or_default().to_lowercase();
        if KINDS.contains(&name.as_str()) {
            wanted.push(name);
        } else {
            state.records.defect("unknown update type", format!("allowed_updates: {value}"));
        }
    }
    state.inbox.allowed = if wanted.is_empty() { default_kinds() } else { wanted };
}

pub(super) fn set_webhook(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let (url, secret) = (params.str("url"), params.str("secret_token"));
    if url.is_empty() {
        return delete_webhook(state, params);
    }
    if url.starts_with("http://") {
        return Err(bad("bad webhook: An HTTPS URL must be provided for webhook"));
    }
    if !url.starts_with("https://") {
        return Err(bad("invalid webhook URL specified"));
    }
    if secret.len() > 256 {
        return Err(bad("secret token is too long"));
    }
    if !secret.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
        return Err(bad("secret token contains unallowed characters"));
    }
    set_allowed(state, params);
    if params.flag("drop_pending_updates") {
        state.forget_updates();
    }
    let connections = params.int("max_connections").unwrap_or(40).clamp(1, 100);
    state.inbox.webhook = Some(Webhook { url: url.into(), connections });
    state.inbox.poll = None;
    Ok(true.into())
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of all methods")]
pub(super) fn delete_webhook(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    if params.flag("drop_pending_updates") {
        state.records.defect("drop_pending_updates", "people's messages are thrown away");
        state.forget_updates();
    }
    state.inbox.webhook = None;
    Ok(true.into())
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of all methods")]
pub(super) fn webhook_info(state: &mut State, _: &Params) -> Result<Value, Refusal> {
    state.expire();
    let inbox = &state.inbox;
    let url = inbox.webhook.as_ref().map(|hook| hook.url.as_str()).unwrap_or_default();
    let mut info = json!({"url": url, "has_custom_certificate": false, "pending_update_count": inbox.waiting()});
    if let Some(hook) = &inbox.webhook {
        info["max_connections"] = hook.connections.into();
    }
    if inbox.allowed != default_kinds() {
        info["allowed_updates"] = inbox.allowed.clone().into();
    }
    Ok(info)
}
