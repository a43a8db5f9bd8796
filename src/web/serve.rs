//! Binds both doors and serves them: TCP for browsers, the socket for the desk.

use axum::{
    Extension, Router,
    extract::{ConnectInfo, DefaultBodyLimit, Request},
    http::{HeaderMap, StatusCode},
    middleware::{self, Next},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use futures_util::FutureExt as _;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use std::{
    io,
    net::SocketAddr,
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream, UnixListener},
    sync::Semaphore,
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};
use vigie_core::Timestamp;

use super::{
    api,
    fault::{self, Fault},
    guard::{self, Hosts},
    hooks,
    hurried::Hurried,
    links::Links,
    login,
    logins::{Logins, LoginsError},
    loopback::{self, OtherEnd},
    metrics,
    outside::{Outside, ProgramsMount},
    pages,
    people::{Caller, People},
    room::{Guest, Room},
    shapes::Reaches,
    socket::{self, Peer},
    squeeze,
};
use crate::{
    clock::Clock,
    config::{Config, OnOff, PublicUrl, Scheme},
    tasks::Tasks,
};

/// Connections to the desk's socket at once.
const MOST_CONNECTIONS: usize = 256;

/// Connections of agents over TCP at once; they are told apart by where they come from.
const MOST_FROM_SESSIONS: usize = 128;

/// A request's head is a few hundred bytes; who takes longer than this sends it to hold us up.
const HEAD_DEADLINE: Duration = Duration::from_secs(10);

/// A login form is a hundred bytes, and everything else before the login has no body.
const STRANGERS_DEADLINE: Duration = Duration::from_secs(10);

/// Longest body: a long paste, escaped as JSON in the worst way.
const BODY_LIMIT: usize = 2 << 20;

/// After a failed accept (no descriptors left) it is tried again, but not in a loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// What everything in here shares.
#[derive(Clone)]
pub(super) struct App(Arc<Shared>);

pub(super) struct Shared {
    pub(super) outside: Outside,
    pub(super) people: People,
    pub(super) links: Links,
    pub(super) logins: Logins,
    pub(super) hosts: Hosts,
    pub(super) cookie: String,
    pub(super) url: PublicUrl,
    pub(super) reaches: Reaches,
    /// When these doors were opened.
    pub(super) since: Timestamp,
    pub(super) examined: pages::system::Examined,
    pub(super) clock: Clock,
    pub(super) tasks: Tasks,
}

impl std::ops::Deref for App {
    type Target = Shared;
    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// What the web part is made of.
pub struct Parts<'a> {
    pub config: &'a Config,
    /// The data folder: 0700, and its lock is held.
    pub data: &'a Path,
    pub outside: Outside,
    pub clock: Clock,
    pub tasks: Tasks,
}

/// Both doors are open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    pub listening: SocketAddr,
    /// What people type.
    pub url: PublicUrl,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("port {} of {} is taken by another program; choose another with `vigie up --listen`, or under [web] in the configuration", .0.port(), .0.ip())]
    PortTaken(SocketAddr),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("cannot make the socket {}: {source}", file.display())]
    Socket { file: PathBuf, source: io::Error },
    #[error(transparent)]
    Logins(#[from] LoginsError),
}

