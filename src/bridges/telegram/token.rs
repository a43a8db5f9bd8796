//! The file that the bot's token is kept in.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};
use vigie_telegram::api::{NoToken, Token};

/// A token has about 46 characters; a file much longer than that holds something else.
const LONGEST_FILE: u64 = 4096;

/// Why there is no token to go on with.
#[derive(Debug, thiserror::Error)]
pub enum TokenTrouble {
    #[error("there is no bot token in {}", .0.display())]
    Missing(PathBuf),
    #[error("the bot token in {} cannot be read: {source}", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("others can read the bot token in {} (mode {mode:03o}), so it is not used", file.display())]
    Open { file: PathBuf, mode: u32 },
    #[error("what stands in {} is no bot token", .0.display())]
    Shape(PathBuf),
}

impl TokenTrouble {
    /// What to do, as a sentence.
    pub fn mend(&self) -> String {
        match self {
            Self::Missing(_) | Self::Shape(_) => {
                "Put the one in that @BotFather gave: vigie init telegram.".into()
            }
            Self::Unreadable { file, .. } => {
                format!("Make it a file of your own that you can read: {}.", file.display())
            }
            Self::Open { file, .. } => format!(
                "Close it: chmod 600 {}; and if others did look, get a new token from @BotFather.",
                file.display()
            ),
        }
    }
}

/// Reads the token file, which nobody else may be able to.
///
/// # Errors
/// Which of the ways it can be wrong, and what to do.
pub fn read_token(file: &Path) -> Result<Token, TokenTrouble> {
    let unreadable = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => TokenTrouble::Missing(file.into()),
        _ => TokenTrouble::Unreadable { file: file.into(), source },
    };
    let open = File::open(file).map_err(unreadable)?;
    let mode = open.metadata().map_err(unreadable)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(TokenTrouble::Open { file: file.into(), mode });
    }
    let mut text = String::new();
    open.take(LONGEST_FILE).read_to_string(&mut text).map_err(unreadable)?;
    match text.trim() {
        "" => Err(TokenTrouble::Missing(file.into())),
        text => text.parse().map_err(|_| TokenTrouble::Shape(file.into())),
    }
}

/// A token that a person gave, and the text to keep of it. It has no `Debug`: it is never printed.
pub struct Given {
    pub token: Token,
    text: String,
}

impl Given {
    /// Reads what was pasted; blanks around it do not count.
    ///
    /// # Errors
    /// It is no token. Says nothing of what it is.
    pub fn read(text: &str) -> Result<Self, NoToken> {
        let text = text.trim();
        Ok(Self { token: text.parse()?, text: text.into() })
    }

    /// Puts it where the daemon looks for it: a file of this user alone, whole or not at all.
    ///
    /// # Errors
    /// The disk's; what was there before stays.
    pub fn keep(&self, file: &Path) -> io::Result<()> {
        let folder = file.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut fresh = file.as_os_str().to_owned();
        fresh.push(".new");
        let fresh = PathBuf::from(fresh);
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut written =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        writeln!(written, "{}", self.text)?;
        written.sync_all()?;
        fs::rename(&fresh, file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("telegram.token");
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        (folder, file)
    }

    #[test]
    fn a_token_is_kept_for_this_user_alone_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("inner/telegram.token");
        let given = Given::read(" 123456:TEST-TOKEN\n").unwrap();
        given.keep(&file).unwrap();
        given.keep(&file).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read_token(&file).unwrap(), given.token);
    }

    #[test]
    fn what_is_wrong_with_the_file_is_said_without_what_stands_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let missing = read_token(&folder.path().join("nothing")).unwrap_err();
        assert!(matches!(missing, TokenTrouble::Missing(_)), "{missing}");
        let (_folder, empty) = file("\n", 0o600);
        assert!(matches!(read_token(&empty), Err(TokenTrouble::Missing(_))));
        let (_folder, open) = file("123456:TEST-TOKEN", 0o644);
        let wrong = read_token(&open).unwrap_err();
        assert!(wrong.to_string().contains("(mode 644)"), "{wrong}");
        assert!(wrong.mend().starts_with("Close it: chmod 600 "), "{}", wrong.mend());
        let (_folder, other) = file("TEST-TOKEN without its number", 0o600);
        let wrong = read_token(&other).unwrap_err();
        assert!(!format!("{wrong} {} {wrong:?}", wrong.mend()).contains("TEST"), "{wrong}");
    }
}
