//! What a message holds: its words, its files, and words for what is neither.

use serde_json::Value;

use super::update::{Contact, Dice, Location, Message, PhotoSize, Poll, SentFile, Sticker, Venue};
use crate::{api::FileId, markup};

/// A file of a message, still at Telegram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offered {
    pub(super) file: FileId,
    /// As the person or their app named it: anybody's text.
    pub(super) name: String,
    /// In bytes, if it is told.
    pub(super) size: Option<u64>,
}

/// Where the words of a message come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// Written as a message of its own.
    Typed,
    /// Written under a file.
    Caption,
    /// Ours, for what cannot be handed on as it is.
    Ours,
}

/// What a message holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) text: String,
    pub(super) words: Words,
    pub(super) files: Vec<Offered>,
}

/// Fields that say something about a message and are nothing in it themselves.
const ABOUT: &[&str] = &[
    "author_signature",
    "business_connection_id",
    "community",
    "direct_messages_topic",
    "edit_date",
    "effect_id",
    "ephemeral_message_id",
    "external_reply",
    "forward_date",
    "has_media_spoiler",
    "has_protected_content",
    "is_automatic_forward",
    "is_from_offline",
    "is_paid_post",
    "link_preview_options",
    "paid_star_count",
    "quote",
    "reply_markup",
    "reply_to_checklist_task_id",
    "reply_to_story",
    "sender_boost_count",
    "sender_business_bot",
    "sender_tag",
    "show_caption_above_media",
    "suggested_post_info",
];

/// What the service itself writes into a chat: nobody's words.
const SERVICE: &[&str] = &[
    "boost_added",
    "channel_chat_created",
    "chat_background_set",
    "chat_owner_changed",
    "chat_owner_left",
    "chat_shared",
    "checklist_tasks_added",
    "checklist_tasks_done",
    "connected_website",
    "delete_chat_photo",
    "direct_message_price_changed",
    "general_forum_topic_hidden",
    "general_forum_topic_unhidden",
    "giveaway_completed",
    "giveaway_created",
    "group_chat_created",
    "left_chat_member",
    "message_auto_delete_timer_changed",
    "new_chat_members",
    "new_chat_photo",
    "new_chat_title",
    "paid_message_price_changed",
    "passport_data",
    "pinned_message",
    "proximity_alert_triggered",
    "refunded_payment",
    "successful_payment",
    "supergroup_chat_created",
    "users_shared",
    "video_chat_ended",
    "video_chat_participants_invited",
    "video_chat_scheduled",
    "video_chat_started",
    "write_access_allowed",
];

/// `None` where the service itself speaks.
pub(super) fn content(message: &Message, raw: &Value) -> Option<Content> {
    let files = files(message);
    let text = markup::words(raw).map(|words| words.text);
    if text.is_some() || !files.is_empty() {
        let words = if message.text.is_some() { Words::Typed } else { Words::Caption };
        return Some(Content { text: text.unwrap_or_default(), words, files });
    }
    let ours = |text| Some(Content { text, words: Words::Ours, files: vec![] });
    if let Some(text) = in_words(message) {
        return ours(text);
    }
    if message.rest.keys().any(|name| SERVICE.contains(&name.as_str())) {
        return None;
    }
    let unknown = message.rest.keys().filter(|name| !ABOUT.contains(&name.as_str()));
    let unknown: Vec<_> = unknown.map(|name| name.replace('_', " ")).collect();
    let unknown =
        if unknown.is_empty() { "nothing that has a name".into() } else { unknown.join(", ") };
    ours(format!("(sent something this version of Vigie cannot read: {unknown})"))
}

fn files(message: &Message) -> Vec<Offered> {
    // An animation stands in the message a second time, as a document for old programs.
    let document = message.document.as_ref().filter(|_| message.animation.is_none());
    let named: [(Option<&SentFile>, &str); 6] = [
        (document, "document"),
        (message.audio.as_ref(), "audio.mp3"),
        (message.voice.as_ref(), "voice.ogg"),
        (message.video.as_ref(), "video.mp4"),
        (message.video_note.as_ref(), "video-note.mp4"),
        (message.animation.as_ref(), "animation.mp4"),
    ];
    let named = named.into_iter().filter_map(|(file, name)| Some(offered(file?, name)));
    named
        .chain(message.photo.iter().max_by_key(|size| size.width * size.height).map(photo))
        .chain(message.sticker.as_ref().map(sticker))
        .collect()
}

fn offered(file: &SentFile, otherwise: &str) -> Offered {
    let name = file.file_name.as_deref().unwrap_or(otherwise).to_owned();
    Offered { file: file.file_id.clone(), name, size: file.file_size }
}

fn photo(photo: &PhotoSize) -> Offered {
    Offered { file: photo.file_id.clone(), name: "photo.jpg".into(), size: photo.file_size }
}

fn sticker(sticker: &Sticker) -> Offered {
    let ending = match (sticker.is_animated, sticker.is_video) {
        (true, _) => "tgs",
        (false, true) => "webm",
        (false, false) => "webp",
    };
    let emoji = sticker.emoji.as_deref().unwrap_or_default();
    let name = format!("sticker {emoji}").trim_end().to_owned();
    let name = format!("{name}.{ending}");
    Offered { file: sticker.file_id.clone(), name, size: sticker.file_size }
}

fn in_words(message: &Message) -> Option<String> {
    None.or_else(|| message.venue.as_ref().map(|venue| of_venue(venue, message.location.as_ref())))
        .or_else(|| {
            message.location.as_ref().map(|place| format!("(sent a location: {})", at(place)))
        })
        .or_else(|| message.contact.as_ref().map(of_contact))
        .or_else(|| message.poll.as_ref().map(of_poll))
        .or_else(|| message.dice.as_ref().map(of_dice))
}

fn at(place: &Location) -> String {
    format!("{:.6}, {:.6}", place.latitude, place.longitude)
}

fn of_venue(venue: &Venue, place: Option<&Location>) -> String {
    let at = place.map(|place| format!(" ({})", at(place))).unwrap_or_default();
    format!("(sent a place: {}, {}{at})", venue.title, venue.address)
}

fn of_contact(contact: &Contact) -> String {
    let last = contact.last_name.as_deref().unwrap_or_default();
    let name = format!("{} {last}", contact.first_name);
    format!("(sent a contact: {}, {})", name.trim_end(), contact.phone_number)
}

fn of_poll(poll: &Poll) -> String {
    let options: Vec<_> = poll.options.iter().map(|option| option.text.as_str()).collect();
    format!("(sent a poll: {} [{}])", poll.question, options.join(" / ")).replace(['[', ']'], "|")
}

fn of_dice(dice: &Dice) -> String {
    format!("(rolled {}: {})", dice.emoji, dice.value)
}
