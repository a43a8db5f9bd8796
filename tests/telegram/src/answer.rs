//! One request: read, struck by a fault or not, carried out, answered.

use std::{fmt, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{Form, FromRequest, Query},
    http::{HeaderValue, Method, Request, Response, StatusCode, header},
};
use futures_util::{StreamExt, stream};
use serde_json::{Map, Value, json};

use crate::{
    faults::{DOWNLOAD, FaultKind},
    files::{DOWNLOAD_BYTES, UPLOAD_BYTES},
    methods::{self, receive},
    params::{Raw, Upload},
    records::{Call, Outcome},
    refusal::{Refusal, bad},
    shared::Shared,
};

/// Bytes of a request: one upload and what stands around it.
const REQUEST_BYTES: usize = UPLOAD_BYTES + (1 << 20);

/// What a proxy says for a server that is not there.
const BAD_GATEWAY: &str = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n\
    <center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n";

/// The connection is to break without an answer.
#[derive(Debug)]
pub(crate) struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fault breaks the connection")
    }
}

impl std::error::Error for Broken {}

/// Answers one request.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    request: Request<Body>,
) -> Result<Response<Body>, Broken> {
    let path = request.uri().path().to_owned();
    if let Some(rest) = path.strip_prefix("/file/bot")
        && let Some((token, path)) = rest.split_once('/')
    {
        return download(shared, token, path).await;
    }
    let Some((token, method)) = path.strip_prefix("/bot").and_then(|rest| rest.split_once('/'))
    else {
        return Ok(written(&Err(Refusal::new(404, "Not Found"))));
    };
    match read(request).await {
        Ok(raw) => call(shared, token, method, &raw).await,
        Err(refusal) => {
            shared.act(|state| {
                state.records.defect("unreadable request", format!("{method}: {}", refusal.text));
                state.records.refused.push((method.into(), refusal.clone()));
            });
            Ok(written(&Err(refusal)))
        }
    }
}

/// Calls a method, with the fault that strikes it.
async fn call(
    shared: &Arc<Shared>,
    token: &str,
    method: &str,
    raw: &Raw,
) -> Result<Response<Body>, Broken> {
    let name = methods::find(method).map_or(method, |spec| spec.name);
    let (number, fault) = shared.act(|state| {
        let fault = state.strike(name, raw);
        let (at, params) = (state.now(), raw.summary());
        let fault_name = fault.as_ref().map(FaultKind::name);
        state.records.calls.push(Call {
            method: name.into(),
            params,
            at,
            fault: fault_name,
            outcome: Outcome::Open,
        });
        (state.records.calls.len() - 1, fault)
    });
    let end = |outcome| shared.act(|state| state.records.calls[number].outcome = outcome);
    match before(shared, fault.as_ref()).await {
        Before::Go => {}
        Before::Instead(reply) => {
            end(Outcome::NotCarriedOut);
            return reply;
        }
        Before::Never => {
            end(Outcome::NotCarriedOut);
            return std::future::pending().await;
        }
    }
    let result = carry_out(shared, token, method, raw).await;
    end(match &result {
        Ok(value) => Outcome::Done(value.clone()),
        Err(refusal) => Outcome::Refused(refusal.clone()),
    });
    let whole = written(&result);
    after(shared, fault.as_ref(), whole, body(&result).1.into()).await
}

async fn carry_out(
    shared: &Arc<Shared>,
    token: &str,
    method: &str,
    raw: &Raw,
) -> Result<Value, Refusal> {
    let spec = shared.look_mut(|state| methods::admit(state, token, method));
    let result = match spec {
        Ok(spec) if spec.name == receive::GET_UPDATES => receive::get_updates(shared, raw).await,
        Ok(spec) => shared.act(|state| methods::run(state, spec, raw)),
        Err(refusal) => Err(refusal),
    };
    if let Err(refusal) = &result
        && !(refusal.code == 409 && method.eq_ignore_ascii_case(receive::GET_UPDATES))
    {
        let name = methods::find(method).map_or(method, |spec| spec.name).to_owned();
        shared.act(|state| state.records.refused.push((name, refusal.clone())));
    }
    result
}

