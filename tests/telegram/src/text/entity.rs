//! An entity: what a part of a text is.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::link::checked_link;

/// The kinds of Bot API 10.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    Bold,
    Italic,
    Underline,
    Strikethrough,
    Spoiler,
    Blockquote,
    ExpandableBlockquote,
    Code,
    Pre,
    DateTime,
    TextLink,
    TextMention,
    CustomEmoji,
    Mention,
    Hashtag,
    Cashtag,
    BotCommand,
    Url,
    Email,
    PhoneNumber,
}

/// How kinds behave where they meet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// May be cut into pieces and lie inside of others.
    Style,
    /// Holds others, but no other quote.
    Quote,
    /// Holds no style.
    Code,
    /// Never overlaps another of its class.
    Solid,
    /// Telegram finds these itself and does not take them from a bot.
    Found,
}

impl EntityKind {
    /// The styles, in the order in which the server lists them.
    pub(super) const STYLES: [Self; 5] =
        [Self::Bold, Self::Italic, Self::Underline, Self::Strikethrough, Self::Spoiler];

    pub(super) fn class(self) -> Class {
        match self {
            Self::Bold | Self::Italic | Self::Underline | Self::Strikethrough | Self::Spoiler => {
                Class::Style
            }
            Self::Blockquote | Self::ExpandableBlockquote => Class::Quote,
            Self::Code | Self::Pre | Self::DateTime => Class::Code,
            Self::TextLink | Self::TextMention | Self::CustomEmoji => Class::Solid,
            Self::Mention
            | Self::Hashtag
            | Self::Cashtag
            | Self::BotCommand
            | Self::Url
            | Self::Email
            | Self::PhoneNumber => Class::Found,
        }
    }

    /// Which of two entities over the same text comes first.
    fn rank(self) -> u8 {
        match self {
            Self::Blockquote | Self::ExpandableBlockquote => 0,
            Self::Pre => 11,
            Self::Code => 20,
            Self::DateTime => 30,
            Self::TextLink | Self::TextMention => 49,
            Self::Mention
            | Self::Hashtag
            | Self::Cashtag
            | Self::BotCommand
            | Self::Url
            | Self::Email
            | Self::PhoneNumber => 50,
            Self::Bold => 90,
            Self::Italic => 91,
            Self::Underline => 92,
            Self::Strikethrough => 93,
            Self::Spoiler => 94,
            Self::CustomEmoji => 99,
        }
    }
}

/// A part of a text and what it is. Offset and length are UTF-16 units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: EntityKind,
    /// Where it begins.
    pub offset: usize,
    /// How long it is.
    pub length: usize,
    /// Where a `text_link` leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The language of a `pre`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Whom a `text_mention` means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<Value>,
    /// Which `custom_emoji`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_emoji_id: Option<String>,
    /// When a `date_time` is, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_time: Option<i64>,
    /// How a `date_time` is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date_time_format: Option<String>,
}

impl Entity {
    /// An entity with nothing but its place.
    pub fn new(kind: EntityKind, offset: usize, length: usize) -> Self {
        Self {
            kind,
            offset,
            length,
            url: None,
            language: None,
            user: None,
            custom_emoji_id: None,
            unix_time: None,
            date_time_format: None,
        }
    }

    /// Where it ends.
    pub fn end(&self) -> usize {
        self.offset + self.length
    }

    pub(super) fn class(&self) -> Class {
        self.kind.class()
    }

    /// Reads one as a bot gives it; none if Telegram passes over it.
    pub(super) fn parse(value: &Value) -> Result<Option<Self>, String> {
        let refuse = |what: &str| Err(format!("can't parse MessageEntity: {what}"));
        let Some(fields) = value.as_object() else { return refuse("expected an Object") };
        let Some(kind) = fields.get("type").and_then(Value::as_str) else {
            return refuse("Can't find field \"type\"");
        };
        let (Some(offset), Some(length)) = (
            fields.get("offset").and_then(Value::as_i64),
            fields.get("length").and_then(Value::as_i64),
        ) else {
            return refuse("field \"offset\" must be a Number");
        };
        let Ok(kind) = serde_json::from_value::<EntityKind>(kind.into()) else { return Ok(None) };
        if length == 0 {
            return Ok(None);
        }
        let Ok(offset) = usize::try_from(offset) else {
            return Err(format!("receive an entity with incorrect offset {offset}"));
        };
        let Ok(length) = usize::try_from(length) else {
            return Err(format!("receive an entity with incorrect length {length}"));
        };
        if kind.class() == Class::Found {
            return Ok(None);
        }
        let word = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let mut entity = Self::new(kind, offset, length);
        entity.language = word("language").filter(|_| kind == EntityKind::Pre);
        entity.custom_emoji_id = word("custom_emoji_id");
        entity.user = fields.get("user").cloned();
        entity.unix_time = fields.get("unix_time").and_then(Value::as_i64);
        entity.date_time_format = word("date_time_format");
        if kind == EntityKind::TextLink {
            let url = word("url").unwrap_or_default();
            let Some(link) = checked_link(&url) else {
                return Err(format!("entity URL '{url}' is invalid: Wrong HTTP URL"));
            };
            entity.url = Some(link);
        }
        Ok(Some(entity))
    }
}

/// Puts entities in the server's order: by place, the longer first.
pub(super) fn sort(entities: &mut [Entity]) {
    entities.sort_by_key(|entity| (entity.offset, usize::MAX - entity.length, entity.kind.rank()));
}
