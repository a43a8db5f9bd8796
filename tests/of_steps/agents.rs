//! Steps that the real Claude Code carries out, with the scripted model.

use scripted_model::Model;
use serde_json::json;
use std::fs;
use vigie_core::{
    agent::FailureKind,
    run::{PutOffBy, StepHow, StepOrder},
};
use vigie_workflow::run::{AskAnswer, ClaudeWork, Told, WorkKind};

use crate::support::{
    claude,
    steps::{Yard, adopted, done, failed, text, work},
};

/// A daemon's side with the real Claude Code, and a model that does what its prompt says.
struct Lab {
    yard: Yard,
    model: Model,
}

impl Lab {
    async fn open() -> Option<Self> {
        Self::with("ANTHROPIC_API_KEY = \"test-key\"").await
    }

    /// Logged in so.
    async fn with(login: &str) -> Option<Self> {
        Self::configured(login, "").await
    }

    async fn configured(login: &str, more: &str) -> Option<Self> {
        let program = claude::program()?;
        let model = Model::start().await.unwrap();
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name).display().to_string();
        fs::create_dir(path("claude")).unwrap();
        let settings = format!(
            "[[agent]]\nname = \"claude\"\nkind = \"claude\"\nprogram = \"{}\"\nenv = {{ HOME = {:?}, \
             CLAUDE_CONFIG_DIR = {:?}, ANTHROPIC_BASE_URL = {:?}, {login}, \
             CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = \"1\", CLAUDE_CODE_MAX_RETRIES = \"0\" }}\n{more}",
            program.display(),
            path(""),
            path("claude"),
            model.url,
        );
        Some(Self { yard: Yard::at(std::sync::Arc::new(home), &settings).await, model })
    }
}

