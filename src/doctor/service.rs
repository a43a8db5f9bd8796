//! What the running daemon knows of a chat service.

use std::path::Path;

use super::Finding;
use crate::web::{
    client::Client,
    shapes::{BridgeShape, ChatShape, PeopleShape, StatusShape},
};

/// What the running daemon knows of one chat service; nothing when none runs.
pub(super) struct Running {
    name: &'static str,
    pub(super) daemon: Option<StatusShape>,
    people: Option<PeopleShape>,
}

/// What to do, as that service calls it.
pub(super) struct Words {
    /// Where a chat takes nothing any more.
    pub(super) let_in_again: &'static str,
    /// Where nobody is heard.
    pub(super) let_in: &'static str,
}

impl Running {
    pub(super) async fn ask(name: &'static str, data: &Path) -> Self {
        let client = Client::new(data);
        let Ok(status) = client.get("/status").await else {
            return Self { name, daemon: None, people: None };
        };
        Self { name, daemon: Some(status), people: client.get("/people").await.ok() }
    }

    pub(super) fn bridge(&self) -> Option<&BridgeShape> {
        self.daemon.as_ref()?.bridges.iter().find(|bridge| bridge.name == self.name)
    }

    pub(super) fn chats(&self) -> impl Iterator<Item = &ChatShape> {
        let chats = self.people.iter().flat_map(|people| &people.chats);
        chats.filter(|chat| chat.bridge == self.name)
    }

    pub(super) fn findings(&self, words: &Words) -> Vec<Finding> {
        if self.daemon.is_none() {
            return Vec::new();
        }
        let Some(bridge) = self.bridge() else {
            let todo = "Start it anew: vigie down, then vigie up. Sessions go on.";
            return vec![Finding::fail(self.name, "the Vigie that runs does not know of it", todo)];
        };
        let mut findings = Vec::new();
        // What is wrong with a single chat stands with that chat below.
        let of_a_chat = |trouble: &&String| {
            let mut whys = self.chats().filter_map(|chat| chat.shut.as_deref());
            whys.any(|why| trouble.ends_with(why))
        };
        if let Some(trouble) = bridge.trouble.as_ref().filter(|trouble| !of_a_chat(trouble)) {
            let todo = "It says itself what to do; what should go out waits meanwhile.";
            findings.push(Finding::fail(self.name, trouble, todo));
        }
        findings.extend(self.nobody(words));
        let shut = self.chats().filter_map(|chat| Some((chat, chat.shut.as_ref()?)));
        findings.extend(shut.map(|(chat, why)| {
            let first = if chat.held {
                "It says itself what to do; what should arrive there waits"
            } else {
                words.let_in_again
            };
            let todo = format!(
                "{first}; if that chat is done with: vigie unpair {} {}",
                self.name, chat.chat
            );
            let words = format!("chat {} takes nothing: {why}", chat.chat);
            if chat.held {
                Finding::fail(self.name, words, todo)
            } else {
                Finding::warn(self.name, words, todo)
            }
        }));
        findings
    }

    fn nobody(&self, words: &Words) -> Option<Finding> {
        let people = self.people.as_ref()?;
        let heard = people.identities.iter().any(|each| each.bridge == self.name);
        (!heard).then(|| Finding::warn(self.name, "nobody is heard over it yet", words.let_in))
    }
}
