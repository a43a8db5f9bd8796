//! Who calls: a bearer token, what it is good for, and what a caller without a good one hears.

use axum::{
    Json,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::time::{Instant, sleep};
use vigie_core::{
    caller::{Known, TokenHash, TokenScope},
    id::SessionId,
};

use crate::hub::Hub;

/// Longer than any token of ours; what is longer is none.
const LONGEST_TOKEN: usize = 256;

/// From the start of a session's program until its token is written down: a commit or two, on a disk
/// that is busy.
const REPORTED_WITHIN: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Where a call comes from, as the system tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whence {
    /// From no session, or over the network.
    Outside,
    /// From inside a session, whose present run has this folder.
    Session { folder: PathBuf },
    /// Perhaps from inside one.
    Unclear,
}

/// A caller whose token is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Every call is carried out under it: a token that ended in the meantime is good for nothing.
    pub token: TokenHash,
    pub known: Known,
}

/// The folder of a session's run, by which the system tells where a call comes from.
pub type RunFolder = Arc<dyn Fn(SessionId, u32) -> PathBuf + Send + Sync>;

/// Why a caller is turned away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Turned {
    #[error("there is no token with this call")]
    NoToken,
    /// What is shown is no token, or one that is not good here.
    #[error("{0}")]
    NotGood(String),
    #[error("Vigie is stopping")]
    Stopping,
}

/// Who speaks with that token, if it is used where it belongs: a session's from inside its own
/// processes, a program's from outside of every session. So a token that leaks is of no use.
pub(super) async fn caller(
    hub: &Hub,
    folder: &RunFolder,
    token: &str,
    whence: &Whence,
) -> Result<Caller, Turned> {
    let token = TokenHash::of(token);
    let known = known(hub, &token, whence).await?;
    let known = known.ok_or_else(|| Turned::NotGood("this token is not known, or over".into()))?;
    let place = known.run.map(|(session, run)| folder(session, run));
    match misplaced(place.as_deref(), whence) {
        None => Ok(Caller { token, known }),
        Some(words) => Err(Turned::NotGood(words.into())),
    }
}

/// A program in a session may call before its holder's report of the token is written down, and a
/// client that is turned away once (Claude Code) does not come back: it waits for that.
async fn known(hub: &Hub, token: &TokenHash, whence: &Whence) -> Result<Option<Known>, Turned> {
    let deadline = Instant::now() + REPORTED_WITHIN;
    loop {
        let known = hub.known(token.clone()).await.map_err(|_| Turned::Stopping)?;
        let may_come = matches!(whence, Whence::Session { .. }) && Instant::now() < deadline;
        if known.is_some() || !may_come {
            return Ok(known);
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// Why a token is not good where it is used, if it is not. `place` is the run it belongs to.
fn misplaced(place: Option<&Path>, whence: &Whence) -> Option<&'static str> {
    match (place, whence) {
        // Only Linux tells which process is at the other end of a connection.
        (Some(_), _) if !cfg!(target_os = "linux") => None,
        (Some(place), Whence::Session { folder }) if folder == place => None,
        (None, Whence::Outside) => None,
        (Some(_), _) => Some("this token is good only inside the session it was made for"),
        (None, Whence::Session { .. } | Whence::Unclear) => {
            Some("this token is not good inside of a session, which has one of its own")
        }
    }
}

/// The token of a request. Source of the form: RFC 6750, section 2.1.
pub(super) fn token(headers: &HeaderMap) -> Result<String, Turned> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (Some(value), None) => value,
        (None, _) => return Err(Turned::NoToken),
        (Some(_), Some(_)) => return Err(Turned::NotGood("there is more than one token".into())),
    };
    let text = value.to_str().unwrap_or_default();
    match text.split_once(' ') {
        Some((scheme, token))
            if scheme.eq_ignore_ascii_case("bearer")
                && !token.is_empty()
                && token.len() <= LONGEST_TOKEN =>
        {
            Ok(token.to_owned())
        }
        _ => Err(Turned::NotGood("the token does not come as `Authorization: Bearer …`".into())),
    }
}

/// How callers learn what this is and what it wants. Source: RFC 9728, and RFC 6750, section 3.
#[derive(Clone, Debug)]
pub(super) struct Challenge {
    /// The address of what is protected.
    pub(super) resource: String,
    /// The address of [`Challenge::metadata`].
    pub(super) metadata_at: String,
}

impl Challenge {
    /// Vigie is no authorization server and names none: tokens are made at the desk.
    pub(super) fn metadata(&self) -> Value {
        json!({
            "resource": self.resource,
            "resource_name": "Vigie",
            "scopes_supported": TokenScope::ALL.map(TokenScope::as_str),
            "bearer_methods_supported": ["header"],
        })
    }

    pub(super) fn unknown(&self, turned: &Turned) -> Response {
        // Who shows nothing did nothing wrong yet.
        let error = match turned {
            Turned::NoToken => None,
            Turned::NotGood(_) => Some("invalid_token"),
            Turned::Stopping => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
        };
        let words = format!("{turned}. A person makes one at the desk: vigie token create NAME");
        let scopes = TokenScope::ALL.map(TokenScope::as_str).join(" ");
        self.refuse(StatusCode::UNAUTHORIZED, error, &scopes, &words)
    }

