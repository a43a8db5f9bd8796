//! `cargo xtask test`.

use anyhow::{Result, bail};

use crate::tools;

/// Sets up the real agent, the conformance suite, a homeserver and a browser, then runs every test of
/// the workspace.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let mut cargo = crate::cargo();
    // One failure must not hide the others: a whole run takes half an hour.
    cargo.args(["test", "--workspace", "--no-fail-fast", "--features", "vigie/matrix"]).args(args);
    match tools::claude() {
        Ok(program) => {
            println!("xtask: Claude Code at {}", program.display());
            cargo.env("VIGIE_TEST_CLAUDE", program);
        }
        Err(why) => missing("the tests against the real Claude Code", &why)?,
    }
    match tools::conformance() {
        Ok(folder) => {
            println!("xtask: the conformance suite at {}", folder.display());
            cargo.env("VIGIE_TEST_CONFORMANCE", folder);
        }
        Err(why) => missing("the conformance suite", &why)?,
    }
    match tools::axe() {
        Ok(script) => drop(cargo.env("VIGIE_TEST_AXE", script)),
        Err(why) => missing("the look for barriers on the pages", &why)?,
    }
    match tools::matrix() {
        Ok((synapse, phone)) => {
            println!(
                "xtask: Synapse in {}, the phone's Python in {}",
                synapse.display(),
                phone.display()
            );
            cargo.env("VIGIE_TEST_SYNAPSE", synapse).env("VIGIE_TEST_MATRIX_PHONE", phone);
        }
        Err(why) => missing("the tests on Matrix", &why)?,
    }
    match tools::browser() {
        Ok(()) => println!("xtask: chromium and chromedriver are on PATH"),
        Err(why) => missing("the tests in a browser", &why)?,
    }
    crate::run(&mut cargo)
}

/// Goes on without, and says so; on a build server that would hide that nothing was tested.
fn missing(tests: &str, why: &anyhow::Error) -> Result<()> {
    if crate::on_a_build_server() {
        bail!("{tests} cannot run: {why:#}");
    }
    eprintln!("xtask: {tests} do not run: {why:#}");
    Ok(())
}