enum Before {
    /// The call is carried out.
    Go,
    /// This is answered instead.
    Instead(Result<Response<Body>, Broken>),
    /// Nothing is ever answered.
    Never,
}

async fn before(shared: &Shared, fault: Option<&FaultKind>) -> Before {
    let refused = |code, text: &str| Before::Instead(Ok(written(&Err(Refusal::new(code, text)))));
    match fault {
        None | Some(FaultKind::DropAfter | FaultKind::SlowAfter(_) | FaultKind::Truncate) => {
            Before::Go
        }
        Some(FaultKind::SlowBefore(delay)) => {
            sleep(shared, *delay).await;
            Before::Go
        }
        Some(FaultKind::DropBefore) => Before::Instead(Err(Broken)),
        Some(FaultKind::Hang) => Before::Never,
        Some(FaultKind::TooMany(seconds)) => {
            Before::Instead(Ok(written(&Err(Refusal::too_many(*seconds)))))
        }
        Some(FaultKind::Refuse(code, text)) => refused(*code, text),
        Some(FaultKind::Status(401)) => refused(401, "Unauthorized"),
        Some(FaultKind::Status(403)) => refused(403, "Forbidden: bot was blocked by the user"),
        Some(FaultKind::Status(500)) => refused(500, "Internal Server Error: restart"),
        Some(FaultKind::Status(code)) if *code < 500 => refused(*code, "Bad Request"),
        Some(FaultKind::Status(code)) => Before::Instead(Ok(page(*code))),
    }
}

/// Sends what was carried out, as far as the fault lets it.
async fn after(
    shared: &Shared,
    fault: Option<&FaultKind>,
    mut response: Response<Body>,
    content: Bytes,
) -> Result<Response<Body>, Broken> {
    match fault {
        Some(FaultKind::DropAfter) => return Err(Broken),
        Some(FaultKind::Truncate) => {
            let half = content.slice(..content.len() / 2);
            response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(content.len()));
            *response.body_mut() = Body::from_stream(stream::iter([Ok(half), Err(Broken)]));
            return Ok(response);
        }
        Some(FaultKind::SlowAfter(delay)) => sleep(shared, *delay).await,
        None
        | Some(
            FaultKind::DropBefore
            | FaultKind::Status(_)
            | FaultKind::Refuse(..)
            | FaultKind::TooMany(_)
            | FaultKind::SlowBefore(_)
            | FaultKind::Hang,
        ) => {}
    }
    *response.body_mut() = Body::from(content);
    Ok(response)
}

async fn sleep(shared: &Shared, delay: Duration) {
    let clock = shared.clock();
    clock.sleep_until(clock.now() + delay).await;
}

fn body(result: &Result<Value, Refusal>) -> (u16, String) {
    match result {
        Ok(value) => (200, json!({"ok": true, "result": value}).to_string()),
        Err(refusal) => (refusal.code, refusal.body().to_string()),
    }
}

/// An answer as the server writes it.
fn written(result: &Result<Value, Refusal>) -> Response<Body> {
    let (code, text) = body(result);
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = StatusCode::from_u16(code).expect("a refusal has a code of HTTP");
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Err(Refusal { retry_after: Some(seconds), .. }) = result {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(*seconds));
    }
    response
}

fn page(code: u16) -> Response<Body> {
    let mut response = Response::new(Body::from(BAD_GATEWAY.replace("502", &code.to_string())));
    *response.status_mut() = StatusCode::from_u16(code).expect("a fault has a code of HTTP");
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
    response
}

