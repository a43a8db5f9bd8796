//! Questions to the person at the terminal, besides secrets. Where nobody sits, nothing is asked.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _, stdin};

use super::Failure;
use crate::cli::plain;

/// How often whoever sits there may type one thing.
const TRIES: usize = 3;

/// Longer than any name or address.
const LONGEST: usize = 1024;

/// Whether somebody can be asked.
pub(super) fn somebody() -> bool {
    stdin().is_terminal()
}

/// How often something may still be typed.
pub(super) struct Tries(usize);

impl Tries {
    /// What the command line, a file or a pipe says is read once.
    pub(super) fn one() -> Self {
        Self(1)
    }

    /// A slip of the finger ends nothing.
    pub(super) fn of_a_person() -> Self {
        Self(TRIES)
    }

    /// Counts a try that came to nothing. Where there is another one, the person is told why, and what
    /// to look at.
    pub(super) fn another(&mut self, failure: &Failure, mend: &str) -> bool {
        self.0 = self.0.saturating_sub(1);
        let begin = match self.0 {
            0 => return false,
            1 => "One last time",
            _ => "Once more",
        };
        let words = format!("{begin}: {}. {mend}", failure.words.trim_end_matches('.'));
        say(words.trim_end());
        true
    }
}

/// Something to know before the next question.
pub(super) fn say(words: &str) {
    let _ = writeln!(io::stderr(), "{}", plain::lines(words)); // as with a prompt
}

/// One line; without any it is `usual`.
pub(super) fn line(prompt: &str, usual: Option<&str>) -> Result<String, Failure> {
    let hint = usual.map(|usual| format!(" [{usual}]")).unwrap_or_default();
    let text = read(&format!("{prompt}{hint}: "))?;
    Ok(match (text.as_str(), usual) {
        ("", Some(usual)) => usual.into(),
        _ => text,
    })
}

/// Yes or no; anything else is asked again, three times at most.
pub(super) fn confirmed(prompt: &str, usual: bool) -> Result<bool, Failure> {
    let choice = if usual { "[Y/n]" } else { "[y/N]" };
    for _ in 0..3 {
        match read(&format!("{prompt} {choice} "))?.to_ascii_lowercase().as_str() {
            "" => return Ok(usual),
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => {}
        }
    }
    Ok(false)
}

fn read(prompt: &str) -> Result<String, Failure> {
    let mut to = io::stderr();
    // A prompt that cannot be shown is no reason not to listen.
    let _ = write!(to, "{prompt}").and_then(|()| to.flush());
    let mut line = String::new();
    let read = stdin().lock().read_line(&mut line);
    match read {
        Ok(count) if count > 0 && line.len() <= LONGEST => Ok(line.trim().to_owned()),
        Ok(_) | Err(_) => Err(Failure::refused("cancelled", "no answer came")),
    }
}
