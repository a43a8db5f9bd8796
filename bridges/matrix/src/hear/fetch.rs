//! Fetching the file of a message. It comes into a folder that is swept at every start, and gets its
//! final place in one step: no half file is ever found there.

use matrix_sdk::{
    reqwest,
    ruma::{
        MxcUri,
        api::{Metadata as _, client::authenticated_media::get_content},
        events::room::MediaSource,
    },
};
use matrix_sdk_base::crypto::AttachmentDecryptor;
use std::{
    fs::{self, DirBuilder, File},
    io::{self, Cursor, Read as _, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::Instant;
use vigie_bridge_kit::{
    fetch::{HALF, blocking, disk, megabytes, missed},
    names::{self, NewFile},
    pause,
};
use vigie_core::bridge::{Attached, Got};

use super::{Hearing, read::Offered};
use crate::{account::line, store::heard::Waiting};

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

/// The file, opened.
async fn contents(hearing: Hearing<'_>, offered: &Offered) -> Result<Vec<u8>, String> {
    if let Some(size) = offered.size.filter(|size| *size > LARGEST) {
        return Err(too_big(Size::Is(size), LARGEST));
    }
    let (uri, seal) = match &offered.source {
        MediaSource::Plain(uri) => (uri, None),
        MediaSource::Encrypted(file) => (&file.url, Some(file)),
    };
    let bytes = download(hearing, uri).await?;
    let Some(seal) = seal else { return Ok(bytes) };
    let open = || -> Result<Vec<u8>, String> {
        let (mut sealed, info) = (Cursor::new(&bytes), seal.as_ref().clone().into());
        let opened = AttachmentDecryptor::new(&mut sealed, info);
        let mut plain = Vec::with_capacity(bytes.len());
        opened
            .map_err(|error| error.to_string())?
            .read_to_end(&mut plain)
            .map_err(|error| error.to_string())?;
        Ok(plain)
    };
    open().map_err(|why| format!("it does not open ({}); send it again", line(&why)))
}

/// Why a file did not come.
#[derive(Debug)]
enum Failed {
    /// It may come when it is asked for again.
    Now(String),
    /// Asking again changes nothing.
    Final(String),
}

impl From<reqwest::Error> for Failed {
    fn from(error: reqwest::Error) -> Self {
        Self::Now(error.without_url().to_string())
    }
}

async fn download(hearing: Hearing<'_>, uri: &MxcUri) -> Result<Vec<u8>, String> {
    let until = Instant::now() + PATIENCE;
    let mut failures = 0;
    loop {
        let tried = Box::pin(once(hearing, uri));
        let why = match tokio::time::timeout_at(until, tried).await {
            Ok(Ok(bytes)) => return Ok(bytes),
            Ok(Err(Failed::Final(why))) => return Err(why),
            Ok(Err(Failed::Now(why))) => line(&why),
            Err(_) => format!("it did not come whole within {} s", PATIENCE.as_secs()),
        };
        let wait = pause::after(failures);
        if Instant::now() + wait > until {
            return Err(format!("the homeserver did not hand it out: {why}; send it again later"));
        }
        tokio::time::sleep(wait).await;
        failures += 1;
    }
}

/// Asks for it once, by our own hand: matrix-sdk takes as much as a homeserver sends.
async fn once(hearing: Hearing<'_>, uri: &MxcUri) -> Result<Vec<u8>, Failed> {
    let client = hearing.client;
    let versions = client.supported_versions().await;
    let versions = versions.map_err(|error| Failed::Now(error.to_string()))?;
    let with_token = get_content::v1::Request::PATH_BUILDER.is_supported(&versions);
    let base: &[&str] = if with_token {
        &["_matrix", "client", "v1", "media", "download"]
    } else {
        &["_matrix", "media", "v3", "download"]
    };
    let nowhere = || Failed::Final("it lies nowhere; send it again".into());
    let (server, media) = uri.parts().map_err(|_| nowhere())?;
    let mut url = client.homeserver();
    let mut path = url.path_segments_mut().map_err(|()| nowhere())?;
    path.pop_if_empty().extend(base).extend([server.as_str(), media]);
    drop(path);
    let asked = client.http_client().get(url).timeout(PATIENCE);
    let token = client.access_token().filter(|_| with_token);
    let asked = if let Some(token) = token { asked.bearer_auth(token) } else { asked };
    let answer = asked.send().await?;
    let status = answer.status();
    if status.is_success() {
        return at_most(answer, LARGEST).await;
    }
    let why = format!("the homeserver does not hand it out ({status})");
    if status.is_server_error() || status.as_u16() == 429 {
        return Err(Failed::Now(why));
    }
    Err(Failed::Final(format!("{why}; send it again")))
}

/// What comes, if that is no more than `most` bytes: looked at before it is taken where the homeserver
/// says how much comes, and while it comes where it does not, or lies.
async fn at_most(mut answer: reqwest::Response, most: u64) -> Result<Vec<u8>, Failed> {
    let too_big = |size| Failed::Final(too_big(size, most));
    if let Some(size) = answer.content_length().filter(|size| *size > most) {
        return Err(too_big(Size::Is(size)));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() as u64 > most {
            return Err(too_big(Size::Over));
        }
    }
    Ok(bytes)
}

#[derive(Clone, Copy)]
enum Size {
    Is(u64),
    /// It was not read to its end.
    Over,
}

fn too_big(size: Size, most: u64) -> String {
    let most = megabytes(most);
    let has = match size {
        Size::Is(size) => megabytes(size),
        Size::Over => format!("more than {most}"),
    };
    format!(
        "it has {has}, and Vigie fetches at most {most}; send it in smaller parts, or put it on the machine yourself"
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
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    /// What a homeserver's answer comes to, of which at most ten bytes are taken.
    async fn ten(answer: &'static str) -> Result<Vec<u8>, String> {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", server.local_addr().unwrap());
        let serve = async {
            let (mut stream, _) = server.accept().await.unwrap();
            let mut asked = [0; 1024];
            let _ = stream.read(&mut asked).await;
            stream.write_all(answer.as_bytes()).await.unwrap();
            std::future::pending::<()>().await; // more may come: nobody waits for it
        };
        let fetched = async {
            let answer = reqwest::Client::new().get(url).send().await.unwrap();
            at_most(answer, 10).await
        };
        let taken = tokio::select! {
            () = serve => unreachable!("it has no end"),
            taken = fetched => taken,
        };
        taken.map_err(|failed| match failed {
            Failed::Now(why) | Failed::Final(why) => why,
        })
    }

    #[tokio::test]
    async fn no_more_is_taken_than_there_is_room_for_whatever_is_said() {
        let whole = ten("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n0123456789").await;
        assert_eq!(whole.unwrap(), b"0123456789");
        let said = ten("HTTP/1.1 200 OK\r\ncontent-length: 5242880\r\n\r\n").await;
        assert!(said.unwrap_err().starts_with("it has 5.0 MB"));
        let unsaid = ten("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n0123456789A").await;
        assert!(unsaid.unwrap_err().starts_with("it has more than 0.0 MB"));
        let pieces = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\n01234567\r\n8\r\n01234567\r\n";
        assert!(ten(pieces).await.unwrap_err().starts_with("it has more than"));
    }

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
