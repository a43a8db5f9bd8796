//! How a caller shows that they know a webhook's secret. Whether there is such a webhook at all makes
//! no difference to what is done here: who knows no secret learns nothing, not even from the time.

use axum::http::{HeaderMap, header};
use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use vigie_core::Timestamp;
use vigie_workflow::language::Proof;

/// As GitHub, Gitea and others sign a body.
const HUB_SIGNATURE: &str = "x-hub-signature-256";
/// The same over the time and the body, so that what is overheard is worth nothing later.
const OUR_SIGNATURE: &str = "x-vigie-signature";
/// Seconds since 1970.
const OUR_TIME: &str = "x-vigie-timestamp";
/// How far a caller's clock may be off, and a signature old.
const FRESH_SECONDS: i64 = 5 * 60;

/// Headers that show the caller's secret, or are made with it: nothing else gets to see them.
pub(super) const SECRET_HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", HUB_SIGNATURE, OUR_SIGNATURE, OUR_TIME];

/// What a request brings, before it is known whether it is good.
pub(super) enum Offered {
    Token([u8; 32]),
    Signature { of: Signed, signature: Vec<u8> },
    Nothing,
}

/// What a signature is over.
pub(super) enum Signed {
    Body,
    /// The time as it was written, a dot, and the body.
    TimeAndBody(String),
}

impl Offered {
    /// A signature that is there counts, whatever else is.
    pub(super) fn of(headers: &HeaderMap, now: Timestamp) -> Self {
        let time = text(headers, OUR_TIME);
        if time.is_some_and(|time| !is_fresh(time, now)) {
            return Self::Nothing;
        }
        let ours = headers.contains_key(OUR_SIGNATURE);
        let signature = if ours { OUR_SIGNATURE } else { HUB_SIGNATURE };
        if headers.contains_key(signature) {
            let signature = text(headers, signature).and_then(read_signature);
            let of = match (ours, time) {
                (true, Some(time)) => Signed::TimeAndBody(time.into()),
                (false, _) => Signed::Body,
                (true, None) => return Self::Nothing,
            };
            return signature.map_or(Self::Nothing, |signature| Self::Signature { of, signature });
        }
        let bearer = text(headers, header::AUTHORIZATION.as_str()).and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        bearer.map_or(Self::Nothing, |token| Self::Token(digest(token)))
    }

    /// The way it goes by.
    pub(super) fn way(&self) -> Option<Proof> {
        match self {
            Self::Token(_) => Some(Proof::Token),
            Self::Signature { .. } => Some(Proof::Hmac),
            Self::Nothing => None,
        }
    }

    /// Whether it was made with `secret`, over `body` where it is a signature.
    pub(super) fn is_good(&self, secret: &str, body: &[u8]) -> bool {
        match self {
            Self::Token(token) => token.ct_eq(&digest(secret)).into(),
            Self::Signature { of, signature } => {
                let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
                    return false; // a key of any length is one
                };
                if let Signed::TimeAndBody(time) = of {
                    mac.update(time.as_bytes());
                    mac.update(b".");
                }
                mac.update(body);
                mac.verify_slice(signature).is_ok()
            }
            Self::Nothing => false,
        }
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// The one value of a header; two are as good as none.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut all = headers.get_all(name).into_iter();
    all.next().filter(|_| all.next().is_none()).and_then(|value| value.to_str().ok())
}

fn is_fresh(time: &str, now: Timestamp) -> bool {
    let seconds: Option<i64> = time.parse().ok();
    seconds.is_some_and(|at| now.timestamp().abs_diff(at) <= FRESH_SECONDS.unsigned_abs())
}

/// `sha256=` and 64 hexadecimal digits.
fn read_signature(value: &str) -> Option<Vec<u8>> {
    let hex = value.trim().strip_prefix("sha256=").filter(|hex| hex.is_ascii())?;
    if hex.len() != 64 {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const SECRET: &str = "It's a Secret to Everybody";
    /// GitHub's own example, of its page on validating deliveries: body `Hello, World!`.
    const SIGNATURE: &str =
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn offered(headers: &[(&'static str, &str)], now: i64) -> Offered {
        let headers = headers.iter().map(|(name, value)| {
            (axum::http::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        });
        Offered::of(&headers.collect(), Timestamp::from_timestamp(now, 0).unwrap())
    }

    #[test]
    fn a_signature_is_over_the_bytes_as_they_came() {
        let hub = offered(&[(HUB_SIGNATURE, SIGNATURE)], 0);
        assert!(hub.is_good(SECRET, b"Hello, World!"));
        assert!(!hub.is_good(SECRET, b"Hello, World! "));
        assert!(!hub.is_good("another", b"Hello, World!"));
    }

    #[test]
    fn an_old_time_spoils_whatever_stands_beside_it() {
        for (at, way) in [("700", Some(Proof::Hmac)), ("399", None), ("later", None)] {
            let headers = [(HUB_SIGNATURE, SIGNATURE), (OUR_TIME, at)];
            assert_eq!(offered(&headers, 700).way(), way, "{at}");
        }
        assert_eq!(offered(&[(OUR_SIGNATURE, SIGNATURE)], 0).way(), None, "it needs its time");
    }

    #[test]
    fn a_token_is_compared_as_a_whole() {
        let token = offered(&[("authorization", "bearer s3cret")], 0);
        assert!(token.is_good("s3cret", b""));
        assert!(!token.is_good("s3cre", b""));
        assert_eq!(offered(&[("authorization", "Basic s3cret")], 0).way(), None);
    }
}
