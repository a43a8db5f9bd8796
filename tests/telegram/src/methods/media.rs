//! Files: sent by the bot, and fetched.

use serde_json::{Map, Value, json};

use super::{CAPTION, put_words, send::send, words};
use crate::{
    files::{DOWNLOAD_BYTES, Media, MediaKind, photo_fault},
    params::Params,
    refusal::{Refusal, bad},
    state::State,
};

pub(super) fn document(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    send_file(state, params, MediaKind::Document)
}

pub(super) fn photo(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    send_file(state, params, MediaKind::Photo)
}

fn send_file(state: &mut State, params: &Params, kind: MediaKind) -> Result<Value, Refusal> {
    let media = read_file(state, params, kind)?;
    let words = words(state, params, &CAPTION)?;
    let (field, part) = state.files.store(media);
    let mut body = Map::new();
    body.insert(field.into(), part);
    put_words(&mut body, &words, &CAPTION);
    if params.flag("has_spoiler") {
        body.insert("has_media_spoiler".into(), true.into());
    }
    send(state, params, body)
}

/// The file of a call: an upload, or one that Telegram already has.
fn read_file(state: &State, params: &Params, kind: MediaKind) -> Result<Media, Refusal> {
    let field = kind.field();
    if let Some(upload) = params.file(field) {
        if upload.bytes.is_empty() {
            return Err(bad("file must be non-empty"));
        }
        if kind == MediaKind::Photo
            && let Some(fault) = photo_fault(&upload.bytes)
        {
            return Err(bad(fault));
        }
        let name = if upload.name.is_empty() { field } else { &upload.name };
        return Ok(Media::new(kind, name, &upload.mime, upload.bytes.clone()));
    }
    let given = params.str(field);
    if given.starts_with("http://") || given.starts_with("https://") {
        return Err(bad("failed to get HTTP URL content"));
    }
    if given.is_empty() || given.starts_with("attach://") {
        return Err(bad(format!("there is no {field} in the request")));
    }
    let (_, media) = state.files.by_id(given).ok_or_else(|| {
        bad("wrong remote file identifier specified: can't unserialize it. Wrong last symbol")
    })?;
    if media.kind != kind {
        return Err(bad(format!("can't use file of type {} as {field}", media.kind.field())));
    }
    Ok(media.clone())
}

pub(super) fn get_file(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let id = params.str("file_id");
    let (path, media) = state
        .files
        .by_id(id)
        .ok_or_else(|| bad("wrong file_id or the file is temporarily unavailable"))?;
    if media.bytes.len() > DOWNLOAD_BYTES {
        return Err(bad("file is too big"));
    }
    let unique = format!("u{id}");
    Ok(
        json!({"file_id": id, "file_unique_id": unique, "file_size": media.bytes.len(), "file_path": path}),
    )
}
