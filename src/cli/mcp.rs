//! `vigie mcp`: the tools over standard input and output, for programs that cannot call HTTP. Each
//! message goes to the daemon as it is and each answer comes back as it is, in both eras of the
//! protocol; what the daemon forgot over a restart is begun anew, unseen.

use axum::body::Bytes;
use futures_util::StreamExt as _;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    client::conn::http1,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST},
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    env, fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::AsyncWriteExt as _,
    net::TcpStream,
    sync::mpsc,
    task::{AbortHandle, JoinSet},
    time::{sleep, timeout},
};
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

use super::{Desk, failure::Failure, kept};
use crate::{
    config::{Config, Named},
    web::shapes::StatusShape,
};

/// Longest message from the program; the daemon takes a little less and says so itself.
const LONGEST: usize = 2 << 20;
/// Longest answer of the daemon, in bytes.
const LONGEST_ANSWER: usize = 16 << 20;
/// Answers that wait for the program to read them.
const ANSWERS: usize = 64;
/// The daemon on this machine takes a connection at once or not at all.
const CONNECT: Duration = Duration::from_secs(5);
/// Before its first byte a call may wait for a person; the daemon itself gives up before this.
const FIRST_BYTE: Duration = Duration::from_mins(20);
/// A stream says something every 15 s.
const SILENCE: Duration = Duration::from_mins(1);
/// Between two tries to hear what the daemon says of itself.
const LISTEN_AGAIN: Duration = Duration::from_secs(5);

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// Our own error, as JSON-RPC leaves room for: the daemon cannot be asked. Source: JSON-RPC 2.0, 5.1.
const UNREACHABLE: i64 = -32000;

pub(super) async fn serve(token: Option<String>, desk: &Desk) -> Result<(), Failure> {
    let bridge = Arc::new(Bridge {
        authority: authority(desk).await?,
        bearer: format!("Bearer {}", secret(token, desk)?),
        older: Mutex::new(None),
        connections: Mutex::default(),
    });
    let (answers, mut written) = mpsc::channel::<String>(ANSWERS);
    let mut work = JoinSet::new();
    let mut calls: HashMap<String, AbortHandle> = HashMap::new();
    let mut lines = FramedRead::new(tokio::io::stdin(), LinesCodec::new_with_max_length(LONGEST));
    let mut out = tokio::io::stdout();
    loop {
        tokio::select! {
            Some(line) = written.recv() => {
                let line = format!("{line}\n");
                if out.write_all(line.as_bytes()).await.is_err() || out.flush().await.is_err() {
                    return Ok(()); // nobody reads any more
                }
            }
            line = lines.next() => match line {
                None => break,
                Some(Ok(line)) if line.trim().is_empty() => {}
                Some(Ok(line)) => take(&bridge, &line, &answers, &mut work, &mut calls).await,
                Some(Err(LinesCodecError::MaxLineLengthExceeded)) => {
                    let words = format!("a message has at most {LONGEST} bytes");
                    // The channel is ours and open.
                    let _ = answers.send(failure(&Value::Null, -32600, &words)).await;
                }
                Some(Err(LinesCodecError::Io(error))) => return Err(Failure::outside(error)),
            },
            Some(_) = work.join_next() => calls.retain(|_, call| !call.is_finished()),
        }
    }
    work.shutdown().await;
    bridge.leave().await;
    Ok(())
}

/// One message of the program.
async fn take(
    bridge: &Arc<Bridge>,
    line: &str,
    answers: &mpsc::Sender<String>,
    work: &mut JoinSet<()>,
    calls: &mut HashMap<String, AbortHandle>,
) {
    let Ok(message) = serde_json::from_str::<Value>(line) else {
        // Whoever hears the answers hears this one too.
        let _ = answers.send(failure(&Value::Null, -32700, "this is no JSON")).await;
        return;
    };
    let id = message.get("id").filter(|id| !id.is_null()).cloned();
    let method = message.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
    let Some(id) = id.filter(|_| !method.is_empty()) else {
        if method == "notifications/cancelled" && bridge.older().is_none() {
            // In the newer era whoever hangs up has cancelled.
            let of = message.pointer("/params/requestId").map(Value::to_string).unwrap_or_default();
            if let Some(call) = calls.remove(&of) {
                call.abort();
            }
            return;
        }
        // In order, before whatever comes next; nobody waits for an answer.
        let _ = bridge.send(&message).await;
        if method == "notifications/initialized" {
            let (bridge, answers) = (Arc::clone(bridge), answers.clone());
            work.spawn(async move { bridge.listen(&answers).await });
        }
        return;
    };
    let (bridge, answers) = (Arc::clone(bridge), answers.clone());
    let key = id.to_string();
    let call = work.spawn(async move {
        if let Err(words) = bridge.call(&message, &answers).await {
            let _ = answers.send(failure(&id, UNREACHABLE, &words)).await;
        }
    });
    calls.insert(key, call);
}

