//! Questions to a homeserver that need no store: for a login that is yet to be made, and for `vigie
//! doctor`, which must not touch the store that a daemon may hold.

use matrix_sdk::{
    reqwest::{self, Method, RequestBuilder, StatusCode, header, redirect},
    ruma::{DeviceId, OwnedUserId, UserId},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write as _, time::Duration};
use vigie_core::Timestamp;

use super::{Session, line};
use crate::why;

/// For one answer while a person waits.
const ANSWER: Duration = Duration::from_secs(15);

/// Longest answer, in bytes: far more than any of these has, and little to hold.
const LONGEST: usize = 1 << 20;

/// One homeserver, and perhaps one account on it.
pub struct Plain {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
}

/// What came instead of an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    #[error("the homeserver was not reached at {base}: {why}")]
    Unreached { base: String, why: String },
    #[error("what answers at {base} is no Matrix homeserver")]
    NoHomeserver { base: String },
    #[error("the homeserver does not know this access token any more")]
    UnknownToken,
    #[error("the homeserver knows nothing of it")]
    NotFound,
    #[error("the homeserver asks to wait {} s", after.as_secs())]
    Later { after: Duration },
    #[error("the homeserver refuses: {words} ({code})")]
    Refused { code: String, words: String },
}

/// What a homeserver can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    pub versions: Vec<String>,
    /// What time it says it is, to the second.
    pub now: Option<Timestamp>,
}

/// Whom a token belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Whoami {
    #[serde(rename = "user_id")]
    pub user: OwnedUserId,
    /// Tokens that stand for no device (of application services) have none.
    #[serde(rename = "device_id")]
    pub device: Option<String>,
    #[serde(default)]
    pub is_guest: bool,
}

/// What others are told of an account's encryption.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// There is an identity that can sign devices.
    pub identity: bool,
    /// Of the device that was asked for; `None`: it has published no keys.
    pub device: Option<PublishedDevice>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedDevice {
    /// Its public key (Ed25519, base64).
    pub key: String,
    /// Carries a signature of the account's identity. Whether it is right, only clients can tell.
    pub signed: bool,
}

impl Plain {
    /// Makes no connection yet.
    ///
    /// # Errors
    /// This machine has no means of encryption.
    pub fn new(base: &str) -> Result<Self, AskError> {
        // A token goes to the homeserver and nowhere it points to.
        let builder = reqwest::Client::builder().timeout(ANSWER).redirect(redirect::Policy::none());
        let http = builder.build().map_err(|error| unreached(base, &error))?;
        Ok(Self { http, base: base.trim_end_matches('/').into(), token: None })
    }

    /// As the account of `session`.
    ///
    /// # Errors
    /// As [`Plain::new`].
    pub fn of(session: &Session) -> Result<Self, AskError> {
        Ok(Self::new(&session.homeserver)?.with_token(session.token()))
    }

    #[must_use]
    pub(super) fn with_token(self, token: &str) -> Self {
        Self { token: Some(token.into()), ..self }
    }

    /// Whether a homeserver answers, and what it can.
    ///
    /// # Errors
    /// What came instead.
    pub async fn versions(&self) -> Result<Versions, AskError> {
        #[derive(Deserialize)]
        struct Answer {
            versions: Vec<String>,
        }
        let request = self.request(Method::GET, "/_matrix/client/versions");
        let answer = request.send().await.map_err(|error| unreached(&self.base, &error))?;
        let date = answer.headers().get(header::DATE).and_then(|date| date.to_str().ok());
        let now = date.and_then(|date| chrono::DateTime::parse_from_rfc2822(date).ok());
        let now = now.map(|now| now.to_utc());
        let Answer { versions } = self.read(answer).await.map_err(|error| match error {
            AskError::NotFound => self.no_homeserver(),
            other => other,
        })?;
        Ok(Versions { versions, now })
    }

    /// Whom the token belongs to.
    ///
    /// # Errors
    /// What came instead.
    pub async fn whoami(&self) -> Result<Whoami, AskError> {
        self.get("/_matrix/client/v3/account/whoami").await
    }

    /// What others are told of the account's encryption, and of that device of it.
    ///
    /// # Errors
    /// What came instead.
    pub async fn published(&self, user: &UserId, device: &str) -> Result<Published, AskError> {
        let asked = json!({ "device_keys": { user.as_str(): [] } });
        let request = self.request(Method::POST, "/_matrix/client/v3/keys/query");
        let answer: Value = self.ask(body(request, &asked)).await?;
        Ok(published(&answer, user, device))
    }

