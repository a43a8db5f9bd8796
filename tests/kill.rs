//! The daemon is killed at every write it makes, and loses nothing.
//!
//! The child is this very test binary: it runs the daemon and dies, without a word, at the
//! numbered commit of either of its databases, before or after it is on disk. The daemon itself
//! has no part in this: SQLite's own hooks do the counting.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]
#![expect(
    unsafe_code,
    reason = "SQLite's hooks for every connection are set through its C interface"
)]

#[path = "support/home.rs"]
mod home;
#[path = "support/phone.rs"]
mod phone;
#[path = "support/telegram.rs"]
mod telegram;

use home::{DEADLINE, Home};
use rusqlite::ffi;
use serde_json::{Value, json};
use std::{
    os::raw::{c_char, c_int, c_void},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};
use telegram_emulator::{ADA, Emulator, World};
use vigie::{
    config::{Config, Named, Surroundings},
    daemon::{self, Options},
};

/// Which commit to die at, counted from 1; 0 or nothing: none.
const DIE_AT: &str = "VIGIE_TEST_DIE_AT";
/// `before` or `after` the commit.
const DIE_WHEN: &str = "VIGIE_TEST_DIE_WHEN";
/// Set for the child alone.
const CHILD: &str = "VIGIE_TEST_CHILD";

static COMMITS: AtomicU32 = AtomicU32::new(0);
static DEADLY: AtomicU32 = AtomicU32::new(0);

fn die_if_due(commits: u32) {
    if commits == DEADLY.load(Ordering::SeqCst) {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
        std::process::abort();
    }
}

unsafe extern "C" fn before_commit(_: *mut c_void) -> c_int {
    die_if_due(COMMITS.fetch_add(1, Ordering::SeqCst) + 1);
    0
}

/// Called when a statement has run; `COMMIT` has then put its pages into the log and synced it.
unsafe extern "C" fn after_statement(
    _: u32,
    _: *mut c_void,
    statement: *mut c_void,
    _: *mut c_void,
) -> c_int {
    let text = unsafe { ffi::sqlite3_sql(statement.cast()) };
    if !text.is_null()
        && unsafe { std::ffi::CStr::from_ptr(text) }.to_bytes().starts_with(b"COMMIT")
    {
        die_if_due(COMMITS.fetch_add(1, Ordering::SeqCst) + 1);
    }
    0
}

unsafe extern "C" fn hook_before(
    db: *mut ffi::sqlite3,
    _: *mut *mut c_char,
    _: *const ffi::sqlite3_api_routines,
) -> c_int {
    unsafe { ffi::sqlite3_commit_hook(db, Some(before_commit), std::ptr::null_mut()) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn hook_after(
    db: *mut ffi::sqlite3,
    _: *mut *mut c_char,
    _: *const ffi::sqlite3_api_routines,
) -> c_int {
    unsafe {
        ffi::sqlite3_trace_v2(
            db,
            ffi::SQLITE_TRACE_PROFILE,
            Some(after_statement),
            std::ptr::null_mut(),
        )
    };
    ffi::SQLITE_OK
}

/// Not a test of its own: the daemon that the others kill.
#[test]
fn child() {
    if std::env::var(CHILD).is_err() {
        return;
    }
    let at = std::env::var(DIE_AT).ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    DEADLY.store(at, Ordering::SeqCst);
    // A file that may not grow is to be an error here, as a full disk is, and not the end of us.
    let ignore = nix::sys::signal::SigHandler::SigIgn;
    unsafe { nix::sys::signal::signal(nix::sys::signal::Signal::SIGXFSZ, ignore) }.unwrap();
    let hook =
        if std::env::var(DIE_WHEN).as_deref() == Ok("after") { hook_after } else { hook_before };
    unsafe { ffi::sqlite3_auto_extension(Some(hook)) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let folder = |name: &str| std::env::var(name).unwrap().into();
        let around = Surroundings::of_this_process(
            Some(folder("VIGIE_TEST_DATA")),
            Some(folder("VIGIE_TEST_CONFIG")),
        )
        .unwrap();
        let config = Config::load(&around, Named::Yes).unwrap();
        let mut options = Options::new(config, &around).unwrap();
        options.binary = env!("CARGO_BIN_EXE_vigie").into();
        daemon::start(options).await.unwrap().finish().await.unwrap();
    });
}

fn start_child(home: &Home) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD, "1")
        .env("VIGIE_TEST_DATA", home.data())
        .env("VIGIE_TEST_CONFIG", home.settings());
    command
}