fn failure(id: &Value, code: i64, words: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": words } }).to_string()
}

/// What the older era keeps between messages.
#[derive(Clone)]
struct Older {
    session: String,
    version: String,
    /// With which it was begun, to begin anew.
    hello: Value,
}

struct Bridge {
    authority: String,
    bearer: String,
    older: Mutex<Option<Older>>,
    connections: Mutex<JoinSet<()>>,
}

impl Bridge {
    fn older(&self) -> Option<Older> {
        self.older.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_older(&self, older: Option<Older>) {
        *self.older.lock().unwrap_or_else(PoisonError::into_inner) = older;
    }

    /// Sends a request and passes on all that comes back.
    async fn call(&self, message: &Value, answers: &mpsc::Sender<String>) -> Result<(), String> {
        let response = self.send(message).await?;
        if message["method"] != "initialize" {
            return pass_on(response, answers).await;
        }
        let session = response.headers().get(SESSION).and_then(|id| id.to_str().ok());
        let session = session.map(str::to_owned);
        let body = whole(response).await?;
        if let Some(session) = session {
            let version = body.pointer("/result/protocolVersion").and_then(Value::as_str);
            let version = version.unwrap_or_default().to_owned();
            self.set_older(Some(Older { session, version, hello: message.clone() }));
        }
        // The program may be gone; then nobody misses it.
        let _ = answers.send(body.to_string()).await;
        Ok(())
    }

    /// Sends a message; a session that the daemon does not know any more is begun anew once.
    async fn send(&self, message: &Value) -> Result<Response<Incoming>, String> {
        let older = self.older();
        let response = self.post(message, older.as_ref()).await?;
        let (StatusCode::NOT_FOUND, Some(older)) = (response.status(), older) else {
            return Ok(response);
        };
        let anew = self.post(&older.hello, None).await?;
        let session = anew.headers().get(SESSION).and_then(|id| id.to_str().ok());
        let session = session.ok_or("Vigie began no session anew")?.to_owned();
        whole(anew).await?;
        let older = Older { session, ..older };
        self.set_older(Some(older.clone()));
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.post(&ready, Some(&older)).await?;
        self.post(message, Some(&older)).await
    }

    async fn post(
        &self,
        message: &Value,
        older: Option<&Older>,
    ) -> Result<Response<Incoming>, String> {
        let mut request = self.request(Method::POST).header(CONTENT_TYPE, "application/json");
        let params = &message["params"];
        let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
        if let Some(older) = older {
            request = request.header(SESSION, &older.session).header(VERSION, &older.version);
        } else if let Some(version) = version.as_str() {
            // Source of the names: MCP 2026-07-28, streamable HTTP.
            let method = message["method"].as_str().unwrap_or_default();
            request = request.header(VERSION, version).header("mcp-method", method);
            if let Some(name) = params["name"].as_str().or_else(|| params["uri"].as_str()) {
                request = request.header("mcp-name", name);
            }
        }
        let body = Full::new(Bytes::from(message.to_string()));
        let request = request.body(body).map_err(|error| error.to_string())?;
        self.exchange(request).await
    }

    /// Passes on what the daemon says of itself, for as long as the program listens.
    async fn listen(&self, answers: &mpsc::Sender<String>) {
        while let Some(older) = self.older() {
            let request = self.request(Method::GET);
            let request = request.header(SESSION, &older.session).header(VERSION, &older.version);
            if let Ok(request) = request.body(Full::new(Bytes::new()))
                && let Ok(response) = self.exchange(request).await
                && response.status().is_success()
            {
                let _ = pass_on(response, answers).await;
            }
            sleep(LISTEN_AGAIN).await;
        }
    }

    /// Gives the session back; a daemon that is gone has forgotten it already.
    async fn leave(&self) {
        if let Some(older) = self.older()
            && let Ok(request) = self
                .request(Method::DELETE)
                .header(SESSION, &older.session)
                .header(VERSION, &older.version)
                .body(Full::new(Bytes::new()))
        {
            let _ = self.exchange(request).await;
        }
    }

    /// Runs a connection beside whoever reads from it, until it closes or we end.
    fn keep(&self, connection: impl Future<Output = ()> + Send + 'static) {
        let mut open = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        while open.try_join_next().is_some() {}
        open.spawn(connection);
    }

    fn request(&self, method: Method) -> hyper::http::request::Builder {
        Request::builder()
            .method(method)
            .uri("/mcp")
            .header(HOST, &self.authority)
            .header(AUTHORIZATION, &self.bearer)
            .header(ACCEPT, "application/json, text/event-stream")
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String> {
        const DOWN: &str = "Vigie is not running. The person starts it with: vigie up";
        let connecting = timeout(CONNECT, TcpStream::connect(&self.authority)).await;
        let stream = connecting.map_err(|_| DOWN)?.map_err(|_| DOWN)?;
        // Small messages must not wait for the other end to confirm the one before.
        let _ = stream.set_nodelay(true);
        let broken = |error: hyper::Error| format!("the connection to Vigie broke: {error}");
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        self.keep(async move { drop(connection.await) });
        let response = timeout(FIRST_BYTE, sender.send_request(request)).await;
        response.map_err(|_| "Vigie does not answer")?.map_err(broken)
    }
}

/// Every message of an answer, as it comes.
async fn pass_on(
    response: Response<Incoming>,
    answers: &mpsc::Sender<String>,
) -> Result<(), String> {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
        let body = whole(response).await?;
        // The program may be gone; then nobody misses it.
        let _ = answers.send(body.to_string()).await;
        return Ok(());
    }
    let mut body = response.into_body();
    let mut rest = Vec::new();
    let mut data = Vec::new();
    loop {
        let frame = timeout(SILENCE, body.frame()).await.map_err(|_| "Vigie fell silent")?;
        let Some(frame) = frame else { return Ok(()) };
        let frame = frame.map_err(|error| format!("the connection to Vigie broke: {error}"))?;
        if let Some(bytes) = frame.data_ref() {
            rest.extend_from_slice(bytes);
        }
        if rest.len() + data.len() > LONGEST_ANSWER {
            return Err("an answer of Vigie has no end".into());
        }
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let line = line.trim_ascii_end();
            if let Some(more) = line.strip_prefix(b"data:") {
                data.extend_from_slice(more.trim_ascii_start());
            } else if line.is_empty() {
                if let Ok(message) = serde_json::from_slice::<Value>(&data) {
                    let _ = answers.send(message.to_string()).await;
                }
                data.clear();
            }
        }
    }
}

