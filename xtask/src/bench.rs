//! `cargo xtask bench`.

use anyhow::Result;

/// Measures what is shipped: the release build.
pub(crate) fn run(args: &[String]) -> Result<()> {
    crate::run(crate::cargo().args(["run", "--release", "--example", "bench", "--"]).args(args))
}
