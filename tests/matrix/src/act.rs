//! What a person does with the phone.

use std::fs;

use serde_json::{Value, json};

use crate::{Phone, http::in_path, view::Message};

/// A room to be made.
#[derive(Clone, Debug, Default)]
pub struct Invitation {
    name: Option<String>,
    plain: bool,
    direct: bool,
    space: bool,
    users: Vec<String>,
}

impl Invitation {
    /// A sealed room for these people, without a name.
    pub fn of(users: &[&str]) -> Self {
        Self { users: users.iter().map(|user| (*user).into()).collect(), ..Self::default() }
    }

    /// With a name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Not sealed.
    #[must_use]
    pub fn plain(mut self) -> Self {
        self.plain = true;
        self
    }

    /// For the two of them, as phones mark it.
    #[must_use]
    pub fn direct(mut self) -> Self {
        self.direct = true;
        self
    }

    /// A space instead of a room.
    #[must_use]
    pub fn space(mut self) -> Self {
        self.space = true;
        self
    }

    fn request(&self) -> Value {
        let mut request = json!({
            "preset": "private_chat", "invite": self.users, "is_direct": self.direct, "initial_state": [],
        });
        if let Some(name) = &self.name {
            request["name"] = name.as_str().into();
        }
        if self.space {
            request["creation_content"] = json!({ "type": "m.space" });
        } else if !self.plain {
            request["initial_state"] = json!([{
                "type": "m.room.encryption", "state_key": "",
                "content": { "algorithm": "m.megolm.v1.aes-sha2" },
            }]);
        }
        request
    }
}

/// A text to be sent.
#[derive(Clone, Debug)]
pub struct Text(Value);

impl Text {
    /// Plain words.
    pub fn plain(body: &str) -> Self {
        Self(json!({ "msgtype": "m.text", "body": body }))
    }

    /// Words with HTML beside them.
    pub fn html(body: &str, html: &str) -> Self {
        Self(json!({
            "msgtype": "m.text", "body": body,
            "format": "org.matrix.custom.html", "formatted_body": html,
        }))
    }

    /// As programs write.
    #[must_use]
    pub fn notice(mut self) -> Self {
        self.0["msgtype"] = "m.notice".into();
        self
    }

    /// A reply.
    #[must_use]
    pub fn reply_to(mut self, message: &str) -> Self {
        self.0["m.relates_to"]["m.in_reply_to"] = json!({ "event_id": message });
        self
    }

    /// In the thread that hangs on `thread`. Clients without threads see a reply to it.
    #[must_use]
    pub fn in_thread(mut self, thread: &str) -> Self {
        let replies = self.0["m.relates_to"]["m.in_reply_to"].is_object();
        self.0["m.relates_to"]["rel_type"] = "m.thread".into();
        self.0["m.relates_to"]["event_id"] = thread.into();
        self.0["m.relates_to"]["is_falling_back"] = (!replies).into();
        if replies { self } else { self.reply_to(thread) }
    }
}

/// A message whose key nobody got yet.
#[derive(Clone, Debug)]
pub struct Withheld {
    /// The event it is.
    pub id: String,
}

impl Phone {
    /// Makes a room; its id.
    pub async fn create_room(&self, invitation: &Invitation) -> String {
        let request = invitation.request();
        let made = self.call("POST", "/createRoom", request).await;
        let room = made["room_id"].as_str().expect("a room has an id").to_owned();
        // It comes in pieces, and a message before the piece that seals would go out bare.
        let sealed = !invitation.plain && !invitation.space;
        self.wait_for("the room just made", self.patience, |view| {
            let made = view.rooms.get(&room);
            made.is_some_and(|made| made.encrypted == sealed && made.name == invitation.name)
        })
        .await;
        room
    }

    /// Comes into a room.
    pub async fn join(&self, room: &str) {
        self.call("POST", &format!("/rooms/{}/join", in_path(room)), json!({})).await;
        let joined = crate::Membership::Joined;
        self.wait_for("the room just joined", self.patience, |view| {
            view.rooms.get(room).is_some_and(|room| room.membership == joined)
        })
        .await;
    }

    /// Goes out of a room, or does not come into it.
    pub async fn leave(&self, room: &str) {
        self.call("POST", &format!("/rooms/{}/leave", in_path(room)), json!({})).await;
    }

    /// Invites somebody.
    pub async fn invite(&self, room: &str, user: &str) {
        let path = format!("/rooms/{}/invite", in_path(room));
        self.call("POST", &path, json!({ "user_id": user })).await;
    }

