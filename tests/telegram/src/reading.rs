//! Reads the parameters of a call out of its request.

use axum::{
    body::{Body, Bytes},
    extract::{Form, FromRequest, Query},
    http::{Method, Request, header},
};
use futures_util::{StreamExt, stream};
use serde_json::{Map, Value};

use crate::{
    files::UPLOAD_BYTES,
    params::{Raw, Upload},
    refusal::{Refusal, bad},
};

/// Bytes of a request: one upload and what stands around it.
const REQUEST_BYTES: usize = UPLOAD_BYTES + (1 << 20);

/// Reads the parameters from wherever they stand: the address, JSON, a form, a form with files.
pub(crate) async fn read(request: Request<Body>) -> Result<Raw, Refusal> {
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
