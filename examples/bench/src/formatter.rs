//! From an agent's Markdown to messages of Telegram's.

use anyhow::{Result, ensure};
use serde_json::Value;
use std::{hint::black_box, time::Instant};
use telegram_emulator::formatted;
use vigie_core::{
    bridge::{Limits, Room},
    text::{Fitted, fit, markdown},
};
use vigie_telegram::{
    limits,
    markup::{MESSAGE_UNITS, Text, lay_out, utf16_len},
};

use super::{
    chance::Chance,
    table::{Figure, median},
};

const SEED: u64 = 1;
const ROUNDS: usize = 7;
const MEGABYTE: usize = 1_000_000;
const REPLIES: u32 = 100_000;
/// A generated reply has up to so many blocks.
const BLOCKS: u64 = 24;

pub(crate) fn measure() -> Result<Vec<Figure>> {
    let limits = limits(Room::Direct, None);
    let mut chance = Chance::new(SEED);
    let mut large = Reply::default();
    while large.source.len() < MEGABYTE {
        large.block(&mut chance);
    }
    let sizes = [MEGABYTE / 4, MEGABYTE / 2, MEGABYTE].map(|size| cut(&large.source, size));
    let reply = |source: &str| drop(black_box(messages(&fit(&markdown(source), &limits, "reply"))));
    // A long reply is shown by its beginning and a document; this way all of it is laid out.
    let all = |source: &str| drop(black_box(lay_out(&markdown(source))));
    let mut figures = rows("1 MB of Markdown → what is sent", sizes.map(|size| time(size, reply)));
    figures.extend(rows(
        "1 MB of Markdown → all of it in messages",
        sizes.map(|size| time(size, all)),
    ));
    figures.extend(replies(&limits, &mut chance)?);
    Ok(figures)
}

fn messages(fitted: &Fitted) -> Vec<Text> {
    fitted.parts.iter().flat_map(lay_out).collect()
}

/// The beginning of at most `size` bytes.
fn cut(source: &str, size: usize) -> &str {
    &source[..source.floor_char_boundary(size)]
}

/// The middle of some rounds, in milliseconds.
fn time(source: &str, work: impl Fn(&str)) -> f64 {
    let round = |_| {
        let start = Instant::now();
        work(source);
        start.elapsed().as_secs_f64() * 1000.
    };
    median(&mut (0..ROUNDS).map(round).collect::<Vec<_>>())
}

/// Twice and four times the text are to take twice and four times as long; the rest is what a busy
/// machine may add.
fn rows(what: &str, [quarter, half, whole]: [f64; 3]) -> Vec<Figure> {
    vec![
        Figure::new(what, whole, "ms").at_most(100.),
        Figure::new(what, whole, "ms").against("1/2 MB", half).at_most(2.5),
        Figure::new(what, whole, "ms").against("1/4 MB", quarter).at_most(5.),
    ]
}

/// Generated replies: what Telegram's text check says of each message, and what is not seen.
fn replies(limits: &Limits, chance: &mut Chance) -> Result<[Figure; 3]> {
    let (mut refused, mut changed, mut lost, mut bytes) = (0_u32, 0_u32, 0_u32, 0_usize);
    for _ in 0..REPLIES {
        let mut reply = Reply::default();
        for _ in 0..=chance.below(BLOCKS) {
            reply.block(chance);
        }
        bytes += reply.source.len();
        let fitted = fit(&markdown(&reply.source), limits, "reply");
        let messages = messages(&fitted);
        for text in &messages {
            match checked(text)? {
                Checked::Kept => {}
                Checked::Changed => changed += 1,
                Checked::Refused => refused += 1,
            }
        }
        let shown: Vec<&str> = messages.iter().map(|text| text.text.as_str()).collect();
        let whole = fitted.document.map_or_else(|| shown.concat(), |document| document.text);
        lost += missing(&reply.seen, &whole);
    }
    ensure!(bytes > MEGABYTE, "the replies are too short to say anything");
    let what = format!("{REPLIES} replies of {} kB in the middle", bytes / REPLIES as usize / 1000);
    let figure = |words: &str, count: u32| {
        Figure::new(format!("{what}: {words}"), f64::from(count), "×").at_most(0.)
    };
    Ok([
        figure("messages refused", refused),
        figure("messages that Telegram would change", changed),
        figure("visible characters lost", lost),
    ])
}

enum Checked {
    Kept,
    Changed,
    Refused,
}

