//! `cargo xtask bench`.

use anyhow::Result;
use std::{env, path::PathBuf, process::Command};

use crate::tools;

/// What is measured with the real Claude Code.
const WITH_CLAUDE: [&str; 4] = ["telegram", "talk", "questions", "turn"];

/// Measures what is shipped: program and benchmark from one release build.
pub(crate) fn run(args: &[String]) -> Result<()> {
    crate::run(crate::cargo().args(["build", "--release", "-p", "vigie", "-p", "vigie-bench"]))?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let program = crate::root().join(target).join("release/vigie-bench");
    let mut bench = Command::new(program);
    let wanted = args.iter().any(|arg| WITH_CLAUDE.contains(&arg.as_str()));
    if wanted && env::var_os("VIGIE_TEST_CLAUDE").is_none() {
        match tools::claude() {
            Ok(claude) => drop(bench.env("VIGIE_TEST_CLAUDE", claude)),
            Err(why) => eprintln!("xtask: there is no Claude Code to measure with: {why:#}"),
        }
    }
    crate::run(bench.args(args))
}
