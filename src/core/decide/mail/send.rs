//! A letter: looked at whole, then taken in for everybody it is for, or not at all.

use serde_json::json;

use super::{
    LONGEST, UNREAD,
    address::{Addressee, Addressees, Named},
};
use crate::{
    caller::{
        AgentFacts, AgentRefusal, AgentReply, Confirmed, Isolated, Letter, Principal, SentView,
    },
    decide::{About, Work},
    id::{GateId, HumanId, MailId},
    mail::{Keyed, Mail, MailState, NotSent, Recipient, Sender},
    session::Stirred,
    state::Row,
    text,
};

/// Agents that are reached without having to be sure: each takes a turn for it.
const UNCONFIRMED: usize = 5;

/// Names that stand in the question whether one is sure.
const NAMED: usize = 40;

/// Longest key of a sender, in bytes: a UUID with words around it.
const LONGEST_KEY: usize = 128;

/// Keys remembered beside the database; far more than a group commit holds.
const KEYS: usize = 2048;

/// A message before it has an id and a place in the line.
pub(super) struct Draft {
    pub from: Sender,
    pub to: Recipient,
    pub text: String,
    pub stirs: Stirred,
    pub reply_to: Option<MailId>,
    pub thread: Option<MailId>,
    pub batch: Option<MailId>,
    pub key: Option<String>,
    pub answers: Option<GateId>,
    pub state: MailState,
}

impl Work<'_> {
    pub(in crate::decide) fn send_mail(
        &mut self,
        caller: &Principal,
        letter: &Letter,
        facts: &AgentFacts,
    ) -> Result<AgentReply, AgentRefusal> {
        let from = self.sender(caller)?;
        if let Some(sent) = self.sent_under_the_same_key(&from, letter, facts)? {
            return Ok(sent);
        }
        check_text(&letter.text)?;
        let answered = answered(caller, letter, facts)?;
        let addressees = self.addressees_of(caller, letter, answered.as_ref())?;
        if matches!(caller, Principal::Client { .. })
            && addressees.all.iter().any(|one| one.to == Recipient::Humans)
        {
            return Err(AgentRefusal::OnlySessions("write to the people"));
        }
        refuse_unconfirmed(letter, &addressees)?;
        let stirs = self.stirs(&from);
        let stirs = match &answered {
            Some(answered) if self.stirs_on(caller, answered) => {
                stirs.with(Stirred { hops: answered.hops + 1, depth: answered.depth })
            }
            Some(_) | None => stirs,
        };
        let Addressees { all, mut left_out, people } = addressees;
        let mut reached = Vec::new();
        for Addressee { to, named } in all {
            match (self.refuse_to(&from, &to, stirs.hops), named) {
                (Ok(()), _) => reached.push(to),
                (Err(why), Named::Yes) => return Err(why.into()),
                (Err(why), Named::InAGroup) => left_out.push(why),
            }
        }
        if reached.is_empty() {
            let why = left_out.into_iter().next().unwrap_or(NotSent::NoAddress);
            return Err(why.into());
        }
        let mails = self.take_in(&from, letter, answered.as_ref(), stirs, reached, &people);
        Ok(AgentReply::Sent { mails, left_out: left_out.iter().map(ToString::to_string).collect() })
    }

    /// Who writes, from the token alone.
    fn sender(&self, caller: &Principal) -> Result<Sender, NotSent> {
        match caller {
            Principal::Session { session } => {
                let own = &self.state.sessions[session];
                if own.isolated == Isolated::Yes {
                    return Err(NotSent::Isolated);
                }
                Ok(Sender::Session { session: *session, name: own.name.clone() })
            }
            Principal::Client { token } => {
                Ok(Sender::Client { token: *token, name: self.principal_name(caller) })
            }
        }
    }

    /// What was sent under a key is answered with as it was: nothing goes out again.
    fn sent_under_the_same_key(
        &self,
        from: &Sender,
        letter: &Letter,
        facts: &AgentFacts,
    ) -> Result<Option<AgentReply>, NotSent> {
        let Some(key) = &letter.key else { return Ok(None) };
        if key.len() > LONGEST_KEY {
            return Err(NotSent::LongKey { most: LONGEST_KEY });
        }
        let sender = from.address();
        let keyed = &self.state.mail_lately.keyed;
        let lately = keyed.iter().find(|keyed| keyed.sender == sender && keyed.key == *key);
        let sent: Vec<_> = match lately {
            Some(keyed) => keyed.sent.clone(),
            None => facts.same_key.iter().map(|mail| (mail.id, mail.to.clone())).collect(),
        };
        let view = |(id, to): (MailId, Recipient)| SentView {
            id,
            to: to.spoken(),
            words: "sent before, under this key; nothing was sent again".into(),
        };
        let mails: Vec<_> = sent.into_iter().map(view).collect();
        Ok((!mails.is_empty()).then_some(AgentReply::Sent { mails, left_out: vec![] }))
    }

    fn addressees_of(
        &self,
        caller: &Principal,
        letter: &Letter,
        answered: Option<&Mail>,
    ) -> Result<Addressees, NotSent> {
        let Some(answered) = answered else { return self.addressees(caller, &letter.to) };
        let other = other_of(caller, answered);
        let still_there = match &other {
            Some(Recipient::Session { session, name }) => {
                self.refuse_if_succeeded(caller, *session, name)
            }
            Some(Recipient::Client { .. } | Recipient::Humans) | None => Ok(()),
        };
        if letter.to.iter().all(|to| to.trim().is_empty()) {
            still_there?;
            let address = match &other {
                Some(Recipient::Session { session, .. }) => session.to_string(),
                Some(to @ (Recipient::Client { .. } | Recipient::Humans)) => to.spoken(),
                None => answered.from.spoken(),
            };
            return self.addressees(caller, &[address]);
        }
        let addressees = self.addressees(caller, &letter.to)?;
        // The answer is for whoever wrote, never for whoever has that name by now.
        let same_name = |one: &Addressee| {
            other.as_ref().is_some_and(|to| one.to.spoken().eq_ignore_ascii_case(&to.spoken()))
        };
        if addressees.all.iter().any(same_name) {
            still_there?;
        }
        Ok(addressees)
    }

    fn refuse_to(&mut self, from: &Sender, to: &Recipient, hops: u32) -> Result<(), NotSent> {
        let waiting = self.state.mails.values().filter(|mail| mail.to.is_same(to)).count();
        if waiting >= UNREAD {
            return Err(NotSent::Full { name: to.spoken(), waiting });
        }
        self.refuse_what_goes_on_for_ever(from, to, hops)
    }

    fn take_in(
        &mut self,
        from: &Sender,
        letter: &Letter,
        answered: Option<&Mail>,
        stirs: Stirred,
        reached: Vec<Recipient>,
        people: &[HumanId],
    ) -> Vec<SentView> {
        let mut sent = Vec::new();
        let mut batch = None;
        for to in reached {
            let words = self.next_words(&to, people);
            self.show_people(from, &to, &letter.text, people);
            self.count_message(from, &to);
            let state = match to {
                // They have it once this is written: it stands in their chats.
                Recipient::Humans => MailState::Read { at: self.now },
                Recipient::Session { .. } | Recipient::Client { .. } => {
                    MailState::Waiting { not_before: None }
                }
            };
            let draft = Draft {
                from: from.clone(),
                to: to.clone(),
                text: letter.text.clone(),
                stirs,
                reply_to: letter.reply_to,
                thread: answered.map(|mail| mail.thread).or(batch),
                batch,
                key: letter.key.clone(),
                answers: None,
                state,
            };
            let id = self.post_mail(draft);
            batch = batch.or(Some(id));
            sent.push((id, to, words));
        }
        if let Some(key) = letter.key.clone() {
            let keyed = &mut self.state.mail_lately.keyed;
            let ids = sent.iter().map(|(id, to, _)| (*id, to.clone())).collect();
            keyed.push_back(Keyed { sender: from.address(), key, sent: ids });
            if keyed.len() > KEYS {
                keyed.pop_front();
            }
        }
        let view = |(id, to, words): (MailId, Recipient, String)| {
            let to = to.spoken();
            SentView { id, to, words }
        };
        sent.into_iter().map(view).collect()
    }

    /// Writes a message down, at the end of its recipient's line.
    pub(super) fn post_mail(&mut self, draft: Draft) -> MailId {
        let id = self.ids.make(MailId::from_parts);
        let number = self.state.next_mail;
        self.state.next_mail += 1;
        let mail = Mail {
            id,
            number,
            from: draft.from,
            to: draft.to,
            thread: draft.thread.unwrap_or(id),
            reply_to: draft.reply_to,
            batch: draft.batch.unwrap_or(id),
            text: draft.text,
            key: draft.key,
            sent: self.now,
            hops: draft.stirs.hops,
            depth: draft.stirs.depth,
            answers: draft.answers,
            tries: 0,
            state: draft.state,
        };
        self.journal_mail("mail_sent", &mail);
        self.put(Row::Mail(mail));
        id
    }

    /// A line about a message, filed under its recipient.
    pub(super) fn journal_mail(&mut self, kind: &str, mail: &Mail) {
        let about = About { session: mail.to.session(), ..About::default() };
        let detail =
            json!({ "mail": mail.id, "from": mail.from.address(), "to": mail.to.address() });
        self.journal(kind, about, detail);
    }
}

