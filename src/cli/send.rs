//! `vigie send`.

use std::io::Read;

use super::{Desk, args::Send, failure::Failure, plain};
use crate::web::{
    client::segment,
    shapes::{FormShape, SendText, Stored},
};

/// Longest text from standard input, in bytes; the daemon takes no more.
const LONGEST: u64 = 1 << 20;

pub(super) async fn run(args: Send, desk: &Desk) -> Result<(), Failure> {
    let Send { name, text, command } = args;
    let text = if text == ["-"] { read_input()? } else { text.join(" ") };
    let form = if command { FormShape::Command } else { FormShape::Text };
    let path = format!("/sessions/{}/send", segment(&name));
    let stored: Stored = desk.client.post(&path, &SendText { text, form }).await?;
    desk.out.show(&stored, |_, stored| match (&stored.kept, stored.ahead) {
        (Some(kept), _) => format!("stored and kept: {}", plain::line(kept)),
        (None, 0) => format!("stored, {} takes it next", stored.session),
        (None, 1) => format!("stored, {} takes it after one other", stored.session),
        (None, ahead) => format!("stored, {} takes it after {ahead} others", stored.session),
    })
}

fn read_input() -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().take(LONGEST + 1).read_to_string(&mut text);
    read.map_err(|error| Failure::usage(format!("standard input is no text: {error}")))?;
    if text.len() as u64 > LONGEST {
        let failure = Failure::usage("the text is longer than 1 MiB");
        return Err(failure.hint("Put it into a file in the project and name the file."));
    }
    Ok(text.trim_end_matches('\n').into())
}
