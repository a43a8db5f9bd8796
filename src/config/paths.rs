//! Where things are on this machine, and who we run as.

use std::{
    env,
    ffi::OsString,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::Config;

/// What the configuration depends on besides its file. A value, so that tests bring their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    pub home: PathBuf,
    /// Where Vigie keeps everything; the configuration cannot move it, so that every command finds
    /// the daemon without reading a file.
    pub data: PathBuf,
    /// The configuration file, there or not.
    pub config: PathBuf,
    /// Login name.
    pub user: String,
    pub shell: PathBuf,
    /// Where `claude` is, when it is on PATH.
    pub claude: Option<PathBuf>,
}

/// Nothing says where files may be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is not known where your home folder is; set HOME, or VIGIE_HOME for Vigie alone")]
pub struct NoHome;

impl Surroundings {
    /// Those of this process. `data` and `config` are what the command line named.
    pub fn of_this_process(data: Option<PathBuf>, config: Option<PathBuf>) -> Result<Self, NoHome> {
        let account = nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten();
        let home = folder("HOME").or_else(|| account.as_ref().map(|user| user.dir.clone()));
        let data = data
            // As `--home`: a relative one is meant from here.
            .or_else(|| {
                env::var_os("VIGIE_HOME").filter(|text| !text.is_empty()).map(PathBuf::from)
            })
            .or_else(|| folder("XDG_DATA_HOME").map(|base| base.join("vigie")))
            .or_else(|| home.as_ref().map(|home| home.join(".local/share/vigie")))
            .ok_or(NoHome)?;
        let data = std::path::absolute(&data).unwrap_or(data);
        let config = config
            .or_else(|| folder("XDG_CONFIG_HOME").map(|base| base.join("vigie/config.toml")))
            .or_else(|| home.as_ref().map(|home| home.join(".config/vigie/config.toml")))
            .unwrap_or_else(|| data.join("config.toml"));
        let user = account.as_ref().map_or_else(|| "owner".into(), |user| user.name.clone());
        let shell = folder("SHELL")
            .or_else(|| account.map(|user| user.shell).filter(|shell| shell.is_absolute()))
            .unwrap_or_else(|| "/bin/sh".into());
        let claude = on_path("claude", env::var_os("PATH"));
        let home = home.unwrap_or_else(|| data.clone());
        Ok(Self { home, data, config, user, shell, claude })
    }

    /// Reads a path from the configuration: absolute, or beginning with `~/`.
    pub(super) fn expand(&self, text: &str) -> Option<PathBuf> {
        let path = match text.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None if text == "~" => self.home.clone(),
            None => PathBuf::from(text),
        };
        path.is_absolute().then_some(path)
    }
}

/// An absolute path out of the environment; anything else counts as not set, as XDG asks.
fn folder(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The first executable file of that name on `path`.
pub(crate) fn on_path(program: &str, path: Option<OsString>) -> Option<PathBuf> {
    let executable = |file: &PathBuf| {
        file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    env::split_paths(&path?).map(|folder| folder.join(program)).find(executable)
}

/// A sentence when others can read a file that holds what may be keys.
pub(super) fn readable_secrets(file: &Path, config: &Config) -> Option<String> {
    let holds_secrets = config.agents.iter().any(|agent| !agent.env.is_empty());
    let mode = file.metadata().ok()?.permissions().mode() & 0o777;
    (holds_secrets && mode & 0o077 != 0).then(|| {
        let file = file.display();
        format!("{file} sets environment variables and others can read it (mode {mode:03o}): chmod 600 {file}")
    })
}
