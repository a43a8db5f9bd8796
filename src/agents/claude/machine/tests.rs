use super::*;
use serde_json::json;
use tokio::sync::oneshot;
use vigie_core::{
    Timestamp,
    agent::{AtDesk, Decision, Scope, Settled},
    id::{MailId, OrderId, PromptId, RequestId},
};

use crate::agents::HookReply;

/// A machine whose agent does as the test says, on a clock of the test's.
struct Scene {
    machine: Machine,
    now: Instant,
    status: Option<Status>,
    screen: Vec<String>,
    desk_typed: bool,
}

impl Scene {
    /// At its prompt, all quiet.
    fn at_prompt() -> Self {
        let mut scene = Self::starting();
        scene.becomes(Status::Idle);
        scene.box_shows("");
        let said = scene.after(1000);
        assert_eq!(said, [now(Doing::Idle)]);
        scene
    }

    fn starting() -> Self {
        let now = Instant::now();
        let machine = Machine::new(now, Some("c-1".into()));
        Self { machine, now, status: None, screen: vec![], desk_typed: false }
    }

    fn becomes(&mut self, status: Status) {
        self.status = Some(status);
    }

    fn box_shows(&mut self, text: &str) {
        let rule = "─".repeat(30);
        self.screen = format!("{rule}\n❯ {text}\n{rule}").lines().map(str::to_owned).collect();
    }

    /// Looks every 100 ms for so long.
    fn after(&mut self, ms: u64) -> Vec<Act> {
        for _ in 0..=ms / 100 {
            let view = View {
                status: self.status.clone(),
                version: Some("2.1.332".into()),
                screen: &self.screen,
                desk_typed: std::mem::take(&mut self.desk_typed),
            };
            self.machine.look(self.now, &view);
            self.now += Duration::from_millis(100);
        }
        self.machine.acts()
    }

    fn prompt(&mut self, number: u128, text: &str) {
        let form = PromptForm::Text;
        self.order(OrderKind::Prompt { prompt: prompt(number), text: text.into(), form });
    }

    fn mail(&mut self, number: u128, text: &str) {
        self.order(OrderKind::Mail { mail: mail(number), text: text.into() });
    }

    /// A round of tools ends, of the main agent's or of a subagent's.
    fn round(&mut self, agent: Option<&str>) -> Option<String> {
        let mut answer = self.hook("PostToolBatch", json!({ "tool_calls": [], "agent_id": agent }));
        let answer = answer.try_recv().unwrap();
        let text = answer["hookSpecificOutput"]["additionalContext"].as_str()?;
        assert!(text.starts_with("[mail] "), "{text:.20}");
        Some(text.replace("[mail] ", ""))
    }

    fn order(&mut self, what: OrderKind) {
        let id = OrderId::from_parts(Timestamp::default(), 1);
        self.machine.order(self.now, Order { id, what });
    }

    fn hook(&mut self, name: &str, mut fields: Value) -> oneshot::Receiver<Value> {
        fields["hook_event_name"] = json!(name);
        fields["session_id"] = json!("c-1");
        if fields.get("prompt_id").is_none() {
            fields["prompt_id"] = json!("t-1");
        }
        let (reply, answer) = oneshot::channel();
        self.machine.hook(
            self.now,
            HookCall { event: fields, reply: HookReply::new(reply) },
            |_| None,
        );
        answer
    }

    fn asks(&mut self) -> (RequestId, oneshot::Receiver<Value>) {
        let fields = json!({ "tool_name": "Bash", "tool_input": { "command": "ls" }, "cwd": "/p" });
        let answer = self.hook("PermissionRequest", fields);
        let acts = self.machine.acts();
        let asked = acts.into_iter().find_map(|act| match act {
            Act::Report(AgentEvent::Asked { request, .. }) => Some(request),
            _ => None,
        });
        (asked.unwrap(), answer)
    }

