//! Tools about workflows: listed, begun, looked at, waited for, ended.

use vigie_core::{
    caller::{AgentCommand, AgentReply},
    run::{Given, RunView, StartRun},
};

use super::{
    answer::{Answer, Refused, answer},
    args::{OneRun, RunWorkflow, WaitForRun},
    call::Call,
    shapes::{DoneShape, RunShape, WorkflowShape, WorkflowsShape},
    wait::Wait,
    words,
};

impl Call<'_> {
    pub(super) async fn list_workflows(&self) -> Answer {
        match self.ask(AgentCommand::Workflows).await? {
            AgentReply::Workflows(views) => {
                let workflows: Vec<_> = views.into_iter().map(WorkflowShape::from).collect();
                let text = match workflows.as_slice() {
                    [] => "There are no workflows.".into(),
                    all => all.iter().map(words::workflow).collect::<Vec<_>>().join("\n"),
                };
                Ok(answer(&WorkflowsShape { workflows }, text))
            }
            other => Err(Refused::unexpected(&other)),
        }
    }

    pub(super) async fn run_workflow(&self, args: RunWorkflow) -> Answer {
        let RunWorkflow { workflow, params, project, key } = args;
        let params = params.into_iter().map(|(name, value)| (name, Given::Json(value))).collect();
        let start = StartRun { workflow, params, project, key };
        let shape = RunShape::from(&self.run(AgentCommand::Run(start)).await?);
        let text = format!("{} wait_for_run tells you when it is over.", words::run(&shape));
        Ok(answer(&shape, text))
    }

    pub(super) async fn get_run(&self, args: OneRun) -> Answer {
        let shape = RunShape::from(&self.run(AgentCommand::ShowRun { name: args.run }).await?);
        let text = words::run(&shape);
        Ok(answer(&shape, text))
    }

    pub(super) async fn cancel_run(&self, args: OneRun) -> Answer {
        match self.ask(AgentCommand::CancelRun { name: args.run }).await? {
            AgentReply::Done { words } => Ok(answer(&DoneShape { done: words.clone() }, words)),
            other => Err(Refused::unexpected(&other)),
        }
    }

    pub(super) async fn wait_for_run(&self, args: WaitForRun) -> Answer {
        let WaitForRun { run, coming_back } = args;
        let wait = Wait { tool: "wait_for_run", coming_back };
        if wait.has_ticket() {
            return self.come_back(wait).await;
        }
        self.wait(AgentCommand::WaitForRun { name: run }, wait).await
    }

    async fn run(&self, what: AgentCommand) -> Result<RunView, Refused> {
        match self.ask(what).await? {
            AgentReply::Run { run } => Ok(*run),
            other => Err(Refused::unexpected(&other)),
        }
    }
}
