//! Files: encrypted here, uploaded, and then an event that says where they lie and how to open them.

use matrix_sdk::ruma::OwnedUserId;
use serde_json::{Map, Value, json};
use std::{io::Cursor, path::Path};
use vigie_bridge_kit::layout::{Contents, Enclosed};
use vigie_core::bridge::{Document, Media, SayError};

use super::{
    content::{self, Standing},
    door::{Door, without_doubt},
    layout::fit,
    once::{Arrived, Changes, MESSAGE, Outgoing},
    outcome,
};
use crate::{
    markup::Kind,
    store::{Begun, Part},
};

const PICTURE: &str = "image/png";
const DOCUMENT: &str = "text/plain";
const BYTES: &str = "application/octet-stream";

/// Where width and height stand in a PNG. Source: PNG specification, "IHDR".
const PNG_SIZE: std::ops::Range<usize> = 16..24;

/// A document as a file without a caption.
pub(super) fn enclosed(document: Document) -> Enclosed {
    let contents = Contents::Text(document.text);
    let name = document.name;
    Enclosed { name, contents, media: Media::File, caption: None, silent: true }
}

pub(super) async fn send(
    door: &Door<'_>,
    standing: &Standing,
    enclosed: Enclosed,
    calls: Option<&[OwnedUserId]>,
    part: Part,
) -> Result<Arrived, SayError> {
    let bytes = bytes(door, &enclosed).await?;
    let digest = content::digest(&json!([enclosed.name, bytes.len()]));
    let begun =
        door.bridge.store.begin(part, door.room.room_id(), digest.clone(), door.bridge.now());
    match begun.await.map_err(outcome::unwritten)? {
        Begun::Said { event, .. } => return Ok(Arrived { event, calls: 0 }),
        // Nothing of it can be there before it is uploaded.
        Begun::First => {
            door.bridge.store.not_said(part).await.map_err(outcome::unwritten)?;
        }
        Begun::InDoubt { .. } => {}
    }
    let picture = enclosed.media == Media::Picture && size_of(&bytes).is_some();
    let mime = mime(&enclosed, picture);
    let info = info(&bytes, mime, picture);
    let caption = enclosed.caption.as_ref().map(|sheet| fit(sheet, Kind::New));
    let source = upload(door, bytes, mime).await?;
    let content = content::file(picture, &enclosed.name, source, &info, caption.as_ref(), calls);
    let file = Outgoing {
        kind: MESSAGE,
        digest,
        content: content::placed(content, standing, part),
        changes: Changes::Never,
        door,
    };
    Ok(file.once(part).await?)
}

/// What the file holds, if it is not too much.
async fn bytes(door: &Door<'_>, enclosed: &Enclosed) -> Result<Vec<u8>, SayError> {
    let client = door.room.client();
    let most = door.within(client.load_or_fetch_max_upload_size()).await;
    let most = u64::from(most.map_err(without_doubt)?);
    let bytes = match &enclosed.contents {
        Contents::Text(text) => text.clone().into_bytes(),
        Contents::At(path) => read(Path::new(path), most).await?,
    };
    fits(bytes.len() as u64, most)?;
    Ok(bytes)
}

async fn read(path: &Path, most: u64) -> Result<Vec<u8>, SayError> {
    let unreadable = |error: std::io::Error| SayError::Never {
        reason: format!("{} could not be read: {error}", path.display()),
    };
    fits(tokio::fs::metadata(path).await.map_err(unreadable)?.len(), most)?;
    tokio::fs::read(path).await.map_err(unreadable)
}

fn fits(bytes: u64, most: u64) -> Result<(), SayError> {
    if bytes <= most {
        return Ok(());
    }
    // Rounded up, so that it is never said to be just as large as it may be.
    let (has, may) = (bytes.div_ceil(1_000_000), most / 1_000_000);
    let reason =
        format!("the file has {has} MB and the homeserver takes {may} MB; it stays on the machine");
    Err(SayError::Never { reason })
}

fn mime(enclosed: &Enclosed, picture: bool) -> &'static str {
    match &enclosed.contents {
        _ if picture => PICTURE,
        Contents::Text(_) => DOCUMENT,
        Contents::At(_) => BYTES,
    }
}

fn info(bytes: &[u8], mime: &str, picture: bool) -> Value {
    let mut info = json!({ "size": bytes.len(), "mimetype": mime });
    if let Some((width, height)) = size_of(bytes).filter(|_| picture) {
        info["w"] = width.into();
        info["h"] = height.into();
    }
    info
}

/// Width and height of a PNG.
fn size_of(bytes: &[u8]) -> Option<(u32, u32)> {
    let is_png = bytes.starts_with(b"\x89PNG\r\n\x1a\n");
    let size = bytes.get(PNG_SIZE).filter(|_| is_png)?;
    let (width, height) = size.split_at(4);
    let number = |bytes: &[u8]| bytes.try_into().ok().map(u32::from_be_bytes);
    Some((number(width)?, number(height)?))
}

/// Uploads it, encrypted where the room is; what an event says of where it lies.
async fn upload(
    door: &Door<'_>,
    bytes: Vec<u8>,
    mime: &str,
) -> Result<Map<String, Value>, SayError> {
    let client = door.room.client();
    let mut source = Map::new();
    if door.is_sealed() {
        let mut reader = Cursor::new(bytes);
        let upload = async { client.upload_encrypted_file(&mut reader).await };
        // An upload that nobody names in an event is nothing: it can simply be made again.
        let file = door.within(upload).await.map_err(without_doubt)?;
        let file = serde_json::to_value(file).map_err(|error| SayError::Never {
            reason: format!("the encrypted file cannot be described: {error}"),
        })?;
        source.insert("file".into(), file);
    } else {
        let kind =
            mime.parse().map_err(|_| SayError::Never { reason: format!("{mime} is no type") })?;
        let media = client.media();
        let upload = async { media.upload(&kind, bytes, None).await };
        let uploaded = door.within(upload).await.map_err(without_doubt)?;
        source.insert("url".into(), uploaded.content_uri.as_str().into());
    }
    Ok(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_says_how_large_it_is() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x40\0\0\0\x30\x08\x02\0\0\0";
        assert_eq!(size_of(png), Some((64, 48)));
        assert_eq!(size_of(b"\x89PNG\r\n\x1a\n"), None);
        assert_eq!(size_of(b"GIF89a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), None);
        assert_eq!(
            info(png, PICTURE, true),
            json!({ "size": 29, "mimetype": "image/png", "w": 64, "h": 48 })
        );
    }

    #[test]
    fn what_the_server_does_not_take_stays_here() {
        assert_eq!(fits(50_000_000, 50_000_000), Ok(()));
        let refused = fits(50_000_001, 50_000_000).unwrap_err().to_string();
        assert!(refused.contains("has 51 MB and the homeserver takes 50 MB"), "{refused}");
    }
}
