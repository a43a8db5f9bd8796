//! A runner on a folder of its own, as the daemon has it, and orders for it.
#![allow(dead_code, reason = "each test file uses its part")]

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    fs,
    os::unix::{
        fs::{DirBuilderExt as _, PermissionsExt as _},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    sync::{Mutex, mpsc},
    time::timeout,
};
use vigie::{
    config::{Config, Surroundings},
    confine::{Lacking, Protection},
    hub::{Hub, Mail},
    runner::{self, Runner},
    sessions::Ground,
    tasks::{Finish, Tasks},
};
use vigie_core::{
    Timestamp,
    decide::Event,
    id::{ProjectName, RunId},
    run::{PutOff, PutOffBy, StepHow, StepOrder},
};
use vigie_workflow::{
    language::OutputForm,
    run::{Ended, Outcome, ShellWork, Told, Work, WorkKind},
};

use super::confinement;

pub(crate) const VIGIE: &str = env!("CARGO_BIN_EXE_vigie");
/// A machine may be busy with other tests.
pub(crate) const DEADLINE: Duration = Duration::from_mins(2);

pub(crate) struct Yard {
    pub home: Arc<TempDir>,
    pub runner: Runner,
    pub ground: Ground,
    tasks: Tasks,
    mail: Mutex<mpsc::Receiver<Mail>>,
    number: Arc<AtomicU32>,
    run: RunId,
}

impl Yard {
    pub(crate) async fn new() -> Self {
        Self::configured("").await
    }

    /// `TOKEN` is for `release`.
    pub(crate) async fn with_secret(value: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("token");
        fs::write(&file, format!("{value}\n")).unwrap();
        let more = format!(
            "[[secret]]\nname = \"TOKEN\"\nfile = \"{}\"\nworkflows = [\"release\"]\n",
            file.display(),
        );
        Self::at(Arc::new(home), &more).await
    }

    pub(crate) async fn configured(more: &str) -> Self {
        Self::at(Arc::new(tempfile::tempdir().unwrap()), more).await
    }

    pub(crate) async fn at(home: Arc<TempDir>, more: &str) -> Self {
        let root = fs::canonicalize(home.path()).unwrap();
        fs::create_dir_all(root.join("data")).unwrap();
        fs::create_dir_all(root.join("quay")).unwrap();
        let around = Surroundings {
            home: root.clone(),
            data: root.join("data"),
            config: root.join("config.toml"),
            user: "ines".into(),
            shell: "/bin/sh".into(),
            claude: None,
        };
        let project = root.join("quay");
        let text = format!(
            "[[project]]\nname = \"quay\"\npath = \"{}\"\nagent = \"shell\"\n{more}",
            project.display()
        );
        let config = Config::parse(&text, &around).unwrap();
        let offered = confinement::offered().await;
        let lacking = Protection::ALL.into_iter().filter(|one| !offered.contains(one));
        let lacking: Vec<_> =
            lacking.map(|protection| Lacking { protection, why: String::new() }).collect();
        let secrets = root.join("token");
        let ground = Ground {
            config: Arc::new(config),
            data: root.join("data"),
            binary: VIGIE.into(),
            address: tokio::sync::watch::channel(None).1,
            lacking: lacking.into(),
            hidden: vec![root.join("data"), secrets],
        };
        let run = RunId::from_parts(Timestamp::default(), rand::random());
        Self::on(home, ground, Arc::default(), run)
    }

    /// One whose Vigie was started by something that ignores what asks it to end.
    pub(crate) async fn under_a_deaf_starter() -> Self {
        let yard = Self::new().await;
        let binary = yard.home.path().join("deaf");
        fs::write(&binary, format!("#!/bin/sh\ntrap '' HUP INT TERM\nexec '{VIGIE}' \"$@\"\n"))
            .unwrap();
        fs::set_permissions(&binary, fs::Permissions::from_mode(0o700)).unwrap();
        let ground = Ground { binary, ..yard.ground.clone() };
        Self::on(yard.home.clone(), ground, Arc::default(), yard.run)
    }

