//! `cargo xtask bench`.

use anyhow::Result;
use std::{env, path::PathBuf, process::Command};

/// Measures what is shipped: program and benchmark from one release build.
pub(crate) fn run(args: &[String]) -> Result<()> {
    crate::run(crate::cargo().args(["build", "--release", "-p", "vigie", "-p", "vigie-bench"]))?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let program = crate::root().join(target).join("release/vigie-bench");
    crate::run(Command::new(program).args(args))
}
