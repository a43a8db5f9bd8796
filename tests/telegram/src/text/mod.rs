//! What Telegram makes of a text with entities: cleaned, trimmed, repaired, with the links it finds by
//! itself. Pure functions; offsets and lengths are UTF-16 units.

mod entity;
mod find;
mod link;
mod repair;
mod tlds;

pub use entity::{Entity, EntityKind};
pub(crate) use link::{checked_link, names_a_user};
use repair::repair;
use serde_json::Value;

/// Entities a message keeps; Telegram drops the rest without a word.
pub const ENTITIES: usize = 100;

/// Bytes of a text before anything is done to it: more is `text is too long`.
pub const RAW_BYTES: usize = 32_768;

/// A text as Telegram stores and shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formatted {
    /// What is left after cleaning and trimming.
    pub text: String,
    /// Given and found entities, in order.
    pub entities: Vec<Entity>,
    /// How many were lost past the first [`ENTITIES`].
    pub dropped: usize,
}

/// Length in UTF-16 units.
pub fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The part of `text` that an entity covers.
pub fn covered<'a>(text: &'a str, entity: &Entity) -> &'a str {
    let end = entity.offset + entity.length;
    let at = |unit| byte_of(text, unit).unwrap_or(text.len());
    &text[at(entity.offset)..at(end)]
}

/// The byte where a UTF-16 unit begins, unless it is the second half of a character or past the end.
fn byte_of(text: &str, unit: usize) -> Option<usize> {
    let mut at = 0;
    for (byte, c) in text.char_indices() {
        if at >= unit {
            return (at == unit).then_some(byte);
        }
        at += c.len_utf16();
    }
    (at == unit).then_some(text.len())
}

/// Runs the whole pipeline over a text and its entities as given to a method.
///
/// # Errors
/// The server's description, without `Bad Request: `.
pub fn formatted(text: &str, given: &[Value]) -> Result<Formatted, String> {
    if text.len() > RAW_BYTES {
        return Err("text is too long".into());
    }
    let mut entities = Vec::new();
    for value in given {
        entities.extend(Entity::parse(value)?);
    }
    let (text, entities) = clean(text, repair(entities))?;
    let (text, entities) = trim(&text, entities);
    let mut entities = repair(entities);
    entities.extend(find::found(&text, &entities));
    entity::sort(&mut entities);
    let dropped = entities.len().saturating_sub(ENTITIES);
    entities.truncate(ENTITIES);
    Ok(Formatted { text, entities, dropped })
}

/// What a character becomes: itself, a space, or nothing.
fn kept(c: char) -> Option<char> {
    match c {
        '\n' => Some(c),
        // Line and paragraph separators, bidirectional overrides, and marks that overlap other lines.
        '\r' | '\u{2028}'..='\u{202e}' | '\u{333}' | '\u{33f}' | '\u{30a}' => None,
        '\0'..' ' => Some(' '),
        _ => Some(c),
    }
}

/// Takes out what Telegram takes out, and moves the entities along.
fn clean(text: &str, entities: Vec<Entity>) -> Result<(String, Vec<Entity>), String> {
    let mut out = String::with_capacity(text.len());
    // For each unit of the old text where it stands in the new one; none in the middle of a character.
    let mut moved = Vec::with_capacity(text.len() + 1);
    let mut length = 0;
    for c in text.chars() {
        moved.push(Some(length));
        if c.len_utf16() == 2 {
            moved.push(None);
        }
        if let Some(c) = kept(c) {
            out.push(c);
            length += c.len_utf16();
        }
    }
    moved.push(Some(length));
    let end = moved.len() - 1;
    let mut fixed = Vec::with_capacity(entities.len());
    for entity in entities {
        let (from, to) = (entity.offset, entity.offset + entity.length);
        if from >= end {
            return Err(format!("Entity begins after the end of the text at UTF-16 offset {from}"));
        }
        if to > end {
            return Err(format!(
                "Entity beginning at UTF-16 offset {from} ends after the end of the text at UTF-16 offset {to}"
            ));
        }
        let Some(new_from) = moved[from] else {
            let byte = bytes_through(text, from);
            return Err(format!(
                "Entity begins in a middle of a UTF-16 symbol at byte offset {byte}"
            ));
        };
        let Some(new_to) = moved[to] else {
            let byte = bytes_through(text, to);
            return Err(format!(
                "Entity beginning at UTF-16 offset {from} ends in a middle of a UTF-16 symbol at byte offset {byte}"
            ));
        };
        if new_to > new_from {
            fixed.push(Entity { offset: new_from, length: new_to - new_from, ..entity });
        }
    }
    Ok((out, fixed))
}

/// How many bytes end with the character that unit `unit` belongs to.
fn bytes_through(text: &str, unit: usize) -> usize {
    let mut at = 0;
    for (byte, c) in text.char_indices() {
        at += c.len_utf16();
        if at > unit {
            return byte + c.len_utf8();
        }
    }
    text.len()
}

/// Takes spaces and line ends off both ends; at the front only as far as no entity covers them.
fn trim(text: &str, entities: Vec<Entity>) -> (String, Vec<Entity>) {
    let body = text.trim_end_matches([' ', '\n']);
    let end = units(body);
    let mut entities: Vec<Entity> =
        entities.into_iter().filter(|entity| entity.offset < end).collect();
    for entity in &mut entities {
        entity.length = entity.length.min(end - entity.offset);
    }
    let first = entities.iter().map(|entity| entity.offset).min().unwrap_or(end);
    let blank = body.chars().take_while(|c| matches!(c, ' ' | '\n')).count();
    let lead = blank.min(first); // a blank is one unit and one byte
    for entity in &mut entities {
        entity.offset -= lead;
    }
    (body[lead..].to_owned(), entities)
}

#[cfg(test)]
mod tests;
