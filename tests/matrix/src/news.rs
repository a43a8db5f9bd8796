//! The server's news → what a person sees.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    Verification, html,
    view::{File, Kind, Membership, Message, Poll, Reaction, Room, Version, View},
};

const POLL: &str = "org.matrix.msc3381.poll";

/// A text of an event.
fn text(value: &Value) -> Option<String> {
    value.as_str().map(Into::into)
}

/// What is wrong with the texts of a message, if anything is.
fn ill_said(body: &str, html: Option<&str>) -> Option<String> {
    let html = html?;
    html::check(html).and_then(|()| html::says_the_same(body, html)).err()
}

/// The events of a part of the news.
fn events(part: &Value) -> impl Iterator<Item = &Value> {
    part["events"].as_array().into_iter().flatten()
}

impl View {
    /// Takes what the phone's program says it saw. `me` is the phone's person.
    pub(crate) fn take(&mut self, me: &str, seen: &Value) {
        match seen["saw"].as_str() {
            Some("news") => self.take_rooms(me, &seen["rooms"]),
            Some("opened") => {
                let room = seen["room"].as_str().unwrap_or_default();
                self.room(room).take_event(me, &seen["event"]);
            }
            Some("trouble") => self.trouble.extend(text(&seen["why"])),
            Some("verification") => {
                let name = text(&seen["verification"]).unwrap_or_default();
                self.verifications.entry(name).or_default().take(seen);
            }
            _ => self.trouble.push(format!("the phone's program says: {seen}")),
        }
        for room in self.rooms.values_mut() {
            self.defects.append(&mut room.defects);
        }
    }

    fn room(&mut self, id: &str) -> &mut Room {
        let room = self.rooms.entry(id.into()).or_default();
        room.id = id.into();
        room
    }

    fn take_rooms(&mut self, me: &str, rooms: &Value) {
        let of = |part: &str| rooms[part].as_object().into_iter().flatten();
        for (id, news) in of("invite") {
            let room = self.room(id);
            room.membership = Membership::Invited;
            events(&news["invite_state"]).for_each(|event| room.take_event(me, event));
        }
        for (id, news) in of("join").chain(of("leave")) {
            let room = self.room(id);
            events(&news["state"]).for_each(|event| room.take_event(me, event));
            events(&news["timeline"]).for_each(|event| room.take_event(me, event));
            events(&news["ephemeral"]).for_each(|event| room.take_passing(event));
        }
    }
}

impl Room {
    /// An event of the room, known or new.
    fn take_event(&mut self, me: &str, event: &Value) {
        if event["state_key"].is_string() {
            return self.take_state(me, event);
        }
        let content = &event["content"];
        let relation = &content["m.relates_to"];
        match event["type"].as_str().unwrap_or_default() {
            "m.room.message" if relation["rel_type"] == "m.replace" => self.take_edit(me, event),
            "m.reaction" => self.take_reaction(event),
            "m.room.redaction" => self.take_redaction(event),
            kind if kind.starts_with(POLL) || kind.starts_with("m.poll.") => {
                self.take_poll(me, event, kind.rsplit('.').next().unwrap_or_default());
            }
            _ => self.take_message(me, event),
        }
    }

