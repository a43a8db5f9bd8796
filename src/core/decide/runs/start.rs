//! How a run begins: everything it is made of is frozen, and it gets a number and its place.

use serde_json::json;
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};
use vigie_workflow::{
    language::Overlap,
    params,
    problem::{Problem, Severity},
    run::{Facts, Frozen, Source, Stop},
    value::ParamName,
};

use super::{DEEPEST_CALL, KEY};
use crate::{
    bridge::Place,
    command::Refusal,
    decide::{About, Work},
    id::{ProjectName, RunId},
    run::{
        FrozenRow, Given, Known, KnownRun, Origin, RunKey, RunLife, RunParent, RunRow, StartRun,
        Starter,
    },
    runs::short_name,
    state::Row,
};

/// What a run is made of, checked.
pub(super) struct Making {
    pub source: Source,
    pub called: BTreeMap<String, Source>,
    pub params: BTreeMap<ParamName, serde_json::Value>,
    pub project: Option<ProjectName>,
    pub starter: Starter,
    pub key: Option<RunKey>,
    pub place: Option<Place>,
    pub parent: Option<RunParent>,
}

/// Where a run stands among others of its workflow.
enum Turn {
    Now,
    /// This one is cancelled for it.
    Replaces(Vec<RunId>),
    Later,
    Never {
        why: String,
    },
}

