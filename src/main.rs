//! The program: everything is in the library, so that tests run it in-process.

use std::process::ExitCode;

fn main() -> ExitCode {
    vigie::cli::main()
}