    /// Throws somebody out.
    pub async fn kick(&self, room: &str, user: &str) {
        let path = format!("/rooms/{}/kick", in_path(room));
        self.call("POST", &path, json!({ "user_id": user, "reason": "enough" })).await;
    }

    /// Puts a new room in the place of one; its id. Nobody is invited into it by that.
    pub async fn upgrade(&self, room: &str, version: &str) -> String {
        let path = format!("/rooms/{}/upgrade", in_path(room));
        let made = self.call("POST", &path, json!({ "new_version": version })).await;
        made["replacement_room"].as_str().expect("a room has an id").into()
    }

    /// Changes a room's state.
    pub async fn set_state(&self, room: &str, kind: &str, key: &str, content: Value) {
        let path = format!("/rooms/{}/state/{kind}/{}", in_path(room), in_path(key));
        self.call("PUT", &path, content).await;
    }

    /// Writes a text; the event it is.
    pub async fn say(&self, room: &str, body: &str) -> String {
        self.send(room, &Text::plain(body)).await
    }

    /// Sends a text; the event it is.
    pub async fn send(&self, room: &str, text: &Text) -> String {
        self.send_event(room, "m.room.message", text.0.clone()).await
    }

    /// Sends a text under a transaction's name of the test's choice; the event it is.
    pub async fn send_as(&self, room: &str, text: &Text, transaction: &str) -> String {
        let command = json!({
            "do": "send", "room": room, "kind": "m.room.message", "content": text.0, "txn": transaction,
        });
        self.ask_for_text(command).await
    }

    /// Replies; the event it is.
    pub async fn reply(&self, room: &str, message: &str, body: &str) -> String {
        self.send(room, &Text::plain(body).reply_to(message)).await
    }

    /// Writes into a thread; the event it is.
    pub async fn say_in_thread(&self, room: &str, thread: &str, body: &str) -> String {
        self.send(room, &Text::plain(body).in_thread(thread)).await
    }

    /// Changes a message; the event of the change.
    pub async fn edit(&self, room: &str, message: &str, body: &str) -> String {
        let mut content = Text::plain(&format!("* {body}")).0;
        content["m.new_content"] = Text::plain(body).0;
        content["m.relates_to"] = json!({ "rel_type": "m.replace", "event_id": message });
        self.send_event(room, "m.room.message", content).await
    }

    /// Reacts; the event it is.
    pub async fn react(&self, room: &str, message: &str, key: &str) -> String {
        let relation = json!({ "rel_type": "m.annotation", "event_id": message, "key": key });
        self.send_event(room, "m.reaction", json!({ "m.relates_to": relation })).await
    }

    /// Takes back a message or a reaction.
    pub async fn redact(&self, room: &str, event: &str) {
        let number = self.number();
        let path = format!("/rooms/{}/redact/{}/r{number}", in_path(room), in_path(event));
        self.call("PUT", &path, json!({})).await;
    }

    /// Votes for the answers with these ids; the event it is.
    pub async fn vote(&self, room: &str, poll: &Message, answers: &[&str]) -> String {
        let stable = poll.poll.as_ref().is_some_and(|poll| poll.stable);
        let relation = json!({ "rel_type": "m.reference", "event_id": poll.id });
        let (kind, content) = if stable {
            ("m.poll.response", json!({ "m.relates_to": relation, "m.selections": answers }))
        } else {
            let kind = "org.matrix.msc3381.poll.response";
            (kind, json!({ "m.relates_to": relation, kind: { "answers": answers } }))
        };
        self.send_event(room, kind, content).await
    }

    /// Asks a question with answers to choose from, as phones send it; the event it is.
    pub async fn poll(&self, room: &str, question: &str, answers: &[&str]) -> String {
        let words = "org.matrix.msc1767.text";
        let answers = answers.iter().enumerate();
        let answers: Vec<_> = answers
            .map(|(number, answer)| json!({ "id": number.to_string(), words: answer }))
            .collect();
        let kind = "org.matrix.msc3381.poll.start";
        let poll = json!({
            "kind": "org.matrix.msc3381.poll.disclosed", "max_selections": 1,
            "question": { words: question }, "answers": answers,
        });
        self.send_event(room, kind, json!({ words: question, kind: poll })).await
    }

    /// Sends a file, as a picture if it is one; the event it is.
    pub async fn send_file(&self, room: &str, name: &str, mime: &str, bytes: &[u8]) -> String {
        self.send_captioned(room, &Text::plain(name), name, mime, bytes).await
    }

