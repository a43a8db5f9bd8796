//! Agents that use Vigie, with the real Claude Code: in sessions, and as a program outside of every
//! session. A scripted model says what each of them does.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod claude;
    pub(crate) mod home;
    pub(crate) mod phone;
}

use scripted_model::Model;
use serde_json::{Value, json};
use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};
use support::{
    claude,
    home::{DEADLINE, Home},
    phone::{Phone, plain},
};

fn vigie_up(home: &Home) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vigie"));
    command.args(["up", "--no-link", "--home"]).arg(home.data());
    command.arg("--config").arg(home.settings());
    command
}

/// A daemon with two projects that Claude Code works on, quay and harbour.
struct Harbour {
    home: Home,
    model: Model,
    phone: Phone,
    program: PathBuf,
}

impl Harbour {
    async fn open() -> Option<Self> {
        Self::open_with("").await
    }

    /// With more in its configuration.
    async fn open_with(more: &str) -> Option<Self> {
        let program = claude::program()?;
        let model = Model::start().await.unwrap();
        let mut home = Home::new(vigie_up);
        let harbour = home.folder("harbour");
        fs::create_dir_all(&harbour).unwrap();
        let agent = claude::agent(&home, &model, &program, "cc", "default");
        let runs = "args = [\"--allowedTools\", \"Bash(sh test.sh)\", \"Bash(sh deploy.sh)\"]";
        home.configure(&format!(
            "{agent}{runs}\n\n[bounds]\nmax_load = 1000.0\nmin_free_memory = \"1 MiB\"\n\n[[project]]\nname = \"harbour\"\npath = \"{}\"\nagent = \"cc\"\n{more}",
            harbour.display()
        ));
        claude::trust(&home, &[home.project(), harbour]);
        home.up().await;
        let phone = home.phone().await;
        Some(Self { home, model, phone, program })
    }

    async fn starts(&self, name: &str) {
        let start = json!({ "name": name, "agent": "cc" });
        let _: Value = self.home.desk().post("/sessions", &start).await.unwrap();
        self.home.session_is(name, "idle").await;
    }

    /// What a model outside of every session does with that prompt, and what it says at the end.
    async fn headless(&self, prompt: &str) -> String {
        let made: Value = self.home.desk().post("/tokens", &json!({ "name": "ci" })).await.unwrap();
        let server = json!({ "type": "http", "url": made["url"], "alwaysLoad": true,
            "headers": { "Authorization": "Bearer ${CI_TOKEN}" } });
        let servers = self.home.folder("servers.json");
        fs::write(&servers, json!({ "mcpServers": { "vigie": server } }).to_string()).unwrap();
        let mut command = tokio::process::Command::new(&self.program);
        command
            .args(["-p", "--output-format", "json", "--allowedTools", "mcp__vigie"])
            .arg("--mcp-config")
            .arg(servers)
            .args(["--", prompt])
            .current_dir(self.home.folder("harbour"))
            .envs(claude::environment(&self.home, &self.model))
            .env("CI_TOKEN", made["token"].as_str().unwrap())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = tokio::time::timeout(DEADLINE, command.output()).await.unwrap().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let said: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!(said["permission_denials"], json!([]));
        said["result"].as_str().unwrap_or_else(|| panic!("{said:#}")).to_owned()
    }
}

impl Drop for Harbour {
    #[expect(clippy::print_stderr, reason = "a story that fails shows what happened")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("what tools gave back:\n{}", self.model.results());
            eprintln!("the daemon said:\n{}", self.home.log());
        }
    }
}

macro_rules! harbour {
    () => {
        match Harbour::open().await {
            Some(harbour) => harbour,
            None => return,
        }
    };
}

/// A call of one of Vigie's tools, as a step of the model's.
fn call(tool: &str, input: &Value) -> String {
    let input = input.to_string().replace("=>", "->").replace(" then ", " ; ");
    format!("call mcp__vigie__{tool} {input}")
}

fn start(name: &str, project: &str, script: &str) -> String {
    let prompt = format!("=> {script}");
    call("start_session", &json!({ "name": name, "project": project, "prompt": prompt }))
}

fn wait(name: &str) -> String {
    call("wait_for_sessions", &json!({ "sessions": [name] }))
}

/// In a session Claude Code lets what waits go on beside it: the turn ends, and what is told then
/// begins the next.
fn beside(waiting: &str) -> String {
    format!("{waiting} then say waiting")
}

