//! `vigie workflow plan`: what would happen, without anything happening.

mod next;
mod steps;

use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use vigie_core::{Timestamp, money, run::Origin};
use vigie_workflow::{
    Workflow,
    params::{Given, typed},
};

use super::files;
use crate::{
    cli::{
        Desk,
        failure::Failure,
        out::{Cell, Ink, Out, table},
        plain,
    },
    web::shapes::{ParamShape, ProblemShape, WorkflowShape},
    workflows::FileRead,
};
use steps::StepPlan;

/// Everything that can be told before.
#[derive(Serialize)]
struct Plan {
    name: String,
    title: String,
    description: String,
    file: String,
    /// As they would be for what was given; `null`: it must be given.
    params: BTreeMap<String, Value>,
    takes: Vec<ParamShape>,
    /// What is wrong with what was given.
    mistakes: Vec<String>,
    /// The graph, a line each.
    graph: Vec<String>,
    steps: Vec<StepPlan>,
    /// Its schedule, as it is written, and the next times it comes up.
    cron: Vec<String>,
    timezone: String,
    next: Vec<Timestamp>,
    webhook: Option<String>,
    /// Whether its schedule and its webhook count.
    triggers: bool,
    /// Of its last runs, in millionths of a dollar: least, median, most; `null`: not known.
    cost: Option<[u64; 3]>,
    limit: Option<u64>,
    warnings: Vec<ProblemShape>,
}

pub(super) async fn run(
    which: &str,
    params: &[String],
    named: bool,
    desk: &Desk,
) -> Result<(), Failure> {
    let config = files::config(named, desk)?;
    let (_, mut file) = files::one(which, &files::folders_of(&config, desk))?;
    file.warn_of_secrets(&config.secrets);
    let name = file.whole_name();
    let Some(workflow) = &file.workflow else {
        let words = format!("{name} does not run");
        let hint = format!("`vigie workflow check {which}` shows why.");
        return Err(Failure::not_right("bad_workflow", words).hint(hint));
    };
    let given: Result<BTreeMap<_, _>, _> =
        params.iter().map(|text| files::assignment(text)).collect();
    let given = given?.into_iter().map(|(name, text)| (name, Given::Text(text))).collect();
    let plan = plan(&file, workflow, given, cost(&name, desk).await, desk.clock.now());
    desk.out.show(&plan, words)?;
    match plan.mistakes.as_slice() {
        [] => Ok(()),
        // Nothing was given: it is only a look at what it takes.
        _ if params.is_empty() => Ok(()),
        [one] => Err(Failure::not_right("bad_params", one)),
        all => Err(Failure::not_right("bad_params", all.join("; "))),
    }
}

/// What its last runs cost; a Vigie that does not run, or does not know it, has no say.
async fn cost(name: &str, desk: &Desk) -> Option<[u64; 3]> {
    let known: Vec<WorkflowShape> = desk.client.get("/workflows").await.ok()?;
    known.into_iter().find(|shape| shape.name == name)?.cost
}

fn plan(
    file: &FileRead,
    workflow: &Workflow,
    given: BTreeMap<String, Given>,
    cost: Option<[u64; 3]>,
    now: Timestamp,
) -> Plan {
    let (values, mistakes) = match typed(workflow, given) {
        Ok(values) => (values, Vec::new()),
        Err(mistakes) => (BTreeMap::new(), mistakes),
    };
    let value = |param: &vigie_workflow::language::Param| {
        let value = values.get(&param.name).or(param.default.as_ref()).cloned();
        (param.name.to_string(), value.unwrap_or(Value::Null))
    };
    let params: BTreeMap<String, Value> = workflow.params.iter().map(value).collect();
    let known = mistakes.is_empty().then_some(&params);
    let on = &workflow.on;
    Plan {
        name: file.whole_name(),
        title: workflow.title.clone(),
        description: workflow.description.clone(),
        file: file.shown.clone(),
        takes: workflow.params.iter().map(ParamShape::new).collect(),
        graph: vigie_workflow::plan::graph(workflow).lines().map(str::to_owned).collect(),
        steps: steps::plan(&workflow.steps, known),
        params,
        mistakes,
        cron: on.cron.clone(),
        timezone: next::zone_name(on).into(),
        next: next::times(on, now),
        webhook: on.webhook.as_ref().map(|webhook| webhook.secret.to_string()),
        triggers: match &file.origin {
            Origin::BuiltIn => false,
            Origin::Own => true,
            Origin::Project { triggers, .. } => *triggers,
        },
        cost,
        limit: workflow.limits.micro_usd,
        warnings: file.problems.all.iter().map(ProblemShape::new).collect(),
    }
}

