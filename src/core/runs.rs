//! Every run in memory, with what is looked up among them. It follows from rows, but for what a
//! start does not need to know.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
};
use vigie_workflow::{run::Frozen, value::StepPath};

use crate::{
    Timestamp,
    bridge::Place,
    delivery::Shown,
    gate::Gate,
    id::{GateId, HeardId, HumanId, ProjectName, RunId},
    run::{AtWork, Catalog, FrozenRow, Known, KnownRun, Needs, RunLogRow, RunRow, SlotRow, With},
};

/// Runs that are over and still known; older ones are looked up when somebody asks for them.
pub const REMEMBERED: usize = 200;

/// Lines of log of those together: a few long ones must not fill the memory.
const REMEMBERED_LINES: u64 = 200_000;

/// Starts that people are filling in; the oldest is forgotten for one more.
const FORMS: usize = 64;

#[derive(Debug, Default)]
pub struct Runs {
    all: BTreeMap<RunId, KnownRun>,
    /// Frozen, and its row comes next.
    made: BTreeMap<RunId, Arc<Frozen>>,
    over: BTreeSet<RunId>,
    names: HashMap<String, RunId>,
    keys: HashMap<(String, String), RunId>,
    /// The last number of each short name.
    numbers: BTreeMap<String, u64>,
    slots: BTreeMap<String, SlotRow>,
    pub catalog: Catalog,
    /// When a schedule comes up next.
    pub fires: BTreeSet<(Timestamp, String)>,
    /// Open gates of each run's steps.
    gates: BTreeMap<RunId, BTreeSet<GateId>>,
    deadlines: BTreeSet<(Timestamp, RunId)>,
    deadline_of: BTreeMap<RunId, Timestamp>,
    /// Something happened to them, so that they may go on.
    touched: BTreeSet<RunId>,
    /// Steps that wait for room on this machine, in their order.
    held: VecDeque<(RunId, StepPath)>,
    busy: Busy,
    /// Whose progress changed and is not shown yet, and when it is.
    pub shows: BTreeMap<RunId, Timestamp>,
    /// When webhooks started runs of a workflow lately.
    pub hooked: HashMap<String, VecDeque<Timestamp>>,
    /// When agents started runs lately.
    pub by_agents: VecDeque<Timestamp>,
    /// Starts that people are filling in.
    forms: BTreeMap<HeardId, RunForm>,
    /// The time of the last decision.
    pub seen: Option<Timestamp>,
    /// Since when this daemon runs.
    pub booted: Option<Timestamp>,
}

/// How much of the machine runs take up.
#[derive(Debug, Default)]
struct Busy {
    host: usize,
    agents: usize,
    projects: BTreeMap<ProjectName, usize>,
}

/// A start of a run that a person fills in. It ends with us: who comes back to it begins anew.
#[derive(Clone, Debug)]
pub struct RunForm {
    pub id: HeardId,
    pub human: HumanId,
    pub via: String,
    pub place: Place,
    /// What can be chosen before a workflow is; empty afterwards.
    pub offered: Vec<String>,
    pub workflow: String,
    pub project: Option<String>,
    pub given: BTreeMap<String, crate::run::Given>,
    /// What was asked, in its order.
    pub asked: Vec<String>,
    /// What is asked once more, though there is a value for it.
    pub changes: Option<String>,
    /// When it asked last.
    pub at: Timestamp,
    pub shown: Option<Shown>,
}

/// What the limits of the machine leave for one more step.
#[derive(Clone, Copy, Debug)]
pub struct HostLimits {
    pub host: usize,
    pub project: usize,
    pub agents: usize,
}

pub fn short_name(workflow: &str) -> &str {
    workflow.rsplit('/').next().unwrap_or(workflow)
}

impl Runs {
    pub fn get(&self, id: RunId) -> Option<&KnownRun> {
        self.all.get(&id)
    }

    pub fn all(&self) -> impl DoubleEndedIterator<Item = &KnownRun> {
        self.all.values()
    }

    pub fn open(&self) -> impl Iterator<Item = &KnownRun> {
        self.all.values().filter(|known| known.row.life.is_open())
    }

    /// The run of that name (`release-12`, in any case) or id.
    pub fn named(&self, name: &str) -> Option<&KnownRun> {
        let name = name.trim();
        let by_id = name.parse().ok();
        let id = by_id.or_else(|| self.names.get(&name.to_lowercase()).copied());
        id.and_then(|id| self.all.get(&id))
    }

    /// A workflow by its whole name, or by its last one where only one has it.
    pub fn workflow_named(&self, name: &str) -> Option<&Arc<Known>> {
        let all = &self.catalog.all;
        let same = |known: &str| known.eq_ignore_ascii_case(name.trim());
        let whole = all.get(name.trim()).or_else(|| all.values().find(|known| same(&known.name)));
        let mut short = all.values().filter(|known| same(short_name(&known.name)));
        whole.or_else(|| short.next().filter(|_| short.next().is_none()))
    }

