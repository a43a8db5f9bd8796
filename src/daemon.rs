//! Builds every part and joins them; the only file that knows all.

mod doctor;
mod host;
#[cfg(feature = "matrix")]
mod matrix;
mod prices;
mod sight;

use chrono::TimeDelta;
use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};
use vigie_core::{
    Timestamp, bridge::Bridge, command::Refusal, decide::Effect, id::BridgeName, route::BadPrefix,
};
use vigie_phone::{OpenError, PhoneBridge};

use crate::{
    bridges::{self, Bridges, Invite},
    clock::Clock,
    config::{Config, PriceList, SecretFrom, Surroundings},
    confine::{self, Lacking, Protection},
    hold::{ancestry, client},
    hub::{self, Hands, Health, Hub},
    looks,
    mcp::{self, LookUps, Whence},
    outbox::{Outbox, Sending},
    rules::rules,
    runner::{self, Runner},
    sessions::{self, Ground, Sessions},
    store::{self, JournalRow, Store, StoreError},
    tasks::{self, Finish, Panicked, Tasks},
    watch,
    web::{
        self, Boxed, Examine, Ledger, MatrixDesk, OutputPart, Outside, Peer, PhoneMount,
        ProgramsMount, Started, shapes,
    },
    workflows::{self, Workflows},
};

/// For tasks to end after the first signal; sessions go on without us anyway.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// Between two tries to listen to a chat service that was lost.
const HEAR_AGAIN: Duration = Duration::from_secs(2);

/// Messages between sessions that are over can be looked up for as long.
const MAIL_KEPT: TimeDelta = TimeDelta::days(90);

/// What a daemon is made from.
pub struct Options {
    pub config: Config,
    /// The data folder.
    pub data: PathBuf,
    pub clock: Clock,
    /// The configuration, there or not: no agent sees it.
    pub config_file: PathBuf,
    /// The program that holders and hooks are started from: our own, except in tests.
    pub binary: PathBuf,
}

impl Options {
    /// Those of a usual start.
    ///
    /// # Errors
    /// When the system does not say which file we were started from.
    pub fn new(config: Config, around: &Surroundings) -> io::Result<Self> {
        let binary = own_program()?;
        let (data, config_file) = (around.data.clone(), around.config.clone());
        Ok(Self { config, data, clock: Clock::system(), config_file, binary })
    }
}

