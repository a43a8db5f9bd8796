//! One hook call from the agent's side: what `vigie hook` and the demo agent do.

use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Request,
    body::Bytes,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST},
};
use hyper_util::rt::TokioIo;
use std::{env, io};
use tokio::net::TcpStream;

/// Largest answer we read, in bytes; the holder's own are below a few kilobytes, plus an edited
/// input.
const ANSWER: usize = 8 << 20;

/// Where a holder takes hook calls, as told to the agent in its environment.
#[derive(Clone)]
pub struct Holder {
    authority: String,
    path: String,
    token: String,
}

/// Why a call got no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error(
        "`VIGIE_HOOK_URL` and `VIGIE_HOOK_TOKEN` are not set: this is for programs that Vigie started"
    )]
    Nowhere,
    #[error("`{0}` is no address of a holder")]
    Address(String),
    #[error("the holder does not listen")]
    Connect(#[source] io::Error),
    #[error("the connection to the holder broke")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the holder refused the call with {0}")]
    Refused(hyper::StatusCode),
}

impl Holder {
    /// From the environment the session's program was started with.
    pub fn from_env() -> Result<Self, CallError> {
        match (env::var("VIGIE_HOOK_URL"), env::var("VIGIE_HOOK_TOKEN")) {
            (Ok(url), Ok(token)) => Self::new(&url, token),
            _ => Err(CallError::Nowhere),
        }
    }

    /// Only `http` to this machine: the token never leaves it.
    pub fn new(url: &str, token: String) -> Result<Self, CallError> {
        let bad = || CallError::Address(url.into());
        let rest = url.strip_prefix("http://").ok_or_else(bad)?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let address: std::net::SocketAddr = authority.parse().map_err(|_| bad())?;
        if !address.ip().is_loopback() {
            return Err(bad());
        }
        Ok(Self { authority: authority.into(), path: format!("/{path}"), token })
    }

    /// Hands `event` in and waits for the answer, without a deadline of its own: the caller has
    /// one. Dropping the future closes the connection, which tells the holder that nobody waits.
    pub async fn call(&self, event: Vec<u8>) -> Result<Bytes, CallError> {
        let broken = |error: hyper::Error| CallError::Broken(error.into());
        let stream = TcpStream::connect(&self.authority).await.map_err(CallError::Connect)?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let request = Request::post(&self.path)
            .header(HOST, &self.authority)
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .body(Full::new(Bytes::from(event)))
            .map_err(|error| CallError::Broken(error.into()))?;
        let exchange = async {
            let response = sender.send_request(request).await.map_err(broken)?;
            if !response.status().is_success() {
                return Err(CallError::Refused(response.status()));
            }
            let body = Limited::new(response.into_body(), ANSWER).collect().await;
            Ok(body.map_err(CallError::Broken)?.to_bytes())
        };
        let mut exchange = std::pin::pin!(exchange);
        tokio::select! {
            answer = &mut exchange => answer,
            // The connection may be done while the last bytes still wait in the exchange.
            done = connection => {
                done.map_err(broken)?;
                exchange.await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_goes_to_this_machine_only() {
        for bad in
            ["https://127.0.0.1:1/hook", "http://192.0.2.1:80/hook", "http://example.org/hook", "x"]
        {
            assert!(Holder::new(bad, "t".into()).is_err(), "{bad}");
        }
        for good in ["http://127.0.0.1:1/hook", "http://[::1]:8080"] {
            assert!(Holder::new(good, "t".into()).is_ok(), "{good}");
        }
    }
}
