//! `vigie completions`.

use clap::CommandFactory;
use clap_complete::Shell;
use std::io::{self, Write};

use super::{Args, failure::Failure};

pub(super) fn print(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "vigie", &mut script);
    match io::stdout().write_all(&script) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::outside(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