fn check_text(text: &str) -> Result<(), NotSent> {
    if text.len() > LONGEST {
        return Err(NotSent::TooLong { length: text.len(), most: LONGEST });
    }
    if text::prompt_text(text).trim().is_empty() {
        return Err(NotSent::Empty);
    }
    Ok(())
}

/// The message that is answered: one that the caller got or sent.
fn answered(
    caller: &Principal,
    letter: &Letter,
    facts: &AgentFacts,
) -> Result<Option<Mail>, NotSent> {
    let Some(id) = letter.reply_to else { return Ok(None) };
    let own = caller.address();
    let found = facts.answered.clone().filter(|mail| mail.id == id);
    let found = found.filter(|mail| mail.from.address() == own || mail.to.address() == own);
    found.map(Some).ok_or(NotSent::NoSuchMail(id))
}

fn refuse_unconfirmed(letter: &Letter, addressees: &Addressees) -> Result<(), NotSent> {
    let agents = addressees.all.iter().filter(|one| one.to.session().is_some());
    let agents: Vec<_> = agents.map(|one| one.to.spoken()).collect();
    if letter.confirmed == Confirmed::Yes || agents.len() <= UNCONFIRMED {
        return Ok(());
    }
    let mut names: Vec<_> = agents.iter().take(NAMED).cloned().collect();
    if agents.len() > NAMED {
        names.push(format!("and {} more", agents.len() - NAMED));
    }
    Err(NotSent::Unconfirmed { count: agents.len(), names: names.join(", ") })
}

/// The other one of a message; nobody, where Vigie itself wrote.
fn other_of(caller: &Principal, mail: &Mail) -> Option<Recipient> {
    if mail.from.address() == caller.address() {
        return Some(mail.to.clone());
    }
    match mail.from.clone() {
        Sender::Session { session, name } => Some(Recipient::Session { session, name }),
        Sender::Client { token, name } => Some(Recipient::Client { token, name }),
        Sender::Human { .. } => Some(Recipient::Humans),
        Sender::Vigie => None,
    }
}
