//! What tests need beside Rust: the real Claude Code, and a browser with its driver.

use anyhow::{Context, Result, bail};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The version the stories were written against.
const CLAUDE: &str = "2.1.332";

/// The program of Claude Code, from its npm package for this machine; fetched once.
pub(crate) fn claude() -> Result<PathBuf> {
    let package = format!("@anthropic-ai/claude-code-{}", platform()?);
    let folder = crate::root().join("target/test-tools").join(format!("claude-code-{CLAUDE}"));
    let program = folder.join("node_modules").join(&package).join("claude");
    if answers(&program) {
        return Ok(program);
    }
    if on_path("npm").is_none() {
        bail!(
            "there is no npm to fetch {package}@{CLAUDE} with; install Node.js (Debian: apt-get install npm)"
        );
    }
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let mut npm = Command::new("npm");
    // Scripts of packages are not run: the program is in the package as it is.
    npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
        .arg(&folder)
        .arg(format!("{package}@{CLAUDE}"));
    crate::run(&mut npm).context("the npm registry did not give it")?;
    if !answers(&program) {
        bail!("{} does not start", program.display());
    }
    Ok(program)
}

/// The last part of the package's name.
fn platform() -> Result<String> {
    let system = match env::consts::OS {
        "linux" => "linux",
        "macos" => "darwin",
        other => bail!("there is no Claude Code package for {other}"),
    };
    let machine = match env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => bail!("there is no Claude Code package for {other}"),
    };
    let libc = if cfg!(target_env = "musl") { "-musl" } else { "" };
    Ok(format!("{system}-{machine}{libc}"))
}

/// Whether the program is there and whole: a torn download does not say its version.
fn answers(program: &Path) -> bool {
    let mut ask = Command::new(program);
    let ask = ask.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
    ask.output().is_ok_and(|said| {
        said.status.success() && String::from_utf8_lossy(&said.stdout).starts_with(CLAUDE)
    })
}

/// Makes sure that chromium and chromedriver are on PATH.
pub(crate) fn browser() -> Result<()> {
    if have_browser() {
        return Ok(());
    }
    let advice =
        "install chromium and chromedriver (Debian: apt-get install chromium chromium-driver)";
    if !(Path::new("/etc/debian_version").exists() && is_root()) {
        bail!("chromium or chromedriver is not on PATH; {advice}");
    }
    let apt = || {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive");
        apt
    };
    crate::run(apt().arg("update")).context(advice)?;
    let packages = ["chromium", "chromium-driver"];
    crate::run(apt().args(["install", "-y", "--no-install-recommends"]).args(packages))
        .context(advice)?;
    if !have_browser() {
        bail!("chromium is installed and still not on PATH");
    }
    Ok(())
}

fn have_browser() -> bool {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    // On macOS the browser is an application, which chromedriver finds by itself.
    let browser = cfg!(target_os = "macos") || names.iter().any(|name| on_path(name).is_some());
    browser && on_path("chromedriver").is_some()
}

fn is_root() -> bool {
    let asked = Command::new("id").arg("-u").output();
    asked.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).trim() == "0")
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