/// This very program. By its path it could be another one by now: an agent can write to where many
/// people have their programs, and holders are not confined.
fn own_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error("the data folder {} cannot be used: {source}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("this is inside a session of Vigie, and agents do not run a Vigie of their own")]
    InsideASession,
    #[error("Vigie runs already on {}: process {holder}", folder.display())]
    Running { folder: PathBuf, holder: String },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the phone page's log cannot be opened: {0}")]
    Phone(#[from] OpenError),
    #[error(transparent)]
    Pattern(#[from] BadPrefix),
    #[error(transparent)]
    Web(#[from] web::StartError),
    #[error("signals cannot be heard: {0}")]
    Signals(io::Error),
    #[error(transparent)]
    Panicked(#[from] Panicked),
}

/// A daemon that runs. Dropping it leaves its tasks to the runtime; [`Daemon::finish`] ends them.
pub struct Daemon {
    pub hub: Hub,
    pub started: Started,
    tasks: Tasks,
    /// Held for life; given back by the system however we end.
    _lock: File,
}

/// Starts every part. When it returns, people and sessions are served.
pub async fn start(options: Options) -> Result<Daemon, DaemonError> {
    let Options { config, data, clock, config_file, binary } = options;
    if ancestry::inside_a_session() {
        return Err(DaemonError::InsideASession);
    }
    let lock = take(&data)?;
    close_memory();
    // Where links lead now: somebody could turn one of them to another place later.
    let data = fs::canonicalize(&data)
        .map_err(|source| DaemonError::Folder { folder: data.clone(), source })?;
    make_projects(&config, &data)?;
    let lacking: Arc<[Lacking]> = confine::probe(&binary, &data).await.into();
    tell_protections(&lacking);
    let hidden = hidden(&config, &data, &config_file)?;
    let config = Arc::new(config);
    let tasks = Tasks::new();
    let store = Store::open(&data)?;
    let opened = bridges::open(&config, &data, &clock, &tasks)?;
    let matrix = matrix_desk(&opened);
    let Bridges { all: bridges, phone, invites, .. } = opened;
    let (listening, address) = tokio::sync::watch::channel(None);
    let ground =
        Ground { config: config.clone(), data: data.clone(), binary, address, lacking, hidden };
    sessions::tidy(&ground, &clock);
    runner::tidy(&ground, &clock);
    let hands = {
        let (tasks, bridges, ground) = (tasks.clone(), bridges.clone(), ground.clone());
        move |hub: Hub| -> Box<dyn Hands> {
            let outbox = Outbox::start(&tasks, &bridges, &hub);
            let runner = Runner::start(&ground, &tasks, &hub);
            Box::new(Reach { outbox, sessions: Sessions::new(ground, tasks, hub), runner })
        }
    };
    let all_rules = rules(&config, &bridges)?;
    let seed = rand::random();
    let (hub, health) =
        hub::start(&tasks, store.clone(), all_rules, clock.clone(), seed, hands).await?;
    watch::start(&tasks, &bridges, &hub);
    let places = workflows::places(&config, &config_file);
    let workflows = workflows::start(&tasks, &hub, clock.clone(), places);
    let (mail, before) = (store.clone(), clock.now() - MAIL_KEPT);
    tasks.start("old-mail", move |stop| drop_old_mail(mail, before, stop));
    for bridge in bridges {
        let hub = hub.clone();
        tasks.start("hear", move |stop| hear(bridge, hub, stop));
    }
    if let Some(phone) = phone.clone() {
        tasks.start("health", move |stop| tell_health(phone, health, stop));
    }
    let list = ground.config.prices.clone();
    let prices = prices::follow(&tasks, &hub, config_file.clone(), list);
    let doctor = doctor::examine(&ground, config_file);
    let outside = outside(Joined {
        hub: &hub,
        store: &store,
        ground,
        tasks: &tasks,
        workflows,
        phone,
        invites,
        matrix,
        doctor,
        prices,
    });
    let parts = web::Parts { config: &config, data: &data, outside, clock, tasks: tasks.clone() };
    let started = web::start(parts).await?;
    listening.send_replace(Some(started.listening));
    info!(address = %started.listening, "Vigie runs");
    Ok(Daemon { hub, started, tasks, _lock: lock })
}

impl Daemon {
    /// Serves until a signal, then stops in two stages.
    pub async fn finish(self) -> Result<Finish, DaemonError> {
        let signals = tasks::signals(&self.tasks).map_err(DaemonError::Signals)?;
        Ok(self.tasks.finish(signals, SHUTDOWN).await?)
    }

    /// Asks every part to stop; [`Daemon::finish`] then returns.
    pub fn stop(&self) {
        self.tasks.stop();
    }
}

/// A start drops what nobody has looked for in a long time, a little at a time.
async fn drop_old_mail(store: Store, before: Timestamp, stop: CancellationToken) {
    while !stop.is_cancelled() {
        match store.drop_old_mail(before).await {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => return warn!(reason = %error, "old mail could not be dropped"),
        }
    }
}

/// The effects' way to bridges and holders.
struct Reach {
    outbox: Outbox,
    sessions: Sessions,
    runner: Runner,
}

impl Hands for Reach {
    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Say { delivery, place, say } => {
                self.outbox.send(Sending { delivery, place, say });
            }
            Effect::Launch { session, how } => self.sessions.launch(*session, how),
            Effect::Reconnect { session, run, after } => {
                self.sessions.reconnect(session, run, after);
            }
            Effect::Order { session, run, order } => self.sessions.order(session, run, order),
            Effect::Acknowledge { session, run, seq } => {
                self.sessions.acknowledge(session, run, seq);
            }
            Effect::Step(order) => self.runner.carry_out(*order),
            Effect::StopStep { run, step, attempt } => self.runner.stop(run, step, attempt),
            Effect::PutOffStep { run, step, attempt } => self.runner.put_off(run, &step, attempt),
            Effect::Look { session, at, files, place } => {
                self.sessions.look(*session, at, files, place);
            }
        }
    }
}

/// Makes the data folder, keeps it to its owner, and makes sure that we are alone on it.
fn take(folder: &Path) -> Result<File, DaemonError> {
    let unusable = |source| DaemonError::Folder { folder: folder.into(), source };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(unusable)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(unusable)?;
    let mut lock = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(folder.join("vigie.lock"))
        .map_err(unusable)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            lock.read_to_string(&mut holder).map_err(unusable)?;
            let holder = holder.trim().to_owned();
            return Err(DaemonError::Running { folder: folder.into(), holder });
        }
        Err(TryLockError::Error(source)) => return Err(unusable(source)),
    }
    lock.set_len(0).and_then(|()| lock.rewind()).map_err(unusable)?;
    writeln!(lock, "{}, version {}", std::process::id(), env!("CARGO_PKG_VERSION"))
        .map_err(unusable)?;
    Ok(lock)
}

