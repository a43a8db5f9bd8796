//! `vigie up`: the one command that is the daemon.

use std::io::{self, IsTerminal};
use tracing_subscriber::EnvFilter;

use super::{
    Desk,
    args::Up,
    failure::Failure,
    login,
    out::{Format, Out},
    pair, plain,
};
use crate::{
    config::{Config, Named, on_path},
    daemon::{self, DaemonError, Options},
    tasks::Finish,
    telemetry::Traces,
    web::{
        self,
        shapes::{LinkShape, NewLink, NewPairing, PairingShape, PeopleShape, StatusShape},
    },
};

pub(super) async fn run(args: Up, desk: &Desk) -> Result<(), Failure> {
    let named = if args.config.is_some() { Named::Yes } else { Named::No };
    let mut config = Config::load(&desk.around, named).map_err(Failure::usage)?;
    if let Some(listen) = args.listen {
        if !listen.ip().is_loopback() && config.web.hosts.is_empty() {
            let failure = Failure::usage(format!("`{listen}` lets other machines in"));
            return Err(failure
                .hint("Say so in the configuration, under [web]: config.example.toml shows how."));
        }
        config.web.listen = listen;
    }
    let options = Options::new(config, &desk.around)
        .map_err(|error| Failure::outside(format!("our own program is not found: {error}")))?;
    let traces = match &options.config.telemetry.otlp {
        Some(collector) => Some(Traces::start(collector).map_err(|error| {
            Failure::outside(format!("traces cannot be sent to {collector}: {error}"))
        })?),
        None => None,
    };
    log_to_stderr();
    for warning in &options.config.warnings {
        tracing::warn!("{warning}");
    }
    let daemon = daemon::start(options).await?;
    let started = daemon.started.clone();
    let greeting = greet(&started, args.no_link, desk);
    let (ended, greeted) = futures_util::future::join(daemon.finish(), greeting).await;
    if let Some(traces) = traces {
        // It waits for the collector, and needs this thread meanwhile; how it ends is nobody's news.
        let _ = tokio::task::spawn_blocking(move || traces.end()).await;
    }
    match ended? {
        Finish::Clean => greeted,
        Finish::Cut(tasks) => {
            let words = format!("these did not end in time and were cut off: {}", tasks.join(", "));
            Err(Failure::ours(words))
        }
    }
}

/// What a newcomer needs now.
async fn greet(started: &web::Started, no_link: bool, desk: &Desk) -> Result<(), Failure> {
    if no_link {
        return desk.out.print(&format!("Vigie runs at {}", started.url));
    }
    let link: LinkShape = desk.client.post("/links", &NewLink::default()).await?;
    let chats = match desk.out.format() {
        Format::Words => chat_services(desk).await?,
        Format::Json => String::new(),
    };
    desk.out.show(&link, |out, link| greeting(out, started, link, &chats))
}

/// What is to be done about chat services: a code while nobody is heard over one, or its trouble.
async fn chat_services(desk: &Desk) -> Result<String, Failure> {
    let status: StatusShape = desk.client.get("/status").await?;
    let people: PeopleShape = desk.client.get("/people").await?;
    let trouble = status.bridges.iter().filter_map(|bridge| {
        let trouble = plain::line(bridge.trouble.as_ref()?);
        Some(format!("{}: {trouble}", pair::service_name(&bridge.name)))
    });
    let trouble: Vec<String> = trouble.collect();
    if !trouble.is_empty() {
        return Ok(trouble.join("\n"));
    }
    // The phone page has its own way in.
    let takes_codes = status.bridges.iter().any(|bridge| bridge.name != "phone");
    let heard = people.identities.iter().any(|each| each.bridge != "phone");
    if !takes_codes || heard {
        return Ok(String::new());
    }
    let pairing: PairingShape = desk.client.post("/pair", &NewPairing::default()).await?;
    Ok(pair::words(&desk.out, &pairing))
}

fn greeting(out: &Out, started: &web::Started, link: &LinkShape, chats: &str) -> String {
    let vigie = how_to_call_us();
    let chats = if chats.is_empty() { String::new() } else { format!("\n\n{chats}") };
    format!(
        "Vigie runs at {}\n\n{}{chats}\n\nIn another terminal:\n  \
         {vigie} new demo-1 \"try something\"   starts a session\n  \
         {vigie} attach demo-1                shows it there\n  \
         {vigie} status                       shows what runs and what waits\n\
         Ctrl-C stops Vigie; sessions go on.",
        started.url,
        login::words(out, link),
    )
}

/// `vigie` where that finds this very program, else the way it was called.
fn how_to_call_us() -> String {
    let ours = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    let on_path = on_path("vigie", std::env::var_os("PATH"));
    let same = on_path.and_then(|file| std::fs::canonicalize(file).ok()) == ours;
    match std::env::args().next() {
        Some(called) if !same && !called.is_empty() => called,
        Some(_) | None => "vigie".into(),
    }
}

/// What goes on, for whoever looks after Vigie: `VIGIE_LOG` takes the filters of
/// `tracing-subscriber`. A terminal gets only what is wrong, and no colours: asking for them without
/// the `ansi` feature is a panic.
fn log_to_stderr() {
    // matrix-sdk calls errors what is none on a first start; what matters the bridge says itself.
    let usual = if io::stderr().is_terminal() {
        "warn,matrix_sdk=off,matrix_sdk_base=off,matrix_sdk_crypto=off"
    } else {
        "vigie=info,warn,matrix_sdk=off,matrix_sdk_base=off,matrix_sdk_crypto=off"
    };
    let filter = EnvFilter::try_from_env("VIGIE_LOG").unwrap_or_else(|_| EnvFilter::new(usual));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    // A second subscriber is refused; the first one goes on.
    let _ = log.try_init();
}

impl From<DaemonError> for Failure {
    fn from(error: DaemonError) -> Self {
        let doctor = "Look: vigie doctor";
        match error {
            DaemonError::Panicked(_) => {
                Self::ours(error).hint("This is a fault of Vigie; its log has the details.")
            }
            DaemonError::Pattern(_) => Self::usage(error).hint(doctor),
            DaemonError::InsideASession => Self::refused("inside_a_session", error)
                .hint("Run it in a terminal outside of Vigie."),
            DaemonError::Running { .. } => Self::outside(error).hint("Look: vigie status"),
            DaemonError::Folder { .. }
            | DaemonError::Store(_)
            | DaemonError::Phone(_)
            | DaemonError::Web(_)
            | DaemonError::Signals(_) => Self::outside(error).hint(doctor),
        }
    }
}
