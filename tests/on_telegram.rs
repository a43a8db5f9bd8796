//! The main job from Telegram, end to end: the real program against an emulator as strict as the
//! real service, with flood control on.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod home;
    pub(crate) mod phone;
    pub(crate) mod telegram;
}

use serde_json::{Value, json};
use std::time::Duration;
use support::{
    home::{DEADLINE, Home},
    phone::plain,
    telegram::{becomes, configure, count, daemon, new, pair, topic_of, vigie_up},
};
use telegram_emulator::{
    ADA, AGENTS, BOB, Emulator, Fault, FaultKind, Media, MediaKind, Membership, STRANGER, Shown,
    Status, World,
};

/// Nobody reads a card and answers it in less; messages tell their time in whole seconds.
const READ: Duration = Duration::from_secs(3);

/// Ada's own chat, connected, with these sessions.
async fn private(names: &[&str]) -> (Home, Emulator) {
    let (home, emulator) = daemon(World::default(), "").await;
    pair(&home, &emulator, ADA, ADA).await;
    for name in names {
        new(&home, name).await;
    }
    (home, emulator)
}

/// The group with topics, connected by Ada.
async fn forum(names: &[&str]) -> (Home, Emulator) {
    let (home, emulator) = daemon(World::default(), "").await;
    pair(&home, &emulator, AGENTS, ADA).await;
    for name in names {
        new(&home, name).await;
    }
    (home, emulator)
}

#[tokio::test]
async fn a_story_is_begun_steered_and_finished_with_a_phone_alone() {
    let (home, emulator) = private(&[]).await;
    emulator.send(ADA, ADA, "/new PD-285 leave a note").now();
    let card = emulator.wait_button(ADA, None, "Approve").await;
    assert!(card.text.contains("PD-285 asks to run") && card.text.contains("vigie-demo.txt"));
    assert_eq!(card.button("Approve").unwrap().style.as_deref(), Some("success"));
    let toast = emulator.press(ADA, card.id, ADA, "Approve").answer().await;
    assert!(toast.text.contains("Approved"));
    let decided = becomes(&emulator, ADA, card.id, "The agent has it").await;
    assert!(decided.text.contains("Approved by Inès Caradec") && decided.buttons.is_empty());
    emulator.wait_message(ADA, None, "Done: “leave a note”").await;
    assert!(home.project().join("vigie-demo.txt").exists());

    let message = emulator.send(ADA, ADA, "[pd-285] recall").now();
    emulator.wait_reaction(ADA, message, "👌").await;
    emulator.wait_message(ADA, None, "leave a note").await;
    emulator.assert_clean();
}

#[tokio::test]
async fn each_session_gets_its_topic_and_needs_no_prefix_there() {
    let (home, emulator) = forum(&["PD-285", "PD-286"]).await;
    let (first, second) =
        (topic_of(&emulator, AGENTS, "PD-285").await, topic_of(&emulator, AGENTS, "PD-286").await);
    emulator.send(AGENTS, ADA, "leave a note").topic(first).now();
    emulator.send(AGENTS, ADA, "ask which store").topic(second).now();
    let card = emulator.wait_button(AGENTS, Some(first), "Approve").await;
    let question = emulator
        .wait_value("the question in its topic", DEADLINE, |emulator| {
            let shown = emulator.messages(AGENTS, Some(second));
            shown.into_iter().find(|m| m.is_bot() && m.all_buttons().count() > 1)
        })
        .await;
    let option = question.all_buttons().next().unwrap().label.clone();
    emulator.press(AGENTS, question.id, ADA, &option).answer().await;
    emulator.advance(READ);
    emulator.send(AGENTS, ADA, "approve").topic(first).now();
    becomes(&emulator, AGENTS, card.id, "The agent has it").await;
    emulator.wait_message(AGENTS, Some(first), "Done: “leave a note”").await;
    becomes(&emulator, AGENTS, question.id, "The agent has it").await;
    let in_general = emulator.messages(AGENTS, Some(telegram_emulator::GENERAL));
    assert!(!in_general.iter().any(|m| m.is_bot() && m.text.contains("Done:")), "{in_general:#?}");

    emulator.send(AGENTS, ADA, "/end").topic(second).now();
    home.session_is("PD-286", "ended").await;
    emulator
        .wait_for("a closed topic", DEADLINE, |emulator| {
            emulator.topics(AGENTS).iter().any(|topic| topic.id == second && topic.closed)
        })
        .await;
    emulator.assert_clean();
}

