//! Starts, stops and waits for tasks: the only place with `tokio::spawn`.
//!
//! Shutdown has two stages. Soft: every task's [`CancellationToken`] is cancelled and each finishes
//! what it accepted. Hard, at a second signal or at the deadline: what still runs is dropped where
//! it stands, which a crash could do as well and everything here must bear.

use futures_util::FutureExt;
use std::{
    any::Any,
    borrow::Cow,
    collections::BTreeMap,
    future::Future,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{error, info, warn};

/// Two signals are all that is ever acted on.
const SIGNALS: usize = 2;

/// The handle: cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tasks(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    tracker: TaskTracker,
    soft: CancellationToken,
    hard: CancellationToken,
    running: Mutex<Running>,
}

#[derive(Debug, Default)]
struct Running {
    next: u64,
    names: BTreeMap<u64, Cow<'static, str>>,
    panicked: Option<Panicked>,
}

/// A task of ours broke one of our own rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the task `{task}` panicked: {words}")]
pub struct Panicked {
    pub task: String,
    pub words: String,
}

/// How it all ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Every task came to its own end.
    Clean,
    /// These were dropped where they stood.
    Cut(Vec<String>),
}

impl Tasks {
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs `work` until it returns. It is told to stop by the token and should return soon after;
    /// a panic in it is said and stops everything.
    #[expect(clippy::disallowed_methods, reason = "this is what everybody else calls instead")]
    pub fn start<W, F>(&self, name: impl Into<Cow<'static, str>>, work: W)
    where
        W: FnOnce(CancellationToken) -> F,
        F: Future<Output = ()> + Send + 'static,
    {
        let work = AssertUnwindSafe(work(self.0.soft.clone())).catch_unwind();
        let inner = self.0.clone();
        let number = inner.enter(name.into());
        tokio::spawn(self.0.tracker.track_future(async move {
            let ended = tokio::select! {
                ended = work => ended,
                () = inner.hard.cancelled() => return, // stays in the list: it was cut
            };
            inner.leave(number, ended);
        }));
    }

    /// Asks every task to finish.
    pub fn stop(&self) {
        self.0.soft.cancel();
    }

    /// Cancelled once the soft stage has begun.
    pub fn stopping(&self) -> CancellationToken {
        self.0.soft.clone()
    }

    /// Waits for the first signal (or [`Tasks::stop`], or a panic), then for every task, at most
    /// `deadline` and not past a second signal.
    ///
    /// # Errors
    /// The first panic of a task; everything was stopped all the same.
    pub async fn finish(
        &self,
        mut signals: mpsc::Receiver<()>,
        deadline: Duration,
    ) -> Result<Finish, Panicked> {
        tokio::select! {
            () = self.0.soft.cancelled() => {}
            Some(()) = signals.recv() => info!("stopping; a second signal stops at once"),
        }
        self.0.soft.cancel();
        self.0.tracker.close();
        tokio::select! {
            () = self.0.tracker.wait() => {}
            Some(()) = signals.recv() => warn!("second signal, stopping at once"),
            () = tokio::time::sleep(deadline) => warn!(seconds = deadline.as_secs(), "tasks did not end in time"),
        }
        self.0.hard.cancel();
        self.0.tracker.wait().await;
        self.0.outcome()
    }
}

impl Inner {
    fn enter(&self, name: Cow<'static, str>) -> u64 {
        let mut running = self.running.lock().expect("nothing panics while it holds the list");
        running.next += 1;
        let number = running.next;
        running.names.insert(number, name);
        number
    }

    fn leave(&self, number: u64, ended: Result<(), Box<dyn Any + Send>>) {
        let mut running = self.running.lock().expect("nothing panics while it holds the list");
        let task = running.names.remove(&number).map(Cow::into_owned).unwrap_or_default();
        if let Err(payload) = ended {
            let words = panic_words(payload.as_ref());
            error!(task, words, "a task panicked, stopping");
            running.panicked.get_or_insert(Panicked { task, words });
            self.soft.cancel();
        }
    }

    fn outcome(&self) -> Result<Finish, Panicked> {
        let mut running = self.running.lock().expect("nothing panics while it holds the list");
        if let Some(panicked) = running.panicked.take() {
            return Err(panicked);
        }
        let cut: Vec<String> = running.names.values().map(ToString::to_string).collect();
        Ok(if cut.is_empty() { Finish::Clean } else { Finish::Cut(cut) })
    }
}

fn panic_words(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no words".into())
}

/// One message for each SIGTERM and SIGINT, for [`Tasks::finish`].
///
/// # Errors
/// When the system does not let us listen to signals.
pub fn signals(tasks: &Tasks) -> std::io::Result<mpsc::Receiver<()>> {
    let (tell, signals) = mpsc::channel(SIGNALS);
    let mut term = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let tracker_closed = tasks.0.hard.clone();
    // Not tracked: it must outlive the soft stage to hear the second signal.
    #[expect(clippy::disallowed_methods, reason = "ends with the hard stage, by its token")]
    tokio::spawn(async move {
        loop {
            tokio::select! {
                Some(()) = term.recv() => {}
                Some(()) = interrupt.recv() => {}
                () = tracker_closed.cancelled() => break,
            }
            if tell.try_send(()).is_err() {
                break; // two are waiting already, or nobody listens any more
            }
        }
    });
    Ok(signals)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(5);

    #[tokio::test]
    async fn every_task_finishes_what_it_has_after_the_first_signal() {
        let tasks = Tasks::new();
        let (done, mut finished) = mpsc::channel(1);
        tasks.start("worker", |stop| async move {
            stop.cancelled().await;
            done.send("last work").await.unwrap();
        });
        let (signal, signals) = mpsc::channel(2);
        signal.send(()).await.unwrap();

        assert_eq!(tasks.finish(signals, SOON).await, Ok(Finish::Clean));
        assert_eq!(finished.recv().await, Some("last work"));
    }

    #[tokio::test]
    async fn a_second_signal_drops_what_still_runs() {
        let tasks = Tasks::new();
        tasks.start("deaf", |_stop| std::future::pending());
        let (signal, signals) = mpsc::channel(2);
        signal.send(()).await.unwrap();
        signal.send(()).await.unwrap();

        let finish = tasks.finish(signals, Duration::from_hours(1)).await;
        assert_eq!(finish, Ok(Finish::Cut(vec!["deaf".into()])));
    }

    #[tokio::test]
    async fn the_deadline_drops_what_still_runs() {
        let tasks = Tasks::new();
        tasks.start("deaf", |_stop| std::future::pending());
        tasks.stop();
        let (_signal, signals) = mpsc::channel(2);
        let finish = tasks.finish(signals, Duration::from_millis(1)).await;
        assert_eq!(finish, Ok(Finish::Cut(vec!["deaf".into()])));
    }

    #[tokio::test]
    async fn a_panic_stops_the_others_and_is_said() {
        let tasks = Tasks::new();
        tasks.start("good", |stop| async move { stop.cancelled().await });
        tasks.start("bad", |_stop| async { panic!("a rule of ours broke") });
        let (_signal, signals) = mpsc::channel(2);
        let panicked = tasks.finish(signals, SOON).await.unwrap_err();
        assert_eq!(panicked.to_string(), "the task `bad` panicked: a rule of ours broke");
    }
}
