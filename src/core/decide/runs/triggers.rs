//! Runs that nobody asks for in person: by a schedule, one a slot ever, and by webhooks.

use chrono::TimeDelta;
use serde_json::json;
use std::collections::BTreeMap;
use vigie_workflow::{cron::Schedule, language::CatchUp};

use crate::{
    Timestamp,
    bridge::Level,
    command::{Refusal, Reply},
    decide::{About, Work, hush::Cause, show},
    run::{Catalog, Hook, Known, Origin, SlotRow, StartRun, Starter},
    state::Row,
    text::Rich,
};

/// A slot that is noticed this late passed while nobody was there: the machine slept, or Vigie did.
const LATE: TimeDelta = TimeDelta::minutes(5);

/// Missed slots that are made up for at most.
const MADE_UP: usize = 24;

/// A slot that was dealt with this far ahead of now was so by a clock that was wrong.
const AHEAD: TimeDelta = TimeDelta::days(1);

/// Runs of one workflow that webhooks start within a minute: whoever sends more is broken, or hostile.
const HOOKS_A_MINUTE: usize = 60;

/// How far back slots are looked for at a time: each step is some thirty of the one before, so that
/// none has many more slots than are wanted.
const LOOK_BACK: [TimeDelta; 4] =
    [TimeDelta::hours(1), TimeDelta::days(1), TimeDelta::days(31), TimeDelta::days(366)];

/// Whether its schedule and its webhook count.
pub(super) fn has_triggers(known: &Known) -> bool {
    match &known.origin {
        // It counts once somebody made it their own.
        Origin::BuiltIn => false,
        Origin::Own => true,
        Origin::Project { triggers, .. } => *triggers,
    }
}

pub(super) fn schedules(known: &Known) -> Vec<Schedule> {
    let Some(source) = known.source.as_ref().filter(|_| has_triggers(known)) else {
        return Vec::new();
    };
    let on = &source.workflow.on;
    let zone = on.timezone.as_deref().unwrap_or("UTC");
    // What does not read was refused when the file was checked.
    on.cron.iter().filter_map(|expr| Schedule::parse(expr, zone).ok()).map(|read| read.0).collect()
}

/// The times of its schedule, as its file has them.
fn times(known: &Known) -> String {
    let on = known.source.as_ref().map(|source| &source.workflow.on);
    on.map_or_else(String::new, |on| {
        let zone = on.timezone.as_deref().unwrap_or("UTC");
        format!("{} {zone}", on.cron.join(", "))
    })
}

pub(super) fn next_fire(schedules: &[Schedule], after: Timestamp) -> Option<Timestamp> {
    schedules.iter().filter_map(|schedule| schedule.next_after(after)).min()
}

/// Slots after `last` and up to `now`, the last of them, oldest first.
fn slots(schedules: &[Schedule], last: Timestamp, now: Timestamp) -> Vec<Timestamp> {
    let mut found = Vec::new();
    for back in LOOK_BACK.into_iter().map(Some).chain([None]) {
        let from =
            back.and_then(|back| now.checked_sub_signed(back)).map_or(last, |at| at.max(last));
        found.clear();
        let mut at = from;
        while let Some(slot) = next_fire(schedules, at).filter(|slot| *slot <= now) {
            found.push(slot);
            at = slot;
        }
        if found.len() >= MADE_UP || from == last {
            break;
        }
    }
    let extra = found.len().saturating_sub(MADE_UP);
    found.drain(..extra);
    found
}