    fn take_state(&mut self, me: &str, event: &Value) {
        let content = &event["content"];
        let key = event["state_key"].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "m.room.create" => self.is_space = content["type"] == "m.space",
            "m.room.name" => self.name = text(&content["name"]).filter(|name| !name.is_empty()),
            "m.room.topic" => self.topic = text(&content["topic"]),
            "m.room.encryption" => self.encrypted = true,
            "m.room.tombstone" => self.successor = text(&content["replacement_room"]),
            "m.space.child" if content["via"].is_array() => drop(self.children.insert(key.into())),
            "m.space.child" => drop(self.children.remove(key)),
            "m.room.member" => self.take_member(me, key, event),
            _ => {}
        }
    }

    fn take_member(&mut self, me: &str, who: &str, event: &Value) {
        let content = &event["content"];
        let membership = match content["membership"].as_str() {
            Some("invite") => Membership::Invited,
            Some("join") => Membership::Joined,
            _ => Membership::Left,
        };
        self.members.insert(who.into(), membership);
        if who == me {
            self.membership = membership;
            if membership == Membership::Invited {
                self.invited_by = text(&event["sender"]);
                self.is_direct = content["is_direct"] == true;
            }
        }
    }

    fn take_message(&mut self, me: &str, event: &Value) {
        let message = message(event);
        // The first word of a room is who made it, so it is known by now whether it is sealed.
        let bare = self.encrypted && !message.sealed && !message.redacted;
        if bare && message.sender != me && message.kind != Kind::Unreadable {
            self.defects.push(format!("not sealed, in a sealed room: {event}"));
        }
        let ill = ill_said(&message.body, message.html.as_deref()).filter(|_| message.sender != me);
        self.defects.extend(ill.map(|why| format!("{why}: {event}")));
        match self.messages.iter_mut().find(|known| known.id == message.id) {
            // Opened at last: reactions may have come before the key.
            Some(known) => {
                let reactions = std::mem::take(&mut known.reactions);
                *known = Message { reactions, ..message };
            }
            None => self.messages.push(message),
        }
    }

    fn take_edit(&mut self, me: &str, event: &Value) {
        // It may have been opened late: then it is no message of its own any more.
        let id = event["event_id"].as_str().unwrap_or_default();
        self.messages.retain(|message| message.id != id);
        if self.encrypted && event["sealed_by"].is_null() && event["sender"] != me {
            self.defects.push(format!("an edit that is not sealed, in a sealed room: {event}"));
        }
        let content = &event["content"];
        let target = content["m.relates_to"]["event_id"].as_str().unwrap_or_default();
        let sender = &event["sender"];
        let at = event["origin_server_ts"].as_u64().unwrap_or_default();
        let Some(known) = self.messages.iter_mut().find(|message| message.id == target) else {
            return self.defects.push(format!("an edit of what is not there: {event}"));
        };
        if *sender != known.sender {
            return self.defects.push(format!("an edit of somebody else's message: {event}"));
        }
        if known.redacted || at < known.edited_at {
            return;
        }
        let new = &content["m.new_content"];
        let version = Version {
            body: text(&new["body"]).unwrap_or_default(),
            html: text(&new["formatted_body"]),
        };
        let ill = ill_said(&version.body, version.html.as_deref()).filter(|_| sender != me);
        self.defects.extend(ill.map(|why| format!("{why}: {event}")));
        let old = Version { body: known.body.clone(), html: known.html.clone() };
        known.versions.push(old);
        (known.body, known.html, known.edited_at) = (version.body, version.html, at);
        known.kind = kind("m.room.message", new);
    }

    fn take_reaction(&mut self, event: &Value) {
        let relation = &event["content"]["m.relates_to"];
        let target = relation["event_id"].as_str().unwrap_or_default();
        let Some(message) = self.messages.iter_mut().find(|message| message.id == target) else {
            return;
        };
        let reaction = Reaction {
            id: text(&event["event_id"]).unwrap_or_default(),
            by: text(&event["sender"]).unwrap_or_default(),
            key: text(&relation["key"]).unwrap_or_default(),
        };
        if !reaction.key.is_empty() && !message.reactions.iter().any(|one| one.id == reaction.id) {
            message.reactions.push(reaction);
        }
    }

    fn take_redaction(&mut self, event: &Value) {
        // Since version 11 of rooms it stands in the content.
        let target = event["content"]["redacts"].as_str().or(event["redacts"].as_str());
        let target = target.unwrap_or_default();
        for message in &mut self.messages {
            message.reactions.retain(|reaction| reaction.id != target);
            if message.id == target {
                message.redacted = true;
                (message.body, message.html, message.file) = (String::new(), None, None);
            }
        }
    }

    fn take_poll(&mut self, me: &str, event: &Value, step: &str) {
        let content = &event["content"];
        if step == "start" {
            return self.take_message(me, event);
        }
        let target = content["m.relates_to"]["event_id"].as_str().unwrap_or_default();
        let message = self.messages.iter_mut().find(|message| message.id == target);
        let Some(poll) = message.and_then(|message| message.poll.as_mut()) else { return };
        match step {
            "end" => poll.closed = true,
            "response" if !poll.closed => {
                let unstable = &content[format!("{POLL}.response")]["answers"];
                let answers = unstable.as_array().or(content["m.selections"].as_array());
                let answers = answers.into_iter().flatten().filter_map(text).collect();
                poll.votes.insert(text(&event["sender"]).unwrap_or_default(), answers);
            }
            _ => {}
        }
    }

    /// What no history keeps: typing and receipts.
    fn take_passing(&mut self, event: &Value) {
        let content = &event["content"];
        if event["type"] == "m.typing" {
            let users = content["user_ids"].as_array().into_iter().flatten();
            self.typing = users.filter_map(text).collect();
        }
        if event["type"] == "m.receipt" {
            for (event, receipts) in content.as_object().into_iter().flatten() {
                let users = receipts["m.read"].as_object().into_iter().flatten();
                self.read.extend(users.map(|(user, _)| (user.clone(), event.clone())));
            }
        }
    }
}

