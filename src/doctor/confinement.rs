//! What keeps agents from Vigie on this machine, by trying it.

use std::{env, path::Path};

use super::Finding;
use crate::confine::{Protection, probe};

pub(super) async fn look(data: &Path) -> Vec<Finding> {
    let binary = match env::current_exe() {
        Ok(binary) => binary,
        Err(error) => {
            let words = format!("it cannot be tried, since our own program is not found: {error}");
            return vec![Finding::warn("confinement", words, "Start it by its whole path.")];
        }
    };
    // Before the first start there is no data folder; any other does to try it on.
    let folder = if data.is_dir() { data.to_owned() } else { env::temp_dir() };
    let lacking = probe(&binary, &folder).await;
    let finding = |protection: Protection| {
        let topic = format!("confinement: {}", protection.name());
        match lacking.iter().find(|each| each.protection == protection) {
            None => Finding::ok(&topic, protection.words()),
            Some(each) => {
                Finding::warn(&topic, format!("missing: {}", each.why), protection.todo())
            }
        }
    };
    Protection::ALL.map(finding).to_vec()
}