impl Work<'_> {
    /// Begins a run of that workflow; the same key again names the first.
    pub(super) fn start_run(
        &mut self,
        start: &StartRun,
        starter: Starter,
        place: Option<Place>,
    ) -> Result<RunId, Refusal> {
        let known = self.workflow_named(&start.workflow)?;
        let name = known.name.clone();
        let Some(source) = known.source.clone() else {
            let errors = errors_of(&known);
            return Err(Refusal::BadWorkflow { name, errors });
        };
        let params = typed(&source, &start.params)
            .map_err(|mistakes| Refusal::BadParams { workflow: name.clone(), mistakes })?;
        let key = start.key.as_ref().map(|key| key_of(key, &params)).transpose()?;
        if let Some(key) = &key
            && let Some(first) = self.state.runs.by_key(&name, &key.key)
        {
            let same = first.row.key.as_ref().is_some_and(|first| first.digest == key.digest);
            let run = first.row.name();
            return if same {
                Ok(first.row.id)
            } else {
                Err(Refusal::OtherKey { key: key.key.clone(), run })
            };
        }
        let project = self.project_of_start(&known, start.project.as_deref())?;
        if let Some(project) = &project {
            stays_home(&name, project).map_err(Refusal::NotRun)?;
        }
        stays_by_its_file(&source).map_err(Refusal::NotRun)?;
        let open = self.state.runs.open().count();
        if open >= self.state.rules.workflows.runs {
            let words = format!("{open} runs are open, and more are not begun");
            return Err(Refusal::NotRun(words));
        }
        let called = known.called.clone();
        let making = Making { source, called, params, project, starter, key, place, parent: None };
        Ok(self.make_run(making))
    }

    /// Where it runs if neither the workflow nor a step says.
    pub(super) fn project_of_start(
        &self,
        known: &Known,
        named: Option<&str>,
    ) -> Result<Option<ProjectName>, Refusal> {
        match (named, &known.origin) {
            (Some(name), _) => Ok(Some(self.project(Some(name))?.name)),
            (None, Origin::Project { project, .. }) => Ok(Some(project.clone())),
            (None, Origin::BuiltIn | Origin::Own) => Ok(self.project(None).ok().map(|p| p.name)),
        }
    }

    pub(super) fn make_run(&mut self, making: Making) -> RunId {
        let Making { source, called, params, project, starter, key, place, parent } = making;
        let id = self.ids.make(RunId::from_parts);
        let workflow = source.name.clone();
        let number = self.state.runs.next_number(&workflow);
        let overlap = source.workflow.limits.overlap;
        let concurrency = source.workflow.limits.concurrency.max(1) as usize;
        // A run that another one waits for is part of that one.
        let turn = match &parent {
            Some(_) => Turn::Now,
            None => self.turn_of(&workflow, concurrency, overlap, None),
        };
        let life = match &turn {
            Turn::Now => RunLife::Running,
            Turn::Later | Turn::Replaces(_) => RunLife::Queued,
            Turn::Never { why } => RunLife::NotRun { why: why.clone(), at: self.now },
        };
        let row = RunRow {
            id,
            workflow,
            number,
            starter,
            key,
            place,
            parent,
            project: project.clone(),
            made: self.now,
            began: (life == RunLife::Running).then_some(self.now),
            life,
            shown: Vec::new(),
            retried_by: Vec::new(),
        };
        let by = match &row.starter {
            Starter::Cron { .. } | Starter::Webhook => String::new(),
            Starter::Human { .. } | Starter::Agent { .. } | Starter::Run => self.started_by(&row),
        };
        let facts = Facts {
            id: id.to_string(),
            number,
            started: self.now,
            trigger: trigger(&row.starter).into(),
            by,
        };
        let project = project.map(|name| name.to_string());
        let frozen = Arc::new(Frozen { source, called, params, project, facts });
        self.put(Row::Frozen(FrozenRow { run: id, frozen }));
        self.put(Row::Run(row.clone()));
        let human = match &row.starter {
            Starter::Human { human, .. } => Some(human.clone()),
            Starter::Agent { .. } | Starter::Cron { .. } | Starter::Webhook | Starter::Run => None,
        };
        let detail = json!({
            "run": id, "name": row.name(), "workflow": row.workflow, "life": row.life,
            "starter": row.starter,
        });
        let kind = if row.life.is_open() { "run_started" } else { "run_not_run" };
        self.journal(kind, About { human, ..About::default() }, detail);
        if let Turn::Replaces(those) = turn {
            self.replace(those);
        }
        self.state.runs.touch(id);
        self.run_changed(id);
        id
    }

    /// Whether one more run of a workflow may begin; `but`: a run of it that is not counted.
    fn turn_of(
        &self,
        workflow: &str,
        concurrency: usize,
        overlap: Overlap,
        but: Option<RunId>,
    ) -> Turn {
        let of_it = |known: &&KnownRun| {
            known.row.workflow == workflow
                && known.row.parent.is_none()
                && Some(known.row.id) != but
        };
        let mut open: Vec<_> = self.state.runs.open().filter(of_it).collect();
        open.sort_by_key(|known| known.row.number);
        let runs: Vec<_> = open.iter().filter(|known| known.row.life == RunLife::Running).collect();
        if runs.len() < concurrency && open.len() == runs.len() {
            return Turn::Now;
        }
        match overlap {
            Overlap::Skip => {
                let names: Vec<_> = runs.iter().map(|known| known.row.name()).collect();
                Turn::Never { why: format!("{} ran at that time", names.join(", ")) }
            }
            Overlap::Queue => Turn::Later,
            Overlap::Replace => {
                // It begins once there is room; whoever waited before it never does.
                let makes_way = |known: &&&KnownRun| {
                    matches!(known.run.state(), vigie_workflow::run::RunState::Running)
                };
                let waits = open.iter().filter(|known| known.row.life == RunLife::Queued);
                let oldest = runs.iter().copied().find(makes_way).filter(|_| {
                    runs.iter().filter(|known| makes_way(known)).count() >= concurrency
                });
                let those = waits.copied().filter(|known| makes_way(&known)).chain(oldest.copied());
                Turn::Replaces(those.map(|known| known.row.id).collect())
            }
        }
    }

    fn replace(&mut self, those: Vec<RunId>) {
        for run in those {
            self.stop_run(run, Stop::Replaced, None);
        }
    }

    /// Whether a run that is over may go on; what has to make way for it does.
    pub(super) fn takes_its_turn(&mut self, id: RunId) -> Result<RunLife, Refusal> {
        let Some(known) = self.state.runs.get(id) else { return Ok(RunLife::Running) };
        let limits = &known.run.frozen().source.workflow.limits;
        let (overlap, concurrency) = (limits.overlap, limits.concurrency.max(1) as usize);
        let workflow = known.row.workflow.clone();
        match self.turn_of(&workflow, concurrency, overlap, Some(id)) {
            Turn::Now => Ok(RunLife::Running),
            Turn::Later => Ok(RunLife::Queued),
            Turn::Never { why } => Err(Refusal::NotRun(why)),
            Turn::Replaces(those) => {
                self.replace(those);
                Ok(RunLife::Queued)
            }
        }
    }

    /// A run of that workflow is over: whoever waited longest for it begins.
    pub(super) fn next_in_line(&mut self, workflow: &str) {
        loop {
            let of_it =
                |known: &&KnownRun| known.row.workflow == workflow && known.row.parent.is_none();
            let mut open: Vec<_> = self.state.runs.open().filter(of_it).collect();
            open.sort_by_key(|known| known.row.number);
            let runs = open.iter().filter(|known| known.row.life == RunLife::Running).count();
            let queued: Vec<_> =
                open.iter().filter(|known| known.row.life == RunLife::Queued).collect();
            let Some(first) = queued.first() else { return };
            let concurrency = first.run.frozen().source.workflow.limits.concurrency.max(1) as usize;
            if runs >= concurrency {
                // They wait for fewer now.
                for id in queued.iter().map(|known| known.row.id).collect::<Vec<_>>() {
                    self.run_changed(id);
                }
                return;
            }
            let mut row = first.row.clone();
            row.life = RunLife::Running;
            row.began = Some(self.now);
            let (id, detail) = (row.id, json!({ "run": row.id, "name": row.name() }));
            self.put(Row::Run(row));
            self.journal("run_began", About::default(), detail);
            self.state.runs.touch(id);
            self.run_changed(id);
        }
    }
}

