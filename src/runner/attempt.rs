//! One attempt, from the order to what became of it. It may be dropped at any point: all it knows
//! stands in the folder.

use nix::sys::signal::{Signal, kill};
use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    process::Stdio,
    time::Duration,
};
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, Command},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use tracing::warn;
use vigie_core::{
    id::RunId,
    run::{PutOff, StepHow, StepOrder},
};
use vigie_workflow::{
    run::{Ended, Outcome, Told},
    value::StepPath,
};

use super::{
    place::{self, ENDED, FAILED, MOST_ANSWERS, STOP, Standing},
    prepare,
    task::{Left, Talk},
};
use crate::{
    hold::{environment, tree},
    sessions::Ground,
};

/// Between two looks at a process that is not our child: soon at first, then rarely.
const LOOK: Duration = Duration::from_millis(5);
const LONGEST_LOOK: Duration = Duration::from_millis(500);
/// Longer than a process takes to end what it started: TERM, 5 s, KILL, 5 s, its outputs, 5 s.
const STOPPING: Duration = Duration::from_secs(30);

/// What became of it.
pub(super) enum Came {
    Told(Told),
    /// Its agent stopped, and goes on later.
    PutOff(PutOff),
}

/// Tells the process of an attempt that its agent is to stop and goes on later; where there is none,
/// nothing is to be stopped.
pub(super) fn put_off(data: &Path, run: RunId, step: &StepPath, attempt: u32) {
    let latest = place::latest(data, run, step, attempt);
    let alive = latest.filter(|(folder, _)| place::alive(folder));
    if let Some(pid) = alive.and_then(|(folder, _)| place::holder(&folder))
        && let Err(error) = kill(tree::as_pid(pid), Signal::SIGUSR2)
    {
        warn!(%run, %step, reason = %error, "a step could not be told to go on later");
    }
}

pub(super) struct Attempt {
    pub ground: Ground,
    pub run: RunId,
    pub step: StepPath,
    pub number: u32,
    /// It is to be stopped.
    pub cancel: CancellationToken,
    /// We are to leave; it goes on.
    pub leave: CancellationToken,
}

impl Attempt {
    /// `None`: we leave, and whoever comes next tells.
    pub(super) async fn carry_out(self, order: StepOrder) -> Option<Came> {
        let answers = match &order.how {
            StepHow::Begin => 0,
            StepHow::Adopt => self.latest().map_or(0, |(_, answers)| answers),
            StepHow::GoOn { asks, .. } => self.last_after(self.answers_to(&asks.call)),
            StepHow::Again { .. } => self.latest().map_or(0, |(folder, answers)| {
                answers + u32::from(matches!(read(&folder), Ok(Left::PutOff(_))))
            }),
        };
        let folder = place::folder(&self.ground.data, self.run, &self.step, self.number, answers);
        let mut tries = 0;
        loop {
            match Standing::of(&folder) {
                Standing::Ended => return Some(self.ended(&folder)),
                Standing::Gone => return Some(Came::Told(self.gone().await)),
                Standing::Runs => self.watch(&folder).await?,
                Standing::Never if self.cancel.is_cancelled() => {
                    return Some(Came::Told(cancelled()));
                }
                Standing::Never if tries > 0 => {
                    return Some(Came::Told(failed(left_early(&folder))));
                }
                Standing::Never => {
                    tries += 1;
                    match self.begin(&folder, &order).await? {
                        Ok(()) => {}
                        Err(why) => return Some(Came::Told(failed(why))),
                    }
                }
            }
        }
    }

    /// Nobody sees to it here; it may run all the same.
    pub(super) async fn stop(self) -> Option<Told> {
        let Some((folder, _)) = self.latest() else { return Some(cancelled()) };
        loop {
            match Standing::of(&folder) {
                Standing::Ended => {
                    return Some(match self.ended(&folder) {
                        // Nobody answers any more, and it does not go on.
                        Came::Told(Told::Asks(_)) | Came::PutOff(_) => cancelled(),
                        Came::Told(told @ (Told::Ended(_) | Told::Gone)) => told,
                    });
                }
                Standing::Runs => self.watch(&folder).await?,
                Standing::Gone => return Some(self.gone().await),
                Standing::Never => return Some(cancelled()),
            }
        }
    }

