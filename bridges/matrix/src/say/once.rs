//! One event for one part of a delivery, even where nobody knows what became of a first try.

use chrono::TimeDelta;
use matrix_sdk::{
    room::MessagesOptions,
    ruma::{OwnedEventId, uint},
};
use serde_json::Value;
use tracing::{error, info};
use vigie_core::{Timestamp, bridge::SayError};

use super::{
    content::{self, KEY},
    door::{Door, Failed, without_doubt},
    outcome,
};
use crate::store::{Begun, Part};

/// How long the server surely makes one of two events with one transaction id, less an hour. Source:
/// Synapse 1.163.2, `_cleanup_old_transaction_ids`, which forgets them after 24 hours.
const REMEMBERED: TimeDelta = TimeDelta::hours(23);

/// Clocks differ by less.
const CLOCKS: TimeDelta = TimeDelta::minutes(5);

/// Pages of a hundred events that are looked at for one whose end nobody saw.
const PAGES: usize = 10;

pub(super) const MESSAGE: &str = "m.room.message";

/// An event as it is to be.
pub(super) struct Outgoing<'a> {
    pub kind: &'static str,
    pub content: Value,
    /// Tells versions apart.
    pub digest: String,
    /// Whether an edit can make an earlier version show this one.
    pub changes: Changes,
    pub door: &'a Door<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changes {
    ByEdit,
    Never,
}

/// An event of ours that is there, and the calls it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arrived {
    pub event: OwnedEventId,
    pub calls: usize,
}

impl Outgoing<'_> {
    /// Sends it unless the part's event is there already.
    pub(super) async fn once(&self, part: Part) -> Result<Arrived, Failed> {
        let (door, bridge) = (self.door, self.door.bridge);
        let now = bridge.now();
        let begun = bridge.store.begin(part, door.room.room_id(), self.digest.clone(), now).await;
        let first = match begun.map_err(unwritten)? {
            Begun::First => None,
            Begun::Said { event, content } => {
                return self.up_to_date(part, event, &content, 0).await;
            }
            Begun::InDoubt { first, content } => Some((first, content)),
        };
        if let Some((first, before)) = &first
            && now - *first > REMEMBERED
            && let Some(event) = self.look(part, *first).await?
        {
            info!(key = %part.key, %event, "an event that was in doubt is there");
            self.keep(part, &event, before).await;
            return self.up_to_date(part, event, before, 0).await;
        }
        match door.send(self.kind, &self.content, &part.transaction()).await {
            Ok(event) => {
                // It may be the first try's, and then it shows what that said.
                let shows = first.map_or_else(|| self.digest.clone(), |(_, before)| before);
                self.keep(part, &event, &shows).await;
                self.up_to_date(part, event, &shows, 1).await
            }
            Err(failed) => {
                // What was in doubt before stays so: that this try failed says nothing of the first.
                if failed.error != SayError::InDoubt && first.is_none() {
                    bridge.store.not_said(part).await.map_err(unwritten)?;
                }
                Err(failed)
            }
        }
    }

    async fn keep(&self, part: Part, event: &OwnedEventId, shows: &str) {
        if let Err(error) = self.door.bridge.store.said(part, event, shows.to_owned()).await {
            // It is said all the same, and its transaction id finds it.
            error!(%error, key = %part.key, "could not keep which event it became");
        }
    }

    /// Makes an event that shows an earlier version show this one.
    async fn up_to_date(
        &self,
        part: Part,
        event: OwnedEventId,
        shows: &str,
        calls: usize,
    ) -> Result<Arrived, Failed> {
        if shows == self.digest || self.changes == Changes::Never {
            return Ok(Arrived { event, calls });
        }
        let mut inner = self.content.clone();
        if let Some(fields) = inner.as_object_mut() {
            fields.remove("m.relates_to");
        }
        let change = content::replacement(&event, &inner);
        let transaction = format!("{}.{}", part.transaction(), self.digest);
        self.door.send(self.kind, &change, &transaction).await?;
        self.keep(part, &event, &self.digest).await;
        Ok(Arrived { event, calls: calls + 1 })
    }

    /// Looks for the part's event among those since `first`.
    async fn look(&self, part: Part, first: Timestamp) -> Result<Option<OwnedEventId>, Failed> {
        let room = &self.door.room;
        let oldest = (first - CLOCKS).timestamp_millis();
        let wanted = content::marker(part);
        let mut from = None;
        for _ in 0..PAGES {
            let mut options = MessagesOptions::backward();
            options.from = from;
            options.limit = uint!(100);
            let page = self.door.within(room.messages(options)).await;
            let page = page.map_err(|failed| Failed {
                refusal: failed.refusal,
                error: without_doubt(failed),
            })?;
            for event in &page.chunk {
                let raw = event.raw().deserialize_as_unchecked::<Value>().unwrap_or_default();
                if raw["content"][KEY] == wanted {
                    return Ok(event.event_id());
                }
                if raw["origin_server_ts"].as_i64().is_some_and(|at| at < oldest) {
                    return Ok(None);
                }
            }
            if page.end.is_none() {
                return Ok(None);
            }
            from = page.end;
        }
        // Beyond that nobody looks: said twice is the smaller harm.
        Ok(None)
    }
}

fn unwritten(error: vigie_bridge_kit::database::DatabaseError) -> Failed {
    Failed { refusal: None, error: outcome::unwritten(error) }
}
