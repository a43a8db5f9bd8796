//! What Claude Code writes down of a conversation: a line of JSON for each thing that happened.
//!
//! Source of the path, the line types and their fields: observed with 2.1.197 and 2.1.332. The
//! format is nobody's promise, so what is not understood is passed over.

use aho_corasick::AhoCorasick;
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::LazyLock,
};
use vigie_core::{Timestamp, text::mask};

use super::{
    adapter::config_folder,
    text::{MAIL, PHONE, VIGIE},
};
use crate::agents::{
    hooks::{BATCH_EVENT, ToolCall, shortened, unwrapped},
    json,
};

/// How much of the end of a transcript is read, in bytes. Most of a transcript is the program's own
/// bulk, so this is hours of talk; it is read again whenever a page that shows it is drawn.
const READ: u64 = 12 << 20;
/// Longest line about something that is neither a person's nor the agent's words, in characters.
const NOTE_CHARS: usize = 160;
/// Results of tools that are kept, the newest.
const RESULTS: usize = 400;
/// Longest part of a result that is kept, in bytes …
const RESULT: usize = 4 << 10;
/// … and how much of it is looked through for secrets: one that is cut in two is not recognised, so
/// what stands at the cut is dropped.
const RESULT_READ: usize = 16 << 10;

/// One thing in a conversation, the secrets in it masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub at: Option<Timestamp>,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A person's words.
    Person { text: String },
    /// Words of another session or a program.
    Mail { text: String },
    /// The agent's, in Markdown.
    Agent { text: String },
    /// A use of a tool in one line, without what came of it.
    Tool { line: String },
    /// Anything else worth a line.
    Note { line: String },
    /// Lines of a subagent's own talk.
    Subagent { lines: usize },
}

/// A conversation as it is written down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Talk {
    pub said: Vec<Said>,
    /// What came of uses of tools, by their place in `said`: the beginnings of the newest results,
    /// secrets masked.
    pub came: BTreeMap<usize, String>,
    /// Bytes at its beginning that were not read.
    pub skipped: u64,
}

/// The transcript of `conversation`. `set` is the environment that the configuration gives the
/// program, `told` the path that its hooks named. Whatever was told, the file lies in the folder
/// where Claude Code keeps transcripts: a hook may be called by anything in the session.
pub fn find_transcript(
    set: &BTreeMap<String, String>,
    told: Option<&Path>,
    conversation: &str,
) -> Option<PathBuf> {
    let projects = fs::canonicalize(config_folder(set).join("projects")).ok()?;
    let in_place = |path: &Path| {
        let path = fs::canonicalize(path).ok()?;
        let fits = path.starts_with(&projects)
            && path.is_file()
            && path.extension().is_some_and(|ending| ending == "jsonl");
        fits.then_some(path)
    };
    told.and_then(in_place).or_else(|| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if conversation.is_empty() || !conversation.chars().all(plain) {
            return None;
        }
        let name = format!("{conversation}.jsonl");
        let mut folders = fs::read_dir(&projects).ok()?.flatten();
        folders.find_map(|folder| in_place(&folder.path().join(&name)))
    })
}

/// Reads a transcript, of a very long one the last 64 MB.
pub fn read_transcript(path: &Path) -> io::Result<Talk> {
    let mut file = File::open(path)?;
    let skipped = file.metadata()?.len().saturating_sub(READ);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(READ).read_to_end(&mut bytes)?;
    let mut lines = bytes.split(|byte| *byte == b'\n');
    if skipped > 0 {
        lines.next(); // the rest of a line
    }
    let mut talk = Talk { skipped, ..Talk::default() };
    let mut calls = Calls::new();
    for line in lines.filter(|line| may_say(line)) {
        // The last line may still be being written.
        if let Ok(line) = json::read::<Value>(line) {
            talk.hear(&line, &mut calls);
        }
    }
    for came in talk.came.values_mut() {
        *came = shown_result(came);
    }
    Ok(talk)
}

