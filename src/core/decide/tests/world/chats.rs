//! What people do in chats, and what they see there.

use super::*;

impl World {
    /// Somebody writes on Telegram: a chat, perhaps a topic in it.
    pub(in crate::decide::tests) fn telegram(
        &mut self,
        from: &str,
        chat: &str,
        topic: Option<&str>,
        text: &str,
    ) -> MessageId {
        self.writes_as(from, &telegram(chat, topic), text, None)
    }

    /// The owner's own chat with the bot is connected, as `1001`.
    pub(in crate::decide::tests) fn pairs(&mut self, human: &str, from: &str, chat: &str) {
        let code = PairingCode::from_random(0x1234_5678_9abc_def0);
        self.ask(Command::Pair { human: Some(human.into()), code: code.clone() }).unwrap();
        self.telegram(from, chat, None, &format!("/pair {}", code.show()));
    }

    pub(in crate::decide::tests) fn notes(&mut self, noted: Noted) {
        self.notes_of("telegram", noted);
    }

    pub(in crate::decide::tests) fn notes_of(&mut self, service: &str, noted: Noted) {
        self.step(Event::Noted { bridge: BridgeName::new(service), noted });
    }

    /// A room on Matrix is connected.
    pub(in crate::decide::tests) fn pairs_on_matrix(
        &mut self,
        human: &str,
        from: &str,
        room: &str,
    ) {
        let code = PairingCode::from_random(0x1234_5678_9abc_def0);
        self.ask(Command::Pair { human: Some(human.into()), code: code.clone() }).unwrap();
        self.writes_as(from, &matrix(room), &format!("/pair {}", code.show()), None);
    }

    /// A service says that it heard everything up to so long ago.
    pub(in crate::decide::tests) fn pulse(&mut self, service: &str, ago: TimeDelta) {
        let health = Health { heard: Some(self.now - ago), trouble: None };
        self.step(Event::Pulse { bridge: BridgeName::new(service), health });
    }

    pub(in crate::decide::tests) fn goes_deaf(&mut self, service: &str) {
        self.pulse(service, TimeDelta::zero());
        self.wait(TimeDelta::seconds(46));
        self.pulse(service, TimeDelta::seconds(46));
    }

    pub(in crate::decide::tests) fn reacts(
        &mut self,
        from: &str,
        message: &MessageId,
        emoji: &str,
    ) -> String {
        let (message, emoji) = (message.clone(), emoji.into());
        self.does_to_message(from, HeardKind::Reaction { message, emoji, means: None })
    }

    /// A reaction that stood for that button when it was put there.
    pub(in crate::decide::tests) fn reacts_as_button(
        &mut self,
        from: &str,
        message: &MessageId,
        emoji: &str,
        action: Action,
    ) -> String {
        let (message, emoji) = (message.clone(), emoji.into());
        self.does_to_message(from, HeardKind::Reaction { message, emoji, means: Some(action) })
    }

    pub(in crate::decide::tests) fn takes_back(
        &mut self,
        from: &str,
        message: &MessageId,
        emoji: &str,
    ) {
        let (message, emoji) = (message.clone(), emoji.into());
        self.does_to_message(from, HeardKind::TakenBack { message, emoji });
    }

    /// Something done to a message, where that stands.
    fn does_to_message(&mut self, from: &str, what: HeardKind) -> String {
        let (HeardKind::Tap { message, .. }
        | HeardKind::Reaction { message, .. }
        | HeardKind::TakenBack { message, .. }) = &what
        else {
            panic!("{what:?}")
        };
        let shown = self.shown.iter().find(|s| s.message == *message);
        let place = shown.map_or_else(main_chat, |shown| shown.place.clone());
        let key = format!("done {}", self.next_message);
        self.next_message += 1;
        self.hears(from, place, key, self.now, what).unwrap_or_default()
    }

    /// The newest card of a gate in that chat.
    pub(in crate::decide::tests) fn card_in(&self, gate: GateId, chat: &str) -> &Shown {
        self.cards_in(gate, chat).pop().expect("a card there")
    }

    pub(in crate::decide::tests) fn cards_in(&self, gate: GateId, chat: &str) -> Vec<&Shown> {
        let is_it = |s: &&Shown| {
            s.place.chat.as_str() == chat
                && matches!(&s.post.body, Body::Card(card) if card.gate == gate)
        };
        self.shown.iter().filter(is_it).collect()
    }

