//! Where the agent's hooks arrive: HTTP on loopback, one address, one token.

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header::AUTHORIZATION},
    response::{IntoResponse, Json, Response},
    routing::post,
};
use futures_util::StreamExt as _;
use serde_json::Value;
use std::{io, sync::Arc};
use subtle::ConstantTimeEq;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, mpsc, oneshot},
};

use super::clock;
use crate::agents::{
    HookAddress, HookCall, HookReply, Reporter,
    guard::{BEFORE_PATH, Guarded, Said, refusal},
    json,
};
use vigie_core::agent::AgentEvent;

/// Largest call, in bytes; a tool's input can hold a whole file.
const BODY: usize = 32 << 20;
/// Calls the adapter has not looked at.
const QUEUE: usize = 64;
/// Calls that wait for an answer at once. An agent with a crowd of sub-agents stays far below.
const OPEN: usize = 256;

#[derive(Clone)]
struct Hooks {
    calls: mpsc::Sender<HookCall>,
    open: Arc<Semaphore>,
    token: Arc<str>,
    guarded: Arc<Guarded>,
    reports: Reporter,
}

/// A server that is bound; it answers once `serve` is polled.
pub(crate) struct Listening {
    pub(crate) address: HookAddress,
    pub(crate) calls: mpsc::Receiver<HookCall>,
    listener: TcpListener,
    router: Router,
}

/// `guarded` says what holds before each tool, and what it denies is told to `reports`.
pub(crate) async fn listen(guarded: Arc<Guarded>, reports: Reporter) -> io::Result<Listening> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let url = format!("http://{}/hook", listener.local_addr()?);
    let token = format!("{:032x}{:032x}", rand::random::<u128>(), rand::random::<u128>());
    let (calls, inbox) = mpsc::channel(QUEUE);
    let open = Arc::new(Semaphore::new(OPEN));
    let hooks = Hooks { calls, open, token: token.as_str().into(), guarded, reports };
    let router = Router::new()
        .route("/hook", post(hook))
        .route(&format!("/hook{BEFORE_PATH}"), post(before))
        .layer(DefaultBodyLimit::max(BODY))
        .with_state(hooks);
    Ok(Listening { address: HookAddress { url, token }, calls: inbox, listener, router })
}

impl Listening {
    /// Splits off what answers the calls, to be run as a task.
    pub(crate) fn split(
        self,
    ) -> (HookAddress, mpsc::Receiver<HookCall>, impl Future<Output = ()> + Send) {
        let serve = async {
            // It ends only with the process.
            let _ = axum::serve(self.listener, self.router).await;
        };
        (self.address, self.calls, serve)
    }
}

