//! The workflows that come with Vigie, each from its start to its end, with the real Claude Code and a
//! scripted model in the place of the service.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod claude;
    pub(crate) mod home;
    pub(crate) mod phone;
    pub(crate) mod runs;
}

use scripted_model::{Model, Used};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};
use support::{
    claude,
    home::Home,
    phone::{Phone, plain},
    runs::{commit, git, program, repository, step, vigie_up, word},
};

/// A daemon with a project, `crane`, that Claude Code works on.
struct Yard {
    home: Home,
    model: Model,
    phone: Phone,
}

impl Yard {
    /// The checks of the project pass where `parser.txt` says `empty is nothing`.
    async fn open() -> Option<Self> {
        let claude_code = claude::program()?;
        let model = Model::start().await.unwrap();
        let mut home = Home::new(vigie_up);
        let crane = home.folder("crane");
        program(&crane.join(".vigie/check"), "grep -q 'empty is nothing' parser.txt");
        fs::write(crane.join("parser.txt"), "empty is an error\n").unwrap();
        repository(&crane);
        let agent = claude::agent(&home, &model, &claude_code, "cc", "acceptEdits");
        home.configure(&format!(
            "{agent}args = [\"--allowedTools\", \"Bash\"]\n\n\
             [bounds]\nmax_load = 1000.0\nmin_free_memory = \"1 MiB\"\n\n\
             [[project]]\nname = \"crane\"\npath = \"{}\"\nagent = \"cc\"\n",
            crane.display()
        ));
        claude::trust(&home, &[home.project(), crane]);
        home.up().await;
        let phone = home.phone().await;
        Some(Self { home, model, phone })
    }

    fn crane(&self) -> PathBuf {
        self.home.folder("crane")
    }

    fn parser(&self) -> String {
        fs::read_to_string(self.crane().join("parser.txt")).unwrap()
    }

    async fn run(&self, workflow: &str, params: Value) -> String {
        self.home.run(workflow, "crane", params).await
    }

    /// What a reader of a change gives back, who is told to look for that.
    fn reads(&self, words: &str, result: &Value) {
        self.model.told(words, &format!("call StructuredOutput {result} then say read"));
    }
}

impl Drop for Yard {
    #[expect(clippy::print_stderr, reason = "a story that fails shows what happened")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("what the model heard last:\n{}", self.model.heard().join("\n---\n"));
            eprintln!("what tools gave back:\n{}", self.model.results());
            eprintln!("the daemon said:\n{}", self.home.log());
        }
    }
}

macro_rules! yard {
    () => {
        match Yard::open().await {
            Some(yard) => yard,
            None => return,
        }
    };
}

/// Edits with which the project's checks pass.
const MEND: &str = "edit parser.txt an error to nothing";

#[tokio::test]
async fn a_quick_change_goes_around_again_until_a_person_is_content() {
    let yard = yard!();
    yard.model.told("A small change", "write parser.txt empty is a null then say it is a null now");
    yard.reads("and only that?", &json!({ "fine": false, "remarks": ["null was not asked for"] }));
    let params = json!({ "story": "PD-285", "change": "the empty case of the parser" });
    let run = yard.run("quick-change", params).await;

    let card = yard.phone.asked("checks fail, the reader objects").await;
    let shown = plain(&card);
    for told in ["PD-285", "it is a null now", "null was not asked for"] {
        assert!(shown.contains(told), "{told} is not in {shown}");
    }
    let read = yard.model.whole(yard.model.asked("and only that?").await);
    assert!(read.contains("-empty is an error") && read.contains("+empty is a null"), "{read}");
    yard.model
        .told("who said: nothing, please", "edit parser.txt a null to nothing then say mended");
    yard.reads("+empty is nothing", &json!({ "fine": true, "remarks": [] }));
    let code = card["what"]["body"]["code"].as_str().unwrap();
    yard.phone.send("send-it-back", &format!("back {code} nothing, please")).await;

    let again = yard.phone.approve("checks pass, the reader agrees").await;
    assert!(plain(&again).contains("mended"), "{again:#}");
    let over = yard.home.run_is(&run, "succeeded").await;
    assert_eq!(step(&over, "change")["attempt"], 2);
    assert_eq!(yard.parser(), "empty is nothing\n");

    // What its agents came to is what the service counted, the last turn of the session with it.
    let (inline, delegated) =
        (yard.model.used("From the workflow run"), yard.model.used("and only that?"));
    let tokens = |used: Used| used.input_tokens + used.output_tokens;
    let counted = |shown: &Value| {
        shown["input_tokens"] == inline.input_tokens + delegated.input_tokens
            && shown["output_tokens"] == inline.output_tokens + delegated.output_tokens
    };
    let over = yard.home.run_becomes(&run, &format!("{inline:?}, {delegated:?}"), counted).await;
    let report = plain(&over["report"]);
    for (what, used) in [("delegated", delegated), ("inline", inline)] {
        let line = format!("{what}: 1 step in 2 turns");
        assert!(report.contains(&line), "{report}");
        assert!(report.contains(&format!("{} tokens", tokens(used))), "{used:?}: {report}");
    }
    assert!(over["micro_usd"].as_u64().unwrap() > 0);
}

