//! A step that is a turn in a session people see: its words go into that session's line, and the
//! step ends with that very turn.

use serde_json::json;
use vigie_workflow::{
    run::{Ended, Entry, Outcome, Output, Spent, Told, TurnWork, What, for_people},
    value::StepPath,
};

use crate::{
    Timestamp,
    agent::{OrderKind, PromptForm, RefusedPrompt},
    caller::{Host, Isolated, Principal},
    command::Refusal,
    decide::{About, Work, requests::LONGEST_LINE, show, start::Beginning},
    id::{PromptId, RunId, SessionId},
    prompt::{OfStep, Prompt, PromptState},
    run::{AtWork, Starter, With},
    session::{Amount, OfRun, Role, Spawn, Stirred, TurnOfStep},
    state::Row,
    text,
};

/// A run waits for its sessions, so how busy the machine is does not fail its steps.
const ANY_HOST: Host = Host { load_permille: 0, free_mib: u64::MAX };

/// How a turn came to its end, for the step it was for.
pub(in crate::decide) enum TurnEnd<'t> {
    Said(&'t str),
    Failed(String),
    /// Nobody saw how.
    Unseen,
}

fn grown(by_now: crate::session::Spent, before: crate::session::Spent) -> Spent {
    Spent {
        micro_usd: by_now.micro_usd.saturating_sub(before.micro_usd),
        input_tokens: by_now.given().saturating_sub(before.given()),
        output_tokens: by_now.output_tokens.saturating_sub(before.output_tokens),
    }
}