    /// A prompt of ours, taken, and the agent at work on it.
    fn working() -> Self {
        let mut scene = Self::at_prompt();
        scene.prompt(1, "go");
        scene.after(0);
        scene.box_shows("[phone] go");
        scene.after(300);
        scene.hook("UserPromptSubmit", json!({ "prompt": "[phone] go" }));
        scene.becomes(Status::Busy);
        scene.box_shows("");
        assert!(scene.after(100).contains(&now(Doing::Working)));
        scene
    }
}

fn prompt(number: u128) -> PromptId {
    PromptId::from_parts(Timestamp::default(), number)
}

fn mail(number: u128) -> MailId {
    MailId::from_parts(Timestamp::default(), number)
}

fn taken(number: u128) -> Act {
    Act::Report(AgentEvent::MailTaken { mail: mail(number) })
}

fn returned(number: u128) -> Act {
    Act::Report(AgentEvent::MailReturned { mail: mail(number) })
}

#[expect(clippy::unnecessary_wraps, reason = "events may have none")]
fn turn(id: &str) -> Option<TurnId> {
    Some(TurnId::new(id))
}

fn now(doing: Doing) -> Act {
    Act::Report(AgentEvent::Now { doing })
}

fn key(bytes: &[u8]) -> Act {
    Act::Keys(bytes.into())
}

fn paste(text: &str) -> Act {
    Act::Keys(format!("\x1b[200~{text}\x1b[201~").into_bytes())
}

#[test]
fn a_prompt_goes_in_and_its_turn_is_followed_to_the_answer() {
    let mut scene = Scene::at_prompt();
    scene.prompt(1, "!rm -rf /");
    assert_eq!(scene.after(0), [paste("[phone] !rm -rf /")]);
    scene.box_shows("[phone] !rm -rf /");
    assert_eq!(scene.after(300), [key(b"\r")]);
    scene.hook("UserPromptSubmit", json!({ "prompt": "[phone] !rm -rf /" }));
    let taken = AgentEvent::PromptTaken { prompt: prompt(1), turn: turn("t-1") };
    assert_eq!(scene.machine.acts(), [Act::Report(taken)]);
    scene.hook("Stop", json!({ "last_assistant_message": "No.", "background_tasks": [] }));
    let finished =
        AgentEvent::Finished { turn: turn("t-1"), text: "No.".into(), provisional: false };
    assert_eq!(scene.machine.acts(), [Act::Report(finished)]);
    scene.box_shows("");
    assert_eq!(scene.after(5000), [], "no interruption after a regular end");
}

#[test]
fn a_prompt_waits_for_each_reason_once() {
    let mut scene = Scene::starting();
    scene.prompt(1, "hi");
    let held = |why| Act::Report(AgentEvent::PromptHeld { prompt: prompt(1), why });
    assert_eq!(scene.after(1000), [held(Held::Starting)]);
    scene.becomes(Status::Busy);
    assert_eq!(scene.after(1000), [held(Held::Busy), now(Doing::Working)]);
    scene.becomes(Status::Waiting("permission prompt".into()));
    assert_eq!(scene.after(1000), [held(Held::Dialog)]);
    scene.becomes(Status::Idle);
    scene.box_shows("half a se");
    scene.desk_typed = true;
    assert!(scene.after(1500).contains(&held(Held::DeskTyping)));
    let acts = scene.after(4000);
    assert!(acts.contains(&key(b"\x13")), "the draft of the desk is put aside: {acts:?}");
}

#[test]
fn a_stop_and_a_prompt_right_after_it() {
    let mut scene = Scene::working();
    scene.order(OrderKind::Interrupt);
    scene.prompt(2, "only the unit tests");
    let held = AgentEvent::PromptHeld { prompt: prompt(2), why: Held::Busy };
    assert_eq!(scene.after(0), [key(b"\x1b"), Act::Report(held)]);
    scene.becomes(Status::Idle);
    scene.box_shows("[phone] go"); // it came back
    let interrupted = Act::Report(AgentEvent::Interrupted { turn: turn("t-1") });
    assert_eq!(scene.after(500), [now(Doing::Idle), interrupted, key(b"\x03")]);
    scene.box_shows("");
    assert_eq!(scene.after(300), [paste("[phone] only the unit tests")]);
}

