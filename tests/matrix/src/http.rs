//! One request with JSON each way. A connection is used once: tests of one binary have a runtime each,
//! and no connection outlives its runtime.

use std::{fmt::Write as _, time::Duration};

use http_body_util::{BodyExt, Full};
use hyper::{Request, body::Bytes, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// Longer than anything that a server on loopback does at once.
const ANSWER: Duration = Duration::from_secs(30);

/// Asks; the server's refusal is its status and its words.
pub(crate) async fn ask(
    address: &str,
    token: Option<&str>,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Result<Value, String> {
    let asked = tokio::time::timeout(ANSWER, send(address, token, method, path, body));
    match asked.await {
        Ok(Ok((200 | 201, answer))) => Ok(answer),
        Ok(Ok((status, answer))) => Err(format!("{method} {path}: {status} {answer}")),
        Ok(Err(why)) => Err(format!("{method} {path}: {why}")),
        Err(_) => Err(format!("{method} {path}: no answer within {ANSWER:?}")),
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

async fn send(
    address: &str,
    token: Option<&str>,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Result<(u16, Value), Failure> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    #[expect(clippy::disallowed_methods, reason = "it ends with its one request")]
    tokio::spawn(connection);
    let mut request = Request::builder().method(method).uri(path).header(header::HOST, address);
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let body = body.map(Value::to_string).unwrap_or_default();
    let answer = sender.send_request(request.body(Full::new(Bytes::from(body)))?).await?;
    let status = answer.status().as_u16();
    let bytes = answer.into_body().collect().await?.to_bytes();
    let said = serde_json::from_slice(&bytes)
        .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&bytes).into_owned()));
    Ok((status, said))
}

/// A name as part of a path.
pub(crate) fn in_path(name: &str) -> String {
    let mut path = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path
}
