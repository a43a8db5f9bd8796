//! A client of the agents' door, in both eras of the protocol, that sees what goes over the wire.
#![allow(dead_code, reason = "each test file uses its part")]

use http_body_util::{BodyExt as _, Full};
use hyper::{
    HeaderMap, Request, StatusCode,
    body::{Bytes, Incoming},
    client::conn::http1,
    header,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::{net::SocketAddr, time::Duration};
use tokio::{net::TcpStream, task::JoinHandle, time::timeout};

use super::home::{DEADLINE, Home};

pub(crate) const OLDER: &str = "2025-11-25";
pub(crate) const NEWER: &str = "2026-07-28";

/// A program with a token.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

/// An answer that was read to its end.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// An answer that is still being told.
pub(crate) struct Told {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    rest: String,
    connection: JoinHandle<()>,
}

/// One thing said on a stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) message: Value,
}

impl Told {
    /// The next event; `None`: the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.rest.split_once("\n\n") {
                let (event, end) = (parse(event), self.rest.len() - rest.len());
                self.rest.drain(..end);
                match event {
                    Some(event) => return Some(event),
                    None => continue, // a comment
                }
            }
            let frame =
                timeout(DEADLINE, self.body.frame()).await.expect("the stream is silent")?;
            if let Ok(bytes) = frame.expect("the stream broke").into_data() {
                self.rest.push_str(&String::from_utf8_lossy(&bytes).replace("\r\n", "\n"));
            }
        }
    }

    /// Goes on to the next message that `is` so.
    pub(crate) async fn until(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event =
                self.next().await.unwrap_or_else(|| panic!("the stream ended without {what}"));
            if is(&event.message) {
                return event.message;
            }
        }
    }

    pub(crate) async fn notice(&mut self, method: &str) -> Value {
        self.until(method, |message| message["method"] == method).await
    }

    pub(crate) async fn whole(self) -> Answer {
        let Self { status, headers, body, rest, connection } = self;
        let bytes = body.collect().await.unwrap().to_bytes();
        connection.abort();
        Answer {
            status,
            headers,
            text: [rest, String::from_utf8_lossy(&bytes).into_owned()].concat(),
        }
    }

    /// Closes the connection, as a client does that gives up.
    pub(crate) fn hang_up(self) {
        self.connection.abort();
    }
}

fn parse(event: &str) -> Option<Event> {
    let mut parsed = Event::default();
    let mut data = None;
    for line in event.lines() {
        match line.split_once(':') {
            Some(("id", id)) => parsed.id = Some(id.trim().into()),
            Some(("data", text)) => data.get_or_insert_with(String::new).push_str(text.trim()),
            _ => {}
        }
    }
    parsed.message = serde_json::from_str(&data?).unwrap_or_default();
    Some(parsed)
}

impl Home {
    /// A program with a token that is good for these scopes; none: for all.
    pub(crate) async fn program(&self, name: &str, scopes: &[&str]) -> Program {
        let mut wanted = json!({ "name": name });
        if !scopes.is_empty() {
            wanted["scopes"] = json!(scopes);
        }
        let made: Value = self.desk().post("/tokens", &wanted).await.unwrap();
        Program { address: self.address, token: made["token"].as_str().unwrap().into() }
    }
}

