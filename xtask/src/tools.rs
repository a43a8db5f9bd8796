//! What tests need beside Rust: the real Claude Code, the conformance suite of the protocol that
//! agents speak, a Matrix homeserver with a phone, and a browser with its driver.

use anyhow::{Context, Result, bail};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The version the stories were written against.
const CLAUDE: &str = "2.1.332";

/// The official suite, and a Node that it runs on: it wants 22 or newer, which not every machine has.
const CONFORMANCE: &str = "0.2.0-alpha.12";
const NODE: &str = "24.22.3";

/// What looks over the pages for barriers.
const AXE: &str = "4.14.1";

/// The program of Claude Code, from its npm package for this machine; fetched once.
pub(crate) fn claude() -> Result<PathBuf> {
    let package = format!("@anthropic-ai/claude-code-{}", platform()?);
    let folder = crate::root().join("target/test-tools").join(format!("claude-code-{CLAUDE}"));
    let program = folder.join("node_modules").join(&package).join("claude");
    if answers(&program) {
        return Ok(program);
    }
    install(&folder, &[format!("{package}@{CLAUDE}")])?;
    if !answers(&program) {
        bail!("{} does not start", program.display());
    }
    Ok(program)
}

/// The folder with the conformance suite and its Node; fetched once.
pub(crate) fn conformance() -> Result<PathBuf> {
    let folder = crate::root().join("target/test-tools").join(format!("conformance-{CONFORMANCE}"));
    if conforms(&folder) {
        return Ok(folder);
    }
    let suite = format!("@modelcontextprotocol/conformance@{CONFORMANCE}");
    install(&folder, &[suite, format!("node-{}@{NODE}", system_and_machine()?)])?;
    if !conforms(&folder) {
        bail!("the suite in {} does not start", folder.display());
    }
    Ok(folder)
}

/// The script of axe-core, which finds what keeps people from using a page; fetched once.
pub(crate) fn axe() -> Result<PathBuf> {
    let folder = crate::root().join("target/test-tools").join(format!("axe-core-{AXE}"));
    let script = folder.join("node_modules/axe-core/axe.min.js");
    if !script.is_file() {
        install(&folder, &[format!("axe-core@{AXE}")])?;
    }
    if !script.is_file() {
        bail!("{} is not in its package", script.display());
    }
    Ok(script)
}

/// The environments of Python with a homeserver and with what the phone of the tests is made of; made
/// once for the versions that `tests/matrix` names.
pub(crate) fn matrix() -> Result<(PathBuf, PathBuf)> {
    Ok((environment("synapse", "matrix-synapse")?, environment("phone", "matrix-nio[e2e]")?))
}

/// An environment of Python with one package and what that needs. All of them come built, so that no
/// compiler is needed and nothing of theirs runs while they are installed.
fn environment(name: &str, package: &str) -> Result<PathBuf> {
    let versions = crate::root().join("tests/matrix").join(format!("{name}.txt"));
    let wanted = fs::read(&versions).with_context(|| format!("{}", versions.display()))?;
    let folder = crate::root().join("target/test-tools").join(format!("python-{name}"));
    // Written last: an environment without it, or with another, is half made or old.
    let whole = folder.join("versions.txt");
    if fs::read(&whole).is_ok_and(|made| made == wanted) {
        return Ok(folder);
    }
    python()?;
    let mut venv = Command::new("python3");
    crate::run(venv.args(["-m", "venv", "--clear"]).arg(&folder)).context(PYTHON)?;
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip.args(["--only-binary", ":all:", "--constraint"]).arg(&versions).arg(package);
    crate::run(&mut pip).with_context(|| format!("Python's registry did not give {package}"))?;
    fs::write(&whole, wanted).with_context(|| format!("{} cannot be written", whole.display()))?;
    Ok(folder)
}

const PYTHON: &str =
    "install Python 3.10 or newer with venv (Debian: apt-get install python3-venv)";

/// Makes sure that there is a Python which can make environments.
fn python() -> Result<()> {
    if have_python() {
        return Ok(());
    }
    apt_get(&["python3-venv"], PYTHON)?;
    if !have_python() {
        bail!("python3 still cannot make environments; {PYTHON}");
    }
    Ok(())
}

fn have_python() -> bool {
    // Debian's Python has `venv` and lacks what that needs.
    let mut python = Command::new("python3");
    python.args(["-c", "import ensurepip, venv"]).stdin(Stdio::null()).stderr(Stdio::null());
    python.output().is_ok_and(|said| said.status.success())
}

/// Installs packages into a folder of their own.
fn install(folder: &Path, packages: &[String]) -> Result<()> {
    let packages_in_words = packages.join(" and ");
    if on_path("npm").is_none() {
        bail!(
            "there is no npm to fetch {packages_in_words} with; install Node.js (Debian: apt-get install npm)"
        );
    }
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let mut npm = Command::new("npm");
    // Scripts of packages are not run: the programs are in the packages as they are.
    npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
        .arg(folder)
        .args(packages);
    crate::run(&mut npm)
        .with_context(|| format!("the npm registry did not give {packages_in_words}"))
}

/// The last part of the name of Claude Code's package.
fn platform() -> Result<String> {
    let libc = if cfg!(target_env = "musl") { "-musl" } else { "" };
    Ok(format!("{}{libc}", system_and_machine()?))
}

/// As npm's packages of programs are named: `linux-x64`.
fn system_and_machine() -> Result<String> {
    let system = match env::consts::OS {
        "linux" => "linux",
        "macos" => "darwin",
        other => bail!("there is no package of it for {other}"),
    };
    let machine = match env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => bail!("there is no package of it for {other}"),
    };
    Ok(format!("{system}-{machine}"))
}

/// Whether the program is there and whole: a torn download does not say its version.
fn answers(program: &Path) -> bool {
    says(Command::new(program).arg("--version"), CLAUDE)
}

/// Whether the suite is there and whole.
fn conforms(folder: &Path) -> bool {
    let modules = folder.join("node_modules");
    let mut suite = Command::new(modules.join(".bin/node"));
    suite.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js")).arg("--version");
    says(&mut suite, CONFORMANCE)
}

fn says(command: &mut Command, version: &str) -> bool {
    command.stdin(Stdio::null()).stderr(Stdio::null()).output().is_ok_and(|said| {
        said.status.success() && String::from_utf8_lossy(&said.stdout).starts_with(version)
    })
}

/// Makes sure that chromium and chromedriver are on PATH.
pub(crate) fn browser() -> Result<()> {
    if have_browser() {
        return Ok(());
    }
    let advice =
        "install chromium and chromedriver (Debian: apt-get install chromium chromium-driver)";
    apt_get(&["chromium", "chromium-driver"], advice)?;
    if !have_browser() {
        bail!("chromium is installed and still not on PATH");
    }
    Ok(())
}

/// Installs packages of Debian's, where that is ours to do.
fn apt_get(packages: &[&str], advice: &'static str) -> Result<()> {
    if !(Path::new("/etc/debian_version").exists() && is_root()) {
        bail!("{} is missing; {advice}", packages.join(" or "));
    }
    let apt = || {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive");
        apt
    };
    crate::run(apt().arg("update")).context(advice)?;
    crate::run(apt().args(["install", "-y", "--no-install-recommends"]).args(packages))
        .context(advice)
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
