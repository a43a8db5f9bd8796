//! Sessions: start, write to, steer, look at.

use axum::{
    Json,
    body::Bytes,
    extract::{Extension, Path, State},
    http::StatusCode,
};
use std::time::Duration;
use vigie_core::{
    caller::Isolated,
    command::{Command, Refusal, Reply, Start, Typed},
};

use super::{ask, read, read_session, read_sessions, unexpected};
use crate::{
    config::Role,
    web::{
        fault::Fault,
        people::Caller,
        serve::App,
        shapes::{
            Done, EndSession, Folder, HandOver, NewSession, RetryAccount, Screen, SendText,
            SessionShape, Stored, TypeKeys,
        },
    },
};

/// A holder that draws no screen within this time hangs.
const SCREEN_DEADLINE: Duration = Duration::from_secs(5);

type Answer<T> = Result<Json<T>, Fault>;

/// All sessions that are known.
#[utoipa::path(
    get, path = "/sessions",
    responses((status = 200, body = Vec<SessionShape>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Answer<Vec<SessionShape>> {
    let sessions = read_sessions(&app, &caller).await?;
    Ok(Json(sessions.iter().map(SessionShape::new).collect()))
}

/// A session, by name or id: the live one, else the newest.
#[utoipa::path(
    get, path = "/sessions/{name}",
    responses((status = 200, body = SessionShape))
)]
pub(super) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Answer<SessionShape> {
    Ok(Json(SessionShape::new(&read_session(&app, &caller, &name).await?)))
}

/// Starts a session.
#[utoipa::path(
    post, path = "/sessions", request_body = NewSession,
    responses((status = 201, body = SessionShape))
)]
pub(super) async fn start(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<(StatusCode, Json<SessionShape>), Fault> {
    let NewSession { name, title, project, agent, prompt, isolated } = read(&body)?;
    let isolated = if isolated { Isolated::Yes } else { Isolated::No };
    let start = Command::Start(Start { name, title, project, agent, prompt, isolated });
    match ask(&app, &caller, Role::Talker, start).await? {
        Reply::Started(view) => Ok((StatusCode::CREATED, Json(SessionShape::new(&view)))),
        other => Err(unexpected(&other)),
    }
}

/// Writes to a session: its words stand in line until the agent takes them.
#[utoipa::path(
    post, path = "/sessions/{name}/send", request_body = SendText,
    responses((status = 200, body = Stored))
)]
pub(super) async fn send(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
    body: Bytes,
) -> Answer<Stored> {
    let SendText { text, form } = read(&body)?;
    let send = Command::Send { session, text, form: form.into() };
    match ask(&app, &caller, Role::Talker, send).await? {
        Reply::Stored { prompt, session, ahead, kept } => {
            let (prompt, session) = (prompt.to_string(), session.to_string());
            Ok(Json(Stored { prompt, session, ahead, kept }))
        }
        other => Err(unexpected(&other)),
    }
}

/// Interrupts the turn; the conversation is kept.
#[utoipa::path(
    post, path = "/sessions/{name}/stop",
    responses((status = 200, body = Done))
)]
pub(super) async fn stop(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
) -> Answer<Done> {
    steer(&app, &caller, Command::Stop { session }).await
}

/// Has the agent leave.
#[utoipa::path(
    post, path = "/sessions/{name}/end", request_body = Option<EndSession>,
    responses((status = 200, body = Done))
)]
pub(super) async fn end(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
    body: Bytes,
) -> Answer<Done> {
    let EndSession { tree } = if body.is_empty() { EndSession::default() } else { read(&body)? };
    let end = if tree { Command::EndTree { session } } else { Command::End { session } };
    steer(&app, &caller, end).await
}

/// Ends the program and all it started, at once.
#[utoipa::path(
    post, path = "/sessions/{name}/kill",
    responses((status = 200, body = Done))
)]
pub(super) async fn kill(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
) -> Answer<Done> {
    steer(&app, &caller, Command::Kill { session }).await
}

/// Goes on with a conversation that is over.
#[utoipa::path(
    post, path = "/sessions/{name}/resume",
    responses((status = 200, body = Done))
)]
pub(super) async fn resume(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
) -> Answer<Done> {
    steer(&app, &caller, Command::Resume { session }).await
}

/// Gives its story to another agent.
#[utoipa::path(
    post, path = "/sessions/{name}/handover", request_body = HandOver,
    responses((status = 200, body = Done))
)]
pub(super) async fn hand_over(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
    body: Bytes,
) -> Answer<Done> {
    let HandOver { agent } = read(&body)?;
    steer(&app, &caller, Command::HandOver { session, agent }).await
}