    /// The service does what is in flight after all.
    pub(in crate::decide::tests) fn says_now(&mut self, id: DeliveryId) -> Said {
        let delivery = self.state.deliveries.values().find(|d| d.id == id).cloned();
        let delivery = delivery.expect("it is pending");
        let place = self.state.place_of(&delivery.to).expect("its place is known");
        let crate::delivery::Outgoing::Post { post, reply_to } = delivery.what else {
            panic!("only posts are said late")
        };
        self.say(id, place, Say::Post { post, reply_to })
    }

    /// What a chat of Telegram shows, oldest first.
    pub(in crate::decide::tests) fn shows(&self, chat: &str) -> Vec<String> {
        let here = self.shown.iter().filter(|s| s.place.chat.as_str() == chat);
        here.map(Shown::text).collect()
    }

    /// The owner writes in the main chat.
    pub(in crate::decide::tests) fn writes(&mut self, text: &str) -> MessageId {
        self.writes_as("owner", &main_chat(), text, None)
    }

    pub(in crate::decide::tests) fn writes_in(&mut self, name: &str, text: &str) -> MessageId {
        let thread = Some(ThreadId::new(name.to_ascii_lowercase()));
        self.writes_as("owner", &Place { thread, ..main_chat() }, text, None)
    }

    pub(in crate::decide::tests) fn replies(&mut self, to: &MessageId, text: &str) -> MessageId {
        self.writes_as("owner", &main_chat(), text, Some(to.clone()))
    }

    pub(in crate::decide::tests) fn writes_as(
        &mut self,
        from: &str,
        place: &Place,
        text: &str,
        reply_to: Option<MessageId>,
    ) -> MessageId {
        self.writes_at(from, place, text, reply_to, self.now, TextOrigin::Typed)
    }

    pub(in crate::decide::tests) fn writes_at(
        &mut self,
        from: &str,
        place: &Place,
        text: &str,
        reply_to: Option<MessageId>,
        at: Timestamp,
        origin: TextOrigin,
    ) -> MessageId {
        let message = MessageId::new(format!("p{}", self.next_message));
        self.next_message += 1;
        let what = HeardKind::Text {
            message: message.clone(),
            text: text.into(),
            reply_to,
            origin,
            files: vec![],
        };
        self.hears(from, place.clone(), message.as_str().to_owned(), at, what);
        message
    }

    /// The owner sends a file with words in the main chat.
    pub(in crate::decide::tests) fn sends_file(&mut self, text: &str, name: &str) -> MessageId {
        let message = MessageId::new(format!("p{}", self.next_message));
        self.next_message += 1;
        let got = Got::File { path: format!("/files/{name}"), bytes: 3 };
        let what = HeardKind::Text {
            message: message.clone(),
            text: text.into(),
            reply_to: None,
            origin: TextOrigin::Typed,
            files: vec![Attached { name: name.into(), got }],
        };
        self.hears("owner", main_chat(), message.as_str().to_owned(), self.now, what);
        message
    }

    pub(in crate::decide::tests) fn edits(&mut self, message: &MessageId, text: &str) {
        self.edits_at(message, text, self.now);
    }

    /// Deletes a message of their own.
    pub(in crate::decide::tests) fn withdraws(&mut self, message: &MessageId) {
        let key = format!("delete {message} {}", self.next_message);
        self.next_message += 1;
        let what = HeardKind::Withdrawn { message: message.clone() };
        self.hears("owner", main_chat(), key, self.now, what);
    }

    pub(in crate::decide::tests) fn edits_at(
        &mut self,
        message: &MessageId,
        text: &str,
        at: Timestamp,
    ) {
        let key = format!("edit {message} {}", self.next_message);
        self.next_message += 1;
        let what = HeardKind::Edited { message: message.clone(), text: text.into() };
        self.hears("owner", main_chat(), key, at, what);
    }

    /// Taps the button with that label on the newest message that has one.
    pub(in crate::decide::tests) fn taps(&mut self, label: &str) -> String {
        let shown = self.shown.iter().rev().find(|s| s.buttons().iter().any(|b| b.label == label));
        let shown = shown.unwrap_or_else(|| panic!("no button `{label}`"));
        let action = shown.buttons().iter().find(|b| b.label == label).unwrap().action.clone();
        let message = shown.message.clone();
        let from = if shown.place.bridge.as_str() == "telegram" { "1001" } else { "owner" };
        self.taps_action(from, &message, action)
    }

