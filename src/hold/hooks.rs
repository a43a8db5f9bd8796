//! Where the agent's hooks arrive: HTTP on loopback, one address, one token.

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, HeaderValue, StatusCode, header::AUTHORIZATION},
    response::{IntoResponse, Json, Response},
    routing::post,
};
use std::{io, sync::Arc};
use subtle::ConstantTimeEq;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, mpsc, oneshot},
};

use crate::agents::{HookAddress, HookCall, HookReply, json};

/// Largest call, in bytes; a tool's input can hold a whole file.
const BODY: usize = 4 << 20;
/// Calls the adapter has not looked at.
const QUEUE: usize = 64;
/// Calls that wait for an answer at once. An agent with a crowd of sub-agents stays far below.
const OPEN: usize = 256;

#[derive(Clone)]
struct Hooks {
    calls: mpsc::Sender<HookCall>,
    open: Arc<Semaphore>,
    token: Arc<str>,
}

/// A server that is bound; it answers once `serve` is polled.
pub(crate) struct Listening {
    pub(crate) address: HookAddress,
    pub(crate) calls: mpsc::Receiver<HookCall>,
    listener: TcpListener,
    router: Router,
}

pub(crate) async fn listen() -> io::Result<Listening> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let url = format!("http://{}/hook", listener.local_addr()?);
    let token = format!("{:032x}{:032x}", rand::random::<u128>(), rand::random::<u128>());
    let (calls, inbox) = mpsc::channel(QUEUE);
    let hooks = Hooks { calls, open: Arc::new(Semaphore::new(OPEN)), token: token.as_str().into() };
    let router = Router::new()
        .route("/hook", post(hook))
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
    let Ok(_open) = hooks.open.try_acquire() else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let Ok(event) = json::read(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
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
        _server: tokio::task::JoinSet<()>,
    }

    impl Running {
        async fn start() -> Self {
            let (address, calls, serve) = listen().await.unwrap().split();
            let mut server = tokio::task::JoinSet::new();
            server.spawn(serve);
            Self { address, calls, _server: server }
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
