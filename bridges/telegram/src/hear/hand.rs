//! Handing in: one unit after the other goes to the daemon, again and again until it has it.

use rusqlite::Connection;
use std::time::Duration;
use tokio::sync::Semaphore;
use tracing::{debug, warn};
use vigie_bridge_kit::{handing::Handing, measure::shortened};
use vigie_core::{
    Timestamp,
    bridge::{Action, Attached, Heard, HeardKind, NotAccepted, Noted, Place, TextUnit},
    id::BridgeName,
};

use super::{
    fetch,
    lane::{Item, Together, Unit, Work},
    read::{self, Me, Piece, Put, Spot, Tapped, Told},
};
use crate::{
    NAME, TelegramBridge,
    api::{AnswerCallbackQuery, TgChat, TgMessage},
    store::heard::{self, Keep},
};

/// A tap must be answered within 15 s, so it is given up before. Source of the 15 s: Telegram's own
/// deadline for answers to callback queries, as bots see it refused.
const ACCEPT_TAP: Duration = Duration::from_secs(8);

/// Longest answer to a tap. Source: Bot API, `answerCallbackQuery`, field `text`.
const NOTICE_UNITS: usize = 200;

/// Of a stranger's text nothing is needed but a pairing code and the command before it.
const OF_A_STRANGER: usize = 64;

const FOREIGN: &str = "That button is from an older version. Nothing was done.";
const NOT_WRITTEN: &str = "Not written down: tap again.";
const LATE: &str = "(this belongs to the album sent just before)";

/// What is left to do after a unit.
#[derive(Debug)]
pub(super) enum Done {
    Quietly,
    /// The tap's spinner ends only when it is answered.
    Answer {
        query: String,
        notice: Option<String>,
    },
    /// The daemon knows of the silence.
    Silence,
}

/// What handing in needs.
#[derive(Clone, Copy)]
pub(super) struct Hearing<'a> {
    pub(super) bridge: &'a TelegramBridge,
    pub(super) handing: Handing<'a>,
    /// Downloads at a time.
    pub(super) downloads: &'a Semaphore,
}

impl Hearing<'_> {
    pub(super) async fn hand_in(self, me: &Me, unit: &Unit) -> Done {
        let Some(item) = unit.items.first() else { return Done::Quietly };
        match &item.work {
            Work::Said(first) => self.said(unit, first).await,
            Work::Edited { piece, edited } => self.edited(me, item, piece, *edited).await,
            Work::Tapped(tapped) => return self.tapped(item, tapped).await,
            Work::Reacted(put) => self.reacted(item, put).await,
            Work::Noted(noted) => {
                self.handing.noted(noted).await;
                self.done(unit.ids(), Keep::Nothing).await;
            }
            Work::Moved { from, to } => {
                self.moved(*from, *to).await;
                self.done(unit.ids(), Keep::Nothing).await;
            }
            Work::Silent(milliseconds) => {
                let after = Duration::from_millis(u64::try_from(*milliseconds).unwrap_or(0));
                self.handing.noted(&Noted::Back { after }).await;
                let bot = me.id;
                self.written(move |db| heard::silence_told(db, bot)).await;
                return Done::Silence;
            }
            Work::Unread { number, why } => self.unread(&unit.ids(), *number, why).await,
        }
        Done::Quietly
    }

    async fn said(self, unit: &Unit, first: &Piece) {
        let pieces = || unit.items.iter().filter_map(Item::piece);
        let ids = unit.ids();
        if !self.admits(first.spot).await {
            let text = first.text.chars().take(OF_A_STRANGER).collect();
            self.handing.accepted(&of_text(first, text, vec![])).await;
            self.done(ids, Keep::Nothing).await;
            return;
        }
        if unit.together != Together::Alone && !unit.settled {
            let ids = ids.clone();
            self.written(move |db| heard::join(db, &ids)).await;
        }
        let mut text = joined(pieces(), unit.together);
        if self.is_late(unit, first).await {
            text = if text.is_empty() { LATE.into() } else { format!("{text}\n{LATE}") };
        }
        let mut files = Vec::new();
        for piece in pieces().filter(|piece| !piece.files.is_empty()) {
            files.extend(fetch::fetch(self, piece).await);
        }
        self.handing.accepted(&of_text(first, text, files)).await;
        self.done(ids, Keep::Text).await;
    }

    /// Whether this is what came after its album was handed in.
    async fn is_late(self, unit: &Unit, first: &Piece) -> bool {
        let (Some(album), Some(item)) = (first.album.clone(), unit.items.first()) else {
            return false;
        };
        let id = item.id;
        self.written(move |db| heard::album_began(db, &album, id)).await
    }

    async fn edited(self, me: &Me, item: &Item, piece: &Piece, edited: i64) {
        let known = self.admits(piece.spot).await;
        let (message, text) = if known {
            let (chat, message, id, bot) = (piece.spot.chat.0, piece.message.0, item.id, me.id);
            let before = self.written(move |db| heard::earlier(db, bot, chat, message, id)).await;
            if before.as_ref().and_then(|before| words_of(&before.json, me)).as_deref()
                == Some(&piece.text)
            {
                debug!("an edit that changed no word");
                return self.done(vec![id], Keep::Text).await;
            }
            match before.and_then(|before| before.batch) {
                Some(batch) => {
                    let versions = self.written(move |db| heard::versions(db, batch, id)).await;
                    whole(&versions, me).unwrap_or((piece.message, piece.text.clone()))
                }
                None => (piece.message, piece.text.clone()),
            }
        } else {
            (piece.message, String::new())
        };
        let key = format!("e:{}:{}:{edited}", piece.spot.chat, piece.message);
        let at = Timestamp::from_timestamp(edited, 0).unwrap_or(piece.at);
        let what = HeardKind::Edited { message: message.into(), text };
        self.handing.accepted(&heard(key, piece.spot, at, what)).await;
        self.done(vec![item.id], if known { Keep::Text } else { Keep::Nothing }).await;
    }

    async fn tapped(self, item: &Item, tapped: &Tapped) -> Done {
        let notice = match (&tapped.on, tapped.data.parse::<Action>()) {
            (Some((spot, message)), Ok(action)) => {
                let key = format!("q:{}", tapped.query);
                let what = HeardKind::Tap { message: (*message).into(), action };
                let taken =
                    self.handing.accept(heard(key, *spot, item.received, what), ACCEPT_TAP).await;
                match taken {
                    Ok(accepted) => accepted.notice,
                    Err(NotAccepted { reason }) => {
                        warn!(reason, "a tap was not written down");
                        Some(NOT_WRITTEN.into())
                    }
                }
            }
            (None, _) | (_, Err(_)) => Some(FOREIGN.into()),
        };
        self.done(vec![item.id], Keep::Nothing).await;
        Done::Answer { query: tapped.query.clone(), notice }
    }

    async fn reacted(self, item: &Item, put: &[Put]) {
        for Put { spot, message, date, emoji } in put {
            let key = format!("r:{}:{message}:{}:{date}:{emoji}", spot.chat, spot.from);
            let at = Timestamp::from_timestamp(*date, 0).unwrap_or(item.received);
            let what = HeardKind::Reaction {
                message: (*message).into(),
                emoji: emoji.clone(),
                means: None,
            };
            self.handing.accepted(&heard(key, *spot, at, what)).await;
        }
        self.done(vec![item.id], Keep::Nothing).await;
    }

    async fn moved(self, from: TgChat, to: TgChat) {
        if self.written(move |db| heard::was_moved(db, from.0, to.0)).await {
            return; // both groups tell it
        }
        self.handing.noted(&Noted::Moved { from: from.into(), to: to.into() }).await;
        self.written(move |db| heard::moved(db, from.0, to.0)).await;
    }

    /// Sets rows aside and says so; in this order, so that a crash in between says it twice rather
    /// than never.
    pub(super) async fn unread(self, ids: &[i64], number: i64, why: &str) {
        warn!(update = number, why, "an update is set aside");
        self.handing.noted(&Noted::Unread { number: number.to_string(), reason: why.into() }).await;
        let (ids, why) = (ids.to_vec(), why.to_owned());
        self.written(move |db| heard::set_aside(db, &ids, &why)).await;
    }

    /// Best effort: Telegram takes no answer after a while, and nothing depends on it.
    pub(super) async fn answer(self, query: String, notice: Option<String>) {
        let text = notice.map(|notice| shortened(&notice, NOTICE_UNITS, TextUnit::Utf16));
        let answer = AnswerCallbackQuery { callback_query_id: query, text, show_alert: false };
        if let Err(error) = self.bridge.api.call(&answer).await {
            debug!(%error, "a tap was not answered");
        }
    }

    async fn admits(self, spot: Spot) -> bool {
        self.handing.admits(&spot.from.to_string()).await
    }

    async fn done(self, ids: Vec<i64>, keep: Keep) {
        self.written(move |db| heard::done(db, &ids, keep)).await;
    }

    /// Does something on our own disk, as often as it takes.
    pub(super) async fn written<T: Send + 'static>(
        self,
        job: impl Fn(&mut Connection) -> rusqlite::Result<T> + Clone + Send + 'static,
    ) -> T {
        self.bridge.store.written(job).await
    }
}

