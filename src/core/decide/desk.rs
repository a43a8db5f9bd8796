//! What people do from the desk to what is on its way: words that wait are changed or taken back, what did
//! not arrive is said again, and who typed into a terminal is written down.

use serde_json::json;

use super::{About, Work};
use crate::{
    bridge::{Attached, FilePost, Got, Mark, Place},
    command::{Refusal, Reply, Typed},
    delivery::{DeliveryState, Tries},
    id::{HumanId, SessionId},
    prompt::{Prompt, PromptState},
    state::{ChatState, Role, Row},
    text,
};

impl Work<'_> {
    /// Words that wait become others. Whoever wrote them may, and owners.
    pub(super) fn edit_prompt(
        &mut self,
        id: &str,
        words: &str,
        by: &HumanId,
    ) -> Result<Reply, Refusal> {
        let prompt = self.waiting_prompt(id, by)?;
        if text::prompt_text(words).trim().is_empty() {
            return Err(Refusal::EmptyText);
        }
        if let Some(message) = &prompt.message {
            let words = Some(self.at_the_desk("changed", by));
            self.mark(message, Mark::Stored { targets: message.targets.clone(), words });
        }
        self.journal("prompt_edited", about(&prompt, by), json!({ "prompt": prompt.id }));
        let words_now = format!("{} gets the new words.", self.session_name(prompt.session));
        self.put(Row::Prompt(Prompt { text: words.into(), ..prompt }));
        Ok(Reply::Done { words: words_now })
    }

    /// Words that wait go nowhere.
    pub(super) fn withdraw_prompt(&mut self, id: &str, by: &HumanId) -> Result<Reply, Refusal> {
        let prompt = self.waiting_prompt(id, by)?;
        let why = self.at_the_desk("taken back", by);
        if let Some(message) = &prompt.message {
            self.mark(message, Mark::NotTaken { why: why.clone() });
        }
        self.journal("prompt_withdrawn", about(&prompt, by), json!({ "prompt": prompt.id }));
        let words = format!("{} will not get it.", self.session_name(prompt.session));
        let state = PromptState::Refused { why, at: self.now };
        self.put(Row::Prompt(Prompt { state, ..prompt }));
        Ok(Reply::Done { words })
    }

    /// A person's words that nobody has yet, for someone who may change them.
    fn waiting_prompt(&self, id: &str, by: &HumanId) -> Result<Prompt, Refusal> {
        let prompt = self.state.prompts.values().find(|prompt| prompt.id.to_string() == id);
        let prompt = prompt
            .filter(|prompt| matches!(prompt.state, PromptState::Queued))
            .ok_or(Refusal::NotQueued)?;
        let role = self.state.rules.people.get(by).map(|person| person.role);
        match &prompt.by {
            Some(author) if author == by || role == Some(Role::Owner) => Ok(prompt.clone()),
            Some(author) => Err(Refusal::NotTheirs { author: self.state.name_of(author) }),
            None => Err(Refusal::NotAPersons),
        }
    }

    fn at_the_desk(&self, deed: &str, by: &HumanId) -> String {
        format!("{deed} at the desk by {}, before it went in", self.state.name_of(by))
    }

    /// What was given up is tried once more, as often as anything new.
    pub(super) fn retry_delivery(&mut self, id: &str, by: &HumanId) -> Result<Reply, Refusal> {
        let found = self.state.missed.iter().find(|missed| missed.id.to_string() == id).cloned();
        let Some(mut delivery) = found else { return Err(Refusal::NoDelivery { id: id.into() }) };
        let to = &delivery.to;
        let row = self.state.chats.get(&(to.bridge.clone(), to.chat.clone()));
        let left = row.is_some_and(|row| matches!(row.state, ChatState::Left));
        if left || self.state.chat_of(&to.bridge, &to.chat).is_none() {
            return Err(Refusal::NotOurChat { bridge: to.bridge.clone() });
        }
        let about = About { session: delivery.session, gate: None, human: Some(by.clone()) };
        self.journal("delivery_retried", about, json!({ "delivery": delivery.id }));
        delivery.state = DeliveryState::Due { not_before: None, tries: Tries::default() };
        let words = format!("It goes to {} once more.", delivery.to.bridge);
        self.put(Row::Delivery(delivery));
        Ok(Reply::Done { words })
    }

    /// Written down before it is typed: what is typed can answer what an agent asks.
    pub(super) fn note_typed(
        &mut self,
        session: SessionId,
        typed: &Typed,
        by: &HumanId,
    ) -> Result<Reply, Refusal> {
        let Some(known) = self.state.sessions.get(&session) else {
            return Err(Refusal::NoSession { name: session.to_string(), near: Vec::new() });
        };
        if !known.life.is_live() {
            return Err(Refusal::NotLive { name: known.name.clone() });
        }
        let about = About { session: Some(session), gate: None, human: Some(by.clone()) };
        self.journal("keys_typed", about, json!(typed));
        Ok(Reply::Done { words: String::new() })
    }

    /// Files that came with somebody's words.
    pub(super) fn note_received(&mut self, session: SessionId, files: &[Attached], by: &HumanId) {
        for file in files {
            if let Got::File { bytes, .. } = &file.got {
                let about = About { session: Some(session), gate: None, human: Some(by.clone()) };
                let detail = json!({ "name": file.name, "bytes": bytes });
                self.journal("file_received", about, detail);
            }
        }
    }

    /// A file of the session that goes to people.
    pub(super) fn note_sent(&mut self, session: SessionId, place: &Place, file: &FilePost) {
        let about = About { session: Some(session), ..About::default() };
        let detail = json!({ "name": file.name, "about": file.about, "to": place.bridge });
        self.journal("file_sent", about, detail);
    }
}

fn about(prompt: &Prompt, by: &HumanId) -> About {
    About { session: Some(prompt.session), gate: None, human: Some(by.clone()) }
}
