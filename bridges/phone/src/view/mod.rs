//! What the page gets: rows of the log in the page's own words, for one person.

mod rich;

use serde::Serialize;
use vigie_core::{
    bridge::{Body, Button, CardKind, CardState, Fact, Level, Mark, Part, Risk, SessionLook},
    id::{GateCode, GateId, MessageId, SessionName, ThreadId},
    text::Rich,
};

use self::rich::Node;
use crate::{
    Person, WRITE_LIMIT,
    ids::Ids,
    store::{Changes, Content, MessageRow, Page, Snapshot, Summary},
};

/// Longest quotation of another message, in characters; the whole is one tap away.
const EXCERPT: usize = 140;

/// Times are milliseconds since 1970; the browser knows its own time zone.
type Millis = i64;

#[derive(Serialize)]
pub(crate) struct MessageView {
    id: MessageId,
    thread: Option<ThreadId>,
    /// Threads that show it too, since their sessions were told it.
    also: Vec<ThreadId>,
    /// Later changes have higher numbers: a page never goes back to an older state.
    seq: i64,
    at: Millis,
    edited: Option<Millis>,
    reply_to: Option<ReplyView>,
    what: WhatView,
}

#[derive(Serialize)]
struct ReplyView {
    id: MessageId,
    who: String,
    excerpt: String,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum WhatView {
    Text {
        mine: bool,
        name: String,
        text: String,
        client: Option<String>,
        mark: Option<Mark>,
        aside: Option<String>,
    },
    Notice {
        text: String,
    },
    Post {
        from: Option<SessionName>,
        level: Level,
        body: BodyView,
    },
}

#[derive(Serialize)]
#[serde(tag = "body", rename_all = "snake_case")]
enum BodyView {
    Text { text: Vec<Node>, part: Option<Part>, buttons: Vec<Button> },
    Card(Box<CardView>),
    Progress { lines: Vec<String>, since: Millis, ended: Option<String>, buttons: Vec<Button> },
    Document { name: String, about: String, bytes: usize },
}

#[derive(Serialize)]
struct CardView {
    gate: GateId,
    code: GateCode,
    kind: CardKind,
    title: String,
    opened: Millis,
    until: Millis,
    lapse: &'static str,
    content: Vec<Node>,
    diff: Option<String>,
    warnings: Vec<String>,
    facts: Vec<Fact>,
    risk: Risk,
    answer: String,
    buttons: Vec<Button>,
    state: CardState,
}

#[derive(Serialize)]
pub(crate) struct ThreadView {
    id: Option<ThreadId>,
    session: Option<SessionName>,
    title: Option<String>,
    state: Option<SessionLook>,
    detail: Option<String>,
    since: Option<Millis>,
    last: Option<LastView>,
    unread: i64,
    read: Option<MessageId>,
}

#[derive(Serialize)]
struct LastView {
    id: MessageId,
    who: String,
    excerpt: String,
    at: Millis,
}

#[derive(Serialize)]
pub(crate) struct SnapshotView {
    cursor: String,
    /// Why Vigie cannot write just now.
    health: Option<String>,
    now: Millis,
    person: Person,
    text_limit: usize,
    threads: Vec<ThreadView>,
    open: Vec<MessageView>,
    decided: Vec<MessageView>,
}

#[derive(Serialize)]
pub(crate) struct PageView {
    messages: Vec<MessageView>,
    older: bool,
}

#[derive(Serialize)]
pub(crate) struct ChangesView {
    pub(crate) cursor: String,
    /// Why Vigie cannot write just now.
    health: Option<String>,
    now: Millis,
    messages: Vec<MessageView>,
    threads: Vec<ThreadView>,
    pub(crate) more: bool,
}

impl ChangesView {
    /// What would make a sound, and whose words each is.
    pub(crate) fn rings(&mut self) -> impl Iterator<Item = (Option<&SessionName>, &mut Level)> {
        self.messages.iter_mut().filter_map(|message| match &mut message.what {
            WhatView::Post { from, level, .. } if *level == Level::Ring => {
                Some((from.as_ref(), level))
            }
            WhatView::Post { .. } | WhatView::Text { .. } | WhatView::Notice { .. } => None,
        })
    }
}

/// Turns rows into views for one person at one moment.
pub(crate) struct Viewer<'a> {
    pub(crate) ids: &'a Ids,
    pub(crate) person: &'a Person,
    pub(crate) now: i64,
    /// Why Vigie cannot write just now.
    pub(crate) ill: Option<String>,
}

