//! What waits to be handed in, in the order of one person in one place, and what belongs together:
//! albums, and long texts that the app cut into several messages. No clock and no disk in here.

use chrono::TimeDelta;
use std::collections::VecDeque;
use vigie_core::{
    Timestamp,
    bridge::{Noted, TextOrigin},
};

use super::{
    content::Words,
    read::{Piece, Put, Tapped, TopicChange},
};
use crate::{
    api::{TgChat, TgThread},
    markup::utf16_len,
};

/// From this length on a text may be the first part of a longer one, in UTF-16 units. Apps cut at
/// 4,096, and some look for the end of a word before that.
const LONG: usize = 4_000;

/// The parts of a text that was cut are sent right after each other: how long to wait for the next.
const PASTE_WINDOW: TimeDelta = TimeDelta::milliseconds(1_500);

/// And how far apart Telegram may say that two parts were sent; it counts whole seconds.
const PASTE_GAP: TimeDelta = TimeDelta::seconds(3);

/// More parts than this are no paste: 32 make 128,000 characters.
const MOST_PARTS: usize = 32;

/// The pictures of an album are sent one by one, as they are uploaded: how long to wait for the next,
/// and for all of them.
const ALBUM_WINDOW: TimeDelta = TimeDelta::seconds(2);
const ALBUM_LASTS: TimeDelta = TimeDelta::seconds(10);

/// Most members of an album. Source: Bot API, `sendMediaGroup`.
const ALBUM: usize = 10;

/// One row and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) id: i64,
    pub(super) received: Timestamp,
    /// The first row of what it belongs to, once that is settled.
    pub(super) batch: Option<i64>,
    pub(super) work: Work,
}

/// Something to hand in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Said(Piece),
    Edited {
        piece: Piece,
        edited: i64,
    },
    Tapped(Tapped),
    Reacted(Vec<Put>),
    Noted(Noted),
    Moved {
        from: TgChat,
        to: TgChat,
    },
    Topic {
        chat: TgChat,
        thread: TgThread,
        change: TopicChange,
    },
    /// Nothing was heard for so many milliseconds.
    Silent(i64),
    /// Nothing can be made of it.
    Unread {
        number: i64,
        why: String,
    },
}

/// What one message of it is to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Together {
    Alone,
    Paste,
    Album,
}

/// What is handed in as one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// In their order, at least one.
    pub(super) items: Vec<Item>,
    pub(super) together: Together,
    /// Which rows belong to it is written down already.
    pub(super) settled: bool,
}

impl Unit {
    pub(super) fn ids(&self) -> Vec<i64> {
        self.items.iter().map(|item| item.id).collect()
    }

    /// Fetching files takes its time.
    pub(super) fn has_files(&self) -> bool {
        let files =
            |item: &Item| matches!(&item.work, Work::Said(piece) if !piece.files.is_empty());
        self.items.iter().any(files)
    }
}

/// What to do with a queue now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Nothing,
    /// More may belong to what is in front, until then.
    Wait(Timestamp),
    HandIn(Unit),
}

/// Takes what is in front of `queue`, once it is complete. What lay here before `since`, such as
/// before a start, waits as if it had come then.
pub(super) fn next(queue: &mut VecDeque<Item>, now: Timestamp, since: Timestamp) -> Step {
    let Some(head) = queue.front() else { return Step::Nothing };
    let Work::Said(first) = &head.work else {
        return Step::HandIn(take(queue, &[0], Together::Alone, true));
    };
    if let Some(batch) = head.batch {
        let places = places(queue, |item| item.batch == Some(batch));
        let together = match (&first.album, places.len()) {
            (Some(_), _) => Together::Album,
            (None, 1) => Together::Alone,
            (None, _) => Together::Paste,
        };
        return Step::HandIn(take(queue, &places, together, true));
    }
    let (group, together) = if let Some(album) = &first.album {
        (album_of(queue, album, since), Together::Album)
    } else if is_long(first) {
        (paste_of(queue, first, since), Together::Paste)
    } else {
        return Step::HandIn(take(queue, &[0], Together::Alone, true));
    };
    match group.until.filter(|until| *until > now) {
        Some(until) => Step::Wait(until),
        None => Step::HandIn(take(queue, &group.places, together, false)),
    }
}

/// Takes the first command out of a queue that cannot go on yet: `/stop` waits for no download.
pub(super) fn command(queue: &mut VecDeque<Item>) -> Option<Unit> {
    let is_command = |item: &Item| matches!(&item.work, Work::Said(piece) if passes(piece));
    let place = queue.iter().position(is_command)?;
    Some(take(queue, &[place], Together::Alone, true))
}

/// Messages that belong together, and until when more may come.
struct Group {
    places: Vec<usize>,
    /// `None`: it is complete.
    until: Option<Timestamp>,
}

fn album_of(queue: &VecDeque<Item>, album: &str, since: Timestamp) -> Group {
    let member = |item: &Item| matches!(&item.work, Work::Said(piece) if piece.album.as_deref() == Some(album));
    let places = places(queue, member);
    let came = |place: Option<&usize>| place.map(|place| queue[*place].received.max(since));
    let full = places.len() >= ALBUM;
    let until = came(places.last()).zip(came(places.first()));
    let until = until.map(|(last, first)| (last + ALBUM_WINDOW).min(first + ALBUM_LASTS));
    Group { places, until: until.filter(|_| !full) }
}

fn paste_of(queue: &VecDeque<Item>, first: &Piece, since: Timestamp) -> Group {
    let mut group = Group { places: vec![0], until: None };
    let (mut last, mut came) = (first, queue[0].received);
    for (place, item) in queue.iter().enumerate().skip(1) {
        let Work::Said(piece) = &item.work else { return group };
        if passes(piece) {
            continue;
        }
        if item.batch.is_some() || !goes_on(first, last, piece) {
            return group;
        }
        group.places.push(place);
        if !is_long(piece) || group.places.len() == MOST_PARTS {
            return group;
        }
        (last, came) = (piece, item.received);
    }
    group.until = Some(came.max(since) + PASTE_WINDOW);
    group
}

/// Whether `next` can be the part behind `last` of the text that begins with `first`.
fn goes_on(first: &Piece, last: &Piece, next: &Piece) -> bool {
    next.words == Words::Typed
        && !next.command
        && next.album.is_none()
        && next.origin == TextOrigin::Typed
        && (next.reply_to.is_none() || next.reply_to == first.reply_to)
        && next.at - last.at <= PASTE_GAP
}

fn is_long(piece: &Piece) -> bool {
    piece.words == Words::Typed
        && piece.origin == TextOrigin::Typed
        && utf16_len(&piece.text) >= LONG
}

fn passes(piece: &Piece) -> bool {
    piece.command && !is_long(piece)
}

fn places(queue: &VecDeque<Item>, belongs: impl Fn(&Item) -> bool) -> Vec<usize> {
    let found = queue.iter().enumerate().filter(|(_, item)| belongs(item));
    found.map(|(place, _)| place).collect()
}

/// Takes the items at these places, which grow, out of the queue.
fn take(queue: &mut VecDeque<Item>, places: &[usize], together: Together, settled: bool) -> Unit {
    let mut items: Vec<_> = places.iter().rev().filter_map(|place| queue.remove(*place)).collect();
    items.reverse();
    Unit { items, together, settled }
}
