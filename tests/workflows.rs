//! Runs of workflows on a real daemon, from the phone page and from the command line.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod home;
    pub(crate) mod phone;
    pub(crate) mod runs;
}

use scripted_model::Model;
use serde_json::{Value, json};
use std::{fs, path::Path};
use support::{
    home::Home,
    phone::{Phone, plain},
    runs::{desk, vigie_up},
};

/// A workflow with a step of every kind; each that has an effect leaves a line in `$LEDGER`.
const EVERYTHING: &str = r#"
params:
  who: {type: string, title: Whom to greet}
  mood: {type: string, enum: [calm, brave], title: Mood}
env: {LEDGER: "@LEDGER@"}
steps:
  - id: greet
    env: {WHO: "{{ params.who }}", MOOD: "{{ params.mood }}"}
    shell: echo greet >> "$LEDGER"; echo "hello $WHO, be $MOOD"
  - id: count
    needs: [greet]
    http:
      {method: POST, url: "@URL@/v1/messages/count_tokens", allow_private: true,
       json: {messages: ["{{ steps.greet.text }}"]}, extract: {tokens: response.json.input_tokens}}
  - id: sum
    needs: [count]
    javascript: {input: {tokens: steps.count.tokens}, code: return input.tokens + 1}
  - id: enough
    needs: [sum]
    condition: steps.sum.json > 1
  - {id: nap, needs: [greet], sleep: 1s}
  - id: each
    needs: [enough]
    foreach:
      {in: "[1, 2, 3]", as: item, parallel: 2, steps: [
        {id: note, env: {ITEM: "{{ item }}"}, shell: 'echo "item $ITEM" >> "$LEDGER"'}]}
  - id: turn
    needs: [nap]
    claude: {session: PD-285, prompt: stream 2}
  - id: below
    needs: [each]
    workflow: {name: below, params: {who: params.who}}
  - id: ok
    needs: [below, turn]
    approval:
      ask: "Done for {{ params.who }}?"
      show: "{{ steps.turn.text }}"
      form: [{id: size, title: Size, choices: [small, large]}]
      send_back: below
  - id: end
    needs: [ok]
    env: {SIZE: "{{ steps.ok.answers.size }}"}
    shell: echo "end $SIZE" >> "$LEDGER"
outputs: {sum: steps.sum.json, below: steps.below.json.said}
"#;

const BELOW: &str = r#"
params: {who: {type: string}}
env: {LEDGER: "@LEDGER@"}
steps:
  - id: say
    env: {WHO: "{{ params.who }}"}
    shell: echo below >> "$LEDGER"; echo "below $WHO"
outputs: {said: steps.say.text | trim}
"#;

struct Quay {
    home: Home,
    phone: Phone,
    _model: Model,
}

impl Quay {
    async fn open() -> Self {
        Self::with("fine", "steps: [{id: a, shell: echo fine}]\n").await
    }

    /// With one workflow more.
    async fn with(name: &str, text: &str) -> Self {
        let mut home = Home::new(vigie_up);
        home.configure("");
        let model = Model::start().await.unwrap();
        let ledger = home.project().join("ledger.txt");
        let fill = |text: &str| {
            text.replace("@LEDGER@", ledger.to_str().unwrap()).replace("@URL@", &model.url)
        };
        home.workflow("everything", &fill(EVERYTHING));
        home.workflow("below", &fill(BELOW));
        home.workflow(name, text);
        home.up().await;
        let phone = home.phone().await;
        Self { home, phone, _model: model }
    }