/// What a message is, by its type and content.
fn kind(event_type: &str, content: &Value) -> Kind {
    let message = content["msgtype"].as_str().unwrap_or_default();
    match (event_type, message) {
        ("m.room.encrypted", _) => Kind::Unreadable,
        ("m.room.message", "m.text") => Kind::Text,
        ("m.room.message", "m.notice") => Kind::Notice,
        ("m.room.message", "m.image") => Kind::Image,
        ("m.room.message", "m.file") => Kind::File,
        ("m.room.message", other) => Kind::Other(other.into()),
        (other, _) if other == format!("{POLL}.start") || other == "m.poll.start" => Kind::Poll,
        (other, _) => Kind::Other(other.into()),
    }
}

fn message(event: &Value) -> Message {
    let content = &event["content"];
    let relation = &content["m.relates_to"];
    let in_thread = relation["rel_type"] == "m.thread";
    let stands_in = in_thread && relation["is_falling_back"] == true;
    let event_type = event["type"].as_str().unwrap_or_default();
    let at = event["origin_server_ts"].as_u64().unwrap_or_default();
    let mentioned = content["m.mentions"]["user_ids"].as_array().into_iter().flatten();
    let poll = poll(content);
    let body = poll.as_ref().map(|poll| poll.question.clone());
    Message {
        id: text(&event["event_id"]).unwrap_or_default(),
        sender: text(&event["sender"]).unwrap_or_default(),
        at,
        kind: kind(event_type, content),
        body: body.or_else(|| text(&content["body"])).unwrap_or_default(),
        html: text(&content["formatted_body"]),
        thread: in_thread.then(|| text(&relation["event_id"])).flatten(),
        reply_to: text(&relation["m.in_reply_to"]["event_id"]).filter(|_| !stands_in),
        mentions: mentioned.filter_map(text).collect(),
        mentions_room: content["m.mentions"]["room"] == true,
        reactions: Vec::new(),
        redacted: content.as_object().is_none_or(serde_json::Map::is_empty),
        sealed: event_type == "m.room.encrypted" || event["sealed_by"].is_string(),
        sealed_by: text(&event["sealed_by"]),
        file: file(content),
        poll,
        versions: Vec::new(),
        edited_at: at,
    }
}

fn file(content: &Value) -> Option<File> {
    let sealed = content["file"]["url"].is_string();
    if !sealed && !content["url"].is_string() {
        return None;
    }
    let info = &content["info"];
    Some(File {
        name: text(&content["filename"]).or_else(|| text(&content["body"])).unwrap_or_default(),
        mime: text(&info["mimetype"]),
        size: info["size"].as_u64(),
        sealed,
        content: content.clone(),
    })
}

fn poll(content: &Value) -> Option<Poll> {
    let unstable = &content[format!("{POLL}.start")];
    let stable = unstable.is_null();
    let poll = if stable { &content["m.poll"] } else { unstable };
    let words = |value: &Value| {
        let plain = text(&value["org.matrix.msc1767.text"]).or_else(|| text(&value["body"]));
        plain.or_else(|| text(&value["m.text"][0]["body"])).unwrap_or_default()
    };
    let answers = poll["answers"].as_array()?.iter().map(|answer| {
        let id = text(&answer["id"]).or_else(|| text(&answer["m.id"]));
        (id.unwrap_or_default(), words(answer))
    });
    Some(Poll {
        question: words(&poll["question"]),
        answers: answers.collect(),
        votes: BTreeMap::new(),
        closed: false,
        stable,
    })
}

impl Verification {
    fn take(&mut self, seen: &Value) {
        self.id = text(&seen["verification"]).unwrap_or_default();
        self.user = text(&seen["user"]).unwrap_or_default();
        self.device = text(&seen["device"]).unwrap_or_default();
        self.room = text(&seen["room"]);
        self.reach(seen);
    }
}
