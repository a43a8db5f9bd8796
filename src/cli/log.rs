//! `vigie log`: the recording of a session's terminal.

use serde::Serialize;
use serde_json::Value;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
};

use super::{Desk, args::Log, failure::Failure, out::Format, plain};
use crate::web::{client::segment, shapes::Folder};

/// The holder's recording, newest part last.
const FILES: [&str; 2] = ["output.previous.cast", "output.cast"];

#[derive(Serialize)]
struct Recording {
    session: String,
    files: Vec<PathBuf>,
}

pub(super) async fn run(args: &Log, desk: &Desk) -> Result<(), Failure> {
    let folder: Folder =
        desk.client.get(&format!("/sessions/{}/folder", segment(&args.name))).await?;
    let files = FILES.map(|file| Path::new(&folder.folder).join(file));
    let files: Vec<PathBuf> = files.into_iter().filter(|file| file.exists()).collect();
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
        text.push_str(&printed(file).map_err(|error| {
            Failure::outside(format!("{} cannot be read: {error}", file.display()))
        })?);
    }
    if args.raw { raw(&text) } else { desk.out.print(&plain::without_escapes(&text)) }
}

/// All output of an asciicast. A last line that is still being written is left out.
fn printed(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    for line in BufReader::new(File::open(file)?).lines() {
        let Ok(Value::Array(event)) = serde_json::from_str(&line?) else { continue };
        if let [_, Value::String(kind), Value::String(output)] = event.as_slice()
            && kind == "o"
        {
            text.push_str(output);
        }
    }
    Ok(text)
}

fn raw(text: &str) -> Result<(), Failure> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::outside(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_output_is_read_and_a_torn_line_is_left_out() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let cast = "{\"version\":2}\n[0.1,\"o\",\"one\\r\\n\"]\n[0.2,\"r\",\"80x24\"]\n[0.3,\"o\",\"two\"]\n[0.4,\"o\",\"th";
        std::fs::write(&file, cast).unwrap();
        assert_eq!(printed(file.path()).unwrap(), "one\r\ntwo");
    }
}