/// Our memory, environment and descriptors are nobody's business: agents run as the same user.
fn close_memory() {
    #[cfg(target_os = "linux")]
    if let Err(error) = nix::sys::prctl::set_dumpable(false) {
        warn!(%error, "other processes of this user can look into this one");
    }
}

fn protections(lacking: &[Lacking]) -> Arc<[shapes::ProtectionShape]> {
    let shape = |protection: Protection| {
        let missing = lacking.iter().find(|each| each.protection == protection);
        shapes::ProtectionShape {
            name: protection.name().into(),
            holds: missing.is_none(),
            words: missing.map_or_else(|| protection.words().into(), |each| each.why.clone()),
            todo: missing.map(|_| protection.todo().into()),
        }
    };
    Protection::ALL.map(shape).into()
}

fn tell_protections(lacking: &[Lacking]) {
    for each in lacking {
        warn!(protection = each.protection.name(), why = %each.why, "missing; see vigie doctor");
    }
    let holding = Protection::ALL
        .into_iter()
        .filter(|one| !lacking.iter().any(|each| each.protection == *one));
    let names: Vec<_> = holding.map(Protection::name).collect();
    info!(by = names.join(", "), "agents are confined");
}

/// What no agent sees: the data folder, the configuration with its folder where that is ours alone, the
/// person's own workflows, and the bot's token.
fn hidden(config: &Config, data: &Path, config_file: &Path) -> Result<Vec<PathBuf>, DaemonError> {
    let folder = config_file.parent().filter(|folder| folder.file_name() == Some("vigie".as_ref()));
    let own = workflows::own_folder(config_file);
    for folder in folder.into_iter().chain([own.as_path()]) {
        // What is not there cannot be hidden, and an agent could make it.
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|source| DaemonError::Folder { folder: folder.into(), source })?;
    }
    let token = config.telegram.token_file.clone();
    // The file may be a link to one that lies elsewhere, with other settings of the person.
    let linked = fs::canonicalize(config_file).ok();
    let hidden = [data.into(), folder.unwrap_or(config_file).into(), token];
    // Where the whole folder is hidden, this is.
    let own = Some(own).filter(|_| folder.is_none());
    let secrets = config.secrets.iter().filter_map(|secret| match &secret.from {
        SecretFrom::File(file) => Some(file.clone()),
        SecretFrom::Env(_) | SecretFrom::Command(_) | SecretFrom::Keyring { .. } => None,
    });
    Ok(hidden.into_iter().chain(own).chain(linked).chain(secrets).collect())
}

/// The demo project lies in the data folder, so it may have to be made; others are the person's own.
fn make_projects(config: &Config, data: &Path) -> Result<(), DaemonError> {
    for project in config.projects.iter().filter(|project| project.path.starts_with(data)) {
        fs::create_dir_all(&project.path)
            .map_err(|source| DaemonError::Folder { folder: project.path.clone(), source })?;
    }
    Ok(())
}

/// Tells open pages when we cannot write: no message could, since it would have to be written.
async fn tell_health(phone: Arc<PhoneBridge>, mut health: Health, stop: CancellationToken) {
    loop {
        let reason = health.borrow_and_update().clone();
        phone.health(reason);
        tokio::select! {
            () = stop.cancelled() => return,
            changed = health.changed() => if changed.is_err() { return },
        }
    }
}

/// Listens to a chat service for as long as we run.
async fn hear(bridge: Arc<dyn Bridge>, hub: Hub, stop: CancellationToken) {
    while !stop.is_cancelled() {
        if let Err(lost) = bridge.hear(&hub, stop.clone()).await {
            error!(bridge = %bridge.name(), reason = %lost, "a chat service was lost; trying again");
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(HEAR_AGAIN) => {}
        }
    }
}

