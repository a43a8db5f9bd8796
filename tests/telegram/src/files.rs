//! Files at Telegram: stored once, shown in messages, fetched by path.

use axum::body::Bytes;
use serde_json::{Value, json};

/// Bytes of a photo that is sent as one. Source: Bot API, `sendPhoto`.
pub(crate) const PHOTO_BYTES: usize = 10 << 20;
/// Bytes a bot can fetch. Source: Bot API, `getFile`.
pub const DOWNLOAD_BYTES: usize = 20 << 20;
/// Bytes a bot can send. Source: Bot API, `sendDocument`.
pub const UPLOAD_BYTES: usize = 50 << 20;
/// Width and height of a photo together. Source: Bot API, `sendPhoto`.
const PHOTO_SIDES: u32 = 10_000;
/// How many times longer than the other one side may be. Source: Bot API, `sendPhoto`.
const PHOTO_RATIO: u32 = 20;

/// Marks the id of a photo's smaller size.
const SMALL: char = 's';

/// A kind of attached file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaKind {
    Document,
    Photo,
    Voice,
    Audio,
    Video,
    Sticker,
}

impl MediaKind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Document, Self::Photo, Self::Voice, Self::Audio, Self::Video, Self::Sticker];

    /// The field of a message that holds it.
    pub fn field(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Photo => "photo",
            Self::Voice => "voice",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Sticker => "sticker",
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Self::Document => "documents",
            Self::Photo => "photos",
            Self::Voice => "voice",
            Self::Audio => "music",
            Self::Video => "videos",
            Self::Sticker => "stickers",
        }
    }
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// What it is sent as.
    pub kind: MediaKind,
    /// Its name.
    pub name: String,
    /// Its type, such as `text/plain`.
    pub mime: String,
    /// Its content.
    pub bytes: Bytes,
}

impl Media {
    /// A file of one kind.
    pub fn new(kind: MediaKind, name: &str, mime: &str, bytes: impl Into<Bytes>) -> Self {
        Self { kind, name: name.into(), mime: mime.into(), bytes: bytes.into() }
    }
}

struct Stored {
    id: String,
    path: String,
    media: Media,
}

/// All files. None is ever taken away.
#[derive(Default)]
pub(crate) struct Files(Vec<Stored>);

impl Files {
    /// Stores a file and gives its part of a message.
    pub(crate) fn store(&mut self, media: Media) -> (&'static str, Value) {
        let number = self.0.len() + 1;
        let id = format!("BQACAgIAAxkBAAI{number:06}AgADVwADr7YdSGFkYQ");
        let ending =
            media.name.rsplit_once('.').map_or(String::new(), |(_, ending)| format!(".{ending}"));
        let path = format!("{}/file_{number}{ending}", media.kind.folder());
        let part = part(&media, &id, number);
        let field = media.kind.field();
        self.0.push(Stored { id, path, media });
        (field, part)
    }

    /// A photo's smaller size is the same file here.
    pub(crate) fn by_id(&self, id: &str) -> Option<(&str, &Media)> {
        let id = id.strip_suffix(SMALL).unwrap_or(id);
        let stored = self.0.iter().find(|stored| stored.id == id)?;
        Some((stored.path.as_str(), &stored.media))
    }

    pub(crate) fn by_path(&self, path: &str) -> Option<&Media> {
        self.0.iter().find(|stored| stored.path == path).map(|stored| &stored.media)
    }
}

/// A file as a message shows it.
fn part(media: &Media, id: &str, number: usize) -> Value {
    let unique = format!("AgADVw{number:06}");
    let mut part = json!({"file_id": id, "file_unique_id": unique, "file_size": media.bytes.len()});
    match media.kind {
        MediaKind::Document => {}
        MediaKind::Photo => {
            let (width, height) = image_size(&media.bytes).unwrap_or((640, 480));
            part["width"] = width.into();
            part["height"] = height.into();
            // Telegram makes smaller ones as well; the largest is last.
            let small = json!({
                "file_id": format!("{id}{SMALL}"), "file_unique_id": format!("{unique}{SMALL}"), "file_size": 1024,
                "width": width.clamp(1, 90), "height": height.clamp(1, 90),
            });
            return json!([small, part]);
        }
        MediaKind::Voice | MediaKind::Audio => part["duration"] = 1.into(),
        MediaKind::Video => {
            part["duration"] = 1.into();
            part["width"] = 320.into();
            part["height"] = 240.into();
        }
        MediaKind::Sticker => {
            part["type"] = "regular".into();
            part["width"] = 512.into();
            part["height"] = 512.into();
            part["is_animated"] = false.into();
            part["is_video"] = false.into();
            return part;
        }
    }
    part["mime_type"] = media.mime.clone().into();
    if media.kind != MediaKind::Voice {
        part["file_name"] = media.name.clone().into();
    }
    part
}

/// Why a picture cannot be sent as a photo.
pub(crate) fn photo_fault(bytes: &[u8]) -> Option<&'static str> {
    if bytes.len() > PHOTO_BYTES {
        return Some("file is too big");
    }
    let Some((width, height)) = image_size(bytes) else { return Some("IMAGE_PROCESS_FAILED") };
    let (long, short) = (width.max(height), width.min(height));
    let wrong = short == 0
        || width.saturating_add(height) > PHOTO_SIDES
        || long / short.max(1) > PHOTO_RATIO
        || (long / short.max(1) == PHOTO_RATIO && long % short.max(1) > 0);
    wrong.then_some("PHOTO_INVALID_DIMENSIONS")
}

/// Width and height of a PNG, GIF or JPEG.
pub(crate) fn image_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let be32 = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let be16 = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let le16 = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some((be32(16)?, be32(20)?));
    }
    if bytes.starts_with(b"GIF8") {
        return Some((le16(6)?.into(), le16(8)?.into()));
    }
    if !bytes.starts_with(b"\xff\xd8") {
        return None;
    }
    // A JPEG is a list of marked pieces; the one that begins a frame has the size.
    let mut at = 2;
    while *bytes.get(at)? == 0xff {
        if (0xc0..=0xc2).contains(bytes.get(at + 1)?) {
            return Some((be16(at + 7)?.into(), be16(at + 5)?.into()));
        }
        at += 2 + usize::from(be16(at + 2)?);
    }
    None
}