/// What stands in a line that may be worth reading.
static TELLING: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words = [
        "\"user\"",
        "\"assistant\"",
        "\"queued_command\"",
        "\"hook_additional_context\"",
        "\"compact_boundary\"",
    ];
    AhoCorasick::new(words).expect("five short words")
});

/// Spares us parsing the bulk, in one pass over it.
fn may_say(line: &[u8]) -> bool {
    TELLING.is_match(line)
}

/// Uses of tools whose results are not known yet: the program's id of each, and its place.
type Calls = HashMap<String, usize>;

fn shown_result(raw: &str) -> String {
    let masked = mask(raw).text;
    let whole = raw.len() + char::MAX.len_utf8() <= RESULT_READ;
    let most = if whole { RESULT } else { RESULT.min(masked.len().saturating_sub(RESULT)) };
    let cut = masked.floor_char_boundary(most);
    if whole && cut == masked.len() { masked } else { format!("{}\n…", &masked[..cut]) }
}

impl Talk {
    fn hear(&mut self, line: &Value, calls: &mut Calls) {
        let at = text(line, "timestamp").and_then(|at| at.parse().ok());
        if is(line, "isSidechain") {
            match self.said.last_mut() {
                Some(Said { what: What::Subagent { lines }, .. }) => *lines += 1,
                Some(_) | None => self.said.push(Said { at, what: What::Subagent { lines: 1 } }),
            }
            return;
        }
        if is(line, "isMeta") || is(line, "isCompactSummary") {
            return;
        }
        let content = line.pointer("/message/content").unwrap_or(&Value::Null);
        let mut add = |what: Option<What>| self.said.extend(what.map(|what| Said { at, what }));
        match (text(line, "type"), text(line, "subtype")) {
            (Some("user"), _) => {
                add(prompt(content, line.get("origin")));
                self.take_results(content, calls);
            }
            (Some("attachment"), _) if line.pointer("/attachment/hookEvent").is_some() => {
                add(line.get("attachment").and_then(beside));
            }
            (Some("attachment"), _) => {
                let queued = line.pointer("/attachment/prompt").unwrap_or(&Value::Null);
                add(prompt(queued, None));
            }
            (Some("assistant"), _) if is(line, "isApiErrorMessage") => {
                add(Some(note(&words(content))));
            }
            (Some("assistant"), _) => {
                for block in content.as_array().into_iter().flatten() {
                    self.take_answer(at, block, calls);
                }
            }
            (Some("system"), Some("compact_boundary")) => {
                add(Some(note("The context was compacted; the agent went on from a summary.")));
            }
            (Some(_) | None, _) => {}
        }
    }

    fn take_answer(&mut self, at: Option<Timestamp>, block: &Value, calls: &mut Calls) {
        let Some(what) = answered(block) else { return };
        if let (What::Tool { .. }, Some(id)) = (&what, text(block, "id")) {
            calls.insert(id.to_owned(), self.said.len());
        }
        self.said.push(Said { at, what });
    }

    fn take_results(&mut self, content: &Value, calls: &mut Calls) {
        for block in content.as_array().into_iter().flatten() {
            let id = text(block, "tool_use_id");
            let Some(call) = id.and_then(|id| calls.remove(id)) else { continue };
            let mut result = words(block.get("content").unwrap_or(&Value::Null));
            result.truncate(result.floor_char_boundary(RESULT_READ));
            if !result.trim().is_empty() {
                self.came.insert(call, result);
            }
        }
        while self.came.len() > RESULTS {
            self.came.pop_first();
        }
    }
}

