//! Reads a secret from the terminal without showing it, or from whatever is piped in.

use nix::sys::termios::{
    LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr,
};
use std::io::{self, BufRead, IsTerminal as _, Write as _, stdin};

/// Longer than any token; more is something else.
const LONGEST: usize = 4096;

const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;
const CTRL_U: u8 = 21;
/// What the key of that name sends is one of the two, by terminal.
const BACKSPACE: u8 = 8;
const DELETE: u8 = 127;

/// What came instead of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoText {
    Cancelled,
    TooLong,
    /// It ended, or broke, before there was anything.
    Nothing,
}

/// Asks on the terminal with `prompt`, or reads one line of a pipe.
pub(super) fn read(prompt: &str) -> Result<String, NoText> {
    if !stdin().is_terminal() {
        return typed(stdin().lock());
    }
    let quiet = Quiet::enter().map_err(|_| NoText::Nothing)?;
    let mut to = io::stderr();
    // A prompt that cannot be shown is no reason not to listen.
    let _ = write!(to, "{prompt}").and_then(|()| to.flush());
    let text = typed(stdin().lock());
    drop(quiet);
    let _ = writeln!(to);
    text
}

/// One line, with the keys that people correct it with.
fn typed(from: impl BufRead) -> Result<String, NoText> {
    let mut line = Vec::new();
    for byte in from.bytes() {
        let Ok(byte) = byte else { break };
        match byte {
            b'\n' | b'\r' | CTRL_D => break,
            CTRL_C => return Err(NoText::Cancelled),
            BACKSPACE | DELETE => drop(line.pop()),
            CTRL_U => line.clear(),
            byte => line.push(byte),
        }
        if line.len() > LONGEST {
            return Err(NoText::TooLong);
        }
    }
    if line.is_empty() {
        return Err(NoText::Nothing);
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// A terminal that shows nothing of what is typed ahead, while a secret is looked at and may be asked
/// for once more; dropping it gives it back. Without a terminal it is nothing.
#[cfg(feature = "matrix")]
pub(super) struct Unshown(Option<Termios>);

#[cfg(feature = "matrix")]
impl Unshown {
    pub(super) fn enter() -> Self {
        let before = tcgetattr(stdin()).ok().filter(|_| stdin().is_terminal());
        if let Some(before) = &before {
            let mut unshown = before.clone();
            unshown.local_flags.remove(LocalFlags::ECHO | LocalFlags::ECHONL);
            let _ = tcsetattr(stdin(), SetArg::TCSADRAIN, &unshown); // as when it is given back
        }
        Self(before)
    }
}

#[cfg(feature = "matrix")]
impl Drop for Unshown {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // Nothing else can be done about a terminal that is gone.
            let _ = tcsetattr(stdin(), SetArg::TCSADRAIN, before);
        }
    }
}

/// A terminal that shows nothing of what is typed and sends no signals; dropping it gives it back.
/// Ctrl-C comes as a character, so that no way out leaves the terminal mute.
struct Quiet(Termios);

impl Quiet {
    fn enter() -> nix::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut quiet = before.clone();
        let shown = LocalFlags::ECHO | LocalFlags::ECHONL | LocalFlags::ICANON | LocalFlags::ISIG;
        quiet.local_flags.remove(shown);
        quiet.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
        quiet.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
        tcsetattr(stdin(), SetArg::TCSADRAIN, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // Nothing else can be done about a terminal that is gone.
        let _ = tcsetattr(stdin(), SetArg::TCSADRAIN, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_with_its_corrections() {
        for (keys, text) in [
            ("123456:TEST\n", Ok("123456:TEST")),
            ("wrong\u{15}right\r", Ok("right")),
            ("abx\u{7f}c", Ok("abc")),
            ("abc\u{4}def\n", Ok("abc")),
            ("first\nsecond\n", Ok("first")),
            ("abc\u{3}", Err(NoText::Cancelled)),
            ("\n", Err(NoText::Nothing)),
            ("", Err(NoText::Nothing)),
        ] {
            assert_eq!(typed(keys.as_bytes()), text.map(str::to_owned), "{keys:?}");
        }
        assert_eq!(typed(io::BufReader::new(io::repeat(b'x'))), Err(NoText::TooLong));
    }
}
