//! Starts a program, waits for it, and ends everything that it started.

use nix::{
    errno::Errno,
    sys::{
        signal::Signal,
        wait::{WaitStatus, waitpid},
    },
};
use std::{
    io::Write as _,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{ChildStderr, ChildStdout, Command, Stdio},
    sync::mpsc::SyncSender,
    thread,
    time::{Duration, Instant},
};
use vigie_workflow::run::Outcome;

use super::{Event, Keeper, pour};
use crate::{
    confine::{self, Confinement, Task as Confined},
    hold::tree,
};

/// Between TERM and KILL, for what wants to leave in order.
pub(super) const GRACE: Duration = Duration::from_secs(5);
/// Between two rounds of KILL: what is killed may just be starting others.
const SWEEP: Duration = Duration::from_millis(20);
/// A process that survives KILL this long sits in the kernel; nothing more can be done.
const GIVE_UP: Duration = Duration::from_secs(5);
/// What ended leaves nothing behind, mostly; then this is not waited for.
const MOMENT: Duration = Duration::from_millis(20);

/// How a program ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Code(i32),
    Signal(i32),
}

/// What to run, besides what the task says for all of it.
pub(super) struct Program<'a> {
    pub name: &'a str,
    pub args: &'a [String],
    /// Nothing: it reads an end.
    pub input: Option<String>,
    /// On top of the task's.
    pub env: &'a [(&'a str, &'a str)],
    /// Between TERM and KILL; `None`: it leaves nothing behind that would need any order.
    pub grace: Option<Duration>,
    /// Whether it can stop in the middle and go on later.
    pub goes_on: bool,
}

type Taker<From> = Box<dyn FnOnce(From, &SyncSender<Event>) + Send>;

/// Who takes what it prints: each runs in a thread of its own.
pub(super) struct Takers {
    pub out: Taker<ChildStdout>,
    pub err: Taker<ChildStderr>,
}

/// How it went.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ran {
    Exited(Status),
    TimedOut,
    Cancelled,
    /// It stops, and goes on later.
    PutOff,
    /// We are to leave.
    BrokenOff,
    /// As a sentence.
    Failed(String),
}

impl Ran {
    /// What that means where a program is to exit with 0; `Err`: its status. `None`: broken off.
    pub(super) fn outcome(self) -> Option<Result<Outcome, Status>> {
        Some(match self {
            Self::Exited(Status::Code(0)) => Ok(Outcome::Done),
            Self::Exited(status) => Err(status),
            Self::TimedOut => Ok(Outcome::TimedOut),
            Self::Cancelled | Self::PutOff => Ok(Outcome::Cancelled),
            Self::Failed(why) => Ok(Outcome::Failed { why }),
            Self::BrokenOff => return None,
        })
    }
}

