//! What the demo agent remembers over its end: each prompt and its answer, a line each.

use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Said {
    pub(super) prompt: String,
    pub(super) answer: String,
}

pub(super) struct Memory {
    path: PathBuf,
    file: File,
    said: Vec<Said>,
}

impl Memory {
    /// A conversation that begins.
    ///
    /// # Errors
    /// When its file cannot be made, or is there already.
    pub(super) fn begin(folder: &Path, id: &str) -> io::Result<Self> {
        let path = path(folder, id)?;
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self { path, file, said: vec![] })
    }

    /// One that goes on, from `folder` or one beside it: each run of a session may have a folder of
    /// its own. A torn last line was never answered and is left out.
    ///
    /// # Errors
    /// `NotFound` when there is no such conversation.
    pub(super) fn go_on(folder: &Path, id: &str) -> io::Result<Self> {
        let path = beside(&path(folder, id)?);
        let text = fs::read_to_string(&path)?;
        let said = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut file = OpenOptions::new().append(true).open(&path)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n")?;
        }
        Ok(Self { path, file, said })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn said(&self) -> &[Said] {
        &self.said
    }

    pub(super) fn add(&mut self, said: Said) -> io::Result<()> {
        let mut line = serde_json::to_vec(&said)?;
        line.push(b'\n');
        self.said.push(said);
        self.file.write_all(&line)
    }
}

/// `path` itself, else the same file in a folder beside its own.
fn beside(path: &Path) -> PathBuf {
    let found = || {
        let (folder, file) = (path.parent()?, path.file_name()?);
        let folders = fs::read_dir(folder.parent()?).ok()?.flatten();
        folders.map(|other| other.path().join(file)).find(|other| other.is_file())
    };
    if path.is_file() { path.to_owned() } else { found().unwrap_or_else(|| path.to_owned()) }
}

fn path(folder: &Path, id: &str) -> io::Result<PathBuf> {
    let plain = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if plain {
        Ok(folder.join(format!("demo-{id}.jsonl")))
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("`{id}` is no id of a conversation"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_goes_on_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let said = Said { prompt: "hi\nyou".into(), answer: "ho".into() };
        let mut memory = Memory::begin(folder.path(), "a-1").unwrap();
        memory.add(said.clone()).unwrap();
        memory.file.write_all(b"{\"prompt\":\"to").unwrap();
        let mut memory = Memory::go_on(folder.path(), "a-1").unwrap();
        memory.add(said.clone()).unwrap();
        assert_eq!(Memory::go_on(folder.path(), "a-1").unwrap().said(), [said.clone(), said]);
    }

    #[test]
    fn another_run_of_the_session_finds_it_beside_its_own_folder() {
        let session = tempfile::tempdir().unwrap();
        let [first, second] = ["1", "2"].map(|run| session.path().join(run));
        fs::create_dir(&first).unwrap();
        fs::create_dir(&second).unwrap();
        let said = Said { prompt: "hi".into(), answer: "ho".into() };
        Memory::begin(&first, "c-3").unwrap().add(said.clone()).unwrap();
        assert_eq!(Memory::go_on(&second, "c-3").unwrap().said(), [said]);
    }

    #[test]
    fn an_unknown_or_strange_conversation_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let kind = |id| Memory::go_on(folder.path(), id).err().map(|error| error.kind());
        assert_eq!(kind("b-2"), Some(io::ErrorKind::NotFound));
        assert_eq!(kind("../b"), Some(io::ErrorKind::InvalidInput));
    }
}
