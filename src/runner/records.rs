//! Where an attempt's own agent keeps its records: written down before it starts, so that whoever comes
//! later finds what its models were paid for, however it ended.

use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};
use vigie_core::{Timestamp, id::RunId, ledger::Used};
use vigie_workflow::value::StepPath;

use super::place::{self, MOST_ANSWERS};
use crate::agents::claude::{UsageReader, read_usage};

/// In the folder of each process of an attempt.
const RECORDS: &str = "records.json";

#[derive(Serialize, Deserialize)]
struct Records {
    /// What says where its records are.
    env: BTreeMap<String, String>,
    conversation: String,
    since: Timestamp,
}

/// Says where the records of the agent will be that starts now.
pub(super) fn note(
    folder: &Path,
    env: &[(String, String)],
    conversation: &str,
    since: Timestamp,
) -> io::Result<()> {
    let places = ["CLAUDE_CONFIG_DIR", "HOME"];
    let env = env.iter().filter(|(name, _)| places.contains(&name.as_str())).cloned().collect();
    let records = Records { env, conversation: conversation.into(), since };
    fs::write(folder.join(RECORDS), serde_json::to_vec(&records)?)
}

/// Reads what comes to the records of an attempt while it works.
#[derive(Default)]
pub(super) struct Live(BTreeMap<PathBuf, UsageReader>);

impl Live {
    /// What was answered since the last time.
    pub(super) fn read(
        &mut self,
        data: &Path,
        run: RunId,
        step: &StepPath,
        attempt: u32,
    ) -> Vec<Used> {
        let Some((folder, _)) = place::latest(data, run, step, attempt) else { return Vec::new() };
        if !self.0.contains_key(&folder) {
            let Some(Records { env, conversation, since }) = noted(&folder) else {
                return Vec::new();
            };
            // Those of processes before it have nothing new.
            self.0 = BTreeMap::from([(folder.clone(), UsageReader::new(env, conversation, since))]);
        }
        self.0.get_mut(&folder).map(UsageReader::read).unwrap_or_default()
    }
}

fn noted(folder: &Path) -> Option<Records> {
    serde_json::from_slice(&fs::read(folder.join(RECORDS)).ok()?).ok()
}

/// What stands in the records of all processes of an attempt.
pub(super) fn read(data: &Path, run: RunId, step: &StepPath, attempt: u32) -> Vec<Used> {
    let folders =
        (0..=MOST_ANSWERS).map(|answers| place::folder(data, run, step, attempt, answers));
    let read = |folder: std::path::PathBuf| {
        let Records { env, conversation, since } = noted(&folder)?;
        Some(read_usage(&env, &conversation, since))
    };
    folders.take_while(|folder| folder.is_dir()).filter_map(read).flatten().collect()
}