/// Hands one call to the adapter and waits for its answer, for as long as the agent does. When the
/// agent closes the connection this future is dropped, and with it the adapter's way to answer.
async fn hook(State(hooks): State<Hooks>, headers: HeaderMap, body: Bytes) -> Response {
    if !knows_token(&headers, &hooks.token) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let Ok(event) = json::read(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let event = match judged(&hooks, event).await {
        Ok(answer) => return Json(answer).into_response(),
        Err(event) => event,
    };
    let Ok(_open) = hooks.open.try_acquire() else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let (answer, answered) = oneshot::channel();
    let call = HookCall { event, reply: HookReply::new(answer) };
    let nothing = || serde_json::json!({});
    // An adapter that is gone decides nothing, and nothing is what the agent gets.
    let answer = match hooks.calls.send(call).await {
        Ok(()) => answered.await.unwrap_or_else(|_| nothing()),
        Err(_) => nothing(),
    };
    Json(answer).into_response()
}

/// The same for what comes before a tool, which a call that fails would let through: whatever happens,
/// there is an answer.
async fn before(State(hooks): State<Hooks>, call: Request) -> Response {
    let refused = |why: &str| Json(refusal(why)).into_response();
    let known = knows_token(call.headers(), &hooks.token);
    // To its end, however long it is: who still writes would not hear the answer.
    let mut parts = call.into_body().into_data_stream();
    let mut body: Result<Vec<u8>, &str> = Ok(Vec::new());
    while let Some(part) = parts.next().await {
        body = match (body, part) {
            (Ok(mut body), Ok(part)) if known && body.len() + part.len() <= BODY => {
                body.extend_from_slice(&part);
                Ok(body)
            }
            (_, Ok(_)) => Err("the call is too long"),
            (_, Err(_)) => return refused("the call broke off"),
        };
    }
    if !known {
        return refused("the call came without the token of this session");
    }
    let event = body.and_then(|body| json::read(&body).map_err(|_| "the call does not read"));
    match event {
        Ok(event) => match judged(&hooks, event).await {
            Ok(answer) => Json(answer).into_response(),
            Err(_) => refused("the call is about no tool that begins"),
        },
        Err(why) => refused(why),
    }
}

/// What is said to a tool that begins: at once, whatever the adapter does, which is told and not waited
/// for. Gives back what is about something else.
async fn judged(hooks: &Hooks, event: Value) -> Result<Value, Value> {
    let guarded = hooks.guarded.clone();
    // Aside, since it may look at links of a slow disk, and a panic in it is a no.
    let judging = tokio::task::spawn_blocking(move || {
        let said = guarded.judge(&event, clock::now());
        (said, event)
    });
    let Ok((said, event)) = judging.await else {
        return Ok(refusal("the part of it that judges failed"));
    };
    let Some(said) = said else { return Err(event) };
    let answer = said.answer();
    if let Said::Deny { call, .. } = said {
        // A journal that is behind keeps no agent waiting.
        let reports = hooks.reports.clone();
        #[expect(
            clippy::disallowed_methods,
            reason = "ends with the journal, whose queue is bounded"
        )]
        tokio::spawn(async move { reports.report(AgentEvent::Denied { call }).await });
    }
    // Nobody waits for what the adapter answers. One that is far behind misses a line of progress.
    let (reply, _) = oneshot::channel();
    let _ = hooks.calls.try_send(HookCall { event, reply: HookReply::new(reply) });
    Ok(answer)
}

