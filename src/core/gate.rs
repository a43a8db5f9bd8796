//! Something that waits for a human, and its one answer.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use vigie_workflow::value::StepPath;

use crate::{
    Timestamp,
    agent::{Asked, Decision},
    bridge::{CardKind, Fact, Risk},
    id::{BridgeName, ChatId, GateCode, GateId, HumanId, OrderId, RequestId, RunId, SessionId},
    ringing::Rung,
    text::Rich,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    pub id: GateId,
    pub code: GateCode,
    #[serde(flatten)]
    pub waits: Waits,
    pub ask: Asked,
    pub shown: Shown,
    pub opened: Timestamp,
    /// Denied by itself from then on.
    pub until: Timestamp,
    /// Answers given so far to the questions, in their order; complete means decided.
    pub picked: Vec<Option<String>>,
    /// Options ticked so far, by question and position, at questions that take several.
    pub ticked: BTreeSet<(usize, usize)>,
    /// Who said yes so far, where more than one person has to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yes: Vec<HumanId>,
    /// How many people have to say yes; of a workflow's approval that says it itself.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub needed: u32,
    /// Whose next words to the card say what should change before it is asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words_of: Option<HumanId>,
    pub state: GateState,
    /// The card's messages, one a chat, and again where it was said anew.
    pub cards: Vec<crate::delivery::Shown>,
    /// Chats in which it rang, or is about to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rang: Vec<(BridgeName, ChatId)>,
    #[serde(default)]
    pub rung: Rung,
}

/// Who waits for the answer. A session's stands in its row as it did before runs could wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Waits {
    Session(SessionWaits),
    Step(StepWaits),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionWaits {
    pub session: SessionId,
    /// The start of the session's program that asks: an answer never reaches another.
    pub run: u32,
    pub request: RequestId,
    #[serde(default)]
    pub asker: Asker,
}

/// A step of a run, in one of its attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepWaits {
    pub of_run: RunId,
    /// For people: `release-12`.
    pub run_name: String,
    pub step: StepPath,
    pub attempt: u32,
}

/// How the agent asked, and so how it gets the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asker {
    /// By its own request, which its holder keeps open: it waits and does nothing else.
    #[default]
    Request,
    /// By a tool of ours: it may go on meanwhile, and outlives its program.
    Tool,
}

/// What the card says, worked out once when the gate opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    pub kind: CardKind,
    pub title: String,
    pub content: Rich,
    pub diff: Option<String>,
    pub warnings: Vec<String>,
    pub facts: Vec<Fact>,
    pub risk: Risk,
    /// SHA-256 of tool, input and folder, in hex: what was approved is what was shown.
    pub digest: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "gate", rename_all = "snake_case")]
pub enum GateState {
    Open,
    /// Stored; the agent does not have it yet.
    Answered {
        answer: Answer,
        order: OrderId,
    },
    /// The agent has it.
    Taken {
        answer: Answer,
        at: Timestamp,
    },
    /// Over without an answer of ours.
    Closed {
        why: String,
        at: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// `None`: a rule decided, or the deadline.
    pub by: Option<HumanId>,
    pub decision: Decision,
    /// "Approved", "Denied", "Answered: SQLite".
    pub verdict: String,
    pub at: Timestamp,
    /// Where it came from: "the phone page", "the command line".
    pub via: String,
    /// What decided it instead of a person: ``policy `no-pushes` (line 40)``.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it so")]
fn is_one(count: &u32) -> bool {
    *count == 1
}

/// Why an answer changed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TooLate {
    Decided(Box<Answer>),
    Closed { why: String, at: Timestamp },
}

impl Gate {
    /// When nobody waited for an answer any more.
    pub fn decided_at(&self) -> Option<Timestamp> {
        match &self.state {
            GateState::Open => None,
            GateState::Answered { answer, .. } | GateState::Taken { answer, .. } => Some(answer.at),
            GateState::Closed { at, .. } => Some(*at),
        }
    }

    /// The session that asks; `None`: a step of a run does.
    pub fn session(&self) -> Option<SessionId> {
        match &self.waits {
            Waits::Session(waits) => Some(waits.session),
            Waits::Step(_) => None,
        }
    }

    /// The step that asks; `None`: a session does.
    pub fn step(&self) -> Option<&StepWaits> {
        match &self.waits {
            Waits::Session(_) => None,
            Waits::Step(waits) => Some(waits),
        }
    }

