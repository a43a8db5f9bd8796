//! Fetching the file of a message. It comes into a folder that is swept at every start, and gets its
//! final place in one step: no half file is ever found there.

use matrix_sdk::media::{MediaFormat, MediaRequestParameters};
use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::Instant;
use tracing::warn;
use vigie_bridge_kit::{
    fetch::{HALF, blocking, disk, megabytes, missed},
    names::{self, NewFile},
    pause,
};
use vigie_core::bridge::{Attached, Got};

use super::{Hearing, read::Offered};
use crate::{store::heard::Waiting, why};

/// Largest file, in bytes: while it is decrypted it is in memory, twice. As much as Synapse takes
/// where nobody changed it. Source: Synapse, `max_upload_size`.
const LARGEST: u64 = 50 << 20;

/// A file that does not come for so long is said to be missing, with the words that came with it.
const PATIENCE: Duration = Duration::from_mins(1);

/// Fetches the file of a message; what cannot be had is named, with the reason.
pub(super) async fn fetch(hearing: Hearing<'_>, row: &Waiting, offered: &Offered) -> Attached {
    let _one_of_few = hearing.downloads.acquire().await;
    let missed = |why| missed(&offered.name, why);
    let bytes = match contents(hearing, offered).await {
        Ok(bytes) => bytes,
        Err(why) => return missed(why),
    };
    let size = bytes.len() as u64;
    let (files, event, name) =
        (hearing.bridge.files.clone(), row.event.clone(), offered.name.clone());
    match blocking(move || put(&files, &event, &name, &bytes)).await {
        Ok(path) => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let path = path.to_string_lossy().into_owned();
            Attached { name: name.unwrap_or_default(), got: Got::File { path, bytes: size } }
        }
        Err(error) => missed(disk(&error)),
    }
}

async fn contents(hearing: Hearing<'_>, offered: &Offered) -> Result<Vec<u8>, String> {
    if let Some(size) = offered.size.filter(|size| *size > LARGEST) {
        return Err(too_big(size));
    }
    let request =
        MediaRequestParameters { source: offered.source.clone(), format: MediaFormat::File };
    let until = Instant::now() + PATIENCE;
    let mut failures = 0;
    loop {
        let media = hearing.client.media();
        let fetched = Box::pin(media.get_media_content(&request, false));
        let last = match tokio::time::timeout_at(until, fetched).await {
            Ok(Ok(bytes)) if bytes.len() as u64 > LARGEST => {
                return Err(too_big(bytes.len() as u64));
            }
            Ok(Ok(bytes)) => return Ok(bytes),
            Ok(Err(error)) => match &error {
                matrix_sdk::Error::Http(http) if is_final(http) => {
                    return Err(format!(
                        "the homeserver does not hand it out: {}; send it again",
                        why::of_http(http)
                    ));
                }
                matrix_sdk::Error::Http(http) => why::of_http(http),
                error => {
                    warn!(%error, "a file does not open");
                    return Err("it does not open; send it again".into());
                }
            },
            Err(_) => format!("nothing came within {} s", PATIENCE.as_secs()),
        };
        let wait = pause::after(failures);
        if Instant::now() + wait > until {
            return Err(format!("the homeserver did not hand it out: {last}; send it again later"));
        }
        tokio::time::sleep(wait).await;
        failures += 1;
    }
}

/// Asking again changes nothing.
fn is_final(error: &matrix_sdk::HttpError) -> bool {
    let status = error.as_client_api_error().map(|error| error.status_code.as_u16());
    status.is_some_and(|status| (400..500).contains(&status) && status != 429)
}

fn too_big(size: u64) -> String {
    format!(
        "it has {}, and Vigie fetches at most {}; send it in smaller parts, or put it on the machine yourself",
        megabytes(size),
        megabytes(LARGEST)
    )
}

/// Writes a file into a folder of its message. The same file of the same message, fetched again after
/// a crash, takes the place of the one before.
fn put(files: &Path, event: &str, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let half = files.join(HALF);
    let folder = files.join(names::safe(event.trim_start_matches('$')));
    for folder in [&half, &folder] {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let file = NewFile::create(&half, name)?;
    let mut writer = File::options().write(true).open(file.path())?;
    writer.write_all(bytes)?;
    let whole = file.keep()?;
    let place = folder.join(names::safe(name));
    fs::rename(&whole, &place)?;
    File::open(&folder)?.sync_all()?;
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_fetched_twice_lies_there_once() {
        let home = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let path = put(home.path(), "$a/b+c", "../note.md", b"words").unwrap();
            assert!(path.ends_with("note.md"), "{}", path.display());
            assert_eq!(fs::read(&path).unwrap(), b"words");
            assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        }
        let other = put(home.path(), "$other", "note.md", b"more").unwrap();
        assert_eq!(fs::read(other).unwrap(), b"more");
        assert_eq!(fs::read_dir(home.path().join(HALF)).unwrap().count(), 0);
    }
}
