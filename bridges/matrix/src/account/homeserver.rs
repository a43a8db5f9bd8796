//! From what a person calls their homeserver to where it answers.

use matrix_sdk::{Client, ClientBuildError, HttpError};
use std::{net::IpAddr, time::Duration};

use super::plain::{AskError, Plain};
use crate::why;

/// Looking it up is a few questions, each tried again.
const LOOK: Duration = Duration::from_secs(30);

/// Why no homeserver was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoHomeserver {
    #[error("`{0}` names no homeserver")]
    Name(String),
    #[error("{0} is not encrypted: whoever is on the way could read the password")]
    Unencrypted(String),
    #[error("{name} was not reached: {why}")]
    Unreached { name: String, why: String },
    #[error("what answers at {0} is no Matrix homeserver, and says nothing of where one is")]
    NotMatrix(String),
    #[error("the homeserver at {0} is too old: it does not know version 1.1 of Matrix or later")]
    TooOld(String),
}

impl NoHomeserver {
    /// What to do, as a sentence.
    pub fn mend(&self) -> &'static str {
        match self {
            Self::Name(_) | Self::NotMatrix(_) => {
                "Write what stands after the colon of the account's id (example.org), or the address that clients use (https://matrix.example.org)."
            }
            Self::Unencrypted(_) => {
                "Use https://. Plain http:// is taken for a homeserver on this machine alone."
            }
            Self::Unreached { .. } => {
                "Look at the name, at this machine's network and at HTTPS_PROXY, then run this again."
            }
            Self::TooOld(_) => "Its administrator can bring it up to date.",
        }
    }
}

/// Where the homeserver of that name or address answers: by what the name's own web server says
/// (`/.well-known/matrix/client`), or right there.
///
/// # Errors
/// Why not, with what to do.
pub async fn find(text: &str) -> Result<String, NoHomeserver> {
    let asked = address(text)?;
    let building = Box::pin(Client::builder().server_name_or_homeserver_url(&asked).build());
    let built = tokio::time::timeout(LOOK, building).await;
    let client = built
        .map_err(|_| NoHomeserver::Unreached {
            name: asked.clone(),
            why: format!("it gives no answer within {} s", LOOK.as_secs()),
        })?
        .map_err(|error| not_found(&asked, &error))?;
    let found = client.homeserver().as_str().trim_end_matches('/').to_owned();
    if !is_private(&found) {
        return Err(NoHomeserver::Unencrypted(found));
    }
    let versions = match Plain::new(&found) {
        Ok(plain) => plain.versions().await,
        Err(error) => Err(error),
    };
    let versions = versions.map_err(|error| match error {
        AskError::Unreached { base, why } => NoHomeserver::Unreached { name: base, why },
        _ => NoHomeserver::NotMatrix(found.clone()),
    })?;
    if is_new_enough(&versions.versions) { Ok(found) } else { Err(NoHomeserver::TooOld(found)) }
}

/// Since 1.1 the client API has the paths that are used here. Source: Matrix specification, 1.1.
pub fn is_new_enough(versions: &[String]) -> bool {
    versions.iter().any(|version| version.starts_with("v1."))
}

/// What to ask for: a whole user id names its server, and on this machine no encryption is needed.
fn address(text: &str) -> Result<String, NoHomeserver> {
    let text = text.trim().trim_end_matches('/');
    let name = match text.strip_prefix('@').and_then(|user| user.split_once(':')) {
        Some((_, server)) => server,
        None => text,
    };
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(NoHomeserver::Name(text.into()));
    }
    match name.split_once("://") {
        Some(("https", _)) => Ok(name.into()),
        Some(("http", _)) if is_private(name) => Ok(name.into()),
        Some(("http", _)) => Err(NoHomeserver::Unencrypted(name.into())),
        Some(_) => Err(NoHomeserver::Name(name.into())),
        None if is_here(name) => Ok(format!("http://{name}")),
        None => Ok(name.into()),
    }
}

/// Encrypted, or within this machine.
pub(super) fn is_private(url: &str) -> bool {
    url.starts_with("https://") || url.strip_prefix("http://").is_some_and(is_here)
}

/// Host and perhaps a port and a path: this machine itself.
fn is_here(rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => host,
        Some(_) | None => authority,
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn not_found(asked: &str, error: &ClientBuildError) -> NoHomeserver {
    match error {
        ClientBuildError::Http(HttpError::Reqwest(error)) => {
            NoHomeserver::Unreached { name: asked.into(), why: why::of_request(error).into() }
        }
        ClientBuildError::InvalidServerName | ClientBuildError::Url(_) => {
            NoHomeserver::Name(asked.into())
        }
        _ => NoHomeserver::NotMatrix(asked.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_homeserver_goes_by_name_address_or_an_account_on_it() {
        for (text, asked) in [
            ("example.org", "example.org"),
            (" https://matrix.example.org/ ", "https://matrix.example.org"),
            ("@vigie:example.org", "example.org"),
            ("@vigie:example.org:8448", "example.org:8448"),
            ("localhost:8008", "http://localhost:8008"),
            ("127.0.0.1:8008", "http://127.0.0.1:8008"),
            ("http://[::1]:8008/", "http://[::1]:8008"),
        ] {
            assert_eq!(address(text).as_deref(), Ok(asked), "{text}");
        }
        for text in
            ["http://matrix.example.org", "http://127.0.0.1.example.org", "http://192.0.2.7"]
        {
            assert!(matches!(address(text), Err(NoHomeserver::Unencrypted(_))), "{text}");
        }
        for text in ["", "  ", "my server", "ftp://example.org"] {
            assert!(matches!(address(text), Err(NoHomeserver::Name(_))), "{text}");
        }
    }

    #[test]
    fn a_homeserver_from_before_version_1_1_is_too_old() {
        let versions = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(is_new_enough(&versions(&["r0.6.1", "v1.1", "v1.11"])));
        assert!(!is_new_enough(&versions(&["r0.0.1", "r0.6.1"])));
    }
}
