//! What policies denied the agent of an attempt: noted in its folder when it happens, told with what
//! became of it.

use std::{fs, io::Write as _, path::Path};
use vigie_core::agent::DeniedCall;

use super::{keep::appended, place::OUT};

/// In the folder of each process of an attempt: a line of JSON each.
const DENIED: &str = "denied.jsonl";
/// Told of one process: an agent that tries on and on is no news after that.
const MOST: usize = 1_000;

/// Notes it, with no secret in it, and says so where the step's words are read. A full disk loses the note and not the no.
pub(super) fn note(folder: &Path, denied: &DeniedCall) {
    let noted = appended(&folder.join(DENIED)).and_then(|mut file| {
        let mut json = serde_json::to_vec(denied)?;
        json.push(b'\n');
        file.write_all(&json)
    });
    if let Err(error) = noted {
        tracing::error!(%error, "a denial could not be written down");
    }
    if let Ok(mut file) = appended(&folder.join(OUT)) {
        // Who follows misses a line; nothing else does.
        let _ = writeln!(file, "[vigie] {} denied {}", denied.rule, denied.line);
    }
}

/// What the process of that folder noted.
pub(super) fn read(folder: &Path) -> Vec<DeniedCall> {
    let text = fs::read_to_string(folder.join(DENIED)).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).take(MOST).collect()
}
