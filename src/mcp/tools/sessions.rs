//! Tools about sessions: listed, started, looked at, stopped.

use vigie_core::{
    caller::{
        AgentCommand, AgentReply, AgentStart, Isolated, Listing, PeerView, WholeTree, WithEnded,
    },
    id::SessionId,
    state::AnswerRow,
};

use super::{
    answer::{Answer, Refused, answer},
    args::{ListSessions, OneSession, StartSession, StopSession},
    call::Call,
    shapes::{
        ProjectShape, ProjectsShape, SaidShape, SessionShape, SessionsShape, StartedShape,
        StoppedShape, ToldShape, WhoamiShape, instant,
    },
    words::{left, session},
};
use crate::mcp::shared::Shared;

/// Characters of what sessions said that come with one answer: some pages.
pub(super) const MOST_SAID: usize = 20_000;

impl Call<'_> {
    pub(super) async fn whoami(&self) -> Answer {
        match self.ask(AgentCommand::Whoami).await? {
            AgentReply::Whoami(view) => {
                let shape = WhoamiShape::from(view);
                let chain = shape.chain.join(", started by ");
                let started =
                    if chain.is_empty() { String::new() } else { format!(" Started by {chain}.") };
                let mail = match shape.waiting_mail {
                    0 => "No mail waits.".into(),
                    1 => "1 message waits: read_messages.".into(),
                    count => format!("{count} messages wait: read_messages."),
                };
                let text = format!("You are {}.{started} {mail} {}", shape.name, left(&shape.left));
                Ok(answer(&shape, text))
            }
            other => Err(Refused::unexpected(&other)),
        }
    }

    pub(super) async fn list_projects(&self) -> Answer {
        match self.ask(AgentCommand::Projects).await? {
            AgentReply::Projects { projects } => {
                let projects: Vec<_> = projects.into_iter().map(ProjectShape::from).collect();
                let line = |p: &ProjectShape| {
                    format!("{}: {} (agent {}, {} live)", p.name, p.path, p.agent, p.live)
                };
                let text = projects.iter().map(line).collect::<Vec<_>>().join("\n");
                Ok(answer(&ProjectsShape { projects }, text))
            }
            other => Err(Refused::unexpected(&other)),
        }
    }

    pub(super) async fn list_sessions(&self, args: ListSessions) -> Answer {
        let listing = Listing {
            scope: args.scope.into(),
            project: args.project,
            story: args.story,
            ended: if args.ended { WithEnded::Yes } else { WithEnded::No },
        };
        match self.ask(AgentCommand::Sessions(listing)).await? {
            AgentReply::Sessions { sessions, digest } => {
                let sessions = sessions.iter().map(SessionShape::from).collect();
                Ok(answer(&SessionsShape { digest: digest.clone(), sessions }, digest))
            }
            other => Err(Refused::unexpected(&other)),
        }
    }

    pub(super) async fn start_session(&self, args: StartSession) -> Answer {
        let start = AgentStart {
            name: args.name,
            title: args.title,
            project: args.project,
            agent: args.agent,
            prompt: args.prompt,
            isolated: if args.isolated { Isolated::Yes } else { Isolated::No },
            micro_usd: args.max_usd.map(micro_usd).transpose()?,
            tokens: args.max_tokens,
            key: args.key,
        };
        match self.ask(AgentCommand::Start(start)).await? {
            AgentReply::Started { session, left: remaining } => {
                let session = SessionShape::from(&*session);
                let shape = StartedShape { session, left: remaining.into() };
                let text = format!(
                    "{} is started on {}. wait_for_sessions tells you when it is done. {}",
                    shape.session.name,
                    shape.session.project,
                    left(&shape.left)
                );
                Ok(answer(&shape, text))
            }
            other => Err(Refused::unexpected(&other)),
        }
    }

    pub(super) async fn get_session(&self, args: OneSession) -> Answer {
        let view = self.peer(args.session).await?;
        let shape = ToldShape {
            session: SessionShape::from(&view),
            answer: said(self.shared, view.id, MOST_SAID).await,
        };
        let text = session(&shape);
        Ok(answer(&shape, text))
    }

    pub(super) async fn peer(&self, name: String) -> Result<PeerView, Refused> {
        match self.ask(AgentCommand::Session { name }).await? {
            AgentReply::Session { session } => Ok(*session),
            other => Err(Refused::unexpected(&other)),
        }
    }

    pub(super) async fn stop_session(&self, args: StopSession) -> Answer {
        let tree = if args.tree { WholeTree::Yes } else { WholeTree::No };
        let stop = AgentCommand::Stop { name: args.session, how: args.how.into(), tree };
        match self.ask(stop).await? {
            AgentReply::Stopped { sessions } => {
                let sessions: Vec<_> = sessions.iter().map(ToString::to_string).collect();
                let text = match sessions.as_slice() {
                    [] => "Nothing was running.".into(),
                    sessions => format!("Told to stop: {}.", sessions.join(", ")),
                };
                Ok(answer(&StoppedShape { sessions }, text))
            }
            other => Err(Refused::unexpected(&other)),
        }
    }
}

/// The last that a session said at the end of a turn, as far as there is room for it. Where it cannot
/// be read, the shortened form that stands in lists must do.
pub(super) async fn said(shared: &Shared, session: SessionId, most: usize) -> Option<SaidShape> {
    let found = (shared.look_ups.last_answer)(session).await;
    let found = found.inspect_err(|error| tracing::warn!(error, "an answer cannot be read"));
    let AnswerRow { at, text, .. } = found.ok()??;
    let shown: String = text.chars().take(most).collect();
    Some(SaidShape { cut: shown.len() < text.len(), text: shown, at: instant(at) })
}

/// Dollars, as a model gives them.
fn micro_usd(usd: f64) -> Result<u64, Refused> {
    /// More than any bound; past it a number is a slip.
    const MOST: f64 = 1e6;
    if !(0.0..=MOST).contains(&usd) {
        return Err(Refused::new("`max_usd` is no amount of money: give dollars, such as 1.5."));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it lies between 0 and 1e12"
    )]
    let micro = (usd * 1e6).round() as u64;
    Ok(micro)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_read_and_nonsense_is_not() {
        assert_eq!(micro_usd(1.5).unwrap(), 1_500_000);
        for nonsense in [-1.0, f64::NAN, f64::INFINITY, 1e7] {
            assert!(micro_usd(nonsense).is_err(), "{nonsense}");
        }
    }
}
