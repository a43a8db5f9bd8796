use rusqlite::{Connection, OptionalExtension, Row, params};
use vigie_core::bridge::{Body, CardState, Level, Mark, Post};

use super::{StoreError, parse};

/// A message as it lies in the log.
pub(crate) struct MessageRow {
    pub(crate) id: i64,
    pub(crate) thread: i64,
    /// Threads of sessions that were told it from here.
    pub(crate) also: Vec<i64>,
    pub(crate) content: Content,
    pub(crate) reply_to: Option<i64>,
    pub(crate) created: i64,
    pub(crate) edited: Option<i64>,
    pub(crate) seq: i64,
}

pub(crate) enum Content {
    /// Said by Vigie.
    Post(Box<Post>),
    /// Written by a person.
    Text {
        author: String,
        name: String,
        text: String,
        client: String,
        mark: Option<Mark>,
        aside: Option<String>,
    },
    /// The service's own words about itself.
    Notice(String),
}

pub(super) const COLUMNS: &str = "id, thread, kind, body, author, author_name, client, reply_to, mark, aside, created, edited, seq,
    (select json_group_array(told.thread) from told where told.message = message.id)";

/// The columns as they are, before any of them is understood.
pub(super) struct Raw {
    pub(super) row: (i64, i64, Option<i64>, i64, Option<i64>, i64),
    kind: String,
    body: String,
    author: Option<String>,
    name: Option<String>,
    client: Option<String>,
    mark: Option<String>,
    aside: Option<String>,
    also: String,
}

impl Raw {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            row: (row.get(0)?, row.get(1)?, row.get(7)?, row.get(10)?, row.get(11)?, row.get(12)?),
            kind: row.get(2)?,
            body: row.get(3)?,
            author: row.get(4)?,
            name: row.get(5)?,
            client: row.get(6)?,
            mark: row.get(8)?,
            aside: row.get(9)?,
            also: row.get(13)?,
        })
    }

    pub(super) fn understood(self) -> Result<MessageRow, StoreError> {
        let (id, thread, reply_to, created, edited, seq) = self.row;
        let content = match self.kind.as_str() {
            "post" => Content::Post(Box::new(parse(&self.body, ("message", "body", id))?)),
            "text" => Content::Text {
                author: self.author.unwrap_or_default(),
                name: self.name.unwrap_or_default(),
                text: self.body,
                client: self.client.unwrap_or_default(),
                mark: self.mark.map(|mark| parse(&mark, ("message", "mark", id))).transpose()?,
                aside: self.aside,
            },
            // The table's own check leaves only `notice`.
            _ => Content::Notice(self.body),
        };
        let also = parse(&self.also, ("told", "thread", id))?;
        Ok(MessageRow { id, thread, also, content, reply_to, created, edited, seq })
    }
}

pub(super) fn message(db: &Connection, id: i64) -> Result<Option<MessageRow>, StoreError> {
    let sql = format!("select {COLUMNS} from message where id = ?1");
    let raw = db.prepare_cached(&sql)?.query_row(params![id], Raw::read).optional()?;
    raw.map(Raw::understood).transpose()
}

pub(super) fn thread_exists(db: &Connection, id: i64) -> rusqlite::Result<bool> {
    let known = "select ?1 = 0 or exists (select 1 from thread where id = ?1)";
    db.prepare_cached(known)?.query_row(params![id], |row| row.get(0))
}

/// Whether the message is a card, and whether somebody is still waited for.
pub(super) fn card(post: &Post) -> Option<&'static str> {
    match &post.body {
        Body::Card(card) => match card.state {
            CardState::Open => Some("open"),
            CardState::Answered(_) | CardState::Taken { .. } | CardState::Closed { .. } => {
                Some("decided")
            }
        },
        Body::Text { .. } | Body::Progress(_) | Body::Document(_) | Body::File(_) => None,
    }
}

/// Whether it counts as unread: progress and what is only kept do not.
pub(super) fn loud(post: &Post) -> bool {
    match (&post.body, post.level) {
        (Body::Progress(_), _) | (_, Level::Log) => false,
        (
            Body::Text { .. } | Body::Card(_) | Body::Document(_) | Body::File(_),
            Level::Note | Level::Ring,
        ) => true,
    }
}
