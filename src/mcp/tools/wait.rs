//! Calls that wait. Each waits for a ticket that is written down, tells how it stands now and then,
//! and comes back before its client gives up; whoever lost the answer gets it with the ticket.

use rmcp::model::{CallToolResult, ProgressNotificationParam, ProgressToken};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use tracing::debug;
use vigie_core::{
    caller::{AgentCommand, AgentReply, Standing, TicketView},
    id::TicketId,
};

use super::{
    answer::{Answer, Found, Refused, id, result},
    args::{ComingBack, WaitForSessions},
    call::Call,
    sessions::{MOST_SAID, said},
    shapes::{StandingName, TicketShape},
    words,
};
use crate::mcp::shared::Shared;

/// How long a call waits at most. Claude Code lets one go on for as long as we let it (15 minutes).
const LONGEST: Duration = Duration::from_mins(10);
/// And where we cannot tell how it stands: Claude Code gives up after 5 minutes of silence.
const LONGEST_SILENT: Duration = Duration::from_mins(4);
/// How often it is told how it stands: clients are to hear something once a minute.
const PROGRESS: Duration = Duration::from_secs(25);
/// Events come in crowds; what is waited for is looked at once for each crowd.
const CROWD: Duration = Duration::from_millis(40);

/// How a call waits.
pub(in crate::mcp) struct Wait {
    /// The tool to come back to.
    pub(super) tool: &'static str,
    pub(super) coming_back: ComingBack,
}

impl Wait {
    pub(super) fn has_ticket(&self) -> bool {
        self.coming_back.ticket.is_some()
    }
}

impl Call<'_> {
    pub(super) async fn wait_for_sessions(&self, args: WaitForSessions) -> Answer {
        let WaitForSessions { sessions, until, coming_back } = args;
        let wait = Wait { tool: "wait_for_sessions", coming_back };
        if wait.has_ticket() {
            return self.come_back(wait).await;
        }
        self.wait(AgentCommand::Wait { names: sessions, until: until.into() }, wait).await
    }

    /// Goes on with a ticket, or gives up on it.
    pub(super) async fn come_back(&self, wait: Wait) -> Answer {
        let ticket: TicketId =
            id(wait.coming_back.ticket.as_deref().unwrap_or_default(), "ticket")?;
        let what = if wait.coming_back.cancel {
            AgentCommand::Cancel { ticket }
        } else {
            AgentCommand::Look { ticket }
        };
        self.wait(what, wait).await
    }

    /// Asks for something that gives a ticket, and waits for it as long as the call may.
    pub(super) async fn wait(&self, what: AgentCommand, wait: Wait) -> Answer {
        let mut newest = self.shared.newest.clone();
        newest.mark_unchanged();
        let mut view = self.ticket(what).await?;
        let comes_back = self.context.client_capabilities().is_some_and(|can| can.supports_tasks());
        if comes_back && matches!(view.standing, Standing::Waiting { .. }) {
            return Ok(Found::Later(view));
        }
        let token = self.context.meta.get_progress_token();
        let longest = if token.is_some() { LONGEST } else { LONGEST_SILENT };
        let wanted = wait.coming_back.max_seconds.map(Duration::from_secs);
        let begun = Instant::now();
        let end = begun + wanted.unwrap_or(longest).min(longest);
        let stopping = self.shared.tasks.stopping();
        let mut tell = begun;
        while let Standing::Waiting { words } = &view.standing {
            if let Some(token) = token.clone().filter(|_| tell <= Instant::now()) {
                self.progress(token, begun, words).await;
                tell = Instant::now() + PROGRESS;
            }
            tokio::select! {
                // What was started goes on, and the ticket stays.
                () = self.context.ct.cancelled() => {
                    debug!(tool = wait.tool, "a call that waited was given up");
                    break;
                }
                () = stopping.cancelled() => break,
                () = sleep_until(end) => break,
                () = sleep_until(tell), if token.is_some() => {}
                moved = newest.changed() => match moved {
                    Ok(()) => tokio::time::sleep(CROWD).await,
                    Err(_) => break,
                },
            }
            newest.mark_unchanged();
            view = self.ticket(AgentCommand::Look { ticket: view.ticket.id }).await?;
        }
        Ok(Found::Result(shown(self.shared, &view, wait.tool).await))
    }

    async fn ticket(&self, what: AgentCommand) -> Result<TicketView, Refused> {
        match self.ask(what).await? {
            AgentReply::Ticket(view) => Ok(view),
            other => Err(Refused::unexpected(&other)),
        }
    }

    async fn progress(&self, token: ProgressToken, begun: Instant, words: &str) {
        let told = ProgressNotificationParam::new(token, begun.elapsed().as_secs_f64());
        // Whoever does not listen any more is noticed by the call's own end.
        let _ = self.context.peer.notify_progress(told.with_message(words)).await;
    }
}

/// How a ticket stands, for whoever waits for it with that tool.
pub(in crate::mcp) async fn shown(
    shared: &Shared,
    view: &TicketView,
    tool: &str,
) -> CallToolResult {
    let mut shape = TicketShape::from(view);
    if let Standing::Sessions { sessions } = &view.standing {
        let room = MOST_SAID / sessions.len().max(1);
        for (told, session) in shape.sessions.iter_mut().zip(sessions) {
            told.answer = said(shared, session.id, room).await;
        }
    }
    let why = shape.why.as_deref().unwrap_or_default();
    let text = match shape.standing {
        StandingName::Waiting => format!(
            "Not yet: {why}. Call {tool} again with {{\"ticket\": \"{}\"}} to go on waiting, or do something else first; nothing is lost meanwhile.",
            shape.ticket
        ),
        StandingName::Answered => {
            let answers = shape.answer.iter().flat_map(|answer| &answer.answers);
            format!("The person answered: {}", answers.cloned().collect::<Vec<_>>().join("; "))
        }
        StandingName::Unanswered => format!("There is no answer: {why}."),
        StandingName::Done => {
            let sessions = shape.sessions.iter().map(words::session);
            let parts: Vec<_> =
                sessions.chain(shape.run.iter().map(|run| words::run(run))).collect();
            parts.join("\n\n")
        }
        StandingName::Cancelled => "You gave up on this one.".into(),
    };
    result(&shape, text)
}
