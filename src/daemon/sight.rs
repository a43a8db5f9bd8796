//! What the page of a session shows: asked of its holder, read from its folder, git or its recording.

use async_trait::async_trait;
use std::{fs, path::PathBuf, time::Duration};
use tokio::task::spawn_blocking;
use vigie_core::session::Session;
use vigie_dashboard::{
    session::{Changes, Recorded, Said, Talk, What},
    term::{Colour, Look, Run, Screen},
};

use crate::{
    hold::{
        client,
        protocol::{self, Picture},
    },
    looks::{self, Spoken, replay},
    sessions::{self, Ground},
    web::{Fetched, Printed, Reel, Sight},
};

/// Entries of a conversation on one page.
const ENTRIES: usize = 200;

/// Longest text of one of them, in bytes: a pasted log is not the conversation.
const LONGEST_TEXT: usize = 16 << 10;

/// What a terminal printed, where an agent writes no conversation down: its end, in bytes.
const LONGEST_PRINTED: usize = 64 << 10;

/// Largest file that a page hands out, in bytes: it is in memory meanwhile.
const LARGEST_FILE: u64 = 20_000_000;

pub(super) struct Seeing(pub(super) Ground);

impl Seeing {
    fn folder(&self, session: &Session) -> PathBuf {
        self.0.folder(session.id, session.run)
    }

    /// What takes as long as the disk does.
    async fn read<T: Send + 'static>(
        &self,
        session: &Session,
        read: impl FnOnce(PathBuf) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let folder = self.folder(session);
        spawn_blocking(move || read(folder)).await.map_err(|error| error.to_string())?
    }
}

#[async_trait]
impl Sight for Seeing {
    async fn screen(&self, session: &Session) -> Result<(Screen, u64), String> {
        let folder = self.folder(session);
        let picture = client::screen(&folder).await.map_err(|error| error.to_string())?;
        let printed = picture.printed;
        Ok((screen(picture), printed))
    }

    async fn printed(&self, session: &Session, from: u64) -> Result<Box<dyn Printed>, String> {
        let folder = self.folder(session);
        let signs = client::printed(&folder, from).await.map_err(|error| error.to_string())?;
        Ok(Box::new(Signs(signs)))
    }

    async fn keys(&self, session: &Session, bytes: Vec<u8>) -> Result<(), String> {
        let folder = self.folder(session);
        client::keys(&folder, bytes).await.map_err(|error| error.to_string())
    }

    async fn last_screen(&self, session: &Session) -> Result<Screen, String> {
        let read = |folder: PathBuf| replay::last(&folder).map_err(|error| unrecorded(&error));
        self.read(session, read).await.map(|picture| Screen { cursor: None, ..screen(picture) })
    }

    async fn above(&self, session: &Session) -> Result<Screen, String> {
        let read = |folder: PathBuf| replay::above(&folder).map_err(|error| unrecorded(&error));
        let (columns, rows) = self.read(session, read).await?;
        let rows = rows.into_iter().map(|row| row.into_iter().map(run).collect::<Vec<_>>());
        Ok(Screen { columns, rows: rows.collect(), cursor: None })
    }

    async fn recorded(&self, session: &Session) -> Result<Recorded, String> {
        let read = |folder: PathBuf| replay::length(&folder).map_err(|error| unrecorded(&error));
        let replay::Length { time, size } = self.read(session, read).await?;
        Ok(Recorded { length: time, columns: size.columns })
    }

    async fn frames(&self, session: &Session, from: Duration) -> Result<Reel, String> {
        let read = move |folder: PathBuf| {
            replay::frames(&folder, from).map_err(|error| unrecorded(&error))
        };
        let replay::Reel { frames, next } = self.read(session, read).await?;
        let frames = frames.into_iter().map(|frame| (frame.at, screen(frame.picture)));
        Ok(Reel { frames: frames.collect(), next })
    }

