//! Takes in the body of a request, as long as it is short and comes in time.

use axum::{
    body::{Body, Bytes},
    http::StatusCode,
};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use std::time::Duration;

/// A long prompt in JSON. Whatever is longer than this goes into a file, whose path is sent.
pub(super) const LONGEST: usize = 1 << 20;

/// The whole of a body comes within this.
const DEADLINE: Duration = Duration::from_secs(30);

/// Why there is no body, with the status that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unread {
    pub(super) status: StatusCode,
    pub(super) words: String,
}

pub(super) async fn take(body: Body) -> Result<Bytes, Unread> {
    let unread = |status, words: String| Unread { status, words };
    let whole = tokio::time::timeout(DEADLINE, Limited::new(body, LONGEST).collect()).await;
    match whole {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(unread(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "a call has at most {LONGEST} bytes; put what is longer into a file and send its path"
            ),
        )),
        Ok(Err(error)) => {
            Err(unread(StatusCode::BAD_REQUEST, format!("the body of the call broke off: {error}")))
        }
        Err(_) => Err(unread(
            StatusCode::REQUEST_TIMEOUT,
            format!("the body of the call took longer than {} s", DEADLINE.as_secs()),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_may_be_as_long_as_the_limit_and_no_longer() {
        assert_eq!(take(Body::from(vec![b' '; LONGEST])).await.unwrap().len(), LONGEST);
        let refused = take(Body::from(vec![b' '; LONGEST + 1])).await.unwrap_err();
        assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_comes_is_not_waited_for() {
        let never =
            Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        assert_eq!(take(never).await.unwrap_err().status, StatusCode::REQUEST_TIMEOUT);
    }
}
