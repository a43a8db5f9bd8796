//! The loop: what a run's log says comes next is written down, and then done.

use serde_json::json;
use vigie_workflow::{
    language::Kind,
    run::{Doubt, Ended, Entry, Outcome, RunState, StepState, Told, What, WorkKind},
    value::StepPath,
};

use crate::{
    Timestamp,
    agent::DeniedCall,
    decide::{About, Effect, Work, afford::Spender},
    id::{AccountName, RunId},
    outage::Why,
    run::{
        AtWork, Needs, PutOff, PutOffBy, RunLife, RunLogRow, StepHow, StepOrder, StepTold, With,
    },
    runs::HostLimits,
    state::{Project, Row},
};

/// What an entry asks for once it is written.
enum Act {
    Begin {
        step: StepPath,
        attempt: u32,
        how: Begin,
    },
    /// Whoever carried it out is done, or has to stop.
    LetGo {
        step: StepPath,
        attempt: Option<u32>,
    },
    Ask {
        step: StepPath,
        attempt: u32,
    },
    Doubt {
        step: StepPath,
        attempt: u32,
    },
    StopSome,
    Reopen,
    Nothing,
    Finish {
        status: vigie_workflow::run::Finish,
        why: String,
    },
}

enum Begin {
    Anew,
    GoOn,
}

fn act(what: &What) -> Act {
    match what {
        What::Began { step, attempt } => {
            Act::Begin { step: step.clone(), attempt: *attempt, how: Begin::Anew }
        }
        What::Answered { step, attempt, .. } => {
            Act::Begin { step: step.clone(), attempt: *attempt, how: Begin::GoOn }
        }
        What::Paused { step, attempt, .. } => Act::Ask { step: step.clone(), attempt: *attempt },
        What::InDoubt { step, attempt } => Act::Doubt { step: step.clone(), attempt: *attempt },
        What::Ended { step, attempt, .. } | What::Settled { step, attempt, .. } => {
            Act::LetGo { step: step.clone(), attempt: Some(*attempt) }
        }
        What::LeftOut { step, .. } => Act::LetGo { step: step.clone(), attempt: None },
        What::Spent { .. } => Act::Nothing,
        What::Reset { .. } => Act::Reopen,
        What::Stopping { .. } => Act::StopSome,
        What::Finished { status, why } => Act::Finish { status: *status, why: why.clone() },
    }
}

