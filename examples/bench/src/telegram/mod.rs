//! What Telegram adds: the real program against a strict Telegram on loopback, beside the plainest
//! bot there can be.

mod answer;
mod asks;
mod claude;
mod echo;
mod faults;
mod forum;
mod idle;
mod kills;
mod talk;
mod turn;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    time::{Duration, Instant},
};
use telegram_emulator::{ADA, ChatId, Emulator, Moment, Shown, World};

use super::{
    home::{DEADLINE, Home},
    table::{Figure, p50_p95, p50_p95_against},
};

/// So that samples do not fall into step with anybody's timer, in milliseconds.
const APART: [u64; 5] = [3, 17, 41, 68, 97];

/// The demo agent, as it is shipped.
const DEMO: &str = "[[agent]]\nname = \"demo\"\nkind = \"demo\"\n\n";

/// What is measured of it, in this order; [`KILLS`] is apart because it takes long.
pub(crate) const PARTS: [&str; 7] =
    ["answer", "talk", "questions", "turn", "idle", "faults", "forum"];
pub(crate) const KILLS: &str = "kills";

/// `ours` plays the daemon where the agents are ours too, `vigie` is what is shipped.
pub(crate) async fn measure(
    part: &str,
    folder: &Path,
    (ours, vigie): (&Path, &Path),
    seeds: u64,
) -> Result<Vec<Figure>> {
    match part {
        "answer" => answer::measure(folder, ours).await,
        "idle" => idle::measure(folder, vigie).await,
        "faults" => faults::measure(folder, vigie).await,
        "forum" => forum::measure(folder, ours).await,
        KILLS => kills::measure(folder, vigie, seeds).await,
        with_claude => {
            let Some(claude) = claude::program() else { return Ok(Vec::new()) };
            match with_claude {
                "talk" => talk::measure(folder, vigie, &claude).await,
                "questions" => asks::measure(folder, vigie, &claude).await,
                _ => turn::measure(folder, vigie, &claude).await,
            }
        }
    }
}

/// A daemon whose owner is Ada, on Telegram.
pub(crate) struct Town {
    pub(crate) home: Home,
    pub(crate) emulator: Emulator,
    /// One moment by both clocks.
    began: (Instant, Moment),
}

impl Town {
    /// The daemon is not started yet.
    pub(crate) fn new(folder: &Path, program: &Path, world: World, agents: &str) -> Result<Self> {
        let emulator = Emulator::start(World { patience: DEADLINE, ..world });
        let telegram =
            format!("{agents}[telegram]\nenabled = true\napi = \"{}\"\n", emulator.url());
        let mut home = Home::new(folder, program, &telegram)?;
        home.env.push(("VIGIE_DEMO_PACE", "1".into()));
        fs::create_dir_all(home.data())?;
        let token = home.data().join("telegram.token");
        fs::write(&token, emulator.token())?;
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600))?;
        let began = (Instant::now(), emulator.clock().now());
        Ok(Self { home, emulator, began })
    }

    /// With Ada let in, in this chat.
    pub(crate) async fn open(
        folder: &Path,
        program: &Path,
        agents: &str,
        chat: ChatId,
    ) -> Result<Self> {
        let mut town = Self::new(folder, program, World::default(), agents)?;
        town.home.up().await?;
        town.pair(chat).await?;
        Ok(town)
    }

    pub(crate) async fn pair(&self, chat: ChatId) -> Result<()> {
        let paired: Value = self.home.desk().post("/pair", &json!({})).await?;
        let code = paired["code"].as_str().context("the desk gives no code")?;
        self.emulator.send(chat, ADA, &format!("/pair {code}")).now();
        self.emulator.wait_message(chat, None, "You are Inès Caradec here").await;
        Ok(())
    }

    /// Opens a session and waits until it is idle.
    pub(crate) async fn session(&self, name: &str, agent: &str) -> Result<()> {
        self.home.open_session(name, agent).await?;
        self.home.session_is(name, &["idle"]).await
    }

    /// The emulator's time by our clock.
    pub(crate) fn at(&self, moment: Moment) -> Instant {
        self.began.0 + moment.saturating_sub(self.began.1)
    }

    /// When the phone showed what `shown` says now.
    pub(crate) fn seen_at(&self, shown: &Shown) -> Instant {
        self.at(shown.versions.last().map_or(shown.at, |before| before.until))
    }
}

fn ms(from: Instant, to: Instant) -> f64 {
    let late = to.saturating_duration_since(from).as_secs_f64();
    let early = from.saturating_duration_since(to).as_secs_f64();
    (late - early) * 1000.
}

/// Whether a call counts for flood control: whatever puts or changes a message, and what a topic
/// says of itself.
fn counts(method: &str) -> bool {
    let sends = method.starts_with("send") && !matches!(method, "sendChatAction");
    sends || method.starts_with("editMessage") || method.ends_with("ForumTopic")
}

/// A wait that is the plan itself, and no wait for something.
async fn rest(long: Duration) {
    tokio::time::sleep(long).await;
}