impl Keeper {
    /// Runs it confined, in the step's folder and environment, at most until `deadline`. When this
    /// returns, nothing of it runs any more.
    pub(super) fn run(&mut self, what: Program<'_>, takers: Takers, deadline: Instant) -> Ran {
        let confinement = self.task.confinement.clone();
        // Whatever the workflow says must not mean anything to what confines the program.
        let named: fn(&str) -> String =
            if confinement.is_some() { confine::carried } else { str::to_owned };
        let mut command = command(confinement, &self.task.cwd, what.name, what.args);
        command
            .env_clear()
            .envs(self.task.env.iter().map(|(name, value)| (named(name), value)))
            .envs(what.env.iter().map(|(name, value)| (named(name), value)))
            .stdin(if what.input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0); // what it sends to its own group does not reach us
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                return Ran::Failed(format!("`{}` does not start: {error}", what.name));
            }
        };
        let pid = child.id();
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), what.input) {
            // Whoever does not read it all is not made to.
            self.aside("input", move |_| drop(stdin.write_all(input.as_bytes())));
        }
        let mut open = 0;
        if let Some(out) = child.stdout.take() {
            open += 1;
            self.aside("output", move |tell| {
                (takers.out)(out, tell);
                let _ = tell.send(Event::Closed);
            });
        }
        if let Some(err) = child.stderr.take() {
            open += 1;
            self.aside("complaints", move |tell| {
                (takers.err)(err, tell);
                let _ = tell.send(Event::Closed);
            });
        }
        self.aside("reaper", move |tell| reap(pid, tell));
        self.see_out(open, deadline, what.grace, what.goes_on)
    }

    /// Waits for the program, then for all that it started, then for what they printed.
    fn see_out(
        &mut self,
        mut open: usize,
        deadline: Instant,
        grace: Option<Duration>,
        goes_on: bool,
    ) -> Ran {
        let mut ran = None;
        let mut none_left = false;
        while ran.is_none() {
            match self.next_until(deadline) {
                Some(Event::Exited(status)) => ran = Some(Ran::Exited(status)),
                Some(Event::NoneLeft) => {
                    none_left = true;
                    ran = Some(Ran::Failed("nobody knows how it ended".into()));
                }
                Some(Event::Closed) => open = open.saturating_sub(1),
                Some(Event::TooMuch) => ran = Some(too_much()),
                Some(Event::Broken(why)) => ran = Some(Ran::Failed(why)),
                Some(Event::Cancel) => ran = Some(Ran::Cancelled),
                Some(Event::PutOff) if goes_on => ran = Some(Ran::PutOff),
                // Of nothing that is a program; and a check, which is done with soon.
                Some(Event::Answered(_) | Event::PutOff) => {}
                Some(Event::Leave) => ran = Some(Ran::BrokenOff),
                None => ran = Some(Ran::TimedOut),
            }
        }
        let mut ran = ran.unwrap_or(Ran::TimedOut);
        let us = std::process::id();
        let exited = matches!(ran, Ran::Exited(_));
        if exited && !none_left {
            none_left = self.until_none(Instant::now() + MOMENT, &mut open, &mut ran);
        }
        if let Some(grace) = grace
            && !none_left
        {
            tree::signal_all(us, Signal::SIGTERM);
            none_left = self.until_none(Instant::now() + grace, &mut open, &mut ran);
        }
        let end = Instant::now() + GIVE_UP;
        while !none_left && Instant::now() < end {
            tree::signal_all(us, Signal::SIGKILL);
            none_left = self.until_none(Instant::now() + SWEEP, &mut open, &mut ran);
        }
        // Nobody holds its outputs any more, so they end with what is in them.
        let end = Instant::now() + GIVE_UP;
        while open > 0
            && let Some(event) = self.next_until(end)
        {
            late(event, &mut open, &mut ran);
        }
        ran
    }

    /// Whether nothing lives below us by then.
    fn until_none(&mut self, by: Instant, open: &mut usize, ran: &mut Ran) -> bool {
        while let Some(event) = self.next_until(by) {
            if matches!(event, Event::NoneLeft) {
                return true;
            }
            late(event, open, ran);
        }
        false
    }

    pub(super) fn next_until(&self, deadline: Instant) -> Option<Event> {
        // We hold a sender ourselves, so that only the time can be over.
        self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
    }

    pub(super) fn aside(&self, name: &str, work: impl FnOnce(&SyncSender<Event>) + Send + 'static) {
        let tell = self.tell.clone();
        let thread = thread::Builder::new().name(name.into()).stack_size(pour::STACK);
        if let Err(error) = thread.spawn(move || work(&tell)) {
            // Nothing has to be waited for that does not run.
            let _ = self.tell.try_send(Event::Broken(format!("a thread does not start: {error}")));
        }
    }
}

/// What comes while all of it is being ended.
fn late(event: Event, open: &mut usize, ran: &mut Ran) {
    match event {
        Event::Closed => *open = open.saturating_sub(1),
        // What it printed is part of how it went.
        Event::TooMuch if matches!(ran, Ran::Exited(_)) => *ran = too_much(),
        Event::Broken(why) if matches!(ran, Ran::Exited(_)) => *ran = Ran::Failed(why),
        Event::Leave => *ran = Ran::BrokenOff,
        Event::Cancel if *ran == Ran::PutOff => *ran = Ran::Cancelled,
        Event::Exited(_)
        | Event::NoneLeft
        | Event::TooMuch
        | Event::Broken(_)
        | Event::Cancel
        | Event::PutOff
        | Event::Answered(_) => {}
    }
}

fn too_much() -> Ran {
    Ran::Failed(format!("it printed more than {} GiB", pour::MOST >> 30))
}

/// Buries everything that dies below us until there is nothing left.
fn reap(program: u32, tell: &SyncSender<Event>) {
    loop {
        let (pid, status) = match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) => (pid, Status::Code(code)),
            Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, Status::Signal(signal as i32)),
            Ok(_) | Err(Errno::EINTR) => continue,
            Err(_) => break, // ECHILD: none is left
        };
        if u32::try_from(pid.as_raw()).is_ok_and(|pid| pid == program) {
            let _ = tell.send(Event::Exited(status));
        }
    }
    let _ = tell.send(Event::NoneLeft);
}

/// The program, behind what confines it.
fn command(
    confinement: Option<Confinement>,
    cwd: &Path,
    program: &str,
    args: &[String],
) -> Command {
    if let Some(confinement) = confinement {
        let mut command = Command::new(crate::confine::OURSELVES);
        command.arg0("vigie").args(Confined::new(confinement, cwd, program, args).arguments());
        return command;
    }
    let mut command = Command::new(program);
    command.args(args).current_dir(cwd);
    command
}
