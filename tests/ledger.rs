//! The ledger against the service's own count, with the real Claude Code and a scripted model that counts
//! what it hands out.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod claude;
    pub(crate) mod home;
    pub(crate) mod phone;
}

use scripted_model::{Billed, Model};
use serde_json::{Value, json};
use std::{fs, process::Command, time::Instant};
use support::{
    claude,
    home::{DEADLINE, Home},
    phone::Phone,
};
use vigie::web::shapes::{DelegationShape, UsageLine, UsageShape};

fn vigie_up(home: &Home) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vigie"));
    command.args(["up", "--no-link", "--home"]).arg(home.data());
    command.arg("--config").arg(home.settings());
    command
}

struct Desk {
    home: Home,
    model: Model,
    phone: Phone,
}

impl Desk {
    async fn open(more: &str) -> Option<Self> {
        let program = claude::program()?;
        let model = Model::start().await.unwrap();
        let mut home = Home::new(vigie_up);
        let agent = claude::agent(&home, &model, &program, "cc", "default");
        let bounds = "\n[bounds]\nmax_load = 1000.0\nmin_free_memory = \"1 MiB\"\n";
        home.configure(&format!("{agent}{bounds}{more}"));
        home.up().await;
        let phone = home.phone().await;
        Some(Self { home, model, phone })
    }

    async fn starts(&self, name: &str) {
        let start = json!({ "name": name, "agent": "cc" });
        let _: Value = self.home.desk().post("/sessions", &start).await.unwrap();
        self.home.session_is(name, "idle").await;
    }

    async fn usage(&self, by: &str) -> UsageShape {
        self.home.desk().get(&format!("/usage?by={by}")).await.unwrap()
    }

