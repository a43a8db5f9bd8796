//! What a person sees on the phone.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write as _},
};

use serde_json::Value;

use crate::Verification;

/// Everything on the phone.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// By their ids.
    pub rooms: BTreeMap<String, Room>,
    /// By their ids, newest state.
    pub verifications: BTreeMap<String, Verification>,
    /// What others sent that a correct client never sends.
    pub defects: Vec<String>,
    /// What went wrong between the phone and the server.
    pub trouble: Vec<String>,
    /// Why the phone's program ended, once it has.
    pub ended: Option<String>,
}

impl View {
    /// The newest message with that id, wherever it is.
    pub fn message(&self, room: &str, id: &str) -> Option<&Message> {
        self.rooms.get(room)?.message(id)
    }

    /// All that cannot be read, as `room: sender`.
    pub fn unreadable(&self) -> Vec<String> {
        let all =
            self.rooms.values().flat_map(|room| room.messages.iter().map(move |one| (room, one)));
        all.filter(|(_, message)| message.kind == Kind::Unreadable)
            .map(|(room, message)| format!("{}: {} of {}", room.id, message.id, message.sender))
            .collect()
    }

    /// The rooms of a space.
    pub fn children(&self, space: &str) -> Vec<&Room> {
        let children = self.rooms.get(space).into_iter().flat_map(|room| &room.children);
        children.filter_map(|id| self.rooms.get(id)).collect()
    }
}

/// How somebody stands to a room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Membership {
    /// May come in.
    Invited,
    /// Is in.
    Joined,
    /// Is out: left, kicked or banned.
    #[default]
    Left,
}

/// A room or a space.
#[derive(Clone, Debug, Default)]
pub struct Room {
    /// Its id.
    pub id: String,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its topic, where it has one.
    pub topic: Option<String>,
    /// How the phone's person stands to it.
    pub membership: Membership,
    /// Who invited the phone's person.
    pub invited_by: Option<String>,
    /// The invitation says that it is for the two of them.
    pub is_direct: bool,
    /// Messages in it are to be sealed.
    pub encrypted: bool,
    /// It is a space.
    pub is_space: bool,
    /// The rooms of the space.
    pub children: BTreeSet<String>,
    /// The room that took its place.
    pub successor: Option<String>,
    /// Everybody who is or was in it.
    pub members: BTreeMap<String, Membership>,
    /// What was written, in the server's order.
    pub messages: Vec<Message>,
    /// Who is typing.
    pub typing: BTreeSet<String>,
    /// Who has read up to which event.
    pub read: BTreeSet<(String, String)>,
    pub(crate) defects: Vec<String>,
}

impl Room {
    /// The message with that id.
    pub fn message(&self, id: &str) -> Option<&Message> {
        self.messages.iter().find(|message| message.id == id)
    }

    /// The messages of a thread, without the one it hangs on.
    pub fn thread<'a>(&'a self, root: &'a str) -> impl DoubleEndedIterator<Item = &'a Message> {
        self.messages.iter().filter(move |message| message.thread.as_deref() == Some(root))
    }

    /// The newest message with those words in it, from anybody but `user`.
    pub fn newest_with(&self, words: &str, user: &str) -> Option<&Message> {
        self.messages.iter().rev().find(|message| message.sender != user && message.says(words))
    }
}

/// What a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What a person writes.
    Text,
    /// What a program writes.
    Notice,
    /// A picture.
    Image,
    /// Any other file.
    File,
    /// A poll.
    Poll,
    /// Sealed with a key that the phone does not have.
    Unreadable,
    /// Anything else, by the name of its type.
    Other(String),
}

