//! The live stream: every change of the log, from where the page is. Beside whether Vigie can write
//! at all, nothing is pushed that is not in the log, so a page that was away, or a server that was, continues without a gap.

use axum::{
    extract::{Query, State},
    http::{HeaderMap, StatusCode},
    response::sse::{Event, Sse},
};
use futures_util::{Stream, stream};
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tracing::error;

use super::{
    Person, Refusal,
    read::{ChangesQuery, ContinueView},
};
use crate::PhoneBridge;

/// A page that hears nothing for two and a half of these knows that the line is dead.
const HEARTBEAT: Duration = Duration::from_secs(15);

struct Follower {
    phone: Arc<PhoneBridge>,
    person: Person,
    cursor: String,
    seq: watch::Receiver<i64>,
    ill: watch::Receiver<Option<String>>,
    _place: OwnedSemaphorePermit,
    step: Step,
}

enum Step {
    /// Look into the log now.
    Look,
    /// Wait for a change.
    Wait,
    /// Nothing more will come.
    End,
}

pub(super) async fn live(
    State(phone): State<Arc<PhoneBridge>>,
    person: Person,
    headers: HeaderMap,
    Query(query): Query<ChangesQuery>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let place = Arc::clone(&phone.live).try_acquire_owned().map_err(|_| {
        Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many pages are open; close some, this one tries again by itself",
        )
    })?;
    // The browser's own memory of where it was is newer than the address it once asked for.
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let cursor = last.map(str::to_owned).or(query.from).unwrap_or_default();
    let (seq, ill) = (phone.seq.subscribe(), phone.ill.subscribe());
    let follower = Follower { phone, person, cursor, seq, ill, _place: place, step: Step::Look };
    Ok(Sse::new(stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok(event), follower))
    })))
}

impl Follower {
    async fn next(&mut self) -> Option<Event> {
        loop {
            match self.step {
                Step::End => return None,
                Step::Look => {
                    if let Some(event) = self.look().await {
                        return Some(event);
                    }
                }
                Step::Wait => {
                    let stop = self.phone.stop.clone();
                    tokio::select! {
                        () = stop.cancelled() => return None,
                        changed = self.seq.changed() => {
                            self.step = if changed.is_ok() { Step::Look } else { Step::End };
                        }
                        changed = self.ill.changed() => {
                            if changed.is_ok() {
                                return Some(self.health());
                            }
                            self.step = Step::End;
                        }
                        () = tokio::time::sleep(HEARTBEAT) => return Some(self.beat()),
                    }
                }
            }
        }
    }

    /// The first look always answers, so that the page knows at once that it is live.
    async fn look(&mut self) -> Option<Event> {
        self.seq.borrow_and_update(); // before looking, so that nothing between is missed
        match self.phone.changes_from(&self.person, &self.cursor).await {
            Ok(ContinueView::Changes(changes)) => {
                self.step = if changes.more { Step::Look } else { Step::Wait };
                self.cursor.clone_from(&changes.cursor);
                let event = Event::default().event("changes").id(&changes.cursor);
                Some(event.json_data(&changes).unwrap_or_else(|_| self.beat()))
            }
            Ok(ContinueView::Anew) => {
                self.step = Step::End;
                Some(Event::default().event("anew").data("{}"))
            }
            Err(failed) => {
                error!(error = %failed, "a live page lost its stream");
                self.step = Step::End; // the page comes again, from the same place
                None
            }
        }
    }

    /// The only thing pushed that is not in the log: it says why the log may be late.
    fn health(&mut self) -> Event {
        let ill = self.ill.borrow_and_update().clone();
        Event::default().event("health").json_data(ill).unwrap_or_else(|_| self.beat())
    }

    fn beat(&self) -> Event {
        Event::default().event("beat").data(self.phone.now_ms().to_string())
    }
}
