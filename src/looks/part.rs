//! Some of a file that grows, for whoever follows it.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

/// Some of a text, in bytes of the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub offset: u64,
    /// Where it goes on.
    pub next: u64,
    /// So far.
    pub size: u64,
    /// What is no UTF-8 in it is replaced.
    pub text: String,
}

/// At most `most` bytes of a file from `offset` on. A character that is cut at its end, or that is not
/// written whole yet, comes with the next part.
///
/// # Errors
/// When the file cannot be read; `NotFound` when it is not there.
pub fn part(file: &Path, offset: u64, most: usize) -> io::Result<Part> {
    let mut file = File::open(file)?;
    let size = file.metadata()?.len();
    let offset = offset.min(size);
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    // What is written meanwhile is for the next part.
    let room = (size - offset).min(most as u64);
    file.take(room).read_to_end(&mut bytes)?;
    bytes.truncate(bytes.len() - open_end(&bytes));
    let next = offset + bytes.len() as u64;
    Ok(Part { offset, next, size, text: String::from_utf8_lossy(&bytes).into_owned() })
}

/// Bytes at the end that begin a character and do not end it. None where that is all there is: then it
/// is no character, and whoever asks must get on.
fn open_end(bytes: &[u8]) -> usize {
    /// Of a character in UTF-8, but for the last byte.
    const LONGEST: usize = 3;
    let last = bytes.len().saturating_sub(LONGEST)..bytes.len();
    let begins = last.rev().find(|at| bytes[*at] & 0b1100_0000 != 0b1000_0000);
    let Some(at) = begins.filter(|at| *at > 0) else { return 0 };
    let whole = match bytes[at].leading_ones() {
        0 => 1,
        ones => ones as usize,
    };
    let there = bytes.len() - at;
    if there < whole { there } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_joined_are_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out");
        let text = "a é 👩 ü\n".repeat(40);
        std::fs::write(&file, &text).unwrap();
        for most in 4..9 {
            let (mut joined, mut offset) = (String::new(), 0);
            while offset < text.len() as u64 {
                let part = part(&file, offset, most).unwrap();
                assert!(part.next > offset, "at {offset} with {most}");
                joined.push_str(&part.text);
                offset = part.next;
            }
            assert_eq!(joined, text);
        }
        assert_eq!(part(&file, 1 << 40, 10).unwrap().text, "");
    }

    #[test]
    fn what_is_no_text_does_not_hold_it_up() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out");
        std::fs::write(&file, [0xff, 0xff, b'x', 0xf0]).unwrap();
        let first = part(&file, 0, 10).unwrap();
        assert_eq!((first.text.as_str(), first.next), ("\u{fffd}\u{fffd}x", 3));
        let rest = part(&file, 3, 10).unwrap();
        assert_eq!((rest.text.as_str(), rest.next, rest.size), ("\u{fffd}", 4, 4));
    }
}
