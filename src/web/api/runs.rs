//! Workflows and their runs: checked, begun, looked at, ended, begun again.

use axum::{
    Json,
    body::Bytes,
    extract::{Extension, Path, State},
    http::StatusCode,
};
use serde::Deserialize;
use utoipa::IntoParams;
use vigie_core::{
    command::{Command, Reply},
    nearest::nearest,
    run::{Given, RunListing, RunView, StartRun, StepView, WorkflowView},
};

use super::{MOST_NEAR, ask, read, unexpected};
use crate::{
    config::Role,
    web::{
        fault::Fault,
        outside::{OutputPart, Stream},
        people::Caller,
        query::Query,
        serve::App,
        shapes::{
            CheckText, Checked, Done, NewRun, OutputShape, ProblemShape, RetryRun, RunShape,
            WorkflowShape,
        },
    },
    workflows,
};

/// Bytes of one answer when nobody says how many: some pages.
const USUAL_PART: usize = 64 << 10;
/// And at most: a client that wants more asks again.
const MOST_PART: usize = 1 << 20;

type Answer<T> = Result<Json<T>, Fault>;

/// Workflows, as their files say right now.
#[utoipa::path(
    get, path = "/workflows",
    responses((status = 200, body = Vec<WorkflowShape>))
)]
pub(super) async fn workflows(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Answer<Vec<WorkflowShape>> {
    caller.needs(Role::Viewer)?;
    app.outside.workflows.look().await;
    let views = read_workflows(&app, &caller).await?;
    Ok(Json(views.iter().map(WorkflowShape::new).collect()))
}

/// What is wrong with a text, which is kept nowhere.
#[utoipa::path(
    post, path = "/workflows/check", request_body = CheckText,
    responses((status = 200, body = Checked))
)]
pub(super) async fn check(
    State(_): State<App>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Answer<Checked> {
    caller.needs(Role::Viewer)?;
    let CheckText { text } = read(&body)?;
    if text.len() as u64 > workflows::LONGEST_FILE {
        let most = workflows::LONGEST_FILE >> 20;
        return Err(Fault::unreadable(format!("a workflow is at most {most} MiB long")));
    }
    // A long text takes a while, and others wait on this thread.
    let checked = tokio::task::spawn_blocking(move || workflows::check(&text)).await;
    let problems = checked.map_err(|error| {
        Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())
    })?;
    let runs = !problems.has_errors();
    Ok(Json(Checked { runs, problems: problems.all.iter().map(ProblemShape::new).collect() }))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    workflow: Option<String>,
    /// Only those that are not over.
    #[serde(default)]
    open: bool,
}

/// Runs, newest first, without their steps.
#[utoipa::path(
    get, path = "/runs", params(Which),
    responses((status = 200, body = Vec<RunShape>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Query(which): Query<Which>,
) -> Answer<Vec<RunShape>> {
    let listing = RunListing { workflow: which.workflow, open_only: which.open };
    let views = read_runs(&app, &caller, listing).await?;
    Ok(Json(views.iter().map(RunShape::new).collect()))
}

pub(in crate::web) async fn read_open(app: &App, caller: &Caller) -> Result<Vec<RunView>, Fault> {
    read_runs(app, caller, RunListing { workflow: None, open_only: true }).await
}

/// Newest first.
pub(in crate::web) async fn read_runs(
    app: &App,
    caller: &Caller,
    listing: RunListing,
) -> Result<Vec<RunView>, Fault> {
    match ask(app, caller, Role::Viewer, Command::Runs(listing)).await? {
        Reply::Runs(views) => Ok(views),
        other => Err(unexpected(&other)),
    }
}

/// As they were read last.
pub(in crate::web) async fn read_workflows(
    app: &App,
    caller: &Caller,
) -> Result<Vec<WorkflowView>, Fault> {
    match ask(app, caller, Role::Viewer, Command::Workflows).await? {
        Reply::Workflows(views) => Ok(views),
        other => Err(unexpected(&other)),
    }
}

/// The run of that name or id.
pub(in crate::web) async fn read_run(
    app: &App,
    caller: &Caller,
    name: String,
) -> Result<RunView, Fault> {
    run(app, caller, Role::Viewer, Command::ShowRun { name }).await
}

/// Runs a workflow.
#[utoipa::path(
    post, path = "/runs", request_body = NewRun,
    responses((status = 201, body = RunShape))
)]
pub(super) async fn start(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<(StatusCode, Json<RunShape>), Fault> {
    caller.needs(Role::Talker)?;
    let NewRun { workflow, params, typed, project, key } = read(&body)?;
    let json = params.into_iter().map(|(name, value)| (name, Given::Json(value)));
    let typed = typed.into_iter().map(|(name, text)| (name, Given::Text(text)));
    let start = StartRun { workflow, params: json.chain(typed).collect(), project, key };
    app.outside.workflows.look().await;
    let view = run(&app, &caller, Role::Talker, Command::Run(start)).await?;
    Ok((StatusCode::CREATED, Json(RunShape::new(&view))))
}

/// A run, by name or id.
#[utoipa::path(get, path = "/runs/{name}", responses((status = 200, body = RunShape)))]
pub(super) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Answer<RunShape> {
    Ok(Json(RunShape::new(&read_run(&app, &caller, name).await?)))
}

/// Ends a run.
#[utoipa::path(
    post, path = "/runs/{name}/cancel",
    responses((status = 200, body = Done))
)]
pub(super) async fn cancel(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Answer<Done> {
    match ask(&app, &caller, Role::Talker, Command::CancelRun { name }).await? {
        Reply::Done { words } => Ok(Json(Done { words })),
        other => Err(unexpected(&other)),
    }
}

/// Runs what failed again, or one step and all that needs it.
#[utoipa::path(
    post, path = "/runs/{name}/retry", request_body = Option<RetryRun>,
    responses((status = 200, body = RunShape))
)]
pub(super) async fn retry(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    body: Bytes,
) -> Answer<RunShape> {
    let RetryRun { from } = if body.is_empty() { RetryRun::default() } else { read(&body)? };
    let view = run(&app, &caller, Role::Talker, Command::RetryRun { name, from }).await?;
    Ok(Json(RunShape::new(&view)))
}