impl Work<'_> {
    /// The files say something new.
    pub(in crate::decide) fn catalog(&mut self, catalog: Catalog) {
        self.state.runs.catalog = catalog;
        self.plan_fires();
        self.fire_schedules();
    }

    fn plan_fires(&mut self) {
        let all: Vec<_> = self.state.runs.catalog.all.values().cloned().collect();
        self.state.runs.fires.clear();
        for known in all {
            let schedules = schedules(&known);
            if schedules.is_empty() {
                continue;
            }
            // Whatever came before these times were first seen is none of them.
            let schedule = times(&known);
            if self.state.runs.slot(&known.name).is_none_or(|slot| slot.schedule != schedule) {
                self.put_slot(&known, self.now);
            }
            self.plan_fire(&known.name, &schedules);
        }
    }

    fn put_slot(&mut self, known: &Known, slot: Timestamp) {
        let (workflow, schedule) = (known.name.clone(), times(known));
        self.put(Row::Slot(SlotRow { workflow, slot, schedule }));
    }

    fn plan_fire(&mut self, workflow: &str, schedules: &[Schedule]) {
        let Some(last) = self.state.runs.slot(workflow).map(|row| row.slot) else { return };
        let mut next = next_fire(schedules, last);
        // The clock was set back: look again when it is past what a wrong one did, or soon.
        if last > self.now + AHEAD {
            next = Some(self.now);
        }
        if let Some(at) = next {
            self.state.runs.fires.insert((at, workflow.to_owned()));
        }
    }

    pub(in crate::decide) fn fire_schedules(&mut self) {
        let seen = self.state.runs.seen.replace(self.now);
        if seen.is_some_and(|seen| seen > self.now + AHEAD) {
            self.plan_fires(); // the clock was far ahead, and what it led to must not last
        }
        let due = self.state.runs.fires.iter().take_while(|(at, _)| *at <= self.now);
        for (at, workflow) in due.cloned().collect::<Vec<_>>() {
            self.state.runs.fires.remove(&(at, workflow.clone()));
            let Some(known) = self.state.runs.catalog.all.get(&workflow).cloned() else { continue };
            let schedules = schedules(&known);
            self.fire(&known, &schedules);
            self.plan_fire(&workflow, &schedules);
        }
    }

    fn fire(&mut self, known: &Known, schedules: &[Schedule]) {
        let name = &known.name;
        let Some(last) = self.state.runs.slot(name).map(|row| row.slot) else { return };
        if last > self.now + AHEAD {
            self.journal("clock_set_back", About::default(), json!({ "workflow": name }));
            return self.put_slot(known, self.now);
        }
        let passed = slots(schedules, last, self.now);
        let Some(newest) = passed.last().copied() else { return };
        let since = self.state.runs.booted.unwrap_or(self.now);
        let missed = |slot: &Timestamp| *slot < since || *slot < self.now - LATE;
        let catch_up = known.source.as_ref().map(|source| source.workflow.on.catch_up);
        let runs: Vec<_> = match catch_up.unwrap_or_default() {
            CatchUp::Skip => passed.iter().filter(|slot| !missed(slot)).copied().collect(),
            CatchUp::Latest => vec![newest],
            CatchUp::All => passed.clone(),
        };
        let skipped = passed.len() - runs.len();
        if skipped > 0 {
            let detail = json!({ "workflow": name, "skipped": skipped, "until": newest });
            self.journal("slots_skipped", About::default(), detail);
        }
        self.put_slot(known, newest);
        for slot in runs {
            let start = StartRun {
                workflow: name.clone(),
                params: BTreeMap::new(),
                project: None,
                key: None,
            };
            if let Err(refusal) = self.start_run(&start, Starter::Cron { slot }, None) {
                self.say_not_started(name, &refusal);
                break;
            }
        }
    }

    /// What should have run by itself and did not is never only in a log.
    fn say_not_started(&mut self, workflow: &str, refusal: &Refusal) {
        let detail = json!({ "workflow": workflow, "why": refusal.to_string() });
        self.journal("run_refused", About::default(), detail);
        let words = format!("{workflow} should have run by its schedule. {}", refusal.in_a_chat());
        self.trouble(&Cause::vigie(), &words);
        self.tell_everybody(&show::note(Level::Ring, Rich::plain(words), vec![]));
    }

    /// Something outside asks for a run. Whoever does is far away: what becomes of it is also for
    /// people here to read.
    pub(in crate::decide) fn hook(&mut self, hook: Hook) -> Result<Reply, Refusal> {
        let workflow = hook.workflow.clone();
        let begun = self.begin_for_hook(hook);
        match &begun {
            // A flood of calls is no flood of lines.
            Ok(_) | Err(Refusal::TooOften { .. }) => {}
            Err(refusal) => {
                let detail = json!({ "workflow": workflow, "why": refusal.to_string() });
                self.journal("run_refused", About::default(), detail);
            }
        }
        begun
    }

    fn begin_for_hook(&mut self, hook: Hook) -> Result<Reply, Refusal> {
        let Hook { workflow, params, key } = hook;
        let known = self.workflow_named(&workflow)?;
        let name = known.name.clone();
        let on = known.source.as_ref().map(|source| &source.workflow.on);
        let wanted = on.is_none_or(|on| on.webhook.is_some());
        if !wanted || !has_triggers(&known) {
            return Err(Refusal::NotRun(format!("{name} is not started by webhooks")));
        }
        let (now, minute) = (self.now, TimeDelta::minutes(1));
        let lately = self.state.runs.hooked.entry(name.clone()).or_default();
        // A clock that was set back must not shut the door.
        lately.retain(|at| *at > now - minute && *at <= now);
        if lately.len() >= HOOKS_A_MINUTE {
            let oldest = lately.front().copied().unwrap_or(now);
            let wait = (oldest + minute - now).num_seconds().max(1);
            return Err(Refusal::TooOften {
                workflow: name,
                most: HOOKS_A_MINUTE,
                retry_after: u64::try_from(wait).unwrap_or(1),
            });
        }
        lately.push_back(now);
        let start = StartRun { workflow: name, params, project: None, key };
        let id = self.start_run(&start, Starter::Webhook, None)?;
        self.carry_runs();
        let view = self.state.run_view(id, self.now);
        let gone = || Refusal::NotRun("that run is not known any more".into());
        view.map(|view| Reply::Run(Box::new(view))).ok_or_else(gone)
    }
}