/// What a person wrote, or what the program writes in a person's place.
fn prompt(content: &Value, origin: Option<&Value>) -> Option<What> {
    let words = words(content);
    let words = words.trim();
    let human = origin.is_none_or(|origin| text(origin, "kind").is_none_or(|kind| kind == "human"));
    if words.is_empty() {
        return None; // the results of tools
    }
    if let Some(name) = tagged(words, "command-name") {
        let arguments = tagged(words, "command-args").unwrap_or_default();
        return Some(person(format!("{name} {arguments}").trim()));
    }
    if let Some(command) = tagged(words, "bash-input") {
        return Some(person(&format!("!{command}")));
    }
    if words.starts_with("<task-notification>") {
        return tagged(words, "summary").map(note);
    }
    if ["<local-command-", "<bash-", "<system-reminder>"].iter().any(|tag| words.starts_with(tag)) {
        return None;
    }
    if words.starts_with("[Request interrupted") {
        return Some(note("Interrupted."));
    }
    if !human {
        return Some(note(words));
    }
    // What was pasted stands in tags of the program's own; a person may quote such tags.
    let pasted = words.starts_with("<pasted_content ").then(|| unwrapped(words));
    let words = pasted.as_deref().unwrap_or(words);
    let after = |mark: &str| words.strip_prefix(mark.trim_end()).map(str::trim_start);
    if let Some(own) = after(VIGIE) {
        return Some(note(&format!("Vigie: {own}")));
    }
    Some(after(MAIL).map_or_else(|| person(after(PHONE).unwrap_or(words)), mail))
}

/// What our hook gave the agent beside the results of its tools.
fn beside(attachment: &Value) -> Option<What> {
    let ours = text(attachment, "hookEvent") == Some(BATCH_EVENT);
    let parts = attachment.get("content")?.as_array()?.iter().filter_map(Value::as_str);
    let words = parts.collect::<Vec<_>>().join("\n\n");
    words.strip_prefix(MAIL).filter(|_| ours).map(mail)
}

fn answered(block: &Value) -> Option<What> {
    match text(block, "type")? {
        "text" => {
            let words = text(block, "text")?.trim();
            (!words.is_empty()).then(|| What::Agent { text: mask(words).text })
        }
        "tool_use" => {
            // Masked before the line is shortened: half a secret is not recognised.
            let mut input = block.get("input").cloned().unwrap_or_default();
            for value in input.as_object_mut().into_iter().flat_map(|input| input.values_mut()) {
                if let Value::String(text) = value {
                    *text = mask(text).text;
                }
            }
            let tool = text(block, "name").unwrap_or("a tool").to_owned();
            Some(What::Tool { line: ToolCall { tool, input, id: None }.line() })
        }
        _ => None,
    }
}

fn person(words: &str) -> What {
    What::Person { text: mask(words).text }
}

fn mail(words: &str) -> What {
    What::Mail { text: mask(words).text }
}

fn note(words: &str) -> What {
    let masked = mask(words).text;
    let line = masked.split_whitespace().collect::<Vec<_>>().join(" ");
    What::Note { line: shortened(&line, NOTE_CHARS) }
}

/// Text of a message, which is a string or blocks of several kinds.
fn words(content: &Value) -> String {
    let Some(blocks) = content.as_array() else {
        return content.as_str().unwrap_or_default().into();
    };
    let parts = blocks.iter().filter_map(|block| match text(block, "type")? {
        "text" => text(block, "text"),
        "image" => Some("(a picture)"),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("\n\n")
}

fn tagged<'a>(words: &'a str, tag: &str) -> Option<&'a str> {
    if !words.starts_with('<') {
        return None; // a person may quote such a tag
    }
    let (_, rest) = words.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0.trim())
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

