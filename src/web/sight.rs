//! What the page of a session shows of it beyond what the core knows, and what is typed into it: what
//! the web part needs of holders and of what lies on the disk. `daemon` fills it in.

use async_trait::async_trait;
use std::time::Duration;
use vigie_core::session::Session;
use vigie_dashboard::{
    session::{Changes, Recorded, Talk},
    term::Screen,
};

/// Everything that fails is a sentence for a person.
#[async_trait]
pub trait Sight: Send + Sync {
    /// The screen as it is, and how many bytes were printed by then.
    async fn screen(&self, session: &Session) -> Result<(Screen, u64), String>;

    /// Signs that more than so many bytes were printed.
    async fn printed(&self, session: &Session, from: u64) -> Result<Box<dyn Printed>, String>;

    /// Types into its terminal; returns when it is in there.
    async fn keys(&self, session: &Session, bytes: Vec<u8>) -> Result<(), String>;

    /// The last screen of one that is over.
    async fn last_screen(&self, session: &Session) -> Result<Screen, String>;

    /// What went off the top of the screen, the newest part.
    async fn above(&self, session: &Session) -> Result<Screen, String>;

    async fn recorded(&self, session: &Session) -> Result<Recorded, String>;

    /// What was shown from a moment of the recording on, one part of it.
    async fn frames(&self, session: &Session, from: Duration) -> Result<Reel, String>;

    /// What was said; `before`: what stands before the entry of that number, else the newest.
    async fn talk(&self, session: &Session, before: Option<usize>) -> Result<Talk, String>;

    /// What changed in its folder since the last commit.
    async fn changes(&self, session: &Session) -> Result<Changes, String>;

    /// A file of its folder.
    async fn file(&self, session: &Session, path: String) -> Result<Fetched, String>;
}

/// Tells when a program prints.
#[async_trait]
pub trait Printed: Send {
    /// Returns when something was printed; `None`: nothing more is told.
    async fn more(&mut self) -> Option<()>;
}

/// Some of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reel {
    pub frames: Vec<(Duration, Screen)>,
    /// Where it goes on.
    pub next: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    pub name: String,
    pub bytes: Vec<u8>,
}
