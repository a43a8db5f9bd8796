//! The door for calls from outside: `POST /hooks/NAME` begins a run of the workflow of that name. Who
//! calls has no login; they know the webhook's secret, and show it before anything else is looked at.

mod params;
mod proof;
mod refused;

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{Path, Request, State},
    http::{HeaderMap, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
    routing::any,
};
use http_body_util::BodyExt as _;
use rand::{TryRngCore, rngs::OsRng};
use std::{fmt::Write as _, sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until, timeout},
};
use tracing::warn;
use vigie_core::{
    command::Reply,
    run::{Hook, RunLife, RunView},
};
use vigie_workflow::language::Webhook;

use super::{serve::App, shapes::BegunShape};
use proof::Offered;
use refused::Refused;

/// Bodies at once of callers of whom it is not known yet whether they know anything.
const MOST_UNPROVEN: usize = 16;
/// Calls at once of those who do.
const MOST_PROVEN: usize = 32;
/// A body is some kilobytes; who takes longer sends it to hold us up.
const BODY_DEADLINE: Duration = Duration::from_secs(10);
/// A secret comes from a file or from a keyring that may ask somebody.
const SECRET_DEADLINE: Duration = Duration::from_secs(5);
/// Longer than any commit; a disk that takes longer is ill.
const COMMIT_DEADLINE: Duration = Duration::from_secs(20);
/// No refusal for want of a proof comes sooner than this, so that the time of a look-up tells nothing.
const UNPROVEN_AFTER: Duration = Duration::from_millis(100);
/// Body of a call to a webhook that is not there, and the least that signatures are looked for in.
const USUAL_BODY: u64 = 256 << 10;
/// Longest key of a caller's own.
const LONGEST_KEY: usize = 200;

/// What all calls share.
struct Door {
    app: App,
    unproven: Arc<Semaphore>,
    proven: Arc<Semaphore>,
    /// The secret of webhooks that are not there.
    nobodys: String,
}

pub(super) fn router(app: &App) -> Router {
    let door = Door {
        app: app.clone(),
        unproven: Arc::new(Semaphore::new(MOST_UNPROVEN)),
        proven: Arc::new(Semaphore::new(MOST_PROVEN)),
        nobodys: nobodys_secret(),
    };
    Router::new()
        .route("/hooks/{name}", any(called))
        .route("/hooks/{project}/{name}", any(called_of_project))
        .with_state(Arc::new(door))
}

/// Without randomness it is one that no header can hold.
fn nobodys_secret() -> String {
    let mut bytes = [0; 32];
    match OsRng.try_fill_bytes(&mut bytes) {
        Ok(()) => bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}"); // a String takes everything
            text
        }),
        Err(_) => "\0".into(),
    }
}

async fn called(
    State(door): State<Arc<Door>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    door.answer(&name, request).await
}

