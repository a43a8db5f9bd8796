//! Looks after the folders while Vigie runs, and tells the hub when something in them changed.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, MissedTickBehavior, interval, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use vigie_core::{decide::Event, run::Origin};

use super::{
    catalog::{Reading, build},
    folder::{FolderRead, Listing, read_if_changed},
    places::Place,
};
use crate::{clock::Clock, hub::Hub, tasks::Tasks};

/// Between two looks that nobody asked for; a look costs a name and a stamp for each file.
const EVERY: Duration = Duration::from_secs(5);
/// A folder that is not read by then lies on a disk that does not answer: the others go on.
const ONE_LOOK: Duration = Duration::from_secs(4);
/// Whoever asks for a look goes on with what is known after this.
const ASKED_LOOK: Duration = Duration::from_secs(5);
/// Askers at once; whoever comes later waits for room, within the same time.
const ASKERS: usize = 64;

/// The handle: cheap to clone.
#[derive(Clone, Debug)]
pub struct Workflows {
    now: watch::Receiver<Arc<Reading>>,
    asks: mpsc::Sender<oneshot::Sender<()>>,
    /// The person's own folder, where new ones go.
    own: Option<PathBuf>,
}

impl Workflows {
    /// Where the person's own lie, there or not; `None`: nowhere.
    pub fn own(&self) -> Option<&Path> {
        self.own.as_deref()
    }

    /// What is known now.
    pub fn now(&self) -> Arc<Reading> {
        self.now.borrow().clone()
    }

    /// Looks at the files again. When it returns, the hub knows what changed, unless a disk does not
    /// answer.
    pub async fn look(&self) -> Arc<Reading> {
        let (answer, answered) = oneshot::channel();
        let asked = async {
            if self.asks.send(answer).await.is_ok() {
                // Nobody answers any more when Vigie stops; what is known is good enough then.
                let _ = answered.await;
            }
        };
        if timeout(ASKED_LOOK, asked).await.is_err() {
            warn!("a look at the workflows took too long; going on with what is known");
        }
        self.now()
    }

    /// One that never changes.
    pub fn fixed(reading: Reading) -> Self {
        let (_, now) = watch::channel(Arc::new(reading));
        let (asks, _) = mpsc::channel(1);
        Self { now, asks, own: None }
    }
}

/// Starts looking after `places`.
pub fn start(tasks: &Tasks, hub: &Hub, clock: Clock, places: Vec<Place>) -> Workflows {
    let (tell, now) = watch::channel(Arc::new(Reading::default()));
    let (asks, waiting) = mpsc::channel(ASKERS);
    let own = places.iter().find(|place| place.origin == Origin::Own);
    let own = own.map(|place| place.folder.clone());
    let folders = places.into_iter().map(Folder::new).collect();
    let worker = Worker { folders, hub: hub.clone(), clock, tell };
    tasks.start("workflows", move |stop| worker.run(waiting, stop));
    Workflows { now, asks, own }
}

struct Worker {
    folders: Vec<Folder>,
    hub: Hub,
    clock: Clock,
    tell: watch::Sender<Arc<Reading>>,
}

/// One place, what it had in it, and a look that is under way.
struct Folder {
    place: Place,
    read: FolderRead,
    before: Option<Listing>,
    looking: Option<oneshot::Receiver<Option<FolderRead>>>,
}

impl Folder {
    fn new(place: Place) -> Self {
        Self { place, read: FolderRead::default(), before: None, looking: None }
    }

    /// On a thread of its own, for good: a disk that does not answer would hold up the end of Vigie
    /// on any thread that somebody waits for.
    fn begin(&mut self, clock: &Clock) {
        if self.looking.is_some() {
            return; // the one before hangs still
        }
        let (place, before, now) = (self.place.clone(), self.before.clone(), clock.now());
        let (found, looking) = oneshot::channel();
        let work = move || {
            // Whoever waited may have stopped.
            let _ = found.send(read_if_changed(&place, before.as_ref(), now));
        };
        match thread::Builder::new().name("workflows".into()).spawn(work) {
            Ok(_) => self.looking = Some(looking),
            Err(error) => warn!(%error, "no thread for a look at workflows"),
        }
    }

    /// Whether something is other than before.
    async fn end(&mut self, by: Instant) -> bool {
        let Some(looking) = &mut self.looking else { return false };
        let Ok(found) = timeout_at(by, looking).await else {
            warn!(folder = %self.place.folder.display(), "a folder with workflows does not answer");
            return false;
        };
        self.looking = None;
        match found {
            Ok(Some(read)) => {
                if let Some(fault) = read.fault.as_ref().filter(|_| read.fault != self.read.fault) {
                    warn!(fault, "workflows are missing");
                }
                self.before = Some(read.listing.clone());
                self.read = read;
                true
            }
            Ok(None) => false,
            Err(_) => {
                warn!(folder = %self.place.folder.display(), "a look at workflows broke off");
                false
            }
        }
    }
}

impl Worker {
    async fn run(
        mut self,
        mut waiting: mpsc::Receiver<oneshot::Sender<()>>,
        stop: CancellationToken,
    ) {
        let mut pace = interval(EVERY);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut askers = Vec::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                asker = waiting.recv() => match asker {
                    Some(asker) => askers.push(asker),
                    None => return,
                },
                _ = pace.tick() => {}
            }
            // Whoever comes while we look waits for the next look.
            while askers.len() < ASKERS
                && let Ok(asker) = waiting.try_recv()
            {
                askers.push(asker);
            }
            self.look().await;
            for asker in askers.drain(..) {
                // Whoever asked may have gone.
                let _ = asker.send(());
            }
        }
    }

    async fn look(&mut self) {
        for folder in &mut self.folders {
            folder.begin(&self.clock);
        }
        let by = Instant::now() + ONE_LOOK;
        let mut changed = false;
        for folder in &mut self.folders {
            changed |= folder.end(by).await;
        }
        // What ships with Vigie is there however the folders do.
        if !changed && !self.tell.borrow().files.is_empty() {
            return;
        }
        let reading = build(self.folders.iter().map(|folder| &folder.read));
        if reading == **self.tell.borrow() {
            return;
        }
        let broken = reading.files.iter().filter(|file| file.workflow.is_none()).count();
        info!(workflows = reading.catalog.all.len(), broken, "workflows were read");
        self.hub.tell(Event::Catalog(reading.catalog.clone())).await;
        self.tell.send_replace(Arc::new(reading));
    }
}