/// The account on Matrix, where it is built in, switched on and begun.
#[cfg(feature = "matrix")]
fn matrix_desk(bridges: &Bridges) -> Option<Arc<dyn MatrixDesk>> {
    let bridge = bridges.matrix.clone()?;
    Some(Arc::new(matrix::Account(bridge)))
}

#[cfg(not(feature = "matrix"))]
fn matrix_desk(_: &Bridges) -> Option<Arc<dyn MatrixDesk>> {
    None
}

/// What the web part is given to reach.
struct Joined<'a> {
    hub: &'a Hub,
    store: &'a Store,
    ground: Ground,
    tasks: &'a Tasks,
    workflows: Workflows,
    phone: Option<Arc<PhoneBridge>>,
    invites: Vec<(BridgeName, Invite)>,
    matrix: Option<Arc<dyn MatrixDesk>>,
    doctor: Examine,
    prices: PricesNow,
}

/// What models cost, as it changes.
type PricesNow = tokio::sync::watch::Receiver<Arc<PriceList>>;

fn outside(joined: Joined) -> Outside {
    let Joined { hub, store, ground, tasks, workflows, phone, invites, matrix, doctor, prices } =
        joined;
    let programs = programs(hub, store, ground.clone(), tasks);
    let invites: Arc<HashMap<_, _>> = Arc::new(invites.into_iter().collect());
    let (events, history, mail) = (store.clone(), store.clone(), store.clone());
    let protections = protections(&ground.lacking);
    let host = host::reader(&ground.data);
    let projects = ground.config.projects.iter().map(|project| project.name.to_string()).collect();
    let agents = ground.config.agents.iter().map(|agent| agent.name.to_string()).collect();
    Outside {
        hub: hub.clone(),
        newest: store.newest(),
        events: Arc::new(move |after, most| {
            let store = events.clone();
            Box::pin(async move { read_events(&store, after, most).await }) as Boxed<_>
        }),
        history: Arc::new(move |before, most, prefixes, session| {
            let store = history.clone();
            Box::pin(async move {
                let rows = store.history(before, most, prefixes, session).await.map_err(unread)?;
                Ok(rows.into_iter().map(event).collect())
            }) as Boxed<_>
        }),
        mail: Arc::new(move |query| {
            let store = mail.clone();
            Box::pin(async move { store.mailbox(query).await.map_err(unread) }) as Boxed<_>
        }),
        ledger: read_ledger(store, &ground, prices),
        workflows,
        secret: secrets(&ground),
        output: outputs(ground.data.clone()),
        sight: Arc::new(sight::Seeing(ground.clone())),
        folder: Arc::new(move |session| ground.folder(session.id, session.run)),
        screen: Arc::new(|folder| {
            Box::pin(async move {
                let picture = client::screen(&folder).await.map_err(|error| error.to_string())?;
                Ok(picture.lines)
            }) as Boxed<_>
        }),
        invite: Arc::new(move |bridge| {
            let invite = invites.get(bridge).cloned();
            Box::pin(async move { invite?().await }) as Boxed<_>
        }),
        whose: |pid| match ancestry::caller(pid) {
            ancestry::Caller::Outside => Peer::Ours,
            ancestry::Caller::Session { folder } => Peer::Agent { folder: Some(folder) },
            ancestry::Caller::Unclear => Peer::Agent { folder: None },
        },
        programs: Some(programs),
        matrix,
        protections,
        assets: vigie_phone::assets_router(&vigie_dashboard::files::FILES),
        versions: versions(),
        doctor,
        host,
        projects,
        agents,
        phone: phone.map(|phone| PhoneMount {
            router: phone.router(),
            login_page: vigie_phone::login_page,
            person: |caller, extensions| {
                let (id, name) = (caller.human.to_string(), caller.name.clone());
                extensions.insert(vigie_phone::Person { id, name });
            },
        }),
    }
}

