//! What stands behind the `?` of an address, and what is said where it cannot be read.

use axum::{
    extract::{FromRequestParts, Query as Parsed},
    http::{StatusCode, request},
};
use serde::de::DeserializeOwned;

use super::fault::Fault;

pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut request::Parts, _: &S) -> Result<Self, Fault> {
        match Parsed::try_from_uri(&parts.uri) {
            Ok(Parsed(asked)) => Ok(Self(asked)),
            Err(error) => {
                // "Failed to deserialize query string: days: invalid digit found in string"
                let why = error.body_text();
                let why = why.split_once(": ").map_or(why.as_str(), |(_, why)| why);
                let hint = format!("Behind the `?` stands what cannot be read: {why}.");
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                Err(Fault::new(status, "unreadable", "this address cannot be read").hint(hint))
            }
        }
    }
}