    /// Whether the account keeps secrets on the homeserver, for its recovery key to open.
    ///
    /// # Errors
    /// What came instead.
    pub async fn has_secret_storage(&self, user: &UserId) -> Result<bool, AskError> {
        let user = escaped(user.as_str());
        let path =
            format!("/_matrix/client/v3/user/{user}/account_data/m.secret_storage.default_key");
        Ok(self.if_there::<Value>(&path).await?.is_some_and(|found| found["key"].is_string()))
    }

    /// Whether the account's room keys are kept on the homeserver.
    ///
    /// # Errors
    /// What came instead.
    pub async fn has_backup(&self) -> Result<bool, AskError> {
        let found = self.if_there::<Value>("/_matrix/client/v3/room_keys/version").await?;
        Ok(found.is_some())
    }

    /// What somebody calls themselves, if they do.
    ///
    /// # Errors
    /// [`AskError::NotFound`]: there is nobody of that id, as far as the homeserver knows.
    pub async fn display_name(&self, user: &UserId) -> Result<Option<String>, AskError> {
        #[derive(Deserialize)]
        struct Profile {
            displayname: Option<String>,
        }
        let path = format!("/_matrix/client/v3/profile/{}", escaped(user.as_str()));
        let Profile { displayname } = self.get(&path).await?;
        Ok(displayname.filter(|name| !name.trim().is_empty()))
    }

    /// Whether the account has that device.
    ///
    /// # Errors
    /// What came instead.
    pub async fn has_device(&self, device: &DeviceId) -> Result<bool, AskError> {
        let path = format!("/_matrix/client/v3/devices/{}", escaped(device.as_str()));
        Ok(self.if_there::<Value>(&path).await?.is_some())
    }

