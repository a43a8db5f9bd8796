//! Asking Telegram what happened: written down first, confirmed by the next question.

use serde::Deserialize;
use std::time::Duration;
use tokio::{sync::Notify, time::Instant};
use tracing::{debug, info, warn};
use vigie_bridge_kit::{clock::after_sleep, database::DatabaseError, pause};

use super::trouble;
use crate::{
    TelegramBridge,
    api::{CallError, DeleteWebhook, GetUpdates, GetWebhookInfo, RawUpdate, Refusal, UpdateId},
    store::heard::{self, Incoming},
};

/// What is acted on; nothing else is asked for.
const KINDS: &[&str] =
    &["message", "edited_message", "callback_query", "message_reaction", "my_chat_member"];

/// Seconds that Telegram may wait for something to happen. With what a poll may take beyond that it
/// is less than the 45 s after which the daemon says that nothing is heard.
const WAIT: u16 = 25;

/// As many as there may be. Source: Bot API, `getUpdates`.
const MOST: u8 = 100;

/// A server that does not wait when it is asked to is not asked as fast as it answers.
const PACE: Duration = Duration::from_secs(1);

/// What polling remembers from one question to the next.
#[derive(Debug, Default)]
struct Poller {
    /// In a row.
    failures: u32,
    /// Somebody else polls: when that was seen first, and last.
    contested: Option<(Instant, Instant)>,
    /// A webhook is taken away once: whoever sets it again means it.
    took_webhook: bool,
    /// The next question is answered at once, so that it is soon known how things are.
    wait: u16,
}

/// Polls for ever.
pub(super) async fn poll(bridge: &TelegramBridge, arrived: &Notify) {
    let mut poller = Poller::default();
    loop {
        let rest = match offset(bridge).await {
            Ok(offset) => poller.once(bridge, offset, arrived).await,
            Err(error) => Some(poller.disk_failed(bridge, &error)),
        };
        if let Some(rest) = rest {
            tokio::time::sleep(rest).await;
        }
    }
}

async fn offset(bridge: &TelegramBridge) -> Result<Option<UpdateId>, DatabaseError> {
    let (bot, now) = (bridge.api.token().bot().0, bridge.now().timestamp_millis());
    Ok(bridge.store.run(move |db| heard::next(db, bot, now)).await?.map(UpdateId))
}

impl Poller {
    /// Asks once; returns how long to rest.
    async fn once(
        &mut self,
        bridge: &TelegramBridge,
        offset: Option<UpdateId>,
        arrived: &Notify,
    ) -> Option<Duration> {
        let ask = GetUpdates { offset, limit: MOST, timeout: self.wait, allowed_updates: KINDS };
        let asked = Instant::now();
        let answer = tokio::select! {
            answer = bridge.api.poll(&ask) => answer,
            () = after_sleep(&bridge.clock) => {
                info!("the machine slept: new connections");
                self.wait = 0;
                renew(bridge);
                return None;
            }
        };
        match answer {
            Ok(updates) => self.heard(bridge, updates, arrived, asked.elapsed()).await,
            Err(error) => self.failed(bridge, &error).await,
        }
    }

    async fn heard(
        &mut self,
        bridge: &TelegramBridge,
        updates: Vec<RawUpdate>,
        arrived: &Notify,
        took: Duration,
    ) -> Option<Duration> {
        let hasty = updates.is_empty() && self.wait > 0 && took < PACE;
        let (bot, now) = (bridge.api.token().bot().0, bridge.now().timestamp_millis());
        let updates: Vec<_> = updates.into_iter().map(incoming).collect();
        if let Err(error) = bridge.store.run(move |db| heard::keep(db, bot, &updates, now)).await {
            return Some(self.disk_failed(bridge, &error));
        }
        (self.failures, self.wait) = (0, WAIT);
        bridge.heard_all();
        if self.is_contested() {
            bridge.in_trouble(trouble::CONTESTED.into());
        }
        arrived.notify_one();
        hasty.then_some(PACE)
    }

    fn is_contested(&self) -> bool {
        self.contested.is_some_and(|(_, last)| last.elapsed() < trouble::STILL_CONTESTED)
    }

