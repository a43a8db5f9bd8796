//! Tokens that Vigie keeps for a program, each in a file of its own: so no secret stands in what is
//! that program's, and whoever may not read Vigie's folder cannot read them.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// Where the token of that name lies, if it is kept.
pub(super) fn file(data: &Path, name: &str) -> PathBuf {
    data.join("tokens").join(format!("{name}.token"))
}

/// Whole or not at all, and for nobody else to read.
pub(super) fn keep(file: &Path, secret: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let fresh = file.with_extension("new");
    forget(&fresh)?;
    let mut written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    writeln!(written, "{secret}")?;
    written.sync_all()?;
    fs::rename(fresh, file)
}

pub(super) fn forget(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_kept_token_is_for_its_owner_alone() {
        let data = tempfile::tempdir().unwrap();
        let file = file(data.path(), "claude-code");
        for secret in ["vgt_one", "vgt_two"] {
            keep(&file, secret).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), format!("{secret}\n"));
        }
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        forget(&file).unwrap();
        forget(&file).unwrap();
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 0, "nothing is left");
    }
}
