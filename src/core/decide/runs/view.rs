//! Runs and workflows as lists and pages show them.

use chrono::TimeDelta;
use vigie_workflow::{
    language::{Step, Triggers},
    run::{Frozen, Outcome, Report, Spent, StepState, Sum},
    value::StepPath,
};

use super::{
    progress::progress_lines,
    start::errors_of,
    triggers::{has_triggers, next_fire, schedules},
};
use crate::{
    Timestamp,
    decide::{
        afford::{Spender, Until, used_up},
        show,
    },
    id::{GateCode, RunId},
    money,
    run::{
        GraphStep, Known, KnownRun, MadeOf, Needs, RunListing, RunRow, RunView, Starter, StepView,
        With, WorkflowView,
    },
    runs::{Runs, short_name},
    state::State,
    text,
};

/// Runs in a list.
const LISTED: usize = 100;

/// Fire times that are shown.
const FIRES: usize = 5;

/// Steps of a run that are shown one by one; the graph says the rest.
const STEPS: usize = 2_000;

/// Longest text of a step in a view, in bytes: the log has the rest.
const STEP_TEXT: usize = 16 * 1024;

impl State {
    /// Who or what started it, as people call it.
    pub(in crate::decide) fn started_by(&self, row: &RunRow) -> String {
        match &row.starter {
            Starter::Human { human, .. } => self.name_of(human),
            Starter::Agent { principal, .. } => self.principal_name(principal),
            Starter::Cron { .. } => "its schedule".into(),
            Starter::Webhook => "its webhook".into(),
            Starter::Run => {
                let above = row.parent.as_ref().and_then(|parent| self.runs.get(parent.run));
                above.map_or_else(|| "a run".into(), |above| above.row.name())
            }
        }
    }

    pub fn run_view(&self, id: RunId, now: Timestamp) -> Option<RunView> {
        let known = self.runs.get(id)?;
        let steps =
            known.run.steps().take(STEPS).map(|(step, state)| {
                step_view(known, &step, &state, self.why_held(known, &step, now))
            });
        let (steps, made_of) = (steps.collect(), Some(made_of(known.run.frozen())));
        Some(RunView { steps, made_of, ..self.run_in_list(known, now) })
    }

    /// Why a step is not carried out that could be.
    fn why_held(&self, known: &KnownRun, step: &StepPath, now: Timestamp) -> Option<String> {
        let work = known.at_work.get(step)?;
        let With::Held { needs, .. } = &work.with else { return None };
        let room = || Some("waits for room on this machine".to_owned());
        if *needs == Needs::Process {
            return room();
        }
        let run = known.row.id;
        if let Some(words) = self.trouble_of_step(run, step) {
            return Some(words);
        }
        let spender = Spender::Step { run, step: step.clone() };
        let Some(blocked) = self.blocked(&spender, now) else { return room() };
        let label = self.label(&blocked.scope);
        Some(match blocked.until {
            Until::Said => format!("waits: {label} {}", used_up(&blocked)),
            Until::OthersEnd => {
                format!("waits: the rest of the money of {label} is set aside for what runs")
            }
        })
    }

    /// Without its steps.
    fn run_in_list(&self, known: &KnownRun, now: Timestamp) -> RunView {
        let params = known.run.frozen().params.iter();
        let params = params.map(|(name, value)| (name.to_string(), value.clone())).collect();
        let mut open_gates = Vec::new();
        self.waits_for(known, &mut open_gates);
        RunView {
            row: known.row.clone(),
            name: known.row.name(),
            started_by: self.started_by(&known.row),
            params,
            steps: Vec::new(),
            progress: progress_lines(known, now),
            spent: Spent { micro_usd: self.spent_with_calls(known.row.id), ..known.run.spent() },
            outputs: known.run.outputs(),
            open_gates,
            report: report_lines(&known.run.report()),
            made_of: None,
        }
    }

