//! `vigie workflow list`.

use vigie_core::run::Origin;

use super::files;
use crate::{
    cli::{
        Desk,
        failure::Failure,
        out::{Cell, Ink, Out, table},
        plain,
    },
    web::{
        client::ClientError,
        shapes::{ParamShape, WorkflowShape},
    },
    workflows::{self, Reading},
};

/// As the daemon knows them; else as their files say, without what they cost.
pub(super) async fn run(named: bool, desk: &Desk) -> Result<(), Failure> {
    let known: Result<Vec<WorkflowShape>, _> = desk.client.get("/workflows").await;
    let shapes = match known {
        Ok(shapes) => shapes,
        Err(ClientError::NotRunning) => {
            let folders = files::folders(named, desk)?;
            from_files(&workflows::build(&folders))
        }
        Err(error) => return Err(error.into()),
    };
    desk.out.show(&shapes, |out, shapes| words(out, shapes))
}

fn from_files(reading: &Reading) -> Vec<WorkflowShape> {
    let all = reading.catalog.all.values();
    all.map(|known| {
        let workflow = known.source.as_ref().map(|source| &source.workflow);
        let params = workflow.map(|workflow| workflow.params.iter().map(ParamShape::new).collect());
        let on = workflow.map(|workflow| &workflow.on);
        WorkflowShape {
            name: known.name.clone(),
            title: workflow.map(|workflow| workflow.title.clone()).unwrap_or_default(),
            description: workflow.map(|workflow| workflow.description.clone()).unwrap_or_default(),
            file: known.file.clone(),
            params: params.unwrap_or_default(),
            next: Vec::new(),
            timezone: on.and_then(|on| on.timezone.clone()).unwrap_or_else(|| "UTC".into()),
            mistakes: errors(known),
            cost: None,
            triggers: match &known.origin {
                Origin::BuiltIn => false,
                Origin::Own => true,
                Origin::Project { triggers, .. } => *triggers,
            },
        }
    })
    .collect()
}

fn errors(known: &vigie_core::run::Known) -> usize {
    let is_error = |problem: &&vigie_workflow::Problem| {
        problem.severity == vigie_workflow::problem::Severity::Error
    };
    known.problems.all.iter().filter(is_error).count()
}

fn words(out: &Out, shapes: &[WorkflowShape]) -> String {
    if shapes.is_empty() {
        return "There are no workflows.".into();
    }
    table(&shapes.iter().map(|shape| row(out, shape)).collect::<Vec<_>>())
}

fn row(out: &Out, shape: &WorkflowShape) -> Vec<Cell> {
    let name = Cell::inked(out, Ink::Bold, plain::line(&shape.name));
    let place = Cell::inked(out, Ink::Dim, plain::line(&shape.file));
    if shape.mistakes > 0 {
        let words = format!("does not run: vigie workflow check {}", shape.name);
        return vec![name, Cell::inked(out, Ink::Bad, plain::line(&words)), place];
    }
    let title = if shape.title.is_empty() { &shape.description } else { &shape.title };
    vec![name, Cell::plain(plain::line(title)), place]
}