#[tokio::test]
async fn a_deleted_topic_is_made_again_where_the_answer_goes() {
    let (_home, emulator) = forum(&["PD-285"]).await;
    let old = topic_of(&emulator, AGENTS, "PD-285").await;
    emulator.delete_topic(AGENTS, old);
    emulator.send(AGENTS, ADA, "[PD-285] stream 2").now();
    let new = emulator
        .wait_value("a new topic", DEADLINE, |emulator| {
            let topics = emulator.topics(AGENTS);
            topics.into_iter().find(|topic| topic.id != old && topic.name.contains("PD-285"))
        })
        .await;
    emulator.wait_message(AGENTS, Some(new.id), "2 lines printed").await;
    assert_eq!(count(&emulator, AGENTS, "2 lines printed"), 1);
}

#[tokio::test]
async fn topics_of_a_private_chat_work_like_those_of_a_group() {
    let mut world = World::default();
    world.bot.has_topics_enabled = true;
    let (home, emulator) = daemon(world, "").await;
    pair(&home, &emulator, ADA, ADA).await;
    new(&home, "PD-285").await;
    let topic = topic_of(&emulator, ADA, "PD-285").await;
    emulator.send(ADA, ADA, "stream 2").topic(topic).now();
    emulator.wait_message(ADA, Some(topic), "2 lines printed").await;
    emulator.assert_clean();
}

#[tokio::test]
async fn without_the_right_to_make_topics_it_says_so_and_goes_on() {
    let mut world = World::default();
    world.groups[0].bot = Membership::of(Status::Administrator).without("can_manage_topics");
    let (home, emulator) = daemon(world, "").await;
    pair(&home, &emulator, AGENTS, ADA).await;
    new(&home, "PD-285").await;
    emulator.wait_message(AGENTS, None, "No topic can be made here").await;
    emulator.send(AGENTS, ADA, "[PD-285] stream 2").now();
    let answer = emulator.wait_message(AGENTS, None, "2 lines printed").await;
    assert!(answer.text.starts_with("PD-285"), "each message names its session: {answer:?}");
}

#[tokio::test]
async fn words_that_only_contain_an_answer_decide_nothing() {
    let (_home, emulator) = private(&["PD-285"]).await;
    emulator.send(ADA, ADA, "[PD-285] leave a note").now();
    let card = emulator.wait_button(ADA, None, "Approve").await;
    emulator.send(ADA, ADA, "approve").forwarded_from(BOB).now();
    emulator.send(ADA, ADA, "[PD-285] please don't approve this").now();
    emulator.advance(READ);
    emulator.send(ADA, ADA, "deny: use a dry run").reply_to(card.id).now();
    let decided = becomes(&emulator, ADA, card.id, "Denied").await;
    assert!(decided.buttons.is_empty());
    emulator.wait_message(ADA, None, "use a dry run").await;
}

#[tokio::test]
async fn a_thumb_on_the_card_decides_it() {
    let (_home, emulator) = private(&["PD-285"]).await;
    emulator.send(ADA, ADA, "[PD-285] leave a note").now();
    let card = emulator.wait_button(ADA, None, "Approve").await;
    emulator.react(ADA, card.id, ADA, Some("👍"));
    becomes(&emulator, ADA, card.id, "Approved by Inès Caradec").await;
}

#[tokio::test]
async fn strangers_reach_nothing_whatever_they_send() {
    let (_home, emulator) = private(&["PD-285"]).await;
    emulator.send(ADA, ADA, "[PD-285] leave a note").now();
    let card = emulator.wait_button(ADA, None, "Approve").await;
    emulator.send(STRANGER, STRANGER, "[PD-285] run it").now();
    let photo = Media::new(MediaKind::Document, "x.txt", "text/plain", b"x".to_vec());
    emulator.send(STRANGER, STRANGER, "[PD-285] run it").media(photo).now();
    emulator.send(STRANGER, STRANGER, "/pair 000000").now();
    let press = emulator.press(ADA, card.id, STRANGER, "Approve");
    emulator.wait_confirmed().await;
    emulator.wait_message(STRANGER, None, "does not know you").await;
    press.answer().await;
    assert!(emulator.calls_of("getFile").is_empty(), "nothing of theirs is fetched");
    assert_eq!(emulator.messages(STRANGER, None).iter().filter(|m| m.is_bot()).count(), 1);
    assert!(!emulator.message(ADA, card.id).unwrap().buttons.is_empty(), "the card is open");
}