    async fn talk(&self, session: &Session, before: Option<usize>) -> Result<Talk, String> {
        let conversation = session.conversation.clone();
        let read = move |folder: PathBuf| {
            looks::talk(&folder, conversation.as_deref()).map_err(|error| error.to_string())
        };
        Ok(talk(self.read(session, read).await?, before))
    }

    async fn changes(&self, session: &Session) -> Result<Changes, String> {
        let looks::Changes { summary, text, cut } = sessions::changes(&self.0, session).await?;
        Ok(Changes { summary, text, cut })
    }

    async fn file(&self, session: &Session, path: String) -> Result<Fetched, String> {
        let copy = sessions::copy(&self.0, session, path, LARGEST_FILE).await?;
        let read = spawn_blocking(move || -> Result<Fetched, String> {
            let bytes = fs::read(&copy.path).map_err(|error| error.to_string());
            if let Err(error) = fs::remove_file(&copy.path) {
                tracing::warn!(reason = %error, "the copy of a file stays for some days");
            }
            Ok(Fetched { name: copy.name, bytes: bytes? })
        });
        read.await.map_err(|error| error.to_string())?
    }
}

struct Signs(client::Printed);

#[async_trait]
impl Printed for Signs {
    async fn more(&mut self) -> Option<()> {
        self.0.more().await
    }
}

fn unrecorded(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "nothing that it printed was recorded".into(),
        _ => format!("its recording cannot be read: {error}"),
    }
}

fn screen(picture: Picture) -> Screen {
    let Picture { size, cursor, rows, .. } = picture;
    let rows = rows.into_iter().map(|row| row.into_iter().map(run).collect::<Vec<_>>());
    Screen { columns: size.columns, rows: rows.collect(), cursor }
}

fn run(run: protocol::Run) -> Run {
    let protocol::Run { text, fg, bg, looks } = run;
    let looks = looks.into_iter().map(|look| match look {
        protocol::Look::Bold => Look::Bold,
        protocol::Look::Dim => Look::Dim,
        protocol::Look::Italic => Look::Italic,
        protocol::Look::Underline => Look::Underline,
        protocol::Look::Inverse => Look::Inverse,
    });
    Run { text, fg: colour(fg), bg: colour(bg), looks: looks.collect() }
}

fn colour(colour: protocol::Colour) -> Colour {
    match colour {
        protocol::Colour::Default => Colour::Default,
        protocol::Colour::Index { index } => Colour::Index(index),
        protocol::Colour::Rgb { r, g, b } => Colour::Rgb(r, g, b),
    }
}

/// Of a long conversation one page.
fn talk(spoken: Spoken, before: Option<usize>) -> Talk {
    match spoken {
        Spoken::Printed(text) => {
            let from = text.ceil_char_boundary(text.len().saturating_sub(LONGEST_PRINTED));
            Talk { printed: Some(text[from..].to_owned()), ..Talk::default() }
        }
        Spoken::Written(all) => {
            let count = all.said.len();
            let end = before.unwrap_or(count).min(count);
            let start = end.saturating_sub(ENTRIES);
            let mut came = all.came;
            let some = all.said.into_iter().enumerate().skip(start).take(end - start);
            let said = some.map(|(at, one)| said(one, came.remove(&at)));
            let unread = all.skipped.div_ceil(1 << 20);
            Talk { said: said.collect(), before: start, after: count - end, unread, printed: None }
        }
    }
}

fn said(said: looks::Said, came: Option<String>) -> Said {
    let what = match said.what {
        looks::What::Person { text } => What::Person(bounded(text)),
        looks::What::Mail { text } => What::Mail(bounded(text)),
        looks::What::Agent { text } => What::Agent(bounded(text)),
        looks::What::Tool { line } => What::Tool { line, came },
        looks::What::Note { line } => What::Note(line),
        looks::What::Subagent { lines } => What::Subagent(lines),
    };
    Said { at: said.at, what }
}

fn bounded(mut text: String) -> String {
    if text.len() > LONGEST_TEXT {
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        text.push_str("\n\n(the rest of this message is left out)");
    }
    text
}