/// Opens both doors. The connections are tasks of `parts.tasks`.
pub async fn start(parts: Parts<'_>) -> Result<Started, StartError> {
    let Parts { config, data, outside, clock, tasks } = parts;
    let (logins, people) = (Logins::open(data)?, People::new(config));
    for human in logins.end_of_others(|human| people.knows(human)).await? {
        warn!(%human, "a login ended: its person is not in the configuration any more");
    }
    let address = config.web.listen;
    let tcp = TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => StartError::PortTaken(address),
        _ => StartError::Listen { address, source },
    })?;
    let listening = tcp.local_addr().map_err(|source| StartError::Listen { address, source })?;
    let unix = socket::bind(data)
        .map_err(|source| StartError::Socket { file: data.join(socket::SOCKET_NAME), source })?;
    let url = url(config, listening);
    let app = App(Arc::new(Shared {
        people,
        links: Links::default(),
        logins,
        hosts: Hosts::new(&config.web, listening),
        cookie: guard::cookie_name(listening, url.scheme),
        reaches: reaches(config, listening),
        url: url.clone(),
        since: clock.now(),
        examined: pages::system::Examined::default(),
        outside,
        clock,
        tasks: tasks.clone(),
    }));
    let (over_tcp, desk) = (over_tcp(&app), desk(&app));
    let (connections, whose) = (tasks.clone(), app.outside.whose);
    tasks.start("web", move |stop| accept_tcp(tcp, over_tcp, connections, whose, stop));
    let connections = tasks.clone();
    tasks.start("desk", move |stop| accept_unix(unix, desk, connections, whose, stop));
    Ok(Started { listening, url })
}

/// The configured address, else the one we listen on.
fn url(config: &Config, listening: SocketAddr) -> PublicUrl {
    config.web.url.clone().unwrap_or_else(|| {
        let named = config.web.hosts.first().filter(|_| !listening.ip().is_loopback());
        let authority = match named {
            Some(host) => format!("{host}:{}", listening.port()),
            None => listening.to_string(),
        };
        PublicUrl { scheme: Scheme::Http, authority }
    })
}

fn reaches(config: &Config, listening: SocketAddr) -> Reaches {
    if config.web.url.is_some() || !listening.ip().is_loopback() {
        Reaches::Others
    } else {
        Reaches::ThisMachine
    }
}

/// What is reached over TCP: pages for people, and a door of their own for programs and agents.
fn over_tcp(app: &App) -> Router {
    // What calls webhooks is no page and has no login; it is no agent either.
    let hooks = hooks::router(app).layer(middleware::from_fn(let_in));
    let mut all = browsers(app).merge(hooks.layer(middleware::from_fn(ours_alone)));
    if let Some(programs) = &app.outside.programs {
        all = all.merge(programs_door(app, programs).layer(middleware::from_fn(let_in)));
    }
    all.layer(middleware::from_fn(guard::unbroken))
        .layer(middleware::from_fn_with_state(app.clone(), guard::outer))
        .layer(middleware::from_fn(squeeze::pages))
}

/// Who is let in by a secret of their own is no stranger any more.
async fn let_in(request: Request, next: Next) -> Response {
    let guest = request.extensions().get::<Guest>().cloned();
    let response = next.run(request).await;
    if let Some(guest) = guest.filter(|_| response.status().is_success()) {
        guest.is_known();
    }
    response
}

/// What programs and agents reach, from wherever they run.
fn programs_door(app: &App, programs: &ProgramsMount) -> Router {
    let whence = programs.whence;
    let tell = move |mut request: Request, next: Next| async move {
        match request.extensions().get::<Peer>().cloned() {
            Some(Peer::Stranger) | None => strangers_fault().into_response(),
            Some(peer @ (Peer::Ours | Peer::Agent { .. })) => {
                whence(peer, request.extensions_mut());
                next.run(request).await
            }
        }
    };
    (programs.router)(&app.url)
        .layer(middleware::from_fn(tell))
        .layer(middleware::from_fn(guard::no_foreign_page))
}

/// What a browser reaches: the login for everybody, the rest for who is signed in.
fn browsers(app: &App) -> Router {
    let mut inside: Router<App> = Router::new()
        .route("/", get(home))
        .nest("/api/v1", api::router())
        .route("/metrics", get(metrics::show))
        .merge(pages::router())
        .fallback(async || Fault::no_such_page());
    let open = login::router().route("/healthz", get(healthz));
    if let Some(phone) = &app.outside.phone {
        let page = phone.router.clone().layer(middleware::from_fn(phone_allowed));
        inside = inside.nest_service("/phone", page);
    }
    let open = open.nest_service("/assets", app.outside.assets.clone());
    let open = open.layer(middleware::from_fn(hurry));
    let inside = inside
        .layer(middleware::from_fn(fault::shaped))
        .layer(middleware::from_fn_with_state(app.clone(), guard::signed_in));
    open.merge(inside)
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(middleware::from_fn(ours_alone))
        .layer(middleware::from_fn(guard::own_pages))
        .with_state(app.clone())
}

