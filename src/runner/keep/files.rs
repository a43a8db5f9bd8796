//! Files that a step leaves, kept with the run.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};
use vigie_workflow::run::Output;

use super::{Keeper, pour, private};
use crate::{looks, runner::place::FILES};

/// Largest file that is kept, in bytes.
const LARGEST: u64 = 100 << 20;

impl Keeper {
    /// Copies them, by the names that the step gives them.
    ///
    /// # Errors
    /// A sentence: what could not be kept, and why.
    pub(super) fn keep_files(&self, output: &mut Output) -> Result<(), String> {
        let all = self.folder.join(FILES);
        for (name, path) in &self.task.files {
            let path = self.inside_project(path)?;
            let copy = looks::file(&self.task.project, &path, LARGEST, &all)
                .map_err(|error| format!("its file `{name}` cannot be kept: {error}"))?;
            self.take_out_secrets(&copy.path)
                .map_err(|error| format!("its file `{name}` cannot be kept: {error}"))?;
            output.files.insert(name.clone(), copy.path.to_string_lossy().into_owned());
        }
        Ok(())
    }

    /// As seen from the project's folder, out of which nothing is taken.
    fn inside_project(&self, path: &str) -> Result<String, String> {
        let cwd = self.task.cwd.strip_prefix(&self.task.project).unwrap_or(Path::new(""));
        let path = cwd.join(path);
        path.into_os_string().into_string().map_err(|_| "its folder has no readable name".into())
    }

    fn take_out_secrets(&self, copy: &Path) -> io::Result<()> {
        if self.task.secrets.is_empty() {
            return Ok(());
        }
        let half = copy.with_extension("half");
        let mut to = private(&half)?;
        let (mut stream, mut masked) = (self.mask.stream(), Vec::new());
        let mut written = Ok(());
        pour::pieces(fs::File::open(copy)?, |piece| {
            stream.take(piece, &mut masked);
            if written.is_ok() {
                written = to.write_all(&masked);
            }
            masked.clear();
        });
        stream.end(&mut masked);
        written.and_then(|()| to.write_all(&masked))?;
        fs::rename(&half, copy)
    }
}
