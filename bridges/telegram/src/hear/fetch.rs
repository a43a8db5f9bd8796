//! Fetching the files of a message. They come into a folder that is swept at every start, and get
//! their final place in one step: no half file is ever found there.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::Instant;
use vigie_bridge_kit::{
    fetch::{HALF, blocking, disk, megabytes, missed},
    names::NewFile,
    pause,
};
use vigie_core::bridge::{Attached, Got};

use super::{content::Offered, hand::Hearing, read::Piece};
use crate::api::{CallError, DownloadError, GetFile, LARGEST_DOWNLOAD, Refusal};

/// A file that does not come for so long is said to be missing, with the words that came with it.
const PATIENCE: Duration = Duration::from_mins(1);

/// Folders for one message: it is fetched again only after a crash.
const MOST_FOLDERS: usize = 100;

/// Fetches what `piece` holds; what cannot be had is named, with the reason.
pub(super) async fn fetch(hearing: Hearing<'_>, piece: &Piece) -> Vec<Attached> {
    let files = hearing.bridge.files.clone();
    let name = format!("{}-{}", piece.spot.chat, piece.message);
    let folder = {
        let (half, name) = (files.join(HALF), name.clone());
        blocking(move || new_folder(&half, &name)).await
    };
    let folder = match folder {
        Ok(folder) => folder,
        Err(error) => {
            return piece.files.iter().map(|file| missed(&file.name, disk(&error))).collect();
        }
    };
    let mut all = Vec::new();
    for offered in &piece.files {
        let _one_of_few = hearing.downloads.acquire().await;
        all.push((offered, one(hearing, offered, &folder).await));
    }
    let moved = blocking(move || move_in(&folder, &files, &name)).await;
    all.into_iter()
        .map(|(offered, fetched)| match (fetched, &moved) {
            (Ok(Fetched { name, bytes }), Ok(folder)) => {
                let path = folder.join(&name).to_string_lossy().into_owned();
                Attached { name, got: Got::File { path, bytes } }
            }
            (Ok(Fetched { name, .. }), Err(error)) => missed(&name, disk(error)),
            (Err(why), _) => missed(&offered.name, why),
        })
        .collect()
}

struct Fetched {
    name: String,
    bytes: u64,
}

enum Failed {
    /// It may come all the same.
    Now(String),
    ForGood(String),
}

/// One file, or for the person why it is not here.
async fn one(hearing: Hearing<'_>, offered: &Offered, folder: &Path) -> Result<Fetched, String> {
    if offered.size.is_some_and(|size| size > LARGEST_DOWNLOAD) {
        return Err(too_big(offered.size));
    }
    let until = Instant::now() + PATIENCE;
    for failures in 0.. {
        match once(hearing, offered, folder).await {
            Ok(fetched) => return Ok(fetched),
            Err(Failed::ForGood(why)) => return Err(why),
            Err(Failed::Now(why)) => {
                let wait = pause::after(failures);
                if Instant::now() + wait > until {
                    return Err(format!(
                        "Telegram did not hand it out ({why}); send it again later"
                    ));
                }
                tokio::time::sleep(wait).await;
            }
        }
    }
    Err("it was tried too often".into())
}

async fn once(hearing: Hearing<'_>, offered: &Offered, folder: &Path) -> Result<Fetched, Failed> {
    let api = &hearing.bridge.api;
    let call = |error: CallError| of_call(error, offered.size);
    let known = api.call(&GetFile { file_id: offered.file.clone() }).await.map_err(call)?;
    let Some(path) = known.file_path else {
        return Err(Failed::ForGood("Telegram does not hand it out to bots".into()));
    };
    let ill = |error: io::Error| Failed::ForGood(disk(&error));
    let (folder, name) = (folder.to_owned(), offered.name.clone());
    let file = blocking(move || NewFile::create(&folder, &name)).await.map_err(ill)?;
    let mut writer = file.writer().map_err(ill)?;
    let bytes = match api.download(&path, &mut writer, LARGEST_DOWNLOAD).await {
        Ok(bytes) => bytes,
        Err(DownloadError::Call(error)) => return Err(call(error)),
        Err(DownloadError::TooLong { .. }) => return Err(Failed::ForGood(too_big(offered.size))),
        Err(DownloadError::Disk(error)) => return Err(ill(error)),
    };
    let path = blocking(move || file.keep()).await.map_err(ill)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(Fetched { name: name.unwrap_or_default(), bytes })
}

fn of_call(error: CallError, size: Option<u64>) -> Failed {
    match error {
        CallError::Refused { refusal: Refusal::FileTooBig, .. } => Failed::ForGood(too_big(size)),
        CallError::Refused { description, .. } => {
            Failed::ForGood(format!("Telegram refuses it: {description}"))
        }
        CallError::TooMany { .. } | CallError::NotSent { .. } | CallError::InDoubt { .. } => {
            Failed::Now(error.to_string())
        }
    }
}

fn too_big(size: Option<u64>) -> String {
    let size = size.map_or("it is too big".into(), |size| format!("it has {}", megabytes(size)));
    format!(
        "{size}, and a bot may fetch at most {}; send it in smaller parts, or put it on the machine yourself",
        megabytes(LARGEST_DOWNLOAD)
    )
}

/// A new folder for this user only, called `name` or, where that is taken, with a number behind it.
fn new_folder(inside: &Path, name: &str) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(inside)?;
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for folder in numbered(inside, name) {
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

/// Gives a folder its final place; an empty one is taken away.
fn move_in(folder: &Path, inside: &Path, name: &str) -> io::Result<PathBuf> {
    if fs::read_dir(folder)?.next().is_none() {
        fs::remove_dir(folder)?;
        return Ok(inside.to_owned());
    }
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for place in numbered(inside, name) {
        if place.symlink_metadata().is_ok() {
            continue;
        }
        match fs::rename(folder, &place) {
            Ok(()) => {
                File::open(inside)?.sync_all()?;
                return Ok(place);
            }
            Err(error) => taken = error,
        }
    }
    Err(taken)
}

fn numbered(inside: &Path, name: &str) -> impl Iterator<Item = PathBuf> {
    (1..=MOST_FOLDERS).map(move |number| {
        inside.join(if number == 1 { name.to_owned() } else { format!("{name}-{number}") })
    })
}
