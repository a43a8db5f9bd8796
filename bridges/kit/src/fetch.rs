//! Files that people send, on their way here. They come into a folder that is swept at every start,
//! and get their final place in one step: no half file is ever found there.

use std::{fs, io, path::Path};
use tokio::task;
use tracing::debug;
use vigie_core::bridge::{Attached, Got};

use crate::names;

/// Where files are while they come, inside the folder for all.
pub const HALF: &str = ".half";

/// Throws away what was half fetched when the daemon died.
pub async fn sweep(files: &Path) {
    let half = files.join(HALF);
    if let Err(error) = blocking(move || fs::remove_dir_all(half)).await
        && error.kind() != io::ErrorKind::NotFound
    {
        debug!(%error, "half files are not swept away");
    }
}

/// Does something on the disk off the threads that others wait on.
///
/// # Errors
/// Those of the job.
pub async fn blocking<T: Send + 'static>(
    job: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    task::spawn_blocking(job).await.map_err(io::Error::other)?
}

/// A file that could not be had, and why, for the person.
pub fn missed(name: &str, why: String) -> Attached {
    Attached { name: names::safe(name), got: Got::Missed { why } }
}

/// Why it could not be had when it was our own disk.
pub fn disk(error: &io::Error) -> String {
    format!("it could not be written here ({error}); look at the disk and send it again")
}

/// A size as people read it, in megabytes of 2^20 bytes, as chat apps show them.
pub fn megabytes(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10) / (1 << 20);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_came_half_is_swept_away_and_the_rest_stays() {
        let files = tempfile::tempdir().unwrap();
        sweep(files.path()).await; // nothing came yet
        let half = files.path().join(HALF);
        fs::create_dir(&half).unwrap();
        fs::write(half.join("film.mp4"), "half").unwrap();
        fs::write(files.path().join("note.md"), "whole").unwrap();
        sweep(files.path()).await;
        assert!(!half.exists() && files.path().join("note.md").exists());
    }

    #[test]
    fn what_is_missing_is_named_safely() {
        let missed = missed("../x] y", "it is gone".into());
        let got = Got::Missed { why: "it is gone".into() };
        assert_eq!(missed, Attached { name: "x_ y".into(), got });
        assert_eq!(megabytes(20 << 20), "20.0 MB");
        assert_eq!(megabytes(1_300_000), "1.2 MB");
    }
}