fn finding(severity: &str, place: &str, what: &str) -> Value {
    json!({ "severity": severity, "where": place, "what": what })
}

#[tokio::test]
async fn a_large_feature_has_six_phases_and_enters_building_again() {
    let yard = yard!();
    yard.reads("Say how large it is", &json!({ "size": "large", "why": "two parts" }));
    yard.model.told("Phase 1 of 6", "say the problem is emptiness");
    yard.model.told("Phase 2, plan", "say first the parser");
    yard.model.told("Phase 3, checks", "say the check is there already");
    yard.model.told("Phase 4, build", "write parser.txt empty is a null then say built wrong");
    yard.model.told("Phase 6, retro", "say measure first");
    for lens in ["missing tests", "security", "what could be left out"] {
        yard.reads(&format!("{lens}</data-"), &json!({ "findings": [] }));
    }
    let found = json!({ "findings": [finding("could", "parser.txt:1", "a name is long")] });
    yard.reads("mistakes</data-", &found);
    let params = json!({ "story": "PD-285", "goal": "empty input is no error" });
    let run = yard.run("feature", params).await;

    let scope = yard.phone.asked("is this the right scope?").await;
    assert!(plain(&scope).contains("the problem is emptiness"), "{scope:#}");
    yard.model.told("who said: smaller", "say only emptiness");
    let code = scope["what"]["body"]["code"].as_str().unwrap();
    yard.phone.send("smaller-scope", &format!("back {code} smaller")).await;
    let narrow = |m: &Value| {
        m["what"]["body"]["state"]["state"] == "open" && plain(m).contains("only emptiness")
    };
    let scope = yard.phone.shows("the narrower scope", narrow).await;
    yard.phone.tap(&scope, "Approve").await;
    let plan = yard.phone.approve("build it like this?").await;
    assert!(plain(&plan).contains("first the parser") && plain(&plan).contains("is there already"));

    let done = yard.phone.asked("needs changes: the checks fail. Is it done?").await;
    yard.model
        .told("who said: nothing, not null", "edit parser.txt a null to nothing then say built");
    let code = done["what"]["body"]["code"].as_str().unwrap();
    yard.phone.send("build-again", &format!("back {code} nothing, not null")).await;
    let done = yard.phone.approve("approved with remarks. Is it done?").await;
    assert!(plain(&done).contains("a name is long (mistakes)"), "{done:#}");

    let over = yard.home.run_is(&run, "succeeded").await;
    let attempts = ["look", "scope", "plan", "build", "retro"];
    let attempts = attempts.map(|name| step(&over, name)["attempt"].as_u64().unwrap());
    assert_eq!(attempts, [1, 2, 1, 2, 1]);
    assert_eq!(step(&over, "retro")["text"], "measure first");
    assert_eq!(over["outputs"]["verdict"], "approved with remarks");
}

#[tokio::test]
async fn a_small_feature_skips_ceremony_and_cannot_mend_its_checks() {
    let yard = yard!();
    yard.model.told("Phase 4, build", "bash echo true > .vigie/check then say all checks pass");
    yard.reads("mistakes</data-", &json!({ "findings": [] }));
    let params = json!({ "story": "PD-285", "goal": "empty input is no error", "size": "small" });
    let run = yard.run("feature", params).await;
    let blocked = yard.phone.asked("blocked: .vigie is not as it was committed").await;
    yard.model.told(
        "who said: mend it",
        &format!("bash git checkout -q .vigie then {MEND} then say built"),
    );
    let code = blocked["what"]["body"]["code"].as_str().unwrap();
    yard.phone.send("build-again", &format!("back {code} mend it")).await;
    yard.phone.approve("approved. Is it done?").await;
    let over = yard.home.run_is(&run, "succeeded").await;
    for skipped in ["look", "scope", "scope_ok", "plan", "checks", "plan_ok", "retro"] {
        assert_eq!(word(&over, skipped), "left_out", "{skipped}");
    }
}

const REPRODUCE: &str = "printf '#!/bin/sh -e\\ngrep -q nothing parser.txt\\n' > .vigie/reproduce";

