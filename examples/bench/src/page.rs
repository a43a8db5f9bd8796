//! The phone page's requests, over a connection that stays open, as a browser's does.

use anyhow::{Context, Result, bail};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, StatusCode,
    body::{Bytes, Incoming},
    client::conn::http1::{self, SendRequest},
    header,
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::net::SocketAddr;
use tokio::{net::TcpStream, task::JoinSet, time::timeout};

use super::{agent::now, home::DEADLINE};

/// One connection; it ends with this.
struct Line {
    sender: SendRequest<Full<Bytes>>,
    _driver: JoinSet<()>,
}

impl Line {
    async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            let _ = connection.await; // whoever asks next hears of it
        });
        Ok(Self { sender, _driver: driver })
    }
}

pub(crate) struct Page {
    address: SocketAddr,
    cookie: String,
    /// What the page after signing in keeps.
    pass: String,
    line: Line,
}

impl Page {
    /// For whoever needs no login.
    pub(crate) async fn of(address: SocketAddr) -> Result<Self> {
        Ok(Self {
            address,
            cookie: String::new(),
            pass: String::new(),
            line: Line::open(address).await?,
        })
    }

    pub(crate) async fn sign_in(address: SocketAddr, code: &str) -> Result<Self> {
        let mut line = Line::open(address).await?;
        let request = Request::post("/login")
            .header(header::HOST, address.to_string())
            .header(header::ORIGIN, format!("http://{address}"))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::new(Bytes::from(format!("code={code}"))))?;
        let answer = line.sender.send_request(request).await?;
        let cookie = answer.headers().get(header::SET_COOKIE).context("the login was refused")?;
        let cookie = cookie.to_str()?.split(';').next().unwrap_or_default().to_owned();
        let body = answer.into_body().collect().await?.to_bytes();
        let body = String::from_utf8_lossy(&body);
        let pass = body.split("data-pass=\"").nth(1).and_then(|rest| rest.split('"').next());
        let pass = pass.context("the login gave no pass")?.to_owned();
        let line = Line::open(address).await?;
        Ok(Self { address, cookie, pass, line })
    }

    fn request(&self, method: &str, path: &str, body: String) -> Result<Request<Full<Bytes>>> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.address.to_string())
            .header(header::ORIGIN, format!("http://{}", self.address))
            .header(header::COOKIE, &self.cookie)
            .header(header::CONTENT_TYPE, "application/json")
            .header("x-vigie", "1")
            .header("x-vigie-pass", &self.pass);
        Ok(request.body(Full::new(Bytes::from(body)))?)
    }

    async fn ask(&mut self, request: Request<Full<Bytes>>) -> Result<Bytes> {
        let exchange = async {
            self.line.sender.ready().await?;
            let answer = self.line.sender.send_request(request).await?;
            let status = answer.status();
            anyhow::Ok((status, answer.into_body().collect().await?.to_bytes()))
        };
        match timeout(DEADLINE, exchange).await?? {
            (StatusCode::OK, body) => Ok(body),
            (status, body) => bail!("{status}: {}", String::from_utf8_lossy(&body)),
        }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Bytes> {
        let request = self.request("GET", path, String::new())?;
        self.ask(request).await
    }

    pub(crate) async fn post(&mut self, path: &str, body: &Value) -> Result<Value> {
        let request = self.request("POST", path, body.to_string())?;
        Ok(serde_json::from_slice(&self.ask(request).await?)?)
    }

    /// Everything that changes from now on.
    pub(crate) async fn live(&mut self) -> Result<Live> {
        let state: Value = serde_json::from_slice(&self.get("/phone/api/state").await?)?;
        let cursor = state["cursor"].as_str().context("the page's state has no cursor")?;
        let cursor = vigie::web::client::segment(cursor);
        let path = format!("/phone/api/live?from={cursor}");
        let request = self.request("GET", &path, String::new())?;
        let mut line = Line::open(self.address).await?;
        let answer = line.sender.send_request(request).await?;
        if answer.status() != StatusCode::OK {
            bail!("the live stream was refused: {}", answer.status());
        }
        Ok(Live { body: answer.into_body(), text: String::new(), _line: line })
    }
}

/// The server-sent events of one page.
pub(crate) struct Live {
    body: Incoming,
    text: String,
    _line: Line,
}

impl Live {
    /// Waits for a message that `is` so; returns when its event came in, in nanoseconds.
    pub(crate) async fn shows(&mut self, is: impl Fn(&Value) -> bool) -> Result<i64> {
        let seen = async {
            loop {
                let frame = self.body.frame().await.context("the live stream ended")??;
                let at = now();
                let Some(bytes) = frame.data_ref() else { continue };
                self.text.push_str(std::str::from_utf8(bytes)?);
                while let Some(end) = self.text.find("\n\n") {
                    let event: String = self.text.drain(..end + 2).collect();
                    let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                    let data: Value = serde_json::from_str(data.unwrap_or("null"))?;
                    if any_message(&data, &is) {
                        return anyhow::Ok(at);
                    }
                }
            }
        };
        timeout(DEADLINE, seen).await.context("the page never showed it")?
    }
}

fn any_message(value: &Value, is: &impl Fn(&Value) -> bool) -> bool {
    match value {
        Value::Object(fields) if fields.contains_key("what") && is(value) => true,
        Value::Object(fields) => fields.values().any(|value| any_message(value, is)),
        Value::Array(items) => items.iter().any(|value| any_message(value, is)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