/// What the desk reaches: the API, as its owner.
fn desk(app: &App) -> Router {
    let owner = app.people.desk();
    Router::new()
        .nest("/api/v1", api::router())
        .route("/healthz", get(healthz))
        .fallback(async || Fault::no_such_page())
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(middleware::from_fn(fault::shaped))
        .layer(axum::Extension(owner))
        .layer(middleware::from_fn(ours_alone))
        .layer(middleware::from_fn(guard::unbroken))
        .with_state(app.clone())
}

async fn healthz() -> &'static str {
    "ok"
}

/// Who comes with a phone wants the chat, who sits at a desk the board.
async fn home(Extension(caller): Extension<Caller>, headers: HeaderMap) -> Redirect {
    let chat = caller.phone == OnOff::On && is_handheld(&headers);
    Redirect::to(if chat { "/phone" } else { "/board" })
}

/// By what the browser says of itself: its hint, where it gives one, else the word that all phones have
/// in their names. Source: User-Agent Client Hints, `Sec-CH-UA-Mobile`; MDN, "Browser detection using the
/// user agent".
fn is_handheld(headers: &HeaderMap) -> bool {
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match said("sec-ch-ua-mobile") {
        Some(hint) => hint == "?1",
        None => said("user-agent").is_some_and(|name| name.contains("Mobi")),
    }
}

/// Who is not signed in gets no time to hold us up.
async fn hurry(request: Request, next: Next) -> Response {
    match tokio::time::timeout(STRANGERS_DEADLINE, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Fault::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the request took too long")
            .into_response(),
    }
}

async fn phone_allowed(request: Request, next: Next) -> Response {
    match request.extensions().get::<Caller>().map(|caller| caller.phone) {
        Some(OnOff::On) => next.run(request).await,
        Some(OnOff::Off) | None => {
            Fault::new(StatusCode::FORBIDDEN, "no_phone", "the phone page is off for you")
                .hint("It is `phone` under [[human]] in the configuration.")
                .into_response()
        }
    }
}

/// An agent never commands Vigie, not even from its own shell.
async fn ours_alone(request: Request, next: Next) -> Response {
    match request.extensions().get::<Peer>() {
        Some(Peer::Ours) => next.run(request).await,
        Some(Peer::Agent { folder: Some(_) }) => Fault::new(
            StatusCode::FORBIDDEN,
            "inside_a_session",
            "this comes from inside a session, and agents do not command Vigie",
        )
        .hint("Run it in a terminal outside of Vigie, or ask the person.")
        .into_response(),
        Some(Peer::Agent { folder: None }) => Fault::new(
            StatusCode::FORBIDDEN,
            "inside_a_session",
            "it cannot be told that this comes from outside of a session",
        )
        .hint("Use a terminal or browser that is not in a container or sandbox of its own.")
        .into_response(),
        Some(Peer::Stranger) | None => strangers_fault().into_response(),
    }
}

fn strangers_fault() -> Fault {
    Fault::new(StatusCode::FORBIDDEN, "stranger", "this Vigie belongs to another user")
}

