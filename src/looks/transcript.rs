//! A session's conversation as a document.

use std::{
    io,
    path::{Path, PathBuf},
};
use vigie_core::{
    Timestamp,
    agent::AgentEvent,
    text::{mask, reveal},
};

use super::recording;
use crate::{
    agents::{
        AgentKind, Conversation, Spec,
        claude::{Said, Talk, What, find_transcript, read_transcript},
    },
    hold::client::{self, LinkError},
};

/// Longest document, in bytes: a few hundred pages, and phones open it at once.
const MOST_BYTES: usize = 512 << 10;
/// Longest text of one message, in bytes; the rest of a pasted log is not the conversation.
const LONGEST_TEXT: usize = 32 << 10;

/// Bytes of a recording looked at: a program that draws its screen prints much and says little.
const RAW: usize = 8 << 20;

/// A document in Markdown, of at most half a megabyte and its head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    pub markdown: String,
    pub source: Source,
    /// A sentence, which also stands in the document, when its beginning is left out.
    pub left_out: Option<String>,
}

/// Where a transcript comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// What the agent itself wrote down.
    Conversation,
    /// What its terminal printed.
    Recording,
}

/// Why there is none; a sentence for the person who asked.
#[derive(Debug, thiserror::Error)]
pub enum NoTranscript {
    #[error("nothing was said in it yet")]
    Nothing,
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Session(#[from] LinkError),
}

/// What was said in the session whose run has `folder`, the newest kept: persons' words, the
/// agent's, and a line for each use of a tool, without results; secrets masked. `conversation` is
/// the agent's id for it, by default the last that it went by. Where an agent writes no transcript
/// or it is gone, what the terminal printed, as plain text.
///
/// # Errors
/// [`NoTranscript`], when nothing was said or recorded or the folder cannot be read.
pub fn transcript(folder: &Path, conversation: Option<&str>) -> Result<Transcript, NoTranscript> {
    let spec = client::spec(folder)?;
    match spec.kind {
        AgentKind::Claude => {
            if let Some(path) = written_down(folder, &spec, conversation) {
                let talk = read_transcript(&path)
                    .map_err(|source| NoTranscript::Unreadable { path, source })?;
                return told(&spec, &talk);
            }
        }
        AgentKind::Shell | AgentKind::Demo => {}
    }
    recorded(folder, &spec)
}

/// What was said, one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// As the agent itself wrote it down, secrets masked.
    Written(Talk),
    /// What its terminal printed, the newest part as plain text.
    Printed(String),
}

/// The same as [`transcript`], not yet a document: who shows it cuts it and cleans it.
///
/// # Errors
/// [`NoTranscript`], when nothing was said or recorded or the folder cannot be read.
pub fn talk(folder: &Path, conversation: Option<&str>) -> Result<Spoken, NoTranscript> {
    let spec = client::spec(folder)?;
    let path = match spec.kind {
        AgentKind::Claude => written_down(folder, &spec, conversation),
        AgentKind::Shell | AgentKind::Demo => None,
    };
    if let Some(path) = path {
        let talk =
            read_transcript(&path).map_err(|source| NoTranscript::Unreadable { path, source })?;
        return Ok(Spoken::Written(talk));
    }
    let Printed { text, from, .. } = printed(folder)?;
    Ok(Spoken::Printed(text[from..].trim_end().to_owned()))
}

/// The agent's hooks say where it writes; that came as a report and is in the run's journal.
fn written_down(folder: &Path, spec: &Spec, conversation: Option<&str>) -> Option<PathBuf> {
    let reports = client::read_journal(folder, spec.first_seq).unwrap_or_default();
    let told: Vec<(String, Option<String>)> = reports
        .into_iter()
        .filter_map(|report| {
            let AgentEvent::Conversation { id, transcript } = report.what else { return None };
            Some((id, transcript))
        })
        .collect();
    let (Conversation::New { id: first } | Conversation::Resume { id: first }) = &spec.conversation;
    let last = told.last().map_or(first.as_str(), |(id, _)| id);
    let wanted = conversation.unwrap_or(last);
    let path = told.iter().rev().find(|(id, _)| id == wanted).and_then(|(_, path)| path.as_deref());
    find_transcript(&spec.env, path.map(Path::new), wanted)
}

fn told(spec: &Spec, talk: &Talk) -> Result<Transcript, NoTranscript> {
    if talk.said.is_empty() {
        return Err(NoTranscript::Nothing);
    }
    let parts: Vec<String> = talk.said.iter().map(part).collect();
    let mut room = MOST_BYTES;
    let fits = |part: &&String| {
        let left = room.checked_sub(part.len() + HEADING);
        room = left.unwrap_or_default();
        left.is_some()
    };
    let kept = parts.iter().rev().take_while(fits).count();
    let dropped = parts.len() - kept;
    let left_out = (dropped > 0 || talk.skipped > 0).then(|| {
        let more = if talk.skipped > 0 { "at least " } else { "" };
        format!("The beginning is left out, {more}{dropped} messages and uses of tools: a document holds at most {} kB.", MOST_BYTES >> 10)
    });
    let mut markdown = head(spec, "Times are in UTC.", left_out.as_deref());
    let mut speaker = None;
    for (said, part) in talk.said.iter().zip(&parts).skip(dropped) {
        let speaks = speaker_of(&said.what);
        if speaks.is_some() && speaks != speaker {
            markdown.push_str(&heading(speaks.unwrap_or_default(), said.at));
            speaker = speaks;
        }
        markdown.push_str(part);
    }
    Ok(Transcript { markdown, source: Source::Conversation, left_out })
}