#[tokio::test]
async fn a_policy_holds_before_each_tool_though_nothing_is_asked() {
    let policy = "[[policy]]\nname = \"deployment\"\neffect = \"deny\"\npath = [\"deploy/**\"]\n";
    let lab = Lab::configured("ANTHROPIC_API_KEY = \"test-key\"", policy).await;
    let Some(lab) = lab else { return };
    let project = lab.yard.project();
    fs::create_dir(project.join("deploy")).unwrap();
    fs::write(project.join("deploy/key"), "S3CRET").unwrap();
    // An agent may write this, and the next attempt reads it.
    fs::create_dir(project.join(".claude")).unwrap();
    fs::write(project.join(".claude/settings.json"), r#"{"disableAllHooks":true}"#).unwrap();
    let key = project.join("deploy/key").display().to_string();
    let steps = format!("=> bash cat deploy/key then read {key} then say done");
    assert_eq!(text(lab.yard.run(prompt(&steps)).await), "done");
    let results = lab.model.results();
    assert!(!results.contains("S3CRET") && results.contains("policy `deployment`"), "{results}");
}

fn prompt(prompt: &str) -> vigie_workflow::run::Work {
    work(WorkKind::Claude(ClaudeWork {
        prompt: prompt.into(),
        conversation: None,
        model: None,
        tools: Vec::new(),
        read_only: false,
        schema: None,
        micro_usd: None,
        max_turns: None,
    }))
}

fn claude_work(work: &mut vigie_workflow::run::Work) -> &mut ClaudeWork {
    match &mut work.what {
        WorkKind::Claude(claude) => claude,
        _ => unreachable!(),
    }
}

#[tokio::test]
async fn claude_code_answers_and_goes_on() {
    let Some(lab) = Lab::open().await else { return };
    let ended = done(lab.yard.run(prompt("hello => say good morning")).await);
    assert_eq!(ended.output.text, "good morning");
    assert!(ended.spent.micro_usd > 0 && ended.spent.output_tokens > 0, "{:?}", ended.spent);
    let mut more = prompt("and => say good night");
    claude_work(&mut more).conversation.clone_from(&ended.output.conversation);
    let more = done(lab.yard.run(more).await);
    assert_eq!(more.output.text, "good night");
    assert_eq!(more.output.conversation, ended.output.conversation);
    assert_eq!(lab.model.heard_times("hello => say good morning"), 1);
    let mut formed = prompt(r#"=> call StructuredOutput {"open": 285}"#);
    claude_work(&mut formed).schema = Some(
        json!({ "type": "object", "properties": { "open": { "type": "number" } }, "required": ["open"] }),
    );
    assert_eq!(done(lab.yard.run(formed).await).output.json, Some(json!({ "open": 285 })));
    let mut short = prompt("=> bash ls then bash ls then say done");
    claude_work(&mut short).max_turns = Some(1);
    assert_eq!(failed(lab.yard.run(short).await), "it was not done after 1 turns");
    let why = failed(lab.yard.run(prompt("=> error 400")).await);
    assert!(why.starts_with("the service behind it refused or failed: "), "{why}");
}

#[tokio::test]
async fn a_permission_waits_for_a_person_and_holds_no_process() {
    let Some(lab) = Lab::open().await else { return };
    let yard = &lab.yard;
    let target = yard.project().join("made");
    let mut work = prompt(&format!("=> bash touch {} then say it is there", target.display()));
    work.measure = true;
    let order = yard.order(work);
    yard.runner.carry_out(order.clone());
    let Told::Asks(asks) = yard.told().await else { panic!("it does not ask") };
    assert_eq!(asks.tool, "Bash");
    assert_eq!(asks.cwd, yard.project().to_str().unwrap());
    assert!(asks.spent.micro_usd > 0);
    assert_eq!(yard.processes().await, Vec::<String>::new());
    assert!(!target.exists());
    // Another daemon hears the same, and its person says yes.
    let next = Yard::beside(yard);
    next.runner.carry_out(adopted(order.clone()));
    assert_eq!(next.told().await, Told::Asks(asks.clone()));
    let answer = AskAnswer { allow: true, words: None, by: Some("Inès".into()) };
    let go_on = StepOrder { how: StepHow::GoOn { asks: asks.clone(), answer }, ..order.clone() };
    next.runner.carry_out(go_on.clone());
    let ended = done(next.ended().await);
    assert_eq!(ended.output.text, "it is there");
    assert_eq!(ended.changed, Some(vec!["made".to_owned()]));
    assert!(ended.spent.micro_usd > asks.spent.micro_usd, "{:?}", ended.spent);
    assert!(target.exists());
    // The same order again tells the same and does nothing.
    fs::remove_file(&target).unwrap();
    next.runner.carry_out(go_on);
    assert_eq!(next.ended().await, ended);
    assert!(!target.exists());
}

#[tokio::test]
async fn a_no_is_heard_and_what_is_asked_for_late_is_asked_too() {
    let Some(lab) = Lab::open().await else { return };
    let yard = &lab.yard;
    // A rule names the tool, so Claude Code is heard first; it would ask, and the same call is made again.
    let target = yard.project().join("made");
    let call = format!("bash touch {}", target.display());
    let mut work = prompt(&format!("=> {call} then {call} then say understood"));
    claude_work(&mut work).tools = vec!["Bash(git status:*)".into()];
    let order = yard.order(work);
    yard.runner.carry_out(order.clone());
    let Told::Asks(asks) = yard.told().await else { panic!("it does not ask") };
    let answer = AskAnswer { allow: false, words: Some("not today".into()), by: None };
    yard.runner.carry_out(StepOrder { how: StepHow::GoOn { asks, answer }, ..order });
    assert_eq!(text(yard.ended().await), "understood");
    assert!(lab.model.results().contains("A person said no: not today"), "{}", lab.model.results());
    assert!(!target.exists());
}

#[tokio::test]
async fn claude_code_that_may_only_read_writes_nothing() {
    let Some(lab) = Lab::open().await else { return };
    let target = lab.yard.project().join("made");
    let mut work = prompt(&format!(
        "=> write {} x then bash touch {} then say tried",
        target.display(),
        target.display()
    ));
    claude_work(&mut work).read_only = true;
    claude_work(&mut work).tools = vec!["Write".into(), "Bash".into()];
    let ended = done(lab.yard.run(work).await);
    assert_eq!((ended.output.text.as_str(), ended.changed), ("tried", Some(vec![])));
    assert!(!target.exists());
}

#[tokio::test]
async fn what_is_refused_for_its_account_goes_on_in_the_same_conversation() {
    for (words, kind, said) in [
        ("limited 7200", FailureKind::Limit, "You've hit your"),
        ("locked", FailureKind::Account, "401"),
        ("overloaded", FailureKind::Service, "529"),
    ] {
        let login = "CLAUDE_CODE_OAUTH_TOKEN = \"test-token\"";
        let Some(lab) = Lab::with(login).await else { return };
        let order = lab.yard.order(prompt(&format!("hello => {words} say good morning")));
        lab.yard.runner.carry_out(order.clone());
        let (why, how) = lab.yard.is_put_off().await;
        let PutOffBy::Account { kind: told, said: words } = why else { panic!("{why:?}") };
        assert!(told == kind && words.contains(said), "{told:?}: {words}");
        // A daemon that comes later is told the same.
        lab.yard.runner.carry_out(adopted(order.clone()));
        assert_eq!(lab.yard.is_put_off().await.1, how);
        lab.model.unlock();
        lab.yard.runner.carry_out(StepOrder { how, ..order.clone() });
        assert_eq!(text(lab.yard.ended().await), "good morning");
        lab.yard.runner.carry_out(adopted(order));
        assert_eq!(text(lab.yard.ended().await), "good morning");
        assert_eq!(lab.model.heard_times("hello =>"), 1);
        assert_eq!(lab.model.heard_times("Go on where you were cut off."), 1);
    }
}

#[tokio::test]
async fn what_we_put_off_goes_on_in_the_same_conversation() {
    let Some(lab) = Lab::open().await else { return };
    let order = lab.yard.order(prompt("hello => slow 60 late"));
    lab.yard.runner.carry_out(order.clone());
    lab.model.asked("hello").await;
    lab.yard.runner.put_off(order.run, &order.step, order.attempt);
    let (why, how) = lab.yard.is_put_off().await;
    assert_eq!(why, PutOffBy::Us);
    assert!(lab.yard.processes().await.is_empty());
    lab.yard.runner.carry_out(StepOrder { how, ..order });
    done(lab.yard.ended().await);
    assert_eq!(lab.model.heard_times("Go on where you were cut off."), 1);
}
