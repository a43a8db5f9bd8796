//! What a card without buttons is answered with: a legend of reactions, our own ones to tap on, and
//! a poll beside it. The legend must stand before the card counts as said; the rest is as good as
//! the moment lets it be, since the card says how to answer without it.

use chrono::TimeDelta;
use matrix_sdk::ruma::EventId;
use std::num::NonZeroUsize;
use tracing::warn;
use vigie_core::{
    Timestamp,
    bridge::{Action, Button, Card, CardKind, CardState, SayError},
    id::DeliveryId,
};

use super::{
    content::{self, Standing},
    door::{Door, Failed},
    layout::{self, label},
    once::{Changes, Outgoing},
    outcome::{self, Refusal},
};
use crate::store::{Meaning, Part, Quick, bare};

/// Most of our own reactions below one card. Each is one of the few events that an account may send,
/// and so is taking it back; Synapse lets ten pass at once.
const MOST: usize = 6;

/// Below so many events a minute only thumbs are put on cards, and they stay when it is decided.
const FEW: NonZeroUsize = NonZeroUsize::new(60).expect("it is not zero");

/// Most answers of a poll. Source: MSC3381.
const ANSWERS: usize = 20;

/// Quicker than this nobody sees that a card has changed and taps on it: a reaction that comes sooner
/// was meant for what it showed before.
const REACTION: TimeDelta = TimeDelta::seconds(1);

/// The part of a delivery that is its poll.
const POLL: usize = 1;

/// Reactions on the message mean those buttons, from `shown` on, since when it shows them; `None`: it
/// always did. Our own reactions are those to tap on. Returns the calls it took.
pub(super) async fn offer(
    door: &Door<'_>,
    message: &EventId,
    buttons: &[Button],
    shown: Option<Timestamp>,
) -> Result<usize, SayError> {
    let meanings = layout::meanings(buttons);
    let store = &door.bridge.store;
    let since = shown.map(|shown| shown + REACTION);
    let kept = store.set_legend(door.room.room_id(), message, meanings.clone(), since).await;
    kept.map_err(outcome::unwritten)?;
    let _alone = door.bridge.saying.owed.alone().await;
    let there = store.quick(door.room.room_id(), message).await.map_err(outcome::unwritten)?;
    let few = door.bridge.pace.events_a_minute < FEW;
    let wanted = if door.bridge.quick_reactions { to_tap(&meanings, few) } else { Vec::new() };
    let mut calls = 0;
    // What is decided says so itself: where events are few, the next card needs them more.
    let stays = |quick: &Quick| wanted.is_empty() && few && quick.reaction.is_some();
    for quick in there.iter().filter(|quick| !wanted.contains(&quick.emoji) && !stays(quick)) {
        match take_back(door, message, quick).await {
            Ok(made) => calls += made,
            Err(error) => return Ok(given_up(&error, calls)),
        }
    }
    for emoji in wanted.iter().filter(|emoji| !there.iter().any(|quick| quick.emoji == **emoji)) {
        let begun = Quick { emoji: emoji.clone(), reaction: None };
        store.keep_quick(door.room.room_id(), message, begun).await.map_err(outcome::unwritten)?;
    }
    match put_begun(door, message, &mut calls).await {
        Ok(()) => Ok(calls),
        Err(error) => {
            door.bridge.saying.owed.after(&error);
            Ok(given_up(&error, calls))
        }
    }
}

/// The rest is left: it is owed, or the next change of the card tries again.
fn given_up(error: &SayError, calls: usize) -> usize {
    warn!(%error, "reactions to tap on are not all as they should be");
    calls
}

/// Puts what is begun and not known to be there, as long as nothing fails. Whoever calls is alone.
pub(super) async fn put_begun(
    door: &Door<'_>,
    message: &EventId,
    calls: &mut usize,
) -> Result<(), SayError> {
    let there = door.bridge.store.quick(door.room.room_id(), message).await;
    let begun = there.map_err(outcome::unwritten)?;
    for quick in begun.iter().filter(|quick| quick.reaction.is_none()) {
        *calls += 1;
        put(door, message, &quick.emoji).await?;
    }
    Ok(())
}

fn to_tap(meanings: &[Meaning], few: bool) -> Vec<String> {
    let emojis = meanings.iter().map(|meaning| meaning.emoji.as_str());
    let offered = |emoji: &&str| layout::is_offered(emoji) && (!few || layout::is_thumb(emoji));
    let emojis: Vec<_> = emojis.filter(offered).map(str::to_owned).collect();
    if emojis.len() > MOST { Vec::new() } else { emojis }
}

