//! Money and tokens of one run of the program.
//!
//! Money is the status line's total, an estimate at list prices. It may begin above 0 (a resumed
//! conversation, 2.1.332) or fall back to 0 (`/clear`): only its increments count. Tokens are not
//! in the status line; they are summed from the transcript, each message once.

use serde::Deserialize;
use std::{
    collections::HashSet,
    fs::File,
    io::{BufRead, BufReader, Seek, SeekFrom},
};
use vigie_core::agent::AgentEvent;

/// Lines longer than this are the program's own bulk and never a message's numbers.
const LONGEST_LINE: usize = 4 * 1024 * 1024;

#[derive(Default)]
pub(super) struct Cost {
    micro_usd: u64,
    last_total: Option<u64>,
    tokens: Tokens,
}

#[derive(Default)]
struct Tokens {
    path: Option<String>,
    read_to: u64,
    seen: HashSet<String>,
    input: u64,
    output: u64,
}

#[derive(Deserialize)]
struct Line {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    id: String,
    usage: Usage,
}

#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names are the API's")]
struct Usage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: u64,
    #[serde(default)]
    cache_read_input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

impl Cost {
    /// Takes the status line's total in dollars; gives the run's total when it grew.
    pub(super) fn read(
        &mut self,
        total_usd: Option<f64>,
        transcript: Option<&str>,
    ) -> Option<AgentEvent> {
        let total = micro(total_usd?)?;
        // The first status line comes before the first turn: what it shows was spent before.
        let before = self.last_total.replace(total).unwrap_or(total);
        let grown = if total >= before { total - before } else { total };
        if let Some(path) = transcript {
            self.tokens.follow(path);
        }
        self.micro_usd += grown;
        (grown > 0).then_some(AgentEvent::Cost {
            micro_usd: self.micro_usd,
            input_tokens: self.tokens.input,
            output_tokens: self.tokens.output,
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a small positive number"
)]
fn micro(usd: f64) -> Option<u64> {
    (0.0..1e9).contains(&usd).then(|| (usd * 1e6).round() as u64)
}

impl Tokens {
    /// Reads what was added since the last time. A file that was there before us is read from its
    /// end: earlier runs counted their own.
    fn follow(&mut self, path: &str) {
        if self.path.as_deref() != Some(path) {
            self.read_to = if self.path.is_none() {
                File::open(path).and_then(|file| file.metadata()).map_or(0, |meta| meta.len())
            } else {
                0
            };
            self.path = Some(path.into());
        }
        let Ok(mut file) = File::open(path) else { return };
        if file.seek(SeekFrom::Start(self.read_to)).is_err() {
            return;
        }
        let mut lines = BufReader::new(file);
        let mut line = Vec::new();
        while let Ok(read) = lines.read_until(b'\n', &mut line) {
            if line.last() != Some(&b'\n') {
                break; // still being written
            }
            self.read_to += read as u64;
            if line.len() <= LONGEST_LINE && line.windows(8).any(|part| part == b"\"usage\":") {
                self.count(&line);
            }
            line.clear();
        }
    }

    fn count(&mut self, line: &[u8]) {
        let Ok(Line { message }) = serde_json::from_slice(line) else { return };
        if self.seen.insert(message.id) {
            let usage = message.usage;
            self.input += usage.input_tokens
                + usage.cache_creation_input_tokens
                + usage.cache_read_input_tokens;
            self.output += usage.output_tokens;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, io::Write};

    fn line(id: &str, output: u64) -> String {
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"id\":\"{id}\",\"usage\":{{\"input_tokens\":1,\"cache_read_input_tokens\":9,\"output_tokens\":{output}}}}}}}\n"
        )
    }

    fn cost(micro_usd: u64, input_tokens: u64, output_tokens: u64) -> AgentEvent {
        AgentEvent::Cost { micro_usd, input_tokens, output_tokens }
    }

    #[test]
    fn only_what_this_run_added_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        fs::write(&path, line("old", 500)).unwrap();
        let path = path.to_str().unwrap();
        let mut run = Cost::default();
        assert_eq!(run.read(Some(1.5), Some(path)), None, "spent by an earlier run");
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all([line("a", 3), line("a", 3), line("b", 4)].concat().as_bytes()).unwrap();
        assert_eq!(run.read(Some(1.75), Some(path)), Some(cost(250_000, 20, 7)));
        assert_eq!(run.read(Some(1.75), Some(path)), None, "nothing new");
        assert_eq!(
            run.read(Some(0.25), Some(path)),
            Some(cost(500_000, 20, 7)),
            "it began again at 0"
        );
        assert_eq!(run.read(Some(f64::NAN), None), None);
    }
}