    fn latest(&self) -> Option<(std::path::PathBuf, u32)> {
        place::latest(&self.ground.data, self.run, &self.step, self.number)
    }

    /// How many answers come before what follows the answer to that call.
    fn answers_to(&self, call: &str) -> u32 {
        let folder =
            |answers| place::folder(&self.ground.data, self.run, &self.step, self.number, answers);
        let asked = (0..MOST_ANSWERS).take_while(|answers| folder(*answers).is_dir()).find(
            |answers| matches!(read(&folder(*answers)), Ok(Left::Asks(asks)) if asks.call == call),
        );
        // What asked was tidied away: what it asks for is in the order.
        asked.or_else(|| self.latest().map(|(_, answers)| answers)).map_or(1, |asked| asked + 1)
    }

    /// The last of those that follow it, each since the one before was put off.
    fn last_after(&self, answers: u32) -> u32 {
        let folder =
            |answers| place::folder(&self.ground.data, self.run, &self.step, self.number, answers);
        let put_off = |answers| matches!(read(&folder(answers)), Ok(Left::PutOff(_)));
        let next = |answers: &u32| {
            let next = answers + 1;
            (put_off(*answers) && folder(next).is_dir()).then_some(next)
        };
        std::iter::successors(Some(answers), next).last().unwrap_or(answers)
    }

    /// Starts its process, and returns when that is gone. `None`: we leave before.
    async fn begin(&self, folder: &Path, order: &StepOrder) -> Option<Result<(), String>> {
        let answered = match &order.how {
            StepHow::GoOn { asks, answer } => Some(Talk::Answered {
                asks: asks.clone(),
                allow: answer.allow,
                words: answer.words.clone(),
            }),
            StepHow::Again { conversation, spent } => {
                Some(Talk::Again { id: conversation.clone(), spent: *spent })
            }
            StepHow::Begin | StepHow::Adopt => None,
        };
        let since = order.work.since;
        let first = place::folder(&self.ground.data, self.run, &self.step, since, 0);
        let prepared = tokio::select! {
            () = self.leave.cancelled() => return None,
            () = self.cancel.cancelled() => return Some(Ok(())),
            prepared = prepare::task(&self.ground, order, answered, first) => prepared,
        };
        let started = prepared.and_then(|task| {
            let task = serde_json::to_vec(&task).map_err(|error| error.to_string())?;
            let _ = fs::remove_file(folder.join(FAILED)); // usually there is none
            let child = place::make(folder).and_then(|()| start(&self.ground.binary, folder));
            let child = child.map_err(|error| format!("its process does not start: {error}"))?;
            Ok((child, task))
        });
        let (mut child, task) = match started {
            Ok(started) => started,
            Err(why) => return Some(Err(why)),
        };
        if let Some(mut stdin) = child.stdin.take() {
            tokio::select! {
                () = self.leave.cancelled() => return None, // half a task is none
                // A process that left says why in its folder.
                _ = stdin.write_all(&task) => {}
            }
        }
        self.wait_for(child, folder).await.map(Ok)
    }

    async fn wait_for(&self, mut child: Child, folder: &Path) -> Option<()> {
        tokio::select! {
            () = self.leave.cancelled() => return None,
            _ = child.wait() => return Some(()),
            () = self.cancel.cancelled() => {}
        }
        self.end(folder, async { drop(child.wait().await) }).await
    }