async fn run(app: &App, caller: &Caller, role: Role, what: Command) -> Result<RunView, Fault> {
    match ask(app, caller, role, what).await? {
        Reply::Run(view) => Ok(*view),
        other => Err(unexpected(&other)),
    }
}

#[derive(Clone, Copy, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(in crate::web) struct Part {
    /// From here, in bytes; without it, from the beginning.
    #[serde(default)]
    pub(in crate::web) offset: u64,
    /// At most so many bytes.
    pub(in crate::web) most: Option<usize>,
    /// Without it, the latest.
    pub(in crate::web) attempt: Option<u32>,
    /// What it printed, or with `err` what it complained about.
    #[serde(default)]
    #[param(inline)]
    pub(in crate::web) stream: Stream,
}

/// Some of what a step printed. Whoever follows it asks again from `next` until it is `over`.
#[utoipa::path(
    get, path = "/runs/{name}/steps/{step}/output", params(Part),
    responses((status = 200, body = OutputShape))
)]
pub(super) async fn output(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path((name, step)): Path<(String, String)>,
    Query(part): Query<Part>,
) -> Answer<OutputShape> {
    let view = read_run(&app, &caller, name).await?;
    Ok(Json(read_output(&app, &view, &step, part).await?))
}

/// The same of a run that is looked at.
pub(in crate::web) async fn read_output(
    app: &App,
    view: &RunView,
    step: &str,
    part: Part,
) -> Result<OutputShape, Fault> {
    let Some(known) = view.steps.iter().find(|known| known.step == step) else {
        return Err(no_step(view, step));
    };
    let attempt = part.attempt.unwrap_or(known.attempt);
    if part.attempt.is_some_and(|attempt| attempt == 0 || attempt > known.attempt) {
        let words = format!("{step} has had no attempt {attempt}");
        return Err(Fault::new(StatusCode::NOT_FOUND, "no_attempt", words)
            .hint(format!("Its latest is {}.", known.attempt)));
    }
    let most = part.most.unwrap_or(USUAL_PART).min(MOST_PART);
    let path = step.parse().map_err(Fault::unreadable)?;
    let asked =
        (app.outside.output)(view.row.id, path, attempt, part.stream, part.offset, most).await;
    let found = asked.map_err(|why| {
        let words = format!("what {step} printed cannot be read: {why}");
        Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "outside", words)
            .hint("`vigie doctor` looks at disk and system.")
    })?;
    // Steps that print nothing (requests, approvals) have what the log has.
    let found = found.unwrap_or_else(|| match part.stream {
        Stream::Out => from_log(known, part.offset, most),
        Stream::Err => OutputPart { offset: 0, next: 0, size: 0, text: String::new() },
    });
    let over = attempt < known.attempt || !goes_on(known) || !view.row.life.is_open();
    let OutputPart { offset, next, size, text } = found;
    let (step, over) = (step.to_owned(), over && next == size);
    Ok(OutputShape { step, attempt, offset, next, size, text, over })
}

fn no_step(view: &RunView, step: &str) -> Fault {
    let words = format!("{} has no step `{step}`", view.name);
    let near = nearest(step, view.steps.iter().map(|step| step.step.as_str()), MOST_NEAR);
    let hint = match near.as_slice() {
        [] => format!("`vigie workflow show {}` lists them.", view.name),
        near => format!("Did you mean {}?", near.join(", ")),
    };
    Fault::new(StatusCode::NOT_FOUND, "no_step", words).hint(hint)
}

/// Whether somebody still carries it out.
fn goes_on(step: &StepView) -> bool {
    matches!(
        step.state.as_str(),
        "waiting" | "ready" | "running" | "paused" | "in_doubt" | "backoff"
    )
}

fn from_log(step: &StepView, offset: u64, most: usize) -> OutputPart {
    let begin = usize::try_from(offset).unwrap_or(usize::MAX).min(step.text.len());
    let begin = step.text.ceil_char_boundary(begin);
    let end = step.text.floor_char_boundary(begin.saturating_add(most));
    OutputPart {
        offset: begin as u64,
        next: end as u64,
        size: step.text.len() as u64,
        text: step.text[begin..end].into(),
    }
}
