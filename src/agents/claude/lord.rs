//! What makes a session the Lord: a few words to its system prompt, and a skill with the how-to. Both
//! are there at every start, so that they survive resuming and compaction, and neither touches a file
//! of the person's.

use serde_json::json;
use std::path::Path;

use super::command::{CommandError, write_private};

/// Added to the program's own system prompt. Seen with 2.1.332: a conversation keeps the words it
/// began with until it is compacted, even when a newer Vigie brings others.
pub(super) const PROMPT: &str = include_str!("lord/prompt.md");
const SKILL: &str = include_str!("lord/SKILL.md");

/// Writes the skill as a plugin for this start alone, and gives its folder.
pub(super) fn write_plugin(folder: &Path) -> Result<String, CommandError> {
    let plugin = folder.join("lord");
    let about = json!({
        "name": "vigie",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "What the Lord of a Vigie knows",
    });
    write_private(&plugin.join(".claude-plugin/plugin.json"), &about.to_string())?;
    write_private(&plugin.join("skills/lord/SKILL.md"), SKILL)?;
    Ok(plugin.to_string_lossy().into_owned())
}