impl Work<'_> {
    /// Something became of a step that the runner has.
    pub(in crate::decide) fn step_told(&mut self, told: StepTold) {
        let StepTold { run, step, attempt, told, denied } = told;
        let is_its = |work: &AtWork| {
            work.attempt == attempt && matches!(work.with, With::Runner { .. } | With::Held { .. })
        };
        let known = self.state.runs.get(run);
        if known.and_then(|known| known.at_work.get(&step)).is_some_and(is_its) {
            if matches!(&told, Told::Asks(_) | Told::Ended(Ended { outcome: Outcome::Done, .. })) {
                self.account_answers_step(run, &step);
            }
            self.state.runs.end_work(run, &step);
        }
        let known = self.state.runs.get(run);
        let is_news = known.is_some_and(|known| {
            !known.run.told(&step, attempt, told.clone(), self.now).is_empty()
        });
        for call in denied.iter().filter(|_| is_news) {
            self.step_tool_denied(run, &step, call);
        }
        self.tell_run(run, &step, attempt, told);
    }

    pub(super) fn tell_run(&mut self, run: RunId, step: &StepPath, attempt: u32, told: Told) {
        let Some(known) = self.state.runs.get(run) else { return };
        let entries = known.run.told(step, attempt, told, self.now);
        self.write_log(run, entries);
    }

    pub(super) fn tell_ended(
        &mut self,
        run: RunId,
        step: &StepPath,
        attempt: u32,
        outcome: Outcome,
    ) {
        self.tell_run(run, step, attempt, Told::Ended(Ended::of(outcome)));
    }

    /// Writes entries down, then does what they ask for. The run goes on before this decision ends.
    pub(super) fn write_log(&mut self, run: RunId, entries: Vec<Entry>) {
        if entries.is_empty() {
            return;
        }
        let Some(mut seq) = self.state.runs.get(run).map(|known| known.seq) else { return };
        let mut acts = Vec::new();
        for entry in entries {
            acts.push(act(&entry.what));
            seq += 1;
            self.put(Row::RunLog(RunLogRow { run, seq, entry }));
        }
        self.state.runs.touch(run);
        self.run_changed(run);
        for act in acts {
            self.act(run, act);
        }
    }

    fn act(&mut self, run: RunId, act: Act) {
        match act {
            Act::Begin { step, attempt, how } => self.begin_step(run, step, attempt, how),
            Act::LetGo { step, attempt } => self.let_go(run, &step, attempt),
            Act::Ask { step, attempt } => self.ask_permission(run, &step, attempt),
            Act::Doubt { step, attempt } => {
                self.let_go(run, &step, Some(attempt));
                self.ask_in_doubt(run, &step, attempt);
            }
            Act::Nothing => {}
            Act::StopSome => self.stop_what_is_to_stop(run),
            Act::Reopen => {
                self.reopen(run);
                self.stop_what_is_to_stop(run);
            }
            Act::Finish { status, why } => self.finish_run(run, status, &why),
        }
    }

    /// Goes on with every run that something happened to, as far as one decision may.
    pub(in crate::decide) fn carry_runs(&mut self) {
        while self.entries_left > 0
            && let Some(run) = self.state.runs.next_touched()
        {
            self.carry(run);
        }
    }

    fn carry(&mut self, id: RunId) {
        self.time_out_steps(id);
        let began = self.state.runs.get(id).map_or(0, |known| known.seq);
        while let Some(known) = self.state.runs.get(id) {
            let stops = matches!(known.run.state(), RunState::Stopping(_));
            if !known.row.life.is_open() || (known.row.life == RunLife::Queued && !stops) {
                break;
            }
            // Room on this machine is looked after where a step is handed to the runner.
            let mut entries = known.run.next(usize::MAX, self.now);
            entries.truncate(self.entries_left); // the rest comes again
            if entries.is_empty() {
                break;
            }
            self.entries_left -= entries.len();
            self.write_log(id, entries);
            if self.entries_left == 0 {
                self.state.runs.touch(id);
                break;
            }
        }
        self.check_budget_above(id);
        let Some(known) = self.state.runs.get(id) else { return };
        let seq = known.seq;
        if seq > began {
            let detail = json!({ "run": id, "name": known.row.name(), "seq": seq });
            self.journal("run_log", About::default(), detail);
        }
        self.keep_deadline(id);
    }

    pub(super) fn keep_deadline(&mut self, id: RunId) {
        let Some(known) = self.state.runs.get(id) else { return };
        let open = known.row.life.is_open() && known.row.life != RunLife::Queued;
        let steps = known.at_work.values().filter_map(|work| work.until);
        let at = known.run.deadline(self.now).into_iter().chain(steps).min().filter(|_| open);
        self.state.runs.set_deadline(id, at);
    }

    /// Turns and called runs whose time is over: the runner looks after its own.
    fn time_out_steps(&mut self, id: RunId) {
        let Some(known) = self.state.runs.get(id) else { return };
        let late =
            known.at_work.iter().filter(|(_, work)| work.until.is_some_and(|at| at <= self.now));
        let late: Vec<_> = late.map(|(step, work)| (step.clone(), work.attempt)).collect();
        for (step, attempt) in late {
            self.let_go(id, &step, Some(attempt));
            self.tell_ended(id, &step, attempt, Outcome::TimedOut);
        }
    }

    fn begin_step(&mut self, run: RunId, step: StepPath, attempt: u32, how: Begin) {
        let Some(known) = self.state.runs.get(run) else { return };
        let kind = known.run.definition(&step).map(|step| &step.kind);
        match kind {
            // The run itself looks after these.
            None | Some(Kind::Sleep(_) | Kind::Condition(_) | Kind::Foreach(_)) => return,
            Some(
                Kind::Shell(_)
                | Kind::Claude(_)
                | Kind::Http(_)
                | Kind::Javascript(_)
                | Kind::Approval(_)
                | Kind::Call(_),
            ) => {}
        }
        let how = match (how, known.run.answer(&step)) {
            (Begin::GoOn, Some((asks, answer))) => {
                StepHow::GoOn { asks: asks.clone(), answer: answer.clone() }
            }
            (Begin::Anew | Begin::GoOn, _) => StepHow::Begin,
        };
        self.hand_step(run, step, attempt, how);
    }

    /// Gives the attempt to whoever carries it out.
    pub(super) fn hand_step(&mut self, run: RunId, step: StepPath, attempt: u32, how: StepHow) {
        let Some(known) = self.state.runs.get(run) else { return };
        let running = known.run.step(&step);
        let since = match running {
            Some(StepState::Running { attempt: now, since }) if now == attempt => since,
            // Something else in the same breath changed that.
            Some(_) | None => return,
        };
        let work = match known.run.work(&step) {
            Ok(work) => work,
            Err(why) => return self.tell_ended(run, &step, attempt, Outcome::Failed { why }),
        };
        let until = work.timeout.and_then(|timeout| {
            since.checked_add_signed(chrono::TimeDelta::from_std(timeout).ok()?)
        });
        match work.what {
            WorkKind::Shell(_) | WorkKind::Http(_) | WorkKind::Javascript(_) => {
                self.hold_step(run, step, attempt, how, Needs::Process);
            }
            WorkKind::Claude(_) => self.hold_step(run, step, attempt, how, Needs::Agent),
            WorkKind::Turn(turn) => {
                self.begin_step_turn(run, &step, attempt, &turn, work.project.as_deref(), until);
            }
            WorkKind::Approval(approval) => self.ask_approval(run, &step, attempt, approval),
            WorkKind::Call(call) => {
                self.call_workflow(run, &step, attempt, call, work.project.as_deref(), until);
            }
        }
    }

    /// It goes to the runner as soon as there is room on this machine.
    fn hold_step(&mut self, run: RunId, step: StepPath, attempt: u32, how: StepHow, needs: Needs) {
        match self.project_of_step(run, &step) {
            Ok(project) => {
                let with = With::Held { project: project.name, needs, how: Box::new(how) };
                self.state.runs.begin_work(run, step, AtWork { attempt, with, until: None });
            }
            Err(why) => self.tell_ended(run, &step, attempt, Outcome::Failed { why }),
        }
    }

    /// The project a step runs in: its own, else the run's, else the first there is. Where it runs in
    /// a session's folder, that is the folder.
    fn project_of_step(&self, run: RunId, step: &StepPath) -> Result<Project, String> {
        let known = self.state.runs.get(run).ok_or("its run is gone")?;
        let work = known.run.work(step)?;
        let own = known.row.project.as_ref().map(ToString::to_string);
        let project = self.project(work.project.or(own).as_deref());
        let project = project.map_err(|refusal| refusal.to_string())?;
        self.stays(run, &project.name)?;
        let Some(name) = work.in_session else { return Ok(project) };
        let session = self.state.session_named(name.trim());
        let session = session.ok_or_else(|| format!("there is no session `{name}`"))?;
        if session.project != project.name {
            let (other, own) = (&session.project, &project.name);
            return Err(format!("{name} works in {other}, and this step in {own}"));
        }
        self.reaches(run, session)?;
        Ok(Project { path: session.cwd.clone(), ..project })
    }

    /// Hands out what waits, as far as there is room on this machine, its account works and it is paid
    /// for.
    pub(in crate::decide) fn give_room(&mut self) {
        let limits = self.room();
        for held in self.state.runs.with_room(limits) {
            let account = self.state.account_of_step(held.0, &held.1);
            // One whose account goes on again does so in its turn.
            let works = |account: &AccountName| !self.state.troubles.contains_key(account);
            if account.as_ref().is_none_or(works) || self.state.is_adopted(held.0, &held.1) {
                self.hand_held(held, limits);
            }
        }
    }

    fn room(&self) -> HostLimits {
        let rules = &self.state.rules.workflows;
        HostLimits { host: rules.host_steps, project: rules.project_steps, agents: rules.agents }
    }

    /// The next step of an account that goes on. `false`: none may.
    pub(in crate::decide) fn hand_step_of(&mut self, account: &AccountName) -> bool {
        let limits = self.room();
        let of_it = self.state.held_steps(account).collect::<Vec<_>>();
        of_it.into_iter().any(|held| self.hand_held(held, limits))
    }

    /// `false`: it waits further.
    fn hand_held(&mut self, held: (RunId, StepPath), limits: HostLimits) -> bool {
        let (run, step) = held.clone();
        let is_agent = self.state.runs.held_agents().any(|(of, at, _)| (of, &at) == (run, &step));
        // What a daemon before us began is not begun again, and paid for already.
        if is_agent
            && !self.state.is_adopted(run, &step)
            && !self.may_begin(&Spender::Step { run, step: step.clone() })
        {
            return false;
        }
        let Some((attempt, how)) = self.state.runs.take_held(held, limits, self.now) else {
            return false;
        };
        self.order_step(run, step, attempt, how);
        true
    }

    /// The own agent of an attempt stopped, and what it was asked goes on later: that is no try.
    pub(in crate::decide) fn step_put_off(
        &mut self,
        run: RunId,
        step: &StepPath,
        attempt: u32,
        put_off: PutOff,
        denied: &[DeniedCall],
    ) {
        let PutOff { why, at, conversation, mut spent } = put_off;
        let known = self.state.runs.get(run);
        let work = known.and_then(|known| known.at_work.get(step)).cloned();
        let Some(work) = work.filter(|work| work.attempt == attempt) else { return };
        let With::Runner { spent: read, .. } = work.with else { return };
        if why == PutOffBy::Us {
            // It had no time to say what it cost.
            spent.micro_usd = spent.micro_usd.saturating_add(read);
        }
        for call in denied {
            self.step_tool_denied(run, step, call);
        }
        let account = self.state.account_of_step(run, step);
        self.state.runs.end_work(run, step);
        if let PutOffBy::Account { kind, said } = &why
            && let (Some(why), Some(account)) = (Why::of(*kind), account)
        {
            self.account_fails(&account, why, at, said);
        }
        let detail = json!({ "run": run, "step": step, "attempt": attempt });
        self.journal("step_put_off", About::default(), detail);
        let how = StepHow::Again { conversation, spent };
        self.hold_step(run, step.clone(), attempt, how, Needs::Agent);
        self.run_changed(run);
    }

    /// Its money is used up: the agent of that step stops, and goes on when there is more.
    pub(in crate::decide) fn hold_agent(&mut self, run: RunId, step: &StepPath) {
        let Some(known) = self.state.runs.get(run) else { return };
        if let Some(work) = known.at_work.get(step) {
            let (step, attempt) = (step.clone(), work.attempt);
            self.effect(Effect::PutOffStep { run, step, attempt });
        }
    }

    fn order_step(&mut self, run: RunId, step: StepPath, attempt: u32, how: StepHow) {
        let project = self.project_of_step(run, &step);
        let Some(known) = self.state.runs.get(run) else { return };
        let found = project.and_then(|project| Ok((project, known.run.work(&step)?)));
        let (project, work) = match found {
            Ok(found) => found,
            // It was well when it began to wait; something has changed since.
            Err(why) => {
                self.state.runs.end_work(run, &step);
                return self.tell_ended(run, &step, attempt, Outcome::Failed { why });
            }
        };
        let order = StepOrder {
            run,
            name: known.row.name(),
            step,
            attempt,
            how,
            work,
            folder: project.path,
            project: project.name,
            workflow: known.row.workflow.clone(),
        };
        self.effect(Effect::Step(Box::new(order)));
    }

    /// Attempts that the run no longer wants. The runner tells when its own have ended, and a called
    /// run when it has; with everything else it is over at once.
    pub(super) fn stop_what_is_to_stop(&mut self, run: RunId) {
        let Some(known) = self.state.runs.get(run) else { return };
        for (step, attempt) in known.run.to_stop() {
            let known = self.state.runs.get(run);
            let work = known.and_then(|known| known.at_work.get(&step)).cloned();
            match work.filter(|work| work.attempt == attempt).map(|work| work.with) {
                Some(With::Runner { .. }) => {
                    self.effect(Effect::StopStep { run, step, attempt });
                }
                // A daemon before us may have begun it: only the runner knows.
                Some(With::Held { project, needs, how }) if *how != StepHow::Begin => {
                    self.state.runs.end_work(run, &step);
                    let with = With::Runner { project, needs, since: None, spent: 0 };
                    let work = AtWork { attempt, with, until: None };
                    self.state.runs.begin_work(run, step.clone(), work);
                    self.effect(Effect::StopStep { run, step, attempt });
                }
                Some(With::Run { child }) => self.stop_called(child),
                // Left behind by a reset before a start.
                None if self.is_for_runner(run, &step) => {
                    self.effect(Effect::StopStep { run, step, attempt });
                }
                Some(With::Held { .. } | With::Session { .. } | With::People) | None => {
                    self.let_go(run, &step, Some(attempt));
                    self.tell_ended(run, &step, attempt, Outcome::Cancelled);
                }
            }
        }
    }

    fn is_for_runner(&self, run: RunId, step: &StepPath) -> bool {
        let known = self.state.runs.get(run);
        match known.and_then(|known| known.run.definition(step)).map(|step| &step.kind) {
            Some(Kind::Shell(_) | Kind::Http(_) | Kind::Javascript(_)) => true,
            Some(Kind::Claude(claude)) => claude.session.is_none(),
            Some(
                Kind::Sleep(_)
                | Kind::Condition(_)
                | Kind::Approval(_)
                | Kind::Call(_)
                | Kind::Foreach(_),
            )
            | None => false,
        }
    }

    /// Whoever has that attempt does not go on with it, and its gates close. `None`: whichever it is.
    fn let_go(&mut self, run: RunId, step: &StepPath, attempt: Option<u32>) {
        self.close_gates_of_step(run, step, attempt);
        let work = self.state.runs.get(run).and_then(|known| known.at_work.get(step)).cloned();
        let Some(work) = work.filter(|work| attempt.is_none_or(|attempt| work.attempt == attempt))
        else {
            return;
        };
        self.state.runs.end_work(run, step);
        let begun = match &work.with {
            With::Runner { .. } => true,
            With::Held { how, .. } => **how != StepHow::Begin,
            With::Session { .. } | With::People | With::Run { .. } => false,
        };
        if begun {
            let (step, attempt) = (step.clone(), work.attempt);
            self.effect(Effect::StopStep { run, step, attempt });
        }
        match work.with {
            With::Session { session } => self.drop_step_turn(run, step, work.attempt, session),
            With::Run { child } => self.stop_called(child),
            With::Runner { .. } | With::Held { .. } | With::People => {}
        }
    }

    pub(super) fn people_have(&mut self, run: RunId, step: StepPath, attempt: u32) {
        let work = AtWork { attempt, with: With::People, until: None };
        self.state.runs.begin_work(run, step, work);
    }

    /// A person says what became of a step in doubt.
    pub(super) fn settle_doubt(
        &mut self,
        run: RunId,
        step: &StepPath,
        attempt: u32,
        how: Doubt,
        by: &str,
    ) {
        let Some(known) = self.state.runs.get(run) else { return };
        let entries = known.run.settled(step, attempt, how, by, self.now);
        self.write_log(run, entries);
    }

    pub(in crate::decide) fn wake_runs(&mut self) {
        let now: Timestamp = self.now;
        self.state.runs.wake_due(now);
    }
}
