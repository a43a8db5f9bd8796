//! A story that another agent goes on with.

use super::world::*;
use crate::{
    agent::{AgentEvent, Doing, FailureKind, OrderKind, PromptForm},
    command::{Command, Refusal, Reply},
    session::{Life, Worktree},
};

impl World {
    fn hands_over(&mut self, name: &str, agent: &str) -> Result<Reply, Refusal> {
        self.ask(Command::HandOver { session: name.into(), agent: agent.into() })
    }

    fn is_no_handover(&mut self, name: &str, agent: &str) -> String {
        self.hands_over(name, agent).unwrap_err().sentence()
    }
}

#[test]
fn a_story_goes_on_with_another_agent_in_the_same_folder_and_loses_nothing() {
    let mut w = World::with(&["PD-285"]);
    let old = w.id("PD-285");
    let tree = Worktree { path: "/data/worktrees/pd-285".into(), branch: "vigie/pd-285".into() };
    let mut session = w.state.sessions[&old].clone();
    session.conversation = Some("c-1".into());
    (session.cwd, session.worktree) = (tree.path.clone(), Some(tree.clone()));
    w.state.sessions.insert(old, session);
    w.writes("[PD-285] fix the crane");
    w.takes("PD-285");
    let text = "You've hit your session limit · resets 4:11am (Europe/Paris)".into();
    w.report("PD-285", AgentEvent::TurnFailed { turn: None, kind: FailureKind::Limit, text });
    w.doing("PD-285", Doing::Idle);
    let message = w.writes("[PD-285] then the tests");
    w.writes("/handover PD-285 claude");
    assert!(w.said("PD-285 ends with demo and goes on with claude then."));
    assert!(w.orders.iter().any(|(id, order)| *id == old && order.what == OrderKind::End));
    w.crash(); // what was ordered is a row
    assert_eq!(w.launched.len(), 1);
    w.exits("PD-285", 0);
    let new = w.id("PD-285");
    assert_ne!(new, old);
    let session = w.state.sessions[&new].clone();
    assert_eq!(
        (session.agent.as_str(), session.cwd, session.worktree),
        ("claude", tree.path.clone(), Some(tree))
    );
    assert!(matches!(w.state.sessions[&old].life, Life::Ended { .. }));
    assert_eq!(w.state.sessions[&old].conversation.as_deref(), Some("c-1"), "it can be resumed");
    // The last number was the old session's.
    w.comes_up("PD-285");
    let handed = w.handed("PD-285");
    assert_eq!(handed.len(), 1, "{handed:?}");
    assert_eq!(w.form("PD-285"), PromptForm::Own);
    for part in ["from another agent, demo", "branch vigie/pd-285", "> fix the crane", "git diff"] {
        assert!(handed[0].contains(part), "{part}: {handed:?}");
    }
    w.edits(&message, "[PD-285] then all the tests");
    w.takes("PD-285");
    w.finishes("PD-285", "The crane is fixed.");
    assert_eq!(w.handed("PD-285")[1], "then all the tests");
    assert!(w.said("PD-285 goes on with claude in the same folder, with the message that waited."));
    assert!(w.state.line_of(old).next().is_none());
}

#[test]
fn what_is_worked_on_goes_along_over_two_handovers() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] look at the crane");
    w.takes("PD-285");
    w.finishes("PD-285", "It hangs.");
    w.writes("[PD-285] fix the crane");
    w.takes("PD-285");
    w.hands_over("PD-285", "claude").unwrap();
    // Its program ends the turn before it ends itself.
    w.doing("PD-285", Doing::Idle);
    w.exits("PD-285", 0);
    let mut offered = w.shown.iter().flat_map(Shown::buttons).map(|button| &button.label);
    assert!(!offered.any(|label| label.starts_with("Resume")));
    for (turn, agent) in ["demo", "claude"].into_iter().enumerate() {
        w.comes_up("PD-285");
        if turn == 0 {
            w.takes("PD-285");
        }
        let brief = w.handed("PD-285").remove(0);
        assert!(
            brief.contains("> fix the crane") && brief.contains("> It hangs."),
            "{agent}: {brief}"
        );
        if turn == 0 {
            w.hands_over("PD-285", "demo").unwrap();
            w.exits("PD-285", 0);
        }
    }
}

#[test]
fn a_session_that_has_ended_is_handed_over_at_once() {
    let mut w = World::with(&["PD-285"]);
    w.exits("PD-285", 0);
    w.hands_over("pd-285", "CLAUDE").unwrap();
    assert_eq!(w.state.session_named("PD-285").unwrap().agent.as_str(), "claude");
    assert!(w.said("in the same folder, nothing waited."));
    w.comes_up("PD-285");
    assert_eq!(
        w.is_no_handover("PD-285", "claude"),
        "PD-285 works with claude already; name another agent"
    );
}

#[test]
fn what_cannot_be_handed_over_says_why_and_to_whom_it_could_be() {
    let mut w = World::with(&["PD-285"]);
    assert_eq!(
        w.is_no_handover("PD-285", "codex"),
        "no agent is called `codex`. Agents in the configuration: demo, claude, shell."
    );
    assert!(w.is_no_handover("PD-285", "shell").contains("runs whatever is typed into it"));
    assert!(w.is_no_handover("PD-258", "claude").contains("Did you mean PD-285?"));
    w.writes("/handover PD-285");
    assert!(w.said("/handover NAME AGENT. Agents: demo, claude, shell."));
    let team = crate::id::AccountName::new("team");
    for agent in ["demo", "claude"] {
        w.state.rules.accounts.of.insert(crate::id::AgentName::new(agent), team.clone());
    }
    w.writes("[PD-285] go");
    w.takes("PD-285");
    let text = "resets 4:11am".into();
    w.report("PD-285", AgentEvent::TurnFailed { turn: None, kind: FailureKind::Limit, text });
    assert!(
        w.is_no_handover("PD-285", "claude")
            .contains("on the same account, team, which is stopped")
    );
    assert!(w.state.sessions.values().all(|session| session.ending.is_none()));
}
