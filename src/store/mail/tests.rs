use chrono::{DateTime, TimeDelta};
use tempfile::TempDir;
use vigie_core::{
    caller::Confirmed,
    id::{HumanId, MailId, SessionId},
    mail::MailState,
    state::Row,
};

use super::*;
use crate::store::{Store, open, schema};

fn at(hours: i64) -> Timestamp {
    DateTime::from_timestamp_millis(1_796_000_000_000).unwrap() + TimeDelta::hours(hours)
}

fn session(name: &str) -> SessionId {
    let number = u128::from(name.bytes().map(u64::from).sum::<u64>());
    SessionId::from_parts(at(0), number)
}

fn id(number: u64) -> MailId {
    MailId::from_parts(at(0), u128::from(number))
}

/// One an hour, read.
fn mail(number: u64, from: &str, to: &str, text: &str) -> Mail {
    let sent = at(i64::try_from(number).unwrap());
    Mail {
        id: id(number),
        number,
        from: Sender::Session { session: session(from), name: from.parse().unwrap() },
        to: match to {
            "human" => Recipient::Humans,
            to => Recipient::Session { session: session(to), name: to.parse().unwrap() },
        },
        thread: id(number),
        reply_to: None,
        batch: id(number),
        text: text.into(),
        key: None,
        sent,
        hops: 1,
        depth: 0,
        answers: None,
        tries: 0,
        state: MailState::Read { at: sent },
    }
}

fn query(of: &str) -> MailQuery {
    MailQuery {
        of: Mailbox::Of(Principal::Session { session: session(of) }),
        side: MailSide::Both,
        with: None,
        words: None,
        thread: None,
        before: None,
        most: 50,
    }
}

struct Home {
    folder: TempDir,
    store: Store,
}

impl Home {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        Self { folder, store }
    }

    async fn of(mails: Vec<Mail>) -> Self {
        let home = Self::new();
        home.write(mails).await;
        home
    }

    async fn write(&self, mails: Vec<Mail>) {
        let rows = mails.into_iter().map(Row::Mail).collect();
        self.store.write(rows).await.await.unwrap().unwrap();
    }

    async fn numbers(&self, query: MailQuery) -> Vec<u64> {
        let found = self.store.mailbox(query).await.unwrap();
        found.into_iter().map(|mail| mail.number).collect()
    }

    fn db(&self) -> Connection {
        open(&self.folder.path().join("vigie.db")).unwrap()
    }
}

async fn talk() -> Home {
    let human = Sender::Human { human: HumanId::new("owner") };
    Home::of(vec![
        mail(1, "PD-285", "PD-286", "Which port does the café server use?"),
        Mail { thread: id(1), ..mail(2, "PD-286", "PD-285", "Port 7285; it deployed.") },
        mail(3, "PD-285", "PD-287", "deploy later"),
        mail(4, "PD-286", "PD-287", "deploy between the two of us"),
        mail(5, "PD-285", "human", "I deploy now"),
        Mail { from: human, ..mail(6, "PD-285", "PD-285", "wait with that") },
    ])
    .await
}

#[tokio::test]
async fn somebody_finds_their_own_messages_newest_first() {
    let home = talk().await;
    assert_eq!(home.numbers(query("PD-285")).await, [6, 5, 3, 2, 1]);
    let sent = MailQuery { side: MailSide::Sent, ..query("PD-285") };
    assert_eq!(home.numbers(sent).await, [5, 3, 1]);
    let received = MailQuery { side: MailSide::Received, ..query("PD-285") };
    assert_eq!(home.numbers(received).await, [6, 2]);
    assert_eq!(home.numbers(query("PD-999")).await, Vec::<u64>::new());
    let page = MailQuery { most: 2, ..query("PD-285") };
    assert_eq!(home.numbers(page.clone()).await, [6, 5]);
    assert_eq!(home.numbers(MailQuery { before: Some(5), ..page }).await, [3, 2]);
}

#[tokio::test]
async fn a_party_a_thread_and_words_narrow_it() {
    let home = talk().await;
    let with = |name: &str| MailQuery { with: Some(name.into()), ..query("PD-285") };
    assert_eq!(home.numbers(with(" pd-286")).await, [2, 1]);
    assert_eq!(home.numbers(with("human")).await, [6, 5]);
    assert_eq!(home.numbers(with("human:owner")).await, [6, 5]);
    let thread = |of| MailQuery { thread: Some(id(1)), ..query(of) };
    assert_eq!(home.numbers(thread("PD-286")).await, [2, 1]);
    assert_eq!(home.numbers(thread("PD-287")).await, Vec::<u64>::new(), "none of its own");
    let words = |words: &str| MailQuery { words: Some(words.into()), ..query("PD-285") };
    assert_eq!(home.numbers(words("DEPLOY")).await, [5, 3, 2], "and not what is between others");
    assert_eq!(home.numbers(words("cafe port")).await, [1]);
    assert_eq!(home.numbers(words("port nowhere")).await, Vec::<u64>::new());
    let all = MailQuery { with: Some("PD-287".into()), before: Some(5), ..words("deploy") };
    assert_eq!(home.numbers(all).await, [3]);
    let thread = MailQuery { words: Some("deployed".into()), ..thread("PD-285") };
    assert_eq!(home.numbers(thread).await, [2]);
}