/// Bytes a heading may take.
const HEADING: usize = 40;

fn heading(speaker: &str, at: Option<Timestamp>) -> String {
    let at = at.map(|at| at.format(", %Y-%m-%d %H:%M").to_string()).unwrap_or_default();
    format!("## {speaker}{at}\n\n")
}

fn head(spec: &Spec, about: &str, left_out: Option<&str>) -> String {
    let left_out = left_out.map(|words| format!("*{words}*\n\n")).unwrap_or_default();
    format!("# {}\n\n{about}\n\n{left_out}", spec.name)
}

fn speaker_of(what: &What) -> Option<&'static str> {
    match what {
        What::Person { .. } => Some("Person"),
        What::Mail { .. } => Some("Others"),
        What::Agent { .. } | What::Tool { .. } => Some("Agent"),
        What::Note { .. } | What::Subagent { .. } => None,
    }
}

fn part(said: &Said) -> String {
    match &said.what {
        What::Person { text } | What::Mail { text } | What::Agent { text } => body(&visible(text)),
        What::Tool { line } => format!("- {}\n\n", code(&visible(line))),
        What::Note { line } => format!("- *Note:* {}\n\n", code(&visible(line))),
        What::Subagent { lines } => {
            let lines = if *lines == 1 { "1 line".into() } else { format!("{lines} lines") };
            format!("- *A subagent worked here; its own talk ({lines}) is left out.*\n\n")
        }
    }
}

fn visible(text: &str) -> String {
    reveal(text).text.text
}

/// Text as one block: its headings stand below ours, its open fence is closed, its length bounded.
fn body(text: &str) -> String {
    let cut = text.floor_char_boundary(LONGEST_TEXT);
    let mut body = String::with_capacity(cut + 16);
    let mut fence: Option<String> = None;
    for line in text[..cut].lines() {
        let indented = line.len() - line.trim_start_matches(' ').len();
        let mark = if indented < 4 { fence_of(line.trim_start()) } else { None };
        match (&fence, mark) {
            (None, Some(mark)) => fence = Some(mark.into()),
            (Some(open), Some(mark)) if closes(open, mark, line) => fence = None,
            (None | Some(_), _) => {
                if fence.is_none() && indented < 4 && line.trim_start().starts_with('#') {
                    body += "##";
                    body += line.trim_start();
                    body.push('\n');
                    continue;
                }
            }
        }
        body += line;
        body.push('\n');
    }
    if let Some(fence) = fence {
        body.push_str(&fence);
        body.push('\n');
    }
    if cut < text.len() {
        body += "\n*(the rest of this message is left out)*\n";
    }
    body.push('\n');
    body
}

/// The run of backticks or tildes that opens or closes a block of code. Source: `CommonMark` 0.31,
/// section 4.5.
fn fence_of(line: &str) -> Option<&str> {
    ['`', '~'].into_iter().find_map(|c| {
        let length = line.len() - line.trim_start_matches(c).len();
        (length >= 3 && (c == '~' || !line[length..].contains('`'))).then(|| &line[..length])
    })
}

fn closes(open: &str, mark: &str, line: &str) -> bool {
    mark.starts_with(open) && line.trim() == mark
}

/// As code on one line, whatever backticks are in it.
fn code(line: &str) -> String {
    let line = line.replace('\n', " ");
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let ticks = "`".repeat(longest + 1);
    if longest == 0 { format!("`{line}`") } else { format!("{ticks} {line} {ticks}") }
}

/// What a terminal printed, of which `text[from..]` is shown.
struct Printed {
    text: String,
    from: usize,
    /// Something before it is not.
    cut: bool,
}

fn printed(folder: &Path) -> Result<Printed, NoTranscript> {
    let mut raw = String::new();
    for path in recording::files(folder) {
        let printed = recording::printed(&path)
            .map_err(|source| NoTranscript::Unreadable { path, source })?;
        raw.push_str(&printed);
    }
    let raw_from = after_line(&raw, RAW);
    let text = visible(&mask(&recording::without_escapes(&raw[raw_from..])).text);
    if text.trim().is_empty() {
        return Err(NoTranscript::Nothing);
    }
    let from = after_line(&text, MOST_BYTES);
    Ok(Printed { text, from, cut: raw_from + from > 0 })
}

fn recorded(folder: &Path, spec: &Spec) -> Result<Transcript, NoTranscript> {
    let Printed { text, from, cut } = printed(folder)?;
    let left_out = cut.then(|| {
        format!("The beginning is left out: a document holds at most {} kB.", MOST_BYTES >> 10)
    });
    let about = "What its terminal printed, colours and movements left out.";
    let head = head(spec, about, left_out.as_deref());
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let markdown = format!("{head}{fence}text\n{}\n{fence}\n", text[from..].trim_end());
    Ok(Transcript { markdown, source: Source::Recording, left_out })
}

/// Where the last `most` bytes of `text` begin, at the beginning of a line if there is one.
fn after_line(text: &str, most: usize) -> usize {
    let from = text.ceil_char_boundary(text.len().saturating_sub(most));
    if from == 0 { 0 } else { text[from..].find('\n').map_or(from, |at| from + at + 1) }
}

#[cfg(test)]
mod tests;
