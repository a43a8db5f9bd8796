//! Stories with the real Claude Code in a real holder, against a scripted model on loopback.
//!
//! `VIGIE_TEST_CLAUDE` names the program; `cargo xtask test` sets it. Without it the stories do not
//! run and say so, and where `CI` is set they fail.

#![allow(clippy::unwrap_used, reason = "a story that cannot go on fails there")]

mod support {
    pub(crate) mod confinement;
    pub(crate) mod session;
}

use scripted_model::Model;
use serde_json::json;
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};
use support::session::{Session, spec};
use tempfile::TempDir;
use vigie::agents::{AgentKind, Conversation, Spec, claude};
use vigie_core::agent::{
    AcceptEdits, AgentEvent, Asked, AtDesk, Decision, Doing, ExitStatus, FailureKind, Held,
    OrderKind, RefusedPrompt, Scope, Settled,
};
use vigie_core::{
    policy::{Catastrophic, Effect, Guard, PathPattern, Policy},
    session::Role,
};

const ALLOW: Decision = Decision::Allow { scope: Scope::Once };
/// A command that always needs a permission, and does nothing: nobody listens on port 1.
const CURL: &str = "bash curl -s http://127.0.0.1:1/x";

/// A throw-away home in which every first question is answered, and a model.
struct Lab {
    program: PathBuf,
    model: Model,
    home: TempDir,
}

/// The program to test, or why there is none.
#[expect(clippy::print_stderr, reason = "a story that does not run has to say so")]
fn program() -> Option<PathBuf> {
    let program = std::env::var_os("VIGIE_TEST_CLAUDE").map(PathBuf::from);
    let why = "not run: VIGIE_TEST_CLAUDE does not name a Claude Code program. \
               `cargo xtask test` sets it; by hand: VIGIE_TEST_CLAUDE=$(command -v claude) cargo test --test claude";
    if program.is_none() {
        assert!(std::env::var_os("CI").is_none(), "{why}");
        eprintln!("{why}");
    }
    program
}