    /// Waits until so many answers for that session are counted.
    async fn counts(&self, name: &str, least: u64) {
        let end = Instant::now() + DEADLINE;
        loop {
            let usage = self.usage("session").await;
            let line = usage.rows.iter().find(|line| line.label == name);
            if line.is_some_and(|line| line.messages >= least) {
                return;
            }
            assert!(Instant::now() < end, "{name} has fewer answers: {usage:#?}");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }

    /// Waits until the ledger has as many answers as the service gave, and compares all numbers.
    async fn agrees(&self) -> UsageShape {
        let end = Instant::now() + DEADLINE;
        loop {
            let (usage, billed) = (self.usage("session").await, self.model.billed(""));
            if counted(&usage.total) == billed || Instant::now() > end {
                assert_eq!(counted(&usage.total), billed);
                return usage;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
}

fn counted(line: &UsageLine) -> Billed {
    Billed {
        answers: line.messages,
        input: line.input,
        output: line.output,
        cache_read: line.cache_read,
        cache_write_5m: line.cache_write_5m,
        cache_write_1h: line.cache_write_1h,
    }
}

fn money(line: &UsageLine) -> u64 {
    // Of claude-opus-5-5, in tenths of a millionth; each answer is rounded by itself.
    let tenths = line.input * 40
        + line.output * 200
        + line.cache_read * 2
        + line.cache_write_5m * 50
        + line.cache_write_1h * 80;
    tenths / 10
}

fn label<'u>(usage: &'u UsageShape, label: &str) -> &'u UsageLine {
    usage.rows.iter().find(|line| line.label == label).unwrap_or_else(|| panic!("{usage:#?}"))
}

#[tokio::test]
async fn the_ledger_is_the_services_own_count_over_subagents_crashes_resumes_and_children() {
    let Some(mut desk) = Desk::open("").await else { return };
    desk.starts("PD-285").await;

    desk.phone.send("with-a-subagent", "[PD-285] => subagent bash ls then say handed on").await;
    desk.phone.hears("handed on").await;
    let delegated = |all: &[DelegationShape]| all.iter().any(|row| row.kind == "subagent");
    let end = Instant::now() + DEADLINE;
    loop {
        let all: Vec<DelegationShape> = desk.home.desk().get("/usage/delegations").await.unwrap();
        if delegated(&all) {
            break;
        }
        assert!(Instant::now() < end, "no subagent was counted: {all:#?}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    desk.home.session_is("PD-285", "idle").await;
    let before = desk.agrees().await;
    assert!(before.total.messages >= 4, "{before:#?}");

    // What was written while no daemon ran is counted, and what was counted before is not.
    desk.phone.send("over-a-crash", "[PD-285] over a crash => slow 2 late").await;
    desk.model.asked("over a crash").await;
    desk.home.kill();
    desk.home.up().await;
    desk.home.session_is("PD-285", "idle").await;
    desk.agrees().await;

    // Its holder dies, and the conversation goes on in the same file.
    let holder = vigie::hold::client::holder_pid(&desk.home.folder_of("PD-285").await).unwrap();
    let holder = nix::unistd::Pid::from_raw(i32::try_from(holder).unwrap());
    nix::sys::signal::kill(holder, nix::sys::signal::Signal::SIGKILL).unwrap();
    desk.home.session_is("PD-285", "lost").await;
    let _: Value = desk.home.desk().post("/sessions/PD-285/resume", &json!({})).await.unwrap();
    desk.home.session_is("PD-285", "idle").await;
    desk.phone.send("after-a-resume", "[PD-285] => bash pwd then say resumed").await;
    desk.phone.hears("resumed").await;
    desk.agrees().await;

    // A session that it starts itself.
    let prompt = json!({ "name": "PD-300", "agent": "cc",
        "prompt": "-> bash ls ; say the child is done" });
    let start =
        format!("[PD-285] => call mcp__vigie__start_session {prompt} then say it is started");
    desk.phone.send("with-a-child", &start).await;
    desk.phone.hears("it is started").await;
    desk.counts("PD-300", 2).await;
    desk.home.session_is("PD-300", "idle").await;
    desk.home.session_is("PD-285", "idle").await;
    let usage = desk.agrees().await;
    let (own, child) = (label(&usage, "PD-285"), label(&usage, "PD-300"));
    assert!(own.messages > child.messages && child.messages >= 2, "{usage:#?}");
    for line in [own, child] {
        let (ledger, exact) = (line.micro_usd, money(line));
        assert!(ledger.abs_diff(exact) <= line.messages, "{ledger} is not {exact}");
        assert_eq!(line.unpriced_tokens, 0);
    }
    let tree = desk.usage("tree").await;
    assert_eq!(tree.rows.len(), 1, "{tree:#?}");
    assert_eq!(tree.rows[0].label, "PD-285");
    let session = desk.home.session("PD-285").await;
    assert_eq!(session["micro_usd"], own.micro_usd);
    assert_eq!(session["output_tokens"], own.output);
}

const STEP: &str = "
name: look
steps:
  - {id: read, claude: {prompt: '=> subagent bash ls then say looked'}}
";

#[tokio::test]
async fn a_step_with_an_agent_of_its_own_stands_in_the_same_ledger() {
    let Some(desk) = Desk::open("").await else { return };
    let workflows = desk.home.folder("workflows");
    fs::create_dir_all(&workflows).unwrap();
    fs::write(workflows.join("look.yaml"), STEP).unwrap();
    let _: Value = desk.home.desk().get("/workflows").await.unwrap();
    let _: Value =
        desk.home.desk().post("/runs", &json!({ "workflow": "look", "params": {} })).await.unwrap();
    desk.phone.hears("look-1 succeeded").await;
    let usage = desk.agrees().await;
    assert!(usage.total.messages >= 3, "{usage:#?}");
    let runs = desk.usage("run").await;
    assert_eq!(counted(label(&runs, "look-1")), desk.model.billed(""));
    let all: Vec<DelegationShape> = desk.home.desk().get("/usage/delegations").await.unwrap();
    let steps: Vec<_> = all.iter().map(|row| (row.kind.as_str(), row.count)).collect();
    assert_eq!(steps, [("step", 1)]);
}

#[tokio::test]
async fn a_turn_stops_at_the_limit_and_goes_on_when_a_person_says_so() {
    let Some(desk) = Desk::open("").await else { return };
    desk.starts("docs").await;
    let limit = json!({ "name": "docs", "budget": "0.001" });
    let _: Value = desk.home.desk().post("/budget", &limit).await.unwrap();
    desk.phone.send("first-message", "[docs] => say never").await;
    let card = desk
        .phone
        .shows("the question", |m| support::phone::plain(m).contains("as much again?"))
        .await;
    desk.phone.tap(&card, "As much again").await;
    desk.counts("docs", 1).await;
    let session = desk.home.session_is("docs", "idle").await;
    assert!(session["micro_usd"].as_u64().unwrap() > 0);
}
