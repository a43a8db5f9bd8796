use reqwest::{
    Client, Response,
    header::{CONTENT_TYPE, RETRY_AFTER},
    multipart::{Form, Part},
    redirect::Policy,
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use super::{
    Attachment, BaseUrl, CallError, GetUpdates, RawUpdate, Token, answer::Answer, updates::updates,
};

/// Longest answer that is read. A full `getUpdates` is cut by Telegram at about 4 MB.
const LONGEST_ANSWER: usize = 16 << 20;

/// A connection that nobody used for so long is not trusted to be there: Telegram and home routers
/// forget silent ones, and a message written into such a one is in doubt.
const IDLE: Duration = Duration::from_secs(20);

/// The system asks a silent connection so often whether it is still there, which finds out after a
/// machine slept.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// A method of the Bot API: what is sent, and what comes back.
pub trait Method: Serialize {
    /// As the Bot API spells it.
    const NAME: &'static str;
    type Answer: DeserializeOwned;
}

/// A method that takes a file along.
pub trait Upload: Method {
    /// The field the file belongs in.
    const FIELD: &'static str;
}

/// How long each kind of request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Until a connection stands.
    pub connect: Duration,
    /// Until an answer is there, from the first byte of the request on.
    pub answer: Duration,
    /// The same for a file, up or down.
    pub file: Duration,
    /// How much longer than it was asked to a poll may take.
    pub poll: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(30),
            // 50 MB, the most a bot may send, at 170 kB a second.
            file: Duration::from_mins(5),
            poll: Duration::from_secs(20),
        }
    }
}

/// No client could be made, which is a matter of this machine.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error(
        "no certificate authorities were found on this machine, so nobody can tell whether it is Telegram who answers; install them (package `ca-certificates`): {source}"
    )]
    Certificates { source: rustls::Error },
    #[error("encryption cannot be set up: {source}")]
    Encryption { source: rustls::Error },
    #[error("no HTTP client can be made: {source}")]
    Http { source: reqwest::Error },
}

/// The Bot API for one bot. Cheap to clone; all clones share their connections.
///
/// Polling, sending and files each have connections of their own, so that none waits behind another.
/// Every request has a deadline, follows no redirect and is sent once.
#[derive(Clone)]
pub struct Api {
    shared: Arc<Shared>,
}

struct Shared {
    token: Token,
    base: BaseUrl,
    patience: Patience,
    clients: RwLock<Clients>,
}

#[derive(Clone)]
struct Clients {
    polling: Client,
    sending: Client,
    files: Client,
}

impl Api {
    /// Makes no connection yet. Reads the machine's certificate authorities, a few milliseconds of
    /// disk.
    pub fn new(token: Token, base: BaseUrl, patience: Patience) -> Result<Self, ClientError> {
        let clients = RwLock::new(Clients::new(&base, &patience)?);
        Ok(Self { shared: Arc::new(Shared { token, base, patience, clients }) })
    }

    /// Lets go of every connection and starts with new ones. For a poll that did not come back:
    /// after sleep, or with another network, the old ones lead nowhere. What is under way goes on to
    /// its own end.
    pub fn fresh(&self) -> Result<(), ClientError> {
        let clients = Clients::new(&self.shared.base, &self.shared.patience)?;
        *self.shared.clients.write().unwrap_or_else(PoisonError::into_inner) = clients;
        Ok(())
    }

    pub fn token(&self) -> &Token {
        &self.shared.token
    }

    /// Does one thing, within [`Patience::answer`].
    ///
    /// # Errors
    /// What to do next, see [`CallError`].
    pub async fn call<M: Method>(&self, method: &M) -> Result<M::Answer, CallError> {
        let body = body(method)?;
        let client = self.clients().sending;
        let answer = self.post(&client, M::NAME, body, self.shared.patience.answer).await?;
        answer.read(self.token())
    }

    /// Waits for updates, at most the seconds it asks for and [`Patience::poll`].
    ///
    /// # Errors
    /// All of them may simply be tried again: asking changes nothing but what was confirmed by
    /// `offset`.
    pub async fn poll(&self, ask: &GetUpdates) -> Result<Vec<RawUpdate>, CallError> {
        let body = body(ask)?;
        let deadline = Duration::from_secs(ask.timeout.into()) + self.shared.patience.poll;
        let client = self.clients().polling;
        let answer = self.post(&client, GetUpdates::NAME, body, deadline).await?;
        updates(answer.read(self.token())?)
    }

