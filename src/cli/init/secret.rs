//! Reads a secret from the terminal without showing it, or from whatever is piped in.

use nix::sys::termios::{
    LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr,
};
use std::io::{self, IsTerminal as _, Read, Write as _, stdin};

/// Longer than any token; more is something else.
const LONGEST: usize = 4096;

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
fn typed(from: impl Read) -> Result<String, NoText> {
    let mut line = Vec::new();
    for byte in from.bytes() {
        match byte {
            Ok(b'\n' | b'\r') => break,
            // Ctrl-C.
            Ok(3) => return Err(NoText::Cancelled),
            // Ctrl-D: the end of what is typed.
            Ok(4) | Err(_) => break,
            // Backspace, as terminals send it, and Ctrl-U.
            Ok(8 | 127) => drop(line.pop()),
            Ok(21) => line.clear(),
            Ok(byte) => line.push(byte),
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
        assert_eq!(typed(io::repeat(b'x')), Err(NoText::TooLong));
    }
}