#[tokio::test]
async fn words_are_words_whatever_they_mean_to_a_search() {
    let home = Home::of(vec![
        mail(1, "PD-285", "PD-286", "a \"quoted\" word\0and one behind, NEAR the end"),
        mail(2, "PD-285", "PD-286", &format!("{} needle", "hay ".repeat(16_000))),
    ])
    .await;
    let words = |words: &str| MailQuery { words: Some(words.into()), ..query("PD-286") };
    for text in ["\"quoted", "quoted\" OR 1", "NEAR(", "behind", "who:end", "NOT near"] {
        let found = home.numbers(words(text)).await;
        assert!(found == [1] || found.is_empty(), "{text}: {found:?}");
    }
    assert_eq!(home.numbers(words("\"quoted\" (near)")).await, [1]);
    assert_eq!(home.numbers(words("needle")).await, [2]);
    assert_eq!(home.numbers(words("\"*-:")).await, Vec::<u64>::new(), "nothing is left of it");
    assert_eq!(home.numbers(words(&"hay ".repeat(1000))).await, [2]);
}

#[tokio::test]
async fn a_message_that_goes_on_is_found_once() {
    let waiting = MailState::Waiting { not_before: None };
    let home =
        Home::of(vec![Mail { state: waiting, ..mail(1, "PD-285", "PD-286", "hello") }]).await;
    home.write(vec![mail(1, "PD-285", "PD-286", "hello")]).await;
    let words = MailQuery { words: Some("hello".into()), ..query("PD-286") };
    let found = home.store.mailbox(words).await.unwrap();
    assert_eq!(found, [mail(1, "PD-285", "PD-286", "hello")]);
    assert!(home.store.load().await.unwrap().rows.is_empty(), "it is over");
}

#[tokio::test]
async fn one_that_does_not_read_hides_no_other() {
    let home = talk().await;
    home.db().execute("UPDATE mail SET body = '{}' WHERE number = 2", []).unwrap();
    assert_eq!(home.numbers(query("PD-286")).await, [4, 1]);
}

#[tokio::test]
async fn what_a_sender_sent_under_a_key_is_found_whole() {
    let keyed = |number, to| Mail { key: Some("k".into()), ..mail(number, "PD-285", to, "x") };
    let home = Home::of(vec![keyed(1, "PD-286"), keyed(2, "PD-287")]).await;
    let letter = |reply_to| Letter {
        to: vec![],
        text: "x".into(),
        reply_to,
        key: Some("k".into()),
        confirmed: Confirmed::No,
    };
    let facts = |of, letter| {
        let of = Principal::Session { session: session(of) };
        let store = home.store.clone();
        async move { store.mail_facts(&of, &letter).await.unwrap() }
    };
    let own = facts("PD-285", letter(Some(id(2)))).await;
    assert_eq!(own.same_key.len(), 2);
    assert_eq!(own.answered.unwrap().number, 2);
    assert!(facts("PD-286", letter(None)).await.same_key.is_empty(), "keys are the sender's own");
}

/// With 200,000 old rows an empty look takes as long as with none: everything asked is answered by
/// an index, from its end, without sorting.
#[test]
fn nothing_is_looked_for_row_by_row() {
    let home = Home::new();
    let db = home.db();
    schema::bring_up_to_date(&db).unwrap();
    let narrowings: [&dyn Fn(MailQuery) -> MailQuery; 5] = [
        &|query| query,
        &|query| MailQuery { with: Some("PD-286".into()), ..query },
        &|query| MailQuery { thread: Some(id(1)), ..query },
        &|query| MailQuery { words: Some("deploy".into()), ..query },
        &|query| MailQuery { words: Some("deploy".into()), with: Some("PD-286".into()), ..query },
    ];
    let everybody = MailQuery { of: Mailbox::Everybody, ..query("PD-285") };
    let both = [query("PD-285"), everybody.clone()];
    let narrowed = both.iter().flat_map(|of| narrowings.map(|narrow| narrow(of.clone())));
    let lookups = narrowed.flat_map(|query| lookups(&query));
    let text = |text: &str| Value::Text(text.into());
    let others = [
        (SAME_KEY.to_owned(), vec![text("ses_x"), text("k")]),
        ("SELECT id, body FROM mail WHERE open = 1 ORDER BY number".to_owned(), vec![]),
        (DROP_OLD.to_owned(), vec![Value::Number(1), Value::Number(1)]),
    ];
    for (sql, values) in lookups.chain(others) {
        let mut explain = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let plan = explain.query_map(params_from_iter(&values), |row| row.get::<_, String>(3));
        let plan: Vec<_> = plan.unwrap().collect::<Result<_, _>>().unwrap();
        let row_by_row = |step: &&String| {
            let by_index = step.contains("INDEX") || step.contains("VIRTUAL TABLE");
            (step.starts_with("SCAN") && !by_index) || step.contains("TEMP B-TREE")
        };
        assert_eq!(plan.iter().find(row_by_row), None, "{sql}\n{plan:#?}");
    }
    let plan = |query: &MailQuery| {
        let (sql, values) = super::lookups(query).remove(0);
        let mut explain = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let step = |row: &rusqlite::Row<'_>| row.get::<_, String>(3);
        explain.query_row(params_from_iter(&values), step).unwrap()
    };
    insta::assert_snapshot!(
        plan(&query("PD-285")),
        @"SEARCH mail USING INDEX mail_reader (reader=? AND number<?)"
    );
    let with = MailQuery { with: Some("PD-286".into()), ..query("PD-285") };
    insta::assert_snapshot!(
        plan(&with),
        @"SEARCH mail USING INDEX mail_reader_with (reader=? AND sender_name=? AND number<?)"
    );
    let thread = MailQuery { thread: Some(id(1)), ..query("PD-285") };
    insta::assert_snapshot!(
        plan(&everybody),
        @"SEARCH mail USING INTEGER PRIMARY KEY (rowid<?)"
    );
    insta::assert_snapshot!(
        plan(&thread),
        @"SEARCH mail USING INDEX mail_thread (thread=? AND number<?)"
    );
}