    fn on(home: Arc<TempDir>, ground: Ground, number: Arc<AtomicU32>, run: RunId) -> Self {
        let tasks = Tasks::new();
        let (mailbox, mail) = mpsc::channel(64);
        let runner = Runner::start(&ground, &tasks, &Hub::new(mailbox));
        Self { home, runner, ground, tasks, mail: Mutex::new(mail), number, run }
    }

    /// Another daemon on the same folder.
    pub(crate) fn beside(other: &Self) -> Self {
        Self::on(other.home.clone(), other.ground.clone(), other.number.clone(), other.run)
    }

    pub(crate) fn project(&self) -> PathBuf {
        fs::canonicalize(self.home.path()).unwrap().join("quay")
    }

    pub(crate) fn confines_files(&self) -> bool {
        !self.ground.lacking.iter().any(|each| each.protection == Protection::Files)
    }

    /// A fresh attempt.
    pub(crate) fn order(&self, work: Work) -> StepOrder {
        let attempt = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        StepOrder {
            run: self.run,
            name: "release-1".into(),
            step: "step".parse().unwrap(),
            attempt,
            how: StepHow::Begin,
            work: Work { since: attempt, ..work },
            folder: self.project().to_str().unwrap().into(),
            project: ProjectName::new("quay"),
            workflow: "release".into(),
        }
    }

    pub(crate) fn folder(&self, order: &StepOrder) -> PathBuf {
        let name = format!("{}@{}", order.step, order.attempt);
        self.ground.data.join("runs").join(order.run.to_string()).join(name)
    }

    pub(crate) async fn run(&self, work: Work) -> Ended {
        self.runner.carry_out(self.order(work));
        self.ended().await
    }

