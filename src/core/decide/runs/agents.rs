//! What agents ask for about runs. They start, follow and end runs within their bounds; nothing in
//! here answers what a run asks people.

use chrono::TimeDelta;

use super::start::home_of;
use crate::{
    caller::{AgentRefusal, AgentReply, Isolated, Principal, Standing, Ticket, TokenScope, Wanted},
    command::Refusal,
    decide::{About, Work, show},
    id::RunId,
    money,
    run::{KnownRun, Origin, RunLife, RunListing, RunView, StartRun, Starter, WorkflowView},
    session::Session,
};

const MINUTE: TimeDelta = TimeDelta::minutes(1);

/// Waits for runs that one caller may have open; each is small, and whoever needs more lost count.
const OPEN_WAITS: usize = 32;

impl Work<'_> {
    pub(in crate::decide) fn run_by_agent(
        &mut self,
        caller: &Principal,
        start: &StartRun,
    ) -> Result<AgentReply, AgentRefusal> {
        if let Some(key) = &start.key {
            // Another's keys are no business of the caller's.
            let known = self.workflow_named(&start.workflow)?;
            let first = self.state.runs.by_key(&known.name, key);
            if let Some(run) = first.filter(|run| !self.is_run_of(caller, run)) {
                let (key, run) = (key.clone(), run.row.name());
                return Err(Refusal::OtherKey { key, run }.into());
            }
            if first.is_some() {
                let starter = self.agent_starter(caller);
                let id = self.start_run(start, starter, None)?;
                return self.run_shown(id);
            }
        }
        self.refuse_untrusted(&start.workflow)?;
        self.refuse_beyond_bounds(caller)?;
        let id = self.start_run(start, self.agent_starter(caller), None)?;
        self.state.runs.by_agents.push_back(self.now);
        self.carry_runs();
        self.run_shown(id)
    }

    /// Agents may write a project's own files, so what stands in one runs at their word only where the
    /// configuration trusts those files. What it calls is its part.
    fn refuse_untrusted(&self, name: &str) -> Result<(), AgentRefusal> {
        let known = self.workflow_named(name)?;
        let called = known.called.values().map(|source| &source.name);
        let mut all = std::iter::once(&known.name).chain(called);
        let Some(workflow) = all.find(|name| !self.is_trusted(name)).cloned() else {
            return Ok(());
        };
        let origin = self.state.runs.catalog.all.get(&workflow).map(|known| &known.origin);
        let project = match origin {
            Some(Origin::Project { project, .. }) => Some(project.to_string()),
            Some(Origin::BuiltIn | Origin::Own) | None => home_of(&workflow).map(str::to_owned),
        };
        Err(AgentRefusal::NotTrusted { workflow, project: project.unwrap_or_default() })
    }

    fn is_trusted(&self, workflow: &str) -> bool {
        match self.state.runs.catalog.all.get(workflow).map(|known| &known.origin) {
            Some(Origin::BuiltIn | Origin::Own) => true,
            Some(Origin::Project { triggers, .. }) => *triggers,
            // Its file is gone or broken by now.
            None => home_of(workflow).is_none(),
        }
    }

    /// Those that agents may start.
    fn workflows_for_agents(&self) -> Vec<WorkflowView> {
        let mut all = self.state.workflow_views(self.now);
        all.retain(|view| self.refuse_untrusted(&view.name).is_ok());
        all
    }

    /// A run that an agent started gets no further than that agent's mail would: what is isolated is
    /// out of reach, but for what the same run began. `Err`: a sentence without its full stop.
    pub(super) fn reaches(&self, run: RunId, session: &Session) -> Result<(), String> {
        let Some(root) = self.state.root_run(run) else { return Ok(()) };
        let Starter::Agent { principal, .. } = &root.starter else { return Ok(()) };
        let begun_by = session.of_run.as_ref().and_then(|of| self.state.root_run(of.run));
        if begun_by.is_some_and(|of| of.id == root.id) {
            return Ok(());
        }
        let may_write = match principal {
            Principal::Session { .. } => true,
            Principal::Client { token } => self.state.tokens.get(token).is_some_and(|token| {
                token.revoked.is_none() && token.scopes.contains(&TokenScope::Mail)
            }),
        };
        if !may_write {
            let by = self.principal_name(principal);
            return Err(format!(
                "{by} started this run, and its token lacks `{}`, without which it reaches no session",
                TokenScope::Mail
            ));
        }
        let own = *principal == (Principal::Session { session: session.id });
        let open = session.isolated == Isolated::No && self.is_visible(principal, session);
        if own || open {
            return Ok(());
        }
        let by = self.principal_name(principal);
        Err(format!("{by} started this run and reaches no session `{}`", session.name))
    }

    fn agent_starter(&self, caller: &Principal) -> Starter {
        Starter::Agent { principal: caller.clone(), depth: self.depth_of(caller) }
    }

    fn refuse_beyond_bounds(&mut self, caller: &Principal) -> Result<(), AgentRefusal> {
        let bounds = self.state.rules.bounds.clone();
        let now = self.now;
        self.state.runs.by_agents.retain(|at| *at > now - MINUTE && *at <= now);
        let depth = self.depth_of(caller);
        let lately = self.state.runs.by_agents.len();
        let open = self.state.runs.open().filter(|known| {
            matches!(known.row.starter, Starter::Agent { .. }) && known.row.parent.is_none()
        });
        let open = open.count();
        let (micro_usd, spent) = (bounds.tree_micro_usd, self.left_of(caller).micro_usd == 0);
        let bound = |bound: &'static str, now: String, limit: String, holds: bool| {
            (!holds).then_some((bound, now, limit))
        };
        let broken = [
            bound("depth", depth.to_string(), bounds.depth.to_string(), depth < bounds.depth),
            bound(
                "runs that agents start within a minute",
                lately.to_string(),
                bounds.starts_a_minute.to_string(),
                lately < bounds.starts_a_minute as usize,
            ),
            bound(
                "open runs that agents started",
                open.to_string(),
                bounds.live.to_string(),
                open < bounds.live as usize,
            ),
            bound(
                "money below your root within a day",
                money::spent(micro_usd),
                money::exact(micro_usd),
                !spent,
            ),
        ];
        match broken.into_iter().flatten().next() {
            None => Ok(()),
            Some((bound, now, limit)) => {
                Err(AgentRefusal::Bound { bound, now, limit, chain: self.whole_chain(caller) })
            }
        }
    }

    /// Whether the caller, or something it started, started that run or the one above it.
    fn is_run_of(&self, caller: &Principal, known: &KnownRun) -> bool {
        match self.state.root_run(known.row.id).map(|row| &row.starter) {
            Some(Starter::Agent { principal, .. }) => self.is_tree_of(principal, caller),
            Some(
                Starter::Human { .. } | Starter::Cron { .. } | Starter::Webhook | Starter::Run,
            )
            | None => false,
        }
    }

    /// Any run of the caller's project, and whatever it started; a client sees all.
    fn may_see(&self, caller: &Principal, known: &KnownRun) -> bool {
        let in_project = match self.session_of(caller) {
            Some(own) => known.row.project.as_ref() == Some(&own.project),
            None => matches!(caller, Principal::Client { .. }),
        };
        in_project || self.is_run_of(caller, known)
    }

    fn run_seen(&self, caller: &Principal, name: &str) -> Result<RunId, AgentRefusal> {
        let seen =
            |id: RunId| self.state.runs.get(id).is_some_and(|known| self.may_see(caller, known));
        let near = match self.run_named(name) {
            Ok(id) if seen(id) => return Ok(id),
            Ok(_) => Vec::new(),
            Err(Refusal::NoRun { near, .. }) => near,
            Err(other) => return Err(other.into()),
        };
        let known = |name: &String| self.state.runs.named(name).map(|known| known.row.id);
        let near = near.into_iter().filter(|name| known(name).is_some_and(seen)).collect();
        Err(Refusal::NoRun { name: name.trim().into(), near }.into())
    }

    fn runs_seen(&self, caller: &Principal) -> Vec<RunView> {
        let mut runs = self.state.run_views(&RunListing::default(), self.now);
        let seen =
            |run: RunId| self.state.runs.get(run).is_some_and(|known| self.may_see(caller, known));
        runs.retain(|view| seen(view.row.id));
        runs
    }

    fn run_shown(&self, id: RunId) -> Result<AgentReply, AgentRefusal> {
        let view = self.state.run_view(id, self.now);
        let gone = || Refusal::NotRun("that run is not known any more".into());
        Ok(AgentReply::Run { run: Box::new(view.ok_or_else(gone)?) })
    }

    /// What an agent asks for about runs.
    pub(in crate::decide) fn run_call(
        &mut self,
        caller: &Principal,
        what: RunCall,
    ) -> Result<AgentReply, AgentRefusal> {
        match what {
            RunCall::Workflows => Ok(AgentReply::Workflows(self.workflows_for_agents())),
            RunCall::Runs => Ok(AgentReply::Runs { runs: self.runs_seen(caller) }),
            RunCall::Run(start) => self.run_by_agent(caller, &start),
            RunCall::Show { name } => {
                let id = self.run_seen(caller, &name)?;
                self.run_shown(id)
            }
            RunCall::Wait { name } => self.wait_for_run(caller, &name),
            RunCall::Cancel { name } => {
                let id = self.run_seen(caller, &name)?;
                let own = self.state.runs.get(id).is_some_and(|run| self.is_run_of(caller, run));
                if !own {
                    return Err(AgentRefusal::NotYourRun { name });
                }
                let by = self.principal_name(caller);
                let session = self.session_of(caller).map(|own| own.id);
                let about = About { session, ..About::default() };
                let words = self.cancel_run(id, about, &by)?;
                self.carry_runs();
                Ok(AgentReply::Done { words })
            }
        }
    }

    fn wait_for_run(&mut self, caller: &Principal, name: &str) -> Result<AgentReply, AgentRefusal> {
        let run = self.run_seen(caller, name)?;
        let what = Wanted::Run { run };
        let own = |ticket: &&Ticket| ticket.by == *caller && ticket.over.is_none();
        if let Some(same) = self.state.tickets.values().filter(own).find(|t| t.what == what) {
            return self.look_at_ticket(caller, same.id);
        }
        let waits = |ticket: &&Ticket| matches!(ticket.what, Wanted::Run { .. });
        let open = self.state.tickets.values().filter(own).filter(waits).count();
        if open >= OPEN_WAITS {
            return Err(AgentRefusal::TooMany { what: "waits", open });
        }
        let ticket = self.make_ticket(caller, what);
        self.look_at_ticket(caller, ticket.id)
    }

    /// How a run stands for whoever waits for it.
    pub(in crate::decide) fn standing_of_run(&self, id: RunId) -> Standing {
        let Some(known) = self.state.runs.get(id) else {
            return Standing::Unanswered {
                why: "it was over long ago; look at it by its name".into(),
            };
        };
        match &known.row.life {
            RunLife::Over { .. } | RunLife::NotRun { .. } => {
                match self.state.run_view(id, self.now) {
                    Some(view) => Standing::Run { run: Box::new(view) },
                    None => Standing::Unanswered { why: "it is not known any more".into() },
                }
            }
            RunLife::Queued => Standing::Waiting { words: self.queued_words(known) },
            RunLife::Running => {
                let since = show::span(known.row.since(), self.now);
                let name = known.row.name();
                let asks = self.state.runs.gates_of(id).len();
                let waits = if asks > 0 { ", and waits for a person" } else { "" };
                Standing::Waiting { words: format!("{name} runs since {since}{waits}") }
            }
        }
    }
}

/// The calls that are about runs.
pub(in crate::decide) enum RunCall {
    Workflows,
    Runs,
    Run(StartRun),
    Show { name: String },
    Wait { name: String },
    Cancel { name: String },
}