fn knows_token(headers: &HeaderMap, token: &str) -> bool {
    let given = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
    let expected = format!("Bearer {token}");
    bool::from(given.ct_eq(expected.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
        time::timeout,
    };

    const DEADLINE: Duration = Duration::from_secs(10);

    struct Running {
        address: HookAddress,
        calls: mpsc::Receiver<HookCall>,
        guarded: Arc<Guarded>,
        journal: mpsc::Receiver<AgentEvent>,
        _server: tokio::task::JoinSet<()>,
    }

    impl Running {
        async fn start() -> Self {
            let (reports, journal) = mpsc::channel(16);
            let guarded = Arc::new(Guarded::new(vigie_core::policy::Guard::default()));
            let listening = listen(guarded.clone(), Reporter::new(reports)).await.unwrap();
            let (address, calls, serve) = listening.split();
            let mut server = tokio::task::JoinSet::new();
            server.spawn(serve);
            Self { address, calls, guarded, journal, _server: server }
        }

        async fn post(&self, path: &str, token: &str, body: &str) -> TcpStream {
            let host = self.address.url.strip_prefix("http://").unwrap();
            let host = host.strip_suffix("/hook").unwrap();
            let mut stream = TcpStream::connect(host).await.unwrap();
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\
                 connection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            let _ = stream.write_all(body.as_bytes()).await; // a refusal may come before the end
            stream
        }

        async fn call(&mut self) -> HookCall {
            timeout(DEADLINE, self.calls.recv()).await.unwrap().unwrap()
        }
    }

    async fn answer(mut stream: TcpStream) -> String {
        let mut text = Vec::new();
        let _ = timeout(DEADLINE, stream.read_to_end(&mut text)).await.unwrap();
        String::from_utf8(text).unwrap()
    }

    #[tokio::test]
    async fn a_call_waits_for_its_answer() {
        let mut hooks = Running::start().await;
        let token = hooks.address.token.clone();
        let stream = hooks.post("/hook", &token, r#"{"hook":"Stop"}"#).await;
        let call = hooks.call().await;
        assert_eq!(call.event["hook"], "Stop");
        assert!(call.reply.answer(serde_json::json!({"yes": 1})));
        let answer = answer(stream).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(r#"{"yes":1}"#), "{answer}");
    }

    #[tokio::test]
    async fn half_a_character_keeps_no_request_back() {
        let mut hooks = Running::start().await;
        let token = hooks.address.token.clone();
        let asked = hooks.post("/hook", &token, r#"{"command":"echo \uD83D done"}"#).await;
        let call = hooks.call().await;
        assert_eq!(call.event["command"], "echo \u{FFFD} done");
        assert!(call.reply.answer(serde_json::json!({"yes": 1})));
        assert!(answer(asked).await.ends_with(r#"{"yes":1}"#));
    }

    #[tokio::test]
    async fn no_decision_is_an_empty_answer() {
        let mut hooks = Running::start().await;
        let token = hooks.address.token.clone();
        let stream = hooks.post("/hook", &token, "{}").await;
        drop(hooks.call().await);
        assert!(answer(stream).await.ends_with("\r\n\r\n{}"));
    }

    #[tokio::test]
    async fn the_adapter_learns_that_the_agent_hung_up() {
        let mut hooks = Running::start().await;
        let token = hooks.address.token.clone();
        let stream = hooks.post("/hook", &token, "{}").await;
        let mut call = hooks.call().await;
        drop(stream);
        timeout(DEADLINE, call.reply.gone()).await.unwrap();
        assert!(!call.reply.answer(serde_json::json!({})));
    }

    #[tokio::test]
    async fn before_a_tool_there_is_always_an_answer_and_trouble_is_a_no() {
        let mut hooks = Running::start().await;
        let token = hooks.address.token.clone();
        let tool = r#"{"hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{}}"#;
        for path in ["/hook", "/hook/before"] {
            let passes = answer(hooks.post(path, &token, tool).await).await;
            assert!(passes.ends_with("\r\n\r\n{}"), "{passes}");
            assert_eq!(hooks.call().await.event["tool_name"], "Read", "the adapter hears of it");
        }
        let large = format!("\"{}\"", "x".repeat(BODY));
        let stop = r#"{"hook_event_name":"Stop"}"#;
        for (token, body) in
            [("wrong", tool), (&*token, "no json"), (&*token, &*large), (&*token, stop)]
        {
            let no = answer(hooks.post("/hook/before", token, body).await).await;
            assert!(no.starts_with("HTTP/1.1 200") && no.contains(r#""deny""#), "{no}");
        }
        hooks.guarded.renew(serde_json::json!("no policies"));
        for _ in 0..QUEUE + 8 {
            // The adapter takes none of them.
            let no = answer(hooks.post("/hook/before", &token, tool).await).await;
            assert!(no.contains(r#""permissionDecision":"deny""#), "{no}");
            let told = timeout(DEADLINE, hooks.journal.recv()).await.unwrap();
            assert!(matches!(told, Some(AgentEvent::Denied { .. })), "{told:?}");
        }
    }

    #[tokio::test]
    async fn strangers_and_nonsense_reach_nobody() {
        let mut hooks = Running::start().await;
        let token = hooks.address.token.clone();
        let large = format!("\"{}\"", "x".repeat(BODY));
        for (path, token, body, status) in [
            ("/hook", "wrong", "{}", "401"),
            ("/other", token.as_str(), "{}", "404"),
            ("/hook", token.as_str(), "no json", "400"),
            ("/hook", token.as_str(), large.as_str(), "413"),
        ] {
            let answer = answer(hooks.post(path, token, body).await).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path} {answer}");
        }
        assert!(hooks.calls.try_recv().is_err());
    }
}
