//! The real Claude Code as an agent of a daemon, its first questions answered, against a scripted
//! model.
#![allow(dead_code, reason = "each test file uses its part")]

use scripted_model::Model;
use serde_json::{Map, json};
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
    trust(home, &[home.project()]);
    let program = program.display();
    let env = environment(home, model).map(|(name, value)| format!("{name} = {value:?}"));
    format!(
        "\n[[agent]]\nname = {name:?}\nkind = \"claude\"\nprogram = \"{program}\"\npermission_mode = {mode:?}\n\
         env = {{ {} }}\n",
        env.join(", ")
    )
}

/// A home of its own, and the model in the place of the service.
pub(crate) fn environment(home: &Home, model: &Model) -> [(&'static str, String); 6] {
    [
        ("HOME", home.folder("").display().to_string()),
        ("CLAUDE_CONFIG_DIR", home.folder("claude").display().to_string()),
        ("ANTHROPIC_BASE_URL", model.url.clone()),
        ("ANTHROPIC_API_KEY", "test-key".into()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
        ("CLAUDE_CODE_MAX_RETRIES", "0".into()),
    ]
}

/// Answers the program's first questions; it may work in these folders.
pub(crate) fn trust(home: &Home, folders: &[PathBuf]) {
    let trusted = |folder: &PathBuf| {
        (folder.display().to_string(), json!({ "hasTrustDialogAccepted": true }))
    };
    let projects: Map<_, _> = folders.iter().map(trusted).collect();
    let state = json!({
        "hasCompletedOnboarding": true, "theme": "dark", "hasSeenAutoDefaultNotice": true,
        "customApiKeyResponses": { "approved": ["test-key"], "rejected": [] },
        "projects": projects,
    });
    let config = home.folder("claude");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join(".claude.json"), state.to_string()).unwrap();
}
