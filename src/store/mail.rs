//! Messages between sessions: written, looked up, looked through, and dropped when they are old.

#[cfg(test)]
mod tests;

use rusqlite::{Connection, ToSql, params, params_from_iter, types::ToSqlOutput};
use vigie_core::{
    Timestamp,
    caller::{AgentFacts, Letter, MailQuery, MailSide, Mailbox, Principal},
    mail::{Mail, Recipient, Sender},
};

use super::{StoreError, write::json};

/// Messages looked up at a time, whatever was asked for.
const MOST: usize = 200;

/// Words looked for at a time.
const WORDS: usize = 16;

/// Messages dropped at a time: the writer is busy with them for some milliseconds.
const DROPPED: usize = 500;

pub(super) fn put(db: &Connection, mail: &Mail) -> Result<(), StoreError> {
    let sql = "INSERT INTO mail (number, id, open, sent, sender, reader, sender_name, reader_name, thread, key, body)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
               ON CONFLICT (number) DO UPDATE SET open = ?3, body = ?11";
    db.prepare_cached(sql)?.execute(params![
        mail.number,
        mail.id.to_string(),
        mail.state.is_open(),
        mail.sent.timestamp_millis(),
        mail.from.address(),
        mail.to.address(),
        sender_name(&mail.from),
        reader_name(&mail.to),
        mail.thread.to_string(),
        mail.key,
        json(mail)
    ])?;
    Ok(())
}

/// All people are one party to an exchange.
const PEOPLE: &str = "human";

fn sender_name(from: &Sender) -> String {
    match from {
        Sender::Human { .. } => PEOPLE.into(),
        Sender::Session { .. } | Sender::Client { .. } | Sender::Vigie => {
            from.spoken().to_lowercase()
        }
    }
}

fn reader_name(to: &Recipient) -> String {
    to.spoken().to_lowercase()
}

/// What must be known before a message of this sender is decided about.
pub(super) fn facts(
    db: &Connection,
    from: &Principal,
    letter: &Letter,
) -> Result<AgentFacts, StoreError> {
    let same_key = match &letter.key {
        Some(key) => found(db, SAME_KEY, &[&from.address(), key])?,
        None => Vec::new(),
    };
    let answered = match &letter.reply_to {
        Some(id) => found(db, BY_ID, &[&id.to_string()])?.pop(),
        None => None,
    };
    Ok(AgentFacts { same_key, answered })
}

pub(super) const SAME_KEY: &str =
    "SELECT id, body FROM mail WHERE sender = ?1 AND key = ?2 ORDER BY number";

const BY_ID: &str = "SELECT id, body FROM mail WHERE id = ?1";

fn found(db: &Connection, sql: &str, values: &[&dyn ToSql]) -> Result<Vec<Mail>, StoreError> {
    let mut statement = db.prepare_cached(sql)?;
    let rows = statement
        .query_map(values, |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let mut all = Vec::new();
    for row in rows {
        let (id, body) = row?;
        let read = serde_json::from_str(&body);
        all.push(read.map_err(|e| StoreError::Row {
            table: "mail",
            column: "body",
            row: id,
            reason: e.to_string(),
        })?);
    }
    Ok(all)
}

/// Somebody's own messages, or everybody's, newest first.
pub(super) fn mailbox(db: &Connection, query: &MailQuery) -> Result<Vec<Mail>, StoreError> {
    let mut all = Vec::new();
    for (sql, values) in lookups(query) {
        let mut statement = db.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(&values), |row| row.get::<_, String>(0))?;
        for body in rows {
            match serde_json::from_str::<Mail>(&body?) {
                Ok(mail) => all.push(mail),
                // One that does not read must not hide all the others.
                Err(error) => tracing::error!(reason = %error, "a row of mail does not read"),
            }
        }
    }
    all.sort_by_key(|mail| std::cmp::Reverse(mail.number));
    all.truncate(query.most.clamp(1, MOST));
    Ok(all)
}

/// What is asked of the database: a look through each side, or nothing where no words are left to
/// look for.
pub(super) fn lookups(query: &MailQuery) -> Vec<(String, Vec<Value>)> {
    let words = query.words.as_deref().map(looked_for);
    if words.as_ref().is_some_and(Vec::is_empty) {
        return Vec::new();
    }
    let own = match &query.of {
        Mailbox::Of(own) => own.address(),
        Mailbox::Everybody => return vec![everybody(query, words.unwrap_or_default())],
    };
    let sides = match query.side {
        MailSide::Both => vec![RECEIVED, SENT],
        MailSide::Received => vec![RECEIVED],
        MailSide::Sent => vec![SENT],
    };
    let one = |side| match &words {
        None => lookup(query, &own, side),
        Some(words) => search(query, &own, side, words),
    };
    sides.into_iter().map(one).collect()
}

/// Which columns are the caller's own, and the other's.
#[derive(Clone, Copy)]
struct Side {
    own: &'static str,
    other: &'static str,
    other_name: &'static str,
}

const RECEIVED: Side = Side { own: "reader", other: "sender", other_name: "sender_name" };
const SENT: Side = Side { own: "sender", other: "reader", other_name: "reader_name" };