    /// Its own cards, and those of the sessions and runs that its steps wait for.
    fn waits_for(&self, known: &KnownRun, codes: &mut Vec<GateCode>) {
        let own = self.runs.gates_of(known.row.id).into_iter();
        codes.extend(own.filter_map(|gate| Some(self.gates.get(&gate)?.code.clone())));
        for work in known.at_work.values() {
            match &work.with {
                With::Session { session } => {
                    codes.extend(self.open_gates_of(*session).map(|gate| gate.code.clone()));
                }
                With::Run { child } => {
                    if let Some(child) = self.runs.get(*child) {
                        self.waits_for(child, codes);
                    }
                }
                With::Runner { .. } | With::Held { .. } | With::People => {}
            }
        }
    }

    pub fn run_views(&self, listing: &RunListing, now: Timestamp) -> Vec<RunView> {
        let wanted = |known: &&KnownRun| {
            let workflow = &known.row.workflow;
            let named = listing.workflow.as_deref().is_none_or(|name| {
                workflow.eq_ignore_ascii_case(name)
                    || short_name(workflow).eq_ignore_ascii_case(name)
            });
            named && (known.row.life.is_open() || !listing.open_only)
        };
        let runs = self.runs.all().rev().filter(wanted).take(LISTED);
        runs.map(|known| self.run_in_list(known, now)).collect()
    }

    pub fn workflow_views(&self, now: Timestamp) -> Vec<WorkflowView> {
        let all = self.runs.catalog.all.values();
        all.map(|known| workflow_view(known, &self.runs, now)).collect()
    }
}

impl crate::decide::Work<'_> {
    pub(super) fn started_by(&self, row: &RunRow) -> String {
        self.state.started_by(row)
    }
}

fn made_of(frozen: &Frozen) -> MadeOf {
    let source = &frozen.source;
    let step = |step: &Step| GraphStep {
        step: step.id.to_string(),
        title: step.title.clone(),
        needs: step.needs.iter().map(ToString::to_string).collect(),
        always: step.always,
        conditional: step.only_if.is_some(),
    };
    MadeOf {
        file: source.file.clone(),
        text: source.text.clone(),
        limits: source.workflow.limits.clone(),
        graph: source.workflow.steps.iter().map(step).collect(),
    }
}

fn workflow_view(known: &Known, runs: &Runs, now: Timestamp) -> WorkflowView {
    let workflow = known.source.as_ref().map(|source| &source.workflow);
    let schedules = schedules(known);
    let begins = |on: &Triggers| !on.cron.is_empty() || on.webhook.is_some();
    let begins = workflow.is_some_and(|workflow| begins(&workflow.on));
    let mut next = Vec::new();
    let mut at = now;
    while next.len() < FIRES
        && let Some(fire) = next_fire(&schedules, at)
    {
        next.push(fire);
        at = fire;
    }
    WorkflowView {
        name: known.name.clone(),
        title: workflow.map(|workflow| workflow.title.clone()).unwrap_or_default(),
        description: workflow.map(|workflow| workflow.description.clone()).unwrap_or_default(),
        file: known.file.clone(),
        params: workflow.map(|workflow| workflow.params.clone()).unwrap_or_default(),
        next,
        timezone: workflow
            .and_then(|workflow| workflow.on.timezone.clone())
            .unwrap_or_else(|| "UTC".into()),
        errors: errors_of(known),
        cost: cost_of(&known.name, runs),
        triggers: has_triggers(known) || !begins,
    }
}

/// What its runs that are over cost: least, median, most; nothing where none cost anything.
fn cost_of(workflow: &str, runs: &Runs) -> Option<[u64; 3]> {
    let over = runs.all().filter(|known| {
        known.row.workflow == workflow && matches!(known.row.life, crate::run::RunLife::Over { .. })
    });
    let mut costs: Vec<_> = over.map(|known| known.run.spent().micro_usd).collect();
    costs.sort_unstable();
    let most = costs.last().filter(|most| **most > 0)?;
    Some([*costs.first()?, costs[costs.len() / 2], *most])
}

