//! Answers of models, out of the records that Claude Code keeps: its transcript, and a file for each of
//! its subagents (`<conversation>/subagents/agent-<id>.jsonl`, observed with 2.1.332).
//!
//! One answer stands in several lines, a line for each of its parts, and stands again in the files of
//! conversations that were forked from it: its ids say that it is one. Reading begins with the first
//! line each time the program starts, so that what was written while nobody read is counted too; what is
//! told twice counts once.

use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};
use vigie_core::{
    Timestamp,
    id::TurnId,
    ledger::{IN_THE_US, Tokens, UsageKey, Used},
};

use super::transcript::find_transcript;
use crate::agents::json;

/// Read of one file at a time. A longer line is the program's own bulk and never an answer's numbers.
const AT_ONCE: u64 = 8 << 20;

/// Files of subagents that are followed; far more than a session has in its life.
const MOST_FILES: usize = 5000;

/// Folders in folders of subagents that are looked into.
const DEPTH: usize = 3;

/// Longest name of a model or a subagent, and longest id, in characters.
const LONGEST_NAME: usize = 200;

/// Reads what comes to the records of one session.
pub(in crate::agents) struct Records {
    /// What the configuration puts into the program's environment: where its records are.
    env: BTreeMap<String, String>,
    /// Older answers are of before the session.
    since: Timestamp,
    /// A transcript that its hooks named and that is not there yet.
    expected: Option<(String, PathBuf)>,
    transcripts: Vec<PathBuf>,
    tails: BTreeMap<PathBuf, Tail>,
    told: HashMap<UsageKey, Tokens>,
}

/// How far a file is read.
#[derive(Default)]
struct Tail {
    read_to: u64,
    /// In the middle of a line that is too long.
    skips: bool,
    subagent: Option<String>,
    /// The turn that its last words of a person, or of whoever asked, began.
    turn: Option<TurnId>,
    /// When the model was last given something.
    asked: Option<Timestamp>,
}

impl Records {
    pub(in crate::agents) fn new(env: BTreeMap<String, String>, since: Timestamp) -> Self {
        Self {
            env,
            since,
            expected: None,
            transcripts: Vec::new(),
            tails: BTreeMap::new(),
            told: HashMap::new(),
        }
    }

    /// The agent goes on in this transcript; those of before are followed further, since what works in
    /// the background may still write there.
    pub(in crate::agents) fn follow(&mut self, conversation: &str, told: &str) {
        let told = PathBuf::from(told);
        if self.expected.as_ref().is_none_or(|(_, path)| *path != told) {
            self.expected = Some((conversation.into(), told));
        }
    }

    /// Finds the transcript of that conversation, wherever it is.
    fn follow_conversation(&mut self, conversation: &str) {
        self.transcripts.extend(find_transcript(&self.env, None, conversation));
    }

    /// What was answered since the last time, or is more than it was: at most what stands in a few
    /// megabytes. Nothing: there is no more for now.
    pub(in crate::agents) fn read(&mut self) -> Vec<Used> {
        self.find();
        let mut all = Vec::new();
        for path in &self.transcripts {
            for file in subagents_of(path) {
                let subagent = subagent_of(&file);
                let new = || Tail { subagent, ..Tail::default() };
                if self.tails.len() < MOST_FILES {
                    self.tails.entry(file).or_insert_with(new);
                }
            }
        }
        for (path, tail) in &mut self.tails {
            // What cannot be read now is read the next time.
            let Ok(lines) = tail.lines(path) else { continue };
            for line in lines {
                all.extend(tail.take(&line));
            }
        }
        all.retain(|used| used.at >= self.since);
        // Of all files together; lines of one answer stay in their order.
        all.sort_by_key(|used| used.at);
        all.into_iter().filter_map(|used| self.is_news(used)).collect()
    }

    /// The same until there is no more: no file is endless.
    pub(in crate::agents) fn read_on(&mut self) -> Vec<Used> {
        let mut all = Vec::new();
        loop {
            let before = self.progress();
            all.extend(self.read());
            if self.progress() == before {
                return all;
            }
        }
    }

    fn progress(&self) -> u64 {
        self.tails.values().map(|tail| tail.read_to).sum()
    }

    fn find(&mut self) {
        if let Some((conversation, told)) = &self.expected
            && let Some(path) = find_transcript(&self.env, Some(told), conversation)
            && !self.transcripts.contains(&path)
        {
            self.transcripts.push(path);
        }
        for path in &self.transcripts {
            self.tails.entry(path.clone()).or_default();
        }
    }

    /// With all that is known of it, when that is more than was told.
    fn is_news(&mut self, used: Used) -> Option<Used> {
        let told = self.told.entry(used.key.clone()).or_default();
        let tokens = told.max(used.tokens);
        let news = tokens != *told;
        *told = tokens;
        news.then_some(Used { tokens, ..used })
    }
}

/// Answers of one conversation and its subagents, read again and again while its program works.
pub struct UsageReader {
    records: Records,
    conversation: String,
}

impl UsageReader {
    pub fn new(env: BTreeMap<String, String>, conversation: String, since: Timestamp) -> Self {
        Self { records: Records::new(env, since), conversation }
    }

    /// What was answered since the last time.
    pub fn read(&mut self) -> Vec<Used> {
        if self.records.transcripts.is_empty() {
            self.records.follow_conversation(&self.conversation);
        }
        self.records.read()
    }
}