/// A look through one side by its indexes.
fn lookup(query: &MailQuery, address: &str, side: Side) -> (String, Vec<Value>) {
    let Side { own, other_name, .. } = side;
    // A thread is the narrowest: `+` closes the other indexes.
    let open = if query.thread.is_some() { "+" } else { "" };
    let mut values = Values::default();
    let mut wanted = vec![
        format!("{open}{own} = {}", values.text(address.into())),
        format!("number < {}", values.before(query)),
    ];
    if let Some(with) = with(query) {
        wanted.push(format!("{open}{other_name} = {}", values.text(with)));
    }
    if let Some(thread) = query.thread {
        wanted.push(format!("thread = {}", values.text(thread.to_string())));
    }
    let (wanted, most) = (wanted.join(" AND "), values.most(query));
    let sql = format!("SELECT body FROM mail WHERE {wanted} ORDER BY number DESC LIMIT {most}");
    (sql, values.0)
}

/// The same for what these words stand in: the index of words finds it, and the columns have the
/// last word.
fn search(query: &MailQuery, address: &str, side: Side, words: &[String]) -> (String, Vec<Value>) {
    let Side { own, other, other_name } = side;
    let mut values = Values::default();
    let mut found =
        vec![format!("{own} : \"{address}\""), format!("text : ({})", words.join(" AND "))];
    let mut wanted = vec![
        format!("+mail.{own} = {}", values.text(address.into())),
        format!("mail_words.rowid < {}", values.before(query)),
    ];
    if let Some(with) = with(query) {
        found.extend(looked_for(&with).into_iter().map(|word| format!("{other} : {word}")));
        wanted.push(format!("+mail.{other_name} = {}", values.text(with)));
    }
    if let Some(thread) = query.thread {
        found.push(format!("thread : \"{thread}\""));
        wanted.push(format!("+mail.thread = {}", values.text(thread.to_string())));
    }
    wanted.push(format!("mail_words MATCH {}", values.text(found.join(" AND "))));
    let (wanted, most) = (wanted.join(" AND "), values.most(query));
    let sql = format!(
        "SELECT mail.body FROM mail_words CROSS JOIN mail ON mail.number = mail_words.rowid
         WHERE {wanted} ORDER BY mail_words.rowid DESC LIMIT {most}"
    );
    (sql, values.0)
}

/// A look through all there is. Who wrote or got it is found by the index of words as well.
fn everybody(query: &MailQuery, words: Vec<String>) -> (String, Vec<Value>) {
    let mut values = Values::default();
    let mut found: Vec<_> = words.into_iter().map(|word| format!("text : {word}")).collect();
    let mut wanted = Vec::new();
    if let Some(with) = with(query) {
        let names = looked_for(&with);
        found.extend(names.into_iter().map(|word| format!("{{sender reader}} : {word}")));
        let [sender, reader] = [values.text(with.clone()), values.text(with)];
        wanted.push(format!("(+mail.sender_name = {sender} OR +mail.reader_name = {reader})"));
    }
    if let Some(thread) = query.thread {
        let open = if found.is_empty() { "" } else { "+" };
        wanted.push(format!("{open}mail.thread = {}", values.text(thread.to_string())));
    }
    let (from, number) = if found.is_empty() {
        ("mail", "mail.number")
    } else {
        wanted.push(format!("mail_words MATCH {}", values.text(found.join(" AND "))));
        let from = "mail_words CROSS JOIN mail ON mail.number = mail_words.rowid";
        (from, "mail_words.rowid")
    };
    wanted.push(format!("{number} < {}", values.before(query)));
    let (wanted, most) = (wanted.join(" AND "), values.most(query));
    let sql =
        format!("SELECT mail.body FROM {from} WHERE {wanted} ORDER BY {number} DESC LIMIT {most}");
    (sql, values.0)
}

/// The other's name, as it stands in the table.
fn with(query: &MailQuery) -> Option<String> {
    let with = query.with.as_ref()?.trim().to_lowercase();
    Some(if with.starts_with("human:") { PEOPLE.into() } else { with })
}

/// What stands for the `?` of a statement, in their order.
#[derive(Default)]
struct Values(Vec<Value>);

impl Values {
    fn text(&mut self, text: String) -> String {
        self.add(Value::Text(text))
    }

    fn before(&mut self, query: &MailQuery) -> String {
        let before = query.before.and_then(|number| i64::try_from(number).ok());
        self.add(Value::Number(before.unwrap_or(i64::MAX)))
    }

    fn most(&mut self, query: &MailQuery) -> String {
        let most = i64::try_from(query.most.clamp(1, MOST)).expect("a few hundred");
        self.add(Value::Number(most))
    }

    fn add(&mut self, value: Value) -> String {
        self.0.push(value);
        format!("?{}", self.0.len())
    }
}

/// The words in that text, as the index of words takes them.
fn looked_for(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(WORDS).map(|word| format!("\"{word}\"")).collect()
}

/// What stands for a `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Number(i64),
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Text(text) => text.to_sql(),
            Self::Number(number) => number.to_sql(),
        }
    }
}

/// Drops some of what is over and older than that. The newest stays whatever its age: the numbers
/// go on from it.
pub(super) fn drop_old(db: &Connection, before: Timestamp) -> Result<usize, StoreError> {
    let most = i64::try_from(DROPPED).expect("a few hundred");
    Ok(db.prepare_cached(DROP_OLD)?.execute(params![before.timestamp_millis(), most])?)
}

pub(super) const DROP_OLD: &str = "DELETE FROM mail WHERE number IN (
    SELECT number FROM mail WHERE open = 0 AND sent < ?1
    AND number < (SELECT max(number) FROM mail) ORDER BY sent LIMIT ?2)";