async fn put(door: &Door<'_>, message: &EventId, emoji: &str) -> Result<(), SayError> {
    let (store, room) = (&door.bridge.store, door.room.room_id());
    let content = content::reaction(message, emoji);
    let transaction = format!("vigie.q.{}.{}", short(message), in_digits(emoji));
    match door.send("m.reaction", &content, &transaction).await {
        Ok(event) => {
            let there = Quick { emoji: emoji.to_owned(), reaction: Some(event) };
            store.keep_quick(room, message, there).await.map_err(outcome::unwritten)
        }
        // It is there, and nobody knows as which event.
        Err(Failed { refusal: Some(Refusal::Duplicate), .. }) => {
            store.drop_quick(room, message, emoji.to_owned()).await.map_err(outcome::unwritten)
        }
        Err(failed) => Err(failed.error),
    }
}

/// Takes one of our reactions back; one whose event nobody knows is asked for by its transaction.
async fn take_back(door: &Door<'_>, message: &EventId, quick: &Quick) -> Result<usize, SayError> {
    let (store, room) = (&door.bridge.store, door.room.room_id());
    let Some(reaction) = &quick.reaction else {
        store.drop_quick(room, message, quick.emoji.clone()).await.map_err(outcome::unwritten)?;
        return Ok(0);
    };
    door.redact(reaction, &format!("vigie.r.{}", short(reaction))).await?;
    store.drop_quick(room, message, quick.emoji.clone()).await.map_err(outcome::unwritten)?;
    Ok(1)
}

/// An emoji in a transaction id: not every server takes any character there.
fn in_digits(emoji: &str) -> String {
    let digits: Vec<String> = bare(emoji).chars().map(|c| format!("{:x}", u32::from(c))).collect();
    digits.join("-")
}

fn short(event: &EventId) -> &str {
    event.as_str().trim_start_matches('$')
}

/// Puts a poll beside a card with one question and one answer to it, where polls are wanted.
pub(super) async fn open_poll(
    door: &Door<'_>,
    standing: &Standing,
    message: &EventId,
    card: &Card,
    key: DeliveryId,
) -> Result<usize, SayError> {
    if !door.bridge.polls || card.state != CardState::Open {
        return Ok(0);
    }
    let Some(answers) = answers(card) else { return Ok(0) };
    let part = Part { key, number: POLL };
    let question = card.content.text.lines().next().unwrap_or(&card.title);
    let content = content::poll(question, &answers);
    let poll = Outgoing {
        kind: "org.matrix.msc3381.poll.start",
        digest: content::digest(&content),
        content: content::placed(content, standing, part),
        changes: Changes::Never,
        door,
    };
    let arrived = match poll.once(part).await {
        Ok(arrived) => arrived,
        Err(failed) => return Ok(given_up(&failed.error, 1)),
    };
    let kept = door.bridge.store.keep_poll(door.room.room_id(), message, &arrived.event).await;
    kept.map_err(outcome::unwritten)?;
    Ok(arrived.calls)
}

/// The answers of a poll, by what they do; `None` where it would not be one question with one answer.
fn answers(card: &Card) -> Option<Vec<(String, String)>> {
    let one = |button: &Button| match &button.action {
        action @ Action::Choose { question: 0, .. } => Some((action.to_string(), label(button))),
        _ => None,
    };
    let answers: Vec<_> = card.buttons.iter().map(one).collect::<Option<_>>()?;
    let fits = card.kind == CardKind::Question && (2..=ANSWERS).contains(&answers.len());
    fits.then_some(answers)
}

/// The card is decided, and no vote counts any more.
pub(super) async fn end_poll(door: &Door<'_>, message: &EventId) -> Result<usize, SayError> {
    let (store, room) = (&door.bridge.store, door.room.room_id());
    let Some(poll) = store.open_poll(room, message).await.map_err(outcome::unwritten)? else {
        return Ok(0);
    };
    let end = content::poll_end(&poll);
    let transaction = format!("vigie.p.{}", short(&poll));
    if let Err(failed) = door.send("org.matrix.msc3381.poll.end", &end, &transaction).await {
        return Ok(given_up(&failed.error, 1));
    }
    store.end_poll(room, message).await.map_err(outcome::unwritten)?;
    Ok(1)
}
