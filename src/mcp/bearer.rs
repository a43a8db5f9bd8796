//! Who calls: a bearer token, what it is good for, and what a caller without a good one hears.

use axum::{
    Json,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, future::Future, pin::Pin, sync::Arc};

/// Longer than any token of ours; what is longer is none.
const LONGEST_TOKEN: usize = 256;

/// Where a call comes from, as the system tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whence {
    /// From no session, or over the network.
    Outside,
    /// From inside a session.
    Inside,
}

/// What a caller shows. It is no `Debug`: the token is a secret.
pub struct Presented {
    pub token: String,
    pub whence: Whence,
}

/// A caller whose token is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// The same for each call of one caller: the protocol's sessions belong to it.
    pub owner: String,
    pub scopes: BTreeSet<&'static str>,
}

/// Why a caller is turned away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Turned {
    #[error("there is no token with this call")]
    NoToken,
    /// What is shown is no token, or one that is not good here.
    #[error("{0}")]
    NotGood(String),
}

/// Looks a token up.
pub type Recognise = Arc<
    dyn Fn(Presented) -> Pin<Box<dyn Future<Output = Result<Admitted, Turned>> + Send>>
        + Send
        + Sync,
>;

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
    pub(super) scopes: &'static [&'static str],
}

impl Challenge {
    /// Vigie is no authorization server and names none: tokens are made at the desk.
    pub(super) fn metadata(&self) -> Value {
        json!({
            "resource": self.resource,
            "resource_name": "Vigie",
            "scopes_supported": self.scopes,
            "bearer_methods_supported": ["header"],
        })
    }

    pub(super) fn unknown(&self, turned: &Turned) -> Response {
        let words = format!("{turned}. Make a token at the desk: vigie token create NAME");
        // Who shows nothing did nothing wrong yet.
        let error = match turned {
            Turned::NoToken => None,
            Turned::NotGood(_) => Some("invalid_token"),
        };
        self.refuse(StatusCode::UNAUTHORIZED, error, &self.scopes.join(" "), &words)
    }

    pub(super) fn not_enough(&self, scope: &'static str, what: &str) -> Response {
        let words = format!(
            "this token is not good for {what}, which takes the scope `{scope}`. Make one that has it at the desk: vigie token create NAME --scope {scope}"
        );
        self.refuse(StatusCode::FORBIDDEN, Some("insufficient_scope"), scope, &words)
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
            scopes: &["read", "mail"],
        };
        let response = challenge.unknown(&Turned::NoToken);
        assert_eq!(
            response.headers()[header::WWW_AUTHENTICATE],
            "Bearer scope=\"read mail\", resource_metadata=\"https://harbour.example.org/.well-known/oauth-protected-resource/mcp\""
        );
        let response = challenge.unknown(&Turned::NotGood("no “such” token".into()));
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(
            response.headers()[header::WWW_AUTHENTICATE],
            "Bearer error=\"invalid_token\", error_description=\"no such token. Make a token at the desk: vigie token create NAME\", scope=\"read mail\", resource_metadata=\"https://harbour.example.org/.well-known/oauth-protected-resource/mcp\""
        );
        let response = challenge.not_enough("mail", "send_message");
        assert_eq!(response.status(), StatusCode::FORBIDDEN);
        let said = response.headers()[header::WWW_AUTHENTICATE].to_str().unwrap();
        assert!(said.contains("insufficient_scope") && said.contains("scope=\"mail\""), "{said}");
    }
}