    /// The same for a process that another daemon started.
    async fn watch(&self, folder: &Path) -> Option<()> {
        let over = async || {
            let mut pause = LOOK;
            while place::alive(folder) {
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_LOOK);
            }
        };
        tokio::select! {
            () = self.leave.cancelled() => return None,
            () = over() => return Some(()),
            () = self.cancel.cancelled() => {}
        }
        self.end(folder, over()).await
    }

    /// Tells its process to stop, and waits until it is gone.
    async fn end(&self, folder: &Path, over: impl Future<Output = ()>) -> Option<()> {
        if let Err(error) = tell_to_stop(folder) {
            warn!(run = %self.run, step = %self.step, reason = %error, "a step could not be told to stop");
        }
        tokio::pin!(over);
        let end = Instant::now() + STOPPING;
        tokio::select! {
            () = self.leave.cancelled() => return None,
            () = &mut over => return Some(()),
            () = tokio::time::sleep_until(end) => {}
        }
        warn!(run = %self.run, step = %self.step, "a step does not stop; its process is killed");
        if let Some(pid) = place::holder(folder) {
            let _ = kill(tree::as_pid(pid), Signal::SIGKILL); // gone already is what we want
        }
        tokio::select! {
            () = self.leave.cancelled() => None,
            () = over => Some(()),
        }
    }

    /// Its process was killed; what it had started may be there still.
    async fn gone(&self) -> Told {
        let marks = prepare::marks(self.run, &self.step, self.number);
        tree::kill_all(|| marked(&marks)).await;
        if self.cancel.is_cancelled() { cancelled() } else { Told::Gone }
    }

    fn ended(&self, folder: &Path) -> Came {
        match read(folder) {
            Ok(Left::Ended(ended)) => Came::Told(Told::Ended(ended)),
            Ok(Left::Asks(asks)) => Came::Told(Told::Asks(asks)),
            Ok(Left::PutOff(put_off)) => Came::PutOff(put_off),
            Err(error) => {
                warn!(run = %self.run, step = %self.step, reason = %error, "how a step ended does not read");
                // It did end: begun again it would leave the same.
                Came::Told(failed(format!("its result does not read: {error}")))
            }
        }
    }
}

fn read(folder: &Path) -> io::Result<Left> {
    Ok(serde_json::from_slice(&fs::read(folder.join(ENDED))?)?)
}

fn failed(why: String) -> Told {
    Told::Ended(Ended::of(Outcome::Failed { why }))
}

fn cancelled() -> Told {
    Told::Ended(Ended::of(Outcome::Cancelled))
}

fn left_early(folder: &Path) -> String {
    let why = fs::read_to_string(folder.join(FAILED)).unwrap_or_default();
    let why = if why.is_empty() { "it was killed before it began" } else { why.as_str() };
    format!("its process did not start: {why}")
}

/// The process leads its own session and outlives us. It has nothing of our environment but what it
/// takes to find programs.
fn start(binary: &Path, folder: &Path) -> io::Result<Child> {
    let mut command = Command::new(binary);
    command
        .arg0("vigie") // by this name it is known for what it is
        .arg("step")
        .arg(folder)
        .current_dir("/")
        .env_clear()
        .envs(environment::cleaned().into_iter().filter(|(name, _)| name == "PATH"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn()
}

/// Written first and signalled then: the process looks for the file once it can be signalled.
fn tell_to_stop(folder: &Path) -> io::Result<()> {
    place::make(folder)?;
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(folder.join(STOP))?;
    if let Some(pid) = place::holder(folder) {
        kill(tree::as_pid(pid), Signal::SIGUSR1)?;
    }
    Ok(())
}

/// The processes whose environment carries all of these. Linux only.
fn marked(marks: &[(String, String)]) -> Vec<u32> {
    let marks: Vec<String> = marks.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let carries = |pid: u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let variables: Vec<&[u8]> = environment.split(|byte| *byte == 0).collect();
        marks.iter().all(|mark| variables.contains(&mark.as_bytes()))
    };
    let living = tree::processes().into_iter().filter(|process| !process.dead);
    living.map(|process| process.pid).filter(|pid| carries(*pid)).collect()
}