#[test]
fn a_stop_when_nothing_runs_is_answered_and_presses_nothing() {
    let mut scene = Scene::at_prompt();
    scene.order(OrderKind::Interrupt);
    assert_eq!(scene.after(1000), [Act::Report(AgentEvent::Interrupted { turn: None })]);
}

#[test]
fn what_a_limit_cut_off_does_not_go_on_by_itself() {
    let mut scene = Scene::working();
    scene.hook("StopFailure", json!({ "error": "rate_limit", "last_assistant_message": "limit" }));
    scene.becomes(Status::Idle);
    let keys = |acts: &[Act]| acts.iter().filter(|act| matches!(act, Act::Keys(_))).count();
    let acts = scene.after(1000);
    assert!(acts.contains(&key(b"\x1b")) && keys(&acts) == 1, "{acts:?}");
    assert_eq!(keys(&scene.after(10_000)), 0, "a second on an empty box would open a menu");
    // An overload ends no other way than it did.
    let mut scene = Scene::working();
    scene.hook("StopFailure", json!({ "error": "overloaded", "last_assistant_message": "529" }));
    scene.becomes(Status::Idle);
    assert_eq!(keys(&scene.after(10_000)), 0);
}

#[test]
fn a_stop_in_a_dialog_refuses_the_request_and_types_nothing() {
    let mut scene = Scene::working();
    let (request, mut answer) = scene.asks();
    scene.becomes(Status::Waiting("permission prompt".into()));
    scene.after(200);
    scene.order(OrderKind::Interrupt);
    let settled = Act::Report(AgentEvent::Settled { request, how: Settled::Gone });
    scene.becomes(Status::Idle);
    let acts = scene.after(2000);
    assert_eq!(acts[0], settled);
    assert!(acts.contains(&Act::Report(AgentEvent::Interrupted { turn: turn("t-1") })), "{acts:?}");
    assert!(!acts.iter().any(|act| matches!(act, Act::Keys(_))), "{acts:?}");
    assert_eq!(answer.try_recv().unwrap()["hookSpecificOutput"]["decision"]["interrupt"], true);
}

#[test]
fn the_phone_answers_and_the_answer_counts_once() {
    let mut scene = Scene::working();
    let (request, mut answer) = scene.asks();
    scene.becomes(Status::Waiting("permission prompt".into()));
    assert_eq!(
        scene.after(20_000),
        [now(Doing::Waiting)],
        "the desk is not needed: the phone can answer"
    );
    let decision = Decision::Allow { scope: Scope::Once };
    for _ in 0..2 {
        scene.order(OrderKind::Answer { request: request.clone(), decision: decision.clone() });
    }
    assert_eq!(
        scene.machine.acts(),
        [Act::Report(AgentEvent::Settled { request, how: Settled::Ours })]
    );
    assert_eq!(answer.try_recv().unwrap()["hookSpecificOutput"]["decision"]["behavior"], "allow");
    let acts = scene.after(1000);
    let needs =
        |act: &Act| matches!(act, Act::Report(AgentEvent::Now { doing: Doing::NeedsDesk { .. } }));
    assert!(
        !acts.iter().any(needs),
        "its status says so a little longer, and nobody is needed: {acts:?}"
    );
}

#[test]
fn a_no_at_the_desk_settles_and_ends_the_turn() {
    let mut scene = Scene::working();
    let (request, answer) = scene.asks();
    scene.becomes(Status::Waiting("permission prompt".into()));
    scene.after(200);
    drop(answer);
    scene.becomes(Status::Idle);
    let how = Settled::AtDesk { allowed: AtDesk::Denied };
    let acts = scene.after(1000);
    assert!(acts.contains(&Act::Report(AgentEvent::Settled { request, how })), "{acts:?}");
    assert!(acts.contains(&Act::Report(AgentEvent::Interrupted { turn: turn("t-1") })), "{acts:?}");
}