/// What runs here, Vigie first.
fn versions() -> Arc<[(String, String)]> {
    let own = ("vigie".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    [own, ("SQLite".into(), store::sqlite_version().into())].into()
}

/// The door of agents and programs.
fn programs(hub: &Hub, store: &Store, ground: Ground, tasks: &Tasks) -> ProgramsMount {
    let folder: mcp::RunFolder = Arc::new(move |session, run| ground.folder(session, run));
    let shared = mcp::Shared {
        hub: hub.clone(),
        newest: store.newest(),
        folder,
        look_ups: look_ups(store),
        tasks: tasks.clone(),
    };
    ProgramsMount {
        router: Arc::new(move |url| {
            let parts = mcp::Parts {
                base: url.to_string(),
                hub: shared.hub.clone(),
                folder: shared.folder.clone(),
                needs: mcp::needs,
                tasks: shared.tasks.clone(),
            };
            let shared = shared.clone();
            mcp::door(parts, move || mcp::Server::new(shared.clone()))
        }),
        whence: |peer, extensions| {
            extensions.insert(match peer {
                Peer::Ours => Whence::Outside,
                Peer::Agent { folder: Some(folder) } => Whence::Session { folder },
                Peer::Agent { folder: None } | Peer::Stranger => Whence::Unclear,
            });
        },
    }
}

fn look_ups(store: &Store) -> LookUps {
    let (mails, answers) = (store.clone(), store.clone());
    LookUps {
        transcript: Arc::new(|folder| Box::pin(transcript(folder))),
        mailbox: Arc::new(move |query| {
            let store = mails.clone();
            Box::pin(async move { store.mailbox(query).await.map_err(|error| error.to_string()) })
        }),
        last_answer: Arc::new(move |session| {
            let store = answers.clone();
            Box::pin(
                async move { store.last_answer(session).await.map_err(|error| error.to_string()) },
            )
        }),
    }
}

/// The conversation of a run, as another agent may read it.
async fn transcript(folder: PathBuf) -> Result<String, String> {
    let read = move || looks::transcript(&folder, None).map_err(|error| error.to_string());
    let found = tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())?;
    Ok(found?.markdown)
}

/// Looks up what a webhook's caller must know.
fn secrets(ground: &Ground) -> web::ReadSecret {
    let config = ground.config.clone();
    Arc::new(move |name, workflow| {
        let config = config.clone();
        Box::pin(async move { runner::secret(&config.secrets, &workflow, name).await }) as Boxed<_>
    })
}

/// Reads what steps print, from where their own process writes it.
fn outputs(data: PathBuf) -> web::ReadOutput {
    Arc::new(move |run, step, attempt, stream, offset, most| {
        let data = data.clone();
        let read = move || {
            let path = match stream {
                web::Stream::Out => runner::output_path,
                web::Stream::Err => runner::complaints_path,
            };
            let Some(file) = path(&data, run, &step, attempt) else {
                return Ok(None);
            };
            match looks::part(&file, offset, most) {
                Ok(looks::Part { offset, next, size, text }) => {
                    Ok(Some(OutputPart { offset, next, size, text }))
                }
                // It prints nothing, or has not begun to.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error.to_string()),
            }
        };
        Box::pin(async move {
            tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())?
        }) as Boxed<_>
    })
}

async fn read_events(
    store: &Store,
    after: u64,
    most: usize,
) -> Result<Vec<shapes::Event>, Refusal> {
    let rows = store.events(after, most).await.map_err(unread)?;
    Ok(rows.into_iter().map(event).collect())
}

fn read_ledger(store: &Store, ground: &Ground, prices: PricesNow) -> Ledger {
    let zone = ground.config.budget.zone;
    let (sums, work) = (store.clone(), store.clone());
    Ledger {
        usage: Arc::new(move |question| {
            let store = sums.clone();
            Box::pin(async move { store.usage(question, zone).await.map_err(unread) }) as Boxed<_>
        }),
        delegations: Arc::new(move |since, until| {
            let store = work.clone();
            Box::pin(async move { store.delegations(since, until).await.map_err(unread) })
                as Boxed<_>
        }),
        prices,
        zone,
        day_limit: ground.config.budget.day,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn unread(error: StoreError) -> Refusal {
    Refusal::NotRead { reason: error.to_string() }
}

fn event(row: JournalRow) -> shapes::Event {
    let JournalRow { seq, at, kind, session, gate, human, detail } = row;
    shapes::Event { seq, at, kind, session, gate, human, detail }
}