fn words(out: &Out, plan: &Plan) -> String {
    let mut parts = vec![head(out, plan)];
    parts.push(format!("Steps:\n{}", steps::words(out, &plan.graph, &plan.steps)));
    parts.extend(takes(out, plan));
    parts.extend(starts(out, plan));
    parts.extend(costs(plan));
    let warnings = plan.warnings.iter().map(|problem| {
        let hint = problem.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        let words = format!("{}:{}: {}{hint}", plan.file, problem.line, problem.what);
        out.ink(Ink::Wait, &plain::line(&words))
    });
    parts.extend(warnings);
    parts.join("\n\n")
}

fn head(out: &Out, plan: &Plan) -> String {
    let mut lines = vec![format!(
        "{}  {}",
        out.ink(Ink::Bold, &plain::line(&plan.name)),
        out.ink(Ink::Dim, &plain::line(&plan.file))
    )];
    let about = [&plan.title, &plan.description];
    lines.extend(about.into_iter().filter(|text| !text.is_empty()).map(|text| plain::line(text)));
    lines.join("\n")
}

/// Its params, as they would be.
fn takes(out: &Out, plan: &Plan) -> Option<String> {
    let row = |param: &ParamShape| {
        let value = plan.params.get(&param.name).filter(|value| !value.is_null());
        let value = match value {
            Some(value) => Cell::plain(plain::line(&value.to_string())),
            None if param.default.is_some() => Cell::plain("null"),
            None => Cell::inked(out, Ink::Wait, "must be given"),
        };
        let choices: Vec<String> = param.choices.iter().map(ToString::to_string).collect();
        let kind = if choices.is_empty() { param.kind.clone() } else { choices.join(" or ") };
        let bounds = match (param.minimum, param.maximum) {
            (Some(least), Some(most)) => format!(", {least} to {most}"),
            (Some(least), None) => format!(", at least {least}"),
            (None, Some(most)) => format!(", at most {most}"),
            (None, None) => String::new(),
        };
        let other = param.default.as_ref().filter(|it| plan.params.get(&param.name) != Some(*it));
        let default = other.map(|it| format!(", {it} if not given")).unwrap_or_default();
        let kind = format!("{kind}{bounds}{default}");
        vec![
            Cell::plain(format!("  {}", param.name)),
            value,
            Cell::inked(out, Ink::Dim, plain::line(&kind)),
            Cell::plain(plain::line(&param.title)),
        ]
    };
    let rows: Vec<_> = plan.takes.iter().map(row).collect();
    (!rows.is_empty()).then(|| format!("Params:\n{}", table(&rows)))
}

/// What starts it besides people and agents.
fn starts(out: &Out, plan: &Plan) -> Option<String> {
    let mut lines = Vec::new();
    if !plan.cron.is_empty() {
        let next = next::shown(&plan.next, &plan.timezone);
        lines.push(format!("  {} ({}): {next}", plan.cron.join(" and "), plan.timezone));
    }
    if let Some(secret) = &plan.webhook {
        lines.push(format!("  POST /hooks/{} by who knows the secret {secret}", plan.name));
    }
    if lines.is_empty() {
        return None;
    }
    if !plan.triggers {
        let words = match plan.name.split_once('/') {
            Some((project, _)) => format!(
                "  None of this counts: {project} is not in `triggers` under [workflows] of the configuration."
            ),
            None => format!(
                "  None of this counts until it is your own: vigie workflow copy {}",
                plan.name
            ),
        };
        lines.push(out.ink(Ink::Wait, &plain::line(&words)));
    }
    Some(format!("Starts by itself:\n{}", lines.join("\n")))
}

fn costs(plan: &Plan) -> Option<String> {
    let limit = plan.limit.map(|limit| format!("at most {}", money::exact(limit)));
    let usual = plan.cost.map(|[least, median, most]| {
        format!(
            "its last runs {} to {}, half of them up to {}",
            money::spent(least),
            money::spent(most),
            money::spent(median)
        )
    });
    let parts: Vec<String> = [limit, usual].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("Costs: {}", parts.join("; ")))
}
