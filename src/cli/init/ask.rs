//! Questions to the person at the terminal, besides secrets. Where nobody sits, nothing is asked.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _, stdin};

use super::Failure;

/// Longer than any name or address.
const LONGEST: usize = 1024;

/// Whether somebody can be asked.
pub(super) fn somebody() -> bool {
    stdin().is_terminal()
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
