//! A homeserver that is not to be trusted: what stands between a client and the real one, and changes
//! what it likes.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Bytes, header, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    task::JoinSet,
};

use crate::Homeserver;

/// One answer of the real server on its way.
pub struct Answer<'a> {
    /// Such as `GET`.
    pub method: &'a str,
    /// With its query.
    pub path: &'a str,
    /// Of HTTP.
    pub status: &'a mut u16,
    /// What stands in it, where it is JSON.
    pub body: &'a mut Value,
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It goes to whoever asked.
    Through,
    /// Whoever asked waits for ever: the server did it, and nobody hears so.
    Never,
    /// As [`Self::Never`], and the server is not even asked: it does not know of it.
    Unasked,
    /// The server is not asked, and refuses it with that status and error code.
    Refused(u16, &'static str),
}

type Before = dyn Fn(&str, &str) -> Passage + Send + Sync;
type After = dyn Fn(&mut Answer<'_>) + Send + Sync;

struct Ways {
    before: Box<Before>,
    after: Box<After>,
}

struct Inner {
    server: String,
    ways: Mutex<Arc<Ways>>,
    kept: watch::Sender<usize>,
}

/// Ends when it is dropped.
pub struct Proxy {
    address: String,
    inner: Arc<Inner>,
    _all: JoinSet<()>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Proxy {
    /// Before that server; it begins honest.
    ///
    /// # Panics
    /// Where there is no port.
    pub async fn before(server: &Homeserver) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port on loopback");
        let address = listener.local_addr().expect("it has one").to_string();
        let ways = Ways { before: Box::new(|_, _| Passage::Through), after: Box::new(|_| {}) };
        let server = server.url().trim_start_matches("http://").to_owned();
        let (ways, kept) = (Mutex::new(Arc::new(ways)), watch::Sender::new(0));
        let inner = Arc::new(Inner { server, ways, kept });
        let mut all = JoinSet::new();
        all.spawn(serve(listener, inner.clone()));
        Self { address, inner, _all: all }
    }

    /// Its address, as clients are told it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on answers go through this first.
    pub fn change(&self, after: impl Fn(&mut Answer<'_>) + Send + Sync + 'static) {
        self.set(Ways { before: Box::new(|_, _| Passage::Through), after: Box::new(after) });
    }

    /// From now on requests, by method and path, fare like that.
    pub fn stop(&self, before: impl Fn(&str, &str) -> Passage + Send + Sync + 'static) {
        self.set(Ways { before: Box::new(before), after: Box::new(|_| {}) });
    }

    /// Lets everything through again as it is.
    pub fn be_honest(&self) {
        self.change(|_| {});
    }

    /// Waits until so many answers were kept back since the beginning.
    ///
    /// # Panics
    /// Never: the proxy is there as long as somebody asks it.
    pub async fn until_kept(&self, number: usize) {
        let mut kept = self.inner.kept.subscribe();
        kept.wait_for(|kept| *kept >= number).await.expect("the proxy is there");
    }

    /// How many answers were kept back.
    pub fn kept(&self) -> usize {
        *self.inner.kept.borrow()
    }

    fn set(&self, ways: Ways) {
        *self.inner.ways.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(ways);
    }
}

async fn serve(listener: TcpListener, inner: Arc<Inner>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let inner = inner.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| passed(inner.clone(), request));
            let serving = hyper::server::conn::http1::Builder::new();
            // That a client hangs up is no matter of ours.
            let _ = serving.serve_connection(TokioIo::new(stream), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

async fn passed(
    inner: Arc<Inner>,
    request: Request<hyper::body::Incoming>,
) -> Result<Response<Full<Bytes>>, Failure> {
    let ways = || inner.ways.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (method, path) = (request.method().to_string(), request.uri().to_string());
    let passage = (ways().before)(&method, &path);
    if passage == Passage::Unasked {
        return kept_back(&inner).await;
    }
    if let Passage::Refused(status, code) = passage {
        let said = json!({ "errcode": code, "error": "as the test wants it" }).to_string();
        let answer = Response::builder().status(status);
        let answer = answer.header(header::CONTENT_TYPE, "application/json");
        return Ok(answer.body(Full::new(Bytes::from(said)))?);
    }
    let (parts, body) = asked(&inner.server, request).await?.into_parts();
    if passage == Passage::Never {
        return kept_back(&inner).await;
    }
    let mut status = parts.status.as_u16();
    let body = match serde_json::from_slice::<Value>(&body) {
        Ok(mut json) => {
            let (status, body) = (&mut status, &mut json);
            // As it is to be by now: a sync may have been asked long before.
            (ways().after)(&mut Answer { method: &method, path: &path, status, body });
            Bytes::from(json.to_string())
        }
        Err(_) => body,
    };
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = hyper::StatusCode::from_u16(status)?;
    for name in [header::CONTENT_TYPE, header::RETRY_AFTER] {
        if let Some(value) = parts.headers.get(&name) {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    Ok(answer)
}

async fn kept_back(inner: &Inner) -> Result<Response<Full<Bytes>>, Failure> {
    inner.kept.send_modify(|kept| *kept += 1);
    Notify::new().notified().await;
    unreachable!("nobody notifies it")
}

async fn asked(
    server: &str,
    request: Request<hyper::body::Incoming>,
) -> Result<Response<Bytes>, Failure> {
    let stream = TcpStream::connect(server).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    #[expect(clippy::disallowed_methods, reason = "it ends with its one request")]
    tokio::spawn(connection);
    let (mut parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    for name in [header::CONNECTION, header::ACCEPT_ENCODING, header::TRANSFER_ENCODING] {
        parts.headers.remove(name);
    }
    parts.headers.insert(header::CONTENT_LENGTH, body.len().into());
    let answer = sender.send_request(Request::from_parts(parts, Full::new(body))).await?;
    let (parts, body) = answer.into_parts();
    Ok(Response::from_parts(parts, body.collect().await?.to_bytes()))
}
