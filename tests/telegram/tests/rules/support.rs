//! A bot without a library: it says over HTTP what it is told, and hands back what it hears.

use serde_json::{Value, json};
use telegram_emulator::{Emulator, World};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// The smallest picture that has a size: 64 × 48.
pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x40\0\0\0\x30\x08\x02\0\0\0";

/// An emulator without flood control, for tests of anything else.
pub(crate) fn calm() -> Emulator {
    Emulator::start(World { flood: false, slow_busy_polls: false, ..World::default() })
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Sends a request as it is; none if the connection broke before a whole answer.
pub(crate) async fn exchange(url: &str, request: &[u8]) -> Option<Reply> {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream.write_all(request).await.ok()?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.ok()?;
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let body = bytes[end + 4..].to_vec();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let whole = length.parse::<usize>().unwrap() == body.len();
    whole.then(|| Reply { status: head[9..12].parse().unwrap(), head, body })
}

pub(crate) fn request(path: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

pub(crate) async fn get(url: &str, path: &str) -> Option<Reply> {
    exchange(url, format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes())
        .await
}

/// Calls a method; none if the connection broke.
pub(crate) async fn try_call(emulator: &Emulator, method: &str, params: Value) -> Option<Reply> {
    let path = format!("/bot{}/{method}", emulator.token());
    exchange(&emulator.url(), &request(&path, "application/json", params.to_string().as_bytes()))
        .await
}

/// Calls a method, and gives the whole answer.
pub(crate) async fn call(emulator: &Emulator, method: &str, params: Value) -> Value {
    try_call(emulator, method, params)
        .await
        .unwrap_or_else(|| panic!("{method}: the connection broke"))
        .json()
}

/// Calls a method that must be carried out, and gives its result.
pub(crate) async fn ok(emulator: &Emulator, method: &str, params: Value) -> Value {
    let mut answer = call(emulator, method, params).await;
    assert_eq!(answer["ok"], true, "{method}: {answer}");
    answer["result"].take()
}

/// Calls a method that must be refused, and gives the description.
pub(crate) async fn refused(emulator: &Emulator, method: &str, params: Value) -> String {
    let answer = call(emulator, method, params).await;
    assert_eq!(answer["ok"], false, "{method}: {answer}");
    answer["description"].as_str().unwrap().to_owned()
}

/// Sends a text, and gives the message's id.
pub(crate) async fn say(emulator: &Emulator, chat: i64, text: &str) -> i64 {
    ok(emulator, "sendMessage", json!({"chat_id": chat, "text": text})).await["message_id"]
        .as_i64()
        .unwrap()
}

/// Fetches what waits, and confirms nothing.
pub(crate) async fn updates(emulator: &Emulator) -> Vec<Value> {
    ok(emulator, "getUpdates", json!({})).await.as_array().unwrap().clone()
}

/// Calls a method with a file.
pub(crate) async fn upload(
    emulator: &Emulator,
    method: &str,
    fields: &[(&str, &str)],
    file: (&str, &str, &[u8]),
) -> Value {
    let mut body = Vec::new();
    for (name, value) in fields {
        let part =
            format!("--xx\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend_from_slice(part.as_bytes());
    }
    let (field, name, bytes) = file;
    let head = format!(
        "--xx\r\ncontent-disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\ncontent-type: text/plain\r\n\r\n"
    );
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(bytes);
    body.extend_from_slice(b"\r\n--xx--\r\n");
    let path = format!("/bot{}/{method}", emulator.token());
    let request = request(&path, "multipart/form-data; boundary=xx", &body);
    exchange(&emulator.url(), &request).await.unwrap().json()
}