#[tokio::test]
async fn people_look_through_everybodys() {
    let home = talk().await;
    let all = MailQuery { of: Mailbox::Everybody, ..query("PD-285") };
    let numbers = async |query: MailQuery| home.numbers(query).await;
    assert_eq!(numbers(all.clone()).await, [6, 5, 4, 3, 2, 1]);
    assert_eq!(numbers(MailQuery { before: Some(5), most: 2, ..all.clone() }).await, [4, 3]);
    let with = |name: &str| MailQuery { with: Some(name.into()), ..all.clone() };
    assert_eq!(numbers(with("pd-287")).await, [4, 3]);
    assert_eq!(numbers(with("PD-28")).await, Vec::<u64>::new(), "a name is whole");
    assert_eq!(numbers(with("human")).await, [6, 5]);
    assert_eq!(numbers(with("!")).await, Vec::<u64>::new());
    let words = |words: &str| MailQuery { words: Some(words.into()), ..all.clone() };
    assert_eq!(numbers(words("deploy")).await, [5, 4, 3, 2]);
    assert_eq!(numbers(words("\" OR sender : pd")).await, Vec::<u64>::new(), "words are words");
    assert_eq!(numbers(words("...")).await, Vec::<u64>::new());
    assert_eq!(numbers(MailQuery { with: Some("PD-287".into()), ..words("two us") }).await, [4]);
    assert_eq!(numbers(MailQuery { thread: Some(id(1)), ..all.clone() }).await, [2, 1]);
    assert_eq!(numbers(MailQuery { thread: Some(id(1)), ..words("deployed") }).await, [2]);
}

#[tokio::test]
async fn what_is_old_and_over_is_dropped_and_history_goes_on() {
    let waiting = MailState::Waiting { not_before: None };
    let dead = MailState::Dead { why: "nobody read it".into(), at: at(2) };
    let mut mails = vec![
        Mail { state: waiting, ..mail(1, "PD-285", "PD-286", "still waits") },
        Mail { state: dead, ..mail(2, "PD-285", "PD-286", "given up") },
    ];
    mails.extend((3..2000).map(|number| mail(number, "PD-285", "PD-286", "read long ago")));
    mails.push(Mail {
        thread: id(3),
        reply_to: Some(id(3)),
        ..mail(2000, "PD-286", "PD-285", "new")
    });
    let home = Home::of(mails).await;
    let mut dropped = 0;
    loop {
        let some = home.store.drop_old_mail(at(5000)).await.unwrap();
        dropped += some;
        assert!(some <= 500, "a few at a time");
        if some == 0 {
            break;
        }
    }
    assert_eq!(dropped, 1998);
    assert_eq!(home.numbers(query("PD-285")).await, [2000, 1]);
    let words = MailQuery { words: Some("read long".into()), ..query("PD-286") };
    assert_eq!(home.numbers(words).await, Vec::<u64>::new());
    let found = home.store.load().await.unwrap();
    assert_eq!((found.next_mail, found.rows.len(), found.problems.len()), (2001, 1, 0));
    home.write(vec![mail(2001, "PD-285", "PD-286", "goes on")]).await;
    assert_eq!(home.numbers(query("PD-286")).await, [2001, 2000, 1]);
}

#[tokio::test]
async fn what_is_not_old_stays() {
    let home = talk().await;
    assert_eq!(home.store.drop_old_mail(at(3)).await.unwrap(), 2);
    assert_eq!(home.numbers(query("PD-285")).await, [6, 5, 3]);
}
