//! The daemon is killed at random points, while a person on Matrix and agents write to each other:
//! nothing is lost, nothing doubled, everything in order. `VIGIE_TEST_KILLS` says how often, 25 times
//! where it does not; `VIGIE_TEST_SEED` does the same again.
#![cfg(feature = "matrix")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod home;
    pub(crate) mod matrix;
    pub(crate) mod phone;
}

use matrix_lab::{Message, Phone, View, tools};
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::{
    collections::BTreeSet,
    env, fs,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};
use support::{home::Home, matrix::Life};

const KILLS: u32 = 25;
const SESSIONS: [&str; 3] = ["PD-285", "PD-286", "PD-287"];
/// As often a person writes who writes a lot.
const WRITES: Duration = Duration::from_millis(600);
/// Every so many messages ask for something that needs a person's yes.
const ASKS: u32 = 7;
/// The longest life of a daemon, from its first moment or from when it is up.
const LIFE: Duration = Duration::from_millis(2_500);
/// After the last kill, all that is left to do gets done in less.
const THE_REST: Duration = Duration::from_mins(4);

/// A session and the thread it has.
struct Story {
    name: &'static str,
    thread: String,
}

#[tokio::test]
async fn nothing_is_lost_or_doubled_whenever_it_is_killed() {
    let Some(tools) = tools() else { return };
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let kills = number("VIGIE_TEST_KILLS").unwrap_or(u64::from(KILLS));
    let seed = number("VIGIE_TEST_SEED").unwrap_or_else(rand::random);
    eprintln!("{kills} kills, VIGIE_TEST_SEED={seed}");
    let Life { mut home, phone, room, .. } = {
        let life = Life::begin(&tools, "threads").await;
        for name in SESSIONS {
            life.start(name).await;
        }
        life
    };
    let mut stories = Vec::new();
    for name in SESSIONS {
        stories.push(Story { name, thread: support::matrix::thread_of(&phone, &room, name).await });
    }

    let over = AtomicBool::new(false);
    let (written, approved, ()) = tokio::join!(
        writing(&phone, &room, &stories, &over),
        approving(&phone, &room, &over),
        killing(&mut home, kills, StdRng::seed_from_u64(seed), &over),
    );
    for (story, numbers) in stories.iter().zip(&written) {
        came_back_once(&phone, &room, story, numbers).await;
    }
    let note = fs::read_to_string(home.project().join("vigie-demo.txt")).unwrap();
    let asked = written.iter().flatten().filter(|number| number.is_multiple_of(ASKS)).count();
    assert_eq!(note.lines().count(), asked, "each command ran once");
    assert_eq!(approved.len(), asked, "one card each");
    let view = phone.view();
    assert!(view.unreadable().is_empty() && view.defects.is_empty(), "{view}");
    let messages: usize = written.iter().map(Vec::len).sum();
    eprintln!("{kills} kills, {messages} messages and answers, {asked} cards: lost 0, doubled 0");
}

/// Writes to each session in turn until it is over; what was written to each.
async fn writing(phone: &Phone, room: &str, stories: &[Story], over: &AtomicBool) -> Vec<Vec<u32>> {
    let mut written = vec![Vec::new(); stories.len()];
    for number in 1.. {
        let at = number as usize % stories.len();
        phone.say_in_thread(room, &stories[at].thread, &task(number)).await;
        written[at].push(number);
        if over.load(Ordering::SeqCst) {
            break;
        }
        tokio::time::sleep(WRITES).await;
    }
    written
}

/// What is asked for, and tells its number in the answer.
fn task(number: u32) -> String {
    if number.is_multiple_of(ASKS) {
        format!("leave note {number}")
    } else {
        format!("slow 0.{number:05}1")
    }
}

/// What answers it, and nothing else.
fn answer(number: u32) -> String {
    if number.is_multiple_of(ASKS) {
        format!("Done: “leave note {number}”")
    } else {
        format!("That took 0.{number:05}1 s.")
    }
}