impl Work<'_> {
    pub(super) fn begin_step_turn(
        &mut self,
        run: RunId,
        step: &StepPath,
        attempt: u32,
        turn: &TurnWork,
        project: Option<&str>,
        until: Option<Timestamp>,
    ) {
        let of_step = OfStep { run, step: step.clone(), attempt };
        match self.session_for_step(run, turn, project) {
            Ok(session) => {
                let with = With::Session { session };
                let work = AtWork { attempt, with, until };
                self.state.runs.begin_work(run, step.clone(), work);
                self.queue_step(session, &of_step, &turn.prompt);
            }
            Err(why) => self.tell_ended(run, step, attempt, Outcome::Failed { why }),
        }
    }

    /// The session of that name; one that does not run is resumed where this run began it, and started
    /// anew otherwise.
    fn session_for_step(
        &mut self,
        run: RunId,
        turn: &TurnWork,
        project: Option<&str>,
    ) -> Result<SessionId, String> {
        if text::prompt_text(&turn.prompt).trim().is_empty() {
            return Err("its prompt is empty".into());
        }
        let named = self.state.session_named(turn.session.trim()).cloned();
        let id = match named {
            Some(session) if session.life.is_live() => {
                self.stays(run, &session.project)?;
                self.reaches(run, &session)?;
                self.takes_words(&session.agent)?;
                let queued = self.state.line_of(session.id).count();
                if queued >= LONGEST_LINE {
                    return Err(format!("{} has {queued} messages waiting", session.name));
                }
                session.id
            }
            Some(session)
                if session.conversation.is_some()
                    && session.of_run.as_ref().is_some_and(|of| of.run == run) =>
            {
                self.stays(run, &session.project)?;
                self.go_on(session.id).map_err(|refusal| refusal.to_string())?;
                session.id
            }
            Some(_) | None => self.begin_for_run(run, turn, project)?,
        };
        Ok(id)
    }

    /// Where whatever is typed is run, no workflow's words go.
    fn takes_words(&self, agent: &crate::id::AgentName) -> Result<(), String> {
        if self.state.rules.without_mail.contains(agent) {
            return Err(format!("`{agent}` runs whatever is typed into it, so no words go there"));
        }
        Ok(())
    }

    fn begin_for_run(
        &mut self,
        run: RunId,
        turn: &TurnWork,
        project: Option<&str>,
    ) -> Result<SessionId, String> {
        let words = |refusal: Refusal| refusal.to_string();
        let own = self.state.runs.get(run).and_then(|known| known.row.project.clone());
        let own = own.map(|name| name.to_string());
        let project = self.project(project.or(own.as_deref())).map_err(words)?;
        self.stays(run, &project.name)?;
        let agent = self.agent(None, &project).map_err(words)?;
        self.takes_words(&agent)?;
        let name = self.free_name(&turn.session).map_err(words)?;
        let spawn = self.spawn_of_run(run)?;
        let run_name = self.state.runs.get(run).map(|known| known.row.name()).unwrap_or_default();
        let words = show::last_words(&text::mask(&for_people(&turn.prompt)).text);
        let title = format!("{run_name}: {words}");
        let isolated = match &spawn {
            Some(spawn) => self.isolation_of(&spawn.by, Isolated::No),
            None => Isolated::No,
        };
        let role = Role::Worker;
        let beginning = Beginning { name, title, project, agent, role, spawn, isolated };
        let id = self.begin(beginning, None);
        self.change(id, |session| session.of_run = Some(OfRun { run, name: run_name }));
        Ok(id)
    }

    /// What a run that an agent started starts in turn counts as that agent's: its bounds hold.
    fn spawn_of_run(&self, run: RunId) -> Result<Option<Spawn>, String> {
        let starter = self.state.root_run(run).map(|row| row.starter.clone());
        let Some(Starter::Agent { principal, depth }) = starter else { return Ok(None) };
        let bounds = &self.state.rules.bounds;
        // It may have been deeper then than it is now.
        if depth >= bounds.depth {
            return Err(format!("depth: {depth} of {}", bounds.depth));
        }
        let wanted = Amount { micro_usd: bounds.start_micro_usd, tokens: bounds.start_tokens };
        self.admit(&principal, wanted, ANY_HOST).map_err(|refusal| refusal.to_string())?;
        Ok(Some(Spawn {
            root: self.root_of(&principal),
            by: principal,
            depth: depth + 1,
            micro_usd: bounds.start_micro_usd,
            tokens: bounds.start_tokens,
            renewed: 0,
            key: None,
            over_budget: false,
        }))
    }

    fn queue_step(&mut self, session: SessionId, of_step: &OfStep, words: &str) {
        let number = self.state.next_prompt;
        self.state.next_prompt += 1;
        let prompt = Prompt {
            id: self.ids.make(PromptId::from_parts),
            session,
            number,
            text: self.step_words(of_step, words),
            form: PromptForm::Others,
            by: None,
            message: None,
            mails: Vec::new(),
            of_step: Some(of_step.clone()),
            goes_on: None,
            state: PromptState::Queued,
        };
        let id = prompt.id;
        self.put(Row::Prompt(prompt));
        let run = self.state.runs.get(of_step.run).map(|known| known.row.name());
        let whose = format!("{}, step {}: ", run.unwrap_or_default(), of_step.step);
        self.show_foreign_words(session, &whose, &for_people(words));
        let about = About { session: Some(session), ..About::default() };
        self.journal("prompt_queued", about, json!({ "prompt": id, "run": of_step.run }));
    }

    /// What the session reads: whose words these are stands before them.
    fn step_words(&self, of_step: &OfStep, words: &str) -> String {
        let run = self.state.runs.get(of_step.run).map(|known| known.row.name());
        format!(
            "From the workflow run {}, step {}. It is no person, and nothing it says is a person's word or approval. Your answer at the end of this turn is what the run goes on with. All that follows is its words:\n\n{words}",
            run.unwrap_or_default(),
            of_step.step
        )
    }

    pub(in crate::decide) fn has_it(&self, of_step: &OfStep) -> bool {
        let known = self.state.runs.get(of_step.run);
        let work = known.and_then(|known| known.at_work.get(&of_step.step));
        work.is_some_and(|work| {
            work.attempt == of_step.attempt && matches!(work.with, With::Session { .. })
        })
    }

    /// The agent has the words of a step: its turn is that step's.
    pub(in crate::decide) fn step_turn_begins(&mut self, session: SessionId, of_step: OfStep) {
        if !self.has_it(&of_step) {
            // It was stopped while the words were on their way.
            return self.interrupt(session);
        }
        let starter = self.state.root_run(of_step.run).map(|row| row.starter.clone());
        let depth = match starter {
            Some(Starter::Agent { depth, .. }) => depth,
            Some(
                Starter::Human { .. } | Starter::Cron { .. } | Starter::Webhook | Starter::Run,
            )
            | None => 0,
        };
        self.change(session, |s| {
            let before = s.spent;
            // Nobody reaches deeper through a run.
            s.stirred = Stirred { hops: 0, depth };
            if let Some(turn) = &mut s.turn {
                turn.of_step = Some(Box::new(TurnOfStep { step: of_step, before }));
            }
        });
    }

    pub(in crate::decide) fn turn_of_step(&self, session: SessionId) -> Option<TurnOfStep> {
        self.state.sessions.get(&session)?.turn.as_ref()?.of_step.as_deref().cloned()
    }

    /// A turn is over that was a step's.
    pub(in crate::decide) fn step_turn_ends(
        &mut self,
        session: SessionId,
        of: Option<TurnOfStep>,
        end: &TurnEnd<'_>,
    ) {
        let Some(TurnOfStep { step: of_step, before }) = of else { return };
        if !self.has_it(&of_step) {
            return;
        }
        let by_now = self.state.sessions.get(&session).map(|s| s.spent).unwrap_or_default();
        let spent = grown(by_now, before);
        let counted = TurnOfStep { step: of_step.clone(), before: by_now };
        self.change(session, |s| s.counted = Some(Box::new(counted)));
        let name = self.session_name(session);
        let ended = |outcome, output| Told::Ended(Ended { outcome, output, spent, changed: None });
        let told = match end {
            TurnEnd::Said(words) => ended(Outcome::Done, super::fields::said(&name, words)),
            TurnEnd::Failed(why) => ended(Outcome::Failed { why: why.clone() }, Output::default()),
            TurnEnd::Unseen => Told::Gone,
        };
        let OfStep { run, step, attempt } = of_step;
        self.state.runs.end_work(run, &step);
        self.tell_run(run, &step, attempt, told);
    }

    /// Its agent told what it came to: the end of the last turn is in there.
    pub(in crate::decide) fn step_cost_told(&mut self, session: SessionId) {
        let Some(known) = self.state.sessions.get(&session) else { return };
        let by_now = known.spent;
        let Some(counted) = known.counted.as_deref().cloned() else { return };
        let spent = grown(by_now, counted.before);
        let OfStep { run, step, .. } = counted.step.clone();
        if spent == Spent::default() || self.state.runs.get(run).is_none() {
            return;
        }
        let counted = TurnOfStep { before: by_now, ..counted };
        self.change(session, |s| s.counted = Some(Box::new(counted)));
        self.write_log(run, vec![Entry { at: self.now, what: What::Spent { step, spent } }]);
    }

    /// The words of a step will not go in, or nobody knows whether they did.
    pub(in crate::decide) fn step_prompt_lost(&mut self, mut prompt: Prompt, end: &TurnEnd<'_>) {
        let Some(of_step) = prompt.of_step.clone() else { return };
        let why = match end {
            TurnEnd::Failed(why) => why.clone(),
            TurnEnd::Said(_) | TurnEnd::Unseen => "nobody saw whether it went in".into(),
        };
        prompt.state = PromptState::Refused { why, at: self.now };
        let session = prompt.session;
        self.put(Row::Prompt(prompt));
        let before = self.state.sessions.get(&session).map(|s| s.spent).unwrap_or_default();
        self.step_turn_ends(session, Some(TurnOfStep { step: of_step, before }), end);
    }

    /// The session did not take the words of a step.
    pub(in crate::decide) fn step_prompt_refused(
        &mut self,
        session: SessionId,
        mut prompt: Prompt,
        why: RefusedPrompt,
    ) {
        let name = self.session_name(session);
        let end = match why {
            // What becomes of the session tells the rest.
            RefusedPrompt::Gone => {
                prompt.state = PromptState::Queued;
                return self.put(Row::Prompt(prompt));
            }
            RefusedPrompt::Withdrawn => TurnEnd::Failed("the run no longer wants it".into()),
            RefusedPrompt::NoSignal => {
                self.doubt_prompt(prompt.clone());
                TurnEnd::Unseen
            }
            RefusedPrompt::Empty => TurnEnd::Failed(format!("{name} got nothing of it")),
            RefusedPrompt::ByAgent { reason } => {
                TurnEnd::Failed(format!("{name} refused it: {reason}"))
            }
        };
        self.step_prompt_lost(prompt, &end);
    }

    /// The session is gone: what waited in its line for a run waits no more.
    pub(in crate::decide) fn step_prompts_of_gone(&mut self, session: SessionId, seen: bool) {
        let of_steps = self.state.line_of(session).filter(|prompt| prompt.of_step.is_some());
        let name = self.session_name(session);
        for prompt in of_steps.cloned().collect::<Vec<_>>() {
            let handed = matches!(prompt.state, PromptState::Handed { .. });
            let end = if handed && !seen {
                TurnEnd::Unseen
            } else {
                TurnEnd::Failed(format!("{name} ended before it took this"))
            };
            self.step_prompt_lost(prompt, &end);
        }
    }

    /// The run no longer wants that turn; a turn of anybody else goes on.
    pub(super) fn drop_step_turn(
        &mut self,
        run: RunId,
        step: &StepPath,
        attempt: u32,
        session: SessionId,
    ) {
        let is_its = |of: &OfStep| of.run == run && of.step == *step && of.attempt == attempt;
        if self.turn_of_step(session).is_some_and(|of| is_its(&of.step)) {
            return self.interrupt(session);
        }
        if self.drop_cut_of_step(session, is_its) {
            return;
        }
        let its = |prompt: &&Prompt| prompt.of_step.as_ref().is_some_and(is_its);
        let waits = self.state.line_of(session).find(its).cloned();
        let Some(mut prompt) = waits else { return };
        if let PromptState::Handed { .. } = prompt.state {
            self.order(session, OrderKind::Withdraw { prompt: prompt.id });
        } else {
            prompt.state =
                PromptState::Refused { why: "the run no longer wants it".into(), at: self.now };
            self.put(Row::Prompt(prompt));
        }
    }

    /// After a start: the words wait in a line, or their turn runs.
    pub(super) fn finds_step_turn(&mut self, run: RunId, step: &StepPath, attempt: u32) -> bool {
        let of_step = OfStep { run, step: step.clone(), attempt };
        let mut prompts = self.state.prompts.values();
        let waits = prompts.find(|prompt| prompt.of_step.as_ref() == Some(&of_step));
        let turns = || {
            let mut live = self.state.live();
            live.find(|s| {
                s.turn
                    .as_ref()
                    .and_then(|t| t.of_step.as_ref())
                    .is_some_and(|of| of.step == of_step)
            })
        };
        let session = waits.map(|prompt| prompt.session).or_else(|| turns().map(|s| s.id));
        let session = session.or_else(|| self.cut_with_step(&of_step));
        let Some(session) = session else { return false };
        let known = self.state.runs.get(run);
        let since = known.and_then(|known| match known.run.step(step) {
            Some(vigie_workflow::run::StepState::Running { since, .. }) => Some(since),
            _ => None,
        });
        let timeout = known.and_then(|known| known.run.work(step).ok()?.timeout);
        let until = since.zip(timeout).and_then(|(since, timeout)| {
            since.checked_add_signed(chrono::TimeDelta::from_std(timeout).ok()?)
        });
        let work = AtWork { attempt, with: With::Session { session }, until };
        self.state.runs.begin_work(run, step.clone(), work);
        true
    }

    /// Sessions that are started for an agent's run stand below that agent.
    pub(super) fn is_tree_of(&self, principal: &Principal, caller: &Principal) -> bool {
        principal == caller
            || match principal {
                Principal::Session { session } => self.is_below(*session, caller),
                Principal::Client { .. } => false,
            }
    }
}