async fn accept_tcp(
    listener: TcpListener,
    router: Router,
    tasks: Tasks,
    whose: fn(u32) -> Peer,
    stop: CancellationToken,
) {
    let room = Room::default();
    let agents = Arc::new(Semaphore::new(MOST_FROM_SESSIONS));
    loop {
        let (stream, from) = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => { pause(&error).await; continue }
            },
        };
        let router = router.clone().layer(axum::Extension(ConnectInfo(from)));
        let (agents, guest) = (Arc::clone(&agents), room.enter(from.ip()));
        tasks.start("web connection", move |stop| async move {
            // Small answers must not wait for the other end to confirm the one before.
            if let Err(error) = stream.set_nodelay(true) {
                debug!(%error, "a connection stays slow");
            }
            let peer = browser(&stream, from, whose, &guest).await;
            let counted = match peer {
                Peer::Agent { .. } => agents.try_acquire_owned().map(Some),
                Peer::Ours | Peer::Stranger => Ok(None),
            };
            let Ok(counted) = counted else {
                warn!("agents have too many connections open; one more is closed");
                return;
            };
            let router = router.layer(Extension(peer)).layer(Extension(guest.clone()));
            tokio::select! {
                () = connection(Hurried::new(stream), router, stop) => {}
                () = guest.must_leave() => debug!("a stranger's connection makes room"),
            }
            drop(counted);
        });
    }
}

/// A browser, unless an agent is or may be at the other end; over the network nobody can tell.
async fn browser(
    stream: &TcpStream,
    from: SocketAddr,
    whose: fn(u32) -> Peer,
    guest: &Guest,
) -> Peer {
    let Ok(here) = stream.local_addr() else { return Peer::Stranger };
    let guest = guest.clone();
    let look = move || {
        // Looking takes its time; nobody waits for what comes of it any more.
        if guest.has_to_leave() {
            return Peer::Stranger;
        }
        match loopback::other_end(from, here) {
            OtherEnd::Elsewhere => Peer::Ours,
            OtherEnd::Gone => Peer::Agent { folder: None },
            OtherEnd::Processes(pids) => {
                let not_ours = pids.into_iter().map(whose).find(|peer| *peer != Peer::Ours);
                not_ours.unwrap_or(Peer::Ours)
            }
        }
    };
    tokio::task::spawn_blocking(look).await.unwrap_or(Peer::Stranger)
}

async fn accept_unix(
    listener: UnixListener,
    router: Router,
    tasks: Tasks,
    whose: fn(u32) -> Peer,
    stop: CancellationToken,
) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Some(permit) = enter(&room, &stop).await else { return };
        let stream = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => { pause(&error).await; continue }
            },
        };
        let peer = socket::peer(&stream, whose);
        let router = router.clone().layer(axum::Extension(peer));
        tasks.start("desk connection", |stop| async move {
            connection(stream, router, stop).await;
            drop(permit);
        });
    }
}

/// Waits for room for one more connection; `None` when it is time to stop.
async fn enter(
    room: &Arc<Semaphore>,
    stop: &CancellationToken,
) -> Option<tokio::sync::OwnedSemaphorePermit> {
    tokio::select! {
        () = stop.cancelled() => None,
        permit = Arc::clone(room).acquire_owned() => permit.ok(),
    }
}

async fn pause(error: &io::Error) {
    warn!(%error, "a connection was not accepted");
    tokio::time::sleep(ACCEPT_PAUSE).await;
}

async fn connection<S>(stream: S, router: Router, stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // A request that breaks a rule of ours takes its own connection along, and nothing else.
    let whole = AssertUnwindSafe(serve(stream, router, stop)).catch_unwind();
    if whole.await.is_err() {
        error!("a connection panicked; it is closed");
    }
}

async fn serve<S>(stream: S, router: Router, stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(served);
    let ended = tokio::select! {
        ended = &mut served => ended,
        () = stop.cancelled() => {
            // The request that is under way gets its answer.
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "a connection broke");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phone_is_known_by_its_hint_or_its_name() {
        let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Mobile/15E148 Safari";
        let desk = "Mozilla/5.0 (X11; Linux x86_64; rv:148.0) Gecko/20100101 Firefox/148.0";
        for (hint, name, expected) in [
            (Some("?1"), desk, true),
            (Some("?0"), phone, false),
            (None, phone, true),
            (None, desk, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("user-agent", name.parse().unwrap());
            if let Some(hint) = hint {
                headers.insert("sec-ch-ua-mobile", hint.parse().unwrap());
            }
            assert_eq!(is_handheld(&headers), expected, "{hint:?} {name}");
        }
    }
}