fn heard(key: String, spot: Spot, at: Timestamp, what: HeardKind) -> Heard {
    let place = Place {
        bridge: BridgeName::new(NAME),
        chat: spot.chat.into(),
        thread: spot.thread.map(Into::into),
    };
    Heard { key, from: spot.from.to_string(), place, room: spot.room, at, what }
}

fn of_text(first: &Piece, text: String, files: Vec<Attached>) -> Heard {
    let key = format!("m:{}:{}", first.spot.chat, first.message);
    let what = HeardKind::Text {
        message: first.message.into(),
        text,
        reply_to: first.reply_to.map(Into::into),
        origin: first.origin,
        files,
    };
    heard(key, first.spot, first.at, what)
}

/// A paste is put together exactly as it was cut; captions of an album stand under each other.
fn joined<'p>(pieces: impl Iterator<Item = &'p Piece>, together: Together) -> String {
    let texts: Vec<_> =
        pieces.map(|piece| piece.text.as_str()).filter(|text| !text.is_empty()).collect();
    texts.join(match together {
        Together::Alone | Together::Paste => "",
        Together::Album => "\n",
    })
}

/// What a batch says with these versions of its messages, and its first message.
fn whole(versions: &[String], me: &Me) -> Option<(TgMessage, String)> {
    let pieces: Vec<_> = versions.iter().filter_map(|json| piece_of(json, me)).collect();
    let first = pieces.first()?;
    let together = if first.album.is_some() { Together::Album } else { Together::Paste };
    Some((first.message, joined(pieces.iter(), together)))
}

fn words_of(json: &str, me: &Me) -> Option<String> {
    piece_of(json, me).map(|piece| piece.text)
}

fn piece_of(json: &str, me: &Me) -> Option<Piece> {
    match read::read(json, me) {
        Ok(Told::Said(piece) | Told::Edited { piece, .. }) => Some(piece),
        Ok(
            Told::Tapped(_)
            | Told::Reacted(..)
            | Told::Noted(_)
            | Told::Moved { .. }
            | Told::Topic { .. }
            | Told::Nothing(_),
        )
        | Err(_) => None,
    }
}