/// An answer in one go. What is no answer of the protocol is said in Vigie's own words.
async fn whole(response: Response<Incoming>) -> Result<Value, String> {
    let status = response.status();
    let body = response.into_body().collect();
    let body = timeout(SILENCE, body).await.map_err(|_| "Vigie fell silent")?;
    let body = body.map_err(|error| format!("the connection to Vigie broke: {error}"))?.to_bytes();
    // An answer may come as a stream of one event.
    let text = body.strip_prefix(b"data:").unwrap_or(&body);
    let value: Value = match serde_json::from_slice(text) {
        Ok(value) => value,
        Err(_) => event(&body).unwrap_or_default(),
    };
    if value.get("jsonrpc").is_some() {
        return Ok(value);
    }
    let said = value["error"].as_str().or_else(|| value["error_description"].as_str());
    let words = said.map_or_else(|| format!("Vigie answered {status}"), str::to_owned);
    Err(match status {
        StatusCode::UNAUTHORIZED => format!(
            "{words}. The token is over or was never valid; `vigie token list` shows those that are"
        ),
        _ => words,
    })
}

/// The last message of a stream that was read whole.
fn event(body: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(body).ok()?;
    let lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
    lines.filter_map(|line| serde_json::from_str(line.trim()).ok()).next_back()
}

/// Where the daemon is: said by the session we run in, by the daemon, or by the configuration.
async fn authority(desk: &Desk) -> Result<String, Failure> {
    let of_url = |url: &str| {
        let rest = url.strip_prefix("http://")?;
        Some(rest.split('/').next().unwrap_or_default().to_owned())
    };
    if let Some(authority) = env::var("VIGIE_MCP_URL").ok().as_deref().and_then(of_url) {
        return Ok(authority);
    }
    // A daemon that runs knows best, unless people reach it through something else.
    let status = desk.client.get::<StatusShape>("/status").await;
    if let Some(authority) = status.ok().and_then(|status| of_url(&status.daemon.url)) {
        return Ok(authority);
    }
    let mut listen = Config::load(&desk.around, Named::No).map_err(Failure::usage)?.web.listen;
    match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => listen.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => listen.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    Ok(listen.to_string())
}

/// A kept token by its name, else what the environment holds; never an argument.
fn secret(name: Option<String>, desk: &Desk) -> Result<String, Failure> {
    let Some(name) = name else {
        let token = env::var("VIGIE_MCP_TOKEN").ok().filter(|token| !token.is_empty());
        return token.ok_or_else(|| {
            Failure::usage("there is no token")
                .hint("Set VIGIE_MCP_TOKEN, or name one that Vigie keeps: vigie mcp --token NAME")
        });
    };
    let file = kept::file(&desk.around.data, &name);
    let token = fs::read_to_string(&file).map_err(|error| {
        Failure::refused("no_token", format!("the token {name} cannot be read: {error}"))
            .hint("`vigie mcp install` makes one and keeps it.")
    })?;
    Ok(token.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_of_a_stream_is_its_answer() {
        let body = b"id: 0\ndata: \n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n";
        assert_eq!(event(body).unwrap()["id"], 1);
        assert_eq!(event(b": only a comment\n\n"), None);
    }
}