fn steps(steps: &[String]) -> String {
    format!("=> {}", steps.join(" then "))
}

#[tokio::test]
async fn a_session_briefs_another_reads_what_it_said_and_asks_the_person_over_a_crash() {
    let mut harbour = harbour!();
    harbour.starts("PD-285").await;
    let asking = json!({ "question": "Ship build 42?", "header": "Ship",
        "options": [{ "label": "Ship it" }, { "label": "Keep it" }] });
    let script = steps(&[
        call("list_projects", &json!({})),
        start("PD-300", "harbour", "bash ls then say the build is 42"),
        beside(&wait("PD-300")),
        call("get_session", &json!({ "session": "PD-300" })),
        beside(&call("ask_human", &asking)),
        "if Ship it ? say it is shipped : say it stays here".into(),
    ]);
    harbour.phone.send("first-message", &format!("[PD-285] {script}")).await;
    let card = harbour
        .phone
        .shows("the question", |m| {
            m["what"]["body"]["kind"] == "question" && plain(m).contains("Ship build 42?")
        })
        .await;
    harbour.phone.hears("waiting").await;
    harbour.home.kill();
    harbour.home.up().await;
    harbour.phone.tap(&card, "Ship it").await;
    harbour.phone.hears("it is shipped").await;
    let results = harbour.model.results();
    for told in ["quay", "harbour", "PD-300", "the build is 42"] {
        assert!(results.contains(told), "{told} is not in {results}");
    }
    let brief = harbour.model.whole(harbour.model.asked("[mail] From PD-285").await);
    assert!(!brief.contains("[phone]"), "no person's word: {brief}");
    let shown = harbour.phone.try_messages().await.unwrap();
    let permission = |m: &&Value| m["what"]["body"]["kind"] == "permission";
    assert_eq!(shown.iter().find(permission), None, "Vigie's tools are used without asking");
    assert_eq!(harbour.phone.count("At the desk of").await, 0, "nobody wrote there");
}

const RELEASE: &str = "
name: release
params: {build: {type: integer}}
steps:
  - {id: tests, shell: echo tested}
  - {id: ok, needs: [tests], approval: {ask: 'Release {{ params.build }}?', not_starter: true}}
  - {id: ship, needs: [ok], shell: echo shipped}
outputs: {said: steps.ship.text | trim}
";

#[tokio::test]
async fn a_session_starts_a_run_and_follows_it_to_its_end() {
    let harbour = harbour!();
    let workflows = harbour.home.folder("workflows");
    fs::create_dir_all(&workflows).unwrap();
    fs::write(workflows.join("release.yaml"), RELEASE).unwrap();
    let _: Value = harbour.home.desk().get("/workflows").await.unwrap();
    harbour.starts("PD-285").await;
    let script = steps(&[
        call("list_workflows", &json!({})),
        call("run_workflow", &json!({ "workflow": "release", "params": { "build": 42 } })),
        beside(&call("wait_for_run", &json!({ "run": "release-1" }))),
        "if shipped ? say build 42 is out : say it is unclear".into(),
    ]);
    harbour.phone.send("first-message", &format!("[PD-285] {script}")).await;
    let question =
        |m: &Value| m["what"]["body"]["kind"] == "approval" && plain(m).contains("Release 42?");
    let card = harbour.phone.shows("the question", question).await;
    assert!(plain(&card).contains("PD-285"), "who started it: {card:#}");
    harbour.phone.hears("waiting").await;
    harbour.phone.tap(&card, "Approve").await;
    harbour.phone.hears("build 42 is out").await;
    let run: Value = harbour.home.desk().get("/runs/release-1").await.unwrap();
    assert_eq!((&run["started_by"], &run["state"]), (&json!("PD-285"), &json!("succeeded")));
}