    async fn failed(&mut self, bridge: &TelegramBridge, error: &CallError) -> Option<Duration> {
        let failures = self.failures;
        self.failures = failures.saturating_add(1);
        debug!(%error, failures, "a poll failed");
        let rest = match error {
            CallError::TooMany { after } => *after,
            CallError::NotSent { .. } => {
                self.wait = 0;
                pause::after(failures)
            }
            CallError::InDoubt { .. } => {
                self.wait = 0;
                renew(bridge);
                pause::after(failures)
            }
            CallError::Refused { refusal: Refusal::WebhookActive, .. } if !self.took_webhook => {
                return self.take_webhook(bridge).await;
            }
            CallError::Refused { refusal: Refusal::Conflict, .. } => {
                // Waiting shows sooner whether the other one is still there.
                self.wait = WAIT;
                let first = self.contested.filter(|_| self.is_contested());
                let first = first.map_or_else(Instant::now, |(first, _)| first);
                self.contested = Some((first, Instant::now()));
                trouble::rest_in_conflict(first.elapsed())
            }
            CallError::Refused { refusal, .. } => trouble::rest_after(*refusal, failures),
        };
        bridge.in_trouble(trouble::words(error));
        Some(match error {
            CallError::TooMany { .. } => rest, // Telegram's own word
            CallError::NotSent { .. } | CallError::InDoubt { .. } | CallError::Refused { .. } => {
                spread(bridge, rest, failures)
            }
        })
    }

    /// Nothing is dropped by it: what waited for the webhook comes to us.
    async fn take_webhook(&mut self, bridge: &TelegramBridge) -> Option<Duration> {
        let whose = match bridge.api.call(&GetWebhookInfo {}).await {
            Ok(info) => info.url,
            Err(_) => "somewhere".into(),
        };
        match bridge.api.call(&DeleteWebhook::KEEPING_ALL).await {
            Ok(_) => {
                warn!(webhook = trouble::host(&whose), "took a webhook away");
                self.took_webhook = true;
                None
            }
            Err(error) => {
                bridge.in_trouble(trouble::words(&error));
                Some(pause::after(self.failures))
            }
        }
    }

    fn disk_failed(&mut self, bridge: &TelegramBridge, error: &DatabaseError) -> Duration {
        let rest = pause::after(self.failures);
        self.failures = self.failures.saturating_add(1);
        self.wait = 0;
        bridge.in_trouble(format!(
            "what Telegram tells cannot be written down ({error}); it stays at Telegram for a day. Look at the disk"
        ));
        rest
    }
}

fn renew(bridge: &TelegramBridge) {
    if let Err(error) = bridge.api.fresh() {
        warn!(%error, "the old connections stay");
    }
}

fn spread(bridge: &TelegramBridge, rest: Duration, failures: u32) -> Duration {
    let now = bridge.now().timestamp_millis().unsigned_abs();
    pause::spread(rest, now ^ (u64::from(failures) << 48))
}

/// What a row is found by; the rest is read when it is handed in.
#[derive(Default, Deserialize)]
struct Outline {
    message: Option<Sketch>,
    edited_message: Option<Sketch>,
    channel_post: Option<Sketch>,
    callback_query: Option<serde::de::IgnoredAny>,
    message_reaction: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Sketch {
    chat: ChatSketch,
    message_id: i64,
    media_group_id: Option<String>,
}

#[derive(Deserialize)]
struct ChatSketch {
    id: i64,
}

fn incoming(update: RawUpdate) -> Incoming {
    // What does not read is kept all the same; it is looked at again when it is handed in.
    let outline: Outline = serde_json::from_str(&update.json).unwrap_or_default();
    let newest = outline.message.is_some() || outline.channel_post.is_some();
    let urgent = outline.callback_query.is_some() || outline.message_reaction.is_some();
    let sketch = outline.message.or(outline.edited_message).or(outline.channel_post);
    Incoming {
        number: update.id.0,
        json: update.json,
        urgent,
        chat: sketch.as_ref().map(|sketch| sketch.chat.id),
        message: sketch.as_ref().map(|sketch| sketch.message_id),
        album: sketch.and_then(|sketch| sketch.media_group_id),
        newest,
    }
}
