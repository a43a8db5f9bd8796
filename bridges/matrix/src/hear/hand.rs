//! Handing in: one thing after the other goes to the daemon, again and again until it has it.

use chrono::DateTime;
use matrix_sdk::ruma::{RoomId, UserId};
use tracing::{debug, warn};
use vigie_core::{
    Timestamp,
    bridge::{Action, Heard, HeardKind, Noted, Place, Room, TextOrigin},
    id::{BridgeName, ChatId, MessageId, ThreadId},
};

use super::{
    Hearing,
    event::Event,
    fetch,
    lane::{Item, Work},
    policy::{self, Refusal},
    read::{Piece, Told},
    rooms, sealed,
};
use crate::{
    NAME, Rule,
    account::line,
    store::{
        heard::{self, Hindrance, Keep, Trust, Waiting},
        rooms::Kind,
    },
    verify::{Standing, stands},
};

/// Of a stranger's text nothing is needed but a pairing code and the command before it.
const OF_A_STRANGER: usize = 64;

const GAP: &str = "more was written here than Vigie fetches after having been away; what is older than this message was not read. Send again what still matters";

/// Where something was written, and by whom.
#[derive(Clone, Debug)]
struct Spot {
    place: Place,
    room: Room,
    /// The id as it came, letter for letter: keys and standing are asked for under the same one.
    from: String,
}