impl Lab {
    async fn open() -> Option<Self> {
        let program = program()?;
        let lab = Self {
            program,
            model: Model::start().await.unwrap(),
            home: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(lab.project()).unwrap();
        fs::create_dir_all(lab.config()).unwrap();
        lab.answer_first_questions(true);
        Some(lab)
    }

    fn project(&self) -> PathBuf {
        self.home.path().join("project")
    }

    fn config(&self) -> PathBuf {
        self.home.path().join("config")
    }

    fn answer_first_questions(&self, trusted: bool) {
        let state = json!({
            "hasCompletedOnboarding": true,
            "theme": "dark",
            "hasSeenAutoDefaultNotice": true,
            "customApiKeyResponses": { "approved": ["test-key"], "rejected": [] },
            "projects": { self.project().display().to_string(): { "hasTrustDialogAccepted": trusted } },
        });
        fs::write(self.config().join(".claude.json"), state.to_string()).unwrap();
    }

    fn spec(&self) -> Spec {
        let text = |path: &Path| path.display().to_string();
        let env = [
            ("HOME", text(self.home.path())),
            ("CLAUDE_CONFIG_DIR", text(&self.config())),
            ("ANTHROPIC_BASE_URL", self.model.url.clone()),
            ("ANTHROPIC_API_KEY", "test-key".into()),
            ("DISABLE_TELEMETRY", "1".into()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
            ("CLAUDE_CODE_MAX_RETRIES", "0".into()),
        ];
        let env: BTreeMap<_, _> = env.map(|(name, value)| (name.to_owned(), value)).into();
        spec(AgentKind::Claude, &self.program, &self.project(), env)
    }

    async fn session(&self) -> Session {
        let mut session = self.start(self.spec()).await;
        session.idle().await;
        session
    }

    async fn start(&self, spec: Spec) -> Session {
        Session::start(spec, self.home.path().join("session")).await
    }
}

macro_rules! lab {
    () => {
        match Lab::open().await {
            Some(lab) => lab,
            None => return,
        }
    };
}

#[tokio::test]
async fn a_prompt_is_taken_once_and_its_answer_comes_back() {
    let lab = lab!();
    let mut session = lab.start(lab.spec()).await;
    let early = session.prompt("hello => say good morning").await; // while it starts
    session.taken(early).await;
    assert_eq!(session.finished().await, "good morning");
    session.idle().await;
    assert_eq!(lab.model.heard_times("[phone] hello => say good morning"), 1);
    let conversation = session.seen().iter().find_map(|event| match event {
        AgentEvent::Conversation { id, transcript } => Some((id.clone(), transcript.clone())),
        _ => None,
    });
    let (id, transcript) = conversation.unwrap();
    assert_eq!(session.spec.conversation, Conversation::New { id });
    assert!(transcript.unwrap().starts_with(lab.config().to_str().unwrap()));
    session.rewind();
    let cost = session.until("a cost", |event| match event {
        AgentEvent::Cost { micro_usd, .. } => Some(*micro_usd),
        _ => None,
    });
    assert!(cost.await > 0);
    session.rewind();
    let usage = session.until("an answer of its model", |event| match event {
        AgentEvent::Usage { entries } => entries.first().cloned(),
        _ => None,
    });
    let used = usage.await;
    assert_eq!((used.tokens.output, used.subagent, used.turn.is_some()), (20, None, true));
    let degraded: Vec<_> = session
        .seen()
        .iter()
        .filter(|event| matches!(event, AgentEvent::Degraded { .. }))
        .collect();
    assert!(degraded.is_empty(), "{degraded:?}");
}

#[tokio::test]
async fn every_text_reaches_the_model_once_and_in_order() {
    let lab = lab!();
    let mut session = lab.session().await;
    let long = "x🙂 漢字 ".repeat(1400);
    let texts = [
        "!touch ran",
        "/clear",
        "/tmp/x is a path",
        "#a",
        "@README.md",
        "-x $HOME `ls` 'q' \"q\"",
        "ends with \\",
        "one\ntwo",
        "a\nb\n\nc\nd\ne\nf",
        "👩‍💻 é\u{301} עברית \u{202e}x\u{200b}y",
        &long,
    ];
    for (number, text) in texts.iter().enumerate() {
        let prompt = session.prompt(&format!("{text} {number}\n=> say heard {number}")).await;
        session.taken(prompt).await;
        assert_eq!(session.finished().await, format!("heard {number}"), "{text}");
    }
    assert!(!lab.project().join("ran").exists(), "nothing ran in a shell");
    let heard = lab.model.heard().join("\n");
    let mut rest = heard.as_str();
    for number in 0..texts.len() {
        let needle = format!(" {number}\n=> say heard {number}");
        assert_eq!(heard.matches(&needle).count(), 1, "{number}: {heard}");
        rest = rest.split_once(&needle).unwrap_or_else(|| panic!("{number} is out of order")).1;
    }
    assert_eq!(lab.model.heard_times(&long), 1, "20 kB, byte for byte");
    assert_eq!(lab.model.heard_times("עברית xy"), 1, "invisible characters are gone");
}

#[tokio::test]
async fn prompts_while_it_works_wait_their_turn() {
    let lab = lab!();
    let mut session = lab.session().await;
    session.prompt("first => slow 2 one").await;
    session.working().await;
    let second = session.prompt("second => say two").await;
    let third = session.prompt("third => say three").await;
    let held = session.until("held", |event| match event {
        AgentEvent::PromptHeld { prompt, why } if *prompt == third => Some(*why),
        _ => None,
    });
    assert_eq!(held.await, Held::Busy);
    assert!(session.finished().await.starts_with("one"));
    session.taken(second).await;
    assert_eq!(session.finished().await, "two");
    session.taken(third).await;
    assert_eq!(session.finished().await, "three");
    let heard = lab.model.heard().join("\n");
    let at = |text: &str| heard.find(text).unwrap();
    assert!(at("first =>") < at("second =>") && at("second =>") < at("third =>"));
    assert_eq!(lab.model.heard_times("second => say two"), 1);
}

#[tokio::test]
async fn a_stop_and_a_prompt_right_after_it() {
    let lab = lab!();
    let mut session = lab.session().await;
    for round in 0..3 {
        // Nothing is answered yet in the first rounds, so the prompt comes back into the box.
        let step = if round < 2 { "hang 60" } else { "bash ls then hang 60" };
        let long = session.prompt(&format!("long {round} => {step}")).await;
        session.taken(long).await;
        session.order(OrderKind::Interrupt).await;
        let next = session.prompt(&format!("next {round} => say after {round}")).await;
        session.interrupted().await;
        session.taken(next).await;
        assert_eq!(session.finished().await, format!("after {round}"));
        let times = lab.model.heard_times(&format!("next {round} => say after {round}"));
        assert_eq!(times, 1, "{:#?}", lab.model.heard());
    }
}

#[tokio::test]
async fn a_permission_is_given_from_afar() {
    let lab = lab!();
    let mut session = lab.session().await;
    session.prompt(&format!("=> {CURL} then say done")).await;
    let (request, ask) = session.asked().await;
    let Asked::Permission { tool, input, cwd, can_remember } = ask else { panic!("{ask:?}") };
    assert_eq!((tool.as_str(), can_remember), ("Bash", true));
    assert_eq!(input["command"], "curl -s http://127.0.0.1:1/x");
    assert_eq!(Path::new(&cwd), lab.project());
    session.shows("Do you want to proceed").await;
    let waiting = session.prompt("later => say later").await; // must not answer the dialog
    session.answer(&request, ALLOW).await;
    assert_eq!(session.settled(&request).await, Settled::Ours);
    assert_eq!(session.finished().await, "done");
    session.taken(waiting).await;
    assert_eq!(session.finished().await, "later");

    session.prompt(&format!("=> {CURL}/no")).await;
    let (request, _) = session.asked().await;
    session.answer(&request, Decision::Deny { reason: Some("not on Fridays".into()) }).await;
    assert_eq!(session.settled(&request).await, Settled::Ours);
    assert!(session.finished().await.contains("not on Fridays"));
}

#[tokio::test]
async fn what_a_policy_denies_is_refused_though_it_is_never_asked_for() {
    let lab = lab!();
    fs::create_dir(lab.project().join("deploy")).unwrap();
    fs::write(lab.project().join("deploy/key"), "S3CRET").unwrap();
    fs::write(lab.project().join("notes"), "tides").unwrap();
    let policy = |effect, reason: Option<&str>, path: &str| Policy {
        name: "deployment".into(),
        line: 3,
        effect,
        reason: reason.map(str::to_owned),
        tools: vec![],
        commands: vec![],
        paths: vec![PathPattern::parse(path).unwrap()],
        projects: vec![],
        sessions: vec![],
        hours: None,
        catastrophic: Catastrophic::Asked,
    };
    let deny = policy(Effect::Deny, Some("People deploy."), "deploy/**");
    let mut spec = lab.spec();
    // Not even here is it let through, nor where the project switches hooks off.
    spec.permission_mode = Some("bypassPermissions".into());
    spec.env.insert("IS_SANDBOX".into(), "1".into());
    fs::create_dir(lab.project().join(".claude")).unwrap();
    let off = lab.project().join(".claude/settings.local.json");
    fs::write(off, r#"{"disableAllHooks":true}"#).unwrap();
    let skill = lab.project().join(".claude/skills/look");
    fs::create_dir_all(&skill).unwrap();
    let text = "---\nname: look\ndescription: looks\n---\nIt is !`cat deploy/key`.\n";
    fs::write(skill.join("SKILL.md"), text).unwrap();
    spec.guard = Guard {
        policies: vec![deny],
        project: None,
        asker: "PD-285".into(),
        folders: vec![lab.project().display().to_string()],
    };
    let mut session = lab.start(spec).await;
    session.idle().await;
    let key = lab.project().join("deploy/key").display().to_string();
    let skill = r#"call Skill {"skill":"look"}"#;
    let steps = format!("bash cat deploy/key then read {key} then {skill} then bash cat notes");
    session.prompt(&format!("=> {steps} then say done")).await;
    assert_eq!(session.finished().await, "done");
    let (results, seen) = (lab.model.results(), session.seen());
    assert!(!lab.model.heard().concat().contains("S3CRET"), "nor by way of a skill");
    assert!(!results.contains("S3CRET") && results.contains("tides"), "{results}");
    assert!(
        results.contains(
            "does not allow this, because deploy/key is one of `deploy/**`. People deploy."
        ),
        "{results}"
    );
    let denied = seen.iter().filter_map(|event| match event {
        AgentEvent::Denied { call } => Some(call.line.as_str()),
        AgentEvent::Asked { .. } => panic!("{event:?}"),
        _ => None,
    });
    assert_eq!(denied.collect::<Vec<_>>(), ["Bash: cat deploy/key", &format!("Read: {key}")]);

    // Another configuration, without a restart: now a person is asked, in any mode.
    session.policies(&[policy(Effect::Ask, None, "deploy/**")]).await;
    session.prompt("=> bash cat deploy/key then say asked").await;
    let (request, _) = session.asked().await;
    session.answer(&request, ALLOW).await;
    assert_eq!(session.finished().await, "asked");
    assert!(lab.model.results().contains("S3CRET"));
}

#[tokio::test]
async fn a_yes_for_the_session_is_not_asked_again_and_reaches_no_file() {
    let lab = lab!();
    let mut session = lab.session().await;
    session.prompt(&format!("=> {CURL} then {CURL} then say done")).await;
    let (request, _) = session.asked().await;
    session.answer(&request, Decision::Allow { scope: Scope::Session }).await;
    assert_eq!(session.finished().await, "done");
    let asked = session.seen().iter().filter(|event| matches!(event, AgentEvent::Asked { .. }));
    assert_eq!(asked.count(), 1);
    assert!(!lab.project().join(".claude/settings.local.json").exists());
    assert!(!lab.config().join("settings.json").exists());
}

#[tokio::test]
async fn the_desk_may_answer_first() {
    let lab = lab!();
    let mut session = lab.session().await;
    session.prompt(&format!("=> {CURL} then say went on")).await;
    let (request, _) = session.asked().await;
    session.shows("Do you want to proceed").await;
    session
        .until("waiting", |event| {
            matches!(event, AgentEvent::Now { doing: Doing::Waiting }).then_some(())
        })
        .await;
    session.dismiss("Do you want to proceed", "\r").await;
    assert_eq!(session.settled(&request).await, Settled::AtDesk { allowed: AtDesk::Allowed });
    session.answer(&request, Decision::Deny { reason: None }).await; // too late, and without effect
    assert_eq!(session.finished().await, "went on");

    session.prompt(&format!("=> {CURL} then say never")).await;
    let (request, _) = session.asked().await;
    session.dismiss("Do you want to proceed", "\x1b").await;
    assert_eq!(session.settled(&request).await, Settled::AtDesk { allowed: AtDesk::Denied });
    session.interrupted().await;
    session.prompt("=> say still here").await;
    assert_eq!(session.finished().await, "still here");
}

#[tokio::test]
async fn questions_are_answered_with_labels_and_own_words() {
    let lab = lab!();
    let mut session = lab.session().await;
    session.prompt("=> ask then say thanks").await;
    let (request, ask) = session.asked().await;
    let Asked::Questions { questions } = ask else { panic!("{ask:?}") };
    assert_eq!(questions[0].options[1].label, "Green");
    assert!(questions[1].multiple);
    let answers = vec!["a kind of mauve".into(), "Salt, Pepper".into()];
    session.answer(&request, Decision::Answers { answers }).await;
    assert_eq!(session.settled(&request).await, Settled::Ours);
    assert_eq!(session.finished().await, "thanks");
    let results = lab.model.results();
    assert!(results.contains("a kind of mauve") && results.contains("Salt, Pepper"), "{results}");
}

#[tokio::test]
async fn a_plan_goes_back_with_feedback_and_is_approved() {
    let lab = lab!();
    let mut spec = lab.spec();
    spec.permission_mode = Some("plan".into());
    let mut session = lab.start(spec).await;
    session.prompt("=> plan then plan then write notes.txt it went through then say built").await;
    let (request, ask) = session.asked().await;
    assert!(matches!(ask, Asked::Plan { .. }), "{ask:?}");
    session.answer(&request, Decision::Deny { reason: Some("mind the cat".into()) }).await;
    let (request, ask) = session.asked().await;
    assert!(matches!(ask, Asked::Plan { .. }), "{ask:?}");
    assert!(lab.model.results().contains("mind the cat"));
    session.answer(&request, Decision::Plan { accept_edits: AcceptEdits::Yes }).await;
    assert_eq!(session.settled(&request).await, Settled::Ours);
    assert_eq!(session.finished().await, "built");
}

#[tokio::test]
async fn a_failing_service_is_told_and_the_next_prompt_works() {
    let lab = lab!();
    let mut session = lab.session().await;
    for (status, expected) in
        [(529, FailureKind::Service), (429, FailureKind::Limit), (401, FailureKind::Account)]
    {
        session.prompt(&format!("=> error {status}")).await;
        let failed = session.until("failed", |event| match event {
            AgentEvent::TurnFailed { kind, .. } => Some(*kind),
            _ => None,
        });
        assert_eq!(failed.await, expected, "{status}");
    }
    session.prompt("=> say again").await;
    assert_eq!(session.finished().await, "again");
}

#[tokio::test]
async fn commands_are_meant_as_commands() {
    let lab = lab!();
    let mut session = lab.session().await;
    session.prompt("=> say first").await;
    session.finished().await;
    let clear = session.command("/clear").await;
    let mut news = Vec::new();
    // Both come, in whichever order.
    while news.len() < 2 {
        news.push(
            session
                .until("taken and a new conversation", |event| match event {
                    AgentEvent::PromptTaken { prompt, .. } if *prompt == clear => Some("taken"),
                    AgentEvent::Conversation { .. } => Some("conversation"),
                    _ => None,
                })
                .await,
        );
    }
    news.sort_unstable();
    assert_eq!(news, ["conversation", "taken"]);
    let unknown = session.command("/nosuchthing").await;
    let why = session.until("refused", |event| match event {
        AgentEvent::PromptRefused { prompt, why } if *prompt == unknown => Some(why.clone()),
        _ => None,
    });
    assert!(matches!(why.await, RefusedPrompt::ByAgent { .. }));
    session.prompt("=> say second").await;
    assert_eq!(session.finished().await, "second");
}

#[tokio::test]
async fn a_dialog_nobody_told_us_of_needs_the_desk_and_stop_closes_it() {
    let lab = lab!();
    let mut session = lab.session().await;
    session.keys("/cost\r").await;
    let screen = session.until("the desk is needed", |event| match event {
        AgentEvent::Now { doing: Doing::NeedsDesk { screen, .. } } => Some(screen.join("\n")),
        _ => None,
    });
    assert!(screen.await.contains("Usage"));
    let prompt = session.prompt("=> say back").await;
    session.order(OrderKind::Interrupt).await;
    session.taken(prompt).await;
    assert_eq!(session.finished().await, "back");
}

fn transcript(session: &Session) -> String {
    let told = session.seen().iter().find_map(|event| match event {
        AgentEvent::Conversation { transcript, .. } => transcript.clone(),
        _ => None,
    });
    told.expect("its first hook names the transcript")
}

/// Waits until Claude Code has written `text` to its transcript: within half a second after a turn
/// KILL still loses it.
async fn written(session: &Session, text: &str) {
    let path = transcript(session);
    let there = async {
        while !fs::read_to_string(&path).is_ok_and(|lines| lines.contains(&format!("\"{text}\""))) {
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(30), there).await.is_ok();
    assert!(in_time, "`{text}` is not in {path}");
}

#[tokio::test]
async fn a_killed_session_goes_on_with_its_whole_context() {
    let lab = lab!();
    let mut session = lab.session().await;
    session.prompt("the word is mistletoe => say noted").await;
    session.finished().await;
    written(&session, "noted").await;
    let (spec, folder) = session.die().await;
    let mut session = Session::start(spec, folder).await;
    session.idle().await;
    session.prompt("which word? => say that one").await;
    assert_eq!(session.finished().await, "that one");
    let heard = lab.model.heard().join("\n");
    assert!(heard.contains("mistletoe") && heard.contains("which word?"), "{heard}");
}

#[tokio::test]
async fn mail_reaches_the_model_beside_the_next_result_of_the_same_turn() {
    let lab = lab!();
    let mut session = lab.session().await;
    session.prompt(&format!("=> {CURL} then bash echo on then say done")).await;
    let (request, _) = session.asked().await;
    let first = session.mail("PD-286 asks: <which> store? => say never").await;
    let second = session.mail("PD-287 says: none").await;
    session.answer(&request, ALLOW).await;
    assert_eq!(session.settled_mail(first).await, AgentEvent::MailTaken { mail: first });
    assert_eq!(session.settled_mail(second).await, AgentEvent::MailTaken { mail: second });
    assert_eq!(session.finished().await, "done", "no person's word");
    let with_result = lab.model.asked("[mail] PD-286 asks: <which> store?").await;
    let news = lab.model.news(with_result);
    let at = |text: &str| news.find(text).unwrap_or_else(|| panic!("no {text} in {news}"));
    assert!(at("tool_result") < at("PD-286 asks") && at("PD-286 asks") < at("[mail] PD-287 says"));
    let next = lab.model.news(lab.model.asked_after(with_result).await);
    assert!(!next.contains("[mail]"), "once: {next}");
}

#[tokio::test]
async fn mail_that_comes_too_late_goes_back_and_in_as_a_prompt_of_no_person() {
    let lab = lab!();
    let mut session = lab.session().await;
    session.prompt("=> slow 2 one").await;
    session.working().await;
    let mail = session.mail("too late").await;
    assert_eq!(session.settled_mail(mail).await, AgentEvent::MailReturned { mail });
    assert!(session.finished().await.starts_with("one"));
    let text = "!From PD-286:\n<vigie-mail>\nready\n</vigie-mail>\n\n=> say read it";
    let prompt = session.others(text).await;
    session.taken(prompt).await;
    assert_eq!(session.finished().await, "read it");
    assert_eq!(lab.model.heard_times(&format!("[mail] {text}")), 1);
    assert_eq!(lab.model.heard_times("too late"), 0);
    written(&session, "read it").await;
    let said = claude::read_transcript(Path::new(&transcript(&session))).unwrap().said;
    let mail = said.iter().find_map(|said| match &said.what {
        claude::What::Mail { text } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(mail, Some(text), "{said:#?}");
}

#[tokio::test]
async fn the_lord_keeps_its_words_and_its_skill_over_compaction_and_resume() {
    const WORDS: &str = "You are the Lord of this Vigie";
    const SKILL: &str = "How the Lord of a Vigie reports";
    let lab = lab!();
    let mut spec = lab.spec();
    spec.role = Role::Lord;
    let mut session = lab.start(spec).await;
    session.prompt("one => call Skill {\"skill\":\"vigie:lord\"} then say one").await;
    assert_eq!(session.finished().await, "one");
    let first = lab.model.whole(lab.model.asked("one =>").await);
    assert!(first.contains(WORDS) && first.contains(SKILL));
    let read = lab.model.whole(lab.model.asked("# Questioning a session").await);
    assert!(read.contains(WORDS), "the skill was read, without asking anybody");
    session.command("/compact").await;
    session.until("compacted", |event| (*event == AgentEvent::Compacted).then_some(())).await;
    session.prompt("two => say two").await;
    assert_eq!(session.finished().await, "two");
    assert!(lab.model.whole(lab.model.asked("two =>").await).contains(WORDS));
    written(&session, "two").await;
    let (spec, folder) = session.die().await;
    let mut session = Session::start(spec, folder).await;
    session.idle().await;
    session.prompt("three => say three").await;
    assert_eq!(session.finished().await, "three");
    let resumed = lab.model.whole(lab.model.asked("three =>").await);
    assert!(resumed.contains(WORDS) && resumed.contains(SKILL));
}

#[tokio::test]
async fn an_unknown_conversation_is_never_a_fresh_one() {
    let lab = lab!();
    let mut spec = lab.spec();
    let id = "4a4bafd0-4dd1-4bd7-97f4-1d5bca9d9e57";
    spec.conversation = Conversation::Resume { id: id.into() };
    let mut session = lab.start(spec).await;
    let exited = session.until("exited", |event| match event {
        AgentEvent::Exited { how, last } => Some((*how, last.join("\n"))),
        _ => None,
    });
    let (how, last) = exited.await;
    assert_eq!(how, ExitStatus::Code { code: 1 });
    assert!(last.contains("No conversation found"), "{last}");
}

#[tokio::test]
async fn a_question_at_its_start_needs_the_desk_and_no_prompt_answers_it() {
    let lab = lab!();
    lab.answer_first_questions(false);
    let mut session = lab.start(lab.spec()).await;
    let prompt = session.prompt("=> say in").await;
    let screen = session.until("the desk is needed", |event| match event {
        AgentEvent::Now { doing: Doing::NeedsDesk { screen, .. } } => Some(screen.join("\n")),
        _ => None,
    });
    assert!(screen.await.contains("trust"));
    session.mark("Yes").await;
    session.dismiss("Yes", "\r").await;
    session.taken(prompt).await;
    assert_eq!(session.finished().await, "in");
}

#[tokio::test]
async fn a_subagent_asks_for_itself() {
    let lab = lab!();
    let mut session = lab.session().await;
    session.prompt(&format!("=> subagent {CURL} then say all done")).await;
    let (request, _) = session.asked().await;
    assert!(!request.as_str().starts_with("main-"), "{request}");
    session.answer(&request, ALLOW).await;
    assert_eq!(session.settled(&request).await, Settled::Ours);
    session.finished().await;
}

#[tokio::test]
async fn what_is_typed_at_the_desk_is_kept_and_told() {
    let lab = lab!();
    let mut session = lab.session().await;
    session.keys("=> say from the desk\r").await;
    let text = session.until("a turn of the desk", |event| match event {
        AgentEvent::ForeignTurn { text, .. } => Some(text.clone()),
        _ => None,
    });
    assert_eq!(text.await, "=> say from the desk");
    assert_eq!(session.finished().await, "from the desk");
    session.idle().await;
    session.keys("half a sentence").await;
    session.shows("half a sentence").await;
    session.prompt("=> say from afar").await;
    assert_eq!(session.finished().await, "from afar");
    session.shows("half a sentence").await; // it came back
    assert_eq!(lab.model.heard_times("half a sentence"), 0);
}

#[tokio::test]
async fn an_ended_session_leaves_in_its_own_way() {
    let lab = lab!();
    let mut session = lab.session().await;
    session.prompt("=> bash sleep 100").await;
    session.working().await;
    session.order(OrderKind::End).await;
    let how = session.until("exited", |event| match event {
        AgentEvent::Exited { how, .. } => Some(*how),
        _ => None,
    });
    assert_eq!(how.await, ExitStatus::Code { code: 143 });
}

#[tokio::test]
async fn a_compaction_is_told_and_ends_nothing() {
    let lab = lab!();
    let mut session = lab.session().await;
    session.prompt("the word is mistletoe => say noted").await;
    session.finished().await;
    session.command("/compact").await;
    session.until("compacted", |event| (*event == AgentEvent::Compacted).then_some(())).await;
    session.prompt("=> say still here").await;
    assert_eq!(session.finished().await, "still here");
}

#[tokio::test]
async fn a_version_nobody_knows_is_checked_without_a_model() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().unwrap();
    let newer = folder.path().join("claude");
    let real = program.display();
    let script =
        format!("#!/bin/sh\n[ \"$1\" = --version ] && exec echo 9.9.9\nexec '{real}' \"$@\"\n");
    fs::write(&newer, script).unwrap();
    fs::set_permissions(&newer, fs::Permissions::from_mode(0o700)).unwrap();
    let probe = claude::probe(&newer).await;
    assert_eq!(probe.known, claude::Known::Newer);
    assert!(probe.findings[0].contains("9.9.9"), "{:?}", probe.findings);
    // Everything we rely on is there. (The older of the tested versions cannot be asked for hooks.)
    assert!(!probe.findings.iter().any(|one| one.contains("no longer")), "{:?}", probe.findings);
}

#[tokio::test]
async fn the_probe_knows_this_version() {
    let Some(program) = program() else { return };
    let probe = claude::probe(&program).await;
    assert_eq!((probe.known, probe.findings), (claude::Known::Tested, vec![]));
}
