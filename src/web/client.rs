//! The client half: how the command line speaks to the daemon.

use axum::body::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    client::conn::http1,
    header::{CONTENT_TYPE, HOST},
};
use hyper_util::rt::TokioIo;
use serde::{Serialize, de::DeserializeOwned};
use std::{
    io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{shapes::ErrorShape, socket};

/// Longer than anything the daemon does before it answers.
const DEADLINE: Duration = Duration::from_secs(30);

/// A stream with nothing on it for this long is dead: the daemon says something every 20 s.
const SILENCE: Duration = Duration::from_mins(1);

/// Longest line of a stream.
const LINE_LIMIT: usize = 4 << 20;

/// Speaks to the daemon of one data folder; each request is a connection of its own.
#[derive(Clone, Debug)]
pub struct Client {
    data: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("Vigie is not running")]
    NotRunning,
    #[error("the socket of Vigie cannot be used: {0}")]
    Socket(io::Error),
    #[error("{}", .0.error)]
    Refused(ErrorShape),
    #[error("Vigie does not answer")]
    Silent,
    #[error("the connection to Vigie broke: {0}")]
    Broken(String),
    #[error("Vigie answered something unknown: {0}")]
    Unknown(String),
}

impl ClientError {
    /// The daemon runs and cannot write.
    pub fn is_not_written(&self) -> bool {
        matches!(self, Self::Refused(shape) if shape.code == "not_written")
    }

    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotRunning => Some("Start it: vigie up".into()),
            Self::Refused(shape) => shape.hint.clone(),
            Self::Silent | Self::Socket(_) | Self::Broken(_) => Some("Look: vigie doctor".into()),
            Self::Unknown(_) => Some(
                "Daemon and command are of different versions: vigie down, then vigie up".into(),
            ),
        }
    }
}

impl Client {
    pub fn new(data: &Path) -> Self {
        Self { data: data.into() }
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.ask(Method::GET, path, Bytes::new()).await
    }

    pub async fn post<B: Serialize, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(|e| ClientError::Unknown(e.to_string()))?;
        self.ask(Method::POST, path, body.into()).await
    }

    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.ask(Method::DELETE, path, Bytes::new()).await
    }

    /// Follows a stream and gives each line that is not empty to `each`, until that breaks off or
    /// the daemon ends it.
    pub async fn lines(
        &self,
        path: &str,
        mut each: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), ClientError> {
        self.exchange(Method::GET, path, Bytes::new(), async |response| {
            let mut body = accepted(response).await?.into_body();
            let mut rest = Vec::new();
            loop {
                let frame = tokio::time::timeout(SILENCE, body.frame()).await;
                let Some(frame) = frame.map_err(|_| ClientError::Silent)? else { return Ok(()) };
                if let Some(bytes) = frame.map_err(broken)?.data_ref() {
                    rest.extend_from_slice(bytes);
                }
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = rest.drain(..=end).collect();
                    let line = line.trim_ascii();
                    if !line.is_empty() && each(line).is_break() {
                        return Ok(());
                    }
                }
                if rest.len() > LINE_LIMIT {
                    return Err(ClientError::Unknown("a line without an end".into()));
                }
            }
        })
        .await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<T, ClientError> {
        let exchange = self.exchange(method, path, body, async |response| {
            let body = accepted(response).await?.into_body();
            let bytes = body.collect().await.map_err(broken)?.to_bytes();
            serde_json::from_slice(&bytes).map_err(|error| ClientError::Unknown(error.to_string()))
        });
        tokio::time::timeout(DEADLINE, exchange).await.map_err(|_| ClientError::Silent)?
    }

    /// One connection, one request; `read` has the answer while the connection is driven.
    async fn exchange<T>(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        read: impl AsyncFnOnce(Response<Incoming>) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        let stream = socket::connect(&self.data).await.map_err(not_connected)?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header(HOST, "vigie")
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|error| ClientError::Unknown(error.to_string()))?;
        let work = async move {
            let response = sender.send_request(request).await.map_err(broken)?;
            read(response).await
        };
        tokio::pin!(work);
        tokio::select! {
            answer = &mut work => answer,
            // What came before the end is still to be read.
            _ = connection => work.await,
        }
    }
}

/// The answer, or why there is none.
async fn accepted(response: Response<Incoming>) -> Result<Response<Incoming>, ClientError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let bytes = response.into_body().collect().await.map_err(broken)?.to_bytes();
    Err(match serde_json::from_slice(&bytes) {
        Ok(shape) => ClientError::Refused(shape),
        Err(_) => ClientError::Unknown(words(status)),
    })
}

fn words(status: StatusCode) -> String {
    format!("status {status}")
}

fn not_connected(error: io::Error) -> ClientError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ClientError::NotRunning,
        _ => ClientError::Socket(error),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn broken(error: hyper::Error) -> ClientError {
    ClientError::Broken(error.to_string())
}

/// One part of a path: everything but letters, digits, `-`, `_` and `.` is escaped.
pub fn segment(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    text.bytes().map(escape).collect()
}
