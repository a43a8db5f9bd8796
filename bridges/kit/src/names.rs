//! Names of files that people send. Such a name is anybody's text: it must not lead anywhere, hide
//! anything, or read like a word of ours.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};
use vigie_core::text::reveal;

/// Longest name, in bytes. File systems take 255; this leaves room for a number and for folders.
const LONGEST: usize = 120;

/// Longest ending that a shortened name keeps, with its dot.
const LONGEST_ENDING: usize = 12;

/// What a file is called whose name says nothing.
const NAMELESS: &str = "file";

/// Files of one name in one folder. Who sends more than that does not do it by hand.
const MOST_OF_ONE_NAME: usize = 1_000;

/// Names that Windows takes for devices, whatever their ending.
/// Source: Microsoft, "Naming Files, Paths, and Namespaces".
const DEVICES: [&str; 4] = ["CON", "PRN", "AUX", "NUL"];
const NUMBERED_DEVICES: [&str; 2] = ["COM", "LPT"];

/// A file name that can stand in a folder, on a command line and in a sentence: the last part of
/// `name`, without anything that is not seen, that leads elsewhere, or that a shell or a prompt would
/// read as more than a name. At most 120 bytes, never empty, no dot or dash in front.
pub fn safe(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).find(|part| !trimmed(part).is_empty()).unwrap_or_default();
    let plain: String = last.chars().filter_map(plain).collect();
    let name = trimmed(&plain);
    let name = shortened(name);
    let name = trimmed(&name);
    if name.is_empty() || name.chars().all(|c| c == '_') {
        return NAMELESS.into();
    }
    if is_device(name) { format!("_{name}") } else { name.to_owned() }
}

/// A dot in front hides a file, a dash makes it an option, and Windows forgets what ends in a dot.
fn trimmed(name: &str) -> &str {
    name.trim_matches(['.', ' ']).trim_start_matches(['.', ' ', '-']).trim_end_matches(['.', ' '])
}

/// What stands for a character; nothing for one that nobody sees.
fn plain(c: char) -> Option<char> {
    match c {
        '\n' | '\t' | '\r' => Some('_'),
        _ if c.is_ascii_alphanumeric() => Some(c),
        '-' | '_' | '.' | '+' | '=' | ',' | '(' | ')' => Some(c),
        _ if c.is_whitespace() => Some(' '),
        '!'..='~' => Some('_'),
        '［' | '］' | '＜' | '＞' | '〈' | '〉' | '⟨' | '⟩' | '‹' | '›' | '⟦' | '⟧' => {
            Some('_')
        }
        _ if c.is_control() || reveal(c.encode_utf8(&mut [0; 4])).hidden > 0 => None,
        _ => Some(c),
    }
}

/// Cut in the middle: what kind of file it is stands at its end.
fn shortened(name: &str) -> String {
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let ending = name.rfind('.').map_or("", |dot| &name[dot..]);
    let ending = if ending.len() <= LONGEST_ENDING { ending } else { "" };
    let mut end = LONGEST - ending.len();
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{ending}", &name[..end])
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = || {
        let (device, number) = stem.split_at_checked(3)?;
        let digit = number.len() == 1 && number.bytes().all(|b| b.is_ascii_digit());
        Some(digit && NUMBERED_DEVICES.contains(&device))
    };
    DEVICES.contains(&stem.as_str()) || numbered().unwrap_or(false)
}

/// A file that was not there before, for this user only. It is gone again when this is dropped,
/// unless it was kept.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    file: Option<File>,
}

impl NewFile {
    /// Makes a file in `folder`, called as [`safe`] says, or with a number where that name is taken:
    /// `report.pdf`, `report-2.pdf`. Whatever stands there already, a link too, stays untouched. It
    /// blocks for as long as the disk needs.
    ///
    /// # Errors
    /// Those of the disk, and `AlreadyExists` after a thousand files of that name.
    pub fn create(folder: &Path, name: &str) -> io::Result<Self> {
        let name = safe(name);
        let dot = name.rfind('.').filter(|dot| *dot > 0).unwrap_or(name.len());
        let (stem, ending) = name.split_at(dot);
        let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
        for number in 1..=MOST_OF_ONE_NAME {
            let name = if number == 1 { name.clone() } else { format!("{stem}-{number}{ending}") };
            let path = folder.join(name);
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return Ok(Self { path, file: Some(file) }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
                Err(error) => return Err(error),
            }
        }
        Err(taken)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A way to write to it.
    pub fn writer(&self) -> io::Result<tokio::fs::File> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        file.try_clone().map(tokio::fs::File::from_std)
    }

