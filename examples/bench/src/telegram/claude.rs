//! The real Claude Code: in a session, and in a terminal of its own.

use anyhow::{Context, Result};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use scripted_model::Model;
use serde_json::json;
use std::{
    env, fs,
    io::{Read as _, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};
use tokio::{sync::watch, time::timeout};

use super::{super::home::quoted, DEADLINE};

/// A terminal that was silent for so long has drawn what it draws.
const DRAWN: Duration = Duration::from_millis(700);

/// The program, or what is left out without it.
#[expect(clippy::print_stderr, reason = "rows that are left out are said")]
pub(super) fn program() -> Option<PathBuf> {
    let program = env::var_os("VIGIE_TEST_CLAUDE").map(PathBuf::from);
    if program.is_none() {
        eprintln!(
            "bench: VIGIE_TEST_CLAUDE names no Claude Code, so what is measured with it is left out; \
             `cargo xtask bench` fetches it"
        );
    }
    program
}

/// A throw-away home of Claude Code's in which every first question is answered.
pub(super) struct Setting {
    folder: PathBuf,
    program: PathBuf,
    env: Vec<(&'static str, String)>,
}

impl Setting {
    pub(super) fn new(folder: &Path, program: &Path, model: &Model) -> Result<Self> {
        let config = folder.join("claude");
        fs::create_dir_all(&config)?;
        let env = vec![
            ("HOME", text(folder)),
            ("CLAUDE_CONFIG_DIR", text(&config)),
            ("ANTHROPIC_BASE_URL", model.url.clone()),
            ("ANTHROPIC_API_KEY", "test-key".into()),
            ("DISABLE_TELEMETRY", "1".into()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
            ("CLAUDE_CODE_MAX_RETRIES", "0".into()),
        ];
        let setting = Self { folder: folder.into(), program: program.into(), env };
        let trusted = json!({ "hasTrustDialogAccepted": true });
        let state = json!({
            "hasCompletedOnboarding": true, "theme": "dark", "hasSeenAutoDefaultNotice": true,
            "customApiKeyResponses": { "approved": ["test-key"], "rejected": [] },
            "projects": {
                text(&setting.project()): trusted,
                text(&setting.bare()): trusted,
            },
        });
        fs::create_dir_all(setting.bare())?;
        fs::write(config.join(".claude.json"), state.to_string())?;
        Ok(setting)
    }

    /// Where the sessions work, as `Home` makes it.
    fn project(&self) -> PathBuf {
        self.folder.join("quay")
    }

    fn bare(&self) -> PathBuf {
        self.folder.join("bare")
    }

    /// The agent `cc` of the configuration.
    pub(super) fn agent(&self) -> String {
        let env: Vec<String> =
            self.env.iter().map(|(name, value)| format!("{name} = {}", json!(value))).collect();
        format!(
            "[[agent]]\nname = \"cc\"\nkind = \"claude\"\nprogram = {}\npermission_mode = \"default\"\nenv = {{ {} }}\n\n",
            quoted(&self.program),
            env.join(", ")
        )
    }

    /// The same program in a bare terminal, at its prompt.
    pub(super) async fn terminal(&self) -> Result<Terminal> {
        let size = PtySize { rows: 32, cols: 100, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size)?;
        let mut command = CommandBuilder::new(&self.program);
        command.args(["--permission-mode", "default"]);
        command.cwd(self.bare());
        command.env("TERM", "xterm-256color");
        for (name, value) in &self.env {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command)?;
        let mut reader = pair.master.try_clone_reader()?;
        let (sender, printed) = watch::channel(Printed { bytes: Vec::new(), at: Instant::now() });
        thread::spawn(move || {
            let mut bytes = [0; 8192];
            while let Ok(count) = reader.read(&mut bytes)
                && count > 0
            {
                sender.send_modify(|printed| {
                    printed.bytes.extend_from_slice(&bytes[..count]);
                    printed.at = Instant::now();
                });
            }
        });
        let keys = pair.master.take_writer()?;
        let mut terminal = Terminal { keys, child, printed, _master: pair.master };
        terminal.drawn().await?;
        Ok(terminal)
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// All that came out of a terminal, and when the last of it did.
struct Printed {
    bytes: Vec<u8>,
    at: Instant,
}

/// Claude Code in a terminal without anything around it.
pub(super) struct Terminal {
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    printed: watch::Receiver<Printed>,
    _master: Box<dyn MasterPty + Send>,
}

impl Terminal {
    /// Pastes and presses Enter, with nothing between.
    pub(super) fn paste(&mut self, text: &str) -> Result<()> {
        self.press(&format!("\x1b[200~{text}\x1b[201~\r"))
    }

    pub(super) fn press(&mut self, keys: &str) -> Result<()> {
        self.keys.write_all(keys.as_bytes())?;
        Ok(self.keys.flush()?)
    }

    /// How much it has printed so far.
    pub(super) fn length(&self) -> usize {
        self.printed.borrow().bytes.len()
    }

    /// Waits until it has printed `word` after the first `from` bytes; gives when. A word, because
    /// the cursor may move between two.
    pub(super) async fn prints(&mut self, word: &str, from: usize) -> Result<Instant> {
        let has = |printed: &Printed| {
            let mut parts = printed.bytes.get(from..).unwrap_or_default().windows(word.len());
            parts.any(|part| part == word.as_bytes())
        };
        let printed = timeout(DEADLINE, self.printed.wait_for(has)).await;
        Ok(printed.with_context(|| format!("`{word}` is never printed"))??.at)
    }

    /// Waits until it has printed something and then nothing more for a while.
    pub(super) async fn drawn(&mut self) -> Result<()> {
        let drawn = async {
            self.printed
                .wait_for(|printed| !printed.bytes.is_empty())
                .await
                .context("Claude Code is gone")?;
            while let Ok(changed) = timeout(DRAWN, self.printed.changed()).await {
                changed.context("Claude Code is gone")?;
            }
            anyhow::Ok(())
        };
        timeout(DEADLINE, drawn).await.context("Claude Code never rests")?
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may be gone already
        let _ = self.child.wait();
    }
}