/// Tries an account of agents again that is stopped; without a name, all of them.
#[utoipa::path(
    post, path = "/accounts/retry", request_body = Option<RetryAccount>,
    responses((status = 200, body = Done))
)]
pub(super) async fn retry_account(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Answer<Done> {
    let RetryAccount { account } =
        if body.is_empty() { RetryAccount::default() } else { read(&body)? };
    steer(&app, &caller, Command::RetryAccount { account }).await
}

async fn steer(app: &App, caller: &Caller, what: Command) -> Answer<Done> {
    match ask(app, caller, Role::Talker, what).await? {
        Reply::Done { words } => Ok(Json(Done { words })),
        Reply::Started(view) => Ok(Json(Done { words: format!("{} starts", view.session.name) })),
        other => Err(unexpected(&other)),
    }
}

/// Its screen as it is now, as text.
#[utoipa::path(
    get, path = "/sessions/{name}/screen",
    responses((status = 200, body = Screen))
)]
pub(super) async fn screen(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Answer<Screen> {
    let session = read_session(&app, &caller, &name).await?.session;
    if !session.life.is_live() {
        return Err(Refusal::NotLive { name: session.name }.into());
    }
    let drawn = (app.outside.screen)((app.outside.folder)(&session));
    let lines = tokio::time::timeout(SCREEN_DEADLINE, drawn)
        .await
        .unwrap_or_else(|_| Err("its holder does not answer".into()))
        .map_err(|why| {
            let words = format!("the screen of {} cannot be read: {why}", session.name);
            let hint = format!(
                "`vigie sessions` tells its state; `vigie log {}` what it printed.",
                session.name
            );
            Fault::new(StatusCode::BAD_GATEWAY, "no_screen", words).hint(hint)
        })?;
    Ok(Json(Screen { session: session.name.to_string(), lines }))
}

/// Each key as terminals send it. Source: xterm's control sequences, "PC-Style Function Keys".
const KEYS: [(&str, &str); 16] = [
    ("esc", "\x1b"),
    ("enter", "\r"),
    ("tab", "\t"),
    ("shift-tab", "\x1b[Z"),
    ("up", "\x1b[A"),
    ("down", "\x1b[B"),
    ("right", "\x1b[C"),
    ("left", "\x1b[D"),
    ("home", "\x1b[H"),
    ("end", "\x1b[F"),
    ("page-up", "\x1b[5~"),
    ("page-down", "\x1b[6~"),
    ("delete", "\x1b[3~"),
    ("backspace", "\x7f"),
    ("space", " "),
    ("ctrl-c", "\x03"),
];

/// Keys of one request.
const MOST_KEYS: usize = 64;

/// Longest text of one request, in bytes; longer words are for `send`.
const LONGEST_TYPED: usize = 16 << 10;

/// Types into the terminal, past every card: what stands there may be a question of the agent's.
#[utoipa::path(
    post, path = "/sessions/{name}/keys", request_body = TypeKeys,
    responses((status = 200, body = Done))
)]
pub(super) async fn keys(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    body: Bytes,
) -> Answer<Done> {
    if caller.role < Role::Owner {
        let words = format!("{} may not type into terminals", caller.name);
        return Err(Fault::new(StatusCode::FORBIDDEN, "role", words)
            .hint("Keys can answer what an agent asks there, so only an owner may."));
    }
    let asked: TypeKeys = read(&body)?;
    let bytes = typed(&asked)?;
    let session = read_session(&app, &caller, &name).await?.session;
    if !session.life.is_live() {
        return Err(Refusal::NotLive { name: session.name }.into());
    }
    let TypeKeys { text, keys } = asked;
    let typed = Typed { keys, characters: text.chars().count() };
    let note = Command::NoteTyped { session: session.id, typed };
    ask(&app, &caller, Role::Owner, note).await?;
    app.outside.sight.keys(&session, bytes).await.map_err(|why| {
        let words = format!("nothing was typed into {}: {why}", session.name);
        Fault::new(StatusCode::BAD_GATEWAY, "no_keys", words)
            .hint("`vigie sessions` tells its state.")
    })?;
    Ok(Json(Done { words: String::new() }))
}

fn typed(asked: &TypeKeys) -> Result<Vec<u8>, Fault> {
    let TypeKeys { text, keys } = asked;
    if keys.is_empty() && text.is_empty() {
        return Err(Fault::unreadable("it names no keys and no text"));
    }
    if keys.len() > MOST_KEYS || text.len() > LONGEST_TYPED {
        return Err(Fault::unreadable("that is more than is typed at once"));
    }
    if text.contains(char::is_control) {
        return Err(Fault::unreadable("the text holds what is a key of its own: `enter`, `tab`"));
    }
    let mut bytes = text.clone().into_bytes();
    for key in keys {
        let (_, sent) = KEYS.iter().find(|(name, _)| name == key).ok_or_else(|| {
            let names = KEYS.map(|(name, _)| name).join(", ");
            Fault::unreadable(format!("no key is called `{key}`; there are {names}"))
        })?;
        bytes.extend(sent.bytes());
    }
    Ok(bytes)
}

/// The folder of its present run, or of the last one.
#[utoipa::path(
    get, path = "/sessions/{name}/folder",
    responses((status = 200, body = Folder))
)]
pub(super) async fn folder(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Answer<Folder> {
    caller.needs_desk()?;
    let session = read_session(&app, &caller, &name).await?.session;
    Ok(Json(Folder {
        folder: (app.outside.folder)(&session).display().to_string(),
        live: session.life.is_live(),
        session: session.name.to_string(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str, keys: &[&str]) -> TypeKeys {
        TypeKeys { text: text.into(), keys: keys.iter().map(|key| (*key).into()).collect() }
    }

    #[test]
    fn keys_are_what_a_terminal_sends_and_text_holds_none() {
        let sent = typed(&asked("yes é", &["enter", "up", "ctrl-c"])).unwrap();
        assert_eq!(sent, "yes é\r\x1b[A\x03".as_bytes());
        let wrong: [(&str, &[&str]); 4] =
            [("", &[]), ("a\rb", &[]), ("\x1b[A", &[]), ("", &["f13"])];
        for (text, keys) in wrong {
            assert_eq!(typed(&asked(text, keys)).unwrap_err().code(), "unreadable", "{text:?}");
        }
        assert!(typed(&asked("", &["up"; 65])).is_err());
    }
}
