//! What sessions said while a chat could not be reached for long: the last answer of each in full, and the
//! earlier ones as a list, so that nobody comes back to a pile.

use chrono::TimeDelta;
use std::fmt::Write as _;

use super::{Work, outbox::Draft};
use crate::{
    bridge::{Body, Level, Post},
    delivery::{Delivery, DeliveryState, NewestOf, Outgoing, Rank},
    id::{SessionId, SessionName},
    ringing::{Happened, Kind},
    state::{Chat, Row},
    text::{self, Rich},
};

/// After a shorter silence everything comes as it was said.
const LONG: TimeDelta = TimeDelta::minutes(10);

/// Earlier answers that are named.
const NAMED: usize = 10;

impl Work<'_> {
    /// A session is about to say an answer where nobody has been heard for long: what it said there before
    /// and was not sent becomes a list. The whole of it stands in its transcript.
    pub(super) fn fold_earlier(&mut self, chat: &Chat, session: SessionId, name: &SessionName) {
        let hearing = self.state.health.get(&chat.bridge);
        let deaf = hearing.and_then(|hearing| hearing.deaf);
        let Some(since) = deaf.filter(|since| self.now - *since >= LONG) else { return };
        let waits = |delivery: &&Delivery| {
            delivery.to.bridge == chat.bridge
                && delivery.to.chat == chat.chat
                && delivery.session == Some(session)
                && (delivery.newest.is_none() || is_list(delivery, session))
                && is_answer(delivery, name)
        };
        let waiting: Vec<_> = self.state.deliveries.values().filter(waits).cloned().collect();
        if waiting.is_empty() {
            return;
        }
        for mut delivery in waiting {
            delivery.state = DeliveryState::Replaced;
            self.put(Row::Delivery(delivery));
        }
        let said = |event: &&Happened| {
            event.kind == Kind::Done && event.who == name.as_str() && event.at >= since
        };
        let mut earlier: Vec<_> = self.state.happened.iter().filter(said).collect();
        if earlier.last().is_some_and(|event| event.at == self.now) {
            earlier.pop(); // it follows in full
        }
        let count = earlier.len();
        let mut words = format!(
            "{name} said {count} more while this could not be sent; /transcript {name} has all of it:"
        );
        if count > NAMED {
            let _ = write!(words, "\n({} before these)", count - NAMED);
        }
        for event in earlier.into_iter().skip(count.saturating_sub(NAMED)) {
            let line = text::reveal(&event.words).text.text;
            let _ = write!(words, "\n- {}: {line}", event.at.format("%H:%M UTC"));
        }
        let body = Body::Text { text: Rich::plain(words), part: None, buttons: vec![] };
        let post = Post { from: Some(name.clone()), level: Level::Note, body };
        let to = self.session_target(chat, session);
        self.deliver(Draft {
            to,
            what: Outgoing::Post { post, reply_to: None },
            rank: Rank::Final,
            session: Some(session),
            newest: Some(NewestOf::Folded { session }),
            not_before: None,
        });
    }
}

fn is_list(delivery: &Delivery, session: SessionId) -> bool {
    delivery.newest == Some(NewestOf::Folded { session })
}

/// A session's own words at the end of a turn that surely did not arrive.
fn is_answer(delivery: &Delivery, name: &SessionName) -> bool {
    let Outgoing::Post { post, .. } = &delivery.what else { return false };
    let own = match &post.body {
        Body::Text { .. } | Body::Document(_) => post.from.as_ref() == Some(name),
        Body::Card(_) | Body::Progress(_) | Body::File(_) => false,
    };
    let unsent = matches!(delivery.state, DeliveryState::Due { tries, .. } if tries.doubtful == 0);
    own && unsent && delivery.rank == Rank::Final
}
