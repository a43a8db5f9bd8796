use super::*;
use crate::agents::Size;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs};
use tempfile::TempDir;
use vigie_core::{agent::Report, id::SessionId, session::Role};

const ID: &str = "00000000-0000-4000-8000-000000000001";

/// A run's folder and the agent's own beside it.
struct Run {
    home: TempDir,
}

impl Run {
    fn new(kind: AgentKind) -> Self {
        let home = tempfile::tempdir().unwrap();
        let run = Self { home };
        fs::create_dir_all(run.folder()).unwrap();
        fs::create_dir_all(run.projects()).unwrap();
        let config = run.home.path().join("config").display().to_string();
        let spec = Spec {
            session: SessionId::from_parts(Timestamp::default(), 1),
            name: "PD-285".parse().unwrap(),
            kind,
            program: "claude".into(),
            args: vec![],
            env: BTreeMap::from([("CLAUDE_CONFIG_DIR".into(), config)]),
            cwd: "/home/ada/quay".into(),
            size: Size { columns: 80, rows: 24 },
            permission_mode: None,
            conversation: Conversation::New { id: ID.into() },
            first_seq: 1,
            shared: run.folder(),
            recording_limit: 1 << 20,
            prompt_ends: None,
            mcp_url: None,
            role: Role::Worker,
            confinement: None,
            guard: vigie_core::policy::Guard::default(),
        };
        fs::write(run.folder().join("spec.json"), serde_json::to_vec(&spec).unwrap()).unwrap();
        run
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("run")
    }

    fn projects(&self) -> PathBuf {
        self.home.path().join("config/projects/-home-ada-quay")
    }

    fn says(&self, id: &str, lines: &[Value]) -> PathBuf {
        let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let path = self.projects().join(format!("{id}.jsonl"));
        fs::write(&path, text.join("\n")).unwrap();
        path
    }

    fn reports(&self, events: &[AgentEvent]) {
        let lines = (1..).zip(events).map(|(seq, what)| {
            let report = Report { seq, at: Timestamp::default(), what: what.clone() };
            serde_json::to_string(&report).unwrap() + "\n"
        });
        fs::write(self.folder().join("journal.jsonl"), lines.collect::<String>()).unwrap();
    }

    fn printed(&self, text: &str) {
        let line = json!([0.5, "o", text]);
        fs::write(self.folder().join("output.cast"), format!("{{\"version\":2}}\n{line}\n"))
            .unwrap();
    }

    fn read(&self) -> Result<Transcript, NoTranscript> {
        transcript(&self.folder(), None)
    }
}

fn person(text: &str) -> Value {
    json!({"type": "user", "timestamp": "2026-01-02T14:02:00Z", "message": {"content": text}})
}

fn agent(block: &Value) -> Value {
    json!({"type": "assistant", "timestamp": "2026-01-02T14:03:00Z", "message": {"content": [block]}})
}

fn words(text: &str) -> Value {
    agent(&json!({"type": "text", "text": text}))
}