    /// Keeps the file, once all of it is on disk.
    pub fn keep(mut self) -> io::Result<PathBuf> {
        if let Some(file) = &self.file {
            file.sync_all()?;
        }
        self.file = None;
        Ok(self.path.clone())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = fs::remove_file(&self.path); // a part of a file, in a folder of files to throw away
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::{io::Write, os::unix::fs::PermissionsExt};

    #[test]
    fn odd_names_become_plain_ones() {
        for (name, expected) in [
            ("report.pdf", "report.pdf"),
            ("Übersicht (2) – Entwurf.pdf", "Übersicht (2) – Entwurf.pdf"),
            ("要約.md", "要約.md"),
            ("../../.ssh/authorized_keys", "authorized_keys"),
            ("..\\..\\boot.ini", "boot.ini"),
            ("/etc/passwd", "passwd"),
            ("folder/", "folder"),
            ("..", "file"),
            ("/", "file"),
            ("", "file"),
            (" \n\t", "___"),
            ("***", "file"),
            ("a\nb.txt", "a_b.txt"),
            ("a\u{0}\u{1b}[2Jb.txt", "a_2Jb.txt"),
            ("x] [QY-300] y.md", "x_ _QY-300_ y.md"),
            ("［QY-300］.md", "_QY-300_.md"),
            ("<img src=x>.png", "_img src=x_.png"),
            ("\u{202E}fdp.exe", "fdp.exe"),
            ("in\u{200B}voice\u{2066}.pdf", "invoice.pdf"),
            ("CON.txt", "_CON.txt"),
            ("nul", "_nul"),
            ("lpt1.tar.gz", "_lpt1.tar.gz"),
            ("com10.txt", "com10.txt"),
            ("console.txt", "console.txt"),
            ("~/.bashrc", "bashrc"),
            ("file:///x", "x"),
            ("data .env", "data .env"),
            (".env", "env"),
            ("-rf", "rf"),
            ("--force .txt", "force .txt"),
            ("trailing. . ", "trailing"),
            ("$(reboot).txt", "_(reboot).txt"),
            ("a;b|c&d`e`.sh", "a_b_c_d_e_.sh"),
            ("a\u{2028}b\u{A0}c.txt", "a b c.txt"),
            ("@src/lib.rs", "lib.rs"),
        ] {
            let expected = if expected == "___" { "file" } else { expected };
            assert_eq!(safe(name), expected, "{name:?}");
        }
    }

    #[test]
    fn a_long_name_keeps_its_ending() {
        let name = safe(&format!(".{}.pdf", "é".repeat(300)));
        assert!(
            name.len() <= LONGEST && name.starts_with('é') && name.ends_with("é.pdf"),
            "{name}"
        );
        assert_eq!(safe(&"a".repeat(300)).len(), LONGEST);
        assert_eq!(safe(&format!("a.{}", "b".repeat(300))).len(), LONGEST);
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = NewFile::create(folder.path(), "report.pdf").unwrap();
        first.file.as_mut().unwrap().write_all(b"one").unwrap();
        let first = first.keep().unwrap();
        let second = NewFile::create(folder.path(), "report.pdf").unwrap().keep().unwrap();
        assert_eq!(second.file_name().unwrap(), "report-2.pdf");
        assert_eq!(fs::read(&first).unwrap(), b"one");
        assert_eq!(fs::metadata(&second).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_link_in_the_way_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        let inbox = folder.path().join("inbox");
        fs::create_dir(&inbox).unwrap();
        std::os::unix::fs::symlink(&outside, inbox.join("notes.md")).unwrap();
        let file = NewFile::create(&inbox, "../notes.md").unwrap().keep().unwrap();
        assert_eq!(file, inbox.join("notes-2.md"));
        assert!(!outside.exists());
    }

    #[test]
    fn what_is_not_kept_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let part = NewFile::create(folder.path(), "film.mp4").unwrap();
        let path = part.path().to_owned();
        assert!(path.exists());
        drop(part);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_full_of_one_name_is_said() {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..MOST_OF_ONE_NAME {
            NewFile::create(folder.path(), "x").unwrap().keep().unwrap();
        }
        let error = NewFile::create(folder.path(), "x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }

    proptest! {
        #[test]
        fn every_name_is_one_part_of_a_path(name in "(\\PC|\\p{Cc}|\\p{Cf}|[./\\\\ \\[\\]<>]){0,200}") {
            let safe = safe(&name);
            prop_assert!(!safe.is_empty() && safe.len() <= LONGEST + 1);
            prop_assert!(!safe.contains(['/', '\\', '\n', '[', ']', '<', '>', '`', '"', '$']));
            prop_assert!(!safe.starts_with(['.', '-', ' ']) && !safe.ends_with(['.', ' ']));
            prop_assert_eq!(reveal(&safe).hidden, 0);
            prop_assert_eq!(Path::new(&safe).components().count(), 1);
            prop_assert_eq!(&super::safe(&safe), &safe, "it stays what it is");
        }
    }
}
