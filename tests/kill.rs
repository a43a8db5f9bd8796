//! The daemon is killed at every write it makes, and loses nothing.
//!
//! The child is this very test binary: it runs the daemon and dies at the numbered commit of either of
//! its databases, before or after it is on disk.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

#[path = "support/deadly.rs"]
mod deadly;
#[path = "support/home.rs"]
mod home;
#[path = "support/phone.rs"]
mod phone;
#[path = "support/telegram.rs"]
mod telegram;

use deadly::{DIE_AT, DIE_WHEN, start_child, until_done};
use futures_util::future::join_all;
use home::Home;
use serde_json::{Value, json};
use std::process::Command;
use telegram_emulator::{ADA, Emulator, World};

/// Not a test of its own: the daemon that the others kill.
#[test]
fn child() {
    deadly::be_the_child();
}

/// Deaths at the same time, each of a daemon of its own: journeys mostly wait.
const AT_ONCE: u32 = 3;

/// Dies at each commit, from the first on, until somebody is through without. Returns how many deaths
/// that were.
async fn at_each(dies: impl AsyncFn(u32) -> bool) -> u32 {
    let mut first = 1;
    loop {
        let dead = join_all((first..first + AT_ONCE).map(|at| dies(at))).await;
        let through = (first..).zip(dead).find(|(_, dead)| !dead);
        if let Some((at, _)) = through {
            return at - 1;
        }
        first += AT_ONCE;
    }
}

/// Runs `journey` with the daemon dying at each of its commits. Returns how many deaths that were.
async fn at_every_write(when: &str, journey: impl AsyncFn(&mut Home, &phone::Phone)) -> u32 {
    let deaths = at_each(async |at| {
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
        home.env.is_empty()
    });
    let deaths = deaths.await;
    assert!(deaths > 4, "it hardly wrote anything");
    deaths
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
    let deaths = at_each(async |at| {
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
        home.env.is_empty()
    });
    let deaths = deaths.await;
    assert!(deaths > 9, "it hardly wrote anything");
    deaths
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

/// What is decided before anybody is asked, and what makes no sound: a grant, a mute, what a policy denies,
/// each once, in a journal whose chain holds.
async fn granted_muted_and_denied(home: &mut Home, phone: &phone::Phone) {
    until_done(home, async |_| phone.try_send("message-1", "[PD-285] leave a note").await.ok())
        .await;
    let card = until_done(home, async |_| {
        let messages = phone.try_messages().await.ok()?;
        messages.into_iter().find(|m| m["what"]["body"]["state"]["state"] == "open")
    })
    .await;
    let (id, action) =
        (card["id"].as_str().unwrap().to_owned(), phone::button(&card, "Approve for this session"));
    until_done(home, async |_| phone.try_tap("tap-approve-1", &id, &action).await.ok()).await;
    let said = |words: &'static str| {
        async move |_: &Home| {
            let messages = phone.try_messages().await.ok()?;
            let posts = messages.iter().filter(|m| m["what"]["kind"] == "post");
            (posts.filter(|m| phone::plain(m).contains(words)).count() > 0).then_some(())
        }
    };
    until_done(home, said("Done: “leave a note”")).await;
    until_done(home, async |_| phone.try_send("message-mute-1", "/mute PD-285 2h").await.ok())
        .await;
    until_done(home, said("makes no sound for you until")).await;
    // The grant answers this one, and the policy that one.
    until_done(home, async |_| phone.try_send("message-2", "[PD-285] leave another").await.ok())
        .await;
    until_done(home, said("Done: “leave another”")).await;
    until_done(home, async |_| phone.try_send("message-3", "[PD-286] leave a third").await.ok())
        .await;
    until_done(home, said("I did not run the command")).await;

    let note = std::fs::read_to_string(home.project().join("vigie-demo.txt")).unwrap();
    assert_eq!(note.lines().count(), 2, "each ran once, and what is denied did not");
    let shown = until_done(home, async |_| phone.try_messages().await.ok()).await;
    let cards = shown.iter().filter(|m| m["what"]["body"]["body"] == "card").count();
    assert_eq!(cards, 1, "nobody is asked again");
    let grants: Value = until_done(home, async |home| home.desk().get("/grants").await.ok()).await;
    assert_eq!(grants.as_array().map(Vec::len), Some(1), "{grants:#}");
    let mutes: Value = until_done(home, async |home| home.desk().get("/mutes").await.ok()).await;
    assert!(mutes.to_string().matches("PD-285 until").count() == 1, "{mutes:#}");
    let mut verify = Command::new(env!("CARGO_BIN_EXE_vigie"));
    let verified = verify.args(["audit", "verify", "--home"]).arg(home.data()).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
}

/// Every second death is before its write, and the others after theirs: what is on disk has been everything.
#[tokio::test]
async fn grants_mutes_and_denials_survive_a_death_at_each_write() {
    let deaths = at_each(async |at| {
        let mut home = Home::new(start_child);
        home.configure(
            "[[policy]]\neffect = \"deny\"\nsession = [\"PD-286\"]\nreason = \"this one writes no notes\"\n",
        );
        home.up().await;
        let phone = home.phone().await;
        for name in ["PD-285", "PD-286"] {
            let _: Value = home.desk().post("/sessions", &json!({ "name": name })).await.unwrap();
            home.session_is(name, "idle").await;
        }
        home.kill();
        let when = if at % 2 == 0 { "after" } else { "before" };
        home.env = vec![(DIE_AT.into(), at.to_string()), (DIE_WHEN.into(), when.into())];
        home.spawn();
        home.try_up().await;
        granted_muted_and_denied(&mut home, &phone).await;
        home.env.is_empty()
    });
    eprintln!("grant, mute, denial: {} deaths, lost 0, doubled 0", deaths.await);
}
