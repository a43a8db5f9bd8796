//! The phone page's requests, as its script makes them.
#![allow(dead_code, reason = "each test file uses its part")]

use http_body_util::{BodyExt as _, Full};
use hyper::{Request, StatusCode, body::Bytes, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};
use tokio::net::TcpStream;

use super::home::DEADLINE;

/// One signed-in browser.
#[derive(Clone)]
pub(crate) struct Phone {
    address: SocketAddr,
    cookie: String,
    /// What the page after signing in keeps.
    pass: String,
}

/// Why a request has no answer, or none that says yes.
#[derive(Debug)]
pub(crate) struct NoAnswer(pub(crate) String);

impl Phone {
    pub(crate) async fn sign_in(address: SocketAddr, code: &str) -> Self {
        let form = format!("code={code}");
        let request = Request::post("/login")
            .header(header::HOST, address.to_string())
            .header(header::ORIGIN, format!("http://{address}"))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::new(Bytes::from(form)))
            .unwrap();
        let (status, headers, body) = exchange(address, request).await.unwrap();
        let cookie = headers.get(header::SET_COOKIE).unwrap_or_else(|| panic!("{status}: {body}"));
        let cookie = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
        let pass = body.split("data-pass=\"").nth(1).and_then(|rest| rest.split('"').next());
        Self { address, cookie, pass: pass.unwrap().to_owned() }
    }

    /// As a browser keeps it.
    pub(crate) fn cookie(&self) -> &str {
        &self.cookie
    }

    pub(crate) fn pass(&self) -> &str {
        &self.pass
    }

    async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, NoAnswer> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.address.to_string())
            .header(header::ORIGIN, format!("http://{}", self.address))
            .header(header::COOKIE, &self.cookie)
            .header(header::CONTENT_TYPE, "application/json")
            .header("x-vigie", "1")
            .header("x-vigie-pass", &self.pass)
            .body(Full::new(Bytes::from(body.map(Value::to_string).unwrap_or_default())))
            .unwrap();
        let (status, _, body) =
            exchange(self.address, request).await.map_err(|error| NoAnswer(error.to_string()))?;
        if status != StatusCode::OK {
            return Err(NoAnswer(format!("{status}: {body}")));
        }
        serde_json::from_str(&body).map_err(|error| NoAnswer(format!("{error}: {body}")))
    }

    /// Sends once; the page keeps `client` and sends again under it.
    pub(crate) async fn try_send(&self, client: &str, text: &str) -> Result<Value, NoAnswer> {
        self.ask("POST", "/phone/api/send", Some(&json!({ "client": client, "text": text }))).await
    }

    pub(crate) async fn send(&self, client: &str, text: &str) -> Value {
        self.try_send(client, text).await.unwrap()
    }

    /// Any other request of the page.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", path, Some(body)).await.unwrap()
    }

    pub(crate) async fn try_tap(
        &self,
        client: &str,
        message: &str,
        action: &Value,
    ) -> Result<Value, NoAnswer> {
        let body = json!({ "client": client, "message": message, "action": action });
        self.ask("POST", "/phone/api/tap", Some(&body)).await
    }

    pub(crate) async fn state(&self) -> Result<Value, NoAnswer> {
        self.ask("GET", "/phone/api/state", None).await
    }

    /// Everything the page would show, in the main chat and in all threads.
    pub(crate) async fn try_messages(&self) -> Result<Vec<Value>, NoAnswer> {
        let state = self.state().await?;
        let mut all = Vec::new();
        for thread in state["threads"].as_array().into_iter().flatten() {
            let path = match thread["id"].as_str() {
                Some(id) => format!("/phone/api/messages?limit=200&thread={id}"),
                None => "/phone/api/messages?limit=200".to_owned(),
            };
            let page = self.ask("GET", &path, None).await?;
            all.extend(page["messages"].as_array().cloned().unwrap_or_default());
        }
        let mut seen = std::collections::HashSet::new();
        all.retain(|message| seen.insert(message["id"].clone()));
        Ok(all)
    }

    /// Waits for a message that `is` so.
    pub(crate) async fn shows(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + DEADLINE;
        loop {
            let messages = self.try_messages().await.unwrap_or_default();
            if let Some(found) = messages.iter().find(|message| is(message)) {
                return found.clone();
            }
            assert!(Instant::now() < end, "the page does not show {what}: {messages:#?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits for a session's words.
    pub(crate) async fn hears(&self, words: &str) -> Value {
        self.shows(words, |message| {
            message["what"]["kind"] == "post" && plain(message).contains(words)
        })
        .await
    }

    /// How many messages of sessions hold these words.
    pub(crate) async fn count(&self, words: &str) -> usize {
        let said =
            |message: &&Value| message["what"]["kind"] == "post" && plain(message).contains(words);
        self.try_messages().await.unwrap().iter().filter(said).count()
    }

    /// Waits until the person's own message carries that mark.
    pub(crate) async fn marked(&self, client: &str, mark: &str) -> Value {
        let is = |message: &Value| {
            message["what"]["client"] == client && message["what"]["mark"]["mark"] == mark
        };
        self.shows(&format!("{client} marked {mark}"), is).await
    }

    /// Waits for an open card.
    pub(crate) async fn card(&self) -> Value {
        self.shows("an open card", |message| message["what"]["body"]["state"]["state"] == "open")
            .await
    }

    /// Waits for a card in that state.
    pub(crate) async fn card_in(&self, state: &str) -> Value {
        self.shows(&format!("a card {state}"), |message| {
            message["what"]["body"]["state"]["state"] == state
        })
        .await
    }

    /// Taps the card's button with that label.
    pub(crate) async fn tap(&self, card: &Value, label: &str) -> Value {
        let action = button(card, label);
        self.try_tap(
            &client_id(&format!("tap {label} {}", card["id"])),
            card["id"].as_str().unwrap(),
            &action,
        )
        .await
        .unwrap()
    }
}

pub(crate) fn button(card: &Value, label: &str) -> Value {
    let buttons = card["what"]["body"]["buttons"]
        .as_array()
        .unwrap_or_else(|| panic!("no buttons: {card:#}"));
    let found = buttons.iter().find(|button| button["label"] == label);
    found.unwrap_or_else(|| panic!("no button {label}: {card:#}"))["action"].clone()
}

/// All text in a message, whatever its shape.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => fields.values().map(plain).collect::<Vec<_>>().join(" "),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

type Answer = (StatusCode, hyper::HeaderMap, String);

async fn exchange(
    address: SocketAddr,
    request: Request<Full<Bytes>>,
) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let ask = async {
        let response = sender.send_request(request).await?;
        let (parts, body) = response.into_parts();
        let body = String::from_utf8_lossy(&body.collect().await?.to_bytes()).into_owned();
        Ok::<_, hyper::Error>((parts.status, parts.headers, body))
    };
    tokio::select! {
        answer = ask => Ok(answer?),
        broken = connection => Err(format!("the connection ended: {broken:?}").into()),
    }
}

/// The page's own ids are 8 to 64 letters, digits and hyphens.
fn client_id(text: &str) -> String {
    let id: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    id.chars().take(64).collect()
}
