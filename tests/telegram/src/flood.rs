//! Flood control: how much the bot may say, and what happens to one that does not wait.

use std::{collections::VecDeque, time::Duration};

use crate::{Moment, records::Flood, refusal::Refusal, state::State, world::ChatId};

/// Messages at once in a private chat, then one a second. The figures are guesses from public
/// reports; Telegram gives none, and is softer at first and far harsher to those who go on.
const PRIVATE: Limit = Limit { count: 5, window: Duration::from_secs(5) };
/// In a group, for all its topics together. Source: the Bot API's FAQ, "20 messages per minute".
const GROUP: Limit = Limit { count: 20, window: Duration::from_mins(1) };
/// Previews have their own window; a guess.
const DRAFTS: Limit = Limit { count: 4, window: Duration::from_secs(1) };
/// For the whole bot. Source: the Bot API's FAQ, "about 30 messages per second".
const OVERALL: Limit = Limit { count: 30, window: Duration::from_secs(1) };

struct Limit {
    count: usize,
    window: Duration,
}

/// The windows of one chat.
#[derive(Default)]
pub(crate) struct Windows {
    messages: Window,
    drafts: Window,
}

#[derive(Default)]
struct Window {
    sent: VecDeque<Moment>,
    /// Until when everything is refused.
    frozen: Moment,
}

/// What is charged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charge {
    Message,
    Draft,
}

impl State {
    /// Charges a chat for one message, an edit or a topic's service message.
    ///
    /// # Errors
    /// 429, and from then on until the wait has passed.
    pub(crate) fn charge(
        &mut self,
        chat: ChatId,
        method: &str,
        what: Charge,
    ) -> Result<(), Refusal> {
        if !self.flood_on {
            return Ok(());
        }
        let now = self.now();
        let place = self.chats.get_mut(&chat).expect("a charged chat was looked up");
        let private = place.is_private();
        let (window, limit) = match what {
            Charge::Draft => (&mut place.windows.drafts, DRAFTS),
            Charge::Message if private => (&mut place.windows.messages, PRIVATE),
            Charge::Message => (&mut place.windows.messages, GROUP),
        };
        if now < window.frozen {
            let wait = window.frozen.saturating_sub(now);
            return Err(self.flood(chat, method, wait, "did not wait as told".into(), true));
        }
        forget(&mut window.sent, now, limit.window);
        forget(&mut self.overall, now, OVERALL.window);
        if window.sent.len() >= limit.count {
            let wait = (window.sent[0] + limit.window).saturating_sub(now);
            window.frozen = now + wait;
            let why =
                format!("more than {} in {} s in this chat", limit.count, limit.window.as_secs());
            return Err(self.flood(chat, method, wait, why, false));
        }
        if self.overall.len() >= OVERALL.count {
            let wait = (self.overall[0] + OVERALL.window).saturating_sub(now);
            return Err(self.flood(
                chat,
                method,
                wait,
                "more than 30 a second of the bot".into(),
                false,
            ));
        }
        window.sent.push_back(now);
        self.overall.push_back(now);
        Ok(())
    }

    fn flood(
        &mut self,
        chat: ChatId,
        method: &str,
        wait: Duration,
        why: String,
        inside_wait: bool,
    ) -> Refusal {
        let retry_after = wait.as_millis().div_ceil(1000).max(1);
        let retry_after = u64::try_from(retry_after).unwrap_or(u64::MAX);
        let at = self.now();
        self.records.floods.push(Flood {
            chat,
            method: method.into(),
            at,
            retry_after,
            why,
            inside_wait,
        });
        Refusal::too_many(retry_after)
    }
}

/// Drops what has left the window.
fn forget(sent: &mut VecDeque<Moment>, now: Moment, window: Duration) {
    while sent.front().is_some_and(|at| *at + window <= now) {
        sent.pop_front();
    }
}