#[tokio::test]
async fn a_bug_is_reproduced_understood_and_mended() {
    let yard = yard!();
    yard.model.told(
        "A bug:",
        &format!("bash {REPRODUCE} then bash chmod +x .vigie/reproduce then say it fails"),
    );
    yard.model.told("Find the root cause", "say the word is wrong since the first commit");
    yard.model.told("Mend it as agreed", &format!("{MEND} then say mended"));
    let params = json!({ "story": "PD-285", "symptom": "empty input is an error" });
    let run = yard.run("bug", params).await;
    let cause = yard.phone.asked("mend it like this?").await;
    assert!(plain(&cause).contains("since the first commit"), "{cause:#}");
    let code = cause["what"]["body"]["code"].as_str().unwrap();
    yard.phone.send("cause-agreed", &format!("approve {code} the smallest way")).await;
    yard.phone.approve("failed before and passes now").await;
    yard.home.run_is(&run, "succeeded").await;
    let mended = yard.model.whole(yard.model.asked("Mend it as agreed").await);
    assert!(mended.contains("What was said: the smallest way"), "{mended}");
    assert_eq!(yard.parser(), "empty is nothing\n");
}

#[tokio::test]
async fn a_test_that_passes_before_shows_no_bug() {
    let yard = yard!();
    yard.model.told("A bug:", "bash echo true > .vigie/reproduce && chmod +x .vigie/reproduce");
    let params = json!({ "story": "PD-285", "symptom": "empty input is an error" });
    let run = yard.run("bug", params).await;
    let over = yard.home.run_is(&run, "failed").await;
    assert_eq!(word(&over, "red"), "failed");
    assert!(over["why"].as_str().unwrap().contains("it passes, so it does not show the bug"));
    assert_eq!(word(&over, "cause"), "left_out");
}

/// A branch with a commit that changes the parser.
fn branch(yard: &Yard) {
    git(&yard.crane(), &["switch", "--quiet", "--create", "topic"]);
    fs::write(yard.crane().join("parser.txt"), "empty is nothing\n").unwrap();
    commit(&yard.crane(), "empty is nothing", "2024-01-03T03:04:05Z");
}

fn claims(severity: &str, what: &str) -> Value {
    json!({ "findings": [
        { "severity": severity, "where": "parser.txt:1", "what": what, "why": "it says so" }
    ] })
}

