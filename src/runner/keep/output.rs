//! What an attempt gives, out of the files it left.

use serde_json::Value;
use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};
use vigie_workflow::{
    language::OutputForm,
    run::{Cut, KEPT_TEXT, Outcome, Output},
};

use super::process::Status;

/// Largest text that is read as JSON: it is kept in the run's log.
const MOST_JSON: u64 = 1 << 20;
/// Deepest JSON of a step: it is kept within other JSON, and what reads that takes 128 levels.
const DEEPEST_JSON: usize = 64;
/// Of what a program complained about, for its last line.
const TAIL: u64 = 4 << 10;
/// Longest such line, in characters.
const LONGEST_LINE: usize = 300;

/// What was printed into the file at `path`, and whether it has the form that was asked for.
pub(super) fn read(path: &Path, form: OutputForm) -> io::Result<(Output, Result<(), String>)> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let mut output = Output::default();
    let mut formed = Ok(());
    if form == OutputForm::Json {
        if bytes > MOST_JSON {
            formed = Err(format!("it printed {bytes} bytes, and JSON of a step may have 1 MiB"));
        } else {
            let mut whole = Vec::new();
            file.by_ref().take(MOST_JSON).read_to_end(&mut whole)?;
            match json(&whole) {
                Ok(json) => output.json = Some(json),
                Err(why) => formed = Err(why),
            }
            file.rewind()?;
        }
    }
    let mut head = Vec::new();
    file.take(KEPT_TEXT as u64).read_to_end(&mut head)?;
    let whole = head.len() as u64 == bytes;
    if !whole {
        let cut = Cut { bytes, file: path.to_string_lossy().into_owned() };
        output.cut = Some(cut);
        head.truncate(whole_characters(&head));
    }
    output.text = String::from_utf8_lossy(&head).into_owned();
    if whole {
        // As a shell gives what a command printed.
        output.text.truncate(output.text.trim_end_matches('\n').len());
    }
    Ok((output, formed))
}

/// Reads a text as JSON that can be kept.
pub(super) fn json(text: &[u8]) -> Result<Value, String> {
    let json = serde_json::from_slice(text).map_err(|error| {
        // The only one that is about a text which may be JSON all the same.
        if error.to_string().starts_with("recursion limit exceeded") {
            too_deep()
        } else {
            format!("what it printed is no JSON: {error}")
        }
    })?;
    not_too_deep(&json).map(|()| json)
}

/// # Errors
/// A sentence, for JSON that could be written down and not be read again.
pub(super) fn not_too_deep(json: &Value) -> Result<(), String> {
    if depth(json) > DEEPEST_JSON { Err(too_deep()) } else { Ok(()) }
}

fn too_deep() -> String {
    format!("what it printed is JSON of more than {DEEPEST_JSON} levels; make it flatter")
}

/// How many arrays and objects stand in one another.
fn depth(json: &Value) -> usize {
    match json {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(entries) => 1 + entries.values().map(depth).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Without a character that is cut in two at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => bytes.len(),
    }
}

/// Why a program that ended so failed: the last line of what it complained about, or of what it printed
/// where it complained about nothing.
pub(super) fn failed(status: Status, complaints: &Path, printed: &Path) -> Outcome {
    let how = match status {
        Status::Code(code) => format!("exit code {code}"),
        Status::Signal(signal) => match nix::sys::signal::Signal::try_from(signal) {
            Ok(signal) => format!("ended by {signal}"),
            Err(_) => format!("ended by signal {signal}"),
        },
    };
    let why = match last_line(complaints).or_else(|| last_line(printed)) {
        Some(line) => format!("{how}: {line}"),
        None => how,
    };
    Outcome::Failed { why }
}

/// The last line that says something, for people.
pub(super) fn last_line(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let bytes = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    let line = tail.lines().rev().map(plain).find(|line| !line.is_empty())?;
    Some(line.trim_end_matches('.').to_owned())
}

/// The first line that says something.
pub(super) fn first_line(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(TAIL).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head);
    head.lines().map(plain).find(|line| !line.is_empty())
}

/// One line without colours and other things that are not to be read.
fn plain(line: &str) -> String {
    let mut out = String::new();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' && letters.peek() == Some(&'[') {
            // Up to the letter that ends it: ECMA-48, 5.4.
            letters.next();
            while letters.next_if(|c| !('@'..='~').contains(c)).is_some() {}
            letters.next();
        } else if letter == '\t' {
            out.push(' ');
        } else if !letter.is_control() {
            out.push(letter);
        }
    }
    let out = out.trim();
    match out.char_indices().nth(LONGEST_LINE) {
        Some((at, _)) => format!("{}…", &out[..at]),
        None => out.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn printed(text: &[u8], form: OutputForm) -> (Output, Result<(), String>) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("out");
        fs::write(&path, text).unwrap();
        read(&path, form).unwrap()
    }

    #[test]
    fn a_short_text_is_kept_whole() {
        let (output, formed) = printed(b"two\nlines\n\n", OutputForm::Text);
        assert_eq!((output.text.as_str(), output.cut, formed), ("two\nlines", None, Ok(())));
    }

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_so() {
        let text = "é".repeat(KEPT_TEXT / 2) + "é";
        let (output, _) = printed(text.as_bytes(), OutputForm::Text);
        assert_eq!(output.text.len(), KEPT_TEXT);
        assert_eq!(output.cut.unwrap().bytes, text.len() as u64);
        let (output, _) = printed(format!("x{text}").as_bytes(), OutputForm::Text);
        assert_eq!(output.text.len(), KEPT_TEXT - 1);
        assert!(output.text.ends_with('é'));
    }

    #[test]
    fn json_is_read_or_it_is_said_why_not() {
        let (output, formed) = printed(b" {\"a\": [1]}\n", OutputForm::Json);
        assert_eq!((output.json, formed), (Some(serde_json::json!({"a": [1]})), Ok(())));
        let (output, formed) = printed(b"{'a': 1}", OutputForm::Json);
        assert_eq!(output.text, "{'a': 1}");
        assert!(formed.unwrap_err().starts_with("what it printed is no JSON"));
    }

    #[test]
    fn json_is_as_deep_as_can_be_kept() {
        let nested = |levels: usize| ["[", "]"].map(|each| each.repeat(levels)).concat();
        assert!(json(nested(DEEPEST_JSON).as_bytes()).is_ok());
        for levels in [DEEPEST_JSON + 1, 127, 129, 100_000] {
            assert_eq!(json(nested(levels).as_bytes()), Err(too_deep()), "{levels}");
        }
        let objects = [r#"{"a":"#.repeat(65), "1".into(), "}".repeat(65)].concat();
        assert_eq!(json(objects.as_bytes()), Err(too_deep()));
    }

    #[test]
    fn a_failure_quotes_the_last_line_that_says_something() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("err");
        let words = |text: &str| {
            fs::write(&path, text).unwrap();
            match failed(Status::Code(3), &path, &home.path().join("out")) {
                Outcome::Failed { why } => why,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(words(""), "exit code 3");
        assert_eq!(
            words("a\n\u{1b}[31merror\u{1b}[0m: no such file.\n\n \n"),
            "exit code 3: error: no such file"
        );
        assert!(words(&"x".repeat(9000)).chars().count() < LONGEST_LINE + 20);
        fs::write(home.path().join("out"), "1 test\nno such quay\n").unwrap();
        assert_eq!(words("\n"), "exit code 3: no such quay");
        assert_eq!(words("error\n"), "exit code 3: error");
    }
}
