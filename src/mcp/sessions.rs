//! The older era's sessions: whose each one is, how many there may be, and their end when nobody
//! uses them any more. Clients are supposed to end them and often do not.

use futures_util::{Stream, StreamExt as _};
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::streamable_http_server::session::{
        ServerSseMessage, SessionId, SessionManager,
        local::{LocalSessionManager, LocalSessionManagerError, SessionConfig},
    },
};
use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};
use vigie_core::caller::Principal;

use super::replay::{self, Replay};

/// Sessions altogether; one takes about 50 kB.
const MOST: usize = 512;
/// Sessions of one caller: each of its clients has one, and few callers have more than two.
const MOST_EACH: usize = 16;
/// A session without an open stream is kept this long; whoever comes later opens a new one.
const IDLE: Duration = Duration::from_mins(30);
/// How often that is looked at.
const SWEEP: Duration = Duration::from_mins(1);
/// What a client is given the id of the first event of its own stream under.
const FIRST_OF_COMMON: &str = "0";

/// The handle: cheap to clone.
#[derive(Clone)]
pub(super) struct Sessions(Arc<Inner>);

struct Inner {
    local: LocalSessionManager,
    replay: Replay,
    known: Mutex<HashMap<SessionId, Use>>,
}

/// How a session is used.
struct Use {
    /// `None` between its making and the answer that tells the caller of it.
    owner: Option<Principal>,
    /// Streams of it that are open.
    open: usize,
    last: Instant,
}

/// There are as many sessions as there may be, and all are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are {MOST} sessions of clients already, and each has a stream open")]
pub(super) struct Full;

#[derive(Debug, thiserror::Error)]
pub(super) enum SessionsError {
    #[error(transparent)]
    Full(#[from] Full),
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

/// A stream as the protocol's library takes it.
type Said = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

impl Sessions {
    pub(super) fn new() -> Self {
        let replay = Replay::default();
        let mut local = LocalSessionManager::default().with_event_store(Arc::new(replay.clone()));
        let mut config = SessionConfig::default();
        // We end them ourselves: the library's clock does not see that a stream is open.
        config.keep_alive = None;
        local.session_config = config;
        Self(Arc::new(Inner { local, replay, known: Mutex::default() }))
    }

    /// Ends idle sessions until `stop`.
    pub(super) async fn sweep(self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(SWEEP) => {}
            }
            let now = Instant::now();
            self.end_where(|kept| kept.open == 0 && now.duration_since(kept.last) >= IDLE).await;
        }
    }

    /// Makes room for one more session of that owner.
    pub(super) async fn make_room(&self, owner: &Principal) -> Result<(), Full> {
        let of_owner = |kept: &Use| kept.owner.as_ref() == Some(owner);
        let too_many = self.known().values().filter(|kept| of_owner(kept)).count() >= MOST_EACH;
        if too_many {
            // Its own oldest one goes, in use or not: nobody else has to make room for it.
            let oldest = self.oldest(of_owner);
            self.end(oldest).await;
        }
        if self.known().len() >= MOST {
            let oldest = self.oldest(|kept| kept.open == 0);
            if oldest.is_none() {
                return Err(Full);
            }
            self.end(oldest).await;
        }
        Ok(())
    }

    /// From now on that session is this caller's alone.
    pub(super) fn belongs(&self, session: &str, owner: &Principal) {
        if let Some(kept) = self.known().get_mut(session) {
            kept.owner = Some(owner.clone());
        }
    }

    /// Whether that session is there and this caller's.
    pub(super) fn is_of(&self, session: &str, owner: &Principal) -> bool {
        self.known().get(session).is_some_and(|kept| kept.owner.as_ref() == Some(owner))
    }