    pub(crate) async fn told(&self) -> Told {
        let mut mail = self.mail.lock().await;
        loop {
            match timeout(DEADLINE, mail.recv()).await.expect("nothing is told").unwrap() {
                Mail::Event(Event::Step(told)) => return told.told,
                // What it cost is the ledger's, and no part of what is told of the attempt.
                Mail::Event(Event::StepUsed { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Its agent stopped and goes on later: why, and what it takes for that.
    pub(crate) async fn is_put_off(&self) -> (PutOffBy, StepHow) {
        let mut mail = self.mail.lock().await;
        loop {
            match timeout(DEADLINE, mail.recv()).await.expect("nothing is told").unwrap() {
                Mail::Event(Event::StepPutOff { put_off, .. }) => {
                    let PutOff { why, conversation, spent, .. } = put_off;
                    return (why, StepHow::Again { conversation, spent });
                }
                Mail::Event(Event::StepUsed { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) async fn ended(&self) -> Ended {
        match self.told().await {
            Told::Ended(ended) => ended,
            other => panic!("{other:?}"),
        }
    }

    /// Waits until that stands in what the step printed.
    pub(crate) async fn prints(&self, order: &StepOrder, words: &str) {
        let look = async {
            loop {
                let path =
                    runner::output_path(&self.ground.data, order.run, &order.step, order.attempt);
                let printed = path.and_then(|path| fs::read_to_string(path).ok());
                if printed.is_some_and(|text| text.contains(words)) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(DEADLINE, look).await.expect("it does not print that");
    }

    /// Stops this daemon's side, as a crash would.
    pub(crate) async fn leave(&self) {
        self.tasks.stop();
        let (_signal, signals) = mpsc::channel(1);
        assert_eq!(self.tasks.finish(signals, DEADLINE).await, Ok(Finish::Clean));
    }

    fn keeper(&self, order: &StepOrder) -> Pid {
        let lock = fs::read_to_string(self.folder(order).join("lock")).unwrap();
        Pid::from_raw(lock.split(' ').next().unwrap().parse().unwrap())
    }

    pub(crate) fn kill(&self, order: &StepOrder) {
        self.signal(order, Signal::SIGKILL);
    }

    pub(crate) fn signal(&self, order: &StepOrder, signal: Signal) {
        kill(self.keeper(order), signal).unwrap();
    }

    pub(crate) fn make_folder(&self, order: &StepOrder) -> PathBuf {
        let folder = self.folder(order);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).unwrap();
        folder
    }

    /// The process of an attempt that never gets its task.
    pub(crate) fn start_by_hand(&self, order: &StepOrder) -> Child {
        let folder = self.make_folder(order);
        let mut command = Command::new(VIGIE);
        command.arg0("vigie").arg("step").arg(&folder).stdin(Stdio::piped()).spawn().unwrap()
    }

    /// What runs of this yard's steps: found by the marks in their environment, waited for a moment.
    pub(crate) async fn processes(&self) -> Vec<String> {
        let look = async {
            while !self.marked().is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let _ = timeout(Duration::from_secs(10), look).await;
        self.marked()
    }

    fn marked(&self) -> Vec<String> {
        each_process(|process| self.marks(process).then(|| command_line(process)))
    }

    /// What runs of its steps right now.
    pub(crate) fn marked_pids(&self) -> Vec<u32> {
        let pid = |process: &Path| process.file_name()?.to_str()?.parse().ok();
        each_process(|process| pid(process).filter(|_| self.marks(process)))
    }

    fn marks(&self, process: &Path) -> bool {
        let mark = format!("VIGIE_RUN={}", self.run);
        let env = fs::read(process.join("environ")).unwrap_or_default();
        env.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    }

    /// The most memory, besides the program's own file, of a process that carries out a step of this
    /// yard, in bytes.
    pub(crate) fn memory_of_keepers(&self) -> usize {
        let data = self.ground.data.to_str().unwrap().to_owned();
        let all = each_process(|process| {
            let line = command_line(process);
            let ours = line.starts_with("vigie step ") && line.contains(&data);
            let status = fs::read_to_string(process.join("status")).ok().filter(|_| ours)?;
            let own = status.lines().find(|line| line.starts_with("RssAnon:"))?;
            Some(own.split_whitespace().nth(1)?.parse::<usize>().ok()? << 10)
        });
        all.into_iter().max().unwrap_or_default()
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(self.project());
        assert!(git.status().unwrap().success(), "git {arguments:?}");
    }

    /// Every file in the data folder.
    pub(crate) fn kept(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut open = vec![self.ground.data.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { open.push(path) } else { files.push(path) }
            }
        }
        files
    }
}

fn each_process<T>(look: impl Fn(&Path) -> Option<T>) -> Vec<T> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|process| look(&process.path())).collect()
}

fn command_line(process: &Path) -> String {
    let words = fs::read(process.join("cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// The same as a later daemon gets it.
pub(crate) fn adopted(order: StepOrder) -> StepOrder {
    StepOrder { how: StepHow::Adopt, ..order }
}

pub(crate) fn work(what: WorkKind) -> Work {
    Work {
        what,
        project: None,
        cwd: String::new(),
        in_session: None,
        env: Vec::new(),
        timeout: None,
        output: OutputForm::Text,
        files: Vec::new(),
        measure: false,
        check: None,
        since: 1,
        key: "key-of-the-step".into(),
    }
}

pub(crate) fn shell(script: &str) -> Work {
    work(WorkKind::Shell(ShellWork { script: script.into(), shell: Vec::new(), read_only: false }))
}

pub(crate) fn done(ended: Ended) -> Ended {
    assert_eq!(ended.outcome, Outcome::Done, "{ended:?}");
    ended
}

pub(crate) fn text(ended: Ended) -> String {
    done(ended).output.text
}

pub(crate) fn failed(ended: Ended) -> String {
    match ended.outcome {
        Outcome::Failed { why } => why,
        other => panic!("{other:?}"),
    }
}
