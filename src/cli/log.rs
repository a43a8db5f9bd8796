//! `vigie log`: the recording of a session's terminal.

use serde::Serialize;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{Desk, args::Log, failure::Failure, out::Format, plain};
use crate::{
    looks::recording,
    web::{client::segment, shapes::Folder},
};

#[derive(Serialize)]
struct Recording {
    session: String,
    files: Vec<PathBuf>,
}

pub(super) async fn run(args: &Log, desk: &Desk) -> Result<(), Failure> {
    let folder: Folder =
        desk.client.get(&format!("/sessions/{}/folder", segment(&args.name))).await?;
    let files = recording::files(Path::new(&folder.folder));
    if files.is_empty() {
        let words = format!("{} has printed nothing that was recorded", folder.session);
        return Err(Failure::refused("no_recording", words));
    }
    if args.path || desk.out.format() == Format::Json {
        return desk.out.show(&Recording { session: folder.session, files }, |_, recording| {
            let paths = recording.files.iter().map(|file| file.display().to_string());
            paths.collect::<Vec<_>>().join("\n")
        });
    }
    let mut text = String::new();
    for file in &files {
        text.push_str(&recording::printed(file).map_err(|error| {
            Failure::outside(format!("{} cannot be read: {error}", file.display()))
        })?);
    }
    if args.raw {
        return raw(&text);
    }
    desk.out.print(&plain::lines(&recording::without_escapes(&text)))
}

fn raw(text: &str) -> Result<(), Failure> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::outside(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