impl Work<'_> {
    /// A run of a project's own workflow, and all that it calls, stays in that project: agents may
    /// write such a file, and it must not reach past what confines them there.
    pub(super) fn stays(&self, run: RunId, project: &ProjectName) -> Result<(), String> {
        let mut at = self.state.runs.get(run);
        for _ in 0..=DEEPEST_CALL {
            let Some(known) = at else { break };
            stays_home(&known.row.workflow, project)?;
            let above = known.row.parent.as_ref();
            at = above.and_then(|parent| self.state.runs.get(parent.run));
        }
        Ok(())
    }
}

/// The project whose own that workflow is; its whole name says so.
pub(super) fn home_of(workflow: &str) -> Option<&str> {
    workflow.rsplit_once('/').map(|(project, _)| project)
}

pub(super) fn stays_home(workflow: &str, project: &ProjectName) -> Result<(), String> {
    match home_of(workflow) {
        Some(home) if home != project.as_str() => Err(format!(
            "`{workflow}` is a workflow of {home}'s own and stays there, so nothing of it runs in {project}; what is to run there belongs into your own folder of workflows"
        )),
        Some(_) | None => Ok(()),
    }
}

/// What its file says outright is refused before it begins.
fn stays_by_its_file(source: &Source) -> Result<(), String> {
    let workflow = &source.workflow;
    let steps = workflow.steps.iter().filter_map(|step| step.project.as_ref());
    let named = workflow.project.iter().chain(steps).filter(|project| project.is_plain());
    for project in named {
        stays_home(&source.name, &ProjectName::new(project.source.trim()))?;
    }
    Ok(())
}

/// Mistakes for which it does not run.
pub(super) fn errors_of(known: &Known) -> usize {
    let is_error = |problem: &&Problem| problem.severity == Severity::Error;
    known.problems.all.iter().filter(is_error).count()
}

/// The values a run starts with.
pub(super) fn typed(
    source: &Source,
    given: &BTreeMap<String, Given>,
) -> Result<BTreeMap<ParamName, serde_json::Value>, Vec<String>> {
    params::typed(&source.workflow, given.clone())
}

/// The same values give the same digest, whatever order they came in.
fn key_of(key: &str, params: &BTreeMap<ParamName, serde_json::Value>) -> Result<RunKey, Refusal> {
    if key.is_empty() || key.len() > KEY {
        return Err(Refusal::BadName(format!("a key has 1 to {KEY} bytes")));
    }
    let text = serde_json::to_vec(params).unwrap_or_default();
    let mut digest = String::with_capacity(64);
    for byte in Sha256::digest(text) {
        let _ = write!(digest, "{byte:02x}"); // a String takes everything
    }
    Ok(RunKey { key: key.into(), digest })
}

fn trigger(starter: &Starter) -> &'static str {
    match starter {
        Starter::Human { .. } => "a person",
        Starter::Agent { .. } => "an agent",
        Starter::Cron { .. } => "cron",
        Starter::Webhook => "webhook",
        Starter::Run => "a run",
    }
}

impl Work<'_> {
    /// The workflow of that name, or the near misses.
    pub(super) fn workflow_named(&self, name: &str) -> Result<Arc<Known>, Refusal> {
        if let Some(known) = self.state.runs.workflow_named(name) {
            return Ok(known.clone());
        }
        let all = &self.state.runs.catalog.all;
        let name = name.trim();
        let same = |known: &&String| short_name(known).eq_ignore_ascii_case(name);
        let mut near: Vec<_> = all.keys().filter(same).cloned().collect();
        if near.is_empty() {
            let names = all.keys().map(String::as_str);
            let nearest = crate::nearest::nearest(name, names, crate::decide::requests::NEAR);
            near = nearest.into_iter().map(str::to_owned).collect();
        }
        let known = all.keys().cloned().collect();
        Err(Refusal::NoWorkflow { name: name.into(), known, near })
    }
}