/// Does `act` again and again, as the page does, and starts the daemon whenever it has died.
async fn until_done<T>(home: &mut Home, mut act: impl AsyncFnMut(&Home) -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if home.exited().is_some() {
            home.env.clear(); // it dies once
            home.kill();
            home.up().await;
        }
        if let Some(done) = act(home).await {
            return done;
        }
        if Instant::now() > end {
            let status: Result<Value, _> = home.desk().get("/status").await;
            let shown = home.phone().await.try_messages().await;
            panic!("it is never done: {status:#?}\n{shown:#?}\n{}", home.log());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Runs `journey` with the daemon dying at each of its commits in turn, until one run is through
/// without dying. Returns how many deaths that were.
async fn at_every_write(when: &str, journey: impl AsyncFn(&mut Home, &phone::Phone)) -> u32 {
    for at in 1.. {
        let mut home = Home::new(start_child);
        home.configure("");
        home.up().await;
        let phone = home.phone().await;
        let _: Value = home.desk().post("/sessions", &json!({ "name": "PD-285" })).await.unwrap();
        home.session_is("PD-285", "idle").await;
        home.kill();
        home.env = vec![(DIE_AT.into(), at.to_string()), (DIE_WHEN.into(), when.into())];
        home.spawn();
        home.try_up().await;
        journey(&mut home, &phone).await;
        let died = home.env.is_empty();
        if !died {
            assert!(at > 5, "it hardly wrote anything");
            return at - 1;
        }
    }
    unreachable!("every journey ends")
}

/// Journeys 1 and 2: a message goes in and the answer comes out, each exactly once.
async fn message_in_answer_out(home: &mut Home, phone: &phone::Phone) {
    until_done(home, async |_| phone.try_send("message-1", "[PD-285] stream 3").await.ok()).await;
    until_done(home, async |_| {
        let messages = phone.try_messages().await.ok()?;
        let taken = messages
            .iter()
            .any(|m| m["what"]["client"] == "message-1" && m["what"]["mark"]["mark"] == "taken");
        let answered = messages
            .iter()
            .any(|m| m["what"]["kind"] == "post" && phone::plain(m).contains(ANSWER));
        (taken && answered).then_some(())
    })
    .await;
    // Whatever would come twice comes before the answer to the next message.
    until_done(home, async |_| phone.try_send("message-2", "[PD-285] recall").await.ok()).await;
    let recalls = |m: &Value| m["what"]["kind"] == "post" && phone::plain(m).contains(RECALLED);
    until_done(home, async |_| phone.try_messages().await.ok()?.iter().any(recalls).then_some(()))
        .await;
    let shown = until_done(home, async |_| phone.try_messages().await.ok()).await;
    let answers =
        shown.iter().filter(|m| m["what"]["kind"] == "post" && phone::plain(m).contains(ANSWER));
    assert_eq!(answers.count(), 1, "the answer came once");
    let recall = shown.iter().find(|m| recalls(m)).unwrap();
    assert_eq!(
        phone::plain(recall).matches("stream 3").count(),
        1,
        "the agent was told once: {recall:#}"
    );
    assert_eq!(
        shown.iter().filter(|m| m["what"]["client"] == "message-1").count(),
        1,
        "it stands in the chat once"
    );
}

/// Journey 3: a request is asked, answered by tap, and the agent acts on it, once.
async fn asked_and_answered(home: &mut Home, phone: &phone::Phone) {
    until_done(home, async |_| phone.try_send("message-1", "[PD-285] leave a note").await.ok())
        .await;
    let card = until_done(home, async |_| {
        let messages = phone.try_messages().await.ok()?;
        messages.into_iter().find(|m| m["what"]["body"]["state"]["state"] == "open")
    })
    .await;
    let (id, action) = (card["id"].as_str().unwrap().to_owned(), phone::button(&card, "Approve"));
    until_done(home, async |_| phone.try_tap("tap-approve-1", &id, &action).await.ok()).await;
    until_done(home, async |_| {
        let messages = phone.try_messages().await.ok()?;
        let taken = messages.iter().any(|m| m["what"]["body"]["state"]["state"] == "taken");
        let done = messages
            .iter()
            .any(|m| m["what"]["kind"] == "post" && phone::plain(m).contains("Done:"));
        (taken && done).then_some(())
    })
    .await;
    let note = std::fs::read_to_string(home.project().join("vigie-demo.txt")).unwrap();
    assert_eq!(note.lines().count(), 1, "it ran once");
    let cards = until_done(home, async |_| phone.try_messages().await.ok()).await;
    assert_eq!(cards.iter().filter(|m| m["what"]["body"]["body"] == "card").count(), 1, "one card");
}

/// The same from Telegram, with a card in between: a message in, a card out, a tap in, the answer
/// out, each exactly once, whatever write the daemon dies at. Returns how many deaths there were.
async fn over_telegram_at_every_write(when: &str) -> u32 {
    for at in 1.. {
        let emulator = Emulator::start(World { flood: false, ..World::default() });
        let mut home = Home::new(start_child);
        telegram::configure(&home, &emulator, "[phone]\nenabled = false\n");
        home.up().await;
        emulator.wait_polling().await;
        telegram::pair(&home, &emulator, ADA, ADA).await;
        telegram::new(&home, "PD-285").await;
        home.kill();
        home.env = vec![(DIE_AT.into(), at.to_string()), (DIE_WHEN.into(), when.into())];
        home.spawn();
        home.try_up().await;
        asked_and_answered_on_telegram(&mut home, &emulator).await;
        if !home.env.is_empty() {
            assert!(at > 10, "it hardly wrote anything");
            return at - 1;
        }
    }
    unreachable!("every journey ends")
}

async fn asked_and_answered_on_telegram(home: &mut Home, emulator: &Emulator) {
    emulator.send(ADA, ADA, "[PD-285] leave a note").now();
    let open = |emulator: &Emulator| {
        emulator.messages(ADA, None).into_iter().find(|m| m.button("Approve").is_some())
    };
    let card = until_done(home, async |_| open(emulator)).await;
    let _ = emulator.press(ADA, card.id, ADA, "Approve");
    let done = |emulator: &Emulator| telegram::count(emulator, ADA, "Done:") > 0;
    until_done(home, async |_| done(emulator).then_some(())).await;
    let taken = |emulator: &Emulator| telegram::count(emulator, ADA, "The agent has it") > 0;
    until_done(home, async |_| taken(emulator).then_some(())).await;
    // Whatever would come twice comes before the answer to the next message.
    emulator.send(ADA, ADA, "[PD-285] recall").now();
    let recalled = |emulator: &Emulator| {
        let all = emulator.messages(ADA, None);
        all.into_iter().find(|m| {
            m.is_bot()
                && m.text.contains("leave a note")
                && m.id > card.id + 1
                && !m.text.contains("Done:")
        })
    };
    let recall = until_done(home, async |_| recalled(emulator)).await;
    assert_eq!(recall.text.matches("leave a note").count(), 1, "told once: {recall:#?}");
    assert_eq!(telegram::count(emulator, ADA, "Done:"), 1, "{}", emulator.picture());
    let note = std::fs::read_to_string(home.project().join("vigie-demo.txt")).unwrap();
    assert_eq!(note.lines().count(), 1, "it ran once");
    let open = emulator.messages(ADA, None).into_iter().filter(|m| m.button("Approve").is_some());
    assert_eq!(open.count(), 0, "no card is left open: {}", emulator.picture());
}

const ANSWER: &str = "3 lines printed";
/// In what the agent remembers; a person's own message is no post.
const RECALLED: &str = "stream 3";

#[tokio::test]
async fn a_message_and_its_answer_survive_a_death_before_each_write() {
    let deaths = at_every_write("before", message_in_answer_out).await;
    eprintln!("message and answer, before each write: {deaths} deaths, lost 0, doubled 0");
}

#[tokio::test]
async fn a_message_and_its_answer_survive_a_death_after_each_write() {
    let deaths = at_every_write("after", message_in_answer_out).await;
    eprintln!("message and answer, after each write: {deaths} deaths, lost 0, doubled 0");
}

#[tokio::test]
async fn a_gate_survives_a_death_before_each_write() {
    let deaths = at_every_write("before", asked_and_answered).await;
    eprintln!("gate, before each write: {deaths} deaths, lost 0, doubled 0");
}

#[tokio::test]
async fn a_gate_survives_a_death_after_each_write() {
    let deaths = at_every_write("after", asked_and_answered).await;
    eprintln!("gate, after each write: {deaths} deaths, lost 0, doubled 0");
}

#[tokio::test]
async fn telegram_survives_a_death_before_each_write() {
    let deaths = over_telegram_at_every_write("before").await;
    eprintln!("over Telegram, before each write: {deaths} deaths, lost 0, doubled 0");
}

#[tokio::test]
async fn telegram_survives_a_death_after_each_write() {
    let deaths = over_telegram_at_every_write("after").await;
    eprintln!("over Telegram, after each write: {deaths} deaths, lost 0, doubled 0");
}

/// Lets the daemon write files of this many bytes at most, or of any size.
fn limit_files(home: &Home, bytes: &str) {
    let pid = home.pid().to_string();
    let limited = Command::new("prlimit")
        .args(["--pid", &pid, &format!("--fsize={bytes}:")])
        .status()
        .unwrap();
    assert!(limited.success());
}

#[tokio::test]
async fn what_happens_while_the_disk_is_full_is_there_afterwards_and_once() {
    let mut home = Home::new(start_child);
    home.configure("");
    home.up().await;
    let phone = home.phone().await;
    let _: Value = home.desk().post("/sessions", &json!({ "name": "PD-285" })).await.unwrap();
    home.session_is("PD-285", "idle").await;
    phone.send("message-1", "[PD-285] slow 1").await;
    phone.marked("message-1", "taken").await;
    limit_files(&home, "4096");
    let ill = async || phone.state().await.is_ok_and(|state| state["health"].is_string());
    until_done(&mut home, async |_| ill().await.then_some(())).await;
    limit_files(&home, "unlimited");
    phone.hears("That took 1 s").await;
    until_done(&mut home, async |_| (!ill().await).then_some(())).await;
    until_done(&mut home, async |_| phone.try_send("message-2", "[PD-285] stream 2").await.ok())
        .await;
    phone.hears("2 lines printed").await;
    assert_eq!(phone.count("That took 1 s").await, 1);
}