impl Viewer<'_> {
    pub(crate) fn snapshot(&self, snapshot: Snapshot) -> SnapshotView {
        SnapshotView {
            cursor: self.ids.cursor(snapshot.seq),
            health: self.ill.clone(),
            now: self.now,
            person: self.person.clone(),
            text_limit: WRITE_LIMIT,
            threads: snapshot.threads.into_iter().map(|thread| self.thread(thread)).collect(),
            open: self.messages(snapshot.open),
            decided: self.messages(snapshot.decided),
        }
    }

    pub(crate) fn page(&self, page: Page) -> PageView {
        PageView { messages: self.messages(page.messages), older: page.older }
    }

    pub(crate) fn changes(&self, changes: Changes) -> ChangesView {
        ChangesView {
            cursor: self.ids.cursor(changes.seq),
            health: self.ill.clone(),
            now: self.now,
            messages: self.messages(changes.messages),
            threads: changes.threads.into_iter().map(|thread| self.thread(thread)).collect(),
            more: changes.more,
        }
    }

    fn messages(&self, shown: Vec<(MessageRow, Option<MessageRow>)>) -> Vec<MessageView> {
        shown.into_iter().map(|(row, answers)| self.message(row, answers.as_ref())).collect()
    }

    fn message(&self, row: MessageRow, answers: Option<&MessageRow>) -> MessageView {
        MessageView {
            id: self.ids.message(row.id),
            thread: self.ids.thread(row.thread),
            also: row.also.iter().filter_map(|&thread| self.ids.thread(thread)).collect(),
            seq: row.seq,
            at: row.created,
            edited: row.edited,
            reply_to: answers.map(|row| ReplyView {
                id: self.ids.message(row.id),
                who: who(row),
                excerpt: excerpt(row),
            }),
            what: self.what(row.content),
        }
    }

    fn what(&self, content: Content) -> WhatView {
        match content {
            Content::Notice(text) => WhatView::Notice { text },
            Content::Post(post) => {
                WhatView::Post { from: post.from, level: post.level, body: body(post.body) }
            }
            Content::Text { author, name, text, client, mark, aside } => {
                let mine = author == self.person.id;
                let client = mine.then_some(client);
                WhatView::Text { mine, name, text, client, mark, aside }
            }
        }
    }

    fn thread(&self, thread: Summary) -> ThreadView {
        let read = (thread.read != 0).then(|| self.ids.message(thread.read));
        let last = thread.last.map(|row| LastView {
            id: self.ids.message(row.id),
            who: who(&row),
            excerpt: excerpt(&row),
            at: row.edited.unwrap_or(row.created),
        });
        let id = self.ids.thread(thread.id);
        let unread = thread.unread;
        match thread.state {
            None => ThreadView {
                id,
                session: None,
                title: None,
                state: None,
                detail: None,
                since: None,
                last,
                unread,
                read,
            },
            Some(state) => ThreadView {
                id,
                session: Some(state.session),
                title: Some(state.title),
                state: Some(state.state),
                detail: state.detail,
                since: Some(state.since.timestamp_millis()),
                last,
                unread,
                read,
            },
        }
    }
}

fn body(body: Body) -> BodyView {
    match body {
        Body::Text { text, part, buttons } => {
            BodyView::Text { text: rich::nodes(&text), part, buttons }
        }
        Body::Card(card) => BodyView::Card(Box::new(CardView {
            content: rich::nodes(&card.content),
            opened: card.opened.timestamp_millis(),
            until: card.until.timestamp_millis(),
            lapse: card.lapse.words(),
            gate: card.gate,
            code: card.code,
            kind: card.kind,
            title: card.title,
            diff: card.diff,
            warnings: card.warnings,
            facts: card.facts,
            risk: card.risk,
            answer: card.answer,
            buttons: card.buttons,
            state: card.state,
        })),
        Body::Progress(progress) => BodyView::Progress {
            since: progress.since.timestamp_millis(),
            lines: progress.lines,
            ended: progress.ended,
            buttons: progress.buttons,
        },
        // The page takes no files, so none is said to it; a log of another version may hold one.
        Body::File(file) => BodyView::Text {
            text: rich::nodes(&Rich::plain(file.about)),
            part: None,
            buttons: Vec::new(),
        },
        Body::Document(document) => BodyView::Document {
            bytes: document.text.len(),
            name: document.name,
            about: document.about,
        },
    }
}

fn who(row: &MessageRow) -> String {
    match &row.content {
        Content::Post(post) => {
            post.from.as_ref().map_or_else(|| "Vigie".into(), |name| name.as_str().into())
        }
        Content::Text { name, .. } => name.clone(),
        Content::Notice(_) => "Vigie".into(),
    }
}

/// One line about a message, for a list or a quotation.
fn excerpt(row: &MessageRow) -> String {
    let text = match &row.content {
        Content::Text { text, .. } | Content::Notice(text) => text,
        Content::Post(post) => match &post.body {
            Body::Text { text, .. } => &text.text,
            // "asks you" says less than what it asks.
            Body::Card(card) if card.kind == CardKind::Question && !card.content.is_empty() => {
                &card.content.text
            }
            Body::Card(card) => &card.title,
            Body::Progress(progress) => {
                // An agent's last line is its newest; a run's first says how it is.
                let line = match post.from {
                    Some(_) => progress.lines.last(),
                    None => progress.lines.first(),
                };
                progress.ended.as_ref().or(line).map_or("", String::as_str)
            }
            Body::Document(document) => &document.name,
            Body::File(file) => &file.name,
        },
    };
    let mut words = text.split_whitespace();
    let mut line = words.next().unwrap_or_default().to_owned();
    for word in words {
        if line.len() > EXCERPT * 4 {
            break; // more than enough bytes for the characters kept below
        }
        line.push(' ');
        line.push_str(word);
    }
    match line.char_indices().nth(EXCERPT) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
