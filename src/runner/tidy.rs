//! Old runs' files.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};
use tracing::warn;

use super::place;
use crate::{clock::Clock, sessions::Ground};

/// What a run printed and left is kept for so long after its last step, as messages are.
const KEPT: Duration = Duration::from_hours(90 * 24);

/// Removes the files of runs of which nothing began for a long time and nothing runs.
pub fn tidy(ground: &Ground, clock: &Clock) {
    let now = SystemTime::from(clock.now());
    for run in fs::read_dir(place::all(&ground.data)).into_iter().flatten().flatten() {
        if is_old(&run.path(), now)
            && let Err(error) = fs::remove_dir_all(run.path())
        {
            warn!(reason = %error, "the files of an old run could not be removed");
        }
    }
}

/// A run's folder changes when an attempt begins in it.
fn is_old(run: &Path, now: SystemTime) -> bool {
    let changed = fs::metadata(run).and_then(|about| about.modified());
    let old = changed.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age > KEPT));
    let attempts = || fs::read_dir(run).into_iter().flatten().flatten();
    old && !attempts().any(|attempt| place::alive(&attempt.path()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn a_run_is_old_when_nothing_began_or_runs_in_it() {
        let run = tempfile::tempdir().unwrap();
        let changed = fs::metadata(run.path()).unwrap().modified().unwrap();
        let later = changed + KEPT + Duration::from_secs(1);
        assert!(!is_old(run.path(), changed));
        assert!(is_old(run.path(), later));
        let attempt = run.path().join("a@1");
        place::make(&attempt).unwrap();
        let lock = File::create(attempt.join(place::LOCK)).unwrap();
        lock.lock().unwrap();
        let later = later + Duration::from_hours(1);
        assert!(!is_old(run.path(), later), "it runs");
        drop(lock);
        assert!(is_old(run.path(), later));
    }
}