    /// Sends a file along, within [`Patience::file`].
    ///
    /// # Errors
    /// What to do next, see [`CallError`].
    pub async fn upload<M: Upload>(
        &self,
        method: &M,
        file: &Attachment,
    ) -> Result<M::Answer, CallError> {
        let fields = match serde_json::to_value(method) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => Map::new(),
            Err(error) => return Err(CallError::NotSent { why: error.to_string() }),
        };
        // Plain UTF-8, as browsers send it: Telegram does not read the percent form.
        let mut form = Form::new().percent_encode_noop();
        for (name, value) in fields {
            form = form.text(
                name,
                match value {
                    Value::String(text) => text,
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::Array(_)
                    | Value::Object(_) => value.to_string(),
                },
            );
        }
        let part = Part::bytes(file.bytes().to_vec()).file_name(file.name().to_owned());
        let url = self.shared.base.method(self.token(), M::NAME);
        let request = self.clients().files.post(url).multipart(form.part(M::FIELD, part));
        let response = request.timeout(self.shared.patience.file).send().await;
        self.whole(response).await?.read(self.token())
    }

    /// Opens a file for reading, within [`Patience::file`] to its end.
    pub(super) async fn open(&self, url: reqwest::Url) -> Result<Response, CallError> {
        let request = self.clients().files.get(url).timeout(self.shared.patience.file);
        let response = request.send().await;
        match response {
            Ok(response) if response.status().is_success() => Ok(response),
            other => Err(self.whole(other).await?.failed(self.token())),
        }
    }

    pub(super) fn base(&self) -> &BaseUrl {
        &self.shared.base
    }

    async fn post(
        &self,
        client: &Client,
        method: &str,
        body: Vec<u8>,
        deadline: Duration,
    ) -> Result<Answer, CallError> {
        let url = self.shared.base.method(self.token(), method);
        let request = client.post(url).header(CONTENT_TYPE, "application/json").body(body);
        self.whole(request.timeout(deadline).send().await).await
    }

    /// Reads an answer to its end.
    async fn whole(&self, response: reqwest::Result<Response>) -> Result<Answer, CallError> {
        let failed = |error| CallError::of_transport(error, self.token());
        let mut response = response.map_err(failed)?;
        let status = response.status().as_u16();
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > LONGEST_ANSWER {
                return Err(CallError::in_doubt("the answer does not end"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer { status, retry_after, body })
    }

    fn clients(&self) -> Clients {
        self.shared.clients.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("base", &self.shared.base).finish_non_exhaustive()
    }
}

fn body(method: &impl Serialize) -> Result<Vec<u8>, CallError> {
    serde_json::to_vec(method).map_err(|error| CallError::NotSent { why: error.to_string() })
}

impl Clients {
    fn new(base: &BaseUrl, patience: &Patience) -> Result<Self, ClientError> {
        let tls = encryption(base)?;
        let client = || {
            let builder = Client::builder()
                .tls_backend_preconfigured(tls.clone())
                .user_agent(concat!("vigie/", env!("CARGO_PKG_VERSION")))
                .redirect(Policy::none()) // the address holds the token
                .retry(reqwest::retry::never())
                .referer(false)
                .connect_timeout(patience.connect)
                .pool_idle_timeout(IDLE)
                .tcp_nodelay(true)
                .tcp_keepalive(KEEPALIVE)
                .tcp_keepalive_interval(KEEPALIVE);
            let builder = if base.is_local() { builder.no_proxy() } else { builder };
            builder.build().map_err(|source| ClientError::Http { source: source.without_url() })
        };
        Ok(Self { polling: client()?, sending: client()?, files: client()? })
    }
}

/// The provider is given here and not to the whole process: another library may choose its own.
fn encryption(base: &BaseUrl) -> Result<ClientConfig, ClientError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|source| ClientError::Encryption { source })?;
    let builder = if base.is_encrypted() {
        builder.with_platform_verifier().map_err(|source| ClientError::Certificates { source })?
    } else {
        builder.with_root_certificates(RootCertStore::empty())
    };
    Ok(builder.with_no_client_auth())
}
