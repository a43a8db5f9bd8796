//! The file as it is written: every value optional and with its place, so that the checks can say
//! what is wrong and where. Never used outside `config`.

use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// A text and where it stands.
pub(super) type Text = Option<Spanned<String>>;
/// A list that knows where it stands, so that an empty one can be told.
pub(super) type Texts = Option<Spanned<Vec<Spanned<String>>>>;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WebRow {
    pub listen: Text,
    pub allow_remote: Option<bool>,
    pub hosts: Option<Vec<Spanned<String>>>,
    pub url: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HumanRow {
    pub id: Text,
    pub name: Option<String>,
    pub role: Text,
    pub phone: Option<bool>,
    pub telegram: Option<Spanned<i64>>,
    pub matrix: Text,
    pub timezone: Text,
    pub quiet: Option<Vec<Spanned<String>>>,
    pub digest: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RingingRow {
    pub permission: Text,
    pub question: Text,
    pub plan: Text,
    pub approval: Text,
    pub failure: Text,
    pub stuck: Text,
    pub limit: Text,
    pub done: Text,
    pub words: Text,
    pub notice: Text,
    pub trouble: Text,
    pub urgent: Option<Vec<Spanned<String>>>,
    pub remind: Text,
    pub reminders: Option<Spanned<i64>>,
    pub order: Option<Vec<Spanned<String>>>,
    pub bundle: Text,
    pub desk_delay: Text,
    pub stuck_after: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProjectRow {
    pub name: Text,
    pub path: Text,
    pub agent: Text,
    pub worktree: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentRow {
    pub name: Text,
    pub kind: Text,
    pub program: Text,
    pub args: Option<Vec<String>>,
    pub env: Option<BTreeMap<String, String>>,
    pub permission_mode: Text,
    pub prompt_ends: Text,
    pub confine: Text,
    pub hide: Option<Vec<Spanned<String>>>,
    pub user: Text,
    pub account: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RoutingRow {
    pub stories: Option<Vec<Spanned<String>>>,
    pub languages: Option<Vec<Spanned<String>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GatesRow {
    pub deadline: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordingRow {
    pub limit: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PhoneRow {
    pub enabled: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TelegramRow {
    pub enabled: Option<Spanned<bool>>,
    pub token_file: Text,
    pub api: Text,
    pub long_answers: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MatrixRow {
    pub enabled: Option<Spanned<bool>>,
    pub layout: Text,
    pub unsigned_devices: Text,
    pub unencrypted: Text,
    pub plain_rooms: Text,
    pub reactions: Text,
    pub new_identities: Text,
    pub events_a_minute: Option<Spanned<i64>>,
    pub polls: Option<bool>,
    pub quick_reactions: Option<bool>,
    pub long_answers: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccessRow {
    pub strangers: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TelemetryRow {
    pub otlp: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoundsRow {
    pub depth: Option<Spanned<i64>>,
    pub children: Option<Spanned<i64>>,
    pub live: Option<Spanned<i64>>,
    pub starts_a_minute: Option<Spanned<i64>>,
    pub tree_usd: Option<Spanned<f64>>,
    pub tree_tokens: Option<Spanned<i64>>,
    pub start_usd: Option<Spanned<f64>>,
    pub start_tokens: Option<Spanned<i64>>,
    pub max_load: Option<Spanned<f64>>,
    pub min_free_memory: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BudgetRow {
    pub session_usd: Option<Spanned<f64>>,
    pub story_usd: Option<Spanned<f64>>,
    pub tree_usd: Option<Spanned<f64>>,
    pub day_usd: Option<Spanned<f64>>,
    pub turn_usd: Option<Spanned<f64>>,
    pub warn_percent: Option<Spanned<i64>>,
    pub timezone: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SecretRow {
    pub name: Text,
    pub env: Text,
    pub file: Text,
    pub command: Option<Vec<String>>,
    pub keyring: Option<KeyringRow>,
    pub workflows: Option<Vec<Spanned<String>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyringRow {
    pub service: String,
    pub account: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LordRow {
    pub enabled: Option<bool>,
    pub name: Text,
    pub project: Text,
    pub agent: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkflowsRow {
    pub triggers: Option<Vec<Spanned<String>>>,
    pub host_steps: Option<Spanned<i64>>,
    pub project_steps: Option<Spanned<i64>>,
    pub agent_steps: Option<Spanned<i64>>,
    pub open_runs: Option<Spanned<i64>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyRow {
    pub name: Text,
    pub effect: Text,
    pub reason: Option<String>,
    pub tool: Texts,
    pub command: Texts,
    pub path: Texts,
    pub project: Texts,
    pub session: Texts,
    pub hours: Text,
    pub days: Texts,
    pub zone: Text,
    pub catastrophic: Option<Spanned<bool>>,
}
