//! Who asks, and what they may.

use std::sync::Arc;
use vigie_core::id::HumanId;

use super::fault::Fault;
use crate::config::{Config, Human, OnOff, Role};

/// A person who was let in; every request that reaches the API carries one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub human: HumanId,
    pub name: String,
    pub role: Role,
    pub phone: OnOff,
    pub way: Way,
}

/// How they came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Over the socket, as the same user on the same machine.
    Desk,
    /// Over TCP, with this login.
    Login(String),
    /// A program, with a token of this name: it reads and does nothing else.
    Token(String),
}

impl Caller {
    /// As it stands on cards and in the journal.
    pub(super) fn via(&self) -> &'static str {
        match self.way {
            Way::Desk => "the command line",
            Way::Login(_) => "the web",
            Way::Token(_) => "a program",
        }
    }

    /// # Errors
    /// A sentence for who may less than `role`.
    pub(super) fn needs(&self, role: Role) -> Result<(), Fault> {
        if self.role >= role { Ok(()) } else { Err(Fault::role(&self.name, role)) }
    }

    /// Some things are done at the desk only: letting people in, stopping Vigie.
    pub(super) fn needs_desk(&self) -> Result<(), Fault> {
        match self.way {
            Way::Desk => Ok(()),
            Way::Login(_) | Way::Token(_) => Err(Fault::desk_only()),
        }
    }
}

/// The people of the configuration.
#[derive(Clone, Debug)]
pub(super) struct People(Arc<Vec<Human>>);

impl People {
    pub(super) fn new(config: &Config) -> Self {
        Self(Arc::new(config.humans.clone()))
    }

    pub(super) fn caller(&self, id: &HumanId, way: Way) -> Option<Caller> {
        let human = self.0.iter().find(|human| human.id == *id)?;
        Some(caller(human, way))
    }

    pub(super) fn knows(&self, id: &HumanId) -> bool {
        self.0.iter().any(|human| human.id == *id)
    }

    /// The desk is its first owner.
    pub(super) fn desk(&self) -> Caller {
        let owner = self.0.iter().find(|human| human.role == Role::Owner);
        caller(owner.expect("the configuration has an owner"), Way::Desk)
    }

    /// What somebody is called; of who is not in the configuration any more, the id.
    pub(super) fn name(&self, id: &str) -> String {
        let human = self.0.iter().find(|human| human.id.as_str() == id);
        human.map_or_else(|| id.to_owned(), |human| human.name.clone())
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.0.iter().map(|human| human.id.to_string()).collect()
    }
}

/// A program that may look at everything, and at nothing but that.
pub(super) fn program(name: &str) -> Caller {
    Caller {
        human: HumanId::new(format!("token {name}")),
        name: name.into(),
        role: Role::Viewer,
        phone: OnOff::Off,
        way: Way::Token(name.into()),
    }
}

fn caller(human: &Human, way: Way) -> Caller {
    Caller {
        human: human.id.clone(),
        name: human.name.clone(),
        role: human.role,
        phone: human.phone,
        way,
    }
}