    pub fn names(&self) -> impl Iterator<Item = String> {
        self.all.values().map(|known| known.row.name())
    }

    pub fn by_key(&self, workflow: &str, key: &str) -> Option<&KnownRun> {
        let id = self.keys.get(&(workflow.to_owned(), key.to_owned()))?;
        self.all.get(id)
    }

    pub fn next_number(&self, workflow: &str) -> u64 {
        let short = short_name(workflow).to_lowercase();
        self.numbers.get(&short).copied().unwrap_or_default() + 1
    }

    pub(crate) fn put_frozen(&mut self, row: &FrozenRow) {
        self.made.insert(row.run, row.frozen.clone());
    }

    pub(crate) fn put_row(&mut self, row: &RunRow) {
        if let Some(known) = self.all.get_mut(&row.id) {
            known.row = row.clone();
        } else if let Some(frozen) = self.made.remove(&row.id) {
            self.all.insert(row.id, KnownRun::new(row.clone(), frozen));
        } else {
            return;
        }
        self.index(row);
        self.forget_old(row.id);
    }

    fn index(&mut self, row: &RunRow) {
        self.note_number(short_name(&row.workflow), row.number);
        self.names.insert(row.name().to_lowercase(), row.id);
        if let Some(key) = &row.key {
            self.keys.insert((row.workflow.clone(), key.key.clone()), row.id);
        }
        if row.life.is_open() {
            self.over.remove(&row.id);
        } else {
            self.over.insert(row.id);
            self.set_deadline(row.id, None);
        }
    }

    /// The highest number that was ever used.
    pub fn note_number(&mut self, short: &str, number: u64) {
        let last = self.numbers.entry(short.to_lowercase()).or_default();
        *last = number.max(*last);
    }

    pub(crate) fn put_line(&mut self, line: &RunLogRow) {
        if let Some(known) = self.all.get_mut(&line.run) {
            known.take(line);
        }
    }

    pub(crate) fn put_slot(&mut self, row: &SlotRow) {
        self.slots.insert(row.workflow.clone(), row.clone());
    }

    pub fn slot(&self, workflow: &str) -> Option<&SlotRow> {
        self.slots.get(workflow)
    }

    pub(crate) fn put_gate(&mut self, gate: &Gate) {
        let Some(waits) = gate.step() else { return };
        if gate.is_open() {
            self.gates.entry(waits.of_run).or_default().insert(gate.id);
        } else if let Some(open) = self.gates.get_mut(&waits.of_run) {
            open.remove(&gate.id);
            if open.is_empty() {
                self.gates.remove(&waits.of_run);
            }
        }
    }

    pub fn gates_of(&self, run: RunId) -> Vec<GateId> {
        self.gates.get(&run).into_iter().flatten().copied().collect()
    }

    /// A run as the database has it.
    pub fn absorb(&mut self, known: KnownRun) {
        if !self.all.contains_key(&known.row.id) {
            let row = known.row.clone();
            self.all.insert(row.id, known);
            self.index(&row);
        }
    }

    fn forget_old(&mut self, but: RunId) {
        let lines = |id: &RunId| self.all.get(id).map_or(0, |known| known.seq);
        let mut sum: u64 = self.over.iter().map(lines).sum();
        while self.over.len() > REMEMBERED || (sum > REMEMBERED_LINES && self.over.len() > 1) {
            let Some(oldest) = self.over.iter().find(|id| **id != but).copied() else { return };
            self.over.remove(&oldest);
            let Some(known) = self.all.remove(&oldest) else { continue };
            sum -= known.seq;
            self.names.remove(&known.row.name().to_lowercase());
            if let Some(key) = known.row.key {
                self.keys.remove(&(known.row.workflow, key.key));
            }
        }
    }

    pub fn touch(&mut self, run: RunId) {
        self.touched.insert(run);
    }

    pub(crate) fn next_touched(&mut self) -> Option<RunId> {
        self.touched.pop_first()
    }

    pub fn set_deadline(&mut self, run: RunId, at: Option<Timestamp>) {
        if let Some(before) = self.deadline_of.remove(&run) {
            self.deadlines.remove(&(before, run));
        }
        if let Some(at) = at {
            self.deadline_of.insert(run, at);
            self.deadlines.insert((at, run));
        }
    }

    /// Those whose deadline has passed are touched.
    pub(crate) fn wake_due(&mut self, now: Timestamp) {
        while let Some((at, run)) = self.deadlines.first().copied().filter(|(at, _)| *at <= now) {
            self.deadlines.remove(&(at, run));
            self.deadline_of.remove(&run);
            self.touched.insert(run);
        }
    }