/// All answers of that conversation and its subagents since then, for a program that has ended.
pub fn read_usage(
    env: &BTreeMap<String, String>,
    conversation: &str,
    since: Timestamp,
) -> Vec<Used> {
    let mut records = Records::new(env.clone(), since);
    records.follow_conversation(conversation);
    records.read_on()
}

impl Tail {
    /// Whole lines that were added, without those that are too long.
    fn lines(&mut self, path: &Path) -> io::Result<Vec<Vec<u8>>> {
        let size = fs::metadata(path)?.len();
        if size < self.read_to {
            // It was written anew; what was told is known.
            (self.read_to, self.skips) = (0, false);
        }
        if size == self.read_to {
            return Ok(Vec::new());
        }
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.read_to))?;
        let mut bytes = Vec::new();
        file.take(AT_ONCE).read_to_end(&mut bytes)?;
        let full = bytes.len() as u64 == AT_ONCE;
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            if full {
                self.skips = true;
                self.read_to += AT_ONCE;
            }
            return Ok(Vec::new()); // still being written, or torn
        };
        bytes.truncate(end + 1);
        self.read_to += bytes.len() as u64;
        let skip = usize::from(std::mem::take(&mut self.skips));
        Ok(bytes.split(|byte| *byte == b'\n').skip(skip).map(<[u8]>::to_vec).collect())
    }

    fn take(&mut self, line: &[u8]) -> Option<Used> {
        let has = |words: &[u8]| line.windows(words.len()).any(|part| part == words);
        let answers = has(b"\"usage\":");
        if !answers && !has(b"\"type\":\"user\"") {
            return None;
        }
        let value = read_line(line)?;
        match value["type"].as_str()? {
            "user" => {
                self.asked = at(&value).or(self.asked);
                if let Some(turn) = text(&value["promptId"]) {
                    self.turn = Some(TurnId::new(turn));
                }
                None
            }
            "assistant" => self.answer(&value),
            _ => None,
        }
    }

    fn answer(&self, line: &Value) -> Option<Used> {
        let (message, at) = (&line["message"], at(line)?);
        let tokens = tokens(&message["usage"]);
        if tokens == Tokens::default() {
            return None;
        }
        // Without an id of its own it is the line that cannot stand twice.
        let id = text(&message["id"]).or_else(|| text(&line["uuid"]))?;
        let key = UsageKey { message: id, request: text(&line["requestId"]).unwrap_or_default() };
        let aside = line["isSidechain"] == true;
        let inline = aside.then(|| text(&line["agentId"]).unwrap_or_else(|| "unnamed".into()));
        Some(Used {
            key,
            model: model(message),
            asked: self.asked.filter(|asked| *asked <= at).unwrap_or(at),
            at,
            tokens,
            turn: self.turn.clone(),
            subagent: self.subagent.clone().or(inline),
        })
    }
}

/// A line, or the last whole one in it where an earlier one was torn.
fn read_line(line: &[u8]) -> Option<Value> {
    const BEGINS: &[u8] = b"{\"parentUuid\":";
    json::read(line).ok().or_else(|| {
        let from = line.windows(BEGINS.len()).rposition(|part| part == BEGINS)?;
        json::read(line.get(from..)?).ok()
    })
}

fn at(line: &Value) -> Option<Timestamp> {
    line["timestamp"].as_str()?.parse().ok()
}

/// Somebody else's words, kept to what is seen and is short.
fn text(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty())?;
    let seen = |c: char| if c.is_ascii_graphic() { c } else { '?' };
    Some(text.chars().take(LONGEST_NAME).map(seen).collect())
}

/// Its name, and behind it what makes it dearer.
fn model(message: &Value) -> String {
    let mut model = text(&message["model"]).unwrap_or_else(|| "unnamed".into());
    let usage = &message["usage"];
    if usage["speed"] == "fast" {
        model.push_str(" fast");
    }
    if usage["inference_geo"] == IN_THE_US {
        model.push(' ');
        model.push_str(IN_THE_US);
    }
    model
}

fn tokens(usage: &Value) -> Tokens {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let written = number(&usage["cache_creation_input_tokens"]);
    let hour = number(&usage["cache_creation"]["ephemeral_1h_input_tokens"]);
    let short = number(&usage["cache_creation"]["ephemeral_5m_input_tokens"]);
    Tokens {
        input: number(&usage["input_tokens"]),
        output: number(&usage["output_tokens"]),
        cache_read: number(&usage["cache_read_input_tokens"]),
        cache_write_5m: written.max(short.saturating_add(hour)).saturating_sub(hour),
        cache_write_1h: hour,
        web_searches: number(&usage["server_tool_use"]["web_search_requests"]),
    }
}

/// Files beside that transcript; links lead nowhere else.
fn subagents_of(transcript: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&transcript.with_extension("").join("subagents"), DEPTH, &mut found);
    found
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().take(MOST_FILES) {
        let path = entry.path();
        // Of a link neither is said.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 0 {
            collect(&path, depth - 1, found);
        } else if kind.is_file() && path.extension().is_some_and(|ending| ending == "jsonl") {
            found.push(path);
        }
    }
}

fn subagent_of(file: &Path) -> Option<String> {
    let name = file.file_stem()?.to_str()?;
    text(&Value::from(name.strip_prefix("agent-").unwrap_or(name)))
}

#[cfg(test)]
mod tests;