    fn ledger(&self) -> Vec<String> {
        let text = fs::read_to_string(self.home.project().join("ledger.txt")).unwrap_or_default();
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    async fn desk(&self, arguments: &[&str]) -> (i32, String) {
        desk(&self.home, arguments).await
    }
}

fn progress(message: &Value) -> bool {
    message["what"]["body"]["body"] == "progress"
}

/// Processes with this in their environment.
fn alive(mark: &str) -> usize {
    let marked = |process: &Path| {
        let env = fs::read(process.join("environ")).unwrap_or_default();
        env.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    fs::read_dir("/proc").unwrap().flatten().filter(|entry| marked(&entry.path())).count()
}

#[tokio::test]
async fn a_run_of_every_kind_is_begun_by_buttons_followed_and_answered_on_the_phone() {
    let quay = Quay::open().await;
    let phone = &quay.phone;
    phone.send("run-everything", "/run everything").await;
    let form = phone.hears("Whom to greet").await;
    let reply = json!({ "client": "whom-to-greet", "text": "Ada", "reply_to": form["id"] });
    phone.post("/phone/api/send", &reply).await;
    let mood = phone.hears("Mood").await;
    assert_ne!(mood["id"], form["id"], "each question stands below all else");
    phone.tap(&mood, "brave").await;
    let ready = phone.hears("start it?").await;
    assert!(
        plain(&ready).contains("who: Ada") && plain(&ready).contains("mood: brave"),
        "{ready:#}"
    );
    phone.tap(&ready, "Start").await;

    let card = phone.asked("Done for Ada?").await;
    assert!(plain(&card).contains("2 lines printed"), "{card:#}");
    phone.shows("its progress", |m| progress(m) && plain(m).contains("✓ each")).await;
    phone.tap(&card, "large").await;
    let card = phone.shows("what was picked", |m| m["id"] == card["id"] && !has(m, "large")).await;
    let code = card["what"]["body"]["code"].as_str().unwrap();
    phone.send("send-it-back", &format!("back {code} once more below")).await;
    let again = |m: &Value| has(m, "large") && m["id"] != card["id"];
    let card = phone.shows("the question again", again).await;
    phone.tap(&card, "small").await;
    let code = card["what"]["body"]["code"].as_str().unwrap();
    phone.send("approve-typed", &format!("approve {code} well done")).await;

    let over = quay.home.run_is("everything-1", "succeeded").await;
    assert_eq!(over["outputs"]["below"], "below Ada");
    phone.hears("everything-1 succeeded").await;
    let ledger = ["below", "below", "end small", "greet", "item 1", "item 2", "item 3"];
    assert_eq!(quay.ledger(), ledger);
    let messages = phone.try_messages().await.unwrap();
    let of_run = |m: &&Value| progress(m) && plain(m).contains("everything-1");
    assert_eq!(messages.iter().filter(of_run).count(), 1, "one message, edited");
    let (exit, said) = quay.desk(&["workflow", "show", "everything-1"]).await;
    assert!(exit == 0 && said.contains("who = \"Ada\"") && said.contains("✓ end"), "{said}");
}

/// Whether it is an open card with that button.
fn has(message: &Value, label: &str) -> bool {
    let buttons = message["what"]["body"]["buttons"].as_array().into_iter().flatten();
    message["what"]["body"]["state"]["state"] == "open"
        && buttons.into_iter().any(|button| button["label"] == label)
}

const STAGES: &str = r#"
params: {word: {type: string, default: plain}}
env: {WORD: "{{ params.word }}"}
steps:
  - id: first
    shell: echo "first $WORD" >> ledger.txt; echo "first said $WORD"
  - id: second
    needs: [first]
    env: {FROM: "{{ steps.first.text | trim }}"}
    shell: |
      echo "second $WORD $FROM in $(basename "$PWD")" >> ledger.txt
      test -e mended
  - id: third
    needs: [second]
    shell: echo third >> ledger.txt
"#;

#[tokio::test]
async fn what_failed_is_retried_with_the_same_everything() {
    let quay = Quay::with("stages", STAGES).await;
    quay.phone.send("run-stages", "/run stages word=\"two words\"").await;
    let failed = quay.phone.hears("stages-1 failed").await;
    assert!(plain(&failed).contains("second"), "{failed:#}");
    fs::write(quay.home.project().join("mended"), "").unwrap();
    // What is in the file by now changes nothing for a run that began.
    quay.home.workflow("stages", &STAGES.replace("echo third", "echo changed"));
    let _: Value = quay.home.desk().get("/workflows").await.unwrap();
    quay.phone.tap(&failed, "Retry stages-1").await;
    quay.phone.hears("stages-1 succeeded").await;
    let second = "second two words first said two words in project";
    let first = ["first two words", second, second, "third"];
    assert_eq!(quay.ledger(), first);
    let (exit, said) = quay.desk(&["workflow", "retry", "stages-1", "--from", "second"]).await;
    assert_eq!(exit, 0, "{said}");
    quay.home.run_is("stages-1", "succeeded").await;
    assert_eq!(quay.ledger(), ["first two words", second, second, second, "third", "third"]);
    let (exit, said) = quay.desk(&["workflow", "retry", "stages-1"]).await;
    assert!(exit != 0 && said.contains("nothing"), "{exit} {said}");
    let (exit, said) = quay.desk(&["workflow", "retry", "stages-1", "--from", "secnd"]).await;
    assert!(exit != 0 && said.contains("second"), "{exit} {said}");
}

const LONG: &str = r#"
steps:
  - id: long
    env: {MARK: "@MARK@"}
    shell: "(sleep 1000 & sleep 1000) & echo begun; trap '' TERM; sleep 1000"
"#;

#[tokio::test]
async fn a_cancelled_run_leaves_no_process() {
    let mark = format!("MARK={}", rand::random::<u64>());
    let quay = Quay::with("long", &LONG.replace("@MARK@", &mark[5..])).await;
    quay.phone.send("run-long-one", "/run long").await;
    quay.home.step_is("long-1", "long", "running").await;
    let shown = quay.phone.shows("its progress", progress).await;
    quay.home.prints("long-1", "long", "begun\n").await;
    assert!(alive(&mark) > 0);
    quay.phone.tap(&shown, "Cancel long-1").await;
    quay.phone.hears("long-1 was cancelled").await;
    assert_eq!(alive(&mark), 0);
    let (exit, said) = quay.desk(&["workflow", "cancel", "long-1"]).await;
    assert!(exit != 0 && said.contains("over already"), "{exit} {said}");
}

const ASKS: &str = "
steps:
  - {id: ok, approval: Shall we?}
  - {id: after, needs: [ok], shell: echo after}
";

#[tokio::test]
async fn whoever_follows_a_run_learns_how_it_ends() {
    let quay = Quay::with("asks", ASKS).await;
    quay.home.workflow("fine", "steps: [{id: a, shell: echo fine}]\n");
    quay.home.workflow("bad", "steps: [{id: a, shell: 'echo no >&2; exit 3'}]\n");
    let (exit, said) = quay.desk(&["workflow", "run", "fine", "--follow"]).await;
    assert!(exit == 0 && said.contains("a  done"), "{exit} {said}");
    let (exit, said) = quay.desk(&["workflow", "run", "bad", "--follow"]).await;
    assert!(exit == 1 && said.contains("bad-1"), "{exit} {said}");

    let follow = quay.desk(&["workflow", "run", "asks", "--follow"]);
    let deny = async {
        let card = quay.phone.asked("Shall we?").await;
        quay.phone.tap(&card, "Deny").await;
    };
    let ((exit, said), ()) = tokio::join!(follow, deny);
    assert!(exit == 2 && said.contains("waits for you: vigie answer"), "{exit} {said}");

    let follow = quay.desk(&["workflow", "run", "asks", "--follow"]);
    let cancel = async {
        quay.phone.asked("Shall we?").await;
        assert_eq!(quay.desk(&["workflow", "cancel", "asks-2"]).await.0, 0);
    };
    let ((exit, said), ()) = tokio::join!(follow, cancel);
    assert!(exit == 2 && said.contains("cancelled"), "{exit} {said}");
}

const PRINTS: &str = r"
steps:
  - id: prints
    shell: |
      echo one
      while ! test -e go; do sleep 0.05; done
      echo two
  - {id: more, needs: [prints], shell: echo three}
";

#[tokio::test]
async fn what_steps_print_is_followed() {
    let quay = Quay::with("prints", PRINTS).await;
    let (exit, _) = quay.desk(&["workflow", "run", "prints"]).await;
    assert_eq!(exit, 0);
    let go = async {
        quay.home.step_is("prints-1", "prints", "running").await;
        fs::write(quay.home.project().join("go"), "").unwrap();
    };
    let follow = quay.desk(&["workflow", "logs", "prints-1", "-f"]);
    let ((exit, said), ()) = tokio::join!(follow, go);
    assert_eq!(exit, 0, "{said}");
    assert_eq!(said, "prints:\none\ntwo\nmore:\nthree\n");
}

#[tokio::test]
async fn a_copied_audit_is_armed_and_a_workflow_of_a_project_is_not() {
    let quay = Quay::open().await;
    let settings = quay.home.settings();
    let settings = settings.to_str().unwrap();
    let copy = ["workflow", "copy", "nightly-audit", "--config", settings];
    let (exit, said) = quay.desk(&copy).await;
    assert_eq!(exit, 0, "{said}");
    let of_project = quay.home.project().join(".vigie/workflows");
    fs::create_dir_all(&of_project).unwrap();
    let text = "name: own\non: {cron: '0 3 * * *'}\nsteps: [{id: a, shell: echo}]\n";
    fs::write(of_project.join("own.yaml"), text).unwrap();
    let known: Value = quay.home.desk().get("/workflows").await.unwrap();
    let find = |name: &str| {
        known.as_array().unwrap().iter().find(|it| it["name"] == name).unwrap().clone()
    };
    assert_eq!(find("nightly-audit")["triggers"], true);
    assert_eq!(find("nightly-audit")["next"].as_array().unwrap().len(), 5);
    assert_eq!(find("quay/own")["triggers"], false);
}
