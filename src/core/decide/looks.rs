//! What people ask to see of a session: its screen, its changes, its conversation, a file.

use super::{
    Effect, LookAt, Looked, LookedForm, Work,
    heard::Message,
    outbox::{Draft, target_of},
    reports::screen_text,
    show,
};
use crate::{
    bridge::{Body, Document, FilePost, Level, Part, Place, Post},
    delivery::{Outgoing, Rank},
    id::SessionId,
    state::Role,
    text::{self, Rich, Style},
};

impl Work<'_> {
    pub(super) fn look(&mut self, message: &Message, id: SessionId, at: LookAt) {
        let role = self.state.rules.people.get(&message.human).map(|person| person.role);
        if matches!(at, LookAt::File { .. }) && role.is_none_or(|role| role < Role::Approver) {
            return self.say_here(message, "Only those who may approve may fetch files.");
        }
        let Some(session) = self.state.sessions.get(&id).cloned() else { return };
        let files = self.state.limits_of(&message.place.bridge, &message.place.chat).files;
        let place = message.place.clone();
        self.effect(Effect::Look { session: Box::new(session), at, files, place });
    }

    pub(super) fn looked(&mut self, id: SessionId, place: &Place, found: Looked) {
        match found {
            Looked::Screen { picture: Some(picture), .. } => self.post_file(id, place, picture),
            Looked::Screen { lines, picture: None } => {
                let mut text = Rich::plain("");
                text.push(&screen_text(&lines), Some(Style::Pre { language: None }));
                self.post_rich_to(id, place, &text, "screen");
            }
            Looked::Text { about, text, name, form } => {
                let masked = text::mask(&text).text;
                let language = match form {
                    LookedForm::Document => {
                        let name = format!("{name}.md");
                        let document = Document { name, text: masked, about };
                        return self.post_as(id, place, Body::Document(document));
                    }
                    LookedForm::Diff => Some("diff".into()),
                    LookedForm::Plain => None,
                };
                let mut rich = Rich::plain(format!("{about}\n"));
                rich.push(&text::reveal(&masked).text.text, Some(Style::Pre { language }));
                self.post_rich_to(id, place, &rich, &name);
            }
            Looked::File(file) => {
                self.note_sent(id, place, &file);
                self.post_file(id, place, file);
            }
            Looked::Nothing { why } => {
                let post = show::note(Level::Note, Rich::plain(why), vec![]);
                self.post_to_place(place, Some(id), post);
            }
        }
    }

    fn post_file(&mut self, id: SessionId, place: &Place, file: FilePost) {
        self.post_as(id, place, Body::File(file));
    }

    fn post_rich_to(&mut self, id: SessionId, place: &Place, rich: &Rich, name: &str) {
        let limits = self.state.limits_of(&place.bridge, &place.chat);
        let fitted = text::fit(rich, &limits, name);
        let of = fitted.parts.len();
        for (index, text) in fitted.parts.into_iter().enumerate() {
            let part = (of > 1).then_some(Part { number: index + 1, of });
            self.post_as(id, place, Body::Text { text, part, buttons: Vec::new() });
        }
        if let Some(document) = fitted.document {
            self.post_as(id, place, Body::Document(document));
        }
    }

    fn post_as(&mut self, id: SessionId, place: &Place, body: Body) {
        let from = self.state.sessions.get(&id).map(|session| session.name.clone());
        let post = Post { from, level: Level::Note, body };
        self.deliver(Draft {
            to: target_of(place),
            what: Outgoing::Post { post, reply_to: None },
            rank: Rank::Note,
            session: Some(id),
            newest: None,
            not_before: None,
        });
    }
}