    /// How many events the account may send, where the homeserver tells: Synapse tells an
    /// administrator's token alone. `None`: it does not tell.
    ///
    /// # Errors
    /// What came instead.
    pub async fn rate(&self, user: &UserId) -> Result<Option<Rate>, AskError> {
        let user = escaped(user.as_str());
        match self.get(&format!("/_synapse/admin/v1/users/{user}/override_ratelimit")).await {
            Ok(rate) => Ok(Some(rate)),
            Err(AskError::Refused { .. } | AskError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Ends the token and its device.
    ///
    /// # Errors
    /// What came instead.
    pub async fn log_out(&self) -> Result<(), AskError> {
        let request = self.request(Method::POST, "/_matrix/client/v3/logout");
        self.ask::<Value>(body(request, &json!({}))).await.map(drop)
    }

    async fn if_there<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, AskError> {
        match self.get(path).await {
            Ok(found) => Ok(Some(found)),
            Err(AskError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, AskError> {
        self.ask(self.request(Method::GET, path)).await
    }

    async fn ask<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, AskError> {
        let answer = request.send().await.map_err(|error| unreached(&self.base, &error))?;
        self.read(answer).await
    }

    async fn read<T: DeserializeOwned>(
        &self,
        mut answer: reqwest::Response,
    ) -> Result<T, AskError> {
        let status = answer.status();
        let mut bytes = Vec::new();
        while let Some(part) =
            answer.chunk().await.map_err(|error| unreached(&self.base, &error))?
        {
            if bytes.len() + part.len() > LONGEST {
                return Err(self.no_homeserver());
            }
            bytes.extend_from_slice(&part);
        }
        if status.is_success() {
            return serde_json::from_slice(&bytes).map_err(|_| self.no_homeserver());
        }
        Err(refused(status, &bytes).unwrap_or_else(|| self.no_homeserver()))
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    fn no_homeserver(&self) -> AskError {
        AskError::NoHomeserver { base: self.base.clone() }
    }
}

/// What an account may send; 0: as much as there is. Source: Synapse's admin API, "Override
/// ratelimiting for users"; an empty object where nothing was overridden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Rate {
    pub messages_per_second: Option<u32>,
    pub burst_count: Option<u32>,
}

fn body(request: RequestBuilder, value: &Value) -> RequestBuilder {
    request.header(header::CONTENT_TYPE, "application/json").body(value.to_string())
}

fn unreached(base: &str, error: &reqwest::Error) -> AskError {
    AskError::Unreached { base: base.into(), why: why::of_request(error).into() }
}

/// `None`: that is no error as Matrix words it.
fn refused(status: StatusCode, body: &[u8]) -> Option<AskError> {
    #[derive(Deserialize)]
    struct Refusal {
        errcode: String,
        #[serde(default)]
        error: String,
        retry_after_ms: Option<u64>,
    }
    let Refusal { errcode, error, retry_after_ms } = serde_json::from_slice(body).ok()?;
    Some(match errcode.as_str() {
        "M_UNKNOWN_TOKEN" | "M_MISSING_TOKEN" => AskError::UnknownToken,
        "M_LIMIT_EXCEEDED" => {
            AskError::Later { after: Duration::from_millis(retry_after_ms.unwrap_or(1000)) }
        }
        "M_NOT_FOUND" | "M_UNRECOGNIZED" => AskError::NotFound,
        _ if status == StatusCode::NOT_FOUND => AskError::NotFound,
        _ => AskError::Refused { code: line(&errcode), words: line(&error) },
    })
}

fn published(answer: &Value, user: &UserId, device: &str) -> Published {
    let signer = answer["self_signing_keys"][user.as_str()]["keys"].as_object();
    let signer = signer.and_then(|keys| keys.keys().next());
    let found = &answer["device_keys"][user.as_str()][device];
    let key = found["keys"][format!("ed25519:{device}")].as_str();
    let signatures: BTreeMap<String, Value> =
        Deserialize::deserialize(&found["signatures"][user.as_str()]).unwrap_or_default();
    let is_signed = signer.is_some_and(|signer| signatures.contains_key(signer));
    Published {
        identity: signer.is_some(),
        device: key.map(|key| PublishedDevice { key: key.into(), signed: is_signed }),
    }
}

/// One segment of a path.
fn escaped(text: &str) -> String {
    let mut path = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use matrix_sdk::ruma::user_id;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[test]
    fn what_is_published_is_read_for_one_device() {
        let answer = json!({
            "device_keys": { "@vigie:example.org": {
                "OURS": {
                    "keys": { "ed25519:OURS": "public", "curve25519:OURS": "other" },
                    "signatures": { "@vigie:example.org": { "ed25519:OURS": "s", "ed25519:signer": "s" } },
                },
                "OLD": {
                    "keys": { "ed25519:OLD": "old" },
                    "signatures": { "@vigie:example.org": { "ed25519:OLD": "s" } },
                },
            } },
            "self_signing_keys": { "@vigie:example.org": { "keys": { "ed25519:signer": "signer" } } },
        });
        let of = |device: &str| published(&answer, user_id!("@vigie:example.org"), device);
        let device = |key: &str, signed| Some(PublishedDevice { key: key.into(), signed });
        assert_eq!(of("OURS"), Published { identity: true, device: device("public", true) });
        assert_eq!(of("OLD"), Published { identity: true, device: device("old", false) });
        assert_eq!(of("NEW"), Published { identity: true, device: None });
        let nothing = published(&json!({}), user_id!("@vigie:example.org"), "OURS");
        assert_eq!(nothing, Published::default());
    }

    #[test]
    fn an_error_is_told_from_a_page_of_something_else() {
        let read = |status: u16, body: &str| {
            refused(StatusCode::from_u16(status).unwrap(), body.as_bytes())
        };
        assert_eq!(read(502, "<html>Bad Gateway</html>"), None);
        let later = Duration::from_millis(2500);
        for (status, body, expected) in [
            (401, r#"{"errcode":"M_UNKNOWN_TOKEN","error":"x"}"#, AskError::UnknownToken),
            (404, r#"{"errcode":"M_NOT_FOUND","error":"x"}"#, AskError::NotFound),
            (404, r#"{"errcode":"M_UNKNOWN","error":"x"}"#, AskError::NotFound),
            (
                429,
                r#"{"errcode":"M_LIMIT_EXCEEDED","error":"x","retry_after_ms":2500}"#,
                AskError::Later { after: later },
            ),
            (
                403,
                r#"{"errcode":"M_FORBIDDEN","error":"no"}"#,
                AskError::Refused { code: "M_FORBIDDEN".into(), words: "no".into() },
            ),
        ] {
            assert_eq!(read(status, body), Some(expected), "{body}");
        }
    }

    #[test]
    fn a_terminal_obeys_nothing_of_a_refusal() {
        let body = r#"{"errcode":"M_X\u001b[2J","error":"no\n\u001b]0;x\u0007\u202e"}"#;
        let words = refused(StatusCode::FORBIDDEN, body.as_bytes()).unwrap().to_string();
        let obeyed = |c: char| c.is_control() || c == '\u{202e}';
        assert!(!words.contains(obeyed) && words.contains("no"), "{words:?}");
    }

    #[tokio::test]
    async fn an_answer_without_end_is_not_read_to_its_end() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let mut server = tokio::task::JoinSet::new();
        server.spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await;
            let head = b"HTTP/1.1 200 OK\r\n\r\n";
            let mut sent = stream.write_all(head).await;
            while sent.is_ok() {
                sent = stream.write_all(&[b' '; 4096]).await;
            }
        });
        let answer = Plain::new(&base).unwrap().get::<Value>("/").await;
        assert_eq!(answer, Err(AskError::NoHomeserver { base }));
    }

    #[test]
    fn an_id_is_one_segment_of_a_path() {
        assert_eq!(escaped("@Ines/x:example.org"), "%40Ines%2Fx%3Aexample.org");
    }
}
