//! `vigie workflow`: what runs by itself. Looking at files needs no daemon; runs do.

mod args;
mod check;
mod copy;
mod files;
mod follow;
mod list;
mod logs;
mod plan;
mod run;
mod runs;
mod schema;
mod show;

pub(super) use args::{What, Workflow};
pub(super) use runs::table_of_runs;

use super::{Desk, failure::Failure};

pub(super) async fn run(workflow: Workflow, desk: &Desk) -> Result<(), Failure> {
    let named = workflow.config.is_some();
    match workflow.what {
        What::List => list::run(named, desk).await,
        What::Check { which } => check::run(&which, named, desk),
        What::Plan { which, params } => plan::run(&which, &params, named, desk).await,
        What::Run(args) => run::run(args, desk).await,
        What::Runs { workflow, open } => runs::run(workflow.as_deref(), open, desk).await,
        What::Show { run } => show::run(&run, desk).await,
        What::Logs(args) => logs::run(&args, desk).await,
        What::Cancel { run } => run::cancel(&run, desk).await,
        What::Retry { run, from } => run::retry(&run, from, desk).await,
        What::Copy { name } => copy::run(&name, named, desk),
        What::Schema { write } => schema::run(write, desk),
    }
}