async fn called_of_project(
    State(door): State<Arc<Door>>,
    Path((project, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    door.answer(&format!("{project}/{name}"), request).await
}

impl Door {
    async fn answer(&self, name: &str, request: Request) -> Response {
        match self.take(name, request).await {
            Ok(view) => {
                let run = view.row.id.to_string();
                let url = format!("{}/api/v1/runs/{run}", self.app.url);
                let begun = BegunShape { run, name: view.name, url };
                (StatusCode::ACCEPTED, Json(begun)).into_response()
            }
            Err(refused) => refused.into_response(),
        }
    }

    /// The run, once it is on disk.
    async fn take(&self, name: &str, request: Request) -> Result<RunView, Refused> {
        if request.method() != Method::POST {
            return Err(Refused::method());
        }
        if request.headers().contains_key(header::ORIGIN) {
            return Err(Refused::from_a_page());
        }
        if request.uri().query().is_some() {
            return Err(Refused::query());
        }
        let (parts, body) = request.into_parts();
        let begun = Instant::now();
        let Some((webhook, bytes, _permit)) = self.prove(name, &parts, body).await? else {
            sleep_until(begun + UNPROVEN_AFTER).await;
            return Err(Refused::unproven());
        };
        let key = key(&parts.headers)?;
        let json = json(&parts.headers, &bytes)?;
        let reading = self.app.outside.workflows.now();
        let source = reading.catalog.all.get(name).and_then(|known| known.source.as_ref());
        let params = match source {
            Some(source) => params::read(&source.workflow, &webhook, json, &parts.headers)?,
            // It does not run; the hub says why, and writes it down.
            None => params::none(),
        };
        self.begin(Hook { workflow: name.into(), params, key }).await
    }

    /// Who the caller is, before what they say: the webhook and the body of a call that is good; `None`
    /// for everybody else, whether there is such a webhook or not.
    async fn prove(
        &self,
        name: &str,
        parts: &Parts,
        body: Body,
    ) -> Result<Option<(Webhook, Bytes, OwnedSemaphorePermit)>, Refused> {
        let offered = Offered::of(&parts.headers, self.app.clock.now());
        let reading = self.app.outside.workflows.now();
        let webhook = reading.webhook(name).filter(|hook| Some(hook.proof) == offered.way());
        let secret = match webhook {
            Some(webhook) => self.secret(webhook, name).await,
            None => None,
        };
        let is_good = |body: &[u8]| {
            let good = offered.is_good(secret.as_deref().unwrap_or(&self.nobodys), body);
            webhook.filter(|_| good && secret.is_some())
        };
        match &offered {
            Offered::Nothing => Ok(None),
            Offered::Token(_) => {
                let Some(webhook) = is_good(&[]) else { return Ok(None) };
                let permit = room(&self.proven)?;
                let body = whole(parts, body, webhook.max_body).await?;
                Ok(Some((webhook.clone(), body, permit)))
            }
            Offered::Signature { .. } => {
                let bounds = reading.files.iter().filter_map(|file| file.webhook.as_ref());
                let most = bounds.map(|hook| hook.max_body).max().unwrap_or(0).max(USUAL_BODY);
                let unproven = room(&self.unproven)?;
                let body = whole(parts, body, most).await?;
                let Some(webhook) = is_good(&body) else { return Ok(None) };
                drop(unproven);
                if body.len() as u64 > webhook.max_body {
                    return Err(Refused::too_large(webhook.max_body));
                }
                Ok(Some((webhook.clone(), body, room(&self.proven)?)))
            }
        }
    }

    /// `None`: it is not there, which the log says, since the caller must not learn it.
    async fn secret(&self, webhook: &Webhook, workflow: &str) -> Option<String> {
        let found = (self.app.outside.secret)(webhook.secret.clone(), workflow.into());
        let why = match timeout(SECRET_DEADLINE, found).await {
            // An empty one would be known to everybody.
            Ok(Ok(secret)) if secret.is_empty() => "it is empty".to_owned(),
            Ok(Ok(secret)) => return Some(secret),
            Ok(Err(why)) => why,
            Err(_) => "it does not come in time".into(),
        };
        let secret = webhook.secret.as_str();
        warn!(workflow, secret, why, "a webhook has no secret, so nobody can call it");
        None
    }

    async fn begin(&self, hook: Hook) -> Result<RunView, Refused> {
        let begun = timeout(COMMIT_DEADLINE, self.app.outside.hub.hook(hook)).await;
        match begun.map_err(|_| Refused::slow_disk())?? {
            Reply::Run(view) => match &view.row.life {
                RunLife::NotRun { why, .. } => Err(Refused::not_run(why)),
                RunLife::Queued | RunLife::Running | RunLife::Over { .. } => Ok(*view),
            },
            other => {
                tracing::error!(?other, "the hub gave an answer of another kind");
                Err(Refused::ours())
            }
        }
    }
}

fn room(of: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Refused> {
    const SOON: Duration = Duration::from_secs(1);
    Arc::clone(of).try_acquire_owned().map_err(|_| Refused::too_many(SOON))
}

/// The body, if it is no longer than `most` and comes in time.
async fn whole(parts: &Parts, mut body: Body, most: u64) -> Result<Bytes, Refused> {
    let said = parts.headers.get(header::CONTENT_LENGTH);
    let said: Option<u64> = said.and_then(|length| length.to_str().ok()?.parse().ok());
    if said.is_some_and(|length| length > most) {
        return Err(Refused::too_large(most));
    }
    let read = async {
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Refused::broken_off())?;
            bytes.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            if bytes.len() as u64 > most {
                return Err(Refused::too_large(most));
            }
        }
        Ok(Bytes::from(bytes))
    };
    timeout(BODY_DEADLINE, read).await.map_err(|_| Refused::too_slow())?
}

/// The caller's own key of this call, so that a repeat begins nothing.
fn key(headers: &HeaderMap) -> Result<Option<String>, Refused> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    if text.is_empty() || text.len() > LONGEST_KEY || !text.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(Refused::bad_key(LONGEST_KEY));
    }
    Ok(Some(text.into()))
}

/// `None`: the body is empty.
fn json(headers: &HeaderMap, body: &[u8]) -> Result<Option<serde_json::Value>, Refused> {
    if body.is_empty() {
        return Ok(None);
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    if kind != "application/json" && !(kind.starts_with("application/") && kind.ends_with("+json"))
    {
        return Err(Refused::no_json_type());
    }
    serde_json::from_slice(body).map(Some).map_err(|error| Refused::no_json(&error))
}