/// Says yes to every card until it is over and none is open; which cards those were.
async fn approving(phone: &Phone, room: &str, over: &AtomicBool) -> BTreeSet<String> {
    let mut approved = BTreeSet::new();
    let mut left = None;
    loop {
        let card = |view: &View| {
            let mut all = view.rooms.get(room)?.messages.iter();
            let is_new = |one: &&Message| is_card(phone, one) && !approved.contains(&one.id);
            all.find(is_new).map(|one| one.id.clone())
        };
        assert!(left.is_none_or(|left| left > Instant::now()), "still open\n{}", phone.view());
        if over.load(Ordering::SeqCst) && left.is_none() {
            left = Some(Instant::now() + THE_REST);
        }
        match card(&phone.view()) {
            Some(card) => {
                phone.react(room, &card, "👍").await;
                approved.insert(card);
            }
            None if left.is_some() && no_more_cards(phone, room) => break,
            None => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    approved
}

fn is_card(phone: &Phone, message: &Message) -> bool {
    let first = message.versions.first().map_or(&message.body, |version| &version.body);
    message.sender != phone.user() && first.contains("asks to run")
}

/// Whether all that was asked for is answered.
fn no_more_cards(phone: &Phone, room: &str) -> bool {
    let view = phone.view();
    let messages = &view.rooms[room].messages;
    let mine = messages.iter().filter(|one| one.sender == phone.user());
    let mut asked = mine.filter(|one| one.body.starts_with("leave note"));
    let done = |one: &Message| {
        let words = format!("Done: “{}”", one.body);
        messages.iter().any(|other| other.sender != phone.user() && other.says(&words))
    };
    asked.all(done)
}

/// Kills the daemon again and again, some time after its start or after it was up; then lets it live.
async fn killing(home: &mut Home, kills: u64, mut random: StdRng, over: &AtomicBool) {
    for _ in 0..kills {
        if random.random_bool(0.7) {
            assert!(home.try_up().await, "it does not start:\n{}", home.log());
        }
        tokio::time::sleep(random.random_range(Duration::ZERO..LIFE)).await;
        home.kill();
        home.spawn();
    }
    over.store(true, Ordering::SeqCst);
    assert!(home.try_up().await, "it does not start:\n{}", home.log());
}

/// Every message is answered once and in order, and its agent was told each once and in order.
async fn came_back_once(phone: &Phone, room: &str, story: &Story, numbers: &[u32]) {
    let Story { name, thread } = story;
    let last = answer(*numbers.last().unwrap());
    let answers = |view: &View| {
        let messages = view.rooms[room].thread(thread);
        let theirs = messages.filter(|one| one.sender != phone.user());
        theirs.map(|one| one.body.clone()).collect::<Vec<_>>()
    };
    phone
        .wait_for(&format!("the last answer of {name}"), THE_REST, |view| {
            answers(view).iter().any(|body| body.contains(&last))
        })
        .await;
    // Whatever would come twice comes before the answer to the next message.
    phone.say_in_thread(room, thread, "recall").await;
    let first = format!("• {}", task(numbers[0]));
    let recalled = phone.wait_in_thread(room, thread, &first).await;
    let told: Vec<_> = recalled.body.lines().filter_map(|line| line.strip_prefix("• ")).collect();
    let expected: Vec<_> = numbers.iter().map(|number| task(*number)).collect();
    assert_eq!(told, expected, "what {name} was told\n{}", phone.view());
    let said = answers(&phone.view());
    let told: Vec<_> = said.iter().filter_map(|body| number_of(body)).collect();
    assert_eq!(told, numbers, "what {name} answered\n{}", phone.view());
}

/// Which message that answers.
fn number_of(body: &str) -> Option<u32> {
    let number = |before: &str, digits: usize| {
        let (_, rest) = body.split_once(before)?;
        let all: String = rest.chars().take_while(char::is_ascii_digit).collect();
        all.get(..digits.min(all.len()))?.parse().ok()
    };
    number("That took 0.", 5).or_else(|| number("Done: “leave note ", 9))
}