#[test]
fn a_conversation_reads_as_a_document() {
    let run = Run::new(AgentKind::Claude);
    run.says(
        ID,
        &[
            person("[phone] Fix the crane.\nTOKEN=abcdef123456"),
            words("I look at it.\n\n# Plan\n\n```sh\n# no heading\ncargo test"),
            agent(
                &json!({"type": "tool_use", "name": "Bash", "input": {"command": "echo `date`"}}),
            ),
            json!({"type": "user", "isSidechain": true, "message": {"content": "inner"}}),
            words("Done\u{202e}."),
            person("## Agent, 2026-01-02 14:03\n\nThanks."),
        ],
    );
    let transcript = run.read().unwrap();
    assert_eq!((transcript.source, transcript.left_out), (Source::Conversation, None));
    insta::assert_snapshot!(transcript.markdown, @r"
    # PD-285

    Times are in UTC.

    ## Person, 2026-01-02 14:02

    Fix the crane.
    TOKEN=•••

    ## Agent, 2026-01-02 14:03

    I look at it.

    ### Plan

    ```sh
    # no heading
    cargo test
    ```

    - `` Bash: echo `date` ``

    - *A subagent worked here; its own talk (1 line) is left out.*

    Done⟦U+202E⟧.

    ## Person, 2026-01-02 14:02

    #### Agent, 2026-01-02 14:03

    Thanks.
    ");
}

#[test]
fn the_path_that_the_hooks_told_is_read_and_the_last_conversation_is_meant() {
    let run = Run::new(AgentKind::Claude);
    run.says(ID, &[person("before it was cleared")]);
    let path = run.says("c-2", &[person("after it")]);
    let told = |id: &str, path: Option<&Path>| AgentEvent::Conversation {
        id: id.into(),
        transcript: path.map(|path| path.display().to_string()),
    };
    run.reports(&[told(ID, None), AgentEvent::Compacted, told("c-2", Some(&path))]);
    assert!(run.read().unwrap().markdown.contains("after it"));
    let first = transcript(&run.folder(), Some(ID)).unwrap();
    assert!(first.markdown.contains("before it was cleared"));
    // A hook that names another file is not believed.
    let elsewhere = run.home.path().join("x.jsonl");
    fs::write(&elsewhere, person("somebody's own").to_string()).unwrap();
    run.reports(&[told("c-2", Some(&elsewhere))]);
    assert!(run.read().unwrap().markdown.contains("after it"));
}

#[test]
fn the_newest_is_kept_and_the_cut_is_said() {
    let run = Run::new(AgentKind::Claude);
    let lines: Vec<Value> =
        (0..1000).map(|n| person(&format!("{n} {}", "x".repeat(1000)))).collect();
    run.says(ID, &lines);
    let transcript = run.read().unwrap();
    let said = transcript.left_out.unwrap();
    assert!(said.starts_with("The beginning is left out, 499 messages"), "{said}");
    assert!(transcript.markdown.contains(&said));
    assert!(transcript.markdown.contains("\n999 x") && !transcript.markdown.contains("\n400 x"));
    assert!(transcript.markdown.len() <= MOST_BYTES + 500);
}

#[test]
fn one_endless_message_leaves_room_for_the_others() {
    let run = Run::new(AgentKind::Claude);
    run.says(ID, &[person("first"), words(&"é".repeat(100_000)), person("last")]);
    let markdown = run.read().unwrap().markdown;
    assert!(markdown.contains("first") && markdown.contains("last"));
    assert!(markdown.contains("*(the rest of this message is left out)*"));
    assert!(markdown.len() < LONGEST_TEXT + 1000);
}

#[test]
fn without_a_transcript_it_is_what_the_terminal_printed() {
    for kind in [AgentKind::Shell, AgentKind::Demo, AgentKind::Claude] {
        let run = Run::new(kind);
        run.printed("$ \u{1b}[1mls\u{1b}[0m\r\na```b\r\nTOKEN=abcdef123456\r\n");
        let transcript = run.read().unwrap();
        assert_eq!(transcript.source, Source::Recording);
        let text = "````text\n$ ls\na```b\nTOKEN=•••\n````\n";
        assert!(transcript.markdown.ends_with(text), "{}", transcript.markdown);
    }
}

#[test]
fn of_a_long_recording_the_end_is_kept() {
    let run = Run::new(AgentKind::Shell);
    run.printed(&"a line of it\r\n".repeat(50_000));
    let transcript = run.read().unwrap();
    assert!(transcript.left_out.is_some());
    assert!(transcript.markdown.len() <= MOST_BYTES + 500);
    assert!(transcript.markdown.contains("text\na line of it\n"), "it begins with a whole line");
}

#[test]
fn nothing_said_and_no_session_are_sentences() {
    let run = Run::new(AgentKind::Claude);
    assert_eq!(run.read().unwrap_err().to_string(), "nothing was said in it yet");
    run.says(ID, &[json!({"type": "mode"})]);
    assert_eq!(run.read().unwrap_err().to_string(), "nothing was said in it yet");
    fs::remove_dir_all(run.folder()).unwrap();
    let said = run.read().unwrap_err().to_string();
    assert!(said.ends_with("cannot be used"), "{said}");
}

proptest! {
    #[test]
    fn no_text_makes_a_heading_of_ours(text in "(## Person|#|```|~~~|\n| {1,4}|`|[a-z]{1,5}){0,30}") {
        let body = body(&text);
        let mut open: Option<String> = None;
        for line in body.lines() {
            let flat = line.trim_start();
            let mark = if line.len() - flat.len() < 4 { fence_of(flat) } else { None };
            match (&open, mark) {
                (None, Some(mark)) => open = Some(mark.into()),
                (Some(fence), Some(mark)) if closes(fence, mark, line) => open = None,
                _ => prop_assert!(open.is_some() || !line.starts_with("## "), "{body}"),
            }
        }
        prop_assert!(open.is_none(), "an open fence would swallow what comes after: {body}");
    }

    #[test]
    fn a_line_of_code_holds_what_it_was(line in "(`|``|[a-z ]){0,20}") {
        let code = code(&line);
        let ticks = code.len() - code.trim_start_matches('`').len();
        prop_assert!(line.is_empty() || code[ticks..code.len() - ticks].contains(&line));
        prop_assert!(!line.contains(&"`".repeat(ticks)));
    }
}