/// A message as the phone shows it: edits applied.
#[derive(Clone, Debug)]
pub struct Message {
    /// The event it is.
    pub id: String,
    /// Who wrote it.
    pub sender: String,
    /// When, as the server says: milliseconds since 1970.
    pub at: u64,
    /// What it is.
    pub kind: Kind,
    /// The plain text.
    pub body: String,
    /// The HTML, where there is one.
    pub html: Option<String>,
    /// The event that its thread hangs on.
    pub thread: Option<String>,
    /// The message it replies to; none where that only stands in for a thread.
    pub reply_to: Option<String>,
    /// Who is told in particular.
    pub mentions: BTreeSet<String>,
    /// Everybody is told in particular.
    pub mentions_room: bool,
    /// Everybody's reactions.
    pub reactions: Vec<Reaction>,
    /// It was taken back.
    pub redacted: bool,
    /// It came sealed.
    pub sealed: bool,
    /// The device that sealed it.
    pub sealed_by: Option<String>,
    /// The attached file.
    pub file: Option<File>,
    /// The poll.
    pub poll: Option<Poll>,
    /// What it was before each edit, oldest first.
    pub versions: Vec<Version>,
    pub(crate) edited_at: u64,
}

impl Message {
    /// Whether the words are in it, and it was not taken back.
    pub fn says(&self, words: &str) -> bool {
        !self.redacted && self.body.contains(words)
    }

    /// Whether somebody reacted so. Variation selectors and skin tones make no difference.
    pub fn has_reaction(&self, by: &str, key: &str) -> bool {
        self.reactions.iter().any(|one| one.by == by && bare(&one.key) == bare(key))
    }
}

/// An emoji without what varies its looks.
fn bare(key: &str) -> String {
    let varies =
        |letter: char| letter == '\u{FE0F}' || ('\u{1F3FB}'..='\u{1F3FF}').contains(&letter);
    key.chars().filter(|letter| !varies(*letter)).collect()
}

/// Somebody's reaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reaction {
    /// The event it is.
    pub id: String,
    /// Whose.
    pub by: String,
    /// The emoji.
    pub key: String,
}

/// A file of a message; [`crate::Phone::download`] fetches and opens it.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// The name.
    pub name: String,
    /// The type.
    pub mime: Option<String>,
    /// The size that the sender says, in bytes.
    pub size: Option<u64>,
    /// Its bytes are sealed too.
    pub sealed: bool,
    pub(crate) content: Value,
}

/// A poll and who voted for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poll {
    /// The question.
    pub question: String,
    /// Id and words of each answer.
    pub answers: Vec<(String, String)>,
    /// The last vote of each.
    pub votes: BTreeMap<String, Vec<String>>,
    /// Nobody votes any more.
    pub closed: bool,
    /// The stable names of the events are used.
    pub stable: bool,
}

/// What a message was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The plain text.
    pub body: String,
    /// The HTML.
    pub html: Option<String>,
}

/// For a test that failed: what is on the phone.
impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for room in self.rooms.values() {
            write!(f, "{room}")?;
        }
        for verification in self.verifications.values() {
            writeln!(f, "{verification:?}")?;
        }
        for (what, all) in [("defect", &self.defects), ("trouble", &self.trouble)] {
            all.iter().try_for_each(|one| writeln!(f, "{what}: {one}"))?;
        }
        self.ended.iter().try_for_each(|why| writeln!(f, "the phone's program ended: {why}"))
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_deref().unwrap_or("(no name)");
        let lock = if self.encrypted { " sealed" } else { "" };
        let kind = if self.is_space { "space" } else { "room" };
        writeln!(f, "{:?} {kind}{lock} {name} {} {:?}", self.membership, self.id, self.members)?;
        for child in &self.children {
            writeln!(f, "  holds {child}")?;
        }
        self.messages.iter().try_for_each(|message| writeln!(f, "  {message}"))
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut about = String::new();
        if let Some(root) = &self.thread {
            write!(about, " in {root}")?;
        }
        if let Some(to) = &self.reply_to {
            write!(about, " to {to}")?;
        }
        if self.redacted {
            about.push_str(" taken back");
        }
        if !self.versions.is_empty() {
            write!(about, " edited {}x", self.versions.len())?;
        }
        for reaction in &self.reactions {
            write!(about, " {}", reaction.key)?;
        }
        write!(f, "{} {} {:?}{about}: {}", self.id, self.sender, self.kind, self.body)
    }
}
