//! Messages between sessions: the cases of `peer-messages`, by their names, and what else can
//! happen to one.

mod address;
mod any_order;
mod crash;
mod limits;
mod offer;
mod people;

use super::world::World;
use crate::{
    agent::{AgentEvent, Doing, OrderKind, RefusedPrompt},
    caller::{AgentCommand, AgentRefusal, AgentReply, Confirmed, Letter, Principal, SentView},
    id::MailId,
    mail::{Mail, MailState, NotSent},
    session::Spawn,
};

fn letter(to: &[&str], text: &str) -> Letter {
    Letter {
        to: to.iter().map(|to| (*to).to_owned()).collect(),
        text: text.into(),
        reply_to: None,
        key: None,
        confirmed: Confirmed::No,
    }
}

fn confirmed(to: &[&str], text: &str) -> Letter {
    Letter { confirmed: Confirmed::Yes, ..letter(to, text) }
}

fn sent(reply: Result<AgentReply, AgentRefusal>) -> Vec<SentView> {
    match reply.unwrap() {
        AgentReply::Sent { mails, .. } => mails,
        other => panic!("expected what was sent, found {other:?}"),
    }
}

impl World {
    fn posts(&mut self, from: &str, letter: Letter) -> Result<AgentReply, AgentRefusal> {
        self.call(from, AgentCommand::Send(letter))
    }

    /// One message to one recipient: its id, and what its sender hears.
    fn mails_to(&mut self, from: &str, to: &str, text: &str) -> (MailId, String) {
        let mut views = sent(self.posts(from, letter(&[to], text)));
        assert_eq!(views.len(), 1, "{views:?}");
        let view = views.remove(0);
        (view.id, view.words)
    }

    fn not_sent(&mut self, from: &str, letter: Letter) -> NotSent {
        match self.posts(from, letter) {
            Err(AgentRefusal::Mail(why)) => why,
            other => panic!("expected a refusal, found {other:?}"),
        }
    }

    /// Who gets what goes there, in order.
    fn reached(&mut self, from: &str, to: &[&str]) -> Vec<String> {
        let views = sent(self.posts(from, confirmed(to, "hello")));
        views.into_iter().map(|view| view.to).collect()
    }

    fn mail(&self, id: MailId) -> Mail {
        self.mails().into_iter().find(|mail| mail.id == id).expect("it is written down")
    }

    fn is_read(&self, id: MailId) -> bool {
        matches!(self.mail(id).state, MailState::Read { .. })
    }

    fn why_dead(&self, id: MailId) -> String {
        match self.mail(id).state {
            MailState::Dead { why, .. } => why,
            other => panic!("expected a dead letter, found {other:?}"),
        }
    }

    fn reads(&mut self, name: &str) -> Vec<Mail> {
        match self.call(name, AgentCommand::Read { most: 50 }).unwrap() {
            AgentReply::Inbox { mails, .. } => mails,
            other => panic!("expected an inbox, found {other:?}"),
        }
    }

    /// What was told to go beside that session's work, each order once.
    fn beside(&self, name: &str) -> Vec<(MailId, String)> {
        let session = self.id(name);
        let mut seen = Vec::new();
        let mut texts = Vec::new();
        for (id, order) in &self.orders {
            if let OrderKind::Mail { mail, text } = &order.what
                && *id == session
                && !seen.contains(&order.id)
            {
                seen.push(order.id);
                texts.push((*mail, text.clone()));
            }
        }
        texts
    }

    /// A person gives it something to do, and it does it.
    fn works(&mut self, name: &str) {
        self.writes(&format!("[{name}] go on"));
        self.takes(name);
        self.doing(name, Doing::Working);
    }

    fn takes_beside(&mut self, name: &str, mail: MailId) {
        self.report(name, AgentEvent::MailTaken { mail });
    }

    fn gives_back(&mut self, name: &str, mail: MailId) {
        self.report(name, AgentEvent::MailReturned { mail });
    }

    /// Whatever goes beside its work in this turn comes back.
    fn takes_nothing_beside(&mut self, name: &str) {
        let session = self.id(name);
        self.state.mail_lately.takes_nothing.insert(session);
    }

    /// The prompt it was handed last does not go in.
    pub(in crate::decide::tests) fn refuses(&mut self, name: &str, why: RefusedPrompt) {
        let session = self.id(name);
        let handed = self.orders.iter().rev().find_map(|(id, order)| match &order.what {
            OrderKind::Prompt { prompt, .. } if *id == session => Some(*prompt),
            _ => None,
        });
        let prompt = handed.expect("a prompt was handed over");
        self.report(name, AgentEvent::PromptRefused { prompt, why });
    }

    /// `child` was started by `parent`, at that depth.
    fn is_child(&mut self, child: &str, parent: &str, depth: u32) {
        let by = Principal::Session { session: self.id(parent) };
        let spawn = Spawn {
            root: by.clone(),
            by,
            depth,
            micro_usd: 1,
            tokens: 1,
            key: None,
            over_budget: false,
            renewed: 0,
        };
        self.change(child, |s| s.spawn = Some(spawn));
    }

    /// A program outside of every session, with its token.
    fn lets_in(&mut self, name: &str) -> crate::caller::TokenHash {
        let hash = super::world::token(name);
        let add = crate::command::Command::AddToken {
            name: name.into(),
            hash: hash.clone(),
            scopes: crate::caller::TokenScope::ALL.into(),
        };
        self.ask(add).unwrap();
        hash
    }
}