    pub(super) fn not_enough(&self, scope: TokenScope, what: &str) -> Response {
        let words = format!(
            "this token is not good for {what}, which takes the scope `{scope}`. A person makes one that has it at the desk: vigie token create NAME --scope {scope}"
        );
        self.refuse(StatusCode::FORBIDDEN, Some("insufficient_scope"), scope.as_str(), &words)
    }

    fn refuse(
        &self,
        status: StatusCode,
        error: Option<&str>,
        scopes: &str,
        words: &str,
    ) -> Response {
        let error_in_words = error.map_or_else(String::new, |error| {
            // In a header: no quotes, and nothing but ASCII.
            let plain = |c: &char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\');
            let words: String = words.chars().filter(plain).collect();
            format!("error=\"{error}\", error_description=\"{words}\", ")
        });
        let challenge = format!(
            "Bearer {error_in_words}scope=\"{scopes}\", resource_metadata=\"{}\"",
            self.metadata_at
        );
        let error = error.unwrap_or("no_token");
        let mut response =
            (status, Json(json!({ "error": error, "error_description": words }))).into_response();
        if let Ok(challenge) = HeaderValue::from_str(&challenge) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::Mail;
    use tokio::sync::mpsc;
    use vigie_core::{Timestamp, caller::Principal};

    fn headers(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn a_token_comes_once_and_as_a_bearers() {
        assert_eq!(token(&headers(&["bearer abc"])).unwrap(), "abc");
        for bad in [&[][..], &["Bearer a", "Bearer b"], &["Basic abc"], &["Bearer "], &["Bearer"]] {
            token(&headers(bad)).unwrap_err();
        }
        token(&headers(&[&format!("Bearer {}", "a".repeat(LONGEST_TOKEN + 1))])).unwrap_err();
    }

    #[test]
    fn a_challenge_says_where_to_read_on_and_what_is_missing() {
        let challenge = Challenge {
            resource: "https://harbour.example.org/mcp".into(),
            metadata_at: "https://harbour.example.org/.well-known/oauth-protected-resource/mcp"
                .into(),
        };
        let response = challenge.unknown(&Turned::NoToken);
        assert_eq!(
            response.headers()[header::WWW_AUTHENTICATE],
            "Bearer scope=\"read mail sessions workflows\", resource_metadata=\"https://harbour.example.org/.well-known/oauth-protected-resource/mcp\""
        );
        let response = challenge.unknown(&Turned::NotGood("no “such” token".into()));
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(
            response.headers()[header::WWW_AUTHENTICATE],
            "Bearer error=\"invalid_token\", error_description=\"no such token. A person makes one at the desk: vigie token create NAME\", scope=\"read mail sessions workflows\", resource_metadata=\"https://harbour.example.org/.well-known/oauth-protected-resource/mcp\""
        );
        let response = challenge.not_enough(TokenScope::Mail, "send_message");
        assert_eq!(response.status(), StatusCode::FORBIDDEN);
        let said = response.headers()[header::WWW_AUTHENTICATE].to_str().unwrap();
        assert!(said.contains("insufficient_scope") && said.contains("scope=\"mail\""), "{said}");
    }

    #[tokio::test]
    async fn a_sessions_first_call_waits_until_its_token_is_written_down() {
        let (mailbox, mut mails) = mpsc::channel(1);
        let hub = Hub::new(mailbox);
        let session = SessionId::from_parts(Timestamp::default(), 1);
        let later = Known {
            principal: Principal::Session { session },
            name: "PD-285".into(),
            scopes: TokenScope::ALL.into(),
            run: Some((session, 1)),
        };
        let writes = async {
            for known in [None, Some(later.clone()), None] {
                let Some(Mail::Known { answer, .. }) = mails.recv().await else { panic!() };
                answer.send(known).unwrap();
            }
        };
        let folder: RunFolder = Arc::new(|_, _| "/run".into());
        let calls = async {
            let inside = Whence::Session { folder: "/run".into() };
            let known = caller(&hub, &folder, "t", &inside).await.unwrap().known;
            assert_eq!(known, later);
            caller(&hub, &folder, "t", &Whence::Outside).await.unwrap_err();
        };
        tokio::join!(writes, calls);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_token_is_good_where_it_belongs_and_nowhere_else() {
        let own = Path::new("/data/sessions/a/1");
        let inside = |folder: &str| Whence::Session { folder: folder.into() };
        assert_eq!(misplaced(Some(own), &inside("/data/sessions/a/1")), None);
        assert_eq!(misplaced(None, &Whence::Outside), None);
        for (place, whence) in [
            (Some(own), inside("/data/sessions/a/2")),
            (Some(own), inside("/data/sessions/b/1")),
            (Some(own), Whence::Outside),
            (Some(own), Whence::Unclear),
            (None, inside("/data/sessions/a/1")),
            (None, Whence::Unclear),
        ] {
            assert!(misplaced(place, &whence).is_some(), "{place:?} from {whence:?}");
        }
    }
}
