//! Tools that reach the person.

use vigie_core::{
    agent::Choice,
    caller::{AgentCommand, Asking, Multiple},
};

use super::{
    answer::{Answer, Refused},
    args::{AskHuman, NotifyHuman, OfferedAnswer, SendFile},
    call::Call,
    wait::Wait,
};

impl Call<'_> {
    pub(super) async fn ask_human(&self, args: AskHuman) -> Answer {
        let AskHuman { question, header, options, multiple, coming_back } = args;
        let wait = Wait { tool: "ask_human", coming_back };
        if wait.has_ticket() {
            return self.come_back(wait).await;
        }
        if question.trim().is_empty() {
            return Err(Refused::new(
                "`question` is missing. Ask something, or come back with a `ticket`.",
            ));
        }
        let choice = |OfferedAnswer { label, description }| Choice { label, description };
        let asking = Asking {
            question,
            header,
            options: options.into_iter().map(choice).collect(),
            multiple: if multiple { Multiple::Yes } else { Multiple::No },
        };
        self.wait(AgentCommand::AskHuman(asking), wait).await
    }

    pub(super) async fn notify_human(&self, args: NotifyHuman) -> Answer {
        self.done(AgentCommand::Notify { text: args.text }).await
    }

    pub(super) async fn send_file(&self, args: SendFile) -> Answer {
        self.done(AgentCommand::SendFile { path: args.path, about: args.about }).await
    }
}
