//! What a task of the demo agent may do: speak, report to the hooks, and ask.

use serde_json::{Value, json};
use std::{cell::Cell, future::Future, path::PathBuf, pin::Pin, rc::Rc, time::Duration};
use tokio::{
    sync::{mpsc, oneshot},
    time::{sleep, timeout},
};

use crate::agents::{
    guard::BEFORE_EVENT,
    hook_call::{CallError, Holder},
    hooks::BATCH_EVENT,
};

/// Hooks that need no decision are answered at once; a holder that is gone must not stop a demo.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// What the screen is told.
pub(super) enum Show {
    Line(String),
    Dialog(Dialog),
    /// The dialog was answered elsewhere.
    Close,
}

pub(super) struct Dialog {
    pub(super) title: String,
    pub(super) choices: Vec<String>,
    /// Gets the number of the choice; dropped for Esc.
    pub(super) answer: oneshot::Sender<usize>,
}

/// How a request was answered.
pub(super) enum Verdict {
    /// By a hook: its decision.
    Hook(Value),
    /// At the desk: the number of the choice.
    Desk(usize),
    /// Esc at the desk: the turn is over.
    Escaped,
}

/// What was said to a tool before it ran.
pub(super) enum Start {
    Goes,
    /// A person has to be asked, whatever else allows it.
    Asks,
    Refused(String),
}

type Call = Pin<Box<dyn Future<Output = Result<hyper::body::Bytes, CallError>>>>;

/// The stage of one turn.
pub(super) struct Stage {
    pub(super) show: mpsc::Sender<Show>,
    pub(super) hooks: Hooks,
    /// Commands need no asking any more in this session.
    pub(super) trusted: Rc<Cell<bool>>,
    pub(super) pace: Duration,
    /// Calls whose request was allowed at the desk: like Claude Code, the demo does not say so,
    /// and leaves them open until the turn is over.
    hanging: Vec<Call>,
    uses: u32,
    /// What came beside the results of its tools in this turn.
    pub(super) beside: Vec<String>,
}

/// Where the demo's hooks go, and what each of them carries.
#[derive(Clone)]
pub(super) struct Hooks {
    /// `None` when it was not started by Vigie: it works without hooks, at the desk.
    pub(super) holder: Option<Holder>,
    pub(super) conversation: String,
    pub(super) transcript: PathBuf,
    pub(super) cwd: PathBuf,
    pub(super) turn: Option<String>,
}

impl Hooks {
    fn event(&self, name: &str, fields: Value) -> Vec<u8> {
        let mut event = json!({
            "hook_event_name": name,
            "session_id": self.conversation,
            "transcript_path": self.transcript,
            "cwd": self.cwd,
        });
        if let Some(turn) = &self.turn {
            event["prompt_id"] = json!(turn);
        }
        if let (Some(event), Value::Object(fields)) = (event.as_object_mut(), fields) {
            event.extend(fields);
        }
        event.to_string().into_bytes()
    }

    /// Tells what happened, and gives what is to be read beside it; nothing that comes back decides.
    pub(super) async fn tell(&self, name: &str, fields: Value) -> Option<String> {
        let told = self.holder.as_ref()?.call(self.event(name, fields));
        let answer = timeout(ANSWERED_WITHIN, told).await.ok()?.ok()?;
        let answer: Value = serde_json::from_slice(&answer).ok()?;
        answer.pointer("/hookSpecificOutput/additionalContext")?.as_str().map(str::to_owned)
    }

    /// Asks whether a tool may begin. Unlike Claude Code, it takes no answer for a no.
    pub(super) async fn before(&self, call: Value) -> Start {
        let Some(holder) = &self.holder else { return Start::Goes };
        let answer = timeout(ANSWERED_WITHIN, holder.call(self.event(BEFORE_EVENT, call))).await;
        let answer: Option<Value> = answer
            .ok()
            .and_then(Result::ok)
            .and_then(|answer| serde_json::from_slice(&answer).ok());
        let Some(answer) = answer else {
            return Start::Refused("nobody said whether I may".into());
        };
        let said = |field: &str| {
            answer.pointer("/hookSpecificOutput")?.get(field)?.as_str().map(str::to_owned)
        };
        match said("permissionDecision").as_deref() {
            Some("deny") => Start::Refused(said("permissionDecisionReason").unwrap_or_default()),
            Some("ask") => Start::Asks,
            Some(_) | None => Start::Goes,
        }
    }

