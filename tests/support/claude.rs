//! The real Claude Code as an agent of a daemon, its first questions answered, against a scripted
//! model.

use scripted_model::Model;
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
};

use super::home::Home;

/// The program to test, or a word on why there is none.
#[expect(clippy::print_stderr, reason = "a story that does not run has to say so")]
pub(crate) fn program() -> Option<PathBuf> {
    let program = std::env::var_os("VIGIE_TEST_CLAUDE").map(PathBuf::from);
    if program.is_none() {
        let why = "not run: VIGIE_TEST_CLAUDE does not name a Claude Code program; `cargo xtask test` sets it";
        assert!(std::env::var_os("CI").is_none(), "{why}");
        eprintln!("{why}");
    }
    program
}

/// What the configuration says of an agent of that name that asks as `mode` does.
pub(crate) fn agent(home: &Home, model: &Model, program: &Path, name: &str, mode: &str) -> String {
    let folder = home.data().parent().unwrap().to_owned();
    let config = folder.join("claude");
    fs::create_dir_all(&config).unwrap();
    let state = json!({
        "hasCompletedOnboarding": true, "theme": "dark", "hasSeenAutoDefaultNotice": true,
        "customApiKeyResponses": { "approved": ["test-key"], "rejected": [] },
        "projects": { home.project().display().to_string(): { "hasTrustDialogAccepted": true } },
    });
    fs::write(config.join(".claude.json"), state.to_string()).unwrap();
    let [folder, config] = [folder, config].map(|path| path.display().to_string());
    let program = program.display();
    format!(
        "\n[[agent]]\nname = {name:?}\nkind = \"claude\"\nprogram = \"{program}\"\npermission_mode = {mode:?}\n\
         env = {{ HOME = {folder:?}, CLAUDE_CONFIG_DIR = {config:?}, ANTHROPIC_BASE_URL = {url:?}, ANTHROPIC_API_KEY = \"test-key\", \
         CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = \"1\", CLAUDE_CODE_MAX_RETRIES = \"0\" }}\n",
        url = model.url
    )
}