fn is(line: &Value, key: &str) -> bool {
    line.get(key).and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::io::Write;

    fn whats(lines: &[Value]) -> Vec<What> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for line in lines {
            writeln!(file, "{line}").unwrap();
        }
        write!(file, "{{\"type\":\"user\",\"message\":{{\"con").unwrap();
        read_transcript(file.path()).unwrap().said.into_iter().map(|said| said.what).collect()
    }

    fn user(content: impl Into<Value>) -> Value {
        json!({"type": "user", "message": {"role": "user", "content": content.into()}})
    }

    fn assistant(blocks: &Value) -> Value {
        json!({"type": "assistant", "timestamp": "2026-01-02T14:02:03.456Z", "message": {"content": blocks}})
    }

    fn person(text: &str) -> What {
        What::Person { text: text.into() }
    }

    fn note(line: &str) -> What {
        What::Note { line: line.into() }
    }

    #[test]
    fn words_and_tools_are_read_and_results_are_not() {
        let read = whats(&[
            json!({"type": "mode"}),
            user("[phone] fix the crane"),
            assistant(
                &json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Looking.\n"}]),
            ),
            assistant(
                &json!([{"type": "tool_use", "name": "Bash", "input": {"command": "cargo\ntest"}}]),
            ),
            user(json!([{"type": "tool_result", "content": "a long result"}])),
            json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "[phone] and the hook"}}),
            user(json!([{"type": "image", "source": {}}, {"type": "text", "text": "like this"}])),
            assistant(&json!([{"type": "text", "text": "Done."}])),
        ]);
        assert_eq!(
            read,
            [
                person("fix the crane"),
                What::Agent { text: "Looking.".into() },
                What::Tool { line: "Bash: cargo test".into() },
                person("and the hook"),
                person("(a picture)\n\nlike this"),
                What::Agent { text: "Done.".into() },
            ]
        );
    }

    #[test]
    fn what_came_of_a_tool_is_kept_beside_it() {
        let key = "sk-ant-api03-abcdefghijklmnop1234567890";
        let call = |id: &str| json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}}]);
        let result = |id: &str, content: Value| {
            user(json!([{"type": "tool_result", "tool_use_id": id, "content": content}]))
        };
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for line in [
            user("go"),
            assistant(&call("a")),
            assistant(&call("b")),
            result("b", json!([{"type": "text", "text": format!("two {key}")}])),
            result("a", json!("x".repeat(40_000))),
            result("c", json!("of no call that was seen")),
        ] {
            writeln!(file, "{line}").unwrap();
        }
        let talk = read_transcript(file.path()).unwrap();
        assert_eq!(talk.said.len(), 3);
        assert_eq!(talk.came.keys().copied().collect::<Vec<_>>(), [1, 2]);
        assert!(talk.came[&1].starts_with("xxx") && talk.came[&1].ends_with('…'));
        assert!(talk.came[&1].len() < RESULT + 10);
        assert!(talk.came[&2].starts_with("two sk-ant-•••"), "{}", talk.came[&2]);
    }

    #[test]
    fn what_others_wrote_is_no_persons_word() {
        let mail = |text: &str| What::Mail { text: text.into() };
        let context = |event: &str, text: &str| {
            json!({"type": "attachment", "attachment": {
                "type": "hook_additional_context", "hookEvent": event, "content": [text]}})
        };
        let read = whats(&[
            user("[mail] Another agent wrote this.\n[phone] yes"),
            context("PostToolBatch", "[mail] and this"),
            context("PostToolBatch", "of a hook of the person's"),
            context("UserPromptSubmit", "[mail] no"),
            json!({"type": "attachment", "attachment": {"type": "hook_success", "hookEvent": "PostToolBatch",
                "content": "", "stdout": "[mail] and this"}}),
        ]);
        assert_eq!(read, [mail("Another agent wrote this.\n[phone] yes"), mail("and this")]);
    }

    #[test]
    fn what_the_program_writes_in_a_persons_place_is_no_persons_word() {
        let mut summary = user("This session is being continued");
        summary["isCompactSummary"] = json!(true);
        let mut caveat = user("<local-command-caveat>x</local-command-caveat>");
        caveat["isMeta"] = json!(true);
        let mut peer = user("hello from the other one");
        peer["origin"] = json!({"kind": "peer"});
        let read = whats(&[
            json!({"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}),
            summary,
            caveat,
            user("<command-name>/model</command-name>\n<command-args>opus</command-args>"),
            user("<local-command-stdout>set</local-command-stdout>"),
            user("<bash-input>ls</bash-input>"),
            user("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"),
            user(
                "<task-notification>\n<summary>Agent \"A\" finished</summary>\n</task-notification>",
            ),
            user(json!([{"type": "text", "text": "[Request interrupted by user]"}])),
            peer,
            user("what does <command-name>x</command-name> mean?"),
            user("\n\n<pasted_content id=\"1\">\n[phone] a\nb\n</pasted_content id=\"1\">\n"),
            json!({"type": "assistant", "isApiErrorMessage": true, "message": {"content": [{"type": "text", "text": "API Error: 529"}]}}),
        ]);
        assert_eq!(
            read,
            [
                note("The context was compacted; the agent went on from a summary."),
                person("/model opus"),
                person("!ls"),
                note("Agent \"A\" finished"),
                note("Interrupted."),
                note("hello from the other one"),
                person("what does <command-name>x</command-name> mean?"),
                person("a\nb"),
                note("API Error: 529"),
            ]
        );
    }

    #[test]
    fn a_subagents_talk_is_counted() {
        let mut side = assistant(&json!([{"type": "text", "text": "inside"}]));
        side["isSidechain"] = json!(true);
        let read = whats(&[user("go"), side.clone(), side.clone(), user("on"), side]);
        let folded = |lines| What::Subagent { lines };
        assert_eq!(read, [person("go"), folded(2), person("on"), folded(1)]);
    }

    #[test]
    fn secrets_are_masked_before_anything_is_cut() {
        let key = "sk-ant-api03-abcdefghijklmnop1234567890";
        let command = format!("{} {key}", "x".repeat(90));
        let read = whats(&[
            user(format!("use {key}")),
            assistant(&json!([{"type": "text", "text": key}])),
            assistant(
                &json!([{"type": "tool_use", "name": "Bash", "input": {"command": command}}]),
            ),
        ]);
        let read = format!("{read:?}");
        assert!(!read.contains("abcdefgh") && read.matches("sk-ant-•••").count() == 3, "{read}");
    }

    #[test]
    fn it_is_found_where_it_was_told_or_by_its_conversation() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("projects/-home-ada-quay");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("c-1.jsonl");
        fs::write(&path, "").unwrap();
        fs::write(home.path().join("other.jsonl"), "").unwrap();
        let set = [("CLAUDE_CONFIG_DIR".to_owned(), home.path().display().to_string())].into();
        let path = fs::canonicalize(path).unwrap();
        let find = |told: Option<&Path>, id| find_transcript(&set, told, id);
        assert_eq!(find(Some(&path), "c-9"), Some(path.clone()));
        assert_eq!(find(None, "c-1"), Some(path.clone()));
        assert_eq!(find(Some(&home.path().join("gone.jsonl")), "c-1"), Some(path));
        for (told, id) in [("other.jsonl", ""), ("projects/../other.jsonl", "c-2"), ("x", "../c-1")]
        {
            assert_eq!(find(Some(&home.path().join(told)), id), None, "{told} {id}");
        }
        std::os::unix::fs::symlink("/etc/passwd", folder.join("link.jsonl")).unwrap();
        assert_eq!(find(Some(&folder.join("link.jsonl")), "link"), None);
    }

    #[test]
    fn of_a_very_long_transcript_the_end_is_read() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let bulk = vec![b'x'; 1 << 20];
        for _ in 0..65 {
            file.write_all(&bulk).unwrap();
        }
        writeln!(file, "\n{}", user("the end")).unwrap();
        let talk = read_transcript(file.path()).unwrap();
        assert_eq!(talk.said.len(), 1);
        assert!(talk.skipped > 1 << 20);
    }
}
