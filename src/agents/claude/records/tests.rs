use std::{collections::BTreeMap, fs, io::Write, path::PathBuf};
use tempfile::TempDir;
use vigie_core::{Timestamp, ledger::Used};

use super::{Records, read_usage};

const CASES: &str = include_str!("../cases/usage.txt");

struct Home {
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("projects/p")).unwrap();
        Self { folder }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join("projects/p").join(file)
    }

    fn append(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn env(&self) -> BTreeMap<String, String> {
        let folder = self.folder.path().display().to_string();
        BTreeMap::from([("CLAUDE_CONFIG_DIR".into(), folder)])
    }

    fn records(&self) -> Records {
        let mut records = Records::new(self.env(), since());
        records.follow("one", &self.path("one.jsonl").display().to_string());
        records
    }
}

fn since() -> Timestamp {
    "2026-11-30T10:00:00Z".parse().unwrap()
}

fn told(used: &Used) -> String {
    let tokens = used.tokens;
    let subagent = used.subagent.as_deref().unwrap_or("-");
    format!(
        "{} {} {} in={} out={} read={} w5={} w1={} by={subagent}",
        used.key.message,
        if used.key.request.is_empty() { "-" } else { &used.key.request },
        used.model.replace(' ', "+"),
        tokens.input,
        tokens.output,
        tokens.cache_read,
        tokens.cache_write_5m,
        tokens.cache_write_1h,
    )
}

fn answer(id: &str, second: u32, output: u64) -> String {
    format!(
        "{{\"parentUuid\":null,\"type\":\"assistant\",\"uuid\":\"u\",\"requestId\":\"r{id}\",\
         \"timestamp\":\"2026-11-30T10:00:{second:02}Z\",\"message\":{{\"id\":\"{id}\",\
         \"model\":\"heron-2\",\"usage\":{{\"input_tokens\":1,\"output_tokens\":{output}}}}}}}\n"
    )
}

/// Each case: files with their lines, and every answer that they come to.
#[test]
fn every_case_comes_to_its_answers() {
    let mut cases = 0;
    for case in CASES.split("\n== ").skip(1) {
        let (name, rest) = case.split_once('\n').unwrap();
        let home = Home::new();
        let (mut file, mut expected) = (String::new(), Vec::new());
        for line in rest.lines() {
            if let Some(next) = line.strip_prefix("-- ") {
                file = next.into();
            } else if let Some(answer) = line.strip_prefix("=> ") {
                expected.push(answer.to_owned());
            } else if let Some(torn) = line.strip_suffix("<torn>") {
                home.append(&file, torn);
            } else if !line.is_empty() {
                home.append(&file, &format!("{line}\n"));
            }
        }
        let mut found: Vec<_> = home.records().read().iter().map(told).collect();
        found.sort();
        expected.sort();
        // Of an answer in several lines only its last numbers stand.
        let last = |all: Vec<String>| -> Vec<String> {
            let mut last: BTreeMap<String, String> = BTreeMap::new();
            for one in all {
                let key: Vec<_> = one.split(' ').take(2).collect();
                last.insert(key.join(" "), one);
            }
            last.into_values().collect()
        };
        assert_eq!(last(found), expected, "{name}");
        cases += 1;
    }
    assert!(cases >= 10, "{cases} cases were read");
}

#[test]
fn a_line_counts_when_it_is_whole() {
    let home = Home::new();
    let mut records = home.records();
    assert!(records.read().is_empty(), "it is made with the first prompt");
    let line = answer("a", 1, 5);
    let (half, rest) = line.split_at(40);
    home.append("one.jsonl", half);
    assert!(records.read().is_empty());
    home.append("one.jsonl", rest);
    assert_eq!(records.read().len(), 1);
    assert!(records.read().is_empty(), "told once");
}

#[test]
fn a_later_line_of_an_answer_tells_more_and_never_less() {
    let home = Home::new();
    let mut records = home.records();
    let outputs = |used: Vec<Used>| used.iter().map(|used| used.tokens.output).collect::<Vec<_>>();
    home.append("one.jsonl", &answer("a", 1, 1));
    assert_eq!(outputs(records.read()), [1]);
    home.append("one.jsonl", &[answer("a", 2, 90), answer("a", 3, 7)].concat());
    assert_eq!(outputs(records.read()), [90]);
}

#[test]
fn who_begins_anew_reads_all_of_it_and_nothing_of_before_the_session() {
    let home = Home::new();
    let old = answer("old", 1, 1).replace("10:00:01", "09:59:59");
    home.append("one.jsonl", &[old, answer("a", 1, 1)].concat());
    for _ in 0..2 {
        assert_eq!(home.records().read().len(), 1);
    }
    home.append("one/subagents/agent-x.jsonl", &answer("b", 2, 1));
    let all = read_usage(&home.env(), "one", since());
    let told: Vec<_> =
        all.iter().map(|used| (used.key.message.as_str(), used.subagent.clone())).collect();
    assert_eq!(told, [("a", None), ("b", Some("x".into()))]);
    assert!(read_usage(&home.env(), "two", since()).is_empty());
    assert!(read_usage(&home.env(), "../one", since()).is_empty());
}

#[test]
fn a_line_of_many_megabytes_is_passed_over_and_the_next_one_counts() {
    let home = Home::new();
    let huge = format!("{{\"type\":\"api-request\",\"usage\":\"{}\"}}\n", "x".repeat(20 << 20));
    home.append("one.jsonl", &[answer("a", 1, 1), huge, answer("b", 2, 1)].concat());
    let mut records = home.records();
    let mut found = Vec::new();
    for _ in 0..4 {
        found.extend(records.read().into_iter().map(|used| used.key.message));
    }
    assert_eq!(found, ["a", "b"]);
    assert_eq!(read_usage(&home.env(), "one", since()).len(), 2);
}

#[test]
fn a_transcript_outside_of_its_folder_is_not_read() {
    let home = Home::new();
    let elsewhere = home.folder.path().join("elsewhere.jsonl");
    fs::write(&elsewhere, answer("a", 1, 1)).unwrap();
    let mut records = Records::new(home.env(), since());
    records.follow("one", &elsewhere.display().to_string());
    assert!(records.read().is_empty());
}

#[test]
fn after_a_clear_both_transcripts_are_followed() {
    let home = Home::new();
    let mut records = home.records();
    home.append("one.jsonl", &answer("a", 1, 1));
    assert_eq!(records.read().len(), 1);
    records.follow("two", &home.path("two.jsonl").display().to_string());
    home.append("two.jsonl", &answer("b", 2, 1));
    home.append("one/subagents/agent-late.jsonl", &answer("c", 3, 1));
    assert_eq!(records.read().len(), 2);
}
