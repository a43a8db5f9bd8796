//! The command line; so far only the hidden command that holds a session.

use std::{path::Path, process::ExitCode};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match (args.next(), args.next()) {
        (Some(command), Some(folder)) if command == "hold" => {
            vigie::hold::run(folder.as_ref() as &Path).unwrap_or(ExitCode::FAILURE)
        }
        (Some(_) | None, _) => ExitCode::from(2),
    }
}
