//! Limits and lost logins of the real Claude Code, the whole way: its hook, the holder, the daemon, the
//! phone. Without `VIGIE_TEST_CLAUDE` they do not run.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod claude;
    pub(crate) mod home;
    pub(crate) mod phone;
}

use scripted_model::Model;
use serde_json::{Value, json};
use std::{
    process::Command,
    time::{Duration, Instant},
};
use support::{
    claude,
    home::{DEADLINE, Home},
    phone::Phone,
};

fn vigie_up(home: &Home) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vigie"));
    command
        .args(["up", "--no-link", "--home"])
        .arg(home.data())
        .arg("--config")
        .arg(home.settings());
    command
}

/// A daemon whose agent is Claude Code, logged in to a plan as a person would be.
struct Stage {
    home: Home,
    model: Model,
    phone: Phone,
}

impl Stage {
    async fn open() -> Option<Self> {
        let program = claude::program()?;
        let model = Model::start().await.unwrap();
        let mut home = Home::new(vigie_up);
        let agent = claude::agent(&home, &model, &program, "cc", "default");
        let key = "ANTHROPIC_API_KEY = \"test-key\"";
        assert!(agent.contains(key), "{agent}");
        let agent = agent.replace(key, "CLAUDE_CODE_OAUTH_TOKEN = \"test-token\"");
        home.configure(&format!("{agent}account = \"team\"\n"));
        home.up().await;
        let phone = home.phone().await;
        Some(Self { home, model, phone })
    }

    async fn starts(&self, name: &str) {
        let body = json!({ "name": name, "agent": "cc" });
        let _: Value = self.home.desk().post("/sessions", &body).await.unwrap();
        self.home.session_is(name, "idle").await;
    }

    async fn tells(&self, name: &str, text: &str) {
        let path = format!("/sessions/{name}/send");
        let _: Value = self.home.desk().post(&path, &json!({ "text": text })).await.unwrap();
    }

    /// Waits for what the session itself said; what was written to it at the desk stands in the chat as well.
    async fn answers(&self, name: &str, words: &str) {
        self.phone.shows(words, |message| said(message, name, words)).await;
    }

    async fn answered(&self, name: &str, words: &str) -> usize {
        let all = self.phone.try_messages().await.unwrap();
        all.iter().filter(|message| said(message, name, words)).count()
    }

    async fn screen_shows(&self, name: &str, words: &str) {
        let end = Instant::now() + DEADLINE;
        loop {
            let path = format!("/sessions/{name}/screen");
            let screen: Value = self.home.desk().get(&path).await.unwrap();
            if screen["lines"].to_string().contains(words) {
                return;
            }
            assert!(Instant::now() < end, "{name} does not show `{words}`: {screen:#}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn retries(&self) {
        let done: Value =
            self.home.desk().post("/accounts/retry", &json!({ "account": "team" })).await.unwrap();
        assert_eq!(done["words"], "Trying team again; what waits goes in now.");
    }
}

fn said(message: &Value, name: &str, words: &str) -> bool {
    message["what"]["from"] == name && support::phone::plain(message).contains(words)
}

#[tokio::test]
async fn what_a_limit_cuts_off_goes_on_after_its_reset_and_nothing_is_lost() {
    let Some(mut stage) = Stage::open().await else { return };
    stage.starts("PD-285").await;
    stage.starts("PD-286").await;
    stage.tells("PD-285", "first => limited 20 say the tide is in").await;
    let limited = stage.home.session_is("PD-285", "limited").await;
    let until = limited["detail"].as_str().unwrap();
    assert!(until.starts_with("team is at its usage limit until "), "{limited}");
    // It would go on by itself, past whatever was said meanwhile: that is taken back.
    stage.screen_shows("PD-285", "Automatic continue cancelled").await;
    stage.tells("PD-286", "second => say the tide is out").await;
    stage.tells("PD-285", "third => say the boats are up").await;
    stage.home.session_is("PD-286", "limited").await;
    stage.phone.hears("PD-285 (cut off, 1 message waits), PD-286 (1 message waits)").await;
    assert_eq!(stage.phone.count("You've hit your").await, 1);
    assert_eq!(stage.model.heard_times("second =>"), 0, "it costs nobody a request");
    // The daemon dies, and what waits does not.
    stage.home.kill();
    stage.home.up().await;
    stage.phone = stage.home.phone().await;
    let answers = [
        ("PD-285", "the tide is in"),
        ("PD-286", "the tide is out"),
        ("PD-285", "the boats are up"),
    ];
    for (name, words) in answers {
        stage.answers(name, words).await;
        assert_eq!(stage.answered(name, words).await, 1, "{words}");
    }
    stage.phone.hears("team was at its usage limit from").await;
    assert_eq!(stage.phone.count("at its usage limit").await, 1, "one message in all");
    assert_eq!(stage.model.heard_times("usage limit has reset"), 0, "by Vigie's word alone");
    stage.home.session_is("PD-285", "idle").await;
}

#[tokio::test]
async fn a_login_that_is_lost_is_said_and_what_waits_goes_on_when_it_is_back() {
    let Some(stage) = Stage::open().await else { return };
    stage.starts("PD-285").await;
    stage.tells("PD-285", "first => locked say the gate is open").await;
    stage.phone.hears("team is not logged in any more").await;
    stage.phone.hears("At the desk: vigie attach PD-285").await;
    stage.tells("PD-285", "second => say and closed again").await;
    let session = stage.home.session_is("PD-285", "limited").await;
    assert_eq!(session["detail"], "team is not logged in", "{session}");
    assert_eq!(session["queued"], 1);
    stage.model.unlock();
    stage.retries().await;
    for words in ["the gate is open", "and closed again"] {
        stage.answers("PD-285", words).await;
        assert_eq!(stage.answered("PD-285", words).await, 1, "{words}");
    }
}
