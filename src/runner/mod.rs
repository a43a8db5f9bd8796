//! Carries out steps of runs, one process an attempt, and tells what became of each. Decides nothing.
//!
//! The process (`vigie step`, in `keep`) outlives us, so what is known of an attempt is what its
//! folder says (`place`): a daemon that comes later reads the same there as the one that began it.

mod attempt;
mod denials;
pub mod javascript;
pub mod keep;
mod place;
mod prepare;
mod private_net;
mod records;
mod secrets;
mod task;
mod tidy;

pub use place::{complaints_path, output_path};
pub use secrets::secret;
pub use tidy::tidy;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio_util::sync::{CancellationToken, DropGuard};
use vigie_core::{
    decide::Event,
    id::RunId,
    ledger::{MOST_AT_ONCE, Used},
    run::{StepOrder, StepTold},
};
use vigie_workflow::{run::WorkKind, value::StepPath};

use crate::{hub::Hub, sessions::Ground, tasks::Tasks};
use attempt::{Attempt, Came};
use records::Live;

/// Between two looks at what an agent's models were paid for; an answer takes longer, mostly.
const LOOK: Duration = Duration::from_secs(2);

/// The effects' way to steps.
pub struct Runner {
    ground: Ground,
    tasks: Tasks,
    hub: Hub,
    running: Running,
}

type Key = (RunId, StepPath, u32);

/// The attempts that somebody sees to here, and how each is told to stop. The core says how many
/// there may be.
#[derive(Clone, Default)]
struct Running(Arc<Mutex<HashMap<Key, CancellationToken>>>);

impl Runner {
    pub fn start(ground: &Ground, tasks: &Tasks, hub: &Hub) -> Self {
        let (ground, tasks, hub) = (ground.clone(), tasks.clone(), hub.clone());
        Self { ground, tasks, hub, running: Running::default() }
    }

    /// Does not wait: what becomes of it is told to the hub. An order that is being carried out is
    /// not carried out twice.
    pub fn carry_out(&self, order: StepOrder) {
        let key = (order.run, order.step.clone(), order.attempt);
        let Some(cancel) = self.running.enter(&key) else { return };
        let attempt = self.attempt(key, cancel);
        let follows = matches!(order.work.what, WorkKind::Claude(_));
        let follow = follows.then(|| self.follow(&attempt));
        self.see_to(
            async move |attempt| {
                let came = attempt.carry_out(order).await;
                drop(follow);
                came
            },
            attempt,
        );
    }

    /// Tells what an attempt's agent has cost while it works, until the guard is dropped: budgets stop
    /// it before all is spent.
    fn follow(&self, attempt: &Attempt) -> DropGuard {
        let over = CancellationToken::new();
        let guard = over.clone().drop_guard();
        let (hub, data) = (self.hub.clone(), self.ground.data.clone());
        let (run, step, number) = (attempt.run, attempt.step.clone(), attempt.number);
        self.tasks.start("usage of a step", move |stop| async move {
            let mut live = Live::default();
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = over.cancelled() => return,
                    () = tokio::time::sleep(LOOK) => {}
                }
                let (data, of) = (data.clone(), step.clone());
                let read = tokio::task::spawn_blocking(move || {
                    let used = live.read(&data, run, &of, number);
                    (live, used)
                });
                // It panics or it is there: no work that was begun is taken back.
                let Ok((next, used)) = read.await else { return };
                live = next;
                tell_used(&hub, run, &step, number, &used).await;
            }
        });
        guard
    }

    /// Stops its agent, which goes on later.
    pub fn put_off(&self, run: RunId, step: &StepPath, attempt: u32) {
        attempt::put_off(&self.ground.data, run, step, attempt);
    }

    /// Ends it with all its processes, if it runs; what is not carried out by anybody is cancelled.
    pub fn stop(&self, run: RunId, step: StepPath, attempt: u32) {
        let key = (run, step, attempt);
        let Some(cancel) = self.running.enter(&key) else { return self.running.cancel(&key) };
        cancel.cancel();
        let attempt = self.attempt(key, cancel);
        self.see_to(async move |attempt| attempt.stop().await.map(Came::Told), attempt);
    }

    fn attempt(&self, (run, step, number): Key, cancel: CancellationToken) -> Attempt {
        let leave = self.tasks.stopping();
        Attempt { ground: self.ground.clone(), run, step, number, cancel, leave }
    }

    fn see_to<F>(&self, work: impl FnOnce(Attempt) -> F + Send + 'static, attempt: Attempt)
    where
        F: Future<Output = Option<Came>> + Send + 'static,
    {
        let key = (attempt.run, attempt.step.clone(), attempt.number);
        let (hub, running) = (self.hub.clone(), self.running.clone());
        let data = self.ground.data.clone();
        let work = work(attempt);
        self.tasks.start("step", move |_| async move {
            let came = work.await;
            // Before it is told: what follows from that may be the next order for it.
            running.leave(&key);
            if let Some(came) = came {
                let (run, step, attempt) = key;
                let folder = place::latest(&data, run, &step, attempt).map(|(folder, _)| folder);
                let denied = folder.map(|folder| denials::read(&folder)).unwrap_or_default();
                tell_usage(&hub, data, run, &step, attempt).await;
                let event = match came {
                    Came::Told(told) => Event::Step(StepTold { run, step, attempt, told, denied }),
                    Came::PutOff(put_off) => {
                        Event::StepPutOff { run, step, attempt, put_off, denied }
                    }
                };
                hub.tell(event).await;
            }
        });
    }
}

/// Tells what its agent's models were paid for; what is told again counts once.
async fn tell_usage(hub: &Hub, data: PathBuf, run: RunId, step: &StepPath, attempt: u32) {
    let of = step.clone();
    let read = tokio::task::spawn_blocking(move || records::read(&data, run, &of, attempt));
    // It panics or it is there: no work that was begun is taken back.
    let Ok(used) = read.await else { return };
    tell_used(hub, run, step, attempt, &used).await;
}

async fn tell_used(hub: &Hub, run: RunId, step: &StepPath, attempt: u32, used: &[Used]) {
    for entries in used.chunks(MOST_AT_ONCE) {
        let (step, entries) = (step.clone(), entries.to_vec());
        hub.tell(Event::StepUsed { run, step, attempt, entries }).await;
    }
}

impl Running {
    fn all(&self) -> MutexGuard<'_, HashMap<Key, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None`: somebody is at it.
    fn enter(&self, key: &Key) -> Option<CancellationToken> {
        let mut all = self.all();
        if all.contains_key(key) {
            return None;
        }
        let cancel = CancellationToken::new();
        all.insert(key.clone(), cancel.clone());
        Some(cancel)
    }

    fn cancel(&self, key: &Key) {
        if let Some(cancel) = self.all().get(key) {
            cancel.cancel();
        }
    }

    fn leave(&self, key: &Key) {
        self.all().remove(key);
    }
}
