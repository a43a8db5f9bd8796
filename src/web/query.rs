//! What stands behind the `?` of an address, and what is said where it cannot be read: a page to whoever
//! looks at pages, JSON to everybody else.

use axum::{
    extract::{FromRequestParts, Query as Parsed},
    http::{HeaderMap, header, request},
    response::{IntoResponse, Response},
};
use serde::de::DeserializeOwned;

use super::{fault::Fault, pages};

pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut request::Parts, _: &S) -> Result<Self, Response> {
        match Parsed::try_from_uri(&parts.uri) {
            Ok(Parsed(asked)) => Ok(Self(asked)),
            Err(error) => {
                // "Failed to deserialize query string: days: invalid digit found in string"
                let why = error.body_text();
                let why = why.split_once(": ").map_or(why.as_str(), |(_, why)| why);
                let fault =
                    Fault::unreadable(format!("what stands behind the `?` of its address: {why}"))
                        .hint("Write it otherwise, or leave it out.");
                Err(answer(&parts.headers, &fault))
            }
        }
    }
}

/// The fault, as a page where pages are read.
pub(super) fn answer(headers: &HeaderMap, fault: &Fault) -> Response {
    let wants = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    match wants {
        Some(wants) if wants.contains("text/html") => pages::page_of(fault),
        Some(_) | None => fault.clone().into_response(),
    }
}