    fn ask(&self, fields: Value) -> Option<Call> {
        let (holder, event) = (self.holder.clone()?, self.event("PermissionRequest", fields));
        Some(Box::pin(async move { holder.call(event).await }))
    }
}

impl Stage {
    pub(super) fn new(
        show: mpsc::Sender<Show>,
        hooks: Hooks,
        trusted: Rc<Cell<bool>>,
        pace: Duration,
    ) -> Self {
        Self { show, hooks, trusted, pace, hanging: vec![], uses: 0, beside: vec![] }
    }

    pub(super) async fn say(&self, text: &str) {
        for line in text.lines() {
            // The screen outlives every turn.
            let _ = self.show.send(Show::Line(line.into())).await;
        }
    }

    pub(super) async fn pause(&self) {
        sleep(self.pace).await;
    }

    /// A tool that needs no permission, unless it is said before it begins.
    pub(super) async fn look(&mut self, tool: &str, input: &Value) {
        let call = self.tool(tool, input);
        let refused = match self.hooks.before(call.clone()).await {
            Start::Goes => None,
            Start::Refused(why) => Some(why),
            Start::Asks => {
                let title = format!("{tool} {input}\nDo you want to proceed?");
                let choices = ["Yes", "No"].map(str::to_owned).into();
                match self.ask(&call, json!([]), title, choices).await {
                    Verdict::Desk(0) => None,
                    Verdict::Hook(decision) if decision["behavior"] == "allow" => None,
                    Verdict::Desk(_) | Verdict::Escaped | Verdict::Hook(_) => {
                        Some("it was not allowed".into())
                    }
                }
            }
        };
        if let Some(why) = refused {
            self.say(&format!("● {tool} was refused: {why}")).await;
            return self.round(call).await;
        }
        self.say(&format!("● {tool} {}", call["tool_input"])).await;
        self.pause().await;
        self.ran(call).await;
    }

    /// A tool ran, which was a round of its own.
    pub(super) async fn ran(&mut self, call: Value) {
        self.hooks.tell("PostToolUse", call.clone()).await;
        self.round(call).await;
    }

    /// A round of tools is over, whether its tool ran or was refused.
    pub(super) async fn round(&mut self, call: Value) {
        let beside = self.hooks.tell(BATCH_EVENT, json!({ "tool_calls": [call] })).await;
        self.beside.extend(beside);
    }

    /// One use of a tool, as hooks name it.
    pub(super) fn tool(&mut self, tool: &str, input: &Value) -> Value {
        self.uses += 1;
        let turn = self.hooks.turn.as_deref().unwrap_or_default();
        json!({ "tool_name": tool, "tool_input": input, "tool_use_id": format!("{turn}-{}", self.uses) })
    }

    /// Asks at the desk and over the hook at once; the first answer counts.
    pub(super) async fn ask(
        &mut self,
        call: &Value,
        suggestions: Value,
        title: String,
        choices: Vec<String>,
    ) -> Verdict {
        let (answer, mut desk) = oneshot::channel();
        let dialog = Dialog { title, choices, answer };
        let _ = self.show.send(Show::Dialog(dialog)).await;
        let mut request = call.clone();
        request["permission_suggestions"] = suggestions;
        if let Some(fields) = request.as_object_mut() {
            fields.remove("tool_use_id"); // as with Claude Code
        }
        let Some(mut hook) = self.hooks.ask(request) else { return at_desk(desk.await) };
        let verdict = tokio::select! {
            answer = &mut desk => {
                let verdict = at_desk(answer);
                if matches!(verdict, Verdict::Desk(_)) {
                    self.hanging.push(hook);
                }
                return verdict;
            }
            answer = &mut hook => decision(answer),
        };
        match verdict {
            Some(decision) => {
                let _ = self.show.send(Show::Close).await;
                Verdict::Hook(decision)
            }
            // No decision: the dialog stays.
            None => at_desk(desk.await),
        }
    }
}

fn at_desk(answer: Result<usize, oneshot::error::RecvError>) -> Verdict {
    answer.map_or(Verdict::Escaped, Verdict::Desk)
}

fn decision(answer: Result<hyper::body::Bytes, CallError>) -> Option<Value> {
    let answer: Value = serde_json::from_slice(&answer.ok()?).ok()?;
    answer.pointer("/hookSpecificOutput/decision").cloned()
}
