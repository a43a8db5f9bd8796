//! What senders hear of what happens next, and what people see of messages.

use super::offer::{Until, Way};
use crate::{
    bridge::{Body, Part, Post},
    decide::Work,
    delivery::Rank,
    id::{HumanId, SessionId},
    mail::{Recipient, Sender},
    ringing::Kind,
    session::Life,
    text::{self, Rich, Style},
};

/// Messages waiting for one session of which each is a line in its thread; of a longer pile people
/// see that it is there.
const SHOWN: usize = 20;

impl Work<'_> {
    /// What happens next to a message to that recipient.
    pub(super) fn next_words(&self, to: &Recipient, people: &[HumanId]) -> String {
        match to {
            Recipient::Humans => {
                let names: Vec<_> = people.iter().map(|human| self.state.name_of(human)).collect();
                let whom = if names.is_empty() { "the people".into() } else { names.join(", ") };
                format!(
                    "it stands in the thread of your session for {whom}; it does not ring, so ask with ask_human what you need to know"
                )
            }
            Recipient::Client { name, .. } => {
                format!("queued: {name} reads it when it asks for it")
            }
            Recipient::Session { session, name } => {
                let ahead = self.state.mail_of(*session).count();
                let words = self.session_words(*session, name.as_str());
                match ahead {
                    0 => words,
                    1 => format!("{words}, after 1 that waits already"),
                    ahead => format!("{words}, after {ahead} that wait already"),
                }
            }
        }
    }

    fn session_words(&self, id: SessionId, name: &str) -> String {
        let Some(session) = self.state.sessions.get(&id) else {
            return format!("queued: {name} is not known here any more");
        };
        match self.way_to(session) {
            Way::Prompt => format!("{name} is idle and reads it now"),
            Way::Beside => format!("{name} works: it gets it beside its next tool result"),
            Way::Waits(until) => {
                let gone = match session.life {
                    Life::Lost { .. } => "stopped unexpectedly",
                    Life::Starting { .. }
                    | Life::Idle { .. }
                    | Life::Working { .. }
                    | Life::NeedsDesk { .. } => "is about to end",
                    Life::Ended { .. } => "has ended",
                };
                let why = match until {
                    Until::AccountWorks | Until::Paid => {
                        let kept = self.kept_words(session.id, "/");
                        let kept = kept.unwrap_or_else(|| "it goes on with a turn first".into());
                        format!("reads it later: {kept}")
                    }
                    Until::Started => "starts; it reads it then".into(),
                    Until::Stirred => {
                        "is past what was set aside for it; it reads it in its next turn".into()
                    }
                    Until::Answered => "waits for a person; it reads it after that".into(),
                    Until::PeopleFirst => "first reads what a person wrote".into(),
                    Until::TurnEnds => "works; it reads it after this turn".into(),
                    Until::AtTheDesk => "needs a person at its desk; it reads it after that".into(),
                    Until::Resumed => format!("{gone}; it reads it when it is resumed"),
                    Until::Never => "gets no mail".into(),
                };
                format!("queued: {name} {why}")
            }
        }
    }

    /// People see what goes to them whole, in the sender's thread, and what goes between sessions as
    /// a line in the recipient's.
    pub(super) fn show_people(
        &mut self,
        from: &Sender,
        to: &Recipient,
        text: &str,
        people: &[HumanId],
    ) {
        match (to, from) {
            (Recipient::Session { session, name }, _) => {
                if self.state.mail_of(*session).count() < SHOWN {
                    let whose = format!("{} to {name}: ", from.spoken());
                    self.show_foreign_words(*session, &whose, text);
                }
            }
            (Recipient::Humans, Sender::Session { session, .. }) => {
                self.say_to_people(*session, text, people);
            }
            (Recipient::Humans, Sender::Client { .. } | Sender::Human { .. } | Sender::Vigie)
            | (Recipient::Client { .. }, _) => {}
        }
    }

    /// An agent's words, marked as such from the first to the last. Silent: what rings is for the
    /// code to say.
    fn say_to_people(&mut self, id: SessionId, text: &str, people: &[HumanId]) {
        let Some(session) = self.state.sessions.get(&id) else { return };
        let name = session.name.clone();
        self.said(id, text);
        let Some(level) = self.loudness(Kind::Words).level() else { return };
        let whom: Vec<_> = people.iter().map(|human| self.state.name_of(human)).collect();
        let mut rich = Rich::plain(match whom.as_slice() {
            [] => format!("{name} says:\n"),
            whom => format!("{name} says to {}:\n", whom.join(", ")),
        });
        let shown = text::reveal(&text::mask(text.trim()).text).text.text;
        rich.push(&shown, Some(Style::Quote));
        let stem = format!("{name}-{}", self.now.format("%Y%m%d-%H%M%S"));
        for chat in self.state.hearing() {
            let limits = self.state.limits_of(&chat.bridge, &chat.chat);
            let fitted = text::fit(&rich, &limits, &stem);
            let of = fitted.parts.len();
            for (index, text) in fitted.parts.into_iter().enumerate() {
                let part = (of > 1).then_some(Part { number: index + 1, of });
                let body = Body::Text { text, part, buttons: vec![] };
                let post = Post { from: Some(name.clone()), level, body };
                self.post_in(&chat, id, post, Rank::Note);
            }
            if let Some(document) = fitted.document {
                self.post_document(&chat, id, document, level, Rank::Note);
            }
        }
    }
}