    pub(in crate::decide::tests) fn taps_action(
        &mut self,
        from: &str,
        message: &MessageId,
        action: Action,
    ) -> String {
        self.does_to_message(from, HeardKind::Tap { message: message.clone(), action })
    }

    pub(in crate::decide::tests) fn hears(
        &mut self,
        from: &str,
        place: Place,
        key: String,
        at: Timestamp,
        what: HeardKind,
    ) -> Option<String> {
        let room = self.rooms.get(&place.chat).copied().unwrap_or(Room::Direct);
        let heard = Heard { key, from: from.into(), place, room, at, what };
        let facts = self.facts(&heard);
        self.step(Event::Heard { heard, facts }).1
    }

    /// What the database would look up.
    fn facts(&self, heard: &Heard) -> Facts {
        let (about, own) = match &heard.what {
            HeardKind::Text { reply_to, .. } => (reply_to.as_ref(), None),
            HeardKind::Edited { message, .. } | HeardKind::Withdrawn { message } => {
                (None, Some(message))
            }
            HeardKind::Tap { message, .. }
            | HeardKind::Reaction { message, .. }
            | HeardKind::TakenBack { message, .. } => (Some(message), None),
        };
        let row = |message: &MessageId| {
            self.rows.values().find_map(|row| match row {
                Row::Heard(heard) if heard.message.as_ref() == Some(message) => Some(heard.clone()),
                _ => None,
            })
        };
        let known =
            self.rows.values().any(|row| matches!(row, Row::Heard(h) if h.key == heard.key));
        let shown = about.and_then(|message| self.shown.iter().find(|s| s.message == *message));
        let sent = about.and_then(|message| {
            self.rows.values().find_map(|row| match row {
                Row::Delivery(d) => match &d.state {
                    DeliveryState::Sent { message: Some(of), .. } if of == message => d.session,
                    _ => None,
                },
                _ => None,
            })
        });
        let session = sent.or_else(|| {
            about.and_then(row).and_then(|row: HeardRow| match row.outcome {
                HeardOutcome::Routed { sessions, .. } => sessions.first().copied(),
                HeardOutcome::Stranger | HeardOutcome::Kept { .. } | HeardOutcome::Handled => None,
            })
        });
        let gate = shown.and_then(|s| match &s.post.body {
            Body::Card(card) => Some(card.gate),
            Body::Text { .. } | Body::Progress(_) | Body::Document(_) | Body::File(_) => None,
        });
        let unknown = about.is_some_and(|message| shown.is_none() && row(message).is_none());
        let refused = self.rows.values().filter_map(|row| match row {
            Row::Prompt(prompt)
                if matches!(prompt.state, crate::prompt::PromptState::Refused { .. }) =>
            {
                Some(prompt.id)
            }
            _ => None,
        });
        Facts {
            session,
            gate,
            known,
            heard: own.and_then(row),
            unknown,
            refused: refused.collect(),
        }
    }

    pub(in crate::decide::tests) fn card(&self, gate: GateId) -> (MessageId, Card) {
        let found = self.shown.iter().find_map(|s| match &s.post.body {
            Body::Card(card) if card.gate == gate => Some((s.message.clone(), card.clone())),
            _ => None,
        });
        found.expect("a card of that gate")
    }

    pub(in crate::decide::tests) fn card_state(&self, gate: GateId) -> CardState {
        self.card(gate).1.state
    }

    pub(in crate::decide::tests) fn last(&self) -> &Shown {
        self.shown.last().expect("something was said")
    }

    pub(in crate::decide::tests) fn said(&self, words: &str) -> bool {
        self.shown.iter().any(|s| s.text().contains(words))
    }

    pub(in crate::decide::tests) fn mark(&self, message: &MessageId) -> &Mark {
        self.marks.get(message).unwrap_or_else(|| panic!("no mark on {message}"))
    }

    /// A reason why it was not taken.
    pub(in crate::decide::tests) fn refused(&self, message: &MessageId) -> String {
        match self.mark(message) {
            Mark::NotTaken { why } | Mark::Kept { why } => why.clone(),
            other => panic!("expected a refusal, found {other:?}"),
        }
    }
}