#[test]
fn a_dialog_without_a_request_needs_the_desk() {
    let mut scene = Scene::at_prompt();
    scene.becomes(Status::Waiting("dialog open".into()));
    scene.screen = vec!["Settings".into()];
    let why = "something is open over its prompt; /stop closes it".into();
    let needs = now(Doing::NeedsDesk { why, screen: vec!["Settings".into()] });
    assert_eq!(scene.after(2000), []);
    assert_eq!(scene.after(20_000), [needs], "said once");
}

#[test]
fn a_question_at_its_start_needs_the_desk() {
    let mut scene = Scene::starting();
    scene.screen = vec!["Accessing workspace:".into()];
    let acts = scene.after(12_000);
    let needs = |act: &Act| matches!(act, Act::Report(AgentEvent::Now { doing: Doing::NeedsDesk { screen, .. } }) if screen[0].contains("workspace"));
    assert!(acts.iter().any(needs), "{acts:?}");
}

#[test]
fn a_turn_of_somebody_else_is_told_and_followed() {
    let mut scene = Scene::at_prompt();
    scene.hook("UserPromptSubmit", json!({ "prompt": "from the desk" }));
    let foreign = AgentEvent::ForeignTurn { turn: turn("t-1"), text: "from the desk".into() };
    assert_eq!(scene.machine.acts(), [Act::Report(foreign)]);
    scene.hook("StopFailure", json!({ "error": "rate_limit", "last_assistant_message": "limit" }));
    let kind = vigie_core::agent::FailureKind::Limit;
    let failed = AgentEvent::TurnFailed { turn: turn("t-1"), kind, text: "limit".into() };
    assert_eq!(scene.machine.acts(), [Act::Report(failed)]);
}

#[test]
fn a_turn_that_its_own_background_work_begins_is_nobodys_words() {
    let mut scene = Scene::at_prompt();
    let done = "<task-notification>\n<task-id>b1</task-id>\n</task-notification>";
    scene.hook("UserPromptSubmit", json!({ "prompt": done }));
    let foreign = AgentEvent::ForeignTurn { turn: turn("t-1"), text: String::new() };
    assert_eq!(scene.machine.acts(), [Act::Report(foreign)]);
}

#[test]
fn merged_prompts_end_together_and_are_not_called_interrupted() {
    let mut scene = Scene::working();
    scene.hook("UserPromptSubmit", json!({ "prompt": "more", "prompt_id": "t-2" }));
    scene.hook("Stop", json!({ "last_assistant_message": "both", "prompt_id": "t-2" }));
    scene.machine.acts();
    scene.becomes(Status::Idle);
    assert_eq!(scene.after(6000), [now(Doing::Idle)]);
}

#[test]
fn a_new_conversation_is_followed() {
    let mut scene = Scene::at_prompt();
    let fields = json!({ "hook_event_name": "SessionStart", "source": "clear", "session_id": "c-2", "transcript_path": "/t" });
    let (reply, _answer) = oneshot::channel();
    scene
        .machine
        .hook(scene.now, HookCall { event: fields, reply: HookReply::new(reply) }, |_| None);
    let event = AgentEvent::Conversation { id: "c-2".into(), transcript: Some("/t".into()) };
    assert_eq!(scene.machine.acts(), [Act::Report(event)]);
}

#[test]
fn a_version_nobody_tested_is_said_once() {
    let mut scene = Scene::at_prompt();
    for _ in 0..2 {
        scene.machine.check_version("2.9.0");
    }
    let acts = scene.machine.acts();
    assert_eq!(acts.len(), 1);
    assert!(
        matches!(&acts[0], Act::Report(AgentEvent::Degraded { what }) if what.contains("2.9.0"))
    );
}

