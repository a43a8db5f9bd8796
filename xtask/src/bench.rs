//! `cargo xtask bench`.

use anyhow::Result;
use std::{env, path::PathBuf, process::Command};

use crate::tools;

/// What is measured with the real Claude Code.
const WITH_CLAUDE: [&str; 4] = ["telegram", "talk", "questions", "turn"];

/// What is measured on a real homeserver; everything else without Matrix, as it is built by default.
const ON_MATRIX: [&str; 4] = ["matrix", "matrix-in", "matrix-out", "matrix-rooms"];

/// Measures what is shipped: program and benchmark from one release build.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let are_there = |parts: &[&str]| args.iter().any(|arg| parts.contains(&arg.as_str()));
    let on_matrix = are_there(&ON_MATRIX);
    let mut build = crate::cargo();
    build.args(["build", "--release", "-p", "vigie", "-p", "vigie-bench"]);
    if on_matrix {
        build.args(["--features", "vigie/matrix"]);
    }
    crate::run(&mut build)?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let program = crate::root().join(target).join("release/vigie-bench");
    let mut bench = Command::new(program);
    if are_there(&WITH_CLAUDE) && env::var_os("VIGIE_TEST_CLAUDE").is_none() {
        match tools::claude() {
            Ok(claude) => drop(bench.env("VIGIE_TEST_CLAUDE", claude)),
            Err(why) => eprintln!("xtask: there is no Claude Code to measure with: {why:#}"),
        }
    }
    let are_set = ["VIGIE_TEST_SYNAPSE", "VIGIE_TEST_MATRIX_PHONE"].map(env::var_os);
    if on_matrix && are_set.iter().any(Option::is_none) {
        match tools::matrix() {
            Ok((synapse, phone)) => {
                bench.env("VIGIE_TEST_SYNAPSE", synapse).env("VIGIE_TEST_MATRIX_PHONE", phone);
            }
            Err(why) => eprintln!("xtask: there is no Matrix to measure with: {why:#}"),
        }
    }
    crate::run(bench.args(args))
}