#[tokio::test]
async fn an_answer_on_the_page_shows_on_telegram_and_the_other_way_round() {
    let (home, emulator) = private(&["PD-285"]).await;
    let phone = home.phone().await;
    phone.send("first-message", "[PD-285] leave a note").await;
    let on_page = phone.card().await;
    let card = emulator.wait_button(ADA, None, "Approve").await;
    phone.tap(&on_page, "Approve").await;
    let decided = becomes(&emulator, ADA, card.id, "Approved").await;
    assert!(decided.text.contains("the phone page"), "{}", decided.text);
    let deny = card.button("Deny").unwrap().data.clone().unwrap();
    let late = emulator.press_old(ADA, card.id, ADA, &deny).answer().await;
    assert!(late.text.contains("Already approved"), "{late:?}");
    emulator.send(ADA, ADA, "[PD-285] leave another").now();
    let card = emulator
        .wait_value("the next card", DEADLINE, |emulator| {
            let all = emulator.messages(ADA, None);
            all.into_iter().find(|m| m.id > card.id && m.button("Deny").is_some())
        })
        .await;
    emulator.press(ADA, card.id, ADA, "Deny").answer().await;
    let shown = phone.shows("a denied card", |m| plain(m).contains("Denied")).await;
    assert!(plain(&shown).contains("Telegram"), "{shown:#}");
}

#[tokio::test]
async fn what_was_sent_while_it_was_off_arrives_once_and_in_order() {
    let world = World { patience: DEADLINE, ..World::default() };
    let (mut home, emulator) = daemon(world, "").await;
    pair(&home, &emulator, ADA, ADA).await;
    new(&home, "PD-285").await;
    home.kill();
    for number in 0..20 {
        emulator.send(ADA, ADA, &format!("[PD-285] stream 1 # {number:02}")).now();
    }
    home.up().await;
    emulator.wait_confirmed().await;
    home.session_is("PD-285", "idle").await;
    let all_in = |emulator: &Emulator| {
        let all = emulator.messages(ADA, None);
        all.iter().filter(|m| m.reactions.iter().any(|r| r.emoji == "👌")).count() == 20
    };
    emulator.wait_for("👌 on all twenty", Duration::from_mins(3), all_in).await;
    emulator.send(ADA, ADA, "[PD-285] recall").now();
    let recalled = emulator.wait_message(ADA, None, "# 19").await;
    let said: Vec<_> =
        recalled.text.match_indices("# ").map(|(at, _)| &recalled.text[at + 2..at + 4]).collect();
    let expected: Vec<_> = (0..20).map(|number| format!("{number:02}")).collect();
    assert_eq!(said, expected);
}

#[tokio::test]
async fn an_answer_whose_call_was_carried_out_and_cut_off_is_there_once() {
    let (_home, emulator) = private(&["PD-285"]).await;
    let cut = Fault::new("sendMessage", FaultKind::DropAfter).times(1).skip(0);
    emulator.send(ADA, ADA, "[PD-285] stream 2").now();
    emulator.fault(cut);
    emulator.wait_message(ADA, None, "2 lines printed").await;
    emulator.send(ADA, ADA, "[PD-285] stream 3").now();
    emulator.wait_message(ADA, None, "3 lines printed").await;
    assert_eq!(count(&emulator, ADA, "2 lines printed"), 1);
}

#[tokio::test]
async fn a_flood_limit_is_obeyed_to_the_letter_and_nothing_is_lost() {
    let (_home, emulator) = private(&["PD-285"]).await;
    emulator.fault(Fault::new("sendMessage", FaultKind::TooMany(5)).times(1));
    emulator.send(ADA, ADA, "[PD-285] stream 2").now();
    emulator.wait_message(ADA, None, "2 lines printed").await;
    assert!(emulator.floods().is_empty(), "no call came inside the wait: {:?}", emulator.floods());
    assert_eq!(count(&emulator, ADA, "2 lines printed"), 1);
}