impl Hearing<'_> {
    pub(super) async fn hand_in(self, item: &Item) {
        let row = &item.row;
        let told = match &item.work {
            Work::Unread(why) => return self.unread(row, why).await,
            Work::Told(told) => told,
        };
        let Some(spot) = self.spot(row).await else {
            debug!(room = row.room, "nobody is heard there");
            return self.done(row, Keep::Nothing).await;
        };
        match told {
            Told::Said(piece) => self.said(row, spot, piece).await,
            Told::Edited { message, text } => self.edited(row, spot, message, text).await,
            Told::Reacted { on, emoji } => self.reacted(row, spot, on, emoji).await,
            Told::Voted { poll, answer } => self.voted(row, spot, poll, answer).await,
            Told::Redacted { event } => self.redacted(row, spot, event).await,
            Told::Swapped => self.swapped(row, spot).await,
            Told::Sealed => self.sealed(row, spot).await,
            Told::Gap => self.gap(row, spot).await,
            Told::Nothing(_) => self.done(row, Keep::Nothing).await,
        }
    }

    async fn said(self, row: &Waiting, spot: Spot, piece: &Piece) {
        if !self.admits(&spot.from).await {
            if self.is_unsafe(row, &spot).await {
                return self.done(row, Keep::Nothing).await;
            }
            let text = piece.text.chars().take(OF_A_STRANGER).collect();
            self.accepted(row, spot, "m", text_of(row, text, None, vec![])).await;
            return self.done(row, Keep::Nothing).await;
        }
        if self.is_refused(row, &spot).await {
            return self.done(row, Keep::Nothing).await;
        }
        let mut files = Vec::new();
        if let Some(offered) = &piece.file {
            files.push(fetch::fetch(self, row, offered).await);
        }
        let what = text_of(row, piece.text.clone(), piece.reply_to.as_deref(), files);
        self.accepted(row, spot, "m", what).await;
        self.done(row, Keep::Text).await;
    }

    async fn edited(self, row: &Waiting, spot: Spot, message: &str, text: &str) {
        let admitted = self.admits(&spot.from).await;
        let refused = if admitted {
            self.is_refused(row, &spot).await
        } else {
            self.is_unsafe(row, &spot).await
        };
        if refused {
            return self.done(row, Keep::Nothing).await;
        }
        let text = if admitted { text.to_owned() } else { String::new() };
        let what = HeardKind::Edited { message: MessageId::new(message), text };
        self.accepted(row, spot, "e", what).await;
        self.done(row, if admitted { Keep::Text } else { Keep::Nothing }).await;
    }

    async fn reacted(self, row: &Waiting, spot: Spot, on: &str, emoji: &str) {
        if !self.admits(&spot.from).await || self.is_refused(row, &spot).await {
            return self.done(row, Keep::Nothing).await;
        }
        let (message, means) =
            (MessageId::new(on), self.meaning(&row.room, on, emoji, at(row)).await);
        let what = HeardKind::Reaction { message, emoji: emoji.to_owned(), means };
        self.accepted(row, spot, "r", what).await;
        self.done(row, Keep::Text).await; // it may be taken back
    }

    async fn voted(self, row: &Waiting, spot: Spot, poll: &str, answer: &str) {
        if !self.admits(&spot.from).await || self.is_refused(row, &spot).await {
            return self.done(row, Keep::Nothing).await;
        }
        match (answer.parse::<Action>(), self.card_of(&row.room, poll).await) {
            (Ok(action), Some(card)) => {
                let what = HeardKind::Tap { message: MessageId::new(card), action };
                self.accepted(row, spot, "v", what).await;
            }
            (Err(_), _) | (_, None) => debug!(poll, "a vote in a poll that is not ours"),
        }
        self.done(row, Keep::Nothing).await;
    }

    async fn redacted(self, row: &Waiting, spot: Spot, event: &str) {
        let (room, target) = (row.room.clone(), event.to_owned());
        let found = self.written(move |db| heard::find(db, &room, &target)).await;
        let taken_back = found.filter(|found| found.sender == row.sender);
        let taken_back = taken_back.and_then(|found| Event::read(&found.json).ok());
        let what = taken_back.and_then(|taken_back| {
            let relation = taken_back.relation();
            if let Some((on, emoji)) = relation.annotates {
                return Some(HeardKind::TakenBack { message: MessageId::new(on), emoji });
            }
            // Of an edit that is taken back, the message stays.
            let is_said = matches!(taken_back.kind.as_str(), "m.room.message" | "m.sticker");
            let words = is_said && relation.replaces.is_none();
            words.then(|| HeardKind::Withdrawn { message: MessageId::new(event) })
        });
        if let Some(what) = what
            && self.admits(&spot.from).await
        {
            self.accepted(row, spot, "b", what).await;
        }
        self.done(row, Keep::Nothing).await;
    }

    /// It is not the event that was told first: nobody's words.
    async fn swapped(self, row: &Waiting, spot: Spot) {
        if self.admits(&spot.from).await {
            self.say_refused(row, &spot, Refusal::Changed).await;
        }
        self.done(row, Keep::Nothing).await;
    }

    /// It did not open within a few seconds.
    async fn sealed(self, row: &Waiting, spot: Spot) {
        let id = row.id;
        let unsigned = row.opened.hindrance == Some(Hindrance::Unsigned);
        // Who signed the device may only be unknown here: that is no reason to refuse anything.
        let asked = !unsigned || sealed::with_signatures(self, row).await;
        let now = self.written(move |db| heard::one(db, id)).await;
        let Some(row) = now.filter(|row| row.opened.trust == Trust::Sealed) else {
            return; // it opened just now and comes again, or is gone
        };
        if !self.admits(&spot.from).await {
            return self.done(&row, Keep::Nothing).await;
        }
        let hindrance = row.opened.hindrance.unwrap_or(Hindrance::NoKey);
        if hindrance == Hindrance::Unsigned && !asked {
            self.say_refused(&row, &spot, Refusal::NoKeys).await;
            return self.done(&row, Keep::Nothing).await;
        }
        let device = row.opened.device.as_deref();
        let words = hindrance.words(device);
        let about = hindrance.about(device, row.opened.megolm.as_deref());
        self.not_taken(&row, &spot, words, about).await;
        if hindrance.may_pass() {
            self.written(move |db| heard::said_sealed(db, id)).await;
        } else {
            self.done(&row, Keep::Nothing).await;
        }
    }

    /// Said once more, when its key did not come for minutes.
    pub(super) async fn still_sealed(self, row: &Waiting) {
        let id = row.id;
        if let Some(spot) = self.spot(row).await
            && self.admits(&spot.from).await
        {
            let about = Hindrance::about_last_words(row.opened.megolm.as_deref());
            self.not_taken(row, &spot, Hindrance::LAST_WORDS.into(), about).await;
        }
        self.written(move |db| heard::said_sealed(db, id)).await;
    }

    async fn gap(self, row: &Waiting, spot: Spot) {
        let before = row.event.trim_start_matches("gap before ");
        let message = MessageId::new(before);
        let Spot { place, from, .. } = spot;
        self.handing.noted(&Noted::NotRead { place, message, from, why: GAP.into() }).await;
        self.done(row, Keep::Nothing).await;
    }

    /// Whether it came less safely than is taken, or came before; then the person is told, once in a
    /// while.
    async fn is_refused(self, row: &Waiting, spot: &Spot) -> bool {
        if self.is_unsafe(row, spot).await {
            return true;
        }
        let Err(refusal) = self.taken_once(row).await else { return false };
        self.say_refused(row, spot, refusal).await;
        true
    }

    /// Whether it came less safely than is taken, likewise. Of strangers no more is asked: nothing of
    /// theirs is taken but a code, and that counts once.
    async fn is_unsafe(self, row: &Waiting, spot: &Spot) -> bool {
        let Err(refusal) = self.judged(row).await else { return false };
        self.say_refused(row, spot, refusal).await;
        true
    }

    async fn say_refused(self, row: &Waiting, spot: &Spot, refusal: Refusal) {
        let device = row.opened.device.as_deref();
        let about = refusal.about(device, &row.event);
        self.not_taken(row, spot, refusal.words(device), about).await;
    }

    async fn judged(self, row: &Waiting) -> Result<(), Refusal> {
        policy::judge(row.opened.trust, self.bridge.policy)?;
        let Ok(sender) = UserId::parse(&row.sender) else { return Ok(()) };
        let store = &self.bridge.store;
        match self.on_disk(|| Box::pin(stands(self.client, store, &sender))).await.standing {
            Standing::Changed => Err(Refusal::Changed),
            Standing::Renewed if self.bridge.policy.new_identities == Rule::Refuse => {
                Err(Refusal::Renewed)
            }
            Standing::Verified
            | Standing::Unverified
            | Standing::NoIdentity
            | Standing::Renewed => Ok(()),
        }
    }

    /// Tells a person what they need not be told again soon; in between, that it is as before.
    async fn not_taken(self, row: &Waiting, spot: &Spot, words: String, about: String) {
        let now = self.bridge.now();
        let shortly = format!("shortly {about}");
        let in_full = self.last_told(row, spot, &about).await;
        if in_full.is_none_or(|told| now - told >= policy::AGAIN) {
            self.not_read(row, spot, words).await;
            return self.note_told(row, spot, about).await;
        }
        let last = in_full.max(self.last_told(row, spot, &shortly).await);
        if last.is_some_and(|told| now - told < policy::SHORTLY) {
            debug!(event = row.event, about, "refused as before");
            return;
        }
        self.not_read(row, spot, policy::AS_BEFORE.into()).await;
        self.note_told(row, spot, shortly).await;
    }

    async fn last_told(self, row: &Waiting, spot: &Spot, about: &str) -> Option<Timestamp> {
        let (room, from, about) = (row.room.clone(), spot.from.clone(), about.to_owned());
        let told = self.written(move |db| heard::told(db, &room, &from, &about)).await;
        told.and_then(DateTime::from_timestamp_millis)
    }

    async fn note_told(self, row: &Waiting, spot: &Spot, about: String) {
        let at = self.bridge.now().timestamp_millis();
        let (room, from) = (row.room.clone(), spot.from.clone());
        self.written(move |db| heard::tell(db, &room, &from, &about, at)).await;
    }

    async fn not_read(self, row: &Waiting, spot: &Spot, why: String) {
        warn!(room = row.room, event = row.event, trust = ?row.opened.trust, "not read");
        let message = MessageId::new(row.event.as_str());
        let Spot { place, from, .. } = spot.clone();
        self.handing.noted(&Noted::NotRead { place, message, from, why }).await;
    }

    /// Sets a row aside and says so; in this order, so that a crash in between says it twice rather
    /// than never.
    pub(super) async fn unread(self, row: &Waiting, why: &str) {
        warn!(event = row.event, why, "an event is set aside");
        let (id, reason) = (row.id, line(why));
        let number = id.to_string();
        self.handing.noted(&Noted::Unread { number, reason: reason.clone() }).await;
        self.written(move |db| heard::set_aside(db, id, &reason)).await;
    }

    /// `None`: nobody writes there, or it is no room that we know.
    async fn spot(self, row: &Waiting) -> Option<Spot> {
        let room = row.room.clone();
        let known = self.written(move |db| crate::store::rooms::one(db, &room)).await?;
        let thread = match known.kind {
            Kind::Chat => row.thread.clone(),
            Kind::Session => Some(known.room),
            Kind::Space => return None,
        };
        let chat = RoomId::parse(&known.chat).ok()?;
        let room = rooms::sort_surely(self, &chat).await;
        let place = Place {
            bridge: BridgeName::new(NAME),
            chat: ChatId::new(known.chat),
            thread: thread.map(ThreadId::new),
        };
        Some(Spot { place, room, from: row.sender.clone() })
    }

    /// Whether the person may be heard; who may be is remembered for the rest of the bridge.
    pub(super) async fn admits(self, from: &str) -> bool {
        let admitted = self.handing.admits(from).await;
        if admitted {
            let (user, now) = (from.to_owned(), self.bridge.now().timestamp_millis());
            self.written(move |db| crate::store::rooms::admitted(db, &user, now)).await;
        }
        admitted
    }

    async fn accepted(self, row: &Waiting, spot: Spot, kind: &str, what: HeardKind) {
        let Spot { place, room, from } = spot;
        let key = format!("{kind}:{}", row.event);
        self.handing.accepted(&Heard { key, from, place, room, at: at(row), what }).await;
    }

    async fn done(self, row: &Waiting, keep: Keep) {
        let id = row.id;
        self.written(move |db| heard::done(db, id, keep)).await;
    }
}

/// When it was sent: as the sender's homeserver says, but not after we have it.
fn at(row: &Waiting) -> Timestamp {
    DateTime::from_timestamp_millis(row.sent.min(row.received)).unwrap_or_default()
}

fn text_of(
    row: &Waiting,
    text: String,
    reply_to: Option<&str>,
    files: Vec<vigie_core::bridge::Attached>,
) -> HeardKind {
    HeardKind::Text {
        message: MessageId::new(row.event.as_str()),
        text,
        reply_to: reply_to.map(MessageId::new),
        origin: TextOrigin::Typed,
        files,
    }
}
