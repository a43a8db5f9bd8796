//! A client of Vigie's tools over HTTP, in either era of the protocol, on a connection that stays open.

use anyhow::{Context, Result, ensure};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    client::conn::http1::{self, SendRequest},
    header,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::net::SocketAddr;
use tokio::{net::TcpStream, task::JoinSet, time::timeout};

use crate::home::DEADLINE;

/// Whether a client opens a session first, or says all it is with each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Sessions,
    Calls,
}

impl Era {
    pub(crate) const BOTH: [Self; 2] = [Self::Sessions, Self::Calls];

    /// The revision of the protocol.
    pub(crate) fn revision(self) -> &'static str {
        match self {
            Self::Sessions => "2025-11-25",
            Self::Calls => "2026-07-28",
        }
    }
}

pub(crate) struct Tools {
    address: SocketAddr,
    token: String,
    era: Era,
    session: Option<String>,
    next: u64,
    sender: SendRequest<Full<Bytes>>,
    _driver: JoinSet<()>,
}

impl Tools {
    pub(crate) async fn open(address: SocketAddr, token: &str, era: Era) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            let _ = connection.await; // whoever calls next hears of it
        });
        let token = token.into();
        let (session, next) = (None, 1);
        let mut tools = Self { address, token, era, session, next, sender, _driver: driver };
        if era == Era::Sessions {
            tools.begin().await?;
        }
        Ok(tools)
    }

    async fn begin(&mut self) -> Result<()> {
        let params = json!({
            "protocolVersion": self.era.revision(), "capabilities": {}, "clientInfo": client(),
        });
        let first = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let answer = self.post("initialize", None, &first).await?;
        let session = answer.headers().get("mcp-session-id").context("there is no session")?;
        self.session = Some(session.to_str()?.to_owned());
        answer.into_body().collect().await?;
        let method = "notifications/initialized";
        let ready = json!({ "jsonrpc": "2.0", "method": method });
        self.post(method, None, &ready).await?.into_body().collect().await?;
        Ok(())
    }

    /// What a tool answers, as data.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Result<Value> {
        let mut params = json!({ "name": tool, "arguments": arguments });
        if self.era == Era::Calls {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.era.revision(),
                "io.modelcontextprotocol/clientInfo": client(),
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let id = self.next;
        self.next += 1;
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let work = async {
            let answer = self.post("tools/call", Some(tool), &call).await?;
            anyhow::Ok(answer.into_body().collect().await?.to_bytes())
        };
        let body = timeout(DEADLINE, work).await.context("a tool never answered")??;
        let answer = message(&body).with_context(|| String::from_utf8_lossy(&body).into_owned())?;
        let result = &answer["result"];
        ensure!(result.is_object() && result["isError"] != true, "{tool} is refused: {answer}");
        Ok(result["structuredContent"].clone())
    }

    async fn post(
        &mut self,
        method: &str,
        name: Option<&str>,
        body: &Value,
    ) -> Result<Response<Incoming>> {
        let mut request = Request::post("/mcp")
            .header(header::HOST, self.address.to_string())
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream");
        if method != "initialize" {
            request = request.header("mcp-protocol-version", self.era.revision());
        }
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        if self.era == Era::Calls {
            request = request.header("mcp-method", method);
            request =
                name.into_iter().fold(request, |request, name| request.header("mcp-name", name));
        }
        let request = request.body(Full::new(Bytes::from(body.to_string())))?;
        self.sender.ready().await?;
        let answer = self.sender.send_request(request).await?;
        ensure!(answer.status().is_success(), "{method} is answered with {}", answer.status());
        Ok(answer)
    }
}

fn client() -> Value {
    json!({ "name": "vigie-bench", "version": env!("CARGO_PKG_VERSION") })
}

/// The answer, whether it came alone or as the last event of a stream.
fn message(body: &[u8]) -> Result<Value> {
    if let Ok(alone) = serde_json::from_slice(body) {
        return Ok(alone);
    }
    let text = std::str::from_utf8(body)?;
    let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let mut read = events.rev().filter_map(|data| serde_json::from_str(data.trim()).ok());
    read.next().context("this is no answer")
}
