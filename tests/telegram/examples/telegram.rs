//! A Telegram to try a bot with, in this terminal, without an account anywhere:
//!
//! ```text
//! cargo run -p telegram-emulator --example telegram -- 8081
//! ```
//!
//! Point the bot at the address it prints. What the phones show appears by itself; `help` says what
//! to type.
#![expect(clippy::print_stdout, reason = "it talks to a person in a terminal")]

use std::{collections::BTreeMap, env, panic, time::Duration};

use telegram_emulator::{
    ADA, AGENTS, BOB, ChatId, Emulator, MessageId, STRANGER, Shown, TopicId, UserId, World,
};
use tokio::io::{AsyncBufReadExt, BufReader};

/// How often the screen is looked at, so that a person sees what comes while they think.
const GLANCE: Duration = Duration::from_millis(200);

const HELP: &str = "\
ada: TEXT            Ada writes to the bot (also bob, stranger)
ada #: TEXT          Ada writes in the group, in General
ada #12: TEXT        … in its topic 12
press 7 Approve      Ada presses a button under message 7 of her own chat
press #7 Approve     … under message 7 of the group
react 7 👍           Ada reacts (react #7 👍 in the group)
topic NAME           Ada makes a topic in the group
all                  everything the phones show
help, quit";

/// What was typed.
enum Line<'a> {
    Say { who: UserId, place: Place, text: &'a str },
    Press { chat: ChatId, message: MessageId, button: &'a str },
    React { chat: ChatId, message: MessageId, emoji: &'a str },
    Topic(&'a str),
    All,
    Quit,
    Nothing,
}

/// Where somebody writes.
enum Place {
    Private,
    General,
    Topic(TopicId),
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let port = env::args().nth(1).map_or(Ok(8081), |port| port.parse());
    let Ok(port) = port else {
        println!("usage: telegram [PORT]");
        return;
    };
    let emulator = Emulator::start(World { port, ..World::default() });
    println!("api_url: {}\ntoken:   {}\n\n{HELP}\n", emulator.url(), emulator.token());
    panic::set_hook(Box::new(|info| {
        println!("{}", info.payload_as_str().unwrap_or("that failed"));
    }));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut glance = tokio::time::interval(GLANCE);
    let mut seen = BTreeMap::new();
    loop {
        tokio::select! {
            line = lines.next_line() => match line {
                Ok(Some(line)) => match read(line.trim()) {
                    Line::Quit => return,
                    line => act(&emulator, &line),
                },
                Ok(None) | Err(_) => return,
            },
            _ = glance.tick() => show(&emulator, &mut seen),
        }
    }
}

/// What a line means; what nobody understands is nothing, and answered with the help.
fn read(line: &str) -> Line<'_> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (target, last) = rest.split_once(' ').unwrap_or((rest, ""));
    let message = |target: &str| match target.strip_prefix('#') {
        Some(id) => id.parse().ok().map(|id| (AGENTS, id)),
        None => target.parse().ok().map(|id| (ADA, id)),
    };
    match (word, message(target)) {
        ("press", Some((chat, message))) => Line::Press { chat, message, button: last },
        ("react", Some((chat, message))) => Line::React { chat, message, emoji: last },
        ("topic", _) if !rest.is_empty() => Line::Topic(rest),
        ("all", _) => Line::All,
        ("quit", _) => Line::Quit,
        _ => said(line).unwrap_or(Line::Nothing),
    }
}

/// `ada: text`, `ada #: text` or `ada #12: text`.
fn said(line: &str) -> Option<Line<'_>> {
    let (head, text) = line.split_once(':')?;
    let (name, place) = head.trim().split_once(' ').unwrap_or((head.trim(), ""));
    let who = match name {
        "ada" => ADA,
        "bob" => BOB,
        "stranger" => STRANGER,
        _ => return None,
    };
    let place = match place.trim() {
        "" => Place::Private,
        "#" => Place::General,
        topic => Place::Topic(topic.strip_prefix('#')?.parse().ok()?),
    };
    Some(Line::Say { who, place, text: text.trim() })
}

fn act(emulator: &Emulator, line: &Line<'_>) {
    // The emulator panics where the app would not let a person do it. Here that is worth a word, which
    // the hook has said already.
    let _ = panic::catch_unwind(panic::AssertUnwindSafe(|| match *line {
        Line::Say { who, place: Place::Private, text } => {
            emulator.send(who, who, text).now();
        }
        Line::Say { who, place: Place::General, text } => {
            emulator.send(AGENTS, who, text).now();
        }
        Line::Say { who, place: Place::Topic(topic), text } => {
            emulator.send(AGENTS, who, text).topic(topic).now();
        }
        Line::Press { chat, message, button } => {
            let _ = emulator.press(chat, message, ADA, button);
        }
        Line::React { chat, message, emoji } => {
            emulator.react(chat, message, ADA, Some(emoji).filter(|emoji| !emoji.is_empty()));
        }
        Line::Topic(name) => println!("topic {}", emulator.create_topic(AGENTS, ADA, name)),
        Line::All => println!("{}", emulator.picture()),
        Line::Nothing | Line::Quit => println!("{HELP}"),
    }));
}

/// Prints what is new or changed since the last glance.
fn show(emulator: &Emulator, seen: &mut BTreeMap<(ChatId, String), String>) {
    for (chat, name) in [(ADA, "Ada"), (BOB, "Bob"), (STRANGER, "Stranger"), (AGENTS, "Agents")] {
        let mut shown: Vec<(String, String)> = emulator
            .messages(chat, None)
            .iter()
            .map(|message| (message.id.to_string(), describe(message)))
            .collect();
        let toasts = emulator.toasts(chat);
        shown.extend(
            toasts
                .iter()
                .enumerate()
                .map(|(at, toast)| (format!("toast {at}"), format!("» {}", toast.text))),
        );
        for (id, text) in shown {
            if seen.get(&(chat, id.clone())) != Some(&text) {
                println!("[{name}] {id} {text}");
                seen.insert((chat, id), text);
            }
        }
    }
}

fn describe(message: &Shown) -> String {
    let who = if message.is_bot() { "bot" } else { "person" };
    let topic = message.topic.map(|topic| format!(" #{topic}")).unwrap_or_default();
    let service = message.service.map(|name| format!(" ({name})")).unwrap_or_default();
    let file = message.file.as_ref().map(|file| format!(" <{}>", file.name)).unwrap_or_default();
    let edited = if message.versions.is_empty() { "" } else { " (edited)" };
    let buttons: Vec<String> =
        message.all_buttons().map(|button| format!("[{}]", button.label)).collect();
    let reactions: Vec<&str> = message.reactions.iter().map(|one| one.emoji.as_str()).collect();
    let (buttons, reactions) = (buttons.join(" "), reactions.join(" "));
    format!("{who}{topic}{service}{file}{edited}: {} {buttons} {reactions}", message.text)
}