#[tokio::test]
async fn what_passes_on_one_project_is_deployed_on_the_other_and_what_fails_is_not() {
    for (said, deployed) in [("12 passed, 0 failed", true), ("11 passed, 1 failed", false)] {
        let harbour = harbour!();
        fs::write(harbour.home.project().join("test.sh"), format!("echo '{said}'\n")).unwrap();
        let folder = harbour.home.folder("harbour");
        fs::write(folder.join("deploy.sh"), "echo deployed >> log.txt; cat log.txt\n").unwrap();
        harbour.starts("PD-285").await;
        let tests = json!({ "name": "tests", "project": "quay", "agent": "cc",
            "prompt": "=> bash sh test.sh" });
        let script = steps(&[
            call("start_session", &tests),
            beside(&wait("tests")),
            format!(
                "if 0 failed ? {} : say tests failed, nothing is deployed",
                start("deploy", "harbour", "bash sh deploy.sh")
            ),
            beside(&wait("deploy")),
            "if deployed ? say tests passed, harbour is deployed : say it is unclear".into(),
        ]);
        harbour.phone.send("first-message", &format!("[PD-285] {script}")).await;
        let end = if deployed { "harbour is deployed" } else { "nothing is deployed" };
        harbour.phone.hears(end).await;
        let log = fs::read_to_string(folder.join("log.txt")).unwrap_or_default();
        assert_eq!(log, if deployed { "deployed\n" } else { "" });
    }
}

#[tokio::test]
async fn a_program_outside_of_every_session_starts_one_and_reads_what_it_said() {
    let harbour = harbour!();
    let script = steps(&[
        call("list_projects", &json!({})),
        start("PD-300", "harbour", "say the build is 42"),
        wait("PD-300"),
        call("run_workflow", &json!({ "workflow": "release" })),
        call("ask_human", &json!({ "question": "Ship it?" })),
        call("get_session", &json!({ "session": "PD-300" })),
        "if the build is 42 ? say it said 42 : say it said something else".into(),
    ]);
    assert_eq!(harbour.headless(&script).await, "it said 42");
    let results = harbour.model.results();
    assert!(results.contains("only a session can ask"), "{results}");
}

#[tokio::test]
async fn one_session_writes_to_another_at_work_and_at_its_prompt() {
    let harbour = harbour!();
    harbour.starts("PD-285").await;
    harbour.starts("PD-286").await;
    harbour
        .phone
        .send(
            "first-message",
            "[PD-286] => bash curl -s http://127.0.0.1:1/x then bash echo on then say worked",
        )
        .await;
    let card = harbour.phone.card().await;
    let letter = |text: &str| call("send_message", &json!({ "to": "PD-286", "text": text }));
    let script = steps(&[letter("the port is 7285"), "say told at work".into()]);
    harbour.phone.send("first-letter", &format!("[PD-285] {script}")).await;
    harbour.phone.hears("told at work").await;
    harbour.phone.tap(&card, "Approve").await;
    let news = harbour.model.news(harbour.model.asked("[mail] Another agent wrote").await);
    assert!(news.contains("tool_result") && news.contains("the port is 7285"), "{news}");
    harbour.phone.hears("worked").await;
    harbour.home.session_is("PD-286", "idle").await;

    let script = steps(&[letter("tell it => say I was told"), "say told at its prompt".into()]);
    harbour.phone.send("second-letter", &format!("[PD-285] {script}")).await;
    harbour.phone.hears("told at its prompt").await;
    harbour.phone.hears("I was told").await;
    let prompt = harbour.model.news(harbour.model.asked("tell it => say").await);
    assert!(!prompt.contains("[phone]"), "{prompt}");
}

#[tokio::test]
async fn the_lord_knows_where_everything_stands_and_asks_the_others() {
    let lord = "\n[lord]\nenabled = true\nproject = \"quay\"\nagent = \"cc\"\n";
    let Some(harbour) = Harbour::open_with(lord).await else { return };
    harbour.home.session_is("lord", "idle").await;
    harbour.starts("PD-285").await;
    let answer = steps(&[
        call("send_message", &json!({ "to": "lord", "text": "I mend the crane" })),
        "say answered".into(),
    ]);
    let question = json!({ "to": "PD-285", "text": format!("What do you do? {answer}") });
    let script = steps(&[
        call("send_message", &question),
        "say PD-285 is idle, I asked it".into(),
        "if mend the crane ? say PD-285 says it mends the crane : say I do not know".into(),
    ]);
    harbour.phone.send("first-message", &format!("where is everything? {script}")).await;
    harbour.phone.hears("PD-285 is idle, I asked it").await;
    let asked = harbour.model.whole(harbour.model.asked("[phone] where is everything?").await);
    for told in
        ["You are the Lord of this Vigie", "Vigie adds, for you alone", "- PD-285 in quay: idle"]
    {
        assert!(asked.contains(told), "{told} is not in {asked}");
    }
    harbour.phone.hears("PD-285 says it mends the crane").await;
    let woken = harbour.model.news(harbour.model.asked("kind=\\\"session\\\"").await);
    assert!(!woken.contains("[phone]"), "{woken}");
}