    /// When something of a run is due next.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        if !self.touched.is_empty() {
            return Some(Timestamp::MIN_UTC); // it is overdue
        }
        let wakes = self.deadlines.first().map(|(at, _)| *at);
        let fires = self.fires.first().map(|(at, _)| *at);
        let shows = self.shows.values().min().copied();
        [wakes, fires, shows].into_iter().flatten().min()
    }

    pub(crate) fn begin_work(&mut self, run: RunId, step: StepPath, work: AtWork) {
        let before = self.end_work(run, &step);
        debug_assert!(before.is_none(), "an attempt has one who carries it out");
        if let With::Runner { project, needs, .. } = &work.with {
            self.busy.take(project, *needs);
        }
        if let With::Held { .. } = &work.with {
            self.held.push_back((run, step.clone()));
        }
        if let Some(known) = self.all.get_mut(&run) {
            known.at_work.insert(step, work);
        }
    }

    pub(crate) fn end_work(&mut self, run: RunId, step: &StepPath) -> Option<AtWork> {
        let work = self.all.get_mut(&run)?.at_work.remove(step)?;
        if let With::Runner { project, needs, .. } = &work.with {
            self.busy.give(project, *needs);
        }
        Some(work)
    }

    pub(crate) fn has_room(&self, project: &ProjectName, needs: Needs, limits: HostLimits) -> bool {
        let in_project = self.busy.projects.get(project).copied().unwrap_or_default();
        let agents = match needs {
            Needs::Process => true,
            Needs::Agent => self.busy.agents < limits.agents,
        };
        self.busy.host < limits.host && in_project < limits.project && agents
    }

    /// What waits for room and has it now, in its order.
    pub(crate) fn with_room(&mut self, limits: HostLimits) -> Vec<(RunId, StepPath)> {
        let all = std::mem::take(&mut self.held);
        // The rest was stopped meanwhile.
        self.held =
            all.into_iter().filter(|(run, step)| self.held_work(*run, step).is_some()).collect();
        let room = |(run, step): &&(RunId, StepPath)| {
            let work = self.held_work(*run, step);
            work.is_some_and(|(project, needs)| self.has_room(project, needs, limits))
        };
        self.held.iter().filter(room).cloned().collect()
    }

    /// It is with the runner from here on, if there is room for it still.
    pub(crate) fn take_held(
        &mut self,
        (run, step): (RunId, StepPath),
        limits: HostLimits,
        now: Timestamp,
    ) -> Option<(u32, crate::run::StepHow)> {
        let (project, needs) = self.held_work(run, &step)?;
        if !self.has_room(project, needs, limits) {
            return None;
        }
        self.held.retain(|held| *held != (run, step.clone()));
        let AtWork { attempt, with, until } = self.end_work(run, &step)?;
        let With::Held { project, needs, how } = with else { return None };
        let since = (*how != crate::run::StepHow::Adopt).then_some(now);
        let with = With::Runner { project, needs, since, spent: 0 };
        self.begin_work(run, step, AtWork { attempt, with, until });
        Some((attempt, *how))
    }

    /// Steps with an agent for themselves that wait to be carried out, in their order.
    pub fn held_agents(&self) -> impl Iterator<Item = (RunId, StepPath, &ProjectName)> {
        self.held.iter().filter_map(|(run, step)| {
            let (project, needs) = self.held_work(*run, step)?;
            (needs == Needs::Agent).then(|| (*run, step.clone(), project))
        })
    }

    /// The runner's attempt cost so much more.
    pub(crate) fn add_spent(&mut self, run: RunId, step: &StepPath, more: u64) {
        let work = self.all.get_mut(&run).and_then(|known| known.at_work.get_mut(step));
        if let Some(With::Runner { spent, .. }) = work.map(|work| &mut work.with) {
            *spent = spent.saturating_add(more);
        }
    }

    fn held_work(&self, run: RunId, step: &StepPath) -> Option<(&ProjectName, Needs)> {
        match &self.all.get(&run)?.at_work.get(step)?.with {
            With::Held { project, needs, .. } => Some((project, *needs)),
            With::Runner { .. } | With::Session { .. } | With::People | With::Run { .. } => None,
        }
    }

    pub fn form(&self, id: HeardId) -> Option<&RunForm> {
        self.forms.get(&id)
    }

    pub fn forms(&self) -> impl Iterator<Item = &RunForm> {
        self.forms.values()
    }

    pub(crate) fn keep_form(&mut self, form: RunForm) {
        self.forms.insert(form.id, form);
        if self.forms.len() > FORMS {
            self.forms.pop_first();
        }
    }

    pub(crate) fn drop_form(&mut self, id: HeardId) -> Option<RunForm> {
        self.forms.remove(&id)
    }
}

impl Busy {
    fn take(&mut self, project: &ProjectName, needs: Needs) {
        self.host += 1;
        *self.projects.entry(project.clone()).or_default() += 1;
        if needs == Needs::Agent {
            self.agents += 1;
        }
    }

    fn give(&mut self, project: &ProjectName, needs: Needs) {
        self.host = self.host.saturating_sub(1);
        if let Some(number) = self.projects.get_mut(project) {
            *number = number.saturating_sub(1);
            if *number == 0 {
                self.projects.remove(project);
            }
        }
        if needs == Needs::Agent {
            self.agents = self.agents.saturating_sub(1);
        }
    }
}
