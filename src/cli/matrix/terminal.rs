//! Questions that only a person at a terminal answers.

use std::io::{self, BufRead as _, IsTerminal as _};
use tokio::sync::oneshot;

use super::{Failure, Out};

/// Longer than any answer.
const LONGEST: u64 = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    No,
    /// It is none, and may be asked for again.
    Unclear,
    /// Nobody is there any more.
    End,
}

/// # Errors
/// There is nobody: what comes and goes is a program.
pub(super) fn needed(what: &str) -> Result<(), Failure> {
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        return Ok(());
    }
    let words = format!("{what} needs a person at a terminal, and this is none");
    Err(Failure::refused("no_terminal", words)
        .hint("Type the command in a terminal, without a pipe."))
}

/// Asks until there is a plain answer.
pub(super) async fn ask(question: &str, out: &Out) -> Result<Answer, Failure> {
    loop {
        out.print(&format!("{question} [y/n]"))?;
        match read(line().await.as_deref()) {
            Answer::Unclear => {}
            answer => return Ok(answer),
        }
    }
}

/// The next line that is typed; `None`: there is none any more. A thread of its own waits for it, which
/// nobody has to wait for in turn when it is not needed any more.
pub(super) async fn line() -> Option<String> {
    let (typed, came) = oneshot::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = io::Read::take(io::stdin().lock(), LONGEST).read_line(&mut text);
        let _ = typed.send(matches!(read, Ok(1..)).then_some(text)); // nobody may care any more
    });
    came.await.ok().flatten()
}

/// What a line means. Nothing but a plain yes is one.
pub(super) fn read(line: Option<&str>) -> Answer {
    let Some(line) = line else { return Answer::End };
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Answer::Yes,
        "n" | "no" => Answer::No,
        _ => Answer::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_one() {
        for (line, answer) in [
            (Some("y\n"), Answer::Yes),
            (Some(" YES \n"), Answer::Yes),
            (Some("n\n"), Answer::No),
            (Some("\n"), Answer::Unclear),
            (Some("yes, I think\n"), Answer::Unclear),
            (None, Answer::End),
        ] {
            assert_eq!(read(line), answer, "{line:?}");
        }
    }
}