    /// Whether a session asks in that way.
    pub fn is_by(&self, asker: Asker) -> bool {
        match &self.waits {
            Waits::Session(waits) => waits.asker == asker,
            Waits::Step(_) => false,
        }
    }

    /// The request of an agent that its holder keeps open.
    pub fn request(&self) -> Option<&SessionWaits> {
        match &self.waits {
            Waits::Session(waits) if waits.asker == Asker::Request => Some(waits),
            Waits::Session(_) | Waits::Step(_) => None,
        }
    }

    /// How many people have to say yes.
    pub fn people_needed(&self) -> u32 {
        match &self.ask {
            Asked::Approval(approval) => approval.count,
            Asked::Permission { .. } | Asked::Questions { .. } | Asked::Plan { .. } => self.needed,
        }
    }

    pub fn is_open(&self) -> bool {
        match self.state {
            GateState::Open => true,
            GateState::Answered { .. } | GateState::Taken { .. } | GateState::Closed { .. } => {
                false
            }
        }
    }

    /// When it was decided, or closed; `None`: it is open.
    pub fn over_since(&self) -> Option<Timestamp> {
        match &self.state {
            GateState::Open => None,
            GateState::Answered { answer, .. } | GateState::Taken { answer, .. } => Some(answer.at),
            GateState::Closed { at, .. } => Some(*at),
        }
    }

    /// What was decided, in the words for people; `None`: nothing was.
    pub fn verdict(&self) -> Option<&str> {
        match &self.state {
            GateState::Open | GateState::Closed { .. } => None,
            GateState::Answered { answer, .. } | GateState::Taken { answer, .. } => {
                Some(&answer.verdict)
            }
        }
    }

    /// The first answer counts; every later one learns why it did not.
    pub fn decide(&mut self, answer: Answer, order: OrderId) -> Result<(), TooLate> {
        match &self.state {
            GateState::Open => {
                self.state = GateState::Answered { answer, order };
                Ok(())
            }
            GateState::Answered { answer, .. } | GateState::Taken { answer, .. } => {
                Err(TooLate::Decided(Box::new(answer.clone())))
            }
            GateState::Closed { why, at } => Err(TooLate::Closed { why: why.clone(), at: *at }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_asked_reads_back_as_it_was_written() {
        let approval = vigie_workflow::run::ApprovalWork {
            ask: "Is it done?".into(),
            show: Some("all of it".into()),
            form: vec![],
            by: vec!["owner".into()],
            count: 2,
            not_starter: true,
            timeout: None,
            on_timeout: vigie_workflow::language::OnTimeout::Deny,
            send_back: None,
        };
        let permission = Asked::Permission {
            tool: "Bash".into(),
            input: json!({ "command": "ls" }),
            cwd: "/src".into(),
            can_remember: false,
        };
        let plan = Asked::Plan { plan: "# Begin".into() };
        let questions = Asked::Questions { questions: vec![] };
        for asked in [Asked::Approval(approval), permission, plan, questions] {
            let row = serde_json::to_string(&asked).unwrap();
            assert_eq!(serde_json::from_str::<Asked>(&row).unwrap(), asked, "{row}");
        }
    }

    /// Written by a Vigie that knew no runs.
    #[test]
    fn a_gate_of_an_older_database_still_reads() {
        let session = "ses_01K8ZQ3V9G0000000000000000";
        let row = json!({
            "id": "gat_01K8ZQ3V9G0000000000000000", "code": "K7Q2", "session": session, "run": 3,
            "request": "r1",
            "ask": {"ask": "permission", "tool": "Bash", "input": {"command": "ls"}, "cwd": "/src",
                "can_remember": true},
            "shown": {"kind": "permission", "title": "asks to run a command",
                "content": {"text": "ls", "spans": []}, "diff": null, "warnings": [], "facts": [],
                "risk": "plain", "digest": "00"},
            "opened": "2026-11-29T08:00:00Z", "until": "2026-11-30T08:00:00Z",
            "picked": [], "ticked": [[0, 1]], "state": {"gate": "open"}, "cards": [],
        });
        let gate: Gate = serde_json::from_value(row.clone()).unwrap();
        assert_eq!(gate.session().unwrap().to_string(), session);
        assert!(gate.is_by(Asker::Request) && gate.step().is_none());
        let mut tool = row;
        tool["asker"] = json!("tool");
        let gate: Gate = serde_json::from_value(tool).unwrap();
        assert!(gate.is_by(Asker::Tool));
        let again: Gate = serde_json::from_value(serde_json::to_value(&gate).unwrap()).unwrap();
        assert_eq!(again, gate);
    }
}
