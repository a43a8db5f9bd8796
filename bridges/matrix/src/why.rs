//! Why a call came to nothing, in a few words for a person: what libraries say names addresses and
//! numbers of the system, which help nobody. The log has them.

use matrix_sdk::{
    Error, HttpError, reqwest,
    ruma::api::error::{ErrorKind, FromHttpResponseError},
};
use std::io;

use crate::account::line;

const LOGIN_GONE: &str =
    "it does not know this login any more; log in anew: vigie down, then vigie init matrix --again";

/// Whether the login is over, and only another one helps.
pub(crate) fn is_login_gone(error: &Error) -> bool {
    let kind = error.client_api_error_kind();
    matches!(kind, Some(ErrorKind::UnknownToken { .. } | ErrorKind::MissingToken))
}

/// Why the homeserver gave no answer, or which one; said of the homeserver, as in "it refuses the
/// connection".
pub(crate) fn of_http(error: &HttpError) -> String {
    if let Some(answer) = error.as_client_api_error() {
        return match answer.error_kind() {
            Some(ErrorKind::UnknownToken { .. } | ErrorKind::MissingToken) => LOGIN_GONE.into(),
            Some(_) => format!("it says \"{}\"", own_words(&answer.to_string())),
            None => format!("it answers with {}", answer.status_code),
        };
    }
    match error {
        HttpError::Reqwest(error) => of_request(error).into(),
        HttpError::Cached(error) => of_http(error),
        HttpError::Api(error) => match &**error {
            FromHttpResponseError::Server(_) => "it wants more before it answers".into(),
            _ => "its answer makes no sense".into(),
        },
        HttpError::IntoHttp(_) => "it does not know what it is asked".into(),
        HttpError::RefreshToken(_) => LOGIN_GONE.into(),
    }
}

/// The same of matrix-sdk's errors; what fails inside of it is no person's matter.
pub(crate) fn of_sdk(error: &Error) -> String {
    match error {
        Error::Http(error) => of_http(error),
        Error::Io(_) => "a file cannot be used; look at the disk".into(),
        Error::StateStore(_) | Error::CryptoStoreError(_) | Error::EventCacheStore(_) => {
            "the encrypted store cannot be used; look at the disk".into()
        }
        _ => "something failed inside of Vigie; the log says more".into(),
    }
}

/// Why a connection came to nothing.
pub(crate) fn of_request(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() {
        return "it gives no answer in time";
    }
    let mut texts = String::new();
    let mut next: Option<&dyn std::error::Error> = Some(error);
    while let Some(cause) = next {
        if let Some(error) = cause.downcast_ref::<io::Error>()
            && let Some(words) = of_connection(error.kind())
        {
            return words;
        }
        texts.push_str(&cause.to_string().to_lowercase());
        next = cause.source();
    }
    of_texts(&texts)
}

fn of_connection(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::ConnectionRefused => Some("it refuses the connection"),
        io::ErrorKind::TimedOut => Some("it gives no answer in time"),
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            Some("there is no way to it from this machine's network")
        }
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => Some("it broke the connection off"),
        _ => None,
    }
}

/// What only stands in the libraries' words.
fn of_texts(texts: &str) -> &'static str {
    let says = |word: &str| texts.contains(word);
    if says("certificate") {
        "this machine does not trust its certificate"
    } else if says("dns") || says("lookup") || says("resolve") {
        "nobody knows its name"
    } else if says("redirect") {
        "it sends on to another address, which is not followed"
    } else {
        "the connection broke"
    }
}

/// The homeserver's own words, without its codes before them.
pub(crate) fn own_words(answer: &str) -> String {
    line(answer.split_once("] ").map_or(answer, |(_, words)| words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    async fn asked(url: &str) -> HttpError {
        HttpError::Reqwest(reqwest::get(url).await.unwrap_err())
    }

    #[tokio::test]
    async fn a_connection_that_is_refused_is_said_without_its_address() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let error = asked(&format!("http://{address}/_matrix/secret")).await;
        assert_eq!(of_http(&error), "it refuses the connection");
        let cached = HttpError::Cached(std::sync::Arc::new(error));
        assert_eq!(of_sdk(&cached.into()), "it refuses the connection");
    }

    #[tokio::test]
    async fn a_name_that_does_not_exist_is_said() {
        let error = asked("http://no-such-host.invalid/").await;
        assert_eq!(of_http(&error), "nobody knows its name");
    }

    #[test]
    fn words_of_the_homeserver_lose_their_codes() {
        assert_eq!(own_words("[403 / M_FORBIDDEN] You are not invited"), "You are not invited");
        assert_eq!(own_words("no codes"), "no codes");
    }
}
