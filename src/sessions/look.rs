//! Fetches what a person asks to see of a session, and tells the hub what was found.

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};
use tokio::{process::Command, task::spawn_blocking};
use tracing::warn;
use vigie_core::{
    bridge::{FilePost, Files, Media, Place},
    decide::{Event, LookAt, Looked, LookedForm},
    session::Session,
};

use super::{Ground, Sessions};
use crate::{clock::Clock, confine::Task, hold::client, looks};

/// Largest file that is sent, in bytes. Source: Bot API, "Sending files", 50 MB.
const LARGEST: u64 = 50_000_000;

/// Largest file that goes to a service which takes no files but text, in bytes.
const LARGEST_TEXT: u64 = 200_000;

/// What was made to be sent is kept for so long: longer than any service is away.
const KEPT: Duration = Duration::from_hours(7 * 24);

impl Sessions {
    /// Does not wait: what is found is told to the hub.
    pub fn look(&self, session: Session, at: LookAt, files: Files, place: Place) {
        let (ground, hub) = (self.ground.clone(), self.hub.clone());
        self.tasks.start("look", move |_| async move {
            let found = find(&ground, &session, at, files).await;
            hub.tell(Event::Looked { session: session.id, place, found }).await;
        });
    }
}

/// Removes what was made to be sent long ago.
pub fn tidy(ground: &Ground, clock: &Clock) {
    let now = SystemTime::from(clock.now());
    let entries = fs::read_dir(ground.outgoing()).into_iter().flatten().flatten();
    let old = entries.filter(|entry| {
        let made = entry.metadata().and_then(|meta| meta.modified());
        made.is_ok_and(|made| now.duration_since(made).is_ok_and(|age| age > KEPT))
    });
    for entry in old {
        if let Err(error) = fs::remove_file(entry.path()) {
            warn!(reason = %error, "an old file that was sent could not be removed");
        }
    }
}

async fn find(ground: &Ground, session: &Session, at: LookAt, files: Files) -> Looked {
    let found = match at {
        LookAt::Screen => screen(ground, session, files).await,
        LookAt::Diff => diff(ground, session).await,
        LookAt::Transcript => transcript(ground, session).await,
        LookAt::File { path } => file(ground, session, path, files).await,
    };
    found.unwrap_or_else(|why| Looked::Nothing { why: sentence(&why) })
}

/// As a person reads it: with a capital letter and a full stop.
fn sentence(why: &str) -> String {
    let mut letters = why.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

async fn screen(ground: &Ground, session: &Session, files: Files) -> Result<Looked, String> {
    let folder = ground.folder(session.id, session.run);
    let screen = client::screen(&folder)
        .await
        .map_err(|error| format!("the screen cannot be read: {error}"))?;
    let lines = screen.lines.clone();
    if files == Files::TextOnly {
        return Ok(Looked::Screen { lines, picture: None });
    }
    let outgoing = ground.outgoing();
    let (name, printed) = (session.name.to_string(), screen.printed);
    let drawn = spawn_blocking(move || {
        let shot = looks::picture(&screen).map_err(|error| error.to_string())?;
        let path = outgoing.join(format!("{name}-screen-{printed}.png"));
        write(&path, &shot.png).map_err(|error| error.to_string())?;
        let about = shot.left_out.unwrap_or_else(|| "Its screen".into());
        Ok::<_, String>((path, about))
    });
    let picture = match drawn.await.map_err(|error| error.to_string()).flatten() {
        Ok((path, about)) => Some(FilePost {
            path: path.to_string_lossy().into_owned(),
            name: format!("{}-screen.png", session.name),
            media: Media::Picture,
            about,
        }),
        // The lines say the same.
        Err(reason) => {
            warn!(session = %session.id, reason, "no picture of a screen was made");
            None
        }
    };
    Ok(Looked::Screen { lines, picture })
}

/// Writes a file of ours anew; an older one of that name is of the same screen.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}

/// What changed in a session's folder since the last commit; git runs as confined as its agent.
///
/// # Errors
/// A sentence that says why there is nothing to show.
pub async fn changes(ground: &Ground, session: &Session) -> Result<looks::Changes, String> {
    let cwd = Path::new(&session.cwd);
    let config = &ground.config;
    let agent = config.agents.iter().find(|agent| agent.name == session.agent);
    let project = config.projects.iter().find(|project| project.name == session.project);
    let folders: Vec<&Path> =
        project.map(|project| project.path.as_path()).into_iter().chain([cwd]).collect();
    let confinement = match agent {
        Some(agent) => ground.confinement(agent, &folders).map_err(|error| error.to_string())?,
        None => None,
    };
    let start = |folder: &Path, arguments: &[String]| match &confinement {
        Some(confinement) => {
            let task = Task::new(confinement.clone(), folder, "git", arguments);
            let mut command = Command::new(&ground.binary);
            command.args(task.arguments());
            command
        }
        None => looks::unconfined(folder, arguments),
    };
    looks::diff(cwd, &start).await.map_err(|error| error.to_string())
}

async fn diff(ground: &Ground, session: &Session) -> Result<Looked, String> {
    let changes = changes(ground, session).await?;
    Ok(Looked::Text {
        about: changes.summary,
        text: changes.text,
        name: format!("{}-diff", session.name),
        form: LookedForm::Diff,
    })
}

/// A copy of a file of a session's folder, of at most `most` bytes; who asks for it removes it.
///
/// # Errors
/// A sentence that says why it is not handed out.
pub async fn copy(
    ground: &Ground,
    session: &Session,
    asked: String,
    most: u64,
) -> Result<looks::Copy, String> {
    let (folder, outgoing) = (PathBuf::from(&session.cwd), ground.outgoing());
    let copied = spawn_blocking(move || looks::file(&folder, &asked, most, &outgoing));
    copied.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

async fn file(
    ground: &Ground,
    session: &Session,
    asked: String,
    files: Files,
) -> Result<Looked, String> {
    let most = match files {
        Files::Taken => LARGEST,
        Files::TextOnly => LARGEST_TEXT,
    };
    let copy = copy(ground, session, asked, most).await?;
    let about = copy.name.clone();
    match files {
        Files::Taken => Ok(Looked::File(FilePost {
            path: copy.path.to_string_lossy().into_owned(),
            name: copy.name,
            media: Media::File,
            about,
        })),
        Files::TextOnly => {
            let text = fs::read_to_string(&copy.path).map_err(|_| {
                format!("{} is no text, and nothing else can be shown here", copy.name)
            })?;
            Ok(Looked::Text { about, text, name: copy.name, form: LookedForm::Plain })
        }
    }
}

async fn transcript(ground: &Ground, session: &Session) -> Result<Looked, String> {
    let folder = ground.folder(session.id, session.run);
    let conversation = session.conversation.clone();
    let read = spawn_blocking(move || looks::transcript(&folder, conversation.as_deref()));
    let said = read.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    let about = match said.source {
        looks::Source::Conversation => "What was said".to_owned(),
        looks::Source::Recording => "What its terminal printed".to_owned(),
    };
    Ok(Looked::Text {
        about: [about].into_iter().chain(said.left_out).collect::<Vec<_>>().join(". "),
        text: said.markdown,
        name: format!("{}-transcript", session.name),
        form: LookedForm::Document,
    })
}