#[tokio::test]
async fn files_go_both_ways() {
    let (home, emulator) = private(&["PD-285"]).await;
    let report = Media::new(
        MediaKind::Document,
        "../../re port].pdf",
        "application/pdf",
        b"%PDF-1.7 x".to_vec(),
    );
    let sent = emulator.send(ADA, ADA, "[PD-285] stream 1").media(report).now();
    emulator.wait_reaction(ADA, sent, "👌").await;
    emulator.send(ADA, ADA, "[PD-285] recall").now();
    let recalled = emulator.wait_message(ADA, None, "Attached file").await;
    assert!(!recalled.text.contains(".."), "{}", recalled.text);
    std::fs::write(home.project().join("notes.txt"), "four words for Ada").unwrap();
    emulator.send(ADA, ADA, "/file PD-285 notes.txt").now();
    let file = emulator
        .wait_value("the file", DEADLINE, |emulator| {
            let all = emulator.messages(ADA, None);
            all.into_iter().filter(Shown::is_bot).find_map(|m| m.file)
        })
        .await;
    assert_eq!((file.name.as_str(), &file.bytes[..]), ("notes.txt", &b"four words for Ada"[..]));
    emulator.send(ADA, ADA, "/file PD-285 ../config.toml").now();
    emulator.wait_message(ADA, None, "outside").await;
    emulator.send(ADA, ADA, "/screen PD-285").now();
    let picture = emulator
        .wait_value("a picture", DEADLINE, |emulator| {
            let all = emulator.messages(ADA, None);
            all.into_iter().filter_map(|m| m.file).find(|file| file.kind == MediaKind::Photo)
        })
        .await;
    assert!(picture.bytes.starts_with(b"\x89PNG"));
    emulator.assert_clean();
}

#[tokio::test]
async fn a_paste_that_the_app_cut_is_one_prompt() {
    let (_home, emulator) = private(&["PD-285"]).await;
    let paste = format!("[PD-285] recall {}", "0123456789abcdef ".repeat(540));
    let parts = emulator.send(ADA, ADA, &paste).all();
    assert!(parts.len() > 2);
    emulator.wait_reaction(ADA, parts[0], "👌").await;
    let asked = emulator.messages(ADA, None);
    assert!(!asked.iter().any(|m| m.text.contains("Where should it go?")), "{asked:#?}");
}

#[tokio::test]
async fn status_tells_how_telegram_does_and_silence_is_noticed() {
    let (mut home, emulator) = private(&["PD-285"]).await;
    let end = std::time::Instant::now() + DEADLINE;
    loop {
        let status: Value = home.desk().get("/status").await.unwrap();
        let bridges = status["bridges"].as_array().unwrap();
        if bridges.iter().any(|b| b["name"] == "telegram" && b["heard"].is_string()) {
            break;
        }
        assert!(std::time::Instant::now() < end, "{status:#}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    emulator.send(ADA, ADA, "/status").now();
    emulator.wait_message(ADA, None, " s ago").await;
    let phone = home.phone().await;
    emulator.stop_listening();
    phone.hears("telegram has not been heard").await;
    emulator.listen_again();
    phone.hears("is heard again").await;
    emulator.send(ADA, ADA, "[PD-285] stream 2").now();
    emulator.wait_message(ADA, None, "2 lines printed").await;
    home.kill();
}

#[tokio::test]
async fn the_token_is_in_no_log_and_no_argument() {
    let (home, emulator) = private(&["PD-285"]).await;
    emulator.fault(Fault::new("getUpdates", FaultKind::DropBefore).times(2));
    emulator.fault(Fault::new("sendMessage", FaultKind::Status(502)).times(1));
    emulator.send(ADA, ADA, "[PD-285] stream 2").now();
    emulator.wait_message(ADA, None, "2 lines printed").await;
    let secret = emulator.token().split(':').nth(1).unwrap().to_owned();
    assert!(!home.log().contains(&secret), "{}", home.log());
    let arguments = std::fs::read(format!("/proc/{}/cmdline", home.pid())).unwrap_or_default();
    assert!(!String::from_utf8_lossy(&arguments).contains(&secret));
    let status: Value = home.desk().get("/status").await.unwrap();
    assert!(!status.to_string().contains(&secret));
}

#[tokio::test]
async fn a_token_that_is_revoked_is_said_and_vigie_goes_on() {
    let patience = Duration::from_secs(90); // it asks again once a minute
    let emulator = Emulator::start(World { patience, ..World::default() });
    emulator.revoke(true);
    let mut home = Home::new(vigie_up);
    configure(&home, &emulator, "");
    home.up().await;
    let end = std::time::Instant::now() + DEADLINE;
    loop {
        let status: Value = home.desk().get("/status").await.unwrap();
        let bridges = status["bridges"].as_array().unwrap();
        let telegram = bridges.iter().find(|bridge| bridge["name"] == "telegram").unwrap();
        if telegram["trouble"].as_str().is_some_and(|words| words.contains("token")) {
            break;
        }
        assert!(std::time::Instant::now() < end, "{status:#}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let _: Value = home.desk().post("/sessions", &json!({ "name": "PD-1" })).await.unwrap();
    emulator.revoke(false);
    emulator.wait_polling().await;
}