    /// Sends a file with words to it, which may be a reply or stand in a thread; the event it is.
    pub async fn send_captioned(
        &self,
        room: &str,
        words: &Text,
        name: &str,
        mime: &str,
        bytes: &[u8],
    ) -> String {
        let path = self.folder.path().join("upload");
        fs::write(&path, bytes).expect("the phone's folder takes a file");
        let sealed = self.view().rooms.get(room).is_some_and(|room| room.encrypted);
        let command =
            json!({ "do": "upload", "path": path, "name": name, "mime": mime, "sealed": sealed });
        let place = self.ask(command).await;
        let mut content = words.0.clone();
        let all = content.as_object_mut().expect("a text is an object");
        all.extend(place.as_object().expect("a place is an object").clone());
        let kind = if mime.starts_with("image/") { "m.image" } else { "m.file" };
        content["msgtype"] = kind.into();
        content["filename"] = name.into();
        content["info"] = json!({ "size": bytes.len(), "mimetype": mime });
        self.send_event(room, "m.room.message", content).await
    }

    /// The bytes of a message's file, opened.
    ///
    /// # Panics
    /// If it has none, or they are not what was sealed.
    pub async fn download(&self, message: &Message) -> Vec<u8> {
        let file = message.file.as_ref().unwrap_or_else(|| panic!("no file: {message}"));
        let path = self.folder.path().join("download");
        self.ask(json!({ "do": "download", "content": file.content, "path": path })).await;
        fs::read(path).expect("the phone saved it")
    }

    /// Sends any event, sealed where the room is; the event it is.
    pub async fn send_event(&self, room: &str, kind: &str, content: Value) -> String {
        let command = json!({ "do": "send", "room": room, "kind": kind, "content": content });
        self.ask_for_text(command).await
    }

    /// Writes a text without a seal, whatever the room wants; the event it is.
    pub async fn say_bare(&self, room: &str, body: &str) -> String {
        self.send_bare(room, "m.room.message", Text::plain(body).0).await
    }

    /// Sends an event without a seal, whatever the room wants; the event it is.
    pub async fn send_bare(&self, room: &str, kind: &str, content: Value) -> String {
        let command = json!({ "do": "put", "room": room, "kind": kind, "content": content });
        self.ask_for_text(command).await
    }

    /// Writes a sealed text and gives nobody the key.
    pub async fn say_without_key(&self, room: &str, body: &str) -> Withheld {
        let content = Text::plain(body).0;
        let kind = "m.room.message";
        let command =
            json!({ "do": "send_withheld", "room": room, "kind": kind, "content": content });
        Withheld { id: self.ask_for_text(command).await }
    }

    /// Gives everybody in the room the key of that message.
    pub async fn give_key(&self, withheld: &Withheld) {
        self.ask(json!({ "do": "give_key", "event": withheld.id })).await;
    }

    /// Signs the device, of a phone that did not when it logged in, by a new identity of its person's.
    pub async fn sign(&self) {
        self.ask(json!({ "do": "sign" })).await;
    }

    /// Sets the person's encryption up anew: another identity, which signs this device.
    pub async fn renew(&self) {
        self.ask(json!({ "do": "renew" })).await;
    }

    /// Seals with a new key from the next message on.
    pub async fn new_room_key(&self, room: &str) {
        self.ask(json!({ "do": "new_room_key", "room": room })).await;
    }

    /// Says that the person has read up to there.
    pub async fn read(&self, room: &str, event: &str) {
        let path = format!("/rooms/{}/receipt/m.read/{}", in_path(room), in_path(event));
        self.call("POST", &path, json!({})).await;
    }

    /// Says that the person types, for five seconds.
    pub async fn typing(&self, room: &str) {
        let path = format!("/rooms/{}/typing/{}", in_path(room), in_path(self.user()));
        self.call("PUT", &path, json!({ "typing": true, "timeout": 5_000 })).await;
    }

    /// Hears nothing until [`Self::go_on`]; what it was already told is still taken.
    pub async fn pause(&self) {
        self.ask(json!({ "do": "listen", "on": false })).await;
    }

    /// Hears again, all that was missed included.
    pub async fn go_on(&self) {
        self.ask(json!({ "do": "listen", "on": true })).await;
    }

    /// Asks the server as a phone does: a path below `/_matrix/client/v3`.
    pub async fn call(&self, method: &str, path: &str, body: Value) -> Value {
        self.ask(json!({ "do": "call", "method": method, "path": path, "body": body })).await
    }

    /// The same, for what may be refused.
    pub async fn try_call(&self, method: &str, path: &str, body: Value) -> Result<Value, String> {
        self.try_ask(json!({ "do": "call", "method": method, "path": path, "body": body })).await
    }
}