#[test]
fn mail_goes_beside_the_results_of_the_main_agent_in_order_and_once() {
    let mut scene = Scene::working();
    scene.mail(1, "one");
    scene.mail(2, "two");
    assert_eq!(scene.round(Some("a-1")), None, "a subagent's round");
    assert_eq!(scene.machine.acts(), []);
    assert_eq!(scene.round(None).as_deref(), Some("one\n\ntwo"));
    assert_eq!(scene.machine.acts(), [taken(1), taken(2)]);
    assert_eq!(scene.round(None), None);
    assert_eq!(scene.machine.acts(), []);
}

#[test]
fn mail_beside_one_round_is_bounded_and_the_rest_follows() {
    let mut scene = Scene::working();
    let half = "🙂".repeat(2497); // with its mark 5,001 UTF-16 units
    for number in 1..=3 {
        scene.mail(number, &half);
    }
    let one_came = |text: Option<String>| text.is_some_and(|text| text == half);
    assert!(one_came(scene.round(None)), "two of them are too much");
    assert!(one_came(scene.round(None)));
    assert_eq!(scene.machine.acts(), [taken(1), taken(2)]);
    scene.mail(4, &"x".repeat(10_000));
    scene.mail(5, "short");
    assert!(one_came(scene.round(None)));
    assert_eq!(scene.round(None), None, "the fourth fits into no answer, and nothing overtakes it");
    assert_eq!(scene.machine.acts(), [taken(3), returned(4), returned(5)]);
}

#[test]
fn mail_that_the_agent_did_not_wait_for_is_kept() {
    let mut scene = Scene::working();
    scene.mail(1, "one");
    let fields = json!({ "hook_event_name": "PostToolBatch", "session_id": "c-1" });
    let (reply, gone) = oneshot::channel();
    drop(gone);
    let call = HookCall { event: fields, reply: HookReply::new(reply) };
    scene.machine.hook(scene.now, call, |_| None);
    assert_eq!(scene.machine.acts(), []);
    assert_eq!(scene.round(None).as_deref(), Some("one"));
}

#[test]
fn mail_goes_back_when_the_turn_ends_before_another_round() {
    for (event, fields) in [
        ("Stop", json!({ "last_assistant_message": "done" })),
        ("StopFailure", json!({ "error": "server_error" })),
    ] {
        let mut scene = Scene::working();
        scene.mail(1, "one");
        scene.hook(event, fields);
        assert!(scene.machine.acts().contains(&returned(1)), "{event}");
    }
}

#[test]
fn mail_goes_back_when_the_turn_is_stopped() {
    let mut scene = Scene::working();
    scene.mail(1, "one");
    scene.order(OrderKind::Interrupt);
    scene.mail(2, "two");
    assert_eq!(scene.machine.acts(), [returned(1), returned(2)]);
    assert_eq!(scene.round(None), None);

    let mut scene = Scene::working();
    scene.mail(1, "one");
    scene.becomes(Status::Idle); // Esc at the desk, which no hook tells
    assert!(scene.after(1000).contains(&returned(1)));

    let mut scene = Scene::working();
    scene.mail(1, "one");
    scene.machine.gone();
    assert!(scene.machine.acts().contains(&returned(1)));
}

#[test]
fn mail_for_an_agent_at_its_prompt_goes_back_at_once() {
    let mut scene = Scene::at_prompt();
    scene.mail(1, "one");
    assert_eq!(scene.machine.acts(), [returned(1)]);
    scene.becomes(Status::Busy); // a command of its own, which is no turn
    assert_eq!(scene.after(0), [now(Doing::Working)]);
    scene.mail(2, "two");
    assert_eq!(scene.machine.acts(), [], "it may still begin one");
    scene.becomes(Status::Idle);
    assert!(scene.after(1000).contains(&returned(2)));
}
