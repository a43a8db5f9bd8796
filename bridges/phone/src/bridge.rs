use async_trait::async_trait;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::sync::{Mutex, Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::error;
use vigie_core::{
    Timestamp,
    bridge::{
        Attention, Bridge, Inbox, Limits, Lost, Place, Repeats, Room, Said, Say, SayError, TextUnit,
    },
    id::{BridgeName, DeliveryId},
};

use crate::{
    Clock, NAME, OpenError, TEXT_LIMIT,
    hear::{Hushed, MOST_ASKS},
    store::{self, SayFailed, Store, StoreError},
};

/// Styled parts of one message; a long code listing with many hidden characters stays below it.
const SPANS: usize = 2000;

/// More messages in a row than this are tiresome on a phone; then one, and a document.
const PARTS: usize = 3;

/// What a failed write needs before it is worth another try.
const AFTER_A_FAILED_WRITE: Duration = Duration::from_secs(5);

/// Open pages that follow live, over all people. A page is a phone or a browser tab.
const LIVE_PAGES: usize = 64;

/// A page of the web part that the phone page's navigation shows. All three are put into HTML as
/// they are, which is why they must be literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub name: &'static str,
    /// Absolute: `/board`.
    pub path: &'static str,
    /// Of the drawings all pages share: `i-board`.
    pub icon: &'static str,
}

/// How long a refused update waits before it is handed in again: the first time `first`, then
/// four times as long each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    pub first: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { first: Duration::from_secs(2) }
    }
}

impl Retry {
    /// After so many refusals in a row; a count of 0 is read as 1.
    pub(crate) fn after(self, refusals: u32) -> Duration {
        self.first.saturating_mul(4_u32.saturating_pow(refusals.saturating_sub(1)))
    }
}

/// What the phone page needs from outside.
pub struct Options {
    pub clock: Clock,
    pub retry: Retry,
    /// Ends the live streams, so that a server which waits for its connections can stop.
    pub stop: CancellationToken,
    /// Other pages, after Chat and Waiting.
    pub links: Vec<Link>,
}

/// The chat service, and the adapter to it.
pub struct PhoneBridge {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) retry: Retry,
    pub(crate) stop: CancellationToken,
    pub(crate) links: Vec<Link>,
    /// The number of the log's last change: live pages wait for it to grow.
    pub(crate) seq: watch::Sender<i64>,
    /// Counts up with each update that is written down.
    pub(crate) arrived: watch::Sender<u64>,
    /// Counts up with each update that is taken or refused.
    pub(crate) settled: watch::Sender<u64>,
    /// Why Vigie cannot write to its disk, while it cannot.
    pub(crate) ill: watch::Sender<Option<String>>,
    /// Held by the one who listens.
    pub(crate) hearing: Mutex<()>,
    /// Pages that have to know whether somebody sleeps, for whoever listens.
    pub(crate) asks: mpsc::Sender<Hushed>,
    pub(crate) asked: Mutex<mpsc::Receiver<Hushed>>,
    pub(crate) live: Arc<Semaphore>,
}

impl PhoneBridge {
    /// Opens the log in `file`, or makes an empty one that only this user can read. It blocks for
    /// as long as the disk needs.
    pub fn open(file: &Path, options: Options) -> Result<Arc<Self>, OpenError> {
        let store = Store::open(file, (options.clock)().timestamp_millis())?;
        let (asks, asked) = mpsc::channel(MOST_ASKS);
        Ok(Arc::new(Self {
            store,
            clock: options.clock,
            retry: options.retry,
            stop: options.stop,
            links: options.links,
            seq: watch::Sender::new(0),
            arrived: watch::Sender::new(0),
            settled: watch::Sender::new(0),
            ill: watch::Sender::new(None),
            hearing: Mutex::new(()),
            asks,
            asked: Mutex::new(asked),
            live: Arc::new(Semaphore::new(LIVE_PAGES)),
        }))
    }

    /// Tells all open pages that Vigie cannot write to its disk and why, or with `None` that it can
    /// again. Kept in memory only: a disk that takes nothing would not take this either. Meanwhile
    /// no update is set aside, however often it is refused.
    pub fn health(&self, reason: Option<String>) {
        if *self.ill.borrow() != reason {
            self.ill.send_replace(reason);
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.now().timestamp_millis()
    }

    /// Tells live pages that the log grew.
    pub(crate) async fn changed(&self) -> Result<(), StoreError> {
        let last = self.store.run(|db| store::last_seq(db)).await?;
        self.seq.send_if_modified(|seq| std::mem::replace(seq, last) != last);
        Ok(())
    }
}

#[async_trait]
impl Bridge for PhoneBridge {
    fn name(&self) -> BridgeName {
        BridgeName::new(NAME)
    }

    fn limits(&self, _room: Room) -> Limits {
        Limits {
            repeats: Repeats::DroppedByService,
            attention: Attention::WhileOpen,
            ..Limits::of_text(TextUnit::Utf16, TEXT_LIMIT, SPANS, PARTS)
        }
    }

    async fn say(&self, place: &Place, say: &Say, key: DeliveryId) -> Result<Said, SayError> {
        let (ids, now) = (self.store.ids().clone(), self.now_ms());
        let (place, say) = (place.clone(), say.clone());
        let said = self.store.run(move |db| store::say(db, &ids, now, (&place, &say, key))).await;
        let said = said.map_err(decide)?;
        // It is said. That live pages hear of it at the next change only is no reason to say it again.
        if let Err(failed) = self.changed().await {
            error!(error = %failed, "live pages were not told of a change");
        }
        Ok(said)
    }

    async fn hear(&self, inbox: &dyn Inbox, stop: CancellationToken) -> Result<(), Lost> {
        tokio::select! {
            over = self.hand_in(inbox, &stop) => over,
            () = self.answer_pages(inbox) => Ok(()), // it never ends
        }
    }
}

/// A failed write left nothing behind, and a repeated key is dropped: saying it again is always safe.
fn decide(failed: SayFailed) -> SayError {
    match failed {
        SayFailed::Never(reason) => SayError::Never { reason },
        SayFailed::Store(failed) => {
            error!(error = %failed, "the phone page could not write down what was said");
            SayError::Later { after: AFTER_A_FAILED_WRITE }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_update_waits_longer_each_time() {
        let retry = Retry { first: Duration::from_secs(2) };
        assert_eq!([1, 2, 3].map(|times| retry.after(times).as_secs()), [2, 8, 32]);
    }
}
