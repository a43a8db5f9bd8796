//! Tools for messages between sessions.

use vigie_core::{
    caller::{AgentCommand, AgentReply, Confirmed, Letter},
    mail::Mail,
};

use super::{
    answer::{Answer, Refused, answer, id},
    args::{ReadMessages, SendMessage, SetSummary},
    call::Call,
    shapes::{DoneShape, MessageShape, MessagesShape, ReceiptShape, SentShape},
};

/// Messages that come at once when nobody says how many.
const MESSAGES: usize = 20;
/// Messages that come at once at most.
const MOST_MESSAGES: usize = 100;

impl Call<'_> {
    pub(super) async fn send_message(&self, args: SendMessage) -> Answer {
        let letter = Letter {
            to: args.to.addresses(),
            text: args.text,
            reply_to: args.reply_to.as_deref().map(|text| id(text, "message")).transpose()?,
            key: args.key,
            confirmed: if args.confirmed { Confirmed::Yes } else { Confirmed::No },
        };
        match self.ask(AgentCommand::Send(letter)).await? {
            AgentReply::Sent { mails } => {
                let messages: Vec<_> = mails.into_iter().map(ReceiptShape::from).collect();
                let line = |m: &ReceiptShape| format!("{} to {}: {}", m.id, m.to, m.standing);
                let text = messages.iter().map(line).collect::<Vec<_>>().join("\n");
                Ok(answer(&SentShape { messages }, text))
            }
            other => Err(Refused::unexpected(&other)),
        }
    }

    pub(super) async fn read_messages(&self, args: ReadMessages) -> Answer {
        if !args.acknowledge.is_empty() {
            let mails = args.acknowledge.iter().map(|text| id(text, "message"));
            let mails = mails.collect::<Result<_, _>>()?;
            self.ask(AgentCommand::Acknowledge { mails }).await?;
        }
        let most = args.most.unwrap_or(MESSAGES).min(MOST_MESSAGES);
        match self.ask(AgentCommand::Read { most }).await? {
            AgentReply::Inbox { mails, left } => {
                let mut parts: Vec<_> = mails.iter().map(envelope).collect();
                if parts.is_empty() {
                    parts.push("No messages wait.".into());
                }
                if left > 0 {
                    parts.push(format!("{left} more wait: call read_messages again."));
                }
                let messages = mails.into_iter().map(MessageShape::from).collect();
                Ok(answer(&MessagesShape { messages, left }, parts.join("\n\n")))
            }
            other => Err(Refused::unexpected(&other)),
        }
    }

    pub(super) async fn set_summary(&self, args: SetSummary) -> Answer {
        self.done(AgentCommand::SetSummary { text: args.text }).await
    }

    pub(super) async fn done(&self, what: AgentCommand) -> Answer {
        match self.ask(what).await? {
            AgentReply::Done { words } => Ok(answer(&DoneShape { done: words.clone() }, words)),
            other => Err(Refused::unexpected(&other)),
        }
    }
}

fn envelope(mail: &Mail) -> String {
    format!("{} {}: {}", mail.id, mail.number, mail.text)
}