impl Program {
    /// One request as it is written, on a connection of its own.
    pub(crate) async fn send(
        &self,
        method: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Told {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        #[expect(clippy::disallowed_methods, reason = "a test ends with its tasks")]
        let connection = tokio::spawn(async move {
            let _ = connection.await;
        });
        let mut request = Request::builder().method(method).uri("/mcp");
        let mut usual = vec![
            (header::HOST.as_str(), self.address.to_string()),
            (header::AUTHORIZATION.as_str(), format!("Bearer {}", self.token)),
            (header::CONTENT_TYPE.as_str(), "application/json".into()),
            (header::ACCEPT.as_str(), "application/json, text/event-stream".into()),
        ];
        usual.retain(|(name, _)| !headers.iter().any(|(other, _)| other == name));
        for (name, value) in usual {
            request = request.header(name, value);
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        let response =
            timeout(DEADLINE, sender.send_request(request)).await.expect("no answer").unwrap();
        let (parts, body) = response.into_parts();
        Told { status: parts.status, headers: parts.headers, body, rest: String::new(), connection }
    }

    pub(crate) async fn post(&self, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
        self.send("POST", headers, body).await.whole().await
    }

    /// A request of the newer era, told as it comes.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Told {
        self.ask_as(method, params, json!({})).await
    }

    /// The same of a client that can do these things.
    pub(crate) async fn ask_as(&self, method: &str, mut params: Value, can: Value) -> Told {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(NEWER);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = can;
        let name = ["name", "uri", "taskId"].iter().find_map(|key| params[key].as_str());
        let name = name.unwrap_or_default().to_owned();
        let headers =
            [("mcp-protocol-version", NEWER), ("mcp-method", method), ("mcp-name", name.as_str())];
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.send("POST", &headers, body.to_string()).await
    }

    pub(crate) async fn answer(&self, method: &str, params: Value) -> Answer {
        self.ask(method, params).await.whole().await
    }

    /// Calls a tool and gives its whole result.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let answer =
            self.answer("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        let result = answer.json()["result"].clone();
        assert!(result.is_object(), "{tool}: {answer:?}");
        result
    }

    /// Calls a tool that must do what it is for, and gives the structured half.
    pub(crate) async fn done(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_ne!(result["isError"], true, "{tool}: {result:#}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that must refuse, and gives its words.
    pub(crate) async fn refused(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], true, "{tool}: {result:#}");
        result["content"][0]["text"].as_str().unwrap().into()
    }

    /// Begins a session of the older era.
    pub(crate) async fn begin(&self) -> Older {
        let hello = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": OLDER, "capabilities": {},
                "clientInfo": { "name": "a test", "version": "1" }
            }
        });
        let mut told = self.send("POST", &[], hello.to_string()).await;
        assert_eq!(told.status, StatusCode::OK);
        let session = told.headers["mcp-session-id"].to_str().unwrap().to_owned();
        let hello = told.until("hello", |message| message["id"] == 0).await["result"].clone();
        let older = Older { program: self.clone(), session, hello };
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(older.send("POST", &[], ready).await.status, StatusCode::ACCEPTED);
        older
    }
}

/// A session of the older era.
#[derive(Clone, Debug)]
pub(crate) struct Older {
    program: Program,
    pub(crate) session: String,
    /// What the server said of itself.
    pub(crate) hello: Value,
}

impl Older {
    pub(crate) async fn send(&self, method: &str, headers: &[(&str, &str)], body: Value) -> Told {
        let mut all =
            vec![("mcp-session-id", self.session.as_str()), ("mcp-protocol-version", OLDER)];
        all.extend(headers);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.program.send(method, &all, body).await
    }

    pub(crate) async fn ask(&self, id: u64, method: &str, params: Value) -> Told {
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send("POST", &[], body).await
    }

    /// Asks and waits for the answer.
    pub(crate) async fn answer(&self, id: u64, method: &str, params: Value) -> Value {
        let mut told = self.ask(id, method, params).await;
        assert_eq!(told.status, StatusCode::OK);
        told.until("an answer", |message| message["id"] == id).await
    }

    /// The stream of what nobody asked for.
    pub(crate) async fn stream(&self) -> Told {
        self.send("GET", &[("accept", "text/event-stream")], Value::Null).await
    }

    /// Comes back to a stream that broke off after that event.
    pub(crate) async fn come_back(&self, event: &str) -> Told {
        let headers = [("accept", "text/event-stream"), ("last-event-id", event)];
        self.send("GET", &headers, Value::Null).await
    }
}

/// Tries until `found` finds it.
pub(crate) async fn until<T, F>(what: &str, mut found: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let tries = async {
        loop {
            if let Some(found) = found().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, tries).await.unwrap_or_else(|_| panic!("there is no {what}"))
}
