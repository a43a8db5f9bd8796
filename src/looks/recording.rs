//! What a session's terminal printed, out of the holder's recording.

use serde_json::Value;
use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
};

/// The holder's recording, newest part last.
const FILES: [&str; 2] = ["output.previous.cast", "output.cast"];

/// The parts that there are in a session's folder, the oldest first.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    FILES.map(|file| folder.join(file)).into_iter().filter(|file| file.exists()).collect()
}

/// All output of an asciicast. A last line that is still being written is left out.
pub fn printed(file: &Path) -> io::Result<String> {
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

/// What a terminal printed, without colours and movements: for reading, not for playing.
/// A carriage return begins its line anew, as programs that draw progress mean it.
pub fn without_escapes(raw: &str) -> String {
    let mut text = String::new();
    let mut rest = raw.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => text.truncate(text.rfind('\n').map_or(0, |at| at + 1)),
            '\u{8}' if !text.ends_with('\n') => {
                text.pop();
            }
            '\n' | '\t' => text.push(c),
            c if c.is_control() => {}
            c => text.push(c),
        }
    }
    text
}

/// Source of the forms: ECMA-48, sections 5.3 (two characters), 5.4 (control sequences) and 5.6
/// (control strings).
fn skip_escape(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.next() {
        Some('[') => while rest.next().is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c)) {},
        Some(']' | 'P' | '_' | '^' | 'X') => {
            while let Some(c) = rest.next() {
                if c == '\u{7}' || (c == '\u{1b}' && rest.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        Some('\u{20}'..='\u{2f}') => {
            while rest.next().is_some_and(|c| ('\u{20}'..='\u{2f}').contains(&c)) {}
        }
        Some(_) | None => {}
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

    #[test]
    fn what_was_printed_reads_without_its_escapes() {
        let raw = "\u{1b}[1;32mok\u{1b}[0m\r\n\u{1b}]0;title\u{7}10%\r20%\r\n\u{1b}]8;;x\u{1b}\\link\u{1b}(Babc\u{8}d";
        assert_eq!(without_escapes(raw), "ok\n20%\nlinkabd");
    }
}