#[tokio::test]
async fn a_panel_refutes_and_confirms_by_code() {
    let yard = yard!();
    branch(&yard);
    yard.reads("mistakes</data-", &claims("blocks", "it crashes"));
    yard.reads("security</data-", &claims("could", "it is open"));
    yard.reads("edge cases</data-", &json!({ "findings": [] }));
    yard.reads("Try to refute it", &json!({ "stands": true, "because": "it is so" }));
    yard.reads("it crashes", &json!({ "stands": false, "because": "it does not" }));
    let lenses = json!({ "lenses": ["mistakes", "security", "edge cases"] });
    let run = yard.run("review-panel", lenses).await;
    let over = yard.home.run_is(&run, "succeeded").await;
    assert_eq!(over["outputs"]["verdict"], "approved with remarks", "{over:#}");
    let states = over["outputs"]["findings"].as_array().unwrap().iter();
    let states: Vec<_> = states.map(|f| f["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["refuted", "confirmed"]);
    let read = yard.model.whole(yard.model.asked("Look for one thing only").await);
    assert!(read.contains("-empty is an error") && read.contains("+empty is nothing"), "{read}");
}

#[tokio::test]
async fn a_panel_in_which_somebody_died_is_unverified() {
    let yard = yard!();
    branch(&yard);
    yard.reads("mistakes</data-", &claims("blocks", "it crashes"));
    yard.model.told("security</data-", "error 400");
    yard.model.told("it crashes", "error 400");
    let run = yard.run("review-panel", json!({ "lenses": ["mistakes", "security"] })).await;
    let over = yard.home.run_is(&run, "succeeded").await;
    assert_eq!(over["outputs"]["verdict"], "unverified", "{over:#}");
    assert_eq!(over["outputs"]["findings"][0]["state"], "unverified");
    let text = step(&over, "verdict")["text"].as_str().unwrap();
    assert!(text.contains("nobody looked for security"), "{text}");
}

/// Measures what stands in a file.
const MEASURE: &str =
    "bash echo 'cat cost.txt' > .vigie/measure && chmod +x .vigie/measure && echo 100 > cost.txt";

async fn measured(yard: &Yard) -> String {
    yard.model.told("make something better", &format!("{MEASURE} then say it measures the cost"));
    yard.model.told("The baseline, three times", "say the parser dominates");
    yard.model.told("Now the design", "say halve the parser");
    let params = json!({ "story": "PD-285", "question": "the cost of the parser" });
    let run = yard.run("baseline-measure-analyse-design", params).await;
    yard.phone.approve("is this the right thing to measure?").await;
    let design = yard.phone.approve("change it like this?").await;
    assert!(plain(&design).contains("the parser dominates"), "{design:#}");
    run
}

#[tokio::test]
async fn a_change_is_measured_before_and_after() {
    let yard = yard!();
    yard.model.told("Do it.", "bash echo 40 > cost.txt then say halved");
    let run = measured(&yard).await;
    yard.phone.approve("from 100 to 40 (40 %). Good enough?").await;
    let over = yard.home.run_is(&run, "succeeded").await;
    assert_eq!(word(&over, "verdict"), "done");
}

#[tokio::test]
async fn a_changed_measure_measures_nothing() {
    let yard = yard!();
    yard.model
        .told("Do it.", "bash echo 'echo 1' > .vigie/measure then say a hundred times better");
    let run = measured(&yard).await;
    let over = yard.home.run_is(&run, "failed").await;
    assert!(over["why"].as_str().unwrap().contains("the measuring itself was changed"), "{over:#}");
}

#[tokio::test]
async fn what_passes_is_deployed_once_a_person_agrees_and_what_fails_is_not_asked_about() {
    let yard = yard!();
    let quay = yard.home.project();
    program(&quay.join(".vigie/deploy"), "echo \"$TARGET $VERSION\" >> deployed.txt");
    let params = json!({ "tested": "crane", "deployed": "quay" });
    let run = yard.run("test-then-deploy", params.clone()).await;
    let over = yard.home.run_is(&run, "failed").await;
    assert_eq!((word(&over, "tests"), word(&over, "ok")), ("failed".into(), "left_out".into()));
    let cards = yard.phone.try_messages().await.unwrap();
    assert!(!cards.iter().any(|m| m["what"]["body"]["body"] == "card"), "{cards:#?}");

    fs::write(yard.crane().join("parser.txt"), "empty is nothing\n").unwrap();
    let dirty = yard.run("test-then-deploy", params.clone()).await;
    let over = yard.home.run_is(&dirty, "failed").await;
    assert!(over["why"].as_str().unwrap().contains("changes that are in no commit"), "{over:#}");

    commit(&yard.crane(), "empty is nothing", "2024-01-03T03:04:05Z");
    let head = git(&yard.crane(), &["rev-parse", "HEAD"]);
    let run = yard.run("test-then-deploy", params).await;
    let card = yard.phone.approve("Tests of crane pass. Deploy quay to staging?").await;
    assert!(plain(&card).contains(&head), "{card:#}");
    yard.home.run_is(&run, "succeeded").await;
    let log = fs::read_to_string(quay.join("deployed.txt")).unwrap();
    assert_eq!(log, format!("staging {head}\n"));
}

#[tokio::test]
async fn a_night_without_findings_rings_nobody_and_one_with_some_does() {
    let yard = yard!();
    let known: Value = yard.home.desk().get("/workflows").await.unwrap();
    let audit = known.as_array().unwrap().iter().find(|it| it["name"] == "nightly-audit").unwrap();
    assert_eq!((&audit["next"], &audit["triggers"]), (&json!([]), &json!(false)), "not armed");

    yard.reads("for one thing only", &json!({ "findings": [] }));
    let lenses = json!({ "lenses": ["secrets", "dead tests"] });
    let run = yard.run("nightly-audit", lenses.clone()).await;
    let over = yard.home.run_is(&run, "succeeded").await;
    assert_eq!(word(&over, "tell"), "left_out");
    let shown = yard.phone.try_messages().await.unwrap();
    let rings = |m: &&Value| m["what"]["level"] == "ring" || m["what"]["body"]["body"] == "card";
    assert_eq!(shown.iter().find(rings), None);

    let leak = json!({ "findings": [{ "where": "a.env", "what": "a key lies there" }] });
    yard.reads("secrets</data-", &leak);
    yard.model.told("dead tests</data-", "error 400");
    let run = yard.run("nightly-audit", lenses).await;
    let card = yard.phone.approve("look found 2. Seen?").await;
    let shown = plain(&card);
    assert!(shown.contains("a key lies there"), "{shown}");
    assert!(shown.contains("nobody looked for dead tests"), "{shown}");
    yard.home.run_is(&run, "succeeded").await;
    assert_eq!(yard.parser(), "empty is an error\n");
}