fn step_view(
    known: &KnownRun,
    step: &StepPath,
    state: &StepState,
    held: Option<String>,
) -> StepView {
    let (word, words, attempt, since) = match state {
        StepState::Waiting => ("waiting", String::new(), 0, None),
        StepState::Ready => ("ready", String::new(), 0, None),
        StepState::Running { attempt, since } => {
            ("running", held.unwrap_or_default(), *attempt, Some(*since))
        }
        StepState::Paused { attempt, since } => {
            ("paused", "waits for a person".into(), *attempt, Some(*since))
        }
        StepState::InDoubt { attempt } => {
            ("in_doubt", "nobody knows how it ended".into(), *attempt, None)
        }
        StepState::Backoff { attempt, until } => {
            let words = format!("tried again at {}", until.format("%H:%M:%S UTC"));
            ("backoff", words, *attempt, None)
        }
        StepState::Ended { attempt, at, outcome } => {
            let (word, words) = outcome_words(outcome);
            (word, words, *attempt, Some(*at))
        }
        StepState::LeftOut { why } => ("left_out", left_out_words(why), 0, None),
    };
    let (began, spent) = known.run.effort(step);
    let ended = known.run.ended(step);
    let output = ended.map(|ended| &ended.output);
    let mut text = output.map(|output| text::mask(&output.text).text).unwrap_or_default();
    if text.len() > STEP_TEXT {
        let end = (0..=STEP_TEXT).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
    }
    StepView {
        step: step.to_string(),
        kind: known.run.definition(step).map_or("", |step| kind_word(&step.kind)).into(),
        state: word.into(),
        words,
        attempt,
        since,
        began: began.filter(|_| attempt > 0),
        micro_usd: spent.micro_usd,
        text,
        file: output.and_then(|output| output.cut.as_ref()).map(|cut| cut.file.clone()),
    }
}

fn kind_word(kind: &vigie_workflow::language::Kind) -> &'static str {
    use vigie_workflow::language::Kind;
    match kind {
        Kind::Shell(_) => "shell",
        Kind::Claude(_) => "claude",
        Kind::Http(_) => "http",
        Kind::Javascript(_) => "javascript",
        Kind::Sleep(_) => "sleep",
        Kind::Condition(_) => "condition",
        Kind::Approval(_) => "approval",
        Kind::Call(_) => "workflow",
        Kind::Foreach(_) => "foreach",
    }
}

pub(super) fn outcome_words(outcome: &Outcome) -> (&'static str, String) {
    match outcome {
        Outcome::Done => ("done", String::new()),
        Outcome::Failed { why } => ("failed", why.clone()),
        Outcome::Denied { why } => ("denied", why.clone()),
        Outcome::TimedOut => ("timed_out", "it took longer than it may".into()),
        Outcome::Cancelled => ("cancelled", String::new()),
    }
}

pub(super) fn left_out_words(why: &vigie_workflow::run::LeftOut) -> String {
    use vigie_workflow::run::LeftOut;
    match why {
        LeftOut::If => "its `if` is false".into(),
        LeftOut::Condition { of } => format!("`{of}` is false"),
        LeftOut::Failed { of } => format!("`{of}` failed"),
        LeftOut::Stopped => "the run was stopped before".into(),
    }
}

fn steps_of(sum: &Sum) -> String {
    let steps = if sum.steps == 1 { "1 step".into() } else { format!("{} steps", sum.steps) };
    if sum.attempts > sum.steps { format!("{steps} in {} turns", sum.attempts) } else { steps }
}

/// Cost and time of its agents, a line each; none where no agent worked in it.
fn report_lines(report: &Report) -> Vec<String> {
    if report.parts.is_empty() {
        return Vec::new();
    }
    let line = |what: &str, sum: &Sum| {
        let tokens = sum.spent.input_tokens + sum.spent.output_tokens;
        let then = Timestamp::UNIX_EPOCH;
        let wall = TimeDelta::milliseconds(i64::try_from(sum.wall_ms).unwrap_or(i64::MAX));
        let span = then.checked_add_signed(wall).map(|at| show::span(then, at));
        format!(
            "{what}: {}, {}, {tokens} tokens, {}",
            steps_of(sum),
            money::spent(sum.spent.micro_usd),
            span.unwrap_or_default()
        )
    };
    vec![line("delegated", &report.delegated), line("inline", &report.inline)]
}
