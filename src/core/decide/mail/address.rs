//! Whom a message is for.

use crate::{
    caller::{Isolated, Principal},
    decide::{Work, requests::NEAR},
    id::{HumanId, SessionId, SessionName},
    mail::{NotSent, Recipient},
    nearest::nearest,
    session::Session,
};

/// Everybody an address stands for, whoever they are.
const WORDS: [&str; 5] = ["parent", "children", "lord", "human", "all"];

/// Whom a letter reaches.
#[derive(Debug, Default)]
pub(super) struct Addressees {
    /// In the order they were named, each once.
    pub all: Vec<Addressee>,
    /// Who of a group gets none, and why.
    pub left_out: Vec<NotSent>,
    /// People who were meant by name; all of them see it.
    pub people: Vec<HumanId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Addressee {
    pub to: Recipient,
    pub named: Named,
}

/// Whether somebody was meant by name, or is one of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Yes,
    InAGroup,
}

impl Addressees {
    fn add(&mut self, to: Recipient, named: Named) {
        match self.all.iter_mut().find(|other| other.to.is_same(&to)) {
            Some(other) if named == Named::Yes => other.named = Named::Yes,
            Some(_) => {}
            None => self.all.push(Addressee { to, named }),
        }
    }
}

impl Work<'_> {
    /// Everybody these addresses stand for; several may stand in one, with commas.
    pub(super) fn addressees(
        &self,
        caller: &Principal,
        to: &[String],
    ) -> Result<Addressees, NotSent> {
        let mut found = Addressees::default();
        let each = to.iter().flat_map(|to| to.split(','));
        for address in each.map(|to| to.trim().trim_matches(['[', ']']).trim()) {
            if !address.is_empty() {
                self.address_one(caller, address, &mut found)?;
            }
        }
        if found.all.is_empty() { Err(NotSent::NoAddress) } else { Ok(found) }
    }

    fn address_one(
        &self,
        caller: &Principal,
        address: &str,
        found: &mut Addressees,
    ) -> Result<(), NotSent> {
        let folded = address.to_ascii_lowercase();
        match folded.split_once(':') {
            Some(("human", human)) => {
                found.people.push(self.human_named(address, human.trim())?);
                found.add(Recipient::Humans, Named::Yes);
                return Ok(());
            }
            Some(("project", name)) => {
                let project = self.project(Some(name.trim())).map_err(|_| {
                    let projects = self.state.rules.projects.iter();
                    let names: Vec<_> = projects.map(|p| format!("project:{}", p.name)).collect();
                    nobody(address, &names)
                })?;
                return self.group(caller, address, found, |s| s.project == project.name);
            }
            Some(("client", name)) => {
                found.add(self.client_named(address, name.trim())?, Named::Yes);
                return Ok(());
            }
            Some(_) | None => {}
        }
        match folded.as_str() {
            "human" => found.add(Recipient::Humans, Named::Yes),
            "parent" => found.add(self.parent_of(caller, address)?, Named::Yes),
            "lord" => {
                let lord = self.state.lord().ok_or_else(|| nobody(address, &[]))?;
                found.add(self.mailbox_of(caller, lord, address)?, Named::Yes);
            }
            "children" => {
                let own = |s: &Session| s.spawn.as_ref().is_some_and(|spawn| spawn.by == *caller);
                return self.group(caller, address, found, own);
            }
            "all" => return self.group(caller, address, found, |_| true),
            group if group.ends_with('*') => {
                let beginning = group.trim_end_matches('*').to_owned();
                let begins = |s: &Session| s.name.folded().starts_with(&beginning);
                return self.group(caller, address, found, begins);
            }
            _ => found.add(self.session_at(caller, address)?, Named::Yes),
        }
        Ok(())
    }

    /// A session by its name or id.
    fn session_at(&self, caller: &Principal, address: &str) -> Result<Recipient, NotSent> {
        let by_id = address.parse::<SessionId>().ok();
        let session = match by_id {
            Some(id) => self.state.sessions.get(&id),
            None => self.state.session_named(address),
        };
        let session = session.ok_or_else(|| self.nobody_near(caller, address))?;
        let recipient = self.mailbox_of(caller, session, address)?;
        self.refuse_if_succeeded(caller, session.id, &session.name)?;
        Ok(recipient)
    }

    /// What is for one run of a name never goes to another.
    pub(super) fn refuse_if_succeeded(
        &self,
        caller: &Principal,
        id: SessionId,
        name: &SessionName,
    ) -> Result<(), NotSent> {
        match self.state.session_named(name.as_str()).filter(|other| other.id != id) {
            Some(other) if self.is_visible(caller, other) => {
                Err(NotSent::Successor { name: name.clone(), successor: other.id })
            }
            Some(_) => Err(nobody(name.as_str(), &[])),
            None => Ok(()),
        }
    }

    /// Where a session gets its mail, as far as the caller may know of it.
    fn mailbox_of(
        &self,
        caller: &Principal,
        session: &Session,
        address: &str,
    ) -> Result<Recipient, NotSent> {
        if *caller == (Principal::Session { session: session.id }) {
            return Err(NotSent::Yourself(address.into()));
        }
        if !self.is_visible(caller, session) {
            return Err(self.nobody_near(caller, address));
        }
        self.has_mailbox(session)?;
        Ok(Recipient::Session { session: session.id, name: session.name.clone() })
    }

    /// Whether others can write to it at all.
    fn has_mailbox(&self, session: &Session) -> Result<(), NotSent> {
        let name = || session.name.clone();
        if session.isolated == Isolated::Yes {
            Err(NotSent::NoMailbox { name: name(), why: "it is isolated" })
        } else if self.state.rules.without_mail.contains(&session.agent) {
            let why = "its agent runs whatever is typed there";
            Err(NotSent::NoMailbox { name: name(), why })
        } else {
            Ok(())
        }
    }

    /// Those that run, without the caller; who cannot get mail is left out, and that is said.
    fn group(
        &self,
        caller: &Principal,
        address: &str,
        found: &mut Addressees,
        is_in: impl Fn(&Session) -> bool,
    ) -> Result<(), NotSent> {
        let own = |s: &Session| *caller == (Principal::Session { session: s.id });
        let members = self.state.live().filter(|s| is_in(s) && !own(s));
        let mut nobody_there = Err(nobody(address, &[]));
        for session in members.filter(|s| self.is_visible(caller, s)) {
            match self.has_mailbox(session) {
                Ok(()) => {
                    let to = Recipient::Session { session: session.id, name: session.name.clone() };
                    found.add(to, Named::InAGroup);
                    nobody_there = Ok(());
                }
                Err(why) => {
                    if !found.left_out.contains(&why) {
                        found.left_out.push(why.clone());
                    }
                    nobody_there = nobody_there.map_err(|_| why);
                }
            }
        }
        nobody_there
    }

    /// Whoever started the caller. What a person started has the people for a parent.
    fn parent_of(&self, caller: &Principal, address: &str) -> Result<Recipient, NotSent> {
        let Principal::Session { session } = caller else { return Err(nobody(address, &[])) };
        let spawn = self.state.sessions.get(session).and_then(|s| s.spawn.as_ref());
        match spawn.map(|spawn| &spawn.by) {
            None => Ok(Recipient::Humans),
            Some(Principal::Client { token }) => {
                let client = self.state.tokens.get(token).filter(|token| token.revoked.is_none());
                let name = client.ok_or_else(|| nobody(address, &[]))?.name.clone();
                Ok(Recipient::Client { token: *token, name })
            }
            Some(Principal::Session { session }) => {
                let parent = self.state.sessions.get(session);
                let parent = parent.ok_or_else(|| nobody(address, &[]))?;
                let recipient = self.mailbox_of(caller, parent, address)?;
                self.refuse_if_succeeded(caller, parent.id, &parent.name)?;
                Ok(recipient)
            }
        }
    }

    fn client_named(&self, address: &str, name: &str) -> Result<Recipient, NotSent> {
        let valid = || self.state.tokens.values().filter(|token| token.revoked.is_none());
        let client = valid().find(|token| token.name.eq_ignore_ascii_case(name));
        let client = client.ok_or_else(|| {
            let names: Vec<_> = valid().map(|token| format!("client:{}", token.name)).collect();
            nobody(address, &names)
        })?;
        Ok(Recipient::Client { token: client.id, name: client.name.clone() })
    }

    fn human_named(&self, address: &str, name: &str) -> Result<HumanId, NotSent> {
        let mut people = self.state.rules.people.keys();
        let human = people.find(|human| human.as_str().eq_ignore_ascii_case(name));
        human.cloned().ok_or_else(|| {
            let people = self.state.rules.people.keys();
            let mut names: Vec<_> = people.map(|human| format!("human:{human}")).collect();
            names.sort_unstable();
            nobody(address, &names)
        })
    }

    /// With the near misses among those the caller may know of.
    fn nobody_near(&self, caller: &Principal, address: &str) -> NotSent {
        let own = |s: &Session| *caller == (Principal::Session { session: s.id });
        let writable =
            |s: &&Session| !own(s) && self.is_visible(caller, s) && self.has_mailbox(s).is_ok();
        let names = self.state.live().filter(writable).map(|s| s.name.to_string());
        let names: Vec<_> = names.chain(WORDS.map(str::to_owned)).collect();
        nobody(address, &names)
    }
}

fn nobody(address: &str, names: &[String]) -> NotSent {
    let near = nearest(address, names.iter().map(String::as_str), NEAR);
    NotSent::Nobody { address: address.into(), near: near.into_iter().map(str::to_owned).collect() }
}