async fn download(shared: &Shared, token: &str, path: &str) -> Result<Response<Body>, Broken> {
    let fault = shared.act(|state| state.strike(DOWNLOAD, &Raw::default()));
    match before(shared, fault.as_ref()).await {
        Before::Go => {}
        Before::Instead(reply) => return reply,
        Before::Never => return std::future::pending().await,
    }
    let bytes = shared.look(|state| {
        let media =
            state.files.by_path(path).filter(|_| token == state.bot.token && !state.revoked)?;
        Some(media.bytes.clone()).filter(|bytes| bytes.len() <= DOWNLOAD_BYTES)
    });
    let Some(bytes) = bytes else { return Ok(written(&Err(Refusal::new(404, "Not Found")))) };
    let whole = Response::new(Body::empty());
    after(shared, fault.as_ref(), whole, bytes).await
}

/// Reads the parameters from wherever they stand: the address, JSON, a form, a form with files.
async fn read(request: Request<Body>) -> Result<Raw, Refusal> {
    let mut raw = Raw::default();
    if let Ok(Query(pairs)) = Query::<Vec<(String, String)>>::try_from_uri(request.uri()) {
        raw.values.extend(pairs.into_iter().map(|(name, value)| (name, value.into())));
    }
    if request.method() != Method::POST {
        return Ok(raw);
    }
    let kind = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    let kind = kind.to_owned();
    let (head, body) = request.into_parts();
    let bytes = whole(body).await?;
    if kind.starts_with("multipart/form-data") {
        read_multipart(&kind, bytes, &mut raw).await?;
    } else if kind.starts_with("application/json") {
        read_json(&bytes, &mut raw.values)?;
    } else if !bytes.is_empty() {
        let form = Request::from_parts(head, Body::from(bytes));
        let Form(pairs) = Form::<Vec<(String, String)>>::from_request(form, &())
            .await
            .map_err(|_| bad("strings must be encoded in UTF-8"))?;
        raw.values.extend(pairs.into_iter().map(|(name, value)| (name, value.into())));
    }
    Ok(raw)
}

/// The whole body. One that is too large is read to its end, or the caller would never see the refusal.
async fn whole(body: Body) -> Result<Bytes, Refusal> {
    let mut pieces = body.into_data_stream();
    let mut bytes = Vec::new();
    let mut length = 0;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| bad("the request broke off"))?;
        length += piece.len();
        if length <= REQUEST_BYTES {
            bytes.extend_from_slice(&piece);
        }
    }
    if length > REQUEST_BYTES { Err(too_large()) } else { Ok(bytes.into()) }
}

fn too_large() -> Refusal {
    Refusal::new(413, "Request Entity Too Large")
}

fn read_json(bytes: &[u8], values: &mut Map<String, Value>) -> Result<(), Refusal> {
    if bytes.trim_ascii().is_empty() {
        return Ok(());
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(fields)) => {
            values.extend(fields);
            Ok(())
        }
        Ok(_) | Err(_) => Err(bad("can't parse JSON object")),
    }
}

async fn read_multipart(kind: &str, bytes: Bytes, raw: &mut Raw) -> Result<(), Refusal> {
    let unreadable = |_| bad("can't parse the form");
    let boundary = multer::parse_boundary(kind).map_err(unreadable)?;
    let whole = stream::iter([Ok::<_, std::io::Error>(bytes)]);
    let mut form = multer::Multipart::new(whole, boundary);
    while let Some(field) = form.next_field().await.map_err(unreadable)? {
        let name = field.name().unwrap_or_default().to_owned();
        let Some(file) = field.file_name().map(str::to_owned) else {
            let text = field.text().await.map_err(unreadable)?;
            raw.values.insert(name, text.into());
            continue;
        };
        let mime =
            field.content_type().map_or("application/octet-stream".into(), ToString::to_string);
        let bytes = field.bytes().await.map_err(unreadable)?;
        if bytes.len() > UPLOAD_BYTES {
            return Err(too_large());
        }
        raw.files.insert(name, Upload { name: file, mime, bytes });
    }
    Ok(())
}