    /// Whether a client that comes back with that id of an event hears what it missed.
    pub(super) fn goes_on_after(&self, session: &str, event: &str) -> bool {
        let others = event.contains(":common") && !event.starts_with(&replay::common(session));
        event == FIRST_OF_COMMON || (!others && self.0.replay.knows(event))
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Use>> {
        self.0.known.lock().expect("nothing panics while it holds the sessions")
    }

    fn oldest(&self, which: impl Fn(&Use) -> bool) -> Option<SessionId> {
        let known = self.known();
        let matching = known.iter().filter(|(_, kept)| which(kept));
        matching.min_by_key(|(_, kept)| kept.last).map(|(id, _)| id.clone())
    }

    async fn end_where(&self, which: impl Fn(&Use) -> bool) {
        let ended: Vec<SessionId> = {
            let known = self.known();
            known.iter().filter(|(_, kept)| which(kept)).map(|(id, _)| id.clone()).collect()
        };
        for id in ended {
            self.end(Some(id)).await;
        }
    }

    async fn end(&self, session: Option<SessionId>) {
        let Some(session) = session else { return };
        debug!("a session of a client ends");
        if let Err(error) = self.close_session(&session).await {
            warn!(%error, "a session of a client does not end");
        }
    }

    fn used(&self, session: &SessionId) {
        if let Some(kept) = self.known().get_mut(session) {
            kept.last = Instant::now();
        }
    }

    /// Counts a stream as open for as long as it is.
    fn while_open(
        &self,
        session: &SessionId,
        stream: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
    ) -> Said {
        if let Some(kept) = self.known().get_mut(session) {
            kept.open += 1;
        }
        let open = Open { sessions: self.clone(), session: session.clone() };
        Box::pin(stream.inspect(move |_| open.touched()))
    }
}

/// An open stream.
struct Open {
    sessions: Sessions,
    session: SessionId,
}

impl Open {
    fn touched(&self) {
        self.sessions.used(&self.session);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(kept) = self.sessions.known().get_mut(&self.session) {
            kept.open = kept.open.saturating_sub(1);
            kept.last = Instant::now();
        }
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        // Room was made before; this holds where several came at once.
        if self.known().len() >= MOST {
            return Err(Full.into());
        }
        let (id, transport) = self.0.local.create_session().await?;
        let fresh = Use { owner: None, open: 0, last: Instant::now() };
        self.known().insert(id.clone(), fresh);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        Ok(self.0.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.0.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.known().remove(id);
        self.0.replay.forget(&replay::common(id));
        Ok(self.0.local.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.0.local.create_stream(id, message).await?;
        Ok(self.while_open(id, stream))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.used(id);
        Ok(self.0.local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.0.local.create_standalone_stream(id).await?;
        Ok(self.while_open(id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        // `event_store` stays `None` for the library: with one it would not cancel a call of the
        // newer era whose stream is closed.
        let stream: Said = if last_event_id == FIRST_OF_COMMON {
            Box::pin(self.0.local.create_standalone_stream(id).await?)
        } else {
            Box::pin(self.0.local.resume(id, last_event_id).await?)
        };
        Ok(self.while_open(id, stream))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;

    fn caller(number: usize) -> Principal {
        Principal::Session { session: format!("ses_{number:026}").parse().unwrap() }
    }

    async fn open(sessions: &Sessions, owner: &Principal) -> SessionId {
        sessions.make_room(owner).await.unwrap();
        let (id, _transport) = sessions.create_session().await.unwrap();
        sessions.belongs(&id, owner);
        id
    }

    #[tokio::test]
    async fn a_session_is_there_for_its_owner_alone() {
        let sessions = Sessions::new();
        let id = open(&sessions, &caller(1)).await;
        assert!(sessions.is_of(&id, &caller(1)) && !sessions.is_of(&id, &caller(2)));
        assert!(!sessions.is_of("no such session", &caller(1)));
        sessions.close_session(&id).await.unwrap();
        assert!(!sessions.is_of(&id, &caller(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn one_caller_makes_room_for_itself_and_costs_nobody_else_a_session() {
        let sessions = Sessions::new();
        let others = open(&sessions, &caller(2)).await;
        let mut first = None;
        for _ in 0..=MOST_EACH {
            tokio::time::advance(Duration::from_secs(1)).await;
            let id = open(&sessions, &caller(1)).await;
            first.get_or_insert(id);
        }
        assert!(!sessions.is_of(&first.unwrap(), &caller(1)));
        assert!(sessions.is_of(&others, &caller(2)));
        assert_eq!(sessions.known().len(), MOST_EACH + 1);
    }

    #[tokio::test]
    async fn there_is_a_most_and_what_is_in_use_stays() {
        let sessions = Sessions::new();
        let mut streams = Vec::new();
        for number in (3..).take(MOST) {
            let id = open(&sessions, &caller(number)).await;
            streams.push(sessions.while_open(&id, stream::pending()));
        }
        assert_eq!(sessions.make_room(&caller(1)).await, Err(Full));
        streams.pop();
        assert_eq!(sessions.make_room(&caller(1)).await, Ok(()));
        assert_eq!(sessions.known().len(), MOST - 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_nobody_uses_ends_and_an_open_stream_is_a_use() {
        let sessions = Sessions::new();
        let (idle, used) = (open(&sessions, &caller(1)).await, open(&sessions, &caller(1)).await);
        let stream = sessions.while_open(&used, stream::pending());
        let stop = CancellationToken::new();
        let sweep = sessions.clone().sweep(stop.clone());
        let later = async {
            tokio::time::sleep(IDLE + 2 * SWEEP).await;
            assert!(!sessions.is_of(&idle, &caller(1)) && sessions.is_of(&used, &caller(1)));
            drop(stream);
            tokio::time::sleep(IDLE + 2 * SWEEP).await;
            assert!(!sessions.is_of(&used, &caller(1)));
            stop.cancel();
        };
        tokio::join!(sweep, later);
    }
}