/// What the emulator makes of a message, which is what Telegram would.
fn checked(text: &Text) -> Result<Checked> {
    let entities = serde_json::to_value(&text.entities)?;
    let entities: &[Value] = entities.as_array().map_or(&[], Vec::as_slice);
    let Ok(formatted) = formatted(&text.text, entities) else { return Ok(Checked::Refused) };
    let too_long = utf16_len(&formatted.text) > MESSAGE_UNITS;
    if formatted.text.is_empty() || too_long {
        return Ok(Checked::Refused);
    }
    let kept = formatted.text == text.text && formatted.dropped == 0;
    Ok(if kept { Checked::Kept } else { Checked::Changed })
}

/// How many of the characters of `seen` do not stand in `shown`, in this order.
fn missing(seen: &[String], shown: &str) -> u32 {
    let mut rest = shown;
    let mut missing = 0;
    for word in seen {
        match rest.find(word.as_str()) {
            Some(at) => rest = &rest[at + word.len()..],
            None => missing += u32::try_from(word.chars().count()).unwrap_or(u32::MAX),
        }
    }
    missing
}

/// What words are made of: plain ones, and those that are easily cut in the wrong place.
const WORDS: [&str; 16] = [
    "tide",
    "harbour",
    "marée",
    "港の切符",
    "👩‍🚀",
    "e\u{301}tale",
    "naïve",
    "نهر",
    "🇫🇷",
    "a<b>&c",
    "x=1;",
    "100%",
    "C:",
    "déjà",
    "👨‍👩‍👧‍👦",
    "Σ",
];

const PROGRAM: &str = "fn height(hour: u32) -> f64 { TABLE[hour as usize].sin() }";

/// A reply, and the words of it that a person must see, in order.
#[derive(Default)]
struct Reply {
    source: String,
    seen: Vec<String>,
    count: usize,
}

impl Reply {
    fn block(&mut self, chance: &mut Chance) {
        match chance.below(9) {
            0 => self.heading(chance),
            1 => self.code(chance),
            2 => self.list(chance, "- "),
            3 => self.list(chance, "1. "),
            4 => self.list(chance, "> "),
            5 => self.table(chance),
            _ => self.paragraph(chance),
        }
        self.source.push('\n');
    }

    /// A word that occurs once, so that a lost one is missed.
    fn word(&mut self, chance: &mut Chance) -> String {
        self.count += 1;
        let word = format!("{}{}", chance.pick(&WORDS), self.count);
        self.seen.push(word.clone());
        word
    }

    fn styled(&mut self, chance: &mut Chance) {
        let word = self.word(chance);
        let styled = match chance.below(8) {
            0 => format!("**{word}**"),
            1 => format!("*{word}*"),
            2 => format!("`{word}`"),
            3 => format!("~~{word}~~"),
            4 => format!("[{word}](https://example.org/{})", self.count),
            5 => format!("***{word}***"),
            _ => word,
        };
        self.source.push_str(&styled);
        self.source.push(' ');
    }

    fn line(&mut self, chance: &mut Chance, most: u64) {
        for _ in 0..=chance.below(most) {
            self.styled(chance);
        }
        self.source.push('\n');
    }

    fn paragraph(&mut self, chance: &mut Chance) {
        for _ in 0..=chance.below(3) {
            self.line(chance, 12);
        }
    }

    fn heading(&mut self, chance: &mut Chance) {
        self.source.push_str(chance.pick(&["# ", "## ", "### "]));
        self.line(chance, 4);
    }

    fn list(&mut self, chance: &mut Chance, mark: &str) {
        for _ in 0..=chance.below(6) {
            self.source.push_str(mark);
            self.line(chance, 6);
        }
    }

    fn code(&mut self, chance: &mut Chance) {
        self.source.push_str(chance.pick(&["```\n", "```rust\n", "```text\n"]));
        for _ in 0..=chance.below(12) {
            let word = self.word(chance);
            self.source.push_str(chance.pick(&["", "    ", "\t"]));
            self.source.extend([PROGRAM, " // ", &word, "\n"]);
        }
        self.source.push_str("```\n");
    }

    fn table(&mut self, chance: &mut Chance) {
        let columns = 2 + chance.below(3);
        for row in 0..=1 + chance.below(5) {
            for _ in 0..columns {
                let word = self.word(chance);
                self.source.extend(["| ", &word, " "]);
            }
            self.source.push_str("|\n");
            if row == 0 {
                (0..columns).for_each(|_| self.source.push_str("| --- "));
                self.source.push_str("|\n");
            }
        }
    }
}
